"""NX-OS's JSON of counters, health and routes.

Forms: Cisco, "Nexus 9000 Series NX-OS Show Commands", the tables in `__readonly__` of `show queuing`, `show queuing
pfc-queue` and `show ip route`; `show queuing tabular` and the table of modules around the others as Cisco's tools and
public exporters read them; `show environment` as NAPALM's `get_environment` does. One row stands as itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.operate.drivers.servers.counted import Counted


def make_table(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a table as NX-API formats it."""
    return {f"TABLE_{name}": {f"ROW_{name}": rows[0] if len(rows) == 1 else rows}} if rows else {}


def module_table(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A table below the table of modules."""
    return make_table("module", [{"module": "1", **make_table(name, rows)}])


def show_queuing(counted: Counted) -> dict[str, Any]:
    def group(port: str, number: int) -> dict[str, Any]:
        count = str(counted.of("dropped", port, number))
        kinds = [
            ("Tx", "Pkts", "7"),
            ("Dropped", "Pkts", count),
            ("Dropped", "Byts", "0"),
            ("Q Depth", "Byts", "0"),
        ]
        entries = [
            {"eq-stat-type": kind, "eq-stat-units": unit, "eq-uc-stat-value": value, "eq-mc-stat-value": "0"}
            for kind, unit, value in kinds
        ]
        return {"eq-qosgrp": str(number), **make_table("qosgrp_egress_stats_entry", entries)}

    def one(port: str) -> dict[str, Any]:
        pauses = [
            {
                "cos": str(cos),
                "pfc-qosgrp": str(cos) if cos == 3 else "-",
                "tx-pause-state": "Inactive",
                "tx-pause-count": str(counted.of("pfc_tx", port, cos)),
                "rx-pause-state": "Inactive",
                "rx-pause-count": str(counted.of("pfc_rx", port, cos)),
            }
            for cos in range(8)
        ]
        groups = make_table("qosgrp_egress_stats", [group(port, number) for number in range(8)])
        return {
            "dir": "Egress",
            "if_name_str": port,
            **groups,
            "tx-ppp": "0",
            "rx-ppp": "0",
            **make_table("pfc_stats", pauses),
        }

    return module_table("queuing_interface", [one(port) for port in counted.ports])


def show_pfc(counted: Counted) -> dict[str, Any]:
    rows = [
        {
            "if_name_str": port,
            "admin": "On",
            "oper": "On (8)",
            "rx-stats": str(counted.all("pfc_rx", port)),
            "tx-stats": str(counted.all("pfc_tx", port)),
        }
        for port in counted.ports
    ]
    return module_table("pfc_interface", rows)


def show_watchdog(counted: Counted) -> dict[str, Any]:
    def one(port: str) -> dict[str, Any]:
        storms = str(counted.of("storms", port, 3))
        entries = [
            {"q-stat-type": "Shutdown", "q-shutdown": storms},
            {"q-stat-type": "Restored", "q-restored": storms},
            {"q-stat-type": "Aggregate pkts dropped", "q-aggr-pkt-dropped": "0"},
            {"q-stat-type": "Aggregate Ingress pkts dropped", "q-ing-aggr-pkt-dropped": "0"},
        ]
        group = {"eq-qosgrp": "3", "eq-qosgrp-state": "Active", "pfc-configured": "YES", "pfc-cos": "3"}
        return {
            "if_name_str": port,
            "wd-status": "Enabled",
            **make_table("qosgrp_stats", [group | make_table("qosgrp_stats_entry", entries)]),
        }

    return {
        "glb-wd-status": "Enabled",
        **make_table("queuing_interface", [one(port) for port in counted.ports]),
    }


def show_tabular(counted: Counted) -> dict[str, Any]:
    def one(port: str) -> dict[str, Any]:
        marks = {f"qos_group_{n}": str(counted.of("marked", port, n)) for n in range(8)}
        rows = [
            {"counter_name_str": "uc-tx-pkts", "qos_group_3": "7"},
            {"counter_name_str": "uc-ecn-mark-pkts", **marks},
        ]
        return {"if_name_str": port, **make_table("queuing_counter", rows)}

    return module_table("queuing_interface", [one(port) for port in counted.ports])


def show_environment(counted: Counted) -> dict[str, Any]:
    def state(part: str, well: str = "Ok") -> str:
        return counted.alarms.get(part, well)

    fans = [{"fanname": "Fan1(sys_fan1)", "fanstatus": state("fan Fan1(sys_fan1)")}]
    supplies = [{"psnum": "1", "ps_status": state("power supply 1")}, {"psnum": "2", "ps_status": "Absent"}]
    sensors = [{"tempmod": "1", "sensor": "FRONT   ", "alarmstatus": state("temperature FRONT")}]
    return {
        "fandetails": make_table("faninfo", fans),
        "powersup": make_table("psinfo", supplies),
        **make_table("tempinfo", sensors),
    }


def show_routes(counted: Counted, version: int) -> dict[str, Any]:
    def path(number: int) -> dict[str, str]:
        return {"ipnexthop": f"192.0.2.{number}", "clientname": "bgp-65001", "ubest": "true", "pref": "20"}

    rows = [
        {
            "ipprefix": prefix,
            "ucast-nhops": str(hops),
            "mcast-nhops": "0",
            "attached": "false",
            **make_table("path", [path(number) for number in range(hops)]),
        }
        for prefix, hops in counted.routes.items()
        if (":" in prefix) == (version == 6)
    ]
    own = {
        "ipprefix": "192.0.2.0/31",
        "ucast-nhops": "1",
        **make_table("path", [{"clientname": "direct", "ubest": "true"}]),
    }
    family = {"addrf": f"ipv{version}", **make_table("prefix", [own, *rows])}
    return make_table("vrf", [{"vrf-name-out": "default", **make_table("addrf", [family])}])


SHOWS: dict[str, Callable[[Counted], dict[str, Any]]] = {
    "show queuing interface": show_queuing,
    "show interface priority-flow-control": show_pfc,
    "show queuing pfc-queue detail": show_watchdog,
    "show queuing tabular": show_tabular,
    "show environment": show_environment,
    "show ip route": lambda counted: show_routes(counted, 4),
    "show ipv6 route": lambda counted: show_routes(counted, 6),
}
