"""The facts that SONiC's files state: those of the waist it can express, and what its own port table adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.platform import Platform, lane_list
from fabricc.back.nos.sonic.qos import LOSSLESS_DYNAMIC_TH, LOSSY_DYNAMIC_TH, lossy_exponent, shut_ports
from fabricc.back.nos.sonic.reclaim import FACT
from fabricc.back.nos.sonic.routing import routing_facts
from fabricc.back.nos.sonic.services import service_facts
from fabricc.back.nos.sonic.tables import (
    ROLES,
    SERVICE_DESCRIPTION,
    SERVICE_MTU,
    autoneg,
    breakouts,
    counts_marks,
    fec,
)
from fabricc.fabric.facts import congestion_facts, setting_facts

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import BufferPools


SETTINGS = ("management/", "lldp/", "bgp/ttl_security")
"""What the settings that SONiC expresses begin with; of load balancing it has no more than the hash."""


def planned_facts(switch: Switch, stated: Facts) -> Facts:
    """The facts `read` finds in the rendered files, given those the switch states.

    Accounts fall away (no table); identity, lanes, error correction, negotiation, labels, breakouts and the service
    ports are added, since a wrong one of these cuts a link.
    """
    platform = Platform.of(switch.model)
    facts = {path: value for path, value in stated.items() if not path.startswith("user[")}
    facts["system/hwsku"] = platform.hwsku
    facts["system/platform"] = platform.platform
    facts["system/type"] = ROLES[switch.tier_index]
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "alias"] = platform.port_alias(port)
        facts[prefix + "autoneg"] = autoneg(port)
        facts[prefix + "fec"] = fec(port)
        facts[prefix + "index"] = platform.port_index(port)
        facts[prefix + "lanes"] = platform.port_lanes(port)
        facts[prefix + "mtu"] = port.mtu
        if port.children > 1:
            facts[prefix + "subport"] = port.child
    for service in platform.service_ports:
        prefix = f"interface[{service['name']}]/"
        facts[prefix + "alias"] = service["alias"]
        facts[prefix + "description"] = SERVICE_DESCRIPTION
        facts[prefix + "enabled"] = "false"
        facts[prefix + "index"] = service["index"]
        facts[prefix + "lanes"] = lane_list(service["lanes"])
        facts[prefix + "mtu"] = SERVICE_MTU
        facts[prefix + "speed_gbps"] = service["speed"] // 1000
    for cage, mode in breakouts(switch, platform).items():
        facts[f"breakout[{cage}]"] = mode
    _add_qos(facts, switch, platform)
    if switch.qos.pools:
        wanted = congestion_facts(switch.qos)
        facts.update((path, value) for path, value in wanted.items() if path.startswith("trimming/"))
    facts |= {path: value for path, value in setting_facts(switch).items() if path.startswith(SETTINGS)}
    if counts_marks(switch):
        facts["counter[ecn_marks]"] = "enable"
    if switch.bgp.bfd_interval_ms is not None:
        facts["daemon[bfdd]"] = "enabled"
    return facts | service_facts(switch) | routing_facts(switch)


def _add_qos(facts: Facts, switch: Switch, platform: Platform) -> None:
    qos = switch.qos
    if platform.mellanox:
        for traffic_class in qos.lossless:
            facts[f"qos/pfc_priority[{traffic_class.priority}]/priority_group"] = traffic_class.priority
    if qos.pools and platform.mellanox:
        facts |= {FACT.format(name): "none" for name in shut_ports(switch, platform)}
    if qos.pools:
        facts["pool/ingress_lossless_mode"] = "dynamic"
        facts |= _profile_facts(qos.pools)
        if qos.pools.egress_lossy_bytes is not None:
            facts["pool/egress_lossy_mode"] = "dynamic"
    if qos.watchdog and not any(port.profile for port in switch.ports):
        for fact in ("detect_ms", "restore_ms", "action"):
            del facts[f"watchdog/{fact}"]


def _profile_facts(pools: BufferPools) -> Facts:
    """Mode of the egress pool, and the thresholds of the buffer profiles that no port has of its own."""
    static = pools.egress_lossless_static
    pool_static = static if pools.egress_pool_static is None else pools.egress_pool_static
    facts: Facts = {
        "pool/egress_lossless_mode": "static" if pool_static else "dynamic",
        "pool/lossy_queue_bytes": pools.lossy_egress_bytes,
        "pool/lossy_queue_alpha": int(lossy_exponent(pools)),
    }
    if static:
        limit = pools.egress_lossless_limit_bytes or pools.egress_lossless_bytes
        facts["pool/lossless_queue_limit_bytes"] = limit
    else:
        facts["pool/lossless_queue_alpha"] = int(LOSSLESS_DYNAMIC_TH)
    if pools.lossy_ingress_limit_bytes is None:
        facts["pool/lossy_group_alpha"] = int(LOSSY_DYNAMIC_TH)
    else:
        facts["pool/lossy_group_limit_bytes"] = pools.lossy_ingress_limit_bytes
    return facts
