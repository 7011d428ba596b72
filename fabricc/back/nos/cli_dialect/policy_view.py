"""Routing policy as command lines print it: route maps, community lists, prefix lengths, peer groups per transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.order import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.routing import (
        Bgp,
        Clause,
        CommunityList,
        PeerGroup,
        PrefixRule,
        RouteMap,
        Session,
    )

_GROUP_SUFFIX = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}


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


class PrefixListView(NamedTuple):
    """One prefix list of `ip` or `ipv6`; rules are (sequence, prefix, the words after it with their leading space)."""

    family: str
    name: str
    rules: list[tuple[int, str, str]]


class NeighborView(NamedTuple):
    """One session over an address, or over an interface's link-local addresses; `group` is of its transport."""

    name: str
    group: str
    remote_asn: int
    description: str


def community_lists(bgp: Bgp, names: Mapping[str, str]) -> list[CommunityListView]:
    """Return the community lists in order of name; `names` are the words for communities that have one."""
    return _community_lists(bgp.community_lists, names)


def _community_lists(lists: Sequence[CommunityList], names: Mapping[str, str]) -> list[CommunityListView]:
    return [
        CommunityListView(c.name, names.get(c.community, c.community))
        for c in sorted(lists, key=lambda c: natural_key(c.name.lower()))
    ]


def clause_views(bgp: Bgp, names: Mapping[str, str]) -> list[ClauseView]:
    """Return the clauses of all route maps by name and sequence; `names` as of `community_lists`."""
    return _views_of_maps(bgp.route_maps, names)


def _views_of_maps(route_maps: Sequence[RouteMap], names: Mapping[str, str]) -> list[ClauseView]:
    return [
        clause_view(route_map.name, clause, names)
        for route_map in sorted(route_maps, key=lambda m: natural_key(m.name.lower()))
        for clause in sorted(route_map.clauses, key=lambda c: c.sequence)
    ]


def clause_view(route_map: str, clause: Clause, names: Mapping[str, str]) -> ClauseView:
    """Return one clause of a route map; `names` as of `community_lists`."""
    community = clause.add_community
    return ClauseView(
        route_map=route_map,
        action="permit" if clause.permit else "deny",
        sequence=clause.sequence,
        family="ipv6" if clause.family == 6 else "ip",
        prefix_list=clause.prefix_list,
        community_list=clause.community_list,
        local_preference=clause.local_preference,
        add_community=names.get(community, community) if community else None,
    )


def prefix_lists(bgp: Bgp) -> list[PrefixListView]:
    """Return the prefix lists by family and name, their rules numbered in steps of ten."""
    return [
        PrefixListView(
            "ipv6" if each.family == 6 else "ip",
            each.name,
            [(10 * at, rule.prefix, _length_words(rule)) for at, rule in enumerate(each.rules, 1)],
        )
        for each in sorted(bgp.prefix_lists, key=lambda p: (p.family, natural_key(p.name.lower())))
    ]


def _length_words(rule: PrefixRule) -> str:
    """Return the words after the prefix of a rule, with their leading space."""
    if rule.ge is not None and rule.ge == rule.le:
        return f" eq {rule.ge}"
    ge = f" ge {rule.ge}" if rule.ge is not None else ""
    return ge + (f" le {rule.le}" if rule.le is not None else "")


def group_name(group: str, transport: Transport) -> str:
    """Return what the part of a peer group that has this transport is called: families are activated per group."""
    return group + _GROUP_SUFFIX[transport]


def neighbor_view(session: Session) -> NeighborView:
    """Return one session."""
    group = session.group + _GROUP_SUFFIX[session.transport]
    name, words = session.remote or session.port, session.label or session.peer
    return NeighborView(name, group, session.remote_asn, words)


def groups_in_use(bgp: Bgp) -> list[tuple[PeerGroup, Transport]]:
    """Return the peer groups with each transport that any session of theirs has, in order of `group_name`."""
    return sorted(
        bgp.groups_in_use, key=lambda found: natural_key(group_name(found[0].name, found[1]).lower())
    )
