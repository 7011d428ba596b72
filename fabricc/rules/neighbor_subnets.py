"""Find sessions of one hop with a neighbor that is in no subnet of the switch: they never come up."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.statement import session_path
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import ADDRESSES, SwitchRule
from fabricc.rules.sessions import external_sessions, is_address
from fabricc.rules.subnets import is_idle, link_ports, parse_addresses, states_all_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions

OFF_LINK = "FAB9679"
_FARTHER = ("multihop", "update_source", "ttl_security_hops", "maximum_hops", "interface")
"""Statements of a session whose neighbor may be more than one hop away, or is found in another way."""
_UNCHECKED = ("connected-check", "connected_check", "connected-route-check", "connected_route_check",
              "connected_rt_check", "confederation")  # fmt: skip
"""Parts of paths of settings by which a neighbor need not be in a subnet of the switch."""


def _off_link_neighbors(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report sessions of one hop with neighbors outside of the subnets of all ports."""
    near = [(key, ip) for key, says in external_sessions(statement) if (ip := _one_hop_neighbor(key, says))]
    if not near:
        return
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    nets = [
        each.network
        for port, addresses in own.items()
        if statement.of(port, "vrf") is None
        for each in addresses
    ]
    lost = [(key, ip) for key, ip in near if not any(ip in net for net in nets)]
    unchecked = any(part in path for path in statement.rest for part in _UNCHECKED)
    if not lost or unchecked or not states_all_addresses(statement, own):
        return
    for version in (4, 6):
        keys = [key for key, ip in lost if ip.version == version]
        moved = _ports_elsewhere(statement, own, [ip for _, ip in lost if ip.version == version])
        ports = link_ports(statement, own, version)
        if not keys or not (ports or moved):
            continue
        used = [ip_address(neighbor) for _, neighbor in statement.sessions if is_address(neighbor)]
        idle = [port for port in ports if is_idle(own[port], version, used)]
        idle = idle if len(idle) <= len(keys) else []  # with more of them, the wrong one is not known
        who = join_words([neighbor for _, neighbor in keys], 2)
        where = f" ({idle[0]} has {_first_of(own[idle[0]], version)})" if idle else ""
        port_paths = [f"{PORT}{port}]/ipv{version}" for port in idle]
        if moved:
            where = f" ({moved[0]} is in the routing instance {statement.of(moved[0], 'vrf')})"
            port_paths = [f"{PORT}{each}]/vrf" for port in moved for each in statement.chain(port)]
        message = (
            f"{statement.name}: no port has an address in the subnet of {who}{where}: no session comes up"
        )
        paths = (*port_paths, session_path(keys[0], "remote_asn"), session_path(keys[0], "remote_kind"))
        remedy = "Correct the address of the port or of the neighbor, or allow several hops on the session."
        yield finding_at(OFF_LINK, statement.device, paths, message, "neighbor off link", remedy=remedy)


def _ports_elsewhere(
    statement: Statement,
    own: Mapping[str, list[IPv4Interface | IPv6Interface]],
    neighbors: list[IPv4Address | IPv6Address],
) -> list[str]:
    """Return the ports of other routing instances with the subnet of a neighbor."""
    return [
        port
        for port, addresses in own.items()
        if statement.of(port, "vrf") is not None
        and any(ip in each.network for ip in neighbors for each in addresses)
    ]


RULES = (SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _off_link_neighbors),)


def _one_hop_neighbor(key: Key, says: Mapping[str, Value]) -> IPv4Address | IPv6Address | None:
    """Return the address of a neighbor that has to be in a subnet of the switch; None for other neighbors."""
    if any(leaf in says for leaf in _FARTHER) or any(part in leaf for leaf in says for part in _UNCHECKED):
        return None
    try:
        found = ip_address(key[1])
    except ValueError:
        return None
    return None if found.is_link_local and found.version == 6 else found


def _first_of(addresses: list[IPv4Interface | IPv6Interface], version: int) -> str:
    return next(str(each) for each in addresses if each.version == version)
