"""Find static routes that are never used, as their next hop is in no subnet of the switch.

That holds only if the subnets of its ports are all that it has, which is decided here.
"""

from __future__ import annotations

import re
from functools import cache
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos.ports import PortKind
from fabricc.back.nos.unread_lines import allows_on_link, begins_address
from fabricc.base.diagnostics import Severity
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, last_key
from fabricc.facts.statement import Statement, Tier, scope_of
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at
from fabricc.rules.records import UnresolvedHop
from fabricc.rules.rule import HOSTS, POLICY, FabricRule, HostRule, Report, Switches
from fabricc.rules.sessions import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

    from fabricc.proof.compare import Finding


NEXT_HOP = "FAB9680"
_ROUTE, _MAP = "static_route[", "route_map["
_SETS = re.compile(r"\b(?:next-hop|ip-nexthop) (\S+)")
_ELSEWHERE = ("vrf", "onlink", "table", "tunnel")
"""Words of a next hop that is not resolved in the routing instance of its route."""
_LEARNED = ("bgp", "ospf", "isis", "eigrp", "rip", "vni", "import", "leak", "route_target", "evpn")
"""Words in paths of facts by which a routing instance may learn a route to a next hop."""


def unresolved_hops(statement: Statement) -> tuple[UnresolvedHop, ...]:
    """Return the next hops of static routes that neither a subnet of the switch nor a static route contains."""
    routes = [
        path for path in statement.rest if _ROUTE in path and path.endswith("]") and "/setting[" not in path
    ]
    maps = list(_set_next_hops(statement))
    if not routes and not maps:
        return ()
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    apart = statement.rest.get("management/isolated") == "true"
    management = [] if apart else parse_addresses([str(statement.rest.get("management/address", ""))])
    bare = _needs_no_subnets(statement)
    found = []
    by_scope: dict[str, list[str]] = {}
    for path in routes:
        by_scope.setdefault(path.rpartition(_ROUTE)[0], []).append(path)
    for scope, paths in by_scope.items():
        reached = _index_prefixes((path, last_key(path)) for path in paths)
        inside = [
            each
            for port, mine in own.items()
            if scope_of(str(statement.of(port, "vrf") or "")) == scope
            for each in mine
        ]
        versions = {each.version for each in inside}
        learned = any(
            word in each
            for each in statement.rest
            if each.startswith(scope) and (scope or not each.startswith("vrf["))
            for word in _LEARNED
        )
        for path, hop in ((each, hop) for each in paths for hop in _next_hops(str(statement.rest[each]))):
            if hop.version not in versions and not (bare and not scope):
                continue  # the subnets of the routing instance are not known
            if f"{path}/setting[{hop} interface]" in statement.rest:
                continue  # the route names the port that leads to the next hop
            if any(hop in each.network for each in (*management, *inside)) or any(
                other != path for other in _containing(reached, hop)
            ):
                continue
            subject = f"sends traffic for {last_key(path)} to {hop}"
            found.append(UnresolvedHop(subject, str(hop), path, learned))
    inside = [each for port, mine in own.items() if statement.of(port, "vrf") is None for each in mine]
    for name, path, hop in maps:
        near = any(hop in each.network for each in (*inside, *management))
        if not near and (bare or any(each.version == hop.version for each in inside)):
            subject = f"sets the next hop {hop} by the policy {name}"
            found.append(UnresolvedHop(subject, str(hop), path, learned=True))
    if not found or not states_all_addresses(statement, own, borrowing=True):
        return ()
    hops = {each.hop for each in found}
    idle = _idle_port(statement, own, ip_address(found[0].hop).version, routes) if len(hops) == 1 else ""
    return tuple(each._replace(idle=idle) for each in found)


Prefixes = dict[tuple[int, int], dict[int, list[str]]]
"""IP version and prefix length -> the bits of a prefix -> the names of those who have it."""


def _index_prefixes(named: Iterable[tuple[str, str]]) -> Prefixes:
    """Return the prefixes with their names, default routes left out, so that an address finds those that contain it."""
    index: Prefixes = {}
    for name, text in named:
        if (net := _network(text)) and net.prefixlen:
            bits = int(net.network_address) >> (net.max_prefixlen - net.prefixlen)
            index.setdefault((net.version, net.prefixlen), {}).setdefault(bits, []).append(name)
    return index


def _containing(index: Prefixes, address: IPv4Address | IPv6Address) -> Iterator[str]:
    """Yield the names of the prefixes that contain an address."""
    for (version, length), nets in index.items():
        if version == address.version:
            yield from nets.get(int(address) >> (address.max_prefixlen - length), ())


def _needs_no_subnets(statement: Statement) -> bool:
    """Return whether a switch states its loopback, and all its sessions are with link-local addresses of ports."""
    names = [name for vrf, name in statement.sessions if not vrf]
    return bool(
        names
        and statement.facts_below("loopback/ip")
        and not any(is_address(name) and not ip_address(name).is_link_local for name in names)
    )


def _find_host_next_hops(statement: Statement) -> Iterator[Finding]:
    """Report routes of a host's port to a next hop that only another port has in its subnet.

    Linux refuses such a route, or sends the traffic of one rail or tenant by the port of another.
    """
    if any(allows_on_link(text) for *_, text in statement.device.unknown):
        return
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    for port, mine in own.items():
        for leaf, value in statement.ports.get(port, {}).items():
            via, *words = str(value).removeprefix("via ").split() or [""]
            if not leaf.startswith("route[") or not is_address(via) or "onlink" in words:
                continue
            hop = ip_address(via)
            if any(hop in each.network for each in mine):
                continue
            other = next(
                (name for name, some in own.items() if any(hop in each.network for each in some)), ""
            )
            if other:
                message = f"{statement.name} {port} sends traffic for {first_key(leaf)} to {hop}, which is at {other}"
                remedy = "Correct the next hop, or move the route to the other port."
                path = f"{PORT}{port}]/{leaf}"
                yield finding_at(
                    NEXT_HOP, statement.device, path, message, "next hop", Severity.ERROR, remedy
                )


def ports_of_static_routes(statement: Statement) -> frozenset[str]:
    """Return the ports whose subnets contain the next hop of a static route: ways to routers, and not to hosts.

    The route is in the routing instance of the port.
    """
    hops: dict[str, set[IPv4Address | IPv6Address]] = {}
    for path, value in statement.rest.items():
        scope, route, rest = path.rpartition(_ROUTE)
        if route and rest.endswith("]") and "/setting[" not in rest:
            hops.setdefault(scope, set()).update(_next_hops(str(value)))
    if not any(hops.values()):
        return frozenset()
    return frozenset(
        port
        for port, texts in statement.addresses.items()
        for found in [hops.get(scope_of(str(statement.of(port, "vrf") or "")), ())]
        if any(hop in each.network for each in parse_addresses(texts) for hop in found)
    )


def routes_to_hosts(statement: Statement) -> tuple[str, ...]:
    """Return the paths of static routes by ports to hosts or of management, also by way of other static routes."""
    routes = {
        path: [*_next_hops(str(value))]
        for path, value in statement.facts_below(_ROUTE).items()
        if path.endswith("]") and "/setting[" not in path
    }
    if not routes:
        return ()
    managing = [path for path, hops in routes.items() if not hops and _names_management(statement, path)]
    lossless = lossless_ports(statement)
    ports = [port for port, far in statement.fars.items() if far.tier is Tier.HOST]
    ports += [port for port in statement.open_ports() if port in lossless]
    inside = [each.network for port in ports for each in parse_addresses(statement.addresses.get(port, ()))]
    managed = str(statement.rest.get("management/address", "")).split(",")
    inside += [each.network for each in parse_addresses(managed)]

    prefixes = _index_prefixes((path, first_key(path)) for path in routes)

    @cache
    def is_at_host(hop: IPv4Address | IPv6Address, depth: int = 3) -> bool:
        if any(hop in net for net in inside):
            return True
        ways = [routes[path] for path in _containing(prefixes, hop)] if depth else []
        return any(way and all(is_at_host(each, depth - 1) for each in way) for way in ways)

    return (*managing, *(path for path, hops in routes.items() if hops and all(map(is_at_host, hops))))


def _names_management(statement: Statement, path: str) -> bool:
    """Return whether the next hop of a static route is a port of management."""
    words = str(statement.rest[path]).split()
    return any(statement.parse_name(word).kind is PortKind.MANAGEMENT for word in words)


def _idle_port(
    statement: Statement,
    own_addresses: Mapping[str, list[IPv4Interface | IPv6Interface]],
    version: int,
    routes: list[str],
) -> str:
    """Return the only port with a subnet of two and without a known link, a neighbor or a next hop; else ""."""
    used = [ip_address(name) for _, name in statement.sessions if is_address(name)]
    used += [each for path in routes for each in _next_hops(str(statement.rest[path]))]
    ports = [
        port
        for port in link_ports(statement, own_addresses, version)
        if port not in statement.fars and is_idle(own_addresses[port], version, used)
    ]
    return ports[0] if len(ports) == 1 else ""


def _set_next_hops(statement: Statement) -> Iterator[tuple[str, str, IPv4Address | IPv6Address]]:
    """Yield import policies of sessions that set a next hop, with the path of the clause."""
    used = {
        name
        for (vrf, _), values in statement.sessions.items()
        for name in re.findall(r"[^\s,]+", str(values.get("import", "")) if not vrf else "")
    }
    for path, value in statement.facts_below(_MAP).items() if used else ():
        if "next-hop" in str(value) or "ip-nexthop" in str(value):
            name = first_key(path)
            for text in _SETS.findall(str(value)) if name in used else ():
                for hop in _next_hops(text):
                    yield name, path, hop


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _next_hops(via: str) -> Iterator[IPv4Address | IPv6Address]:
    """Yield the next hops of a route that are addresses and are looked up in its routing instance."""
    for text in via.split(","):
        words = text.split()
        if any(word in each for each in words for word in _ELSEWHERE):
            continue
        for word in words:
            try:
                hop = ip_address(word)
            except ValueError:
                continue
            if not (hop.is_link_local or hop.is_unspecified):
                yield hop


def _report_unresolved(fabric: Switches) -> Iterator[Report]:
    """Report next hops that are in no subnet of the switch and are no loopback of a device."""
    unresolved = {
        name: summary.unresolved for name, summary in fabric.summaries.items() if summary.unresolved
    }
    ports = _port_addresses(fabric) if unresolved else {}
    announced = _announced_prefixes(fabric) if unresolved else {}
    for name, hops in unresolved.items():
        for subject, hop, path, learned, idle in hops:
            far = ports.get(hop, "")
            if any(_containing(announced, ip_address(hop))) or (fabric.owners(hop) and not far):
                continue
            effect = "the route is not used"
            if learned:
                effect = f"{far} has it on another link" if far else "no device has that address"
            message = f"{name} {subject}, which is in the subnet of no port: {effect}"
            severity = Severity.WARNING if learned else Severity.ERROR
            remedy = "Correct the next hop or the address of the port, or remove the static route."
            yield Report(NEXT_HOP, name, (path,), message, "next hop", severity, remedy, hop)
            if idle:
                message = f"{name} {idle} has an unused subnet, and the next hop {hop} is in no subnet"
                paths = (f"{PORT}{idle}]/ipv{ip_address(hop).version}", path)
                yield Report(NEXT_HOP, name, paths, message, "next hop", severity, remedy)


def _port_addresses(fabric: Switches) -> dict[str, str]:
    """Return the addresses of ports with a subnet -> their devices."""
    return {
        each.text.partition("/")[0]: name for name, mine in fabric.subnets().items() for each in mine.of(name)
    }


def _announced_prefixes(fabric: Switches) -> Prefixes:
    """Return the prefixes that a switch announces or has a static route to."""
    texts = {
        text
        for summary in fabric.summaries.values()
        for text in (*summary.prefixes, *(prefix for prefix, _, _ in summary.routes))
    }
    return _index_prefixes((text, text) for text in texts)


_BORROWED = ("unnumbered", "address_from")
_OTHER_ADDRESS = re.compile(r"dhcp|setting\[(?:ip|ipv6) address .*")
"""Facts of ports with addresses that are not known."""
_SMALL = 2
"""Bits of the addresses in the subnet of a link between two switches."""


def parse_addresses(texts: Iterable[str]) -> list[IPv4Interface | IPv6Interface]:
    """Return the addresses with prefix lengths among texts."""
    found = []
    for text in texts:
        try:
            found.append(ip_interface(text))
        except ValueError:
            continue
    return found


def states_all_addresses(
    statement: Statement,
    own_addresses: Mapping[str, list[IPv4Interface | IPv6Interface]],
    *,
    borrowing: bool = False,
) -> bool:
    """Return whether no port of a switch may have an address that is not known.

    Args:
        statement: the switch.
        own_addresses: port -> its known addresses.
        borrowing: whether ports may borrow addresses, which gives the switch no further subnet.
    """
    for port, values in statement.ports.items():
        if any(_OTHER_ADDRESS.fullmatch(leaf) for leaf in values):
            return False
        if borrowing:
            continue
        if any(leaf in values for leaf in _BORROWED):
            return False
        borrowed = [
            each for each in own_addresses.get(port, ()) if each.network.prefixlen == each.max_prefixlen
        ]
        if borrowed and statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE):
            return False
    return not any(begins_address(text) for _, _, text in statement.device.unknown)


def link_ports(
    statement: Statement, own_addresses: Mapping[str, list[IPv4Interface | IPv6Interface]], version: int
) -> list[str]:
    """Return the ports with addresses of a version that may lead to switches of the default routing instance."""
    return [
        port
        for port, addresses in own_addresses.items()
        if statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE)
        and statement.of(port, "vrf") is None
        and any(each.version == version for each in addresses)
    ]


def is_idle(
    addresses: list[IPv4Interface | IPv6Interface],
    version: int,
    used: Iterable[IPv4Address | IPv6Address],
    *,
    alone: bool = False,
) -> bool:
    """Return whether a port has the subnet of a link, and none of the addresses in use is in it.

    Args:
        addresses: of the port.
        version: 4 or 6.
        used: addresses of neighbors or next hops.
        alone: whether the switch has no other port with an address, so that a link may have a subnet of any size.
    """
    nets = [each.network for each in addresses if each.version == version]
    small = [net for net in nets if alone or net.max_prefixlen - net.prefixlen <= _SMALL]
    return bool(small) and not any(each in net for each in used for net in nets)


def _circular_routes(fabric: Switches) -> Iterator[Report]:
    """Report static routes to an address of the switch itself, and to a switch whose route leads back.

    A route with a further way, such as one to a firewall, has a device of which nothing is known.
    """
    routes = {
        (name, prefix): ([*map(str, _next_hops(via))], path)
        for name, summary in fabric.summaries.items()
        for prefix, via, path in summary.routes
    }
    ports = _port_addresses(fabric) if routes else {}
    following: dict[tuple[str, str], str] = {}
    for key, (hops, _) in routes.items():
        fars = {ports.get(hop, "") if len(fabric.owners(hop)) < _SHARED else "" for hop in hops}
        if len(fars) == 1:
            following[key] = fars.pop()
    for (name, prefix), (hops, path) in routes.items():
        seen, far = [name], following.get((name, prefix), "")
        while far not in seen and (far, prefix) in following:
            seen.append(far)
            far = following[far, prefix]
        if name in (ports.get(hop) for hop in hops if len(fabric.owners(hop)) < _SHARED):
            message = f"{name} sends traffic for {prefix} to its own address: the route is not used"
            remedy = "Correct the next hop, or remove the static route."
        elif far == name:
            message = (
                f"{name} sends traffic for {prefix} to {seen[1]}, whose route leads back: packets circle"
            )
            remedy = "Remove one of the static routes, or let it lead out of the loop."
        else:
            continue
        yield Report(NEXT_HOP, name, (path,), message, "circular route", Severity.WARNING, remedy)


_SHARED = 2
"""Owners of an address that several switches have, such as a gateway."""


RULES = (
    FabricRule(NEXT_HOP, POLICY, (), _report_unresolved),
    FabricRule(NEXT_HOP, POLICY, (), _circular_routes),
    HostRule(NEXT_HOP, HOSTS, _find_host_next_hops),
)
