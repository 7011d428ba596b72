"""Routing policy and static routes of EOS and similar systems: rows of their lines, their facts, the order of names."""

from __future__ import annotations

import socket
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.reading import (
    Block,
    Document,
    Each,
    Entry,
    Fact,
    Keep,
    Row,
    Scope,
    Silent,
    StoredValue,
    Topic,
)
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import clause_text, static_text
from fabricc.fabric.routing import Clause, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fabricc.fabric import routing

_FAMILIES = {"ip": 4, "ipv6": 6}
_WORDS = ("match", "set", "continue", "sub-route-map")
"""Prefixes of clause lines other than those of our policies."""


def rule_text(prefix: str, eq: int | None, ge: int | None, le: int | None) -> str:
    """Return a rule as its fact's value, `eq` as both bounds."""
    low, high = (ge, le) if eq is None else (eq, eq)
    return prefix + (f" ge {low}" if low is not None else "") + (f" le {high}" if high is not None else "")


def masked_prefix(address: str, mask: str) -> str | None:
    """Return an address and a mask as a prefix, None for what is no mask."""
    try:
        return str(ip_network(f"{address}/{mask}", strict=False))
    except ValueError:
        return None


LENGTHS = "(eq <0-128>|[ge <0-128>] [le <0-128>])"
"""Of a rule, what `rule_text` takes after the prefix."""
RULES = {
    family: (Entry(f"seq <integer> permit {kind} {LENGTHS}", "rules", lambda _, *captured: rule_text(*captured)),)
    for family, kind in (("ip", "<prefix4>"), ("ipv6", "<prefix6>"))
}  # fmt: skip
"""Of prefix lists, by family."""
_CLAUSE: Sequence[Row] = (
    Keep("match community <word>", "community_list"),
    Keep("match ip address prefix-list <word>", "ip prefix-list"),
    Keep("match ipv6 address prefix-list <word>", "ipv6 prefix-list"),
    Keep("set community <community> additive", "add_community"),
    Keep("set local-preference <0-4294967295>", "local_preference"),
)
_OTHERS: Sequence[Row] = (
    *(Keep(f"{word} <rest>", f"{word} {{3}}", "true") for word in _WORDS),
    Keep("continue", "continue", "true"),
    Silent("description <rest>"),
)
"""Rows that our own policies never use."""

PREFIX_LISTS: Sequence[Row] = tuple(
    Each(f"{family} prefix-list <word>", f"{family} prefix-list", RULES[family]) for family in _FAMILIES
)
"""Of prefix lists with all on one line."""
LISTS: Sequence[Row] = (
    *PREFIX_LISTS,
    Fact("ip community-list [standard] <word> [seq <integer>] permit <community>", "community_list[{0}]"),
)
"""Of lists with all on one line; they want a type `community`: a community as facts have it."""


def route_maps(*, once: bool = False, others: bool = False, further: Sequence[Row] = ()) -> Row:
    """Return the row of route maps; `once` applies to their clauses as in a block; `others` adds foreign rows.

    `further`: rows of one system's own clauses.
    """
    rows = (*_CLAUSE, *further, *(_OTHERS if others else ()))
    clause = Block("<permit|deny> <integer>", "clause", rows, once)
    return Each("route-map <word>", "route-map", (clause, Keep("<permit|deny> <integer>", "action", "{1}")))


ROWS: Sequence[Row] = (
    *(Block(f"{family} prefix-list <word>", f"{family} prefix-list", RULES[family]) for family in _FAMILIES),
    *LISTS,
    route_maps(),
)


def finish(document: Document) -> None:
    """State rules by their places in their lists, and clauses as a whole."""
    state_lists(document)
    state_maps(document, {})


def state_lists(document: Document) -> None:
    """State the rules of prefix lists by their places."""
    for family in _FAMILIES:
        for name, rules in document.scope.each(f"{family} prefix-list").items():
            document.put_places(f"prefix_list[{name}]", rules.ordered_entries("rules"))


def state_maps(document: Document, names: Mapping[object, str]) -> None:
    """State clauses as a whole, those of some maps under other `names`; a list of the other family is not known."""
    scope = document.scope
    family_of = {name: family for family in _FAMILIES for name in scope.each(f"{family} prefix-list")}
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            for family in _FAMILIES:
                prefix_list, line = clause.values.get(f"{family} prefix-list", ("", 0))
                if line and family_of.get(prefix_list, family) != family:
                    document.reject(line)
            if name not in names:
                document.put(f"route_map[{name}]/{sequence}", *clause_with_line(clause))
            elif not denies_all(clause):
                document.put(f"route_map[{names[name]}]/{sequence}", *clause_with_line(clause))


def denies_all(clause: Scope) -> bool:
    """Return whether a clause denies whatever no earlier one took, as a map does at its end in any case."""
    return [value for value, _ in clause.values.values()] == ["deny"]


def clause_with_line(clause: Scope) -> StoredValue:
    """Return the values of all lines of a clause together, and the last of the lines."""
    stored = {name: value for name, (value, _) in clause.values.items()}
    stated = Clause(
        0,
        stored["action"] == "permit",
        prefix_list=stored.get("ip prefix-list", stored.get("ipv6 prefix-list")),  # type: ignore[arg-type]
        community_list=stored.get("community_list"),  # type: ignore[arg-type]
        local_preference=stored.get("local_preference"),  # type: ignore[arg-type]
        add_community=stored.get("add_community"),  # type: ignore[arg-type]
    )
    others = [name for name in stored if name.startswith(_WORDS)]
    return " ".join([clause_text(stated), *others]), max(line for _, line in clause.values.values())


POLICY = Topic(ROWS, finish)


_GROUP_SUFFIX = {Transport.IPV4: "", Transport.IPV6: "-V6", Transport.UNNUMBERED: "-UN"}


@dataclass(frozen=True, slots=True)
class CommunityListView:
    """One standard community list."""

    name: str
    community: str


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One step of a route map; `family` is `ip` or `ipv6`."""

    route_map: str
    action: str
    sequence: int
    family: str
    prefix_list: str | None
    community_list: str | None
    local_preference: int | None
    add_community: str | None


class PrefixListView(NamedTuple):
    """One prefix list of `ip` or `ipv6`; rules are (sequence, prefix, the words after it with their leading space)."""

    family: str
    name: str
    rules: list[tuple[int, str, str]]


class NeighborView(NamedTuple):
    """One session over an address, or over an interface's link-local addresses; `group` is of its transport."""

    name: str
    group: str
    remote_asn: int
    description: str


def community_lists(bgp: routing.Bgp, names: Mapping[str, str]) -> list[CommunityListView]:
    """Return the community lists in order of name; `names` are the words for communities that have one."""
    return _community_lists(bgp.community_lists, names)


def _community_lists(
    lists: Sequence[routing.CommunityList], names: Mapping[str, str]
) -> list[CommunityListView]:
    return [
        CommunityListView(c.name, names.get(c.community, c.community))
        for c in sorted(lists, key=lambda c: natural_key(c.name.lower()))
    ]


def clause_views(bgp: routing.Bgp, names: Mapping[str, str]) -> list[ClauseView]:
    """Return the clauses of all route maps by name and sequence; `names` as of `community_lists`."""
    return _views_of_maps(bgp.route_maps, names)


def _views_of_maps(route_maps: Sequence[routing.RouteMap], names: Mapping[str, str]) -> list[ClauseView]:
    return [
        clause_view(route_map.name, clause, names)
        for route_map in sorted(route_maps, key=lambda m: natural_key(m.name.lower()))
        for clause in sorted(route_map.clauses, key=lambda c: c.sequence)
    ]


def clause_view(route_map: str, clause: Clause, names: Mapping[str, str]) -> ClauseView:
    """Return one clause of a route map; `names` as of `community_lists`."""
    community = clause.add_community
    return ClauseView(
        route_map=route_map,
        action="permit" if clause.permit else "deny",
        sequence=clause.sequence,
        family="ipv6" if clause.family == 6 else "ip",
        prefix_list=clause.prefix_list,
        community_list=clause.community_list,
        local_preference=clause.local_preference,
        add_community=names.get(community, community) if community else None,
    )


def prefix_lists(bgp: routing.Bgp) -> list[PrefixListView]:
    """Return the prefix lists by family and name, their rules numbered in steps of ten."""
    return [
        PrefixListView(
            "ipv6" if each.family == 6 else "ip",
            each.name,
            [(10 * at, rule.prefix, _length_words(rule)) for at, rule in enumerate(each.rules, 1)],
        )
        for each in sorted(bgp.prefix_lists, key=lambda p: (p.family, natural_key(p.name.lower())))
    ]


def _length_words(rule: routing.PrefixRule) -> str:
    """Return the words after the prefix of a rule, with their leading space."""
    if rule.ge is not None and rule.ge == rule.le:
        return f" eq {rule.ge}"
    ge = f" ge {rule.ge}" if rule.ge is not None else ""
    return ge + (f" le {rule.le}" if rule.le is not None else "")


def group_name(group: str, transport: Transport) -> str:
    """Return what the part of a peer group that has this transport is called: families are activated per group."""
    return group + _GROUP_SUFFIX[transport]


def neighbor_view(session: routing.Session) -> NeighborView:
    """Return one session."""
    group = session.group + _GROUP_SUFFIX[session.transport]
    name, words = session.remote or session.port, session.label or session.peer
    return NeighborView(name, group, session.remote_asn, words)


def groups_in_use(bgp: routing.Bgp) -> list[tuple[routing.PeerGroup, Transport]]:
    """Return the peer groups with each transport that any session of theirs has, in order of `group_name`."""
    return sorted(
        bgp.groups_in_use, key=lambda found: natural_key(group_name(found[0].name, found[1]).lower())
    )


_NAMES_LAST = 99  # more than the bytes of any address


def address_order(address: str) -> tuple[int, bytes]:
    """Sorting key of addresses: IPv4 before IPv6, each ascending.

    Raises:
        OSError: the text is not an address.
    """
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    return len(packed), packed


def in_address_order(addresses: Iterable[str]) -> list[str]:
    """Addresses and networks, IPv4 before IPv6 before names, each ascending."""

    def key(text: str) -> tuple[int, bytes]:
        try:
            return address_order(text.partition("/")[0])
        except OSError:
            return _NAMES_LAST, text.encode()

    return sorted(addresses, key=key)


def numbered_sessions(bgp: routing.Bgp) -> list[routing.Session]:
    """Return the sessions over addresses: IPv4 before IPv6, each ascending."""
    four = [s for s in bgp.sessions if s.remote is not None and ":" not in s.remote]
    six = [s for s in bgp.sessions if s.remote is not None and ":" in s.remote]
    return [*sorted(four, key=_pack_ipv4), *sorted(six, key=_pack_ipv6)]


def _pack_ipv4(session: routing.Session) -> bytes:
    return socket.inet_pton(socket.AF_INET, session.remote or "")


def _pack_ipv6(session: routing.Session) -> bytes:
    return socket.inet_pton(socket.AF_INET6, session.remote or "")


def unnumbered_sessions(bgp: routing.Bgp) -> list[routing.Session]:
    """Return the sessions over link-local addresses, in the order of the ports."""
    return [s for s in bgp.sessions if s.remote is None]


def static_lines(routes: Iterable[routing.StaticRoute], discard: str) -> list[tuple[str, str, str]]:
    """(`ip` or `ipv6`, prefix, next hop or the word that leads nowhere) of each line."""
    return [
        ("ipv6" if ":" in route.prefix else "ip", route.prefix, via)
        for route in routes
        for via in route.via or (discard,)
    ]


def static_rows(discard: str) -> tuple[Row, ...]:
    """Return the rows that read them."""
    return tuple(
        Each(f"{keyword} route <prefix{family}>", "static route", (
            Entry(f"<address{family}>", "via"),
            Keep(discard, "discard"),
        ))
        for keyword, family in (("ip", 4), ("ipv6", 6))
    )  # fmt: skip


def state_static(document: Document) -> None:
    """State each route with its next hops, and `discard` where another line drops a part of its packets."""
    for prefix, route in document.scope.each("static route").items():
        via, line = [*map(str, route.table("via"))], route.line
        if via and "discard" in route.values:
            via, line = [*via, "discard"], route.values["discard"][1]
        document.put(f"static_route[{prefix}]", static_text(via), line)


def put_targets(
    put: Callable[[str, str, int], object],
    prefix: str,
    imports: Mapping[str, int],
    exports: Mapping[str, int],
    vni: object = None,
) -> None:
    """State the route targets: one text where what is imported is what is exported.

    The line is that of a target that only one direction has, else the last one.

    Args:
        put: states a fact.
        prefix: path of the VRF or VLAN.
        imports: route target -> its line.
        exports: the same of what is announced.
        vni: the VNI, with which usual targets end; another one of only one direction is the wrong one.
    """
    if not imports and not exports:
        return
    taken, sent = (",".join(sorted(each)) for each in (imports, exports))
    value = taken if taken == sent else f"import {taken} export {sent}"
    one_way = {
        target: line
        for own, other in ((exports, imports), (imports, exports))
        for target, line in own.items()
        if target not in other
    }
    foreign = [line for target, line in one_way.items() if target.rpartition(":")[2] != str(vni)]
    lines = foreign or list(one_way.values())
    put(prefix + "route_target", value, lines[-1] if lines else max((*imports.values(), *exports.values())))
