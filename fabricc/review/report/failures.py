"""Every failure of a planned fabric, from the cable up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.review.report.capacity import capacity
from fabricc.review.report.failures_above import above
from fabricc.review.report.failures_below import below
from fabricc.review.report.losses import place

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.failure import Failure


def failures(fabric: Fabric, *, hashed: bool) -> tuple[Failure, ...]:
    """One part lost after the other, everything else up.

    Links that overrides shut count as working; `hashed` says that switches hash over next hops, as ECMP does.
    """
    whole = capacity(fabric)
    present = sorted({unit.group for unit in fabric.places() if unit.hosts})
    places = [place(fabric, group) for group in present]
    found: list[Failure] = []
    for at in places:
        of = f" ({fabric.host_models[at.group].title})" if len(places) > 1 else ""
        found += [replace(each, part=each.part + of) for each in below(fabric, whole, at)]
    if places and fabric.shape.spines:
        found += above(fabric, whole, places)
    return tuple(each if hashed else replace(each, evenly=None) for each in found)


def hardest_single(lost: tuple[Failure, ...]) -> Failure | None:
    """The single part whose loss cuts off the most GPUs; where none does, takes the most bandwidth from all."""
    single = [each for each in lost if each.device]
    return max(single, key=lambda each: (each.gpus_cut, each.reduced * (1 - each.kept)), default=None)
