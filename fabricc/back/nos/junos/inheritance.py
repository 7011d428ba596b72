"""Statements of a Junos configuration for several places: `groups` with wildcards, and `interface-range`.

A group sets values that apply where nothing else does; of several applied in one place the first counts, and those
applied
further in count before those around (Juniper, CLI User Guide, "Use Configuration Groups"). What is inherited is a
statement at the line of the group.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.back.reading.tree import Node, Tree, leaf_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Words = tuple[str, ...]
    Statement = tuple[int, Words]

APPLY, EXCEPT = "apply-groups", "apply-groups-except"
RANGE = "interface-range"
_MOST_WORDS = 64
_MOST = 200_000
"""Inherited statements, which no device has as many of."""
_RANGE_NUMBER = re.compile(r"(.*?)(\d{1,4})$")


class _Branch:
    """Statements by their words: `line` is that of one that ends here, 0 where none does."""

    __slots__ = ("below", "line")

    def __init__(self) -> None:
        self.below: dict[str, _Branch] = {}
        self.line = 0

    def grow(self, words: Words, line: int) -> None:
        """Add a statement; line 0 for the way to others alone."""
        branch = self
        for word in words:
            branch = branch.below.setdefault(word, _Branch())
        branch.line = branch.line or line


_NOTHING = _Branch()


def apply_groups(tree: Tree) -> Tree:
    """The tree with what ranges and applied groups add to it; groups that are not applied stay where they are."""
    own: list[Statement] = []
    whole = _Branch()
    groups: dict[str, _Branch] = {}
    ranges: dict[str, list[Statement]] = {}
    applied: list[tuple[Words, str]] = []
    for line, words in leaf_paths(tree.nodes):
        if len(words) > _MOST_WORDS:
            own.append((line, words))
        elif words[:1] == ("groups",) and len(words) > 2:
            groups.setdefault(words[1], _Branch()).grow(words[2:], line)
        elif words[:2] == ("interfaces", RANGE) and len(words) > 3:
            ranges.setdefault(words[2], []).append((line, words[3:]))
        else:
            own.append((line, words))
    for _, words in own:
        if len(words) > _MOST_WORDS:
            continue
        at = (
            words.index(APPLY)
            if APPLY in words
            else len(words)
            if EXCEPT not in words
            else words.index(EXCEPT)
        )
        whole.grow(words[:at], 0)
        if at == len(words) - 2 and words[at] == APPLY:
            applied.append((words[:at], words[-1]))
    excepted = {(words[:-2], words[-1]) for _, words in own if words[-2:-1] == (EXCEPT,)}
    inherited = [each for stored in ranges.values() for each in _of_range(stored, whole)]
    for _, words in inherited:
        whole.grow(words, 0)
    for path, name in sorted(applied, key=lambda each: -len(each[0])):
        if name in groups and (path, name) not in excepted:
            without = [place for place, other in excepted if other == name]
            found = _of_group(groups, name, whole, path, ())
            for line, words in islice(found, _MOST - len(inherited)):
                if not any(words[: len(place)] == place for place in without):
                    inherited.append((line, words))
    used = {name for _, name in applied if name in groups}
    known = used | {
        words[-1] for each in used for words, _ in _list_statements(groups[each]) if APPLY in words
    }
    nodes = [
        Node(words, line)
        for line, words in own
        if not (words[-2:-1] in ((APPLY,), (EXCEPT,)) and words[-1] in groups)
    ]
    nodes += [
        Node(("groups", name, *words), line)
        for name, group in groups.items()
        if name not in known
        for words, line in _list_statements(group)
    ]
    return Tree(nodes, tree.faults, [Node(words, line) for line, words in inherited], tree.nodes)


def _list_statements(branch: _Branch, above: Words = ()) -> Iterator[tuple[Words, int]]:
    if branch.line:
        yield above, branch.line
    for word, below in branch.below.items():
        yield from _list_statements(below, (*above, word))


def _of_group(
    groups: dict[str, _Branch], name: str, whole: _Branch, path: Words, active: Words
) -> Iterator[Statement]:
    """Return the statements that a group adds below a path, and the groups that it applies; recursion is excluded."""
    if name not in groups or name in active:
        return
    found = list(islice(_match_group(groups[name], whole, path), _MOST))
    for words, line in found:
        if APPLY not in words:
            whole.grow(words, 0)
            yield line, words
    for words, _ in found:
        if words[-2:-1] == (APPLY,):
            yield from _of_group(groups, words[-1], whole, words[:-2], (*active, name))


def _match_group(group: _Branch, own: _Branch, path: Words, words: Words = ()) -> Iterator[tuple[Words, int]]:
    """The statements of a group with its wildcards filled in by what there is, as far as they are below a path."""
    depth = len(words)
    if group.line and depth > len(path):
        yield words, group.line
    for word, below in group.below.items():
        names: Sequence[str] = [word]
        if word[0] == "<" and word[-1] == ">":
            names = [name for name in own.below if name != RANGE and fnmatchcase(name, word[1:-1])]
        for name in names:
            if depth >= len(path) or name == path[depth]:
                yield from _match_group(below, own.below.get(name, _NOTHING), path, (*words, name))


def _of_range(values: Sequence[Statement], whole: _Branch) -> Iterator[Statement]:
    """Return the statements of a range for each of its members."""
    members: dict[str, None] = {}
    there = whole.below.get("interfaces", _NOTHING).below
    others: list[Statement] = []
    for line, words in values:
        if words[0] == "member" and len(words) == 2:
            exact = not set(words[1]) & set("*?[")
            members |= dict.fromkeys([words[1]] if exact else [n for n in there if fnmatchcase(n, words[1])])
        elif words[0] == "member-range" and len(words) == 4 and (span := _port_span(words[1], words[3])):
            members |= dict.fromkeys(span)
        elif words[0] in ("member", "member-range"):
            yield line, ("interfaces", RANGE, *words)
        elif words[0] != "description":
            others.append((line, words))
    for name in members:
        for line, words in others:
            yield line, ("interfaces", name, *words)


def _port_span(first: str, last: str) -> list[str]:
    """Return the ports from one to another of the same kind and place."""
    low, high = _RANGE_NUMBER.fullmatch(first), _RANGE_NUMBER.fullmatch(last)
    if not low or not high or low[1] != high[1]:
        return []
    return [f"{low[1]}{number}" for number in range(int(low[2]), int(high[2]) + 1)]
