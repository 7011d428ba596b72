"""Spread NIC ports and rails over sets of spines, and find ToRs that this leaves without a path to others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.front.planning.topology import clos
from fabricc.front.planning.topology.models import UnfitError

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def with_present_planes(spec: ClusterSpec, fabric: Fabric) -> Fabric:
    """Return the fabric without the planes that the spec has for later: no switches, and no cables of NIC ports.

    Raises:
        UnfitError: FAB3078 where rails have planes of their own.
    """
    if not spec.planes_present:
        return fabric
    shape = fabric.shape
    if shape.rail_planes > 1:
        message = "planes by stages are for the ports of a NIC, and here rails have planes of their own too"
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
    help_ = (
        "Add `spines`, which join any number of ToRs; remove `peer_links`"
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
                "Write `wiring: rail-only` for rails that only the hosts join, "
                + "`rails_per_tor: 0` for one ToR, " * one_tor
                + "`tors.peer_links: N` for N links between the two ToRs, " * (groups == 2)
                + "or add `spines`."
            )
            raise UnfitError(spec.error("FAB3052", message, "gpus", help=help_))
        return Planes(groups, nic_ports)
    if spec.gpus.rails_apart:
        return Planes(groups, spec.planes)
    together = spec.spines.rails or rails
    if rails % together or together % per_tor:
        fitting = [str(each) for each in clos.list_divisors(rails) if each % per_tor == 0]
        message = (
            f"{plural(rails, 'rail')}, {per_tor} to a ToR, cannot be shared out {together} to a set of spines"
        )
        help_ = f"Use one of {', '.join(fitting)}."
        raise UnfitError(spec.error("FAB3053", message, "spines", "rails", help=help_))
    return Planes(rails // together, spec.planes)
