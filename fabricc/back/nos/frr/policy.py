"""Routing policy in FRR's lines: prefix, access, community and AS-path lists, and route maps."""

from __future__ import annotations

import re
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.words import ANY, COMMUNITY_OF
from fabricc.back.reading import (
    Block,
    Captured,
    Document,
    Each,
    Entry,
    Fact,
    Keep,
    Row,
    Scope,
    Silent,
    StoredValue,
)
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_RULE = re.compile(r"(any|[\da-f.:]+/\d+)(?: ge (\d+))?(?: le (\d+))?(?: ge (\d+))?", re.IGNORECASE)
_ACCESS = ("access-list", "ipv6 access-list", "mac access-list")
_COMMUNITIES = {"community": "", "large-community": "large ", "extcommunity": "extended "}
"""Kinds of communities -> what the key of their lists begins with."""
TYPES = {"community": lambda text: COMMUNITY_OF.get(text, text)}


def _prefix_rule(keyword: str, action: str, text: str) -> str | None:
    """Return a rule of a prefix list as its fact's value; None of one of the other family."""
    found = _RULE.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    prefix, first, le, last = found.groups()
    bounds = ((" ge ", first or last), (" le ", le))
    rule = prefix + "".join([word + bound for word, bound in bounds if bound])
    rule = ANY[keyword] if rule == "any" else rule
    if (":" in rule) != (keyword == "ipv6") or rule.startswith("any"):
        return None
    return rule if action == "permit" else f"deny {rule}"


def _community_entry(action: str, text: str) -> str:
    numbers = " ".join([COMMUNITY_OF.get(name, name) for name in text.split()])
    return numbers if action == "permit" else f"deny {numbers}"


def _list_entry(action: str, text: str) -> str:
    return f"{action} {text}"


def _further_line(words: str, rest: str) -> dict[str, str]:
    """Return a line of a clause that its fact quotes verbatim."""
    return {f"{words} {rest}": f"{words} {rest}"}


def _list_rows(pattern: str, scope: str, value: Callable[[str, str], str | None]) -> Row:
    """Entries of a list, with a number or without."""
    return Each(f"{pattern} <word>", scope, (
        Entry("seq <integer> <permit|deny> <rest>", "numbered", lambda _, action, rest: value(action, rest)),
        Entry("permit <rest>", "permit", partial(value, "permit")),
        Entry("deny <rest>", "deny", partial(value, "deny")),
        Silent("(description|remark) <rest>"),
    ))  # fmt: skip


_FURTHER = (
    "match alias", "match as-path", "match community", "match community-limit", "match evpn", "match extcommunity",
    "match interface",
    "match ip address", "match ip next-hop", "match ip route-source", "match ipv6 address", "match ipv6 next-hop",
    "match ipv6 route-source", "match large-community", "match local-preference", "match mac address", "match metric",
    "match origin", "match peer", "match probability", "match rpki", "match rpki-extcommunity",
    "match source-instance", "match source-protocol", "match source-vrf", "match src-peer", "match tag",
    "match vpn dataplane", "set aggregator", "set aigp-metric", "set as-path", "set comm-list", "set community",
    "set distance", "set evpn gateway-ip", "set ext-comm-list", "set extcommunity", "set extended-comm-list",
    "set forwarding-address", "set ip next-hop", "set ipv4 vpn next-hop", "set ipv6 next-hop",
    "set ipv6 vpn next-hop", "set l3vpn next-hop", "set label-index", "set large-comm-list", "set large-community",
    "set local-preference", "set max-metric", "set metric", "set metric-type", "set min-metric", "set origin",
    "set originator-id", "set sr-te color", "set table", "set tag", "set weight",
    "call", "continue", "on-match goto",
)  # fmt: skip
_FLAGS = ("continue", "on-match next", "set atomic-aggregate")

ROWS: Sequence[Row] = (
    *(_list_rows(f"{keyword} prefix-list", f"{keyword} prefix-list", partial(_prefix_rule,
        keyword)) for keyword in ANY),
    *(
        _list_rows(f"(bgp|ip) {kind}-list [standard|expanded]", f"{kind}-list", _community_entry)
        for kind in _COMMUNITIES
    ),
    _list_rows("(bgp|ip) as-path access-list", "as-path", _list_entry),
    *(_list_rows(words, words, _list_entry) for words in _ACCESS),
    Each("route-map <word>", "route-map", (
        Silent("optimization"),
        Keep("<permit|deny> <integer>", "action", "{1}"),
        Block("<permit|deny> <integer>", "clause", (
            *(Keep(f"match {keyword} address prefix-list <word>", keyword) for keyword in ANY),
            Keep("match community <word>", "community_list"),
            Keep("set local-preference <integer>", "local_preference"),
            Keep("set community <community>... additive", "add_community", " ".join),
            Keep("set src <address>", "source"),
            *(Keep(f"{words} <rest>", partial(_further_line, words)) for words in _FURTHER),
            *(Keep(words, words, words) for words in _FLAGS),
            Silent("description <rest>"),
        )),
    )),
    *(Keep(f"{keyword} protocol bgp route-map <word>", f"{keyword} source") for keyword in ANY),
    *(Fact(f"{keyword} nht bgp route-map <word>", f"bgp/setting[{keyword} nht bgp route-map]") for keyword in ANY),
)  # fmt: skip
"""Rows other than those of processes."""
_OF_FABRIC = frozenset({"action", *ANY, "community_list", "local_preference", "add_community", "source"})
"""Values of a clause other than lines that its fact quotes verbatim."""


def finish(document: Document) -> None:
    """State rules by their places and clauses as a whole; a list of the other family is not known."""
    scope = document.scope
    families: dict[object, set[str]] = {}
    for keyword in ANY:
        for name in scope.each(f"{keyword} prefix-list"):
            families.setdefault(name, set()).add(keyword)
    _put_entries(document, "prefix_list", *(f"{keyword} prefix-list" for keyword in ANY))
    _put_entries(document, "access_list", *_ACCESS)
    _put_entries(document, "as_path_list", "as-path")
    for kind, before in _COMMUNITIES.items():
        for name, entries in scope.each(f"{kind}-list").items():
            if texts := _in_order(entries):
                document.put(
                    f"community_list[{before}{name}]", ", ".join(str(text) for text, _ in texts), texts[0][1]
                )
    maps = {name: each.each("clause") for name, each in scope.each("route-map").items()}
    for keyword in ANY:
        if f"{keyword} source" in scope.values:
            _finish_source(document, keyword, maps)
    for name, clauses in maps.items():
        for sequence, clause in clauses.items():
            stated_values = clause.values
            for keyword in ANY:
                prefix_list, line = stated_values.get(keyword, ("", 0))
                if line and keyword not in families.get(prefix_list, {keyword}):
                    document.reject(line)
            document.put(f"route_map[{name}]/{sequence}", _clause_text(stated_values), clause.line)


def _put_entries(document: Document, path: str, *scopes: str) -> None:
    """State entries by their places; lists of one name in several families are one after the other."""
    places: dict[object, int] = {}
    for scope in scopes:
        for name, entries in document.scope.each(scope).items():
            for entry in _in_order(entries):
                place = places[name] = places.get(name, -1) + 1
                document.put(f"{path}[{name}]/{place}", *entry)


def _clause_text(stored: Mapping[str, StoredValue]) -> str:
    """Return all lines of a clause; those that a fabric of fabricc has none of stand as they are, in their order."""
    values = {name: value for name, (value, _) in stored.items()}
    clause = Clause(
        0,
        values["action"] == "permit",
        prefix_list=values.get("ip", values.get("ipv6")),  # type: ignore[arg-type]
        community_list=values.get("community_list"),  # type: ignore[arg-type]
        local_preference=values.get("local_preference"),  # type: ignore[arg-type]
        add_community=values.get("add_community"),  # type: ignore[arg-type]
    )
    further = [(line, str(text)) for name, (text, line) in stored.items() if name not in _OF_FABRIC]
    if "ip" in stored and "ipv6" in stored:
        further.append((stored["ipv6"][1], f"match ipv6 address prefix-list {values['ipv6']}"))
    if "source" in stored:
        further.append((stored["source"][1], f"set src {values['source']}"))
    return " ".join([clause_text(clause), *(text for _, text in sorted(further))])


def _finish_source(document: Document, keyword: str, maps: dict[Captured, dict[Captured, Scope]]) -> None:
    """State the source address of BGP's routes, where a bare clause of the map that they pass sets it."""
    name, line = document.scope.values[f"{keyword} source"]
    clauses = [clause.values for clause in maps.get(name, {}).values()]
    bare = len(clauses) == 1 and clauses[0].keys() == {"action", "source"}
    if bare and clauses[0]["action"][0] == "permit":
        document.put(f"bgp/source[{keyword}]", f"{clauses[0]['source'][0]} by {name}", line)
        del maps[name]
    else:
        document.put(f"bgp/setting[{keyword} protocol route-map]", name, line)


def _in_order(entries: Scope) -> list[StoredValue]:
    """Entries by their numbers; one without has the next after those above it."""
    tables = [entries.table(name).items() for name in ("numbered", "permit", "deny")]
    entries_by_line = [(line, key, value) for table in tables for key, (value, line) in table]
    found: dict[int, StoredValue] = {}
    for line, key, value in sorted(entries_by_line, key=itemgetter(0)):
        found[key if isinstance(key, int) else max(found, default=0) + 5] = (value, line)
    return [found[number] for number in sorted(found)]
