"""EVPN-VXLAN of EOS: VLANs, VRFs, interface Vxlan1, gateways with virtual addresses, and EVPN routes of BGP.

Sources: configurations that Arista's validated designs (AVD) render, and `show running-config all` of EOS for the words
of `address-family evpn`: next hops stay as they are for that family alone, so that routes of the underlay do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.base import ROUNDED, Departure
from fabricc.back.nos.cli_dialect import put_targets, static_lines
from fabricc.back.nos.eos.foreign import peering, switching
from fabricc.back.nos.eos.tenants import TUNNEL_ROWS, UDP_PORT, put_isolated, put_prefixes, state_tenants
from fabricc.back.nos.eos.words import DISCARD, default_rows, setting_rows, stored_rows
from fabricc.back.reading import Block, Each, Entry, Fact, Keep, Scope, Topic
from fabricc.base.values import dataclass
from fabricc.fabric.evpn import Segment, Vrf, route_target
from fabricc.fabric.facts import Facts, Value, evpn_facts, neighbor_key
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Row, StoredValue
    from fabricc.fabric.model import Switch
    from fabricc.fabric.tenants import Tenant, TenantVrfs

SUPPRESSED = "suppressed"
"""Value of the fact of ports that send no router advertisements."""
NO_LIMIT = 0
"""`maximum-routes` of sessions that carry EVPN routes, as in Arista's designs: it counts routes of all families."""
DEPARTURES = (
    Departure("bgp/neighbor[*]/maximum_prefixes", ROUNDED, "none where EVPN routes count, too (FAB5831)"),
)


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EvpnView:
    """Values of segments and tenants in the templates; `ipv6`: whether any has IPv6.

    Attributes:
        tenants: whether the VRFs are those of tenants, without VLANs; `tunnels`: with a VNI each.
        vlan_routes, vrf_routes: segment or VRF, with route distinguisher and route target of its routes in BGP, and of
            a VRF the route map on static routes or None.
        static_routes: command with the VRF, prefix and next hop.
    """

    vlans: tuple[Segment, ...]
    vrfs: tuple[Vrf, ...] | tuple[Tenant, ...]
    vlan_routes: list[tuple[Segment, str, str]]
    vrf_routes: list[tuple[Vrf | Tenant, str, str, str | None]]
    mac: str
    mtu: int
    udp_port: int
    ipv6: bool
    router_id: str
    tenants: bool = False
    tunnels: bool = False
    static_routes: tuple[tuple[str, str, str], ...] = ()


def tenants_view(switch: Switch, tenants: TenantVrfs) -> EvpnView:
    """Return the VRFs of tenants as the templates print them."""
    tunnels = tenants.source is not None
    routes: list[tuple[Vrf | Tenant, str, str, str | None]] = [
        (each, tenants.distinguisher(each), each.route_target, tenants.static_map(each))
        for each in tenants.tenants
        if tunnels
    ]
    static = tuple(
        (f"{family} route vrf {each.name}", prefix, via)
        for each in tenants.tenants
        for family, prefix, via in static_lines(tenants.routes_of(each), DISCARD)
    )
    return EvpnView(
        (), tenants.tenants, [], routes, "", tenants.mtu, UDP_PORT, ipv6="ipv6" in tenants.families,
        router_id=switch.bgp.router_id, tenants=True, tunnels=tunnels, static_routes=static,
    )  # fmt: skip


def evpn_view(switch: Switch) -> EvpnView:
    """Return the segments or tenants of a ToR; empty without, and above ToRs."""
    vtep = switch.vtep
    if switch.tenants:
        return tenants_view(switch, switch.tenants)
    if vtep is None:
        return EvpnView((), (), [], [], "", 0, UDP_PORT, ipv6=False, router_id="")
    return EvpnView(
        vlans=vtep.segments,
        vrfs=vtep.vrfs,
        vlan_routes=[(s, vtep.distinguisher(s.vlan), route_target(s.vni)) for s in vtep.segments],
        vrf_routes=[(v, vtep.distinguisher(v.vlan), route_target(v.vni), None) for v in vtep.vrfs],
        mac=vtep.anycast_mac,
        mtu=vtep.mtu,
        udp_port=UDP_PORT,
        ipv6=any(s.gateway6 for s in vtep.segments),
        router_id=switch.bgp.router_id,
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of segments, and further facts of EOS; access ports do not route."""
    for session, _ in switch.bgp.evpn_sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        facts[f"bgp/neighbor[{key}]/maximum_prefixes"] = NO_LIMIT
        facts["evpn/route_targets"] = "all"
    facts |= evpn_facts(switch)
    if switch.tenants:
        state_tenants(facts, switch, switch.tenants)
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
        if segment.gateway6:
            facts[f"evpn/segment[{segment.vlan}]/ra"] = SUPPRESSED
    for port in switch.ports:
        if port.segment is not None:
            del facts[port_paths(port.name)["routed"]]


# --- and back -----------------------------------------------------------------------------------------


def _vnis_of_range(vlans: tuple[int, ...], vnis: tuple[int, ...]) -> dict[str, int | None] | None:
    """VNIs of a range of VLANs, each by its VLAN."""
    return (
        {f"vni {vlan}": vni for vlan, vni in zip(vlans, vnis, strict=True)}
        if len(vlans) == len(vnis)
        else None
    )


_TARGETS = (
    Entry("route-target both <word>", "both"),
    Entry("route-target import [evpn] <word>", "import"),
    Entry("route-target export [evpn] <word>", "export"),
    Keep("rd <word>", "distinguisher"),
    Keep("rd evpn domain all <word>", "distinguisher"),
)
_ELSEWHERE = stored_rows("setting", 2, (
    "rd evpn domain <rest>", "route-target import evpn domain <rest>", "route-target export evpn domain <rest>",
    "route-target import export evpn domain <rest>", "route-target <word> <vpn-ipv4|vpn-ipv6> <rest>",
    "route-target <word> evpn route-map <rest>", "route-target <word> auto <rest>", "no redistribute <rest>",
    "redistribute router-mac <rest>", "redistribute igmp", "redistribute host-route", "redistribute static",
    "redistribute <rest>", "mac <rest>", "vxlan <rest>", "route-target <word> <word> <word> <rest>", "evpn multicast",
    "maximum-routes <rest>", "evpn <rest>", "redistribute learned <rest>", "flood <rest>",
))  # fmt: skip
_BRIDGED = (*_TARGETS, Keep("redistribute learned", "announces_learned"), *_ELSEWHERE)
BGP_ROWS: Sequence[Row] = (
    Block("vlan <integer>", "vlan", _BRIDGED),
    Block("vlan-aware-bundle <word>", "bundle", (*_BRIDGED, Entry("vlan [add] <numbers>", "vlans"))),
    Block("vpws <word>", "", (
        *setting_rows("bgp/setting", 2, ("rd <rest>", "route-target <word> <rest>", "mtu <rest>", "control-word")),
        Block("pseudowire <word>", "", setting_rows("bgp/setting", 3, ("evpn vpws id <rest>", "<rest>"))),
    )),
    Block("vrf <word>", "vrf", (
        *_TARGETS,
        *(Entry(f"route-target {way} (vpn-ipv4|vpn-ipv6) <word>", f"vpn {way}") for way in ("import", "export")),
        *stored_rows("setting", 2, (
            "route-target <word> evpn route-map <rest>", "route-target <word> <vpn-ipv4|vpn-ipv6> route-map <rest>",
            "route-target <word> <word> <word> <rest>", "rd evpn domain <rest>",
        )),
        Block("evpn multicast", "", (
            *stored_rows("setting", 2, ("gateway dr election algorithm <rest>", "transit", "address-family <rest>")),
            Block("address-family <word>", "", stored_rows("setting", 3, ("transit",))),
        )),
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
            Keep("next-hop-self", "next_hop_self", "evpn"),
            *(
                row
                for row in peering.of_family("evpn ", 2)
                if row.pattern not in ("next-hop-unchanged", "next-hop-self")
            ),
        )),
        *(
            Each(f"{word} neighbor <word>", "neighbor", (
                Keep("activate", "evpn active", peering.UNSET), *peering.no_neighbor("evpn "),
            ))
            for word in ("no", "default")
        ),
        *peering.process_rows("", 1),
    )),
)  # fmt: skip
"""Lines of the BGP process."""
_VRF: Sequence[Row] = (
    Fact("description <rest>", "vrf[{0}]/description"),
    Fact("rd <word>", "vrf[{0}]/distinguisher"),
)
ROWS: Sequence[Row] = (
    Block("vlan <numbers>", "vlan", (Keep("name <rest>", "name"), *switching.VLAN_ROWS)),
    Block("interface Vxlan1", "vxlan", (
        Keep("vxlan source-interface <word>", "source"),
        Fact("vxlan udp-port <integer>", "evpn/udp_port"),
        Entry("vxlan vlan <integer> vni <integer>", "vlans", "{1}"),
        Keep("vxlan vlan <numbers> vni <numbers>", _vnis_of_range),
        Entry("vxlan vrf <word> vni <integer>", "vrfs", "{1}"),
        Fact("vxlan mlag source-interface <word>", "vxlan/source_mlag"),
        *TUNNEL_ROWS,
        Entry("vxlan flood vtep <address>...", "peers"),
        Entry("vxlan flood vtep add <address>...", "peers"),
        Entry("vxlan vlan <integer> multicast group <word>", "groups", "{1}"),
        Entry("vxlan vlan <integer> flood vtep <rest>", "floods", "{1}"),
        Fact("description <rest>", "interface[Vxlan1]/description"),
        Keep("shutdown", "shut", "true"),
        *setting_rows("vxlan/setting", 0, (
            "vxlan virtual-router encapsulation <rest>", "vxlan vrf <word> multicast <rest>",
            "vxlan qos <rest>", "vxlan learn-restrict <rest>", "vxlan bridging <rest>", "vxlan decapsulation <rest>",
            "vxlan encapsulation <rest>", "vxlan arp <rest>", "vxlan controller-client <rest>",
            "vxlan multicast-group <rest>", "vxlan multicast <rest>", "vxlan remote vtep <rest>",
            "vxlan source-interface <word> <rest>", "vxlan flood <rest>", "vxlan mac <rest>",
            "vxlan rewrite <rest>", "vxlan virtual-vtep <rest>", "bfd vtep evpn <rest>", "vxlan bfd <rest>",
            "vxlan vlan <word> <rest>", "mtu <rest>", "vxlan udp-port <rest>", "arp <rest>", "vxlan security <rest>",
        )),
        *default_rows(("shutdown", "vxlan <rest>", "description")),
    )),
    Fact("ip virtual-router mac-address <word>", "evpn/anycast_mac"),
    Entry("vrf (instance|definition) <word>", "defined", "true"),
    Block("vrf (instance|definition) <word>", "", _VRF),
    Block("vrf instance MGMT", "", (Fact("description <rest>", "vrf[MGMT]/description"),)),
    Entry("ip routing vrf <word>", "ipv4", "true"),
    Entry("no ip routing vrf <word>", "off", "true"),
    Entry("ipv6 unicast-routing vrf <word>", "ipv6", "true"),
)  # fmt: skip
_SOURCE = "Loopback0"
_SVI = re.compile(r"Vlan([1-9]\d{0,3})")


def vlan_of(interface: str) -> str | None:
    """Return the VLAN of a VLAN interface; None of another."""
    found = _SVI.fullmatch(interface)
    return found[1] if found else None


class Segments(NamedTuple):
    """The VLANs and VRFs that are part of EVPN, and those that have a VNI alone: name -> (VNI, line)."""

    vlans: Mapping[Value, StoredValue]
    vrfs: Mapping[Value, StoredValue]
    signalled: frozenset[Value]
    """VLANs in the BGP configuration."""


def find_segments(document: Document) -> Segments:
    """Return the statements of Vxlan1 and the process about VLANs and VRFs."""
    vlans: dict[Value, StoredValue] = {}
    vrfs: dict[Value, StoredValue] = {}
    for block in document.scope.each("vxlan").values():
        vlans |= block.table("vlans")
        vrfs |= block.table("vrfs")
        for name, stored in block.values.items():
            if name.startswith("vni "):
                vlans[int(name.removeprefix("vni "))] = stored
    signalled: set[Value] = set()
    for bgp in document.scope.each("bgp").values():
        signalled |= {int(str(vlan)) for vlan in bgp.each("vlan")}
        for bundle in bgp.each("bundle").values():
            signalled |= bundle.table("vlans").keys()
        if "evpn" in bgp.values:
            signalled |= vlans.keys()
    return Segments(vlans, vrfs, frozenset(signalled))


def finish_interface(document: Document, vlan: str, block: Scope) -> Scope | None:
    """State the gateway of a segment; return the other statements of its interface."""
    prefix = f"evpn/segment[{vlan}]/"
    rest = Scope(block.line)
    rest.tables, rest.scopes = block.tables, block.scopes
    for leaf, (value, line) in block.values.items():
        if leaf in ("vrf", "mtu", "ra"):
            document.put(prefix + leaf, value, line)
        elif leaf.startswith("virtual "):
            document.put(prefix + leaf.removeprefix("virtual "), value, line)
        else:
            rest.values[leaf] = (value, line)
    return rest if rest.values or rest.tables else None


def finish_session(document: Document, name: str, values: dict[str, StoredValue]) -> None:
    """State the values of a session about EVPN routes."""
    if "evpn active" not in values:
        return
    for leaf in ("import", "export", "next_hop"):
        if f"evpn {leaf}" in values:
            document.put(f"evpn/neighbor[{name}]/{leaf}", *values[f"evpn {leaf}"])
    document.put("evpn/route_targets", "all", values["evpn active"][1])


_OF_EVPN = ("distinguisher", "router_id", "redistribute_connected", "announces_learned")


def finish_process(document: Document, bgp: Scope) -> None:
    """State the values of the process about VLANs and VRFs."""
    for vlan, scope in bgp.each("vlan").items():
        _put_routes(document, f"evpn/segment[{vlan}]/", scope)
        _put_settings(document, f"vlan[{vlan}]/", scope)
    for name, scope in bgp.each("bundle").items():
        for vlan, (_, line) in scope.table("vlans").items():
            _put_routes(document, f"evpn/segment[{vlan}]/", scope)
            _put_settings(document, f"vlan[{vlan}]/", scope)
            document.put(f"vlan[{vlan}]/setting[vlan-aware-bundle]", str(name), line)
    routed = find_segments(document).vrfs
    for name, scope in bgp.each("vrf").items():
        at = f"vrf[{name}]/"
        if name in routed or _only_ours(scope):
            _put_routes(document, f"evpn/vrf[{name}]/", scope)
            if "redistribute_connected" in scope.values:
                put_prefixes(document, str(name), scope.values["redistribute_connected"][1])
            for way in ("import", "export"):
                document.put_set(at + way, scope.table(f"vpn {way}"))
        else:
            _put_instance(document, at, scope)
        document.put_all(
            (f"{at}bgp/{leaf}", *stored) for leaf, stored in scope.values.items() if "setting[" in leaf
        )


def _only_ours(scope: Scope) -> bool:
    """Return whether a VRF has EVPN routes and no neighbors."""
    return bool(scope.tables) and not scope.scopes


def _put_routes(document: Document, prefix: str, scope: Scope) -> None:
    document.put_all((prefix + leaf, *stored) for leaf, stored in scope.values.items() if leaf in _OF_EVPN)
    _put_targets(document, prefix, scope)


def _put_settings(document: Document, prefix: str, scope: Scope) -> None:
    document.put_all(
        (prefix + leaf, *stored) for leaf, stored in scope.values.items() if leaf.startswith("setting[")
    )


def _put_instance(document: Document, at: str, scope: Scope) -> None:
    """State the values of the process about a VRF that is no part of EVPN."""
    values = scope.values
    for leaf, path in (("distinguisher", "distinguisher"), ("router_id", "bgp/router_id")):
        if leaf in values:
            document.put(at + path, *values[leaf])
    if "redistribute_connected" in values:
        document.put(f"{at}bgp/redistribute[connected]", "all", values["redistribute_connected"][1])
    for way in ("import", "export"):
        document.put_set(at + way, scope.table(way) | scope.table("both") | scope.table(f"vpn {way}"))


def _put_targets(document: Document, prefix: str, scope: Scope) -> None:
    both = scope.table("both")
    tables = [scope.table(name) | both for name in ("import", "export")]
    imports, exports = ({str(target): line for target, (_, line) in table.items()} for table in tables)
    put_targets(document.put, prefix, imports, exports, document.reading.facts.get(prefix + "vni"))


def finish(document: Document) -> None:
    """State VLANs and VXLAN; the source is the loopback, whose address has been read before."""
    scope, found = document.scope, find_segments(document)
    for vlan, block in scope.each("vlan").items():
        _put_vlan(document, vlan, block, segment=vlan in found.signalled)
    for block in scope.each("vxlan").values():
        _put_vxlan(document, block, found)
    known = {each for key in scope.each("vlan") for each in (key if isinstance(key, tuple) else (key,))}
    for vlan, stored in found.vlans.items():
        if vlan not in known and scope.each("bgp"):
            document.put(f"unread[VNI {stored[0]} of VLAN {vlan}]", "there is no such VLAN", stored[1])
        signalled = vlan in found.signalled
        document.put(f"evpn/segment[{vlan}]/vni" if signalled else f"vxlan/vlan[{vlan}]/vni", *stored)
    for vrf, stored in found.vrfs.items():
        document.put(f"evpn/vrf[{vrf}]/vni", *stored)
    _put_vrfs(document, found)


def _put_vlan(document: Document, vlan: Captured, block: Scope, *, segment: bool) -> None:
    values = block.values
    if "name" in values:
        document.put(f"evpn/segment[{vlan}]/name" if segment else f"vlan[{vlan}]/name", *values["name"])
    if "enabled" in values or not segment:
        document.put(f"vlan[{vlan}]/enabled", *values.get("enabled", ("true", block.line)))
    _put_settings(document, f"vlan[{vlan}]/", block)


def _put_vxlan(document: Document, block: Scope, found: Segments) -> None:
    document.put_kept("vxlan/setting[shutdown]", block.values, "shut")
    if "source" in block.values:
        source, line = block.values["source"]
        facts = document.reading.facts
        address = facts.get("loopback/ipv4", facts.get("loopback/ipv6"))  # `vxlan encapsulation ipv6`
        if source != _SOURCE:
            document.put("vxlan/source", source, line)
        elif address and "shut" not in block.values:
            document.put("evpn/source", str(address).removesuffix("/32").removesuffix("/128"), line)
    document.put_set("vxlan/peers", block.table("peers"))
    for table in ("groups", "floods"):
        for vlan, stored in block.table(table).items():
            vni = found.vlans.get(vlan, (None, 0))[0]
            name = f"vni[{vni}]" if vni is not None else f"vlan[{vlan}]"
            document.put(f"vxlan/{name}/replication", *stored)


def _put_vrfs(document: Document, found: Segments) -> None:
    scope = document.scope
    reported = {
        name for bgp in scope.each("bgp").values() for name, vrf in bgp.each("vrf").items() if _only_ours(vrf)
    }
    shared = found.vrfs.keys() | reported
    for vrf, stored in scope.table("defined").items():
        if vrf in shared:
            document.put(f"evpn/vrf[{vrf}]/defined", *stored)
        else:
            document.put(f"vrf[{vrf}]", "present", stored[1])
    families = {family: scope.table(family) for family in ("ipv4", "ipv6")}
    for vrf in dict.fromkeys(vrf for table in families.values() for vrf in table):
        routed = [(family, table[vrf][1]) for family, table in families.items() if vrf in table]
        if vrf in shared:
            document.put(f"evpn/vrf[{vrf}]/routed", ",".join(family for family, _ in routed), routed[-1][1])
        else:
            document.put(f"vrf[{vrf}]/routed", "true", routed[-1][1])
    for vrf, stored in scope.table("off").items():
        document.put(f"vrf[{vrf}]/routed", "false", stored[1])
    put_isolated(document, families)


TOPIC = Topic(ROWS, finish)
