"""A user's catalog file: YAML text to plain values with positions, within limits and without exceptions."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from yaml.nodes import Node

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 32
MAX_NODES = 200_000
MAX_DIGITS = 18
TAG = "tag:yaml.org,2002:"

KeyPath = tuple[str | int, ...]


class _RefusedError(ValueError):
    """Text that no catalog file can hold: message, help and the mark it stands at."""

    def __init__(self, message: str, remedy: str, mark: Any) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.mark = mark


@dataclass(frozen=True, slots=True)
class Document:
    """The values of a file and where each of them stands.

    Attributes:
        root: the value, a mapping unless the file is wrong.
        positions: path of keys and indices -> place of the key (of the value for list items).
    """

    file: str
    root: Any
    positions: dict[KeyPath, Position] = field(repr=False)

    def position(self, path: KeyPath) -> Position:
        """The place of a path, or of its nearest ancestor that the file has."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.positions:
                return self.positions[path[:end]]
        return Position(self.file, 1, 1)


def error(code: str, message: str, position: Position | None, remedy: str = "") -> Diagnostic:
    """An error of the catalog's code range."""
    return Diagnostic(code, Severity.ERROR, message, position, remedy)


def read_document(path: Path, named_at: Position | None = None) -> Document | Diagnostic:
    """Read a user's file; whatever is wrong with it comes back as one diagnostic, FAB2101 or FAB2102.

    Args:
        path: the file.
        named_at: where it is named, the place of what is wrong with the name.
    """
    file = str(path)
    try:
        content = files.read(path, limit=MAX_BYTES)
        text = content.decode("utf-8-sig")
    except files.TooLargeError:
        return error(
            "FAB2101",
            f"the catalog file {file} is larger than 4 MB",
            named_at,
            "Split it, or check the path.",
        )
    except UnicodeDecodeError as failure:
        line = content[: failure.start].count(b"\n") + 1
        return error(
            "FAB2101", "the catalog file is not UTF-8 text", Position(file, line), "Save it as UTF-8."
        )
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or "not a usable path"
        return error(
            "FAB2101",
            f"cannot read the catalog file {file}: {reason}",
            named_at,
            "Check the path; `catalog` of a spec names files relative to the spec.",
        )
    return parse_document(text, file)


def parse_document(text: str, file: str) -> Document | Diagnostic:
    """Parse YAML text; aliases, deep nesting, own tags, duplicate keys and control characters are refused."""
    try:
        _guard(text)
        node = yaml.compose(text, LOADER)
        positions: dict[KeyPath, Position] = {}
        root = None if node is None else _value(node, (), file, positions)
    except _RefusedError as refused:
        return error("FAB2102", str(refused), _position(refused.mark, file), refused.remedy)
    except yaml.YAMLError as failure:
        problem = getattr(failure, "problem", None) or getattr(failure, "reason", None) or "not valid YAML"
        return error("FAB2102", f"YAML: {problem}", _position(getattr(failure, "problem_mark", None), file))
    return Document(file, root, positions)


def _guard(text: str) -> None:
    """Refuse what composing could not survive, from the event stream alone (no recursion)."""
    depth = documents = nodes = 0
    for event in yaml.parse(text, LOADER):
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise _RefusedError(f"more than {MAX_NODES} values", "Split the file.", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise _RefusedError(
                "aliases are refused in catalog files", "Write the value out.", event.start_mark
            )
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _RefusedError(
                    "more than one YAML document", "Keep one document per file.", event.start_mark
                )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _RefusedError(f"nested deeper than {MAX_DEPTH} levels", "Flatten it.", event.start_mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _value(node: Node, path: KeyPath, file: str, positions: dict[KeyPath, Position]) -> Any:
    positions.setdefault(path, _position(node.start_mark, file))
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key in mapping:
                raise _RefusedError(
                    f"the key {key!r} stands twice", "Remove one of them.", key_node.start_mark
                )
            positions[(*path, key)] = _position(key_node.start_mark, file)
            mapping[key] = _value(value_node, (*path, key), file, positions)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, index), file, positions) for index, item in enumerate(node.value)]
    return _scalar(node)


def _key(node: Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or len(node.value) > 128 or not node.value.isprintable():
        raise _RefusedError("a key must be a short word", "Write a plain text key.", node.start_mark)
    return str(node.value)


def _scalar(node: Node) -> Any:
    text, kind = str(node.value), node.tag.removeprefix(TAG)
    if not text.isprintable():
        raise _RefusedError(
            "text over several lines or with control characters",
            "Write it in one line, or folded with `>-`.",
            node.start_mark,
        )
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int":
        if not text.lstrip("+-").isdecimal() or len(text) > MAX_DIGITS:
            raise _RefusedError(
                f"{text[:40]!r} is no plain decimal number", "Write plain digits.", node.start_mark
            )
        return int(text)
    if kind == "float":
        return _float(text, node)
    if node.tag.startswith(TAG) and kind in ("str", "timestamp", "merge", "value"):
        return text
    raise _RefusedError(f"the tag {node.tag[:60]!r} is refused", "Remove the tag.", node.start_mark)


def _float(text: str, node: Node) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _RefusedError(f"{text[:40]!r} is no finite number", "Write a plain number.", node.start_mark)
    return number


def _position(mark: Any, file: str) -> Position:
    return Position(file, 1, 1) if mark is None else Position(file, mark.line + 1, mark.column + 1)
