"""Format a YAML file: settle indentation, spacing and blank lines, and keep values and comments.

Comments are taken out with what they belong to, and put back into the new layout.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import field
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from yaml import YAMLError as ScanError

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import ScalarError, resolve_scalar
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fabricc.base.documents.document import Document, KeyPath

WIDEST = 140
"""Maximum width in columns of a flow collection; a wider one is written as a block."""
_INDENT = 2
_COMMENT = re.compile(r"(?:^|\s)(#.*)$", re.MULTILINE)
_NO_WRAP = 1 << 30
_CAUSES = (
    ("there is a tab", "Replace the tab by spaces.", re.compile(r"(\t)")),
    (
        "a key in braces has no space after its colon",
        "Write a space after the colon, as in `{dscp: 26}`.",
        re.compile(r"""[{,]\s*([A-Za-z_][A-Za-z0-9_-]*:)(?=[^\s,}/])"""),
    ),
)
"""A construction that the formatter does not support, its replacement, and a pattern whose first group locates it."""


def format_spec(text: str, file: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the text in its canonical layout, or unchanged with the findings.

    Two spaces of indentation, two more for items of a list below a key; one space after colons and commas; one blank
    line at most; collections in brackets wider than 140 columns, and those with comments inside, as blocks. Order of
    keys, quotes, numbers as written and anchors stay. The result is read again: unless it holds the same value and
    the same comments it is refused with FAB0041. Laying out the result changes nothing more.
    """
    plain = _normalize_text(text)
    document = parse_yaml(plain, file)
    if not document.usable or any(d.severity is Severity.ERROR for d in document.diagnostics):
        return text, document.diagnostics
    if (whole := _lay_out_text(plain, document)) is not None:
        return whole, ()
    return text, (_report_cause(plain, file),)


def _report_cause(text: str, file: str) -> Diagnostic:
    """Return FAB0041 at the first place of a likely cause, or at the first line of the file."""
    message = "fabricc cannot format it without changing a value"
    for cause, remedy, known in _CAUSES:
        if found := known.search(text):
            line = text.count("\n", 0, found.start(1)) + 1
            column = found.start(1) - text.rfind("\n", 0, found.start(1))
            return Diagnostic(
                "FAB0041", Severity.ERROR, f"{message}: {cause}", Position(file, line, column), remedy
            )
    remedy = "Write strings in quotes on one line, and comments on separate lines."
    return Diagnostic("FAB0041", Severity.ERROR, message, Position(file, 1, 1), remedy)


def _lay_out_text(text: str, document: Document) -> str | None:
    """Return the formatted text, or None if its value would differ or a stricter YAML reader rejects it."""
    try:
        trivia = separate_trivia(text, document.positions)
        bare = _laid_out(trivia.text, trivia.opened)
    except (ScanError, YAMLError):
        return None
    between = parse_yaml(bare, document.file)
    if not between.usable or not _is_equal(between.value, document.value):
        return None
    whole = put_back(trivia, bare, document.positions, between.positions)
    same = _is_equal(parse_yaml(whole, document.file).value, document.value)
    return whole if same and _count_comments(whole) == _count_comments(text) else None


def edit_text(text: str, file: str, changes: Mapping[KeyPath, object]) -> str:
    """Return valid YAML in its canonical layout with changed values; comments of the other values stay.

    `changes`: path -> new value, a mapping of plain values, or None to remove the key; its parent must exist.
    """
    plain = _normalize_text(text)
    before = parse_yaml(plain, file).positions
    trivia = separate_trivia(plain, before)
    bare = _laid_out(trivia.text, trivia.opened, changes)
    after = parse_yaml(bare, file).positions
    trivia.above = {path: found for path, found in trivia.above.items() if path in after}
    trivia.beside = {path: found for path, found in trivia.beside.items() if path in after}
    return put_back(trivia, bare, {path: at for path, at in before.items() if path in after}, after)


def _normalize_text(text: str) -> str:
    """Return a text with line feeds alone, without blanks at the ends of lines.

    It works line by line: a pattern for trailing spaces would try each space of an indentation.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join([line.rstrip(" \t") for line in lines])


def first_difference(before: str, after: str) -> int:
    """Return the number of the first line that differs in two texts, line ends included."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    same = (number for number, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(same, min(len(old), len(new))) + 1


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether values and their types are equal: 1, 1.0 and true are three."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return bool(one == other)


def _count_comments(text: str) -> Counter[str]:
    return Counter(comment.rstrip() for comment in _COMMENT.findall(text))


def _laid_out(
    text: str, opened: AbstractSet[KeyPath], changes: Mapping[KeyPath, object] = MappingProxyType({})
) -> str:
    """Return a text without comments and blank lines in its canonical layout, with changed values."""

    class PlainTextResolver(VersionedResolver):
        """Reads every plain scalar as text, so that it is written unchanged."""

        @property
        def versioned_resolver(self) -> dict[str, Any]:
            """No tags."""
            return {}

    yaml = YAML()
    yaml.Resolver = PlainTextResolver
    yaml.preserve_quotes = True
    yaml.width = _NO_WRAP
    yaml.indent(mapping=_INDENT, sequence=2 * _INDENT, offset=_INDENT)
    out = StringIO()
    tree = yaml.load(text)
    for path, value in changes.items():
        _write_value(tree, path, value)
    _unfold_collections(tree, (), 0, opened)
    yaml.dump(tree, out)
    return out.getvalue()


def _write_value(node: Any, path: KeyPath, value: object) -> None:
    """Write a value into a tree in which every plain scalar is text."""
    for part in path[:-1]:
        node = node[part]
    if value is None:
        node.pop(path[-1], None)
    else:
        node[path[-1]] = _plain_node(value)


def quote_text(value: str) -> str:
    """Return a text for `edit_text`, in quotes where plain letters would be a number or a word such as `null`."""
    try:
        plain = isinstance(resolve_scalar(value), str)
    except ScalarError:
        plain = False
    return value if plain else DoubleQuotedScalarString(value)


def _plain_node(value: object) -> object:
    """Return a value as the tree has it: mappings and lists in brackets, everything else as plain text."""
    section: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        section = CommentedMap((key, _plain_node(each)) for key, each in value.items())
    elif isinstance(value, list):
        section = CommentedSeq(map(_plain_node, value))
    else:
        return value if isinstance(value, DoubleQuotedScalarString) else str(value)
    section.fa.set_flow_style()
    return section


def _unfold_collections(node: Any, path: KeyPath, column: int, opened: AbstractSet[KeyPath]) -> None:
    """Turn collections in brackets that are too wide, or to be opened, into blocks, from the outside in."""
    if not isinstance(node, dict | list) or not node:
        return
    if node.fa.flow_style():  # type: ignore[union-attr]
        if path not in opened and column + _flow_width(node) <= WIDEST:
            return
        node.fa.set_block_style()  # type: ignore[union-attr]
    if isinstance(node, dict):
        for key, value in node.items():
            _unfold_collections(value, (*path, str(key)), column + _INDENT + len(str(key)), opened)
    else:
        for index, item in enumerate(node):
            _unfold_collections(item, (*path, index), column + 2 * _INDENT, opened)


def _flow_width(node: Any) -> int:
    """Return the width in columns of a flow collection or scalar on one line, with quotes and separators."""
    if isinstance(node, dict):
        return sum(_flow_width(key) + _flow_width(value) + 4 for key, value in node.items())
    if isinstance(node, list):
        return sum(_flow_width(item) + 2 for item in node)
    return len(str(node)) + 2 * (type(node) is not str)


_COMMENT_LINE = re.compile(r"(?:^|(?<=[ \t]))#")


@dataclass(slots=True)
class Trivia:
    """The comments and blank lines of a text.

    Attributes:
        text: the text without them.
        above: path -> blank lines ("") and comments (column, text) above the line on which it is the first.
        beside: path -> comments at the end of the line on which it is the last.
        end: comments and blank lines after the last value.
        opened: paths of collections in brackets that have a comment inside.
        indents: line of the original text -> spaces that it starts with.
    """

    text: str
    above: dict[KeyPath, list[tuple[int, str]]] = field(default_factory=dict)
    beside: dict[KeyPath, list[str]] = field(default_factory=dict)
    end: list[tuple[int, str]] = field(default_factory=list)
    opened: set[KeyPath] = field(default_factory=set)
    indents: dict[int, int] = field(default_factory=dict)


def separate_trivia(text: str, positions: Mapping[KeyPath, Position]) -> Trivia:
    """Separate comments and blank lines from a text, by the values that they belong to."""
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
    """Return `text`, a new layout of `trivia.text`, with the comments and blank lines inserted again.

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
    """Append a comment, indented like the value it belongs to, or a blank line unless there is one already."""
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
    """Return line -> the first and the last path that start there."""
    found: dict[int, tuple[KeyPath, KeyPath]] = {}
    for path, place in sorted(
        positions.items(), key=lambda item: (item[1].line, item[1].column, len(item[0]))
    ):
        first, _ = found.get(place.line, (path, path))
        found[place.line] = first, path
    return found


def _token_spans(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the spans of quoted and block scalars, and of collections in brackets, as offsets in the text."""
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
    found = (match.start() for match in _COMMENT_LINE.finditer(line))
    return next((column for column in found if not _is_within(offset + column, spans)), None)
