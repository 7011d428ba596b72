"""Documents with text that others wrote: CSV, HTML, JSON, Markdown, SARIF, XML, workbooks, commands of a runner.

A spreadsheet calculates no text in a workbook. Markdown is escaped as GitHub, GitLab, Bitbucket and Azure DevOps read
it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from markupsafe import Markup, escape

from fabricc.base.foreign import text as foreign_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from jinja2 import Template as JinjaTemplate


_LOGGED = re.compile(foreign_text.HASHES, re.IGNORECASE)
_FORMULA = re.compile(r"^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?%?$|-$")
_SIGNS = ("=", "+", "-", "@", " ")
_SURROGATE = re.compile("[\ud800-\udfff]")


def escape_html(text: object) -> Markup:
    """Return a value in HTML, text or the value of an attribute; what is markup already stays."""
    if hasattr(text, "__html__"):
        return escape(text)
    return Markup(
        foreign_text.neutral_markup(
            str(escape("\n".join(map(foreign_text.visible_text, foreign_text.BREAK.split(str(text))))))
        )
    )


def html_document(template: JinjaTemplate, **values: object) -> foreign_text.Rendered:
    """Return a page from a template whose environment escapes (`html` as its `finalize`)."""
    if not template.environment.autoescape:
        raise ValueError("the template does not escape")
    return foreign_text.Rendered(template.render(**values))


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, a line each; a spreadsheet calculates no text in it."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(map(table_cell, row) for row in rows)
    return buffer.getvalue()


def table_cell(value: object) -> object:
    """A value of a table: text on one line, after an apostrophe where it would be a formula; numbers as they are."""
    if type(value) is not str:
        return value if isinstance(value, (int, float, type(None))) else table_cell(str(value))
    if value.isascii() and value.isprintable() and not value.startswith(_SIGNS):
        return value
    shown = foreign_text.visible_text(value)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.match(shown) else shown


def json_document(value: object, *, indent: int = 2, sort_keys: bool = False) -> foreign_text.Rendered:
    """A value as JSON: nothing in it is obeyed where it is printed, and whoever reads it gets every text as it was.

    Half a surrogate pair, which no UTF-8 holds, becomes U+FFFD.
    """
    written = io.StringIO()
    json.dump(value, written, indent=indent, sort_keys=sort_keys, ensure_ascii=False)
    written.write("\n")
    text = written.getvalue()
    del written
    return escape_json(text)


def escape_json(text: str) -> foreign_text.Rendered:
    """JSON as it was written without escapes for other than ASCII, with what `json_document` promises."""
    if not text.isascii() or "\x7f" in text:
        text = "".join([c if foreign_text.is_shown(c) or c == "\n" else _json_escape(c) for c in text])
    return foreign_text.Rendered(_LOGGED.sub(r"\\u0023", text) if "##" in text else text)


def _json_escape(character: str) -> str:
    if _SURROGATE.match(character):
        return "\ufffd"
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def sarif_message(text: str) -> str:
    """Return a message of SARIF, where brackets before a parenthesis would be a link (2.1.0, section 3.11.6)."""
    return foreign_text.safe_block(text).replace("](", "] (")


def xml_document(root: Element) -> foreign_text.Rendered:
    """Return an XML document, indented; its texts and attributes as lines of a terminal."""
    from xml.etree import ElementTree

    for element in root.iter():
        element.text = element.text and _visible_text(element.text)
        for name, value in element.items():
            element.set(name, _visible_text(value))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return foreign_text.Rendered(
        f'<?xml version="1.0" encoding="UTF-8"?>\n{foreign_text.neutral_markup(text)}\n'
    )


def _visible_text(text: str) -> str:
    return "\n".join(map(foreign_text.visible_text, foreign_text.BREAK.split(text)))


def workflow_commands(commands: Iterable[tuple[str, Mapping[str, str], str]]) -> foreign_text.Rendered:
    """Commands of GitHub's runner, a line each: name, properties, message."""
    lines = []
    for name, properties, message in commands:
        stated = ",".join(
            f"{key}={_escape_property(foreign_text.safe_line(value))}" for key, value in properties.items()
        )
        lines.append(f"::{name} {stated}::{_escape_data(foreign_text.safe_block(message))}\n")
    return foreign_text.Rendered("".join(lines))


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


WIDEST = 60


class NoWorkbookError(Exception):
    """The library that writes workbooks is not installed."""


def build_workbook(sheets: Iterable[tuple[str, Sequence[Sequence[object]]]]) -> bytes:
    """Sheets of a name and rows each, the first row its head, as the bytes of an `.xlsx`.

    Raises:
        NoWorkbookError: openpyxl is not installed.
    """
    try:
        import openpyxl  # an extra that need not be installed
    except ImportError:
        raise NoWorkbookError from None
    book = openpyxl.Workbook(write_only=True)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for column, values in enumerate(zip(*rows, strict=True), start=1):
            width = max(len(str(value)) for value in values) + 2
            sheet.column_dimensions[openpyxl.utils.get_column_letter(column)].width = min(width, WIDEST)
        for number, row in enumerate(rows):
            cells = [openpyxl.cell.WriteOnlyCell(sheet, value=_cell_value(value)) for value in row]
            for cell in cells:
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # also of a text that begins like a formula
                if number == 0:
                    cell.font = openpyxl.styles.Font(bold=True)
            sheet.append(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell_value(value: object) -> str | int | float | None:
    return value if isinstance(value, int | float | None) else foreign_text.visible_text(str(value))


_APART = "&#8203;"
"""A space of no width, as an entity: it parts what a forge would link, and is not seen."""
_REFERENCE = re.compile(
    r"@(?=\S)"  # people, teams, addresses of mail
    r"|[#!%~^](?=[\w\"'\\])|&amp;(?=\d)|\$(?=\d)"  # issues, requests, milestones, labels, alerts, epics, snippets
    r"|\bGH-(?=\d)|:(?=//)|www(?=\.)|\[(?=\\?\[)",  # issues of GitHub, addresses, wiki pages
    re.IGNORECASE,
)
_INLINE = re.compile(r"[\\`*_|~]")
_BRACKETS = re.compile(r"^\s*\[|!\[|\[[\[^]|\][(\[:]")
"""Positions of a bracket with a meaning: an image, a link, its definition, a footnote, the box of a task."""
_BLOCK = re.compile(r"^(#{1,6}|[-+=]|[-+=]{2,}|\d{1,9}[.)])(?=\s|$)|^(-{2,}|={2,})")
"""Characters that make a line a heading, a list or a rule."""
_OPENING = re.compile(r"\s|::|/[a-z_]+(?=\s|$)")
"""Characters with a meaning at the start of a line: code, a quick action of GitLab, and their beginnings."""
_ADDRESS = ":/?#[]@!$&'*+,;=%~"
"""Characters of an address (RFC 3986) that do not end a Markdown link."""


def _escape_prose(text: str) -> str:
    shown = foreign_text.visible_text(foreign_text.BREAK.sub(" ", text))
    brackets = _BRACKETS.search(shown) is not None
    shown = _escape_entities(_INLINE.sub(r"\\\g<0>", shown))
    if brackets:
        shown = shown.replace("[", "\\[").replace("]", "\\]")
    if begins := _BLOCK.match(shown):
        at = begins.end() - 1
        shown = f"{shown[:at]}\\{shown[at:]}"
    shown = _remove_links(shown)
    return f"&#{ord(shown[0])};{shown[1:]}" if _OPENING.match(shown) else shown


def _escape_entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _remove_links(text: str) -> str:
    """Markdown or HTML in which forges find nobody to call, nothing to link, no formula and no command."""
    parted = _REFERENCE.sub(lambda found: f"{found[0]}{_APART}", text)
    return foreign_text.neutral_markup(parted.replace("$", "&#36;"))


def inert_text(text: str) -> str:
    """Text that ends neither a comment of HTML nor a title of Markdown, nor breaks the line."""
    return re.sub(
        r"-{2,}",
        "-",
        re.sub(r"[^\w :./,=+@%-]", lambda found: quote(foreign_text.visible_text(found[0])), text),
    )


class Markdown(foreign_text.Template):
    """Markdown as the forges read it; foreign text is prose of one line, which links nothing and calls nobody."""

    __slots__ = ()
    _escape = staticmethod(_escape_prose)

    @classmethod
    def code(cls, text: str) -> Self:
        """Foreign text as a code span."""
        shown = foreign_text.visible_text(text) or " "
        longest = max(map(len, re.findall("`+", shown)), default=0)
        fence = "`" * (longest + 1)
        # CommonMark 6.1: one space on either side is taken away again, unless there are spaces alone.
        pad = " " if shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ") else ""
        return cls(foreign_text.neutral_text(f"{fence}{pad}{shown}{pad}{fence}"))

    @classmethod
    def code_block(cls, text: str, language: str = "") -> Self:
        """Foreign text as a block of code, whose fence is longer than any in it."""
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        return cls(f"{fence}{language}\n{foreign_text.safe_block(text)}\n{fence}")

    @classmethod
    def from_words(cls, text: str) -> Self:
        """Return a sentence of ours with foreign words in it; what stands between backquotes becomes code."""
        parts = text.split("`")
        if len(parts) % 2 == 0:
            return cls.escaped(text)
        return cls("".join(cls.code(p) if at % 2 else cls.escaped(p) for at, p in enumerate(parts) if p))

    @classmethod
    def html(cls, text: str) -> Self:
        """Foreign text inside an element of HTML, where Markdown is not read."""
        return cls(_remove_links(_escape_entities(foreign_text.visible_text(text))))

    @classmethod
    def hidden(cls, text: str, *, html: bool) -> Self:
        """A line that is not shown: a comment, or a link's definition where HTML does not work."""
        return cls(f"<!-- {inert_text(text)} -->" if html else f"[//]: # ({inert_text(text)})")

    @classmethod
    def link(cls, words: str, address: str) -> Self:
        """Return a link to an address of the user's own."""
        return cls(f"[{_escape_prose(words)}]({quote(address, safe=_ADDRESS)})")

    def collapse_blank_lines(self) -> Self:
        """With one blank line where there are more."""
        return type(self)(re.sub(r"\n{3,}", "\n\n", self))
