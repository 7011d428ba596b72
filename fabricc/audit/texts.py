"""Split collected files into texts, one below each command, and find what back ends take each for."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.back.hosts import recognition as host_files
from fabricc.back.nos.answers import other_system
from fabricc.back.nos.collected import Claim
from fabricc.base.diagnostics import Severity
from fabricc.base.documents.document import conflict_in_output
from fabricc.base.foreign.files import Folder
from fabricc.facts.device import HOST
from fabricc.proof import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from fabricc.back.nos.collected import Collected


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
    """Return a file's text without what terminals add; None for a file that is no text."""
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


LEAST = 3
"""Score that a system needs before its texts count as a device."""
_LARGEST = 32 << 20  # bytes of a file


class Part(NamedTuple):
    """A text of a file, and what back ends take it for."""

    path: str
    first: int
    text: str
    claims: Mapping[str, Claim]


class Texts(Mapping[str, str]):
    """The texts of a device by the names of its back end, read on use; "" if a file disappeared.

    Only the last used text of all devices stays in memory.
    """

    __slots__ = ("_folder", "_places")
    _last: ClassVar[tuple[object, str, str]] = (None, "", "")

    def __init__(self, folder: Path, places: Mapping[str, tuple[str, int]]) -> None:
        """`places`: name -> path below the folder, and the line that the text begins at."""
        self._folder, self._places = folder, places

    def __getitem__(self, name: str) -> str:
        path, first = self._places[name]
        texts, last, text = Texts._last
        if texts is self and last == name:
            return text
        try:
            with Folder(self._folder) as folder:
                text = text_of(folder.read(path, limit=_LARGEST)) or ""
        except OSError:
            return ""
        text = next((each.text for each in split_sections(text) if each.first == first), "")
        Texts._last = self, name, text
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def collected_systems() -> Mapping[str, Collected]:
    """Return the knowledge about collected texts for each system whose back end has it."""
    found = {name: getattr(back_ends.load(name), "found", None) for name in back_ends.list_names()}
    return {name: one for name, one in found.items() if one is not None}


def texts_of(folder: Folder, paths: Sequence[str]) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Return a device's files, path and text of each."""
    texts: list[tuple[str, str]] = []
    unread: list[Finding] = []
    for path in paths:
        try:
            text = text_of(folder.read(path, limit=_LARGEST))
        except OSError as error:
            unread.append(
                Finding(
                    "FAB9502", f"{path} is not read: {error.strerror}", path, 1, "unread", Severity.WARNING
                )
            )
            continue
        if text is None:
            unread.append(report_unknown(path, "it is no text"))
        elif conflict := conflict_in_output(text, path):
            line = conflict.position.line if conflict.position else 1
            unread.append(
                Finding(
                    "FAB0032",
                    f"{path} is not read: {conflict.message}",
                    path,
                    line,
                    "conflict",
                    Severity.ERROR,
                    conflict.help,
                )
            )
        else:
            texts.append((path, text))
    return texts, unread


def parts_in(texts: Iterable[tuple[str, str]]) -> list[Part]:
    """Return the texts of files with the claims on them."""
    return [
        Part(path, each.first, each.text, _claims_of(path, each.text))
        for path, text in texts
        for each in split_sections(text)
    ]


def _claims_of(path: str, text: str) -> dict[str, Claim]:
    if other_system(text):
        return {}
    claims = {name: claim for name, one in collected_systems().items() if (claim := one.takes(path, text))}
    if file := host_files.host_path(path, text):
        claims[HOST] = Claim(file, LEAST)
    return claims


def report_unknown(path: str, why: str) -> Finding:
    """Report a file that no back end recognizes."""
    remedy = "Give running configurations as devices print them, or take the file out of the folder."
    return Finding(
        "FAB9501", f"{path} is not recognized: {why}", path, 1, "unknown", Severity.WARNING, remedy
    )
