"""Facts about the parts of a configuration themselves, below `structure/`: what is defined, and what uses what.

What a part says is stated elsewhere. These facts make a part that is renamed, said twice or used in another's place
show on the very line that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.policy_view import group_name
from fabricc.back.nos.nxos.bgp_view import bgp_view
from fabricc.back.nos.nxos.lossless import pause_of
from fabricc.back.nos.nxos.naming import service_ports
from fabricc.back.nos.nxos.qos_view import CLASSIFY, input_policy, output_policy, qos_view
from fabricc.back.nos.nxos.vocabulary import MANAGEMENT_VRF
from fabricc.fabric.facts import neighbor_key
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.policy_view import ClauseView
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

ONCE = "once"


def named_facts(switch: Switch) -> Facts:
    """The facts of this module for one switch."""
    facts: Facts = {}
    _servers(facts, switch)
    _policies(facts, switch)
    _ports(facts, switch)
    _routing(facts, switch)
    return facts


def _servers(facts: Facts, switch: Switch) -> None:
    for kind in ("ntp", "dns", "syslog"):
        for server in getattr(switch.management, kind):
            facts[f"structure/{kind}/{server}"] = ONCE


def _policies(facts: Facts, switch: Switch) -> None:
    view = qos_view(switch)
    facts["structure/system_qos/queuing output"] = view.output
    facts["structure/system_qos/network-qos"] = view.network_policy
    for traffic_class in view.classes:
        facts[f"structure/class_map[{traffic_class.name}]/defined"] = ONCE
        facts[f"structure/class_map[{traffic_class.name}]/dscps"] = traffic_class.dscps
    facts[f"structure/policy_map[qos {view.classify}]/defined"] = ONCE
    path = f"structure/policy_map[network-qos {view.network_policy}]/"
    facts[path + "defined"] = ONCE
    for network_class in view.network_classes:
        facts[f"{path}{network_class.name}/defined"] = ONCE
        facts[f"{path}{network_class.name}/mtu"] = network_class.mtu
        if network_class.pfc_cos is not None:
            facts[f"{path}{network_class.name}/pfc-cos"] = network_class.pfc_cos
    for policy in view.input_policies:
        path = f"structure/policy_map[queuing {policy.name}]/"
        facts[path + "defined"] = ONCE
        for entry in policy.queues:
            pause = entry.pause
            facts[f"{path}{entry.name}/defined"] = ONCE
            figures = (pause.buffer_bytes, pause.pause_bytes, pause.resume_bytes)
            facts[f"{path}{entry.name}/pause"] = " ".join(map(str, figures))
    for output in view.output_policies:
        path = f"structure/policy_map[queuing {output.name}]/"
        facts[path + "defined"] = ONCE
        for queue in output.queues:
            facts[f"{path}{queue.name}/defined"] = ONCE
            share = f"percent {queue.percent}" if queue.level is None else f"level {queue.level}"
            facts[f"{path}{queue.name}/share"] = share


def _ports(facts: Facts, switch: Switch) -> None:
    if switch.loopback4 or switch.loopback6:
        facts["structure/loopback0/defined"] = ONCE
    if switch.loopback4:
        facts["structure/loopback0/ipv4"] = f"{switch.loopback4}/32"
    if switch.loopback6:
        facts["structure/loopback0/ipv6"] = f"{switch.loopback6}/128"
    facts["structure/mgmt0/defined"] = ONCE
    facts["structure/mgmt0/vrf"] = MANAGEMENT_VRF
    facts["structure/mgmt0/address"] = switch.management.address
    facts["structure/management_vrf/defined"] = ONCE
    facts["structure/management_vrf/gateway"] = switch.management.gateway
    for name in service_ports(switch.model):
        facts[f"structure/port[{name}]/defined"] = ONCE
    for port in switch.ports:
        path = f"structure/port[{port.name}]/"
        facts[path + "defined"] = ONCE
        if port.direction is Direction.UNUSED:
            continue
        facts[path + "qos input"] = CLASSIFY
        facts[path + "queuing output"] = output_policy(port.profile)
        if pause := pause_of(switch, port):
            facts[path + "queuing input"] = input_policy(pause)


def _routing(facts: Facts, switch: Switch) -> None:
    view = bgp_view(switch.bgp)
    facts["structure/bgp/defined"] = ONCE
    facts["structure/bgp/log-neighbor-changes"] = ONCE
    for template in view.templates:
        facts[f"structure/peer_template[{template.name}]/defined"] = ONCE
    for session in switch.bgp.sessions:
        path = f"structure/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        facts[path + "defined"] = ONCE
        facts[path + "template"] = group_name(session.group, session.transport)
    for clause in view.clauses:
        path = f"structure/route_map[{clause.route_map}]/{clause.sequence}/"
        facts[path + "action"] = clause.action
        facts |= {path + about: said for about, said in clause_lines(clause).items()}


def clause_lines(clause: ClauseView) -> dict[str, str]:
    """What each line of a route map's clause is about -> what it says."""
    said = {
        "match community": clause.community_list,
        f"match {clause.family} address": clause.prefix_list and f"prefix-list {clause.prefix_list}",
        "set local-preference": None if clause.local_preference is None else str(clause.local_preference),
        "set community": clause.add_community and f"{clause.add_community} additive",
    }
    return {about: text for about, text in said.items() if text}
