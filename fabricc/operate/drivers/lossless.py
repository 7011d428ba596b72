"""Counters of lossless classes, for which NAPALM has no getter: their form, their sums, and what systems omit."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


PFC_RX, PFC_TX = "pfc_rx", "pfc_tx"
ECN_MARKED = "ecn_marked"
STORMS = "storms"
DROPPED = "dropped"
KINDS = (PFC_RX, PFC_TX, ECN_MARKED, STORMS, DROPPED)
"""PFC frames received and sent, packets marked with congestion experienced (RFC 3168), storms that the PFC watchdog
detected, and packets dropped: by the watchdog, or for want of buffer."""
ALL = "all"
"""The class of a count of all classes together."""

Counters = dict[str, dict[str, dict[str, int]]]
"""Kind -> port -> class -> count since the device started or the count was cleared.

A class is a priority, which is a queue's number too; the driver translates where the device numbers its queues
otherwise. A kind that the device does not report is absent.
"""


_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_ROUNDED = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ([KMGT]B)")
"""A count that a device rounds, as NVUE's tables do: without it, the more is dropped, the less would be counted."""


class CounterTotals:
    """Counters as they are read, answer by answer."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, dict[str, int]]] = {}

    def state(self, kind: str) -> None:
        """Note that the device counts a kind, also where no port has any yet."""
        self._found.setdefault(kind, defaultdict(dict))

    def add(self, kind: str, port: str, traffic_class: object, count: object) -> None:
        """Add a count: a number, its digits, digits and a unit (`0 Bytes`), or a rounded one (`75.19 KB`).

        What is none (`-`) is left out.
        """
        words = str(count).replace(",", "").split()
        if rounded := _ROUNDED.fullmatch(" ".join(words)):
            number = int(float(rounded[1]) * _UNITS[rounded[2]])
        elif words and is_number(words[0]):
            number = int(words[0])
        else:
            return
        self.state(kind)
        counts = self._found[kind][port]
        counts[str(traffic_class)] = counts.get(str(traffic_class), 0) + number

    def has(self, kind: str, port: str) -> bool:
        """Return whether anything of a kind was added for a port."""
        return port in self._found.get(kind, {})

    def counters(self) -> Counters:
        """Return all counts that were added.

        Raises:
            NotImplementedError: nothing was added: the device reports no such counters.
        """
        if not self._found:
            raise NotImplementedError("the device states no counters of lossless classes")
        return {
            kind: {port: dict(counts) for port, counts in ports.items()}
            for kind, ports in self._found.items()
        }


KIND_WORDS = {
    PFC_RX: "PFC frames received",
    PFC_TX: "PFC frames sent",
    ECN_MARKED: "ECN marks",
    STORMS: "PFC watchdog storms",
    DROPPED: "packets dropped from lossless classes",
}
"""Kind of counter -> what it counts, in words."""


def list_missing_kinds(counters: Mapping[str, object]) -> list[str]:
    """Return the kinds of counters that a device does not report, in words."""
    return [KIND_WORDS[kind] for kind in KINDS if kind not in counters]


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


def sum_classes(counts: Mapping[str, int], classes: Collection[int]) -> int:
    """Return the sum over some classes of a port, including counts of all classes together."""
    return sum(
        count for name, count in counts.items() if name == ALL or (is_number(name) and int(name) in classes)
    )
