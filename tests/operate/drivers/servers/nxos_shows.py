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


def table(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a table as NX-API formats it."""
    return {f"TABLE_{name}": {f"ROW_{name}": rows[0] if len(rows) == 1 else rows}} if rows else {}


def modules(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A table below the table of modules."""
    return table("module", [{"module": "1", **table(name, rows)}])


def queuing(counted: Counted) -> dict[str, Any]:
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
        return {"eq-qosgrp": str(number), **table("qosgrp_egress_stats_entry", entries)}

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
        groups = table("qosgrp_egress_stats", [group(port, number) for number in range(8)])
        return {
            "dir": "Egress",
            "if_name_str": port,
            **groups,
            "tx-ppp": "0",
            "rx-ppp": "0",
            **table("pfc_stats", pauses),
        }

    return modules("queuing_interface", [one(port) for port in counted.ports])


def pfc(counted: Counted) -> dict[str, Any]:
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
    return modules("pfc_interface", rows)


def watchdog(counted: Counted) -> dict[str, Any]:
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
            **table("qosgrp_stats", [group | table("qosgrp_stats_entry", entries)]),
        }

    return {"glb-wd-status": "Enabled", **table("queuing_interface", [one(port) for port in counted.ports])}


def tabular(counted: Counted) -> dict[str, Any]:
    def one(port: str) -> dict[str, Any]:
        marks = {f"qos_group_{n}": str(counted.of("marked", port, n)) for n in range(8)}
        rows = [
            {"counter_name_str": "uc-tx-pkts", "qos_group_3": "7"},
            {"counter_name_str": "uc-ecn-mark-pkts", **marks},
        ]
        return {"if_name_str": port, **table("queuing_counter", rows)}

    return modules("queuing_interface", [one(port) for port in counted.ports])


def environment(counted: Counted) -> dict[str, Any]:
    def state(part: str, well: str = "Ok") -> str:
        return counted.alarms.get(part, well)

    fans = [{"fanname": "Fan1(sys_fan1)", "fanstatus": state("fan Fan1(sys_fan1)")}]
    supplies = [{"psnum": "1", "ps_status": state("power supply 1")}, {"psnum": "2", "ps_status": "Absent"}]
    sensors = [{"tempmod": "1", "sensor": "FRONT   ", "alarmstatus": state("temperature FRONT")}]
    return {
        "fandetails": table("faninfo", fans),
        "powersup": table("psinfo", supplies),
        **table("tempinfo", sensors),
    }


def routes(counted: Counted, version: int) -> dict[str, Any]:
    def path(number: int) -> dict[str, str]:
        return {"ipnexthop": f"192.0.2.{number}", "clientname": "bgp-65001", "ubest": "true", "pref": "20"}

    rows = [
        {
            "ipprefix": prefix,
            "ucast-nhops": str(hops),
            "mcast-nhops": "0",
            "attached": "false",
            **table("path", [path(number) for number in range(hops)]),
        }
        for prefix, hops in counted.routes.items()
        if (":" in prefix) == (version == 6)
    ]
    own = {
        "ipprefix": "192.0.2.0/31",
        "ucast-nhops": "1",
        **table("path", [{"clientname": "direct", "ubest": "true"}]),
    }
    family = {"addrf": f"ipv{version}", **table("prefix", [own, *rows])}
    return table("vrf", [{"vrf-name-out": "default", **table("addrf", [family])}])


SHOWS: dict[str, Callable[[Counted], dict[str, Any]]] = {
    "show queuing interface": queuing,
    "show interface priority-flow-control": pfc,
    "show queuing pfc-queue detail": watchdog,
    "show queuing tabular": tabular,
    "show environment": environment,
    "show ip route": lambda counted: routes(counted, 4),
    "show ipv6 route": lambda counted: routes(counted, 6),
}
