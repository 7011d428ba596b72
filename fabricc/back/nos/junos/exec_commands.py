"""Find commands of the operational and configuration modes in Junos configuration text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import PROMPT, ExecLine

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXT = re.compile(r'(?P<comment>/\*[\s\S]*?(?:\*/|\Z))|#.*|(?P<quote>"(?:[^"\\]|\\(?:[\s\S]|\Z))*(?:"|\Z))')
_GOES_ON = "\x00"
"""Stands in for the rest of a line on which a quoted text begins that ends on another one."""
_FIRST = re.compile(
    r"(?:set|delete|(?:de)?activate|annotate|insert|rename|replace|(?:un)?protect|wildcard|edit|top|up|load|save"
    r"|rollback|run|request|show|clear|exit|quit|configure|copy|start|restart|test|ping|traceroute|op|ssh|telnet|file"
    r"|monitor|help|status|update)(?:[\s;].*)?"
)
"""Commands outside of all blocks. No section of a configuration has such a name."""
_UNFINISHED = re.compile(
    r"commit;|rollback(?: \d+)?;"
    r"|(?:configure|commit|rollback|exit|quit|edit|top|up|load|save|run|request|show|clear|set|delete|(?:de)?activate"
    r"|(?:un)?protect|insert|annotate|rename|wildcard|start|restart)(?: [^{};]*)?"
)
"""Commands at any depth: a statement ends with a brace or a semicolon."""
_BRACE = re.compile(r"[{}]")
_CUT = re.compile(r"[^\s{};]\s*\}")
"""A block that ends within a statement."""
_BANNER = re.compile(r"\[edit\b.*\]|\{(?:master|backup|linecard|primary|secondary)[^{};]*\}")
"""What a terminal prints above a prompt."""


def exec_lines(text: str) -> Iterator[ExecLine]:
    """Yield commands, prompts, statements without a semicolon, and comments and quoted texts that nothing ends."""
    lists, blocks = 0, list[ExecLine]()
    plain = _TEXT.sub(_without_text, text).split("\n")
    for number, (raw, whole) in enumerate(zip(plain, text.split("\n"), strict=True), 1):
        line = raw.strip()
        lists = max(0, lists + line.count("[") - line.count("]"))
        outside = not blocks and _FIRST.fullmatch(line)
        typed = line and PROMPT.fullmatch(whole.strip())
        if outside or typed or _UNFINISHED.fullmatch(line) or _BANNER.fullmatch(line):
            yield ExecLine(number, whole.strip())
        elif line and not lists and (_CUT.search(line) or not line.endswith(("{", "}", ";", _GOES_ON))):
            yield ExecLine(number, whole.strip(), unfinished=True)
        for brace in _BRACE.findall(line) if not _BANNER.fullmatch(line) else ():
            if brace == "{":
                blocks.append(ExecLine(number, whole.strip(), unclosed=True))
            elif blocks:
                blocks.pop()
            else:
                yield ExecLine(number, whole.strip(), surplus=True)
    open_texts = list(_open_texts(text))
    yield from open_texts or blocks[:1]


def _open_texts(text: str) -> Iterator[ExecLine]:
    """Yield the lines that begin a comment or a quoted text that nothing ends."""
    for found in _TEXT.finditer(text):
        unclosed = found["comment"] and not found[0].endswith("*/")
        if unclosed or (found["quote"] and not _is_closed(found["quote"])):
            yield ExecLine(text.count("\n", 0, found.start()) + 1, found[0].split("\n")[0], unclosed=True)


def _without_text(found: re.Match[str]) -> str:
    breaks = "\n" * found[0].count("\n")
    if not found["quote"]:
        return breaks
    return f'"{_GOES_ON}{breaks}{found["quote"][-1:].strip()}' if breaks else '""'


def _is_closed(quote: str) -> bool:
    body = quote[1:-1]
    return len(quote) > 1 and quote.endswith('"') and (len(body) - len(body.rstrip("\\"))) % 2 == 0
