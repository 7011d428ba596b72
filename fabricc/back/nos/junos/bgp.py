"""BGP and routing policy of Junos: groups per direction and transport, route maps as policy statements.

Junos exports from the routing table: every group exports through the policy that chooses what may go to BGP at all,
whose terms say `next policy`, and then through its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.policy_view import group_name
from fabricc.back.nos.departures import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.junos import filters, policy
from fabricc.back.nos.junos.policy import (
    ACCEPT,
    AGGREGATES_TERM,
    BGP_TERM,
    DEFAULT_TERM,
    DISCARD,
    NEXT,
    OTHERS_TERM,
    REJECT,
    STATIC_TERM,
    SUMMARY_TERM,
)
from fabricc.back.nos.junos.settings import kept, put_settings, verbatim
from fabricc.back.nos.junos.words import (
    FAMILIES,
    HOLD_PER_KEEPALIVE,
    MAXIMUM_ECMP,
    ONE_HOP_TTL,
    quoted,
    reference,
    settings,
)
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Said, Scope, Topic, Types
from fabricc.back.reading.scope import agreed
from fabricc.back.reading.types import asn
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean, neighbor_key, static_text
from fabricc.fabric.paths import port_paths
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PrefixRule, RouteMap, Session, StaticRoute

LOAD_BALANCING_POLICY = "PFE-LB"
_OTHERS = ("aggregate", "bgp", "direct")
"""What the policy of static routes lets pass, as the one before has judged it."""
DYNAMIC_NEIGHBOR = "UNNUMBERED"
DEFAULT_HOLD_S = 90
DEFAULT_BFD_MULTIPLIER = 3
# Router advertisements, by which neighbours find each other on unnumbered links: Junos's own are up to 600 s apart
# (RFC 4861). FRR's BGP takes 10 s for the same purpose, and 3 s is the least there is.
RA_MAX_S, RA_MIN_S = 10, 3

_OF_GROUPS = ("bgp/multipath_relax", "bgp/redistribute_connected", "bfd/interval_ms", "bfd/multiplier")
DEPARTURES = (
    Departure("bgp/neighbor[*]/description", LEFT_OUT, "dynamic neighbours have none: of unnumbered ones"),
    Departure("bgp/keepalive_s", ROUNDED, "a third of the hold time (FAB5517)"),
    Departure("bgp/maximum_paths", ROUNDED, "`maximum-ecmp` has steps"),
    Departure("bfd/interval_ms", ROUNDED, "not below the platform's least (FAB5680)"),
    Departure("prefix_list[*]/*", ROUNDED, "a lower bound of lengths always has an upper one"),
    *(
        Departure(path, LEFT_OUT, "said of groups of neighbours: not where there are none")
        for path in _OF_GROUPS
    ),
)


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class GroupView(NamedTuple):
    """One BGP group; `interfaces` and `as_list` are of unnumbered sessions.

    `neighbors` are numbered: (address, description, AS number).
    """

    name: str
    import_policy: str
    export_policies: list[str]
    families: list[str]
    prefix_limit: int
    neighbors: list[tuple[str, str, int]]
    interfaces: list[str]
    as_list: int | None
    password: str | None


@dataclass(frozen=True, slots=True)
class RoutingView:
    """What Junos makes of a switch's `Bgp`: routing options and `protocols bgp`.

    Attributes:
        aggregates4, aggregates6: prefixes of `aggregate route`, by table.
        static4, static6: (prefix, what becomes of packets) of `static route`, by table.
        unnumbered: interfaces that announce themselves as routers, which is how neighbours find each other, every
            `ra_min_s` to `ra_max_s` seconds.
        ttl: that of packets sent to neighbours; None for Junos's own, which is 1.
        bfd_interval_ms: None without BFD.
    """

    ttl: int | None
    bfd_interval_ms: int | None
    aggregates4: list[str]
    aggregates6: list[str]
    static4: list[tuple[str, str]]
    static6: list[tuple[str, str]]
    ra_max_s: int
    ra_min_s: int
    unnumbered: list[str]
    groups: list[GroupView]


class TermView(NamedTuple):
    """One term: conditions and actions as statements; without conditions it matches every route."""

    name: str
    conditions: list[str]
    actions: list[str]


class PolicyView(NamedTuple):
    """`policy-options`.

    Attributes:
        filter_lists: (name, filters), each filter a prefix with its match type.
        statements: (name, terms) of each policy.
        communities: (name, members).
        as_lists: AS numbers that unnumbered sessions may come from.
    """

    filter_lists: list[tuple[str, list[str]]]
    statements: list[tuple[str, list[TermView]]]
    communities: list[tuple[str, str]]
    as_lists: list[int]


def routing_view(switch: Switch) -> RoutingView:
    """The view of a switch's BGP process."""
    bgp = switch.bgp
    return RoutingView(
        ttl=ONE_HOP_TTL if bgp.ttl_security else None,
        bfd_interval_ms=bfd_interval_ms(switch),
        aggregates4=[prefix for prefix in bgp.aggregates if ":" not in prefix],
        aggregates6=[prefix for prefix in bgp.aggregates if ":" in prefix],
        static4=[_static(route) for route in switch.static_routes if ":" not in route.prefix],
        static6=[_static(route) for route in switch.static_routes if ":" in route.prefix],
        ra_max_s=RA_MAX_S,
        ra_min_s=RA_MIN_S,
        unnumbered=[f"{s.port}.0" for s in bgp.sessions if s.transport is Transport.UNNUMBERED],
        groups=list(_groups(bgp)),
    )


def _static(route: StaticRoute) -> tuple[str, str]:
    hops = route.via if len(route.via) < 2 else ("[", *route.via, "]")
    return route.prefix, " ".join(("next-hop", *hops)) if hops else DISCARD


def policy_view(bgp: Bgp) -> PolicyView:
    """The policy of one BGP process."""
    names = _added_communities(bgp)
    communities = {c.name: c.community for c in bgp.community_lists}
    communities |= {name: value for value, name in names.items()}
    return PolicyView(
        [(p.name, [f"{rule.prefix} {_match_words(rule)}" for rule in p.rules]) for p in bgp.prefix_lists],
        [(m.name, list(_terms(bgp, m, names))) for m in bgp.route_maps],
        sorted(communities.items()),
        sorted({s.remote_asn for s in bgp.sessions if s.remote is None}),
    )


def maximum_ecmp(paths: int) -> int:
    """The smallest group size that Junos offers for so many paths; the largest when none suffices."""
    return next((step for step in MAXIMUM_ECMP if step >= paths), MAXIMUM_ECMP[-1])


def bfd_interval_ms(switch: Switch) -> int | None:
    """The interval of BFD in milliseconds, never below the platform's least; None without BFD."""
    asked = switch.bgp.bfd_interval_ms
    return None if asked is None else max(asked, int(settings(switch).get("bfd_least_ms", asked)))


def _groups(bgp: Bgp) -> Iterator[GroupView]:
    """One per direction and transport, and per AS number where links are unnumbered: a list of all would accept any."""
    chosen: dict[tuple[str, Transport, int | None], list[Session]] = {}
    for session in bgp.sessions:
        asn = session.remote_asn if session.transport is Transport.UNNUMBERED else None
        chosen.setdefault((session.group, session.transport, asn), []).append(session)
    groups = {group.name: group for group in bgp.groups}
    every = [name for name, on in (("inet", bgp.ipv4), ("inet6", bgp.ipv6)) if on]
    carried = {Transport.IPV4: ["inet"], Transport.IPV6: ["inet6"]}
    for (name, transport, asn), sessions in chosen.items():
        group = groups[name]
        yield GroupView(
            name=group_name(name, transport) + (f"-{asn}" if asn is not None else ""),
            import_policy=group.import_map,
            export_policies=[
                bgp.redistribute_map,
                *([bgp.static_map] if bgp.static_map else []),
                group.export_map,
            ],
            families=carried.get(transport, every),
            prefix_limit=group.maximum_prefixes,
            neighbors=[
                (s.remote, quoted(s.description), s.remote_asn) for s in sessions if s.remote is not None
            ],
            interfaces=[f"{s.port}.0" for s in sessions if s.remote is None],
            as_list=asn,
            password=group.password,
        )


def _added_communities(bgp: Bgp) -> dict[str, str]:
    """Name of every community that a clause adds: Junos adds by name, so one that has none is given one."""
    named = {c.community: c.name for c in reversed(bgp.community_lists)}
    values = {c.add_community for m in bgp.route_maps for c in m.clauses if c.add_community}
    return {value: named.get(value) or f"ADD-{value.replace(':', '-')}" for value in sorted(values)}


def _terms(bgp: Bgp, route_map: RouteMap, communities: Mapping[str, str]) -> Iterator[TermView]:
    """The terms of a policy: clauses ascending by sequence, and what the first policy of a chain lets pass before."""
    kind = {bgp.redistribute_map: "direct", bgp.static_map: "static"}.get(route_map.name)
    if kind == "static":
        yield TermView(OTHERS_TERM, [f"protocol [ {' '.join(_OTHERS)} ]"], [NEXT])
    if kind == "direct":
        if bgp.aggregates:
            yield TermView(SUMMARY_TERM, ["aggregate-contributor"], [REJECT])
            yield TermView(AGGREGATES_TERM, ["protocol aggregate"], [NEXT])
        yield TermView(BGP_TERM, ["protocol bgp"], [NEXT])
        if bgp.static_map:
            yield TermView(STATIC_TERM, ["protocol static"], [NEXT])
    for clause in sorted(route_map.clauses, key=lambda clause: clause.sequence):
        conditions = [f"protocol {kind}"] if kind else []
        if clause.community_list:
            conditions.append(f"community {clause.community_list}")
        if clause.prefix_list:
            conditions.append(f"route-filter-list {clause.prefix_list}")
        actions = []
        if clause.local_preference is not None:
            actions.append(f"local-preference {clause.local_preference}")
        if clause.add_community:
            actions.append(f"community add {communities[clause.add_community]}")
        actions.append((NEXT if kind else ACCEPT) if clause.permit else REJECT)
        yield TermView(str(clause.sequence), conditions, actions)
    yield TermView(DEFAULT_TERM, [], [REJECT])


def lengths(rule: PrefixRule) -> tuple[int | None, int | None]:
    """(ge, le) as Junos holds a rule: a lower bound always has an upper one."""
    if rule.ge is not None and rule.le is None:
        return rule.ge, 128 if ":" in rule.prefix else 32
    return rule.ge, rule.le


def _match_words(rule: PrefixRule) -> str:
    """The words after the prefix of a route filter."""
    ge, le = lengths(rule)
    if le is None:
        return "exact"
    return f"upto /{le}" if ge is None else f"prefix-length-range /{ge}-/{le}"


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of sessions and policy to what Junos holds of them, and add what it says beyond the Fabric."""
    bgp = switch.bgp
    facts |= {
        "bgp/keepalive_s": bgp.hold_s // HOLD_PER_KEEPALIVE,
        "bgp/maximum_paths": maximum_ecmp(bgp.maximum_paths),
        "platform/bgp_log": "true",
        "platform/load_balance": "per-packet",
        "platform/ecmp_fast_reroute": "true",
    }
    if (interval_ms := bfd_interval_ms(switch)) is not None:
        facts["bfd/interval_ms"] = interval_ms
    if not bgp.sessions:
        for path in _OF_GROUPS:
            facts.pop(path, None)
    for group in _groups(bgp):
        facts[f"platform/bgp_group[{group.name}]/type"] = "external"
        if bgp.ttl_security:
            facts[f"platform/bgp_group[{group.name}]/ttl"] = ONE_HOP_TTL
        if group.interfaces:
            facts[f"structure/bgp_group[{group.name}]/dynamic_neighbor"] = DYNAMIC_NEIGHBOR
    for session in bgp.sessions:
        if session.transport is Transport.UNNUMBERED:
            key = neighbor_key(session.transport, session.remote, session.port)
            del facts[f"bgp/neighbor[{key}]/description"]
            facts[f"interface[{session.port}]/ra_max_s"] = RA_MAX_S
            facts[f"interface[{session.port}]/ra_min_s"] = RA_MIN_S
    _state_policy(facts, bgp)


def _state_policy(facts: Facts, bgp: Bgp) -> None:
    for prefix_list in bgp.prefix_lists:
        for index, rule in enumerate(prefix_list.rules):
            ge, le = lengths(rule)
            text = rule.prefix + (f" ge {ge}" if ge is not None else "")
            facts[f"prefix_list[{prefix_list.name}]/{index}"] = text + (f" le {le}" if le is not None else "")
    names = _added_communities(bgp)
    facts |= {f"community_list[{name}]": value for value, name in names.items()}
    for route_map in bgp.route_maps:
        for clause in route_map.clauses:
            if clause.local_preference is not None:
                path = f"platform/route_map[{route_map.name}]/{clause.sequence}/local_preference"
                facts[path] = clause.local_preference
        terms = list(_terms(bgp, route_map, names))
        facts[f"platform/policy[{route_map.name}]"] = "; ".join(map(_summary, terms))
        for term in terms:
            if not term.name.isdecimal():
                facts[f"structure/policy[{route_map.name}]/term[{term.name}]"] = "true"


def _summary(term: TermView) -> str:
    """A term in a few words, as its fact has it: its number, the kinds of route, what becomes of them."""
    kinds = [
        condition.removeprefix("protocol ").strip("[ ]")
        for condition in term.conditions
        if condition.startswith(("protocol ", "aggregate-contributor"))
    ]
    return " ".join([*([term.name] if term.name.isdecimal() else []), *kinds, term.actions[-1]])


# --- and back -----------------------------------------------------------------------------------------

_FAMILY = {
    ("inet", "unicast"): "ipv4", ("inet6", "unicast"): "ipv6", ("inet", "any"): "ipv4", ("inet6", "any"): "ipv6",
    ("inet", "labeled-unicast"): "ipv4 labeled", ("inet6", "labeled-unicast"): "ipv6 labeled",
    ("evpn", "signaling"): "evpn", ("inet-vpn", "unicast"): "vpnv4", ("inet6-vpn", "unicast"): "vpnv6",
    ("l2vpn", "signaling"): "l2vpn", ("inet", "multicast"): "ipv4 multicast", ("inet6", "multicast"): "ipv6 multicast",
}  # fmt: skip
"""Families beside plain IPv4 and IPv6 as facts call them; others by Junos's own words."""
_FAMILIES = (
    "inet|inet6|evpn|inet-vpn|inet6-vpn|l2vpn|iso-vpn|inet-mdt|inet-mvpn|inet6-mvpn|bridge-vpn|bridge|fabric"
    "|fabric-vpn|inet-bgpmcast|inet6-bgpmcast|traffic-engineering"
)
_KINDS = (
    "unicast|any|multicast|signaling|labeled-unicast|flow|segment-routing-te|auto-discovery-mspw|mpls|transport"
    "|auto-discovery-only"
)
_OPERATORS = frozenset({"(", ")", "&&", "||"})
DEFAULT_MULTIHOP_TTL = 64
_RIB = re.compile(r"(?:[^.\s]+\.)?inet6?\.0")
"""The tables of routes that packets take."""
_ADVERTISED = {
    "direct": "connected",
    "static": "static",
    "ospf": "ospf",
    "ospf3": "ospf",
    "isis": "isis",
    "aggregate": "aggregate",
}

TYPES: Types = {
    "rib": lambda word: word if _RIB.fullmatch(word) else None,
    "member": lambda word: asn(word) if asn(word) is not None else word,
}

_SESSION: Sequence[Row] = (
    Keep("peer-as <asn>", "remote_asn"),
    Keep("authentication-key <word>", "secret", reference),
    Keep("hold-time <integer>", "hold_s"),
    Keep("local-address <address>", "update_source"),
    Keep("local-as <asn> [<below>]", lambda number, below: {"local_asn": number, f"setting local-as {below}": below}),
    Keep("multihop", "multihop", DEFAULT_MULTIHOP_TTL),
    Keep("multihop ttl <integer>", "multihop"),
    Keep("multihop no-nexthop-change", "next_hop_unchanged", "all"),
    Keep("cluster <word>", "cluster"),
    Keep("remove-private", "removes private"),
    Entry("remove-private <word>...", "remove private", lambda _: "true"),
    Keep("(disable|shutdown) [<below>]", "enabled", "false"),
    Entry("import <word>...", "import", lambda _: "true"),
    Entry("export <word>...", "export", lambda _: "true"),
    Block(f"family <{_FAMILIES}>", "family", (
        Block(f"<{_KINDS}>", "kind", (
            Keep("extended-nexthop", "extended"),
            Keep("prefix-limit maximum <integer>", "limit"),
            Keep("prefix-limit teardown idle-timeout forever", "for good"),
            Keep("loops <integer>", "loops"),
            *verbatim("accepted-prefix-limit add-path aggregate-label aigp damping defer-initial-multipath-build "
                      "delay-route-advertisements entropy-label explicit-null extended-nexthop-color "
                      "graceful-restart idle-after-switch-over local-ipv4-address nexthop-resolution no-install "
                      "no-validate output-queue-priority per-group-label per-prefix-label prefix-limit protection "
                      "resolve-vpn rib rib-group route-age-bgp-view route-refresh-priority secondary "
                      "secondary-independent-resolution snmp-options strip-nexthop topology traffic-statistics "
                      "withdraw-priority egress-te"),
        )),
    )),
    *verbatim("route-target", "family", lead="family"),
    Block("bfd-liveness-detection", "bfd", (
        Keep("minimum-interval <integer>", "interval_ms"),
        Keep("multiplier <integer>", "multiplier"),
        *verbatim("authentication detection-time holddown-interval minimum-receive-interval no-adaptation "
                  "session-mode strict-bfd transmit-interval version echo echo-lite inline-disable "
                  "minimum-transmit-interval pdu-size", lead="bfd-liveness-detection"),
    )),
    *verbatim("accept-remote-nexthop add-path-display-ipv4-address advertise-bgp-static advertise-external "
              "advertise-inactive advertise-peer-as as-override authentication-algorithm authentication-key-chain "
              "bgp-error-tolerance bgp-static damping disable-4byte-as egress-te egress-te-backup-paths "
              "egress-te-node-segment egress-te-set-segment enforce-first-as forwarding-context graceful-restart "
              "graceful-shutdown idle-after-switch-over include-mp-next-hop ipsec-sa keep local-interface "
              "local-preference long-lived metric-out minimum-hold-time mtu-discovery multihop+ mvpn-iana-rt-import "
              "no-advertise-peer-as no-aggregator-id no-client-reflect optimal-route-reflection out-delay "
              "outbound-route-filter output-queue-priority passive path-selection precision-timers preference "
              "rfc6514-compliant-safi129 rib-sharding route-refresh-priority send-addpath-optimization snmp-options "
              "stale-labels-holddown-period tcp-aggressive-transmission tcp-connect-port tcp-mss tos "
              "unconfigured-peer-graceful-restart update-threading vpn-apply-export malformed-route-limit "
              "malformed-update-log-interval holddown traffic-statistics-labeled-path accept-prefix-sid "
              "advertise-prefix-sid advertise-srgb bgp-identifier domain-path-id ebgp-community-cleanup "
              "egress-te-adj-segment link-bandwidth message-batching nlri no-global-load-balancing "
              "route-server-client send-non-transitive-link-bandwidth tcpao-auth-mismatch"),
)  # fmt: skip
"""What a neighbour leaves unsaid its group says, and then the protocol."""
_GROUP: Sequence[Row] = (
    Keep("multipath", "multipath", "false"),
    Keep("multipath multiple-as", "multipath", "true"),
    Keep("ttl <integer>", "ttl"),
    Entry("allow <word>", "allowed"),
    *verbatim("multipath+"),
    *_SESSION,
)
"""What a group leaves unsaid the protocol says."""
_ALONE: Sequence[Row] = tuple(row for row in _GROUP if row.pattern != "hold-time <integer>")
"""What the protocol says: its hold time is the process's."""

_NONE = (None, 0)
_SAID = (
    "remote_asn", "description", "secret", "update_source", "local_asn", "multihop", "next_hop_unchanged",
    "enabled",
)  # fmt: skip
"""What a session's facts are called as its lines."""

_NEIGHBOR: Sequence[Row] = (Keep("description <word>", "description"), *verbatim("multipath"), *_SESSION)
_AGGREGATE: Sequence[Row] = (
    Keep(DISCARD, "discard"),
    *verbatim("active as-path brief community full metric passive policy preference reject tag"),
)
_STATIC: Sequence[Row] = (
    Keep(f"<{DISCARD}|reject|receive>", "without"),
    Entry("next-hop <word>", "via"),
    Block(
        "qualified-next-hop <word>", "hop", verbatim("bfd-liveness-detection interface metric preference tag")
    ),
    Entry("next-table <word>", "via", lambda table: f"table {table}"),
    *verbatim(
        "active as-path backup-pe-group bfd-liveness-detection color community inactive install longest-match "
        "lsp-next-hop metric no-install no-readvertise no-resolve no-retain p2mp-lsp-next-hop passive "
        "preference readvertise resolve retain static-lsp-next-hop tag metric2"
    ),
)
COMMON: Sequence[Row] = (
    Keep("routing-options router-id <word>", "router_id"),
    Keep("routing-options autonomous-system <asn> [<below>]",
         lambda number, below: {"asn": number, f"setting autonomous-system {below}": below}),
    *verbatim("loops asdot-notation independent-domain", "routing-options autonomous-system", lead="autonomous-system"),
    Block("routing-options aggregate route <word>", "aggregate", _AGGREGATE),
    Block("routing-options static route <word>", "static route", _STATIC),
    Block("routing-options rib <rib>", "", (
        Block("aggregate route <word>", "aggregate", _AGGREGATE),
        Block("static route <word>", "static route", _STATIC),
        *verbatim("bgp-orf-cisco-mode generate label martians maximum-paths maximum-prefixes multipath protect "
                  "backup-selection flow", lead="rib"),
    )),
    Block("protocols router-advertisement interface <unit>", "announced", (
        Keep("max-advertisement-interval <integer>", "ra_max_s"),
        Keep("min-advertisement-interval <integer>", "ra_min_s"),
        *verbatim("current-hop-limit default-lifetime dns-server-address link-mtu managed-configuration "
                  "no-managed-configuration nat-prefix no-other-stateful-configuration other-stateful-configuration "
                  "preference prefix reachable-time retransmit-timer solicit-router-advertisement-unicast "
                  "virtual-router-only dns-search-list downstream downstream-mode no-link-mtu parameter-preference "
                  "passive-mode rio-prefix upstream-mode", lead="router-advertisement"),
    )),
    Block("protocols bgp", "bgp", (
        Keep("log-updown", "log_updown"),
        Keep("hold-time <integer>", "process hold_s"),
        *_ALONE,
        *verbatim("global-load-balancing group-split-size bmp defaults sr-preference-override route-age "
                  "accept-prpd-connection advertise-from-main-vpn-tables description egress-te-sid-stats "
                  "holddown-all-stale-labels multipath-build-priority no-precision-timers prioritize-route-queueing "
                  "protocol-instance-name rfc8950-compliant route-age-bgp-view source-packet-routing"),
        Block("neighbor <word>", "neighbor", _NEIGHBOR),
        Block("group <word>", "group", (
            Keep("type <word>", "type"),
            Keep("peer-as-list <word>", "as_list"),
            *verbatim("description dynamic-neighbor"),
            *_GROUP,
            Block("neighbor <word>", "neighbor", _NEIGHBOR),
            Block("dynamic-neighbor <word>", "dynamic", (
                Keep("peer-auto-discovery family inet6 ipv6-nd", "discovers"),
                Entry("peer-auto-discovery interface <unit>", "interfaces"),
            )),
        )),
    )),
)  # fmt: skip
ROWS: Sequence[Row] = (
    Fact("routing-options forwarding-table ecmp-fast-reroute", "platform/ecmp_fast_reroute"),
    Fact("chassis maximum-ecmp <integer>", "bgp/maximum_paths"),
)


def finish(document: Document) -> None:
    """State routing options and sessions of a routing instance, with what neighbours leave to group and protocol."""
    scope = document.scope
    document.put_leaves("bgp/", scope.values, ("router_id", "asn"))
    for prefix, route in scope.each("static route").items():
        _finish_static(document, str(prefix), route)
    for prefix, aggregate in scope.each("aggregate").items():
        kept = "summary-only" if policy.suppresses(document) else "with specifics"
        document.put(f"bgp/aggregate[{prefix}]", kept, aggregate.line)
        put_settings(document, "routing/", aggregate, lead=f"aggregate {prefix} ")
    for port, announced in scope.each("announced").items():
        for leaf in ("ra_max_s", "ra_min_s"):
            if leaf in announced.values:
                document.whole.put(port_paths(str(port))[leaf], *announced.values[leaf])
        put_settings(document.whole, port_paths(str(port)).prefix, announced)
    for bgp in scope.each("bgp").values():
        hold_s, line = bgp.values.get("process hold_s", (DEFAULT_HOLD_S, 0))
        document.put("bgp/hold_s", hold_s, line)
        document.put("bgp/keepalive_s", int(hold_s) // HOLD_PER_KEEPALIVE, line)
        document.put_kept("platform/bgp_log", bgp.values, "log_updown")
        put_settings(document, "bgp/", bgp)
        _finish_sessions(document, bgp)


def _finish_static(document: Document, prefix: str, route: Scope) -> None:
    """State a route's next hops, or what becomes of packets without one."""
    without, _ = route.values.get("without", (DISCARD, 0))
    via = route.table("via")
    hops = [str(said) if str(said).startswith("table ") else str(hop) for hop, (said, _) in via.items()]
    hops += map(str, route.each("hop"))
    for hop, said in route.each("hop").items():
        put_settings(document, "routing/", said, lead=f"static {prefix} next-hop {hop} ")
    document.put(f"static_route[{prefix}]", static_text(hops) if hops else str(without), route.line)
    put_settings(document, "routing/", route, lead=f"static {prefix} ")


def _finish_sessions(document: Document, bgp: Scope) -> None:
    """State all sessions, what all groups agree on, and whether none takes packets from further than one hop."""
    secure = True
    families: set[str] = set()
    announced = document.scope.each("announced")
    for address, neighbor in bgp.each("neighbor").items():
        _session(document, f"bgp/neighbor[{address}]/", neighbor.within(bgp))
        put_settings(document, f"bgp/neighbor[{address}]/", neighbor)
    for name, own in bgp.each("group").items():
        group = own.within(bgp)
        document.put_kept(f"platform/bgp_group[{name}]/ttl", group.values, "ttl")
        document.put_kept(f"platform/bgp_group[{name}]/type", own.values, "type")
        for network, (_, line) in own.table("allowed").items():
            document.put(f"bgp/listen[{network}]", str(name), line)
        secure = secure and group.values.get("ttl", _NONE)[0] == ONE_HOP_TTL
        document.agree("bgp/multipath_relax", *group.values.get("multipath", ("none", group.line)))
        for address, neighbor in own.each("neighbor").items():
            families.add("inet6" if ":" in str(address) else "inet")
            prefix = f"bgp/neighbor[{address}]/"
            _session(document, prefix, neighbor.within(group))
            put_settings(document, prefix, neighbor.within(own))
        for dynamic_name, dynamic in own.each("dynamic").items():
            families.add("inet6")
            document.put(f"structure/bgp_group[{name}]/dynamic_neighbor", str(dynamic_name), dynamic.line)
            asn = _listed_asn(document, own)
            for interface, (_, line) in dynamic.table("interfaces").items():
                if "discovers" in dynamic.values and interface in announced:
                    group.values |= asn
                    _session(document, f"bgp/neighbor[{interface}]/", group, unnumbered=True)
                    put_settings(document, f"bgp/neighbor[{interface}]/", own)
                else:
                    document.reject(line)
    guarded = filters.one_hop(document)
    if families and secure and families <= guarded.keys():
        document.put("bgp/ttl_security", "true", guarded[min(families)])
    document.put_agreed()


def _listed_asn(document: Document, group: Scope) -> dict[str, Said]:
    """The one AS number that a group's list has, as the remote one."""
    said = group.values.get("as_list")
    as_list = document.refer("as-list", *said) if said else None
    members = [*as_list.table("members").values()] if as_list else []
    return {"remote_asn": members[0]} if len(members) == 1 and isinstance(members[0][0], int) else {}


def _session(document: Document, prefix: str, said: Scope, *, unnumbered: bool = False) -> None:
    """State one session by what it, its group and the protocol say."""
    values, imports, exports = said.values, said.table("import"), said.table("export")
    document.put_leaves(prefix, values, _SAID)
    if "remote_asn" not in values and "type" in values:
        document.put(prefix + "remote_kind", *values["type"])
    if "next_hop_unchanged" in values and "multihop" not in values:
        document.put(prefix + "multihop", DEFAULT_MULTIHOP_TTL, values["next_hop_unchanged"][1])
    private = dict(said.table("remove private"))
    if "removes private" in values:
        private.setdefault("true", values["removes private"])
    document.put_set(prefix + "remove_private", private)
    if "hold_s" in values:
        hold_s, line = values["hold_s"]
        document.put(prefix + "hold_s", hold_s, line)
        document.put(prefix + "keepalive_s", int(hold_s) // HOLD_PER_KEEPALIVE, line)
    if imports:
        words, line = _chain(imports)
        document.put(prefix + "import", " ".join(words), line)
    if exports:
        _exported(document, prefix, exports)
    bfd = said.each("bfd")[""].values if said.each("bfd") else {}
    interval_ms, line = bfd.get("interval_ms", (None, said.line))
    document.put(prefix + "bfd", boolean(interval_ms is not None), line)
    if interval_ms is not None:
        document.agree("bfd/interval_ms", interval_ms, line)
        document.agree("bfd/multiplier", *bfd.get("multiplier", (DEFAULT_BFD_MULTIPLIER, line)))
    _families(document, prefix, said, unnumbered=unnumbered)


def _chain(said: Mapping[Value, Said]) -> tuple[list[str], int]:
    """The words of a chain of policies and its line; the brackets around an expression say nothing."""
    words = [str(word) for word in said]
    while words[:1] == ["("] and words[-1:] == [")"]:
        words = words[1:-1]
    return words, max(line for _, line in said.values())


def _exported(document: Document, prefix: str, exports: Mapping[Value, Said]) -> None:
    """State what is sent: where the first policies of a chain choose what enters BGP, those, and the last alone."""
    words, line = _chain(exports)
    if policy.opens(document, words[0]) and not _OPERATORS & set(words):
        before = words[:-1]
        document.put(prefix + "export", words[-1], exports[words[-1]][1])
        connected = " ".join(before) if len(before) > 2 else before[0] if before else "none"
        document.agree("bgp/redistribute_connected", connected, exports[words[0]][1])
        if len(before) == 2:
            document.agree("bgp/redistribute_static", before[1], exports[words[1]][1])
        return
    document.put(prefix + "export", " ".join(words), line)
    entering: dict[str, list[str]] = {}
    for name in words:
        for protocol in policy.passes(document, name):
            if protocol in _ADVERTISED:
                entering.setdefault(_ADVERTISED[protocol], []).append(name)
    for protocol, names in entering.items():
        document.agree(f"bgp/redistribute[{protocol}]", " ".join(dict.fromkeys(names)), line)


def _families(document: Document, prefix: str, said: Scope, *, unnumbered: bool) -> None:
    """State the families of a session and their limits; IPv4 has no next hop on a link without addresses of its own."""
    configured = said.each("family")
    families: list[str] = []
    limits: dict[Value, int] = {}
    loops: dict[Value, int] = {}
    line = said.line
    order = [
        *(name for name in FAMILIES if name in configured),
        *(name for name in configured if name not in FAMILIES),
    ]
    for family in order:
        for kind, scope in configured[family].each("kind").items():
            line, values = scope.line, scope.values
            put_settings(document, prefix, scope, lead=f"family {family} {kind} ")
            extended = "extended" in values
            if family == "inet" and unnumbered and not extended:
                continue
            version = _FAMILY.get((str(family), str(kind)), f"{family} {kind}")
            families.append(f"{version} over IPv6" if extended and not unnumbered else version)
            if "loops" in values:
                loops[values["loops"][0]] = values["loops"][1]
            if kind == "unicast" or "limit" in values:
                limit, at = values.get("limit", ("none", line))
                limits[limit if "limit" not in values or "for good" in values else f"{limit} without end"] = (
                    at
                )
    families += [words for words, _ in kept(said) if words.startswith("family route-target")]
    document.put(prefix + "families", ",".join(families) or ("none" if configured else "ipv4"), line)
    document.put_all(agreed(prefix + "maximum_prefixes", limits))
    if loops:
        document.put(prefix + "allow_as_in", max(map(int, loops)), max(loops.values()))
    if "cluster" in said.values:
        cluster, at = said.values["cluster"]
        document.put(prefix + "reflector_client", ",".join(families) or "ipv4", at)
        document.agree("bgp/cluster_id", cluster, at)


TOPIC = Topic(ROWS)
