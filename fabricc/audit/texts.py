"""The texts of a folder, with what back ends take each for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from fabricc.audit.sections import split_sections, text_of
from fabricc.back import nos as back_ends
from fabricc.back.hosts import recognition as host_files
from fabricc.back.nos.collected import Claim
from fabricc.back.nos.other_systems import other_system
from fabricc.base.diagnostics import Severity
from fabricc.base.foreign.files import Folder
from fabricc.facts.device import HOST
from fabricc.proof import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fabricc.back.nos.collected import Collected

LEAST = 3
"""What has to speak for a system before its texts make a device."""
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
    """A device's files, path and text of each."""
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
        else:
            texts.append((path, text))
    return texts, unread


def parts_in(texts: Iterable[tuple[str, str]]) -> list[Part]:
    """The texts of files with the claims on them."""
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
        "FAB9501", f"{path} is not recognised: {why}", path, 1, "unknown", Severity.WARNING, remedy
    )
