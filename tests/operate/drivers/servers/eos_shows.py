"""EOS's JSON of counters, health and routes.

Forms: Arista's ANTA, whose tests read these fields of these revisions (`VerifyInterfacesPFCCounters`,
`VerifyInterfacesECNCounters`, `VerifyInterfacesEgressQueueDrops`, `VerifyTemperature`, `VerifyEnvironmentCooling`,
`VerifyEnvironmentPower`), NAPALM's `get_environment`, and for the watchdog a public health check of a user of EOS:
`interfaces` is empty until the first storm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.operate.drivers.servers.counted import Counted


def show_pfc(counted: Counted) -> dict[str, Any]:
    return {
        "interfaceCounters": {
            port: {"rxFrames": counted.all("pfc_rx", port), "txFrames": counted.all("pfc_tx", port)}
            for port in counted.ports
        }
    }


def show_watchdog(counted: Counted) -> dict[str, Any]:
    return {
        "interfaces": {
            port: {
                "txQueues": {str(queue): {"stuckCount": n, "recoveryCount": n} for queue, n in counts.items()}
            }
            for port, counts in counted.storms.items()
        }
    }


def show_marks(counted: Counted) -> dict[str, Any]:
    return {
        "intfQueueCounters": {
            port: {
                "queueCounters": {
                    str(q): str(counted.of("marked", port, q)) if q == 3 else "-" for q in range(8)
                }
            }
            for port in counted.ports
        }
    }


def show_drops(counted: Counted) -> dict[str, Any]:
    def queue(port: str, number: int) -> dict[str, Any]:
        count = {
            "enqueuedPackets": 0,
            "enqueuedBytes": 0,
            "droppedPackets": counted.of("dropped", port, number),
        }
        return {"dropPrecedences": {"DP0": {**count, "droppedBytes": 0}}}

    return {
        "egressQueueCounters": {
            "interfaces": {
                port: {
                    "ucastQueues": {"trafficClasses": {f"TC{n}": queue(port, n) for n in range(8)}},
                    "mcastQueues": {"trafficClasses": {}},
                }
                for port in counted.ports
            }
        }
    }


def show_temperature(counted: Counted) -> dict[str, Any]:
    status = "temperatureCritical" if "temperature" in counted.alarms else "temperatureOk"
    return {"systemStatus": status, "tempSensors": [], "cardSlots": [], "powerSupplySlots": []}


def show_cooling(counted: Counted) -> dict[str, Any]:
    status = "coolingDown" if "cooling" in counted.alarms else "coolingOk"
    return {"systemStatus": status, "fanTraySlots": [], "powerSupplySlots": []}


def show_power(counted: Counted) -> dict[str, Any]:
    state = "powerLoss" if "power supply 1" in counted.alarms else "ok"
    return {"powerSupplies": {"1": {"state": state, "modelName": "PWR-1511-AC-RED"}, "2": {"state": "ok"}}}


def show_routes(counted: Counted, version: int) -> dict[str, Any]:
    found = {
        prefix: {"routeType": "eBGP", "vias": [{"nexthopAddr": f"192.0.2.{n}"} for n in range(hops)]}
        for prefix, hops in counted.routes.items()
        if (":" in prefix) == (version == 6)
    }
    return {"vrfs": {"default": {"routes": found}}}


SHOWS = {
    "show priority-flow-control counters": show_pfc,
    "show priority-flow-control counters watchdog": show_watchdog,
    "show qos interfaces ecn counters queue": show_marks,
    "show interfaces counters queue detail": show_drops,
    "show system environment temperature": show_temperature,
    "show system environment cooling": show_cooling,
    "show system environment power": show_power,
    "show ip route bgp": lambda counted: show_routes(counted, 4),
    "show ipv6 route bgp": lambda counted: show_routes(counted, 6),
}
