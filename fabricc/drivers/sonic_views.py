"""SONiC's databases as NAPALM's dictionaries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.drivers import linux_views

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTERS = "redis-dump -d 2 -y -k 'COUNTERS*'"
_NAMES = "COUNTERS_PORT_NAME_MAP"
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


def facts(running: Mapping[str, Any], version: str, uptime_s: float, serial: str) -> dict[str, Any]:
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


def interfaces(running: Mapping[str, Any], links: list[Mapping[str, Any]]) -> dict[str, Any]:
    """NAPALM's `get_interfaces` of the front-panel ports; speed in Mbit/s as CONFIG_DB has it."""
    ports = running.get("PORT", {})
    speeds = {name: float(port.get("speed", -1)) for name, port in ports.items()}
    found = linux_views.interfaces([link for link in links if link["ifname"] in ports], speeds)
    for name, one in found.items():
        one["description"] = str(ports[name].get("description", ""))
    return found


def counters(dump: Mapping[str, Any]) -> dict[str, Any]:
    """NAPALM's `get_interfaces_counters` from a dump of COUNTERS_DB."""
    names = dump.get(_NAMES, {}).get("value", {})
    rows = {port: dump.get(f"COUNTERS:{oid}", {}).get("value", {}) for port, oid in names.items()}
    return {
        port: {ours: int(row.get(f"SAI_PORT_STAT_IF_{sai}", -1)) for ours, sai in _SAI.items()}
        for port, row in rows.items()
    }


def pause_counters(dump: Mapping[str, Any]) -> dict[str, dict[str, dict[int, int]]]:
    """Port -> `rx` and `tx` -> priority -> PFC frames, from a dump of COUNTERS_DB (SAI, saiport.h)."""
    names = dump.get(_NAMES, {}).get("value", {})
    found: dict[str, dict[str, dict[int, int]]] = {}
    for port, oid in names.items():
        row = dump.get(f"COUNTERS:{oid}", {}).get("value", {})
        found[port] = {
            way: {
                priority: int(row[key])
                for priority in range(8)
                if (key := f"SAI_PORT_STAT_PFC_{priority}_{way.upper()}_PKTS") in row
            }
            for way in ("rx", "tx")
        }
    return found
