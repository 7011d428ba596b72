"""Whether what a part of NVUE needs for taking effect is there, by the documentation (`consumers.yaml`)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.cumulus.startup import find, members, parsed
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.reading.scope import Document
    from fabricc.back.nos.reading.tree import Node

    Keys = tuple[str, ...]

TABLE = Path(__file__).with_name("consumers.yaml")
ANY = "*"
_SWITCHES = ("enable", "state")
_OFF = frozenset({"off", "disable", "disabled"})


@dataclass(frozen=True, slots=True)
class Condition:
    """What a group of paths needs, by the documentation; named by what is so where it does not hold.

    Attributes:
        at: paths of which one has a value of `holds`, or any where there are none; `*` is the key that it stands for
            in the group.
        unless: a path without which it holds by itself; empty where it does not.
    """

    at: tuple[Keys, ...]
    holds: frozenset[str]
    unless: Keys
    page: str


@dataclass(frozen=True, slots=True)
class Group:
    """Paths below `top` that need the same conditions, by name."""

    top: Keys
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consumers:
    """What the file says of conditions; its paths, and since when NVUE has them, are for a test."""

    conditions: Mapping[str, Condition]
    groups: tuple[Group, ...]


@lru_cache(1)
def consumers() -> Consumers:
    """The file as values."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw: dict[str, Any] = yaml.load(TABLE.read_text("utf-8"), loader)
    conditions = {
        name: Condition(
            tuple(_keys(path) for path in one.get("at", ())),
            frozenset(one.get("holds", ())),
            _keys(one.get("unless", "")),
            one["page"],
        )
        for name, one in raw["conditions"].items()
    }
    groups = tuple(Group(_keys(one["top"]), tuple(one["needs"])) for one in raw["groups"])
    return Consumers(conditions, groups)


def _keys(path: str) -> Keys:
    return tuple(path.split("/")) if path else ()


def finish(document: Document) -> None:
    """State what has no effect; no plan has such a fact."""
    root = find(parsed(document.text).nodes, "set")
    for path, line, why in unread(root) if root else ():
        document.put(f"unread[{path}]", why, line)


def unread(root: Node) -> Iterator[tuple[str, int, str]]:
    """Path, its line, and why it has no effect, for everything below `set` that is switched on."""
    known, tree = consumers(), _Tree(root)
    for group in known.groups:
        for names, node in tree.found(group.top):
            if any(
                child.key[0] in _SWITCHES and _OFF & _words(child)
                for child in node.children or ()
                if child.key
            ):
                continue
            whys = [name for name in group.needs if not tree.holds(known.conditions[name], names)]
            if whys:
                left = iter(names)
                path = "/".join(next(left) if key == ANY else key for key in group.top)
                yield path, node.line, ", ".join(whys)


def _words(node: Node) -> frozenset[str]:
    """What a key has for its value, or below it."""
    return frozenset([*node.key[1:], *(child.key[0] for child in node.children or () if child.key)])


class _Tree:
    """The tree of one file, where a key with ranges stands for each name in it."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._named: dict[Keys, dict[str, list[Node]]] = {}

    def holds(self, condition: Condition, names: Keys) -> bool:
        """Whether a condition holds for what `*` stands for."""
        if condition.unless and not any(self.found(condition.unless, names)):
            return True
        return any(
            condition.holds & words if condition.holds else words
            for path in condition.at
            for _, node in self.found(path, names)
            for words in (_words(node),)
        )

    def found(self, path: Keys, names: Keys = ()) -> Iterator[tuple[Keys, Node]]:
        """The nodes at a path and what its `*` stands for there: the name given, or any."""
        if ANY not in path:
            if (node := _below(self.root, path)) is not None:
                yield (), node
            return
        place = path.index(ANY)
        known = self._by_name(path[:place])
        for name in names or known:
            for child in known.get(name, ()):
                if (node := _below(child, path[place + 1 :])) is not None:
                    yield (name,), node

    def _by_name(self, path: Keys) -> dict[str, list[Node]]:
        """The nodes below a path by the names that their keys stand for."""
        known = self._named.get(path)
        if known is None:
            known = self._named[path] = {}
            above = _below(self.root, path)
            for node in (above.children if above else None) or ():
                for name in members(node.key[0]) if node.key else ():
                    known.setdefault(name, []).append(node)
        return known


def _below(node: Node, path: Keys) -> Node | None:
    """The node at a path below one."""
    for key in path:
        for child in node.children or ():
            if child.key and child.key[0] == key:
                node = child
                break
        else:
            return None
    return node
