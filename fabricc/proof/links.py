"""Compare the two ends of every link by the content of their own files.

The process that reads an end reduces it to a few bytes, and the ends are matched by the key of the link, so the whole
fabric is compared without ever being in memory. This catches a file that agrees with a wrong plan.
"""

from __future__ import annotations

import struct
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_interface
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction
from fabricc.fabric.paths import paths_of_port
from fabricc.proof.compare import Finding
from fabricc.proof.invariants.rules import breach_finding as breach
from fabricc.proof.invariants.view import in_network, sibling_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.fabric.facts import Said, Value
    from fabricc.fabric.model import Host
    from fabricc.proof.invariants.view import LinkPort, SwitchView

FIELDS = (
    "MTU", "speed", "PFC priorities", "addresses", "BGP session", "error correction", "session settings", "BFD",
)  # fmt: skip
_INVARIANTS = {"PFC priorities": 13, "error correction": 1, "session settings": 8, "BFD": 8}
"""Fields whose disagreement is reported as a breach of an invariant; the others are FAB6101."""
_OF_EACH = ("addresses", "BGP session")
"""Fields that differ from link to link; what is stated of the others is often the same."""
_OF_KINDS = tuple(name for name in FIELDS if name not in _OF_EACH)
_RECORD = struct.Struct("<8sII25s")
_KEYED = struct.Struct("<8s33s")
"""The same as its key and what is stated."""
_OWN = struct.Struct("<II")
_STATED = struct.Struct("<B6I")
FAMILIES = (("ipv4", ("31", "30")), ("ipv6", ("127",)))
_PLACES = ("ipv4", "ipv6", "description", "enabled")


class End(NamedTuple):
    """The statements of one end of a link.

    Attributes:
        device, port, peer, peer_port: this end and the other, each as its device names the port.
        host: True when this end is a host.
        mtu: IP MTU in bytes, 0 when not stated; `speed`: Gb/s, 0 when not stated.
        pfc: lossless priorities, e.g. `3`, or `none`; "" when the platform does not state them.
        addresses: the addresses of both ends from the view of this end; "" when it states none.
        session: the ASNs of both ends from the view of this end; "" without a session.
        settings: the families of the fabric that the sessions carry, and BGP's timers; "" without a session.
        bfd: which sessions run BFD, and its multiplier; "" where none does: a system that cannot run it is reported as
            a gap, and the BGP session still comes up (RFC 5882). The interval may differ (RFC 5880).
        fec: forward error correction of the port; "" when not stated.
        file, line: its place, see `locate_end`.
    """

    device: str
    port: str
    peer: str
    peer_port: str
    host: bool
    mtu: int
    speed: int
    pfc: str
    addresses: str
    session: str = ""
    settings: str = ""
    bfd: str = ""
    fec: str = ""
    file: str = ""
    line: int = 0

    @property
    def key(self) -> bytes:
        """The same eight bytes on both ends."""
        return key_of(f"{self.device}\n{self.port}", f"{self.peer}\n{self.peer_port}")

    def pack(self) -> bytes:
        """Pack the end into 41 bytes: key, a number per field (0: not stated), and whether it is a host."""
        stated = packed_kind(self.host, self.mtu, self.speed, self.pfc, self.fec, self.settings, self.bfd)
        return packed_end(self.key, self.addresses, self.session, stated)

    def stated(self) -> tuple[str, ...]:
        """Return the fields in readable form, in the order of `FIELDS`."""
        mtu, speed = str(self.mtu or ""), str(self.speed or "")
        return (mtu, speed, self.pfc, self.addresses, self.session, self.fec, self.settings, self.bfd)


def key_of(mine: str, other: str) -> bytes:
    """Return the key of a link by its ends, each a device and its port on two lines."""
    ends = f"{mine}\n{other}" if mine < other else f"{other}\n{mine}"
    return blake2b(ends.encode(), digest_size=8).digest()


def packed_end(key: bytes, addresses: str, session: str, stated: bytes) -> bytes:
    """Return an end as `End.pack` does; `stated`: the part that many ends share."""
    return _RECORD.pack(key, _text_checksum(addresses), _number(session), stated)


def split_packed(ends: Iterable[End]) -> bytes:
    """Yield the single ends of a run of packed ends."""
    return b"".join([end.pack() for end in ends])


def switch_ends(seen: SwitchView) -> Iterator[End]:
    """Yield the ends of a switch's links within the fabric, from its files."""
    get, name, families = seen.facts.get, seen.switch.name, seen.switch.bgp.families
    asn, timers = str(get("bgp/asn")), (get("bgp/keepalive_s"), get("bgp/hold_s"))
    multiplier = get("bfd/multiplier")
    for link in seen.links:
        port = link.port
        if port.peer is None or port.direction is Direction.EXTERNAL:
            continue
        peer = (port.peer.device, port.peer.port)
        first = (name, port.name) < peer
        addresses, neighbors = _own_addresses(link, first)
        if (vlan := seen.evpn.get(f"port[{port.name}]")) is not None:
            gateways = (seen.evpn.get(f"segment[{vlan}]/{family}") for family, _ in FAMILIES)
            addresses += [str(gateway) for gateway in gateways if gateway is not None]
        told, offered, runs = [], [], []
        for transport, neighbor in neighbors:
            attributes = seen.neighbors.get(neighbor, {})
            remote = attributes.get("remote_asn")
            runs.append(attributes.get("bfd") == "true")
            if remote is None:
                told.append(f"{transport} none")
            else:
                told.append(f"{transport} {ordered_statement(first, asn, str(remote))}")
                offered.append(attributes.get("families"))
        mtu, speed, pfc, fec = link.stated
        yield End(
            name, port.name, *peer, False, mtu, speed, pfc, " ".join(addresses), " ".join(told),
            settings_of(tuple(offered), families, *timers), bfd_of(tuple(runs), multiplier), fec,
        )  # fmt: skip


def _own_addresses(link: LinkPort, first: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """The addresses of both ends as a port believes them; transports and names of the neighbors it has by them."""
    addresses, neighbors = [], []
    for (family, lengths), mine in zip(FAMILIES, (link.ipv4, link.ipv6), strict=True):
        if mine is None:
            continue
        address, _, prefix_length = mine.partition("/")
        if prefix_length not in lengths:
            addresses.append(f"{family} /{prefix_length}")
        elif not (other := sibling_address(mine)):
            addresses.append(f"{family} no address")
        else:
            addresses.append(ordered_statement(first, address, other))
            if link.port.direction is not Direction.HOST:
                neighbors.append((family, other))
    if link.unnumbered:
        addresses.append("unnumbered")
        neighbors.append(("unnumbered", link.port.name))
    return addresses, neighbors


def host_end(
    device: str, port: str, peer: tuple[str, str], pairs: Iterable[tuple[str, str]], gateways: Iterable[str], mtu: int,
    pfc: str,
) -> End:  # fmt: skip
    """Return the end of a link at a host port; `pairs` are (address, gateway), one per family, IPv4 first.

    `gateways`: those of subnets that it shares with other hosts, each with the prefix length.
    """
    first = (device, port) < peer
    addresses = [ordered_statement(first, address.partition("/")[0], gateway) for address, gateway in pairs]
    addresses += gateways
    return End(device, port, *peer, True, mtu, 0, pfc, " ".join(addresses))


def host_ends(host: Host, reading: Said) -> Iterator[End]:
    """Yield the ends of a host's links, from its files."""
    facts = reading.facts
    for port in host.ports:
        prefix = f"interface[{port.name}]/"
        pairs, subnets = [], []
        for family, prefixes in (("ipv4", host.fabric_prefixes4), ("ipv6", host.fabric_prefixes6)):
            address = facts.get(prefix + family)
            if address is not None and (subnet := shared_subnet(str(address))):
                vias = {gateway_of(facts.get(f"{prefix}route[{each}]")) for each in prefixes} - {""}
                subnets.append(_gateways_in(subnet, vias))
                continue
            route = facts.get(f"{prefix}route[{prefixes[0]}]") if prefixes else None
            if address is not None and route is not None:
                pairs.append((str(address), gateway_of(route)))
        mtu = facts.get(prefix + "mtu", 0)
        pfc = facts.get(prefix + "pfc")
        yield host_end(
            host.name, port.name, (port.peer.device, port.peer.port), pairs, subnets,
            mtu if isinstance(mtu, int) else 0, "" if pfc is None else str(pfc) or "none",
        )  # fmt: skip


def shared_subnet(address: str) -> IPv4Network | IPv6Network | None:
    """The subnet of a host's address where it is not that of a link of two; None also for what is no address."""
    if address.endswith(("/31", "/127")):
        return None
    try:
        network = ip_interface(address).network
    except ValueError:
        return None
    return network if network.num_addresses > 2 else None


def _gateways_in(subnet: IPv4Network | IPv6Network, vias: set[str]) -> str:
    """Return the gateways of a host in a subnet with its prefix length: the first address if it states none."""
    far = [via for via in vias if not in_network(via, subnet)]
    if far:
        return f"{', '.join(sorted(far))} beyond {subnet}"
    return f"{','.join(sorted(vias)) or subnet[1]}/{subnet.prefixlen}"


def gateway_of(route: Value | None) -> str:
    """Return the next hop of a route; "" without one."""
    text = "" if route is None else str(route)
    return text.removeprefix("via ").partition(" ")[0] if text.startswith("via ") else ""


@dataclass(slots=True)
class Meeting:
    """The packed ends of links; holds only those whose other end has not come yet."""

    waiting: dict[bytes, bytes] = field(default_factory=dict)
    broken: dict[bytes, tuple[str, ...]] = field(default_factory=dict)
    links: int = 0

    def add(self, ends: bytes) -> None:
        """Add a run of packed ends."""
        found = dict(_KEYED.iter_unpack(ends))
        if len(found) * _KEYED.size < len(ends):  # both ends of a link, and which of three come first counts
            for at in range(0, len(ends), _KEYED.size):
                self.add(ends[at : at + _KEYED.size])
            return
        for key in self.waiting.keys() & found.keys():
            self.links += 1
            mine, other = found.pop(key), self.waiting.pop(key)
            if mine != other and (wrong := _differing_fields(mine, other)):
                self.broken[key] = wrong
        self.waiting |= found


def _differing_fields(one: bytes, two: bytes) -> tuple[str, ...]:
    """Return names of the fields on which two ends differ; a field that one end does not state does not count."""
    at = _OWN.size
    wrong = _differing_packed_fields(one[at:], two[at:])
    if one[:at] != two[:at]:
        pairs = zip(_OF_EACH, _OWN.unpack_from(one), _OWN.unpack_from(two), strict=True)
        wrong = wrong.union(name for name, a, b in pairs if a != b and a and b)
    return tuple([name for name in FIELDS if name in wrong]) if wrong else ()


@lru_cache(maxsize=1024)
def _differing_packed_fields(one: bytes, two: bytes) -> frozenset[str]:
    """Return the same for the fields of `packed_kind`; a host may have a smaller MTU than its switch, not a larger."""
    (_, *at_switch), (host, *at_host) = sorted(map(_STATED.unpack, (one, two)), key=itemgetter(0))
    wrong = {name for name, a, b in zip(_OF_KINDS, at_switch, at_host, strict=True) if a != b and a and b}
    return frozenset(wrong - {FIELDS[0]} if host and at_host[0] <= at_switch[0] else wrong)


def broken_findings(wrong: dict[bytes, tuple[str, ...]], ends: Iterable[End]) -> Iterator[Finding]:
    """Yield what the ends of links disagree on, given both ends in full; FAB6102 for an end without another."""
    seen: dict[bytes, End] = {}
    for end in ends:
        other = seen.pop(end.key, None)
        if other is None:
            seen[end.key] = end
            continue
        for name in wrong.get(end.key, ()):
            at = FIELDS.index(name)
            message = (
                f"the ends of a link disagree on {name}: {other.device} {other.port} has "
                f"{other.stated()[at]}, {end.device} {end.port} has {end.stated()[at]}"
            )
            if number := _INVARIANTS.get(name):
                yield breach(number, message, end.file, end.line)._replace(group=f"link {name}")
            else:
                yield Finding("FAB6101", message, end.file, end.line, f"link {name}")
    for end in seen.values():
        message = f"{end.device} {end.port} leads to {end.peer} {end.peer_port}, which does not lead back"
        yield Finding("FAB6102", message, end.file, end.line, "link end")


@lru_cache(maxsize=1024)
def settings_of(
    offered: tuple[Value | None, ...],
    families: Iterable[str],
    keepalive_s: Value | None,
    hold_s: Value | None,
) -> str:
    """Return the settings that both ends of a session must share, as text; "" without a session.

    A session carries the families that both ends offer (RFC 4760 section 8), so one that only one end offers counts
    only where the fabric routes it. BFD runs at the slower of both ends' intervals (RFC 5880 section 6.8.2), so those
    may differ; with one multiplier neither end takes longer to detect than it would with the slower interval alone.
    """
    if not offered:
        return ""
    stated = (str(each).split(",") for each in offered)
    told = [",".join(family for family in families if family in each) or "no family" for each in stated]
    return ", ".join([*told, f"timers {keepalive_s}/{hold_s} s"])


@lru_cache(maxsize=1024)
def bfd_of(runs: tuple[bool, ...], multiplier: Value | None) -> str:
    """Which sessions run BFD, and after how many packets missed a peer is down; "" when none does."""
    if not any(runs):
        return ""
    which = "" if all(runs) else f" on {runs.count(True)} of {len(runs)} sessions"
    return f"x {multiplier}{which}"


def ordered_statement(first: bool, mine: str, other: str) -> str:
    """Return the statements of both ends of a link about themselves and each other, the same at either end."""
    return f"{mine} - {other}" if first else f"{other} - {mine}"


@lru_cache(maxsize=1024)
def packed_kind(host: bool, mtu: int, speed: int, *texts: str) -> bytes:
    """Pack the statements that many ends share."""
    return _STATED.pack(host, mtu, speed, *map(_text_checksum, texts))


def _text_checksum(text: str) -> int:
    return (crc32(text.encode()) or 1) if text else 0


_number = lru_cache(maxsize=1024)(_text_checksum)  # for statements that many ends share


def locate_end(end: End, reading: Said) -> End:
    """Return the end with the line of its files that states most of it."""
    for path in paths_of_port(end.port, _PLACES[:2] if end.host else _PLACES):
        if place := reading.lines.get(path):
            return end._replace(file=place[0], line=place[1])
    return end
