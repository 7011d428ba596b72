"""EVPN-VXLAN of FRR on Linux: one VLAN-aware bridge, a VXLAN device for each VNI, and VRFs, also those of tenants.

Sources: FRR user guide, chapters BGP EVPN and VRF; ifupdown2's modules bridge, vxlan, vrf and address. The gateways'
MAC is that of the VLAN interfaces, so no router but FRR and the kernel is needed, and no VRRP.

The VRF of a tenant has a route to nowhere for what it has no route for; without it, Linux uses the main table next
(kernel documentation, networking/vrf). The VLAN interface of its VNI has no address, not even a link-local one (FRR
user guide, BGP EVPN). VXLAN devices copy TOS into the outer header; the kernel carries ECN in and out as in RFC 6040
and leaves the inner DSCP alone. ifupdown2 has `vxlan-tos` from 3.1 on and Debian 12 has 3.0, so that a command sets it.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import put_targets, static_lines
from fabricc.back.nos.frr.sessions import of_family
from fabricc.back.nos.frr.words import DISCARD, FIRST_TABLE, put_settings, setting_rows
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Scope, Silent
from fabricc.fabric.evpn import Segment, Vrf, Vtep, route_target
from fabricc.fabric.facts import Facts, Reading, evpn_facts, neighbor_key
from fabricc.fabric.tenants import NO_VLAN, Tenant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.model import Switch

LAST_METRIC = 4278198272
"""Metric of the route to nowhere, behind every other one (kernel documentation, networking/vrf)."""
_FAMILIES = {"-4": "ipv4", "-6": "ipv6"}
_NOWHERE = re.compile(rf"ip (-[46]) route replace unreachable default metric {LAST_METRIC} table (\d{{1,4}})")
_INHERIT = re.compile(r"ip link set dev (vni\d{1,8}) type vxlan tos inherit")
_TUNNEL = {"evpn/outer_dscp": "copied", "evpn/inner_dscp": "kept", "evpn/ecn": "carried"}


def local_vtep(switch: Switch) -> Vtep | None:
    """Return the VTEP of a ToR: that of its segments, or that of its tenants."""
    tenants = switch.tenants
    if tenants is None or tenants.source is None:
        return switch.vtep
    vrfs = tuple(Vrf(each.name, each.vlan, each.vni) for each in tenants.tenants)
    return Vtep(tenants.source, (), vrfs, "", tenants.mtu)


def tenants_view(switch: Switch) -> dict[str, object]:
    """Return the tenant input of `interfaces.j2` except the VTEP: VRFs with their tables, and the last route."""
    tenants = switch.tenants
    return {
        "tenant_vrfs": {each.name: FIRST_TABLE + each.vlan for each in tenants.tenants} if tenants else {},
        "families": _FAMILIES,
        "last_metric": LAST_METRIC,
    }


def state_tenants(facts: Facts, switch: Switch) -> None:
    """Add the facts of the tenants' devices other than their VTEP."""
    tenants = switch.tenants
    for each in tenants.tenants if tenants else ():
        facts[f"structure/vrf[{each.name}]/table"] = FIRST_TABLE + each.vlan
        for family in _FAMILIES.values():
            facts[f"structure/vrf[{each.name}]/unreachable_{family}"] = FIRST_TABLE + each.vlan
        if tenants and tenants.source:
            facts[f"structure/vrf[{each.name}]/addressless"] = "true"
        elif tenants and tenants.routes_of(each):
            facts[f"vrf[{each.name}]"] = "present"


def read_command(text: str) -> dict[str, str | int] | None:
    """Return what a command of a device does, of those that fabricc writes."""
    if found := _NOWHERE.fullmatch(text):
        return {f"unreachable_{_FAMILIES[found[1]]}": int(found[2])}
    if found := _INHERIT.fullmatch(text):
        return {"inherits": found[1]}
    return None


def put_tunnels(document: Document, devices: Mapping[str, Scope]) -> None:
    """State that tunnels carry code points and marks, where every VXLAN device copies TOS."""
    tunnels = {name: scope for name, scope in devices.items() if "vni" in scope.values}
    own = [scope.values["inherits"] for name, scope in tunnels.items() if "inherits" in scope.values]
    named = [
        value == name
        for name, scope in tunnels.items()
        for value, _ in (scope.values.get("inherits", ("", 0)),)
    ]
    if own and all(named):
        for path, value in _TUNNEL.items():
            document.put(path, value, own[-1][1])


def put_isolated(document: Document, devices: Mapping[str, Scope], vnis: Sequence[object]) -> None:
    """State the VRFs that no VXLAN device joins with another ToR and that have a route to nowhere."""
    for name, scope in devices.items():
        if "table" not in scope.values:
            continue
        leaves = [f"unreachable_{family}" for family in _FAMILIES.values()]
        document.put_leaves(f"structure/vrf[{name}]/", scope.values, leaves)
        if not vnis and all(leaf in scope.values for leaf in leaves):
            document.put(f"tenant[{name}]", "isolated", scope.values["table"][1])


def take_prefixes(tenant: Scope) -> None:
    """Keep which families of links, and by which map static routes, a VRF announces as EVPN routes.

    What that consists of leaves the scope, so that nothing else interprets it.
    """
    found: list[str] = []
    line = 0
    maps: dict[object, int] = {}
    if tenant.scopes or not tenant.tables.keys() <= {"imports", "exports"}:
        return  # sessions or prefixes of its own
    for family in _FAMILIES.values():
        taken, announced = f"{family} connected", f"evpn setting[advertise {family} unicast]"
        values, static = tenant.values, f"{family} static"
        if values.get(taken, ("", 0))[0] == "unfiltered" and announced in values:
            found.append(family)
            line = values[announced][1]
            if static in values:
                maps.setdefault(*values[static])
            for leaf in (taken, announced, static, family):
                values.pop(leaf, None)
    if found:
        tenant.values["prefixes"] = (",".join(found), line)
    if maps:
        tenant.values["static_map"] = (",".join(map(str, maps)), max(maps.values()))


BRIDGE = "bridge"
KERNEL = {"net.ipv6.conf.default.accept_untracked_na": 1, "net.ipv6.conf.default.accept_dad": 0}
"""Kernel settings (ip-sysctl): hosts that answer the request of another ToR's gateway, whose MAC is that of their own,
are noted and announced, for IPv4 by `arp-accept`; nobody looks for duplicates of IPv6 addresses, as gateways are some.
"""


def router_mac(source: str) -> str:
    """The MAC address that other VTEPs send routed packets to: locally administered, with the VTEP's address in it."""
    return "02:00:" + IPv4Address(source).packed.hex(":")


def segment_sysctls(switch: Switch) -> dict[str, int]:
    """Kernel settings that segments need."""
    return KERNEL if switch.vtep else {}


# --- what FRR on Linux makes of the Fabric's statements -----------------------------------------------


def segments_view(switch: Switch) -> dict[str, object]:
    """Return what `interfaces.j2` prints of segments and tenants; nothing without."""
    vtep = local_vtep(switch)
    if vtep is None:
        return {"vtep": None, **tenants_view(switch)}
    return {
        **tenants_view(switch),
        "vtep": {
            "bridge": BRIDGE, "mtu": vtep.mtu, "source": vtep.source, "ports": bridge_ports(switch, vtep),
            "vlans": bridge_vlans(vtep), "vnis": _vtep_devices(vtep), "segments": vtep.segments, "vrfs": vtep.vrfs,
            "anycast_mac": vtep.anycast_mac, "router_mac": router_mac(vtep.source),
            "first_table": FIRST_TABLE,
        },
    }  # fmt: skip


def bridge_ports(switch: Switch, vtep: Vtep) -> list[str]:
    """Return the ports of the bridge: access ports, then VXLAN devices."""
    access = [port.name for port in switch.ports if port.segment is not None]
    return [*access, *(f"vni{each.vni}" for each, _ in _vtep_devices(vtep))]


def bridge_vlans(vtep: Vtep) -> list[int]:
    """Return the VLANs of the bridge."""
    return [each.vlan for each, _ in _vtep_devices(vtep)]


def _vtep_devices(vtep: Vtep) -> list[tuple[Segment | Vrf, bool]]:
    """Segments, then VRFs, and whether requests for addresses end at the VTEP."""
    return [*((each, True) for each in vtep.segments), *((each, False) for each in vtep.vrfs)]


def routes_view(switch: Switch) -> dict[str, object]:
    """Return the values of EVPN for `frr.conf.j2`: segments and VRFs, with distinguishers and route targets."""
    vtep, carried, tenants = local_vtep(switch), bool(switch.bgp.evpn_sessions), switch.tenants
    if vtep is None:
        return {
            "evpn": carried, "advertised": [], "vrfs": _vrf_blocks(switch), "tenants": [], "announced": (),
            "all_vnis": False,
        }  # fmt: skip
    advertised = [(each, vtep.distinguisher(each.vlan), route_target(each.vni)) for each in vtep.segments]
    vrfs: list[tuple[Vrf | Tenant, str, str, str | None]]
    if tenants:
        vrfs = [
            (each, tenants.distinguisher(each), each.route_target, tenants.static_map(each))
            for each in tenants.tenants
        ]
    else:
        vrfs = [(each, vtep.distinguisher(each.vlan), route_target(each.vni), None) for each in vtep.vrfs]
    families = tenants.families if tenants else ()
    return {
        "evpn": carried, "advertised": advertised, "vrfs": _vrf_blocks(switch), "tenants": vrfs, "announced": families,
        "all_vnis": True,
    }  # fmt: skip


def _vrf_blocks(switch: Switch) -> list[tuple[str, int | None, list[tuple[str, str, str]]]]:
    """Return the name, VNI and static routes of each VRF that has one of these."""
    if (tenants := switch.tenants) is None:
        return [(each.name, each.vni, []) for each in switch.vtep.vrfs] if switch.vtep else []
    blocks = [
        (
            each.name,
            each.vni if tenants.source is not None else None,
            static_lines(tenants.routes_of(each), DISCARD),
        )
        for each in tenants.tenants
    ]
    return [block for block in blocks if block[1] is not None or block[2]]


# --- the facts of that --------------------------------------------------------------------------------


def state_routes(facts: Facts, switch: Switch) -> None:
    """Add the facts that frr.conf states: whatever is not its own, FRR keeps as it came, next hops included."""
    stated = evpn_facts(switch)
    for session, _ in switch.bgp.evpn_sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        stated[f"evpn/neighbor[{key}]/next_hop"] = "unchanged"
        stated["evpn/route_targets"] = "all"
    if vtep := local_vtep(switch):
        facts["evpn/advertises_all"] = "true"
        for vrf in vtep.vrfs:
            facts[f"evpn/vrf[{vrf.name}]/asn"] = switch.bgp.asn
            facts[f"evpn/vrf[{vrf.name}]/router_id"] = switch.bgp.router_id
    facts |= stated


def state_devices(facts: Facts, switch: Switch) -> None:
    """Add the facts of the kernel's devices."""
    state_tenants(facts, switch)
    vtep = local_vtep(switch)
    if vtep is None:
        return
    facts["structure/bridge/ports"] = ",".join(sorted(bridge_ports(switch, vtep)))
    facts["structure/bridge/vlans"] = ",".join(map(str, sorted(bridge_vlans(vtep))))
    facts["structure/bridge/vlan_aware"] = "yes"
    facts["structure/bridge/spanning_tree"] = "off"
    facts["structure/bridge/mtu"] = vtep.mtu
    for segment in vtep.segments:
        facts[f"evpn/segment[{segment.vlan}]/suppresses_arp"] = "true"
        facts[f"evpn/segment[{segment.vlan}]/accepts_arp"] = "true"
        facts[f"evpn/segment[{segment.vlan}]/learns_from_tunnels"] = "false"
        facts[f"structure/vni[{segment.vni}]/mtu"] = vtep.mtu
    for vrf in vtep.vrfs:
        facts[f"evpn/vrf[{vrf.name}]/vlan"] = vrf.vlan
        facts[f"evpn/vrf[{vrf.name}]/router_mac"] = router_mac(vtep.source)
        facts[f"structure/vrf[{vrf.name}]/table"] = FIRST_TABLE + vrf.vlan
        facts[f"structure/vrf[{vrf.name}]/vni"] = vrf.vni
        facts[f"structure/vrf[{vrf.name}]/mtu"] = vtep.mtu
        facts[f"structure/vrf[{vrf.name}]/learns_from_tunnels"] = "false"
        facts[f"structure/vni[{vrf.vni}]/mtu"] = vtep.mtu


# --- and back -----------------------------------------------------------------------------------------

DEVICE_ROWS: tuple[Row, ...] = (
    Keep("bridge-access <integer>", "access"),
    Keep("bridge-learning off", "learns", "false"),
    Keep("bridge-learning on", "learns", "true"),
    Keep("bridge-arp-nd-suppress on", "suppresses", "true"),
    Keep("vxlan-id <integer>", "vni"),
    Keep("vxlan-local-tunnelip <address4>", "source"),
    Keep("vlan-id <integer>", "vlan"),
    Keep(f"vlan-raw-device {BRIDGE}", "raw", "true"),
    Keep("hwaddress <word>", "mac"),
    Keep("alias <word>", "name"),
    Keep("arp-accept on", "accepts_arp", "true"),
    Keep("vrf <word>", "vrf"),
    Keep("vrf-table <integer>", "table"),
    Keep("ipv6-addrgen off", "addressless", "true"),
    Keep("up <rest>", read_command),
    Entry("address <prefix>", "addresses"),
    Keep("bridge-vlan-aware <word>", "vlan_aware"),
    Keep("bridge-stp <word>", "spanning_tree"),
    Entry("bridge-ports <word>...", "ports"),
    Entry("bridge-vids <integer>...", "vlans"),
)
"""Lines of interfaces that are no ports, and of access ports."""
_DEVICES = ("vni", "vlan", "table", "vlan_aware")


def is_device(name: str, scope: Scope) -> bool:
    """Return whether an interface is no port of the switch."""
    return name == BRIDGE or not scope.values.keys().isdisjoint(_DEVICES)


def finish_devices(document: Document, devices: Mapping[str, Scope]) -> None:
    """State the facts of bridge, VXLAN devices, VLAN interfaces and VRFs.

    A VLAN interface with a name is that of a segment, one without is that of its VRF.
    """
    vnis = {
        scope.values["access"][0]: scope
        for scope in devices.values()
        if {"vni", "access"} <= scope.values.keys()
    }
    sources: dict[object, int] = {}
    macs: dict[object, int] = {}
    for name, scope in devices.items():
        values = scope.values
        if name == BRIDGE:
            _finish_bridge(document, scope)
        elif "vni" in values:
            document.put_leaves(f"structure/vni[{values['vni'][0]}]/", values, ("mtu",))
            if "source" in values:
                sources[values["source"][0]] = values["source"][1]
        elif "table" in values:
            document.put(f"structure/vrf[{name}]/table", *values["table"])
        elif "raw" not in values or name != f"vlan{values['vlan'][0]}":
            document.reject_all(scope)
        elif "name" in values:
            _finish_segment(document, scope, vnis.get(values["vlan"][0]))
            if "mac" in values:
                macs[values["mac"][0]] = values["mac"][1]
        elif "vrf" in values:
            _finish_vrf(document, scope, vnis.get(values["vlan"][0]))
    put_tunnels(document, devices)
    put_isolated(document, devices, list(vnis))
    for path, found in (("source", sources), ("anycast_mac", macs)):
        if found:
            document.put(f"evpn/{path}", ", ".join(sorted(map(str, found))), max(found.values()))


def _finish_bridge(document: Document, scope: Scope) -> None:
    document.put_set("structure/bridge/ports", scope.table("ports"))
    if table := scope.table("vlans"):
        numbers = ",".join(map(str, sorted(table, key=int)))
        document.put("structure/bridge/vlans", numbers, max(line for _, line in table.values()))
    document.put_leaves("structure/bridge/", scope.values, ("vlan_aware", "spanning_tree", "mtu"))


def _finish_segment(document: Document, scope: Scope, vni: Scope | None) -> None:
    prefix = f"evpn/segment[{scope.values['vlan'][0]}]/"
    document.put_leaves(prefix, scope.values, ("name", "vrf", "mtu", "accepts_arp"))
    for address, (_, line) in scope.table("addresses").items():
        document.put_also(f"{prefix}ipv{6 if ':' in str(address) else 4}", str(address), line)
    if vni:
        document.put_leaves(prefix, vni.values, ("vni",))
        document.put(prefix + "suppresses_arp", *vni.values.get("suppresses", ("false", vni.line)))
        document.put(prefix + "learns_from_tunnels", *vni.values.get("learns", ("true", vni.line)))


def _finish_vrf(document: Document, scope: Scope, vni: Scope | None) -> None:
    name = scope.values["vrf"][0]
    document.put(f"evpn/vrf[{name}]/vlan", *scope.values["vlan"])
    document.put_kept(f"evpn/vrf[{name}]/router_mac", scope.values, "mac")
    document.put_leaves(f"structure/vrf[{name}]/", scope.values, ("mtu", "addressless"))
    if vni:
        document.put_leaves(f"structure/vrf[{name}]/", vni.values, ("vni",))
        document.put(
            f"structure/vrf[{name}]/learns_from_tunnels", *vni.values.get("learns", ("true", vni.line))
        )
        if "suppresses" in vni.values:
            document.reject(vni.values["suppresses"][1])


_TARGETS: tuple[Row, ...] = (
    Keep("rd <word>", "distinguisher"),
    Entry("route-target import <word>...", "imports"),
    Entry("route-target export <word>...", "exports"),
    Entry("route-target both <word>...", "both"),
    Silent("autort rfc8365-compatible"),
)
_SETTINGS = setting_rows(
    "advertise-default-gw", "advertise-pip", "advertise-svi-ip", "advertise ipv4 unicast", "advertise ipv6 unicast",
    "default-originate", "disable-ead-evi-rx", "disable-ead-evi-tx", "dup-addr-detection",
    "dup-addr-detection freeze", "dup-addr-detection max-moves", "ead-es-frag", "ead-es-route-target", "flooding",
    "mac-vrf soo", "mh", "use-es-l3nhg", under="evpn setting",
)  # fmt: skip
ALL_VNIS = "advertise-all-vni"
_ANNOUNCED = ("prefixes", "evpn setting[advertise ipv")
ROUTE_ROWS: tuple[Row, ...] = (
    Keep("address-family [l2vpn] evpn", "evpn"),  # without `l2vpn` in Cumulus Linux 3
    Block("address-family [l2vpn] evpn", "", (
        *of_family("evpn"),
        Fact(ALL_VNIS, "evpn/advertises_all"),
        Block("vni <integer>", "vni", (*_TARGETS, *_SETTINGS)),
        *_TARGETS,
        *_SETTINGS,
        Silent("exit-vni"),
    )),
)  # fmt: skip
"""Lines of the router's own process."""
TENANT_ROWS: tuple[Row, ...] = (
    Block("address-family [l2vpn] evpn", "", (*_TARGETS, *_SETTINGS, *of_family("evpn"))),
)
"""Lines of the process of a routing instance."""


def finish_routes(document: Document, bgp: Scope) -> None:
    """State the values of the router's process about segments, whose VLANs another file has."""
    if "evpn" in bgp.values:
        document.put("evpn/route_targets", "all", bgp.values["evpn"][1])
    of_vni = _vlans_of(document.reading)
    for vni, scope in bgp.each("vni").items():
        vlan = of_vni.get(vni)
        prefix = f"evpn/vni[{vni}]/" if vlan is None else f"evpn/segment[{vlan}]/"
        _put_targets(document, prefix, scope)
        put_settings(document, f"evpn/vni[{vni}]/", scope.values, "evpn setting")
    _put_targets(document, "evpn/", bgp)
    put_settings(document, "evpn/", bgp.values, "evpn setting")


def finish_tenants(document: Document) -> None:
    """State the values of VRFs."""
    facts = document.reading.facts
    for name, scope in document.scope.each("vrf").items():
        document.put_leaves(f"evpn/vrf[{name}]/", scope.values, ("vni",))
        device = f"structure/vrf[{name}]/vni"
        number, line = scope.values.get("vni", (None, 0))
        if line and facts.get(device, number) != number:
            document.put(f"unread[vni of VRF {name}]", f"its VXLAN device has the VNI {facts[device]}", line)
            at = document.reading.lines[device]
            document.reading.put(f"unread[VXLAN device of VRF {name}]", f"the VRF has the VNI {number}", *at)
        bridged = facts.get("structure/bridge/vlan_aware") == "yes"
        if bridged and "vni" in scope.values and f"evpn/vrf[{name}]/vlan" not in facts:
            document.put(f"evpn/vrf[{name}]/vlan", NO_VLAN, scope.values["vni"][1])
    for name, scope in document.scope.each("tenant").items():
        prefix = f"evpn/vrf[{name}]/"
        document.put_leaves(prefix, scope.values, ("asn", "router_id", "prefixes"))
        vrf = document.scope.each("vrf").get(name, Scope(0))
        announced = [line for each, (_, line) in scope.values.items() if each.startswith(_ANNOUNCED)]
        if announced and "vni" not in vrf.values and f"structure/vrf[{name}]/vni" not in facts:
            document.put(
                f"unread[the announcement of VRF {name}]", "no line gives the VRF a VNI", announced[0]
            )
        document.put_kept(f"vrf[{name}]/bgp/redistribute_static", scope.values, "static_map")
        _put_targets(document, prefix, scope)
        put_settings(document, f"vrf[{name}]/evpn/", scope.values, "evpn setting")


def _put_targets(document: Document, prefix: str, scope: Scope) -> None:
    """State distinguisher and route targets: one where what is imported is what is exported."""
    document.put_leaves(prefix, scope.values, ("distinguisher",))
    tables = [{**scope.table(name), **scope.table("both")} for name in ("imports", "exports")]
    imports, exports = ({str(target): line for target, (_, line) in table.items()} for table in tables)
    put_targets(document.put, prefix, imports, exports, document.reading.facts.get(prefix + "vni"))


def _vlans_of(reading: Reading) -> dict[object, str]:
    """VNI -> VLAN of the segment, by what has been read so far."""
    found: dict[object, str] = {}
    for path, value in reading.facts.items():
        if path.startswith("evpn/segment[") and path.endswith("]/vni"):
            found[value] = path[len("evpn/segment[") : -len("]/vni")]
    return found
