"""Assign links to cages: downlinks from the first cage and uplinks behind them, or the other way round.

With up-links first everything is figured on the panel turned so that it begins at the first down-link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.fabric.shape import PortLayout, Slot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fabricc.catalog.model import Breakout, CageGroup, SwitchModel


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
            for number in range(group.first, group.first + group.count):
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
