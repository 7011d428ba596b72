"""Convert the JSON of iproute2 and lldpd to NAPALM's dictionaries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.lossless import ALL, ECN_MARKED, PFC_RX, PFC_TX, CounterTotals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


LINKS = ("ip", "-j", "-s", "-d", "link", "show")
LLDP = ("lldpcli", "-f", "json0", "show", "neighbors", "details")
ETHTOOL = (
    "sh",
    "-c",
    'for i in /sys/class/net/*; do echo "==> ${i##*/} <=="; ethtool -S "${i##*/}" 2> /dev/null; echo; done; true',
)
_NAMED = re.compile(r"(?m)^==> (\S+) <==$")
_PAUSE = re.compile(r"(?m)^[^\S\n]*(rx|tx)_pause_prio_(\d): (\d+)$|^[^\S\n]*(ecn_marked): (\d+)$")
_CAPABILITIES = {"Wlan": "wlan-access-point", "Tel": "telephone", "Docsis": "docsis-cable-device"}


def read_interfaces(links: list[Mapping[str, Any]], speeds: Mapping[str, float]) -> dict[str, Any]:
    """NAPALM's `get_interfaces` from `ip -j -d link show`.

    `speeds`: interface -> Mbit/s, of those that report it.
    """
    return {
        link["ifname"]: {
            "is_up": "LOWER_UP" in link["flags"] and link.get("operstate") in ("UP", "UNKNOWN"),
            "is_enabled": "UP" in link["flags"],
            "description": str(link.get("ifalias", "")),
            "last_flapped": -1.0,
            "speed": float(speeds.get(link["ifname"], -1.0)),
            "mtu": int(link["mtu"]),
            "mac_address": str(link.get("address", "")).upper(),
        }
        for link in links
    }


def read_speeds(text: str) -> dict[str, float]:
    """Interface -> Mbit/s from `grep . /sys/class/net/*/speed`; an interface that knows none is missing."""
    found = re.findall(r"(?m)^/sys/class/net/([^/]+)/speed:(\d+)$", text)
    return {name: float(speed) for name, speed in found}


def read_counters(links: list[Mapping[str, Any]]) -> dict[str, Any]:
    """NAPALM's `get_interfaces_counters` from `ip -j -s link show`; -1 for what Linux does not count."""
    return {
        link["ifname"]: _interface_counters(link.get("stats64") or link.get("stats") or {}) for link in links
    }


def require_links(links: Any) -> list[Any]:
    """Return the answer to `ip -j link show`, which has the loopback at least.

    Raises:
        AnswerError: It has no interface.
    """
    if not isinstance(links, list) or not links:
        raise AnswerError("the answer to `ip -j link show` lists no interface")
    return links


def _interface_counters(stats: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    sent, seen = stats.get("tx", {}), stats.get("rx", {})
    multicast = int(seen.get("multicast", -1))
    return {
        "tx_errors": int(sent.get("errors", -1)),
        "rx_errors": int(seen.get("errors", -1)),
        "tx_discards": int(sent.get("dropped", -1)),
        "rx_discards": int(seen.get("dropped", -1)),
        "tx_octets": int(sent.get("bytes", -1)),
        "rx_octets": int(seen.get("bytes", -1)),
        "tx_unicast_packets": int(sent.get("packets", -1)),
        "rx_unicast_packets": int(seen.get("packets", -1)) - max(0, multicast),
        "tx_multicast_packets": -1,
        "rx_multicast_packets": multicast,
        "tx_broadcast_packets": -1,
        "rx_broadcast_packets": -1,
    }


def read_lossless(text: str, tally: CounterTotals) -> None:
    """Counters of lossless classes from `ethtool -S` of each port, as Linux's driver of Spectrum names them.

    (drivers/net/ethernet/mellanox/mlxsw/spectrum_ethtool.c; other drivers count nothing of it under these names.)
    """
    _, *parts = _NAMED.split(text)
    for port, counters in zip(parts[::2], parts[1::2], strict=True):
        for way, priority, frames, _, marked in _PAUSE.findall(counters):
            if way:
                tally.add(PFC_RX if way == "rx" else PFC_TX, port, priority, frames)
            else:
                tally.add(ECN_MARKED, port, ALL, marked)


def lldp_detail(answer: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """NAPALM's `get_lldp_neighbors_detail` from `lldpcli -f json0 show neighbors details`."""
    found: dict[str, list[dict[str, Any]]] = {}
    if not isinstance(answer["lldp"], list):
        raise AnswerError("the answer of lldpcli has no list `lldp`")
    for interface in (one for top in answer["lldp"] for one in top.get("interface", [])):
        if str(interface.get("via", "LLDP")) == "unknown":
            continue
        for chassis, port in zip(interface.get("chassis", []), interface.get("port", []), strict=False):
            found.setdefault(interface["name"], []).append(_read_neighbor(chassis, port))
    return found


def _read_neighbor(chassis: Mapping[str, Any], port: Mapping[str, Any]) -> dict[str, Any]:
    capabilities = [(one["type"], bool(one.get("enabled"))) for one in chassis.get("capability", [])]
    return {
        "parent_interface": "",
        "remote_port": _first_value(port.get("id")),
        "remote_port_description": _first_value(port.get("descr")),
        "remote_chassis_id": _first_value(chassis.get("id")),
        "remote_system_name": _first_value(chassis.get("name")),
        "remote_system_description": _first_value(chassis.get("descr")),
        "remote_system_capab": list(_list_capabilities(capabilities, enabled_only=False)),
        "remote_system_enable_capab": list(_list_capabilities(capabilities, enabled_only=True)),
    }


def _list_capabilities(found: list[tuple[str, bool]], *, enabled_only: bool) -> Iterator[str]:
    for kind, enabled in found:
        if enabled or not enabled_only:
            yield _CAPABILITIES.get(kind, kind.lower())


def _first_value(values: Any) -> str:
    return str(values[0].get("value", "")) if values else ""


def lldp_brief(detail: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, str]]]:
    """NAPALM's `get_lldp_neighbors` from the detail: a system's name, or its chassis when it has none."""
    return {
        interface: [
            {"hostname": one["remote_system_name"] or one["remote_chassis_id"], "port": one["remote_port"]}
            for one in neighbors
        ]
        for interface, neighbors in detail.items()
    }
