"""Assign links to cages: downlinks from the first cage and uplinks behind them, or the other way round.

With uplinks first everything is computed on the panel turned so that it begins at the first downlink. The room for
growth is how much of what the pins of the lock and the ports of every tier allow is in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric.shape import PortLayout, Slot, TierName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Breakout, CageGroup, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Block:
    """A number of links at one speed."""

    speed_gbps: int
    count: int


def find_breakout(cages: CageGroup, speed_gbps: int) -> Breakout | None:
    """Return the use of a cage with the most ports of a speed, or None."""
    fitting = [
        b for b in cages.breakouts if b.speed_gbps == speed_gbps and b.children * b.lanes <= cages.lanes
    ]
    return max(fitting, key=lambda b: b.children, default=None)


def list_cages(model: SwitchModel) -> Iterator[tuple[int, CageGroup]]:
    """Front-panel number and kind of every fabric cage, in panel order."""
    for group in model.cages:
        if group.fabric:
            for number in group.numbers:
                yield number, group


def rotate_cages(model: SwitchModel, first: int) -> SwitchModel:
    """Return the model with its fabric cages from position `first` on before the others."""
    head: list[CageGroup] = []
    tail: list[CageGroup] = []
    position = 0
    for group in (each for each in model.cages if each.fabric):
        before = min(max(first - position, 0), group.count)
        tail += [replace(group, count=before)] * bool(before)
        head += [replace(group, first=group.first + before, count=group.count - before)] * (
            before < group.count
        )
        position += group.count
    return replace(model, cages=(*head, *tail))


def cage_count(model: SwitchModel) -> int:
    """Fabric cages of a model."""
    return sum(group.count for group in model.cages if group.fabric)


def port_speeds(model: SwitchModel) -> set[int]:
    """Port speeds that fabric cages of a model offer, Gb/s."""
    return {b.speed_gbps for group in model.cages if group.fabric for b in group.breakouts}


def ports_at(model: SwitchModel, speed_gbps: int) -> int:
    """Return ports of a model when every capable cage serves one speed."""
    return sum(
        group.count * use.children
        for group in model.cages
        if group.fabric and (use := find_breakout(group, speed_gbps))
    )


def cages_for(model: SwitchModel, block: Block, start: int = 0) -> int | None:
    """Return the position after the last cage of a block from cage position `start` on; None if it does not fit."""
    left, position = block.count, 0
    if left <= 0:
        return start
    for group in model.cages:
        if not group.fabric:
            continue
        first = max(start - position, 0)
        if group.count > first and (use := find_breakout(group, block.speed_gbps)):
            needed = -(-left // use.children)
            if needed <= group.count - first:
                return position + first + needed
            left -= (group.count - first) * use.children
        position += group.count
    return None


def arrange_ports(
    model: SwitchModel,
    down: Block,
    up: Block,
    up_cage: int | None = None,
    reserved: int = 0,
    beside: tuple[tuple[int, Block], ...] = (),
    *,
    uplinks_first: bool = False,
) -> PortLayout | None:
    """Lay out a switch: `down` (its last `reserved` links kept free), `beside`, and `up` from cage position `up_cage`.

    Each block of `beside` has the cage position that it begins at. None when the cages do not suffice, or when `down`
    reaches beyond `up_cage`. With `uplinks_first` positions count from the first cage with a link down, and those from
    `up_cage` on are the first of the panel.
    """
    if uplinks_first and up_cage is not None:
        before = cage_count(model) - up_cage
        layout = arrange_ports(rotate_cages(model, before), down, up, up_cage, reserved, beside)
        return layout and _on_panel(layout, [cage for cage, _ in list_cages(model)][:before])
    down_end = cages_for(model, down)
    if down_end is None:
        return None
    start = down_end if up_cage is None else up_cage
    if start < down_end or cages_for(model, up, start) is None:
        return None
    runs = [(0, down), *beside, (start, up)]
    spans = [(first, cages_for(model, block, first) or first) for first, block in runs]
    slots: list[Slot] = []
    ends: list[list[int]] = [[] for _ in runs]
    kind = None
    for position, (number, group) in enumerate(list_cages(model)):
        if group is not kind:  # cages of one kind follow each other
            kind, uses = group, [find_breakout(group, block.speed_gbps) for _, block in runs]
            idle = min(group.breakouts, key=lambda b: (b.children, -b.speed_gbps))
        run = next((at for at, (first, end) in enumerate(spans) if first <= position < end), None)
        use = None if run is None else uses[run]
        serves = run if use is not None else None
        use = use or idle
        for child in range(1, use.children + 1):
            if serves is not None and len(ends[serves]) < runs[serves][1].count:
                ends[serves].append(len(slots))
            slots.append(Slot(number, child, use.children, use.lanes, use.speed_gbps))
    own, *guests, ups = ends
    hosts = len(own) - reserved
    every = (*own[:hosts], *(port for ports in guests for port in ports), *own[hosts:])
    return PortLayout(tuple(slots), every, tuple(ups), reserved)


def _on_panel(layout: PortLayout, first: Collection[int]) -> PortLayout:
    """Return a layout of a turned panel with its slots as they are on the panel, whose first cages were the last."""
    ahead = sum(1 for slot in layout.slots if slot.cage in first)
    count = len(layout.slots)
    slots = layout.slots[count - ahead :] + layout.slots[: count - ahead]
    down, up = (tuple((port + ahead) % count for port in ports) for ports in (layout.down, layout.up))
    return replace(layout, slots=slots, down=down, up=up)


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
        "Another unit would be refused: add it, and run `fabricc plan --repin` to see the changes."
        if pinned
        else "Declare with `gpus.capacity`, before the first build, how many hosts there will be."
    )
    help_ += f" `gpus.capacity: {fabric.counts()['hosts']}` means that there will be no more."
    for reason, holds in reasons.items():
        if holds:
            yield spec.warning("FAB3039", reason, "gpus", help=help_)
