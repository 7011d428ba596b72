"""Text that others wrote in Markdown, as GitHub, GitLab, Bitbucket and Azure DevOps read it."""

from __future__ import annotations

import re
from typing import Self
from urllib.parse import quote

from fabricc.base.foreign.text import BREAK, Template, neutral_markup, neutral_text, safe_block, visible_text

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
    shown = visible_text(BREAK.sub(" ", text))
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
    return neutral_markup(parted.replace("$", "&#36;"))


def inert_text(text: str) -> str:
    """Text that ends neither a comment of HTML nor a title of Markdown, nor breaks the line."""
    return re.sub(
        r"-{2,}", "-", re.sub(r"[^\w :./,=+@%-]", lambda found: quote(visible_text(found[0])), text)
    )


class Markdown(Template):
    """Markdown as the forges read it; foreign text is prose of one line, which links nothing and calls nobody."""

    __slots__ = ()
    _escape = staticmethod(_escape_prose)

    @classmethod
    def code(cls, text: str) -> Self:
        """Foreign text as a code span."""
        shown = visible_text(text) or " "
        longest = max(map(len, re.findall("`+", shown)), default=0)
        fence = "`" * (longest + 1)
        # CommonMark 6.1: one space on either side is taken away again, unless there are spaces alone.
        pad = " " if shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ") else ""
        return cls(neutral_text(f"{fence}{pad}{shown}{pad}{fence}"))

    @classmethod
    def code_block(cls, text: str, language: str = "") -> Self:
        """Foreign text as a block of code, whose fence is longer than any in it."""
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        return cls(f"{fence}{language}\n{safe_block(text)}\n{fence}")

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
        return cls(_remove_links(_escape_entities(visible_text(text))))

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
