"""Compare the live network with the prediction: sessions of daemons, next hops of the kernel, cables by LLDP."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fabricc.operate.lab.kernel import NAMESPACES, inside_namespace
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from fabricc.operate.lab.predict import End, Prediction
    from fabricc.operate.lab.running import Lab


_POLL_S = 0.02

Difference = tuple[str, str, object, object]
"""A switch, a prefix or neighbor, the predicted and the observed value."""


def width_differences(
    lab: Lab, prediction: Prediction, tables: Iterable[str] | None = None
) -> list[Difference]:
    """Return prefixes whose next hops in the kernel are not as many as predicted, in some tables or in all."""
    return [
        one
        for table in (tables if tables is not None else prediction.widths)
        for one in _find_differences(
            table, prediction.widths[table], bgp_widths(lab.record.namespace(table)), 0
        )
    ]


def _find_differences(
    switch: str, expected: Mapping[str, object], seen: Mapping[str, object], absent: object
) -> Iterator[Difference]:
    for key in sorted(expected.keys() | seen.keys()):
        if expected.get(key, absent) != seen.get(key, absent):
            yield switch, key, expected.get(key, absent), seen.get(key, absent)


def read_sessions(lab: Lab, switch: str) -> dict[str, bool]:
    """Neighbor -> whether its session is Established, for every neighbor that the daemon has."""
    answer = lab.query_daemon(switch, "bgpd", "show bgp neighbors json")
    return {
        name: found.get("bgpState") == "Established"
        for name, found in answer.items()
        if isinstance(found, dict) and "bgpState" in found
    }


def list_status(lab: Lab) -> Iterator[tuple[str, str]]:
    """Yield each node's name and status."""
    memory = lab.memory_kib()
    for switch in lab.record.switches:
        yield switch, _switch_status(lab, switch, memory[switch])
    for host in lab.record.hosts:
        yield host, "up" if (NAMESPACES / lab.record.namespace(host)).exists() else "gone"


def _switch_status(lab: Lab, switch: str, memory_kib: int) -> str:
    if lab.process(switch) is None:
        return "not running"
    if not lab.ready(switch):
        return "booting"
    try:
        found = read_sessions(lab, switch)
    except LabError as error:
        return f"running; {error}"
    established = sum(found.values())
    return f"up, {established} of {len(found)} sessions Established, {memory_kib / 1024:.0f} MiB"


def session_differences(lab: Lab, prediction: Prediction) -> list[Difference]:
    """Sessions that are not in the state predicted, and neighbors that are not planned."""
    return [
        one
        for switch, wanted in prediction.sessions.items()
        for one in _find_differences(switch, wanted, read_sessions(lab, switch), None)
    ]


def wait_until_settled(
    lab: Lab, prediction: Prediction, limit_s: float, meanwhile: Callable[[float], None] = time.sleep
) -> float | None:
    """Wait until every kernel's next hops are as predicted.

    `meanwhile` is called between looks with the seconds that may pass.

    Returns:
        Seconds it took; None when it did not come to it in time.
    """
    begin = time.monotonic()
    waiting = list(prediction.widths)
    while True:
        look = time.monotonic()
        waiting = [switch for switch in waiting if width_differences(lab, prediction, [switch])]
        if not waiting:
            # A switch seen in order early may have moved since; all of them must be in order at once.
            waiting = [switch for switch in prediction.widths if width_differences(lab, prediction, [switch])]
            if not waiting:
                return time.monotonic() - begin
        if time.monotonic() - begin > limit_s:
            return None
        # As long as the look took, so that looking leaves the processor to the daemons.
        meanwhile(max(_POLL_S, time.monotonic() - look))


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


DAEMON = "lldpd"
_PARALLEL, _LLDP_POLL_S = 4, 0.25

Neighbors = dict[str, dict[str, "End"]]
"""Switch -> its port -> the system name and port that announce themselves there."""


def has_lldp() -> bool:
    """Return whether this machine has lldpd."""
    return all(shutil.which(name) for name in (DAEMON, "lldpcli"))


def read_neighbors(lab: Lab, switches: Iterable[str] | None = None) -> Neighbors:
    """Return the present neighbors of switches; a port without a neighbor is absent.

    Raises:
        LabError: FAB8012, a switch does not run, or its lldpd does not answer.
    """
    requested = list(lab.record.switches if switches is None else switches)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        return dict(
            zip(
                requested,
                pool.map(lambda switch: _read_switch_neighbors(lab, switch), requested),
                strict=True,
            )
        )


def _read_switch_neighbors(lab: Lab, switch: str) -> dict[str, End]:
    ran = lab.run(switch, ["lldpcli", "-f", "json0", "show", "neighbors"])
    try:
        return parse_neighbors(json.loads(ran.stdout))
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        reason = (ran.stderr or ran.stdout).strip()[:200]
        raise LabError("FAB8012", f"{DAEMON} of {switch} does not answer: {reason}") from None


def parse_neighbors(answer: Mapping[str, Any]) -> dict[str, End]:
    """Port -> neighbor, of lldpcli's `json0` form, in which everything is a list (lldpcli(8)).

    Raises:
        KeyError, IndexError, TypeError: not such an answer.
    """
    return {
        found["name"]: (found["chassis"][0]["name"][0]["value"], found["port"][0]["id"][0]["value"])
        for part in answer["lldp"]
        for found in part.get("interface", ())
    }


def wait_for_neighbors(lab: Lab, expected: Neighbors, limit_s: float) -> Neighbors:
    """Wait until every port has its wanted neighbor, or until the limit, and return the neighbors."""
    until = time.monotonic() + limit_s
    seen: Neighbors = {}
    waiting = list(expected)
    while True:
        seen |= read_neighbors(lab, waiting)
        waiting = [switch for switch in waiting if expected[switch].items() - seen[switch].items()]
        if not waiting or time.monotonic() > until:
            return seen
        time.sleep(_LLDP_POLL_S)
