"""The nodes of YAML as devices print it, a key a line: libyaml takes eight times as long for the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from fabricc.back.reading.tree import Node, Tree, parse_structured_text

_DEEPEST = 32
# Printable ASCII in which nothing begins a comment, another key, a collection or a second line.
_QUOTED = r"""'[ -&(-\[\]-~]+'|"[ !#-\[\]-~]+\""""
_KEY = _QUOTED + r"""|(?:[A-Za-z0-9/._]|:(?=[!-~]))(?:[!-"$-9;-~]|:(?=[!-~]))*"""
_VALUE = _QUOTED + r"""|(?:[A-Za-z0-9/._]|:(?=[!-~]))(?:[!-"$-9;-~]|:(?=[!-~])|(?<=[!-~])#| +(?=[!-"$-~]))*"""
_LINE = re.compile(rf"( *)(- )?(?:({_KEY}):(?: +(\{{\}}|\[\]|{_VALUE}))?|({_VALUE})) *")
_NULL = frozenset({"null", "Null", "NULL"})
_WITHOUT_WORDS = _NULL | {"{}", "[]"}


class _Line(NamedTuple):
    """A line with words.

    Attributes:
        indent: blanks before it; `item`: whether it begins an item of a list.
        words: its key and its value; `keyed`: whether it has a key; `opens`: whether a mapping may be below it.
    """

    indent: int
    item: bool
    words: tuple[str, ...]
    keyed: bool
    opens: bool


_EMPTY = _Line(0, False, (), False, False)


def yaml_tree(text: str) -> Tree:
    """Return the nodes of YAML, or of JSON, as fast as its layout allows."""
    return block_style(text) or parse_structured_text(text)


def block_style(text: str) -> Tree | None:
    """Return what `tree.parse_structured_text` gives; None where the text is or may be in another style."""
    if not text.isascii():
        return None
    faults: list[tuple[int, str]] = []
    # Of the open mapping: its node, the indents of its key and of what is in it (below -1 for items), lines by key.
    node, outer, inner, members = root, _, _, _ = Node((), 0), -1, -1, dict[str, int]()
    above: list[tuple[Node, int, int, dict[str, int]]] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = _parse_line(raw)
        if line is None or len(above) > _DEEPEST:
            return None
        if line is _EMPTY:
            continue
        indent, item, words, keyed, opens = line
        if item:
            while outer > indent or (outer == indent and not node.key):
                node, outer, inner, members = above.pop()
            if inner not in (-1, -2 - indent):
                return None
            inner = -2 - indent
            if not keyed:
                node.add(Node(words, number))
                continue
            above.append((node, outer, inner, members))
            node, outer, inner, members = node.add(Node((), number)), indent, indent + 2, {}
            indent += 2
        else:
            while outer >= indent:
                node, outer, inner, members = above.pop()
            if inner == -1:
                inner = indent
        if inner != indent:
            return None
        key = words[0]
        if key in members:
            faults += ((at, f"duplicate key: {key}") for at in (members[key], number))
        members[key] = number
        child = Node(words, number)
        if node.children is None:
            node.children = [child]
        else:
            node.children.append(child)
        if opens:
            above.append((node, outer, inner, members))
            node, outer, inner, members = child, indent, -1, {}
    return Tree(root.children or (), faults)


@lru_cache(maxsize=16384)
def _parse_line(raw: str) -> _Line | None:
    """Return the meaning of a line; None if it depends on other lines."""
    body = raw.lstrip(" ")
    if not body or body[0] == "#":
        return _EMPTY
    found = _LINE.fullmatch(raw)
    if found is None:
        return None
    lead, item, key, value, alone = found.groups()
    keyed = key is not None
    if key in _NULL or not (keyed or item):
        return None
    words = tuple(
        [_strip_quotes(word) for word in (key, value, alone) if word and word not in _WITHOUT_WORDS]
    )
    return _Line(len(lead), item is not None, words, keyed, keyed and value is None)


def _strip_quotes(word: str) -> str:
    return word[1:-1] if word[0] in "'\"" else word
