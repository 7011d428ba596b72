"""Tables, styles and pages, drawn by rich; what is drawn here, `output` prints."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from fabricc.base.foreign.text import Line, Part, Table, break_line, safe_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_WIDEST_PAGE = 100


_BETWEEN = 3
"""Columns between two cells of a row."""


_WHOLE = 10_000
"""Columns of what is no terminal: each row of a table on one line, for those who search and cut."""


def terminal_width() -> int:
    """Return the columns of the terminal, 80 without one."""
    return Console().width


def render_page(text: str) -> str:
    """Return a page of Markdown laid out for the terminal."""
    from rich.markdown import (
        Markdown as Page,  # with its parser as long to import as all the rest of rich; for `docs` alone
    )

    console = Console(
        highlight=False, no_color="NO_COLOR" in os.environ, width=min(terminal_width(), _WIDEST_PAGE)
    )
    with console.capture() as captured:
        console.print(Page(text, hyperlinks=False))
    return captured.get()


def render_parts(shown: Iterable[Part]) -> str:
    """Return lines in their style, and tables."""
    room = None if sys.stdout.isatty() else _WHOLE
    console = Console(highlight=False, no_color="NO_COLOR" in os.environ, width=room)
    with console.capture() as captured:
        for part in shown:
            if isinstance(part, Line):
                whole = break_line(safe_line(part.text), _WHOLE if part.rest else console.width)
                text = Text("\n".join(whole), part.style)
                console.print(
                    text.append(safe_line(part.rest), "default") if part.rest else text, soft_wrap=True
                )
            else:
                if part.title:
                    console.print(Text(safe_line(part.title), "bold"), soft_wrap=True)
                console.print(_draw_table(part, console.width), soft_wrap=not part.title)
    return captured.get()


def _draw_table(table: Table, room: int) -> Drawn:
    drawn = Drawn(box=box.SIMPLE_HEAD if table.title else None, pad_edge=False, header_style="bold")
    rows = [
        [f"{cell:,}" if type(cell) in (int, float) else safe_line(str(cell)) for cell in row]
        for row in table.rows
    ]
    columns = list(zip(map(safe_line, table.head), *rows, strict=True))
    widths = _column_widths(columns, room) if table.title else [None] * len(columns)
    for index, ((name, *_), width) in enumerate(zip(columns, widths, strict=True)):
        numeric = table.title and all(isinstance(row[index], int | float) for row in table.rows)
        drawn.add_column(
            Text(name),
            justify="right" if numeric else "left",
            overflow="fold" if table.title else "ellipsis",
            width=width,
        )
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn


def _column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column: its longest cell, reduced from the widest column on if room is short.

    No column gets narrower than its longest word while another can; rich itself would cut words.
    """
    widths = [max(map(cell_len, cells)) for cells in columns]
    words = [max(map(cell_len, " ".join(cells).split()), default=1) for cells in columns]
    room -= _BETWEEN * (len(columns) - 1) + 3
    while (over := sum(widths) - room) > 0 and widths != words:
        widest, at = max((width, at) for at, width in enumerate(widths) if width > words[at])
        widths[at] = max(words[at], widest - over, *(width for width in widths if width < widest), 1)
    return widths
