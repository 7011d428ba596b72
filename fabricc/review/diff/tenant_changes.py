"""Describe which tenants and partitions gain and lose GPUs, ports and exits by a change."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric.shape import HostId

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.given_identities import Moves
    from fabricc.review.diff.model import Rail
    from fabricc.review.diff.sides import Side

_RailOfHost = tuple[str, int]


class _Share(NamedTuple):
    """Rails that a tenant gains or loses: their GPUs, ports and ToRs."""

    gpus: Fraction
    ports: int
    tors: int


def describe_tenants(
    base: Fabric, head: Fabric, renamed: Mapping[str, str], reach: Iterable[Rail], sessions: int
) -> tuple[str, ...]:
    """Return a sentence for each tenant that gains or loses GPUs or an exit, and one about others that lose service.

    Args:
        base: the fabric before the change.
        head: the fabric after it.
        renamed: former name of a tenant -> the present one, as the newer spec states.
        reach: rails that lose service while the change is applied.
        sessions: BGP sessions that go down.
    """
    names = _PresentNames(base, head, renamed)
    before, after = names.tenants_of_rails(), _tenants_of_rails(head)
    lines = [f"tenant {old} becomes {new}" for old, new in sorted(names.tenants.items())]
    lines += _describe_exits(names.tenants_of_exits(), _tenants_of_exits(head))
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
            share = _share(head, rails) if verb == "gains" else _share(base, names.former_rails(rails))
            lines.append(
                f"tenant {tenant} {verb} {plural(round(share.gpus), 'GPU')}: {plural(share.ports, 'port')} on "
                f"{plural(share.tors, 'ToR')}, {resets}"
            )
    moved = {tenant for tenant, _ in moves}
    reached = {before[host, rail] for host, rail, network in reach if not network and (host, rail) in before}
    if noticed := sorted(reached - moved):
        lines.append(f"other tenants lose service while it is applied: {', '.join(noticed)}")
    return tuple(lines)


class _PresentNames:
    """The tenants, hosts and outside parties of the older fabric under the names that the newer one has for them."""

    def __init__(self, base: Fabric, head: Fabric, renamed: Mapping[str, str]) -> None:
        self._rails, self._exits = _tenants_of_rails(base), _tenants_of_exits(base)
        hosts = _renamed_hosts(head.moves)
        parties = {old: new for new, old in head.moves.parties.items()}
        self.tenants = _choose_renames(renamed, _name_tenants(base), _name_tenants(head))
        self._hosts = _choose_renames(
            hosts, {host for host, _ in self._rails}, {host for host, _ in _tenants_of_rails(head)}
        )
        self._parties = _choose_renames(parties, self._exits, _tenants_of_exits(head))

    def tenants_of_rails(self) -> dict[_RailOfHost, str]:
        return {
            (self._hosts.get(host, host), rail): self.tenants.get(tenant, tenant)
            for (host, rail), tenant in self._rails.items()
        }

    def tenants_of_exits(self) -> dict[str, str]:
        return {
            self._parties.get(party, party): self.tenants.get(tenant, tenant)
            for party, tenant in self._exits.items()
        }

    def former_rails(self, rails: Iterable[_RailOfHost]) -> list[_RailOfHost]:
        former = {new: old for old, new in self._hosts.items()}
        return [(former.get(host, host), rail) for host, rail in rails]


def _choose_renames(
    stated: Mapping[str, str], before: Container[str], after: Container[str]
) -> dict[str, str]:
    """Return the renames of things that each side has under one of the two names alone; nothing joins another."""
    return {
        old: new
        for old, new in stated.items()
        if old in before and new not in before and old not in after and new in after
    }


def _name_tenants(fabric: Fabric) -> set[str]:
    return {each.name for each in fabric.tenancy.tenants} if fabric.tenancy else set()


def _describe_exits(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each outside party that a tenant reaches from now on, or no longer."""
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


def find_moves(base: Fabric, head: Fabric, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """Return the hosts with GPUs, and the outside parties, that go from one tenant to another, with both.

    What has another name is the same; `renamed`: former name of a tenant -> the present one.
    """
    names = _PresentNames(base, head, renamed)
    before, after = names.tenants_of_rails(), _tenants_of_rails(head)
    moved = sorted(
        (host, before[host, rail], tenant)
        for (host, rail), tenant in after.items()
        if before.get((host, rail), tenant) != tenant
    )
    exits = names.tenants_of_exits()
    moved += sorted(
        (f"links to {party}", exits[party], tenant)
        for party, tenant in _tenants_of_exits(head).items()
        if exits.get(party, tenant) != tenant
    )
    return tuple(dict.fromkeys(f"{what} from {old} to {new}" for what, old, new in moved))


def describe_partitions(base: Side, head: Side) -> tuple[str, ...]:
    """Return a sentence for each partition that gains or loses ports of hosts, or has another name."""
    former = _PresentPartitions(base, head)
    moves: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for place in sorted(former.members.keys() | head.partitions.keys()):
        before, after = (each.get(place, frozenset()) for each in (former.members, head.partitions))
        for verb, names in (("loses", before - after), ("gains", after - before)):
            for name in names:
                moves.setdefault((name, verb), []).append(place)
    lines = [f"tenant {old} becomes {new}" for old, new in sorted(former.names.items())]
    for (name, verb), places in sorted(moves.items()):
        hosts = {host for host, _ in places}
        lines.append(f"tenant {name} {verb} {plural(len(places), 'port')} of {plural(len(hosts), 'host')}")
    return tuple(lines)


def find_partition_moves(base: Side, head: Side) -> tuple[str, ...]:
    """Return the hosts with ports that go from one partition to another, with both; another name is no move."""
    moves = []
    for (host, device), before in sorted(_PresentPartitions(base, head).members.items()):
        after = head.partitions.get((host, device), before)
        lost, gained = (" and ".join(sorted(names)) for names in (before - after, after - before))
        if lost and gained:
            moves.append(f"{host} from {lost} to {gained}")
    return tuple(dict.fromkeys(moves))


class _PresentPartitions:
    """The partitions of the older side and their hosts under the names that the newer one has for them.

    A partition is known by its P_Key, which hosts and switches use; its name is for people.

    Attributes:
        names: former name of a partition -> the present one, of those with another.
        members: host and RDMA device -> its partitions on the older side.
    """

    def __init__(self, base: Side, head: Side) -> None:
        present = {pkey: name for name, pkey in head.partition_keys.items()}
        stated = {old: present[pkey] for old, pkey in base.partition_keys.items() if pkey in present}
        self.names = _choose_renames(stated, base.partition_keys, head.partition_keys)
        found = _renamed_hosts(head.cluster.moves)
        before, after = ({host for host, _ in side.partitions} for side in (base, head))
        hosts = _choose_renames(found, before, after)
        self.members = {
            (hosts.get(host, host), device): frozenset(self.names.get(each, each) for each in own)
            for (host, device), own in base.partitions.items()
        }


def _renamed_hosts(moves: Moves) -> dict[str, str]:
    """Return former name of a host -> the present one, of renamed and of replaced ones."""
    boxes = {name: box.name for name, box in moves.replaced.items()}
    return {old: new for new, old in {**moves.renamed, **boxes}.items()}


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
