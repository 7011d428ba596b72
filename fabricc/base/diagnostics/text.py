"""Render diagnostics: for people with place, source line, caret and remedy, and in the formats for programs."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.text import Rendered, Terminal, visible_text
from fabricc.base.secret_words import HIDDEN, secrets_by_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SPEC = re.compile(r"^cluster:", re.MULTILINE)
_SPEC_SECRET = re.compile(r"((?<![\w-])(?:password|key|community|auth|privacy)\s*:\s+)(?![{&*!|>\s])[^\s,}]+")
"""A text in the place of a mapping with the name of a secret."""
WIDTH = 100
_NARROWEST = 20
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
BOLD, DIM = "1", "2"


def render_text(
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, str],
    *,
    color: bool = False,
    width: int | None = None,
) -> Terminal:
    """Return all findings and a count; an empty text when there is none.

    Args:
        diagnostics: shown in the order given.
        sources: file -> its text, for the source lines; a file not in it is shown without.
        color: with ANSI colors. Nothing else in the result is an escape sequence, whatever the input holds.
        width: columns of the terminal, at which messages and remedies break between words; None breaks no line.
    """
    found = list(diagnostics)
    if not found:
        return Terminal()
    lines = {file: LINE_BREAK.split(text) for file, text in sources.items()}
    shown = {each.position.file for each in found if each.position}
    for file in shown & sources.keys():
        _hide_secrets(lines[file], sources[file])
    blocks = [_finding_block(each, lines, color, width) for each in found]
    return Terminal("\n").join([*blocks, severity_summary(found), Terminal()])


def _hide_secrets(lines: list[str], source: str) -> None:
    """Replace the secrets of a configuration, and those that a spec has where a reference belongs."""
    if _SPEC.search(source):
        lines[:] = [_SPEC_SECRET.sub(rf"\1{HIDDEN}", line) for line in lines]
        return
    for number, word in secrets_by_line("\n".join(lines)):
        lines[number - 1] = lines[number - 1].replace(word, HIDDEN)


def severity_summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return how many of each severity: `2 errors, 1 warning`."""
    severities = [each.severity for each in diagnostics]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


def _finding_block(
    each: Diagnostic, lines: Mapping[str, list[str]], color: bool, width: int | None
) -> Terminal:
    tint, bold, dim = (COLORS[each.severity], BOLD, DIM) if color else ("", "", "")
    styled, place = Terminal.style_text, each.position
    where = styled(bold, f"{place.file}:{place.line}:{place.column}:") + " " if place else Terminal()
    head = styled(tint, f"{each.severity} {each.code}:")
    before = f"{place.file}:{place.line}:{place.column}: " if place else ""
    first, *more = _wrap_text(
        each.message, len(visible_text(f"{before}{each.severity} {each.code}: ")), 2, width
    )
    parts = [Terminal("{}{} {}").format(where, head, first), *map(Terminal("  {}").format, more)]
    gutter = ""
    if place is not None and 0 < place.line <= len(lines.get(place.file, ())):
        gutter = " " * len(str(place.line))
        room = WIDTH if width is None else min(WIDTH, max(width - len(gutter) - len(" | ……"), _NARROWEST))
        source, offset = _clip_source(lines[place.file][place.line - 1], place, room)
        bar = styled(dim, f"{place.line} |")
        parts.append(Terminal("{} {}").format(bar, source.rstrip()) if source.strip() else bar)
        parts.append(Terminal("{} {}{}").format(styled(dim, f"{gutter} |"), " " * offset, styled(tint, "^")))
    if each.help:
        indent = f"{gutter} = " if gutter else "  "
        margin = len(f"{indent}help: ")
        first, *more = (
            line for text in each.help.split("\n") for line in _wrap_text(text, margin, margin, width)
        )
        parts.append(Terminal("{} {}").format(styled(dim, f"{indent}help:"), first))
        parts += [Terminal("{}{}").format(" " * margin, part) for part in more]
    return Terminal("\n").join([*parts, Terminal()])


def _wrap_text(text: str, first: int, margin: int, width: int | None) -> list[str]:
    """The text in lines of whole words; `first` and `margin` are the columns before the first line and the others."""
    shown = visible_text(text)
    if width is None or first + len(shown) <= width:
        return [shown]
    width = max(width, _NARROWEST)
    begun = "x" * min(first, width - 1)
    lines = textwrap.wrap(
        begun + shown, width, subsequent_indent=" " * margin, break_long_words=False, break_on_hyphens=False
    )
    return [lines[0][len(begun) :], *(part[margin:] for part in lines[1:])]


def _clip_source(line: str, place: Position, room: int) -> tuple[str, int]:
    """Return the source line as shown, clipped around the column, and how many cells before the caret."""
    column = min(max(place.column - 1, 0), len(line))
    start = max(0, column - room // 2) if len(line) > room else 0
    end = min(len(line), start + room)
    before, after = visible_text(line[start:column]), visible_text(line[column:end])
    if start:
        before = "…" + before
    return before + after + ("…" if end < len(line) else ""), sum(map(_cell_width, before))


def _cell_width(character: str) -> int:
    """Terminal cells of a character: two when wide, none when it combines with the one before."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


FORMATS = ("text", "json", "sarif", "github", "junit", "gitlab")


def render_document(
    diagnostics: Iterable[Diagnostic], format: str, advice: Mapping[str, tuple[str, str]] | None = None
) -> Rendered:
    """Return the findings for a program, in one of `FORMATS` but `text`.

    Args:
        diagnostics: the findings.
        format: the format.
        advice: code -> its cause and its remedy, which SARIF shows with the rule.

    Raises:
        ValueError: no such format.
    """
    from fabricc.base.diagnostics import formats  # XML and SARIF, which no person at a terminal waits for

    if format == "sarif":
        return formats.render_sarif(diagnostics, advice)
    renderers = {
        "json": formats.render_json,
        "github": formats.render_github,
        "junit": formats.render_junit,
        "gitlab": formats.render_gitlab,
    }
    if format not in renderers:
        raise ValueError(format)
    return renderers[format](diagnostics)
