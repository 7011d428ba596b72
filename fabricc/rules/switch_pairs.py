"""Find pairs of switches (MLAG, vPC) that lack a part they need, or that differ between the two."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from fabricc.back.nos import evpn_defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import last_key, outer_key, split_list_path
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE
from fabricc.rules.links import DIFFER
from fabricc.rules.missing_parts import SEGMENT, SOURCES
from fabricc.rules.rule import (
    INTERFACES,
    FabricRule,
    Report,
    Switches,
    SwitchRule,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

_OFF = ("false", False)


def _closed_vlans(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report VLANs that are suspended and in use."""
    device = statement.device
    shut = [
        split_list_path(path, "vlan")[0]
        for path, value in statement.facts_below("vlan[").items()
        if path.endswith("]/enabled") and value in _OFF
    ]
    if not shut:
        return
    used = {str(value) for value in statement.facts_below("evpn/port[").values()}
    used |= {str(each["access_vlan"]) for each in statement.ports.values() if "access_vlan" in each}
    used |= {outer_key(path) for path in statement.facts_below(SEGMENT)}
    used |= {port.lower().removeprefix("vlan") for port in statement.addresses}
    for vlan in shut:
        if vlan in used:
            message = f"{statement.name}: VLAN {vlan} is suspended, and ports or gateways are in it"
            remedy = "Activate the VLAN, or take the ports out of it."
            path = f"vlan[{vlan}]/enabled"
            yield finding_at(IDLE, device, path, message, "suspended VLAN", Severity.WARNING, remedy)


_SHARED_SOURCE = "vxlan/source_mlag"


_LOCAL, _PEER_LINK, _DOMAIN, _MAC_OF_PAIR = "mlag/local", "mlag/peer_link", "mlag/domain", "mlag/mac"


_EDGE = re.compile(r"\b(?:portfast|bpdufilter enable|bpdu-filter on|port type edge)\b")


_GROUP = "trunk group "


_NO_VLANS = ("none", "")


def _incomplete_pairs(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch of a pair without a part that the pair needs, and bundles of a pair that there is not."""
    device, facts = statement.device, statement.rest
    stated = statement.facts_below("mlag/")
    required = evpn_defaults.parts_of_pair(device.system)
    lacks = [words for path, words in required.items() if path not in facts]
    if stated and lacks and (sessions.runs_bgp or _DOMAIN in facts):
        message = f"{device.name} is one of a pair of switches and has no {join_words(lacks, 4)}: the pair is not up"
        remedy = "Configure the missing part of the pair."
        paths = (*required, next(iter(stated)))
        yield finding_at(IDLE, device, paths, message, "part of pair", Severity.WARNING, remedy)
    shared = [port for port, values in statement.ports.items() if "mlag" in values]
    if required and shared and not stated and sessions.runs_bgp:
        message = (
            f"{device.name} {join_words(shared, 2)}: a bundle of two switches, and no pair is configured"
        )
        path, remedy = f"{PORT}{shared[0]}]/mlag", "Configure the pair of switches, or an ordinary bundle."
        yield finding_at(IDLE, device, path, message, "no pair", Severity.WARNING, remedy)
    local = str(facts.get(_LOCAL, ""))
    if local and required.get(_LOCAL) and sessions.addresses:
        if local not in statement.addresses:
            message = f"{device.name} reaches the other switch of its pair by {local}, which has no address"
            remedy = "Name the VLAN interface of the pair, or give it its address."
            yield finding_at(IDLE, device, _LOCAL, message, "pair interface", Severity.WARNING, remedy)
        elif statement.ports[local].get("enabled") in _OFF:
            message = f"{device.name} reaches the other switch of its pair by {local}, which is shut"
            path, remedy = f"{PORT}{local}]/enabled", "Enable the VLAN interface."
            yield finding_at(IDLE, device, path, message, "pair interface shut", Severity.WARNING, remedy)
    managed = str(facts.get("management/address", "")).partition("/")[0]
    if facts.get("mlag/backup") is not None and str(facts["mlag/backup"]) in {
        local,
        managed,
        *sessions.addresses,
    }:
        message = f"{device.name} sends the keepalives of its pair to itself ({facts['mlag/backup']})"
        remedy = "Name the address of the other switch."
        yield finding_at(IDLE, device, "mlag/backup", message, "own keepalive", Severity.WARNING, remedy)
    yield from _faults_of_peer_link(statement, local)


def _faults_of_peer_link(statement: Statement, local: str) -> Iterator[Finding]:
    """Report the link of a pair if it is shut, carries no VLANs or not that of the pair, or is an edge port."""
    device, name = statement.device, str(statement.rest.get(_PEER_LINK, ""))
    values = statement.ports.get(name, {})
    vlan = local.lower().removeprefix("vlan")
    keys = (last_key(path) for path in statement.facts_below(f"vlan[{vlan}]/"))
    groups = [key for key in keys if key.startswith(_GROUP)]
    faults = {
        "enabled": "is shut" if values.get("enabled") in _OFF else "",
        "switchport": "is in one VLAN alone" if values.get("switchport") == "access" else "",
        "vlans": "carries no VLAN" if values.get("vlans", "all") in _NO_VLANS else "",
        "spanning_tree": "is an edge port, so a loop is not noticed"
        if _EDGE.search(str(values.get("spanning_tree", "")))
        else "",
    }
    if groups and not any(f"setting[switchport {key}]" in values for key in groups):
        faults["mlag"] = f"is in no trunk group of VLAN {vlan}, by which the two switches talk"
    for leaf, fault in faults.items():
        if fault and values:
            message = f"{device.name}: the link {name} to the other switch of the pair {fault}"
            paths = (f"{PORT}{name}]/{leaf}", f"{PORT}{name}]/enabled", _PEER_LINK)
            remedy = "Let the link be a trunk with all VLANs of the pair, and no edge port."
            yield finding_at(IDLE, device, paths, message, "peer link", Severity.WARNING, remedy)
    if statement.rest.get("spanning_tree/mode") == "none" and statement.facts_below("mlag/"):
        message = f"{device.name} is one of a pair and runs no spanning tree: a wrong cable loops frames"
        remedy = "Enable spanning tree."
        yield finding_at(
            IDLE, device, "spanning_tree/mode", message, "no spanning tree", Severity.WARNING, remedy
        )


def _compare_pairs(fabric: Switches) -> Iterator[Report]:
    """Report settings that differ on the two switches of a pair, and those that two pairs share."""
    yield from _shared_by_pairs(fabric)
    managed = {
        each.pair.backup: [*fabric.owners(each.pair.backup)]
        for each in fabric.summaries.values()
        if each.pair
    }
    for name, each in fabric.summaries.items():
        if each.pair and each.pair.management in managed:
            managed[each.pair.management] = [name]
    managed.pop("", None)
    for name, summary in fabric.summaries.items():
        owners = [each for each in fabric.owners(summary.pair.peer) if each != name] if summary.pair else []
        if summary.pair and not owners:
            owners = [each for each in managed.get(summary.pair.backup, ()) if each != name]
        linked = [each for each in owners if each in fabric.linked(name)]
        owners = linked or owners
        far = fabric.summaries.get(owners[0]) if len(owners) == 1 else None
        if summary.pair is None or far is None or far.pair is None:
            continue
        mutual = [name] in ([*fabric.owners(far.pair.peer)], managed.get(far.pair.backup))
        if not linked and not mutual:
            continue
        mine, its, other = summary.pair, far.pair, owners[0]
        faults = [
            (f"the domain {mine.domain}, and {other} {its.domain}", (_DOMAIN,), mine.domain != its.domain),
            (f"the system MAC {mine.mac}, and {other} {its.mac}", (_MAC_OF_PAIR,), mine.mac != its.mac),
            (
                f"the shared VTEP {mine.shared or 'none'}, and {other} {its.shared or 'none'}",
                (_SHARED_SOURCE, *SOURCES),
                mine.shared != its.shared,
            ),
            (
                f"the VTEP {summary.vtep}, and {other} {far.vtep}",
                (*SOURCES, "loopback/ipv4"),
                bool(mine.shares_vtep and summary.vtep and far.vtep) and summary.vtep != far.vtep,
            ),
        ]
        for number, (vlans, start, static) in mine.bundles.items():
            if number not in its.bundles:
                faults.append((f"the bundle {number} of the pair, and {other} not", (f"{start}mlag",), True))
                continue
            if static and not its.bundles[number][2]:
                faults.append((f"no LACP on bundle {number}, and {other} has it", (static,), True))
            if vlans != its.bundles[number][0]:
                words = f"VLANs {vlans or 'all'} on bundle {number}, and {other} {its.bundles[number][0] or 'all'}"
                faults.append((words, (f"{start}vlans", f"{start}access_vlan", f"{start}mlag"), True))
        for words, paths, differs in faults:
            if differs:
                message, remedy = (
                    f"{name} has {words}: they are one pair",
                    "Configure both switches of the pair alike.",
                )
                yield Report(DIFFER, name, paths, message, "pair", Severity.WARNING, remedy)


def _shared_by_pairs(fabric: Switches) -> Iterator[Report]:
    """Report a system MAC or an address of VTEPs that more than the two switches of a pair have."""
    for what, leaf, path in (("system MAC", "mac", _MAC_OF_PAIR), ("shared VTEP", "shared", _SHARED_SOURCE)):
        users: defaultdict[str, list[str]] = defaultdict(list)
        for name, summary in fabric.summaries.items():
            if summary.pair and (value := getattr(summary.pair, leaf)):
                users[value].append(name)
        for value, found in users.items():
            joined = fabric.reachable({found[0]}) if len(found) > _TWO else ()
            names = [name for name in found if name in joined]
            for name in names if len(names) > _TWO else ():
                others = join_words([each for each in names if each != name], 3)
                message = f"{name} has the {what} {value} of {others}: it belongs to one pair"
                remedy = "Give each pair a value of its own."
                yield Report(DIFFER, name, (path,), message, "pair", Severity.WARNING, remedy)


_TWO = 2


RULES = (
    SwitchRule(IDLE, INTERFACES, (), _closed_vlans),
    SwitchRule(IDLE, INTERFACES, (), _incomplete_pairs),
    FabricRule(DIFFER, INTERFACES, (), _compare_pairs),
)
