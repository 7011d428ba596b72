"""Compute the removals and additions between a built and a found JSON file, key by key, as overlays express them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt.edits import (
    FEWEST,
    Edit,
    EditScope,
    FilePair,
)
from fabricc.back.nos.overlay_text import compile_starred
from fabricc.compiler.render.switch_files import (
    holds_secret,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Texts = Mapping[str, str]
    Files = Mapping[str, list[Edit]]


Path = tuple[str, ...]

_DEPTH = {EditScope.SIMILAR: None, EditScope.NONE: 2, EditScope.BLOCK: 1}
"""Share of a path that two lines must have in common for the second to matter too."""
_NUMBER = re.compile(r"\d+")


class _Key(NamedTuple):
    """A key of an object: its line in the formatted text, and its value."""

    line: int
    value: Any


def laid_out(text: str) -> str:
    """Return the text of an object with a line for each key; as it is where it is no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, indent=4) if isinstance(value, dict) else text


def find_edits(sides: FilePair) -> list[Edit]:
    """The edits that make of the built file one with what matters of the found one; both as `laid_out` has them."""
    try:
        one, two = json.loads(sides.built), json.loads(sides.found)
    except (ValueError, RecursionError):
        return []
    if not isinstance(one, dict) or not isinstance(two, dict):
        return []
    built, found = _key_paths(one), _key_paths(two)
    depth = _DEPTH[sides.reach]
    matter = {path[:depth] for keys, lines in ((built, sides.built_lines), (found, sides.found_lines))
              for path, key in keys.items() if key.line in lines}  # fmt: skip
    touched = _touched_paths(matter)
    called = {path[1] for path in built.keys() ^ found.keys() if len(path) == 2 and path in touched}
    matter |= {path[:depth] for keys in (built, found)
               for path, key in keys.items() if isinstance(key.value, str) and key.value in called}  # fmt: skip
    touched |= _touched_paths(matter)

    def is_wanted(path: Path) -> bool:
        return path in touched or any(path[:end] in matter for end in range(1, len(path)))

    def edit(path: Path, value: Any, *, removes: bool) -> Edit:
        return Edit(path, (json.dumps(value),), removes)

    edits: list[Edit] = []
    for path, key in built.items():
        other = found.get(path)
        if not _has_parent(path, found):
            continue
        if not is_wanted(path) or (other and _needs_no_edit(key.value, other.value)):
            continue
        gone = _extra_items(key.value, other.value) if other else None
        if gone != []:
            edits.append(edit(path, gone, removes=True))
    for path, key in found.items():
        there = built.get(path)
        if (
            not _has_parent(path, built)
            or not is_wanted(path)
            or (there and _needs_no_edit(there.value, key.value))
        ):
            continue
        new = _extra_items(key.value, there.value) if there else None
        value = _value_to_add(path[-1], key, sides) if new is None else _allowed_items(new, key, sides)
        if value is not None and value != []:
            edits.append(edit(path, value, removes=False))
    return _merge_rows(edits, one)


def _touched_paths(matter: Iterable[Path]) -> set[Path]:
    """Return the paths, and those of the objects that contain them."""
    return {path[:end] for path in matter for end in range(1, len(path) + 1)}


def _has_parent(path: Path, other: Mapping[Path, _Key]) -> bool:
    """Return whether the object of a key exists on the other side too."""
    return not path[:-1] or (path[:-1] in other and isinstance(other[path[:-1]].value, dict))


def _key_paths(value: Mapping[str, Any]) -> dict[Path, _Key]:
    """Return path of every key -> its line and value, in the layout of `laid_out`."""
    found: dict[Path, _Key] = {}

    def walk(below: Mapping[str, Any], path: Path, line: int) -> int:
        for name, part in below.items():
            own = (*path, name)
            found[own] = _Key(line, part)
            if isinstance(part, dict) and part:
                line = walk(part, own, line + 1) + 1
            else:
                line += len(part) + 2 if isinstance(part, list) and part else 1
        return line

    walk(value, (), 2)
    return found


def _needs_no_edit(one: Any, other: Any) -> bool:
    """Return whether a key itself needs no edit: equal values, or objects whose keys are compared."""
    return (isinstance(one, dict) and isinstance(other, dict)) or (type(one) is type(other) and one == other)


def _extra_items(mine: Any, other: Any) -> list[Any] | None:
    """Return the items that only one of two lists has; None for anything else."""
    if isinstance(mine, list) and isinstance(other, list):
        return [item for item in mine if item not in other]
    return None


def _allowed_items(items: list[Any], key: _Key, sides: FilePair) -> list[Any]:
    """Return the items of a list that are in no barred line."""
    every = key.value if isinstance(key.value, list) else []
    barred = [item for at, item in enumerate(every, key.line + 1) if at in sides.barred]
    return [item for item in items if item not in barred]


def _value_to_add(name: str, key: _Key, sides: FilePair) -> Any:
    """Return the value to add for a key, without ignored parts and secrets; None for nothing."""
    if key.line in sides.barred:
        return None
    if not isinstance(key.value, dict) or not key.value:
        out = key.line in sides.ignorable and key.line not in sides.found_lines
        return None if out or holds_secret(f'"{name}": {json.dumps(key.value)}') else key.value
    below = {path[0]: part for path, part in _key_paths(key.value).items() if len(path) == 1}
    moved = {own: part._replace(line=key.line + part.line - 1) for own, part in below.items()}
    kept = {
        own: value for own, part in moved.items() if (value := _value_to_add(own, part, sides)) is not None
    }
    return kept or None


def _merge_rows(edits: Iterable[Edit], built: Mapping[str, Any]) -> list[Edit]:
    """Return the edits, with `*` for the number in the keys of a table whose rows share an edit."""
    rows: dict[Edit, list[str]] = defaultdict(list)
    every = list(edits)
    for each in every:
        if len(each.path) > 2 or (len(each.path) == 2 and each.removes):
            rows[_star_edit(each)].append(each.path[1])
    fitting = {
        edit for edit, some in rows.items()
        if len(some) >= FEWEST and "*" in edit.path[1] and _matched_rows(built, edit.path) <= set(some)
    }  # fmt: skip
    return list(dict.fromkeys(_star_edit(each) if _star_edit(each) in fitting else each for each in every))


def _star_edit(edit: Edit) -> Edit:
    if len(edit.path) < 2:
        return edit
    table, row, *rest = edit.path
    return edit._replace(path=(table, _NUMBER.sub("*", row, count=1), *rest))


def _matched_rows(built: Mapping[str, Any], path: Path) -> set[str]:
    """Return the rows of a table that a pattern matches."""
    shape = compile_starred(path[1], ".")
    return {row for row in built.get(path[0], {}) if shape.fullmatch(row)}


def format_edits(edits: Iterable[Edit]) -> str:
    """Edits as the text of an overlay."""
    tree: dict[str, Any] = {}
    for edit in edits:
        *above, last = edit.path
        below = tree
        for name in above:
            below = below.setdefault(name, {})
        below[last] = json.loads(edit.lines[0])
    return json.dumps(tree, indent=2) + "\n"
