"""BGP, its policy and BFD in NVUE's words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, Clause, PeerGroup, PrefixRule, Session

BFD_PROFILE = "fabric"
FAMILIES = {4: "ipv4", 6: "ipv6"}
TTL_SECURITY_HOPS = 1
"""A neighbour one hop away sends TTL 255, and no other does (RFC 5082)."""

GROUP_SUFFIXES = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}


def carried(bgp: Bgp) -> tuple[str, ...]:
    """The address families of the process."""
    return tuple(name for name, there in (("ipv4", bgp.ipv4), ("ipv6", bgp.ipv6)) if there)


def router(switch: Switch, release: Release) -> Tree:
    """Everything below `router`."""
    bgp = switch.bgp
    tree: Tree = {
        "bgp": {
            "autonomous-system": bgp.asn,
            release.enable: release.on,
            "router-id": bgp.router_id,
        },
        "policy": _policy(bgp, dict.fromkeys(global_next_hops(switch), release.on)),
    }
    if release.bfd_profiles and bgp.sessions and bgp.bfd_interval_ms is not None:
        tree["bfd"] = {"profile": {BFD_PROFILE: _bfd_timers(bgp, bgp.bfd_interval_ms)}, "state": release.on}
    return tree


def adapts(switch: Switch) -> bool:
    """Whether every packet takes the less loaded path: NVUE's adaptive routing."""
    return switch.load_balancing.mode is Spreading.PACKET


def global_next_hops(switch: Switch) -> frozenset[str]:
    """The inbound route maps that take the global one of two IPv6 next hops, by name.

    With adaptive routing several peerings to one router want it, whose link-local address is the same on each
    (NVIDIA, Equal Cost Multipath Load Sharing, IPv6 Next Hop Preference).
    """
    if not adapts(switch):
        return frozenset()
    far = {port.name: port.peer.device for port in switch.ports if port.peer}
    peerings = Counter(
        (s.group, far.get(s.port)) for s in switch.bgp.sessions if s.transport is Transport.IPV6
    )
    several = {group for (group, _), count in peerings.items() if count > 1}
    return frozenset(group.import_map for group in switch.bgp.groups if group.name in several)


def prefers_global(clause: Clause) -> bool:
    """Whether a clause of such a route map says so: one that lets IPv6 routes in."""
    return clause.permit and clause.family != 4


def adaptive_routing(switch: Switch, release: Release) -> Tree:
    """The switch of adaptive routing below `router`, and below the `router` of each port to another switch."""
    return {"adaptive-routing": {release.enable: release.on}} if adapts(switch) else {}


def vrf(bgp: Bgp, release: Release) -> Tree:
    """Everything below `vrf`."""
    process: Tree = {
        "address-family": {
            "ipv4-unicast": _family(bgp, "ipv4", release),
            "ipv6-unicast": _family(bgp, "ipv6", release),
        },
        release.enable: release.on,
        "neighbor": {(session.remote or session.port): _neighbor(session) for session in bgp.sessions},
        "path-selection": {
            "multipath": {"aspath-ignore": release.on if bgp.multipath_relax else release.off}
        },
        "peer-group": {name: _group(bgp, group, kind, release) for name, group, kind in peer_groups(bgp)},
        "timers": {"hold": bgp.hold_s, "keepalive": bgp.keepalive_s},
    }
    return {"default": {"router": {"bgp": {key: part for key, part in process.items() if part != {}}}}}


def _family(bgp: Bgp, family: str, release: Release) -> Tree:
    if family not in carried(bgp):
        return {release.enable: release.off}
    tree: Tree = {
        release.enable: release.on,
        "multipaths": {"ebgp": bgp.maximum_paths},
        "redistribute": {"connected": {release.enable: release.on, "route-map": bgp.redistribute_map}},
    }
    own = [prefix for prefix in bgp.aggregates if (":" in prefix) == (family == "ipv6")]
    if own:
        tree["aggregate-route"] = {prefix: {"summary-only": release.on} for prefix in own}
    return tree


def _neighbor(session: Session) -> Tree:
    kind = "unnumbered" if session.transport is Transport.UNNUMBERED else "numbered"
    return {
        "description": session.peer,
        "peer-group": session.group + GROUP_SUFFIXES[session.transport],
        "remote-as": session.remote_asn,
        "type": kind,
    }


def peer_groups(bgp: Bgp) -> Iterator[tuple[str, PeerGroup, Transport]]:
    """Peer groups are per transport, since what a group activates is."""
    kinds = {(session.group, session.transport) for session in bgp.sessions}
    for group in bgp.groups:
        for kind, suffix in GROUP_SUFFIXES.items():
            if (group.name, kind) in kinds:
                yield group.name + suffix, group, kind


def activated(bgp: Bgp, kind: Transport) -> tuple[str, ...]:
    """The address families that sessions over a transport carry."""
    return carried(bgp) if kind is Transport.UNNUMBERED else (kind.value,)


def _group(bgp: Bgp, group: PeerGroup, kind: Transport, release: Release) -> Tree:
    active = activated(bgp, kind)
    on: Tree = {
        release.enable: release.on,
        "policy": {
            "inbound": {"route-map": group.import_map},
            "outbound": {"route-map": group.export_map},
        },
        "prefix-limits": {"inbound": {"maximum": group.maximum_prefixes}},
    }
    off: Tree = {release.enable: release.off}
    tree: Tree = {
        "address-family": {
            f"{family}-unicast": on if family in active else off for family in ("ipv4", "ipv6")
        }
    }
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


def _policy(bgp: Bgp, prefer_global: Mapping[str, str]) -> Tree:
    tree: Tree = {
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
                "rule": {
                    str(clause.sequence): _clause(clause, prefer_global.get(rows.name))
                    for clause in rows.clauses
                }
            }
            for rows in bgp.route_maps
        },
    }
    return {key: part for key, part in tree.items() if part}


def _prefix_rule(rule: PrefixRule) -> Tree:
    lengths: Tree = {}
    if rule.ge is not None:
        lengths["min-prefix-len"] = rule.ge
    if rule.le is not None:
        lengths["max-prefix-len"] = rule.le
    return {"action": "permit", "match": {rule.prefix: lengths}}


def _clause(clause: Clause, prefer_global: str | None) -> Tree:
    tree: Tree = {"action": {"permit" if clause.permit else "deny": {}}}
    match: Tree = {}
    if clause.community_list:
        match["community-list"] = clause.community_list
    if clause.prefix_list:
        match["ip-prefix-list"] = clause.prefix_list
        match["type"] = FAMILIES[clause.family or 4]
    change: Tree = {}
    if clause.add_community:
        change["community"] = {clause.add_community: {}}
    if prefer_global and prefers_global(clause):
        change["ipv6-nexthop-prefer-global"] = prefer_global
    if clause.local_preference is not None:
        change["local-preference"] = clause.local_preference
    if match:
        tree["match"] = match
    if change:
        tree["set"] = change
    return tree
