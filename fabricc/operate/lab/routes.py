"""Read the kernel's forwarding tables over rtnetlink: prefix -> number of next hops."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from fabricc.operate.lab.kernel import inside_namespace

# linux/rtnetlink.h and linux/netlink.h
_RTM_NEWROUTE, _RTM_GETROUTE, _NLMSG_ERROR, _NLMSG_DONE = 24, 26, 2, 3
_REQUEST_DUMP = 0x301
_RTA_DST, _RTA_MULTIPATH = 1, 9
_RTN_UNICAST, _MAIN_TABLE = 1, 254
_RTPROT_BGP, _RTPROT_ZEBRA = 186, 11
_DEAD = 1 | 16  # RTNH_F_DEAD, RTNH_F_LINKDOWN: kept in the table and not used
_HEADER, _ROUTE, _ATTRIBUTE, _NEXT_HOP = (
    struct.Struct("IHHII"), struct.Struct("BBBBBBBBI"), struct.Struct("HH"), struct.Struct("HBBi"),
)  # fmt: skip
_TYPE_MASK = 0x3FFF

Widths = dict[str, int]


def bgp_widths(namespace: str) -> Widths:
    """Return prefix -> equal-cost next hops in use, for every unicast route that routing protocols put in the kernel.

    Raises:
        OSError: the namespace is gone.
    """
    widths: Widths = {}
    with inside_namespace(namespace):
        channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    with channel:
        channel.bind((0, 0))
        for family in (socket.AF_INET, socket.AF_INET6):
            for prefix, width in _dump_routes(channel, family):
                widths[prefix] = widths.get(prefix, 0) + width
    return widths


def _dump_routes(channel: socket.socket, family: int) -> Iterator[tuple[str, int]]:
    body = _ROUTE.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
    channel.send(_HEADER.pack(16 + len(body), _RTM_GETROUTE, _REQUEST_DUMP, family, 0) + body)
    while True:
        block = channel.recv(1 << 18)
        at = 0
        while at < len(block):
            length, kind, _, _, _ = _HEADER.unpack_from(block, at)
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                raise OSError("the kernel refused to list its routes")
            if kind == _RTM_NEWROUTE and (found := _parse_route(family, block[at + 16 : at + length])):
                yield found
            at += (length + 3) & ~3


def _parse_route(family: int, message: bytes) -> tuple[str, int] | None:
    _, bits, _, _, table, protocol, _, kind, flags = _ROUTE.unpack_from(message)
    if kind != _RTN_UNICAST or table != _MAIN_TABLE or protocol not in (_RTPROT_BGP, _RTPROT_ZEBRA):
        return None
    destination, width = bytes(4 if family == socket.AF_INET else 16), 0 if flags & _DEAD else 1
    for kind, value in _parse_attributes(message[_ROUTE.size :]):
        if kind == _RTA_DST:
            destination = value
        elif kind == _RTA_MULTIPATH:
            width = _count_live_hops(value)
    return f"{socket.inet_ntop(family, destination)}/{bits}", width


def _parse_attributes(block: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(block):
        length, kind = _ATTRIBUTE.unpack_from(block, at)
        if length < 4:
            return
        yield kind & _TYPE_MASK, block[at + 4 : at + length]
        at += (length + 3) & ~3


def _count_live_hops(block: bytes) -> int:
    at = count = 0
    while at + _NEXT_HOP.size <= len(block):
        length, flags, _, _ = _NEXT_HOP.unpack_from(block, at)
        if length < _NEXT_HOP.size:
            break
        count += not flags & _DEAD
        at += (length + 3) & ~3
    return count
