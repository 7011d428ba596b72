"""BGP and routing policy of Junos: groups per direction and transport, route maps as policy statements.

Junos exports from the routing table: every group exports through the policy that chooses what may go to BGP at all,
whose terms say `next policy`, and then through its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.policy_view import group_name
from fabricc.back.nos.cli_dialect.static import state_static
from fabricc.back.nos.departures import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.junos import filters
from fabricc.back.nos.junos.words import (
    COMMUNITY_OF,
    FAMILIES,
    HOLD_PER_KEEPALIVE,
    MAXIMUM_ECMP,
    ONE_HOP_TTL,
    quoted,
    settings,
)
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Entry, Fact, Keep
from fabricc.back.nos.reading.scope import agreed
from fabricc.back.nos.reading.types import asn
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean, clause_text, neighbor_key
from fabricc.fabric.routing import Clause, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said, Scope
    from fabricc.back.nos.reading.types import Types
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PrefixRule, RouteMap, Session, StaticRoute

ACCEPT, REJECT, NEXT = "accept", "reject", "next policy"
DISCARD = "discard"
LOAD_BALANCING_POLICY = "PFE-LB"
SUMMARY_TERM = "SUMMARY-ONLY"
AGGREGATES_TERM = "AGGREGATES"
BGP_TERM = "BGP"
STATIC_TERM = "STATIC"
OTHERS_TERM = "OTHERS"
_OTHERS = ("aggregate", "bgp", "direct")
"""What the policy of static routes lets pass, as the one before has judged it."""
DEFAULT_TERM = "DEFAULT"
DYNAMIC_NEIGHBOR = "UNNUMBERED"
DEFAULT_HOLD_S = 90
DEFAULT_BFD_MULTIPLIER = 3
# Router advertisements, by which neighbours find each other on unnumbered links: Junos's own are up to 600 s apart
# (RFC 4861). FRR's BGP takes 10 s for the same purpose, and 3 s is the least there is.
RA_MAX_S, RA_MIN_S = 10, 3

_OF_GROUPS = (
    "bgp/multipath_relax",
    "bgp/redistribute_connected",
    "bfd/interval_ms",
    "bfd/multiplier",
)
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
            neighbors=[(s.remote, quoted(s.peer), s.remote_asn) for s in sessions if s.remote is not None],
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

_RANGE = re.compile(r"/(\d{1,3})-/(\d{1,3})")
_UPTO = re.compile(r"/(\d{1,3})")


def _upto(word: str) -> str | None:
    return f" le {found[1]}" if (found := _UPTO.fullmatch(word)) else None


def _between(word: str) -> str | None:
    return f" ge {found[1]} le {found[2]}" if (found := _RANGE.fullmatch(word)) else None


TYPES: Types = {
    "unit": lambda word: word.removesuffix(".0"),
    "upto": _upto,
    "between": _between,
    "member": lambda word: asn(word) if asn(word) is not None else word,
    "community": lambda word: COMMUNITY_OF.get(word, word),
}

_SESSION: Sequence[Row] = (
    Keep("peer-as <asn>", "remote_asn"),
    Keep("authentication-key <word>", "secret"),
    Entry("import <word>", "import"),
    Entry("export <word>", "export"),
    Block("family <inet|inet6>", "family", (
        Block("unicast", "unicast", (
            Keep("extended-nexthop", "extended"),
            Keep("prefix-limit maximum <integer>", "limit"),
            Keep("prefix-limit teardown idle-timeout forever", "for good"),
        )),
    )),
    Block("family <word>", "family", ()),
    Fact("family <word>", lambda _family: None),
    Block("bfd-liveness-detection", "bfd", (
        Keep("minimum-interval <integer>", "interval_ms"),
        Keep("multiplier <integer>", "multiplier"),
    )),
)  # fmt: skip
"""What a neighbour leaves unsaid its group says, and then the protocol."""
_GROUP: Sequence[Row] = (
    Keep("multipath", "multipath", "false"),
    Keep("multipath multiple-as", "multipath", "true"),
    Keep("ttl <integer>", "ttl"),
    *_SESSION,
)
"""What a group leaves unsaid the protocol says."""

_NONE = (None, 0)
_NAMED = {"prefix_list": "filter list", "community_list": "community", "add_community": "community"}
"""What a numbered term names one of, and what that is called here."""

ROWS: Sequence[Row] = (
    Fact("routing-options router-id <word>", "bgp/router_id"),
    Fact("routing-options autonomous-system <asn>", "bgp/asn"),
    Fact("routing-options forwarding-table ecmp-fast-reroute", "platform/ecmp_fast_reroute"),
    Entry("routing-options forwarding-table export <word>", "forwarding policies"),
    Entry("routing-options [rib inet6.0] aggregate route <word> discard", "aggregates"),
    Block("routing-options [rib inet6.0] static route <word>", "static route", (
        Keep(DISCARD, "discard"),
        Entry("next-hop <word>", "via"),
    )),
    Fact("chassis maximum-ecmp <integer>", "bgp/maximum_paths"),
    Block("protocols router-advertisement interface <unit>", "announced", (
        Fact("max-advertisement-interval <integer>", "interface[{0}]/ra_max_s"),
        Fact("min-advertisement-interval <integer>", "interface[{0}]/ra_min_s"),
    )),
    Block("protocols bgp", "bgp", (
        Fact("log-updown", "platform/bgp_log"),
        Keep("hold-time <integer>", "hold_s"),
        *_GROUP,
        Block("group <word>", "group", (
            Fact("type <word>", "platform/bgp_group[{0}]/type"),
            Keep("peer-as-list <word>", "as_list"),
            *_GROUP,
            Block("neighbor <word>", "neighbor", (Keep("description <word>", "description"), *_SESSION)),
            Block("dynamic-neighbor <word>", "dynamic", (
                Keep("peer-auto-discovery family inet6 ipv6-nd", "discovers"),
                Entry("peer-auto-discovery interface <unit>", "interfaces"),
            )),
        )),
    )),
    Block("policy-options", "", (
        Block("route-filter-list <word>", "filter list", (
            Block("<prefix>", "prefix", (
                Entry("<exact|orlonger>", "lengths"),
                Entry("upto <upto>", "lengths"),
                Entry("prefix-length-range <between>", "lengths"),
            )),
        )),
        Block("community <word>", "community", (Entry("members <community>", "members"),)),
        Block("as-list <word>", "as-list", (Entry("members <member>", "members"),)),
        Block("policy-statement <word>", "policy", (
            Keep("then load-balance per-packet", "per-packet"),
            Block("term <word>", "term", (
                Entry("from protocol <aggregate|bgp|direct|static>", "protocols"),
                Keep("from aggregate-contributor", "contributes"),
                Entry("from route-filter-list <word>", "prefix_list"),
                Entry("from community <word>", "community_list"),
                Keep("then local-preference <0-4294967295>", "local_preference"),
                Entry("then community add <word>", "add_community"),
                Keep("then <accept|reject>", "action"),
                Keep("then next policy", "action", NEXT),
            )),
        )),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State policy, routing options and sessions, with what neighbours leave to their group and the protocol."""
    scope = document.scope
    for name, listed in scope.each("filter list").items():
        rules = [rule for prefix, each in listed.each("prefix").items() for rule in _rules(str(prefix), each)]
        for index, (rule, line) in enumerate(rules):
            document.put(f"prefix_list[{name}]/{index}", rule, line)
    for name, community in scope.each("community").items():
        if members := community.table("members"):
            line = max(line for _, line in members.values())
            document.put(f"community_list[{name}]", ",".join(map(str, members)), line)
    _finish_policies(document)
    state_static(document)
    for bgp in scope.each("bgp").values():
        hold_s, line = bgp.values.get("hold_s", (DEFAULT_HOLD_S, 0))
        document.put("bgp/hold_s", hold_s, line)
        document.put("bgp/keepalive_s", int(hold_s) // HOLD_PER_KEEPALIVE, line)
        _finish_sessions(document, bgp)
    document.reject_unused("as-list")


def _rules(prefix: str, scope: Scope) -> Iterator[Said]:
    """The rules of one prefix, one for each way it is matched."""
    words = {"exact": "", "orlonger": f" le {128 if ':' in prefix else 32}"}
    for lengths, (_, line) in scope.table("lengths").items():
        yield prefix + words.get(str(lengths), str(lengths)), line


def _finish_policies(document: Document) -> None:
    """State policies term by term, the one of the forwarding table, and what becomes of routes behind an aggregate."""
    balancing, suppressing = set(), False
    exported = document.scope.table("forwarding policies")
    for name, policy in document.scope.each("policy").items():
        if "per-packet" in policy.values:
            balancing.add(name)
            if name not in exported:
                document.reject_all(policy)
        elif terms := policy.each("term"):
            stated = [_term(document, str(name), str(term), each) for term, each in terms.items()]
            document.put(f"platform/policy[{name}]", "; ".join([text for text, _ in stated]), stated[0][1])
            suppressing = suppressing or any(
                "contributes" in each.values and each.values.get("action", _NONE)[0] == REJECT
                for each in terms.values()
            )
    for name, (_, line) in exported.items():
        if name in balancing:
            document.put("platform/load_balance", "per-packet", line)
        else:
            document.reject(line, name)
    for prefix, (_, line) in document.scope.table("aggregates").items():
        document.put(f"bgp/aggregate[{prefix}]", "summary-only" if suppressing else "with specifics", line)


def _term(document: Document, policy: str, name: str, term: Scope) -> tuple[str, int]:
    """State a term; its summary and the line of its action. What makes a clause counts in a numbered one alone."""
    action, line = term.values.get("action", ("next term", term.line))
    kinds = ["aggregate-contributor"] if "contributes" in term.values else []
    summary = " ".join([*kinds, *map(str, term.table("protocols")), str(action)])
    preference = term.values.get("local_preference")
    if not name.isdecimal():
        document.put(f"structure/policy[{policy}]/term[{name}]", "true", term.line)
        uncounted = [said for kind in _NAMED for said in term.table(kind).values()]
        for _, at in [*uncounted, *([preference] if preference else [])]:
            document.reject(at)
        return summary, line
    named = {kind: said for kind, of in _NAMED.items() if (said := _one(document, term, kind, of))}
    path = f"route_map[{policy}]/{name}"
    if preference:
        document.put(f"platform/{path}/local_preference", *preference)
    clause = Clause(
        int(name[:9]),
        action != REJECT,
        prefix_list=named["prefix_list"][0] if "prefix_list" in named else None,
        community_list=named["community_list"][0] if "community_list" in named else None,
        local_preference=int(preference[0]) if preference else None,
        add_community=_members(document, named["add_community"][0]) if "add_community" in named else None,
    )
    lines = [at for _, at in (*named.values(), *([preference] if preference else []))]
    document.put(path, clause_text(clause), max([line, *lines]))
    return f"{name} {summary}", line


def _one(document: Document, term: Scope, kind: str, of: str) -> tuple[str, int] | None:
    """The one name of a kind; several are all matched by a device, so they are listed, as is a name of nothing."""
    found = term.table(kind)
    for name, (_, line) in found.items():
        if len(found) > 1:
            document.reject(line, name)
        elif document.refer(of, name, line, name):
            return str(name), line
    return None


def _members(document: Document, community: str) -> str:
    return ",".join(map(str, document.scope.each("community")[community].table("members")))


def _finish_sessions(document: Document, bgp: Scope) -> None:
    """State all sessions, what all groups agree on, and whether none takes packets from further than one hop."""
    secure = True
    families: set[str] = set()
    announced = document.scope.each("announced")
    for name, own in bgp.each("group").items():
        group = own.within(bgp)
        if "ttl" in group.values:
            document.put(f"platform/bgp_group[{name}]/ttl", *group.values["ttl"])
        secure = secure and group.values.get("ttl", _NONE)[0] == ONE_HOP_TTL
        document.agree("bgp/multipath_relax", *group.values.get("multipath", ("none", group.line)))
        for address, neighbor in own.each("neighbor").items():
            families.add("inet6" if ":" in str(address) else "inet")
            _session(document, f"bgp/neighbor[{address}]/", neighbor.within(group))
        for dynamic_name, dynamic in own.each("dynamic").items():
            families.add("inet6")
            document.put(f"structure/bgp_group[{name}]/dynamic_neighbor", str(dynamic_name), dynamic.line)
            asn = _listed_asn(document, own)
            for interface, (_, line) in dynamic.table("interfaces").items():
                if "discovers" in dynamic.values and interface in announced:
                    group.values |= asn
                    _session(document, f"bgp/neighbor[{interface}]/", group, unnumbered=True)
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
    values, imports, exports = said.values, said.table("import"), list(said.table("export").items())
    for leaf in ("remote_asn", "description", "secret"):
        if leaf in values:
            document.put(prefix + leaf, *values[leaf])
    if imports:
        document.put(prefix + "import", " ".join(map(str, imports)), [*imports.values()][-1][1])
    if exports:
        document.put(prefix + "export", exports[-1][0], exports[-1][1][1])
        before = [str(name) for name, _ in exports[:-1]]
        connected = " ".join(before) if len(before) > 2 else before[0] if before else "none"
        document.agree("bgp/redistribute_connected", connected, exports[0][1][1])
        if len(before) == 2:
            document.agree("bgp/redistribute_static", before[1], exports[1][1][1])
    bfd = said.each("bfd")[""].values if said.each("bfd") else {}
    interval_ms, line = bfd.get("interval_ms", (None, said.line))
    document.put(prefix + "bfd", boolean(interval_ms is not None), line)
    if interval_ms is not None:
        document.agree("bfd/interval_ms", interval_ms, line)
        document.agree("bfd/multiplier", *bfd.get("multiplier", (DEFAULT_BFD_MULTIPLIER, line)))
    _families(document, prefix, said, unnumbered=unnumbered)


def _families(document: Document, prefix: str, said: Scope, *, unnumbered: bool) -> None:
    """State the families of a session and their limits; IPv4 has no next hop on a link without addresses of its own."""
    configured = said.each("family")
    families: list[str] = []
    limits: dict[Value, int] = {}
    line = said.line
    for family, version in FAMILIES.items():
        unicast = configured[family].each("unicast").get("") if family in configured else None
        if unicast is None:
            continue
        line, values = unicast.line, unicast.values
        extended = "extended" in values
        if family == "inet" and unnumbered and not extended:
            continue
        families.append(f"{version} over IPv6" if extended and not unnumbered else version)
        limit, at = values.get("limit", ("none", line))
        limits[limit if "limit" not in values or "for good" in values else f"{limit} without end"] = at
    document.put(prefix + "families", ",".join(families) or ("none" if configured else "ipv4"), line)
    document.put_all(agreed(prefix + "maximum_prefixes", limits))


TOPIC = Topic(ROWS, finish)
