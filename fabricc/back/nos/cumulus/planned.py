"""The facts of a switch as NVUE can hold them: what it rounds, what it adds, and what it has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.document import hash_seed
from fabricc.back.nos.cumulus.limits import TRIMMING, has, release_of
from fabricc.back.nos.cumulus.naming import cage_name
from fabricc.back.nos.cumulus.ports import MANAGEMENT_VRF, fec
from fabricc.back.nos.cumulus.qos import (
    GLOBAL,
    LOSSY_PERCENT,
    PRIORITIES,
    marked,
    port_default,
    profile_name,
    resume_distance_bytes,
)
from fabricc.back.nos.cumulus.routing import (
    TTL_SECURITY_HOPS,
    activated,
    adapts,
    carried,
    global_next_hops,
    peer_groups,
    prefers_global,
)
from fabricc.back.nos.cumulus.services import (
    LIST_TYPES,
    access_rules,
    gnmi_port,
    host_address,
    numbered,
    snmp_sources,
)
from fabricc.back.nos.cumulus.words import (
    ADMINISTRATOR,
    FABRIC,
    OWN_ACCOUNT,
    shared_alpha,
    ssh_key,
    timers,
    used_profiles,
)
from fabricc.fabric.facts import boolean, congestion_facts, neighbor_key, setting_facts, switch_facts
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp

_NOT_EXPRESSED = ("pool/", "watchdog/", "user[")
"""Pools are shares here, the watchdog has one interval for all, and a key has no comment: all are stated anew."""
_NOT_EXPRESSED_OF_PORT = ("/headroom/xon_bytes", "/headroom/xon_offset_bytes")
"""Where a group resumes is a distance of the back end's own."""


def planned_facts(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives."""
    facts = {
        path: value
        for path, value in switch_facts(switch).items()
        if not path.startswith(_NOT_EXPRESSED) and not path.endswith(_NOT_EXPRESSED_OF_PORT)
    }
    if not switch.bgp.sessions:  # timers are those of a peer group or its profile
        for path in [path for path in facts if path.startswith("bfd/")]:
            del facts[path]
    _add_system(facts, switch)
    _add_qos(facts, switch)
    _add_ports(facts, switch)
    _add_services(facts, switch)
    _add_balancing(facts, switch)
    _add_routing(facts, switch.bgp, release_of(switch.release))
    return facts


def _add_system(facts: Facts, switch: Switch) -> None:
    facts["system/model"] = str(switch.model.nos["cumulus"]["model"]).lower()
    facts["system/api_version"] = "nvue_v1"
    facts["system/release"] = release_of(switch.release).name
    facts["system/hash_seed"] = hash_seed(switch.tier_index)
    keys = {account.name: " ".join(ssh_key(account)) for account in switch.management.users}
    for name in {OWN_ACCOUNT, *keys}:
        facts[f"user[{name}]/configured"] = "true"
        facts[f"user[{name}]/role"] = ADMINISTRATOR
        facts[f"user[{name}]/password"] = "stated"
        if name in keys:
            facts[f"user[{name}]/ssh_key"] = keys[name]
            facts[f"user[{name}]/ssh_key_type"] = keys[name].partition(" ")[0]


def _add_qos(facts: Facts, switch: Switch) -> None:
    qos = switch.qos
    facts["qos/untagged/traffic_class"] = port_default(qos)
    facts["qos/queue[0]/ecn"] = "disable"
    facts[f"qos/marking[{GLOBAL}]/queue[0]"] = "stated"
    for profile in used_profiles(switch):
        for queue in marked(qos, profile):
            facts[f"qos/marking[{profile_name(profile)}]/queue[{queue}]"] = "stated"
    for c in qos.classes:
        facts[f"qos/mapped[{GLOBAL}]/priority[{c.priority}]"] = "true"
        facts[f"qos/scheduled[{GLOBAL}]/queue[{c.priority}]"] = "true"
    if qos.lossless:
        lossless = {c.priority for c in qos.lossless}
        facts["pool/lossless_percent"] = 100 - LOSSY_PERCENT
        facts["pool/lossless_priorities"] = ",".join(map(str, sorted(lossless)))
        for priority in PRIORITIES:
            kind = "lossless" if priority in lossless else "lossy"
            facts[f"pool[{kind}]/priority[{priority}]"] = "true"
        facts["pool/lossy_percent"] = LOSSY_PERCENT
        facts["pool/lossy_priorities"] = ",".join(str(p) for p in PRIORITIES if p not in lossless)
    if not used_profiles(switch):  # nobody pauses, and nothing says what would
        for path in [path for path in facts if path.endswith("/priority_group") or "/pfc_priority[" in path]:
            del facts[path]
    if qos.watchdog:
        held = timers(qos.watchdog)
        facts["watchdog/poll_ms"] = held.polling_ms
        facts["watchdog/detect_ms"] = held.detect_ms
        facts["watchdog/action"] = "drop"


def _add_ports(facts: Facts, switch: Switch) -> None:
    profiles = used_profiles(switch)
    alpha = shared_alpha(profiles)
    resume = {profile.name: resume_distance_bytes(profile.headroom) for profile in profiles}
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        facts[f"interface[{port.name}]/configured"] = "true"
        facts[prefix + "fec"] = fec(port)
        facts[prefix + "mtu"] = port.mtu
        if port.children > 1:
            cage = f"breakout[{cage_name(switch.model, port.cage)}]"
            facts[cage + "/configured"] = "true"
            facts[cage] = f"{port.children}x"
            facts[cage + "/lanes"] = port.lanes
        if alpha is not None and port.profile in resume:
            facts[prefix + "headroom/dynamic_th"] = alpha
            facts[prefix + "headroom/resume_distance_bytes"] = resume[port.profile]
        if port.direction is Direction.UNUSED:  # classification and scheduling are the same on every port
            facts[prefix + "trust"] = "dscp"
            for c in switch.qos.classes:
                share = "strict" if c.strict else f"dwrr {c.weight_percent}"
                facts[f"{prefix}queue[{c.priority}]/scheduler"] = share


def _add_services(facts: Facts, switch: Switch) -> None:
    management, release = switch.management, release_of(switch.release)
    stated = {
        p: value for p, value in setting_facts(switch).items() if p.startswith(("management/", "lldp/"))
    }
    if gnmi_port(management, release) is None:
        stated.pop("management/gnmi_port", None)
    else:
        facts[f"gnmi/listening[{host_address(management)}]"] = "true"
    facts.update(stated)
    for kind in ("ntp", "dns", "syslog"):
        for server in getattr(management, kind):
            facts[f"management/{kind}[{server}]"] = "asked"
    if management.tacacs:
        for rank, server in enumerate(management.tacacs.servers, 1):
            facts[f"management/tacacs_server[{server}]/configured"] = "true"
            facts[f"management/tacacs_server[{server}]/priority"] = rank
    if management.snmp:
        facts[f"snmp/listening[{host_address(management)}]"] = "true"
        facts[f"snmp/listening[{host_address(management)}]/vrf"] = MANAGEMENT_VRF
        for network in snmp_sources(management):
            facts[f"snmp/answered[{network}]"] = "true"
    for name, rules in access_rules(management, release).items():
        facts[f"acl[{name}]/bound"] = "inbound"
        facts[f"acl[{name}]/rules"] = len(rules)
        facts[f"acl[{name}]/type"] = LIST_TYPES[name]
        for number, rule in numbered(rules):
            prefix = f"acl[{name}]/rule[{number}]/"
            facts[prefix + "configured"] = "true"
            facts[prefix + "action"] = "permit" if rule.permit else "deny"
            facts[prefix + "protocol"] = rule.protocol
            if rule.source:
                facts[prefix + "source"] = rule.source
            for port in rule.ports:
                facts[f"{prefix}{rule.protocol}[{port}]"] = "true"


def _add_balancing(facts: Facts, switch: Switch) -> None:
    """Adaptive routing, trimming and the TTL check, which say more than the waist has."""
    if adapts(switch):
        facts["load_balancing/mode"] = switch.load_balancing.mode.value
    cut = switch.qos.trimming if has(switch, TRIMMING) else None
    if cut:
        wanted = congestion_facts(switch.qos)
        facts.update((path, value) for path, value in wanted.items() if path.startswith("trimming/"))
    preferring = global_next_hops(switch)
    for route_map in switch.bgp.route_maps:
        for clause in route_map.clauses if route_map.name in preferring else ():
            if prefers_global(clause):
                facts[f"route_map[{route_map.name}]/{clause.sequence}/global_next_hop"] = "true"
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        if adapts(switch) and port.direction in FABRIC:
            facts[prefix + "adaptive_routing"] = "true"
        if cut and port.direction is not Direction.UNUSED:
            for queue in cut.queues:
                facts[f"{prefix}trimmed/queue[{queue}]"] = "true"
    if switch.bgp.ttl_security and switch.bgp.sessions:
        facts["bgp/ttl_security"] = "true"
        for session in switch.bgp.sessions:
            key = neighbor_key(session.transport, session.remote, session.port)
            facts[f"bgp/neighbor[{key}]/ttl_security_hops"] = TTL_SECURITY_HOPS


def _add_routing(facts: Facts, bgp: Bgp, release: Release) -> None:
    """The parts of what the waist states whole, so that a difference is named by its own line."""
    for session in bgp.sessions:
        key = neighbor_key(session.transport, session.remote, session.port)
        facts[f"bgp/neighbor[{key}]/configured"] = "true"
    for family in ("ipv4", "ipv6"):
        facts[f"bgp/family[{family}]"] = release.on if family in carried(bgp) else release.off
    for name, _, kind in peer_groups(bgp):
        facts[f"bgp/peer_group[{name}]/configured"] = "true"
        for family in ("ipv4", "ipv6"):
            facts[f"bgp/peer_group[{name}]/{family}"] = boolean(family in activated(bgp, kind))
    for lists in bgp.prefix_lists:
        facts[f"prefix_list[{lists.name}]/rules"] = len(lists.rules)
        for at, rule in enumerate(lists.rules):
            for key in ("ge", "le"):
                if (length := getattr(rule, key)) is not None:
                    facts[f"prefix_list[{lists.name}]/{at}/{key}"] = length
    for community_list in bgp.community_lists:
        facts[f"community_list[{community_list.name}]/rules"] = 1
    for route_map in bgp.route_maps:
        facts[f"route_map[{route_map.name}]/rules"] = len(route_map.clauses)
        for clause in route_map.clauses:
            path = f"route_map[{route_map.name}]/{clause.sequence}/"
            facts[path + "action"] = "permit" if clause.permit else "deny"
            for key in ("prefix_list", "community_list", "local_preference", "add_community"):
                if (value := getattr(clause, key)) not in (None, ""):
                    facts[path + key] = value
