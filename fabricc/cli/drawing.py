"""Tables, styles and pages, drawn by rich; what is drawn here, `output` prints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from fabricc.base.foreign.screen import Line
from fabricc.base.foreign.text import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.foreign.screen import Part, Table

_WIDEST_PAGE = 100


def width() -> int:
    """Columns of the terminal, 80 where there is none."""
    return Console().width


def page(text: str) -> str:
    """A page of Markdown laid out for the terminal."""
    from rich.markdown import (
        Markdown as Page,  # with its parser as long to import as all the rest of rich; for `docs` alone
    )

    console = Console(highlight=False, no_color="NO_COLOR" in os.environ, width=min(width(), _WIDEST_PAGE))
    with console.capture() as captured:
        console.print(Page(text, hyperlinks=False))
    return captured.get()


def parts(shown: Iterable[Part]) -> str:
    """Lines in their style, and tables."""
    console = Console(highlight=False, no_color="NO_COLOR" in os.environ)
    with console.capture() as captured:
        for part in shown:
            if isinstance(part, Line):
                text = Text(line(part.text), part.style)
                console.print(text.append(line(part.rest), "default") if part.rest else text, soft_wrap=True)
            else:
                console.print(_drawn(part), soft_wrap=not part.title)
    return captured.get()


def _drawn(table: Table) -> Drawn:
    if table.title:
        drawn = Drawn(
            title=Text(line(table.title), "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
        )
    else:
        drawn = Drawn(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(table.head):
        numeric = table.title and all(isinstance(row[index], int | float) for row in table.rows)
        drawn.add_column(
            Text(line(name)),
            justify="right" if numeric else "left",
            overflow="fold" if table.title else "ellipsis",
        )
    for row in table.rows:
        drawn.add_row(*(Text(f"{cell:,}" if type(cell) in (int, float) else line(str(cell))) for cell in row))
    return drawn
