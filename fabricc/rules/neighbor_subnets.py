"""Find sessions of one hop with a neighbor that is in no subnet of the switch, or that is the switch itself."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults
from fabricc.back.nos.lost_lines import NAMES_ADDRESS
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.statement import Statement, scope_of, session_path
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.findings import finding_at, line_in_block
from fabricc.rules.next_hops import is_idle, link_ports, parse_addresses, states_all_addresses
from fabricc.rules.rule import ADDRESSES, Input, SwitchRule
from fabricc.rules.sessions import Key, Sessions, external_sessions, is_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

OFF_LINK = "FAB9679"
_FARTHER = ("multihop", "update_source", "ttl_security_hops", "maximum_hops", "interface")
"""Statements of a session whose neighbor may be more than one hop away, or is found in another way."""
_UNCHECKED = ("connected-check", "connected_check", "connected-route-check", "connected_route_check",
              "connected_rt_check", "confederation")  # fmt: skip
"""Parts of paths of settings by which a neighbor need not be in a subnet of the switch."""


def _lacks_address(statement: Statement, port: str) -> bool:
    """Return whether a port that is up and routes has no address."""
    values = statement.ports[port]
    up = values.get("enabled") == "true" and values.get("routed") == "true"
    return up and port not in statement.addresses and "unnumbered" not in values


def _off_link_neighbors(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions of one hop with neighbors outside of the subnets of all ports."""
    outside = list(_sessions_outside(statement, sessions))
    if not outside:
        return
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    nets = [
        each.network
        for port, addresses in own.items()
        if statement.of(port, "vrf") is None
        for each in addresses
    ]
    near = [
        (key, ip)
        for key, values in outside
        if (ip := _one_hop_neighbor(key, _without_near_source(statement, sessions, key, values)))
    ]
    lost = [(key, ip) for key, ip in near if not any(ip in net for net in nets)]
    unchecked = any(part in path for path in statement.rest for part in _UNCHECKED)
    if not lost or unchecked or not states_all_addresses(statement, own):
        return
    for version in (4, 6):
        keys = [key for key, ip in lost if ip.version == version]
        moved = _ports_elsewhere(statement, own, [ip for _, ip in lost if ip.version == version])
        ports = link_ports(statement, own, version)
        bare = [] if ports else [port for port in statement.ports if _lacks_address(statement, port)]
        if not keys or not (ports or moved or bare):
            continue
        used = [ip_address(neighbor) for _, neighbor in statement.sessions if is_address(neighbor)]
        idle = [port for port in ports if is_idle(own[port], version, used, alone=len(ports) == 1)]
        idle = idle if len(idle) <= len(keys) else []  # with more of them, the wrong one is not known
        who = join_words([neighbor for _, neighbor in keys], 2)
        where = f" ({idle[0]} has {_first_of(own[idle[0]], version)})" if idle else ""
        port_paths = [f"{PORT}{port}]/ipv{version}" for port in idle if port not in statement.fars]
        if moved:
            where = f" ({moved[0]} is in the routing instance {statement.of(moved[0], 'vrf')})"
            port_paths = [f"{PORT}{each}]/vrf" for port in moved for each in statement.chain(port)]
        elif bare:
            where, port_paths = f" ({bare[0]} has no address)", [f"{PORT}{bare[0]}]/routed"]
        message = (
            f"{statement.name}: no port has an address in the subnet of {who}{where}: no session comes up"
        )
        paths = [session_path(keys[0], leaf) for leaf in ("configured", "remote_asn", "remote_kind")]
        far = statement.fars.get(idle[0]) if idle else None
        known = far is not None and far.known  # the rule about links reports a wrong address of the port
        paths = [*paths, *port_paths] if known else [*port_paths, *paths]
        word = keys[0][1] if paths[0] not in port_paths else ""
        remedy = "Correct the address of the port or of the neighbor, or allow several hops on the session."
        found = finding_at(
            OFF_LINK, statement.device, paths, message, "neighbor off link", remedy=remedy, word=word
        )
        unaddressed = bare and not moved
        yield line_in_block(statement.device, found, NAMES_ADDRESS) if unaddressed else found


def _neighbors_of_other_instances(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report sessions of a routing instance whose neighbors are in subnets of ports of other instances alone."""
    whole = defaults.states_addresses_in_one_file(statement.device.system)
    alone = "bgp/asn" not in statement.rest  # the process of the links is that of the instance
    inner = [key for key in statement.sessions if (whole or alone) and key[0] and is_address(key[1])]
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()} if inner else {}
    lost: dict[tuple[str, str], list[str]] = {}
    for key in inner:
        ip = _one_hop_neighbor(key, statement.sessions[key])
        ports = [port for port, mine in own.items() if ip and any(ip in each.network for each in mine)]
        scopes = {scope_of(str(statement.of(port, "vrf") or "")) for port in ports}
        if ports and scope_of(key[0]) not in scopes:
            lost.setdefault((key[0], ports[0]), []).append(key[1])
        elif whole and ip and not ports and _is_beyond(statement, own, key, ip.version):
            why = "no session comes up"
            message = f"{statement.name}: no port of {key[0]} has an address in the subnet of {key[1]}: {why}"
            remedy = (
                "Correct the address of the port or of the neighbor, or allow several hops on the session."
            )
            paths = [session_path(key, leaf) for leaf in _REMOTE]
            yield finding_at(OFF_LINK, statement.device, paths, message, "neighbor off link", remedy=remedy)
    for (vrf, port), neighbors in list(lost.items())[:1]:
        every = [each for names in lost.values() for each in names]
        where = str(statement.of(port, "vrf") or "default")
        message = (
            f"{statement.name}: the sessions with {join_words(every, 2)} are of the routing instance {vrf}, {port} of "
            f"{where}: no session comes up"
        )
        remedy = "Put the session and its port into one routing instance."
        paths = [session_path((vrf, neighbors[0]), leaf) for leaf in ("remote_asn", "remote_kind", "group")]
        paths = [*([] if whole else [f"{scope_of(vrf)}bgp/asn"]), *paths]
        yield finding_at(OFF_LINK, statement.device, paths, message, "other instance", remedy=remedy)


def _is_beyond(
    statement: Statement, own: Mapping[str, list[IPv4Interface | IPv6Interface]], key: Key, version: int
) -> bool:
    """Return whether all addresses of a routing instance are known, of a session of one hop with another AS."""
    mine = [each for port, some in own.items() if statement.of(port, "vrf") == key[0] for each in some]
    numbers = [statement.rest.get(f"{scope_of(key[0])}bgp/asn"), statement.rest.get("bgp/asn")]
    remote = statement.sessions[key].get("remote_asn")
    return (
        any(each.version == version and each.network.prefixlen < each.max_prefixlen for each in mine)
        and remote not in (None, *numbers)
        and states_all_addresses(statement, own)
    )


def _ports_of_other_instances(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over a port, of whatever address its neighbor has, that is in another routing instance."""
    moved = [
        key
        for key, session in sessions.stated.items()
        if session.enabled
        and key[1] in statement.ports
        and scope_of(str(statement.of(key[1], "vrf") or "")) != scope_of(key[0])
        and (statement.of(key[1], "vrf") or _has_own_file(statement, key))
    ]
    for vrf, port in moved:
        where = str(statement.of(port, "vrf") or "default")
        message = (
            f"{statement.name}: the session over {port} is of the routing instance {vrf or 'default'}, the port of "
            f"{where}: no session comes up"
        )
        paths = (f"{PORT}{port}]/vrf", session_path((vrf, port), "remote_asn"))
        remedy = "Move the port or the session to the other routing instance."
        yield finding_at(OFF_LINK, statement.device, paths, message, "neighbor off link", remedy=remedy)


def _has_own_file(statement: Statement, key: Key) -> bool:
    """Return whether the port of a session is stated where its routing instance would be.

    The file of FRR's daemon has ports, and not their routing instances, which are the kernel's.
    """
    if defaults.states_addresses_in_one_file(statement.device.system):
        return True
    lines = statement.device.reading.lines
    file = next((lines[path][0] for leaf in _REMOTE if (path := session_path(key, leaf)) in lines), "")
    paths = (f"{PORT}{key[1]}]/{leaf}" for leaf in statement.ports[key[1]])
    return any(lines[path][0] != file for path in paths if path in lines)


_REMOTE = ("remote_asn", "remote_kind")


def _sessions_outside(statement: Statement, sessions: Sessions) -> Iterator[tuple[Key, Mapping[str, Value]]]:
    """Yield the external sessions whose neighbor is in no prefix of a port of the default routing instance."""
    beyond = [
        (key, settings)
        for key, settings in external_sessions(statement)
        if not (port := sessions.near.get(key)) or statement.of(port, "vrf") is not None
    ]
    if not beyond:
        return
    own = {
        block
        for port, texts in statement.addresses.items()
        if statement.of(port, "vrf") is None
        for text in texts
        if (block := parse_block(text))
    }
    lengths = {(block.family, block.length) for block in own}
    for key, settings in beyond:
        neighbor = parse_block(key[1])
        if neighbor and not any(
            family == neighbor.family and neighbor.shorten(length) in own for family, length in lengths
        ):
            yield key, settings


def _own_neighbors(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions of the default routing instance with an address that the switch has there itself."""
    suspect = [
        key for key, session in sessions.stated.items() if session.enabled and key[1] in sessions.addresses
    ]
    elsewhere = {
        text.partition("/")[0]
        for port, texts in (statement.addresses.items() if suspect else ())
        if statement.of(port, "vrf") is not None
        for text in texts
    }
    for key in suspect:
        if key[0] or key[1] in elsewhere:
            continue
        message = (
            f"{statement.name}: the neighbor {key[1]} is an address of the switch itself: no session comes up"
        )
        remedy = "Correct the address of the neighbor, or that of the loopback or port."
        loopbacks = [
            path
            for path in ("loopback/ipv4", "loopback/ipv6")
            if str(statement.rest.get(path, "")).partition("/")[0] == key[1]
        ]
        for path in (session_path(key, "remote_asn"), *loopbacks):
            word = key[1] if path not in loopbacks else ""
            yield finding_at(
                OFF_LINK, statement.device, (path,), message, "own neighbor", remedy=remedy, word=word
            )


def _far_sources(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report external sessions over one link whose source is a loopback: the neighbor expects the address of the port.

    The ends of links that are known are compared by `session_pairs`, unless the loopback has no address.
    """
    if "update_source" not in statement.session_leaves:
        return
    for key, values in external_sessions(statement):
        source, port = str(values.get("update_source", "")), sessions.near.get(key, "")
        port = port if is_address(key[1]) else key[1]
        several = any(leaf in values for leaf in _FARTHER if leaf not in ("update_source", "interface"))
        unchecked = any(part in leaf for leaf in (*values, *statement.rest) for part in _UNCHECKED)
        far, kind = statement.fars.get(port), statement.parse_name(source).kind
        paired = far is not None and far.known and is_address(key[1]) and sessions.stated[key].source
        if (
            port
            and source
            and kind is PortKind.VIRTUAL
            and source != port
            and not (several or unchecked or paired)
        ):
            message = (
                f"{statement.name}: {source} is the source of the session with {key[1]}, one hop over {port}"
            )
            remedy = "Remove the source, so that packets have the address of the port, or allow several hops."
            path, group = session_path(key, "update_source"), "far source"
            yield finding_at(OFF_LINK, statement.device, path, message, group, Severity.WARNING, remedy)


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


def _without_near_source(
    statement: Statement, sessions: Sessions, key: Key, values: Mapping[str, Value]
) -> Mapping[str, Value]:
    """Return the settings of a session, without a source that is the port to its neighbor or an address of it."""
    port, source = sessions.near.get(key, ""), values.get("update_source")
    own = [text.partition("/")[0] for text in statement.addresses.get(port, ())]
    near = bool(port) and source in (port, *own)
    return {leaf: value for leaf, value in values.items() if leaf != "update_source"} if near else values


def _one_hop_neighbor(key: Key, values: Mapping[str, Value]) -> IPv4Address | IPv6Address | None:
    """Return the address of a neighbor that has to be in a subnet of the switch; None for other neighbors."""
    if any(leaf in values for leaf in _FARTHER) or any(
        part in leaf for leaf in values for part in _UNCHECKED
    ):
        return None
    try:
        found = ip_address(key[1])
    except ValueError:
        return None
    return None if found.is_link_local and found.version == 6 else found


def _first_of(addresses: list[IPv4Interface | IPv6Interface], version: int) -> str:
    return next(str(each) for each in addresses if each.version == version)


RULES = (
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _off_link_neighbors),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _ports_of_other_instances),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _neighbors_of_other_instances),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _own_neighbors),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _far_sources),
)
