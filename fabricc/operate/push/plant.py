"""From the fabric and what changes on it to the plant that waves are planned for; costs the ports of what changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.links import links
from fabricc.fabric.model import Direction, TierName
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.operate.push.waves import TIERS, Member, Plant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.push.impact import Effect


def plant(fabric: Fabric, places: Mapping[str, SwitchId], effects: Mapping[str, Effect]) -> Plant:
    """The plant.

    Args:
        fabric: the fabric as it is to be.
        places: name -> coordinates of every switch.
        effects: switch that changes -> what its change does.
    """
    members: dict[str, Member] = {}
    tiers: dict[str, int] = {}
    totals = _totals(fabric)
    breaking: set[tuple[str, str]] = set()
    for name, effect in effects.items():
        at = places[name]
        below: dict[str, int] = {}
        for link in links(fabric, at):
            if link.shutdown or link.direction is Direction.HOST:
                continue
            down = link.direction is Direction.DOWN
            if down:
                below[link.peer] = below.get(link.peer, 0) + 1
            if link.peer in effect.breaks:
                breaking.add((link.peer, name) if down else (name, link.peer))
        for lower in (*below, name):
            if lower not in totals and (uplinks := _uplinks(fabric, places[lower])):
                totals[lower] = uplinks
                tiers[lower] = TIERS.index(places[lower].tier.value)
        members[name] = Member(
            name,
            TIERS.index(at.tier.value),
            effect.platform,
            effect.disruptive,
            _redundancy(fabric, at),
            dict(_carries(fabric, at)),
            below,
        )
    return Plant(members, totals, tiers, frozenset(breaking))


def _uplinks(fabric: Fabric, at: SwitchId) -> int:
    if at.tier is TierName.CORE:
        return 0
    if fabric.changes:
        return sum(1 for link in links(fabric, at) if link.direction is Direction.UP and not link.shutdown)
    if at.tier is TierName.TOR:
        return fabric.uplinks(fabric.units[at.unit].group)
    return fabric.shape.spine_uplinks


def _redundancy(fabric: Fabric, at: SwitchId) -> str:
    """ToRs that serve the same NICs: one for each port of a NIC."""
    if at.tier is TierName.TOR and fabric.shape.nic_ports > 1:
        return f"{fabric.units[at.unit].name} {at.index}"
    return ""


def _carries(fabric: Fabric, at: SwitchId) -> Iterable[tuple[str, int]]:
    shape, plane = fabric.shape, PLANE_LETTERS[at.plane]
    if at.tier is TierName.CORE:
        yield f"plane {plane} cores", 1
    elif at.tier is TierName.SPINE:
        yield _spines(fabric, at.pod, plane), 1
    else:
        yield f"plane {plane} ToRs", 1
        if hosts := len(fabric.units[at.unit].hosts):
            for rail in range(at.index * shape.rails_per_tor, (at.index + 1) * shape.rails_per_tor):
                yield f"rail {rail}", hosts


def _spines(fabric: Fabric, pod: int, plane: str) -> str:
    return f"pod{pod + 1} plane {plane} spines" if fabric.shape.cores else f"plane {plane} spines"


def _totals(fabric: Fabric) -> dict[str, int]:
    shape = fabric.shape
    hosts = sum(len(unit.hosts) for unit in fabric.units.values())
    totals = {f"rail {rail}": hosts * shape.nic_ports for rail in range(shape.rails)}
    with_cores = PLANE_LETTERS[: shape.port_planes]
    for plane in PLANE_LETTERS[: shape.planes]:
        totals[f"plane {plane} ToRs"] = len(fabric.units) * shape.tors_per_unit_plane
        totals[f"plane {plane} cores"] = shape.cores if plane in with_cores else 0
        totals |= {_spines(fabric, pod, plane): shape.spines for pod in range(shape.pods)}
    return totals
