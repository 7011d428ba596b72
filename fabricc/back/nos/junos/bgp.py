"""BGP and routing policy of Junos: groups per direction and transport, route maps as policy statements.

Junos exports from the routing table: every group exports through the policy that selects routes for BGP, whose terms
end in `next policy`, and then through its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.cli_dialect import group_name
from fabricc.back.nos.junos import policy, words
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, neighbor_key
from fabricc.fabric.routing import Bgp, PrefixRule, RouteMap, Session, StaticRoute, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.model import Switch

    Line = tuple[str, str]
    """Prefix and action of a static route."""

LOAD_BALANCING_POLICY = "PFE-LB"
_OTHERS = ("aggregate", "bgp", "direct")
"""Routes that the policy of static routes permits after the policy before it."""
DYNAMIC_NEIGHBOR = "UNNUMBERED"
DEFAULT_HOLD_S = 90
DEFAULT_BFD_MULTIPLIER = 3
# Router advertisements, by which neighbors find each other on unnumbered links: Junos's default interval is up to 600
# s (RFC 4861). FRR's BGP takes 10 s for the same purpose, and 3 s is the least there is.
RA_MAX_S, RA_MIN_S = 10, 3
# Below this hold time Juniper recommends `precision-timers`, which Junos OS Evolved does not have (Juniper,
# precision-timers, edit protocols bgp).
PRECISION_BELOW_S = 20

_OF_GROUPS = ("bgp/multipath_relax", "bgp/redistribute_connected", "bfd/interval_ms", "bfd/multiplier")
DEPARTURES = (
    Departure("bgp/neighbor[*]/description", LEFT_OUT, "dynamic neighbors have none: for unnumbered ones"),
    Departure("bgp/keepalive_s", ROUNDED, "a third of the hold time (FAB5517)"),
    Departure("bgp/maximum_paths", ROUNDED, "`maximum-ecmp` has steps"),
    Departure("bfd/interval_ms", ROUNDED, "not below the platform's least (FAB5680)"),
    Departure("prefix_list[*]/*", ROUNDED, "a lower bound of lengths always has an upper one"),
    *(
        Departure(path, LEFT_OUT, "a setting of groups of neighbors: absent without them")
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
    """Write a switch's `Bgp` for Junos: routing options and `protocols bgp`.

    Attributes:
        aggregates4, aggregates6: prefixes of `aggregate route`, by table.
        static4, static6: (prefix, what becomes of packets) of `static route`, by table.
        unnumbered: interfaces that announce themselves as routers, which is how neighbors find each other, every
            `ra_min_s` to `ra_max_s` seconds.
        ttl: that of packets sent to neighbors; None for Junos's own, which is 1.
        precision_timers: whether the kernel sends keepalives, which it does on time although routing is busy.
        bfd_interval_ms: None without BFD.
        global_balancing: the part of the switch in global load balancing; None without it.
    """

    ttl: int | None
    precision_timers: bool
    global_balancing: str | None
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
    """Return the view of a switch's BGP process."""
    bgp = switch.bgp
    static4, static6 = static_views(switch.static_routes)
    return RoutingView(
        ttl=words.ONE_HOP_TTL if bgp.ttl_security else None,
        precision_timers=needs_precision_timers(switch),
        global_balancing=_global_part(switch),
        bfd_interval_ms=bfd_interval_ms(switch),
        aggregates4=[prefix for prefix in bgp.aggregates if ":" not in prefix],
        aggregates6=[prefix for prefix in bgp.aggregates if ":" in prefix],
        static4=static4,
        static6=static6,
        ra_max_s=RA_MAX_S,
        ra_min_s=RA_MIN_S,
        unnumbered=[f"{s.port}.0" for s in bgp.sessions if s.transport is Transport.UNNUMBERED],
        groups=list(_group_views(bgp)),
    )


def static_views(routes: Sequence[StaticRoute]) -> tuple[list[Line], list[Line]]:
    """Return prefix and action of static routes: of IPv4, then of IPv6."""
    lines = [_static_route(route) for route in routes]
    return [line for line in lines if ":" not in line[0]], [line for line in lines if ":" in line[0]]


def _static_route(route: StaticRoute) -> tuple[str, str]:
    hops = route.via if len(route.via) < 2 else ("[", *route.via, "]")
    return route.prefix, " ".join(("next-hop", *hops)) if hops else policy.DISCARD


def policy_view(bgp: Bgp) -> PolicyView:
    """Return the policy of one BGP process."""
    names = _added_communities(bgp)
    communities = {c.name: c.community for c in bgp.community_lists}
    communities |= {name: value for value, name in names.items()}
    return PolicyView(
        [(p.name, [f"{rule.prefix} {_match_words(rule)}" for rule in p.rules]) for p in bgp.prefix_lists],
        [(m.name, list(_term_views(bgp, m, names))) for m in bgp.route_maps],
        sorted(communities.items()),
        sorted({s.remote_asn for s in bgp.sessions if s.remote is None}),
    )


def maximum_ecmp(paths: int) -> int:
    """Return the smallest group size that Junos offers for so many paths; the largest when none suffices."""
    return next((step for step in words.MAXIMUM_ECMP if step >= paths), words.MAXIMUM_ECMP[-1])


def _global_part(switch: Switch) -> str | None:
    """Return the part in global load balancing: ToRs choose paths, switches above report the load of their links."""
    if not switch.load_balancing.global_paths:
        return None
    return "helper-only" if switch.tier_index else "load-balancer-only"


def needs_precision_timers(switch: Switch) -> bool:
    """Return whether a switch needs `precision-timers`: a short hold time on a switch that has the statement."""
    return words.junos_flavor(switch) == words.CLASSIC and switch.bgp.hold_s < PRECISION_BELOW_S


def bfd_interval_ms(switch: Switch) -> int | None:
    """Return the interval of BFD in milliseconds, never below the platform's least; None without BFD."""
    requested = switch.bgp.bfd_interval_ms
    return (
        None
        if requested is None
        else max(requested, int(words.catalog_settings(switch).get("bfd_least_ms", requested)))
    )


def _group_views(bgp: Bgp) -> Iterator[GroupView]:
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
                (s.remote, words.quote_text(s.description), s.remote_asn)
                for s in sessions
                if s.remote is not None
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


def _term_views(bgp: Bgp, route_map: RouteMap, communities: Mapping[str, str]) -> Iterator[TermView]:
    """The terms of a policy: clauses ascending by sequence, and what the first policy of a chain lets pass before."""
    kind = {bgp.redistribute_map: "direct", bgp.static_map: "static"}.get(route_map.name)
    if kind == "static":
        yield TermView(policy.OTHERS_TERM, [f"protocol [ {' '.join(_OTHERS)} ]"], [policy.NEXT])
    if kind == "direct":
        if bgp.aggregates:
            yield TermView(policy.SUMMARY_TERM, ["aggregate-contributor"], [policy.REJECT])
            yield TermView(policy.AGGREGATES_TERM, ["protocol aggregate"], [policy.NEXT])
        yield TermView(policy.BGP_TERM, ["protocol bgp"], [policy.NEXT])
        if bgp.static_map:
            yield TermView(policy.STATIC_TERM, ["protocol static"], [policy.NEXT])
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
        actions.append((policy.NEXT if kind else policy.ACCEPT) if clause.permit else policy.REJECT)
        yield TermView(str(clause.sequence), conditions, actions)
    yield TermView(policy.DEFAULT_TERM, [], [policy.REJECT])


def rule_lengths(rule: PrefixRule) -> tuple[int | None, int | None]:
    """(ge, le) as Junos holds a rule: a lower bound always has an upper one."""
    if rule.ge is not None and rule.le is None:
        return rule.ge, 128 if ":" in rule.prefix else 32
    return rule.ge, rule.le


def _match_words(rule: PrefixRule) -> str:
    """Return the words after the prefix of a route filter."""
    ge, le = rule_lengths(rule)
    if le is None:
        return "exact"
    return f"upto /{le}" if ge is None else f"prefix-length-range /{ge}-/{le}"


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of sessions and policy to the values of Junos, and add its further facts."""
    bgp = switch.bgp
    facts |= {
        "bgp/keepalive_s": bgp.hold_s // words.HOLD_PER_KEEPALIVE,
        "bgp/maximum_paths": maximum_ecmp(bgp.maximum_paths),
        "platform/bgp_log": "true",
        "platform/load_balance": "per-packet",
        "platform/ecmp_fast_reroute": "true",
    }
    if needs_precision_timers(switch):
        facts["platform/bgp_precision_timers"] = "true"
    if part := _global_part(switch):
        facts["platform/global_load_balancing"] = part
    if (interval_ms := bfd_interval_ms(switch)) is not None:
        facts["bfd/interval_ms"] = interval_ms
    if not bgp.sessions:
        for path in _OF_GROUPS:
            facts.pop(path, None)
    for group in _group_views(bgp):
        facts[f"platform/bgp_group[{group.name}]/type"] = "external"
        if bgp.ttl_security:
            facts[f"platform/bgp_group[{group.name}]/ttl"] = words.ONE_HOP_TTL
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
            ge, le = rule_lengths(rule)
            text = rule.prefix + (f" ge {ge}" if ge is not None else "")
            facts[f"prefix_list[{prefix_list.name}]/{index}"] = text + (f" le {le}" if le is not None else "")
    names = _added_communities(bgp)
    facts |= {f"community_list[{name}]": value for value, name in names.items()}
    for route_map in bgp.route_maps:
        for clause in route_map.clauses:
            if clause.local_preference is not None:
                path = f"platform/route_map[{route_map.name}]/{clause.sequence}/local_preference"
                facts[path] = clause.local_preference
        terms = list(_term_views(bgp, route_map, names))
        facts[f"platform/policy[{route_map.name}]"] = "; ".join(map(_summarize_term, terms))
        for term in terms:
            if not is_number(term.name):
                facts[f"structure/policy[{route_map.name}]/term[{term.name}]"] = "true"


def _summarize_term(term: TermView) -> str:
    """Return a term in a few words, as its fact has it: its number, the kinds of route, what becomes of them."""
    kinds = [
        condition.removeprefix("protocol ").strip("[ ]")
        for condition in term.conditions
        if condition.startswith(("protocol ", "aggregate-contributor"))
    ]
    return " ".join([*([term.name] if is_number(term.name) else []), *kinds, term.actions[-1]])
