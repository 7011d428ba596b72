"""Routing policy of EOS and similar systems: rows of prefix lists, community lists and route maps, and their facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Said, Scope, Silent, Topic
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_FAMILIES = {"ip": 4, "ipv6": 6}
_WORDS = ("match", "set", "continue", "sub-route-map")
"""Prefixes of clause lines other than those of our policies."""


def rule_text(prefix: str, eq: int | None, ge: int | None, le: int | None) -> str:
    """Return a rule as its fact's value, `eq` as both bounds."""
    low, high = (ge, le) if eq is None else (eq, eq)
    return prefix + (f" ge {low}" if low is not None else "") + (f" le {high}" if high is not None else "")


LENGTHS = "(eq <0-128>|[ge <0-128>] [le <0-128>])"
"""Of a rule, what `rule_text` takes after the prefix."""
RULES = {
    family: (Entry(f"seq <integer> permit {kind} {LENGTHS}", "rules", lambda _sequence, *said: rule_text(*said)),)
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


def clause_with_line(clause: Scope) -> Said:
    """Return the values of all lines of a clause together, and the last of the lines."""
    said = {name: value for name, (value, _) in clause.values.items()}
    stated = Clause(
        0,
        said["action"] == "permit",
        prefix_list=said.get("ip prefix-list", said.get("ipv6 prefix-list")),  # type: ignore[arg-type]
        community_list=said.get("community_list"),  # type: ignore[arg-type]
        local_preference=said.get("local_preference"),  # type: ignore[arg-type]
        add_community=said.get("add_community"),  # type: ignore[arg-type]
    )
    others = [name for name in said if name.startswith(_WORDS)]
    return " ".join([clause_text(stated), *others]), max(line for _, line in clause.values.values())


POLICY = Topic(ROWS, finish)
