"""Room for growth: how much of what every pin of the lock, and every tier's ports, allow is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import PortLayout
    from fabricc.front.spec.model import ClusterSpec


class Room(NamedTuple):
    """The room of one pin.

    Attributes:
        pin: its name in the lock.
        what: what is counted.
        used: how many there are.
        room: how many there can be while the pin stays.
    """

    pin: str
    what: str
    used: int
    room: int


def list_rooms(fabric: Fabric) -> tuple[Room, ...]:
    """Return the room of every pin but the digits of names, which bound nothing."""
    return *port_rooms(fabric), *stride_rooms(fabric)


def stride_rooms(fabric: Fabric) -> Iterator[Room]:
    """Yield the room that strides give, in the order of `Strides`."""
    shape, strides = fabric.shape, fabric.strides
    yield Room("host", "hosts of a unit", shape.hosts_per_unit, strides.host)
    yield Room("rail", "rails that share a ToR", shape.rails_per_tor, strides.rail)
    yield Room("nic_port", "ports of a NIC", shape.nic_ports, strides.nic_port)
    yield Room("group", "ToRs of a unit for one NIC port", shape.groups, strides.group)
    yield Room("unit", "units, by their numbers", fabric.present, strides.unit)
    what = "links to the other ToR" if shape.peer_links else "uplinks of a ToR"
    yield Room("uplink", what, shape.uplinks or shape.peer_links, strides.uplink)
    yield Room("spine", "spines of a plane" + " and pod" * bool(shape.cores), shape.spines, strides.spine)
    yield Room("plane", "planes", shape.planes, strides.plane)
    if shape.cores:
        yield Room("spine_uplink", "uplinks of a spine", shape.spine_uplinks, strides.spine_uplink)


def port_rooms(fabric: Fabric) -> Iterator[Room]:
    """Yield the room that cabling pins leave on the ports of each tier."""
    shape, present = fabric.shape, fabric.present
    busiest = max((layout for layout in fabric.tor_layouts if layout.down), key=_down_cages)
    yield _downlink_cages(busiest, "tor", "a ToR")
    if not shape.spines:
        return
    if not shape.cores or fabric.core_layout is None:
        yield Room("links_per_spine", "units that the spines have ports for", present, shape.units_per_pod)
        return
    last = present - (shape.pods - 1) * shape.units_per_pod
    yield Room("units_per_pod", "units of the last pod", last, shape.units_per_pod)
    yield _downlink_cages(fabric.spine_layout, "spine", "a spine")
    of_a_pod = shape.rail_planes * shape.spines_per_core_group * shape.links_per_core
    pods = len(fabric.core_layout.down) // of_a_pod
    yield Room("links_per_core", "pods that the cores have ports for", shape.pods, pods)


def _downlink_cages(layout: PortLayout, tier: str, switch: str) -> Room:
    """Return the cages before the uplinks, or where these come first, those that they have before the other links."""
    if layout.up and layout.up[0] < layout.down[0]:
        up, before = (
            {layout.slots[port].cage for port in range(end)} for end in (max(layout.up) + 1, layout.down[0])
        )
        return Room(
            f"{tier}_down_cage", f"cages of {switch} for its uplinks, which come first", len(up), len(before)
        )
    what = f"cages of {switch} before its uplinks"
    return Room(f"{tier}_up_cage", what, _down_cages(layout), _up_cage(layout))


def _down_cages(layout: PortLayout) -> int:
    """Cages from the first to the last that has a link down."""
    return len({slot.cage for slot in layout.slots[: max(layout.down) + 1]})


def _up_cage(layout: PortLayout) -> int:
    """Cages before the first with an uplink; all, where there is none."""
    end = min(layout.up, default=len(layout.slots))
    return len({slot.cage for slot in layout.slots[:end]})


def report_full(
    spec: ClusterSpec, fabric: Fabric, found: Iterable[Room], *, pinned: bool
) -> Iterator[Diagnostic]:
    """FAB3039 where one more unit would be refused, unless the spec declares as its capacity what is there.

    Args:
        spec: the spec.
        fabric: its plan.
        found: the room of its pins.
        pinned: whether there is a lock; without one a larger capacity can still be declared.
    """
    if spec.gpus.capacity is not None:
        return
    left = {room.pin: room.room - room.used for room in found}
    pods_full = not left.get("links_per_core", 0) and not left.get("units_per_pod", 1)
    tier = TierName.CORE if fabric.shape.cores else TierName.SPINE
    units = fabric.present
    reasons = {
        f"the {tier.value}s have ports for {plural(units, 'unit')}, and all are taken": pods_full
        or not left.get("links_per_spine", 1),
        f"the lock has numbers for {plural(units, 'unit')}, and all are taken": not left.get("unit", 1),
    }
    help_ = (
        "Another unit would be refused: with it in the spec, `fabricc plan --repin` shows what it takes."
        if pinned
        else "Declare with `gpus.capacity`, before the first build, how many hosts there will be."
    )
    help_ += f" `gpus.capacity: {fabric.counts()['hosts']}` means that there will be no more."
    for reason, holds in reasons.items():
        if holds:
            yield spec.warning("FAB3039", reason, "gpus", help=help_)
