"""The emitted text of one device on both sides, as unified diffs without noise and without secrets."""

from __future__ import annotations

import re
from collections import Counter
from difflib import unified_diff
from typing import TYPE_CHECKING

from fabricc.review.diff.model import FileDiff
from fabricc.review.diff.redact import mask_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMENT = re.compile(r"\s*([#!].*)?$")
_CONTEXT = 2


def file_diffs(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FileDiff, ...]:
    """Diffs of every file that differs in more than comments and blank lines."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new and (
            path not in before or path not in after or _stated_lines(old) != _stated_lines(new)
        ):
            found.append(_file_diff(path, old.splitlines(), new.splitlines()))
    return tuple(found)


def differ_in_text(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether files with equal facts differ in more than comments, blank lines and line order."""
    if before.keys() != after.keys():
        return True
    return any(
        text != after[path] and Counter(_stated_lines(text)) != Counter(_stated_lines(after[path]))
        for path, text in before.items()
    )


def _stated_lines(text: str) -> list[str]:
    return [line.rstrip().rstrip(",") for line in text.splitlines() if not _COMMENT.match(line)]


def _file_diff(path: str, old: list[str], new: list[str]) -> FileDiff:
    first = _common_lines(old, new)
    last = _common_lines(old[first:][::-1], new[first:][::-1])
    start = max(0, first - _CONTEXT)
    old_part = old[start : min(len(old), len(old) - last + _CONTEXT)]
    new_part = new[start : min(len(new), len(new) - last + _CONTEXT)]
    added = removed = 0
    lines = []
    for line in unified_diff(old_part, new_part, "", "", "", "", _CONTEXT, ""):
        if line.startswith(("---", "+++")) and len(line.strip()) == 3:
            continue
        added += line.startswith("+")
        removed += line.startswith("-")
        lines.append(_renumber_hunk(line, start) if line.startswith("@@") else mask_secrets(line))
    return FileDiff(path, "\n".join(lines), added, removed)


def _common_lines(first: list[str], second: list[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _renumber_hunk(hunk: str, start: int) -> str:
    """Return the hunk's head with line numbers of the whole file."""
    return re.sub(r"([-+])(\d+)", lambda m: f"{m[1]}{int(m[2]) + start}", hunk) if start else hunk
