"""Check that cables are no longer than their medium reaches at the speed of their ports."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.catalog.reach import find_reach, load_reaches, longest_reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.reach import Reach
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import PortLayout, Slot
    from fabricc.front.spec.model import ClusterSpec


def media_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3026 for each kind of link whose cable is too long at its speed; what reaches at no speed is FAB2052."""
    for kind, cable in fabric.cable_kinds.items():
        slots = list(_slots_of_kind(fabric, kind))
        if not slots or not cable.length_m <= longest_reach(cable.medium):
            continue
        lane_gbps = max(Fraction(slot.speed_gbps, slot.lanes) for slot in slots)
        most = find_reach(cable.medium, lane_gbps)
        if cable.length_m <= most.metres:
            continue
        speed = max(slot.speed_gbps for slot in slots)
        message = (
            f"cables.{kind}: {cable.medium} of {cable.length_m} m; at {speed}G, "
            f"{float(lane_gbps):g}G a lane, it reaches {most.metres} m ({most.source})"
        )
        yield spec.warning(
            "FAB3026", message, "cables", kind, help=_medium_remedy(cable.length_m, lane_gbps, most)
        )


def _slots_of_kind(fabric: Fabric, kind: str) -> Iterator[Slot]:
    """Return the switch ports that links of a kind use, at both ends where both are switches."""
    tors, spine, core = fabric.tor_layouts, fabric.spine_layout, fabric.core_layout
    if kind == "host":
        for layout in tors:
            yield from _used_slots(layout, layout.down[: len(layout.down) - layout.reserved])
    elif kind == "spine":
        for layout in tors:
            yield from _used_slots(layout, layout.up)
        yield from _used_slots(spine, spine.down)
    elif core is not None:
        yield from _used_slots(spine, spine.up)
        yield from _used_slots(core, core.down)


def _used_slots(layout: PortLayout, indices: Iterable[int]) -> Iterator[Slot]:
    return (layout.slots[index] for index in indices)


def _medium_remedy(length_m: float, lane_gbps: Fraction, most: Reach) -> str:
    """Return a remedy: another medium at that length, or a shorter cable."""
    others = [medium for medium in load_reaches() if find_reach(medium, lane_gbps).metres >= length_m]
    instead = f"Use {others[0]}, or " if others else ""
    return f"{instead}a cable of {most.metres} m at the most."
