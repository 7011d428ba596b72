"""Interfaces: management, loopback, ports and the cages that are broken out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import bgp, bgp_rows, qos, qos_rows, tenants
from fabricc.back.nos.cumulus.limits import TRIMMING, Release, has
from fabricc.back.nos.cumulus.startup import (
    File,
    Tree,
    fixed_text,
    is_on,
    line_of,
    nearest_line,
    node_part,
    scope_at,
)
from fabricc.back.nos.cumulus.words import FABRIC, LOOPBACK, MANAGEMENT, MANAGEMENT_VRF, cage_name
from fabricc.back.nos.management import ISOLATED, state_isolation
from fabricc.back.reading import Block, Entry, Fact, Keep, Row, Scope, Silent, block_rows
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.nos.base import Departure
    from fabricc.fabric.facts import Facts, Reading, Value

DEPARTURES: tuple[Departure, ...] = ()


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


def port_fec(port: Port) -> str:
    """Reed-Solomon from 25 Gb/s a lane up (IEEE 802.3 clauses 91, 119, 134, 161, 172), none below."""
    return "rs" if port.speed_gbps >= 25 * port.lanes else "off"


def interface_tree(switch: Switch, release: Release) -> Tree:
    """Everything below `interface`."""
    management = switch.management
    rows: Tree = {
        MANAGEMENT: {
            "type": "eth",
            **_address_tree(release, (management.address,), management.gateway, MANAGEMENT_VRF),
        },
        LOOPBACK: {
            "type": "loopback",
            **_address_tree(
                release,
                (
                    switch.loopback4 and f"{switch.loopback4}/32",
                    switch.loopback6 and f"{switch.loopback6}/128",
                ),
            ),
        },
    }
    profiles = qos.port_qos(switch)
    adaptive = bgp.adaptive_routing(switch, release)
    trimmed = qos.active_trimming(switch)
    eligible: Tree = {str(queue): {} for queue in trimmed.queues} if trimmed else {}
    for port in switch.ports:
        if port.children > 1:
            rows[cage_name(switch.model, port.cage)] = {
                "link": {"breakout": {f"{port.children}x": {"lanes-per-port": str(port.lanes)}}},
                "type": "swp",
            }
        rows[port.name] = row = _port_tree(port, release)
        if port.profile in profiles:
            row["qos"] = profiles[port.profile]
        elif switch.qos.vendor:  # its PFC is on unused ports too
            row["qos"] = qos.WATCHED
        if not port.trusted:
            row["qos"] = {"mapping": {"profile": qos.UNTRUSTED}}
        if adaptive and port.direction in FABRIC:
            row["router"] = adaptive
        if eligible and port.direction is not Direction.UNUSED:
            row["packet-trim"] = {"egress-eligibility": {"traffic-class": eligible}}
    return rows


def _port_tree(port: Port, release: Release) -> Tree:
    row: Tree = {
        "description": port.description,
        "link": {
            "fec": port_fec(port),
            "mtu": port.mtu,
            "speed": f"{port.speed_gbps}G",
            "state": {"up" if port.enabled else "down": {}},
        },
        "type": "swp",
    }
    if port.direction is not Direction.UNUSED:
        row.update(_address_tree(release, (port.ipv4, port.ipv6), vrf=port.vrf))
    return row


def _address_tree(
    release: Release, addresses: tuple[str | None, ...], gateway: str = "", vrf: str = ""
) -> Tree:
    """Return an interface's addresses, gateway and VRF, where the release has them."""
    present = [address for address in addresses if address]
    if not release.family_addresses:
        row: Tree = {"address": {address: {} for address in present}} if present else {}
        if gateway:
            row["gateway"] = {gateway: {}}
        if vrf:
            row["vrf"] = vrf
        return {"ip": row} if row else {}
    rows: Tree = {"vrf": vrf} if vrf else {}
    for family, colon in (("ipv4", False), ("ipv6", True)):
        own = [address for address in present if (":" in address) is colon]
        part: Tree = {"address": {address: {} for address in own}} if own else {}
        if gateway and (":" in gateway) is colon:
            part["gateway"] = {gateway: {}}
        if part:
            rows[family] = part
    return rows


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State the facts of NVUE about ports beyond the Fabric."""
    for port in switch.ports:
        facts[f"interface[{port.name}]/configured"] = "true"
        paths = port_paths(port.name)
        facts[paths["fec"]] = port_fec(port)
        facts[paths["mtu"]] = port.mtu
        if port.children > 1:
            cage = f"breakout[{cage_name(switch.model, port.cage)}]"
            facts[cage + "/configured"] = "true"
            facts[cage] = f"{port.children}x"
            facts[cage + "/lanes"] = port.lanes


# --- and back --------------------------------------------------------------------------------------------

_CHILD = re.compile(r"(swp[0-9]+)s[0-9]+")
_LEAK = re.compile(r"setting\[ipv[46] route-import\]$")
"""Path of a setting that leaks routes between VRFs."""
_SPEED = re.compile(r"([0-9]{1,6})G")
_FAMILIES = ("ipv4", "ipv6")
_STATED = ("description", "fec", "mtu", "speed_gbps")


def _parse_gbps(text: str) -> Value:
    found = _SPEED.fullmatch(text)
    return int(found[1]) if found else text


TYPES = {"speed": _parse_gbps}


def _family_keys(release: Release) -> tuple[str, ...]:
    """Return the keys below which addresses stand."""
    return _FAMILIES if release.family_addresses else ("ip",)


def rows(release: Release) -> Sequence[Row]:
    """Return what is below `interface`."""
    vrf = Keep("vrf <word>", "vrf")
    inside = [] if release.family_addresses else [vrf]
    addresses = [
        Block(family, "", (Entry("address <prefix>", family), *inside)) for family in _family_keys(release)
    ]
    management = [
        node_part(
            family, Entry("address <prefix>", family), Fact("gateway <word>", "management/gateway"), *inside
        )
        for family in _family_keys(release)
    ]
    return (
        node_part(
            "interface",
            node_part(MANAGEMENT, fixed_text("type: eth"), *management, *([] if inside else [vrf])),
            node_part(LOOPBACK, fixed_text("type: loopback"), *(node_part(b.pattern,
                block_rows(b.rows)[0]) for b in addresses)),
            Block("<keys>", "port", (
                fixed_text("type: swp"),
                Keep("description <word>", "description"),
                Block("link", "", (
                    Keep("fec <word>", "fec"),
                    Keep("mtu <integer>", "mtu"),
                    Keep("speed <speed>", "speed_gbps"),
                    Silent("state"),
                    Entry("state <up|down>", "states"),
                    node_part("breakout", Block("<word>", "mode", (Keep("lanes-per-port <integer>", "lanes"),))),
                )),
                *addresses,
                *([] if inside else [vrf]),
                Block("router", "", (bgp_rows.adaptive_rows(release),)),
                *qos_rows.PORT,
                *([qos_rows.TRIMMED] if has(release.name, TRIMMING) else ()),
            )),
        ),
    )  # fmt: skip


def finish(file: File) -> None:
    """State every interface, with the policy to which it is bound."""
    root, release = file.root, file.release
    interface = scope_at(root, "interface")
    for name in (MANAGEMENT, LOOPBACK):
        if scope_at(interface, name) is None:
            file.missing(nearest_line(root, "interface"), f"interface {name} is missing")
    if management := scope_at(interface, MANAGEMENT):
        _finish_management(file, management, release)
    if loopback := scope_at(interface, LOOPBACK):
        file.note_expected(("interface", LOOPBACK, "ip"), "loopback/ipv4", "loopback/ipv6")
        for family in _family_keys(release):
            _finish_addresses(file, scope_at(loopback, family), family, "loopback")
    policy = qos_rows.Policy(file)
    split: set[str] = set()
    for key, port in interface.each("port").items() if interface else ():
        name = str(key)
        if breakout := scope_at(port, "breakout"):
            _finish_breakout(file, name, port, breakout)
            continue
        _finish_port(file, name, port, release)
        policy.port(name, port)
        if found := _CHILD.fullmatch(name):
            split.add(found[1])
    for cage in sorted(split):
        if f"breakout[{cage}]" not in file.facts:
            file.missing(nearest_line(root, "interface"), f"breakout of {cage} is missing")
    qos_rows.finish(policy)


def _finish_management(file: File, management: Scope, release: Release) -> None:
    """State addresses, and that the port is in an isolated VRF."""
    families = _family_keys(release)
    file.note_expected(("interface", MANAGEMENT, families[0]), "management/address", "management/gateway")
    for family in families:
        _finish_addresses(file, scope_at(management, family), family, "management/address", whole=True)
    above = management if release.family_addresses else scope_at(management, families[0]) or management
    word, line = above.values.get("vrf", ("", above.line))
    if not word:
        file.missing(line, f"vrf: {MANAGEMENT_VRF} is missing")
    elif word != MANAGEMENT_VRF:
        file.reject(line)
    state_isolation(file.document.reading, word == MANAGEMENT_VRF, (file.document.file, line))


def finish_isolation(reading: Reading) -> None:
    """State that settings of BGP lead routes into the VRF of the management port or out of it."""
    if (isolated := reading.facts.get(ISOLATED)) is not None:
        place = reading.lines[ISOLATED]
        state_isolation(reading, isolated == "true", place, _LEAK, MANAGEMENT_VRF)


def _finish_addresses(
    file: File, scope: Scope | None, parent: str, path: str, *, whole: bool = False
) -> None:
    """State an interface's addresses; a second one of the same family is no plan's and not known.

    `path` states them by family, or all of them where it is `whole`.
    """
    for address, (_, line) in scope.table(parent).items() if scope else ():
        family = "ipv6" if ":" in str(address) else "ipv4"
        stated = path if whole else f"{path}/{family}"
        if stated in file.facts or parent not in ("ip", family):
            file.reject(line)
        else:
            file.put(stated, address, line)


def _finish_breakout(file: File, name: str, port: Scope, breakout: Scope) -> None:
    """State a cage whose children are ports; further statements about it are unknown, because no plan has them."""
    file.put(f"breakout[{name}]/configured", "true", port.line)
    for mode, scope in breakout.each("mode").items():
        if "lanes" in scope.values and f"breakout[{name}]" not in file.facts:
            file.put(f"breakout[{name}]", str(mode), scope.line)
            file.put(f"breakout[{name}]/lanes", *scope.values["lanes"])
        else:
            file.missing(scope.line, "lanes-per-port is missing, or a second breakout")
    others = [line for key, (_, line) in port.values.items() if key != "type: swp"]
    others += [line for entries in port.tables.values() for _, line in entries.values()]
    for line in others:
        file.reject(line)
    if any(part.tables for part in port.scopes.get("ip", {}).values()) or "description" in port.values:
        file.put(f"unread[{name}]", "the port is split, and only its parts are ports", breakout.line)


def _finish_port(file: File, name: str, port: Scope, release: Release) -> None:
    file.put(f"interface[{name}]/configured", "true", port.line)
    paths, states = port_paths(name), port.table("states")
    for leaf in _STATED:
        file.state_stored(paths[leaf], port, leaf)
    if len(states) > 1:
        for _, line in states.values():
            file.reject(line)
    else:  # a configured port is up unless it is set down
        word, line = next(iter(states.values()), ("up", port.line))
        file.put(paths["enabled"], "true" if word == "up" else "false", line)
    for family in _family_keys(release):
        _finish_addresses(file, port, family, f"interface[{name}]")
    above = [port, *(part for family in _family_keys(release) if (part := scope_at(port, family)))]
    for word, line in (each.values["vrf"] for each in above if "vrf" in each.values):
        if word in (tenants.tenant_vrfs(file) or ()):
            file.put(paths["vrf"], word, line)
        else:
            file.reject(line)
    if adaptive := scope_at(port, "adaptive-routing"):
        taking_part = "true" if is_on(adaptive) else "false"
        file.put(paths["adaptive_routing"], taking_part, line_of(adaptive))
