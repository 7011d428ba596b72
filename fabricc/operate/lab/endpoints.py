"""The ends of a lab's traffic: sockets for rail addresses, each in its host's namespace, and outside parties.

One process opens all sockets. An outside party is a box at the far ends of its links that announces its prefixes.
"""

from __future__ import annotations

import resource
import socket
import struct
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.fabric.external import ExternalLink, ExternalParty, family_of
from fabricc.operate.lab.kernel import inside_namespace
from fabricc.operate.lab.node import HOST_QUIET, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow, Host, Switch
    from fabricc.operate.lab.running import Lab

TTL = 64
_BUFFER_BYTES = 1 << 22
_SO_RCVBUFFORCE = 33  # socket(7)
# ip(7) and ipv6(7), linux/in.h and linux/in6.h: what the kernel is to report with each datagram.
_ASK4 = ((socket.IPPROTO_IP, 12), (socket.IPPROTO_IP, 13), (socket.IPPROTO_IP, 8))
_ASK6 = ((socket.IPPROTO_IPV6, 51), (socket.IPPROTO_IPV6, 66), (socket.IPPROTO_IPV6, 49))
_TTL4, _TOS4, _WHERE4 = 2, 1, 8
_TTL6, _TOS6, _WHERE6 = 52, 67, 50
_MTU_DISCOVER = {4: (socket.IPPROTO_IP, 10, 2), 6: (socket.IPPROTO_IPV6, 23, 2)}  # never fragment


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that sends and receives.

    Attributes:
        node, port: where it is; `tor`: the switch it hangs off (itself for a switch's loopback).
        prefix: the route that leads to it from afar.
        vrf: of the switch's port, where tenants have VRFs.
    """

    node: str
    port: str
    address: str
    tor: str
    prefix: str
    vrf: str = ""

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram as it arrived: from which address, on which interface, its TTL and its traffic class byte."""

    payload: bytes
    source: str
    interface: int
    ttl: int
    tos: int


def rail_endpoints(hosts: Iterable[Host], switches: Iterable[Switch]) -> list[Endpoint]:
    """Return every rail address, with the prefix that its ToR announces: an aggregate, or the link of a VRF."""
    aggregates = {}
    vrfs: dict[tuple[str, str], str] = {}
    for switch in switches:
        aggregates[switch.name] = [ip_network(prefix) for prefix in switch.bgp.aggregates]
        vrfs |= {(switch.name, port.name): port.vrf for port in switch.ports if port.vrf}
    found = []
    for host in hosts:
        for port in host.ports:
            tor = port.peer.device
            for text in filter(None, (port.ipv4, port.ipv6)):
                link = ip_interface(text)
                prefix = next((each for each in aggregates[tor] if link.ip in each), link.network)
                vrf = vrfs.get((tor, port.peer.port), "")
                found.append(Endpoint(host.name, port.name, str(link.ip), tor, str(prefix), vrf))
    return found


def loopback_endpoints(switches: Iterable[Switch]) -> list[Endpoint]:
    """Return every switch's loopback."""
    return [
        Endpoint(switch.name, "lo", address, switch.name, f"{address}/{bits}")
        for switch in switches
        for address, bits in ((switch.loopback4, 32), (switch.loopback6, 128))
        if address
    ]


@contextmanager
def open_sockets(
    lab: Lab, endpoints: Sequence[Endpoint], port: int = 0
) -> Iterator[list[tuple[socket.socket, int]]]:
    """Open a bound UDP socket for each endpoint, with its interface number; close all at the end."""
    _allow_descriptors(len(endpoints))
    with ExitStack() as stack:
        sockets = []
        for endpoint in endpoints:
            with inside_namespace(lab.record.namespace(endpoint.node)):
                channel = stack.enter_context(_open_socket(endpoint, port))
                sockets.append((channel, socket.if_nametoindex(endpoint.port)))
        yield sockets


def _allow_descriptors(more: int) -> None:
    """Raise the soft limit of open files, 1024 on most machines, for so many sockets besides what is open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(2 * more + 1024, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _open_socket(endpoint: Endpoint, port: int) -> socket.socket:
    channel = socket.socket(socket.AF_INET6 if endpoint.version == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    channel.setblocking(False)
    channel.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    for level, option in _ASK6 if endpoint.version == 6 else _ASK4:
        channel.setsockopt(level, option, 1)
    if endpoint.version == 6:
        channel.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, TTL)
    else:
        channel.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, TTL)
    channel.bind((endpoint.address, port))
    return channel


def set_traffic_class(channel: socket.socket, tos: int) -> None:
    """Set the traffic class byte (DSCP and ECN) of what a socket sends."""
    if channel.family == socket.AF_INET6:
        channel.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
    else:
        channel.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)


def never_fragment(channel: socket.socket, version: int) -> None:
    """Make a socket refuse what does not fit, with Don't Fragment on what it sends."""
    channel.setsockopt(*_MTU_DISCOVER[version])


def receive_arrivals(channel: socket.socket, size: int = 64) -> Iterator[Arrival]:
    """Yield the datagrams that wait in a socket."""
    while True:
        try:
            payload, extra, _, source = channel.recvmsg(size, 256)
        except BlockingIOError:
            return
        ttl = tos = interface = -1
        for _, kind, value in extra:
            if kind in (_TTL4, _TTL6):
                ttl = struct.unpack("i", value[:4])[0]
            elif kind in (_TOS4, _TOS6):
                tos = value[0]
            elif kind == _WHERE4 and channel.family == socket.AF_INET:
                interface = struct.unpack("i", value[:4])[0]
            elif kind == _WHERE6 and channel.family == socket.AF_INET6:
                interface = struct.unpack("i", value[16:20])[0]
        yield Arrival(payload, source[0], interface, ttl, tos)


_DAEMONS = "zebra=yes\nbgpd=yes\nbfdd=yes\nstaticd=yes\n"


def name_of(party: ExternalParty) -> str:
    """Return the name of the box of a party."""
    return f"outside-{party.name}"


def links_of(fabric: Fabric) -> dict[ExternalParty, list[ExternalLink]]:
    """Return the links of each party at switches that the lab has; parties without any are left out."""
    present = {fabric.name(at) for at in fabric.switch_ids()}
    found: dict[ExternalParty, list[ExternalLink]] = {party: [] for party in fabric.external.outsiders}
    for switch, exits in fabric.external.exits.items():
        for way in exits.values() if switch in present else ():
            found[way.outsider].append(way.link)
    return {party: links for party, links in found.items() if links}


def outside_cables(fabric: Fabric) -> Iterator[CableRow]:
    """Yield the cables between outside parties and switches."""
    for party, links in links_of(fabric).items():
        for number, link in enumerate(links):
            yield replace(link.cable, b_device=name_of(party), b_port=f"out{number}")


@dataclass(frozen=True, slots=True)
class ExternalEnd:
    """The party at the far end of a port that leads outside.

    Attributes:
        node: its name.
        asn: of its routers; None where routes to it are static.
        prefixes: what leads there.
        vrf: that of the tenant that reaches it; "" for the table that switches share.
    """

    node: str
    asn: int | None
    prefixes: tuple[IPv4Network | IPv6Network, ...]
    vrf: str = ""


def _vrf_of(fabric: Fabric, party: ExternalParty) -> str:
    """Return the VRF of the tenant that reaches a party; "" without tenants."""
    tenancy = fabric.tenancy
    return tenancy.tenants[tenancy.exits[party.name]].vrf if tenancy else ""


def outside_answers(fabric: Fabric) -> dict[tuple[str, str], ExternalEnd]:
    """Return the outside party at each (switch, port)."""
    return {
        (link.at, link.port): ExternalEnd(
            name_of(party),
            party.asn,
            tuple(ip_network(rule.prefix) for rule in party.accept),
            _vrf_of(fabric, party),
        )
        for party, links in links_of(fabric).items()
        for link in links
    }


def outside_endpoints(fabric: Fabric) -> list[Endpoint]:
    """Return an address in every prefix that hosts have a route to, at the box of the party that announces it."""
    return [
        Endpoint(
            name_of(party),
            "lo",
            _address_inside(rule.prefix),
            name_of(party),
            rule.prefix,
            _vrf_of(fabric, party),
        )
        for party in links_of(fabric)
        for rule in party.accept
        if not rule.prefix.endswith("/0")
    ]


def outside_nodes(fabric: Fabric, switches: Sequence[Switch]) -> Iterator[Node]:
    """Yield a box for each party: a router with its AS number, or for static routes one with return routes alone."""
    known = {switch.name: switch for switch in switches}
    pools = fabric.addresses.pools()
    for number, (party, links) in enumerate(links_of(fabric).items()):
        commands = ["link set lo up"]
        commands += [
            f"addr add {each.address}/{128 if family_of(each.address) == 6 else 32} dev lo"
            for each in outside_endpoints(fabric)
            if each.node == name_of(party)
        ]
        for at, link in enumerate(links):
            commands.append(f"link set out{at} mtu {party.mtu}")
            for own, remote in _address_pairs(link):
                commands.append(f"addr add {remote}/{own.partition('/')[2]} dev out{at}")
            commands.append(f"link set out{at} up")
        if party.asn is None:
            hosts = [str(pool) for name, pool in pools.items() if name.startswith("hosts")]
            commands += [command for pool in hosts for command in _return_routes(pool, links)]
            yield Node(name_of(party), HOST_QUIET, tuple(commands), {})
        else:
            files = {"hostname": f"{name_of(party)}\n", "daemons": _DAEMONS}
            files["frr.conf"] = _router_configuration(fabric, party, links, known, number)
            yield Node(name_of(party), HOST_QUIET, tuple(commands), files)


def _return_routes(pool: str, links: Sequence[ExternalLink]) -> Iterator[str]:
    """Yield the route of a party without BGP to the hosts, over all its links."""
    hops = [
        f"nexthop via {own.partition('/')[0]}"
        for link in links
        for own, _ in _address_pairs(link)
        if family_of(own) == family_of(pool)
    ]
    if hops:
        yield f"route add {pool} {' '.join(hops)}"


def _address_pairs(link: ExternalLink) -> Iterator[tuple[str, str]]:
    """(the switch's address with prefix length, the party's) of each family."""
    for own, remote in ((link.ipv4, link.remote4), (link.ipv6, link.remote6)):
        if own and remote:
            yield own, remote


def _router_configuration(
    fabric: Fabric,
    party: ExternalParty,
    links: Sequence[ExternalLink],
    switches: Mapping[str, Switch],
    number: int,
) -> str:
    """Return its `frr.conf`: sessions with the fabric's settings, and the accepted prefixes as static routes."""
    routing = fabric.routing
    prefixes = [rule.prefix for rule in party.accept]
    lines = ["frr defaults datacenter", f"hostname {name_of(party)}", "service integrated-vtysh-config"]
    lines += [f"{'ipv6' if family_of(each) == 6 else 'ip'} route {each} blackhole" for each in prefixes]
    lines += [f"router bgp {party.asn}", f" bgp router-id 192.0.0.{number + 1}"]
    lines += [" no bgp ebgp-requires-policy", " no bgp default ipv4-unicast"]
    peers: dict[int, list[str]] = {4: [], 6: []}
    for link in links:
        for own, _ in _address_pairs(link):
            address = own.partition("/")[0]
            peers[family_of(own)].append(address)
            lines.append(f" neighbor {address} remote-as {switches[link.at].bgp.asn}")
            lines += [f" neighbor {address} bfd"] if routing.bfd_interval_ms is not None else []
            lines += [f" neighbor {address} ttl-security hops 1"] if routing.ttl_security else []
            lines += [f" neighbor {address} password {party.password}"] if party.password else []
    for family, addresses in peers.items():
        if addresses:
            lines.append(f" address-family ipv{family} unicast")
            lines.append("  redistribute static")
            lines += [f"  neighbor {address} activate" for address in addresses]
            lines.append(" exit-address-family")
    return "\n".join([*lines, "exit", ""])


def _address_inside(prefix: str) -> str:
    """Return an address in a prefix: its second, or the only one."""
    network = ip_network(prefix)
    return str(network[min(1, network.num_addresses - 1)])
