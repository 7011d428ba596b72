"""Check the counters of lossless classes: PFC frames of other classes, storms and dropped packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.operate.drivers.lossless import DROPPED, KINDS, PFC_RX, PFC_TX, STORMS, Counters, sum_classes
from fabricc.operate.verify.model import Aspect, Deviation, make_finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.model import Switch


def compare_counters(switch: Switch, counters: Counters) -> tuple[list[Deviation], int]:
    """Return the findings and the number of ports that were compared."""
    ports = [port.name for port in switch.ports if port.peer and port.enabled]
    findings = [
        one
        for port in ports
        for one in (*_find_pauses(switch, port, counters), *_find_losses(switch, port, counters))
    ]
    counted = {port for kind in KINDS for port in counters.get(kind, {})}
    return findings, sum(1 for port in ports if port in counted)


def _find_pauses(switch: Switch, port: str, counters: Counters) -> Iterator[Deviation]:
    """Report PFC frames of priorities that are not lossless here: one end of the link has another policy."""
    lossless = {one.priority for one in switch.qos.lossless}
    for kind, verb in ((PFC_RX, "was sent"), (PFC_TX, "sent")):
        counts = counters.get(kind, {}).get(port, {})
        numbered = {int(n): count for n, count in counts.items() if count and is_number(n)}
        if wrong := {n: count for n, count in numbered.items() if n not in lossless}:
            words = ", ".join(f"{count} for priority {n}" for n, count in sorted(wrong.items()))
            message = f"port {port} {verb} PFC frames of classes that are not lossless: {words}"
            remedy = "See the QoS facts of both ends of the link."
            yield make_finding(Aspect.QOS, switch.name, "FAB9241", message, remedy=remedy)


def _find_losses(switch: Switch, port: str, counters: Counters) -> Iterator[Deviation]:
    if count := sum(counters.get(STORMS, {}).get(port, {}).values()):
        message = f"the PFC watchdog of port {port} detected {count} storm{'s' if count > 1 else ''}"
        remedy = "Find the source of the pauses at the far end of the link: a host, or a switch behind it."
        yield _make_warning(switch, "FAB9242", message, remedy)
    lossless = {one.priority for one in switch.qos.lossless}
    if count := sum_classes(counters.get(DROPPED, {}).get(port, {}), lossless):
        message = f"port {port} dropped {count} packets of lossless classes"
        remedy = "Check headroom and cable length of the link, and the counters of the watchdog."
        yield _make_warning(switch, "FAB9243", message, remedy)


def _make_warning(switch: Switch, code: str, message: str, remedy: str) -> Deviation:
    return make_finding(Aspect.QOS, switch.name, code, message, remedy=remedy, severity=Severity.WARNING)


def sum_counters(counters: Mapping[str, Counters]) -> Iterator[tuple[str, list[int | None]]]:
    """Switch -> the sum of each kind over its ports, None for what it does not state; those that count most first."""

    def total(one: Counters, kind: str) -> int | None:
        return sum(sum(counts.values()) for counts in one[kind].values()) if kind in one else None

    sums = {name: [total(one, kind) for kind in KINDS] for name, one in counters.items()}
    yield from sorted(sums.items(), key=lambda item: [-(one or 0) for one in reversed(item[1])])
