"""Routing instances and VXLAN on NX-OS, which designs of others have: VRF contexts, the VTEP, EVPN; static routes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import masked_prefix
from fabricc.back.nos.nxos import tenants
from fabricc.back.nos.nxos.foreign.switching import OWN, setting_rows
from fabricc.back.nos.nxos.words import DISCARD, MANAGEMENT_VRF, interface_blocks, split_beginnings
from fabricc.back.reading import Block, Each, Entry, Fact, Keep, Scope, Silent, Topic, rows
from fabricc.fabric.facts import Value, static_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Row, StoredValue

_NONE = ("", 0)
_PREFERENCE = 1
"""The preference of a static route without one."""
_DROPPED = re.compile(r"^(?:null ?0|loopback ?\d+)(?= |$)", re.IGNORECASE)
"""Interfaces that drop packets which are not to an address of the switch itself."""
_HOP, _MORE, _MASKED = "hop ", "of ", "masked "
_ROUTED = "routed between VTEPs"
_LEAKS, _LEAKING = "leaks", "leaks of management "


def _parse_hop(text: str) -> Mapping[str, Value] | None:
    """Parse a static route after its prefix: interface or address or both, then its settings; None if invalid."""
    words = _DROPPED.sub(DISCARD, text).split()
    way: list[str] = []
    while (
        words
        and len(way) < 2
        and (rows.parse_address(words[0].removesuffix("/32")) or (not way and words[0][0].isalpha()))
    ):
        way.append(words.pop(0).removesuffix("/32"))
    stored: dict[str, Value] = {}
    preference = _PREFERENCE
    while words:
        word = words.pop(0)
        number = rows.parse_in_range(1, 255, word)
        if number is not None:
            preference = number
        elif word in ("track", "tag", "name", "vrf") and words:
            stored[word] = words.pop(0)
        else:
            return None
    if not way:
        return None
    where = way[-1] + (f" vrf {stored.pop('vrf')}" if "vrf" in stored else "")
    if len(way) > 1:
        stored["interface"] = way[0]
    kept = {f"{_MORE}{where} {name}": value for name, value in stored.items()}
    leak = {_LEAKS: "true"} if where.endswith(f"vrf {MANAGEMENT_VRF}") else {}
    return {f"{_HOP}{where}": preference, **kept, **leak}


def _masked_route(kind: str, address: str, mask: str, text: str) -> Mapping[str, Value] | None:
    """Parse a static route with a mask; NX-OS writes it with a length."""
    prefix, found = masked_prefix(address, mask), _parse_hop(text)
    hop = next((name for name in found or () if name.startswith(_HOP)), "")
    return {f"{_MASKED}{kind} {prefix} {hop}": "on"} if prefix and hop else None


def _exchange(setting: str, text: str) -> dict[str, Value]:
    """Keep an exchange of routes with another instance; only one with management leaks its routes."""
    return {setting: text, **({_LEAKS: "true"} if MANAGEMENT_VRF in text.split() else {})}


def _route_rows(scope: str, *, simple: bool = True) -> tuple[Row, ...]:
    """Return rows of static routes; without the simple ones where others have them."""
    return (
        *(
            Each(f"{keyword} route <prefix{family}>", scope, (
                *((Entry(f"<address{family}>", "via"), Keep(DISCARD, "discard")) if simple else ()),
                Keep("<rest>", _parse_hop),
            ))
            for keyword, family in (("ip", 4), ("ipv6", 6))
        ),
        Keep("ip route <address4> <address4> <rest>", partial(_masked_route, scope)),
    )  # fmt: skip


_TARGET = "<word> [evpn|mvpn]"
_TARGETS = (
    Entry(f"route-target import {_TARGET}", "import"),
    Entry(f"route-target export {_TARGET}", "export"),
    Entry(f"route-target both {_TARGET}", "both"),
)
_FAMILY = "address-family (ipv4|ipv6) (unicast|multicast)"
_VRF: Sequence[Row] = (
    Keep("description <rest>", "description"),
    Keep("vni <integer>", "vni"),
    Keep("vni <integer> l3", lambda vni: {"vni": vni, "l3": "true"}),
    Keep("rd <rest>", "distinguisher"),
    Keep("shutdown", "setting[shutdown]", "on"),
    Silent("no shutdown"),
    Block(_FAMILY, "", (
        *_TARGETS,
        *(
            Keep(f"{way} {what} <rest>", partial(_exchange, f"setting[{way} {what}]"))
            for way in ("import", "export") for what in ("vrf", "map")
        ),
        *setting_rows(("maximum routes", "ip default", "l3vpn"), "//setting"),
    )),
    *_route_rows("static route"),
    Silent("(ip|ipv6) (name-server|domain-name|domain-list|domain-lookup|host) [<rest>]"),
    Silent("no (ip|ipv6) (domain-lookup) [<rest>]"),
    *setting_rows(
        split_beginnings("""
            ip pim, ipv6 pim, ip multicast, ipv6 multicast, ip igmp, ipv6 mld, ip mroute, ip arp, ip amt, ip
            auto-discard, ipv6 nd, mdt, ip msdp, multicast
        """),
        "//setting",
    ),
)  # fmt: skip
_MEMBER: Sequence[Row] = (
    *(Keep(f"ingress-replication protocol {word}", "replication", "ingress") for word in ("bgp", "static")),
    Block("ingress-replication protocol static", "", (Entry("peer-ip <address>", "peers"),)),
    Keep("mcast-group <address> [<address>]", "replication", "{2}"),
    *(Keep(line, line, "on") for line in ("suppress-arp", "suppress-arp disable", "suppress-nd",
        "multisite ingress-replication",
                                          "multisite ingress-replication optimized", "spine-anycast-gateway")),
    *(Keep(f"{head} <rest>", head) for head in ("multisite mcast-group", "peer-vtep", "multisite")),
)  # fmt: skip
_NVE: Sequence[Row] = (
    Keep("source-interface <interface> [hold-down-time <integer>]", "source", "{1}"),
    Keep("source-interface <interface> anycast <interface>", {"source": "{1}", "source_mlag": "{2}"}),
    Keep("host-reachability protocol <word>", "vxlan host-reachability"),
    Keep("global ingress-replication protocol bgp", "replication", "ingress"),
    Keep("global mcast-group <address> [<rest>]", "replication", "{1}"),
    Keep("qos-mode <word>", "vxlan qos-mode"),
    Keep("global suppress-arp", "vxlan suppress-arp", "on"),
    Keep("advertise virtual-rmac", "vxlan advertise virtual-rmac", "on"),
    Keep("source-interface hold-down-time <integer>", "vxlan hold-down-time"),
    Keep("multisite <rest>", "vxlan multisite"),
    Keep("multisite border-gateway interface <word>", "vxlan border gateway"),
    *(Block(f"member vni <numbers>{vrf}", "member", _MEMBER) for vrf in ("", " associate-vrf")),
    Keep("member vni <numbers> associate-vrf", _ROUTED, "on"),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *_route_rows("static route", simple=False),
    Block("vrf context <word>", "vrf", _VRF),
    Block(f"vrf context {MANAGEMENT_VRF}", "", (
        *_route_rows("management route"),
        Silent("(ip|ipv6) (domain-name|domain-list|domain-lookup|host) [<rest>]"),
        Silent("(description|rd|vni) <rest>"),
        Block(_FAMILY, "", (
            *(
                Keep(f"{way} {what} <rest>", {f"{_LEAKING}{way} {what}": "{0}", _LEAKS: "true"})
                for way in ("import", "export") for what in ("vrf", "map")
            ),
            Silent("(route-target|maximum) <rest>"),
        )),
    )),
    *interface_blocks(_NVE),
    Fact("nv overlay evpn", "system/feature[nv overlay evpn]", "on"),
    Fact("fabric forwarding anycast-gateway-mac <word>", "evpn/anycast_mac"),
    *setting_rows(("fabric forwarding", "evpn multisite", "nve", "vxlan", "advertise evpn"), "vxlan/setting"),
    Block("evpn multisite border-gateway <integer>", "", (
        *setting_rows(("delay-restore", "dci-advertise-pip", "split-horizon"), "vxlan/setting"),
    )),
    Block("evpn", "", (
        *(Block(pattern, "evpn", (Keep("rd <rest>", "distinguisher"), *_TARGETS))
          for pattern in ("vni <integer>", "vni <integer> l2")),
        *setting_rows(("esi", "ethernet-segment", "multihoming", "vlan-consistency-check"), "vxlan/setting"),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State routing instances, the VTEP with its members, EVPN instances, and static routes with more settings."""
    scope, put = document.scope, document.put
    _state_routes(document, "", scope)
    _state_routes(document, f"vrf[{MANAGEMENT_VRF}]/", scope, "management route")
    for line, stored in scope.values.items():
        if line.startswith(_LEAKING):
            put(f"vrf[{MANAGEMENT_VRF}]/setting[{line.removeprefix(_LEAKING)}]", *stored)
    nves = [nve for name, nve in scope.each("interface").items() if str(name).startswith("nve")]
    members = {vni for nve in nves for vni, member in nve.each("member").items() if _ROUTED in member.values}
    vrfs = tenants.tenant_vrfs(document)
    for name, vrf in scope.each("vrf").items():
        path = f"vrf[{name}]"
        vni = vrf.values.get("vni")
        if vni and nves and vni[0] not in members:
            put(f"unread[vni {vni[0]}]", "interface nve has no member of it with associate-vrf", vni[1])
        if name in vrfs:
            tenants.put_tenant(document, str(name), vrf, members)
            _put_leaks(document, path, vrf)
            continue
        if tenants.put_isolated(document, str(name), vrf):
            _state_routes(document, path + "/", vrf)
            continue
        put(path, "present", vrf.line)
        for leaf, stored in vrf.values.items():
            if leaf == "vni":
                put(f"evpn/vrf[{name}]/vni", *stored)
            elif leaf not in (_LEAKS, "l3"):
                put(f"{path}/{leaf.removeprefix('//')}", *stored)
        for way, targets in _route_targets(vrf).items():
            document.put_set(f"{path}/{way}", targets)
        _state_routes(document, path + "/", vrf)
    vlans: list[tuple[Captured, StoredValue]] = [
        (vni, (str(vlan), line))
        for vlan, block in scope.each("vlan").items()
        for vni, line in [block.values.get("vni", _NONE)]
        if line
    ]
    segments = dict(vlans)
    routed: set[Captured] = {
        vrf.values["vni"][0] for vrf in scope.each("vrf").values() if "vni" in vrf.values
    }
    routed |= {vni for nve in nves for vni, member in nve.each("member").items() if _ROUTED in member.values}
    for number, (segment, at) in vlans:
        kind = "vxlan/vlan" if number in routed else "evpn/segment"
        put(f"{kind}[{segment}]/vni", int(str(number)), at)
    for number, block in scope.each("evpn").items():
        path = f"evpn/segment[{segments[number][0]}]" if number in segments else f"evpn/vni[{number}]"
        _state_evpn(document, path, block)
    for nve in nves:
        _state_vtep(document, nve)
        if vrfs and "source" in nve.values:
            tenants.put_tunnels(document, nve)
    tenants.put_next_hops(document)


def _put_leaks(document: Document, path: str, vrf: Scope) -> None:
    """State by what routes of other tables come into the VRF of a tenant, and other settings of it."""
    for leaf, stored in vrf.values.items():
        if leaf not in ("vni", "l3", "distinguisher", _LEAKS):
            document.put(f"{path}/{leaf.removeprefix('//')}", *stored)
    _state_routes(document, path + "/", vrf)


def leaking_lines(document: Document) -> list[int]:
    """Return lines by which routes of one routing instance lead into another."""
    scope = document.scope
    instances = [scope, *scope.each("vrf").values()]
    routes = [route for each in instances for route in each.scopes.get("static route", {}).values()]
    stored = [each.values[_LEAKS][1] for each in (*instances, *routes) if _LEAKS in each.values]
    return sorted(stored)


def _route_targets(block: Scope) -> dict[str, dict[Value, StoredValue]]:
    """Route targets by the way they go."""
    both = block.table("both")
    return {way: {**both, **block.table(way)} for way in ("import", "export")}


def _state_evpn(document: Document, path: str, block: Scope) -> None:
    """State an EVPN instance of a VLAN."""
    document.put_kept(f"{path}/distinguisher", block.values, "distinguisher")
    taken, given = _route_targets(block).values()
    targets = {**taken, **given}
    if targets:
        text = ",".join(map(str, targets))
        if taken.keys() != given.keys():
            text = f"in {','.join(map(str, taken))} out {','.join(map(str, given))}"
        document.put(f"{path}/route_target", text, max(line for _, line in targets.values()))


def _state_vtep(document: Document, nve: Scope) -> None:
    """State where VXLAN packets come from, and how each VNI reaches all; a VTEP that is shut sends none."""
    put, values = document.put, nve.values
    source, line = values.get("source", _NONE)
    if line:
        put("vxlan/source", source, line)
        loopback = document.scope.each("interface").get(source)
        up = values.get("enabled", ("false", 0))[0] == "true"
        if up and loopback is not None and "ipv4" in loopback.values:
            put("evpn/source", str(loopback.values["ipv4"][0]).removesuffix("/32"), line)
            shared = [(leaf.partition("[")[2].rstrip("]"), at) for leaf, (_, at) in loopback.values.items()
                      if leaf.startswith(OWN + "secondary[")]  # fmt: skip
            for address, at in shared:
                put("vxlan/source_mlag", address.removesuffix("/32"), at)
    document.put_kept("vxlan/source_mlag", values, "source_mlag")
    for name, stored in values.items():
        if name.startswith("vxlan "):
            put(f"vxlan/setting[{name.removeprefix('vxlan ')}]", *stored)
    peers: dict[Value, StoredValue] = {}
    for vni, member in nve.each("member").items():
        if "replication" in member.values or "replication" in values:
            put(
                f"vxlan/vni[{vni}]/replication",
                *member.values.get("replication", values.get("replication", _NONE)),
            )
        for leaf, (value, at) in member.values.items():
            if leaf not in ("replication", _ROUTED):
                put(f"vxlan/setting[vni {vni} {leaf}]", value, at)
        peers |= member.table("peers")
    document.put_set("vxlan/peers", peers)


def _state_routes(document: Document, path: str, owner: Scope, kind: str = "static route") -> None:
    """State next hops of static routes: those of the best preference, and the settings of each."""
    masked: dict[str, dict[str, StoredValue]] = {}
    for name, (_, line) in owner.values.items():
        if name.startswith(f"{_MASKED}{kind} "):
            prefix, _, hop = name.removeprefix(f"{_MASKED}{kind} ").partition(f" {_HOP}")
            masked.setdefault(prefix, {})[hop] = (_PREFERENCE, line)
    stated = {str(prefix): route for prefix, route in owner.scopes.get(kind, {}).items()}
    for prefix in (*stated, *(each for each in masked if each not in stated)):
        route = stated.get(prefix, Scope(0))
        hops: dict[str, StoredValue] = {
            str(via): (_PREFERENCE, line) for via, (_, line) in route.table("via").items()
        }
        hops |= {
            name.removeprefix(_HOP): stored for name, stored in route.values.items() if name.startswith(_HOP)
        }
        hops |= masked.get(prefix, {})
        if not hops and not path:
            continue
        lines = [line for _, line in hops.values()]
        best = min((int(preference) for preference, _ in hops.values()), default=_PREFERENCE)
        via = [hop for hop, (preference, _) in hops.items() if preference == best and hop != DISCARD]
        line = min(lines, default=route.line)
        dropping = route.values.get("discard", hops.get(DISCARD, _NONE))
        dropped = dropping[1] and ("discard" in route.values or dropping[0] == best)
        if via and dropped and best == _PREFERENCE:  # a part of the packets is dropped
            via, line = [*via, "discard"], dropping[1]
        document.put(f"{path}static_route[{prefix}]", static_text(via), line)
        for hop, (preference, line) in hops.items():
            if preference != _PREFERENCE:
                document.put(f"{path}static_route[{prefix}]/setting[{hop} preference]", preference, line)
        for name, stored in route.values.items():
            if name.startswith(_MORE):
                document.put(f"{path}static_route[{prefix}]/setting[{name.removeprefix(_MORE)}]", *stored)


TOPIC = Topic(ROWS, finish)
