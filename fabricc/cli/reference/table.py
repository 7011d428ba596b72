"""Render a Markdown table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def render_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a row of names; "|" and line breaks in cells are escaped."""
    lines = [_format_row(head), "|" + "---|" * len(head), *map(_format_row, rows)]
    return "\n".join(lines) + "\n"


def _format_row(cells: Sequence[object]) -> str:
    texts = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(texts) + " |"
