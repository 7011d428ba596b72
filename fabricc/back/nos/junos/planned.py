"""The facts of a switch as Junos can hold them: what it rounds, what it adds, and what it has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.bgp_view import bgp_view
from fabricc.back.nos.junos.cos_view import received_bytes, xon_cells
from fabricc.back.nos.junos.naming import parent_name
from fabricc.back.nos.junos.policy_view import added_communities, named_terms, summaries
from fabricc.back.nos.junos.protection_view import protection_view
from fabricc.back.nos.junos.vocabulary import (
    ACCOUNTED,
    ALPHA_OFFSET,
    AUTHENTICATION_ORDER,
    CERTIFICATE,
    DEFAULT_LLDP_MULTIPLIER,
    DYNAMIC_NEIGHBOR,
    HASH_SEEDS,
    HOLD_PER_KEEPALIVE,
    LAYER_2_HEADER_BYTES,
    MANAGEMENT_INSTANCE,
    MANAGEMENT_INTERFACES,
    ONE_HOP_TTL,
    TEMPLATE_CLASS,
    TEMPLATE_USER,
    buffer_monitor,
    detection,
    fec,
    fill_levels,
    flavour,
    lldp_delay_s,
    maximum_ecmp,
    queue_bytes,
    rule_lengths,
    shared_buffer,
    shares,
)
from fabricc.fabric.facts import boolean, neighbor_key, setting_facts, switch_facts
from fabricc.fabric.model import Direction
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import PortProfile
    from fabricc.fabric.routing import Bgp

# Junos sizes headroom from cable length and frame size, splits its buffer in percent, and marks by percent.
NOT_EXPRESSED_STARTS = ("pool/",)
NOT_EXPRESSED_ENDS = (
    "/headroom/size_bytes",
    "/headroom/xon_bytes",
    "/headroom/xoff_bytes",
    "/headroom/xon_offset_bytes",
    "/headroom/dynamic_th",
    "/ecn_min_bytes",
    "/ecn_max_bytes",
)


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives.

    `switch_facts` without what Junos does not express (above, and the description of an unnumbered neighbour), with
    figures as Junos holds them, and with what Junos states beyond the vocabulary: physical MTU, fill levels, frame
    size and xon in cells, buffer percentages, users' roles and `platform/` facts. `setting_facts` but for queue
    pairs, which are hashed without a statement.
    """
    facts = {
        path: value
        for path, value in switch_facts(switch).items()
        if not path.endswith(NOT_EXPRESSED_ENDS) and not path.startswith(NOT_EXPRESSED_STARTS)
    }
    _ports(facts, switch)
    _lossless(facts, switch)
    _routing(facts, switch)
    _policy(facts, switch.bgp)
    _platform(facts, switch)
    _services(facts, switch)
    _protection(facts, switch)
    return facts


def _ports(facts: Facts, switch: Switch) -> None:
    profiles = {profile.name: profile for profile in switch.qos.profiles}
    received = received_bytes(switch)
    given = shares(switch)
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        if port.children > 1:
            facts[f"platform/sub_ports[{parent_name(port.name)}]"] = port.children
        if port.direction is Direction.UNUSED:
            continue
        facts[prefix + "physical_mtu"] = port.mtu + LAYER_2_HEADER_BYTES
        if encoding := fec(port):
            facts[prefix + "fec"] = encoding
        for each in switch.qos.classes:
            at = f"{prefix}queue[{each.priority}]/"
            if not each.strict:
                facts[at + "scheduler"] = f"dwrr {given[each.name]}"
            elif each.name in given:
                facts[at + "strict_percent"] = given[each.name]
        if port.profile and switch.qos.lossless:
            _port_profile(facts, switch, port, profiles[port.profile], received[port.profile])


def _port_profile(facts: Facts, switch: Switch, port: Port, profile: PortProfile, mru: int) -> None:
    prefix = f"interface[{port.name}]/"
    facts[prefix + "pfc_dscps"] = ",".join(
        str(dscp) for dscp in sorted(dscp for c in switch.qos.lossless for dscp in c.dscps)
    )
    facts[prefix + "headroom/mru_bytes"] = mru
    cells = xon_cells(profile, switch.model.buffers.cell_bytes)
    if cells is not None:
        facts[prefix + "headroom/xon_offset_cells"] = cells
    if split := shared_buffer(switch):
        facts[prefix + "headroom/dynamic_th"] = split.dynamic_threshold - ALPHA_OFFSET
    if profile.ecn:
        levels = fill_levels(profile.ecn, queue_bytes(switch))
        for priority in (c.priority for c in switch.qos.classes if c.ecn):
            facts[f"{prefix}queue[{priority}]/ecn_min_fill_percent"] = levels.low
            facts[f"{prefix}queue[{priority}]/ecn_max_fill_percent"] = levels.high


def _lossless(facts: Facts, switch: Switch) -> None:
    if switch.qos.watchdog:
        facts["watchdog/detect_ms"] = detection(switch.qos.watchdog).detect_ms
    if split := shared_buffer(switch):
        facts["pool/ingress_lossless_percent"] = split.lossless
        facts["pool/ingress_lossless_headroom_percent"] = split.headroom
        facts["pool/ingress_lossy_percent"] = split.lossy
        facts["pool/egress_lossless_percent"] = split.lossless
        facts["pool/egress_lossy_percent"] = split.lossy
        if split.dedicated:
            facts["pool/ingress_dedicated_percent"], facts["pool/egress_dedicated_percent"] = split.dedicated


def _routing(facts: Facts, switch: Switch) -> None:
    bgp = switch.bgp
    view = bgp_view(switch)
    if view.bfd_interval_ms is not None:
        facts["bfd/interval_ms"] = view.bfd_interval_ms
    facts["bgp/keepalive_s"] = bgp.hold_s // HOLD_PER_KEEPALIVE
    facts["bgp/maximum_paths"] = maximum_ecmp(bgp.maximum_paths)
    facts["platform/bgp_log"] = boolean(True)
    facts["platform/load_balance"] = "per-packet"
    facts["platform/ecmp_fast_reroute"] = boolean(True)
    for group in view.groups:
        facts[f"platform/bgp_group[{group.name}]/type"] = "external"
        if bgp.ttl_security:
            facts[f"platform/bgp_group[{group.name}]/ttl"] = ONE_HOP_TTL
        if group.interfaces:
            facts[f"structure/bgp_group[{group.name}]/dynamic_neighbor"] = DYNAMIC_NEIGHBOR
    for session in bgp.sessions:
        if session.transport is Transport.UNNUMBERED:
            key = neighbor_key(session.transport, session.remote, session.port)
            del facts[f"bgp/neighbor[{key}]/description"]
            facts[f"interface[{session.port}]/ra_max_s"] = view.ra_max_s
            facts[f"interface[{session.port}]/ra_min_s"] = view.ra_min_s


def _policy(facts: Facts, bgp: Bgp) -> None:
    for prefix_list in bgp.prefix_lists:
        for index, rule in enumerate(prefix_list.rules):
            ge, le = rule_lengths(rule)
            text = rule.prefix + (f" ge {ge}" if ge is not None else "")
            facts[f"prefix_list[{prefix_list.name}]/{index}"] = text + (f" le {le}" if le is not None else "")
    for value, name in added_communities(bgp).items():
        facts[f"community_list[{name}]"] = value
    for route_map in bgp.route_maps:
        for clause in route_map.clauses:
            if clause.local_preference is not None:
                path = f"platform/route_map[{route_map.name}]/{clause.sequence}/local_preference"
                facts[path] = clause.local_preference
        facts[f"platform/policy[{route_map.name}]"] = "; ".join(summaries(bgp, route_map))
        for name in named_terms(bgp, route_map):
            facts[f"structure/policy[{route_map.name}]/term[{name}]"] = "true"


def _platform(facts: Facts, switch: Switch) -> None:
    users = switch.management.users
    for user in users:
        facts[f"user[{user.name}]/role"] = "super-user"
    if users:
        facts["platform/root_ssh_key"] = users[0].ssh_key
    for server in switch.management.syslog:
        facts[f"platform/syslog[{server}]/any"] = "notice"
    facts["platform/log[messages]/any"] = "notice"
    facts["platform/log[messages]/authorization"] = "info"
    facts["platform/root_login"] = "deny"
    facts["platform/netconf"] = "ssh"
    facts["platform/management_instance"] = boolean(True)
    facts["platform/management_interface"] = MANAGEMENT_INTERFACES[flavour(switch)]
    facts["platform/hash_seed"] = HASH_SEEDS[switch.tier_index]
    facts["platform/lldp/ports"] = "all"
    facts["platform/lldp/port_id"] = "interface-name"
    if buffer_monitor(switch):
        facts["platform/buffer_monitor"] = boolean(True)


def _services(facts: Facts, switch: Switch) -> None:
    management = switch.management
    facts |= {
        path: value for path, value in setting_facts(switch).items() if path != "load_balancing/queue_pairs"
    }
    interval_s = management.lldp_interval_s
    facts["platform/lldp/hold_s"] = DEFAULT_LLDP_MULTIPLIER * interval_s
    if delay_s := lldp_delay_s(interval_s):
        facts["platform/lldp/delay_s"] = delay_s
    if management.tacacs:
        for server in management.tacacs.servers:
            facts[f"platform/tacacs[{server}]/instance"] = MANAGEMENT_INSTANCE
            facts[f"platform/tacacs[{server}]/secret"] = management.tacacs.key
        facts[f"user[{TEMPLATE_USER}]/role"] = TEMPLATE_CLASS
        facts["platform/authentication_order"] = ",".join(AUTHENTICATION_ORDER)
        facts["platform/accounting/events"] = ",".join(sorted(ACCOUNTED))
        facts["platform/accounting/destination"] = "tacplus"
    if management.snmp:
        facts["platform/snmp/instances"] = boolean(True)
    if management.gnmi_port is not None:
        facts["platform/gnmi/certificate"] = CERTIFICATE
        facts["platform/gnmi/pki"] = boolean(True)
        facts["platform/gnmi/instance"] = MANAGEMENT_INSTANCE


def _protection(facts: Facts, switch: Switch) -> None:
    protection = protection_view(switch)
    for each in protection.filters:
        for at, term in enumerate(each.terms):
            prefix = f"platform/filter[{each.name}]/{at}/"
            for word, values in term.conditions:
                facts[prefix + word.replace("-", "_")] = ",".join(sorted(values))
            facts[prefix + "action"] = term.action
            facts[f"structure/filter[{each.name}]/{at}/name"] = term.name
    for family, name in protection.loopback.items():
        facts[f"platform/filter_input[lo0 {family}]"] = name
    if protection.management is not None:
        port = MANAGEMENT_INTERFACES[flavour(switch)]
        facts[f"platform/filter_input[{port} inet]"] = protection.management
