"""Reads the words of routing policy: AS numbers, lengths of a prefix list's rules, clauses of route maps."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Block, Document

_MATCH_FAMILY = {"ip": 4, "ipv6": 6}
_LONGEST_ASN = 11


def asn(text: str) -> int | None:
    """An AS number in plain or dotted notation (RFC 5396); None when it is neither, or longer than any."""
    if len(text) > _LONGEST_ASN:
        return None
    high, dot, low = text.partition(".")
    if dot and high.isdecimal() and low.isdecimal():
        return int(high) << 16 | int(low)
    return int(text) if text.isdecimal() else None


def prefix_lengths(words: list[str]) -> list[str] | None:
    """The words `[eq N | ge N] [le N]` after a prefix, `eq` as both bounds; None when they are others."""
    if words[:1] == ["eq"] and len(words) == 2:
        words = ["ge", words[1], "le", words[1]]
    if words[0::2] not in ([], ["ge"], ["le"], ["ge", "le"]):
        return None
    complete = len(words) % 2 == 0 and all(word.isdecimal() for word in words[1::2])
    return words if complete else None


def route_map(document: Document, words: list[str], number: int) -> Block | bool:
    """`route-map NAME permit|deny SEQUENCE`, which opens a clause."""
    if len(words) != 4 or words[2] not in ("permit", "deny") or not words[3].isdecimal():
        return False
    return RouteMapBlock(words[1], words[2] == "permit", int(words[3]), number, document)


class RouteMapBlock:
    """One clause of a route map, stated anew at each line so that the last word counts."""

    __slots__ = ("document", "fields", "path", "permit", "sequence")

    def __init__(self, name: str, permit: bool, sequence: int, number: int, document: Document) -> None:
        self.document = document
        self.path = f"route_map[{name}]/{sequence}"
        self.permit = permit
        self.sequence = sequence
        self.fields: dict[str, str] = {}
        self._state(number)

    def _state(self, number: int) -> None:
        fields = self.fields
        preference = fields.get("local_preference")
        clause = Clause(
            self.sequence,
            self.permit,
            prefix_list=fields.get("prefix_list"),
            community_list=fields.get("community_list"),
            local_preference=None if preference is None else int(preference),
            add_community=fields.get("add_community"),
        )
        self.document.put(self.path, clause_text(clause), number)

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A `match` or `set` line of those that the product uses."""
        if words[:2] == ["match", "community"] and len(words) == 3:
            self.fields["community_list"] = words[2]
        elif len(words) == 5 and words[1] in _MATCH_FAMILY and words[::2][:2] == ["match", "address"]:
            if words[3] != "prefix-list":
                return False
            self.fields["prefix_list"] = words[4]
            self.document.matches.append((words[4], _MATCH_FAMILY[words[1]], number, " ".join(words)))
        elif words[:2] == ["set", "local-preference"] and len(words) == 3 and words[2].isdecimal():
            self.fields["local_preference"] = words[2]
        elif words[:2] == ["set", "community"] and words[3:] == ["additive"]:
            self.fields["add_community"] = self.document.community_of.get(words[2], words[2])
        else:
            return False
        self._state(number)
        return True
