"""Reads packet filters: every term as it stands, and what the filters on `lo0` and the management port come to."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import (
    LOGIN_PORTS,
    MANAGEMENT_INTERFACES,
    NEXT_HEADER,
    ONE_HOP_TTL,
    TTL_WORDS,
)
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.tree import Node

_LISTS = {
    "source-address", "protocol", "next-header", "destination-port", "source-port", "port", "ttl", "ttl-except",
    "hop-limit", "hop-limit-except",
}  # fmt: skip
_ACTIONS = ("accept", "discard")


@dataclass(slots=True)
class FilterTerm:
    """One term: its conditions, the action (empty for the next term), and the line of its last condition."""

    conditions: dict[str, set[str]] = field(default_factory=dict)
    action: str = ""
    line: int = 0


def read_firewall(root: Node, put: Put) -> dict[str, int]:
    """State the facts of `firewall` and of where its filters are applied.

    Returns the families whose filter on `lo0` refuses BGP from further than one hop, with the line that does.
    """
    filters: dict[tuple[str, str], list[FilterTerm]] = {}
    for family in NEXT_HEADER:
        for node in root.below("firewall", "family", family, "filter"):
            terms = [_term(term, f"filter[{node.word}]/{at}/", put)
                     for at, term in enumerate(node.below("term"))]  # fmt: skip
            filters[family, node.word] = terms
    guarded: dict[str, int] = {}
    for name in ("lo0", *MANAGEMENT_INTERFACES.values()):
        for family in NEXT_HEADER:
            applied = root.value("interfaces", name, "unit", "0", "family", family, "filter", "input")
            if applied is None:
                continue
            put(f"platform/filter_input[{name} {family}]", *applied)
            terms = filters.get((family, applied[0]), [])
            if name != "lo0":
                _access(terms, put)
            elif line := _one_hop(terms, family):
                guarded[family] = line
    return guarded


def _term(node: Node, path: str, put: Put) -> FilterTerm:
    put(f"structure/{path}name", node.word, node.line)
    term = FilterTerm(line=node.line)
    for condition in node.below("from"):
        if condition.word in _LISTS and (values := condition.values()):
            term.conditions[condition.word] = {value for value, _ in values}
            term.line = values[-1][1]
            text = ",".join(sorted(term.conditions[condition.word]))
            put(f"platform/{path}{condition.word.replace('-', '_')}", text, term.line)
    for action in _ACTIONS:
        if line := node.flag("then", action):
            term.action = action
            put(f"platform/{path}action", action, line)
    return term


def _access(terms: list[FilterTerm], put: Put) -> None:
    """State the networks whose packets pass before those of anyone else are refused a login."""
    networks: set[str] = set()
    line = 0
    for term in terms:
        if term.action == "accept" and term.conditions.keys() == {"source-address"}:
            networks |= term.conditions["source-address"]
            line = term.line
        elif term.action == "discard" and term.conditions.get("destination-port", set()).issuperset(
            LOGIN_PORTS
        ):
            put("management/access", ",".join(sorted(networks)), line or term.line)
            return
        elif not term.conditions:
            return


def _one_hop(terms: list[FilterTerm], family: str) -> int:
    """The line of the term that refuses BGP with another TTL than that of one hop; 0 when packets pass before it."""
    wanted = {
        NEXT_HEADER[family]: {"tcp"},
        f"{TTL_WORDS[family]}-except": {str(ONE_HOP_TTL)},
        "port": {"bgp"},
    }
    first = terms[0] if terms else FilterTerm()
    return first.line if first.action == "discard" and first.conditions == wanted else 0
