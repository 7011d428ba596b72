"""Reads the clauses of route maps: what they say together, and what each of their lines says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.cli_dialect import read_policy

if TYPE_CHECKING:
    from fabricc.nos.cli_dialect.document import Block, Document, Put


def route_map(document: Document, words: list[str], number: int) -> Block | bool:
    """`route-map NAME permit|deny SEQUENCE`, which opens a clause."""
    clause = read_policy.route_map(document, words, number)
    if isinstance(clause, bool):
        return clause
    path = f"structure/route_map[{words[1]}]/{words[3]}"
    document.put(f"{path}/action", words[2], number)
    return ClauseBlock(clause, path, document.put)


class ClauseBlock:
    """One clause; each line is stated by what it is about, so that the line that differs is the one named."""

    __slots__ = ("clause", "path", "put", "said")

    def __init__(self, clause: Block, path: str, put: Put) -> None:
        self.clause = clause
        self.path = path
        self.put = put
        self.said: set[str] = set()

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A `match` or `set` line of those that the product uses."""
        parts = 3 if words[0] == "match" and words[2:3] == ["address"] else 2
        about = " ".join(words[:parts])
        if about in self.said or not self.clause.line(words, raw, number):
            return False
        self.said.add(about)
        self.put(f"{self.path}/{about}", " ".join(words[parts:]), number)
        return True
