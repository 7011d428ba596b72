"""Interfaces of NX-OS: breakouts, ports of the fabric, ports for service, the loopback, the management port."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.management import state_isolation
from fabricc.back.nos.nxos import active_policies, qos, words
from fabricc.back.nos.nxos.foreign.instances import leaking_lines
from fabricc.back.nos.nxos.foreign.switching import OWN, enabled_by_default
from fabricc.back.nos.nxos.tenants import NVE, tenant_vrfs
from fabricc.back.reading import Document, Entry, Keep, Row, Scope, Silent, StoredValue, Topic
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, format_boolean
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import paths_of_port, port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.nos.base import Departure

    Stated = tuple[str, Value, int]

DEPARTURES: tuple[Departure, ...] = ()

SERVICE_DESCRIPTION = "service port"
_LOOPBACK = "loopback0"
DEFAULT_MTU = 1500
UNUSED = Direction.UNUSED  # looking a member up costs more than what is done with it


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Advertisements:
    """Router advertisements, by which neighbors find each other on unnumbered links; seconds."""

    max_s: int
    min_s: int
    lifetime_s: int


ADVERTISEMENTS = Advertisements(4, 3, 10)
"""The shortest interval; NX-OS's own is 600 s (Nexus 9000 unicast routing guide 9.3, BGP interface peering)."""


class PortKind(NamedTuple):
    """Settings that Ethernet interfaces share.

    Attributes:
        speed_mbps: None for a child, whose speed the breakout sets; `fec` is an NX-OS word or None.
        mtu: None at the default.
        layer3: whether the port has an address of any kind.
        pfc: whether PFC is on or off; None for an unused port. Without a word, DCBX of the other end may turn it on
            (Nexus 9000 QoS guide 10.5, priority flow control: `auto` negotiates, and is the default).
        quiet: whether router advertisements are suppressed: hosts have no use for the ToR as an IPv6 router by RA.
    """

    pfc: bool | None
    watchdog: bool
    speed_mbps: int | None
    fec: str | None
    mtu: int | None
    classify: str | None
    queuing_in: str | None
    queuing_out: str | None
    layer3: bool
    quiet: bool


def port_fec(port: Port) -> str | None:
    """Return the Reed-Solomon code of a port's lanes; None below 25 Gb/s a lane.

    RS(528,514) at 25 Gb/s (IEEE 802.3 clauses 91 and 108), RS(544,514) above (clauses 119, 134 and 161).
    """
    if port.speed_gbps > 28 * port.lanes:
        return "kp-fec"
    return "rs-fec" if port.speed_gbps >= 25 * port.lanes else None


def is_routed(port: Port) -> bool:
    """Return whether the port has an address of any kind."""
    return bool(port.ipv4 or port.ipv6 or port.unnumbered)


def is_paused(switch: Switch, port: Port) -> bool:
    """Return whether a used port has lossless classes."""
    return bool(switch.qos.lossless) and port.profile is not None


def is_quiet(port: Port) -> bool:
    """Return whether the port has an IPv6 address towards a host, which would receive router advertisements."""
    return port.direction is Direction.HOST and bool(port.ipv6)


def list_breakouts(switch: Switch) -> list[tuple[str, str]]:
    """Return (ranges of cages, word) of cages with the same split, in the order of their first cages."""
    cages: dict[str, set[int]] = {}
    for port in switch.ports:
        if port.children > 1:
            word = words.breakout_word(port) or f"{port.speed_gbps}g-{port.children}x"
            cages.setdefault(word, set()).add(port.cage)
    ordered = sorted(cages.items(), key=lambda item: min(item[1]))
    return [(words.format_ranges(numbers), word) for word, numbers in ordered]


def ethernet_ports(switch: Switch) -> list[tuple[Port, PortKind]]:
    """Return the Ethernet interfaces of the fabric in panel order, each with its kind."""
    kinds: dict[tuple[object, ...], PortKind] = {}
    found = []
    for port in switch.ports:
        split, layer3 = port.children > 1, is_routed(port)
        alike = port.speed_gbps, port.lanes, port.mtu, port.profile, port.trusted, port.cable_m
        key = (port.direction is UNUSED, split, layer3, is_quiet(port), *alike)
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = _port_kind(switch, port)
        found.append((port, kind))
    return found


def _port_kind(switch: Switch, port: Port) -> PortKind:
    used = port.direction is not UNUSED
    paused = used and is_paused(switch, port)
    pause = qos.pause_of(switch, port)
    return PortKind(
        pfc=paused if used else None,
        watchdog=paused and switch.qos.watchdog is not None,
        speed_mbps=port.speed_gbps * 1000 if port.children == 1 else None,
        fec=port_fec(port) if used else None,
        mtu=port.mtu if used and port.mtu != DEFAULT_MTU else None,
        classify=qos.input_of(port) if used else None,
        queuing_in=qos.input_policy(pause) if pause else None,
        queuing_out=qos.output_policy(port.profile) if used else None,
        layer3=is_routed(port),
        quiet=is_quiet(port),
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State facts of interfaces beyond the neutral ones: routed, redirects, FEC, breakouts, advertisements."""
    for name in words.service_ports(switch.model):
        paths = port_paths(name)
        facts[paths["description"]] = SERVICE_DESCRIPTION
        facts[paths["enabled"]] = "false"
        facts[paths["routed"]] = "true"
        facts[f"structure/port[{name}]/defined"] = words.ONCE
    for port in switch.ports:
        paths = port_paths(port.name)
        facts[paths["routed"]] = "true"
        facts[f"structure/port[{port.name}]/defined"] = words.ONCE
        if word := words.breakout_word(port):
            facts[f"cage[{port.cage}]/breakout"] = word
        if port.direction is UNUSED:
            continue
        if encoding := port_fec(port):
            facts[paths["fec"]] = "rs"
            facts[paths["fec_code"]] = encoding
        if is_routed(port):
            facts[paths["redirects"]] = "off"
        if not is_paused(switch, port):
            facts[paths["qos_setting[priority-flow-control]"]] = "off"
        if is_quiet(port):
            facts[paths["ra"]] = "suppressed"
        if port.unnumbered:
            facts[paths["link_local"]] = "bia"
            facts[paths["ra_max_s"]] = ADVERTISEMENTS.max_s
            facts[paths["ra_min_s"]] = ADVERTISEMENTS.min_s
            facts[paths["ra_lifetime_s"]] = ADVERTISEMENTS.lifetime_s
    words.state_defined(
        facts, words.MANAGEMENT_INTERFACE, {"vrf": words.MANAGEMENT_VRF, "address": switch.management.address}
    )
    loopback = {leaf: facts[f"loopback/{leaf}"] for leaf in ("ipv4", "ipv6") if f"loopback/{leaf}" in facts}
    if loopback:
        words.state_defined(facts, _LOOPBACK, loopback)


# --- and back -----------------------------------------------------------------------------------------

_LEAK = re.compile(r"^\s*(import|export) (vrf|map)\b|\bip(v6)? route \S+ .*\bvrf management\b")
_SPEED_OF = {word: gbps for (_, gbps), word in words.BREAKOUTS.items()}
_REDIRECTS = {"no ip redirects": "ip", "no ipv6 redirects": "ipv6"}
_FECS = {"rs-fec": "rs", "kp-fec": "rs", "rs-ieee": "rs", "rs-cons16": "rs", "fc-fec": "fc"}
TYPES: Mapping[str, Mapping[str, str]] = {
    "breakout": {word: word for word in _SPEED_OF},
    "fec": {word: word for word in _FECS},
}


_MASKS = {str(IPv4Network(f"0.0.0.0/{length}").netmask): length for length in range(1, 33)}
"""Subnet mask, as NX-OS takes and never prints it -> its prefix length."""

ROWS: Sequence[Row] = (
    Entry("interface breakout module 1 port <numbers> map <breakout>", "breakouts"),
    *words.interface_blocks((
        Keep("description <rest>", "description"),
        Keep("shutdown", "enabled", "false"),
        Keep("no shutdown", "enabled", "true"),
        Keep("no switchport", "routed"),
        Keep("mtu <576-9216>", "mtu"),
        Keep("speed <integer>", "speed_gbps", lambda mbps: None if mbps % 1000 else mbps // 1000),
        Silent("fec auto"),
        Keep("fec off", "fec", "none"),
        Keep("fec <fec>", lambda code: {"fec": _FECS[code], "fec_code": code}),
        Keep("vrf member <word>", "vrf"),
        Silent("no (vrf member|ip address|ipv6 address|ip forward) [<rest>]"),
        Keep("ip address <prefix4>", "ipv4"),
        *(Keep(f"ip address <address4> {mask}", "ipv4", f"{{1}}/{length}") for mask, length in _MASKS.items()),
        Keep("ipv6 address <prefix6>", "ipv6"),
        Keep("ip forward", "forward"),
        Keep("ip access-group <word> in", "access_list"),
        *(Keep(line, line) for line in _REDIRECTS),
        Keep("ipv6 address use-link-local-only", "unnumbered"),
        Keep("ipv6 link-local use-bia", "link_local", "bia"),
        Keep("ipv6 nd suppress-ra", "ra", "suppressed"),
        Keep("no ipv6 nd suppress-ra", "ra", "sent"),
        Keep("ipv6 nd ra-interval <integer> [min <integer>]", {"ra_max_s": "{1}", "ra_min_s": "{2}"}),
        Keep("ipv6 nd ra-lifetime <integer>", "ra_lifetime_s"),
        Keep("priority-flow-control mode <on|off|auto>", "pfc"),
        Keep("priority-flow-control watch-dog-interval on", "watchdog", "on"),
        Keep("priority-flow-control watch-dog-interval on disable-action", "watchdog", "off"),
        Keep("service-policy type qos input <word>", "qos input"),
        Keep("service-policy type queuing input <word>", "queuing input"),
        Keep("service-policy type queuing output <word>", "queuing output"),
        Keep("bfd interval <integer> min_rx <integer> multiplier <integer>", "bfd", "{1} {2} {3}"),
    )),
    *(Keep(pattern, "defined", words.ONCE) for pattern in words.INTERFACES),
)  # fmt: skip
_OWN = frozenset({
    "description", "enabled", "routed", "vrf", "mtu", "speed_gbps", "fec", "fec_code", "ipv4", "ipv6", "link_local",
    "ra_max_s", "ra_min_s", "ra_lifetime_s", "bfd",
})  # fmt: skip
"""Names of what is a fact of an interface by itself."""
_PARTS = ("defined", "qos input", "queuing input", "queuing output")
_EXISTS = frozenset({"defined", "access_list", "forward", "watchdog", "ra"})
"""Statements about an unused interface."""


@lru_cache(maxsize=4096)
def _fact_paths(port: str) -> Mapping[str, str]:
    """Return the path of each fact that a single line of an interface states."""
    own = port_paths(port)
    return {leaf: own[leaf] for leaf in _OWN} | {leaf: f"structure/port[{port}]/{leaf}" for leaf in _PARTS}


def finish(document: Document) -> None:
    """State the facts of all interfaces; a policy's facts carry the policy's lines."""
    cages = document.scope.table("breakouts")
    for cage, (word, line) in cages.items():
        document.put(f"cage[{cage}]/breakout", word, line)
    for block in document.scope.scopes.get("interface", {}).values():
        if (
            again := block.values["defined"][1]
        ) != block.line:  # a device prints one, so either may be another's
            document.reject(block.line)
            document.reject(again)
    policies = active_policies.Policies(document)
    vteps = {NVE} if tenant_vrfs(document) else set()  # interfaces that serve VNIs, and no cable
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    for name, block in document.scope.each("interface").items():
        port, values = str(name), block.values
        if port == _LOOPBACK:
            words.state_part(document, port, block, "ipv4", "ipv6")
            for leaf in values.keys() & {"ipv4", "ipv6"}:
                document.put(f"loopback/{leaf}", *values[leaf])
            if values.get("enabled", ("", 0))[0] == "false":
                document.put(f"interface[{port}]/enabled", *values["enabled"])
            if "vrf" in values:
                document.put(f"interface[{port}]/vrf", *values["vrf"])
            for leaf, stated in values.items():
                if leaf[0] == OWN:
                    document.put(f"interface[{port}]/{leaf[1:]}", *stated)
        elif port == words.MANAGEMENT_INTERFACE:
            _put_management(document, block)
        elif not values.keys() <= _EXISTS:
            stored, paths = _fact_paths(port), port_paths(port)
            for leaf, (value, line) in values.items():
                if leaf == "enabled" and value == "true" and port in vteps:
                    continue
                path = stored.get(leaf) or (paths[leaf[1:]] if leaf[0] == OWN else "")
                if path:
                    facts[path] = value
                    lines[path] = (file, line)
            for leaf, value, line in (
                *_derived_facts(document, port, block, cages),
                *policies.of_port(port, values),
            ):
                path = paths[leaf]
                facts[path] = value
                lines[path] = (file, line)
            for name, line in policies.undefined(values):
                document.put(f"unread[service-policy {name}]", "no policy of its type has this name", line)
            if copied := policies.apply_policies(port, values):
                facts.update(copied.facts[port])
                lines.update(zip(paths_of_port(port, copied.facts.leaves), copied.lines, strict=True))
                lines.update({paths[leaf]: (file, line) for leaf, line in copied.shareless})


def _put_management(document: Document, block: Scope) -> None:
    values = block.values
    words.state_part(document, words.MANAGEMENT_INTERFACE, block, "vrf")
    address = values.get("ipv4") or values.get("ipv6")
    if address is None:
        return
    document.put("structure/mgmt0/address", *address)
    vrf, line = values.get("vrf", address)
    if vrf == words.MANAGEMENT_VRF:
        document.put("management/address", *address)
        if block.values.get("enabled", ("", 0))[0] == "false":
            document.put("management/enabled", *block.values["enabled"])
    leading = leaking_lines(document)
    place = (document.file, leading[0] if leading else line)
    state_isolation(document.reading, vrf == words.MANAGEMENT_VRF and not leading, place, _LEAK)


def _derived_facts(
    document: Document, name: str, block: Scope, cages: Mapping[Value, StoredValue]
) -> list[Stated]:
    """Return (leaf, value, line) of facts that need several lines or none: defaults, and the speed of a split."""
    values = block.values
    stated: list[Stated] = []
    if "enabled" not in values:
        stated.append(("enabled", format_boolean(enabled_by_default(name, block, document)), block.line))
    if "ra" in values and values["ra"][0] == "suppressed":
        stated.append(("ra", *values["ra"]))
    if silent := [version for version in _REDIRECTS if version in values]:
        text = "off" if len(silent) == len(_REDIRECTS) else f"off for {_REDIRECTS[silent[0]]}"
        stated.append(("redirects", text, max([values[version][1] for version in silent])))
    if "speed_gbps" not in values:
        cage, _, child = name.removeprefix("Ethernet1/").partition("/")
        if child and is_number(cage) and (split := cages.get(int(cage))):
            stated.append(("speed_gbps", _SPEED_OF[str(split[0])], split[1]))
    if "unnumbered" in values and "forward" in values:
        stated.append(("unnumbered", *values["unnumbered"]))
    addressed = "ipv4" in values or "ipv6" in values or "unnumbered" in values
    if "mtu" not in values and addressed and not name.startswith("loopback"):
        stated.append(("mtu", DEFAULT_MTU, block.line))
    return stated


TOPIC = Topic(ROWS, finish)
