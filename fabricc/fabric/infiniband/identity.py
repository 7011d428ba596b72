"""LIDs and GUIDs in closed form: numbers from coordinates, so that growth renumbers nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from fabricc.fabric.shape import Shape, SwitchId

MOST_LIDS = 0xBFFF
"""Unicast LIDs of a subnet are 0x0001 to 0xBFFF: 49,151 (IBTA volume 1, 4.1.3)."""
PLACEHOLDER = 0x02FAB
"""First 20 bits of a placeholder GUID of the rails; a further network adds its number.

The second bit of the first octet means locally administered (EUI-64).
"""
_SUBNET_PREFIX = 0xFE80000000000000
"""Default GID prefix (IBTA volume 1, 4.1.1)."""
_MOST_NETWORKS = 8
"""The rails and further networks of the same hosts, which are numbered from 1 to 7."""
_PLANES = 16
"""Subnet prefixes that each network has room for."""
_KINDS = {TierName.CORE: 1, TierName.SPINE: 2, TierName.TOR: 3}
_HOST_KIND = 4


@dataclass(frozen=True, slots=True)
class LidPlan:
    """The start of the LIDs of a subnet: cores from 1, then spines by pod, then units one after the other.

    Attributes:
        spine: first LID of the spines; `unit`: first LID of the units.
        slots: host slots that a unit has room for.
    """

    spine: int
    unit: int
    slots: int

    def unit_size(self, shape: Shape) -> int:
        """LIDs of one unit: its ToRs of the plane, then its host ports."""
        return shape.tors_per_unit_plane + self.slots * shape.rails * shape.sides

    def switch(self, shape: Shape, at: SwitchId) -> int:
        """Return the LID of a switch."""
        if at.tier is TierName.CORE:
            return 1 + at.index
        if at.tier is TierName.SPINE:
            return self.spine + at.pod * shape.spines + at.index
        return self.unit + at.unit * self.unit_size(shape) + shape.in_plane(at.index, at.nic_port)

    def host_port(self, shape: Shape, unit: int, slot: int, rail: int, nic_port: int) -> int:
        """Return the LID of a host port."""
        in_unit = (slot * shape.rails + rail) * shape.sides + nic_port // shape.port_planes
        return self.unit + unit * self.unit_size(shape) + shape.tors_per_unit_plane + in_unit

    def top(self, shape: Shape, units: int) -> int:
        """Return the highest LID with so many units."""
        return self.unit + units * self.unit_size(shape) - 1


def subnet_prefix(network: int, plane: int) -> int:
    """Return the GID prefix of a subnet, which differs from that of every other subnet of its hosts.

    Args:
        network: number of the network, 0 for the rails.
        plane: number of the plane.
    """
    return _SUBNET_PREFIX + network * _PLANES + plane


def switch_guid(at: SwitchId, network: int) -> int:
    """Return the placeholder GUID of a switch: network, kind, plane, pod or unit, number."""
    place = at.unit if at.tier is TierName.TOR else at.pod
    index = at.index * 16 + at.nic_port if at.tier is TierName.TOR else at.index
    return _planned_guid(network, _KINDS[at.tier], at.plane, place, index)


def host_port_guid(shape: Shape, unit: int, slot: int, rail: int, nic_port: int, network: int) -> int:
    """Return the placeholder GUID of a host port."""
    in_unit = (slot * shape.rails + rail) * shape.sides + nic_port // shape.port_planes
    plane = shape.plane(rail // shape.rails_per_tor, nic_port)
    return _planned_guid(network, _HOST_KIND, plane, unit, in_unit)


def is_placeholder(guid: int) -> bool:
    """Return whether a GUID is one of those that fabricc plans until the real one is known."""
    return guid >> 44 in range(PLACEHOLDER, PLACEHOLDER + _MOST_NETWORKS)


def _planned_guid(network: int, kind: int, plane: int, place: int, index: int) -> int:
    """20 bits of prefix, 4 of kind, 4 of plane, 16 of place, 16 of index; the last 4 are 0, for ports of a node."""
    return ((PLACEHOLDER + network) << 44) | (kind << 40) | (plane << 36) | (place << 20) | (index << 4)


def guid_text(guid: int) -> str:
    """Return a GUID as the subnet manager's files have it."""
    return f"0x{guid:016x}"
