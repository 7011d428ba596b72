"""NVUE's start-up file as text and as a tree: its writer, and rows that require statements in it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fabricc.back.nos.cumulus.limits import RELEASES, Release, release_of
from fabricc.back.reading import (
    Block,
    Captured,
    Document,
    Fact,
    Keep,
    Node,
    Row,
    Scope,
    Silent,
    Topic,
    block_rows,
)
from fabricc.back.reading import tree as trees
from fabricc.back.reading.yaml_lines import yaml_tree
from fabricc.base.numbers import natural_key
from fabricc.fabric.facts import Unplanned, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# --- writing -------------------------------------------------------------------------------------------

Tree: TypeAlias = "dict[str, Tree | tuple[str, ...] | str | int | float]"
"""A mapping of keys to mappings, lists of text, or scalars."""

_PLAIN = re.compile(r"(?:[A-Za-z0-9/._]|:(?=\S))[A-Za-z0-9/._:,+@=*^$(){}\[\]<>;!&|~\"'%?`#\\ -]*")
_OTHER_THAN_TEXT = re.compile(
    r"""(?ix) y|n|yes|no|on|off|true|false|null|none
    | [-+]?[0-9][0-9_]*(:[0-9_]+)*(\.[0-9_]*)?(e[-+]?[0-9]+)?
    | [-+]?\.[0-9_]+(e[-+]?[0-9]+)? | 0[xob][0-9a-f_]+ | [-+]?\.(inf|nan)
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(([t]|\s+)[0-9].*)?"""
)
_BREAKS_PLAIN = re.compile(r": |:$| #| $")


def write(sections: Sequence[Mapping[str, Tree]]) -> str:
    """Return the text of a list of mappings, such as `[{"header": …}, {"set": …}]`."""
    lines: list[str] = []
    for section in sections:
        lead = "- "
        for key, tree in section.items():
            lines.append(f"{lead}{format_scalar(key)}:" + ("" if tree else " {}"))
            _write_tree(tree, "    ", lines)
            lead = "  "
    return "\n".join(lines) + "\n"


def _write_tree(tree: Tree, indent: str, lines: list[str]) -> None:
    for key in sorted(tree, key=natural_key) if len(tree) > 1 else tree:
        value = tree[key]
        if isinstance(value, tuple):
            lines.append(f"{indent}{format_scalar(key)}:")
            lines += [f"{indent}- {format_scalar(item)}" for item in value]
        elif not isinstance(value, dict):
            lines.append(f"{indent}{format_scalar(key)}: {format_scalar(value)}")
        elif value:
            lines.append(f"{indent}{format_scalar(key)}:")
            _write_tree(value, indent + "  ", lines)
        else:
            lines.append(f"{indent}{format_scalar(key)}: {{}}")


def format_scalar(value: str | float) -> str:
    """A key or value: numbers bare, text plain where a YAML 1.1 or 1.2 loader reads the same text back, else quoted."""
    return _format_text(value) if isinstance(value, str) else repr(value)


@lru_cache(maxsize=16384)
def _format_text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _OTHER_THAN_TEXT.fullmatch(text) and not _BREAKS_PLAIN.search(text):
        return text
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)


# --- reading: the tree -----------------------------------------------------------------------------------

_COMMAND = re.compile(r"^[^\S\n]*nv set ", re.MULTILINE)
_QUOTED = re.compile(r"'([^'\"\\\n]*)'")
_VERSION = re.compile(r"Cumulus Linux ([0-9]{1,4}\.[0-9]{1,4})(\..*)?")


@lru_cache(maxsize=2)
def parse_startup(text: str) -> trees.Tree:
    """`header` and `set` of a start-up file, of a bare tree as the API gives it, or of `nv set` commands."""
    if is_commands(text):
        found = trees.commands(_COMMAND.sub("set ", _QUOTED.sub(r'"\1"', text)))
        found = trees.Tree(_nest_words(found.nodes), found.faults)
    else:
        found = yaml_tree(text)
    nodes = [one for node in found.nodes for one in ((node,) if node.key else node.children or ())]
    if not any(node.key == ("set",) for node in nodes):
        content = Node(("set",), 1)
        content.children = [node for node in nodes if node.key != ("header",)] or None
        nodes = [*(node for node in nodes if node.key == ("header",)), content]
    return trees.Tree(nodes, found.faults)


def is_commands(text: str) -> bool:
    """Return whether a text is `nv set` commands, a statement a line."""
    return _COMMAND.match(text.lstrip()) is not None


def _nest_words(nodes: Sequence[Node]) -> Sequence[Node]:
    """Paths of words as a tree, a word a node."""
    made: dict[tuple[str, ...], Node] = {(): Node((), 0)}
    for node in nodes:
        for end in range(1, len(node.key) + 1):
            path = node.key[:end]
            if path not in made:
                made[path] = made[path[:-1]].add(Node(path[-1:], node.line))
    return made[()].children or ()


def release_in(tree: trees.Tree) -> Release:
    """The release in whose words a file is: the header's, else the newest that has things where the tree has them."""
    if (version := trees.find_node(tree.nodes, "header", "version")) and (
        named := _parse_release(version.key[-1])
    ):
        wanted = [int(part) for part in named.split(".")]
        older = [known for known in RELEASES if [int(part) for part in known.split(".")] <= wanted]
        return RELEASES[older[-1]] if older else next(iter(RELEASES.values()))
    if trees.find_node(tree.nodes, "set", "router", "bgp", "state"):
        return release_of("5.15")
    if trees.find_node(tree.nodes, "set", "service", "dns"):
        return release_of("5.10")
    if trees.find_node(tree.nodes, "set", "service", "syslog"):
        return release_of(
            "5.11" if trees.find_node(tree.nodes, "set", "system", "aaa", "tacacs", "enable") else "5.12"
        )
    return release_of("")


def _parse_release(version: str) -> str | None:
    """Return the release that a header names."""
    found = _VERSION.fullmatch(version)
    return found[1] if found else None


_RANGE = re.compile(r"(.*?)([0-9]+)(?:-([0-9]+))?")
_MAX_MEMBERS = 1024
_BOUNDS = re.compile(r"(?<![0-9])([0-9]{1,9})-([0-9]{1,9})(?![0-9])")


@lru_cache(maxsize=8192)
def expand_members(key: str) -> tuple[str, ...]:
    """Expand a key with ranges: `swp1-2,lo` is `swp1`, `swp2` and `lo`; `0-2,5` is `0`, `1`, `2`, `5`."""
    if "-" not in key and "," not in key:
        return (key,)
    names: list[str] = []
    lead = ""
    for part in key.split(","):
        parts = list(islice(_expand_part(part), _MAX_MEMBERS + 1))
        stem = _RANGE.match(part)
        if stem and not stem[1] and lead:
            parts = [lead + name for name in parts]
        elif stem:
            lead = stem[1]
        names += parts
        if len(names) > _MAX_MEMBERS:
            return (key,)
    return tuple(names)


def _expand_part(part: str) -> Iterator[str]:
    """Yield the names of one part, its first range varied last."""
    found = _BOUNDS.search(part)
    if found is None or int(found[2]) - int(found[1]) not in range(_MAX_MEMBERS):
        yield part
        return
    for index in range(int(found[1]), int(found[2]) + 1):
        lead, rest = part[: found.start()] + str(index), part[found.end() :]
        yield from (lead + tail for tail in (_expand_part(rest) if rest else ("",)))


def stands_below(node: Node, lines: set[int]) -> bool:
    """Return whether something below a node is on some lines."""
    return any(child.line in lines or stands_below(child, lines) for child in node.children or ())


def _capture_members(key: str) -> str | tuple[str, ...]:
    """Return what a key with ranges stands for, as a capture."""
    names = expand_members(key)
    return names if len(names) > 1 else names[0]


def _parse_source(word: str) -> str:
    """Return the network of a source, all addresses for `ANY`."""
    return "0.0.0.0/0" if word == "ANY" else word


TYPES = {"keys": _capture_members, "version": _parse_release, "lower": str.lower, "source": _parse_source}

HEADER = Block("header", "", (
    Fact("model <lower>", "system/model"),
    Fact("nvue-api-version <lower>", "system/api_version"),
    Fact("version <version>", "system/release"),
    Silent("rev-id <word>"),
))  # fmt: skip


# --- reading: rows of what every configuration has -------------------------------------------------------


class FixedKey(Keep):
    """A key that every block of its kind has, with one value; `name` is both, `key: value`."""


class KeyBlock(Block):
    """A key with keys below it.

    Attributes:
        needed: whether every block around it has it.
        here: a fact that it states by being there, and the value; captures are those of the blocks around it.
    """

    needed: bool = False
    here: tuple[str, str] | None = None


def fixed_text(text: str) -> FixedKey:
    """Return a key, or `key: value`, that is to be there as it is."""
    key, colon, _ = text.partition(": ")
    return FixedKey(f"{key} <word>" if colon else key, text, None if colon else text)


def node_part(word: str, *rows: Row, needed: bool = False) -> KeyBlock:
    """Return a key with keys below it; its scope has its name."""
    part = KeyBlock(word, word, rows)
    part.needed = needed
    return part


def entry_part(capture: str, *rows: Row, here: str = "", value: str = "true") -> KeyBlock:
    """Return an entry of a table, with a scope among its `entries`; it may state a fact by being there."""
    part = KeyBlock(capture, _EACH, rows)
    part.here = (here, value) if here else None
    return part


def table_part(word: str, capture: str, *rows: Row, here: str = "", value: str = "true") -> KeyBlock:
    """Return a key with entries below it and nothing else."""
    return node_part(word, entry_part(capture, *rows, here=here, value=value))


_EACH = "each"


def constant_rows(tree: Tree) -> tuple[Row, ...]:
    """Return the rows of statements that are the same on every switch; all are required."""
    return tuple(
        node_part(key, *constant_rows(value), needed=True)
        if value and isinstance(value, dict)
        else fixed_text(key if isinstance(value, dict) else f"{key}: {value}")
        for key, value in tree.items()
    )


def on_off(release: Release) -> tuple[Row, ...]:
    """Return the switch of a feature, in the words of the release."""
    key = release.enable
    return Keep(f"{key} {release.on}", "on", "true"), Keep(f"{key} {release.off}", "on", "false")


class _Shape(NamedTuple):
    """The expected content of a block.

    Attributes:
        lines: that stand in it; `facts`: paths of those that lines of it state.
        parts: (scope, shape) of the blocks in it; `part`: the block itself.
    """

    part: KeyBlock | None
    lines: tuple[str, ...]
    facts: tuple[str, ...]
    parts: tuple[tuple[str, _Shape], ...]


def _rows_shape(rows: Sequence[Row], part: KeyBlock | None = None, captures: int = 0) -> _Shape:
    """Return the shape of rows that stand below so many captures."""
    lines, facts, parts = list[str](), list[str](), list[tuple[str, _Shape]]()
    for row in rows:
        if isinstance(row, FixedKey) and isinstance(row.name, str):
            lines.append(row.name)
        elif isinstance(row, Fact) and isinstance(row.path, str) and f"{{{captures}}}" not in row.path:
            facts.append(row.path)
        elif isinstance(row, Block):
            block = row if isinstance(row, KeyBlock) else None
            if block and block.here:
                facts.append(block.here[0].rpartition("[")[0])
            inner = _rows_shape(block_rows(row.rows), block, captures + row.pattern.count("<"))
            if not row.scope:
                lines += inner.lines
                facts += inner.facts
                parts += inner.parts
            elif any(inner[1:]) or (block and (block.here or block.needed)):
                parts.append((row.scope, inner))
    return _Shape(part, tuple(lines), tuple(facts), tuple(parts))


def completeness_topic(topics: Sequence[Topic], release: Release) -> Topic:
    """State existing statements and report missing ones by the rows of all topics; it comes last."""
    shape = _rows_shape([row for topic in topics for row in topic.rows])
    return Topic((), lambda document: _check_complete(File(document, release), shape, document.scope, 1, ()))


def _check_complete(
    file: File, shape: _Shape, scope: Scope | None, line: int, keys: tuple[Value, ...]
) -> None:
    """State that a block exists, report missing statements and their places: else at the nearest block."""
    line = scope.line or line if scope else line
    if scope and shape.part and shape.part.here:
        path, value = shape.part.here
        if path.count("{") <= len(keys):  # an empty name gives no key
            file.put(path.format(*keys), value, line)
    for path in shape.facts:
        if path.count("{") <= len(keys):
            file.near(line, path.format(*keys))
    for text in shape.lines if scope else ():
        stored, place = scope.values.get(text, ("", 0)) if scope else ("", 0)
        if not place:
            file.missing(line, f"{text} is missing")
        elif stored != text.rpartition(": ")[2]:
            file.reject(place)
    for name, inner in shape.parts:
        found = scope.scopes.get(name) if scope else None
        for key, one in found.items() if found else ():
            for each in key if isinstance(key, tuple) else (key,):
                _check_complete(file, inner, one, line, (*keys, each) if each != "" else keys)  # type: ignore[arg-type]
        if not found:
            if scope and inner.part and inner.part.needed:
                file.missing(line, f"{name} is missing")
            _check_complete(file, inner, None, line, keys)


# --- reading: what relates scopes ------------------------------------------------------------------------


def scope_at(scope: Scope | None, *words: str) -> Scope | None:
    """Return the scope at a path of keys."""
    for word in words:
        scope = scope.scopes.get(word, {}).get("") if scope else None
    return scope


def nearest_line(scope: Scope, *words: str) -> int:
    """Return the line of the deepest scope that there is on the way along a path."""
    for word in words:
        scope = scope_at(scope, word) or scope
    return scope.line


def table_entries_at(scope: Scope | None, *words: str) -> Mapping[Captured, Scope]:
    """Return the entries of a table at a path."""
    found = scope_at(scope, *words)
    return found.each(_EACH) if found else {}


def is_on(scope: Scope | None, name: str = "on") -> bool:
    """Return whether a switch is on."""
    return scope is not None and scope.values.get(name, ("", 0))[0] == "true"


def line_of(scope: Scope, name: str = "on") -> int:
    """Return the line of a value, or that of the scope where it has none."""
    return scope.values.get(name, ("", scope.line))[1]


class File:
    """A file whose lines are read, while its scopes are related.

    Attributes:
        root: what stands below `set`.
        facts, lines: what is stated so far, and where.
        put, reject: state a fact, and list a line that has no known meaning, as of a `Document`.
    """

    def __init__(self, document: Document, release: Release) -> None:
        self.document = document
        self.release = release
        self.root = scope_at(document.scope, "set") or Scope(1)
        self.facts, self.lines = document.reading.facts, document.reading.lines
        self.put, self.reject = document.put, document.reject

    def missing(self, line: int, text: str) -> None:
        """Note that something every planned configuration has is not there."""
        note = Unplanned(self.document.file, line, text)
        if note not in self.document.reading.unknown:
            self.document.reading.unknown.append(note)

    def near(self, line: int, *paths: str) -> None:
        """Remember where facts would stand, for findings of their absence."""
        for path in paths:
            self.lines.setdefault(path, (self.document.file, line))

    def note_expected(self, words: Sequence[str], *paths: str) -> None:
        """Remember the deepest scope there is on the way to what would state facts."""
        self.near(nearest_line(self.root, *words), *paths)

    def state_stored(self, path: str, scope: Scope, name: str) -> None:
        """State what a scope keeps under a name; without it, remember where it would stand."""
        if name in scope.values:
            self.put(path, *scope.values[name])
        else:
            self.near(scope.line, path)

    def agree(self, path: str, value: Value, line: int) -> None:
        """State a fact that a file states several times; where it contradicts itself, that is noted."""
        stated = self.facts.get(path)
        if stated is None:
            self.put(path, value, line)
        elif stated != value:
            self.missing(line, f"{path} is {stated} elsewhere")

    def require(self, scope: Scope, key: str, word: str) -> None:
        """Expect a value of a scope; another is not known, and none at all is noted."""
        stored, line = scope.values.get(key, ("", 0))
        if not line:
            self.missing(scope.line, f"{key}: {word} is missing")
        elif stored != word:
            self.reject(line)
