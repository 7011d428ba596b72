"""The fullest unit of a host group, which serves as the example of its failures, and the cages of its first ToR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric import links

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

SlotPort = tuple[int, int, int]
"""Slot of the host in its unit, rail, and port of that NIC."""


@dataclass(frozen=True, slots=True)
class ExampleUnit:
    """The fullest unit of a host group, where losses are the largest.

    Attributes:
        tor: name of its first ToR.
        slots: of its own hosts on that ToR.
        down_gbps: bandwidth of the hosts on that ToR.
    """

    group: int
    unit: int
    pod: int
    tor: str
    slots: tuple[int, ...]
    down_gbps: int


def find_example_unit(fabric: Fabric, group: int) -> ExampleUnit:
    """Return the first of the units of a host group that have the most hosts."""
    units = [unit for unit in fabric.units.values() if unit.group == group]
    unit = max(units, key=lambda each: (len(each.hosts), -each.coordinate)).coordinate
    tor = links.tor_id(fabric, unit, 0, 0)
    served = [*links.served_slots(fabric, tor)]
    gbps = sum(len(slots) * len(rails) * fabric.attachments[of.group].gbps for of, slots, rails in served)
    return ExampleUnit(
        group, unit, unit // fabric.shape.units_per_pod, fabric.name(tor), tuple(served[0][1]), gbps
    )


def list_tor_nic_ports(fabric: Fabric, at: ExampleUnit) -> list[SlotPort]:
    """Return the NIC ports of the unit's own hosts that its first ToR serves."""
    return [
        (slot, rail, 0) for slot in at.slots for rail in range(fabric.attachments[at.group].rails_per_tor)
    ]


def list_shared_nic_ports(fabric: Fabric, at: ExampleUnit) -> list[SlotPort]:
    """Return the NIC ports on that cage of the first ToR that serves the most; one where cages are not split."""
    layout, attached = fabric.tor_layouts[at.group], fabric.attachments[at.group]
    found: dict[int, list[SlotPort]] = {}
    for slot, rail, port in list_tor_nic_ports(fabric, at):
        cage = layout.slots[layout.down[attached.seat(slot)[1] * attached.rails_per_tor + rail]].cage
        found.setdefault(cage, []).append((slot, rail, port))
    return max(found.values(), key=len)


def list_uplink_cages(fabric: Fabric, at: ExampleUnit) -> list[list[str]]:
    """Return the ports of each cage of the first ToR that has uplinks."""
    tor = links.tor_id(fabric, at.unit, 0, 0)
    layout, names = links.port_layout(fabric, tor), links.port_names(fabric, tor)
    found: dict[int, list[str]] = {}
    for end in links.tor_uplinks(fabric, tor):
        found.setdefault(layout.slots[end.slot].cage, []).append(names[end.slot])
    return list(found.values())
