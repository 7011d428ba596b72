"""BGP, its policy, BFD, and adaptive routing, which spreads packets over BGP's paths."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.cumulus import tenants
from fabricc.back.nos.cumulus.limits import Release, release_of
from fabricc.back.nos.cumulus.words import FABRIC
from fabricc.fabric.facts import Facts, format_boolean, neighbor_key, option_facts, outward_facts
from fabricc.fabric.routing import Bgp, Clause, PeerGroup, PrefixRule, Session, Spreading, Transport
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.cumulus.startup import Tree
    from fabricc.fabric.model import Switch

BFD_PROFILE = "fabric"
FAMILIES = {4: "ipv4", 6: "ipv6"}
TTL_SECURITY_HOPS = 1
"""A neighbor one hop away sends TTL 255, and no other does (RFC 5082)."""

SWITCHES = {"multipath_relax": ("path-selection", "multipath", "aspath-ignore")}
"""Attribute of a BGP process that is `on` or `off` in NVUE -> its keys below `bgp`."""

CLAUSE = ("prefix_list", "community_list", "local_preference")
"""Parts of a clause that are separate facts."""

GROUP_SUFFIXES = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}

DEPARTURES = (
    Departure("bfd/*", LEFT_OUT, "timers are those of a peer group or its profile: of no session, none"),
    Departure("load_balancing/mode", LEFT_OUT, "adaptive routing decides for every packet (FAB5721)"),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "there are no flowlets (FAB5721)"),
    Departure("load_balancing/global", LEFT_OUT, "there are no flowlets (FAB5721)"),
    Departure("load_balancing/reassignment/*", LEFT_OUT, "there are no flowlets (FAB5721)"),
    Departure("load_balancing/queue_pairs", LEFT_OUT, "no field of RoCE's header is hashed (FAB5722)"),
)


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


def router(switch: Switch, release: Release) -> Tree:
    """Return the NVUE tree below `router`."""
    bgp = switch.bgp
    tree: Tree = {
        "bgp": {"autonomous-system": bgp.asn, release.enable: release.on, "router-id": bgp.router_id},
        "policy": _policy_tree(bgp, dict.fromkeys(global_next_hops(switch), release.on)),
    }
    if release.bfd_profiles and bgp.sessions and bgp.bfd_interval_ms is not None:
        tree["bfd"] = {"profile": {BFD_PROFILE: _bfd_timers(bgp, bgp.bfd_interval_ms)}, "state": release.on}
    return tree


def has_adaptive_routing(switch: Switch) -> bool:
    """Return whether every packet takes the less loaded path: NVUE's adaptive routing."""
    return switch.load_balancing.mode is Spreading.PACKET


def global_next_hops(switch: Switch) -> frozenset[str]:
    """Return the inbound route maps that take the global one of two IPv6 next hops, by name.

    With adaptive routing, parallel sessions to one router need it, because its link-local address is the same on each
    (NVIDIA, Equal Cost Multipath Load Sharing, IPv6 Next Hop Preference).
    """
    if not has_adaptive_routing(switch):
        return frozenset()
    far = {port.name: port.peer.device for port in switch.ports if port.peer}
    peerings = Counter(
        (s.group, far.get(s.port)) for s in switch.bgp.sessions if s.transport is Transport.IPV6
    )
    several = {group for (group, _), count in peerings.items() if count > 1}
    return frozenset(group.import_map for group in switch.bgp.groups if group.name in several)


def prefers_global(clause: Clause) -> bool:
    """Return whether a clause of such a route map prefers the global next hop: one that accepts IPv6 routes."""
    return clause.permit and clause.family != 4


def adaptive_routing(switch: Switch, release: Release) -> Tree:
    """Return the setting that enables adaptive routing, below `router` and below the `router` of fabric ports."""
    return {"adaptive-routing": {release.enable: release.on}} if has_adaptive_routing(switch) else {}


def vrf(switch: Switch, release: Release) -> Tree:
    """Return the NVUE tree below `vrf`."""
    bgp = switch.bgp
    static = tenants.static_trees(switch.static_routes)
    carried: Tree = tenants.evpn_family(None, release) if bgp.evpn_sessions else {}
    families: Tree = {f"{family}-unicast": _family_tree(bgp, family, release) for family in FAMILIES.values()}
    process = _without_empty({
        "address-family": {**families, **carried},
        release.enable: release.on,
        "neighbor": {(session.remote or session.port): _neighbor_tree(session) for session in bgp.sessions},
        **_switch_words(bgp, release),
        "peer-group": {name: _group_tree(bgp, group, kind, release) for name, group, kind in peer_groups(bgp)},
        "timers": {"hold": bgp.hold_s, "keepalive": bgp.keepalive_s},
    })  # fmt: skip
    return {
        "default": {"router": _without_empty({"bgp": process, "static": static})},
        **tenants.vrfs(switch, release),
    }


def _switch_words(bgp: Bgp, release: Release) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, (*above, key) in SWITCHES.items():
        place = tree
        for word in above:
            place = place.setdefault(word, {})
        place[key] = release.on if getattr(bgp, name) else release.off
    return tree


def _family_tree(bgp: Bgp, family: str, release: Release) -> Tree:
    if family not in bgp.families:
        return {release.enable: release.off}
    tree: Tree = {
        release.enable: release.on,
        "multipaths": {"ebgp": bgp.maximum_paths},
        "redistribute": {
            kind: {release.enable: release.on, "route-map": name}
            for kind, name in (("connected", bgp.redistribute_map), ("static", bgp.static_map))
            if name
        },
    }
    own = [prefix for prefix in bgp.aggregates if (":" in prefix) == (family == "ipv6")]
    if own:
        tree["aggregate-route"] = {prefix: {"summary-only": release.on} for prefix in own}
    return tree


def _neighbor_tree(session: Session) -> Tree:
    kind = "unnumbered" if session.transport is Transport.UNNUMBERED else "numbered"
    return {
        "description": session.description,
        "peer-group": session.group + GROUP_SUFFIXES[session.transport],
        "remote-as": session.remote_asn,
        "type": kind,
    }


def peer_groups(bgp: Bgp) -> Iterator[tuple[str, PeerGroup, Transport]]:
    """Yield a peer group for each transport, because the activated address families differ by transport."""
    return ((group.name + GROUP_SUFFIXES[kind], group, kind) for group, kind in bgp.groups_in_use)


def _group_tree(bgp: Bgp, group: PeerGroup, kind: Transport, release: Release) -> Tree:
    active = bgp.list_carried_families(kind)
    on: Tree = {
        release.enable: release.on,
        "policy": {"inbound": {"route-map": group.import_map}, "outbound": {"route-map": group.export_map}},
        "prefix-limits": {"inbound": {"maximum": group.maximum_prefixes}},
    }
    off: Tree = {release.enable: release.off}
    families: Tree = {f"{family}-unicast": on if family in active else off for family in FAMILIES.values()}
    if group.evpn and kind is not Transport.IPV6:
        families |= tenants.evpn_family(group, release)
    tree: Tree = {"address-family": families}
    if group.password:
        tree["password"] = group.password
    if bgp.ttl_security:
        tree["ttl-security"] = {release.enable: release.on, "hops": TTL_SECURITY_HOPS}
    if bgp.bfd_interval_ms is None:
        return tree
    if release.bfd_profiles:
        tree["bfd"] = {"profile": BFD_PROFILE}
    else:
        tree["bfd"] = {release.enable: release.on, **_bfd_timers(bgp, bgp.bfd_interval_ms)}
    return tree


def _bfd_timers(bgp: Bgp, interval_ms: int) -> Tree:
    return {
        "detect-multiplier": bgp.bfd_multiplier,
        "min-rx-interval": interval_ms,
        "min-tx-interval": interval_ms,
    }


def _policy_tree(bgp: Bgp, prefer_global: Mapping[str, str]) -> Tree:
    return _without_empty({
        "community-list": {
            rows.name: {"rule": {"10": {"action": "permit", "community": {rows.community: {}}}}}
            for rows in bgp.community_lists
        },
        "prefix-list": {
            rows.name: {
                "rule": {str(10 * at): _prefix_rule(rule) for at, rule in enumerate(rows.rules, 1)},
                "type": FAMILIES[rows.family],
            }
            for rows in bgp.prefix_lists
        },
        "route-map": {
            rows.name: {
                "rule": {str(each.sequence): _clause_tree(each, prefer_global.get(rows.name)) for each in rows.clauses}
            }
            for rows in bgp.route_maps
        },
    })  # fmt: skip


def _prefix_rule(rule: PrefixRule) -> Tree:
    lengths = _without_empty({"min-prefix-len": rule.ge, "max-prefix-len": rule.le})
    return {"action": "permit", "match": {rule.prefix: lengths}}


def _clause_tree(clause: Clause, prefer_global: str | None) -> Tree:
    kind = FAMILIES[clause.family or 4] if clause.prefix_list else None
    return _without_empty({
        "action": {"permit" if clause.permit else "deny": {}},
        "match": _without_empty({
            "community-list": clause.community_list, "ip-prefix-list": clause.prefix_list, "type": kind,
        }),
        "set": _without_empty({
            "community": {clause.add_community: {}} if clause.add_community else {},
            "ipv6-nexthop-prefer-global": prefer_global if prefers_global(clause) else None,
            "local-preference": clause.local_preference,
        }),
    })  # fmt: skip


def _without_empty(parts: Mapping[str, Tree | str | int | None]) -> Tree:
    """Return the parts that are not empty."""
    return {key: part for key, part in parts.items() if part is not None and part not in ("", {})}


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State the facts of NVUE beyond the Fabric: parts of a whole fact, so that each is reported at its line."""
    bgp, release = switch.bgp, release_of(switch.release)
    if not bgp.sessions:
        for path in [path for path in facts if path.startswith("bfd/")]:
            del facts[path]
    else:
        facts |= option_facts(bgp)
    facts |= outward_facts(switch)
    tenants.state(facts, switch)
    tenants.state_families(facts, "", switch.static_routes)
    neighbors = [neighbor_key(session.transport, session.remote, session.port) for session in bgp.sessions]
    facts.update((f"bgp/neighbor[{key}]/configured", "true") for key in neighbors)
    for key in neighbors if bgp.ttl_security else ():
        facts[f"bgp/neighbor[{key}]/ttl_security_hops"] = TTL_SECURITY_HOPS
    for family in FAMILIES.values():
        facts[f"bgp/family[{family}]"] = release.on if family in bgp.families else release.off
    for name, _, kind in peer_groups(bgp):
        facts[f"bgp/peer_group[{name}]/configured"] = "true"
        for family in FAMILIES.values():
            facts[f"bgp/peer_group[{name}]/{family}"] = format_boolean(
                family in bgp.list_carried_families(kind)
            )
    if has_adaptive_routing(switch):
        facts["load_balancing/mode"] = switch.load_balancing.mode.value
        for port in switch.ports:
            if port.direction in FABRIC:
                facts[port_paths(port.name)["adaptive_routing"]] = "true"
    _state_policy(facts, bgp, global_next_hops(switch))


def _state_policy(facts: Facts, bgp: Bgp, preferring: frozenset[str]) -> None:
    for lists in bgp.prefix_lists:
        facts[f"prefix_list[{lists.name}]/rules"] = len(lists.rules)
        for place, rule in enumerate(lists.rules):
            for key in ("ge", "le"):
                if (length := getattr(rule, key)) is not None:
                    facts[f"prefix_list[{lists.name}]/{place}/{key}"] = length
    for community_list in bgp.community_lists:
        facts[f"community_list[{community_list.name}]/rules"] = 1
    for route_map in bgp.route_maps:
        facts[f"route_map[{route_map.name}]/rules"] = len(route_map.clauses)
        for clause in route_map.clauses:
            path = f"route_map[{route_map.name}]/{clause.sequence}/"
            facts[path + "action"] = "permit" if clause.permit else "deny"
            for key in (*CLAUSE, "add_community"):
                if (value := getattr(clause, key)) not in (None, ""):
                    facts[path + key] = value
            if route_map.name in preferring and prefers_global(clause):
                facts[path + "global_next_hop"] = "true"
