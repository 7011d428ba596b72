"""Management switches as the spec asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.fabric.cables import CableKind
from fabricc.front.spec.model import ManagementTier, ManagementWish, NosChoice

if TYPE_CHECKING:
    from collections.abc import Mapping


def build_switches(raw: Mapping[str, Any]) -> ManagementWish:
    """The section `management.switches`, valid and with its defaults, as values."""
    return ManagementWish(
        _tier(raw),
        _tier(raw["aggregation"]) if "aggregation" in raw else None,
        by_unit=raw["per"] == "unit",
        row=raw["row"],
        outside=tuple(raw["to"]),
        cable=CableKind("copper", raw["cable_m"]),
        uplink=CableKind(raw["uplink"]["medium"], raw["uplink"]["length_m"]),
    )


def _tier(raw: Mapping[str, Any]) -> ManagementTier:
    nos = NosChoice.of(raw["nos"]) if "nos" in raw else None
    return ManagementTier(raw["model"], nos, raw.get("count"), raw.get("uplinks"))
