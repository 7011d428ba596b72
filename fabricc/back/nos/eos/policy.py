"""Lists and route maps of EOS: those of a fabric of ours, and in all forms that others use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import cli_dialect
from fabricc.back.nos.eos.words import COMMUNITY_OF
from fabricc.back.reading import Block, Document, Each, Entry, Row, Scope, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Value

_ENTRIES = (
    Entry("<integer> <permit|deny> <rest>", "entries", lambda _number, action, entry: f"{action} {entry}"),
    Entry("permit <rest>", "unnumbered", "permit"),
    Entry("deny <rest>", "unnumbered", "deny"),
    Entry("<integer> remark <rest>", "remarks", "{1}"),
    Silent("remark <rest>"),
    Silent("[no] (counters|statistics) per-entry"),
    Silent("[no] fragment-rules"),
)
_PREFIXES = (
    Entry("seq <integer> deny <rest>", "rules", lambda _number, rule: f"deny {rule}"),
    Entry("permit <rest>", "unnumbered", "permit"),
    Entry("deny <rest>", "unnumbered", "deny"),
    Entry("seq <integer> remark <rest>", "remarks", "{1}"),
    Silent("remark <rest>"),
    Silent("no seq <integer>"),
)
_COMMUNITIES = (
    Entry("permit <rest>", "entries", "permit"),
    Entry("deny <rest>", "entries", "deny"),
    Entry("seq <integer> permit <rest>", "numbered", lambda _number, rest: f"permit {rest}"),
    Entry("seq <integer> deny <rest>", "numbered", lambda _number, rest: f"deny {rest}"),
)
_COMMUNITY_LISTS = {"community-list": "", "extcommunity-list": "extended ", "large-community-list": "large "}
"""Kind of list -> what stands before its name in facts: lists of two kinds may have one name."""

ROWS: Sequence[Row] = (
    *(
        kind(f"{family} prefix-list <word>", f"{family} prefix-list", (*cli_dialect.RULES[family], *_PREFIXES))
        for family in cli_dialect.RULES
        for kind in (Block, Each)
    ),
    cli_dialect.route_maps(others=True),
    *(
        Each(f"ip {kind} <word>", kind, _COMMUNITIES)
        for kind in _COMMUNITY_LISTS
    ),
    *(
        Each(f"ip {kind} {form} <word>", kind, _COMMUNITIES)
        for kind in _COMMUNITY_LISTS
        for form in ("standard", "regexp", "expanded")
    ),
    Each("ip as-path access-list <word>", "as-path", (
        Entry("permit <rest>", "entries", "permit"), Entry("deny <rest>", "entries", "deny"),
    )),
    *(Block(f"{kind} access-list standard <word>", "access list", _ENTRIES) for kind in ("ip", "ipv6")),
    Block("ip access-list <word>", "rules", _ENTRIES[1:]),
    *(Block(f"{kind} access-list <word>", "rules", _ENTRIES) for kind in ("ipv6", "mac")),
)  # fmt: skip


def finish(document: Document) -> None:
    """State rules and entries by their places, and clauses as a whole."""
    cli_dialect.finish(document)
    scope = document.scope
    for family in cli_dialect.RULES:
        for name, rules in scope.each(f"{family} prefix-list").items():
            first = len(rules.table("rules"))
            for place, (rule, (action, line)) in enumerate(rules.table("unnumbered").items(), first):
                document.put(
                    f"prefix_list[{name}]/{place}", str(rule) if action == "permit" else f"deny {rule}", line
                )
    for kind, before in _COMMUNITY_LISTS.items():
        for name, communities in scope.each(kind).items():
            _put_communities(document, f"{before}{name}", communities)
    for name, paths in scope.each("as-path").items():
        for place, (path, (action, line)) in enumerate(paths.table("entries").items()):
            document.put(f"as_path_list[{name}]/{place}", f"{action} {path}", line)
    for kind in ("access list", "rules"):
        for name, rules in scope.each(kind).items():
            if not rules.used:
                _put_filter(document, str(name), rules)


def _put_communities(document: Document, name: str, listed: Scope) -> None:
    """State the entries of a list in their order; those that deny begin with `deny`."""
    entries = [(f"{action} {stored}", line) for stored, (action, line) in listed.table("entries").items()]
    entries += [(str(stored), line) for stored, line in listed.ordered_entries("numbered")]
    if entries:
        texts = [_community_numbers(stored.removeprefix("permit ")) for stored, _ in entries]
        document.put(f"community_list[{name}]", ", ".join(texts), entries[0][1])


def _community_numbers(communities: str) -> str:
    """Communities with those that have names as numbers."""
    return " ".join(COMMUNITY_OF.get(each, each) for each in communities.split())


def _put_filter(document: Document, name: str, rules: Scope) -> None:
    """State the entries of a list that filters packets; one without a number follows those that are there."""
    numbered = rules.table("entries") | rules.table("rules")
    stored: list[tuple[int, Value | None, str]] = [
        (line, at, str(text)) for at, (text, line) in numbered.items()
    ]
    stored += [(line, at, f"permit {net}") for at, (net, line) in rules.table("networks").items()]
    stored += [(line, None, f"{how} {text}") for text, (how, line) in rules.table("unnumbered").items()]
    if "nobody" in rules.values:
        stored.append((rules.values["nobody"][1], _STEP, "deny any"))
    last, placed = 0, list[tuple[int, int, str]]()
    for line, number, text in sorted(stored, key=lambda each: each[0]):
        place = number if isinstance(number, int) else last + _STEP
        last = max(last, place)
        placed.append((place, line, _ip_rule(text)))
    for at, (_, line, text) in enumerate(sorted(placed)):
        document.put(f"access_list[{name}]/{at}", text, line)


_STEP = 10
"""By how much the number of a rule without one exceeds the last one (EOS user manual, "ACLs and Route Maps")."""
_OF_FRAMES = re.compile(r"(permit|deny) any any(?: (?:ip|0x0?800))?")


def _ip_rule(text: str) -> str:
    """Return a rule; one about frames of every address, all or those of IPv4, as one about packets."""
    match = _OF_FRAMES.fullmatch(text)
    return f"{match[1]} ip any any" if match else text


TOPIC = Topic(ROWS, finish)
