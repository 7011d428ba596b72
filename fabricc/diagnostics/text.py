"""Diagnostics for people: place, message, the source line with a caret, and the remedy."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from fabricc.diagnostics.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.diagnostics.model import Diagnostic, Position

LINE_BREAK = re.compile(r"\r\n|\r|\n")
TAB = "    "
WIDTH = 100
COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}
BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def render_text(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], *, colour: bool = False
) -> str:
    """All findings and a count; the empty text when there is none.

    Args:
        diagnostics: shown in the order given.
        sources: file -> its text, for the source lines; a file not in it is shown without.
        colour: with ANSI colours. Nothing else in the result is an escape sequence, whatever the input holds.
    """
    found = list(diagnostics)
    if not found:
        return ""
    lines = {file: LINE_BREAK.split(text) for file, text in sources.items()}
    blocks = [_block(each, lines, colour) for each in found]
    return "\n".join([*blocks, summary(found)]) + "\n"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many of each severity: `2 errors, 1 warning`."""
    severities = [each.severity for each in diagnostics]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


def printable(text: str) -> str:
    """The text without anything a terminal obeys or cannot show."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u00a0" else "\ufffd" for c in text)


def _block(each: Diagnostic, lines: Mapping[str, list[str]], colour: bool) -> str:
    tint, bold, dim, reset = (COLOURS[each.severity], BOLD, DIM, RESET) if colour else ("", "", "", "")
    place = each.position
    where = f"{bold}{printable(place.file)}:{place.line}:{place.column}:{reset} " if place else ""
    parts = [f"{where}{tint}{each.severity} {each.code}:{reset} {printable(each.message)}"]
    gutter = ""
    if place is not None and 0 < place.line <= len(lines.get(place.file, ())):
        gutter = " " * len(str(place.line))
        source, offset = _excerpt(lines[place.file][place.line - 1], place)
        parts.append(f"{dim}{place.line} |{reset} {source}".rstrip())
        parts.append(f"{dim}{gutter} |{reset} {' ' * offset}{tint}^{reset}")
    if each.help:
        indent = f"{gutter} = " if gutter else "  "
        parts.append(f"{dim}{indent}help:{reset} {printable(each.help)}")
    return "\n".join(parts) + "\n"


def _excerpt(line: str, place: Position) -> tuple[str, int]:
    """The source line as shown, clipped around the column, and how many cells before the caret."""
    column = min(max(place.column - 1, 0), len(line))
    start = max(0, column - WIDTH // 2) if len(line) > WIDTH else 0
    end = min(len(line), start + WIDTH)
    before, after = _shown(line[start:column]), _shown(line[column:end])
    if start:
        before = "…" + before
    return before + after + ("…" if end < len(line) else ""), sum(map(_cells, before))


def _shown(text: str) -> str:
    return printable(text.replace("\t", TAB))


def _cells(character: str) -> int:
    """Terminal cells of a character: two when wide, none when it combines with the one before."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
