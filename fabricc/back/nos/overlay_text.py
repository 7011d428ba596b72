"""Merge indented text (CLI, braces, YAML blocks) by its outline, and find the origin of each line of the result.

A line comes from the built-in template, with its line number, from a merged part, or from the serializer.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from fabricc.base.installation import data_folder
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CLOSING = re.compile(r"[}\])]+[;,]?|!|quit|exit\b.*")
_NOTHING = re.compile(r"[#!] .*|#|end")  # comments, and the last line of a configuration
_STAR = re.compile(r"(?<!\\)\*")  # one that stands for anything; `\*` is the character itself
_KEY = re.compile(r"(?P<key>'[^']*'|[^\s'][^\s]*?):(?:\s|$)")


Insertions = dict[int, list[tuple[int, list[str]]]]
"""Line to add after -> what is added there: its indentation, and its lines."""


class OverlayError(Exception):
    """An overlay does not fit the file that it is merged into; `line` is the overlay's own, from 1."""

    def __init__(self, line: int, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.remedy = remedy


@dataclass(slots=True)
class Node:
    """A line of an outline and what is indented below it.

    Attributes:
        text: without indentation; `indent`: columns of it.
        line: from 1; `last`: that of the last line below it; `end`: with the lines that close it.
        closing: text of the line that closes it, such as `}`; "" for none.
    """

    text: str
    indent: int
    line: int
    last: int
    end: int
    closing: str = ""
    children: list[Node] = field(default_factory=list)


def outline_text(text: str) -> Node:
    """The lines as a tree, by indentation; blank lines, comments and lines that only close a block are no nodes."""
    top = Node("", -1, 0, 0, 0)
    above = [top]
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or _NOTHING.fullmatch(line):
            continue
        indent = len(raw) - len(raw.lstrip())
        while above[-1].indent >= indent:
            above.pop()
        parent = above[-1]
        for node in above:
            node.last = node.end = number
        if _CLOSING.fullmatch(line):
            if parent.children and parent.children[-1].indent == indent:
                parent.children[-1].closing = parent.children[-1].closing or line
                parent.children[-1].end = number
            continue
        node = Node(line, indent, number, number, number)
        parent.children.append(node)
        above.append(node)
    return top


def merge_text(text: str, overlay: str, *, keyed: bool = False) -> str:
    """Return the text with the overlay's lines in it.

    A block of the overlay whose first line the text has goes into that block, `*` standing for anything but spaces; a
    backslash before it means the character. Other lines are added, single ones before the first sibling block and
    blocks at the end. What the text has already stays as it is.

    Args:
        text: the file.
        overlay: the lines to add, indented like the file.
        keyed: lines are `key: value`, of which a block has each key once.

    Raises:
        OverlayError: FAB2111, a `*` that matches nothing, or a key with another value.
    """
    target = outline_text(text)
    insertions: Insertions = {}
    _merge_lines(target, outline_text(overlay), insertions, keyed)
    lines = text.split("\n")
    merged: list[str] = []
    for number in range(len(lines) + 1):
        if number:
            merged.append(lines[number - 1])
        # Lines of the statement itself come before lines that follow it or a block around it.
        for _, added in sorted(insertions.get(number, ()), key=lambda each: -each[0]):
            merged += added
    return "\n".join(merged)


def escape_stars(text: str) -> str:
    """Return a line as an overlay that means its `*` as they are."""
    return text.replace("*", "\\*")


def unescape_stars(text: str) -> str:
    """Return the line that an overlay without a pattern means."""
    return text.replace("\\*", "*")


def compile_starred(text: str, letter: str) -> re.Pattern[str]:
    """Return the matches of a text, each of its `*` for letters of one kind, in linear time."""
    first, *rest = (re.escape(unescape_stars(part)) for part in _STAR.split(text))
    if not rest:
        return re.compile(first)
    *middle, last = rest
    tried = "".join(f"(?>{letter}*?{piece})" for piece in middle if piece)
    return re.compile(f"{first}{tried}{letter}*{last}")


def strip_text(text: str, overlay: str, *, keyed: bool = False) -> tuple[str, list[int]]:
    """The text without the lines that the overlay names, and the overlay's own lines that nothing in the text is like.

    A line of the overlay with nothing below it takes away each line like it in its block, and what is below that; a
    block takes away in each block whose first line is like its own. `*` stands for anything but spaces.

    Args:
        text: the file.
        overlay: the lines to take away, indented like the file.
        keyed: lines are `key: value`, and `key: null` takes a key away whatever its value is.
    """
    gone: set[int] = set()
    idle: list[int] = []
    _strip_lines([outline_text(text)], outline_text(overlay), gone, idle, keyed)
    return "\n".join(line for number, line in enumerate(text.split("\n"), 1) if number not in gone), idle


def _strip_lines(targets: list[Node], overlay: Node, gone: set[int], idle: list[int], keyed: bool) -> None:
    for node in overlay.children:
        found = [match for target in targets for match in _lines_like(target.children, node, keyed)]
        if not found:
            idle.append(node.line)
        elif node.children:
            _strip_lines(found, node, gone, idle, keyed)
        else:
            gone.update(number for match in found for number in range(match.line, match.end + 1))


def _lines_like(candidates: Iterable[Node], node: Node, keyed: bool) -> Iterable[Node]:
    """Yield the lines that a line of a removing overlay names."""
    if keyed and not node.children and (key := _KEY.match(node.text)) and node.text.endswith(": null"):
        return (each for each in candidates if _same_key(each, key["key"]))
    if not _STAR.search(node.text):
        return (each for each in candidates if each.text == unescape_stars(node.text))
    shape = compile_starred(node.text, r"\S")
    return (each for each in candidates if shape.fullmatch(each.text))


def _merge_lines(target: Node, overlay: Node, insertions: Insertions, keyed: bool) -> None:
    for node in overlay.children:
        found = list(_matching_lines(target.children, node))
        if not found:
            _add_block(target, node, node.indent - overlay.indent, insertions, keyed)
        for match in found:
            _merge_lines(match, node, insertions, keyed)


def _matching_lines(candidates: Iterable[Node], node: Node) -> Iterator[Node]:
    """Yield the lines that a line of the overlay matches."""
    if node.children and _STAR.search(node.text):
        shape = compile_starred(node.text, r"\S")
        yield from (each for each in candidates if each.children and shape.fullmatch(each.text))
    else:
        yield from (each for each in candidates if each.text == _added_text(node))


def _added_text(node: Node) -> str:
    """Return the line that an added line means; only first lines of blocks have patterns."""
    return unescape_stars(node.text) if node.children else node.text


def _add_block(target: Node, node: Node, step: int, insertions: Insertions, keyed: bool) -> None:
    """Add a line and its block below `target`, indented as what is there, or by `step` where nothing is."""
    if node.children and _STAR.search(node.text):
        message = f"no block of the file matches {node.text!r}"
        raise OverlayError(node.line, message, "`*` matches anything but spaces in an existing block.")
    key = _KEY.match(node.text) if keyed else None
    if key and (other := next((c for c in target.children if _same_key(c, key["key"])), None)):
        message = f"the file has {other.text!r} where the overlay has {node.text!r}"
        raise OverlayError(
            node.line, message, "An overlay only adds lines. Change planned values in the spec."
        )
    indent = target.children[0].indent if target.children else target.indent + step if target.line else 0
    insertions.setdefault(_insertion_line(target, node), []).append(
        (indent, list(_block_lines(node, indent - node.indent)))
    )


def _same_key(node: Node, key: str) -> bool:
    found = _KEY.match(node.text)
    return found is not None and found["key"] == key


def _insertion_line(target: Node, node: Node) -> int:
    """Return the line to add after: single lines go before the first block, whose mode they could not leave."""
    if node.children:
        return target.last
    single = target.line
    for child in target.children:
        if child.children:
            break
        single = child.end
    return single


def _block_lines(node: Node, shift: int) -> Iterator[str]:
    yield " " * (node.indent + shift) + _added_text(node)
    for child in node.children:
        yield from _block_lines(child, shift)
    if node.closing:
        yield " " * (node.indent + shift) + node.closing


def trace_overlay(text: str, overlay: str) -> tuple[set[int], list[tuple[int, str]]]:
    """The lines of a file that the overlay states, and (the file's nearest line, text) of those that it lacks."""
    lines: set[int] = set()
    missing: list[tuple[int, str]] = []
    _trace_lines([outline_text(text)], outline_text(overlay), lines, missing)
    return lines, missing


def _trace_lines(targets: list[Node], overlay: Node, lines: set[int], missing: list[tuple[int, str]]) -> None:
    for node in overlay.children:
        matches = [list(_matching_lines(target.children, node)) for target in targets]
        found = [match for each in matches for match in each]
        lines.update(match.line for match in found)
        wild = bool(node.children) and _STAR.search(node.text)
        lacking = [target for target, each in zip(targets, matches, strict=True) if not each]
        if lacking and not (wild and found):
            missing.append((max(lacking[0].line, 1), node.text))
        if found:
            _trace_lines(found, node, lines, missing)


_PART = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_LEAST = 2
"""Minimum of distinctive letters of a template line that can be the origin of a line."""


def find_printer(nos: str, file: str, line: str) -> str:
    """`template eos/bgp.j2:24`, or the module that writes such files where a system has no templates.

    Of several lines of templates that give this one, the one with the most letters of its own is named.
    """
    text = line.strip()
    best = max(
        (
            (own, name, number)
            for own, pattern, name, number in _template_patterns(nos)
            if pattern.fullmatch(text)
        ),
        default=None,
    )
    if best is None and file == "frr.conf" and nos != "frr":
        return find_printer("frr", file, line)
    if best is not None:
        return f"template {best[1]}:{best[2]}"
    return "no built-in template" if _template_patterns(nos) else f"the serializer fabricc.back.nos.{nos}"


@cache
def _template_patterns(nos: str) -> tuple[tuple[int, re.Pattern[str], str, int], ...]:
    """Return lines of the templates of a system: distinctive letters, output pattern, file and line."""
    templates = data_folder("templates")
    found = []
    for path in sorted((templates / nos).glob("**/*.j2")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            own = _PART.split(line.strip())
            letters = sum(len(part.strip()) for part in own)
            if letters >= _LEAST:
                pattern = re.compile(".*".join(re.escape(part) for part in own))
                found.append((letters, pattern, path.relative_to(templates).as_posix(), number))
    return tuple(found)
