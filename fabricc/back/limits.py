"""Limits of systems as data: one row per limit, and one evaluation of all rows against a device."""

from __future__ import annotations

from dataclasses import field
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from warnings import warn

from fabricc.base.values import dataclass
from fabricc.fabric.vocabulary import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

Device = TypeVar("Device")
"""A switch or a host."""
Row = TypeVar("Row", bound="Limit[Any]")


class Range(NamedTuple):
    """The supported range, both ends included; None (setting absent) is always supported."""

    low: float
    high: float = inf

    def __contains__(self, figure: Any) -> bool:
        return figure is None or self.low <= figure <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Limit(Generic[Device]):
    """Something that a system does not support.

    `feature`, `reason` and `remedy` are formats. Their fields are `it` (the requested thing, or its attributes),
    `allowed`, and the fields that the system adds.

    Attributes:
        code: of the gap; empty if it needs none.
        feature: the requested feature in a few words.
        requested: whether a device needs it; or the things that it needs, each of which is checked.
        allowed: the supported values of `it`, or of the named attribute; None if nothing is supported.
        reason: the reason of the limit; `source`: the document that states it.
        fatal: False if the configuration works without it, but less well.
        section: section of the spec that causes it for every tier; empty if tiers differ.
        asked: the former name of `requested`, which still works.
    """

    code: str = ""
    feature: str = ""
    requested: Callable[[Device], bool | Iterable[Any]] | None = None
    allowed: Mapping[str, Container[Any]] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""
    fatal: bool = True
    section: str = ""
    source: str = ""
    asked: Callable[[Device], bool | Iterable[Any]] | None = None

    def __post_init__(self) -> None:
        """Accept `requested` by its former name."""
        if self.asked is not None:
            warn("Limit(asked=…) is now Limit(requested=…)", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "requested", self.asked)

    def title(self) -> str:
        """Return the requested feature in a few words."""
        return self.feature

    def requests(self, device: Device) -> bool | Iterable[Any]:
        """Return whether the device needs it, or the things that it needs."""
        return self.requested(device) if self.requested else False

    def things(self, device: Device) -> tuple[Any, ...]:
        """Return the things that the device needs; the limit itself for the feature as a whole."""
        found = self.requests(device)
        return ((self,) if found else ()) if isinstance(found, bool) else tuple(found)

    def is_exceeded(self, thing: Any) -> bool:
        """Return whether the thing exceeds the support of the system."""
        return not self.allowed or any(
            _attribute_of(thing, name) not in taken for name, taken in self.allowed.items()
        )

    def gap(self, thing: Any, texts: tuple[str, str] | None = None, **fields: Any) -> Gap:
        """Return the gap of a thing; `texts` are another reason and remedy, and `fields` further format fields."""
        fields = {"allowed": self.allowed, **fields, **(thing if isinstance(thing, dict) else {"it": thing})}
        reason, remedy = texts or (self.reason, self.remedy)
        source = "" if "{source}" in reason else self.source
        feature, reason, remedy = (text.format_map(fields) for text in (self.title(), reason, remedy))
        return Gap(self.code, feature, reason, remedy, self.fatal, self.section, source)


def _attribute_of(thing: Any, name: str) -> Any:
    if name == "it":
        return thing
    return thing[name] if isinstance(thing, dict) else attrgetter(name)(thing)


def gaps(device: Device, rows: Iterable[Row], worded: Callable[[Row, Any], Gap]) -> list[Gap]:
    """Report each thing that exceeds these limits once; rows with the same question are grouped by thing.

    Args:
        device: a switch or a host.
        rows: in the order of the reported gaps.
        worded: builds the gap of a row and a thing.
    """
    return list(
        dict.fromkeys(
            worded(limit, thing)
            for limits in (
                tuple(alike) for _, alike in groupby(rows, lambda limit: limit.requested or id(limit))
            )
            for thing in limits[0].things(device)
            for limit in limits
            if limit.is_exceeded(thing)
        )
    )
