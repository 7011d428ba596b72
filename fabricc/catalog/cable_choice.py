"""Choose the transceivers, fibers and cables that connect two cages over a length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.catalog.optics import Fibre, lane_gbps, load_optics, plugs_of_cage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.catalog.optics import Assembly, End, Part, Transceiver

FIBRES = ("mmf", "smf")


@dataclass(frozen=True, slots=True)
class Fit:
    """The parts that connect two ends.

    Attributes:
        near, far: the transceivers; None where the cable has its modules on it.
        fibre: the fibre between them, whose near side is the end with fewer connectors than children, if there is one.
        per_child: how many such fibres a child takes.
        cable: the assembly.
        split: which end is split over several of the other: -1 the near one, 1 the far one, 0 none.
    """

    near: Transceiver | None = None
    far: Transceiver | None = None
    fibre: Fibre | None = None
    per_child: int = 1
    cable: Assembly | None = None
    split: int = 0


def find_fits(near: End, far: End, medium: str, *, alone: bool) -> tuple[Fit, ...]:
    """Everything that joins two ends over a medium, at whatever length.

    Args:
        near: the end whose maker's parts are preferred.
        far: the other one.
        medium: `dac`, `aec`, `aoc`, `mmf` or `smf`.
        alone: whether all children of each lead to the other, so that one cable carries them all.
    """
    if medium in FIBRES:
        return tuple(_over_fibre(near, far, medium))
    return tuple(_assembly_fits(near, far, medium, alone=alone))


def _over_fibre(near: End, far: End, medium: str) -> Iterator[Fit]:
    """Two transceivers of one family; no standard fibre is split at both of its sides."""
    table = load_optics()
    for one in _fitting_modules(near, medium):
        for other in _fitting_modules(far, medium):
            if one.family != other.family:
                continue
            sides = (near, one), (far, other)
            shared = tuple(end.use.children // len(module.connectors) for end, module in sides)
            if min(shared) > 1 or (max(shared) > 1 and not table.families[one.family].parallel):
                continue
            if max(shared) <= 1:
                each = [len(module.connectors) // end.use.children for end, module in sides]
                if each[0] != each[1]:
                    continue
                fibre = _fiber_fits(medium, one.connectors[0], other.connectors[0], 1)
                yield Fit(one, other, fibre, per_child=each[0])
            else:
                split = -1 if shared[0] > 1 else 1
                head, tail = (one, other) if split < 0 else (other, one)
                if len(tail.connectors) == (far if split < 0 else near).use.children:
                    fibre = _fiber_fits(medium, head.connectors[0], tail.connectors[0], max(shared))
                    yield Fit(one, other, fibre, split=split)


def _fitting_modules(end: End, medium: str) -> Iterator[Transceiver]:
    table = load_optics()
    for plug in plugs_of_cage(end.form_factor):
        for module in table.transceivers:
            over = table.families[module.family].medium
            if module.form_factor == plug and end.use in module.uses and over == medium:
                yield module


def _fiber_fits(medium: str, near: str, far: str, fan: int) -> Fibre:
    wanted = (medium, near, far, fan)
    known = (each for each in load_optics().fibres if (each.medium, each.near, each.far, each.fan) == wanted)
    return next(known, Fibre(*wanted))


def _assembly_fits(near: End, far: End, medium: str, *, alone: bool) -> Iterator[Fit]:
    children = near.use.children, far.use.children
    if children[0] == children[1]:
        ways = ((0, near, far, 1),) if alone else ()
    elif min(children) == 1:
        head, tail = (near, far) if children[0] > 1 else (far, near)
        ways = ((-1 if head is near else 1, head, tail, max(children)),)
    else:
        ways = ()
    for split, head, tail, fan in ways:
        rates = lane_gbps(head.use), lane_gbps(tail.use)
        for cable in load_optics().assemblies:
            joined = _cable_ends(cable, head, tail) or (fan == 1 and _cable_ends(cable, tail, head))
            carried = (rates[0] == rates[1] or cable.converts) and max(rates) <= cable.lane_gbps
            if cable.medium == medium and fan in cable.fan and joined and carried:
                yield Fit(cable=cable, split=split)


def _cable_ends(cable: Assembly, head: End, tail: End) -> bool:
    return not (
        set(cable.near).isdisjoint(plugs_of_cage(head.form_factor))
        or set(cable.far).isdisjoint(plugs_of_cage(tail.form_factor))
    )


def reach_of(fit: Fit) -> int:
    """Return how far it reaches, m."""
    return min(item.reach_m for item in (fit.near, fit.far, fit.cable) if item is not None)


def choose_shortest(found: Iterable[Fit], metres: int, near: End, far: End) -> Fit | None:
    """Return the parts that suffice for a length: first by both makers, then by shortest reach."""
    enough = [fit for fit in found if reach_of(fit) >= metres]
    return min(
        enough, key=lambda fit: (_count_foreign_ends(fit, metres, near, far), reach_of(fit)), default=None
    )


def _count_foreign_ends(fit: Fit, metres: int, near: End, far: End) -> int:
    """Of how many of its ends the maker has no part."""
    if fit.cable is not None:
        return int(not any(part_for(fit.cable.parts, end, metres) for end in (near, far)))
    modules = ((fit.near, near), (fit.far, far))
    return sum(1 for module, end in modules if module and not part_for(module.parts, end, metres))


def part_for(parts: Iterable[Part], end: End, metres: int) -> Part | None:
    """Return the part of an end's maker that reaches far enough, and no farther than it must."""
    fitting = [
        part
        for part in parts
        if part.vendor == end.vendor
        and end.protocol in part.protocols
        and (part.reach_m is None or metres <= part.reach_m)
        and (not part.lengths or metres <= part.lengths[-1][0])
    ]
    return min(fitting, key=lambda part: part.reach_m or float("inf"), default=None)


def number_of(part: Part, metres: int) -> str:
    """Its number, that of the shortest length sold which suffices where each length has its own."""
    return next((number for length, number in part.lengths if length >= metres), part.number)
