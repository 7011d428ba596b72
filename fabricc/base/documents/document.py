"""A YAML file as plain values, with the place of each and its defects, such as markers of a merge conflict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.text import visible_text
from fabricc.base.values import dataclass

KeyPath = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value."""
LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Document:
    """The result of reading a YAML file.

    Attributes:
        value: dictionaries, lists, text, numbers, booleans and None; meaningless when `usable` is False.
        positions: path -> where its key (in a mapping) or its item (in a list) stands.
        value_positions: path -> where the value of a mapping entry stands.
        broken: paths whose value was refused and stands as None; they have a diagnostic already.
        diagnostics: problems met while reading.
        usable: False when reading stopped before the end of the file.
    """

    file: str
    value: Any
    positions: Mapping[KeyPath, Position] = field(default_factory=dict)
    value_positions: Mapping[KeyPath, Position] = field(default_factory=dict)
    broken: frozenset[KeyPath] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()
    usable: bool = True

    def key_position(self, path: KeyPath) -> Position:
        """Return the place of the key or item at `path`, or of the nearest enclosing one that the file has."""
        for length in range(len(path), 0, -1):
            if (found := self.positions.get(path[:length])) is not None:
                return found
        return Position(self.file, 1, 1)

    def value_position(self, path: KeyPath) -> Position:
        """Return the place of the value at `path` when it is not a mapping and on its key's line, else of the key."""
        key = self.key_position(path)
        place = self.value_positions.get(path)
        if place is None or place.line != key.line:
            return key
        value = self.value
        for part in path:
            value = value[part]
        return key if isinstance(value, dict) else place


def clip(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Text safe and short enough for a message: control characters and hard blanks escaped, the end cut off."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return visible_text(text).replace("\u00a0", r"\xa0")


_MARKER = re.compile(r"(?m)^(?:<{7,}|>{7,}|\|{7,})(?=[ \t\r\n]|\Z)|^={7}(?=\r?$)")
"""Lines that git-merge(1) writes, also with a longer `conflict-marker-size`; a rule of `=` may be longer than seven."""
_WHOLE = tuple(
    map(re.compile, (r"(?m)^<{7,}(?=[ \t\r\n])", r"(?m)^={7,}\r?$", r"(?m)^>{7,}(?=[ \t\r\n]|\Z)"))
)
"""The three lines that a conflict in a device's output has at least; a banner may have one of them."""


def conflict_in(text: str, file: str) -> Diagnostic | None:
    """Return FAB0032 at the first marker of a merge conflict in a text, None where it has none."""
    found = _MARKER.search(text)
    if found is None:
        return None
    place = Position(file, text.count("\n", 0, found.start()) + 1, 1)
    message = f"a merge conflict is not resolved: {found[0][:7]}"
    return Diagnostic(
        "FAB0032", Severity.ERROR, message, place, "Resolve the conflict and delete the markers."
    )


def conflict_in_output(text: str, file: str) -> Diagnostic | None:
    """Return FAB0032 where a text that a device printed has a whole conflict, None where it has none."""
    end = 0
    for marker in _WHOLE:
        found = marker.search(text, end)
        if found is None:
            return None
        end = found.end()
    return conflict_in(text, file)
