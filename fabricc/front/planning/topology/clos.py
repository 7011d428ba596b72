"""Compute numbers of switches and links from ratios and port counts (Clos arithmetic).

The divisor rule: every ToR has the same number of links to every spine, so the spine count is the smallest
divisor of the uplink count that gives the spines enough ports. It reproduces published designs where a plain
ceiling does not (72 uplinks over 32 leaves of 144 ports: 18 spines, not 16). Where a few uplinks more divide better,
and the ToR has ports for them, they save whole spines: 61 uplinks would need 61 spines, 62 need 31.
"""

from __future__ import annotations

from fractions import Fraction

from fabricc.base.values import dataclass


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
