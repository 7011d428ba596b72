"""The order in which people and devices sort names with numbers in them."""

from __future__ import annotations

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")


@lru_cache(maxsize=16384)
def natural(text: str) -> tuple[str | int, ...]:
    """A sorting key in which numbers count as numbers: `swp2` before `swp10`, `5M` before `40M`."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts)
