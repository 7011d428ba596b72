"""Describe the counters that switches report beyond NAPALM's getters, and those that a system does not report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number
from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, KINDS, PFC_RX, PFC_TX, STORMS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

WORDS = {
    PFC_RX: "PFC frames received",
    PFC_TX: "PFC frames sent",
    ECN_MARKED: "ECN marks",
    STORMS: "PFC watchdog storms",
    DROPPED: "packets dropped from lossless classes",
}
"""Kind of counter -> what it counts, in words."""


def list_unstated(counters: Mapping[str, object]) -> list[str]:
    """Return the kinds of counters that a device does not report, in words."""
    return [WORDS[kind] for kind in KINDS if kind not in counters]


def describe_gaps(missing: Iterable[tuple[str, Sequence[str]]], so: str) -> list[str]:
    """Return a line for each system with switches that do not report some values.

    Args:
        missing: for each switch, its system and the values that it does not report, in words.
        so: what is therefore not done with these values: `watched`, `compared`.
    """
    counts: dict[str, Counter[str]] = {}
    for nos, words in missing:
        counts.setdefault(nos, Counter()).update(words)
    return [
        f"not stated by {nos}, so not {so}: {', '.join(f'{what} ({n})' for what, n in found.items())}"
        for nos, found in sorted(counts.items())
        if found
    ]


def of_classes(counts: Mapping[str, int], classes: Collection[int]) -> int:
    """Return the sum over some classes of a port, including counts of all classes together."""
    return sum(
        count for name, count in counts.items() if name == ALL or (is_number(name) and int(name) in classes)
    )
