"""Find out which services of a fabric a packet filter drops, whatever dialect its rules are written in."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


SERVICES = {"BGP": ("tcp", 179), "BFD": ("udp", 3784), "RoCE": ("udp", 4791), "VXLAN": ("udp", 4789)}
"""Service -> protocol and destination port (RFC 4271, RFC 5881, InfiniBand architecture annex A17, RFC 7348)."""
ALL_PORTS = "routing/setting[family inet filter input]"
"""Fact about a filter of all that is forwarded (Junos, `forwarding-options family inet filter`)."""
_OPEN = ("sonic", "cumulus", "frr")
"""Systems that forward what no rule of a list matches: SONiC's ACL tables, and chains of Linux that accept."""
_PASS = ("permit", "accept", "forward", "redirect", "allow")
_DROP = ("deny", "drop", "discard", "reject")
_PROTOCOLS = {"6": "tcp", "17": "udp", "tcp": "tcp", "udp": "udp"}
_ANY_PROTOCOL = ("ip", "ipv4", "ipv6", "any", "255")
_OTHER_PROTOCOLS = (
    "icmp", "icmp6", "icmpv6", "ipv6-icmp", "igmp", "pim", "ospf", "eigrp", "gre", "esp", "ah", "ahp", "vrrp", "sctp",
    "nos", "pcp", "1", "2", "47", "50", "51", "58", "88", "89", "103", "112", "132",
)  # fmt: skip
"""Protocols of none of the services, by their names in the dialects and their IANA numbers."""
_ANY_WILDCARD = "255.255.255.255"
"""The wildcard mask that leaves all bits free."""
_ANY_ADDRESS = ("any", "0.0.0.0/0", "::/0")
_NAMES = {
    "bgp": 179, "bfd": 3784, "vxlan": 4789, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "tacacs": 49, "domain": 53,
    "bootps": 67, "bootpc": 68, "tftp": 69, "www": 80, "ntp": 123, "snmp": 161, "snmptrap": 162, "https": 443,
    "syslog": 514,
}  # fmt: skip
_KEYS = {
    "protocol": "protocol", "ip_protocol": "protocol", "next-header": "protocol", "payload-protocol": "protocol",
    "destination-port": "port", "dest-port": "port", "l4_dst_port": "port", "l4_dst_port_range": "port",
    "port": "port", "other": "other", "source-port": "other", "l4_src_port": "other", "l4_src_port_range": "other",
    "source-ip": "address", "dest-ip": "address", "source-address": "address", "destination-address": "address",
    "src_ip": "address", "dst_ip": "address", "dscp": "dscp", "next_header": "protocol",
}  # fmt: skip
CONDITIONS = frozenset(_KEYS)
"""Keys of conditions that are known; `other` stands for the rest."""
_QUIET = ("log", "count", "counter", "ether_type", "ip_type", "0x0800", "0x800", "ipv4any")
_WORD = re.compile(r"[^\s,=\[\]]+")
_END = -1
_HIGHEST = 65535
_ADDRESS = re.compile(r"[\d.]+(/[\d.]+)?|(?=[0-9a-f]*:)[0-9a-f:]+(/\d+)?")


class _Rule(NamedTuple):
    """One rule of a filter.

    Attributes:
        drops: whether it drops what it matches.
        protocols: none for all; `ports`: of the destination.
        conditional: whether it has further conditions.
        ends: networks of sources and of destinations, none for all.
        from_ports: of the source; `points`: code points.
        other: whether it has conditions that are none of these.
    """

    drops: bool
    protocols: frozenset[str]
    ports: tuple[tuple[int, int], ...]
    conditional: bool
    ends: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    from_ports: tuple[tuple[int, int], ...] = ()
    points: tuple[int, ...] = ()
    other: bool = False

    def may_match(self, protocol: str, port: int) -> bool:
        """Return whether packets of a protocol to a port can match."""
        if self.protocols and protocol not in self.protocols:
            return False
        return not self.ports or any(low <= port <= high for low, high in self.ports)


def dropped_services(
    rules: Sequence[str], system: str, neighbors: Sequence[str] = ()
) -> Iterator[tuple[str, int]]:
    """Yield each service that a filter drops, and the number of the rule that drops it, -1 for the end of the list.

    A rule with conditions on addresses or flags may pass what it permits, and drops nothing for certain. Where the
    neighbors are known, it passes nothing if none of them, and no source port of the service, meets its conditions.
    """
    parsed = [_parse_rule(text) for text in rules]
    if not parsed or None in parsed:
        return
    for service, (protocol, port) in SERVICES.items():
        at = next(
            (
                number
                for number, rule in enumerate(parsed)
                if rule
                and rule.may_match(protocol, port)
                and not (rule.drops and rule.conditional and not _drops_answers(rule, port))
                and not (neighbors and _excludes(rules[number], service, tuple(neighbors)))
            ),
            _END,
        )
        first = parsed[at] if at != _END else None
        if first.drops if first else system not in _OPEN:
            yield service, at


def _drops_answers(rule: _Rule, port: int) -> bool:
    """Return whether a rule is about packets from the port of BGP alone: those of sessions that the switch opens."""
    alone = rule.protocols == {"tcp"} and not (rule.ports or any(rule.ends) or rule.points or rule.other)
    return alone and rule.from_ports == ((port, port),)


class Flow(NamedTuple):
    """Packets of a service: addresses or networks of their sources and of their destinations, and code points."""

    service: str
    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    points: frozenset[int] = frozenset()


def first_drop(rules: Sequence[str], flow: Flow, every: bool = False, system: str = "") -> int | None:
    """Return the number of the rule whose conditions all packets of a flow meet, if it drops them, else None.

    A rule with conditions that are not known may pass the flow, and drops nothing for certain. Rules without conditions
    on addresses count with `every` alone: see `dropped_services`. Where a system drops what no rule matches, the number
    is that of the last rule that permits the service between other addresses.
    """
    protocol, port = SERVICES[flow.service]
    last = None
    for number, rule in enumerate(map(_parse_rule, rules)):
        if rule is None:
            return None
        if not rule.may_match(protocol, port):
            continue
        if rule.other or not _covers_flow(rule, flow):
            if not rule.drops:
                if not _is_apart(rule, flow):
                    return None
                last = number
            continue
        return number if rule.drops and (every or rule.conditional) else None
    return last if system and system not in _OPEN else None


_GROUP = re.compile(r"\b(addr|port)group (\S+)")
_SPANS = {"eq": "{0}", "range": "{0}-{1}", "gt": "{0}-65535", "lt": "0-{0}"}
_NUMBERS = {"eq": 2, "range": 3, "gt": 2, "lt": 2}
"""Words of a member of a group of ports."""


def expand_groups(text: str, groups: Mapping[str, Sequence[str]]) -> str:
    """Return a rule with the members of its groups of addresses and ports (NX-OS security guide, object groups)."""

    def members(match: re.Match[str]) -> str:
        listed = [each.split() for each in groups.get(match[2], ())]
        if not listed or not all(listed):
            return match[0]
        if match[1] == "port":
            if any(len(words) != _NUMBERS.get(words[0]) for words in listed):
                return match[0]
            return " ".join(["portgroup", *(_SPANS[words[0]].format(*words[1:]) for words in listed)])
        nets = ["/".join(words[1:] if words[0] == "host" else words) for words in listed]
        return "any" if any(each in _ANY_ADDRESS for each in nets) else "|".join(nets)

    return _GROUP.sub(members, text) if "group " in text else text


def accepts_everything(rules: Sequence[str]) -> bool:
    """Return whether a rule passes packets of every protocol, port and address."""
    return any(
        rule and not rule.drops and not (rule.protocols or rule.ports or rule.conditional)
        for rule in map(_parse_rule, rules)
    )


def drops_anything(rules: Sequence[str]) -> bool:
    """Return whether a rule drops packets."""
    return any(rule and rule.drops for rule in map(_parse_rule, rules))


def _covers_flow(rule: _Rule, flow: Flow) -> bool:
    """Return whether all packets of a flow meet the conditions of a rule."""
    sources, destinations = rule.ends
    free = flow.service != "BGP" and any(low <= _FREE and high == _HIGHEST for low, high in rule.from_ports)
    return (
        (not sources or all(any(is_inside(each, one) for one in sources) for each in flow.sources))
        and (
            not destinations
            or all(any(is_inside(each, one) for one in destinations) for each in flow.destinations)
        )
        and (not rule.from_ports or free)
        and (not rule.points or (bool(flow.points) and flow.points.issubset(rule.points)))
    )


def _is_apart(rule: _Rule, flow: Flow) -> bool:
    """Return whether no packet of a flow meets the conditions of a rule on addresses."""
    pairs = zip(rule.ends, (flow.sources, flow.destinations), strict=True)
    return any(
        stated and not any(is_inside(each, one) or is_inside(one, each) for each in own for one in stated)
        for stated, own in pairs
    )


@lru_cache(1 << 10)
def is_inside(network: str, other: str) -> bool:
    """Return whether a network or address is a part of another one."""
    try:
        inner, outer = ip_network(network, strict=False), ip_network(other, strict=False)
    except ValueError:
        return False
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


_FREE = 49152
"""The lowest source port of BFD (RFC 5881 section 4) and of RoCE (rdma-core, `rdma_flow_label_to_udp_sport`)."""
_NEAR = 10
_RELATED = {"BFD": (3785, 4784, 6784)}
"""Ports next to those of a service: echo, multihop and micro BFD (RFC 5881, 5883, 7130)."""


def near_rule(rules: Sequence[str], service: str) -> int | None:
    """Return the number of the rule that passes ports next to that of a service, which was meant to pass it."""
    protocol, port = SERVICES[service]
    for number, rule in enumerate(map(_parse_rule, rules)):
        if rule is None or rule.drops or protocol not in rule.protocols:
            continue
        edges = [edge for span in rule.ports for edge in span]
        if any(abs(edge - port) <= _NEAR or edge in _RELATED.get(service, ()) for edge in edges):
            return number
    return None


ROUTED_BY = "setting[ip policy route-map]"
"""The leaf of a port whose packets a route map routes (NX-OS)."""
_NOWHERE = re.compile(r"permit .*\bset interface null ?0\b.*", re.IGNORECASE)


def routes_nowhere(clause: str) -> bool:
    """Return whether a clause by which packets are routed drops them."""
    return _NOWHERE.fullmatch(clause) is not None


_ALONE = re.compile(
    r"redirect ([^\s,]+)(?: (.*))?|permit .*\bset ip(?:v6)? next-hop (?!verify|peer|unchanged)(\S+)",
    re.IGNORECASE,
)


def lone_target(rules: Sequence[str]) -> tuple[int, str]:
    """Return the number of a rule that sends RoCE to one port or next hop, past the equal paths, and that one.

    `redirect` of SONiC's lists; `set ip next-hop` of the clauses of NX-OS by which packets are routed.
    """
    for number, text in enumerate(rules):
        if match := _ALONE.fullmatch(text):
            rule = _parse_rule(f"redirect {match[2] or ''}")
            if match[3] or (
                rule and rule.may_match(*SERVICES["RoCE"]) and not (any(rule.ends) or rule.other)
            ):
                return number, match[1] or match[3]
    return _END, ""


def names_port(text: str) -> bool:
    """Return whether a rule is about single ports, not about all traffic of a protocol."""
    rule = _parse_rule(text)
    return rule is not None and bool(rule.ports)


_SOURCES = ("source-address", "source-ip", "src_ip")
_DESTINATIONS = ("destination-address", "dest-ip", "dst_ip")
_SOURCE_PORTS = ("source-port", "l4_src_port")
_BFD_SOURCE = 49152
"""The lowest source port of BFD (RFC 5881 section 4)."""


@lru_cache(1 << 8)
def _excludes(text: str, service: str, neighbors: tuple[str, ...]) -> bool:
    """Return whether a rule has a condition on sources that no packet of a service from some neighbors meets."""
    words = [word.lower() for word in _WORD.findall(text)]
    found: dict[str, list[str]] = {}
    key = ""
    for word in words[1:]:
        if word in _KEYS:
            key = word
        elif key:
            found.setdefault(key, []).append(word)
    networks = [each for name in _SOURCES for each in found.get(name, [])]
    if not found and len(words) > 2 and "/" in words[2]:
        networks = words[2:3]
    if networks and not any(_contains(each, neighbor) for each in networks for neighbor in neighbors):
        return True
    ports = [each for name in _SOURCE_PORTS for each in found.get(name, [])]
    spans = [_parse_span(each) or (0, 0) for each in ports]
    return bool(spans) and service == "BFD" and all(high < _BFD_SOURCE for _, high in spans)


def _contains(network: str, address: str) -> bool:
    """Return whether a network has an address; True where one of them is not known."""
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return True


_DISCOVERY = re.compile(r"(?:neighbou?r|router)-(?:solicitation|advertisement)|nd-n[sa]|nd|13[3-6]")
"""Types of ICMPv6 by which two ends of a link find each other (RFC 4861)."""
_ICMP6 = ("icmp6", "icmpv6", "ipv6-icmp", "58")


def dropped_discovery(rules: Sequence[str]) -> int | None:
    """Return the number of the first rule about neighbor discovery of IPv6 if it drops it, else None."""
    over_ipv6 = any(" ipv6 " in text for text in rules)
    for number, text in enumerate(rules):
        words = [word.lower() for word in _WORD.findall(text)]
        named = any(_DISCOVERY.fullmatch(word) for word in words[2:])
        rule = _parse_rule(text)
        if rule is None or not words:
            return None
        icmp = rule.protocols & set(_ICMP6) or (over_ipv6 and "icmp" in rule.protocols)
        whole = words[1:2] == ["ipv6"] or bool(icmp) or "icmpv6_type" in words
        if whole and not rule.ports and (named or not rule.conditional):
            return number if rule.drops else None
    return None


def dropped_icmp(rules: Sequence[str]) -> int | None:
    """Return the number of the rule that drops all of ICMP for IPv4, and no other protocol; else None."""
    if any(" ipv6 " in text for text in rules):
        return None
    for number, rule in enumerate(map(_parse_rule, rules)):
        if rule is None:
            return None
        if rule.protocols in (frozenset(), {"icmp"}, {"1"}) and not (rule.drops and rule.conditional):
            return number if rule.drops and rule.protocols else None
    return None


@lru_cache(1 << 10)
def _parse_rule(text: str) -> _Rule | None:
    """Return the rule that a text states; None for a text that is no rule."""
    words = [word.lower() for word in _WORD.findall(text)]
    if not words or words[0] not in (*_PASS, *_DROP):
        return None
    if len(words) > 1 and "=" not in text and _is_single_address(words[1:]):
        source, _ = _take_address(words[1:])
        return _Rule(words[0] in _DROP, frozenset(), (), bool(source), (source, ()))
    if (
        len(words) > 2
        and words[1] in (*_PROTOCOLS, *_ANY_PROTOCOL, *_OTHER_PROTOCOLS)
        and _starts_address(words[2])
    ):
        return _parse_positional(words)
    return _parse_keyed(words)


def _is_single_address(words: list[str]) -> bool:
    """Return whether words are an address and nothing else, as in a list for IPv4 of sources alone."""
    return (
        _starts_address(words[0])
        and words[0][0] != ":"
        and not [each for each in _take_address(words)[1] if each not in _QUIET]
    )


def _starts_address(word: str) -> bool:
    return word in ("any", "host") or all(map(_ADDRESS.fullmatch, word.split("|")))


def _parse_positional(words: list[str]) -> _Rule:
    """Read `ACTION PROTOCOL SOURCE [PORTS] DESTINATION [PORTS] [OPTIONS]`."""
    source, rest = _take_address(words[2:])
    from_ports, rest = _take_ports(rest)
    destination, rest = _take_address(rest)
    ports, rest = _take_ports(rest)
    options = [word for word in rest if word not in _QUIET]
    if options[:1] == ["precedence"] and len(options) == 2:
        first = _PRECEDENCES.get(options[1], options[1])
        options = (
            ["dscp", *(str(8 * int(first) + low) for low in range(8))]
            if first in _PRECEDENCES.values()
            else options
        )
    points = _parse_points(options[1:]) if options[:1] == ["dscp"] else ()
    conditional = bool(source or destination or from_ports or options)
    other = bool(options) and not (points and len(options) == 1 + len(points))
    ends = source, destination
    return _Rule(words[0] in _DROP, _protocols(words[1]), ports, conditional, ends, from_ports, points, other)


_PRECEDENCES = {
    "routine": "0", "priority": "1", "immediate": "2", "flash": "3", "flash-override": "4", "critical": "5",
    "internet": "6", "network": "7",
}  # fmt: skip
"""Precedence -> the first three bits of the code points that it stands for (RFC 791, RFC 2474)."""
_CODE_POINT = re.compile(r"af([1-4])([1-3])|cs([0-7])|(ef)|([01]{6})|(\d{1,2})")


def _parse_points(words: Iterable[str]) -> tuple[int, ...]:
    """Return the code points of numbers, names (RFC 2474, 2597, 3246) and six bits; words of other kinds are none."""
    found = []
    for match in filter(None, map(_CODE_POINT.fullmatch, words)):
        first, second, selector, expedited, bits, number = match.groups()
        if first:
            found.append(8 * int(first) + 2 * int(second))
        elif selector:
            found.append(8 * int(selector))
        else:
            found.append(46 if expedited else int(bits, 2) if bits else int(number))
    return tuple(found)


def _protocols(word: str) -> frozenset[str]:
    """Return the protocol of a word as a set, empty for all protocols."""
    return frozenset() if word in _ANY_PROTOCOL else frozenset({_PROTOCOLS.get(word, word)})


def _take_address(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the network of an address, none where it stands for all, and what follows it."""
    if not words or words[0] in _ANY_ADDRESS:
        return (), words[1:]
    if words[0] == "host":
        return (*words[1:2],), words[2:]
    wildcard = len(words) > 1 and "/" not in words[0] and bool(_ADDRESS.fullmatch(words[1]))
    if words[1:2] == [_ANY_WILDCARD] and wildcard:
        return (), words[2:]
    if wildcard:  # ip_network reads a wildcard mask as a netmask
        return (f"{words[0]}/{words[1]}",), words[2:]
    return tuple(words[0].split("|")), words[1:]


def _take_ports(words: list[str]) -> tuple[tuple[tuple[int, int], ...], list[str]]:
    """Return the ports of an operator, and what follows it."""
    if words[:1] == ["portgroup"] and (found := tuple(filter(None, map(_parse_span, words[1:])))):
        return found, words[1 + len(found) :]
    if not words or words[0] not in ("eq", "range", "gt", "lt", "neq"):
        return (), words
    operator, rest = words[0], words[1:]
    numbers: list[int] = []
    while rest and (number := _parse_port(rest[0])) is not None:
        numbers.append(number)
        rest = rest[1:]
    if not numbers:
        return ((0, _END),), rest
    first, last = numbers[0], numbers[-1]
    spans = {
        "range": ((first, last),), "gt": ((first + 1, _HIGHEST),), "lt": ((0, first - 1),),
        "neq": ((0, first - 1), (first + 1, _HIGHEST)),
    }  # fmt: skip
    return spans.get(operator, tuple((number, number) for number in numbers)), rest


def _parse_port(word: str) -> int | None:
    if is_number(word):
        return int(word)
    return _NAMES.get(word)


def _parse_keyed(words: list[str]) -> _Rule:
    """Read `ACTION KEY VALUES KEY VALUES`."""
    protocols, conditional, every, other = set[str](), False, False, False
    ports: list[tuple[int, int]] = []
    from_ports: list[tuple[int, int]] = []
    ends: tuple[list[str], list[str]] = [], []
    points: list[int] = []
    key = name = ""
    for word in words[1:]:
        if word in _KEYS:
            key, name = _KEYS[word], word
            conditional = conditional or key == "other"
            other = other or word == "other"
        elif word == "protocol-except":
            key = name = word
        elif key == "protocol-except":
            protocols |= {"tcp", "udp"} - {_PROTOCOLS.get(word, word)}
        elif name in _SOURCE_PORTS and (span := _parse_span(word)):
            from_ports.append(span)
        elif name == "dscp" and (found := _parse_points([word])):
            points += found
            conditional = True
        elif key == "port" and (span := _parse_span(word)):
            ports.append(span)
        elif key == "port" and word not in _PROTOCOLS:
            ports.append((0, _END))
        elif word in _ANY_PROTOCOL:
            every = every or key == "protocol"
        elif key == "protocol" or (word in (*_PROTOCOLS, *_OTHER_PROTOCOLS) and not is_number(word)):
            protocols.add(_PROTOCOLS.get(word, word))
        elif word not in _ANY_ADDRESS and word not in _QUIET:
            conditional = True
            if key == "address":
                ends[name in _DESTINATIONS].append(word)
            else:
                other = True
    return _Rule(
        words[0] in _DROP,
        frozenset() if every else frozenset(protocols),
        tuple(ports),
        conditional,
        (tuple(ends[0]), tuple(ends[1])),
        tuple(from_ports),
        tuple(points),
        other,
    )


def _parse_span(word: str) -> tuple[int, int] | None:
    """Return the ports of `179`, `bgp`, `100-200` or `100:200`."""
    first, _, last = word.replace(":", "-").partition("-")
    low, high = _parse_port(first), _parse_port(last or first)
    return None if low is None or high is None else (low, high)
