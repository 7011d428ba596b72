"""Routing policy in Junos's words: route maps as policy statements, what BGP may take from the table beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import (
    AGGREGATES_TERM,
    BGP_TERM,
    DEFAULT_TERM,
    SUMMARY_TERM,
    match_words,
)
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.fabric.routing import Bgp, Clause, RouteMap

ACCEPT, REJECT, NEXT = "accept", "reject", "next policy"


@dataclass(frozen=True, slots=True)
class FilterListView:
    """One `route-filter-list`; each filter is a prefix with its match type."""

    name: str
    filters: list[str]


@dataclass(frozen=True, slots=True)
class TermView:
    """One term: conditions and actions as statements; without conditions it matches every route."""

    name: str
    conditions: list[str]
    actions: list[str]


@dataclass(frozen=True, slots=True)
class StatementView:
    """One `policy-statement`."""

    name: str
    terms: list[TermView]


@dataclass(frozen=True, slots=True)
class CommunityView:
    """One named community."""

    name: str
    members: str


@dataclass(frozen=True, slots=True)
class PolicyView:
    """`policy-options`; `as_lists` are the AS numbers that unnumbered sessions may come from."""

    filter_lists: list[FilterListView]
    statements: list[StatementView]
    communities: list[CommunityView]
    as_lists: list[int]


def policy_view(bgp: Bgp) -> PolicyView:
    """The policy of one BGP process."""
    names = added_communities(bgp)
    communities = {c.name: c.community for c in bgp.community_lists}
    communities |= {name: value for value, name in names.items()}
    return PolicyView(
        filter_lists=[
            FilterListView(p.name, [f"{rule.prefix} {match_words(rule)}" for rule in p.rules])
            for p in bgp.prefix_lists
        ],
        statements=[_statement(bgp, route_map, names) for route_map in bgp.route_maps],
        communities=[CommunityView(name, communities[name]) for name in sorted(communities)],
        as_lists=sorted({s.remote_asn for s in bgp.sessions if s.remote is None}),
    )


def added_communities(bgp: Bgp) -> dict[str, str]:
    """Name of every community that a clause adds: Junos adds by name, so one that has none is given one."""
    named = {c.community: c.name for c in reversed(bgp.community_lists)}
    values = {c.add_community for m in bgp.route_maps for c in m.clauses if c.add_community}
    return {value: named.get(value) or f"ADD-{value.replace(':', '-')}" for value in sorted(values)}


def summaries(bgp: Bgp, route_map: RouteMap) -> list[str]:
    """Each term of a policy in a few words, in order, as the reader sums them up."""
    words = []
    if route_map.name == bgp.redistribute_map:
        words = ["aggregate-contributor reject", "aggregate next policy"] if bgp.aggregates else []
        words.append("bgp next policy")
    for clause in ordered(route_map):
        direct = "direct " if route_map.name == bgp.redistribute_map else ""
        words.append(f"{clause.sequence} {direct}{_action(bgp, route_map, clause)}")
    return [*words, "reject"]


def named_terms(bgp: Bgp, route_map: RouteMap) -> list[str]:
    """The terms of a policy that have a name and not a clause's number."""
    if route_map.name != bgp.redistribute_map:
        return [DEFAULT_TERM]
    return [*([SUMMARY_TERM, AGGREGATES_TERM] if bgp.aggregates else []), BGP_TERM, DEFAULT_TERM]


def ordered(route_map: RouteMap) -> list[Clause]:
    """Clauses ascending by sequence."""
    return sorted(route_map.clauses, key=lambda clause: clause.sequence)


def _action(bgp: Bgp, route_map: RouteMap, clause: Clause) -> str:
    if not clause.permit:
        return REJECT
    return NEXT if route_map.name == bgp.redistribute_map else ACCEPT


def _statement(bgp: Bgp, route_map: RouteMap, communities: dict[str, str]) -> StatementView:
    terms = []
    redistributes = route_map.name == bgp.redistribute_map
    if redistributes:
        if bgp.aggregates:
            terms.append(TermView(SUMMARY_TERM, ["aggregate-contributor"], [REJECT]))
            terms.append(TermView(AGGREGATES_TERM, ["protocol aggregate"], [NEXT]))
        terms.append(TermView(BGP_TERM, ["protocol bgp"], [NEXT]))
    for clause in ordered(route_map):
        conditions = ["protocol direct"] if redistributes else []
        if clause.community_list:
            conditions.append(f"community {clause.community_list}")
        if clause.prefix_list:
            conditions.append(f"route-filter-list {clause.prefix_list}")
        actions = []
        if clause.local_preference is not None:
            actions.append(f"local-preference {clause.local_preference}")
        if clause.add_community:
            actions.append(f"community add {communities[clause.add_community]}")
        actions.append(_action(bgp, route_map, clause))
        terms.append(TermView(str(clause.sequence), conditions, actions))
    return StatementView(route_map.name, [*terms, TermView(DEFAULT_TERM, [], [REJECT])])
