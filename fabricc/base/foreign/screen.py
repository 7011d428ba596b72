"""The output of a verb as values: styled lines and tables. Only the command line prints them, escaped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from fabricc.base.foreign.text import Terminal

_QUOTED = re.compile(r"`[^`]*`")


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


def break_line(text: str, room: int) -> list[str]:
    """Return a line in parts that fit the terminal; what is in backquotes is to be copied, and stays whole."""
    if isinstance(text, Terminal) or len(text) <= room:
        return [text]
    margin = " " * (len(text) - len(text.lstrip()) + 2)
    kept = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", "\0"), text)
    parts = textwrap.wrap(
        kept, room, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [part.replace("\0", " ") for part in parts]
