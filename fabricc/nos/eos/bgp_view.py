"""The routing part of the view: peer groups per transport, neighbours, policy lists in EOS's words and order."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from fabricc.fabric.model import Transport
from fabricc.nos.eos.vocabulary import COMMUNITY_NAMES, DEFAULT_TIMERS_S, natural

if TYPE_CHECKING:
    from fabricc.fabric.model import Bgp, Clause, PeerGroup, PrefixList, PrefixRule

_GROUP_SUFFIX = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}


@dataclass(frozen=True, slots=True)
class GroupView:
    """One EOS peer group: the sessions of one group and one transport, since activation is per group."""

    name: str
    import_map: str
    export_map: str
    maximum_routes: int
    ipv4: bool
    ipv6: bool
    next_hop_ipv6: bool


@dataclass(frozen=True, slots=True)
class NeighborView:
    """One session over an address, or over an interface's link-local addresses."""

    name: str
    group: str
    remote_asn: int
    description: str


@dataclass(frozen=True, slots=True)
class PrefixRuleView:
    """One entry; `lengths` are the words after the prefix, with their leading space."""

    sequence: int
    prefix: str
    lengths: str


@dataclass(frozen=True, slots=True)
class PrefixListView:
    """One prefix list."""

    name: str
    rules: list[PrefixRuleView]


@dataclass(frozen=True, slots=True)
class CommunityListView:
    """One standard community list."""

    name: str
    community: str


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One step of a route map; `family` is `ip` or `ipv6`."""

    route_map: str
    action: str
    sequence: int
    family: str
    prefix_list: str | None
    community_list: str | None
    local_preference: int | None
    add_community: str | None


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at EOS's defaults."""

    asn: int
    router_id: str
    timers: tuple[int, int] | None
    maximum_paths: int
    multipath_relax: bool
    ipv4: bool
    ipv6: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    redistribute_map: str
    aggregates: list[str]
    groups: list[GroupView]
    neighbors: list[NeighborView]
    interfaces: list[NeighborView]
    prefix_lists4: list[PrefixListView]
    prefix_lists6: list[PrefixListView]
    community_lists: list[CommunityListView]
    clauses: list[ClauseView]


def bgp_view(bgp: Bgp) -> BgpView:
    """The view of one BGP process and the policy it uses."""
    numbered = [s for s in bgp.sessions if s.remote is not None]
    numbered.sort(key=lambda s: ((a := ip_address(s.remote or "")).version, int(a)))
    timers = (bgp.keepalive_s, bgp.hold_s)
    return BgpView(
        asn=bgp.asn,
        router_id=bgp.router_id,
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        maximum_paths=bgp.maximum_paths,
        multipath_relax=bgp.multipath_relax,
        ipv4=bgp.ipv4,
        ipv6=bgp.ipv6,
        bfd_interval_ms=bgp.bfd_interval_ms,
        bfd_multiplier=bgp.bfd_multiplier,
        redistribute_map=bgp.redistribute_map,
        aggregates=sorted(bgp.aggregates, key=_aggregate_order),
        groups=_groups(bgp),
        neighbors=[
            NeighborView(str(s.remote), s.group + _GROUP_SUFFIX[s.transport], s.remote_asn, s.peer)
            for s in numbered
        ],
        interfaces=[
            NeighborView(s.port, s.group + _GROUP_SUFFIX[s.transport], s.remote_asn, s.peer)
            for s in bgp.sessions
            if s.remote is None
        ],
        prefix_lists4=_prefix_lists(bgp, 4),
        prefix_lists6=_prefix_lists(bgp, 6),
        community_lists=[
            CommunityListView(c.name, COMMUNITY_NAMES.get(c.community, c.community))
            for c in sorted(bgp.community_lists, key=lambda c: natural(c.name))
        ],
        clauses=[
            _clause(route_map.name, clause)
            for route_map in sorted(bgp.route_maps, key=lambda m: natural(m.name))
            for clause in sorted(route_map.clauses, key=lambda c: c.sequence)
        ],
    )


def _aggregate_order(prefix: str) -> tuple[int, int, int]:
    network = ip_network(prefix, strict=False)
    return network.version, int(network.network_address), network.prefixlen


def _groups(bgp: Bgp) -> list[GroupView]:
    in_use = {(s.group, s.transport) for s in bgp.sessions}
    groups = [
        _group(bgp, group, transport)
        for group in bgp.groups
        for transport in Transport
        if (group.name, transport) in in_use
    ]
    return sorted(groups, key=lambda group: natural(group.name))


def _group(bgp: Bgp, group: PeerGroup, transport: Transport) -> GroupView:
    unnumbered = transport is Transport.UNNUMBERED
    return GroupView(
        name=group.name + _GROUP_SUFFIX[transport],
        import_map=group.import_map,
        export_map=group.export_map,
        maximum_routes=group.maximum_prefixes,
        ipv4=transport is Transport.IPV4 or (unnumbered and bgp.ipv4),
        ipv6=transport is Transport.IPV6 or (unnumbered and bgp.ipv6),
        next_hop_ipv6=unnumbered,
    )


def _prefix_lists(bgp: Bgp, family: int) -> list[PrefixListView]:
    lists = sorted((p for p in bgp.prefix_lists if p.family == family), key=lambda p: natural(p.name))
    return [PrefixListView(p.name, _rules(p)) for p in lists]


def _rules(prefix_list: PrefixList) -> list[PrefixRuleView]:
    return [
        PrefixRuleView(10 * index, rule.prefix, _lengths(rule))
        for index, rule in enumerate(prefix_list.rules, 1)
    ]


def _lengths(rule: PrefixRule) -> str:
    if rule.ge is not None and rule.ge == rule.le:
        return f" eq {rule.ge}"
    ge = f" ge {rule.ge}" if rule.ge is not None else ""
    return ge + (f" le {rule.le}" if rule.le is not None else "")


def _clause(route_map: str, clause: Clause) -> ClauseView:
    community = clause.add_community
    return ClauseView(
        route_map=route_map,
        action="permit" if clause.permit else "deny",
        sequence=clause.sequence,
        family="ipv6" if clause.family == 6 else "ip",
        prefix_list=clause.prefix_list,
        community_list=clause.community_list,
        local_preference=clause.local_preference,
        add_community=COMMUNITY_NAMES.get(community, community) if community else None,
    )
