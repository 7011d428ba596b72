"""Compare the live network with the prediction: sessions from the daemons, next hops from the kernel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.kernel import NAMESPACES
from fabricc.operate.lab.routes import bgp_widths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.operate.lab.predict import Prediction
    from fabricc.operate.lab.running import Lab

_POLL_S = 0.02

Difference = tuple[str, str, object, object]
"""A switch, a prefix or neighbor, the predicted and the observed value."""


def width_differences(
    lab: Lab, prediction: Prediction, tables: Iterable[str] | None = None
) -> list[Difference]:
    """Return prefixes whose next hops in the kernel are not as many as predicted, in some tables or in all."""
    return [
        one
        for table in (tables if tables is not None else prediction.widths)
        for one in _find_differences(
            table, prediction.widths[table], bgp_widths(lab.record.namespace(table)), 0
        )
    ]


def _find_differences(
    switch: str, wanted: Mapping[str, object], seen: Mapping[str, object], absent: object
) -> Iterator[Difference]:
    for key in sorted(wanted.keys() | seen.keys()):
        if wanted.get(key, absent) != seen.get(key, absent):
            yield switch, key, wanted.get(key, absent), seen.get(key, absent)


def read_sessions(lab: Lab, switch: str) -> dict[str, bool]:
    """Neighbor -> whether its session is Established, for every neighbor that the daemon has."""
    answer = lab.ask(switch, "bgpd", "show bgp neighbors json")
    return {
        name: found.get("bgpState") == "Established"
        for name, found in answer.items()
        if isinstance(found, dict) and "bgpState" in found
    }


def list_status(lab: Lab) -> Iterator[tuple[str, str]]:
    """Yield each node's name and status."""
    memory = lab.memory_kib()
    for switch in lab.record.switches:
        yield switch, _switch_status(lab, switch, memory[switch])
    for host in lab.record.hosts:
        yield host, "up" if (NAMESPACES / lab.record.namespace(host)).exists() else "gone"


def _switch_status(lab: Lab, switch: str, memory_kib: int) -> str:
    if lab.process(switch) is None:
        return "not running"
    if not lab.ready(switch):
        return "booting"
    try:
        found = read_sessions(lab, switch)
    except LabError as error:
        return f"running; {error}"
    established = sum(found.values())
    return f"up, {established} of {len(found)} sessions Established, {memory_kib / 1024:.0f} MiB"


def session_differences(lab: Lab, prediction: Prediction) -> list[Difference]:
    """Sessions that are not in the state predicted, and neighbors that are not planned."""
    return [
        one
        for switch, wanted in prediction.sessions.items()
        for one in _find_differences(switch, wanted, read_sessions(lab, switch), None)
    ]


def wait_until_settled(
    lab: Lab, prediction: Prediction, limit_s: float, meanwhile: Callable[[float], None] = time.sleep
) -> float | None:
    """Wait until every kernel's next hops are as predicted.

    `meanwhile` is called between looks with the seconds that may pass.

    Returns:
        Seconds it took; None when it did not come to it in time.
    """
    begin = time.monotonic()
    waiting = list(prediction.widths)
    while True:
        look = time.monotonic()
        waiting = [switch for switch in waiting if width_differences(lab, prediction, [switch])]
        if not waiting:
            # A switch seen in order early may have moved since; all of them must be in order at once.
            waiting = [switch for switch in prediction.widths if width_differences(lab, prediction, [switch])]
            if not waiting:
                return time.monotonic() - begin
        if time.monotonic() - begin > limit_s:
            return None
        # As long as the look took, so that looking leaves the processor to the daemons.
        meanwhile(max(_POLL_S, time.monotonic() - look))
