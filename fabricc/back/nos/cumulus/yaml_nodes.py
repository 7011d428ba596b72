"""YAML as a tree of nodes that know their lines: a fast path for the block layout NVUE writes, PyYAML for all else."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.fabric.yaml_text import MAX_DEPTH, compose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node as YamlNode

_OTHER_STARTS = frozenset("[]{}&*!|>%@'`\"?,#")
_MAX_NODES = 200_000


class Node:
    """A key: its line, and either its text or the keys below it.

    Attributes:
        value: the scalar as written, without quotes; None for a mapping and for nothing.
        seen: whether a reader has understood it; what nobody has is listed in the end.
    """

    __slots__ = ("children", "line", "seen", "value")

    def __init__(self, line: int, value: str | None = None) -> None:
        """A key of that line, not seen."""
        self.line = line
        self.value = value
        self.children: dict[str, Node] = {}
        self.seen = False

    def get(self, *path: str) -> Node | None:
        """The node at a path below this one, with everything on the way seen; None when it is not there."""
        node: Node | None = self
        for key in path:
            node = node.children.get(key) if node else None
            if node is None:
                return None
            node.seen = True
        return node

    def text(self, *path: str) -> str | None:
        """The scalar at a path below this one; None when there is none."""
        node = self.get(*path)
        return node.value if node else None

    def items(self, *path: str) -> Iterator[tuple[str, Node]]:
        """Keys and nodes of the mapping at a path, each seen."""
        node = self.get(*path)
        for key, child in node.children.items() if node else ():
            child.seen = True
            yield key, child

    def leftovers(self) -> Iterator[Node]:
        """The topmost nodes below this one that were not seen."""
        for child in self.children.values():
            if child.seen:
                yield from child.leftovers()
            else:
                yield child


class _OtherLayoutError(Exception):
    """The text is not in the layout that the fast path knows."""


class _TooLargeError(Exception):
    """The text expands (by aliases) beyond what any configuration holds."""


def parse(text: str) -> tuple[Node, list[int]]:
    """The root of a YAML text, and the lines that are broken or repeat a key.

    A list of mappings at the top counts as one mapping; a list elsewhere is a mapping by position.
    """
    try:
        return _block(text)
    except _OtherLayoutError:
        return _composed(text)


def _block(text: str) -> tuple[Node, list[int]]:
    root = Node(1)
    repeated: list[int] = []
    # Per open mapping: its node, the indent of its key, and that of its members once known.
    nodes, outer, inner = [root], [-1], [-1]
    for number, line in enumerate(text.split("\n"), 1):
        body = line.lstrip(" ")
        if not body or body[0] == "#":
            continue
        indent = len(line) - len(body)
        if body.startswith("- "):
            if indent:
                _item(number, body[2:], indent, nodes, outer, inner)
                continue
            if body[2:3] in ("", " "):
                raise _OtherLayoutError
            body, indent = body[2:], 2
        key, value = _parse_line(body)
        while outer[-1] >= indent:
            nodes.pop()
            outer.pop()
            inner.pop()
        if inner[-1] < 0:
            inner[-1] = indent
        parent = nodes[-1]
        if inner[-1] != indent or parent.value is not None:
            raise _OtherLayoutError
        known = parent.children.get(key)
        if known is None or value is not None:
            node = parent.children[key] = Node(number, value or None)
        else:
            node = known
        if known is not None and parent is not root:
            repeated += (known.line, number)
        if value is None:
            nodes.append(node)
            outer.append(indent)
            inner.append(-1)
    return root, repeated


def _item(number: int, body: str, indent: int, nodes: list[Node], outer: list[int], inner: list[int]) -> None:
    """Add an item of a list of scalars, indented as the key of the list is."""
    while outer[-1] > indent:
        nodes.pop()
        outer.pop()
        inner.pop()
    if outer[-1] != indent or inner[-1] >= 0 or not body.strip(" "):
        raise _OtherLayoutError
    members = nodes[-1].children
    members[str(len(members))] = Node(number, _scalar(body.strip(" ")))


@lru_cache(maxsize=16384)
def _parse_line(body: str) -> tuple[str, str | None]:
    """Key and value: None for what follows on further lines, "" for an empty mapping."""
    if "\t" in body or "\r" in body:
        raise _OtherLayoutError
    key, rest = _key(body)
    if not rest:
        return key, None
    if rest[0] != " ":
        raise _OtherLayoutError
    value = rest.strip(" ")
    if not value:
        return key, None
    return key, "" if value == "{}" else _scalar(value)


def _key(body: str) -> tuple[str, str]:
    """A line's key, and what follows its colon."""
    quote = body[0]
    if quote in "'\"":
        end = body.find(quote, 1)
        if end < 0 or body[end + 1 : end + 2] != ":" or "\\" in body[:end]:
            raise _OtherLayoutError
        return body[1:end], body[end + 2 :]
    key, colon, rest = body.partition(": ")
    if colon:
        rest = " " + rest
    elif body[-1] == ":":
        key = body[:-1]
    else:
        raise _OtherLayoutError
    if not key or key[0] in _OTHER_STARTS or " #" in key or key[-1] == " ":
        raise _OtherLayoutError
    return key, rest


def _scalar(text: str) -> str:
    if text[0] in "'\"":
        inner = text[1:-1]
        if len(text) < 3 or text[-1] != text[0] or text[0] in inner or "\\" in inner:
            raise _OtherLayoutError
        return inner
    if (
        text[0] in _OTHER_STARTS
        or text[-1] == ":"
        or ": " in text
        or " #" in text
        or text in ("~", "null", "-")
    ):
        raise _OtherLayoutError
    if text.startswith("- "):
        raise _OtherLayoutError
    return text


def _composed(text: str) -> tuple[Node, list[int]]:
    import yaml

    root = Node(1)
    broken: list[int] = []
    try:
        composed = compose(text)
    except yaml.MarkedYAMLError as error:
        return root, [error.problem_mark.line + 1 if error.problem_mark else 1]
    except (yaml.YAMLError, RecursionError, UnicodeError):  # half a surrogate pair has no UTF-8
        return root, [1]
    parts = composed.value if isinstance(composed, yaml.SequenceNode) else [composed]
    budget = [_MAX_NODES]
    try:
        for part in parts:
            if part is not None:
                _fill(root, part, 0, broken, budget)
    except _TooLargeError:
        return Node(1), [1]
    return root, broken


def _fill(node: Node, composed: YamlNode, depth: int, broken: list[int], budget: list[int]) -> None:
    """Give a node what the composed one holds."""
    import yaml

    if isinstance(composed, yaml.ScalarNode):
        empty = composed.style is None and composed.value in ("", "~", "null")
        node.value = None if empty else composed.value
        return
    pairs = (
        ((key, member) for key, member in composed.value)
        if isinstance(composed, yaml.MappingNode)
        else ((None, member) for member in composed.value)
    )
    for position, (key, member) in enumerate(pairs):
        budget[0] -= 1
        if depth > MAX_DEPTH or budget[0] < 0:
            raise _TooLargeError
        at = member if key is None else key
        if key is not None and not isinstance(key, yaml.ScalarNode):
            broken.append(at.start_mark.line + 1)
            continue
        name = str(position) if key is None else key.value
        line = at.start_mark.line + 1
        known = node.children.get(name)
        if known is not None and depth:
            broken += (known.line, line)
        child = node.children[name] = known if known is not None and not depth else Node(line)
        _fill(child, member, depth + 1, broken, budget)
