"""Find commands of the operational and configuration modes in Junos configuration text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import PROMPT, ExecLine
from fabricc.base.patterns import pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_TEXT = pattern(r'(?P<comment>/\*[\s\S]*?(?:\*/|\Z))|#.*|(?P<quote>"(?:[^"\\]|\\(?:[\s\S]|\Z))*(?:"|\Z))')
_FIRST = pattern(
    r"(?:set|delete|(?:de)?activate|annotate|insert|rename|replace|(?:un)?protect|wildcard|edit|top|up|load|save"
    r"|rollback|run|request|show|clear|exit|quit|configure|copy|start|restart|test|ping|traceroute|op|ssh|telnet|file"
    r"|monitor|help|status|update)(?:[\s;].*)?"
)
"""Commands outside of all blocks. No section of a configuration has such a name."""
_UNFINISHED = pattern(
    r"commit;|rollback(?: \d+)?;"
    r"|(?:configure|commit|rollback|exit|quit|edit|top|up|load|save|run|request|show|clear|set|delete|(?:de)?activate"
    r"|(?:un)?protect|insert|annotate|rename|wildcard|start|restart)(?: [^{};]*)?"
)
"""Commands at any depth: a statement ends with a brace or a semicolon."""
_BANNER = pattern(r"\[edit\b.*\]|\{(?:master|backup|linecard|primary|secondary)[^{};]*\}")
"""What a terminal prints above a prompt."""


def exec_lines(text: str) -> Iterator[ExecLine]:
    """Yield each line that is a command or a prompt, and a comment or a quoted text that nothing ends."""
    depth = 0
    plain = _TEXT.sub(_without_text, text).split("\n")
    for number, (raw, whole) in enumerate(zip(plain, text.split("\n"), strict=True), 1):
        line = raw.strip()
        outside = not depth and _FIRST.fullmatch(line)
        typed = line and PROMPT.fullmatch(whole.strip())
        if outside or typed or _UNFINISHED.fullmatch(line) or _BANNER.fullmatch(line):
            yield ExecLine(number, whole.strip())
        depth = max(0, depth + line.count("{") - line.count("}"))
    for found in _TEXT.finditer(text):
        unclosed = found["comment"] and not found[0].endswith("*/")
        if unclosed or (found["quote"] and not _is_closed(found["quote"])):
            yield ExecLine(text.count("\n", 0, found.start()) + 1, found[0].split("\n")[0], unclosed=True)


def _without_text(found: re.Match[str]) -> str:
    return ('""' if found["quote"] else "") + "\n" * found[0].count("\n")


def _is_closed(quote: str) -> bool:
    body = quote[1:-1]
    return len(quote) > 1 and quote.endswith('"') and (len(body) - len(body.rstrip("\\"))) % 2 == 0
