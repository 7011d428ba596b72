"""Read NX-OS's JSON answers: routes, lossless classes and the device's own health.

Tables and fields are those of Cisco's "Nexus 9000 Series NX-OS Show Commands" (`__readonly__` of each command), and
`show queuing tabular` as Cisco's own tools read it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS, CounterTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


ROUTES = ("show ip route", "show ipv6 route")
PEERS = "show nve peers control-plane-vni"
_PEER = re.compile(
    r"^\s*(?P<vtep>[0-9a-f.:]{2,39})\s+(?P<vni>\d{1,8})\s+\S+(?:\s+\S+)?\s+(?P<mac>(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})\s",
    re.MULTILINE,
)
"""A row of that table; the column `Learn-Source-Mask` is of later releases."""
_HEAD = "Gateway-MAC"
_NO_MAC = "0000.0000.0000"
QUEUES = "show queuing interface"
PFC = "show interface priority-flow-control"
WATCHDOG = "show queuing pfc-queue detail"
MARKS = "show queuing tabular"
HEALTH = "show environment"
HOSTNAME = "show hostname"
INVENTORY = "show inventory"
_STATES = ("ps_status", "fanstatus", "alarmstatus")
_WELL = ("ok", "powered-up", "absent", "n/a", "")
_AGGREGATES = ("q-aggr-pkt-dropped", "q-ing-aggr-pkt-dropped")


def find_rows(answer: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table at any depth: NX-API returns a single row as an object, several as a list."""
    if isinstance(answer, list):
        for one in answer:
            yield from find_rows(one, name)
    elif isinstance(answer, dict):
        for key, inner in answer.items():
            if key == f"ROW_{name}":
                yield from inner if isinstance(inner, list) else (inner,)
            else:
                yield from find_rows(inner, name)


def chassis_serial(answer: Any) -> str:
    """Return the serial number of the chassis in `show inventory`, "" where it has none."""
    for row in find_rows(answer, "inv"):
        if str(row.get("name", "")).strip('"') == "Chassis":
            return str(row.get("serialnum") or "")
    return ""


def router_macs(text: str) -> dict[str, dict[str, str]]:
    """Return VNI -> VTEP -> router MAC, from the table of peers in each VNI; a VNI of a bridge has none.

    Raises:
        NotImplementedError: the text is not that table.
    """
    found: dict[str, dict[str, str]] = {}
    if _HEAD not in text:
        raise NotImplementedError
    for row in _PEER.finditer(text):
        peers = found.setdefault(row["vni"], {})
        if row["mac"] != _NO_MAC:
            peers[row["vtep"]] = row["mac"]
    return found


def ecmp_widths(*answers: Mapping[str, Any]) -> dict[str, int]:
    """Return prefix -> best next hops, for BGP routes of the default VRF."""
    found = {}
    for vrf in (one for answer in answers for one in find_rows(answer, "vrf")):
        if vrf.get("vrf-name-out") == "default":
            for prefix in find_rows(vrf, "prefix"):
                paths = [
                    path
                    for path in find_rows(prefix, "path")
                    if str(path.get("clientname")).startswith("bgp")
                ]
                if best := sum(1 for path in paths if str(path.get("ubest")).lower() == "true"):
                    found[str(prefix["ipprefix"])] = best
    return found


class Classes:
    """The PFC priority of each qos-group of each port as the device reports it; otherwise the same number."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._known: dict[tuple[str, str], str] = {}

    def port(self, row: Mapping[str, Any]) -> str:
        """Return the whole name of a row's port."""
        return self._name(str(row["if_name_str"]))

    def learn(self, port: str, group: object, priority: object) -> None:
        """Store the priority of a qos-group; `-` and other texts mean none."""
        if is_number(str(group)) and is_number(str(priority)):
            self._known[port, str(group)] = str(priority)

    def of(self, port: str, group: object) -> str:
        """Return the priority of a qos-group."""
        return self._known.get((port, str(group)), str(group))


def read_queues(answer: Mapping[str, Any], classes: Classes, tally: CounterTotals) -> None:
    """`show queuing interface`: PFC frames by priority, and packets dropped by qos-group."""
    for row in find_rows(answer, "queuing_interface"):
        port = classes.port(row)
        for one in find_rows(row, "pfc_stats"):
            classes.learn(port, one.get("pfc-qosgrp"), one.get("cos"))
            tally.add(PFC_RX, port, one.get("cos"), one.get("rx-pause-count"))
            tally.add(PFC_TX, port, one.get("cos"), one.get("tx-pause-count"))
        for group in find_rows(row, "qosgrp_egress_stats"):
            for one in find_rows(group, "qosgrp_egress_stats_entry"):
                if (one.get("eq-stat-type"), one.get("eq-stat-units")) == ("Dropped", "Pkts"):
                    tally.add(
                        DROPPED, port, classes.of(port, group.get("eq-qosgrp")), one.get("eq-uc-stat-value")
                    )


def read_pfc(answer: Mapping[str, Any], classes: Classes, tally: CounterTotals) -> None:
    """`show interface priority-flow-control`: PFC frames of all priorities, for ports without counts by priority."""
    for row in find_rows(answer, "pfc_interface"):
        if not tally.has(PFC_RX, port := classes.port(row)):
            tally.add(PFC_RX, port, ALL, row.get("rx-stats"))
            tally.add(PFC_TX, port, ALL, row.get("tx-stats"))


def read_watchdog(answer: Mapping[str, Any], classes: Classes, tally: CounterTotals) -> None:
    """`show queuing pfc-queue detail`: queues that the watchdog shut down, and what it dropped there ever since."""
    for row in find_rows(answer, "queuing_interface"):
        port = classes.port(row)
        for group in find_rows(row, "qosgrp_stats"):
            classes.learn(port, group.get("eq-qosgrp"), group.get("pfc-cos"))
            priority = classes.of(port, group.get("eq-qosgrp"))
            for one in find_rows(group, "qosgrp_stats_entry"):
                tally.add(STORMS, port, priority, one.get("q-shutdown"))
                for field in _AGGREGATES:
                    tally.add(DROPPED, port, priority, one.get(field))


def read_marks(answer: Mapping[str, Any], classes: Classes, tally: CounterTotals) -> None:
    """`show queuing tabular`: unicast packets marked, by qos-group."""
    for row in find_rows(answer, "queuing_interface"):
        port = classes.port(row)
        for one in find_rows(row, "queuing_counter"):
            if one.get("counter_name_str") == "uc-ecn-mark-pkts":
                for group in range(8):
                    tally.add(ECN_MARKED, port, classes.of(port, group), one.get(f"qos_group_{group}"))


QUESTIONS = ((WATCHDOG, read_watchdog), (QUEUES, read_queues), (PFC, read_pfc), (MARKS, read_marks))
"""Command and its reader; answers that contain the priority of a qos-group come first."""


def read_alarms(answer: Mapping[str, Any]) -> list[str]:
    """`show environment`: supplies, fans and sensors that are not well; names end in the device's series on some.

    Raises:
        NotImplementedError: the answer contains no state.
    """
    states = list(_find_states(answer))
    if not states:
        raise NotImplementedError("the platform does not report its health")
    return list(dict.fromkeys(f"{part}: {state}" for part, state in states if state.lower() not in _WELL))


def _find_states(answer: Any) -> Iterator[tuple[str, str]]:
    """Find each part with its state."""
    if isinstance(answer, list):
        for one in answer:
            yield from _find_states(one)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            if isinstance(value, (dict, list)):
                yield from _find_states(value)
            elif key.startswith(_STATES):
                yield _name_part(key, answer), str(value).strip()


def _name_part(key: str, row: Mapping[str, Any]) -> str:
    if key.startswith("ps_status"):
        return f"power supply {row.get('psnum', '')}".strip()
    if key.startswith("fanstatus"):
        return f"fan {str(row.get('fanname', '')).strip()}"
    return f"temperature {str(row.get('sensor', '')).strip()}"
