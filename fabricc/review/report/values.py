"""Parts of the page: sections of tables, pictures and paragraphs, decided before any HTML is written."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell = str | int | float
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; the first cell of a row names it.

    Attributes:
        key: unique on the page; the target of links.
        codes: numbers of the columns whose text is code (names, prefixes), for a fixed-width font.
        right: numbers of columns aligned like numbers, although some cells are text.
        note: a sentence below; empty for none.
        folded: drawn so that a reader can fold it away.
        severity: the first column is the severity of the row.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    codes: tuple[int, ...] = ()
    note: str = ""
    right: tuple[int, ...] = ()
    folded: bool = False
    severity: bool = False
    kind: str = field(default="table", init=False)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether it is aligned as numbers are."""
        return tuple(
            at in self.right
            or (bool(self.rows) and all(isinstance(row[at], int | float) for row in self.rows))
            for at in range(len(self.columns))
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing: SVG text in which everything is escaped already, and the same in words."""

    key: str
    svg: str
    caption: str
    words: tuple[str, ...] = ()
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str
    kind: str = field(default="prose", init=False)


Part = Table | Picture | Prose


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading that the navigation lists."""

    key: str
    title: str
    lead: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that the reader should see first, with what it counts and how it comes about."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page.

    Attributes:
        status: `error`, `warning` or `good`: how the findings leave the plan.
        verdict: the same in a sentence or two.
        identity: label and value of what the page was made from; values are code.
        subject: what the page is; `origin`: what all of it was made from, in words.
        signed: whether there are lines to sign on.
    """

    title: str
    summary: str
    status: str
    verdict: tuple[str, ...]
    figures: tuple[Figure, ...]
    identity: tuple[tuple[str, str], ...]
    sections: Sequence[Section]
    subject: str = "Fabric report"
    origin: str = "the spec, the lock and the catalog alone"
    signed: bool = True
