"""The order in which people and devices sort names with numbers in them, and things gathered by what they share."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from fabricc.base.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

_Key = TypeVar("_Key")
_Each = TypeVar("_Each")

_DIGITS = pattern(r"([0-9]+)")


@lru_cache(maxsize=16384)
def natural(text: str) -> tuple[str | int, ...]:
    """A sorting key in which numbers count as numbers: `swp2` before `swp10`, `5M` before `40M`."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts)


def gathered(pairs: Iterable[tuple[_Key, _Each]]) -> dict[_Key, list[_Each]]:
    """What has each key, keys and members in the order in which they come."""
    found: dict[_Key, list[_Each]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return found
