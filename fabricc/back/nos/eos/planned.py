"""The facts of a switch as EOS can hold them: what it rounds, what it adds, and what it has no words for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.limits import HASH_SEED, has
from fabricc.back.nos.eos.marking import delay_us, marked, step_us, thresholds
from fabricc.back.nos.eos.naming import service_ports
from fabricc.back.nos.eos.vocabulary import (
    AAA,
    EGRESS_LOSSLESS_EXPONENT,
    GNMI_PROVIDER,
    GTSM_HOPS,
    GUARANTEED_PERCENT,
    HASH_SEEDS,
    LLDP_HOLD,
    LOCAL_AAA,
    MANAGEMENT_VRF,
    NOBODY,
    QUEUE_MONITOR,
    QUEUE_PAIR_BYTES,
    QUEUE_PAIR_OFFSETS,
    QUEUE_PAIR_PROFILE,
    ROCE_PORT,
    SERVER_GROUP,
    SERVICE_DESCRIPTION,
    SSL_PROFILE,
    UNTYPEABLE,
    WATCHDOG_ACTIONS,
    alpha_exponent,
    control_plane,
    fec,
    is_trident,
    management_interface,
    roomiest,
    watchdog_guards,
    watchdog_timers,
)
from fabricc.fabric.facts import boolean, neighbor_key, setting_facts, switch_facts
from fabricc.fabric.model import Direction
from fabricc.fabric.paths import port_paths
from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import PortProfile

# EOS ties priority, priority group and queue together, and sizes its pools and guaranteed buffers itself.
NOT_EXPRESSED = (
    "pool/ingress_lossless_bytes", "pool/headroom_bytes", "pool/egress_lossless_bytes", "pool/egress_lossy_bytes",
)  # fmt: skip
NOT_EXPRESSED_OF_PORT = ("headroom/size_bytes", "headroom/xon_offset_bytes", "headroom/cable_m")


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives.

    `switch_facts` without what EOS does not express (above; on the sand family every headroom fact; the
    description of an unnumbered neighbour), with thresholds and timers as EOS holds them, and with what EOS
    states beyond the vocabulary: lanes, FEC, routed ports, egress thresholds, communities sent, users' roles, and
    `platform/` facts.
    """
    facts = switch_facts(switch, partial(_express, switch))
    _leave_out(facts, switch)
    delays = {p.name: us for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None}
    for port in switch.ports:
        if port.direction is not Direction.UNUSED and (threshold_us := delays.get(port.profile or "")):
            _delay(facts, switch, port, threshold_us)
        paths = port_paths(port.name)
        facts[paths["lanes"]] = port.lanes
        facts[paths["routed"]] = "true"
        if port.direction is not Direction.UNUSED and (encoding := fec(port)):
            facts[paths["fec"]] = encoding
    _service_ports(facts, switch)
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
    for path in NOT_EXPRESSED:
        facts.pop(path, None)
    for traffic_class in switch.qos.lossless:
        del facts[f"qos/traffic_class[{traffic_class.priority}]/priority_group"]
        del facts[f"qos/pfc_priority[{traffic_class.priority}]/queue"]


def _express(switch: Switch, alike: Facts, profile: PortProfile | None) -> None:
    """What ports of a profile state, as EOS holds it."""
    lossless = switch.qos.lossless
    if profile is None or not lossless:
        return
    alike["watchdog"] = boolean(watchdog_guards(switch))
    for traffic_class in lossless:
        if switch.qos.watchdog and not traffic_class.strict:
            alike[f"queue[{traffic_class.priority}]/guaranteed"] = f"{GUARANTEED_PERCENT} percent"
    for traffic_class in switch.qos.classes:
        if not profile.ecn or not traffic_class.ecn:
            continue
        queue = f"queue[{traffic_class.priority}]/"
        if step_us(switch) is None:
            alike[queue + "ecn_count"] = "true"
            continue
        for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent"):
            del alike[queue + leaf]
    for leaf in NOT_EXPRESSED_OF_PORT:
        alike.pop(leaf, None)
    if not is_trident(switch):
        for name in ("xoff_bytes", "xon_bytes", "dynamic_th"):
            del alike[f"headroom/{name}"]
        return
    alike["headroom/dynamic_th"] = alpha_exponent(profile.headroom.dynamic_th)
    if not profile.headroom.xon_bytes:
        del alike["headroom/xon_bytes"]
    alike["headroom/priority_groups"] = ",".join(sorted(str(c.priority) for c in lossless))
    for traffic_class in lossless:
        alike[f"queue[{traffic_class.priority}]/egress_dynamic_th"] = EGRESS_LOSSLESS_EXPONENT


def _delay(facts: Facts, switch: Switch, port: Port, threshold_us: int) -> None:
    """What marking by delay states of a port: its threshold, and what that is for every queue that can wait."""
    prefix = f"interface[{port.name}]/"
    facts[prefix + "ecn_delay_us"] = threshold_us
    held = thresholds(threshold_us, port.speed_gbps)
    for traffic_class in switch.qos.classes:
        if marked(strict=traffic_class.strict, stopped=traffic_class.lossless):
            queue = f"{prefix}queue[{traffic_class.priority}]/"
            facts[queue + "ecn_min_bytes"] = held.min_bytes
            facts[queue + "ecn_max_bytes"] = held.max_bytes
            facts[queue + "ecn_max_percent"] = held.max_percent
            facts[queue + "ecn_count"] = "true"


def _service_ports(facts: Facts, switch: Switch) -> None:
    for name in service_ports(switch.model):
        prefix = f"interface[{name}]/"
        facts[prefix + "description"] = SERVICE_DESCRIPTION
        facts[prefix + "enabled"] = "false"
        facts[prefix + "routed"] = "true"


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
        facts[f"user[{user.name}]/password"] = UNTYPEABLE
    facts["platform/management_vrf"] = MANAGEMENT_VRF
    facts["platform/routing_agents"] = "multi-agent"
    facts["platform/routing"] = "ipv6 interfaces" if unnumbered else "ip"
    if unnumbered or switch.bgp.ipv6:
        facts["platform/routing_ipv6"] = "true"
    facts["platform/http_api"] = MANAGEMENT_VRF
    if has(switch, HASH_SEED):
        facts["platform/hash_seed"] = HASH_SEEDS[switch.tier_index]
    facts["platform/wait_install"] = "true"


def _services(facts: Facts, switch: Switch) -> None:
    """The settings that EOS expresses: all but, on sand, dynamic load balancing."""
    management = switch.management
    interface = management_interface(switch)
    facts["management/interface"] = interface
    sources = {"syslog": management.syslog, "ntp": management.ntp}
    facts |= {f"management/source[{service}]": interface for service, servers in sources.items() if servers}
    stated = setting_facts(switch)
    if switch.load_balancing.mode is not Spreading.HASH and not is_trident(switch):
        del stated["load_balancing/mode"]
        stated.pop("load_balancing/flowlet_idle_us", None)
    facts |= stated
    facts["management/queue_monitor"] = QUEUE_MONITOR
    facts["lldp/hold_s"] = LLDP_HOLD * management.lldp_interval_s
    guarded = {"http": True, "snmp": management.snmp, "gnmi": management.gnmi_port is not None}
    for service in (name for name, used in guarded.items() if used and management.access):
        facts[f"management/access[{service}]"] = facts["management/access"]
    if management.access:
        facts["management/ssh"] = MANAGEMENT_VRF
        facts["management/access[ssh/default]"] = facts["management/access"]
        if "platform/routing_ipv6" in facts:
            facts["management/access[ssh/ipv6]"] = NOBODY
    if management.snmp:
        facts |= {"management/snmp[default]": "off", f"management/snmp[{MANAGEMENT_VRF}]": "on"}
    if management.gnmi_port is not None:
        facts["management/gnmi"] = MANAGEMENT_VRF
        facts["management/gnmi_provider"] = GNMI_PROVIDER
        for index, rule in enumerate(control_plane(management)):
            facts[f"management/control_plane/{index}"] = rule
        facts["management/gnmi_ssl_profile"] = SSL_PROFILE
        facts[f"management/gnmi_certificate[{SSL_PROFILE}]"] = f"{SSL_PROFILE}.crt {SSL_PROFILE}.key"
    aaa = AAA if management.tacacs else LOCAL_AAA
    facts |= {f"management/aaa[{statement}]": methods for statement, methods in aaa.items()}
    if management.tacacs:
        facts["management/tacacs/group"] = SERVER_GROUP
        facts["management/tacacs/source"] = interface
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
