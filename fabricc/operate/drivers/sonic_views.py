"""SONiC's databases as NAPALM's dictionaries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers import linux_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS, CounterTotals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


COUNTERS = "redis-dump -d 2 -y -k 'COUNTERS*'"
HEALTH = "redis-dump -d 6 -y -k 'SYSTEM_HEALTH_INFO*'"
_NAMES, _QUEUE_NAMES = "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP"
_OF_QUEUES = {
    ECN_MARKED: ("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",),
    STORMS: ("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",),
    DROPPED: (
        "SAI_QUEUE_STAT_DROPPED_PACKETS",
        "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS",
        "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS",
    ),
}
_SAI = {
    "tx_errors": "OUT_ERRORS",
    "rx_errors": "IN_ERRORS",
    "tx_discards": "OUT_DISCARDS",
    "rx_discards": "IN_DISCARDS",
    "tx_octets": "OUT_OCTETS",
    "rx_octets": "IN_OCTETS",
    "tx_unicast_packets": "OUT_UCAST_PKTS",
    "rx_unicast_packets": "IN_UCAST_PKTS",
    "tx_multicast_packets": "OUT_MULTICAST_PKTS",
    "rx_multicast_packets": "IN_MULTICAST_PKTS",
    "tx_broadcast_packets": "OUT_BROADCAST_PKTS",
    "rx_broadcast_packets": "IN_BROADCAST_PKTS",
}
"""NAPALM's counter -> the end of SAI's, `SAI_PORT_STAT_IF_…` (SAI, saiport.h)."""


def read_facts(running: Mapping[str, Any], version: str, uptime_s: float, serial: str) -> dict[str, Any]:
    """NAPALM's `get_facts` from CONFIG_DB and `/etc/sonic/sonic_version.yml`."""
    here = running.get("DEVICE_METADATA", {}).get("localhost", {})
    build = re.search(r"(?m)^build_version: *'?([^'\n]+)", version)
    return {
        "uptime": uptime_s,
        "vendor": "SONiC",
        "os_version": build[1] if build else "",
        "serial_number": serial,
        "model": str(here.get("hwsku", "")),
        "hostname": str(here.get("hostname", "")),
        "fqdn": str(here.get("hostname", "")),
        "interface_list": sorted(running.get("PORT", {}), key=lambda name: (len(name), name)),
    }


def read_interfaces(running: Mapping[str, Any], links: list[Mapping[str, Any]]) -> dict[str, Any]:
    """NAPALM's `get_interfaces` of the front-panel ports; speed in Mbit/s as CONFIG_DB has it."""
    ports = running.get("PORT", {})
    speeds = {name: float(port.get("speed", -1)) for name, port in ports.items()}
    found = linux_views.read_interfaces([link for link in links if link["ifname"] in ports], speeds)
    for name, one in found.items():
        one["description"] = str(ports[name].get("description", ""))
    return found


def read_counters(dump: Mapping[str, Any]) -> dict[str, Any]:
    """NAPALM's `get_interfaces_counters` from a dump of COUNTERS_DB."""
    return {
        port: {ours: int(row.get(f"SAI_PORT_STAT_IF_{sai}", -1)) for ours, sai in _SAI.items()}
        for port, row in _object_rows(dump, _NAMES)
    }


def read_lossless(dump: Mapping[str, Any], tally: CounterTotals) -> None:
    """Counters of lossless classes from a dump of COUNTERS_DB.

    Fields are those of SAI (saiport.h, saiqueue.h) and of the PFC watchdog (sonic-swss, pfcactionhandler.h).
    """
    for port, row in _object_rows(dump, _NAMES):
        for priority in range(8):
            tally.add(PFC_RX, port, priority, row.get(f"SAI_PORT_STAT_PFC_{priority}_RX_PKTS"))
            tally.add(PFC_TX, port, priority, row.get(f"SAI_PORT_STAT_PFC_{priority}_TX_PKTS"))
    for name, row in _object_rows(dump, _QUEUE_NAMES):
        port, _, queue = name.partition(":")
        for kind, fields in _OF_QUEUES.items():
            for field in fields:
                tally.add(kind, port, queue, row.get(field))


def _object_rows(dump: Mapping[str, Any], names: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and counters of each object of a map of names.

    Raises:
        AnswerError: it is no dump of redis-dump.
    """
    if not isinstance(dump, dict) or not all(
        isinstance(row, dict) and "value" in row for row in dump.values()
    ):
        raise AnswerError("the answer of redis-dump is not a dump of COUNTERS_DB")
    for name, oid in dump.get(names, {}).get("value", {}).items():
        yield name, dump.get(f"COUNTERS:{oid}", {}).get("value", {})


def read_alarms(dump: Any) -> list[str]:
    """Return the problems that system-health reports, from a dump of STATE_DB.

    Source: system-health-HLD.md, table SYSTEM_HEALTH_INFO.

    Raises:
        NotImplementedError: the image has no system-health.
    """
    rows = [row for row in dump.values() if isinstance(row, dict)] if isinstance(dump, dict) else []
    alarms = {name: str(text) for row in rows for name, text in row.get("value", {}).items()}
    if "summary" not in alarms:
        raise NotImplementedError("no system health in STATE_DB")
    if alarms.pop("summary") == "OK":
        return []
    wrong = [f"{name}: {text}" for name, text in sorted(alarms.items()) if not text.startswith("OK")]
    return wrong or ["Not OK"]
