"""Names of devices and host ports, each a function of coordinates, so that growth renames nothing."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric.shape import SwitchId, TierName

if TYPE_CHECKING:
    from fabricc.fabric.design import Design

PLANE_LETTERS = tuple(first + second for first in ("", *ascii_lowercase) for second in ascii_lowercase)
"""`a` to `z`, then `aa`: of planes, and of the ports of a NIC."""


def switch_name(fabric: Design, at: SwitchId) -> str:
    """`su001-tor3a`, `spine07a`, `pod2-spine07a`, `core12a`, `border01a`: the letter is the plane.

    On a ToR with hosts it is the NIC port.

    Before it stands the name of a further network: `storage-spine07a`. A given name goes before all.
    """
    return fabric.given.of(at).name or computed_name(fabric, at)


def computed_name(fabric: Design, at: SwitchId) -> str:
    """Return the name that a switch has by its coordinates, whatever name it is given."""
    name = _in_network(fabric, at)
    return f"{fabric.network}-{name}" if fabric.network else name


def _in_network(fabric: Design, at: SwitchId) -> str:
    if at.tier is TierName.TOR:
        unit = fabric.units[at.unit]
        if unit.border is not None:
            return f"border{unit.border + at.index + 1:02d}{PLANE_LETTERS[at.plane]}"
        return f"{unit.name}-tor{at.index + 1}{PLANE_LETTERS[at.nic_port]}"
    letter = PLANE_LETTERS[at.plane]
    if at.tier is TierName.CORE:
        return f"core{at.index + 1:02d}{letter}"
    pod = f"pod{at.pod + 1}-" if fabric.shape.cores else ""
    return f"{pod}spine{at.index + 1:02d}{letter}"


def describe_planes(present: int, planned: int) -> str:
    """Return how many planes there are: `2 planes`, or `4 of 8 planes` where more are planned."""
    return plural(present, "plane") if present == planned else f"{present} of {planned} planes"


def host_port_name(nic_ports: int, rail: int, nic_port: int, network: str = "") -> str:
    """`rail0`, or `rail0a` and `rail0b` where a NIC has several cabled ports; `storage0` of a further network."""
    name = f"{network or 'rail'}{rail}"
    return name if nic_ports == 1 else name + PLANE_LETTERS[nic_port]
