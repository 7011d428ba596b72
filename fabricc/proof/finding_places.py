"""Place findings at the altered line, by comparing a device's files with those that the build would write.

What a reader finds follows from the text alone, so whatever differs from the plan is caused by a passage in which the
files differ from freshly rendered ones. A finding is put down to the passage that its line is part of, in either text;
else to one that its line is indented below; else to the one that, alone, brings it about.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.proof.compare import Finding, Mismatch, device_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Reading

    Place = tuple[str, int]
    Reader = Callable[[Mapping[str, str]], Reading]
    Span = tuple[int, int, int, int]
    "The first line of a passage and the one after it, from 0, in the one text and in the other."

_SHOWN = 3
"""The number of findings of one code per line; the first of them counts the others."""
_TRIALS = 12
"""Changes up to which each is read alone."""
_LONGEST = 80
_NUMBERS = re.compile(r"\d+")


class Text(NamedTuple):
    """The files of a device by name, and what was read from them."""

    files: Mapping[str, str]
    reading: Reading


class _Cause(NamedTuple):
    """The change behind a finding.

    Attributes:
        change: its number.
        distance: 0 when the finding's own line is part of it, more when it was found further away.
        found, expected: the line of it that the finding is about, in the one or the other text; 0 for its first.
    """

    change: int
    distance: int
    found: int = 0
    expected: int = 0


class _Placed(NamedTuple):
    """A finding; the path or the text that it is about; the lines that it was, and should be, read from."""

    finding: Finding
    what: str
    found: Place | None
    expected: Place | None


def place_findings(
    device: str,
    mismatches: Sequence[Mismatch],
    unknown: Sequence[tuple[str, int, str]],
    expected: Text,
    found: Text,
    reader: Reader | None = None,
) -> Iterator[Finding]:
    """Yield the findings of one device; those that one line causes are reported together at that line.

    Texts with little in common, such as a running configuration in another order, keep the reader's places.

    Args:
        device: its name.
        mismatches: the result of `compare` for the files.
        unknown: the unknown lines.
        expected: the files of a fresh build.
        found: the files.
        reader: reads such files, given where they were altered after they were written. Each differing passage is then
            an edit: one that causes no finding is reported as well (FAB6006).
    """
    passages = find_changes(expected.files, found.files)
    if not passages or not is_similar(passages, expected.files, found.files):
        yield from device_findings(device, mismatches, unknown)
        return
    placing = _FindingPlacement(
        passages, Side(expected.files, passages, False), Side(found.files, passages, True)
    )
    for mismatch, finding in zip(mismatches, device_findings(device, mismatches, ()), strict=True):
        path = mismatch.path
        lines = found.reading.lines.get(path), expected.reading.lines.get(path)
        placing.add(_Placed(finding, path, *lines))
    for (file, line, text), finding in zip(unknown, device_findings(device, (), unknown), strict=True):
        placing.add(_Placed(finding, text, (file, line), None))
    if reader and placing.open and 1 < len(passages) <= _TRIALS:
        placing.try_each(reader, expected.reading)
    placing.assign_open_findings()
    yield from _limit_findings(placing.findings())
    if reader:
        yield from (placing.plain(device, number) for number in placing.unexplained())


def _limit_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield at most a few findings of one code for each line; the first of them counts the others."""
    by_place: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in findings:
        by_place.setdefault((finding.file, finding.line, finding.code), []).append(finding)
    for (file, _, _), group in by_place.items():
        if file and len(group) > _SHOWN:
            more = len(group) - _SHOWN
            group[0] = group[0]._replace(message=f"{group[0].message} (and {more:,} more at this line)")
            del group[_SHOWN:]
        yield from group


@dataclass(slots=True)
class _FindingPlacement:
    """Findings as they are put down to changes, each with its own places in the two texts."""

    passages: Sequence[Change]
    expected: Side
    found: Side
    known: list[tuple[_Cause, Finding]] = field(default_factory=list)
    open: list[_Placed] = field(default_factory=list)
    elsewhere: list[Finding] = field(default_factory=list)

    def add(self, each: _Placed) -> None:
        """Add a finding."""
        cause = self._own_cause(each.found, each.expected) or self._surrounding_cause(
            each.found, each.expected
        )
        if cause:
            self.known.append((cause, each.finding))
        else:
            self.open.append(each)

    def _own_cause(self, found: Place | None, expected: Place | None) -> _Cause | None:
        if found and (number := self.found.change(*found)) is not None:
            return _Cause(number, 0, found=found[1])
        if expected and (number := self.expected.change(*expected)) is not None:
            return _Cause(number, 0, expected=expected[1])
        return None

    def _surrounding_cause(self, found: Place | None, expected: Place | None) -> _Cause | None:
        if expected and (above := self.expected.change_around(*expected)) is not None:
            return _Cause(above[0], 1, expected=above[1])
        if found and (above := self.found.change_around(*found)) is not None:
            return _Cause(above[0], 1, found=above[1])
        return None

    def try_each(self, reader: Reader, expected: Reading) -> None:
        """Put what stands on lines that did not change down to the change that brings it about when it is alone."""
        for number, change in enumerate(self.passages):
            alone = reader(with_one(change, self.expected.files, self.found.files))
            texts = {text for _, _, text in alone.unknown}
            left = []
            for each in self.open:
                if each.what in texts or alone.facts.get(each.what) != expected.facts.get(each.what):
                    self.known.append((_Cause(number, 2), each.finding))
                else:
                    left.append(each)
            self.open = left

    def assign_open_findings(self) -> None:
        """Assign open findings to the nearest change that explains nothing yet."""
        free = self.unexplained() or (range(1) if len(self.passages) == 1 else ())
        for each in self.open:
            if free:
                file, line = each.expected or each.found or (each.finding.file, each.finding.line)
                self.known.append((_Cause(self._nearest_change(free, file, line), 3), each.finding))
            else:
                self.elsewhere.append(each.finding)

    def _nearest_change(self, numbers: Sequence[int], file: str, line: int) -> int:
        """Return the last of these changes before a line, else the first one of its file, else the first."""

        def distance(number: int) -> tuple[bool, bool, int]:
            first = self.passages[number].expected.start
            return self.passages[number].file != file, first > line, abs(first - line)

        return min(numbers, key=distance)

    def unexplained(self) -> list[int]:
        """Return the changes that cause no finding."""
        used = {cause.change for cause, _ in self.known}
        return [number for number in range(len(self.passages)) if number not in used]

    def findings(self) -> Iterator[Finding]:
        """Yield all findings with their places: by change, the closest first."""
        for cause, finding in sorted(self.known, key=lambda each: each[0][:2]):
            line, note = self._place_of(cause)
            file = self.passages[cause.change].file
            yield finding._replace(file=file, line=line, message=finding.message + note)
        yield from self.elsewhere

    def _place_of(self, cause: _Cause) -> tuple[int, str]:
        """Return the line of the found text for a cause, and an addition to the message."""
        file, expected, found = self.passages[cause.change]
        if not found:
            missing = self.expected.text(file, cause.expected or expected.start)
            if file not in self.found.files:
                return 0, f"; the file {file} is missing"
            side = "after" if found.start > 1 else "before"
            return max(found.start - 1, 1), f"; {_quote_line(missing)} is missing {side} this line"
        line = cause.found or found.start
        if cause.expected:
            line = found.start + min(cause.expected - expected.start, len(found) - 1)
        if cause.found and not cause.distance:
            return line, ""
        if not expected:
            return line, "; the build does not write this line"
        at = cause.expected or expected.start + min(line - found.start, len(expected) - 1)
        return line, f"; the build writes {_quote_line(self.expected.text(file, at))} here"

    def plain(self, device: str, number: int) -> Finding:
        """Return FAB6006 for a change without a finding; the found line is not quoted, because it may hold a secret."""
        line, note = self._place_of(_Cause(number, 1))
        message = f"{device}: a line is not as the build writes it{note}"
        group = f"differs {_NUMBERS.sub('#', note)}"
        file = self.passages[number].file
        return Finding("FAB6006", message, file, line, group, Severity.WARNING)


def _quote_line(line: str) -> str:
    return repr(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")


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


def is_similar(changes: Iterable[Change], expected: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Return whether at least half of the lines are in both, so that one text is a changed version of the other."""
    total = sum(text.count("\n") for files in (expected, found) for text in files.values())
    return 2 * sum(len(each.expected) + len(each.found) for each in changes) <= total


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
