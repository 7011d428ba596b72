"""Group devices that change in the same way, and describe which tenants gain and lose GPUs by a change.

If only common settings differ, one device of each class is compared. The effect on other tenants is described too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.fabric.links import layout_key, served_slots, switch_links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import DeviceId, HostId, TierName
from fabricc.review.diff.model import DeviceDiff, Link, Rail, Renumbering
from fabricc.review.diff.sides import Side, SpecSide

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric

_OF_ALL = frozenset({
    "qos", "profiles", "services", "cable_kinds", "switch_mtu", "unused_silent", "host_mtu", "load_balancing",
    "routing", "tiers",
})  # fmt: skip
"""Fields of a Fabric whose values reach every device of a class equally; any other difference disables classes."""
_HIDDEN = "value not shown"


def device_classes(base: Side, head: Side) -> Mapping[str, Sequence[str]]:
    """Return first device of a class -> the others; empty if single devices may change differently.

    Devices that overrides name, their neighbors, and those with a policy of their own are in no class.
    """
    if not (
        isinstance(base, SpecSide)
        and isinstance(head, SpecSide)
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
    if own or first.renumbering.total or elsewhere:
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


_RailOfHost = tuple[str, int]


class _Share(NamedTuple):
    """Rails that a tenant gains or loses: their GPUs, ports and ToRs."""

    gpus: Fraction
    ports: int
    tors: int


def describe_tenants(base: Fabric, head: Fabric, reach: Iterable[Rail], sessions: int) -> tuple[str, ...]:
    """Return a sentence for each tenant that gains or loses GPUs or an exit, and one about others that lose service.

    Args:
        base: the fabric before the change.
        head: the fabric after it.
        reach: rails that lose service while the change is applied.
        sessions: BGP sessions that go down.
    """
    before, after = _tenants_of_rails(base), _tenants_of_rails(head)
    lines = [*_describe_exits(base, head)]
    if before == after:
        return tuple(lines)
    moves: dict[tuple[str, str], list[_RailOfHost]] = defaultdict(list)
    for rail in before.keys() | after.keys():
        old, new = before.get(rail, ""), after.get(rail, "")
        if old != new:
            moves[old, "loses"].append(rail)
            moves[new, "gains"].append(rail)
    resets = (
        "no session of another tenant resets"
        if not sessions
        else f"{plural(sessions, 'BGP session')} of all tenants reset"
    )
    for (tenant, verb), rails in sorted(moves.items()):
        if tenant:
            share = _share(head if verb == "gains" else base, rails)
            lines.append(
                f"tenant {tenant} {verb} {plural(round(share.gpus), 'GPU')}: {plural(share.ports, 'port')} on "
                f"{plural(share.tors, 'ToR')}, {resets}"
            )
    moved = {tenant for tenant, _ in moves}
    reached = {before[host, rail] for host, rail, network in reach if not network and (host, rail) in before}
    if noticed := sorted(reached - moved):
        lines.append(f"other tenants lose service while it is applied: {', '.join(noticed)}")
    return tuple(lines)


def _describe_exits(base: Fabric, head: Fabric) -> Iterator[str]:
    """Yield a sentence for each outside party that a tenant reaches from now on, or no longer."""
    before, after = _tenants_of_exits(base), _tenants_of_exits(head)
    for party in sorted(before.keys() | after.keys()):
        old, new = before.get(party), after.get(party)
        if old != new:
            if old:
                yield f"tenant {old} no longer reaches {party}"
            if new:
                yield f"tenant {new} reaches {party}"


def _tenants_of_exits(fabric: Fabric) -> dict[str, str]:
    """Return outside party -> the tenant that reaches it."""
    tenancy = fabric.tenancy
    return {party: tenancy.tenants[at].name for party, at in tenancy.exits.items()} if tenancy else {}


def find_moves(base: Fabric, head: Fabric) -> tuple[str, ...]:
    """Return the hosts with GPUs that go from one tenant to another, with both."""
    before, after = _tenants_of_rails(base), _tenants_of_rails(head)
    moved = sorted(
        (host, before[host, rail], tenant)
        for (host, rail), tenant in after.items()
        if before.get((host, rail), tenant) != tenant
    )
    return tuple(dict.fromkeys(f"{host} from {old} to {new}" for host, old, new in moved))


def describe_partitions(base: Side, head: Side) -> tuple[str, ...]:
    """Return a sentence for each partition that gains or loses ports of hosts."""
    moves: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for place in sorted(base.partitions.keys() | head.partitions.keys()):
        before, after = (side.partitions.get(place, frozenset()) for side in (base, head))
        for verb, names in (("loses", before - after), ("gains", after - before)):
            for name in names:
                moves.setdefault((name, verb), []).append(place)
    lines = []
    for (name, verb), places in sorted(moves.items()):
        hosts = {host for host, _ in places}
        lines.append(f"tenant {name} {verb} {plural(len(places), 'port')} of {plural(len(hosts), 'host')}")
    return tuple(lines)


def find_partition_moves(base: Side, head: Side) -> tuple[str, ...]:
    """Return the hosts with ports that go from one partition to another, with both."""
    moves = []
    for (host, device), before in sorted(base.partitions.items()):
        after = head.partitions.get((host, device), before)
        lost, gained = (" and ".join(sorted(names)) for names in (before - after, after - before))
        if lost and gained:
            moves.append(f"{host} from {lost} to {gained}")
    return tuple(dict.fromkeys(moves))


def _tenants_of_rails(fabric: Fabric) -> dict[_RailOfHost, str]:
    """Return (host, rail) -> tenant; empty without tenants."""
    tenancy = fabric.tenancy
    if tenancy is None:
        return {}
    return {
        (host, rail): tenancy.tenants[index].name
        for host, rails in tenancy.of_host.items()
        for rail, index in enumerate(rails)
        if index >= 0
    }


def _share(fabric: Fabric, rails: Iterable[_RailOfHost]) -> _Share:
    """Return what some rails of hosts consist of."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for name, rail in rails:
        wanted[name].add(rail)
    gpus, ports, tors = Fraction(0), 0, set[str]()
    for place, group in _places(fabric, wanted.keys()):
        model, attached = fabric.host_models[group], fabric.attachments[group]
        host = fabric.host(place)
        own = [port for port in host.ports if port.rail in wanted[host.name]]
        gpus += Fraction(model.gpus, attached.rails) * len(wanted[host.name])
        ports += len(own)
        tors |= {port.peer.device for port in own}
    return _Share(gpus, ports, len(tors))


def _places(fabric: Fabric, hosts: Iterable[str]) -> Iterator[tuple[HostId, int]]:
    wanted = set(hosts)
    for coordinate, unit in fabric.units.items():
        for slot, name in unit.hosts.items():
            if name in wanted:
                yield HostId(coordinate, slot), unit.group
