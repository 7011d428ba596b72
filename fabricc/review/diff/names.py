"""Long lists of device names made short: `su001…su004-tor1a`, `spine01a…spine16a`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DIGITS = re.compile(r"(\d+)")
_SHOWN = 8


def fold_names(names: Sequence[str], shown: int = _SHOWN) -> str:
    """Return names with consecutive numbers folded, at most `shown` parts, then the number of other names.

    Runs over one number are found first, then runs of whole patterns over another: 4 units of 8 ToRs become
    `su[001-004]-tor[1-8]a`.
    """
    patterns: dict[tuple[str, ...], int] = {tuple(_DIGITS.split(name)): 1 for name in names}
    width = max((len(pattern) for pattern in patterns), default=1)
    for column in range(width - 2 if width > 1 else -1, -1, -2):
        patterns = _join_patterns(patterns, column)
    texts = [("".join(pattern), count) for pattern, count in patterns.items()]
    if len(texts) <= shown:
        return ", ".join(text for text, _ in texts)
    rest = sum(count for _, count in texts[shown:])
    return ", ".join(text for text, _ in texts[:shown]) + f" and {rest:,} more"


def _join_patterns(patterns: dict[tuple[str, ...], int], column: int) -> dict[tuple[str, ...], int]:
    """Join patterns that differ in one consecutive number only."""
    families: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for pattern, count in patterns.items():
        if column < len(pattern):
            key = (*pattern[:column], "", *pattern[column + 1 :])
            families.setdefault(key, []).append((pattern[column], count))
        else:
            families[pattern] = [("", count)]
    joined: dict[tuple[str, ...], int] = {}
    for key, members in families.items():
        for text, count in _consecutive_runs(members):
            parts = (*key[:column], text, *key[column + 1 :]) if column < len(key) else key
            joined[parts] = joined.get(parts, 0) + count
    return joined


def _consecutive_runs(members: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    runs: list[list[str]] = []
    counts: list[int] = []
    for text, count in members:
        last = runs[-1][1] if runs else ""
        if is_number(text) and is_number(last) and int(text) == int(last) + 1:
            runs[-1][1] = text
            counts[-1] += count
        else:
            runs.append([text, text])
            counts.append(count)
    return [
        (first if first == last else f"[{first}-{last}]", count)
        for (first, last), count in zip(runs, counts, strict=True)
    ]
