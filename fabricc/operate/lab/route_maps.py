"""Apply a planned route map to a route, as in RFC 7938 networks: the first clause that matches decides."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace

if TYPE_CHECKING:
    from fabricc.fabric.routing import Bgp, Clause, PrefixList


@dataclass(frozen=True, slots=True)
class Route:
    """A route as one switch holds it.

    Attributes:
        path: AS_PATH, the nearest first.
        sender: the switch that sent it, or the switch itself; `learned_from`: the switch that the sender had it from.
    """

    path: tuple[int, ...]
    communities: frozenset[str]
    local_preference: int
    sender: str
    learned_from: str


def apply_route_map(bgp: Bgp, name: str, prefix: IPv4Network | IPv6Network, route: Route) -> Route | None:
    """Return the route after the route map `name`, or None when it is denied."""
    clauses = next(found.clauses for found in bgp.route_maps if found.name == name)
    for clause in clauses:
        if not _matches_clause(bgp, clause, prefix, route):
            continue
        if not clause.permit:
            return None
        if clause.local_preference is not None:
            route = replace(route, local_preference=clause.local_preference)
        if clause.add_community is not None:
            route = replace(route, communities=route.communities | {clause.add_community})
        return route
    return None


def _matches_clause(bgp: Bgp, clause: Clause, prefix: IPv4Network | IPv6Network, route: Route) -> bool:
    if clause.community_list is not None:
        wanted = {found.community for found in bgp.community_lists if found.name == clause.community_list}
        if not wanted & route.communities:
            return False
    if clause.prefix_list is None:
        return True
    return any(
        _permits_prefix(found, prefix) for found in bgp.prefix_lists if found.name == clause.prefix_list
    )


def _permits_prefix(prefixes: PrefixList, prefix: IPv4Network | IPv6Network) -> bool:
    if prefixes.family != prefix.version:
        return False
    for rule in prefixes.rules:
        permitted = _parse_network(rule.prefix)
        low = permitted.prefixlen if rule.ge is None else rule.ge
        high = rule.le if rule.le is not None else (prefix.max_prefixlen if rule.ge is not None else low)
        shift = prefix.max_prefixlen - permitted.prefixlen
        inside = int(prefix.network_address) >> shift == int(permitted.network_address) >> shift
        if inside and low <= prefix.prefixlen <= high:
            return True
    return False


@lru_cache(maxsize=4096)
def _parse_network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)
