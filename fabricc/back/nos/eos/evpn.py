"""EVPN-VXLAN of EOS: VLANs, VRFs, interface Vxlan1, gateways with virtual addresses, and EVPN routes of BGP.

Sources: configurations that Arista's validated designs (AVD) render, and `show running-config all` of EOS for the words
of `address-family evpn`: next hops stay as they are for that family alone, so that routes of the underlay do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.departures import ROUNDED, Departure
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Each, Entry, Fact, Keep
from fabricc.base.values import dataclass
from fabricc.fabric.evpn import route_target
from fabricc.fabric.facts import evpn_facts, neighbor_key
from fabricc.fabric.paths import port_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said, Scope
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

UDP_PORT = 4789
NO_LIMIT = 0
"""`maximum-routes` of sessions that carry EVPN routes, as in Arista's designs: it counts routes of all families."""
DEPARTURES = (
    Departure("bgp/neighbor[*]/maximum_prefixes", ROUNDED, "none where EVPN routes count, too (FAB5831)"),
)


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


class VlanView(NamedTuple):
    """A segment: VLAN, VXLAN, gateway and routes."""

    vlan: int
    name: str
    vni: int
    vrf: str
    distinguisher: str
    route_target: str
    gateway4: str | None
    gateway6: str | None


class VrfView(NamedTuple):
    """A VRF, its VNI and its routes."""

    name: str
    vni: int
    distinguisher: str
    route_target: str


@dataclass(frozen=True, slots=True)
class EvpnView:
    """What the templates print of segments; `ipv6` tells whether any has IPv6."""

    vlans: list[VlanView]
    vrfs: list[VrfView]
    mac: str
    mtu: int
    udp_port: int
    ipv6: bool
    router_id: str


def evpn_view(switch: Switch) -> EvpnView:
    """The segments of a ToR; empty without, and above ToRs."""
    vtep = switch.vtep
    if vtep is None:
        return EvpnView([], [], "", 0, UDP_PORT, ipv6=False, router_id="")
    return EvpnView(
        vlans=[
            VlanView(
                s.vlan,
                s.name,
                s.vni,
                s.vrf,
                vtep.distinguisher(s.vlan),
                route_target(s.vni),
                s.gateway4,
                s.gateway6,
            )
            for s in vtep.segments
        ],
        vrfs=[VrfView(v.name, v.vni, vtep.distinguisher(v.vlan), route_target(v.vni)) for v in vtep.vrfs],
        mac=vtep.anycast_mac,
        mtu=vtep.mtu,
        udp_port=UDP_PORT,
        ipv6=any(s.gateway6 for s in vtep.segments),
        router_id=switch.bgp.router_id,
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of segments, and what EOS says beyond the Fabric; access ports do not route."""
    for session, _ in switch.bgp.evpn_sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        facts[f"bgp/neighbor[{key}]/maximum_prefixes"] = NO_LIMIT
        facts["evpn/route_targets"] = "all"
    facts |= evpn_facts(switch)
    vtep = switch.vtep
    if vtep is None:
        return
    facts["evpn/udp_port"] = UDP_PORT
    families = ["ipv4", *(["ipv6"] if any(segment.gateway6 for segment in vtep.segments) else [])]
    for vrf in vtep.vrfs:
        prefix = f"evpn/vrf[{vrf.name}]/"
        facts[prefix + "router_id"] = switch.bgp.router_id
        facts[prefix + "routed"] = ",".join(families)
        facts[prefix + "defined"] = facts[prefix + "redistribute_connected"] = "true"
    for segment in vtep.segments:
        facts[f"evpn/segment[{segment.vlan}]/announces_learned"] = "true"
    for port in switch.ports:
        if port.segment is not None:
            del facts[port_paths(port.name)["routed"]]


# --- and back -----------------------------------------------------------------------------------------

_TARGETS = (
    Entry("route-target both <word>", "both"),
    Entry("route-target import [evpn] <word>", "import"),
    Entry("route-target export [evpn] <word>", "export"),
    Keep("rd <word>", "distinguisher"),
)
BGP_ROWS: Sequence[Row] = (
    Block("vlan <integer>", "vlan", (
        *_TARGETS,
        Keep("redistribute learned", "announces_learned"),
    )),
    Block("vrf <word>", "vrf", (
        *_TARGETS,
        Keep("router-id <address4>", "router_id"),
        Keep("redistribute connected", "redistribute_connected"),
    )),
    Keep("address-family evpn", "evpn"),
    Block("address-family evpn", "", (
        Each("neighbor <word>", "neighbor", (
            Keep("activate", "evpn active"),
            Keep("route-map <word> in", "evpn import"),
            Keep("route-map <word> out", "evpn export"),
            Keep("next-hop-unchanged", "evpn next_hop", "unchanged"),
        )),
    )),
)  # fmt: skip
"""Lines of the BGP process."""
ROWS: Sequence[Row] = (
    Block("vlan <integer>", "vlan", (Keep("name <word>", "name"),)),
    Block("interface Vxlan1", "vxlan", (
        Keep("vxlan source-interface Loopback0", "source"),
        Fact("vxlan udp-port <integer>", "evpn/udp_port"),
        Entry("vxlan vlan <integer> vni <integer>", "vlans", "{1}"),
        Entry("vxlan vrf <word> vni <integer>", "vrfs", "{1}"),
    )),
    Fact("ip virtual-router mac-address <word>", "evpn/anycast_mac"),
    Entry("vrf instance <word>", "defined", "true"),
    Entry("ip routing vrf <word>", "ipv4", "true"),
    Entry("ipv6 unicast-routing vrf <word>", "ipv6", "true"),
)  # fmt: skip
_SVI = re.compile(r"Vlan([1-9]\d{0,3})")


def vlan_of(interface: str) -> str | None:
    """The VLAN of a VLAN interface; None of another."""
    found = _SVI.fullmatch(interface)
    return found[1] if found else None


def finish_interface(document: Document, vlan: str, block: Scope) -> None:
    """State the gateway of a segment."""
    prefix = f"evpn/segment[{vlan}]/"
    for leaf, (value, line) in block.values.items():
        if leaf in ("vrf", "mtu"):
            document.put(prefix + leaf, value, line)
        elif leaf.startswith("virtual "):
            document.put(prefix + leaf.removeprefix("virtual "), value, line)
        else:
            document.reject(line)


def finish_session(document: Document, name: str, said: dict[str, Said]) -> None:
    """State what a session says of EVPN routes."""
    if "evpn active" not in said:
        return
    for leaf in ("import", "export", "next_hop"):
        if f"evpn {leaf}" in said:
            document.put(f"evpn/neighbor[{name}]/{leaf}", *said[f"evpn {leaf}"])
    document.put("evpn/route_targets", "all", said["evpn active"][1])


def finish_process(document: Document, bgp: Scope) -> None:
    """State what the process says of VLANs and VRFs."""
    for owner, kind in (("vlan", "segment"), ("vrf", "vrf")):
        for name, scope in bgp.each(owner).items():
            prefix = f"evpn/{kind}[{name}]/"
            document.put_all((prefix + leaf, *said) for leaf, said in scope.values.items())
            _put_targets(document, prefix, scope)


def _put_targets(document: Document, prefix: str, scope: Scope) -> None:
    both = scope.table("both")
    tables = [scope.table(name) | both for name in ("import", "export")]
    imports, exports = (",".join(sorted(map(str, table))) for table in tables)
    lines = [line for table in tables for _, line in table.values()]
    if lines:
        value = imports if imports == exports else f"import {imports} export {exports}"
        document.put(prefix + "route_target", value, max(lines))


def finish(document: Document) -> None:
    """State VLANs and VXLAN; the source is the loopback, whose address has been read before."""
    scope = document.scope
    for vlan, block in scope.each("vlan").items():
        if "name" in block.values:
            document.put(f"evpn/segment[{vlan}]/name", *block.values["name"])
    for block in scope.each("vxlan").values():
        if "source" in block.values and (address := document.reading.facts.get("loopback/ipv4")):
            document.put("evpn/source", str(address).removesuffix("/32"), block.values["source"][1])
        for vlan, said in block.table("vlans").items():
            document.put(f"evpn/segment[{vlan}]/vni", *said)
        for vrf, said in block.table("vrfs").items():
            document.put(f"evpn/vrf[{vrf}]/vni", *said)
    for vrf, said in scope.table("defined").items():
        document.put(f"evpn/vrf[{vrf}]/defined", *said)
    families = {family: scope.table(family) for family in ("ipv4", "ipv6")}
    for vrf in dict.fromkeys(vrf for table in families.values() for vrf in table):
        routed = [(family, table[vrf][1]) for family, table in families.items() if vrf in table]
        document.put(f"evpn/vrf[{vrf}]/routed", ",".join(family for family, _ in routed), routed[-1][1])


TOPIC = Topic(ROWS, finish)
