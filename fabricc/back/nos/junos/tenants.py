"""Tenants on Junos: virtual routers, or VRFs with EVPN type-5 routes in sessions between loopbacks.

Without tunnels a tenant has a virtual router with ports and nothing else (Juniper, `instance-type virtual-router`: a
routing table of its own, without route distinguisher and targets). Over spines everything is as in Juniper's validated
design JVD-AICLUSTERDC-EVPNType5 (Juniper/jvd, aiml_multitenancy_backend): a VRF announces its direct routes with
`ip-prefix-routes` (`direct-nexthop`, no VLAN and no IRB), EVPN routes go over sessions between loopbacks (`multihop ttl
1`, `no-nexthop-change`, `vpn-apply-export`), and ToRs chain next hops. The policy there applies to all routes of the
VRF's table (Juniper, `ip-prefix-routes`), so also to static ones. No line is about code points: the switch copies code
point and marks to the outer header and back (Juniper, `vxlan-disable-copy-tos-encap` and `-decap`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect import put_targets
from fabricc.back.nos.junos.bgp import static_views
from fabricc.back.nos.junos.bgp_rows import CHAINED
from fabricc.back.nos.junos.words import quote_text
from fabricc.fabric.facts import neighbor_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.nos.junos.bgp import Line
    from fabricc.back.reading import Document, Scope
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch
    from fabricc.fabric.tenants import TenantVrfs

KIND, VRF = "virtual-router", "vrf"
POLICY = "TENANTS"
"""The policy on routes of a VRF that become EVPN routes."""
HOPS = 1
_TARGET = "target:"
_STATIC = "permit match protocol static match policy"
_COPIES = ("outer_dscp", "copied"), ("inner_dscp", "kept"), ("ecn", "carried")


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class VrfView(NamedTuple):
    """Settings of a VRF for EVPN routes."""

    vni: int
    distinguisher: str
    target: str


class InstanceView(NamedTuple):
    """A routing instance of a tenant; `static4` and `static6` are its static routes, `vrf` is None without tunnels."""

    name: str
    interfaces: list[str]
    static4: list[Line]
    static6: list[Line]
    vrf: VrfView | None


class OverlayView(NamedTuple):
    """A group of sessions between loopbacks; `neighbors`: (address, description, AS number)."""

    name: str
    import_policy: str
    export_policy: str
    local: str
    neighbors: list[tuple[str, str, int]]


class TenancyView(NamedTuple):
    """Tenants in the templates.

    Attributes:
        families: those of the routes that VRFs announce, as (name, Junos's name); empty without VRFs.
        static_policy: that on static routes of VRFs; "" where none become EVPN routes.
    """

    instances: list[InstanceView]
    families: list[tuple[str, str]]
    groups: list[OverlayView]
    static_policy: str = ""


def tenancy_view(switch: Switch) -> TenancyView:
    """Return the routing instances of tenants, and the sessions that their routes go over."""
    tenants = switch.tenants
    groups = list_overlay_groups(switch)
    if tenants is None:
        return TenancyView([], [], groups)
    instances, tunnels = [], tenants.source is not None
    for each in tenants.tenants:
        vrf = VrfView(each.vni, tenants.distinguisher(each), _TARGET + each.route_target)
        instances.append(
            InstanceView(
                each.name,
                [f"{port.name}.0" for port in switch.ports if port.vrf == each.name],
                *static_views(tenants.routes_of(each)),
                vrf if tunnels else None,
            )
        )
    families = [(family, _NAMES[family]) for family in tenants.families if tunnels]
    return TenancyView(instances, families, groups, _find_static_policy(tenants))


def _find_static_policy(tenants: TenantVrfs) -> str:
    """Return the policy on static routes to outside parties; "" where no VRF has any that become EVPN routes."""
    return next(filter(None, map(tenants.static_map, tenants.tenants)), "")


_NAMES = {"ipv4": "inet", "ipv6": "inet6"}


def list_overlay_groups(switch: Switch) -> list[OverlayView]:
    """Return the groups of sessions between loopbacks, by direction."""
    found: dict[str, OverlayView] = {}
    for session, group in switch.bgp.evpn_sessions if switch.bgp.overlay else ():
        assert group.evpn is not None
        assert session.local is not None
        assert session.remote is not None
        view = found.setdefault(group.name, OverlayView(f"{group.name}-EVPN", *group.evpn, session.local, []))
        view.neighbors.append((session.remote, quote_text(session.description), session.remote_asn))
    return [*found.values()]


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of sessions between loopbacks, and further facts of VRFs."""
    for session, group in switch.bgp.evpn_sessions if switch.bgp.overlay else ():
        assert group.evpn is not None
        prefix = f"bgp/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        facts |= {
            prefix + "remote_asn": session.remote_asn,
            prefix + "description": session.description,
            prefix + "bfd": "false",
            prefix + "families": "evpn",
            prefix + "import": group.evpn[0],
            prefix + "export": group.evpn[1],
            prefix + "multihop": HOPS,
            prefix + "next_hop_unchanged": "all",
            prefix + "update_source": str(session.local),
            prefix + "vpn_export": "true",
            f"evpn/neighbor[{session.remote}]/next_hop": "unchanged",
            "evpn/route_targets": "all",
        }
    for view in list_overlay_groups(switch):
        facts[f"platform/bgp_group[{view.name}]/type"] = "external"
    tenants = switch.tenants
    if tenants is None or tenants.source is None:
        return
    facts[CHAINED] = "true"
    for at, family in enumerate(tenants.families, 1):
        facts[f"route_map[{POLICY}]/{10 * at}"] = (
            f"permit match protocol direct match family {_NAMES[family]}"
        )
        facts[f"structure/policy[{POLICY}]/term[{family.upper()}]"] = "true"
    clauses = len(tenants.families)
    if static := _find_static_policy(tenants):
        clauses += 1
        facts[f"route_map[{POLICY}]/{10 * clauses}"] = f"{_STATIC} {static}"
        facts[f"structure/policy[{POLICY}]/term[STATIC]"] = "true"
    facts[f"route_map[{POLICY}]/{10 * clauses + 10}"] = "deny"
    facts[f"structure/policy[{POLICY}]/term[DEFAULT]"] = "true"


# --- and back -----------------------------------------------------------------------------------------


def put_isolated(document: Document, name: str, instance: Scope) -> bool:
    """State a virtual router that has only ports and static routes; return whether it is one."""
    kind, line = instance.values.get("kind", ("", 0))
    more = instance.scopes.keys() - {"static route"}
    alone = instance.values.keys() == {"kind"} and instance.tables.keys() == {"ports"} and not more
    if kind != KIND or not alone:
        return False
    document.put(f"tenant[{name}]", "isolated", line)
    return True


def put_tunnels(document: Document) -> None:
    """State EVPN sessions with a policy, and VRFs whose direct routes become EVPN routes."""
    facts = dict(document.reading.facts)
    lines = {path: line for path, (_, line) in document.reading.lines.items()}
    carried: int | None = None
    for path, families in facts.items():
        neighbor = path.removesuffix("families")
        if families != "evpn" or not path.startswith("bgp/neighbor[") or not path.endswith("]/families"):
            continue
        carried = carried or lines.get(path, 0)
        policies = [leaf for leaf in ("import", "export") if neighbor + leaf in facts]
        if not policies:
            continue
        own = neighbor.replace("bgp/", "evpn/", 1)
        for leaf in policies:
            document.put(own + leaf, facts[neighbor + leaf], lines.get(neighbor + leaf, 0))
        if facts.get(neighbor + "next_hop_unchanged") == "all":
            document.put(own + "next_hop", "unchanged", lines.get(neighbor + "next_hop_unchanged", 0))
    dropped = any("setting[keep" in path and value == "none" for path, value in facts.items())
    if carried is not None and not dropped:
        document.put("evpn/route_targets", "all", carried)
    vrfs = [_put_vrf(document, path, facts, lines) for path in facts if path.startswith("vxlan/vrf[")]
    if any(vrfs) and (loopback := facts.get("loopback/ipv4")) is not None:
        line = lines.get("loopback/ipv4", 0)
        document.put("evpn/source", str(loopback).partition("/")[0], line)
        for leaf, value in _COPIES:
            if not any("vxlan-disable-copy-tos" in path for path in facts):
                document.put(f"evpn/{leaf}", value, line)


def _put_vrf(document: Document, path: str, facts: Facts, lines: Mapping[str, int]) -> bool:
    """State a VRF with a VNI and a policy on its direct routes; return whether it is one.

    Of one that is as fabricc writes it nothing else is stated.
    """
    name = path[len("vxlan/vrf[") :].partition("]/")[0]
    vrf, line = f"vrf[{name}]/", lines.get(path, 0)
    setting = f"{vrf}evpn/setting[ip-prefix-routes "
    families = [
        family
        for family, word in _NAMES.items()
        if f"permit match protocol direct match family {word}"
        in (facts.get(f"route_map[{facts.get(setting + 'export]')}]/{number}") for number in (10, 20, 30))
    ]
    if not families:
        return False
    own = f"evpn/{vrf}"
    document.put(own + "vni", facts[path], line)
    if (facts.get(setting + "advertise]"), facts.get(setting + "encapsulation]")) == (
        "direct-nexthop",
        "vxlan",
    ):
        document.put(own + "prefixes", ",".join(families), lines.get(setting + "export]", line))
    if (distinguisher := facts.get(vrf + "distinguisher")) is not None:
        document.put(own + "distinguisher", distinguisher, lines.get(vrf + "distinguisher", line))
    imports, exports = (
        {
            target: lines.get(vrf + way, line)
            for target in str(facts.get(vrf + way, "none")).replace(_TARGET, "").split(",")
        }
        for way in ("import", "export")
    )
    static = (str(facts.get(f"route_map[{POLICY}]/{number}", "")) for number in (20, 30))
    if any(each.startswith(f"{vrf}static_route[") for each in facts):
        for each in static:
            if each.startswith(_STATIC):
                document.put(f"{vrf}bgp/redistribute_static", each.rpartition(" ")[2], line)
    put_targets(document.put, own, imports, exports, facts[path])
    stated = {vrf[:-1]: "present", vrf + "kind": VRF, setting + "export]": POLICY}
    stated |= {f"{setting}advertise]": "direct-nexthop", f"{setting}encapsulation]": "vxlan"}
    if all(facts.get(each) == wanted for each, wanted in stated.items()):
        for each in (*stated, path, *(vrf + leaf for leaf in ("distinguisher", "import", "export"))):
            document.reading.facts.pop(each, None)
    return True
