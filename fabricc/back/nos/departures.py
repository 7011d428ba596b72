"""Where a NOS expresses something else than the Fabric states: declared, with the reason, and held by a test."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What becomes of a neutral fact."""

    LEFT_OUT = "left out"
    ROUNDED = "rounded"


LEFT_OUT, ROUNDED = Kind.LEFT_OUT, Kind.ROUNDED


class Departure(NamedTuple):
    """Facts that a NOS does not hold as the Fabric states them.

    Attributes:
        path: of the facts, `*` standing for anything.
        kind: whether it leaves them out, on some switch at least, or holds the nearest that it can.
        reason: why, with the code of the gap that says so to the user where there is one.
    """

    path: str
    kind: Kind
    reason: str
