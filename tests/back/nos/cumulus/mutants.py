"""Altered copies of a `startup.yaml`: a scalar or a key changed, a line left out, two lines exchanged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {"on": "off", "enable": "disable", "enabled": "disabled", "up": "down", "permit": "deny"}
_OTHER = {**_WORDS, **{after: before for before, after in _WORDS.items()}}
_LINE = re.compile(r"(?P<lead>[ -]*)(?P<key>'[^']*'|[^' ][^ ]*?):(?: (?P<value>.*))?")
_ITEM = re.compile(r"(?P<lead> +- )(?P<value>[^: ]+)(?P<key>(?!))?")


class Mutant(NamedTuple):
    """One altered text: the line altered, from 1, its words before, and whether its key or its value changed."""

    line: int
    before: str
    part: str
    text: str


def alter_text(text: str) -> str:
    """Another text of the same kind: the other word of a pair, the next number, else one letter more."""
    quoted = text.startswith("'")
    inner = text.strip("'")
    number = re.search(r"[0-9]+(?!.*[0-9])", inner)
    if inner in _OTHER:
        inner = _OTHER[inner]
    elif number:
        inner = f"{inner[: number.start()]}{int(number[0]) + 1}{inner[number.end() :]}"
    else:
        inner += "x"
    return f"'{inner}'" if quoted else inner


def make_mutants(text: str) -> Iterator[Mutant]:
    """Every text in which one key or one value differs."""
    lines = text.split("\n")
    for at, line in enumerate(lines[:-1]):
        found = _ITEM.fullmatch(line) or _LINE.fullmatch(line)
        if found is None:
            raise AssertionError(line)
        for part in ("key", "value"):
            word = found[part]
            if word is None or word == "{}":
                continue
            changed = line[: found.start(part)] + alter_text(word) + line[found.end(part) :]
            yield Mutant(at + 1, line.strip(), part, "\n".join([*lines[:at], changed, *lines[at + 1 :]]))


def make_deletions(text: str) -> Iterator[Mutant]:
    """Every text that lacks one line, and what hangs on it."""
    lines = text.split("\n")
    for at, line in enumerate(lines[:-1]):
        depth = len(line) - len(line.lstrip(" -"))
        end = at + 1
        while end < len(lines) - 1 and len(lines[end]) - len(lines[end].lstrip(" -")) > depth:
            end += 1
        yield Mutant(at + 1, line.strip(), "block", "\n".join([*lines[:at], *lines[end:]]))
