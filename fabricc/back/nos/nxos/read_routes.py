"""Reads the clauses of route maps: what they say together, and what each of their lines says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import read_policy
from fabricc.back.nos.nxos.vocabulary import FAMILY_SUFFIXES

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Block, Put
    from fabricc.back.nos.nxos.reading import Document

    Clauses = dict[str, "ClauseBlock"]

V4, V6 = FAMILY_SUFFIXES["ipv4"], FAMILY_SUFFIXES["ipv6"]
WORDS = {V4: "ip", V6: "ipv6"}


def route_map(document: Document, words: list[str], number: int) -> Block | bool:
    """`route-map NAME permit|deny SEQUENCE`, which opens a clause."""
    clause = read_policy.route_map(document, words, number)
    if isinstance(clause, bool):
        return clause
    path = f"structure/route_map[{words[1]}]/{words[3]}"
    document.put(f"{path}/action", words[2], number)
    block = ClauseBlock(clause, path, document.put, words[2])
    document.route_maps.setdefault(words[1], {})[words[3]] = block
    return block


def unite(document: Document) -> set[str]:
    """State the maps of two families as one; the names of those whose clauses are all of the family in their name.

    A clause without a prefix list is of both, and has to be in both maps; one that denies all the rest says nothing.
    """
    united: set[str] = set()
    for stem in sorted({name[: -len(V4)] for name in document.route_maps if name.endswith((V4, V6))}):
        pair = {suffix: document.route_maps.get(stem + suffix, {}) for suffix in (V4, V6)}
        if stem in document.route_maps or not all(_of_family(document, stem, pair, s) for s in pair):
            continue
        for suffix, clauses in pair.items():
            united |= {stem + suffix} if clauses else set()
            for sequence, clause in clauses.items():
                _move(
                    document,
                    f"route_map[{stem + suffix}]/{sequence}",
                    f"route_map[{stem}]/{sequence}",
                    clause,
                )
    return united


def _of_family(document: Document, stem: str, pair: dict[str, Clauses], suffix: str) -> bool:
    """Whether a map of the pair judges routes of its family alone, but for clauses that the other has too."""
    facts = document.reading.facts
    other = V6 if suffix == V4 else V4
    for sequence, clause in pair[suffix].items():
        about = WORDS[suffix]
        if clause.denies_all or f"match {about} address" in clause.said:
            continue
        own = facts[f"route_map[{stem + suffix}]/{sequence}"]
        if pair[other] and facts.get(f"route_map[{stem + other}]/{sequence}") != own:
            return False
        if any(line.endswith(" address") for line in clause.said):
            return False
    return True


def _move(document: Document, path: str, to: str, clause: ClauseBlock) -> None:
    facts, lines = document.reading.facts, document.reading.lines
    value, line = facts.pop(path), lines.pop(path)
    if not clause.denies_all:
        facts[to], lines[to] = value, line


class ClauseBlock:
    """One clause; each line is stated by what it is about, so that the line that differs is the one named."""

    __slots__ = ("action", "clause", "path", "put", "said")

    def __init__(self, clause: Block, path: str, put: Put, action: str) -> None:
        self.action = action
        self.clause = clause
        self.path = path
        self.put = put
        self.said: set[str] = set()

    @property
    def denies_all(self) -> bool:
        """Whether it denies whatever no earlier clause took, as a map does at its end in any case."""
        return self.action == "deny" and not self.said

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A `match` or `set` line of those that the product uses."""
        parts = 3 if words[0] == "match" and words[2:3] == ["address"] else 2
        about = " ".join(words[:parts])
        if about in self.said or not self.clause.line(words, raw, number):
            return False
        self.said.add(about)
        self.put(f"{self.path}/{about}", " ".join(words[parts:]), number)
        return True
