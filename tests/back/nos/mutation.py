"""Altered copies of emitted files of any syntax: one word changed, one line left out; and what `check` names."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.proof import compare
from fabricc.proof.finding_places import Text, place_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.proof import Finding

    Reader = Callable[[Mapping[str, str]], Reading]
    Reasons = tuple[tuple[str, str], ...]

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


def change_word(word: str) -> str:
    """Return another word of the same kind: the next number, else one letter more."""
    if word.isdecimal():
        return str(int(word) + 1)
    number = re.search(r"\d+(?!.*\d)", word)
    if number:
        return f"{word[: number.start()]}{int(number[0]) + 1}{word[number.end() :]}"
    return word + "x"


def change_each_word(text: str) -> list[tuple[int, int, str]]:
    """Return (line, word, text) of every text that differs in one word between blanks."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        words = line.split()
        if words in ([], ["!"]):
            continue
        for index, word in enumerate(words):
            changed = indent + " ".join([*words[:index], change_word(word), *words[index + 1 :]])
            found.append((at, index, "\n".join([*lines[:at], changed, *lines[at + 1 :]])))
    return found


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
            end = _block_end(lines, at)
        kept = [*lines[:at], *lines[end:]]
        if file.endswith(".json") and re.fullmatch(r"\s*[}\]].*", kept[at]):
            kept[at - 1] = kept[at - 1].rstrip(",")
        whole = "\n".join(kept)
        if file.endswith(".json"):
            json.loads(whole)
        yield Mutant(file, at + 1, "line", line.strip(), "", whole)


def _block_end(lines: list[str], at: int) -> int:
    """The line after a block that begins at a line, its closing brace included."""
    depth = _line_depth(lines[at])
    end = at + 1
    while end < len(lines) - 1 and _line_depth(lines[end]) > depth:
        end += 1
    closes = lines[at].rstrip().endswith(("{", "[")) and re.fullmatch(r"\s*[}\]].*", lines[end])
    return end + bool(closes)


def _line_depth(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def check_altered(read: Reader, planned: Facts, expected: Text, altered: Mapping[str, str]) -> list[Finding]:
    """Return the findings of `check` about files that were altered after the build."""
    found = Text(altered, read(altered))
    mismatches = compare(planned, found.reading)
    return list(place_findings("device", mismatches, found.reading.unknown, expected, found, read))


TEXT_ONLY = "FAB6006"
"""The finding about a line that is not as the build writes it, when no fact is read from it."""
KINDS = (("word", changed_words), ("line", deleted_lines))


@dataclass(slots=True)
class Score:
    """The results of alterations of one kind.

    Attributes:
        near: result of `find_nearness` for those found by a fact or an unknown line -> how many.
        survivors: file, line and word, digits as N, of those found only by the text -> how many.
    """

    tried: int = 0
    near: Counter[str] = field(default_factory=Counter)
    survivors: Counter[str] = field(default_factory=Counter)

    def unexplained(self, reasons: Reasons) -> dict[str, int]:
        """The survivors that no pattern describes."""
        return {text: count for text, count in self.survivors.items() if find_reason(text, reasons) is None}

    def tell(self, title: str, reasons: Reasons) -> None:
        """Print the figures, and each survivor with its reason."""
        noticed, line = self.near.total(), self.near["line"]
        meant = noticed + sum(self.unexplained(reasons).values())
        print(
            f"{title}: {self.tried} tried, {noticed} noticed, {line} of them at the line; {self.tried - meant} without "
            f"meaning, named by their text; {100 * line / meant:.2f} % of what has a meaning is named at its line"
        )
        for text, count in self.survivors.most_common():
            print(f"   {count} {text}: {find_reason(text, reasons) or 'UNEXPLAINED'}")


def find_reason(survivor: str, reasons: Reasons) -> str | None:
    """Why an alteration has no meaning, or None."""
    return next((why for pattern, why in reasons if re.search(pattern, survivor)), None)


def tried(
    read: Reader,
    planned: Facts,
    files: Mapping[str, str],
    make: Callable[[str, str], Iterator[Mutant]],
    most: int,
) -> Score:
    """Alter one thing at a time, at most `most` of one kind spread evenly, and look at what `check` names.

    Whatever has no meaning must still be named, by its text, at its line.
    """
    mutants = [each for file, text in sorted(files.items()) for each in make(file, text)]
    mutants = mutants[:: max(1, -(-len(mutants) // most))]
    expected = Text(files, read(files))
    score = Score(len(mutants))
    for mutant in mutants:
        found = check_altered(read, planned, expected, {**files, mutant.file: mutant.text})
        meant = [finding for finding in found if finding.code != TEXT_ONLY]
        places = {(finding.file, finding.line) for finding in meant or found}
        place = find_nearness(mutant, files[mutant.file], places)
        if meant:
            score.near[place] += 1
        else:
            assert place == "line", mutant
            score.survivors[f"{mutant.file}: {re.sub('[0-9]+', 'N', mutant.before)} [{mutant.word}]"] += 1
    return score


def find_nearness(mutant: Mutant, text: str, places: set[tuple[str, int]]) -> str:
    """`line` when the altered one is named, `block` when one of the block around it is, else `file` or nothing.

    The block of a line left out may be gone with it; the block right above it counts too.
    """
    lines = {line for file, line in places if file == mutant.file}
    if mutant.line in lines or (mutant.kind == "line" and mutant.line - 1 in lines):
        return "line"
    rows = text.split("\n")
    first, last = _lines_around(rows, mutant.line - 1)
    if mutant.kind == "line" and first > 1:
        first, _ = _lines_around(rows, first - 2)
    if any(first <= line <= last for line in lines):
        return "block"
    return "file" if lines else ""


def _lines_around(lines: list[str], at: int) -> tuple[int, int]:
    """The first and last line, from 1, of the block that a line stands in, or opens at the outermost level."""
    depth = _line_depth(lines[at])
    first = at
    while first > 0 and (_line_depth(lines[first]) >= depth or not lines[first].strip()) and depth:
        first -= 1
    last = at + 1
    while last < len(lines) and (
        _line_depth(lines[last]) >= max(depth, 1) or lines[last].strip() in ("!", "}")
    ):
        last += 1
    return first + 1, last
