"""What a device asks for and its system cannot do, as data: a row a limit, and one evaluation of rows."""

from __future__ import annotations

from dataclasses import field
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from fabricc.base.values import dataclass
from fabricc.fabric.gap import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

Device = TypeVar("Device")
"""A switch or a host."""
Row = TypeVar("Row", bound="Limit[Any]")


class Range(NamedTuple):
    """Figures that are taken, both ends included; None, which asks for nothing, is among them."""

    low: float
    high: float = inf

    def __contains__(self, figure: Any) -> bool:
        return figure is None or self.low <= figure <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Limit(Generic[Device]):
    """Something that a system cannot do.

    `feature`, `reason` and `remedy` are formats. Their fields are `it`, the thing that is asked, or its names where it
    has some, `allowed`, and what the system adds.

    Attributes:
        code: of the gap; empty for what needs none.
        feature: what is asked, a few words.
        asked: whether a device asks for it; or the things that it asks for, of which each may be too much.
        allowed: what may be asked of `it`, or of what is so called of it; where there is none, all is too much.
        reason: why it cannot be, with the source.
        fatal: False when the configuration works without, less well.
    """

    code: str = ""
    feature: str = ""
    asked: Callable[[Device], bool | Iterable[Any]] | None = None
    allowed: Mapping[str, Container[Any]] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""
    fatal: bool = True

    def title(self) -> str:
        """What is asked, a few words."""
        return self.feature

    def asks(self, device: Device) -> bool | Iterable[Any]:
        """Whether the device asks for it, or what of it."""
        return self.asked(device) if self.asked else False

    def things(self, device: Device) -> tuple[Any, ...]:
        """What the device asks for; the limit itself where it asks for the whole."""
        found = self.asks(device)
        return ((self,) if found else ()) if isinstance(found, bool) else tuple(found)

    def exceeded(self, thing: Any) -> bool:
        """Whether the thing is more than the system takes."""
        return not self.allowed or any(_of(thing, name) not in taken for name, taken in self.allowed.items())

    def gap(self, thing: Any, texts: tuple[str, str] | None = None, **fields: Any) -> Gap:
        """The row in the words of the thing; `texts` are another reason and remedy, `fields` more that texts name."""
        fields = {"allowed": self.allowed, **fields, **(thing if isinstance(thing, dict) else {"it": thing})}
        reason, remedy = texts or (self.reason, self.remedy)
        feature, reason, remedy = (text.format_map(fields) for text in (self.title(), reason, remedy))
        return Gap(self.code, feature, reason, remedy, self.fatal)


def _of(thing: Any, name: str) -> Any:
    if name == "it":
        return thing
    return thing[name] if isinstance(thing, dict) else attrgetter(name)(thing)


def gaps(device: Device, rows: Iterable[Row], worded: Callable[[Row, Any], Gap]) -> list[Gap]:
    """What the device asks for beyond these limits, each thing once; rows that are asked alike go thing by thing.

    Args:
        device: a switch or a host.
        rows: in the order in which gaps are told.
        worded: the gap of a row and a thing.
    """
    return list(
        dict.fromkeys(
            worded(limit, thing)
            for limits in (tuple(alike) for _, alike in groupby(rows, lambda limit: limit.asked or id(limit)))
            for thing in limits[0].things(device)
            for limit in limits
            if limit.exceeded(thing)
        )
    )
