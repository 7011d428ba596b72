"""Format a YAML file: settle indentation, spacing and blank lines, and keep values and comments."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from yaml import YAMLError as ScanError

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import RefusedError, resolve_scalar
from fabricc.base.documents.reader import parse_yaml
from fabricc.front.spec.trivia import put_back, taken_out

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from fabricc.base.documents.document import Document, KeyPath

WIDEST = 140
"""Columns; a flow collection that is wider is written as a block."""
_INDENT = 2
_COMMENT = re.compile(r"(?:^|\s)(#.*)$", re.MULTILINE)
_NO_WRAP = 1 << 30
_CAUSES = (
    ("a tab is here", "Write a blank instead of the tab.", re.compile(r"(\t)")),
    (
        "a key in braces has no blank after its colon",
        "Write a blank after the colon, as in `{dscp: 26}`.",
        re.compile(r"""[{,]\s*([A-Za-z_][A-Za-z0-9_-]*:)(?=[^\s,}/])"""),
    ),
)
"""What the layout does not handle, how to write it, and a pattern whose first group is the place."""


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
    """Return the text laid out, or None where its value would differ or a stricter reader rejects it."""
    try:
        trivia = taken_out(text, document.positions)
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
    """A YAML text, which can be read, in its canonical layout with other values; comments stay with what stays.

    `changes`: path -> value, a mapping of plain values, or None for a key that goes; the path above it is there.
    """
    plain = _normalize_text(text)
    before = parse_yaml(plain, file).positions
    trivia = taken_out(plain, before)
    bare = _laid_out(trivia.text, trivia.opened, changes)
    after = parse_yaml(bare, file).positions
    trivia.above = {path: found for path, found in trivia.above.items() if path in after}
    trivia.beside = {path: found for path, found in trivia.beside.items() if path in after}
    return put_back(trivia, bare, {path: at for path, at in before.items() if path in after}, after)


def _normalize_text(text: str) -> str:
    """Return a text with line feeds alone, without blanks at the ends of lines.

    By lines, for a pattern that looks for blanks before an end tries each blank of an indentation.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join([line.rstrip(" \t") for line in lines])


def first_difference(before: str, after: str) -> int:
    """Return the first line, from 1, at which two texts differ."""
    old, new = before.splitlines(), after.splitlines()
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
    """The text, which has neither comments nor blank lines, laid out, with other values where they are given."""

    class AsWritten(VersionedResolver):
        """Takes every plain scalar for text, so that it is written as it was read."""

        @property
        def versioned_resolver(self) -> dict[str, Any]:
            """No tags."""
            return {}

    yaml = YAML()
    yaml.Resolver = AsWritten
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
    except RefusedError:
        plain = False
    return value if plain else DoubleQuotedScalarString(value)


def _plain_node(value: object) -> object:
    """Return a value as it stands in such a tree: mappings and lists in brackets, everything else as plain text."""
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
    """Columns of a flow collection or scalar on one line, quotes and separators counted."""
    if isinstance(node, dict):
        return sum(_flow_width(key) + _flow_width(value) + 4 for key, value in node.items())
    if isinstance(node, list):
        return sum(_flow_width(item) + 2 for item in node)
    return len(str(node)) + 2 * (type(node) is not str)
