"""Ports of a switch as the subnet manager counts them, and how `ibnetdiscover` writes a link's lanes and rate."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fabricc.catalog.rates import generation_at
from fabricc.fabric import links

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import PortLayout, Slot, SwitchId


def port_number(layout: PortLayout, slot: Slot) -> int:
    """Return the number of a slot, from 1; the cages of an InfiniBand switch are consecutive.

    All cages have as many numbers as the one that is split most: a switch with one split cage runs in the profile in
    which all can be, and an unsplit cage then has the first of its two numbers (assumed, see the catalog).
    """
    return (slot.cage - layout.slots[0].cage) * _per_cage(layout) + slot.child


def port_count(layout: PortLayout) -> int:
    """Return ports that the switch reports, cabled or not."""
    return (layout.slots[-1].cage - layout.slots[0].cage + 1) * _per_cage(layout)


def ports_by_name(wiring: Fabric, at: SwitchId) -> dict[str, tuple[int, Slot]]:
    """Printed name of each port of a switch -> its number and slot."""
    layout = links.port_layout(wiring, at)
    names = links.port_names(wiring, at)
    return {name: (port_number(layout, slot), slot) for name, slot in zip(names, layout.slots, strict=True)}


@cache
def speed_word(gbps: int, lanes: int) -> str:
    """Lanes and generation of a port: `4xHDR` for 200 Gb/s on four lanes, `2xHDR` for 100 on two."""
    generation = generation_at(gbps, lanes)
    return f"{lanes}x{generation.name if generation else gbps}"


def _per_cage(layout: PortLayout) -> int:
    return max(slot.children for slot in layout.slots)
