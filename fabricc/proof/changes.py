"""List the changes between the files of a device and those that a build would write."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    Span = tuple[int, int, int, int]
    """The first line of a passage and the one after it, from 0, in the one text and in the other."""

_EXACT_AREA = 250_000
"""Lines times lines up to which a passage is matched without `difflib`'s shortcut for lines that are frequent."""
_SHORT = 4
"""Lines up to which blocks need no matching."""
_CLOSING = re.compile(r"[}\])]+[;,]?|!|exit.*")

_COMMA_TOO_MUCH = re.compile(r",(\s*[}\]])")
_NO_COMMA = re.compile(r'(["}\]\w])(\n\s*")')


class Change(NamedTuple):
    """One passage of a file that differs: lines, from 1, of the expected text and of the one found.

    Either range may be empty; it then begins at the line before which the passage stands in the other text.
    """

    file: str
    expected: range
    found: range


def find_changes(expected: Mapping[str, str], found: Mapping[str, str]) -> list[Change]:
    """Return every differing passage in the order of files and lines; a file that one side lacks is one passage.

    Space at the end of lines does not count, nor the comma that follows a value in JSON.
    """
    passages = []
    for file in sorted(expected.keys() | found.keys()):
        before, after = expected.get(file, ""), found.get(file, "")
        if before != after:
            end = ", \t\r" if file.endswith(".json") else " \t\r"
            old, new = ([line.rstrip(end) for line in text.split("\n")] for text in (before, after))
            passages += [
                Change(file, range(a + 1, b + 1), range(c + 1, d + 1))
                for a, b, c, d in _differing_spans(old, new)
            ]
    return passages


def _differing_spans(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """Yield the differing passages.

    In long ones, corresponding blocks are matched first by the places of their lines.
    """
    a, b, c, d = whole = _trim_span(old, new, (0, len(old), 0, len(new)))
    if b - a <= _SHORT and d - c <= _SHORT:
        yield from _match_span(old, new, whole)
        return
    known: dict[tuple[int, str], int] = {}
    for within in _match_span(
        _number_lines(old, known), _number_lines(new, known), (0, len(old), 0, len(new))
    ):
        yield from _match_span(old, new, within)


def _number_lines(lines: Sequence[str], known: dict[tuple[int, str], int]) -> list[int]:
    """Return a number for each line that is equal for equal lines under equal parents."""
    outer = outer_lines(lines)
    numbers: list[int] = []
    for line, above in zip(lines, outer[1:], strict=True):
        key = (numbers[above - 1] if above else 0, line)
        numbers.append(known.setdefault(key, len(known) + 1))
    return numbers


def _trim_span(old: Sequence[Hashable], new: Sequence[Hashable], within: Span) -> Span:
    """Return the span without the common lines at its beginning and end."""
    a, b, c, d = within
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _match_span(old: Sequence[Hashable], new: Sequence[Hashable], within: Span) -> Iterator[Span]:
    """Yield the differing passages of a span."""
    a, b, c, d = _trim_span(old, new, within)
    if a == b or c == d:
        if a != b or c != d:
            yield a, b, c, d
        return
    exact = (b - a) * (d - c) <= _EXACT_AREA
    matcher = SequenceMatcher(None, old[a:b], new[c:d], autojunk=not exact)
    for tag, i, j, k, m in matcher.get_opcodes():
        part = (a + i, a + j, c + k, c + m)
        if tag != "equal" and (exact or part == (a, b, c, d)):
            yield part
        elif tag != "equal":
            yield from _match_span(old, new, part)


def with_one(each: Change, expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the expected files with one change alone."""
    old, new = (files.get(each.file, "").split("\n") for files in (expected, found))
    own = new[each.found.start - 1 : each.found.stop - 1]
    text = "\n".join([*old[: each.expected.start - 1], *own, *old[each.expected.stop - 1 :]])
    if each.file.endswith(".json"):
        text = _NO_COMMA.sub(r"\1,\2", _COMMA_TOO_MUCH.sub(r"\1", text))
    return {**expected, each.file: text}


def is_similar(passages: Iterable[Change], expected: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Return whether at least half of the lines are in both, so that one text is a changed version of the other."""
    total = sum(text.count("\n") for files in (expected, found) for text in files.values())
    return 2 * sum(len(each.expected) + len(each.found) for each in passages) <= total


@dataclass(slots=True)
class Side:
    """The changes by the lines of one of the two texts, and the lines around each line."""

    files: Mapping[str, str]
    passages: Sequence[Change]
    of_found: bool
    _spans: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _outer: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, each in enumerate(self.passages):
            span = each.found if self.of_found else each.expected
            if span:
                self._spans.setdefault(each.file, []).append((span.start, span.stop, number))

    def change(self, file: str, line: int) -> int | None:
        """Return the number of the change that contains a line."""
        spans = self._spans.get(file, [])
        at = bisect_right(spans, line, key=lambda span: span[0]) - 1
        return spans[at][2] if at >= 0 and line < spans[at][1] else None

    def change_around(self, file: str, line: int) -> tuple[int, int] | None:
        """The innermost line that a line is indented below and that a change is about, after the change's number."""
        outer = self._outer.get(file)
        if outer is None:
            outer = self._outer[file] = outer_lines(self._file_lines(file))
        while 0 < line < len(outer) and outer[line]:
            line = outer[line]
            if (number := self.change(file, line)) is not None:
                return number, line
        return None

    def text(self, file: str, line: int) -> str:
        """Return a line without indentation."""
        lines = self._file_lines(file)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _file_lines(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self.files.get(file, "").split("\n")
        return self._lines[file]


def outer_lines(lines: Sequence[str]) -> list[int]:
    """Per line, from 1, the one that it is indented below or closes; 0 for none."""
    above: list[tuple[int, int]] = []
    outer = [0]
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            outer.append(above[-1][1] if above else 0)
            continue
        depth = len(line) - len(line.lstrip(" -"))
        closing = _CLOSING.fullmatch(text) is not None
        while above and above[-1][0] >= depth + closing:
            above.pop()
        outer.append(above[-1][1] if above else 0)
        if not closing:
            above.append((depth, number))
    return outer
