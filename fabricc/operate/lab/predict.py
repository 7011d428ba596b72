"""Predict the live network: sessions, next hops of every prefix, and reachability.

The prediction applies the planned policy objects by the rules of BGP (RFC 4271 section 9.1 with multipath, RFC 7938
section 5.2.3) on the links that are up; the first clause of a route map that matches decides. It reads no
configuration and queries no daemon.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from fabricc.base.values import dataclass, replace
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.routing import Bgp, Clause, PrefixList, Session, Transport
from fabricc.operate.lab.state import vrf_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.operate.lab.endpoints import Endpoint, ExternalEnd


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


Network = IPv4Network | IPv6Network
End = tuple[str, str]
"""A device and its port."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """One direction of a session: `receiver` receives the announcements of `sender` on `port`."""

    receiver: str
    port: str
    sender: str
    family: int
    import_map: str
    export_map: str


@dataclass(slots=True)
class Prediction:
    """The predicted state of the network.

    Attributes:
        widths: routing table (a switch, or a VRF of it) -> prefix -> equal-cost next hops.
        sessions: switch -> neighbor (address, or port when unnumbered) -> whether it must be Established.
        following: switch -> prefix -> the switches next on the way.
        cut: host ports whose link is down.
        vteps: switch with VRFs that meet over tunnels -> prefix of its VTEP.
        exits: outside party of a tenant -> the switches with a live link to it.
    """

    widths: dict[str, dict[str, int]]
    sessions: dict[str, dict[str, bool]]
    following: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    cut: set[End] = field(default_factory=set)
    vteps: dict[str, str] = field(default_factory=dict)
    exits: dict[str, set[str]] = field(default_factory=dict)

    def hops(self, sender: Endpoint, receiver: Endpoint) -> int | None:
        """Switches on the way between two addresses; None when they cannot reach each other."""
        if {(sender.node, sender.port), (receiver.node, receiver.port)} & self.cut:
            return None
        if sender.vrf != receiver.vrf:
            return None
        tor, prefix, far = sender.tor, receiver.prefix, receiver.tor
        if tor == far:
            return 1
        if sender.vrf:
            near, there = self.exits.get(tor, {tor}), self.exits.get(far, {far})
            if near & there:
                return 1
            # A packet's own hop limit falls where it enters the tunnel and where it leaves it (RFC 7348 section 5).
            return 2 if any(self.reaches(one, other) for one in near for other in there) else None
        return self._count_switches(tor, far, prefix)

    def reaches(self, tor: str, far: str) -> bool:
        """Return whether a switch reaches the VTEP of another one."""
        return far in self.vteps and self._count_switches(tor, far, self.vteps[far]) is not None

    def _count_switches(self, tor: str, far: str, prefix: str) -> int | None:
        seen = {tor}
        at, count = tor, 1
        while at != far:
            following = self.following.get(at, {}).get(prefix)
            if not following or following[0] in seen:
                return None
            at, count = following[0], count + 1
            seen.add(at)
        return count


def predict_network(
    switches: Iterable[Switch],
    down: frozenset[End] = frozenset(),
    outside: Mapping[End, ExternalEnd] = MappingProxyType({}),
) -> Prediction:
    """Predict the state of a network of these switches while some link ends are down.

    A drained switch has a policy that drains it. A link is up only when neither of its ends is `down`; `outside` has
    the parties at ports that lead outside.
    """
    known = {switch.name: switch for switch in switches}
    live = {
        name: {port.name for port in switch.ports if _is_up(name, port, down)}
        for name, switch in known.items()
    }
    adjacencies = [one for switch in known.values() for one in _list_adjacencies(switch, known, live)]
    beyond = {
        name: {port: found for (at, port), found in outside.items() if at == name and port in live[name]}
        for name in known
    }
    tables = _solve_routes(known, live, adjacencies, beyond)
    prediction = Prediction({}, _predict_sessions(known, live, beyond))
    prediction.vteps = {
        name: f"{switch.tenants.source}/32"
        for name, switch in known.items()
        if switch.tenants and switch.tenants.source
    }
    for name, switch in known.items():
        prediction.cut |= {
            (port.peer.device, port.peer.port)
            for port in switch.ports
            if port.direction is Direction.HOST and port.peer and port.name not in live[name]
        }
        chosen = {
            str(prefix): _best_routes(routes)[: switch.bgp.maximum_paths]
            for prefix, routes in tables[name].items()
            if prefix not in _own_routes(switch, live[name], beyond[name])
        }
        prediction.widths[name] = {prefix: len(routes) for prefix, routes in chosen.items()}
        prediction.following[name] = {
            prefix: tuple(sorted({route.sender for route in routes})) for prefix, routes in chosen.items()
        } | {
            str(prefix): (party.node,)
            for party in beyond[name].values()
            for prefix in (party.prefixes if party.asn is None and not party.vrf else ())
        }
    for name, parties in beyond.items():
        for party in parties.values():
            if party.vrf:
                prediction.exits.setdefault(party.node, set()).add(name)
    prediction.widths |= _predict_vrfs(known, live, prediction, beyond)
    return prediction


def _predict_vrfs(
    switches: Mapping[str, Switch], live: Mapping[str, set[str]], prediction: Prediction, beyond: ExternalEnds
) -> dict[str, dict[str, int]]:
    """Return the tables of VRFs: routes to links and outside parties of the same tenant at other switches, by VTEP."""
    links: dict[str, list[tuple[str, str]]] = defaultdict(list)
    static = {
        name: {
            (party.vrf, str(prefix)) for party in parties.values() if party.vrf for prefix in party.prefixes
        }
        for name, parties in beyond.items()
    }
    for name, switch in switches.items():
        for port in switch.ports:
            if port.vrf and port.name in live[name]:
                links[port.vrf] += [
                    (name, str(ip_interface(text).network)) for text in (port.ipv4, port.ipv6) if text
                ]
    for name, routes in static.items():
        for vrf, prefix in routes:
            links[vrf].append((name, prefix))
    tables: dict[str, dict[str, int]] = {}
    for name, switch in switches.items():
        for tenant in switch.tenants.tenants if switch.tenants else ():
            found = [
                prefix
                for far, prefix in links[tenant.name]
                if far != name and (tenant.name, prefix) not in static[name] and prediction.reaches(name, far)
            ]
            tables[vrf_table(name, tenant.name)] = dict(Counter(found))
    return tables


def _is_up(name: str, port: Port, down: frozenset[End]) -> bool:
    if not port.enabled or port.peer is None:
        return False
    return (name, port.name) not in down and (port.peer.device, port.peer.port) not in down


ExternalEnds: TypeAlias = "Mapping[str, Mapping[str, ExternalEnd]]"


def _predict_sessions(
    switches: Mapping[str, Switch], live: Mapping[str, set[str]], beyond: ExternalEnds
) -> dict[str, dict[str, bool]]:
    return {
        name: {
            session.remote or session.port: session.port in live[name]
            and (session.peer in switches or session.port in beyond[name])
            for session in switch.bgp.sessions
        }
        for name, switch in switches.items()
    }


def _list_adjacencies(
    switch: Switch, switches: Mapping[str, Switch], live: Mapping[str, set[str]]
) -> Iterator[Adjacency]:
    """Yield the adjacencies of a switch: a session runs while its link is up."""
    groups = {group.name: group for group in switch.bgp.groups}
    opposite = {"UPSTREAM": "DOWNSTREAM", "DOWNSTREAM": "UPSTREAM", "PEER": "PEER"}
    for session in switch.bgp.sessions:
        if session.port not in live[switch.name] or session.peer not in switches:
            continue
        far = {group.name: group for group in switches[session.peer].bgp.groups}[opposite[session.group]]
        for family in _session_families(switch, session):
            imports = groups[session.group].import_map
            yield Adjacency(switch.name, session.port, session.peer, family, imports, far.export_map)


def _session_families(switch: Switch, session: Session) -> list[int]:
    if session.transport is Transport.UNNUMBERED:
        return [*([4] if switch.bgp.ipv4 else []), *([6] if switch.bgp.ipv6 else [])]
    return [4 if session.transport is Transport.IPV4 else 6]


def _originated_prefixes(switch: Switch, live: set[str]) -> set[Network]:
    """Return the loopbacks of a switch, and each of its aggregates while a link in it is up."""
    own: set[Network] = {ip_network(address) for address in (switch.loopback4, switch.loopback6) if address}
    below = [
        ip_address(text.partition("/")[0])
        for port in switch.ports
        if port.direction is Direction.HOST and port.name in live
        for text in (port.ipv4, port.ipv6)
        if text
    ]
    aggregates = map(ip_network, switch.bgp.aggregates)
    return own | {each for each in aggregates if any(address in each for address in below)}


def _own_routes(switch: Switch, live: set[str], beyond: Mapping[str, ExternalEnd]) -> dict[Network, Route]:
    """Return the routes that a switch originates: its own prefixes and static routes, as marked by its policy."""
    found = {
        prefix: Route((), frozenset(), 100, switch.name, "") for prefix in _originated_prefixes(switch, live)
    }
    for party in beyond.values():
        for prefix in party.prefixes if party.asn is None and not party.vrf else ():
            route = apply_route_map(switch.bgp, "STATIC", prefix, Route((), frozenset(), 100, party.node, ""))
            if route is not None:
                found[prefix] = route
    return found


def _outside_routes(switch: Switch, beyond: Mapping[str, ExternalEnd]) -> Table:
    """Return the routes from outside parties that the policy of a switch accepts."""
    groups = {group.name: group for group in switch.bgp.groups}
    table: Table = defaultdict(list)
    for session in switch.bgp.sessions:
        party = beyond.get(session.port)
        if party is None or party.asn is None:
            continue
        for prefix in party.prefixes:
            if prefix.version not in _session_families(switch, session):
                continue
            seen = Route((party.asn,), frozenset(), 100, party.node, "")
            if (
                taken := apply_route_map(switch.bgp, groups[session.group].import_map, prefix, seen)
            ) is not None:
                table[prefix].append(taken)
    return table


Table = dict[Network, list[Route]]


def _solve_routes(
    switches: Mapping[str, Switch],
    live: Mapping[str, set[str]],
    adjacencies: Iterable[Adjacency],
    beyond: ExternalEnds,
) -> dict[str, Table]:
    """Exchange routes until nothing changes; a policy without valleys settles within twice the tiers."""
    seen: dict[str, list[Adjacency]] = defaultdict(list)
    for adjacency in adjacencies:
        seen[adjacency.receiver].append(adjacency)
    tables: dict[str, Table] = {
        name: {prefix: [route] for prefix, route in _own_routes(switch, live[name], beyond[name]).items()}
        for name, switch in switches.items()
    }
    for _ in range(2 * len(switches) + 2):
        announced = {name: _announced_routes(switches[name], tables[name]) for name in switches}
        changed = False
        for name, switch in switches.items():
            fresh = _received_routes(switch, seen[name], announced)
            for prefix, routes in _outside_routes(switch, beyond[name]).items():
                fresh[prefix] = [*routes, *fresh.get(prefix, ())]
            fresh |= {
                prefix: [route] for prefix, route in _own_routes(switch, live[name], beyond[name]).items()
            }
            changed |= fresh != tables[name]
            tables[name] = fresh
        if not changed:
            return tables
    raise ArithmeticError("the planned policy does not settle")


def _announced_routes(switch: Switch, table: Table) -> dict[tuple[str, int], list[tuple[Network, Route]]]:
    """Return the routes that are announced through each (export map, family)."""
    found: dict[tuple[str, int], list[tuple[Network, Route]]] = {}
    for group in switch.bgp.groups:
        for family in (4, 6):
            through = found[group.export_map, family] = []
            for prefix, routes in table.items():
                if prefix.version != family:
                    continue
                best = _best_routes(routes)[0]
                if (sent := apply_route_map(switch.bgp, group.export_map, prefix, best)) is not None:
                    path = (switch.bgp.asn, *sent.path)
                    through.append((prefix, Route(path, sent.communities, 100, switch.name, best.sender)))
    return found


def _received_routes(
    switch: Switch,
    adjacencies: Iterable[Adjacency],
    announced: Mapping[str, Mapping[tuple[str, int], list[tuple[Network, Route]]]],
) -> Table:
    table: Table = defaultdict(list)
    own = switch.bgp.asn
    for adjacency in adjacencies:
        for prefix, route in announced[adjacency.sender].get((adjacency.export_map, adjacency.family), ()):
            if own in route.path or route.learned_from == switch.name:
                continue
            accepted = apply_route_map(switch.bgp, adjacency.import_map, prefix, route)
            if accepted is not None:
                table[prefix].append(accepted)
    return dict(table)


def _best_routes(routes: list[Route]) -> list[Route]:
    """Return the routes of equal cost: highest local preference, then shortest path."""
    key = min((-route.local_preference, len(route.path)) for route in routes)
    return [route for route in routes if (-route.local_preference, len(route.path)) == key]
