"""One switch as its files describe it: facts sorted into sessions, policy and the ports that carry links."""

from __future__ import annotations

import socket
from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import paths_of_port, port_paths
from fabricc.facts.paths import first_key, outer_key, split_list_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import FileContents, Value

_INTERFACE, _ENABLED = "interface[", "]/enabled"
_NEIGHBOR = "bgp/neighbor["
_AGGREGATE = "bgp/aggregate["
_STATIC = "static_route["
_EVPN = "evpn/"
_MAP = "route_map["
_PREFIX_LIST = "prefix_list["
_COMMUNITY_LIST = "community_list["
CODE_POINTS = 64
_CODE_POINT_PATHS = tuple(f"qos/dscp[{dscp}]/traffic_class" for dscp in range(CODE_POINTS))


@dataclass(frozen=True, slots=True)
class Marking:
    """ECN thresholds of one queue, bytes and per cent; None for the system's default, which no line states."""

    low: int
    high: int
    percent: int | None


class LinkSettings(NamedTuple):
    """The settings of a port that both ends of a link must share; 0 or "" if the files do not state them.

    Attributes:
        mtu: bytes; `speed`: Gb/s.
        pfc: lossless priorities, e.g. `3`, or `none`; "" when the platform does not state them.
        fec: forward error correction.
    """

    mtu: int
    speed: int
    pfc: str
    fec: str


class LinkPort(NamedTuple):
    """A cabled port: its plan and the settings in its files; None if the files do not state one.

    Attributes:
        pfc: priorities with PFC; None on a platform that states no queues.
    """

    port: Port
    enabled: bool
    mtu: int | None
    speed_gbps: int
    ipv4: str | None
    ipv6: str | None
    unnumbered: bool
    routed: bool
    pfc: tuple[int, ...] | None
    lossless: Lossless
    stated: LinkSettings

    @property
    def path(self) -> str:
        """Return where the port's facts begin."""
        return f"interface[{self.port.name}]/"


@dataclass(frozen=True, slots=True)
class Lossless:
    """Lossless settings of a port; ports of one kind have equal ones.

    Attributes:
        cable_m: length of the cable; `looked_up_m`: the length that the headroom was chosen for; `default_to_m`: the
            length up to which the platform's own buffers suffice, if these are used.
        xoff, xon, size: bytes; `dynamic_th`: exponent of alpha; None if the files do not state it.
        schedulers, markings: per queue that the files state, as the platform numbers queues.
        marked: queues with ECN, also where the platform states fill levels rather than bytes.
    """

    speed_gbps: int
    cable_m: int
    lanes: int
    pfc: tuple[int, ...]
    watchdog: str | None
    xoff: int | None
    xon: int | None
    size: int | None
    dynamic_th: int | None
    looked_up_m: int | None
    default_to_m: int | None
    schedulers: tuple[tuple[int, str], ...]
    markings: tuple[tuple[int, Marking], ...]
    marked: tuple[int, ...]


@dataclass(slots=True)
class SwitchView:
    """A switch, the facts of its files, and these sorted for the rules.

    Attributes:
        neighbors: neighbor -> attribute -> value.
        maps: route map -> sequence -> clause; `lists`: prefix list -> rules; `communities`: list -> entries.
        aggregates: prefixes of aggregates; `routes`: of static routes, and where they lead.
        enabled: names of interfaces that are not shut.
        links: cabled ports in panel order.
        evpn: facts about segments and EVPN routes, by path without its first word.
        by_neighbor: neighbor as sessions name it, a port or the other address of its subnet -> port.
    """

    switch: Switch
    reading: FileContents
    neighbors: dict[str, dict[str, Value]] = field(default_factory=dict)
    maps: dict[str, dict[int, str]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    communities: dict[str, str] = field(default_factory=dict)
    aggregates: list[str] = field(default_factory=list)
    routes: dict[str, str] = field(default_factory=dict)
    enabled: list[str] = field(default_factory=list)
    links: list[LinkPort] = field(default_factory=list)
    evpn: dict[str, Value] = field(default_factory=dict)
    by_neighbor: dict[str, LinkPort] = field(default_factory=dict)

    @property
    def facts(self) -> Mapping[str, Value]:
        """Return the facts of the files."""
        return self.reading.facts

    def place(self, path: str) -> tuple[str, int]:
        """Return file and line of a fact, or of the first one below `path` if it ends in a slash."""
        lines = self.reading.lines
        if found := lines.get(path):
            return found
        if path.endswith("/"):
            for leaf in ("pfc", "mtu", "ipv4", "ipv6", "description", "enabled", "remote_asn"):
                if found := lines.get(path + leaf):
                    return found
        return ("", 0)

    def vrf_of(self, link: LinkPort) -> str | None:
        """Return the VRF of a port; None for the routing table that switches share."""
        vrf = self.facts.get(port_paths(link.port.name)["vrf"])
        return None if vrf is None else str(vrf)

    def routes_of(self, vrf: str) -> dict[str, str]:
        """Return the static routes of a VRF."""
        scope = f"vrf[{vrf}]/"
        found = [path for path in self.facts if path.startswith(scope + _STATIC) and path.endswith("]")]
        return {outer_key(path.removeprefix(scope)): str(self.facts[path]) for path in found}

    def number(self, path: str) -> int | None:
        """Return an integer fact."""
        return as_int(self.facts.get(path))

    def code_points(self) -> tuple[int, ...] | None:
        """Traffic class of every code point; None on a platform that states none."""
        classes = [as_int(value) for value in map(self.facts.get, _CODE_POINT_PATHS)]
        if all(c is None for c in classes):
            return None
        return tuple(-1 if c is None else c for c in classes)

    def queue(self, traffic_class: int) -> int:
        """Return the queue of a traffic class; its own number if the files do not state it."""
        stated = self.number(f"qos/traffic_class[{traffic_class}]/queue")
        return traffic_class if stated is None else stated

    def stopped_queue(self, priority: int) -> int:
        """Queue that a pause for a priority stops; platforms may number queues otherwise than priorities."""
        stated = self.number(f"qos/pfc_priority[{priority}]/queue")
        return self.queue(priority) if stated is None else stated

    def queues(self) -> list[int]:
        """Return the queues in use: those that code points lead to, and those of the plan's priorities."""
        classes = {c for c in self.code_points() or () if c >= 0}
        planned = {c.priority for c in self.switch.qos.classes}
        stopped = {self.stopped_queue(c.priority) for c in self.switch.qos.lossless}
        return sorted({self.queue(c) for c in classes} | planned | stopped)

    def kinds(self) -> Iterator[tuple[Lossless, list[LinkPort]]]:
        """Yield lossless settings and the ports that have them."""
        groups: dict[Lossless, list[LinkPort]] = {}
        for link in self.links:
            groups.setdefault(link.lossless, []).append(link)
        yield from groups.items()


def make_view(switch: Switch, reading: FileContents) -> SwitchView:
    """Sort the facts of a switch."""
    seen = SwitchView(switch, reading)
    sort_facts(seen, reading.facts.items())
    states_routed = any(port_paths(port.name)["routed"] in reading.facts for port in switch.ports)
    links = _Links(reading.facts, seen.queues(), states_routed)
    assign_links(seen, [links.of(port) for port in switch.ports if port.peer])
    return seen


def sort_facts(seen: SwitchView, facts: Iterable[tuple[str, Value]]) -> None:
    """Add facts to what is known of sessions, policy and the rest, but for the ports that carry links."""
    neighbor, attributes = _NEIGHBOR, {}  # the one that the facts are about just now, as far as the bracket
    for path, value in facts:
        if path[0] == _INTERFACE[0]:  # three facts of four; nothing else begins with that letter
            if value == "true" and path.endswith(_ENABLED) and path.startswith(_INTERFACE):
                seen.enabled.append(first_key(path))
            continue
        if path.startswith(_NEIGHBOR):
            if not path.startswith(neighbor) or neighbor == _NEIGHBOR:
                key, _ = split_list_path(path, "bgp/neighbor")
                neighbor = f"{_NEIGHBOR}{key}]/"
                attributes = seen.neighbors.setdefault(key, {})
            attributes[path[len(neighbor) :]] = value
        elif path.startswith(_MAP):
            key, leaf = split_list_path(path, "route_map")
            if is_number(leaf):  # anything else is a fact of the back end's own
                seen.maps.setdefault(key, {})[int(leaf)] = str(value)
        elif path.startswith(_PREFIX_LIST):
            key, leaf = split_list_path(path, "prefix_list")
            if is_number(leaf):
                seen.lists.setdefault(key, []).append(str(value))
        elif path.startswith(_COMMUNITY_LIST) and path.endswith("]"):
            seen.communities[outer_key(path)] = str(value)
        elif path.startswith(_EVPN):
            seen.evpn[path.removeprefix(_EVPN)] = value
        elif path.startswith(_AGGREGATE) and path.endswith("]"):
            seen.aggregates.append(outer_key(path))
        elif path.startswith(_STATIC) and path.endswith("]"):
            seen.routes[outer_key(path)] = str(value)


def assign_links(seen: SwitchView, links: list[LinkPort]) -> None:
    """Set the ports of links, and the ports of its sessions from these."""
    seen.links = links
    for link in links:
        seen.by_neighbor[link.port.name] = link
        for text in (link.ipv4, link.ipv6):
            if text is not None and (other := sibling_address(text)):
                seen.by_neighbor[other] = link
        if leads_out(link):
            seen.by_neighbor |= dict.fromkeys(_in_subnets(link, seen.neighbors), link)


def _in_subnets(link: LinkPort, neighbors: Iterable[str]) -> list[str]:
    """Return the neighbors with an address in a subnet of the port, which outside the fabric can be of any size."""
    subnets = [ip_interface(text).network for text in (link.ipv4, link.ipv6) if text]
    return [name for name in neighbors if any(in_network(name, subnet) for subnet in subnets)]


def in_network(text: str, network: IPv4Network | IPv6Network) -> bool:
    """Return whether a text is an address in a network."""
    try:
        return ip_address(text) in network
    except ValueError:
        return False


@lru_cache(maxsize=64)
def address_families(stated: Value | None) -> frozenset[str]:
    """Return the families of a session as facts spell them: `ipv4`, `ipv4,ipv6`; nothing is the empty text."""
    return frozenset(("" if stated is None else str(stated)).split(","))


def as_int(value: Value | None) -> int | None:
    """Return the value when it is an integer."""
    return value if isinstance(value, int) else None


def sibling_address(text: str) -> str:
    """Return the other address of a /31 or /127 (RFC 3021, RFC 6164), or of the two of a /30; "" for other sizes."""
    address, _, length = text.partition("/")
    six = ":" in address
    if length != "127" if six else length not in ("31", "30"):
        return ""
    try:
        packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, address)
    except (OSError, ValueError):
        return ""
    last = packed[-1]
    if six:
        return socket.inet_ntop(socket.AF_INET6, packed[:-1] + bytes((last ^ 1,)))
    if length == "30" and last % 4 in (0, 3):
        return ""
    return f"{address.rpartition('.')[0]}.{last ^ (3 if length == '30' else 1)}"


def parse_priorities(value: Value | None) -> tuple[int, ...]:
    """Parse a set of priorities of a fact: `3,4`, a single number, or nothing."""
    if value is None or value == "none":
        return ()
    return tuple(int(part) for part in str(value).split(",") if is_number(part))


_LEAVES = (
    "pfc", "speed_gbps", "watchdog", "headroom/xoff_bytes", "headroom/xon_bytes", "headroom/size_bytes",
    "headroom/dynamic_th", "headroom/cable_m", "headroom/default_to_m",
)  # fmt: skip
_OWN_LEAVES = ("enabled", "mtu", "ipv4", "ipv6", "unnumbered", "routed", "fec")
_QUEUE_LEAVES = ("scheduler", "ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent", "ecn_min_fill_percent")


@lru_cache(maxsize=64)
def _queue_leaves(queues: tuple[int, ...]) -> tuple[str, ...]:
    return (*_LEAVES, *(f"queue[{queue}]/{leaf}" for queue in queues for leaf in _QUEUE_LEAVES))


class _Links:
    """Build the cabled ports of one switch; values shared by ports of one kind are computed once."""

    def __init__(self, facts: Mapping[str, Value], queues: list[int], states_routed: bool) -> None:
        """Use `states_routed` if the platform states which ports are routed; an unstated port is then not routed."""
        self._facts = facts
        self._queues = queues
        self._routed_else = "" if states_routed else "true"
        self._pfc_else = "none" if _CODE_POINT_PATHS[0] in facts else ""  # stated wherever classes are at all
        self._leaves = _queue_leaves(tuple(queues))
        self._kinds: dict[tuple[object, ...], Lossless] = {}

    def of(self, port: Port) -> LinkPort:
        """Return one port."""
        get = self._facts.get
        stated = list(map(get, paths_of_port(port.name, self._leaves)))
        enabled, mtu, ipv4, ipv6, unnumbered, routed, fec = map(get, paths_of_port(port.name, _OWN_LEAVES))
        pfc, speed = stated[:2]
        key = (port.speed_gbps, port.cable_m, port.lanes, *stated)
        lossless = self._kinds.get(key)
        if lossless is None:
            lossless = self._kinds[key] = self._lossless_settings(port, stated)
        return LinkPort(
            port, enabled != "false", as_int(mtu), lossless.speed_gbps,
            ipv4 if isinstance(ipv4, str) else None, ipv6 if isinstance(ipv6, str) else None,
            bool(unnumbered), (self._routed_else if routed is None else routed) == "true",
            lossless.pfc if lossless.schedulers else None, lossless,
            LinkSettings(
                as_int(mtu) or 0, as_int(speed) or 0, self._pfc_else if pfc in (None, "") else str(pfc),
                "" if fec is None else str(fec),
            ),
        )  # fmt: skip

    def _lossless_settings(self, port: Port, stated: list[Value | None]) -> Lossless:
        """Return the lossless settings from the values of `_queue_leaves`, in that order."""
        pfc, speed, watchdog, xoff, xon, size, exponent, headroom_of_kind, default_to = stated[: len(_LEAVES)]
        schedulers, markings, marked = [], [], []
        for at, queue in enumerate(self._queues):
            first = len(_LEAVES) + at * len(_QUEUE_LEAVES)
            scheduler, low, high, percent, fill = stated[first : first + len(_QUEUE_LEAVES)]
            if scheduler is not None:
                schedulers.append((queue, str(scheduler)))
            if isinstance(low, int) and isinstance(high, int):
                markings.append((queue, Marking(low, high, as_int(percent))))
                marked.append(queue)
            elif fill is not None:
                marked.append(queue)
        return Lossless(
            as_int(speed) or port.speed_gbps, port.cable_m or 0, port.lanes, parse_priorities(pfc),
            None if watchdog is None else str(watchdog), as_int(xoff), as_int(xon), as_int(size), as_int(exponent),
            as_int(headroom_of_kind), as_int(default_to), tuple(schedulers), tuple(markings), tuple(marked),
        )  # fmt: skip


def leads_out(link: LinkPort) -> bool:
    """Return whether the port leads out of the fabric."""
    return link.port.direction is Direction.EXTERNAL


def between_switches(link: LinkPort) -> bool:
    """Return whether the port leads to another switch."""
    return link.port.direction in (Direction.UP, Direction.DOWN, Direction.PEER)
