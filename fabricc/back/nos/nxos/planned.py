"""The facts of a switch as NX-OS can hold them: what it renumbers, rounds and adds, and what it has no words for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.bgp_view import families, session_families
from fabricc.back.nos.nxos.lossless import pause_of, priority_level, qos_groups, strict_queues
from fabricc.back.nos.nxos.named import named_facts
from fabricc.back.nos.nxos.naming import service_ports
from fabricc.back.nos.nxos.qos_view import qos_view
from fabricc.back.nos.nxos.services_view import access_lists, dynamic_view
from fabricc.back.nos.nxos.view import features
from fabricc.back.nos.nxos.vocabulary import (
    AAA,
    ACCESS_LIST,
    ACCESS_LIST_V6,
    API_ACCESS_LIST,
    COPP_PROFILE,
    DEFAULT_PAUSE_M,
    GTSM_HOPS,
    LLDP_HOLD,
    MANAGEMENT_INTERFACE,
    MANAGEMENT_VRF,
    QUEUES,
    RA_LIFETIME_S,
    RA_MAX_S,
    RA_MIN_S,
    SERVER_GROUP,
    SERVICE_DESCRIPTION,
    SYSLOG_SEVERITY,
    breakout,
    fec,
    load_sharing,
    watchdog_timers,
)
from fabricc.fabric.facts import neighbor_key, setting_facts, switch_facts
from fabricc.fabric.model import Direction
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

# NX-OS sizes its pools itself, and the buffers of lossless classes but over long cables.
NOT_EXPRESSED_STARTS = ("pool/",)
NOT_EXPRESSED_ENDS = (
    "/headroom/size_bytes",
    "/headroom/xoff_bytes",
    "/headroom/xon_bytes",
    "/headroom/xon_offset_bytes",
    "/headroom/cable_m",
    "/headroom/dynamic_th",
)
_QUEUE = re.compile(r"(?<=queue\[)\d+(?=\])")
_CLASS = re.compile(r"(?<=traffic_class\[)\d+(?=\])")


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives.

    `switch_facts` without what NX-OS does not express (above), with classes and queues under the numbers of their
    qos-groups, thresholds and timers as NX-OS holds them, both families on unnumbered sessions, and with what NX-OS
    states beyond the vocabulary: routed ports, redirects, FEC, breakouts, pause thresholds, priority levels, users'
    roles, what each address family of BGP does, and `platform/` facts.
    """
    groups = qos_groups(switch.qos.classes)
    facts = _renumbered(switch_facts(switch), groups)
    _ports(facts, switch, groups)
    _watchdog(facts, switch)
    _policies(facts, switch, groups)
    _routing(facts, switch)
    _platform(facts, switch)
    _services(facts, switch)
    facts |= named_facts(switch)
    return facts


def _renumbered(stated: Facts, groups: dict[int, int]) -> Facts:
    """The facts with priorities replaced by qos-groups wherever they stand for a class or a queue."""
    facts: Facts = {}

    def group(found: re.Match[str]) -> str:
        return str(groups[int(found[0])])

    moved = any(priority != number for priority, number in groups.items())
    for path, value in stated.items():
        if path.endswith(NOT_EXPRESSED_ENDS) or path.startswith(NOT_EXPRESSED_STARTS):
            continue
        if not moved:
            facts[path] = value
        elif path.startswith("qos/"):
            facts[_CLASS.sub(group, path)] = groups[int(value)]
        elif "/queue[" in path:
            facts[_QUEUE.sub(group, path)] = value
        else:
            facts[path] = value
    return facts


def _ports(facts: Facts, switch: Switch, groups: dict[int, int]) -> None:
    lossless = ",".join(str(group) for group in sorted(groups[c.priority] for c in switch.qos.lossless))
    strict = strict_queues(switch.qos.classes, groups)
    for name in service_ports(switch.model):
        facts[f"interface[{name}]/description"] = SERVICE_DESCRIPTION
        facts[f"interface[{name}]/enabled"] = "false"
        facts[f"interface[{name}]/routed"] = "true"
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "routed"] = "true"
        if word := breakout(port):
            facts[f"cage[{port.cage}]/breakout"] = word
        if port.direction is Direction.UNUSED:
            continue
        if encoding := fec(port):
            facts[prefix + "fec"] = "rs"
            facts[prefix + "fec_code"] = encoding
        if port.ipv4 or port.ipv6 or port.unnumbered:
            facts[prefix + "redirects"] = "off"
        if port.unnumbered:
            facts[prefix + "link_local"] = "bia"
            facts[prefix + "ra_max_s"], facts[prefix + "ra_min_s"] = RA_MAX_S, RA_MIN_S
            facts[prefix + "ra_lifetime_s"] = RA_LIFETIME_S
        for group in strict:
            facts[f"{prefix}queue[{group}]/scheduler"] = "strict"
            facts[f"{prefix}queue[{group}]/level"] = priority_level(group)
        if port.profile is None or not lossless:
            continue
        pause = pause_of(switch, port)
        if pause is None:
            facts[prefix + "headroom/default_to_m"] = DEFAULT_PAUSE_M
            continue
        facts[prefix + "headroom/queues"] = lossless
        facts[prefix + "headroom/xoff_bytes"] = pause.buffer_bytes - pause.pause_bytes
        facts[prefix + "headroom/pause_bytes"] = pause.pause_bytes
        facts[prefix + "headroom/xon_bytes"] = pause.resume_bytes


def _watchdog(facts: Facts, switch: Switch) -> None:
    if switch.qos.watchdog is None:
        return
    timers = watchdog_timers(switch.qos.watchdog)
    facts["watchdog/detect_ms"] = timers.detect_ms
    facts["watchdog/restore_ms"] = timers.restore_ms
    facts["watchdog/poll_ms"] = timers.interval_ms
    facts["watchdog/action"] = "drop"


def _policies(facts: Facts, switch: Switch, groups: dict[int, int]) -> None:
    used = set(groups.values())
    for priority in (c.priority for c in switch.qos.lossless):
        facts[f"qos/pfc_priority[{priority}]/priority_group"] = groups[priority]
    view = qos_view(switch)
    busy = used | strict_queues(switch.qos.classes, groups)
    idle = ",".join(str(group) for group in QUEUES if group not in busy)
    for policy in view.output_policies:
        facts[f"platform/queuing[{policy.name}]/idle"] = idle


def _routing(facts: Facts, switch: Switch) -> None:
    bgp = switch.bgp
    for session in bgp.sessions:
        prefix = f"bgp/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        facts[prefix + "send_community"] = "true"
        if bgp.ttl_security:
            facts[prefix + "ttl_security_hops"] = GTSM_HOPS
        if session.transport is Transport.UNNUMBERED:
            facts[prefix + "families"] = ",".join(session_families(session.transport))
    for family in families(bgp):
        facts[f"bgp/family[{family.name}]"] = "true"
        facts[f"bgp/family[{family.name}]/maximum_paths"] = family.maximum_paths
        if family.redistribute_map:
            facts[f"bgp/family[{family.name}]/redistribute_connected"] = family.redistribute_map


def _platform(facts: Facts, switch: Switch) -> None:
    for user in switch.management.users:
        facts[f"user[{user.name}]/role"] = "network-admin"
    for feature in features(switch):
        facts[f"system/feature[{feature}]"] = "on"
    facts["platform/copp"] = COPP_PROFILE
    facts["platform/load_sharing"] = load_sharing(switch)
    if switch.management.ntp:
        facts["management/ntp_source"] = MANAGEMENT_INTERFACE
    if switch.management.syslog:
        facts["management/syslog_severity"] = SYSLOG_SEVERITY


def _services(facts: Facts, switch: Switch) -> None:
    """The settings that NX-OS expresses: all but hashing queue pairs, and dynamic paths where the ASIC has them."""
    management = switch.management
    stated = setting_facts(switch)
    stated.pop("load_balancing/queue_pairs", None)
    if (dynamic := dynamic_view(switch)) is None:
        for path in ("load_balancing/mode", "load_balancing/flowlet_idle_us"):
            stated.pop(path, None)
    else:
        names = dynamic.interfaces.replace("Eth", "Ethernet").split(",")
        facts["load_balancing/interfaces"] = ",".join(sorted(names))
    facts |= stated
    facts["management/lldp_hold_s"] = LLDP_HOLD * management.lldp_interval_s
    for access_list in access_lists(management):
        path = f"management/access_list[{access_list.name}]"
        facts[path + "/rules"] = len(access_list.rules)
        for index, rule in enumerate(access_list.rules):
            facts[f"{path}/{index}"] = rule.partition(" ")[2]
    if management.access:
        _guards(facts, switch)
    if management.tacacs:
        facts["management/aaa/group"] = SERVER_GROUP
        facts["management/aaa/use-vrf"] = MANAGEMENT_VRF
        facts["management/aaa/source-interface"] = MANAGEMENT_INTERFACE
        facts |= {f"management/aaa/{statement}": methods for statement, methods in AAA.items()}
        for index, server in enumerate(management.tacacs.servers):
            facts[f"management/aaa/server[{index}]"] = server
            facts[f"management/aaa/host[{server}]/secret"] = management.tacacs.key


def _guards(facts: Facts, switch: Switch) -> None:
    facts["management/nxapi_vrf"] = MANAGEMENT_VRF
    facts["management/vty/access-class"] = ACCESS_LIST
    facts["management/vty/ipv6 access-class"] = ACCESS_LIST_V6
    facts["structure/mgmt0/access-group"] = API_ACCESS_LIST
    if switch.management.snmp:
        facts["management/snmp/use-ipv4acl"] = ACCESS_LIST
        facts["management/snmp/use-ipv6acl"] = ACCESS_LIST_V6
        facts["management/snmp/guarded/secret"] = switch.management.snmp.community
