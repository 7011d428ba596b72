"""One failure as a value: what fails, who is hit, and what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.review.report.wording import NONE, format_percent

if TYPE_CHECKING:
    from fabricc.review.report.capacity import Capacity
    from fabricc.review.report.losses import Hit

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
    """What fails, one by name, and how many there are."""

    name: str
    example: str
    number: int


def at_access(part: Part, links: int, hit: Hit, bisection: Fraction) -> Failure:
    """A failure that takes ports from NICs."""
    return Failure(*part, links, bisection, hit.hosts, hit.gpus, hit.reduced, hit.kept)


def above_nics(
    part: Part,
    links: int,
    gpus: int,
    kept: tuple[Fraction, Fraction],
    where: str,
    width: str,
    bisection: Fraction,
) -> Failure:
    """A failure that leaves every NIC its ports; `kept` by the links that are left, and by even hashing over them."""
    by_links, hashed = kept
    reduced, evenly = gpus if min(kept) < 1 else 0, hashed if hashed < by_links else None
    return Failure(*part, links, bisection, 0, 0, reduced, by_links, where, evenly, width)


def one_half(before: Capacity, after: Capacity) -> Fraction:
    """Share of the bisection bandwidth that is left where the loss is in one place: all of it falls to one half."""
    lost, whole = before.carried_gbps - after.carried_gbps, before.carried_gbps
    return max(Fraction(0), 1 - Fraction(2 * lost, whole)) if whole else Fraction(0)


def both_halves(before: Capacity, after: Capacity) -> Fraction:
    """Return the same if the loss affects both halves equally."""
    return Fraction(after.carried_gbps, before.carried_gbps) if before.carried_gbps else Fraction(0)


def kept_text(each: Failure) -> str:
    """What the GPUs that lose some of their bandwidth keep, for people."""
    if not each.reduced:
        return NONE
    text = f"{format_percent(each.kept)} {each.where}"
    return text if each.evenly is None else f"{text}; {format_percent(each.evenly)} if hashed evenly"
