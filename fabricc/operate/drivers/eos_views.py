"""Read EOS's JSON answers about lossless classes and its own health."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.operate.drivers.lossless import Tally


def read_pfc(answer: Mapping[str, Any], tally: Tally) -> None:
    """`show priority-flow-control counters`: frames of all priorities together."""
    for port, counts in answer.get("interfaceCounters", {}).items():
        tally.add(PFC_RX, port, ALL, counts.get("rxFrames"))
        tally.add(PFC_TX, port, ALL, counts.get("txFrames"))


def read_watchdog(answer: Mapping[str, Any], tally: Tally) -> None:
    """`show priority-flow-control counters watchdog`: a port is missing until its first storm."""
    if "interfaces" in answer:
        tally.state(STORMS)
    for port, one in answer.get("interfaces", {}).items():
        for queue, counts in one.get("txQueues", {}).items():
            tally.add(STORMS, port, queue, counts.get("stuckCount"))


def read_marks(answer: Mapping[str, Any], tally: Tally) -> None:
    """`show qos interfaces ecn counters queue`: a queue that does not mark has `-`."""
    for port, one in answer.get("intfQueueCounters", {}).items():
        for queue, count in one.get("queueCounters", {}).items():
            tally.add(ECN_MARKED, port, _class_number(queue), count)


def read_drops(answer: Mapping[str, Any], tally: Tally) -> None:
    """`show interfaces counters queue detail`: packets dropped from egress queues of unicast."""
    for port, one in answer.get("egressQueueCounters", {}).get("interfaces", {}).items():
        for queue, counts in one.get("ucastQueues", {}).get("trafficClasses", {}).items():
            for level in counts.get("dropPrecedences", {}).values():
                tally.add(DROPPED, port, _class_number(queue), level.get("droppedPackets"))


def _class_number(queue: str) -> str:
    """`TC3`, `UC3` or `3` as `3`; a range of classes stays as it is."""
    match = re.fullmatch(r"[A-Za-z]*(\d+)", queue)
    return match[1] if match else queue


QUESTIONS: tuple[tuple[str, int, Callable[[Mapping[str, Any], Tally], None]], ...] = (
    ("show priority-flow-control counters", 3, read_pfc),
    ("show priority-flow-control counters watchdog", 1, read_watchdog),
    ("show qos interfaces ecn counters queue", 1, read_marks),
    ("show interfaces counters queue detail", 1, read_drops),
)
"""Command, revision of its JSON, and its reader.

Fields as Arista's ANTA reads them (`VerifyInterfacesPFCCounters`, `VerifyInterfacesECNCounters`,
`VerifyInterfacesEgressQueueDrops`); those of the watchdog as users of it do, assumed for other releases.
"""


_PARTS = ("tempSensors", "cardSlots", "fanTraySlots", "powerSupplySlots")


def _measures(answer: Mapping[str, Any]) -> bool:
    """Return whether a status has a meaning: a virtual switch has no sensor, and an unknown status."""
    unknown = str(answer.get("systemStatus", "")).startswith("unknown")
    return not unknown or any(answer.get(part) for part in _PARTS)


def read_temperature(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment temperature`."""
    if (status := answer["systemStatus"]) != "temperatureOk" and _measures(answer):
        yield f"temperature: {status}"


def read_cooling(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment cooling`."""
    if (status := answer["systemStatus"]) != "coolingOk" and _measures(answer):
        yield f"cooling: {status}"


def read_power(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment power`."""
    for name, supply in answer["powerSupplies"].items():
        if (state := supply.get("state", "unknown")) != "ok":
            yield f"power supply {name}: {state}"


HEALTH: tuple[tuple[str, int, str, Callable[[Mapping[str, Any]], Iterator[str]]], ...] = (
    ("show system environment temperature", 1, "systemStatus", read_temperature),
    ("show system environment cooling", 1, "systemStatus", read_cooling),
    ("show system environment power", 1, "powerSupplies", read_power),
)
"""Command, revision of its JSON, the field that it must have, and its reader; fields as Arista's ANTA reads them."""
