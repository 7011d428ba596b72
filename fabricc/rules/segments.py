"""Find overlays that do not come up: VTEPs without an address, and segments that switches configure differently."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, evpn_defaults
from fabricc.back.nos.route_blocks import GATEWAY_MACS, targets_of_policy
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern
from fabricc.facts.statement import Statement, session_path
from fabricc.rules.findings import finding_at
from fabricc.rules.records import SegmentSetting
from fabricc.rules.rule import ADDRESSES, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    UPPER,
    Key,
    Sessions,
    carries_evpn,
    external_sessions,
    is_address,
    open_sessions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

SOURCE, SEGMENT = "FAB9690", "FAB9691"
_FIRST_LOOPBACKS = ("loopback0", "lo0.0", "lo0", "lo")
"""Names of the interface whose addresses are those of `loopback/`."""
_LOOPBACK = re.compile(r"lo(?:opback)?\d*(?:\.\d+)?", re.IGNORECASE)
INSTANCE = "(?:vrf[_]/)?"
VNI = path_pattern(f"{INSTANCE}(?:evpn/segment|vxlan/vlan)[#]/vni")
_TARGET = path_pattern(f"{INSTANCE}evpn/(segment|vni)[#]/route_target")
VRF_VNI = path_pattern("(?:evpn|vxlan)/vrf[*]/vni")
_VRF_TARGET = path_pattern("(?:evpn/vrf[*]/route_target|vrf[*]/import)")
_SHARED = {
    "evpn/anycast_mac": "gateway MAC",
    "vxlan/setting[gateway MAC]": "gateway MAC",
    "evpn/udp_port": "UDP port",
    "vxlan/port": "UDP port",
}
"""Path -> kind of a setting that all VTEPs of a fabric share."""
_VXLAN_PORT = "4789"  # RFC 7348
_VLAN_PORT = re.compile(r"(?:vlan|irb\.|Vlan)(\d+)", re.IGNORECASE)
_GATEWAY, _SOURCES = "gateway[", ("vxlan/source", "evpn/source")


def segment_settings(statement: Statement) -> tuple[SegmentSetting, ...]:
    """Return the settings of a switch that other switches with the segment must share."""
    numbers = {
        match[1]: str(value)
        for path, value in statement.rest.items()
        if path[0] in "ev" and (match := VNI.fullmatch(path))
    }
    found = [*_stated_numbers(statement, numbers), *_stated_gateways(statement, numbers)]
    return tuple(each for each in found if each.owner)


def _stated_numbers(statement: Statement, numbers: Mapping[str, str]) -> Iterator[SegmentSetting]:
    """Yield VNIs, route targets, and what all VTEPs share; `numbers`: the VNI of each VLAN."""
    facts = statement.rest
    for path, value in facts.items():
        if path[0] not in "ev":
            continue
        one = (frozenset({str(value)}),) * 2
        if match := VNI.fullmatch(path):
            yield SegmentSetting("VNI", f"VLAN {match[1]}", one, path)
        elif match := VRF_VNI.fullmatch(path):
            yield SegmentSetting("VNI", f"VRF {match[1]}", one, path)
        elif path in _SHARED:
            yield SegmentSetting(_SHARED[path], "all segments", one, path)
        elif path.endswith(("/route_target", "/import")):
            if match := _TARGET.fullmatch(path):
                vni = match[2] if match[1] == "vni" else numbers.get(match[2], "")
                owner, text = f"VNI {vni}" if vni else "", str(value)
            elif match := _VRF_TARGET.fullmatch(path):
                exported = facts.get(f"{path.removesuffix('import')}export", value)
                if not match[1] and statement.facts_below(f"route_map[{value}]/"):
                    yield from _targets_by_policies(statement, match[2], str(value), str(exported))
                    continue
                owner, text = f"VRF {match[1] or match[2]}", f"import {value} export {exported}"
                text = str(value) if match[1] else text
            else:
                continue
            if targets := read_targets(text):
                yield SegmentSetting("route target", owner, targets, path)
    if any(path in facts for path in _SOURCES) and not any(
        path in facts for path in ("evpn/udp_port", "vxlan/port")
    ):
        port = (frozenset({_VXLAN_PORT}),) * 2
        yield SegmentSetting(
            "UDP port", "all segments", port, next(path for path in _SOURCES if path in facts)
        )


def _targets_by_policies(
    statement: Statement, vrf: str, imports: str, exports: str
) -> Iterator[SegmentSetting]:
    """Yield the route targets of a VRF whose policies name them."""
    taken, path = targets_of_policy(statement.facts_below, imports, "import")
    sent, _ = targets_of_policy(statement.facts_below, exports, "export")
    if taken and sent:
        yield SegmentSetting("route target", f"VRF {vrf}", (sent, taken), path)


RELAYED = "DHCP relay"
_RELAY, _NONE = "dhcp_relay", "none"
_MOST_RELAY = 3
"""Switches with a relay for a VLAN from which one without is odd."""


def _stated_gateways(statement: Statement, numbers: Mapping[str, str]) -> Iterator[SegmentSetting]:
    """Yield gateways, their MAC addresses, and which subnets and VRFs a VTEP has tunnels of."""
    facts, vrfs = statement.rest, {}
    tunneled = any(path in facts for path in _SOURCES)
    always = not statement.port_leaves.isdisjoint(GATEWAY_MACS)
    for port, values in statement.ports.items():
        match, subnet = _VLAN_PORT.fullmatch(port), values.get("ipv4")
        if not match or not isinstance(subnet, str) or "/" not in subnet:
            continue
        addresses = {str(value): leaf for leaf, value in values.items() if leaf.startswith(_GATEWAY)}
        owner = f"VLAN {match[1]} {ip_interface(subnet).network}"
        relayed = frozenset({"stated" if _RELAY in values else _NONE})
        path = f"{PORT}{port}]/{_RELAY if _RELAY in values else 'ipv4'}"
        yield SegmentSetting(RELAYED, f"VLAN {match[1]}", (relayed,) * 2, path)
        for leaf in GATEWAY_MACS:
            if (mac := values.get(leaf)) is not None:
                yield SegmentSetting(
                    "gateway MAC", owner, (frozenset({str(mac)}),) * 2, f"{PORT}{port}]/{leaf}"
                )
        if addresses or always or match[1] in numbers:
            gateways, leaf = frozenset(addresses or ("none",)), next(iter(addresses.values()), "ipv4")
            yield SegmentSetting("gateway", owner, (gateways, gateways), f"{PORT}{port}]/{leaf}")
        if tunneled:
            yield SegmentSetting("tunnel", owner, _TUNNELS[match[1] in numbers], f"{PORT}{port}]/ipv4")
            vrfs[str(values.get("vrf", ""))] = f"{PORT}{port}]/vrf"
    for name, path in vrfs.items():
        has = any(f"{start}/vrf[{name}]/vni" in facts for start in ("evpn", "vxlan"))
        if name:
            yield SegmentSetting(
                "tunnel", f"VRF {name}", _TUNNELS[has], f"vrf[{name}]" if f"vrf[{name}]" in facts else path
            )
    for path, text in statement.facts_below("evpn/segment[").items():
        if path.endswith("]/ipv4") and "/" in str(text):
            vlan, network = first_key(path), ip_interface(str(text)).network
            address = str(text).partition("/")[0]
            shut = statement.ports.get(f"Vlan{vlan}", {}).get("enabled") == "false"
            known = "none (its interface is shut)" if shut else address
            at = f"{PORT}Vlan{vlan}]/enabled" if shut else path
            yield SegmentSetting("gateway", f"VLAN {vlan} {network}", (frozenset({known}),) * 2, at)
            if not shut:
                near = (frozenset({str(network)}),) * 2
                yield SegmentSetting("subnet", f"VLAN {vlan} {address}", near, path)
                yield SegmentSetting("kind of gateway", f"VLAN {vlan} {address}", _VIRTUAL, path)
        elif path.endswith("]/vni") and evpn_defaults.states_segments(statement.device.system):
            vlan, port = first_key(path), f"Vlan{first_key(path)}"
            if own := str(statement.ports.get(port, {}).get("ipv4", "")).partition("/")[0]:
                yield SegmentSetting("kind of gateway", f"VLAN {vlan} {own}", _ONE, f"{PORT}{port}]/ipv4")


_TUNNELS = tuple((frozenset({words}),) * 2 for words in ("none", "VXLAN"))
_VIRTUAL, _ONE = ((frozenset({words}),) * 2 for words in ("virtual", "of one switch"))


def read_targets(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the route targets that a segment exports and imports; None where the system derives one of them."""
    if "auto" in text.split() or text.partition(" ")[0] not in ("import", "export"):
        both = frozenset(text.replace(",", " ").split())
        return None if "auto" in both or not both else (both, both)
    imports, _, exports = text.partition("export")
    found = [frozenset(part.replace("import", "").replace(",", " ").split()) for part in (exports, imports)]
    return (
        (found[0], found[1]) if all(found) and all(":" in each for part in found for each in part) else None
    )


def _dead_sources(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a VTEP whose source has no address, and loopbacks with an address that are shut."""
    for path, source in statement.rest.items():
        if path.endswith(_SOURCES) and not _has_address(statement, str(source), sessions):
            message = (
                f"{statement.name} sends VXLAN from {source}, not one of its addresses: its VTEP stays down"
            )
            remedy = "Name the loopback that has the VTEP's address, or give this one an address."
            yield finding_at(SOURCE, statement.device, path, message, "VTEP source", Severity.WARNING, remedy)
    for key, values in (
        statement.sessions.items()
        if sessions.addresses and defaults.certain_default_mtu(statement.device.system)
        else ()
    ):
        source = str(values.get("update_source", ""))
        if source and not key[0] and not is_address(source) and not _has_address(statement, source, sessions):
            message = (
                f"{statement.name}: the session with {key[1]} connects from {source}, which has no address"
            )
            path = session_path(key, "update_source")
            remedy = "Name the loopback that has the address, or give this one an address."
            yield finding_at(
                SOURCE, statement.device, path, message, "session source", Severity.WARNING, remedy
            )
    for port, values in statement.ports.items():
        shut = _LOOPBACK.fullmatch(port) and values.get("enabled") in (False, "false")
        if shut and any(_has_address(statement, each, sessions) for each in (port, f"{port}.0")):
            message = f"{statement.name} {port} is shut and has an address: nobody reaches the address"
            path = f"{PORT}{port}]/enabled"
            remedy = "Enable the loopback."
            yield finding_at(
                SOURCE, statement.device, path, message, "loopback shut", Severity.WARNING, remedy
            )


def _vteps_without_source(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report VNIs of a switch that names no source of its tunnels, in the file that would name it."""
    path = next((each for each in statement.rest if VNI.fullmatch(each) or VRF_VNI.fullmatch(each)), "")
    if not path or any(each.endswith(_SOURCES) for each in statement.rest):
        return
    file = statement.lines.get(path, ("", 0))[0]
    stated = evpn_defaults.states_source(statement.device.system, file)
    routed = any(map(VRF_VNI.fullmatch, statement.rest))  # whose overlay reports it
    if routed and evpn_defaults.lacks_vtep_source(statement.device.system, statement.device.files.values()):
        return
    if stated and any(carries_evpn(sessions, key) for key in sessions.stated):
        message = f"{statement.name} has VNIs and no source of VXLAN: it has no tunnel"
        remedy = "Name the loopback, or its address, from which the switch sends VXLAN."
        yield finding_at(SOURCE, statement.device, path, message, "VTEP source", Severity.WARNING, remedy)


def _has_address(statement: Statement, port: str, sessions: Sessions) -> bool:
    """Return whether an interface has an address, or the switch the address that is named in its place."""
    if ":" in port or is_number(port[:1]):
        return not sessions.addresses or port.partition("/")[0] in sessions.addresses
    if port.lower() in _FIRST_LOOPBACKS and any(f"loopback/ipv{each}" in statement.rest for each in "46"):
        return True
    values = statement.ports.get(port, {})
    return any(leaf.startswith(("ipv4", "ipv6", "secondary", "dhcp")) for leaf in values)


def _dead_peers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report an MLAG peer whose address is in no subnet of the interface that leads to it."""
    peer, local = str(statement.rest.get("mlag/peer", "")), str(statement.rest.get("mlag/local", ""))
    subnet = statement.ports.get(local, {}).get("ipv4")
    routed = evpn_defaults.routes_to_peer(statement.device.system)
    if not subnet and is_address(peer) and statement.addresses and not routed:
        near = [text for texts in statement.addresses.values() for text in texts]
        if not any(_is_near(peer, text) for text in near):
            message = f"{statement.name} expects its MLAG peer at {peer}, which is in no subnet of its ports"
            remedy = "Name the peer's address on the link of the pair."
            yield finding_at(
                SOURCE, statement.device, "mlag/peer", message, "MLAG peer", Severity.WARNING, remedy
            )
    if not isinstance(subnet, str) or "/" not in subnet or not is_address(peer):
        return
    address = ip_address(peer)
    if address not in ip_interface(subnet).network or address == ip_interface(subnet).ip:
        message = (
            f"{statement.name} expects its MLAG peer at {peer}, and {local} has {subnet}: they do not meet"
        )
        remedy = "Name the peer's address in the subnet of the local interface."
        yield finding_at(
            SOURCE, statement.device, "mlag/peer", message, "MLAG peer", Severity.WARNING, remedy
        )


def _is_near(address: str, text: str) -> bool:
    """Return whether an address is in the subnet of another one; link-local ones are on each port."""
    return ip_address(address).is_link_local or ip_address(address) in ip_interface(text).network


def _passing_sessions(statement: Statement, sessions: Sessions) -> Iterator[tuple[Key, Mapping[str, Value]]]:
    """Yield the external sessions with EVPN of an upper switch without a VTEP."""
    if statement.place.tier in UPPER and not _ends_tunnels(statement):
        for key, values in external_sessions(statement):
            if "evpn" in str(sessions.stated[key].families).split(","):
                yield key, values


def _ends_tunnels(statement: Statement) -> bool:
    """Return whether a switch has a VTEP, for the default routing instance or for a VRF."""
    return any(path.endswith(_SOURCES) or VRF_VNI.fullmatch(path) for path in statement.rest)


def _changed_next_hops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch without a VTEP that puts itself into EVPN routes of other VTEPs as the next hop."""
    stated = any("next-hop-unchanged" in path for path in statement.rest)
    if stated or not defaults.changes_next_hops(statement.device.system):
        return
    changed = [
        key
        for key, values in _passing_sessions(statement, sessions)
        if not any(
            word in leaf
            for leaf in values
            for word in ("next_hop_unchanged", "next-hop-unchanged", "no-nexthop-change")
        )
        and statement.rest.get(f"evpn/neighbor[{key[1]}]/next_hop") != "unchanged"
    ]
    if changed:
        who = join_words([neighbor for _, neighbor in changed], 2)
        message = (
            f"{statement.name} is the next hop of the EVPN routes that it sends to {who}, and has no VTEP"
        )
        remedy = "Leave the next hop of EVPN routes unchanged."
        paths = (f"evpn/neighbor[{changed[0][1]}]/import", session_path(changed[0], "families"))
        yield finding_at(SEGMENT, statement.device, paths, message, "EVPN next hop", Severity.WARNING, remedy)


def _own_next_hops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies by which a switch without a VTEP puts itself into EVPN routes as the next hop."""
    if statement.place.tier not in UPPER or _ends_tunnels(statement):
        return
    for key, values in open_sessions(statement):
        name = statement.rest.get(f"evpn/neighbor[{key[1]}]/export", values.get("export"))
        for path, value in statement.facts_below(f"route_map[{name}]/").items():
            if carries_evpn(sessions, key) and str(value).endswith(_ITSELF):
                message = f"{statement.name}: {name} makes it the next hop of EVPN routes, and it has no VTEP"
                remedy = "Leave the next hop of EVPN routes unchanged."
                yield finding_at(
                    SEGMENT,
                    statement.device,
                    path,
                    message,
                    "EVPN next hop",
                    Severity.WARNING,
                    remedy,
                    word="self",
                )
                return


_ITSELF = "set next-hop self"


def _unreflected_routes(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report an upper switch without a VTEP whose sessions with EVPN are of its own AS, and reflect no route."""
    if statement.place.tier not in UPPER or _ends_tunnels(statement):
        return
    carrying = [(key, values) for key, values in open_sessions(statement) if carries_evpn(sessions, key)]
    inner = {key for key, _ in carrying} - {key for key, _ in external_sessions(statement)}
    if len(inner) < _BETWEEN_TWO or len(inner) < len(carrying):
        return
    if not any("reflector_client" in values for _, values in carrying):
        message = f"{statement.name} passes no EVPN route of one VTEP on to others: it reflects routes to no neighbor"
        remedy = "Make the VTEPs clients of the route reflector."
        paths = tuple(
            session_path(carrying[0][0], leaf) for leaf in ("families", "remote_kind", "remote_asn")
        )
        yield finding_at(SEGMENT, statement.device, paths, message, "EVPN", Severity.WARNING, remedy)


def _vteps_without_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch with VNIs and settings of EVPN whose sessions all leave EVPN out."""
    if not any(not vrf for vrf, _ in sessions.stated) or statement.facts_below("evpn/neighbor["):
        return
    path = next((each for each in statement.rest if "evpn/setting[" in each), "")
    segments = path and any(VNI.fullmatch(each) for each in statement.rest if each[0] in "ev")
    if segments and not any(carries_evpn(sessions, key) for key in sessions.stated):
        message = f"{statement.name} has VNIs, and no session carries EVPN: it learns of no other VTEP"
        remedy = "Add the family EVPN to the sessions with the route reflectors or spines."
        yield finding_at(SEGMENT, statement.device, path, message, "EVPN", Severity.WARNING, remedy)


_BETWEEN_TWO = 2


def _dropped_targets(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch without a VTEP between others that keeps no EVPN routes for them, as it imports none."""
    if not evpn_defaults.drops_unimported_targets(statement.device.system, statement.rest):
        return
    keys = [key for key, _ in _passing_sessions(statement, sessions)]
    imports = any("route_target" in path or "/import" in path[-7:] for path in statement.facts_below("vrf["))
    if len(keys) >= _BETWEEN_TWO and not imports:
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name} drops the EVPN routes of {who}: it imports none of their route targets, and "
            "retains none"
        )
        remedy = "Retain all route targets in the address family of EVPN."
        paths = ("bgp/family[evpn]", f"evpn/neighbor[{keys[0][1]}]/import", session_path(keys[0], "families"))
        yield finding_at(SEGMENT, statement.device, paths, message, "EVPN targets", Severity.WARNING, remedy)


_WHY = {
    "VNI": "its hosts are cut off from those of the other switches",
    "route target": "they do not take each other's routes",
    "gateway": "hosts that move lose their gateway",
    "kind of gateway": "two switches answer for one address",
    "subnet": "its hosts take others for near or far ones",
    "gateway MAC": "hosts that move lose their gateway",
    "UDP port": "they drop each other's VXLAN packets",
    "tunnel": "its hosts are cut off from those of the other switches",
    RELAYED: "its hosts get no address",
}


def _compare_segments(fabric: Switches) -> Iterator[Report]:
    """Report a switch whose setting of a segment meets that of no other switch, although others agree."""
    stated: defaultdict[tuple[str, str], dict[str, SegmentSetting]] = defaultdict(dict)
    for name, summary in fabric.summaries.items():
        for each in summary.segments:
            stated[each.kind, each.owner].setdefault(name, each)
    known: dict[str, frozenset[str]] = {}
    for (kind, owner), by_switch in sorted(stated.items()):
        if len({each.values for each in by_switch.values()}) > 1:
            for names in joined_switches(fabric, by_switch, known):
                yield from _compare_setting(fabric, kind, owner, {name: by_switch[name] for name in names})


def joined_switches(
    fabric: Switches, names: Iterable[str], sets: dict[str, frozenset[str]]
) -> Iterator[list[str]]:
    """Yield the switches that links join, set by set: a folder may have several fabrics with the same numbers."""
    for name in names:
        if name not in sets:
            joined = frozenset(fabric.reachable({name}))
            sets |= dict.fromkeys(joined, joined)
    for joined in dict.fromkeys(sets[name] for name in names):
        yield [name for name in names if name in joined]


_EVERYWHERE = frozenset(
    {RELAYED, "gateway", "gateway MAC", "kind of gateway", "subnet", "tunnel", "UDP port"}
)
"""Kinds of settings that two groups of switches may not have differently, even if each group agrees."""


def _compare_setting(
    fabric: Switches, kind: str, owner: str, by_switch: Mapping[str, SegmentSetting]
) -> Iterator[Report]:
    if len(by_switch) < 2:
        return
    alone = [name for name in by_switch if not _exchanges_routes(name, by_switch)]
    counts = Counter(each.values for each in by_switch.values())
    most = max(counts, key=lambda values: counts[values])
    if kind in _EVERYWHERE and counts[most] * 2 > len(by_switch):
        alone = [name for name, each in by_switch.items() if each.values != most]
    if kind == RELAYED and (counts[most] < _MOST_RELAY or _NONE in most[0]):
        return  # a few VLANs have servers of their own
    pair = len(by_switch) == 2  # both are wrong: one of them has another value
    apart = kind == "route target" and len(alone) == len(by_switch)
    if len(alone) == len(by_switch) and not pair and not apart:
        return
    for name in sorted(alone):
        mine = by_switch[name]
        if kind == "VNI" and owner.startswith("VLAN") and _is_used_elsewhere(fabric, name, mine):
            continue
        other = next(each for each in by_switch if each != name and (pair or apart or each not in alone))
        message = (
            f"{name}: {kind} {_describe(mine)} of {' '.join(owner.split()[:2])}, on {other} "
            f"{_describe(by_switch[other])}: {_WHY[kind]}"
        )
        remedy = f"Use one {kind} on all switches of the segment."
        yield Report(SEGMENT, name, (mine.path,), message, f"segment {kind}", Severity.WARNING, remedy)


def _exchanges_routes(name: str, by_switch: Mapping[str, SegmentSetting]) -> bool:
    """Return whether another switch takes what a switch announces, and the other way."""
    out, taken = by_switch[name].values
    others = [each.values for other, each in by_switch.items() if other != name]
    return any(out & theirs for _, theirs in others) and any(taken & theirs for theirs, _ in others)


def _is_used_elsewhere(fabric: Switches, name: str, own: SegmentSetting) -> bool:
    """Return whether another switch has the VNI, for whatever VLAN."""
    others = (each for other, each in fabric.summaries.items() if other != name)
    return any(each.kind == "VNI" and each.values == own.values for one in others for each in one.segments)


def _describe(setting: SegmentSetting) -> str:
    return join_words(sorted(setting.values[0] | setting.values[1]), 2)


RULES = (
    SwitchRule(SOURCE, ADDRESSES, (), _dead_sources),
    SwitchRule(SOURCE, ADDRESSES, (), _dead_peers),
    SwitchRule(SOURCE, ADDRESSES, (Input.BGP,), _vteps_without_source),
    SwitchRule(SEGMENT, ADDRESSES, (Input.BGP, Input.TIER), _changed_next_hops),
    SwitchRule(SEGMENT, ADDRESSES, (Input.BGP, Input.TIER), _own_next_hops),
    SwitchRule(SEGMENT, ADDRESSES, (Input.BGP, Input.TIER), _unreflected_routes),
    SwitchRule(SEGMENT, ADDRESSES, (Input.BGP,), _vteps_without_sessions),
    SwitchRule(SEGMENT, ADDRESSES, (Input.BGP, Input.TIER), _dropped_targets),
    FabricRule(SEGMENT, ADDRESSES, (), _compare_segments),
)
