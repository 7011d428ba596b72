"""The routing part of the view: peer templates per transport, neighbours, policy lists in NX-OS's words and order."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import natural, numbered_sessions, unnumbered_sessions
from fabricc.back.nos.cli_dialect.policy_view import (
    ClauseView,
    clauses,
    community_lists,
    group_name,
    groups_in_use,
    length_words,
)
from fabricc.back.nos.nxos.vocabulary import COMMUNITY_NAMES, DEFAULT_TIMERS_S, FAMILY_SUFFIXES, GTSM_HOPS
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cli_dialect.policy_view import CommunityListView
    from fabricc.fabric.routing import Bgp, PeerGroup, PrefixList

_FAMILIES = {
    Transport.IPV4: ["ipv4"],
    Transport.IPV6: ["ipv6"],
    Transport.UNNUMBERED: ["ipv4", "ipv6"],
}
"""A session over link-local addresses has both families, also where one of them carries nothing."""


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What one address family of a peer template accepts and announces by."""

    name: str
    import_map: str
    export_map: str


@dataclass(frozen=True, slots=True)
class TemplateView:
    """One peer template: the sessions of one group and one transport, since families belong to it."""

    name: str
    families: list[PolicyView]
    maximum_prefixes: int


@dataclass(frozen=True, slots=True)
class NeighborView:
    """One session; `name` is an address, or an interface for its link-local neighbour."""

    name: str
    template: str
    remote_asn: int
    description: str


@dataclass(frozen=True, slots=True)
class FamilyView:
    """One address family of the process; `redistribute_map` is None where the fabric does not carry it."""

    name: str
    redistribute_map: str | None
    maximum_paths: int
    aggregates: list[str]


@dataclass(frozen=True, slots=True)
class PrefixRuleView:
    """One entry; `family` is `ip` or `ipv6`, `lengths` the words after the prefix, with their leading space."""

    family: str
    list: str
    sequence: int
    prefix: str
    lengths: str


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at NX-OS's defaults, `ttl_hops` where the TTL is not checked."""

    asn: int
    router_id: str
    timers: tuple[int, int] | None
    multipath_relax: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    ttl_hops: int | None
    families: list[FamilyView]
    templates: list[TemplateView]
    neighbors: list[NeighborView]
    rules: list[PrefixRuleView]
    community_lists: list[CommunityListView]
    clauses: list[ClauseView]


def bgp_view(bgp: Bgp) -> BgpView:
    """The view of one BGP process and the policy it uses."""
    timers = (bgp.keepalive_s, bgp.hold_s)
    return BgpView(
        asn=bgp.asn,
        router_id=bgp.router_id,
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        multipath_relax=bgp.multipath_relax,
        bfd_interval_ms=bgp.bfd_interval_ms,
        bfd_multiplier=bgp.bfd_multiplier,
        ttl_hops=GTSM_HOPS if bgp.ttl_security else None,
        families=families(bgp),
        templates=[_template(bgp, group, transport) for group, transport in groups_in_use(bgp)],
        neighbors=[
            NeighborView(s.remote or s.port, group_name(s.group, s.transport), s.remote_asn, s.peer)
            for s in (*numbered_sessions(bgp), *unnumbered_sessions(bgp))
        ],
        rules=[
            rule
            for prefix_list in sorted(bgp.prefix_lists, key=lambda p: (p.family, natural(p.name)))
            for rule in _rules(prefix_list)
        ],
        community_lists=community_lists(bgp, COMMUNITY_NAMES),
        clauses=sorted(_clauses(bgp), key=lambda clause: (natural(clause.route_map), clause.sequence)),
    )


def map_name(bgp: Bgp, name: str, family: str) -> str:
    """What a route map is called in a family: where the process has two, each has maps of its own.

    What a clause that matches IPv4 addresses does with an IPv6 route is not published, so none ever meets one.
    """
    return name + FAMILY_SUFFIXES[family] if len(_versions(bgp)) > 1 else name


def _clauses(bgp: Bgp) -> Iterator[ClauseView]:
    """All clauses under the names of `map_name`; a family that no clause is about is denied as a whole."""
    stated = clauses(bgp, COMMUNITY_NAMES)
    versions = _versions(bgp)
    if len(versions) < 2:
        yield from stated
        return
    words = {4: "ip", 6: "ipv6"}
    for version, carried in versions.items():
        for route_map in bgp.route_maps:
            if route_map.name == bgp.redistribute_map and not carried:
                continue
            name = map_name(bgp, route_map.name, f"ipv{version}")
            own = [
                replace(clause, route_map=name, family=words[version])
                for clause in stated
                if clause.route_map == route_map.name
                and (clause.prefix_list is None or clause.family == words[version])
            ]
            yield from own or [ClauseView(name, "deny", 10, words[version], None, None, None, None)]


def session_families(transport: Transport) -> list[str]:
    """The address families of a session over that transport."""
    return _FAMILIES[transport]


def families(bgp: Bgp) -> list[FamilyView]:
    """The process's families: those the fabric carries, and both for sessions over link-local addresses."""
    return [
        FamilyView(
            name=f"ipv{version}",
            redistribute_map=map_name(bgp, bgp.redistribute_map, f"ipv{version}") if carried else None,
            maximum_paths=bgp.maximum_paths,
            aggregates=sorted((a for a in bgp.aggregates if _version(a) == version), key=_order),
        )
        for version, carried in _versions(bgp).items()
    ]


def _versions(bgp: Bgp) -> dict[int, bool]:
    """The families of the process -> whether the fabric carries them."""
    unnumbered = any(s.transport is Transport.UNNUMBERED for s in bgp.sessions)
    return {version: carried for version, carried in ((4, bgp.ipv4), (6, bgp.ipv6)) if carried or unnumbered}


def _version(prefix: str) -> int:
    return 6 if ":" in prefix else 4


def _order(prefix: str) -> tuple[int, int]:
    network = ip_network(prefix, strict=False)
    return int(network.network_address), network.prefixlen


def _template(bgp: Bgp, group: PeerGroup, transport: Transport) -> TemplateView:
    return TemplateView(
        name=group_name(group.name, transport),
        families=[
            PolicyView(
                family, map_name(bgp, group.import_map, family), map_name(bgp, group.export_map, family)
            )
            for family in _FAMILIES[transport]
        ],
        maximum_prefixes=group.maximum_prefixes,
    )


def _rules(prefix_list: PrefixList) -> list[PrefixRuleView]:
    word = "ipv6" if prefix_list.family == 6 else "ip"
    return [
        PrefixRuleView(word, prefix_list.name, 10 * index, rule.prefix, length_words(rule))
        for index, rule in enumerate(prefix_list.rules, 1)
    ]
