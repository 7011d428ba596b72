"""Comments and blank lines of a YAML text: taken out with what they belong to, and put back into another layout."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from typing import TYPE_CHECKING

import yaml

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.base.diagnostics import Position
    from fabricc.base.documents.document import KeyPath

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#")


@dataclass(slots=True)
class Trivia:
    """The comments and blank lines of a text.

    Attributes:
        text: what is left.
        above: path -> blank lines ("") and comments (column, text) above the line on which it is the first.
        beside: path -> comments at the end of the line on which it is the last.
        end: what stands below everything.
        opened: paths of collections in brackets that have a comment inside.
        indents: line of the original text -> spaces that it starts with.
    """

    text: str
    above: dict[KeyPath, list[tuple[int, str]]] = field(default_factory=dict)
    beside: dict[KeyPath, list[str]] = field(default_factory=dict)
    end: list[tuple[int, str]] = field(default_factory=list)
    opened: set[KeyPath] = field(default_factory=set)
    indents: dict[int, int] = field(default_factory=dict)


def taken_out(text: str, positions: Mapping[KeyPath, Position]) -> Trivia:
    """Return the text without comments and blank lines, and these by the values they belong to."""
    spans, brackets = _token_spans(text)
    starts = _by_line(positions)
    lines = text.split("\n")
    offset = 0
    kept: list[str] = []
    trivia = Trivia("")
    pending: list[tuple[int, str]] = []
    inside: list[KeyPath] = []
    last: KeyPath = ()
    waiting = False
    for number, line in enumerate(lines, 1):
        comment = _comment_column(line, offset, spans)
        bare = line if comment is None else line[:comment]
        if number in starts:
            first, last = starts[number]
            if pending:
                trivia.above.setdefault(first, []).extend(pending)
                inside += [first] if waiting else []
                pending, waiting = [], False
        if bare.strip() or _is_within(offset, spans):
            kept.append(bare.rstrip())
            trivia.indents[number] = len(line) - len(line.lstrip(" "))
            if comment is not None:
                trivia.beside.setdefault(last, []).append(line[comment:].rstrip())
                inside += [last] if _is_within(offset + comment, brackets) else []
        else:
            text_of = "" if comment is None else line[comment:].rstrip()
            pending.append((comment or 0, text_of))
            waiting = waiting or (bool(text_of) and _is_within(offset, brackets))
        offset += len(line) + 1
    trivia.end = pending
    trivia.text = "\n".join(kept) + "\n"
    trivia.opened = {path[:length] for path in inside for length in range(1, len(path))}
    return trivia


def put_back(
    trivia: Trivia, text: str, before: Mapping[KeyPath, Position], after: Mapping[KeyPath, Position]
) -> str:
    """`text`, which is `trivia.text` in another layout, with everything that was taken out.

    Comments at the end of neighboring lines are aligned; of several for one line, the first ones go above it. A
    comment that stood further in than what follows stays with what is above it.
    """
    lines = text.rstrip("\n").split("\n")
    above: dict[int, list[tuple[int, str]]] = {}
    for path, found in trivia.above.items():
        above.setdefault(after[path].line, []).extend(found)
    beside: dict[int, str] = {}
    for path, comments in trivia.beside.items():
        place = after[path].line if path in after else 1
        for comment in comments:
            if place in beside:
                above.setdefault(place, []).append((0, beside[place]))
            beside[place] = comment
    source = {
        after[first].line: trivia.indents[line] for line, (first, _) in reversed(_by_line(before).items())
    }
    _align_comments(lines, beside)
    out: list[str] = []
    levels: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        level = source.get(number, 0), len(line) - len(line.lstrip(" "))
        for column, comment in above.get(number, ()):
            _add_comment(out, column, comment, levels, level)
        if number in source:
            while levels and levels[-1][0] >= level[0]:
                levels.pop()
            levels.append(level)
        out.append(line)
    for column, comment in trivia.end:
        _add_comment(out, column, comment, levels, (0, 0))
    return "\n".join(out).strip("\n") + "\n"


def _add_comment(
    out: list[str], column: int, comment: str, levels: list[tuple[int, int]], next_level: tuple[int, int]
) -> None:
    """A blank line, of which one is enough, or a comment indented as what it belongs to."""
    if not comment:
        if out and out[-1]:
            out.append("")
        return
    indent = next_level[1]
    if column > next_level[0]:
        indent = next((own for theirs, own in reversed(levels) if theirs <= column), indent)
    out.append(" " * indent + comment)


def _align_comments(lines: list[str], beside: Mapping[int, str]) -> None:
    """Write the comments at the end of lines, two columns from the longest of a run of neighbors."""
    run: list[int] = []
    for number in sorted(beside):
        if run and number != run[-1] + 1:
            _align_run(lines, beside, run)
            run = []
        run.append(number)
    _align_run(lines, beside, run)


def _align_run(lines: list[str], beside: Mapping[int, str], run: Sequence[int]) -> None:
    width = max((len(lines[number - 1]) for number in run), default=0)
    for number in run:
        lines[number - 1] = f"{lines[number - 1]:<{width}}  {beside[number]}"


def _by_line(positions: Mapping[KeyPath, Position]) -> dict[int, tuple[KeyPath, KeyPath]]:
    """Line -> the first and the last path that start there."""
    found: dict[int, tuple[KeyPath, KeyPath]] = {}
    for path, place in sorted(
        positions.items(), key=lambda item: (item[1].line, item[1].column, len(item[0]))
    ):
        first, _ = found.get(place.line, (path, path))
        found[place.line] = first, path
    return found


def _token_spans(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Extents of quoted and block scalars, and of collections in brackets, as offsets in the text."""
    spans: list[tuple[int, int]] = []
    brackets: list[tuple[int, int]] = []
    opened: list[int] = []
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken) and not token.plain:
            spans.append((token.start_mark.index, token.end_mark.index))
        elif isinstance(token, yaml.FlowMappingStartToken | yaml.FlowSequenceStartToken):
            opened.append(token.start_mark.index)
        elif isinstance(token, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken):
            start = opened.pop()
            if not opened:
                brackets.append((start, token.end_mark.index))
    return spans, brackets


def _is_within(offset: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether the offset is inside one of the spans, which are sorted and do not overlap."""
    place = bisect_right(spans, (offset, 1 << 62)) - 1
    return place >= 0 and spans[place][0] < offset < spans[place][1]


def _comment_column(line: str, offset: int, spans: Sequence[tuple[int, int]]) -> int | None:
    """Return the column, from 0, at which a comment starts."""
    found = (match.start() for match in _COMMENT.finditer(line))
    return next((column for column in found if not _is_within(offset + column, spans)), None)
