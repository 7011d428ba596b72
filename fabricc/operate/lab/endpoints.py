"""Sockets for the rail addresses of a lab, each opened in its host's namespace by this one process."""

from __future__ import annotations

import resource
import socket
import struct
from contextlib import ExitStack, contextmanager
from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab.kernel import inside_namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.fabric.model import Host, Switch
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
