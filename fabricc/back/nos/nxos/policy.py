"""Routing policy and packet filters of NX-OS whole, as designs of others have them.

Lists with entries that deny, clauses of route maps with more than fabricc writes, lists of AS paths, access lists,
groups of objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import LENGTHS, clause_with_line, rule_text
from fabricc.back.nos.nxos.words import split_beginnings
from fabricc.back.reading import Block, Document, Each, Entry, Keep, Row, Scope, Silent, StoredValue, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Value

_CLAUSES = {
    "match": split_beginnings("""
        as-path, as-number, community, extcommunity, large-community, interface, ip address, ip next-hop, ip
        route-source, ip multicast, ipv6 address, ipv6 next-hop, ipv6 route-source, ipv6 multicast, evpn,
        length, mac-list, metric, ospf-area, route-type, source-protocol, tag, vlan
    """),
    "set": split_beginnings("""
        as-path, comm-list, community, dampening, extcommunity, extcomm-list, large-community,
        forwarding-address, interface, ip next-hop, ip address, ip default, ip precedence, ip global, ip vrf,
        ipv6 next-hop, ipv6 address, ipv6 default, ipv6 precedence, level, local-preference, metric,
        metric-type, origin, tag, weight, distance, evpn, vrf, label-index, path-selection
    """),
}  # fmt: skip
"""Prefixes of clause lines other than those that fabricc writes."""
_STRUCTURE = frozenset({
    "match community", "match ip address", "match ipv6 address", "set community", "set local-preference",
})  # fmt: skip
"""Of these, those that are facts by themselves as fabricc writes them."""
_CLAUSE: Sequence[Row] = (
    *(
        Entry(f"{verb} {head} <rest>", f"{verb} {head}", lambda rest, line=f"{verb} {head}": f"{line} {rest}")
        for verb, heads in _CLAUSES.items()
        for head in heads
    ),
    Entry("set <nssa-only|path-selection|forwarding-address>", "set", lambda word: f"set {word}"),
    Entry("<continue|pbr-statistics>", "continue"),
    Entry("continue <integer>", "continue", lambda number: f"continue {number}"),
    Silent("description <rest>"),
)


def _masked_entry(_sequence: int, action: str, prefix: str, rest: str) -> str | None:
    """Return an entry with a mask in place of bounds, or both."""
    masked = (
        f"{prefix} {rest}"
        if rest.split()[0] in ("mask", "ge", "le", "eq") and "mask" in rest.split()
        else None
    )
    return masked if action == "permit" or masked is None else f"deny {masked}"


def _prefix_row(keyword: str, kind: str) -> Row:
    """Entries that deny, and those without numbers."""
    return Each(f"{keyword} prefix-list <word>", f"{keyword} prefix-list", (
        Entry(f"seq <integer> deny {kind} {LENGTHS}", "rules", lambda _, *captured: f"deny {rule_text(*captured)}"),
        Entry(f"seq <integer> <permit|deny> {kind} <rest>", "rules", _masked_entry),
        Keep(f"permit {kind} {LENGTHS}", lambda *captured: {rule_text(*captured): "permit"}),
        Keep(f"deny {kind} {LENGTHS}", lambda *captured: {f"deny {rule_text(*captured)}": "deny"}),
        Silent("description <rest>"),
    ))  # fmt: skip


def _entry_rows(pattern: str, scope: str) -> Row:
    """Return a list with entries that permit or deny, with numbers or without."""
    return Each(pattern, scope, (
        Entry("seq <integer> <permit|deny> <rest>", "entries", lambda _, action, rest: f"{action} {rest}"),
        Keep("<permit|deny> <rest>", lambda action, rest: {f"{action} {rest}": action}),
    ))  # fmt: skip


_FILTER: Sequence[Row] = (
    Entry("<integer> <permit|deny> <rest>", "rules",
        lambda _, action, rest: f"{action} {' '.join(rest.split())}"),
    Keep("<permit|deny> <rest>", lambda action, rest: {f"{action} {' '.join(rest.split())}": "on"}),
    Silent("[<integer>] remark <rest>"),
    Silent("[no] statistics per-entry"),
    Silent("(fragments|ignore|hardware) <rest>"),
)  # fmt: skip
_VLAN_CLAUSE: Sequence[Row] = (
    Entry("match (ip|ipv6|mac) address <word>", "lists"),
    Keep("action <forward|drop|redirect> [<rest>]", "action", lambda action, _: action),
    Silent("[no] statistics per-entry"),
)
ROWS: Sequence[Row] = (
    Each("route-map <word>", "route-map", (Block("<permit|deny> <integer>", "clause", _CLAUSE),)),
    _prefix_row("ip", "<prefix4>"),
    _prefix_row("ipv6", "<prefix6>"),
    *(_entry_rows(f"ip community-list {kind}<word>", "community list") for kind in ("", "standard ")),
    _entry_rows("ip community-list expanded <word>", "expanded"),
    *(_entry_rows(f"ip {kind}-list {what} <word>", kind) for kind in ("extcommunity",
        "large-community") for what in ("standard", "expanded")),
    _entry_rows("ip as-path access-list <word>", "as-path"),
    *(Block(f"{kind} access-list <word>", "access list", _FILTER) for kind in ("ip", "ipv6", "mac")),
    Each("vlan access-map <word>", "vlan map", (Block("<integer>", "clause", _VLAN_CLAUSE),)),
    Block("vlan access-map <word>", "vlan map", _VLAN_CLAUSE),
    Entry("vlan filter <word> vlan-list <numbers>", "vlan filters", lambda _, vlans: ",".join(map(str, vlans))),
    *(
        Block(f"object-group {kind} <word>", "object group", tuple(
            row
            for head in ("host", "eq", "lt", "gt", "neq", "range", "<prefix>", "<address>")
            for tail in ("", " <rest>")
            for row in (
                Entry(f"<integer> {head}{tail}", "rules", lambda _, *rest, head=head: _object_name(head, *rest)),
                Keep(f"{head}{tail}", lambda *rest, head=head: {_object_name(head, *rest): "on"}),
            )
        ))
        for kind in ("ip address", "ipv6 address", "ip port")
    ),
)  # fmt: skip


def _object_name(head: str, *rest: Value | None) -> str:
    words = [str(each) for each in rest if each is not None]
    return " ".join(words if head.startswith("<") else [str(head), *words])


def finish(document: Document) -> None:
    """State lists with all their entries, and clauses with all their lines."""
    put, scope = document.put, document.scope
    for keyword in ("ip", "ipv6"):
        for name, rules in scope.each(f"{keyword} prefix-list").items():
            first = len(rules.table("rules"))
            for place, (rule, (_, line)) in enumerate(rules.values.items(), first):
                put(f"prefix_list[{name}]/{place}", rule, line)
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            if clause.tables and "action" in clause.values:
                _state_clause(document, f"{name}]/{sequence}", clause)
    for kind, path in _LISTS.items():
        for name, listed in scope.each(kind).items():
            for place, (entry, line) in enumerate(_ordered_entries(listed)):
                put(path.format(name, place), entry, line)
    for name, listed in scope.each("object group").items():
        others: list[StoredValue] = [(text, line) for text, (_, line) in listed.values.items()]
        document.put_places(f"access_list[object-group {name}]", [*listed.ordered_entries("rules"), *others])
    _state_vlan_filters(document)


_COMMUNITY_LISTS = {"community list": "", "extcommunity": "extended ", "large-community": "large "}
"""Kind of list -> what stands before its name in facts: lists of two kinds may have one name."""
_LISTS = {"expanded": "community_list[{}]/{}", "as-path": "as_path_list[{}]/{}"}


def _ordered_entries(listed: Scope) -> list[StoredValue]:
    """Return the entries of a list in order: those with numbers first."""
    return [*listed.ordered_entries("entries"), *((text, line) for text, (_, line) in listed.values.items())]


def _state_clause(document: Document, path: str, clause: Scope) -> None:
    """State a clause as a whole, what fabricc writes first, and lines that it would write otherwise."""
    more = {str(value): line for table in clause.tables.values() for value, line in table.values()}
    text, last = clause_with_line(clause)
    document.put(f"route_map[{path}", " ".join([str(text), *sorted(more)]), max(last, *more.values()))
    for head in _STRUCTURE & clause.tables.keys():
        for rest, (_, line) in clause.tables[head].items():
            document.put(f"structure/route_map[{path}/{head}", rest, line)


def rules_in_order(listed: Scope) -> list[StoredValue]:
    """Return the rules of a list: those with numbers, and those without, to which the system gives the next ones."""
    bare: list[StoredValue] = [(text, line) for text, (_, line) in listed.values.items()]
    return [*listed.ordered_entries("rules"), *bare]


def _state_vlan_filters(document: Document) -> None:
    """State the filters of VLANs as lists of their SVIs; what no clause matches is dropped (security guide, VACLs)."""
    lists, maps = document.scope.each("access list"), document.scope.each("vlan map")
    for name, (vlans, line) in document.scope.table("vlan filters").items():
        rules: list[StoredValue] = []
        stated = maps.get(name)
        clauses = (
            [] if stated is None else [stated, *(each for _, each in sorted(stated.each("clause").items()))]
        )
        for clause in clauses:
            action, at = clause.values.get("action", ("forward", 0))
            for listed in (lists[each] for each in clause.table("lists") if each in lists):
                for rule, place in rules_in_order(listed):
                    if str(rule).startswith("permit "):
                        drops = action == "drop"
                        text = str(rule).replace("permit", "deny" if drops else "permit", 1)
                        rules.append((text, at if drops else place))
        ports = document.scope.each("interface")
        for port in (f"Vlan{vlan}" for vlan in str(vlans).split(",")):
            if port in ports and rules:
                path = f"interface[{port}]/access_list_in"
                before = document.reading.facts.get(path)
                own = f"vlan-access-map:{name}"
                document.put(path, own if before is None else f"{before},{own}", line)
        if rules:
            document.put_places(f"access_list[vlan-access-map:{name}]", rules)


def state_communities(document: Document, names: Mapping[str, str]) -> None:
    """State the entries of each community list in their order; those that deny begin with `deny`."""
    for kind, before in _COMMUNITY_LISTS.items():
        for name, listed in document.scope.each(kind).items():
            entries = [(str(entry).removeprefix("permit "), line) for entry, line in _ordered_entries(listed)]
            if entries:
                texts = [" ".join(names.get(word, word) for word in entry.split()) for entry, _ in entries]
                document.put(f"community_list[{before}{name}]", ", ".join(texts), entries[0][1])


TOPIC = Topic(ROWS, finish)
