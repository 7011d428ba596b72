"""Compute the lines to remove from a built file and to add, so that it states what a running one does."""

from __future__ import annotations

import re
from collections import defaultdict
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.overlay_text import Node, compile_starred, escape_stars, outline_text, unescape_stars
from fabricc.base.values import dataclass, replace
from fabricc.compiler.render.switch_files import secret_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


_NUMBERED = re.compile(r"(?=\S*\d)\S+")
_PORT = re.compile(r"(.*[^\d/:.])[\d/:.]+([;{ ]*)")
FEWEST = 3
"""Blocks that have one edit in common, from which on a pattern stands for them."""


class EditScope(Enum):
    """The reach of edits beyond the lines that matter.

    SIMILAR: patterns may also remove similar built lines that are not found; NONE: they may not; BLOCK: they may, and
    every differing line of a block with a line that matters counts.
    """

    SIMILAR = "alike"
    NONE = "none"
    BLOCK = "block"


class Edit(NamedTuple):
    """A line to take away or to add, with what is below it.

    Attributes:
        path: first lines of the blocks that it is in, outermost first.
        lines: the line and those below it, indented from its own column.
    """

    path: tuple[str, ...]
    lines: tuple[str, ...]
    removes: bool


@dataclass(frozen=True, slots=True)
class FilePair:
    """A file as it is built and as it was found, with the lines of either that matter.

    Attributes:
        built_lines, found_lines: those of facts that this side states alone; `ignorable`: found ones not to be kept.
        reach: how far edits go beyond these lines; `keyed`: lines are `key: value`, of which none has a pattern.
        barred: found lines by which a switch runs a command or that state a secret, which are never kept.
        renewed: built lines that are taken away and added again: the found lines around them change their meaning.
    """

    built: str
    found: str
    built_lines: Collection[int]
    found_lines: Collection[int]
    ignorable: Collection[int] = ()
    reach: EditScope = EditScope.SIMILAR
    keyed: bool = False
    barred: Collection[int] = ()
    renewed: Collection[int] = ()


def compute_edits(sides: FilePair) -> list[Edit]:
    """Return the edits that turn the built file into one with the lines of the found file that matter."""
    built, found = outline_text(sides.built), outline_text(sides.found)
    secret = {line for line, *_ in secret_lines(sides.found)}
    sides = replace(sides, barred={*sides.barred, *secret})
    removed = list(_removed_lines(built.children, found.children, sides, (), False))
    if calling := _referring_lines(built, {edit.lines[0] for edit in removed if not edit.path}):
        more = replace(sides, built_lines={*sides.built_lines, *calling})
        removed = list(_removed_lines(built.children, found.children, more, (), False))
    added = list(_added_lines(built.children, found.children, sides, (), False))
    if sides.keyed:
        return [*removed, *added]
    staying = built if sides.reach is EditScope.NONE else found
    return _merge_siblings([*_shorten_removals(removed, built, staying), *added], built, staying)


def _referring_lines(top: Node, gone: Collection[str]) -> set[int]:
    """Return the lines that refer to definitions in completely removed blocks, such as `qos profile LOSSY`."""
    names = {node.text.split()[-1] for node in top.children if node.text in gone and node.children}
    return {
        child.line for node in top.children for child in node.children if child.text.split()[-1] in names
    }  # fmt: skip


def _match_nodes(nodes: Iterable[Node]) -> dict[str, Node]:
    there: dict[str, Node] = {}
    for node in nodes:
        if (known := there.get(node.text)) is None:
            there[node.text] = node
        else:
            known.children.extend(node.children)
    return there


def _touches_lines(node: Node | None, lines: Collection[int]) -> bool:
    return node is not None and (
        node.line in lines or any(_touches_lines(each, lines) for each in node.children)
    )


def _removed_lines(
    built: Iterable[Node], found: Sequence[Node], sides: FilePair, path: tuple[str, ...], every: bool
) -> Iterator[Edit]:
    """Yield built lines that are not found, if they state something that the found file does not."""
    there = _match_nodes(found)
    for node in built:
        other = there.get(node.text)
        if other is None:
            if every or _touches_lines(node, sides.built_lines):
                yield Edit(path, (escape_stars(node.text),), removes=True)
        elif node.line in sides.renewed and not node.children:
            yield Edit(path, (escape_stars(node.text),), removes=True)
        elif node.children:
            more = every or (
                sides.reach is EditScope.BLOCK
                and (_touches_lines(node, sides.built_lines) or _touches_lines(other, sides.found_lines))
            )
            yield from _removed_lines(
                node.children, other.children, sides, (*path, escape_stars(node.text)), more
            )


def _added_lines(
    built: Sequence[Node], found: Iterable[Node], sides: FilePair, path: tuple[str, ...], every: bool
) -> Iterator[Edit]:
    """Yield found lines that are not built, if they state something that the built file does not.

    Lines about one thing stay together: lines with the same first two words as a needed line are added too.
    """
    found = list(found)
    there = _match_nodes(built)
    heads = {
        _first_words(node) for node in found if node.line in sides.found_lines and node.text not in there
    } - {""}
    for node in found:
        other = there.get(node.text)
        if other is None:
            wanted = every or _first_words(node) in heads or _touches_lines(node, sides.found_lines)
            if wanted and (lines := tuple(_visible_lines(node, sides))):
                yield Edit(path, lines, removes=False)
        elif other.line in sides.renewed and not node.children:
            yield Edit(path, (node.text,), removes=False)
        elif node.children:
            more = every or (
                sides.reach is EditScope.BLOCK
                and (_touches_lines(other, sides.built_lines) or _touches_lines(node, sides.found_lines))
            )
            yield from _added_lines(
                other.children, node.children, sides, (*path, escape_stars(node.text)), more
            )


def _first_words(node: Node) -> str:
    words = node.text.split()
    return " ".join(words[:2]) if len(words) > 2 and not node.children else ""


def _visible_lines(node: Node, sides: FilePair, depth: int = 0) -> Iterator[str]:
    """Yield a line and those below it, without ignored lines and lines that look like a secret."""
    if node.line in sides.barred:
        return
    if node.line in sides.ignorable and not _touches_lines(node, sides.found_lines):
        return
    yield "   " * depth + (escape_stars(node.text) if node.children else node.text)
    for child in node.children:
        yield from _visible_lines(child, sides, depth + 1)
    if node.closing.startswith("}"):
        yield "   " * depth + node.closing


def _shorten_removals(removed: Sequence[Edit], built: Node, staying: Node) -> Iterator[Edit]:
    """Yield removed lines with `*` for words with numbers, if no remaining line matches."""
    blocks: dict[tuple[str, ...], list[Edit]] = defaultdict(list)
    for edit in removed:
        blocks[edit.path].append(edit)
    for path, some in blocks.items():
        gone = {edit.lines[0] for edit in some}
        stay = (
            {node.text for node in _children_at(built, path)} & {n.text for n in _children_at(staying, path)}
        ) - {unescape_stars(text) for text in gone}
        for text in dict.fromkeys(_wildcard_line(edit.lines[0], stay) for edit in some):
            yield Edit(path, (text,), removes=True)


def _children_at(top: Node, path: Sequence[str]) -> list[Node]:
    nodes = top.children
    for text in path:
        nodes = [child for node in nodes if node.text == unescape_stars(text) for child in node.children]
    return nodes


def _wildcard_line(text: str, staying: Collection[str]) -> str:
    """Return the line with `*` for as many of its words with numbers as possible without matching a remaining line."""
    words = text.split(" ")
    for at, word in enumerate(words[1:], 1):
        if _NUMBERED.fullmatch(word):
            tried = [*words[:at], "*", *words[at + 1 :]]
            if not any(map(_compile_shape(" ".join(tried)).fullmatch, staying)):
                words = tried
    return " ".join(words)


def _compile_shape(pattern: str) -> re.Pattern[str]:
    """Return the expression of an overlay line; `*` stands for anything but spaces."""
    return compile_starred(pattern, r"\S")


def _merge_siblings(found: Sequence[Edit], built: Node, staying: Node) -> list[Edit]:
    """Return the edits, with a pattern for sibling blocks (mostly ports) that share one."""
    heads: dict[Edit, list[str]] = defaultdict(list)
    for edit in found:
        if edit.path and (pattern := _wildcard_head(edit.path[0])):
            heads[_move_below(edit, pattern)].append(edit.path[0])
    fitting = {
        edit
        for edit, some in heads.items()
        if len(some) >= FEWEST and _pattern_fits(edit, some, built, staying)
    }

    def of(edit: Edit) -> Edit:
        common = _move_below(edit, _wildcard_head(edit.path[0])) if edit.path else edit
        return common if common in fitting else edit

    return list(dict.fromkeys(map(of, found)))


def _move_below(edit: Edit, head: str) -> Edit:
    return edit._replace(path=(head, *edit.path[1:]))


def _wildcard_head(head: str) -> str:
    """Return a first line with `*` for its final number; "" without a number."""
    match = _PORT.fullmatch(head)
    return f"{match[1]}*{match[2]}" if match else ""


def _pattern_fits(edit: Edit, heads: Collection[str], built: Node, staying: Node) -> bool:
    """Return whether a pattern of first lines matches only those blocks, or removes nothing that stays in others."""
    shape = _compile_shape(edit.path[0])
    others = [
        node.text
        for node in built.children
        if node.text not in heads and node.children and shape.fullmatch(node.text)
    ]
    line = _compile_shape(edit.lines[0])
    stay = (
        {n.text for n in _children_at(top, (head, *edit.path[1:]))}
        for head in others
        for top in (built, staying)
    )
    both = zip(stay, stay, strict=True)
    return not others or (edit.removes and not any(map(line.fullmatch, (t for a, b in both for t in a & b))))


def overlay_text(some: Iterable[Edit]) -> str:
    """Return edits as the text of an overlay, each below its blocks."""
    tree: dict[str, object] = {}
    for edit in some:
        block = tree
        for head in edit.path:
            block = block.setdefault(head, {})  # type: ignore[assignment]
        block.setdefault("\n".join(edit.lines), None)
    return "".join(f"{line}\n" for line in _tree_lines(tree, 0))


def _tree_lines(tree: Mapping[str, object], depth: int) -> Iterator[str]:
    for text, below in tree.items():
        yield from ("   " * depth + line for line in text.split("\n"))
        if isinstance(below, dict):
            yield from _tree_lines(below, depth + 1)
            if text.endswith("{"):
                yield "   " * depth + "}"


def generalize_edits(
    every: Mapping[str, list[Edit]], tops: Mapping[str, Sequence[str]]
) -> dict[str, list[Edit]]:
    """Return the edits of several devices, with `router bgp *` for a single block whose name differs per device.

    Args:
        every: device -> its edits.
        tops: device -> first lines of the blocks of its built file.
    """
    heads: dict[str, set[str]] = defaultdict(set)
    for name, some in every.items():
        for edit in some:
            if edit.path and (pattern := _wildcard_single(edit.path[0], tops[name])):
                heads[pattern].add(edit.path[0])
    various = {pattern for pattern, texts in heads.items() if len(texts) > 1}

    def of(name: str, edit: Edit) -> Edit:
        pattern = _wildcard_single(edit.path[0], tops[name]) if edit.path else ""
        return _move_below(edit, pattern) if pattern in various else edit

    return {name: list(dict.fromkeys(of(name, edit) for edit in some)) for name, some in every.items()}


def _wildcard_single(head: str, tops: Sequence[str]) -> str:
    """Return a first line with `*` for its final number if only one block matches; else ""."""
    words = head.split(" ")
    if len(words) == 1 or not _NUMBERED.fullmatch(words[-1]) or head.endswith(":"):
        return ""
    pattern = " ".join([*words[:-1], "*"])
    return pattern if sum(1 for _ in filter(_compile_shape(pattern).fullmatch, tops)) == 1 else ""
