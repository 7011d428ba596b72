"""The routing part of the view: peer groups per transport, neighbours, policy lists in EOS's words and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.order import (
    in_address_order,
    natural,
    numbered_sessions,
    unnumbered_sessions,
)
from fabricc.back.nos.cli_dialect.policy_view import (
    clauses,
    community_lists,
    group_name,
    groups_in_use,
    length_words,
)
from fabricc.back.nos.eos.vocabulary import COMMUNITY_NAMES, DEFAULT_TIMERS_S, GTSM_HOPS
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.policy_view import ClauseView, CommunityListView
    from fabricc.fabric.routing import Bgp, PeerGroup, PrefixList, Session


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


class NeighborView(NamedTuple):
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
class BgpView:
    """The BGP process; `timers` is None at EOS's defaults, `maximum_hops` where the TTL is not checked."""

    asn: int
    router_id: str
    timers: tuple[int, int] | None
    maximum_paths: int
    multipath_relax: bool
    ipv4: bool
    ipv6: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    maximum_hops: int | None
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
        maximum_hops=GTSM_HOPS if bgp.ttl_security else None,
        redistribute_map=bgp.redistribute_map,
        aggregates=in_address_order(bgp.aggregates),
        groups=[_group(bgp, group, transport) for group, transport in groups_in_use(bgp)],
        neighbors=[_neighbor(str(s.remote), s) for s in numbered_sessions(bgp)],
        interfaces=[_neighbor(s.port, s) for s in unnumbered_sessions(bgp)],
        prefix_lists4=_prefix_lists(bgp, 4),
        prefix_lists6=_prefix_lists(bgp, 6),
        community_lists=community_lists(bgp, COMMUNITY_NAMES),
        clauses=clauses(bgp, COMMUNITY_NAMES),
    )


def _neighbor(name: str, session: Session) -> NeighborView:
    group = group_name(session.group, session.transport)
    return NeighborView(name, group, session.remote_asn, session.peer)


def _group(bgp: Bgp, group: PeerGroup, transport: Transport) -> GroupView:
    unnumbered = transport is Transport.UNNUMBERED
    return GroupView(
        name=group_name(group.name, transport),
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
        PrefixRuleView(10 * index, rule.prefix, length_words(rule))
        for index, rule in enumerate(prefix_list.rules, 1)
    ]
