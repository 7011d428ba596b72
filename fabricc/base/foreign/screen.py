"""What a verb shows, as values: lines in a style, and tables. Only the command line prints them, each text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """One line: a text in a style (of rich, such as `bold red`), then another text without."""

    text: str = ""
    style: str = ""
    rest: str = ""


class Table(NamedTuple):
    """Columns under their names; ruled and wrapped to the width where it has a title, else as wide as it is."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]


Part = Line | Table
