"""Declare where a NOS expresses another value than the Fabric, with the reason; tests check each departure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The treatment of a neutral fact."""

    LEFT_OUT = "left out"
    ROUNDED = "rounded"


LEFT_OUT, ROUNDED = Kind.LEFT_OUT, Kind.ROUNDED


class Departure(NamedTuple):
    """Facts whose values on a NOS differ from those of the Fabric.

    Attributes:
        path: of the facts, `*` stands for anything.
        kind: whether it omits them, at least on some switch, or uses the nearest possible value.
        reason: why, with the code of the gap that reports it to the user, if any.
    """

    path: str
    kind: Kind
    reason: str
