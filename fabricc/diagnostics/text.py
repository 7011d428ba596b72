"""Diagnostics for people: place, message, the source line with a caret, and the remedy."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from fabricc.diagnostics.model import Severity
from fabricc.foreign.text import Terminal, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.diagnostics.model import Diagnostic, Position

LINE_BREAK = re.compile(r"\r\n|\r|\n")
WIDTH = 100
COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
BOLD, DIM = "1", "2"


def render_text(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], *, colour: bool = False
) -> Terminal:
    """All findings and a count; the empty text when there is none.

    Args:
        diagnostics: shown in the order given.
        sources: file -> its text, for the source lines; a file not in it is shown without.
        colour: with ANSI colours. Nothing else in the result is an escape sequence, whatever the input holds.
    """
    found = list(diagnostics)
    if not found:
        return Terminal()
    lines = {file: LINE_BREAK.split(text) for file, text in sources.items()}
    blocks = [_block(each, lines, colour) for each in found]
    return Terminal("\n").join([*blocks, summary(found), Terminal()])


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many of each severity: `2 errors, 1 warning`."""
    severities = [each.severity for each in diagnostics]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


def _block(each: Diagnostic, lines: Mapping[str, list[str]], colour: bool) -> Terminal:
    tint, bold, dim = (COLOURS[each.severity], BOLD, DIM) if colour else ("", "", "")
    styled, place = Terminal.styled, each.position
    where = styled(bold, f"{place.file}:{place.line}:{place.column}:") + " " if place else Terminal()
    head = styled(tint, f"{each.severity} {each.code}:")
    parts = [Terminal("{}{} {}").format(where, head, each.message)]
    gutter = ""
    if place is not None and 0 < place.line <= len(lines.get(place.file, ())):
        gutter = " " * len(str(place.line))
        source, offset = _excerpt(lines[place.file][place.line - 1], place)
        bar = styled(dim, f"{place.line} |")
        parts.append(Terminal("{} {}").format(bar, source.rstrip()) if source.strip() else bar)
        parts.append(Terminal("{} {}{}").format(styled(dim, f"{gutter} |"), " " * offset, styled(tint, "^")))
    if each.help:
        indent = f"{gutter} = " if gutter else "  "
        parts.append(Terminal("{} {}").format(styled(dim, f"{indent}help:"), each.help))
    return Terminal("\n").join([*parts, Terminal()])


def _excerpt(line: str, place: Position) -> tuple[str, int]:
    """The source line as shown, clipped around the column, and how many cells before the caret."""
    column = min(max(place.column - 1, 0), len(line))
    start = max(0, column - WIDTH // 2) if len(line) > WIDTH else 0
    end = min(len(line), start + WIDTH)
    before, after = visible(line[start:column]), visible(line[column:end])
    if start:
        before = "…" + before
    return before + after + ("…" if end < len(line) else ""), sum(map(_cells, before))


def _cells(character: str) -> int:
    """Terminal cells of a character: two when wide, none when it combines with the one before."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
