"""VLANs, spanning tree and multi-chassis pairs of Junos, as switches of the enhanced layer 2 syntax have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.words import NONE, SPANNING_TREE, kept_statements, put_settings, verbatim_rows
from fabricc.back.reading import Block, Captured, Document, Entry, Keep, Row, Scope, StoredValue
from fabricc.back.reading.rows import parse_numbers
from fabricc.base.diagnostics.wording import split_ranges
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


ALL = "all"
EVERY = "1-4094"
BRIDGED = "irb"
"""The interface whose units are the gateways of VLANs."""

COMMON: Sequence[Row] = (
    Block("(vlans|bridge-domains) <word>", "vlan", (
        Keep("vlan-id <0-4094>", "id"),
        Keep("(l3-interface|routing-interface) <unit>", "gateway"),
        Entry("interface <unit> [<below>]", "ports", lambda _port, below: below or "true"),
        Keep("vxlan vni <integer>", "vni"),
        Keep("vxlan ingress-node-replication", "replication", "ingress"),
        *verbatim_rows("translation-vni multicast-group static-remote-vtep-list decapsulate-accept-inner-vlan "
                  "encapsulate-inner-vlan unreachable-vtep-aging-timer ovsdb-managed", "vxlan", lead="vxlan"),
        *verbatim_rows("bridge-options community-vlans domain-type forwarding-options interface isid-list "
                       "isolated-vlan "
                  "mcae-mac-flush mcae-mac-synchronize no-irb-layer-2-copy no-local-switching private-vlan "
                  "service-id switch-options vlan-id vlan-id-list vlan-id-range vlan-tags mac-table-size filter "
                  "domain-id enable-mac-move-action irb-enhanced-scale multicast-snooping-options protocols "
                  "proxy-mac vlan-id-scope-local"),
    )),
)  # fmt: skip
"""VLANs, of the switch or of a routing instance."""

ROWS: Sequence[Row] = (
    Block("protocols <rstp|mstp|vstp|stp>", "spanning tree", (
        Keep("disable", "disabled"),
        Block("interface <unit>", "port", verbatim_rows(
            "access-trunk bpdu-timeout-action cost disable edge mode no-root-port priority unit")),
        *verbatim_rows("backup-bridge-priority bpdu-block-on-edge bpdu-destination-mac-address bridge-priority "
                  "configuration-name extended-system-id force-version forward-delay hello-time max-age max-hops "
                  "msti priority-hold-time revision-level system-id system-identifier vlan "
                  "vpls-flush-on-topology-change vlan-group"),
    )),
    Block("protocols iccp", "pair", (
        Keep("local-ip-addr <address>", "local"),
        Block("peer <address>", "peer", (
            Keep("backup-liveness-detection backup-peer-ip <address>", "backup"),
            *verbatim_rows("backup-liveness-detection liveness-detection local-ip-addr redundancy-group-id-list "
                      "session-establishment-hold-time authentication-key"),
        )),
        *verbatim_rows("session-establishment-hold-time authentication-key"),
    )),
    Block("multi-chassis multi-chassis-protection <address>", "peer link", (Keep("interface <unit>", "port"),)),
    Keep("switch-options service-id <word>", "service_id"),
)  # fmt: skip


def state(document: Document, scope: Scope) -> dict[str, int]:
    """State the VLANs of the switch or of a routing instance; their numbers by name."""
    found = {}
    for name, vlan in scope.each("vlan").items():
        number, line = vlan.values.get("id", (name, vlan.line))
        if isinstance(number, int):
            found[str(name)] = number
        document.put(f"vlan[{number}]/name", str(name), vlan.line)
        document.put_kept(f"vlan[{number}]/gateway", vlan.values, "gateway")
        if "vni" in vlan.values:
            vni, line = vlan.values["vni"]
            document.put(f"vxlan/vlan[{number}]/vni", vni, line)
            document.put_kept(f"vxlan/vni[{vni}]/replication", vlan.values, "replication")
        put_settings(document, f"vlan[{number}]/", vlan)
    return found


def finish(document: Document, ids: Mapping[str, int]) -> None:
    """State which VLANs ports bridge, by the numbers of all VLANs, spanning tree, and the pair that shares bundles."""
    direct: dict[str, dict[str, int]] = {}
    interfaces, gateways = document.scope.each("interface"), set[str]()
    for scope in (document.scope, *document.scope.each("instance").values()):
        for name, vlan in scope.each("vlan").items():
            for port, (_, line) in vlan.table("ports").items():
                direct.setdefault(str(port), {})[str(name)] = line
            gateway, line = vlan.values.get("gateway", ("", 0))
            gateways.add(str(gateway))
            base, _, tail = str(gateway).partition(".")
            there = interfaces[base].each("unit") if base in interfaces else {}
            if gateway and interfaces and int(tail or 0) not in there:
                document.put(f"unread[{gateway} of VLAN {name}]", "`interfaces` has no such unit", line)
    for number, unit in interfaces[BRIDGED].each("unit").items() if BRIDGED in interfaces else ():
        bridged = bool(gateways - {""}) or number in ids.values()
        if bridged and f"{BRIDGED}.{number}" not in gateways:
            why = "no VLAN has it as its `l3-interface`, so it stays down"
            document.put(f"unread[{BRIDGED}.{number}]", why, unit.line)
    for name, interface in interfaces.items():
        if _PORT.match(str(name)) and not (_NAME.fullmatch(str(name)) or "*" in str(name)):
            at = _unit_line(document, interface, f"{name} ")
            document.put(f"unread[interface {name}]", "no port has such a name", at)
        if _BUNDLE.fullmatch(str(name)):
            _put_idle_bundle(document, str(name), interface, interfaces)
        for number, unit in interface.each("unit").items():
            port = str(name) if number == 0 else f"{name}.{number}"
            if number != 0 and _PORT.match(str(name)) and not _is_tagged(interface, unit):
                why = "without `vlan-tagging` a port has unit 0 alone"
                document.put(
                    f"unread[unit {number} of {name}]", why, _unit_line(document, unit, f"unit {number} ")
                )
            for bridge in unit.each("bridge").values():
                _put_switchport(document, port, bridge, direct.pop(port, {}), ids)
    for port, stored in direct.items():
        document.put(port_paths(port)["vlans"], _vlan_list(stored, ids), max(stored.values()))
    for kind, tree in document.scope.each("spanning tree").items():
        line = tree.values.get("disabled", ("", tree.line))[1]
        if kind == SPANNING_TREE and tree.values.keys() == {"disabled"} and not tree.each("port"):
            document.put("platform/spanning_tree", NONE, line)
            continue
        document.put("spanning_tree/mode", NONE if "disabled" in tree.values else str(kind), line)
        put_settings(document, "spanning_tree/", tree)
        for name, each in tree.each("port").items():
            words = sorted(words for words, _ in kept_statements(each)) or ["on"]
            path = f"spanning_tree/setting[{name}]" if name == ALL else port_paths(str(name))["spanning_tree"]
            document.put(
                path, ",".join(words), max([each.line, *(line for _, line in kept_statements(each))])
            )
    _finish_pair(document)


_BUNDLE = re.compile(r"ae\d+")
_NAME = re.compile(r"(?:et|xe|ge|mge)-\d+/\d+/\d+(?::\d+)?|ae\d+")
_PORT = re.compile(r"(?:et|xe|ge|mge)-\d|ae\d")
_TAGGED = re.compile(
    r"(?:flexible-|stacked-)?vlan-tagging|encapsulation|.*\bvlan-|native-vlan-id|vlan-tags|unit \d+ "
)


def _is_tagged(interface: Scope, unit: Scope) -> bool:
    """Return whether statements of a port, or of a unit, are about the tags of its frames."""
    return bool({"vlan_tag", "native_vlan"} & {*unit.values, *interface.values}) or any(
        _TAGGED.match(words) for scope in (interface, unit) for words, _ in kept_statements(scope)
    )


def _unit_line(document: Document, unit: Scope, words: str) -> int:
    """Return the line that opens a unit, at the first line of it or above."""
    above = range(unit.line, max(unit.line - _DEPTH, 0), -1)
    return next((at for at in above if words in document.lines[at - 1]), unit.line)


_DEPTH = 4


def _put_idle_bundle(
    document: Document, port: str, block: Scope, interfaces: Mapping[Captured, Scope]
) -> None:
    """State a bundle without a member, and a segment that LACP is to number, which the bundle does not run."""
    units = block.each("unit").values()
    if units and not any(each.values.get("bundle", ("", 0))[0] == port for each in interfaces.values()):
        document.put(f"unread[{port}]", "no port is a member of it", min(each.line for each in units))
    derived = next((line for stated, line in kept_statements(block) if stated.startswith(_OF_LACP)), 0)
    if derived and "lacp" not in block.values:
        document.put(
            f"unread[esi of {port}]", "it runs no LACP, from which the segment gets its number", derived
        )


_OF_LACP = "esi auto-derive lacp"


def _put_switchport(
    document: Document, port: str, bridge: Scope, direct: Mapping[str, int], ids: Mapping[str, int]
) -> None:
    """State how a port bridges; without a mode it is an access port (Juniper, `interface-mode`)."""
    paths = port_paths(port)
    mode, line = bridge.values.get("mode", ("access", bridge.line))
    document.put(paths["switchport"], "access" if mode == "access" else "trunk", line)
    stored = {str(name): line for name, (_, line) in bridge.table("vlans").items()} | dict(direct)
    if stored:
        listed, line = _vlan_list(stored, ids), max(stored.values())
        if mode == "access" and is_number(listed):
            document.put(paths["access_vlan"], int(listed), line)
        else:
            document.put(paths["vlans"], listed, line)
    for way, leaf in (("in", "access_list_in"), ("out", "access_list_out")):
        for name, (_, line) in bridge.table(way).items():
            document.put_also(paths[leaf], name, line)
    put_settings(document, paths.prefix, bridge)


def _vlan_list(names: Iterable[str], ids: Mapping[str, int]) -> str:
    """VLANs by their numbers, a name where it has none."""
    found: set[int] = set()
    others = []
    for name in names:
        if name == ALL:
            return EVERY
        if name in ids:
            found.add(ids[name])
        elif (several := parse_numbers(name)) is not None:
            found.update(several)
        else:
            others.append(name)
    return ",".join([*split_ranges(found), *sorted(others)])


def _finish_pair(document: Document) -> None:
    for pair in document.scope.each("pair").values():
        found: dict[str, StoredValue] = {}
        if "local" in pair.values:
            found["local"] = pair.values["local"]
        for address, peer in pair.each("peer").items():
            found["peer"] = (str(address), peer.line)
            if "backup" in peer.values:
                found["backup"] = peer.values["backup"]
            put_settings(document, f"mlag/peer[{address}]/", peer)
        for leaf, stored in found.items():
            document.put(f"mlag/{leaf}", *stored)
        put_settings(document, "mlag/", pair)
    for link in document.scope.each("peer link").values():
        document.put_kept("mlag/peer_link", link.values, "port")
    document.put_kept("mlag/domain", document.scope.values, "service_id")
