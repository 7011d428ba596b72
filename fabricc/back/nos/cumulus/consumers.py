"""Since when NVUE has each path that is written, and whether what it needs for taking effect is there."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.cumulus.source import members
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.cumulus.source import Source
    from fabricc.back.nos.cumulus.yaml_nodes import Node

    Keys = tuple[str, ...]

TABLE = Path(__file__).with_name("consumers.yaml")
ANY = "*"
_SWITCHES = ("enable", "state")
_OFF = ("off", "disable", "disabled")


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
class Written:
    """One path of NVUE, `*` for each key of one's own: first and last release whose object model has it.

    Attributes:
        until: empty for the newest release.
        page: of the Cumulus Linux documentation.
    """

    keys: Keys
    since: str
    until: str
    page: str


@dataclass(frozen=True, slots=True)
class Group:
    """Paths below `top` that need the same conditions, by name."""

    top: Keys
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consumers:
    """The whole file."""

    conditions: Mapping[str, Condition]
    paths: tuple[Written, ...]
    groups: tuple[Group, ...]

    def of(self, keys: Keys) -> Written | None:
        """The row of a path as it is written."""
        return next((one for one in self.paths if _fits(one.keys, keys)), None)


def _fits(pattern: Keys, keys: Keys) -> bool:
    return len(pattern) == len(keys) and all(a in (ANY, b) for a, b in zip(pattern, keys, strict=True))


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
    paths = tuple(
        Written(_keys(path), *_span(releases), group["page"])
        for group in raw["paths"]
        for path, releases in group["paths"].items()
    )
    groups = tuple(Group(_keys(one["top"]), tuple(one["needs"])) for one in raw["groups"])
    return Consumers(conditions, paths, groups)


def _keys(path: str) -> Keys:
    return tuple(path.split("/")) if path else ()


def _span(releases: str) -> tuple[str, str]:
    since, _, until = releases.partition("-")
    return since, until


def read_consumers(source: Source) -> None:
    """State what the file says and what has no effect without something else; no plan has such a fact."""
    for path, node, why in unread(source.root):
        source.put(f"unread[{path}]", why, node)


def unread(root: Node) -> Iterator[tuple[str, Node, str]]:
    """Path, its node, and why it has no effect, for everything below `set` that is switched on."""
    known, tree = consumers(), _Tree(root)
    for group in known.groups:
        for names, node in tree.found(group.top):
            if any(node.children[key].value in _OFF for key in _SWITCHES if key in node.children):
                continue
            whys = [name for name in group.needs if not tree.holds(known.conditions[name], names)]
            if whys:
                left = iter(names)
                path = "/".join(next(left) if key == ANY else key for key in group.top)
                yield path, node, ", ".join(whys)


class _Tree:
    """The tree of one file, where a key with ranges stands for each name in it."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._named: dict[int, dict[str, list[Node]]] = {}

    def holds(self, condition: Condition, names: Keys) -> bool:
        """Whether a condition holds for what `*` stands for."""
        if condition.unless and not any(self.found(condition.unless, names)):
            return True
        return any(
            node.value in condition.holds if condition.holds else bool(node.value or node.children)
            for path in condition.at
            for _, node in self.found(path, names)
        )

    def found(self, path: Keys, names: Keys = ()) -> Iterator[tuple[Keys, Node]]:
        """The nodes at a path and what its `*` stand for there: the names given, in order, then any."""
        return self._below(self.root, path, names)

    def _below(self, node: Node, path: Keys, names: Keys) -> Iterator[tuple[Keys, Node]]:
        if not path:
            yield (), node
            return
        key, rest = path[0], path[1:]
        if key != ANY:
            if (child := node.children.get(key)) is not None:
                yield from self._below(child, rest, names)
            return
        known = self._children(node)
        for name in names[:1] or known:
            for child in known.get(name, ()):
                for more, found in self._below(child, rest, names[1:]):
                    yield (name, *more), found

    def _children(self, node: Node) -> dict[str, list[Node]]:
        """The children of a node by name."""
        known = self._named.get(id(node))
        if known is None:
            known = self._named[id(node)] = {}
            for word, child in node.children.items():
                for name in members(word):
                    known.setdefault(name, []).append(child)
        return known
