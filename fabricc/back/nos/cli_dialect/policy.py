"""Routing policy as EOS and its kin say it: rows of prefix lists, community lists and route maps, and their facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Each, Entry, Fact, Keep
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Scope

_FAMILIES = {"ip": 4, "ipv6": 6}


def _rule(_sequence: int, prefix: str, eq: int | None, ge: int | None, le: int | None) -> str:
    """A rule as its fact's value, `eq` as both bounds."""
    low, high = (ge, le) if eq is None else (eq, eq)
    return prefix + (f" ge {low}" if low is not None else "") + (f" le {high}" if high is not None else "")


_RULE = "seq <integer> permit {} (eq <0-128>|[ge <0-128>] [le <0-128>])"
_RULES = {
    "ip": (Entry(_RULE.format("<prefix4>"), "rules", _rule),),
    "ipv6": (Entry(_RULE.format("<prefix6>"), "rules", _rule),),
}
_CLAUSE = (
    Keep("match community <word>", "community_list"),
    Keep("match ip address prefix-list <word>", "ip prefix-list"),
    Keep("match ipv6 address prefix-list <word>", "ipv6 prefix-list"),
    Keep("set community <community> additive", "add_community"),
    Keep("set local-preference <0-4294967295>", "local_preference"),
)

ROWS: Sequence[Row] = (
    *(Block(f"{family} prefix-list <word>", f"{family} prefix-list", _RULES[family]) for family in _FAMILIES),
    *(Each(f"{family} prefix-list <word>", f"{family} prefix-list", _RULES[family]) for family in _FAMILIES),
    Fact("ip community-list [standard] <word> permit <community>", "community_list[{0}]"),
    Each("route-map <word>", "route-map", (
        Block("<permit|deny> <integer>", "clause", _CLAUSE),
        Keep("<permit|deny> <integer>", "action", "{1}"),
    )),
)  # fmt: skip
"""They want a type `community`: a community as facts have it."""


def finish(document: Document) -> None:
    """State rules by their places in their lists and clauses as a whole; a list of the other family is not known."""
    scope = document.scope
    family_of: dict[object, str] = {}
    for family in _FAMILIES:
        for name, rules in scope.each(f"{family} prefix-list").items():
            family_of[name] = family
            for place, (rule, line) in enumerate(rules.ordered("rules")):
                document.put(f"prefix_list[{name}]/{place}", rule, line)
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            for family in _FAMILIES:
                prefix_list, line = clause.values.get(f"{family} prefix-list", ("", 0))
                if line and family_of.get(prefix_list, family) != family:
                    document.reject(line)
            text = clause_text(_clause(sequence, clause))  # type: ignore[arg-type]
            document.put(
                f"route_map[{name}]/{sequence}", text, max(line for _, line in clause.values.values())
            )


def _clause(sequence: int, scope: Scope) -> Clause:
    said = {name: value for name, (value, _) in scope.values.items()}
    return Clause(
        sequence,
        said["action"] == "permit",
        prefix_list=said.get("ip prefix-list", said.get("ipv6 prefix-list")),  # type: ignore[arg-type]
        community_list=said.get("community_list"),  # type: ignore[arg-type]
        local_preference=said.get("local_preference"),  # type: ignore[arg-type]
        add_community=said.get("add_community"),  # type: ignore[arg-type]
    )


POLICY = Topic(ROWS, finish)
