"""Reads a report as a strict reader would: every tag closed, every identifier once, every link with its target."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "rect", "path", "polygon"}
LOADING = ("src", "href", "xlink:href", "srcset", "action", "formaction", "poster", "data", "background")


@dataclass
class Table:
    """The texts of a table as shown."""

    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def column(self, name: str) -> list[str]:
        at = self.head.index(name)
        return [row[at] for row in self.rows]


class Page(HTMLParser):
    """The page read: tables by key, texts, links, and everything that names something to load."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, Table] = {}
        self.ids: list[str] = []
        self.loads: list[tuple[str, str]] = []
        self.handlers: list[str] = []
        self.policy = ""
        self.blocks: dict[str, list[str]] = {"style": [], "script": [], "h1": [], "title": []}
        self.text: list[str] = []
        self._open: list[str] = []
        self._table: Table | None = None
        self._cell: list[str] | None = None
        self.feed(html)
        self.close()
        assert self._open == [], f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(tag)
        named = dict(attrs)
        assert len(named) == len(attrs), f"an attribute twice: {tag} {attrs}"
        self.handlers += [name for name in named if name.startswith("on") or name == "style"]
        self.loads += [(name, named[name] or "") for name in LOADING if name in named]
        if (key := named.get("id")) is not None:
            self.ids.append(key)
        if tag == "meta" and named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""
        if tag == "table":
            self._table = self.tables[(named["id"] or "").removesuffix("-table")] = Table()
        if tag == "tr" and self._table is not None and "tbody" in self._open:
            self._table.rows.append([])
        if tag in ("td", "th"):
            self._cell = []
        if tag in ("style", "script"):
            self.blocks[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, tag
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"nothing open at </{tag}>"
        assert self._open.pop() == tag, f"</{tag}> closes another"
        if tag in ("td", "th") and self._table is not None and self._cell is not None:
            cells = self._table.rows[-1] if "tbody" in self._open else self._table.head
            cells.append("".join(self._cell))
            self._cell = None
        if tag == "table":
            self._table = None

    def handle_data(self, data: str) -> None:
        place = self._open[-1] if self._open else ""
        if place in ("style", "script"):
            self.blocks[place][-1] += data
            return
        if place in self.blocks:
            self.blocks[place].append(data)
        if self._cell is not None:
            self._cell.append(data)
        self.text.append(data)


def parse_number(text: str) -> int:
    """A whole number as people write it."""
    return int(text.replace(",", ""))
