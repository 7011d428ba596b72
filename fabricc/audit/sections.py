"""A file that somebody collected as the texts in it: each output below its command, or the whole file."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMPT = re.compile(
    r"^(?P<prompt>(?:\[[^\]\n]{1,64}\] ?)?[\w.@:~/()-]{0,80}[#>$%] ?|[-=*#]{3,80} *|)"
    r"(?P<command>(?:sudo )?"
    r"(?:show|sh|nv show|nv config|net show|lldpctl|lldpcli|vtysh|cat|ibdev2netdev|show_gids|mlnx_qos|cma_roce_tos)"
    r"(?: [^{;\n]*)?)$",
    re.MULTILINE,
)
"""A command as a terminal shows it, or as a heading over its output."""
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n]\x08|\r| ?--More-- ?(?:\x08| )*")
_SIGNS = ("\x1b", "\r", "\x08", "--More--")
"""One of these is in whatever `_CONTROLS` takes out; to look for them costs nothing."""
_COMMANDS = ("show", "sh ", "nv config", "lldpc", "vtysh", "cat ", "ibdev2netdev", "mlnx_qos", "cma_roce_tos")
"""One of these is in whatever `_PROMPT` matches."""
_SILENT = ("mlnx_qos", "cma_roce_tos")
"""Commands whose output does not name its port: they stay above it."""
_BINARY = 4096


class Section(NamedTuple):
    """A text of a file from line `first` on; `text` has empty lines before it, so that lines keep their numbers."""

    first: int
    text: str


def text_of(content: bytes) -> str | None:
    """A file's text without what terminals add; None for a file that is no text."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content[:_BINARY]:
        return None
    else:
        text = content.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    return _CONTROLS.sub("", text) if any(sign in text for sign in _SIGNS) else text


def split_sections(text: str) -> tuple[Section, ...]:
    """Return the outputs of a file that shows their commands; else the file as one."""
    return tuple(each for each in _find_sections(text) if each.text.strip()) or (Section(1, text),)


def _find_sections(text: str) -> Iterator[Section]:
    matches = list(_PROMPT.finditer(text)) if any(word in text for word in _COMMANDS) else []
    if not matches:
        yield Section(1, text)
        return
    prompts = sorted(
        {re.escape(match["prompt"].rstrip()) for match in matches if match["prompt"].strip("-=*# >")}
    )
    ends = [match.start() for match in matches]
    if prompts:
        ends = sorted(
            {*ends, *(m.start() for m in re.finditer(rf"^(?:{'|'.join(prompts)})", text, re.MULTILINE))}
        )
    yield _make_section(text, 0, ends[0])
    for start, end in zip(ends, [*ends[1:], len(text)], strict=True):
        below = text.find("\n", start, end) + 1
        if below:
            named = any(word in text[start:below] for word in _SILENT)
            yield _make_section(text, start if named else below, end)


def _make_section(text: str, start: int, end: int) -> Section:
    above = text.count("\n", 0, start)
    return Section(above + 1, "\n" * above + text[start:end])
