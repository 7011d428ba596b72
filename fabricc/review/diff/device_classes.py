"""Group devices that change in the same way, of which one is compared if only common settings differ."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.fabric.links import layout_key, served_slots, switch_links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import DeviceId, HostId, TierName
from fabricc.review.diff.model import DeviceDiff, Link, Rail, Renumbering
from fabricc.review.diff.sides import Side, SpecSide

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from fabricc.fabric.fabric import Fabric

_OF_ALL = frozenset({
    "qos", "profiles", "services", "cable_kinds", "switch_mtu", "unused_silent", "host_mtu", "load_balancing",
    "routing", "tiers",
})  # fmt: skip
"""Fields of a Fabric whose values reach every device of a class equally; any other difference disables classes."""
_HIDDEN = "value not shown"


def device_classes(base: Side, head: Side) -> Mapping[str, Sequence[str]]:
    """Return first device of a class -> the others; empty if single devices may change differently.

    Devices that overrides name, their neighbors, and those with a policy of their own are in no class; templates of
    the user's own may name single devices.
    """
    if not (
        isinstance(base, SpecSide)
        and isinstance(head, SpecSide)
        and not (base.compiled.templates or head.compiled.templates)
        and _differ_in_common(base.fabric, head.fabric)
    ):
        return {}
    fabric = head.fabric
    own = {*fabric.changes, *base.fabric.qos, *fabric.qos, *_override_neighbors(fabric)}
    found = group_pairs(
        (_class_key(fabric, place), name) for name, place in head.places.items() if name not in own
    )
    return {members[0]: members[1:] for members in found.values() if len(members) > 1}


def derive_changes(first: DeviceDiff, others: Sequence[str], side: Side) -> list[DeviceDiff] | None:
    """Return the changes of the others of a class, with disturbances at the same places.

    None if the changes of the first are its own, so that each must be compared.
    """
    assert isinstance(side, SpecSide)
    own = any(text != _HIDDEN for text in first.examples.values())
    reach = _reached_rails(side, first.name) if first.reach else []
    sessions = _sessions_by_slot(side, first.name) if first.sessions else {}
    behind = [at for at, (rail, _) in enumerate(reach) if rail in first.reach]
    down = [at for at, link in sessions.items() if link in first.sessions]
    elsewhere = dict(reach[at] for at in behind) != first.reach or len(down) < len(first.sessions)
    if own or first.renumbering.total or first.closed or elsewhere:
        return None
    return [_same_places(first, name, side, behind, down) for name in others]


def _same_places(
    first: DeviceDiff, name: str, side: SpecSide, behind: Sequence[int], down: Sequence[tuple[int, str]]
) -> DeviceDiff:
    """The changes of the first, of which rails and sessions at these places are disturbed, for another device."""
    reach = _reached_rails(side, name) if behind else []
    sessions = _sessions_by_slot(side, name) if down else {}
    return replace(
        first,
        name=name,
        renumbering=Renumbering(),
        reach=dict(reach[at] for at in behind),
        sessions=frozenset(sessions[at] for at in down),
    )


def _differ_in_common(base: Fabric, head: Fabric) -> bool:
    """Return whether the fabrics differ only in common settings."""
    own = (field.name for field in fields(head) if field.compare and field.name not in _OF_ALL)
    if any(getattr(base, name) != getattr(head, name) for name in own):
        return False
    old, new = base.routing, head.routing
    tiers = base.tiers.keys() == head.tiers.keys() and all(
        (base.tiers[tier].model, base.tiers[tier].nos) == (plan.model, plan.nos)
        for tier, plan in head.tiers.items()
    )
    return tiers and (old.asn_base, old.unique_spine_asn) == (new.asn_base, new.unique_spine_asn)


def _override_neighbors(fabric: Fabric) -> Iterable[str]:
    if fabric.changes:
        for switch in fabric.switch_ids():
            if fabric.name(switch) in fabric.changes:
                yield from (link.peer for link in switch_links(fabric, switch))


def _class_key(fabric: Fabric, at: DeviceId) -> Hashable:
    """Return everything that the ports of a device depend on."""
    if isinstance(at, HostId):
        return "host", fabric.units[at.unit].group
    if at.tier is TierName.TOR:
        slots = tuple((unit.group, *found) for unit, found, _ in served_slots(fabric, at))
        return at.tier, layout_key(fabric, at), at.index, at.nic_port, slots
    if at.tier is TierName.SPINE:
        return at.tier, at.pod, at.plane
    return at.tier, at.plane, at.index // max(1, fabric.shape.cores_per_group)


def _reached_rails(side: SpecSide, name: str) -> list[tuple[Rail, Fraction]]:
    """Return every rail behind a device and its GPUs; in the same order for all devices of a class."""
    fabric, place = side.fabric, side.places[name]
    if isinstance(place, HostId):
        gpus = side.rail_gpus(place.unit)
        rails = range(fabric.attachments[fabric.units[place.unit].group].rails)
        return [((name, rail, fabric.network), gpus) for rail in rails]
    if place.tier is not TierName.TOR:
        return []
    return [
        ((unit.hosts[slot], rail, fabric.network), side.rail_gpus(unit.coordinate))
        for unit, slots, rails in served_slots(fabric, place)
        for slot in slots
        for rail in rails
    ]


def _sessions_by_slot(side: SpecSide, name: str) -> dict[tuple[int, str], Link]:
    """Return (slot, kind) -> BGP session of a switch; devices of a class have the same slots and kinds."""
    place = side.places[name]
    if isinstance(place, HostId):
        return {}
    counts: dict[str, int] = {}
    found: dict[tuple[int, str], Link] = {}
    for link in sorted(switch_links(side.fabric, place), key=lambda link: link.slot):
        ordinal = counts.setdefault(link.peer, 0)
        counts[link.peer] += 1
        if link.direction is Direction.HOST:
            continue
        first, second = sorted((name, link.peer))
        kinds = (("unnumbered", link.unnumbered), ("ipv4", not link.unnumbered and link.local4),
                 ("ipv6", not link.unnumbered and link.local6))  # fmt: skip
        found |= {(link.slot, kind): (first, second, ordinal, kind) for kind, there in kinds if there}
    return found
