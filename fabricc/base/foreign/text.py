"""Text that others wrote (specs, file names, devices, neighbours), escaped for each format in which it is shown."""

from __future__ import annotations

import csv
import io
import json
import re
import string
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from markupsafe import Markup, escape

from fabricc.base.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from jinja2 import Template

TAB = "    "
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that are printable by their category and show nothing (Unicode, Default_Ignorable_Code_Point)."""
_BREAK = pattern(r"\r\n|\n")
_HASHES = r"#(?=#[a-z]*\[)"
_LOGGED = pattern(_HASHES, re.IGNORECASE)
_COMMAND = pattern(rf"^([^\S\n]*):(?=:[a-z][^\n]*::)|{_HASHES}", re.MULTILINE | re.IGNORECASE)
"""What runners obey: `::error::` where a line begins (GitHub); `##[…]`, `##vso[…]` and `##teamcity[…]` anywhere in one
(GitHub, Azure Pipelines, TeamCity). GitLab's sections need a carriage return and an escape, which never remain."""
_APART = "&#8203;"
"""A space of no width, as an entity: it parts what a forge would link, and is not seen."""
_REFERENCE = pattern(
    r"@(?=\S)"  # people, teams, addresses of mail
    r"|[#!%~^](?=[\w\"'\\])|&amp;(?=\d)|\$(?=\d)"  # issues, requests, milestones, labels, alerts, epics, snippets
    r"|\bGH-(?=\d)|:(?=//)|www(?=\.)|\[(?=\\?\[)",  # issues of GitHub, addresses, wiki pages
    re.IGNORECASE,
)
_INLINE = pattern(r"[\\`*_|~]")
_BRACKETS = pattern(r"^\s*\[|!\[|\[[\[^]|\][(\[:]")
"""Where a bracket may be more than itself: an image, a link, its definition, a footnote, the box of a task."""
_BLOCK = pattern(r"^(#{1,6}|[-+=]|[-+=]{2,}|\d{1,9}[.)])(?=\s|$)|^(-{2,}|={2,})")
"""What makes a heading, a list or a rule of the line that it begins."""
_OPENING = pattern(r"\s|::|/[a-z_]+(?=\s|$)")
"""What means more where a line begins: code, a command whose rest the next text may bring, a quick action of GitLab."""
_FORMULA = pattern(r"^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = pattern(r"[-+]?[0-9]+(\.[0-9]+)?%?$|-$")
_SIGNS = ("=", "+", "-", "@", " ")
_SURROGATE = pattern("[\ud800-\udfff]")


class Safe(str):
    """Text that is right for the format that it is in, because it was made here; nobody else makes one."""

    __slots__ = ()


class Rendered(Safe):
    """A whole document: JSON, SARIF, XML, HTML, workflow commands."""

    __slots__ = ()


class _Template(Safe):
    """Text of our own, a literal; what is put into it is escaped unless it is of the same kind."""

    __slots__ = ()

    @classmethod
    def escaped(cls, text: str) -> Self:
        """A foreign text in this format."""
        raise NotImplementedError

    def format(self, *values: object, **named: object) -> Self:
        """The literal with values in its braces, each escaped."""
        return type(self)(_Escaping(type(self)).vformat(self, values, named))

    def join(self, parts: Iterable[str]) -> Self:
        """The parts, each escaped, with the literal between."""
        kind = type(self)
        shown = [part if isinstance(part, kind) else kind.escaped(part) for part in parts]
        return kind(str.join(self, shown))

    def __add__(self, other: str) -> Self:
        kind = type(self)
        return kind(str.__add__(self, other if isinstance(other, kind) else kind.escaped(other)))


class _Escaping(string.Formatter):
    def __init__(self, kind: type[_Template]) -> None:
        self.kind = kind

    def format_field(self, value: object, format_spec: str) -> str:
        """A value, escaped after it was laid out."""
        if isinstance(value, self.kind):
            return value
        return self.kind.escaped(format(value, format_spec))


class Terminal(_Template):
    """What goes to a terminal or a log, perhaps several lines, perhaps with colours of our own."""

    __slots__ = ()

    @classmethod
    def escaped(cls, text: str) -> Self:
        """One line of foreign text."""
        return cls(line(text))

    @classmethod
    def styled(cls, style: str, text: str) -> Self:
        """Foreign text in a style of ECMA-48's SGR, such as `1;31`; as it is where that is empty."""
        shown = text if isinstance(text, cls) else line(text)
        return cls(f"\x1b[{style}m{shown}\x1b[0m" if style else shown)


class Markdown(_Template):
    """Markdown as GitHub, GitLab, Bitbucket and Azure DevOps read it."""

    __slots__ = ()

    @classmethod
    def escaped(cls, text: str) -> Self:
        """Foreign text as prose of one line, which links nothing and calls nobody."""
        return cls(_prose(text))

    @classmethod
    def code(cls, text: str) -> Self:
        """Foreign text as a code span."""
        shown = visible(text) or " "
        longest = max(map(len, re.findall("`+", shown)), default=0)
        fence = "`" * (longest + 1)
        # CommonMark 6.1: one space on either side is taken away again, unless there are spaces alone.
        pad = " " if shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ") else ""
        return cls(neutral(f"{fence}{pad}{shown}{pad}{fence}"))

    @classmethod
    def fenced(cls, text: str, language: str = "") -> Self:
        """Foreign text as a block of code, whose fence is longer than any in it."""
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        return cls(f"{fence}{language}\n{block(text)}\n{fence}")

    @classmethod
    def told(cls, text: str) -> Self:
        """A sentence of ours with foreign words in it; what stands between backquotes becomes code."""
        parts = text.split("`")
        if len(parts) % 2 == 0:
            return cls.escaped(text)
        return cls("".join(cls.code(p) if at % 2 else cls.escaped(p) for at, p in enumerate(parts) if p))

    @classmethod
    def html(cls, text: str) -> Self:
        """Foreign text inside an element of HTML, where Markdown is not read."""
        return cls(_unlinked(_entities(visible(text))))

    @classmethod
    def hidden(cls, text: str, *, html: bool) -> Self:
        """A line that is not shown: a comment, or a link's definition where HTML does not work."""
        return cls(f"<!-- {inert(text)} -->" if html else f"[//]: # ({inert(text)})")

    @classmethod
    def link(cls, words: str, address: str) -> Self:
        """A link to an address of the user's own."""
        return cls(f"[{_prose(words)}]({quote(address, safe=_ADDRESS)})")

    def unspaced(self) -> Self:
        """With one blank line where there are more."""
        return type(self)(re.sub(r"\n{3,}", "\n\n", self))


_ADDRESS = ":/?#[]@!$&'*+,;=%~"
"""What an address may hold (RFC 3986) and does not end a Markdown link."""


def visible(text: str) -> str:
    r"""The text on one line, what a terminal obeys or does not show as escapes (`\x1b`, `\u202e`), tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([c if _shows(c) else _escape(c) for c in text])


def _shows(character: str) -> bool:
    return character.isprintable() and character not in _FILLERS


def _escape(character: str) -> str:
    if character == "\t":
        return TAB
    return character if character == "\u00a0" else character.encode("unicode_escape").decode()


def neutral(text: str) -> str:
    """The lines, with a backslash in what a runner of a forge would obey."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}\\:" if found[1] is not None else "#\\", text)


def line(text: str) -> str:
    """A line of a terminal or a log."""
    return neutral(visible(text))


def block(text: str) -> str:
    """Lines of a terminal or a log, where the text breaks them."""
    return "\n".join(map(line, _BREAK.split(text)))


def _prose(text: str) -> str:
    shown = visible(_BREAK.sub(" ", text))
    brackets = _BRACKETS.search(shown) is not None
    shown = _entities(_INLINE.sub(r"\\\g<0>", shown))
    if brackets:
        shown = shown.replace("[", "\\[").replace("]", "\\]")
    if begins := _BLOCK.match(shown):
        at = begins.end() - 1
        shown = f"{shown[:at]}\\{shown[at:]}"
    shown = _unlinked(shown)
    return f"&#{ord(shown[0])};{shown[1:]}" if _OPENING.match(shown) else shown


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _unlinked(text: str) -> str:
    """Markdown or HTML in which forges find nobody to call, nothing to link, no formula and no command."""
    parted = _REFERENCE.sub(lambda found: f"{found[0]}{_APART}", text)
    return _unobeyed(parted.replace("$", "&#36;"))


def _unobeyed(text: str) -> str:
    """As `neutral`, where characters can be written as entities."""
    return _COMMAND.sub(lambda found: f"{found[1]}&#58;" if found[1] is not None else "&#35;", text)


def inert(text: str) -> str:
    """Text that ends neither a comment of HTML nor a title of Markdown, nor breaks the line."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^\w :./,=+@%-]", lambda found: quote(visible(found[0])), text))


def html(text: object) -> Markup:
    """A value in HTML, text or the value of an attribute; what is markup already stays."""
    if hasattr(text, "__html__"):
        return escape(text)
    return Markup(_unobeyed(str(escape("\n".join(map(visible, _BREAK.split(str(text))))))))


def html_document(template: Template, **values: object) -> Rendered:
    """A page from a template whose environment escapes (`html` as its `finalize`)."""
    if not template.environment.autoescape:
        raise ValueError("the template does not escape")
    return Rendered(template.render(**values))


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, a line each; a spreadsheet calculates no text in it."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return buffer.getvalue()


def cell(value: object) -> object:
    """A value of a table: text on one line, after an apostrophe where it would be a formula; numbers as they are."""
    if type(value) is not str:
        return value if isinstance(value, (int, float, type(None))) else cell(str(value))
    if value.isascii() and value.isprintable() and not value.startswith(_SIGNS):
        return value
    shown = visible(value)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.match(shown) else shown


def json_document(value: object, *, indent: int = 2, sort_keys: bool = False) -> Rendered:
    """A value as JSON: nothing in it is obeyed where it is printed, and whoever reads it gets every text as it was.

    Half a surrogate pair, which no UTF-8 holds, becomes U+FFFD.
    """
    written = io.StringIO()
    json.dump(value, written, indent=indent, sort_keys=sort_keys, ensure_ascii=False)
    written.write("\n")
    text = written.getvalue()
    del written
    return json_rendered(text)


def json_rendered(text: str) -> Rendered:
    """JSON as it was written without escapes for other than ASCII, with what `json_document` promises."""
    if not text.isascii() or "\x7f" in text:
        text = "".join([c if _shows(c) or c == "\n" else _json_escape(c) for c in text])
    return Rendered(_LOGGED.sub(r"\\u0023", text) if "##" in text else text)


def _json_escape(character: str) -> str:
    if _SURROGATE.match(character):
        return "\ufffd"
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def sarif_message(text: str) -> str:
    """A message of SARIF, where brackets before a parenthesis would be a link (2.1.0, section 3.11.6)."""
    return block(text).replace("](", "] (")


def xml_document(root: Element) -> Rendered:
    """An XML document, indented; its texts and attributes as lines of a terminal."""
    from xml.etree import ElementTree

    for element in root.iter():
        element.text = element.text and _seen(element.text)
        for name, value in element.items():
            element.set(name, _seen(value))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return Rendered(f'<?xml version="1.0" encoding="UTF-8"?>\n{_unobeyed(text)}\n')


def _seen(text: str) -> str:
    return "\n".join(map(visible, _BREAK.split(text)))


def workflow_commands(commands: Iterable[tuple[str, Mapping[str, str], str]]) -> Rendered:
    """Commands of GitHub's runner, a line each: name, properties, message."""
    lines = []
    for name, properties, message in commands:
        stated = ",".join(f"{key}={_property(line(value))}" for key, value in properties.items())
        lines.append(f"::{name} {stated}::{_data(block(message))}\n")
    return Rendered("".join(lines))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
