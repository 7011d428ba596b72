"""Coordinates in words, and where the lock pins the ones that a user gave a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Position
from fabricc.fabric.shape import TierName
from fabricc.review.explain.model import Origin, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.shape import SwitchId
    from fabricc.review.explain.coordinates import Place
    from fabricc.review.explain.origins import PlanSources

TIERS = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}


def tier_text(place: Place) -> str:
    """`a host link of a ToR`, `an uplink of a spine`, `a core`."""
    tier = TIERS[place.tier]
    if place.slot >= 0:
        return f"a host link of a {tier}"
    return f"an uplink of a {tier}" if place.uplink >= 0 else f"a {tier}"


def coordinates_text(place: Place) -> str:
    """Return the coordinates that a place has, in words."""
    parts = [switch_text(place.switch)]
    if place.slot >= 0:
        parts.append(f"slot {place.slot}, rail {place.rail} of the ToR")
    if place.uplink >= 0:
        parts.append(f"uplink {place.uplink}")
    return ", ".join(parts)


def switch_text(at: SwitchId) -> str:
    """Return the coordinates of a switch, in words; all count from 0."""
    if at.tier is TierName.TOR:
        return f"unit {at.unit}, ToR group {at.index}, NIC port {at.nic_port}"
    if at.tier is TierName.SPINE:
        return f"pod {at.pod}, spine {at.index}, plane {at.plane}"
    return f"core {at.index}, plane {at.plane}"


def identity_origins(plan: PlanSources, unit: int, slot: int = -1) -> tuple[Origin, ...]:
    """Where the lock gives a unit its coordinate and a named host its slot; nothing for those that are counted."""
    return tuple(_identity_origins(plan, unit, slot))


def _identity_origins(plan: PlanSources, unit: int, slot: int) -> Iterator[Origin]:
    found = plan.fabric.units.get(unit)
    if found is None:
        return
    host = found.hosts.get(slot)
    written = plan.sources.get(plan.lock_file, "")
    for name, line in _identity_items(plan.lock_text):
        if name not in (f"unit {unit}", f"host {host} {unit}"):
            continue
        lines = written.splitlines()
        place = Position(plan.lock_file, lines.index(line) + 1, 1) if line in lines else None
        note = "" if place else "chosen by this plan; `fabricc build` pins it"
        yield Origin(Source.LOCK, line.rpartition(" ")[0], line.rpartition(" ")[2], place, line, note)


def _identity_items(lock: str) -> Iterator[tuple[str, str]]:
    """Yield (`unit COORDINATE` or `host NAME UNIT`, line) of every identity in a lock."""
    for line in lock.splitlines():
        words = line.split()
        if words[:1] == ["unit"]:
            yield f"unit {words[2]}", line
        elif words[:1] == ["host"]:
            yield f"host {words[1]} {words[2]}", line
