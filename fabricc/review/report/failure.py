"""One failure as a value: what fails, who is hit, and what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from fabricc.base.diagnostics.wording import format_share
from fabricc.base.values import dataclass
from fabricc.review.report.wording import NONE

AT_NIC, BEYOND = "at the NIC", "beyond the ToR"
AS_BEFORE = "as before"


@dataclass(frozen=True, slots=True)
class Failure:
    """One part lost, everything else up.

    Attributes:
        part: what fails. `example`: one of them by name.
        number: how many of it there are. `links`: links lost with one.
        hosts_cut, gpus_cut: without any port.
        reduced: GPUs that keep less bandwidth than before, `kept` of it at least, at the place `where`.
        evenly: what even hashing leaves of it, where that is less than the links that are left.
        width: equal-cost next hops left.
        bisection: share of the bisection bandwidth that is left.
        device: a single device or cable, not the power of a whole room.
    """

    part: str
    example: str
    number: int
    links: int
    bisection: Fraction
    hosts_cut: int = 0
    gpus_cut: int = 0
    reduced: int = 0
    kept: Fraction = Fraction(1)
    where: str = AT_NIC
    evenly: Fraction | None = None
    width: str = AS_BEFORE
    device: bool = True


class Part(NamedTuple):
    """The failing part, one by name, and how many there are."""

    name: str
    example: str
    number: int


def kept_text(each: Failure) -> str:
    """Return the share of their bandwidth that the affected GPUs keep, for people."""
    if not each.reduced:
        return NONE
    text = f"{format_share(each.kept)} {each.where}"
    return text if each.evenly is None else f"{text}; {format_share(each.evenly)} if hashed evenly"
