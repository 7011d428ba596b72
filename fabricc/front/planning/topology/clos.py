"""Compute numbers of switches and links from ratios and port counts (Clos arithmetic).

The divisor rule: every ToR has the same number of links to every spine, so the spine count is the smallest divisor of
the uplink count that gives the spines enough ports. It reproduces published designs where a plain ceiling does not (72
uplinks over 32 leaves of 144 ports: 18 spines, not 16). Where a few uplinks more divide better, and the ToR has ports
for them, they save whole spines: 61 uplinks would need 61 spines, 62 need 31. NIC ports and rails are spread over sets
of spines; a ToR that this leaves without a path to others is reported.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.front.planning.topology.models import UnfitError

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class SpineLayer:
    """Spines of one plane and pod, and the parallel links from each ToR to each of them."""

    count: int
    links_per_spine: int


@dataclass(frozen=True, slots=True)
class CoreLayer:
    """Cores of one plane, in `groups` groups; spine i of each pod is connected to group i // `spines_per_group`."""

    groups: int
    cores_per_group: int
    spines_per_group: int
    links_per_core: int

    @property
    def count(self) -> int:
        """Cores of one plane."""
        return self.groups * self.cores_per_group


def list_divisors(number: int) -> list[int]:
    """List the divisors of a positive number, ascending."""
    return [d for d in range(1, number + 1) if number % d == 0]


def exact_ratio(value: float) -> Fraction:
    """Return an oversubscription ratio exactly: 1.067 is 1067/1000 as people write it."""
    return Fraction(str(value))


def uplinks_needed(down_gbps: int, oversubscription: float, uplink_gbps: int) -> int:
    """Fewest uplinks whose bandwidth keeps down / up within the ratio."""
    return max(1, -(-Fraction(down_gbps) // (exact_ratio(oversubscription) * uplink_gbps)))


def spine_layer(tors: int, uplinks: int, spine_ports: int) -> SpineLayer | None:
    """Fewest spines for `tors` ToRs of `uplinks` uplinks each; None when one spine cannot reach every ToR."""
    if spine_ports < 1:
        return None
    fewest = -(-tors * uplinks // spine_ports)
    for count in list_divisors(uplinks):
        if count >= fewest:
            return SpineLayer(count, uplinks // count)
    return None


def fewest_spines(tors: int, uplinks: int, most_uplinks: int, spine_ports: int) -> SpineLayer | None:
    """Return a layer with up to `most_uplinks` uplinks per ToR if more of them need fewer spines."""
    fewest = spine_layer(tors, uplinks, spine_ports)
    if fewest is None:
        return None
    for links in range(1, spine_ports // tors + 1):
        raised = SpineLayer(-(-uplinks // links), links)
        if raised.count < fewest.count and raised.count * links <= most_uplinks:
            fewest = raised
    return fewest


def core_layer(
    pods: int,
    spines: int,
    uplinks: int,
    core_ports: int,
    count: int | None = None,
    per_group: int | None = None,
    links: int | None = None,
) -> CoreLayer | None:
    """Fewest cores for `pods` pods of `spines` spines (per plane) with `uplinks` uplinks each.

    Among equals the fewest groups win: a spine then spreads over the most cores. With `count`, exactly that many;
    with `per_group` and `links`, so many spines of a pod in a group and so many links from a spine to a core.
    None when no arrangement has enough core ports.
    """
    best: CoreLayer | None = None
    for groups in list_divisors(spines):
        for cores in list_divisors(uplinks):
            layer = CoreLayer(groups, cores, spines // groups, uplinks // cores)
            if per_group not in (None, layer.spines_per_group) or links not in (None, layer.links_per_core):
                continue
            if pods * layer.spines_per_group * layer.links_per_core > core_ports:
                continue
            if count is not None and layer.count != count:
                continue
            if best is None or layer.count < best.count:
                best = layer
            if count is None:
                break
    return best


def with_present_planes(spec: ClusterSpec, fabric: Fabric) -> Fabric:
    """Return the fabric without the planes that the spec has for later: no switches, and no cables of NIC ports.

    Raises:
        UnfitError: FAB3078 where rails have planes of their own.
    """
    if not spec.planes_present:
        return fabric
    shape = fabric.shape
    if shape.rail_planes > 1:
        message = "`planes_present` is for planes by NIC port, and this fabric also has planes by rail"
        help_ = "Remove `planes_present`, or join the rails: `wiring: rail` without `spines.rails`."
        raise UnfitError(spec.error("FAB3078", message, "planes_present", help=help_))
    later = range(spec.planes_present, shape.port_planes)
    attachments = tuple(
        replace(
            each,
            absent=frozenset(port for port in range(each.nic_ports) if port % shape.port_planes in later),
        )
        for each in fabric.attachments
    )
    return replace(fabric, attachments=attachments, planes_present=spec.planes_present)


def refuse_unpaired(spec: ClusterSpec, fabric: Fabric) -> None:
    """Reject links between ToRs unless each plane has two ToRs; among more, lossless traffic could form a circle.

    Raises:
        UnfitError: FAB3062.
    """
    if not spec.tors.peer_links:
        return
    counts = Counter(at.plane for at in fabric.switch_ids())
    most, fewest = max(counts.values()), min(counts.values())
    if most == fewest == 2:
        return
    number = most if most > 2 else fewest
    message = f"tors.peer_links joins the two ToRs of a plane, and a plane of this spec has {number}"
    per_tor = fabric.shape.rails // 2
    one_unit = len([*fabric.places()]) * fabric.shape.port_planes == fabric.shape.nic_ports and per_tor
    ports = fabric.shape.nic_ports
    by_port = number * fabric.shape.port_planes == 2 * ports and fabric.shape.port_planes < ports
    help_ = (
        "Add `spines`, which join any number of ToRs; remove `peer_links`"
        + f"; or write `planes: {ports}` for two ToRs in each" * by_port
        + f"; or write `gpus.rails_per_tor: {per_tor}` for two ToRs" * bool(one_unit)
        + "."
    )
    raise UnfitError(spec.error("FAB3062", message, "tors", "peer_links", help=help_))


@dataclass(frozen=True, slots=True)
class Planes:
    """Number of spine sets of a pod: `by_rail` for its rails, each times `by_port` for the ports of a NIC."""

    by_rail: int
    by_port: int

    @property
    def count(self) -> int:
        """All of them."""
        return self.by_rail * self.by_port


def planes_of(spec: ClusterSpec, rails: int, per_tor: int, nic_ports: int, one_tor: bool) -> Planes:
    """Return the planes of a spec whose hosts have so many rails, of which `per_tor` share a ToR, and ports of a NIC.

    Without spines every ToR of a unit is a plane of its own. `one_tor`: one ToR has all rails of a unit.

    Raises:
        UnfitError: the rails cannot be shared out so, or ToRs would be islands that the spec does not request.
    """
    groups = rails // per_tor
    if spec.tors.peer_links:
        return Planes(1, spec.planes)
    if spec.spines is None:
        if groups > 1 and not spec.gpus.rails_apart:
            message = f"without spines the {groups} ToRs of a unit for {rails} rails are {groups} islands"
            help_ = (
                "Write `gpus.wiring: rail-only` for rails that only the hosts join, "
                + "`gpus.rails_per_tor: 0` for one ToR, " * one_tor
                + "`tors.peer_links: N` for N links between the two ToRs, " * (groups == 2)
                + "or add `spines`."
            )
            raise UnfitError(spec.error("FAB3052", message, "gpus", help=help_))
        return Planes(groups, nic_ports)
    if spec.gpus.rails_apart:
        return Planes(groups, spec.planes)
    together = spec.spines.rails or rails
    if rails % together or together % per_tor:
        fitting = [str(each) for each in list_divisors(rails) if each % per_tor == 0]
        message = (
            f"{plural(rails, 'rail')}, {per_tor} to a ToR, cannot be shared out {together} to a set of spines"
        )
        help_ = f"Use one of {', '.join(fitting)}."
        raise UnfitError(spec.error("FAB3053", message, "spines", "rails", help=help_))
    return Planes(rails // together, spec.planes)
