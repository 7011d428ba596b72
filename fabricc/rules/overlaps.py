"""Find overlapping blocks of addresses, and sessions of one hop with a neighbor in no subnet of the switch.

Blocks are those of all owners of a plan, subnets of ports that are not ends of one link, and subnets of the default VRF
that hold links of tenants and are announced outside of them.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.back.nos import defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Statement, scope_of, session_path
from fabricc.proof.invariants.prefixes import Block, blocks_with_lines, parse_block
from fabricc.proof.invariants.rules import breach_finding
from fabricc.rules.findings import finding_at
from fabricc.rules.next_hops import is_idle, link_ports, parse_addresses, states_all_addresses
from fabricc.rules.records import Subnet, Subnets
from fabricc.rules.rule import ADDRESSES, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import Key, Sessions, external_sessions, is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

OVERLAP = "FAB9681"
_REMEDY = "Correct the address or the prefix length of the port with the wrong one."


def subnets_of(statement: Statement) -> Subnets:
    """Return the subnets of the ports of a device that are up; no addresses alone and no management."""
    return statement.remember(subnets_of, _find_subnets)


def _find_subnets(statement: Statement) -> Subnets:
    texts, ports = [], []
    for port, addresses in statement.addresses.items():
        if statement.of(port, "enabled") == "false":
            continue
        if statement.parse_name(statement.parse_name(port).port).kind is PortKind.MANAGEMENT:
            continue
        vrf = str(statement.of(port, "vrf") or "")
        for text in addresses:
            address, _, length = text.partition("/")
            if length in ("", "32", "128") or address.lower().startswith(("fe80:", "169.254.", "127.")):
                continue
            texts.append(f"{vrf} {text}")
            ports.append(port)
    return Subnets("\n".join(texts), tuple(ports))


class _OwnedBlock(NamedTuple):
    """A block of an owner of a plan, and the file and line that state it."""

    vrf: str
    block: Block
    line: int
    owner: str
    file: str


P = TypeVar("P", Subnet, _OwnedBlock)


def _covering_pairs(placed: Iterable[P]) -> Iterator[tuple[P, P]]:
    """Yield each block that is inside another one, or equal to it, after that one: the smallest that contains it.

    Blocks of prefixes that overlap contain each other, so the sorted blocks around the current one suffice.
    """
    around: list[P] = []
    for mine in sorted(placed):
        while around and (around[-1].vrf != mine.vrf or not around[-1].block.covers(mine.block)):
            around.pop()
        if around:
            yield around[-1], mine
        if not around or around[-1].block != mine.block:
            around.append(mine)


def overlapping_blocks(owners: Iterable[tuple[str, str, bytes]]) -> Iterator[Finding]:
    """Yield breaches of invariant 6: blocks of a plan that overlap; `owners` are (device, file, its packed blocks)."""
    owned = [
        _OwnedBlock("", block, line, name, file)
        for name, file, packed in owners
        for block, line in blocks_with_lines(packed)
    ]
    for outer, inner in _covering_pairs(owned):
        message = f"{inner.owner}: {inner.block} overlaps {outer.block} of {outer.owner}"
        yield breach_finding(6, message, inner.file, inner.line)


def _own_overlaps(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report two ports of a switch with addresses in overlapping subnets, or two routed ports with one address."""
    pairs = [
        (outer, inner)
        for outer, inner in _covering_pairs(subnets_of(statement).of(statement.name))
        if outer.port != inner.port
        and (
            outer.text != inner.text or all(_is_routed_port(statement, each.port) for each in (outer, inner))
        )
    ]
    for port, message in _messages(pairs):
        paths = (*port.paths, f"{PORT}{port.port}]/")
        yield finding_at(OVERLAP, statement.device, paths, message, "overlap", remedy=_REMEDY)


def _is_routed_port(statement: Statement, port: str) -> bool:
    kind = statement.parse_name(statement.parse_name(port).port).kind
    stated = str(statement.ports.get(port, {}).get("kind", ""))
    return (kind is PortKind.PORT and not stated) or (kind is PortKind.BUNDLE and stated in ("", "bond"))


def _managed_subnets(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a port of the default VRF with an address in the network of the management port."""
    isolated = statement.rest.get("management/isolated") == "true"
    texts = [] if isolated else str(statement.rest.get("management/address", "")).split(",")
    managed = [block for text in texts if (block := parse_block(text)) and block.length < block.bits]
    for each in subnets_of(statement).of(statement.name) if managed else ():
        if each.vrf == "" and any(net.covers(each.block) or each.block.covers(net) for net in managed):
            message = f"{statement.name} {each.port} has {each.text}, in the network of the management port"
            remedy = "Give the port an address of the fabric."
            yield finding_at(OVERLAP, statement.device, each.paths, message, "overlap", remedy=remedy)


def _messages(pairs: list[tuple[Subnet, Subnet]]) -> Iterator[tuple[Subnet, str]]:
    """Yield the ports to report and the message: the larger subnet, and the smaller one if it is alone."""
    inside: dict[Subnet, list[Subnet]] = {}
    for outer, inner in pairs:
        inside.setdefault(outer, []).append(inner)
    for outer, smaller in inside.items():
        for one, other in ((outer, smaller[0]), *(((smaller[0], outer),) if len(smaller) == 1 else ())):
            more = f" and of {len(smaller) - 1} more" if len(smaller) > 1 else ""
            message = (
                f"{one.device} {one.port} has {one.text}, whose subnet overlaps that of {other.device} {other.port} "
                f"({other.text}){more}"
            )
            yield one, message


def _overlaps_between(fabric: Switches) -> Iterator[Report]:
    """Report subnets of different sizes that overlap on two devices which links join.

    A device without a known link counts as joined: the wrong prefix length may be what hides its link.
    Equal subnets are those of links and of shared segments; FAB9602 and FAB9604 compare their addresses.
    """
    subnets = [each for name, mine in fabric.subnets().items() for each in mine.of(name)]
    pairs = [
        (outer, inner)
        for outer, inner in _covering_pairs(subnets)
        if outer.device != inner.device and outer.block != inner.block
    ]
    joined: dict[str, set[str]] = {}
    near = []
    for outer, inner in pairs:
        if outer.device not in joined:
            joined[outer.device] = fabric.reachable({outer.device})
        alone = outer.vrf == "" and not (fabric.linked(outer.device) and fabric.linked(inner.device))
        if alone or inner.device in joined[outer.device]:
            near.append((outer, inner))
    for one, message in _messages(near):
        yield Report(OVERLAP, one.device, one.paths, message, "overlap", Severity.ERROR, _REMEDY)


LEFTOVER = "FAB9688"
_TENANT = path_pattern("(?:evpn|vxlan)/vrf[*]/vni")
_ANNOUNCES = ("bgp/redistribute[connected]", "bgp/redistribute_connected")
_LEFTOVER_REMEDY = "Remove the subnet from the default VRF, or put the port into the VRF of the tenant."


def _find_leftovers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a subnet of the default VRF that covers a link of a VRF with a VNI, where connected routes enter BGP."""
    tenants = {match[1] for path in statement.rest if (match := _TENANT.fullmatch(path))}
    if not tenants or not any(path in statement.rest for path in _ANNOUNCES):
        return
    subnets = list(subnets_of(statement).of(statement.name))
    inside, pair = [each for each in subnets if each.vrf in tenants], statement.facts_below("mlag/")
    found: list[tuple[Subnet, Subnet]] = []
    for outer in subnets:
        if outer.vrf == "":
            covered = [inner for inner in inside if outer.block.covers(inner.block)]
            if pair:  # whose two switches often have one subnet for their link in every VRF
                covered = [inner for inner in covered if inner.block != outer.block]
            found += [(outer, inner) for inner in covered[:1]]
    if not found:
        return
    outer, inner = found[0]
    more = f" (and {len(found) - 1} subnets more)" if len(found) > 1 else ""
    message = (
        f"{statement.name} {outer.port} has {outer.text} in the default VRF, which holds {inner.port} of VRF "
        f"{inner.vrf} ({inner.text}): others reach the tenant's prefix{more}"
    )
    yield finding_at(
        LEFTOVER, statement.device, outer.paths, message, "leftover", Severity.WARNING, _LEFTOVER_REMEDY
    )


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
        yield finding_at(
            OFF_LINK, statement.device, paths, message, "neighbor off link", remedy=remedy, word=word
        )


def _neighbors_of_other_instances(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report sessions of a routing instance whose neighbors are in subnets of ports of other instances alone."""
    whole = defaults.states_addresses_in_one_file(statement.device.system)
    inner = [key for key in statement.sessions if whole and key[0] and is_address(key[1])]
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()} if inner else {}
    lost: dict[tuple[str, str], list[str]] = {}
    for key in inner:
        ip = _one_hop_neighbor(key, statement.sessions[key])
        ports = [port for port, mine in own.items() if ip and any(ip in each.network for each in mine)]
        scopes = {scope_of(str(statement.of(port, "vrf") or "")) for port in ports}
        if ports and scope_of(key[0]) not in scopes:
            lost.setdefault((key[0], ports[0]), []).append(key[1])
        elif ip and not ports and _is_beyond(statement, own, key, ip.version):
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
    SwitchRule(OVERLAP, ADDRESSES, (), _own_overlaps),
    SwitchRule(OVERLAP, ADDRESSES, (), _managed_subnets),
    FabricRule(OVERLAP, ADDRESSES, (), _overlaps_between),
    SwitchRule(LEFTOVER, ADDRESSES, (), _find_leftovers),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _off_link_neighbors),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _ports_of_other_instances),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _neighbors_of_other_instances),
    SwitchRule(OFF_LINK, ADDRESSES, (Input.BGP,), _own_neighbors),
)
