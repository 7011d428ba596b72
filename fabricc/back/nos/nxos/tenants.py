"""VRFs of tenants on NX-OS: a VNI without a VLAN for each (`vni … l3`, from 10.2(3)F), and EVPN routes over BGP.

Sources: Cisco, Nexus 9000 VXLAN configuration guide 10.6(x), VXLAN BGP EVPN: the new L3VNI mode, route distinguishers
and targets, eBGP with spines that keep next hops and route targets; the same guide, VXLAN QoS: type of service goes to
the outer header unless `qos-mode pipe` is set. `redistribute direct` needs a route map. From 9.2(1) on a VRF announces
what its VNI is a member of the VTEP for (`advertise l2vpn evpn` has no effect). `nexthop route-map` rejects next hops
by the routes that resolve them (Cisco, Nexus NX-OS BGP commands): netlab's map permits all, and the underlay of tenants
has loopbacks only, so it is not needed.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import put_targets, static_lines
from fabricc.back.nos.nxos.words import DISCARD, FAMILY_SUFFIXES, state_defined
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, evpn_facts, neighbor_key
from fabricc.fabric.tenants import STATIC_MAP, Tenant, TenantVrfs

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from fabricc.back.reading import Document, Scope
    from fabricc.fabric.model import Switch

LINKS_MAP = "TENANT-LINKS"
"""The route map by which links of a VRF enter BGP; it permits all."""
NVE, LOOPBACK = "nve1", "loopback0"
NEXT_HOP = "set ip next-hop unchanged"
"""A line of clauses by which spines announce EVPN routes: the next hop stays the VTEP."""
CARRIED = {"evpn/outer_dscp": "copied", "evpn/inner_dscp": "kept", "evpn/ecn": "carried"}


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TenantsView:
    """Values of tenants and EVPN routes in the templates.

    Attributes:
        carried: whether sessions carry EVPN routes; `transit`: and others' are passed on.
        vrfs: tenant, route distinguisher, route target, static routes.
        tunnels: whether the VRFs have VNIs.
        static_maps: address family -> route map on static routes.
    """

    carried: bool
    transit: bool
    vrfs: list[tuple[Tenant, str, str, list[tuple[str, str, str]]]]
    families: tuple[str, ...]
    tunnels: bool
    static_maps: Mapping[str, str] = field(default_factory=dict)
    links_map: str = LINKS_MAP
    nve: str = NVE


def tenants_view(switch: Switch) -> TenantsView:
    """Return the view of the tenants of a switch, and of the EVPN routes that it passes on."""
    tenants, carried = switch.tenants, bool(switch.bgp.evpn_sessions)
    if tenants is None:
        return TenantsView(carried, switch.bgp.evpn_transit, [], (), tunnels=False)
    vrfs = [
        (
            each,
            tenants.distinguisher(each),
            each.route_target,
            static_lines(tenants.routes_of(each), DISCARD),
        )
        for each in tenants.tenants
    ]
    tunnels, maps = tenants.source is not None, _static_maps(tenants)
    return TenantsView(carried, False, vrfs, tenants.families, tunnels=tunnels, static_maps=maps)


def _static_maps(tenants: TenantVrfs) -> dict[str, str]:
    """Return address family -> route map on static routes of VRFs: a process with two families has separate maps."""
    apart = len(tenants.families) > 1
    return {each: STATIC_MAP + (FAMILY_SUFFIXES[each] if apart else "") for each in tenants.families}


def used_features(switch: Switch) -> list[str]:
    """Return the features that VXLAN needs."""
    tunnels = switch.tenants is not None and switch.tenants.source is not None
    return ["vn-segment-vlan-based", "nv overlay"] if tunnels else []


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of tenants and EVPN routes."""
    facts |= evpn_facts(switch)
    for session, _ in switch.bgp.evpn_sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        path = f"bgp/neighbor[{key}]/"
        facts[path + "families"] = f"{facts[path + 'families']},evpn"
        facts[path + "setting[evpn send_community]"] = "true"
        facts[path + "setting[evpn send-community extended]"] = "true"
    if switch.bgp.evpn_sessions:
        facts["bgp/family[evpn]"] = "true"
        facts["system/feature[nv overlay evpn]"] = "on"
    tenants = switch.tenants
    if tenants is None or tenants.source is None:
        return
    for feature in used_features(switch):
        facts[f"system/feature[{feature}]"] = "on"
    for each in tenants.tenants:
        for family, name in _static_maps(tenants).items() if tenants.routes_of(each) else ():
            facts[f"vrf[{each.name}]/bgp/family[{family}]/redistribute_static"] = name
    facts["vxlan/setting[host-reachability]"] = "bgp"
    facts["vxlan/source"] = LOOPBACK
    state_defined(facts, f"port[{NVE}]")
    facts[f"route_map[{LINKS_MAP}]/10"] = "permit"
    facts[f"structure/route_map[{LINKS_MAP}]/10/action"] = "permit"


# --- and back -----------------------------------------------------------------------------------------

_UNCHANGED = NEXT_HOP.removesuffix(" unchanged")
_PIPE = "pipe"
_DIRECT, _STATIC = "redistribute_connected", "redistribute_static"


def tenant_vrfs(document: Document) -> Mapping[str, Scope]:
    """Return the VRFs with a VNI and no VLAN (`vni … l3`) whose process announces their links alone, by name."""
    processes = _instances(document)
    return {
        str(name): vrf
        for name, vrf in document.scope.each("vrf").items()
        if "l3" in vrf.values and (str(name) not in processes or _announces_links(processes[str(name)]))
    }


def _instances(document: Document) -> dict[str, Scope]:
    """Return what BGP has of routing instances."""
    return {
        str(name): instance
        for process in document.scope.each("bgp").values()
        for name, instance in process.each("vrf").items()
    }


def _announces_links(instance: Scope) -> bool:
    """Return whether the process of a routing instance does nothing but announce its links and static routes."""
    families = instance.each("family")
    own = instance.values.keys() - {"defined"}
    return not (own or instance.each("neighbor") or families.keys() - {"ipv4", "ipv6"}) and all(
        {_DIRECT} <= family.values.keys() <= {_DIRECT, _STATIC} and not family.tables
        for family in families.values()
    )


def put_tenant(document: Document, name: str, vrf: Scope, members: Container[object]) -> None:
    """State a VRF with a VNI and no VLAN; `members`: the VNIs that the VTEP has for routing."""
    path, facts = f"evpn/vrf[{name}]/", document.reading.facts
    document.put(path + "vni", *vrf.values["vni"])
    if "distinguisher" in vrf.values:
        document.put(path + "distinguisher", *vrf.values["distinguisher"])
    both = vrf.table("both")
    tables = [{**both, **vrf.table(way)} for way in ("import", "export")]
    imports, exports = ({str(target): line for target, (_, line) in table.items()} for table in tables)
    put_targets(document.put, path, imports, exports, vrf.values["vni"][0])
    instance = _instances(document).get(name)
    families = instance.each("family") if instance else {}
    announced = {
        str(family): stored[1]
        for family, scope in families.items()
        for stored in [scope.values[_DIRECT]]
        if facts.get(f"route_map[{stored[0]}]/10") == "permit"
    }
    for family, scope in families.items():
        if _STATIC in scope.values:
            at, (map_name, line) = f"vrf[{name}]/bgp/", scope.values[_STATIC]
            document.put(f"{at}family[{family}]/{_STATIC}", map_name, line)
            shared = str(map_name).removesuffix(FAMILY_SUFFIXES.get(str(family), ""))
            document.put_also(f"{at}{_STATIC}", shared, line)
    if announced and vrf.values["vni"][0] in members:
        document.put(path + "prefixes", ",".join(sorted(announced)), max(announced.values()))


def put_isolated(document: Document, name: str, vrf: Scope) -> bool:
    """State a VRF that ports have and that has nothing but static routes; return whether it is one."""
    used = any(
        value == name and path.startswith("interface[") and path.endswith("]/vrf")
        for path, value in document.reading.facts.items()
    )
    others = vrf.values or vrf.tables or vrf.scopes.keys() - {"static route"}
    if not used or others or name in _instances(document):
        return False
    document.put(f"tenant[{name}]", "isolated", vrf.line)
    return True


def put_tunnels(document: Document, nve: Scope) -> None:
    """State how tunnels treat code points and marks: they are copied unless the VTEP has `qos-mode pipe`."""
    mode, line = nve.values.get("vxlan qos-mode", ("", nve.values["source"][1]))
    for path, value in CARRIED.items():
        document.put(path, _PIPE if mode == _PIPE else value, line)


def put_next_hops(document: Document) -> None:
    """State the sessions whose export map leaves next hops of EVPN routes as they are in every clause that permits."""
    facts, lines = document.reading.facts, document.reading.lines
    kept: dict[Value, bool] = {}
    for path, value in [*facts.items()]:
        if not (path.startswith("evpn/neighbor[") and path.endswith("]/export")):
            continue
        if value not in kept:
            at = f"route_map[{value}]/"
            permits = [
                path
                for path, stored in facts.items()
                if path.startswith(at) and str(stored).startswith("permit")
            ]
            kept[value] = bool(permits) and all(f"structure/{path}/{_UNCHANGED}" in facts for path in permits)
        if kept[value]:
            document.put(path.removesuffix("export") + "next_hop", "unchanged", lines[path][1])
