"""What the files of a device say, in a few kB: thousands are looked at more than once, and held meanwhile."""

from __future__ import annotations

import pickle
import zlib
from functools import lru_cache
from typing import NamedTuple

from fabricc.fabric.facts import Reading

_OPEN = 64
"""Devices whose contents stay unpacked, each some hundred kB."""
_QUICK = 1
"""Level of compression: a higher one takes three times as long for a tenth less."""


class Contents(NamedTuple):
    """What the files of a device say.

    Attributes:
        aside: file and line of unknown lines that say nothing about forwarding or losslessness.
    """

    reading: Reading
    aside: frozenset[tuple[str, int]] = frozenset()


def packed(contents: Contents) -> bytes:
    """Contents as few bytes; lines are kept of facts alone."""
    reading, aside = contents
    places = [reading.lines.get(path, ("", 0)) for path in reading.facts]
    columns = (
        list(reading.facts), list(reading.facts.values()), [file for file, _ in places], [line for _, line in places],
        reading.unknown, aside,
    )  # fmt: skip
    return zlib.compress(pickle.dumps(columns, pickle.HIGHEST_PROTOCOL), _QUICK)


def opened(content: bytes) -> Contents:
    """The contents that `packed` made these bytes of."""
    paths, values, files, numbers, unknown, aside = pickle.loads(zlib.decompress(content))
    places = zip(paths, zip(files, numbers, strict=True), strict=True)
    lines = {path: place for path, place in places if place[1]}
    return Contents(Reading(dict(zip(paths, values, strict=True)), lines, unknown), aside)


unpacked = lru_cache(maxsize=_OPEN)(opened)
"""`opened`, the last few remembered."""
