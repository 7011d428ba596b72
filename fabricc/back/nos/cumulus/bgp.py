"""BGP, its policy, BFD, and adaptive routing, which spreads packets over BGP's paths."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import release_of
from fabricc.back.nos.cumulus.startup import (
    File,
    at,
    entries,
    fixed,
    is_on,
    line_of,
    nearest,
    node,
    on_off,
    table,
)
from fabricc.back.nos.cumulus.words import FABRIC
from fabricc.back.nos.departures import LEFT_OUT, Departure
from fabricc.back.reading import Entry, Fact, Keep, Row, Scope
from fabricc.fabric.facts import boolean, clause_text, neighbor_key, option_facts, outward_facts, static_text
from fabricc.fabric.paths import port_paths
from fabricc.fabric.routing import Clause, Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.startup import Tree
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PeerGroup, PrefixRule, Session, StaticRoute

BFD_PROFILE = "fabric"
FAMILIES = {4: "ipv4", 6: "ipv6"}
BLACKHOLE = "blackhole"
TTL_SECURITY_HOPS = 1
"""A neighbour one hop away sends TTL 255, and no other does (RFC 5082)."""

GROUP_SUFFIXES = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}

DEPARTURES = (
    Departure("bfd/*", LEFT_OUT, "timers are those of a peer group or its profile: of no session, none"),
    Departure("bgp/ttl_security", LEFT_OUT, "a setting of peer groups: of no session, none"),
    Departure("load_balancing/mode", LEFT_OUT, "adaptive routing decides for every packet (FAB5721)"),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "there are no flowlets (FAB5721)"),
    Departure("load_balancing/queue_pairs", LEFT_OUT, "no field of RoCE's header is hashed (FAB5722)"),
)


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


def router(switch: Switch, release: Release) -> Tree:
    """Everything below `router`."""
    bgp = switch.bgp
    tree: Tree = {
        "bgp": {"autonomous-system": bgp.asn, release.enable: release.on, "router-id": bgp.router_id},
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


def vrf(switch: Switch, release: Release) -> Tree:
    """Everything below `vrf`."""
    bgp = switch.bgp
    static: Tree = {route.prefix: _static(route) for route in switch.static_routes}
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
    router: Tree = {"bgp": {key: part for key, part in process.items() if part != {}}}
    return {"default": {"router": {**router, "static": static} if static else router}}


def _static(route: StaticRoute) -> Tree:
    family = "ipv6" if ":" in route.prefix else "ipv4"
    hops: Tree = {hop: {"type": f"{family}-address"} for hop in route.via}
    return {"address-family": f"{family}-unicast", "via": hops or {BLACKHOLE: {"type": BLACKHOLE}}}


def _family(bgp: Bgp, family: str, release: Release) -> Tree:
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


def _neighbor(session: Session) -> Tree:
    kind = "unnumbered" if session.transport is Transport.UNNUMBERED else "numbered"
    return {
        "description": session.description,
        "peer-group": session.group + GROUP_SUFFIXES[session.transport],
        "remote-as": session.remote_asn,
        "type": kind,
    }


def peer_groups(bgp: Bgp) -> Iterator[tuple[str, PeerGroup, Transport]]:
    """Peer groups are per transport, since what a group activates is."""
    return ((group.name + GROUP_SUFFIXES[kind], group, kind) for group, kind in bgp.groups_in_use)


def activated(bgp: Bgp, kind: Transport) -> tuple[str, ...]:
    """The address families that sessions over a transport carry."""
    return bgp.families if kind is Transport.UNNUMBERED else (kind.value,)


def _group(bgp: Bgp, group: PeerGroup, kind: Transport, release: Release) -> Tree:
    active = activated(bgp, kind)
    on: Tree = {
        release.enable: release.on,
        "policy": {"inbound": {"route-map": group.import_map}, "outbound": {"route-map": group.export_map}},
        "prefix-limits": {"inbound": {"maximum": group.maximum_prefixes}},
    }
    off: Tree = {release.enable: release.off}
    tree: Tree = {
        "address-family": {
            f"{family}-unicast": on if family in active else off for family in ("ipv4", "ipv6")
        }
    }
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


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State what NVUE says beyond the Fabric: parts of what that states whole, so that each is named by its line."""
    bgp, release = switch.bgp, release_of(switch.release)
    if not bgp.sessions:
        for path in [path for path in facts if path.startswith("bfd/")]:
            del facts[path]
    else:
        facts |= option_facts(bgp)
    facts |= outward_facts(switch)
    for route in switch.static_routes:
        family = "ipv6" if ":" in route.prefix else "ipv4"
        facts[f"static_route[{route.prefix}]/family"] = f"{family}-unicast"
    neighbors = [neighbor_key(session.transport, session.remote, session.port) for session in bgp.sessions]
    facts.update((f"bgp/neighbor[{key}]/configured", "true") for key in neighbors)
    for key in neighbors if bgp.ttl_security else ():
        facts[f"bgp/neighbor[{key}]/ttl_security_hops"] = TTL_SECURITY_HOPS
    for family in FAMILIES.values():
        facts[f"bgp/family[{family}]"] = release.on if family in bgp.families else release.off
    for name, _, kind in peer_groups(bgp):
        facts[f"bgp/peer_group[{name}]/configured"] = "true"
        for family in FAMILIES.values():
            facts[f"bgp/peer_group[{name}]/{family}"] = boolean(family in activated(bgp, kind))
    if adapts(switch):
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
            for key in (*_CLAUSE, "add_community"):
                if (value := getattr(clause, key)) not in (None, ""):
                    facts[path + key] = value
            if route_map.name in preferring and prefers_global(clause):
                facts[path + "global_next_hop"] = "true"


# --- and back --------------------------------------------------------------------------------------------

_WELL_KNOWN = {"graceful-shutdown": "65535:0"}
_CLAUSE = ("prefix_list", "community_list", "local_preference")
_GROUP = ("import", "export", "maximum_prefixes")
_BFD = {
    "detect-multiplier": "bfd/multiplier",
    "min-rx-interval": "bfd/interval_ms",
    "min-tx-interval": "bfd/interval_ms",
}
_TIMERS = tuple(Keep(f"{key} <integer>", key) for key in _BFD)
_POLICY = (
    table("prefix-list", "<word>",
        Keep("type <ipv4|ipv6>", "type"),
        table("rule", "<integer>",
            fixed("action: permit"),
            table("match", "<word>", Keep("min-prefix-len <integer>", "ge"), Keep("max-prefix-len <integer>", "le")),
        ),
    ),
    table("community-list", "<word>",
        table("rule", "<integer>", fixed("action: permit"), Entry("community <community>", "communities", "true")),
    ),
)  # fmt: skip
TYPES = {"community": lambda text: _WELL_KNOWN.get(text, text)}


def adaptive_rows(release: Release) -> Row:
    """Of a port, or of the router."""
    return node("adaptive-routing", *on_off(release))


def rows(release: Release) -> Sequence[Row]:
    """What is below `router` and `vrf`."""
    on = on_off(release)
    clause = table("rule", "<integer>",
        Entry("action <permit|deny>", "actions", "true"),
        node("match",
            Keep("ip-prefix-list <word>", "prefix_list"),
            Keep("community-list <word>", "community_list"),
            Keep("type <ipv4|ipv6>", "type"),
        ),
        node("set",
            Entry("community <community>", "communities", "true"),
            Keep("local-preference <integer>", "local_preference"),
            Keep(f"ipv6-nexthop-prefer-global {release.on}", "global_next_hop", "true"),
            Keep(f"ipv6-nexthop-prefer-global {release.off}", "global_next_hop", release.off),
        ),
    )  # fmt: skip
    router = [
        node(
            "bgp", *on, Fact("autonomous-system <asn>", "bgp/asn"), Fact("router-id <word>", "bgp/router_id")
        ),
        adaptive_rows(release),
        node("policy", *_POLICY, table("route-map", "<word>", clause)),
    ]
    bfd: tuple[Row, ...] = (*on, *_TIMERS)
    if release.bfd_profiles:
        bfd = (Keep("profile <word>", "profile"),)
        router.append(node("bfd", *on, table("profile", "<word>", *_TIMERS)))
    process = node("bgp",
        *on,
        node("timers", Fact("keepalive <integer>", "bgp/keepalive_s"), Fact("hold <integer>", "bgp/hold_s")),
        node("path-selection", node("multipath",
            Keep(f"aspath-ignore {release.on}", "on", "true"),
            Keep(f"aspath-ignore {release.off}", "on", "false"),
        )),
        table("address-family", "<ipv4-unicast|ipv6-unicast>",
            *on,
            Keep("multipaths ebgp <integer>", "paths"),
            node("redistribute",
                node("connected", *on, Keep("route-map <word>", "map")),
                node("static", *on, Keep("route-map <word>", "map")),
            ),
            table("aggregate-route", "<word>",
                Keep(f"summary-only {release.on}", "on", "true"),
                Keep(f"summary-only {release.off}", "on", "false"),
            ),
        ),
        table("peer-group", "<word>",
            table("address-family", "<ipv4-unicast|ipv6-unicast>",
                *on,
                Keep("policy inbound route-map <word>", "import"),
                Keep("policy outbound route-map <word>", "export"),
                Keep("prefix-limits inbound maximum <integer>", "maximum_prefixes"),
            ),
            Keep("password <word>", "password"),
            node("ttl-security", *on, Keep("hops <integer>", "hops")),
            node("bfd", *bfd),
            here="bgp/peer_group[{0}]/configured",
        ),
        table("neighbor", "<word>",
            Fact("remote-as <asn>", "bgp/neighbor[{0}]/remote_asn"),
            Fact("description <word>", "bgp/neighbor[{0}]/description"),
            Keep("peer-group <word>", "group"),
            Keep("type <numbered|unnumbered>", "type"),
            here="bgp/neighbor[{0}]/configured",
        ),
    )  # fmt: skip
    static = table("static", "<word>",
        Keep("address-family <word>", "family"),
        table("via", "<word>", Keep("type <word>", "type")),
    )  # fmt: skip
    return node("router", *router), node("vrf", node("default", node("router", process, static)))


class _Bgp(File):
    """BGP of one self."""

    def __init__(self, file: File) -> None:
        super().__init__(file.document, file.release)
        self.policy = at(self.root, "router", "policy")

    def read(self) -> None:
        """State policy, process and neighbours."""
        root = self.root
        own, process = at(root, "router", "bgp"), at(root, "vrf", "default", "router", "bgp")
        for one in (own, process) if own and process else ():
            if not is_on(one):
                self.missing(line_of(one), "BGP is not on")
        if own and process:
            self._process(process)
        else:
            self.missing(nearest(root, "vrf" if own else "router"), "BGP is missing")
        if adaptive := at(root, "router", "adaptive-routing"):
            mode = Spreading.PACKET if is_on(adaptive) else Spreading.HASH
            self.put("load_balancing/mode", mode.value, line_of(adaptive))
        for prefix, route in entries(at(root, "vrf", "default", "router"), "static").items():
            self._static(str(prefix), route)
        self._lists()
        for name, route_map in entries(self.policy, "route-map").items():
            clauses = entries(route_map, "rule")
            self.put(f"route_map[{name}]/rules", len(clauses), route_map.line)
            for sequence, clause in clauses.items():
                self._clause(f"route_map[{name}]/{sequence}", clause)
        if self.release.bfd_profiles:
            self.expect(("router", "bfd", "profile"), *_BFD.values())

    def _static(self, prefix: str, route: Scope) -> None:
        hops = {
            str(hop): str(scope.values.get("type", ("", 0))[0])
            for hop, scope in entries(route, "via").items()
        }
        kinds = {hop: hop if hop == BLACKHOLE else f"ipv{6 if ':' in hop else 4}-address" for hop in hops}
        if hops and hops == kinds and (BLACKHOLE not in hops or len(hops) == 1):
            self.put(
                f"static_route[{prefix}]", static_text(hop for hop in hops if hop != BLACKHOLE), route.line
            )
        else:
            self.missing(route.line, f"type of a next hop of {prefix} is missing")
        self.tell(f"static_route[{prefix}]/family", route, "family")

    def _process(self, process: Scope) -> None:
        multipath = at(process, "path-selection", "multipath")
        line = line_of(multipath) if multipath else nearest(process, "path-selection")
        self.put("bgp/multipath_relax", boolean(is_on(multipath)), line)
        families = entries(process, "address-family")
        for family in FAMILIES.values():
            if scope := families.get(f"{family}-unicast"):
                self._family(family, scope)
            else:
                self.missing(process.line, f"{family}-unicast is missing")
        groups = {str(name): self._group(str(name), s) for name, s in entries(process, "peer-group").items()}
        for name, neighbor in entries(process, "neighbor").items():
            self._neighbor(str(name), neighbor, groups, nearest(process, "peer-group"))
        checks = [group["ttl_security_hops"] for group in groups.values() if "ttl_security_hops" in group]
        for value, line in checks:
            checked = value == TTL_SECURITY_HOPS and len(checks) == len(groups)
            self.agree("bgp/ttl_security", boolean(checked), line)

    def _family(self, family: str, scope: Scope) -> None:
        """One address family; what it states must be what the other states."""
        release = self.release
        said = scope.values.get("on", ("", 0))[0]
        word = {"true": release.on, "false": release.off}.get(str(said), "default")
        self.put(f"bgp/family[{family}]", word, line_of(scope))
        if said != "true":
            if not said:
                self.missing(scope.line, "the address family is not on")
            return
        if "paths" in scope.values:
            self.agree("bgp/maximum_paths", *scope.values["paths"])
        else:
            self.missing(scope.line, "multipaths ebgp is missing")
        connected = at(scope, "redistribute", "connected")
        route_map, line = connected.values.get("map", ("", 0)) if connected else ("", 0)
        if route_map:
            self._refer("route-map", str(route_map))
        if route_map and is_on(connected):
            self.agree("bgp/redistribute_connected", route_map, line)
        else:
            place = line_of(connected) if connected else scope.line
            self.missing(place, "connected routes are not redistributed")
        static = at(scope, "redistribute", "static")
        if static and is_on(static) and "map" in static.values:
            self._refer("route-map", str(static.values["map"][0]))
            self.agree("bgp/redistribute_static", *static.values["map"])
        elif static:
            self.missing(
                line_of(static), "the route map of static routes is missing, or they are not redistributed"
            )
        for prefix, aggregate in entries(scope, "aggregate-route").items():
            alone = is_on(aggregate)
            place = aggregate.line if alone else line_of(aggregate)
            self.put(f"bgp/aggregate[{prefix}]", "summary-only" if alone else "with specifics", place)

    def _group(self, name: str, group: Scope) -> dict[str, tuple[Value, int]]:
        """What a peer group gives its neighbours: fact below the neighbour -> value and line."""
        facts: dict[str, tuple[Value, int]] = {}
        active = []
        parts = entries(group, "address-family")
        for family in FAMILIES.values():
            part = parts.get(f"{family}-unicast")
            said = part.values.get("on", ("", 0))[0] if part else ""
            on = said == "true" or (family == "ipv4" and not said)
            self.put(f"bgp/peer_group[{name}]/{family}", boolean(on), line_of(part or group))
            if not on:
                continue
            active.append(family)
            for fact in _GROUP:
                value, line = part.values.get(fact, ("", 0)) if part else ("", 0)
                if not line:
                    self.missing((part or group).line, f"{fact} is missing")
                    continue
                if fact != "maximum_prefixes":
                    self._refer("route-map", str(value))
                if facts.setdefault(fact, (value, line))[0] != value:
                    self.missing(line, f"{fact} differs between the address families")
        facts["families"] = (",".join(active), nearest(group, "address-family"))
        if "password" in group.values:
            facts["secret"] = group.values["password"]
        if ttl := at(group, "ttl-security"):
            hops = ttl.values.get("hops")
            facts["ttl_security_hops"] = hops if is_on(ttl) and hops else ("off", line_of(ttl))
        bfd = at(group, "bfd")
        facts["bfd"] = (boolean(bfd is not None and self._bfd(bfd)), line_of(bfd) if bfd else group.line)
        return facts

    def _bfd(self, bfd: Scope) -> bool:
        """Whether a peer group has BFD; its timers are facts of the switch."""
        timers, on, line = bfd, is_on(bfd), bfd.line
        if self.release.bfd_profiles:
            above = at(self.root, "router", "bfd")
            name, line = bfd.values.get("profile", ("", bfd.line))
            found = entries(above, "profile").get(name)
            on = is_on(above)
            if not on:
                self.missing(line_of(above) if above else line, "BFD is not on")
            timers = found or Scope(line)
        for key, path in _BFD.items():
            if key in timers.values:
                self.agree(path, *timers.values[key])
            else:
                self.missing(timers.line, f"{key} is missing")
        return on

    def _neighbor(
        self, name: str, neighbor: Scope, groups: dict[str, dict[str, tuple[Value, int]]], above: int
    ) -> None:
        prefix, values = f"bgp/neighbor[{name}]/", neighbor.values
        by_port = name.startswith("swp")
        self.require(neighbor, "type", "unnumbered" if by_port else "numbered")
        if by_port:
            self.put(f"interface[{name}]/unnumbered", "true", neighbor.line)
        group = groups.get(str(values["group"][0])) if "group" in values else None
        if group is not None:
            for fact, (value, line) in group.items():
                self.put(prefix + fact, value, line)
            self.near(group["families"][1], prefix + "ttl_security_hops")
        elif "group" in values:
            self.reject(values["group"][1])
            self.missing(above, f"peer-group {values['group'][0]} is not defined")

    def _lists(self) -> None:
        for name, scope in entries(self.policy, "prefix-list").items():
            rules = sorted(entries(scope, "rule").items())
            text = ""
            for place, (_, rule) in enumerate(rules):
                text, line = self._prefix_rule(f"prefix_list[{name}]/{place}/", rule)
                self.put(f"prefix_list[{name}]/{place}", text, line)
            self.put(f"prefix_list[{name}]/rules", len(rules), scope.line)
            if rules:
                self.require(scope, "type", "ipv6" if ":" in text else "ipv4")
        for name, scope in entries(self.policy, "community-list").items():
            listed = entries(scope, "rule")
            self.put(f"community_list[{name}]/rules", len(listed), scope.line)
            for rule in listed.values():
                communities = rule.table("communities")
                line = next((line for _, line in communities.values()), rule.line)
                self.agree(f"community_list[{name}]", " ".join(sorted(map(str, communities))), line)

    def _prefix_rule(self, path: str, rule: Scope) -> tuple[str, int]:
        """A rule as its fact's value, and the line of its prefix."""
        texts, line = [], rule.line
        for prefix, match in entries(rule, "match").items():
            text, line = str(prefix), match.line
            for key in ("ge", "le"):
                self.tell(path + key, match, key)
                text += f" {key} {match.values[key][0]}" if key in match.values else ""
            texts.append(text)
        return " or ".join(texts), line

    def _refer(self, kind: str, name: str) -> None:
        """Note that a list or a route map is used and not there."""
        if name not in entries(self.policy, kind):
            line = nearest(self.root, "router", "policy", kind)
            self.missing(line, f"{kind} {name} is not defined")

    def _clause(self, path: str, rule: Scope) -> None:
        """State a rule of a route map; each part is a fact of its own too, to be named by its line."""
        actions = rule.table("actions")
        for word, (_, line) in actions.items():
            self.put(f"{path}/action", word, line)
        match, change = at(rule, "match") or Scope(rule.line), at(rule, "set") or Scope(rule.line)
        said = match.values | change.values
        for key in _CLAUSE:
            self.tell(f"{path}/{key}", match if key.endswith("list") else change, key)
            if key.endswith("list") and key in said:
                self._refer(key.replace("_", "-"), str(said[key][0]))
        if "prefix_list" in said:
            lists = entries(self.policy, "prefix-list").get(said["prefix_list"][0])
            kind = lists.values.get("type", ("ipv4", 0))[0] if lists else "ipv4"
            self.require(match, "type", str(kind))
        elif "type" in match.values:
            self.reject(match.values["type"][1])
        communities = change.table("communities")
        for community, (_, line) in communities.items():
            self.put(f"{path}/add_community", community, line)
        self.tell(f"{path}/global_next_hop", change, "global_next_hop")
        text = clause_text(
            Clause(
                sequence=0,
                permit=list(actions) == ["permit"],
                prefix_list=_text(said, "prefix_list"),
                community_list=_text(said, "community_list"),
                local_preference=int(said["local_preference"][0]) if "local_preference" in said else None,
                add_community=" ".join(sorted(map(str, communities))) or None,
            )
        )
        self.put(path, text, rule.line)


def _text(said: Mapping[str, tuple[Value, int]], key: str) -> str | None:
    return str(said[key][0]) if key in said else None


def finish(file: File) -> None:
    """State policy, the process and its neighbours with what their peer groups say."""
    _Bgp(file).read()
