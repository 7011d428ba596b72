"""Lists and route maps in all forms: those that a plan has none of, and lines of clauses beyond a plan's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.words import place_of
from fabricc.back.reading import Each, Entry, Keep, Silent
from fabricc.base.numbers import is_number
from fabricc.base.order import natural_key
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from fabricc.back.reading import Document, Row, Scope

_LIST_RULE: tuple[Row, ...] = (
    Keep("action <word>", "action"),
    Entry("match <word>", "matches", "true"),
    Each("match <word>", "bounds", (
        Keep("min-prefix-len <integer>", "ge"), Keep("max-prefix-len <integer>", "le"),
    )),
    Entry("(community|large-community|rt|soo) <word>", "matches", "true"),
    Entry("aspath-exp <rest>", "matches", "true"),
)  # fmt: skip
_LISTS = ("prefix-list", "community-list", "large-community-list", "ext-community-list", "as-path-list")
ROWS: tuple[Row, ...] = (
    Each("router policy route-map <word>", "route-map", (
        Each("rule <word>", "clause", (
            *(Keep(f"action {action}", "action", action) for action in ("permit", "deny")),
            *(Keep(f"{word} <rest>", f"{word} {{2}}", "true") for word in ("match", "set", "exit-policy", "continue")),
            Silent("description <rest>"),
        )),
    )),
    *(Each(f"router policy {kind} <word>", kind, (
        Keep("type <ipv4|ipv6>", "type"), Each("rule <word>", "rule", _LIST_RULE), Silent("description <rest>"),
    )) for kind in _LISTS),
)  # fmt: skip
_IN_CLAUSES = {
    "match ip-prefix-list": "prefix_list", "match community-list": "community_list",
    "set local-preference": "local_preference", "set community": "add_community",
}  # fmt: skip
"""Lines of clauses that a plan has -> what `Clause` calls them."""
_APART = (["match", "type"], ["set", "ipv6-nexthop-prefer-global"])
"""Lines that do not affect which routes pass, or have their own fact."""
_WELL_KNOWN = {"graceful-shutdown": "65535:0"}


def finish(document: Document, unknown: frozenset[int]) -> None:
    """State clauses and rules, each at the first of its lines that is unknown."""
    scope = document.scope
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            action, _ = clause.values.get("action", ("permit", 0))
            document.put(
                f"route_map[{name}]/{sequence}", _clause_text(str(action), clause), place_of(clause, unknown)
            )
    for kind in _LISTS:
        for name, each in scope.each(kind).items():
            rules = [
                _rule_text(kind, str(each.values.get("type", ("ipv4", 0))[0]), rule, unknown)
                for _, rule in sorted(each.each("rule").items(), key=lambda item: natural_key(str(item[0])))
            ]
            texts = [(text, line) for text, line in rules if text]
            if kind == "prefix-list" or kind == "as-path-list":
                document.put_places(f"{kind.replace('-', '_')}[{name}]", texts)
            elif texts:
                before = {"large-community-list": "large ", "ext-community-list": "extended "}.get(kind, "")
                document.put(
                    f"community_list[{before}{name}]", ", ".join(text for text, _ in texts), texts[0][1]
                )


def _clause_text(action: str, clause: Scope) -> str:
    """Return a clause as its fact's value; lines that a plan has none of stand as they are."""
    said: dict[str, str] = {}
    communities: list[str] = []
    further: list[str] = []
    for text in (name for name in clause.values if name != "action"):
        words = text.split()
        key = _IN_CLAUSES.get(" ".join(words[:2]), "")
        if key == "add_community" and words[2:] not in ([], ["none"]):
            communities.append(_WELL_KNOWN.get(words[2], words[2]))
        elif key and key != "add_community" and len(words) == 3:
            said[key] = words[2]
        elif words[:2] not in _APART:
            further.append(text)
    planned = Clause(
        0,
        action == "permit",
        prefix_list=said.get("prefix_list"),
        community_list=said.get("community_list"),
        local_preference=int(said["local_preference"])
        if is_number(said.get("local_preference", ""))
        else None,
        add_community=" ".join(sorted(communities)) or None,
    )
    return " ".join([clause_text(planned), *further])


def _rule_text(kind: str, family: str, rule: Scope, unknown: frozenset[int]) -> tuple[str, int]:
    """Return a rule of a list as its fact's value; prefixes of one rule are one after the other."""
    action = str(rule.values.get("action", ("permit", 0))[0])
    matches = {str(text): line for text, (_, line) in rule.table("matches").items()}
    texts: list[str] = []
    for text in dict.fromkeys([*matches, *map(str, rule.each("bounds"))]):
        bounds = rule.each("bounds").get(text)
        said = [
            f"{word} {bounds.values[word][0]}" for word in ("ge", "le") if bounds and word in bounds.values
        ]
        prefix = (
            {"ipv4": "0.0.0.0/0 le 32", "ipv6": "::/0 le 128"}.get(family, text) if text == "any" else text
        )
        texts.append(" ".join([prefix, *said]))
    if kind == "as-path-list":
        return f"{action} {' '.join(texts)}".rstrip(), place_of(rule, unknown)
    text = " or ".join(texts) if kind == "prefix-list" else " ".join(texts)
    return (text if action == "permit" else f"deny {text}") if texts else "", place_of(rule, unknown)
