"""Options of a push."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any

from fabricc.base.values import dataclass

UNREACHABLE_S = 60
"""Seconds of retries before a switch that does not answer gets the state unknown: our judgment."""
_MOST = 1 << 40
_SHARE = re.compile(r"[0-9]{1,20}(/[0-9]{1,20})?")


class Congestion(StrEnum):
    """The reaction to more PFC frames or ECN marks than the options allow."""

    WARN = "warn"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line.

    Attributes:
        keep: share of its paths that everything keeps.
        parallel: connections at once.
        most: switches in one wave; None for as many as `keep` allows.
        settle_s: how long a switch may take to come good after its change.
        drain_s: how long traffic has to leave a drained switch.
        confirm_s: a switch that can goes back by itself unless the change is confirmed within this time.
        failures: switches that may fail before the push stops.
        errors: additional interface errors that a port may have.
        adopt: take what switches run now as known.
        drain: drain before a disruptive change.
        drops: packets of lossless classes that a port may drop.
        pauses: PFC frames that a port may send and receive in a second. Our judgment: at 400 Gb/s a port that is
            paused all the time receives 12,000 (65,535 quanta of 512 bits each; IEEE 802.1Q, clause 36).
        marks: packets that a port may mark in a second. Our judgment: one of a hundred packets of 4 KiB at 400 Gb/s.
        congestion: what comes of more pauses or marks.
        alarms: push to switches that have alarms; new ones stop the push all the same.
        skip_unreachable: leave switches out that do not answer, and push to the others.
    """

    keep: Fraction = Fraction(3, 4)
    parallel: int = 32
    most: int | None = None
    settle_s: float = 60.0
    drain_s: float = 5.0
    confirm_s: int = 300
    failures: int = 0
    errors: int = 100
    adopt: bool = False
    drain: bool = True
    drops: int = 0
    pauses: int = 1000
    marks: int = 100_000
    congestion: Congestion = Congestion.WARN
    alarms: bool = False
    skip_unreachable: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return the values that the journal keeps."""
        return {**asdict(self), "keep": str(self.keep)}

    @staticmethod
    def of(stated: Mapping[str, Any]) -> Options:
        """Return the options that a journal keeps; one that it does not state has its default.

        Raises:
            ValueError: a value is none that such an option may have.
        """
        default = Options()
        found: dict[str, Any] = {}
        for one in fields(Options):
            if one.name not in stated:
                continue
            value, usual = stated[one.name], getattr(default, one.name)
            if one.name == "keep":
                found["keep"] = _parse_share(value)
            elif one.name == "congestion":
                found["congestion"] = Congestion(value)
            elif one.name == "most":
                found["most"] = None if value is None else _parse_count(one.name, value, least=1)
            elif isinstance(usual, bool):
                if not isinstance(value, bool):
                    raise ValueError(f"{one.name} is not a truth value")
                found[one.name] = value
            else:
                found[one.name] = type(usual)(
                    _parse_count(one.name, value, least=int(one.name == "parallel"))
                )
        return Options(**found)


def _parse_share(value: object) -> Fraction:
    try:
        share = Fraction(value) if isinstance(value, str) and _SHARE.fullmatch(value) else None
    except ZeroDivisionError:
        share = None
    if share is None or not 0 <= share <= 1:
        raise ValueError("keep is not a share")
    return share


def _parse_count(name: str, value: object, *, least: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _MOST:
        raise ValueError(f"{name} is not a number from {least} to {_MOST}")
    return value
