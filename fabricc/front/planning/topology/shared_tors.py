"""Assign ToR cages to hosts that share the ToRs of another group.

They follow the ports of the ToR's own hosts. A group that comes when the uplinks are cabled takes what is free before
them, or else the last cages of the ToR, so that the uplinks keep the room to grow; a pin of the lock keeps the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.front.planning.topology.layout import Block, cages_for, list_cages
from fabricc.front.planning.topology.models import UnfitError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.shape import Attachment, Unit
    from fabricc.front.spec.model import ClusterSpec

PIN = "beside_cage/"
"""Prefix of the pin of a group's first cage; the name of the group follows."""
Placed = tuple[tuple[int, Block], ...]
"""Ports of groups that share a ToR, group by group, each with the cage position of the first port."""


def shared_tor_ports(
    spec: ClusterSpec,
    tor: SwitchModel,
    attached: Sequence[Attachment],
    ends: Mapping[int, int],
    pins: Mapping[str, int],
) -> tuple[Placed, ...]:
    """Return host group index -> the ports of hosts that share its ToRs.

    Args:
        spec: the spec.
        tor: model of the ToRs.
        attached: how the hosts of each group are attached.
        ends: host group with units of its own -> cage position after its ports on a ToR and the reserved ones.
        pins: the lock's.

    Raises:
        NoCagesError: FAB3072, a ToR does not have enough cages.
    """
    placed: list[Placed] = []
    for home in range(len(attached)):
        guests = [index for index, each in enumerate(attached) if each.beside == home]
        starts = {index: pin for index in guests if (pin := _pinned_block(spec, index, pins)) is not None}
        for index in guests:
            uplinks = [(pins["tor_up_cage"], pins["tor_up_cage"] + 1)] if "tor_up_cage" in pins else []
            taken = [
                (0, ends[home]),
                *uplinks,
                *_occupied_cages(tor, attached, {i: s for i, s in starts.items() if i != index}),
            ]
            start, block = starts.get(index), _block_of_group(attached, index)
            fits = (
                _first_free(tor, block, taken, pins.get("tor_up_cage"))
                if start is None
                else start if _is_free(tor, block, start, taken)
                else None
            )  # fmt: skip
            if fits is None:
                group = spec.gpus.groups[index]
                message = (
                    f"{group.name} needs {block.count} ports at {block.speed_gbps}G on a ToR of {group.beside}, which "
                    "has no cages left for them"
                )
                raise NoCagesError(index, spec.error("FAB3072", message, *group.path))
            starts[index] = fits
        placed.append(tuple((starts[index], _block_of_group(attached, index)) for index in guests))
    return tuple(placed)


def shared_tor_pins(
    spec: ClusterSpec, attached: Sequence[Attachment], placed: Sequence[Placed]
) -> dict[str, int]:
    """Return the pins that keep the first cage of each group that `shared_tor_ports` assigned."""
    found: dict[str, int] = {}
    for home, blocks in enumerate(placed):
        guests = [index for index, each in enumerate(attached) if each.beside == home]
        found |= {
            PIN + spec.gpus.groups[index].name: start
            for index, (start, _) in zip(guests, blocks, strict=True)
        }
    return found


def refuse_unplaced(spec: ClusterSpec, attached: Sequence[Attachment], units: Collection[Unit]) -> None:
    """Reject groups for which the units that they share have no free slots.

    Raises:
        UnfitError: FAB3074.
    """
    for index, (group, own) in enumerate(zip(spec.gpus.groups, attached, strict=True)):
        if own.beside is None:
            continue
        placed = sum(len(unit.hosts) for unit in units if unit.group == index)
        homes = sum(1 for unit in units if unit.group == own.beside)
        if placed < group.hosts:
            each = -(-group.hosts // homes)
            message = (
                f"{group.name} has {plural(group.hosts, 'host')}, but {plural(homes, 'unit')} of {group.beside} "
                f"with {group.hosts_per_unit} each have room for {placed}"
            )
            help_ = f"Write `hosts_per_unit: {each}`, or leave out `beside`: the hosts get their own units."
            raise UnfitError(spec.error("FAB3074", message, *group.path, "hosts", help=help_))


def _pinned_block(spec: ClusterSpec, index: int, pins: Mapping[str, int]) -> int | None:
    return pins.get(PIN + spec.gpus.groups[index].name)


def _block_of_group(attached: Sequence[Attachment], index: int) -> Block:
    return Block(attached[index].gbps, attached[index].ports)


def _occupied_cages(
    tor: SwitchModel, attached: Sequence[Attachment], starts: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Return the first cage of each placed group, and the one after its last."""
    found = [
        (start, cages_for(tor, _block_of_group(attached, index), start)) for index, start in starts.items()
    ]
    return [(start, len(tuple(list_cages(tor))) if end is None else end) for start, end in found]


def _is_free(tor: SwitchModel, block: Block, start: int, used_ranges: Sequence[tuple[int, int]]) -> bool:
    end = cages_for(tor, block, start)
    return end is not None and all(end <= first or start >= after for first, after in used_ranges)


def _first_free(
    tor: SwitchModel, block: Block, used_ranges: Sequence[tuple[int, int]], up_cage: int | None
) -> int | None:
    """Return the first cage where a block fits; before existing uplinks, or else as far behind them as possible."""
    positions = len(tuple(list_cages(tor)))
    if up_cage is None:
        return next((at for at in range(positions) if _is_free(tor, block, at, used_ranges)), None)
    before = [*used_ranges, (up_cage, positions)]
    found = next((at for at in range(up_cage) if _is_free(tor, block, at, before)), None)
    if found is not None:
        return found
    return next(
        (at for at in range(positions - 1, up_cage, -1) if _is_free(tor, block, at, used_ranges)), None
    )


class NoCagesError(UnfitError):
    """A ToR has no cages for a group that shares it; `index` is the group's, the diagnostic has no remedy yet."""

    def __init__(self, index: int, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.index = index


def add_remedy(
    spec: ClusterSpec, crowded: NoCagesError, homes: int, plannable: Callable[[ClusterSpec], bool]
) -> Diagnostic:
    """Return the diagnostic with the most hosts per shared unit that can be planned, if all hosts then have a place.

    Args:
        spec: the spec.
        crowded: what was found.
        homes: the number of units that they share.
        plannable: whether the ToRs of a spec can be planned.
    """
    index, groups = crowded.index, spec.gpus.groups

    def smaller(hosts: int) -> ClusterSpec:
        fewer = replace(groups[index], hosts_per_unit=hosts)
        return replace(spec, gpus=replace(spec.gpus, groups=(*groups[:index], fewer, *groups[index + 1 :])))

    fits, too_many = 0, groups[index].hosts_per_unit
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if plannable(smaller(middle)) else (fits, middle)
    number = f"`hosts_per_unit: {fits}` fits. Or leave" if fits * homes >= groups[index].hosts else "Leave"
    help_ = f"{number} out `beside`: the hosts get their own units."
    return replace(crowded.diagnostics[0], help=help_)
