"""One device: the facts read back from its files against the facts planned for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.facts.paths import first_word, replace_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.facts import Facts, Reading, Value

_NUMBERS = re.compile(r"\d+")
_MISMATCH = re.compile(r"(\S+): (?:the files (?:do not )?state )?(.+?) (?:=|is) ")


class Mismatch(NamedTuple):
    """One path on which plan and file differ; None stands for "not stated".

    `file` and `line` are where the fact was read, or the nearest related line for one that is missing
    (line 0 when there is none).
    """

    path: str
    planned: Value | None
    found: Value | None
    file: str
    line: int


MISMATCHES = ("FAB6001", "FAB6002", "FAB6003")
"""Codes of a fact that is missing, differs from the plan, or is not planned."""


class Finding(NamedTuple):
    """A problem in the files of a device or a subnet; findings of one code and `group` are reported together.

    `file` is below the folder of the device or subnet, "" for none; `line` counts from 1, 0 for none. `words` are those
    of the exact line, of which one is nearby.
    """

    code: str
    message: str
    file: str
    line: int = 0
    group: str = ""
    severity: Severity = Severity.ERROR
    help: str = ""
    words: tuple[str, ...] = ()


def compare(planned: Facts, reading: Reading) -> list[Mismatch]:
    """Return every path on which the two differ, in planned order, unexpected facts last."""
    found = reading.facts
    if planned == found:
        return []
    wrong = [path for path, value in planned.items() if found.get(path) != value]
    near = _Nearby(planned, reading)
    mismatches = [
        Mismatch(path, planned[path], found.get(path), *(reading.lines.get(path) or near.line(path)))
        for path in wrong
    ]
    mismatches += [
        Mismatch(path, None, value, *reading.lines.get(path, ("", 0)))
        for path, value in found.items()
        if path not in planned
    ]
    return mismatches


class _Nearby:
    """Find a line close to the place of a missing fact; indexed on first use.

    This is a line of a neighboring fact, else that of the last fact before it in the plan that the file states, of the
    same kind (the first word of the path) if possible.
    """

    def __init__(self, planned: Facts, reading: Reading) -> None:
        self._planned = planned
        self._lines = reading.lines
        self._index: dict[str, tuple[str, int]] | None = None
        self._before: dict[str, tuple[str, int]] = {}

    def line(self, path: str) -> tuple[str, int]:
        if self._index is None:
            self._index = {}
            for known, place in self._lines.items():
                for above in _parent_paths(known):
                    self._index.setdefault(above, place)
            last = next((self._lines[known] for known in self._planned if known in self._lines), ("", 0))
            of_kind: dict[str, tuple[str, int]] = {}
            for known in self._planned:
                kind = first_word(known).partition("/")[0]
                if known in self._lines:
                    last = of_kind[kind] = self._lines[known]
                self._before[known] = of_kind.get(kind, self._index.get(kind, last))
        beside = (
            self._index[above]
            for above in _parent_paths(path)
            if above in self._index and ("[" in above or "/" in above)
        )
        return next(beside, self._before[path])


def _parent_paths(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def mismatch_of(message: str) -> tuple[str, str] | None:
    """Return device and path of a message of `device_findings` about a mismatch; None for another message."""
    found = _MISMATCH.match(message)
    return (found[1], found[2]) if found else None


def device_findings(
    device: str, mismatches: Iterable[Mismatch], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[Finding]:
    """Yield the mismatches and unknown lines of one device as findings; `file` is below the device's folder."""
    for path, planned, found, file, line in mismatches:
        kind = replace_keys(path)
        if found is None:
            message = f"{device}: the files do not state {path} = {planned}"
            yield Finding("FAB6001", message, file, line, f"missing {kind}")
        elif planned is None:
            message = f"{device}: the files state {path} = {found}, which is not planned"
            yield Finding("FAB6003", message, file, line, f"unexpected {kind}")
        else:
            message = f"{device}: {path} is {found} in the file and {planned} in the plan"
            yield Finding("FAB6002", message, file, line, f"different {kind}")
    for file, line, text in unknown:
        shown = text.strip()[:80]
        message = f"{device}: unknown line {shown!r}, so it is not proved"
        yield Finding("FAB6004", message, file, line, f"unknown {_NUMBERS.sub('#', shown)}", Severity.WARNING)
