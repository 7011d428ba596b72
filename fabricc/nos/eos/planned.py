"""The facts of a switch as EOS can hold them: what it rounds, what it adds, and what it has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.facts import boolean, neighbor_key, setting_facts, switch_facts
from fabricc.fabric.model import Direction, Transport
from fabricc.nos.eos.vocabulary import (
    AAA,
    EGRESS_LOSSLESS_EXPONENT,
    GTSM_HOPS,
    LLDP_HOLD,
    MANAGEMENT_INTERFACE,
    MANAGEMENT_VRF,
    QUEUE_PAIR_BYTES,
    QUEUE_PAIR_OFFSETS,
    QUEUE_PAIR_PROFILE,
    ROCE_PORT,
    SERVER_GROUP,
    WATCHDOG_ACTIONS,
    alpha_exponent,
    fec,
    is_trident,
    roomiest,
    spreadings,
    watchdog_guards,
    watchdog_timers,
)

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

# EOS ties priority, priority group and queue together, and sizes its pools and guaranteed buffers itself.
NOT_EXPRESSED_STARTS = "pool/"
NOT_EXPRESSED_OF_PORT = ("headroom/size_bytes", "headroom/xon_offset_bytes", "headroom/cable_m")


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives.

    `switch_facts` without what EOS does not express (above; on the sand family every headroom fact; the
    description of an unnumbered neighbour), with thresholds and timers as EOS holds them, and with what EOS
    states beyond the vocabulary: lanes, FEC, routed ports, egress thresholds, communities sent, users' roles, and
    `platform/` facts.
    """
    facts = switch_facts(switch)
    _leave_out(facts, switch)
    _ports(facts, switch)
    _watchdog(facts, switch)
    for session in switch.bgp.sessions:
        prefix = f"bgp/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        facts[prefix + "send_community"] = "true"
        if switch.bgp.ttl_security:
            facts[prefix + "maximum_hops"] = GTSM_HOPS
        if session.transport is Transport.UNNUMBERED:
            del facts[prefix + "description"]
    _platform(facts, switch)
    _services(facts, switch)
    return facts


def _leave_out(facts: Facts, switch: Switch) -> None:
    """Delete what EOS does not express, by name: looking at how every path ends takes as long as making them."""
    for path in [path for path in facts if path.startswith(NOT_EXPRESSED_STARTS)]:
        del facts[path]
    for traffic_class in switch.qos.lossless:
        del facts[f"qos/traffic_class[{traffic_class.priority}]/priority_group"]
        del facts[f"qos/pfc_priority[{traffic_class.priority}]/queue"]
    for port in switch.ports:
        if port.profile is not None:
            for leaf in NOT_EXPRESSED_OF_PORT:
                facts.pop(f"interface[{port.name}]/{leaf}", None)


def _ports(facts: Facts, switch: Switch) -> None:
    trident = is_trident(switch)
    lossless = switch.qos.lossless
    guards = boolean(watchdog_guards(switch))
    exponents = {p.name: alpha_exponent(p.headroom.dynamic_th) for p in switch.qos.profiles}
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "lanes"] = port.lanes
        facts[prefix + "routed"] = "true"
        if port.direction is Direction.UNUSED:
            continue
        if encoding := fec(port):
            facts[prefix + "fec"] = encoding
        if port.profile is None or not lossless:
            continue
        facts[prefix + "watchdog"] = guards
        if not trident:
            for name in ("xoff_bytes", "xon_bytes", "dynamic_th"):
                del facts[f"{prefix}headroom/{name}"]
            continue
        facts[prefix + "headroom/dynamic_th"] = exponents[port.profile]
        for traffic_class in lossless:
            path = f"{prefix}queue[{traffic_class.priority}]/egress_dynamic_th"
            facts[path] = EGRESS_LOSSLESS_EXPONENT


def _watchdog(facts: Facts, switch: Switch) -> None:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    timers = watchdog_timers(watchdog)
    facts["watchdog/detect_ms"] = timers.timeout_ms
    facts["watchdog/restore_ms"] = timers.recovery_ms
    facts["watchdog/poll_ms"] = timers.polling_ms
    facts["watchdog/action"] = WATCHDOG_ACTIONS[watchdog.action]


def _platform(facts: Facts, switch: Switch) -> None:
    unnumbered = any(port.unnumbered for port in switch.ports)
    default = roomiest(switch.qos)
    if default and is_trident(switch):
        facts["platform/default_headroom_bytes"] = default.headroom.xoff_bytes
    pools = switch.qos.pools
    if pools and pools.headroom_bytes and is_trident(switch):
        facts["pool/headroom_bytes"] = pools.headroom_bytes
    for user in switch.management.users:
        facts[f"user[{user.name}]/role"] = "network-admin"
    facts["platform/management_vrf"] = MANAGEMENT_VRF
    facts["platform/routing_agents"] = "multi-agent"
    facts["platform/routing"] = "ipv6 interfaces" if unnumbered else "ip"
    if unnumbered or switch.bgp.ipv6:
        facts["platform/routing_ipv6"] = "true"
    facts["platform/http_api"] = MANAGEMENT_VRF
    facts["platform/wait_install"] = "true"


def _services(facts: Facts, switch: Switch) -> None:
    """The settings that EOS expresses: all but a flowlet pause and a path per packet."""
    management = switch.management
    stated = setting_facts(switch)
    if switch.load_balancing.mode not in spreadings(switch):
        del stated["load_balancing/mode"]
    stated.pop("load_balancing/flowlet_idle_us", None)
    facts |= stated
    facts["lldp/hold_s"] = LLDP_HOLD * management.lldp_interval_s
    guarded = {"http": True, "snmp": management.snmp, "gnmi": management.gnmi_port is not None}
    for service in (name for name, used in guarded.items() if used and management.access):
        facts[f"management/access[{service}]"] = facts["management/access"]
    if management.access:
        facts["management/ssh"] = MANAGEMENT_VRF
    if management.snmp:
        facts |= {"management/snmp[default]": "off", f"management/snmp[{MANAGEMENT_VRF}]": "on"}
    if management.gnmi_port is not None:
        facts["management/gnmi"] = MANAGEMENT_VRF
    if management.tacacs:
        facts["management/tacacs/group"] = SERVER_GROUP
        facts["management/tacacs/source"] = MANAGEMENT_INTERFACE
        facts |= {f"management/aaa[{statement}]": methods for statement, methods in AAA.items()}
        for server in management.tacacs.servers:
            facts[f"management/tacacs[{server}]/secret"] = management.tacacs.key
    if switch.load_balancing.queue_pairs:
        _queue_pairs(facts, switch)


def _queue_pairs(facts: Facts, switch: Switch) -> None:
    if not is_trident(switch):
        facts["load_balancing/hash_profile"] = QUEUE_PAIR_PROFILE
        facts[f"load_balancing/hash_profile[{QUEUE_PAIR_PROFILE}]"] = (
            f"udp {ROCE_PORT} payload {QUEUE_PAIR_BYTES}"
        )
        return
    for kind, used in (("IPv4", switch.bgp.ipv4), ("IPv6", switch.bgp.ipv6)):
        if used:
            facts[f"load_balancing/hash_bytes[{kind}]"] = ",".join(map(str, QUEUE_PAIR_OFFSETS))
