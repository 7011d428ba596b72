"""A YAML file as plain values and positions, and the diagnostics collected about it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.text import visible
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.front.spec.model import Path

LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Document:
    """What the YAML reader understood of a file.

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
    positions: Mapping[Path, Position] = field(default_factory=dict)
    value_positions: Mapping[Path, Position] = field(default_factory=dict)
    broken: frozenset[Path] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()
    usable: bool = True

    def key_position(self, path: Path) -> Position:
        """The place of the key or item at `path`, or of the nearest enclosing one that the file has."""
        for length in range(len(path), 0, -1):
            if (found := self.positions.get(path[:length])) is not None:
                return found
        return Position(self.file, 1, 1)

    def value_position(self, path: Path) -> Position:
        """The place of the value at `path` when it is no mapping and on its key's line, else of the key."""
        key = self.key_position(path)
        place = self.value_positions.get(path)
        if place is None or place.line != key.line:
            return key
        value = self.value
        for part in path:
            value = value[part]
        return key if isinstance(value, dict) else place


class Findings:
    """Diagnostics in the making: collected, never thrown."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.diagnostics: list[Diagnostic] = []

    def error(self, code: str, message: str, *path: str | int, help: str = "") -> None:
        """Note an error about the value at `path`."""
        self._add(code, Severity.ERROR, message, path, help)

    def warning(self, code: str, message: str, *path: str | int, help: str = "") -> None:
        """Note a warning about the value at `path`."""
        self._add(code, Severity.WARNING, message, path, help)

    def _add(self, code: str, severity: Severity, message: str, path: Path, help: str) -> None:
        self.diagnostics.append(Diagnostic(code, severity, message, self.document.value_position(path), help))


def dotted(path: Path) -> str:
    """A path as people write it: `gpus.groups[0].model`."""
    words = ""
    for part in path:
        words += f"[{part}]" if isinstance(part, int) else f".{clip(part)}" if words else clip(part)
    return words


def clip(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Text safe and short enough for a message: control characters escaped, the end cut off."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return visible(text)


def shown(value: Any) -> str:
    """A value as a message names it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case str():
            return f"'{clip(value)}'" if value else "an empty text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def listed(words: list[str], last: str = "or") -> str:
    """Words in a row: `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""
