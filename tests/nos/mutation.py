"""Altered copies of emitted files of any syntax: one word changed, one line left out; and what `check` names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.check import compare, findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Facts
    from fabricc.nos.base import Nos

_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_./:@+=-]*[A-Za-z0-9])?")
_SILENT = re.compile(r"\s*([!#].*|[\]\[{}(),;]*|end|exit.*)")
_PAIRS = {
    "true": "false", "on": "off", "up": "down", "enable": "disable", "enabled": "disabled", "permit": "deny",
    "in": "out", "accept": "reject",
}  # fmt: skip
_OTHER = {**_PAIRS, **{after: before for before, after in _PAIRS.items()}}


class Mutant(NamedTuple):
    """One altered file: its name, the line, from 1, what was altered there, and the whole text after."""

    file: str
    line: int
    kind: str
    before: str
    word: str
    text: str


def altered(word: str) -> str:
    """Another word of the same kind: the other of a pair, the next number, else one letter more."""
    if word in _OTHER:
        return _OTHER[word]
    number = re.search(r"\d+(?!.*\d)", word)
    if number:
        return f"{word[: number.start()]}{int(number[0]) + 1}{word[number.end() :]}"
    return word + "x"


def changed_words(file: str, text: str) -> Iterator[Mutant]:
    """Every text in which one word differs; comments and lines that only close are left out."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _SILENT.fullmatch(line):
            continue
        for match in _WORD.finditer(line):
            after = line[: match.start()] + altered(match[0]) + line[match.end() :]
            whole = "\n".join([*lines[:at], after, *lines[at + 1 :]])
            yield Mutant(file, at + 1, "word", line.strip(), match[0], whole)


def deleted_lines(file: str, text: str) -> Iterator[Mutant]:
    """Every text without one line, and in files of a tree without what is indented below it."""
    lines = text.split("\n")
    tree = file.endswith((".json", ".yaml", ".conf")) and ("{" in text or file.endswith(".yaml"))
    for at, line in enumerate(lines):
        if _SILENT.fullmatch(line):
            continue
        end = at + 1
        if tree:
            end = _end(lines, at)
        kept = [*lines[:at], *lines[end:]]
        if file.endswith(".json") and re.fullmatch(r"\s*[}\]].*", kept[at]):
            kept[at - 1] = kept[at - 1].rstrip(",")
        whole = "\n".join(kept)
        if file.endswith(".json"):
            json.loads(whole)
        yield Mutant(file, at + 1, "line", line.strip(), "", whole)


def _end(lines: list[str], at: int) -> int:
    """The line after a block that begins at a line, its closing brace included."""
    depth = _depth(lines[at])
    end = at + 1
    while end < len(lines) - 1 and _depth(lines[end]) > depth:
        end += 1
    closes = lines[at].rstrip().endswith(("{", "[")) and re.fullmatch(r"\s*[}\]].*", lines[end])
    return end + bool(closes)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def named(nos: Nos, files: Mapping[str, str], planned: Facts, mutant: Mutant) -> set[tuple[str, int]] | None:
    """(file, line) of every finding that `check` has on the altered files; None when it has none."""
    reading = nos.read({**files, mutant.file: mutant.text})
    found = list(findings("device", compare(planned, reading), reading.unknown))
    return {(finding.file, finding.line) for finding in found} if found else None


def nearness(mutant: Mutant, text: str, places: set[tuple[str, int]]) -> str:
    """`line` when the altered one is named, `block` when one of the block around it is, else `file` or nothing.

    The block of a line left out may be gone with it; the block right above it counts too.
    """
    lines = {line for file, line in places if file == mutant.file}
    if mutant.line in lines or (mutant.kind == "line" and mutant.line - 1 in lines):
        return "line"
    rows = text.split("\n")
    first, last = _around(rows, mutant.line - 1)
    if mutant.kind == "line" and first > 1:
        first, _ = _around(rows, first - 2)
    if any(first <= line <= last for line in lines):
        return "block"
    return "file" if lines else ""


def _around(lines: list[str], at: int) -> tuple[int, int]:
    """The first and last line, from 1, of the block that a line stands in, or opens at the outermost level."""
    depth = _depth(lines[at])
    first = at
    while first > 0 and (_depth(lines[first]) >= depth or not lines[first].strip()) and depth:
        first -= 1
    last = at + 1
    while last < len(lines) and (_depth(lines[last]) >= max(depth, 1) or lines[last].strip() in ("!", "}")):
        last += 1
    return first + 1, last
