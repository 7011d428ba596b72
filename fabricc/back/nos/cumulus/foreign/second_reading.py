"""A second reading of a configuration of which the rows of a plan left something unknown, by the rows of `beyond`.

It reads a statement a line: each with the words on the way there, ranges of names spelled out. What the rows state
counts where it comes from a line that was unknown.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import startup
from fabricc.back.nos.cumulus.foreign import beyond
from fabricc.back.reading import Node, Reader, Topic, Tree
from fabricc.fabric.facts import Reading, Unplanned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@cache
def reader() -> Reader:
    """Return the reader of statements; it is made when there is something to read."""
    return Reader((Topic(beyond.ROWS),), beyond.TYPES, lambda text: Tree(tuple(list_statements(text))))


def read_again(text: str, file: str, reading: Reading) -> None:
    """Add what the rows of `beyond` know of lines that a reading left unknown.

    A line that they know, with all that is below it, is no longer plainly unknown; of one that they know in part, what
    is left is listed statement by statement.
    """
    odd = [each for each in reading.unknown if each[0] == file]
    if not odd:
        return
    unread = [each for each in odd if not isinstance(each, Unplanned)]
    found = Reading()
    heads = {line for _, line, _ in unread}
    commands = startup.is_commands(text)
    below = (
        {line: [line] for line in heads}
        if commands
        else _lines_below(startup.parse_startup(text).nodes, heads)
    )
    unknown = frozenset(line for lines in below.values() for line in lines)
    beyond.finish(reader().read_file(file, text, found), unknown)
    left: dict[int, list[tuple[str, int, str]]] = {}
    raw = text.split("\n")
    for line in dict.fromkeys(line for _, line, _ in found.unknown):
        left[line] = [(file, line, raw[line - 1].strip())]
    for each in unread:
        lines = below.get(each[1], ())
        rest = [one for line in lines for one in left.get(line, ())]
        if not lines or (rest and len(lines) == 1):
            continue
        reading.unknown[reading.unknown.index(each)] = Unplanned(*each)
        reading.unknown += rest
    for path, place in found.lines.items():
        value, known = found.facts[path], reading.facts.get(path)
        restated = (
            known != value and path.startswith(_WHOLE) and (known is not None or path.startswith(_ROUTES))
        )
        if place[1] in unknown or restated:
            reading.put(path, value, *place)
    bound = {
        name
        for path, value in found.facts.items()
        if path.endswith(_BINDINGS)
        for name in str(value).split(",")
    }
    for path, value in found.facts.items():
        if path.startswith(_LIST) and path[len(_LIST) :].partition("]")[0] in bound:
            reading.put(path, value, *found.lines[path])
    reading.unknown.sort(key=lambda each: each[1])


_LIST = "access_list["
_BINDINGS = ("]/access_list_in", "]/access_list_out")
"""Ends of paths that name the filter list of a port; those of a plan filter the control plane only."""
_ROUTES = "static_route["
_WHOLE = ("route_map[", "prefix_list[", "community_list[", _ROUTES, "bgp/")
"""Beginnings of paths whose values are made of several lines, of which some were unknown."""


def list_statements(text: str) -> Iterator[Node]:
    """Each end of the tree with the words on the way there, for each of the interfaces or neighbors of a range."""
    stack: list[tuple[Node, tuple[str, ...]]] = [
        (node, ()) for node in reversed(startup.parse_startup(text).nodes) if node.key == ("set",)
    ]
    while stack:
        node, above = stack.pop()
        for words in _expand_ranges(above, node.key) if above else (node.key,):
            if node.children is None:
                yield Node(words[1:], node.line)
            else:
                stack += [(child, words) for child in reversed(node.children)]


def _expand_ranges(above: tuple[str, ...], key: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words on the way to a node, ranges spelled out where names of interfaces stand."""
    if above[-1] in ("interface", "neighbor", "member") and key:
        for name in startup.expand_members(key[0]):
            yield (*above, name, *key[1:])
    else:
        yield (*above, *key)


def _lines_below(nodes: Sequence[Node], heads: set[int]) -> dict[int, list[int]]:
    """Return lines of each of the nodes that stand on some lines, and of all below it."""
    found: dict[int, list[int]] = {}
    stack = [(node, 0) for node in nodes]
    while stack:
        node, head = stack.pop()
        head = head or (node.line if node.line in heads else 0)
        if head:
            found.setdefault(head, []).append(node.line)
        stack += [(child, head) for child in node.children or ()]
    return found
