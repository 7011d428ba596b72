"""Find static routes with a next hop that is in no subnet of the switch, so that they are never used."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import scope_of
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.rule import FabricRule, Report
from fabricc.rules.subnets import parse_addresses, states_all_addresses
from fabricc.rules.topics import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from fabricc.facts.statement import Statement
    from fabricc.rules.rule import Switches

NEXT_HOP = "FAB9680"
_ROUTE, _MAP = "static_route[", "route_map["
_SETS = re.compile(r"\bnext-hop (\S+)")
_ELSEWHERE = ("vrf", "onlink", "table", "tunnel")
"""Words of a next hop that is not resolved in the routing instance of its route."""
_LEARNED = ("bgp", "ospf", "isis", "eigrp", "rip", "vni", "import", "leak", "route_target", "evpn")
"""Words in paths of facts by which a routing instance may learn a route to a next hop."""


class UnresolvedHop(NamedTuple):
    """A next hop in no subnet of its switch; `subject` sends to it, `learned`: a route to it may be learned."""

    subject: str
    hop: str
    path: str
    learned: bool


def unresolved_hops(statement: Statement) -> tuple[UnresolvedHop, ...]:
    """Return the next hops of static routes that neither a subnet of the switch nor a static route contains."""
    routes = [
        path for path in statement.rest if _ROUTE in path and path.endswith("]") and "/setting[" not in path
    ]
    maps = list(_set_next_hops(statement))
    if not routes and not maps:
        return ()
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    management = parse_addresses([str(statement.rest.get("management/address", ""))])
    found = []
    for path in routes:
        scope, _, rest = path.rpartition(_ROUTE)
        reached = [
            net
            for other in routes
            if other != path and other.startswith(scope + _ROUTE)
            if (net := _network(other.rpartition(_ROUTE)[2][:-1])) and net.prefixlen
        ]
        inside = [
            each
            for port, mine in own.items()
            if scope_of(str(statement.of(port, "vrf") or "")) == scope
            for each in mine
        ]
        for hop in _next_hops(str(statement.rest[path])):
            if not any(each.version == hop.version for each in inside):
                continue  # the subnets of the routing instance are not known
            if any(hop in each.network for each in (*management, *inside)) or any(
                hop in net for net in reached
            ):
                continue
            learned = any(
                word in each
                for each in statement.rest
                if each.startswith(scope) and (scope or not each.startswith("vrf["))
                for word in _LEARNED
            )
            subject = f"sends traffic for {rest[:-1]} to {hop}"
            found.append(UnresolvedHop(subject, str(hop), path, learned))
    inside = [each for port, mine in own.items() if statement.of(port, "vrf") is None for each in mine]
    for name, path, hop in maps:
        near = any(hop in each.network for each in (*inside, *management))
        if not near and any(each.version == hop.version for each in inside):
            subject = f"sets the next hop {hop} by the policy {name}"
            found.append(UnresolvedHop(subject, str(hop), path, learned=True))
    return tuple(found) if found and states_all_addresses(statement, own) else ()


def _set_next_hops(statement: Statement) -> Iterator[tuple[str, str, IPv4Address | IPv6Address]]:
    """Yield policies of sessions that set a next hop, with the path of the clause."""
    used = {
        name
        for says in statement.sessions.values()
        for way in ("import", "export")
        for name in re.findall(r"[^\s,]+", str(says.get(way, "")))
    }
    for path, value in statement.rest.items() if used else ():
        if path.startswith(_MAP) and "next-hop" in str(value):
            name = path[len(_MAP) :].partition("]")[0]
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
    """Report next hops that are in no subnet of the switch and are the address of no device."""
    for name, summary in fabric.summaries.items():
        for subject, hop, path, learned in summary.unresolved:
            if fabric.owners(hop) or _is_announced(fabric, hop):
                continue
            effect = "no device has that address" if learned else "the route is not used"
            message = f"{name} {subject}, which is in the subnet of no port: {effect}"
            severity = Severity.WARNING if learned else Severity.ERROR
            remedy = "Correct the next hop or the address of the port, or remove the static route."
            yield Report(NEXT_HOP, name, (path,), message, "next hop", severity, remedy)


def _is_announced(fabric: Switches, hop: str) -> bool:
    """Return whether a switch announces a prefix, or has a static route, that contains an address."""
    wanted = parse_block(hop)
    texts = (
        text
        for summary in fabric.summaries.values()
        for text in (*summary.prefixes, *(prefix for prefix, _, _ in summary.routes))
    )
    blocks = (block for text in dict.fromkeys(texts) if (block := parse_block(text)))
    return wanted is not None and any(block.length and block.covers(wanted) for block in blocks)


RULES = (FabricRule(NEXT_HOP, POLICY, (), _report_unresolved),)
