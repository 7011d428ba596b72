"""One device and its place, with its facts sorted for the rules: by port, by session, and with file and line.

Planned, built, collected and foreign devices have the same form.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum
from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from warnings import warn

from fabricc.back.nos.ports import PLAIN, PortKind, PortName, cached_parser
from fabricc.base.values import dataclass
from fabricc.facts import frame
from fabricc.facts.paths import last_key

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Reading, Value

HOST = "host"
"""The system of hosts."""


class Kind(StrEnum):
    """The kind of a device."""

    SWITCH = "switch"
    HOST = "host"


class Neighbor(NamedTuple):
    """An LLDP announcement on one port."""

    port: str
    device: str
    far_port: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the folder.

    Attributes:
        name: its own name, else that of its files; unique in the folder.
        system: name of its NOS, `host` of a host.
        files: name as the back end calls it -> text; `paths`: the same name -> path below the folder, for findings.
        held: the facts of its files; packed where thousands are in memory.
        box: the product name on the device, "" if unknown; `model`: its entry in the catalog.
        release: of the NOS, "" if unknown.
        neighbors: its LLDP neighbors.
    """

    name: str
    kind: Kind
    system: str
    files: Mapping[str, str]
    paths: Mapping[str, str]
    held: frame.Contents | frame.PackedContents
    box: str = ""
    model: str | None = None
    release: str = ""
    neighbors: tuple[Neighbor, ...] = ()

    @property
    def contents(self) -> frame.Contents:
        """Return the content of its files."""
        return frame.unpacked(self.held) if isinstance(self.held, frame.PackedContents) else self.held

    @property
    def reading(self) -> Reading:
        """Facts with their lines, and unknown lines."""
        return self.contents.reading

    @property
    def unknown(self) -> list[tuple[str, int, str]]:
        """Return file, number and text of the unknown lines."""
        return frame.unknown_lines(self.held)

    @property
    def ignorable(self) -> frozenset[tuple[str, int]]:
        """Return file and line of unknown lines without effect on forwarding or losslessness."""
        return self.contents.ignorable

    @property
    def aside(self) -> frozenset[tuple[str, int]]:
        """Return `ignorable`. Deprecated: the former name."""
        warn("Device.aside is now Device.ignorable", DeprecationWarning, stacklevel=2)
        return self.ignorable

    @property
    def neighbours(self) -> tuple[Neighbor, ...]:
        """Return `neighbors`. Deprecated: the former spelling."""
        warn("Device.neighbours is now Device.neighbors", DeprecationWarning, stacklevel=2)
        return self.neighbors


class End(NamedTuple):
    """A port of a device, by names."""

    device: str
    port: str


class Tier(StrEnum):
    """The tier of a device; those of a tier have links to the next one."""

    HOST = "host"
    TOR = "tor"
    SPINE = "spine"
    CORE = "core"
    OTHER = "other"


class Place(NamedTuple):
    """The place of a device; None if unknown.

    Attributes:
        unit: number of the set of ToRs with common hosts, counted in order of names.
        plane: of switches that only reach each other through hosts.
        pod: of spines with common ToRs; rail: of a ToR that serves one NIC of each host.
    """

    tier: Tier
    unit: int | None = None
    plane: int | None = None
    pod: int | None = None
    rail: int | None = None


_FAMILIES = ("ipv4", "ipv6")
_USED = ("ipv4", "ipv6", "unnumbered", "switchport", "pfc", "bundle")
_FIRST = ("ipv4", "mtu", "description", "enabled", "remote_asn", "switchport", "pfc", "speed_gbps")
_LINK_STATE = ("ospf[", "isis[")
_LINK_STATE_PORT = ("ospf_area", "isis")
_IGP = ("isis_setting[", "ospf_setting[")
NOWHERE = Place(Tier.OTHER)

T = TypeVar("T")


class LinkPeer(NamedTuple):
    """The other end of a link of a device.

    Attributes:
        known: whether its device is among those that are read together.
        declared: whether a plan declares it as a party outside of the fabric.
    """

    end: End
    tier: Tier
    known: bool
    declared: bool = False


class Expectation(NamedTuple):
    """Settings that a plan declares on purpose, which would be defects of a switch without a plan.

    Attributes:
        unmarked: lossless priorities without ECN.
        unguarded: whether PFC has no watchdog.
        undetected: whether sessions do without BFD.
        nics_mapped: whether the plan maps code points to priorities on the NICs.
        planned: whether there is a plan at all: without one, hosts may show some of these.
    """

    unmarked: frozenset[int] = frozenset()
    unguarded: bool = False
    undetected: bool = False
    nics_mapped: bool = False
    planned: bool = False


NO_PLAN = Expectation()


@dataclass(slots=True)
class Statement:
    """One device.

    Attributes:
        ports: port -> its facts, by the rest of the path.
        sessions: routing instance ("" for the default one) and neighbor -> its facts, likewise.
        addresses: port -> its addresses with prefix lengths.
        rest: facts of no port and no session; `lines`: file and line of each.
        chains: results of `chain`, shared by devices with the same ports; `results`: of other questions about this
            device, see `remember`.
        fars: port -> other end of its link.
        parse_name: parses port names of the device's system.
        expected: what a plan declares, if there is one.
        shared: results from facts shared with devices whose ports lead to the same tiers; see `once`.
    """

    device: Device
    place: Place
    fars: Mapping[str, LinkPeer]
    parse_name: Callable[[str], PortName]
    expected: Expectation
    shared: dict[Any, Any]
    ports: Mapping[str, Mapping[str, Value]]
    sessions: Mapping[tuple[str, str], Mapping[str, Value]]
    addresses: Mapping[str, list[str]]
    rest: dict[str, Value]
    lines: dict[str, tuple[str, int]]
    chains: dict[str, tuple[str, ...]]
    results: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The device's."""
        return self.device.name

    def base(self, port: str) -> str:
        """Return the port below a logical interface, as far as the device mentions it."""
        below = port.rpartition(".")[0]
        return below if below in self.ports else port

    def carrier(self, port: str) -> str:
        """Return the interface with the addresses of a port: its bundle, or the port."""
        return self.chain(port)[-1]

    def chain(self, port: str) -> tuple[str, ...]:
        """Return a port, the port below it, and its bundle, each once."""
        if port not in self.chains:
            base = self.base(port)
            bundle = self._bundle(base)
            self.chains[port] = tuple(dict.fromkeys((port, base, bundle) if bundle else (port, base)))
        return self.chains[port]

    def _bundle(self, port: str) -> str:
        bundle = str(self.ports.get(port, {}).get("bundle", ""))
        if not bundle or bundle in self.ports:
            return bundle
        wanted = self.parse_name(bundle).port
        return next((each for each in self.ports if self.parse_name(each).port == wanted), "")

    def of(self, port: str, leaf: str) -> Value | None:
        """Return a fact of a port, of the port below it, or of its bundle."""
        for each in self.chain(port):
            if (value := self.ports.get(each, {}).get(leaf)) is not None:
                return value
        return None

    def open_ports(self) -> Iterator[str]:
        """Yield ports that are up and in use without a known far end: hosts are often not in the folder."""
        for port, values in self.ports.items():
            if port in self.fars or values.get("enabled") == "false" or "kind" in values:
                continue
            name = self.parse_name(port)
            if name.kind is PortKind.PORT and not name.unit and any(leaf in values for leaf in _USED):
                yield port

    def link_state_paths(self) -> Iterator[str]:
        """Yield paths of facts about OSPF and IS-IS in the default routing instance, of processes before ports."""
        for begins in _LINK_STATE:
            yield from self.facts_below(begins)
        for port, values in self.ports.items():
            if "vrf" not in values:
                yield from (f"{frame.PORT}{port}]/{leaf}" for leaf in _LINK_STATE_PORT if leaf in values)

    def ospf_area(self, port: str) -> Value | None:
        """Return the area of a port, by its line or that of a network, `none` where OSPF runs on other ports alone."""
        area, text = self.of(port, "ospf_area"), str(self.of(port, "ipv4") or "")
        if area is not None or not text or self.of(port, "vrf") is not None:
            return area
        networks = {
            last_key(path): value for path, value in self.facts_below("ospf[").items() if "/network[" in path
        }
        try:
            own = ip_interface(text).ip
            within = {net: value for key, value in networks.items() if own in (net := ip_network(key))}
        except ValueError:
            return None  # by a mask of its own
        if within:
            return within[max(within, key=lambda net: net.prefixlen)]
        return "none" if networks or "ospf_area" in self.port_leaves else None

    def passive_path(self, port: str) -> str:
        """Return the path by which OSPF or IS-IS looks for no neighbors on a port or its bundle, "" without one."""
        for each in self.chain(port):
            values = self.ports.get(each, {})
            for leaf, value in values.items():
                if leaf.startswith(_IGP) and "passive" in leaf and value not in ("false", "off"):
                    return f"{frame.PORT}{each}]/{leaf}"
            for path, value in self.facts_below("ospf[").items() if "ospf_area" in values else ():
                active = str(self.rest.get(f"{path.removesuffix('passive')}active", "")).split(",")
                listed = str(value).split(",") if path.endswith("]/passive") else ()
                if each in listed or ("default" in listed and each not in active):
                    return path
        return ""

    @property
    def has_link_state(self) -> bool:
        """Return whether OSPF or IS-IS runs in the default routing instance."""
        return self.once("link state", lambda: any(self.link_state_paths()))

    def facts_below(self, beginning: str) -> Mapping[str, Value]:
        """Return the facts in `rest` whose paths begin with a text, such as `route_map[`."""
        section = self.remember(_sections_of, _sections_of).get(_section_of(beginning), {})
        return self.remember(
            beginning,
            lambda _: {path: value for path, value in section.items() if path.startswith(beginning)},
        )

    def remember(self, what: Hashable, compute: Callable[[Statement], T]) -> T:
        """Return a result about this device, computed at the first call."""
        if what not in self.results:
            self.results[what] = compute(self)
        found: T = self.results[what]
        return found

    def once(self, what: Hashable, worked_out: Callable[[], T]) -> T:
        """Return a result that needs no own facts of the device, and only tiers of its links: computed once for all."""
        if what not in self.shared:
            self.shared[what] = worked_out()
        found: T = self.shared[what]
        return found

    @property
    def port_leaves(self) -> frozenset[str]:
        """Return the leaves of the facts of all ports; own names in them may be those of a similar device."""
        return self.once("port leaves", lambda: _leaves_of(self.ports))

    @property
    def session_leaves(self) -> frozenset[str]:
        """Return the leaves of the facts of all sessions."""
        return self.once("session leaves", lambda: _leaves_of(self.sessions))

    @property
    def states_quality(self) -> bool:
        """Return whether its files speak of quality of service at all, so that what they leave out is not there."""
        return any(path.startswith(("qos/", "pool/", "watchdog/")) for path in self.rest) or any(
            "pfc" in values or "trust" in values for values in self.ports.values()
        )


def _leaves_of(subjects: Mapping[Any, Mapping[str, Value]]) -> frozenset[str]:
    return frozenset([leaf for values in subjects.values() for leaf in values])


def _section_of(path: str) -> str:
    """Return the first word of a path, such as `route_map` of `route_map[IN]/10`."""
    return path.partition("[")[0].partition("/")[0]


def _sections_of(statement: Statement) -> dict[str, dict[str, Value]]:
    """Return the facts in `rest` by the first word of their paths."""
    found: dict[str, dict[str, Value]] = {}
    for path, value in statement.rest.items():
        found.setdefault(_section_of(path), {})[path] = value
    return found


def read_statement(
    device: Device, place: Place, fars: Mapping[str, LinkPeer], expected: Expectation = NO_PLAN
) -> Statement:
    """Sort the facts of a device."""
    parts = frame.parts_of(device.held)
    rest = parts.rest()
    addresses: dict[str, list[str]] = {}
    for port, own in parts.statements_of_ports():
        for leaf, value in own:
            if leaf in _FAMILIES and isinstance(value, str):
                addresses.setdefault(port, []).extend(value.split(","))  # hosts have several in one fact
            elif leaf.startswith(frame.SECONDARY):
                addresses.setdefault(port, []).append(leaf[len(frame.SECONDARY) : -1])
    parsed = PLAIN.parse_name if device.kind is Kind.HOST else cached_parser(device.system)
    tiers = tuple([(port, far.tier, far.known) for port, far in fars.items()])
    alike = device.system, device.kind, device.model, device.box, place.tier, tiers, expected
    shared = parts.frame.memo.setdefault(alike, {})
    return Statement(
        device,
        place,
        fars,
        parsed,
        expected,
        shared,
        parts.ports(),
        parts.sessions(),
        addresses,
        rest.facts,
        rest.lines,
        parts.frame.memo.setdefault((Statement.chain, device.system, device.kind), {}),
    )


def session_path(key: tuple[str, str], leaf: str) -> str:
    """Path of a fact of a session."""
    vrf, neighbor = key
    return f"{scope_of(vrf)}{frame.NEIGHBOR}{neighbor}]/{leaf}"


def policy_names(stated: object) -> list[str]:
    """Return the names of the policy of a session: one, or that of each family."""
    return [name for _, name in POLICY_OF_FAMILY.findall(str(stated))] or [str(stated)]


def used_policies(sessions: Iterable[tuple[Any, Mapping[str, Value]]], *ways: str) -> set[str]:
    """Return the names of the policies of some sessions in one direction, or in both."""
    return {name for _, values in sessions for way in ways for name in policy_names(values.get(way))}


POLICY_OF_FAMILY = re.compile(r"(ipv[46]) ([^,\s]+)")
"""The policy of a family where each has its own: `ipv4 CONNECTED, ipv6 none`."""


def scope_of(vrf: str) -> str:
    """Return what paths of a routing instance begin with."""
    return f"{frame.VRF}{vrf}]/" if vrf else ""
