"""Find commands of the exec mode in a configuration text: a switch would run or reject them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.patterns import pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_BANNER = pattern(r"banner\s+\S+(?:\s+(?P<mark>\S)\S?)?")
"""A banner of several lines: it ends with its mark, or with EOF on EOS."""
_COMMENT = ("!", "#")


def exec_lines(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is an exec command, and of each `exit` that leaves no indented block.

    Args:
        text: lines of a configuration.
        words: exec commands of the system.
    """
    nested, until = False, ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if until:
            until = "" if until in line else until
            continue
        if not line or line.startswith(_COMMENT):
            continue
        if banner := _BANNER.fullmatch(line):
            until = banner["mark"] or "EOF"
        indented = raw[:1].isspace()
        if words.fullmatch(line) or (line == "exit" and not indented and not nested):
            yield number, line
        nested = indented
