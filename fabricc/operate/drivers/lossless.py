"""The form in which drivers return counters of lossless classes, for which NAPALM has no getter."""

from __future__ import annotations

from collections import defaultdict

from fabricc.base.numbers import is_number

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


class CounterTotals:
    """Counters as they are read, answer by answer."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, dict[str, int]]] = {}

    def state(self, kind: str) -> None:
        """Note that the device counts a kind, also where no port has any yet."""
        self._found.setdefault(kind, defaultdict(dict))

    def add(self, kind: str, port: str, traffic_class: object, count: object) -> None:
        """Add a count: a number, its digits, or digits and a unit (`0 Bytes`); what is none (`-`) is left out."""
        words = str(count).replace(",", "").split()
        if words and is_number(words[0]):
            self.state(kind)
            counts = self._found[kind][port]
            counts[str(traffic_class)] = counts.get(str(traffic_class), 0) + int(words[0])

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
