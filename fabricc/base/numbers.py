"""Numbers in text that others wrote: recognize whole ones, sort names with numbers in natural order, group by key.

`str.isdigit` accepts `²`, which `int` rejects, and digits of other scripts; `int` rejects more than 4,300 digits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable


MOST_DIGITS = 18
"""Digits of the longest number that a file, a device or a name states; each one fits into 64 bits."""


def is_number(text: str) -> bool:
    """Return whether a text is a whole number of ASCII digits that `int` takes."""
    return text.isdigit() and text.isascii() and len(text) <= MOST_DIGITS


def whole_number(text: str) -> int | None:
    """Return the number that a text is; None where it is none, or has more than 18 digits."""
    return int(text) if is_number(text) else None


_Key = TypeVar("_Key")
_Each = TypeVar("_Each")

_DIGITS = re.compile(r"([0-9]+)")


@lru_cache(maxsize=16384)
def natural_key(text: str) -> tuple[str | int, ...]:
    """Return a sorting key in which numbers count as numbers: `swp2` before `swp10`, `5M` before `40M`.

    The digits are read to base 16, which sorts them in the same order; to base 10 `int` accepts at most 4,300.
    """
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = [int(digits, 16) for digits in parts[1::2] if isinstance(digits, str)]
    return tuple(parts)


def group_pairs(pairs: Iterable[tuple[_Key, _Each]]) -> dict[_Key, list[_Each]]:
    """Return what has each key, keys and members in the order in which they come."""
    found: dict[_Key, list[_Each]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return found
