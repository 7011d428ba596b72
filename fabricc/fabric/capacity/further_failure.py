"""The worst effect of losing one more switch during an outage."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.order import group_pairs
from fabricc.fabric.capacity.hosts import compute_port_loss
from fabricc.fabric.capacity.share import WHOLE, LinkShare

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from fabricc.fabric.capacity.remainder import Remainder
    from fabricc.fabric.capacity.wiring import NicPort


class FurtherFailure(NamedTuple):
    """The worst effect of losing one more switch.

    Attributes:
        cuts, gpus: the switch whose loss leaves the most GPUs without a port, and how many more.
        narrows, at, share: the switch whose loss leaves the least capacity above a switch, which one, and how much.
    """

    cuts: str
    gpus: int
    narrows: str
    at: str
    share: Fraction


def find_further_failure(left: Remainder) -> FurtherFailure:
    """Return the worst effect of losing one more switch; losing a link is never worse than losing its switch."""
    cuts, gpus = _find_worst_cut(left)
    return FurtherFailure(cuts, gpus, *_find_narrowest_uplinks(left))


def _find_worst_cut(left: Remainder) -> tuple[str, int]:
    wiring, alone = left.wiring, _map_last_uplinks(left)
    worst = ("", 0)
    known: dict[object, int] = {}
    lost_units = {unit for unit, _ in left.lost_ports}
    for name in wiring.switches:
        if name in left.outage.gone:
            continue
        tors = (name, *alone.get(name, ()))
        ports = [port for tor in tors if tor in wiring.tors for port in wiring.nics(tor)]
        gpus = 0
        for unit, of_unit in group_pairs((port.unit, port) for port in ports).items():
            if unit in lost_units:
                gpus += _count_more_cut(left, unit, of_unit)
                continue
            group = wiring.fabric.units[unit].group
            key = group, tuple(port[1:] for port in of_unit)
            if key not in known:
                known[key] = compute_port_loss(wiring.fabric, group, key[1]).gpus
            gpus += known[key]
        worst = max(worst, (name, gpus), key=lambda each: each[1])
    return worst


def _count_more_cut(left: Remainder, unit: int, ports: Iterable[NicPort]) -> int:
    """Return how many more GPUs of a unit have no port if some ports are lost as well."""
    fabric = left.wiring.fabric
    group = fabric.units[unit].group
    gone = {port[1:] for (of, _), lost in left.lost_ports.items() if of == unit for port in lost}
    both = gone | {port[1:] for port in ports}
    return compute_port_loss(fabric, group, both).gpus - compute_port_loss(fabric, group, gone).gpus


def _find_narrowest_uplinks(left: Remainder) -> tuple[str, str, Fraction]:
    wiring = left.wiring
    narrowest: tuple[str, str, Fraction] = ("", "", WHOLE)
    seen: set[tuple[tuple[str, int], ...]] = set()
    for lower, above in wiring.uplinks.items():
        counts, of = left.next_hops(lower), sum(above.values())
        key = (*counts.items(), ("", of))
        if key in seen:  # equal to a switch that comes before it
            continue
        seen.add(key)
        shares: dict[tuple[int, ...], Fraction] = {}
        for upper in counts:
            rest = tuple(sorted(links for each, links in counts.items() if each != upper))
            if rest not in shares:
                shares[rest] = LinkShare.of_counts(rest, of).capacity
            if shares[rest] < narrowest[2]:
                narrowest = upper, lower, shares[rest]
    return narrowest


def _map_last_uplinks(left: Remainder) -> dict[str, list[str]]:
    """Map each switch to the ToRs for which it is the only remaining switch above; a ToR of a pair needs no other."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for tor in () if left.wiring.fabric.shape.peer_links else left.wiring.tors:
        if tor in left.wiring.uplinks and len(above := left.next_hops(tor)) == 1:
            found[next(iter(above))].append(tor)
    return found
