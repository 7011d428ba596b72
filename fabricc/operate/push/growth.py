"""Compare a switch's counters with those before its change, and find the growth that stops a push."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.operate.devices import readings
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.model import Switch
    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.drivers.lossless import Counters
    from fabricc.operate.push.options import Options

GETTERS = ("get_lossless_counters", "get_interfaces_counters")
"""What `counters` calls."""
_ERRORS = ("rx_errors", "tx_errors")
_RATES = (((PFC_RX, PFC_TX), "PFC frames"), ((ECN_MARKED,), "ECN marks"))


def read_counters(switch: Connection) -> dict[str, Any]:
    """Counters of now: `errors` and `lossless`, as `gates.Measured` has them, and `at`, seconds of the clock.

    Raises:
        DeviceError: FAB9105, the device does not answer.
    """
    switch.read_ahead(*GETTERS)
    lossless: Counters = switch.getter("get_lossless_counters") or {}
    found: dict[str, Any] = {"at": time.time(), "lossless": lossless}
    if (told := switch.getter("get_interfaces_counters")) is not None:
        found["errors"] = {
            port: total
            for port, counts in told.items()
            if (total := sum(max(0, counts.get(kind, 0)) for kind in _ERRORS))
        }
    return found


def find_lasting_errors(
    switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any], options: Options
) -> list[str]:
    """Return what no waiting cures: interface errors, storms, and packets dropped from lossless classes."""
    old = before.get("errors", {})
    more = ((port, count - old.get(port, 0)) for port, count in sorted(now.get("errors", {}).items()))
    found = [f"{port} counts {count} more errors" for port, count in more if count > options.errors]
    found += find_storms(switch, before, now)
    drops = (
        (port, count)
        for port, count in _compute_growth(switch, DROPPED, before, now)
        if count > options.drops
    )
    return [*found, *(f"{port} dropped {count} packets of lossless classes" for port, count in drops)]


def find_storms(switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return ports on which the PFC watchdog has detected a storm since."""
    return [
        f"the PFC watchdog of {port} detected {count} storm{'s' if count > 1 else ''}"
        for port, count in _compute_growth(switch, STORMS, before, now)
        if count
    ]


def find_congestion(
    switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any], options: Options
) -> list[str]:
    """Return ports that pause, are paused, or mark more often than the options allow, on average since then."""
    if "at" not in before:
        return []
    seconds = max(1.0, now["at"] - before["at"])
    found = []
    for (kinds, what), limit in zip(_RATES, (options.pauses, options.marks), strict=True):
        sums = Counter[str]()
        for port, count in (each for kind in kinds for each in _compute_growth(switch, kind, before, now)):
            sums[port] += count
        found += [
            f"{port} counts {count / seconds:,.0f} {what} a second"
            for port, count in sums.items()
            if count > limit * seconds
        ]
    return found


def _compute_growth(
    switch: Switch, kind: str, before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    """Yield each port and the growth of a counter in both states; a count that fell was cleared and starts from 0.

    Dropped packets matter in lossless classes alone, everything else in every class.
    """
    old, new = (one.get("lossless", {}).get(kind) for one in (before, now))
    if old is None or new is None:
        return
    classes = {one.priority for one in switch.qos.lossless} if kind == DROPPED else range(8)
    for port, counts in sorted(new.items()):
        was, is_now = readings.of_classes(old.get(port, {}), classes), readings.of_classes(counts, classes)
        yield port, is_now - was if is_now >= was else is_now
