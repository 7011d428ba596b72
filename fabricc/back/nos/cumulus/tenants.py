"""VRFs of tenants in NVUE, and EVPN routes between VTEPs.

Sources: NVIDIA, Inter-subnet Routing (`vrf … evpn vni`, `route-export to-evpn`, reserved VLANs of L3VNIs) and VXLAN
Tunnel DSCP Operations (`encapsulation dscp action copy`, `decapsulation dscp action preserve`; ECN as in RFC 6040,
without a setting); the Cumulus template of githedgehog/fabric (`pkg/agent/cmls`), which is of this design; and the
NVUE object models of 5.9 to 5.18. NVUE makes the bridge, the VXLAN device and a VLAN for each VNI itself; with `evpn
l3vxi` (general from 5.19, off by default) a device without a VLAN. Next hops and route targets of others stay as they
are, as with FRR, which it configures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import put_targets
from fabricc.back.nos.cumulus.limits import Release, release_of
from fabricc.back.nos.cumulus.startup import (
    File,
    KeyBlock,
    Tree,
    entry_part,
    is_on,
    line_of,
    node_part,
    on_off,
    scope_at,
    table_entries_at,
    table_part,
)
from fabricc.back.reading import Keep, Row, Scope
from fabricc.fabric.facts import Facts, Value, evpn_facts, neighbor_key, static_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import PeerGroup, StaticRoute
    from fabricc.fabric.tenants import Tenant, TenantVrfs

BLACKHOLE = "blackhole"
"""The next hop of a route that drops its packets."""
RESERVED_VLANS = (3000, 3254)
"""VLANs that NVUE takes for the VNIs of VRFs: one for each VRF that a switch can have."""
EVPN = "l2vpn-evpn"
_ALONE = ""  # key of an entry without a capture: EVPN's address family
_KEYED = (
    ("evpn", "vni"),
    ("router", "bgp", "route-import", "from-evpn", "route-target"),
    ("router", "bgp", "route-export", "to-evpn", "route-target"),
)
"""Tables of a VRF whose entries have nothing below them."""
_COPY, _KEEP = "copy", "preserve"
_STATED = {
    "evpn/outer_dscp": ("encapsulation", _COPY, "copied"),
    "evpn/inner_dscp": ("decapsulation", _KEEP, "kept"),
}


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


def tunnels(switch: Switch, release: Release) -> Tree:
    """Return the top-level settings of a switch with EVPN routes, and of a VTEP."""
    if not switch.bgp.evpn_sessions:
        return {}
    on: Tree = {release.enable: release.on}
    tree: Tree = {"evpn": on}
    if switch.tenants and switch.tenants.source:
        if release.l3vxi:
            tree["evpn"] = {"l3vxi": on, **on}
        actions: Tree = {way: {"dscp": {"action": word}} for way, word, _ in _STATED.values()}
        source: Tree = {"source": {"address": switch.tenants.source}}
        tree["nve"] = {"vxlan": {**actions, release.enable: release.on, **source}}
    return tree


def reserved_vlans(switch: Switch) -> Tree:
    """Return what stands below `system` of a VTEP whose VNIs have VLANs."""
    if not (switch.tenants and switch.tenants.source) or release_of(switch.release).l3vxi:
        return {}
    begin, end = RESERVED_VLANS
    return {"global": {"reserved": {"vlan": {"l3-vni-vlan": {"begin": begin, "end": end}}}}}


def evpn_family(group: PeerGroup | None, release: Release) -> Tree:
    """Return the address family of EVPN routes, of the process or of a peer group."""
    family: Tree = {release.enable: release.on}
    if group and group.evpn:
        inbound, outbound = group.evpn
        family["policy"] = {"inbound": {"route-map": inbound}, "outbound": {"route-map": outbound}}
    return {EVPN: family}


def vrfs(switch: Switch, release: Release) -> Tree:
    """Return the VRFs of tenants, by name."""
    tenants = switch.tenants
    return {each.name: _vrf(switch, tenants, each, release) for each in tenants.tenants} if tenants else {}


def _vrf(switch: Switch, tenants: TenantVrfs, tenant: Tenant, release: Release) -> Tree:
    static = static_trees(tenants.routes_of(tenant))
    if tenants.source is None:
        return {"router": {"static": static}} if static else {}
    on: Tree = {release.enable: release.on}
    target: Tree = {"route-target": {tenant.route_target: {}}}
    taken: Tree = {"connected": on}
    if static_map := tenants.static_map(tenant):
        taken["static"] = {**on, "route-map": static_map}
    family: Tree = {**on, "redistribute": taken, "route-export": {"to-evpn": on}}
    return {
        "evpn": {**on, "vni": {str(tenant.vni): {}}},
        "router": {
            "bgp": {
                "address-family": {f"{each}-unicast": family for each in tenants.families},
                "autonomous-system": switch.bgp.asn,
                **on,
                "rd": tenants.distinguisher(tenant),
                "route-export": {"to-evpn": target},
                "route-import": {"from-evpn": target},
                "router-id": switch.bgp.router_id,
            },
            **({"static": static} if static else {}),
        },
    }


def static_trees(routes: Iterable[StaticRoute]) -> Tree:
    """Return the static routes of a VRF, by prefix."""
    return {route.prefix: _static_tree(route) for route in routes}


def _static_tree(route: StaticRoute) -> Tree:
    family = _family_of(route.prefix)
    hops: Tree = {hop: {"type": f"{family}-address"} for hop in route.via}
    return {"address-family": f"{family}-unicast", "via": hops or {BLACKHOLE: {"type": BLACKHOLE}}}


def _family_of(text: str) -> str:
    return "ipv6" if ":" in text else "ipv4"


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State NVUE's facts of tenants and EVPN routes; next hops and route targets need no statement."""
    facts |= evpn_facts(switch)
    for session, _ in switch.bgp.evpn_sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        facts[f"evpn/neighbor[{key}]/next_hop"] = "unchanged"
        facts["evpn/route_targets"] = "all"
    tenants = switch.tenants
    if tenants is None:
        return
    if tenants.source is not None and release_of(switch.release).l3vxi:
        facts["evpn/l3vxi"] = "true"
    elif tenants.source is not None:
        facts["evpn/reserved_vlans"] = "{}-{}".format(*RESERVED_VLANS)
    for each in tenants.tenants:
        state_families(facts, f"vrf[{each.name}]/", tenants.routes_of(each))
    for each in tenants.tenants if tenants.source is not None else ():
        facts[f"evpn/vrf[{each.name}]/asn"] = switch.bgp.asn
        facts[f"evpn/vrf[{each.name}]/router_id"] = switch.bgp.router_id


def state_families(facts: Facts, at: str, routes: Iterable[StaticRoute]) -> None:
    """State the address family that NVUE has with every static route, below `at`."""
    for route in routes:
        facts[f"{at}static_route[{route.prefix}]/family"] = f"{_family_of(route.prefix)}-unicast"


# --- and back --------------------------------------------------------------------------------------------


def top_rows(release: Release) -> Sequence[Row]:
    """Return the rows of the keys next to `router` and `vrf`."""
    on = on_off(release)
    action = node_part("dscp", Keep("action <word>", "action"))
    source = node_part("source", Keep("address <address4>", "address"))
    vxlan = node_part(
        "vxlan", *on, node_part("encapsulation", action), node_part("decapsulation", action), source
    )
    return node_part("evpn", *on, node_part("l3vxi", *on)), node_part("nve", vxlan)


STATIC_ROW = table_part(
    "static",
    "<word>",
    Keep("address-family <word>", "family"),
    table_part("via", "<word>", Keep("type <word>", "type")),
)
"""Static routes, below `router` of a VRF."""
SYSTEM_ROW = node_part(
    "global",
    node_part(
        "reserved",
        node_part(
            "vlan", node_part("l3-vni-vlan", Keep("begin <integer>", "begin"), Keep("end <integer>", "end"))
        ),
    ),
)
"""Below `system`."""


def process_row(release: Release) -> KeyBlock:
    """Return the row of EVPN's address family in the process, or in a peer group."""
    return entry_part(
        EVPN,
        *on_off(release),
        Keep("policy inbound route-map <word>", "import"),
        Keep("policy outbound route-map <word>", "export"),
    )


def vrf_rows(release: Release) -> Sequence[Row]:
    """Return the rows of a VRF of a tenant."""
    on = on_off(release)
    target = table_part("route-target", "<word>")
    family = table_part("address-family", "<ipv4-unicast|ipv6-unicast>",
        *on, node_part("redistribute", node_part("connected", *on), node_part("static", *on,
            Keep("route-map <word>", "map"))), node_part("route-export", node_part("to-evpn", *on)),
    )  # fmt: skip
    process = node_part("bgp",
        *on, Keep("autonomous-system <asn>", "asn"), Keep("router-id <word>", "router_id"), Keep("rd <word>", "rd"),
        node_part("route-export", node_part("to-evpn", target)), node_part("route-import", node_part("from-evpn",
            target)), family,
    )  # fmt: skip
    return node_part("evpn", *on, table_part("vni", "<integer>")), node_part("router", process, STATIC_ROW)


def tenant_vrfs(file: File) -> Mapping[Value, Scope] | None:
    """Return the VRFs of a file whose overlay is one that fabricc writes; None where it is another's."""
    top, found = scope_at(file.root, "evpn"), scope_at(file.root, "vrf")
    scopes = found.each("tenant") if found else {}
    process = scope_at(file.root, "vrf", "default", "router", "bgp")
    families = _evpn_families(process, "peer-group")
    further = any(map(is_on, _evpn_families(process, "neighbor")))
    vxlan = scope_at(file.root, "nve", "vxlan")
    if top is None or not is_on(top):
        plain = vxlan is None and not any(families) and not further
        plain = plain and not any(map(_does_more, scopes.values()))
        return scopes if plain else None  # type: ignore[return-value]
    carried = is_on(table_entries_at(process, "address-family").get(_ALONE))
    filtered = carried and all(
        part is None or {"import", "export"} <= part.values.keys() for part in families
    )
    actions = [scope_at(vxlan, way, "dscp") for way, _, _ in _STATED.values()]
    if not filtered or further or (vxlan is not None and None in actions):
        return None
    whole = all(scope_at(scope, "evpn") and scope_at(scope, "router", "bgp") for scope in scopes.values())
    return scopes if whole else None  # type: ignore[return-value]


def _evpn_families(process: Scope | None, kind: str) -> list[Scope | None]:
    """Return EVPN's part of each peer group or neighbor of a process."""
    return [
        table_entries_at(session, "address-family").get(_ALONE)
        for session in table_entries_at(process, kind).values()
    ]


def _does_more(vrf: Scope) -> bool:
    """Return whether a VRF has more than static routes."""
    router = scope_at(vrf, "router")
    return bool(vrf.scopes.keys() - {"router"} or (router and router.scopes.keys() - {"static"}))


def put_static(file: File, at: str, prefix: str, route: Scope) -> None:
    """State a static route of a VRF, whose facts are below `at`."""
    hops = {
        str(hop): str(scope.values.get("type", ("", 0))[0])
        for hop, scope in table_entries_at(route, "via").items()
    }
    kinds = {hop: hop if hop == BLACKHOLE else f"{_family_of(hop)}-address" for hop in hops}
    if hops and hops == kinds and (BLACKHOLE not in hops or len(hops) == 1):
        value = static_text(hop for hop in hops if hop != BLACKHOLE)
        file.put(f"{at}static_route[{prefix}]", value, route.line)
    else:
        file.missing(route.line, f"type of a next hop of {prefix} is missing")
    file.state_stored(f"{at}static_route[{prefix}]/family", route, "family")


def reject_overlay(file: File) -> None:
    """List what is known of an overlay that fabricc does not write as unknown, for the rows of foreign designs."""
    process = scope_at(file.root, "vrf", "default", "router", "bgp")
    found = scope_at(file.root, "vrf")
    sessions = [part for kind in ("peer-group", "neighbor") for part in _evpn_families(process, kind)]
    parts = [table_entries_at(process, "address-family").get(_ALONE), *sessions]
    tenants = found.each("tenant").values() if found else ()
    for scope in (scope_at(file.root, "evpn"), scope_at(file.root, "nve"), *parts, *tenants):
        if scope is not None:
            file.document.reject_all(scope)
    for scope in tenants:
        for words in _KEYED:
            for each in table_entries_at(scope, *words).values():
                file.reject(each.line)


def finish_tunnels(file: File) -> None:
    """State how tunnels treat code points and marks, and where they begin."""
    if (devices := scope_at(file.root, "evpn", "l3vxi")) is not None and is_on(devices):
        file.put("evpn/l3vxi", "true", devices.line)
    vxlan = scope_at(file.root, "nve", "vxlan")
    if vxlan is None or not is_on(vxlan):
        return
    for path, (way, wanted, word) in _STATED.items():
        if (scope := scope_at(vxlan, way, "dscp")) and "action" in scope.values:
            value, line = scope.values["action"]
            file.put(path, word if value == wanted else str(value), line)
    file.put("evpn/ecn", "carried", vxlan.line)
    if (source := scope_at(vxlan, "source")) and "address" in source.values:
        file.put("evpn/source", *source.values["address"])


def finish_system(file: File) -> None:
    """State the VLANs that NVUE takes for VNIs of VRFs."""
    vlans = scope_at(file.root, "system", "global", "reserved", "vlan", "l3-vni-vlan")
    if vlans and {"begin", "end"} <= vlans.values.keys():
        begin, line = vlans.values["begin"]
        file.put("evpn/reserved_vlans", f"{begin}-{vlans.values['end'][0]}", line)


def finish_overlay(file: File) -> bool:
    """State tunnels and VRFs of tenants; return whether the overlay is one that fabricc writes."""
    scopes = tenant_vrfs(file)
    if scopes is None:
        reject_overlay(file)
        return False
    finish_tunnels(file)
    finish_vrfs(file, scopes)
    return True


def finish_vrfs(file: File, tenants: Mapping[Value, Scope]) -> None:
    """State the VRFs of tenants."""
    for name, scope in tenants.items():
        evpn, process = scope_at(scope, "evpn"), scope_at(scope, "router", "bgp")
        for route, entry in table_entries_at(scope_at(scope, "router"), "static").items():
            put_static(file, f"vrf[{name}]/", str(route), entry)
        if evpn is None and process is None:
            file.put(f"tenant[{name}]", "isolated", scope.line)
            continue
        prefix = f"evpn/vrf[{name}]/"
        for vni, at_vni in table_entries_at(evpn, "vni").items():
            if is_on(evpn):
                file.put(prefix + "vni", vni, at_vni.line)  # type: ignore[arg-type]
        if process is None or not is_on(process):
            continue
        for leaf, key in (("asn", "asn"), ("router_id", "router_id"), ("distinguisher", "rd")):
            if key in process.values:
                file.put(prefix + leaf, *process.values[key])
        _put_targets(file, prefix, process)
        families = [
            (family.removesuffix("-unicast"), line_of(part))
            for family, part in (
                (str(key), part) for key, part in table_entries_at(process, "address-family").items()
            )
            if is_on(part)
            and is_on(scope_at(part, "redistribute", "connected"))
            and is_on(scope_at(part, "route-export", "to-evpn"))
        ]
        if families:
            file.put(prefix + "prefixes", ",".join(sorted(name for name, _ in families)), families[0][1])
        for part in table_entries_at(process, "address-family").values():
            static = scope_at(part, "redistribute", "static")
            if static and is_on(static):
                value, line = static.values.get("map", ("unfiltered", static.line))
                file.agree(f"vrf[{name}]/bgp/redistribute_static", value, line)


def _put_targets(file: File, prefix: str, process: Scope) -> None:
    tables = [
        table_entries_at(process, *words, "route-target")
        for words in (("route-import", "from-evpn"), ("route-export", "to-evpn"))
    ]
    imports, exports = ({str(target): scope.line for target, scope in table.items()} for table in tables)
    put_targets(file.put, prefix, imports, exports, file.facts.get(prefix + "vni"))


def is_without_evpn(neighbor: Scope) -> bool:
    """Return whether a neighbor has EVPN routes off in place of what its peer group has."""
    own = table_entries_at(neighbor, "address-family").get(_ALONE)
    return own is not None and not is_on(own)


def finish_sessions(file: File, process: Scope, neighbors: Mapping[str, str]) -> None:
    """State which sessions carry EVPN routes, by `neighbors`: neighbor -> its peer group."""
    if not is_on(table_entries_at(process, "address-family").get(_ALONE)) or not is_on(
        scope_at(file.root, "evpn")
    ):
        return
    parts = {
        str(name): table_entries_at(group, "address-family").get(_ALONE)
        for name, group in table_entries_at(process, "peer-group").items()
    }
    for neighbor, group in neighbors.items():
        part = parts.get(group)
        if part is None or not is_on(part):
            continue
        prefix = f"evpn/neighbor[{neighbor}]/"
        for leaf in ("import", "export"):
            if leaf in part.values:
                file.put(prefix + leaf, *part.values[leaf])
        file.put(prefix + "next_hop", "unchanged", part.line)
        file.put("evpn/route_targets", "all", part.line)
