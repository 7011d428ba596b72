"""Compare both ends of every link of a plan by the content of their own files.

The process that reads a device returns the ends of its links; the ends are matched here as they come, and only those
whose other end has not come yet are in memory. This catches a file that agrees with a wrong plan.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Host
from fabricc.fabric.vocabulary import paths_of_port
from fabricc.proof.compare import Finding
from fabricc.proof.invariants.rules import breach_finding as breach
from fabricc.proof.invariants.view import LinkPort, LinkSettings, SwitchView, in_network, sibling_address
from fabricc.rules.links import WORDS, differing_values
from fabricc.rules.records import EndValues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.facts import FileContents, Value

_INVARIANTS = {"pfc": 13, "fec": 1, "settings": 8, "bfd": 8}
"""Values whose disagreement is reported as a breach of an invariant; the others are FAB6101."""
_WORDS = {**WORDS, "addresses": "addresses", "session": "BGP session"}
FAMILIES = (("ipv4", ("31", "30")), ("ipv6", ("127",)))
_PLACES = ("ipv4", "ipv6", "description", "enabled")


class LinkEnd(NamedTuple):
    """One end of a planned link.

    Attributes:
        device, port, peer, peer_port: this end and the other, each as its device names the port.
        addresses: the addresses of both ends from the view of this end; "" when it states none.
        session: the ASNs of both ends from the view of this end; "" without a session.
        values: the other values; many ends share them.
        file, line: its place, see `locate_end`.
    """

    device: str
    port: str
    peer: str
    peer_port: str
    addresses: str
    session: str
    values: EndValues
    file: str = ""
    line: int = 0

    def value(self, name: str) -> object:
        """Return a value by its name."""
        return getattr(self if name in ("addresses", "session") else self.values, name)

    def text(self) -> str:
        """Return all values as one text."""
        return f"{self.port} {self.peer} {self.peer_port} {self.addresses} {self.session} {_values_text(self.values)}"


_values_text = lru_cache(maxsize=1024)(repr)


_TIMERS = ("keepalive_s", "hold_s")


def switch_ends(seen: SwitchView) -> Iterator[LinkEnd]:
    """Yield the ends of a switch's links within the fabric, from its files."""
    get, name, families = seen.facts.get, seen.switch.name, seen.switch.bgp.families
    asn, process = str(get("bgp/asn")), {name: get(f"bgp/{name}") for name in _TIMERS}
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
        session_texts, offered, runs, timers = [], [], [], process
        for transport, neighbor in neighbors:
            attributes = seen.neighbors.get(neighbor, {})
            remote = attributes.get("remote_asn")
            timers = {name: attributes.get(name, value) for name, value in process.items()}
            runs.append(attributes.get("bfd") == "true")
            if remote is None:
                session_texts.append(f"{transport} none")
            else:
                own = str(attributes.get("local_asn", asn))
                session_texts.append(f"{transport} {ordered_statement(first, own, str(remote))}")
                offered.append(attributes.get("families"))
        settings, bfd = (
            settings_of(tuple(offered), families, *timers.values()),
            bfd_of(tuple(runs), multiplier),
        )
        values = switch_values(link.stated, settings, bfd)
        yield LinkEnd(name, port.name, *peer, " ".join(addresses), " ".join(session_texts), values)


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


@lru_cache(maxsize=1024)
def switch_values(stated: LinkSettings, settings: str, bfd: str) -> EndValues:
    """Return the values of an end at a switch that many ends share."""
    mtu, speed, pfc, fec = stated
    return EndValues(
        mtu=mtu or None,
        speed_gbps=speed or None,
        pfc=pfc or None,
        fec=fec or None,
        settings=settings or None,
        bfd=bfd or None,
    )


@lru_cache(maxsize=1024)
def host_values(mtu: Value | None, pfc: Value | None) -> EndValues:
    """Return the values of an end at a host."""
    return EndValues(
        host=True,
        mtu=mtu if isinstance(mtu, int) and mtu else None,
        pfc=None if pfc is None else str(pfc) or "none",
    )


def host_end(
    device: str,
    port: str,
    peer: tuple[str, str],
    pairs: Iterable[tuple[str, str]],
    gateways: Iterable[str],
    values: EndValues,
) -> LinkEnd:
    """Return the end of a link at a host port; `pairs` are (address, gateway), one per family, IPv4 first.

    `gateways`: those of subnets that it shares with other hosts, each with the prefix length.
    """
    first = (device, port) < peer
    addresses = [ordered_statement(first, address.partition("/")[0], gateway) for address, gateway in pairs]
    addresses += gateways
    return LinkEnd(device, port, *peer, " ".join(addresses), "", values)


def host_ends(host: Host, reading: FileContents) -> Iterator[LinkEnd]:
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
        values = host_values(facts.get(prefix + "mtu"), facts.get(prefix + "pfc"))
        yield host_end(host.name, port.name, (port.peer.device, port.peer.port), pairs, subnets, values)


def shared_subnet(address: str) -> IPv4Network | IPv6Network | None:
    """The subnet of a host's address where it is not that of a link of two; None also for what is not an address."""
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
class LinkComparison:
    """The ends of links as they come; holds those whose other end has not come yet, and pairs that disagree."""

    waiting: dict[tuple[str, str], LinkEnd] = field(default_factory=dict)
    broken: list[tuple[LinkEnd, LinkEnd]] = field(default_factory=list)
    links: int = 0

    def add(self, ends: Iterable[LinkEnd]) -> None:
        """Compare ends with those that came before."""
        waiting = self.waiting
        for end in ends:
            device, port, peer, peer_port, *_ = end
            other = waiting.get((peer, peer_port))
            if other is None or (other.peer, other.peer_port) != (device, port):
                waiting[device, port] = end
                continue
            del waiting[peer, peer_port]
            self.links += 1
            if differing_names(end, other):
                self.broken.append((end, other))

    def wrong_ends(self, limit: int) -> list[LinkEnd]:
        """Return the ends of the first links that disagree, and the first ends without another."""
        pairs = sorted(
            (sorted(pair, key=_by_name) for pair in self.broken), key=lambda pair: _by_name(pair[0])
        )
        lonely = sorted(self.waiting.values(), key=_by_name)
        return [*(end for pair in pairs[:limit] for end in pair), *lonely[:limit]]


def _by_name(end: LinkEnd) -> tuple[str, str]:
    return end.device, end.port


def differing_names(one: LinkEnd, two: LinkEnd) -> list[str]:
    """Return the names of the values on which two ends differ; a value that one end does not state does not count."""
    found = []
    if one.addresses != two.addresses and one.addresses and two.addresses:
        found.append("addresses")
    if one.session != two.session and one.session and two.session:
        found.append("session")
    if one.values != two.values:
        found += differing_values(one.values, two.values)
    return found


def broken_findings(ends: Iterable[LinkEnd]) -> Iterator[Finding]:
    """Yield what the ends of links disagree on; FAB6102 for an end without another."""
    seen: dict[tuple[str, str], LinkEnd] = {}
    for end in sorted(ends, key=_by_name):
        other = seen.pop((end.peer, end.peer_port), None)
        if other is None:
            seen[end.device, end.port] = end
            continue
        for name in differing_names(other, end):
            word = _WORDS[name]
            message = (
                f"the ends of a link disagree on {word}: {other.device} {other.port} has "
                f"{other.value(name)}, {end.device} {end.port} has {end.value(name)}"
            )
            if number := _INVARIANTS.get(name):
                yield breach(number, message, end.file, end.line)._replace(group=f"link {word}")
            else:
                yield Finding("FAB6101", message, end.file, end.line, f"link {word}")
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
    texts = [",".join(family for family in families if family in each) or "no family" for each in stated]
    return ", ".join([*texts, f"timers {keepalive_s}/{hold_s} s"])


@lru_cache(maxsize=1024)
def bfd_of(runs: tuple[bool, ...], multiplier: Value | None) -> str:
    """Return which sessions run BFD, and how many lost packets mean that a peer is down; "" when none does."""
    if not any(runs):
        return ""
    which = "" if all(runs) else f" on {runs.count(True)} of {len(runs)} sessions"
    return f"x {multiplier}{which}"


def ordered_statement(first: bool, own: str, other: str) -> str:
    """Return the statements of both ends of a link about themselves and each other, the same at either end."""
    return f"{own} - {other}" if first else f"{other} - {own}"


def locate_end(end: LinkEnd, reading: FileContents) -> LinkEnd:
    """Return the end with the line of its files that states most of it."""
    for path in paths_of_port(end.port, _PLACES[:2] if end.values.host else _PLACES):
        if place := reading.lines.get(path):
            return end._replace(file=place[0], line=place[1])
    return end
