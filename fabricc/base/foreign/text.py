"""Text that others wrote (specs, file names, devices, neighbors), escaped for terminals and logs; output as values.

`formats` escapes it for the other formats in which it is shown; nothing else does. The output of a verb is styled lines
and tables, which only the command line prints.
"""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, Self

TAB = "    "
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that are printable by their category and show nothing (Unicode, Default_Ignorable_Code_Point)."""
BREAK = re.compile(r"\r\n|\n")
"""Line breaks of a text."""
HASHES = r"#(?=#[a-z]*\[)"
"""The first of two before a command of a runner."""
_COMMAND = re.compile(rf"^([^\S\n]*):(?=:[a-z][^\n]*::)|{HASHES}", re.MULTILINE | re.IGNORECASE)
"""What runners obey: `::error::` where a line begins (GitHub); `##[…]`, `##vso[…]` and `##teamcity[…]` anywhere in one
(GitHub, Azure Pipelines, TeamCity). GitLab's sections need a carriage return and an escape, which never remain."""


class SafeText(str):
    """Text that is right for the format that it is in, because it was made here; nobody else makes one."""

    __slots__ = ()


class Rendered(SafeText):
    """A whole document: JSON, SARIF, XML, HTML, workflow commands."""

    __slots__ = ()


class Template(SafeText):
    """Text of our own, a literal; what is put into it is escaped unless it is of the same kind."""

    __slots__ = ()
    _escape: ClassVar[staticmethod[[str], str]]
    """Return a foreign text in this format; each format implements it."""

    @classmethod
    def escaped(cls, text: str) -> Self:
        """Return a foreign text in this format."""
        return cls(cls._escape(text))

    def format(self, *values: object, **named: object) -> Self:
        """Return the literal with values in its braces, each escaped."""
        return type(self)(_Escaping(type(self)).vformat(self, values, named))

    def join(self, parts: Iterable[str]) -> Self:
        """Return the parts, each escaped, with the literal between."""
        kind = type(self)
        shown = [part if isinstance(part, kind) else kind.escaped(part) for part in parts]
        return kind(str.join(self, shown))

    def __add__(self, other: str) -> Self:
        kind = type(self)
        return kind(str.__add__(self, other if isinstance(other, kind) else kind.escaped(other)))


class _Escaping(string.Formatter):
    def __init__(self, kind: type[Template]) -> None:
        self.kind = kind

    def format_field(self, value: object, format_spec: str) -> str:
        """Return a value, escaped after it was laid out."""
        if isinstance(value, self.kind):
            return value
        return self.kind.escaped(format(value, format_spec))


def visible_text(text: str) -> str:
    r"""The text on one line, what a terminal obeys or does not show as escapes (`\x1b`, `\u202e`), tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([c if is_shown(c) else _escape_character(c) for c in text])


def is_shown(character: str) -> bool:
    """Return whether a character is seen, and is itself what is seen."""
    return character.isprintable() and character not in _FILLERS


def _escape_character(character: str) -> str:
    if character == "\t":
        return TAB
    return character if character == "\u00a0" else character.encode("unicode_escape").decode()


def neutral_text(text: str) -> str:
    """Return the lines, with a backslash in what a runner of a forge would obey."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}\\:" if found[1] is not None else "#\\", text)


def safe_line(text: str) -> str:
    """Return a line of a terminal or a log."""
    return neutral_text(visible_text(text))


def safe_block(text: str) -> str:
    """Return lines of a terminal or a log, where the text breaks them."""
    return "\n".join(map(safe_line, BREAK.split(text)))


class Terminal(Template):
    """Text for a terminal or a log: several lines, with our colors; foreign text is one line."""

    __slots__ = ()
    _escape = staticmethod(safe_line)

    @classmethod
    def style_text(cls, style: str, text: str) -> Self:
        """Foreign text in a style of ECMA-48's SGR, such as `1;31`; as it is where that is empty."""
        shown = text if isinstance(text, cls) else safe_line(text)
        return cls(f"\x1b[{style}m{shown}\x1b[0m" if style else shown)


def neutral_markup(text: str) -> str:
    """Return neutral text like `neutral`, for formats in which characters can be written as entities."""
    return _COMMAND.sub(lambda found: f"{found[1]}&#58;" if found[1] is not None else "&#35;", text)


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
