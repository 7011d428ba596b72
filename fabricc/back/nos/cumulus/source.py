"""What the reading functions share: the tree of one file, what it states so far, and what it lacks."""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_nodes import Node
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.facts import Reading, Value

_RANGE = re.compile(r"(.*?)([0-9]+)(?:-([0-9]+))?")
_MAX_MEMBERS = 1024
_BOUNDS = re.compile(r"(?<![0-9])([0-9]{1,9})-([0-9]{1,9})(?![0-9])")


@dataclass(slots=True)
class Source:
    """One `startup.yaml` being read."""

    file: str
    root: Node
    release: Release
    reading: Reading
    lacking: list[tuple[int, str]] = field(default_factory=list)

    def put(self, path: str, value: Value, node: Node) -> None:
        """State a fact that a node gives."""
        self.reading.put(path, value, self.file, node.line)

    def scalar(self, path: str, parent: Node | None, *keys: str) -> None:
        """State the scalar below a node as a fact; without one, remember where it would stand."""
        node = parent.get(*keys) if parent else None
        if node is not None and node.value is not None:
            self.put(path, number(node.value), node)
        elif parent:
            self.expect(parent, keys, path)

    def expect(self, parent: Node, keys: Sequence[str], *paths: str) -> None:
        """Remember the deepest node there is on the way to what would state facts, for findings to name it."""
        for key in keys:
            parent = parent.children.get(key, parent)
        for path in paths:
            self.reading.lines.setdefault(path, (self.file, parent.line))

    def agree(self, path: str, value: Value, node: Node) -> None:
        """State a fact that a file states several times; where it contradicts itself, that is noted."""
        stated = self.reading.facts.get(path)
        if stated is None:
            self.put(path, value, node)
        elif stated != value:
            self.lacks(node, f"{path} is {stated} elsewhere")

    def lacks(self, node: Node, text: str) -> None:
        """Note that something every planned configuration has is not there."""
        note = (node.line, text)
        if note not in self.lacking:
            self.lacking.append(note)

    def require(self, parent: Node, key: str, word: str) -> None:
        """Expect a scalar; another one stays unseen, and none at all is noted."""
        child = parent.children.get(key)
        if child is None:
            self.lacks(parent, f"{key}: {word} is missing")
        elif child.value == word:
            child.seen = True

    def require_tree(self, parent: Node, tree: Tree) -> None:
        """Expect all of a tree; what is beyond it stays unseen."""
        for key, expected in tree.items():
            if not isinstance(expected, dict):
                self.require(parent, key, str(expected))
                continue
            child = parent.get(key)
            if child is None:
                self.lacks(parent, f"{key} is missing")
            else:
                self.require_tree(child, expected)

    def switch_of(self, parent: Node, *keys: str) -> Node:
        """The node of a switch, by default a node's own; without one, the nearest above it."""
        for key in keys or (self.release.enable,):
            child = parent.children.get(key)
            if child is None:
                break
            parent = child
        return parent

    def switched_on(self, parent: Node | None, *keys: str) -> bool:
        """Whether a switch, by default a node's own, is on; one in another release's words stays unseen."""
        *above, key = keys or (self.release.enable,)
        holder = parent.get(*above) if parent else None
        child = holder.children.get(key) if holder else None
        if child is None or child.value not in (self.release.on, self.release.off):
            return False
        child.seen = True
        return child.value == self.release.on


@lru_cache(maxsize=8192)
def number(text: str) -> Value:
    """A decimal integer, or the text itself when it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text


@lru_cache(maxsize=8192)
def members(key: str) -> tuple[str, ...]:
    """What a key with ranges stands for: `swp1-2,lo` is `swp1`, `swp2` and `lo`; `0-2,5` is `0`, `1`, `2`, `5`."""
    if "-" not in key and "," not in key:
        return (key,)
    names: list[str] = []
    lead = ""
    for part in key.split(","):
        parts = list(islice(_expanded(part), _MAX_MEMBERS + 1))
        stem = _RANGE.match(part)
        if stem and not stem[1] and lead:
            parts = [lead + name for name in parts]
        elif stem:
            lead = stem[1]
        names += parts
        if len(names) > _MAX_MEMBERS:
            return (key,)
    return tuple(names)


def _expanded(part: str) -> Iterator[str]:
    """The names of one part, its first range varied last."""
    found = _BOUNDS.search(part)
    if found is None or int(found[2]) - int(found[1]) not in range(_MAX_MEMBERS):
        yield part
        return
    for index in range(int(found[1]), int(found[2]) + 1):
        yield from _expanded_rest(part[: found.start()] + str(index), part[found.end() :])


def _expanded_rest(lead: str, rest: str) -> Iterator[str]:
    for tail in _expanded(rest) if rest else ("",):
        yield lead + tail
