"""Find filters and limits that drop BGP, BFD, RoCE or neighbor discovery on ports and sessions that carry it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import qos_defaults
from fabricc.back.nos.control_plane import (
    ARP,
    LLDP,
    OWN,
    filters_before_cpu,
    limits_before_cpu,
    losing_policies,
    policy_rules,
)
from fabricc.back.nos.packet_filters import (
    ALL_PORTS,
    ROUTED_BY,
    Flow,
    accepts_everything,
    dropped_discovery,
    dropped_icmp,
    dropped_services,
    drops_anything,
    expand_groups,
    first_drop,
    is_inside,
    lone_target,
    names_port,
    near_rule,
    routes_nowhere,
)
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.numbers import is_number
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import Statement, Tier
from fabricc.proof.compare import Finding
from fabricc.proof.invariants.view import as_int
from fabricc.rules.access import OPEN
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at
from fabricc.rules.lossless import protected_code_points
from fabricc.rules.rule import INTERFACES, OTHER, Input, SwitchRule
from fabricc.rules.sessions import Sessions, carries_evpn, open_sessions, opposite_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BLOCKED = "FAB9662"
_LIST = "access_list["
_WAYS = ("access_list_in", "access_list_out")
_PORTS = ("destination_port", "port")
_END = -1
_TUNNELS = ("evpn/source", "vxlan/source")


def _filter_findings(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report each filter on ports to other devices that drops what the port has to carry."""
    bound = _bound_filters(statement)
    if not bound:
        return
    links = _switch_links(statement)
    near = {port for port in sessions.near.values() if port}
    over, ends = set(near), {"BGP": near, "RoCE": {*lossless_ports(statement)}}
    if any(not sessions.near.get(key) for key, _ in open_sessions(statement)):
        over |= statement.fars.keys()  # a session between loopbacks crosses each link
    over_links = {"BGP": over, "RoCE": links}
    over_links["BFD"] = ends["BFD"] = {
        sessions.near[key] for key, session in sessions.stated.items() if session.bfd == "true"
    }
    carrying = {sessions.near.get(key, "") for key in sessions.stated if carries_evpn(sessions, key)}
    tunnels = carrying or any(path in statement.rest for path in _TUNNELS)
    over_links["VXLAN"], ends["VXLAN"] = {*links} if tunnels else set(), carrying
    rules = _filter_rules(statement)
    rdma = statement.states_quality or not qos_defaults.states_pfc(statement.device.system)
    for name, ports in bound.items():
        at = _dropped_arp([text for _, text in rules.get(name, [])])
        if at is not None and (hit := [port for port in ports if port in links]):
            message = f"{statement.name} {join_words(hit, 2)}: rule {at + 1} of the filter {name} drops ARP"
            remedy = "Permit ARP on links between switches."
            path = rules[name][at][0]
            yield finding_at(BLOCKED, statement.device, path, message, "filter ARP", remedy=remedy)
        at = dropped_discovery([text for _, text in rules.get(name, [])])
        linked = _linked_sessions(statement, sessions) if at is not None else set()
        hit = [port for port in ports if port in links and linked.intersection(statement.chain(port))]
        if at is not None and hit:
            what = f"rule {at + 1} of the filter {name} drops neighbor discovery"
            message = f"{statement.name} {join_words(hit, 2)}: {what}"
            remedy = "Permit neighbor discovery (ICMPv6 types 133 to 136) on links between switches."
            path = rules[name][at][0]
            yield finding_at(BLOCKED, statement.device, path, message, "filter discovery", remedy=remedy)
        texts = [text for _, text in rules.get(name, [])]
        hit = [port for port in ports if port in links]
        if hit and (at := dropped_icmp(texts)) is not None:
            message = f"{statement.name} {join_words(hit, 2)}: rule {at + 1} of the filter {name} drops ICMP"
            remedy = "Permit ICMP between switches: ping, traceroute and path MTU discovery need it."
            path, group = rules[name][at][0], "filter ICMP"
            yield finding_at(BLOCKED, statement.device, path, message, group, Severity.WARNING, remedy)
        secured = any(_IPSEC.search(text) for text in texts)
        for service, number in () if secured else dropped_services(texts, statement.device.system):
            # a filter that keeps all traffic of a host or party out can be meant so
            closed = statement.expected.planned or service == "RoCE" or names_port(texts[number])
            closed = closed or (service == "BGP" and number == _END)
            named = service == "RoCE" and number != _END and names_port(texts[number])
            alone = named and _ROCE.search(texts[number]) is not None
            others = ends[service] if closed else frozenset[str]()
            hit = [
                port
                for port in ports
                if (over_links[service] if port in links else others).intersection(statement.chain(port))
            ]
            hit = hit or [port for port in ports if alone and port not in statement.fars]
            if not hit:
                continue
            which = f"rule {number + 1}" if number >= 0 else "the end"
            message = f"{statement.name} {join_words(hit, 2)}: {which} of the filter {name} drops {service}"
            path = rules[name][number][0]
            remedy = f"Permit {service} on ports that carry it, or take the filter off these ports."
            unused = service == "RoCE" and not rdma
            severity = Severity.NOTE if unused else Severity.ERROR
            severity = Severity.WARNING if unused and (named or links.intersection(hit)) else severity
            yield finding_at(BLOCKED, statement.device, path, message, f"filter {service}", severity, remedy)


_ROCE = re.compile(r"(?<![\d.:])4791(?![\d.:])")
"""The UDP port of RoCEv2, which nothing else uses."""
_IPSEC = re.compile(r"permit .*\b(?:esp|isakmp|non500-isakmp)\b")
"""A rule of a filter toward the Internet: what belongs to the fabric arrives inside of IPsec."""


def _lone_routes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report rules by which RoCE that arrives at a port with PFC leaves by one port or next hop, past all others."""
    if statement.port_leaves.isdisjoint((_WAYS[0], ROUTED_BY)) or not lossless_ports(statement):
        return
    rules, seen = _filter_rules(statement), set[str]()
    for port in lossless_ports(statement):
        for leaf in (_WAYS[0], ROUTED_BY):
            for name in {*str(statement.of(port, leaf) or "").replace(",", " ").split()} - seen:
                seen.add(name)
                clauses = [
                    (path, str(text)) for path, text in statement.facts_below(f"route_map[{name}]/").items()
                ]
                stated = rules.get(name, []) if leaf == _WAYS[0] else clauses
                number, target = lone_target([text for _, text in stated])
                if target:
                    message = (
                        f"{statement.name} {port}: {name} sends RoCE by {target} alone, past the equal paths"
                    )
                    remedy = "Leave RoCE to the routes, or name all next hops."
                    yield finding_at(
                        BLOCKED,
                        statement.device,
                        stated[number][0],
                        message,
                        "one way",
                        Severity.WARNING,
                        remedy,
                    )


def _dropping_routes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report clauses by which packets that arrive at a port are dropped, as policy-based routing."""
    if ROUTED_BY not in statement.port_leaves:
        return
    for port, values in statement.ports.items():
        clauses = statement.facts_below(f"route_map[{values.get(ROUTED_BY)}]/")
        path = next((path for path, text in clauses.items() if routes_nowhere(str(text))), "")
        if path and values.get("enabled") != "false":
            message = f"{statement.name} {port}: {values[ROUTED_BY]} drops packets that arrive"
            remedy = "Remove the clause, or the policy from the port."
            yield finding_at(
                BLOCKED, statement.device, path, message, "routed nowhere", Severity.WARNING, remedy
            )


_ARP = re.compile(r"ETHER_TYPE (?:0x0?806|2054)\b", re.IGNORECASE)
"""The type of frames with ARP (RFC 826), as lists of SONiC state it."""


def _dropped_arp(texts: list[str]) -> int | None:
    """Return the number of the first rule about ARP if it drops it, else None."""
    at = next((number for number, text in enumerate(texts) if _ARP.search(text)), None)
    return at if at is not None and drops_anything(texts[at : at + 1]) else None


def _dropped_flows(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report each rule of a filter that drops packets between hosts, or of sessions, by addresses or code points."""
    bindings = statement.once(_bindings, lambda: _bindings(statement))
    if not bindings:
        return
    flows = _flows_of_ports(statement, sessions, {port for port, _, _ in bindings})
    seen = set()
    rules = _filter_rules(statement)
    for port, way, name in bindings:
        texts = rules.get(name) or policy_rules(statement.rest, name)
        every = name not in rules
        for flow in flows.get(port, ()):
            turned = flow if way == _WAYS[0] else flow._replace(
                sources=flow.destinations, destinations=flow.sources
            )  # fmt: skip
            number = first_drop(
                [text for _, text in texts], turned, every, "" if every else statement.device.system
            )
            if number is None or (name, flow.service) in seen:
                continue
            seen.add((name, flow.service))
            which = f"rule {number + 1}" if drops_anything([texts[number][1]]) else "the end"
            what = f"{which} of the filter {name} drops {flow.service} of the fabric"
            message = f"{statement.name} {port}: {what}"
            remedy = f"Permit {flow.service} between addresses of the fabric before that rule."
            path, group = texts[number][0], f"filter {flow.service}"
            yield finding_at(BLOCKED, statement.device, path, message, group, remedy=remedy)


def _flows_of_ports(statement: Statement, sessions: Sessions, bound: set[str]) -> Mapping[str, list[Flow]]:
    """Return what arrives at each port of a filter: packets of its sessions, and RoCE between hosts."""
    found: dict[str, list[Flow]] = {}
    for key, flows in _session_flows(statement, sessions).items():
        near = sessions.near.get(key)
        for port in bound if near else ():
            if near in statement.chain(port):
                found.setdefault(port, []).extend(flows)
    lossless = lossless_ports(statement)
    hosts = _host_networks(statement) or ("0.0.0.0/0",)
    for port in bound:
        if any(each in lossless for each in statement.chain(port)):
            points = sorted(protected_code_points(statement) or ())  # each is the traffic of one class
            kinds = [frozenset({point}) for point in points] or [frozenset[int]()]
            found.setdefault(port, []).extend(Flow("RoCE", hosts, hosts, each) for each in kinds)
    return found


def _session_flows(statement: Statement, sessions: Sessions) -> Mapping[tuple[str, str], list[Flow]]:
    """Return the packets that arrive of each session with a neighbor in a subnet of two, or of a port to a switch."""
    found, links = {}, _switch_links(statement)
    for key, session in sessions.stated.items():
        neighbor = key[1]
        port, own = sessions.near.get(key) or "", opposite_address(neighbor)
        if own not in sessions.addresses and port in links:
            texts = statement.addresses.get(port, ())
            own = next((text.partition("/")[0] for text in texts if is_inside(neighbor, text)), "")
        if session.enabled and own in sessions.addresses:
            services = ("BGP", "BFD") if session.bfd == "true" else ("BGP",)
            found[key] = [Flow(service, (neighbor,), (own,), _CONTROL) for service in services]
    return found


_CONTROL = frozenset({48})
"""The code point of BGP and BFD by default: CS6, for routing (RFC 4594 section 3.1)."""


def _host_networks(statement: Statement) -> tuple[str, ...]:
    """Return the subnets of the ports to hosts with PFC; of a spine, the prefixes that its lists permit."""
    links = _switch_links(statement)
    own = [
        address
        for port in lossless_ports(statement)
        if port not in links
        for address in statement.addresses.get(port, [])
    ]
    if own or statement.place.tier is not Tier.SPINE:
        return tuple(own)
    permitted = (str(value).split() for value in statement.facts_below("prefix_list[").values())
    return tuple(
        words[0]
        for words in permitted
        if "/" in words[0]
        and not words[0].endswith("/0")
        and words[-1] not in _WHOLE
        and words[0][-3:] != "/32"
    )


_WHOLE = ("32", "128")
"""Lengths of prefixes of single addresses."""


def _bindings(statement: Statement) -> list[tuple[str, str, str]]:
    """Return port, way and name of the filters of ports that are not shut."""
    return [
        (port, way, name)
        for port, values in statement.ports.items()
        if values.get("enabled") != "false"
        for way, leaves in _BOUND
        for leaf in leaves
        for name in str(values.get(leaf) or "").replace(",", " ").split()
    ]


_BOUND = (
    (_WAYS[0], (_WAYS[0], "service_policy[traffic-policy input]")),
    (_WAYS[1], (_WAYS[1], "service_policy[traffic-policy output]")),
)
"""Way of packets through a port, and the leaves that name its filters."""


def _blocked_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report each filter in front of the CPU that drops BGP or BFD of sessions that the switch has."""
    filters = statement.once(filters_before_cpu, lambda: filters_before_cpu(statement.rest))
    if not filters:
        return
    open_ = [(neighbor, each.bfd) for (_, neighbor), each in sessions.stated.items() if each.enabled]
    for each in filters:
        mine = [(neighbor, bfd) for neighbor, bfd in open_ if each.ipv6 == _is_over_ipv6(neighbor)]
        wanted = {"BGP": bool(mine), "BFD": any(bfd == "true" for _, bfd in mine)}
        texts = [text for _, text in each.rules]
        neighbors = [neighbor for neighbor, _ in mine]
        for service, number in dropped_services(texts, statement.device.system, neighbors):
            if wanted.get(service):
                which = f"rule {number + 1}" if number >= 0 else "the end"
                message = f"{statement.name}: {which} of {each.name}, in front of the CPU, drops {service}"
                remedy = f"Permit {service} from the neighbors before that rule."
                near = near_rule(texts, service) if number in (_END, len(texts) - 1) else None
                path = each.rules[number if near is None else near][0]
                ports = [f"{path.rpartition('/')[0]}/{leaf}" for leaf in _PORTS if near is not None]
                paths = (*ports, path)
                yield finding_at(
                    BLOCKED, statement.device, paths, message, f"filter {service}", remedy=remedy
                )
        for flow in (flow for flows in _session_flows(statement, sessions).values() for flow in flows):
            if (at := first_drop(texts, flow)) is not None:
                message = (
                    f"{statement.name}: rule {at + 1} of {each.name}, in front of the CPU, drops "
                    f"{flow.service} of {flow.sources[0]}"
                )
                remedy = f"Permit {flow.service} from the neighbors before that rule."
                path, group = each.rules[at][0], f"filter {flow.service}"
                yield finding_at(BLOCKED, statement.device, path, message, group, remedy=remedy)
                break


def _open_filters(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report filters in front of the CPU with a rule that accepts everything, before others drop."""
    for each in filters_before_cpu(statement.rest):
        texts = [text for _, text in each.rules]
        at = next((number for number, text in enumerate(texts) if accepts_everything([text])), len(texts))
        if drops_anything(texts[at + 1 :]):
            what = f"rule {at + 1} of {each.name}, in front of the CPU, accepts everything before others drop"
            message = f"{statement.name}: {what}"
            remedy = "Remove the rule, or move it to the end."
            path = each.rules[at][0]
            yield finding_at(OPEN, statement.device, path, message, "open filter", Severity.WARNING, remedy)


def _policed_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report each limit in front of the CPU that drops all of a service, or a part of what neighbors send."""
    open_ = [each for each in sessions.stated.values() if each.enabled]
    watched = sum(each.bfd == "true" for each in open_)
    wanted = {"BGP": len(open_), "BFD": watched, **dict.fromkeys((ARP, LLDP, OWN), len(open_))}
    interval, keepalive = (
        as_int(statement.rest.get(path)) for path in ("bfd/interval_ms", "bgp/keepalive_s")
    )
    for each in limits_before_cpu(statement.rest, statement.device.unknown):
        if not wanted.get(each.service):
            continue
        sent = watched * 1000 // interval if interval and each.service == "BFD" else 0
        if each.service == "BGP" and keepalive:
            sent = -(-len(open_) // keepalive)
        if each.pps == 0:
            message = f"{statement.name}: {each.name}, in front of the CPU, drops {each.service}"
        elif each.pps < max(sent, _BURST):
            message = (
                f"{statement.name}: the CPU gets {plural(each.pps, 'packet')} of {each.service} per second, and "
                f"{plural(wanted[each.service], 'neighbor')} send {max(sent, _BURST):,}: sessions go down"
            )
        else:
            continue
        group, remedy = f"filter {each.service}", f"Let all packets of {each.service} reach the CPU."
        if each.path:
            yield finding_at(BLOCKED, statement.device, each.path, message, group, remedy=remedy)
        else:
            place = statement.device.paths.get(each.file, each.file), each.line
            yield Finding(BLOCKED, message, *place, group, Severity.ERROR, remedy)


def _policed_links(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report filters on links to switches by which a slow policer discards packets of RDMA, or of everyone."""
    links = _switch_links(statement)
    if any(leaf.startswith("service_policy[") for leaf in statement.port_leaves):
        for name, path in losing_policies(statement.rest):
            hit = [
                port for port in links
                for leaf, value in statement.ports.get(port, {}).items()
                if leaf.startswith("service_policy[") and value == name
            ]  # fmt: skip
            if hit:
                message = (
                    f"{statement.name} {join_words(hit, 2)}: the policy {name} drops RDMA, or most packets"
                )
                remedy = "Take the policy off links between switches."
                yield finding_at(
                    BLOCKED, statement.device, path, message, "policed link", Severity.WARNING, remedy
                )
    for name, ports in _bound_filters(statement).items():
        path = qos_defaults.POLICED_FILTER.format(name)
        if path in statement.rest and (hit := [port for port in ports if port in links]):
            message = (
                f"{statement.name} {join_words(hit, 2)}: the filter {name} discards all above the rate of the policer "
                f"{statement.rest[path]}"
            )
            remedy = "Take the policer off links between switches."
            yield finding_at(
                BLOCKED, statement.device, path, message, "policed link", Severity.WARNING, remedy
            )


_BURST = 10
"""Packets of a service in a second that a neighbor sends at times, such as of BGP with routes to announce."""


def _is_over_ipv6(neighbor: str) -> bool:
    """Return whether packets of a session are of IPv6: its neighbor is an IPv6 address or a port."""
    return ":" in neighbor or not is_number(neighbor[:1])


def _linked_sessions(statement: Statement, sessions: Sessions) -> set[str]:
    """Return the ports whose sessions use addresses of IPv6."""
    return {
        sessions.near.get(key, "") if ":" in key[1] else key[1]
        for key in statement.sessions
        if ":" in key[1] or key[1] in statement.ports
    }


def _switch_links(statement: Statement) -> set[str]:
    """Return the ports that lead to other switches."""
    return {port for port, far in statement.fars.items() if far.tier is not Tier.HOST and far.known}


def _bound_filters(statement: Statement) -> dict[str, list[str]]:
    """Return the filters of ports that are not shut -> these ports."""
    bound: dict[str, list[str]] = {}
    if name := statement.rest.get(ALL_PORTS):
        bound[str(name)] = [*statement.fars]
    if statement.port_leaves.isdisjoint(_WAYS):
        return bound
    for port in dict.fromkeys((*statement.fars, *statement.ports)):
        for way in _WAYS:
            for name in str(statement.of(port, way) or "").replace(",", " ").split():
                ports = bound.setdefault(name, [])
                if port not in ports and statement.of(port, "enabled") != "false":
                    ports.append(port)
    return bound


def _filter_rules(statement: Statement) -> dict[str, list[tuple[str, str]]]:
    """Return the paths and texts of the rules of each filter, in their order."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for path, value in statement.facts_below(_LIST).items():
        name, leaf = split_list_path(path, "access_list")
        if is_number(leaf):
            found.setdefault(name, []).append((int(leaf), path, str(value)))
    groups = {
        name.removeprefix(_MEMBERS): [text for *_, text in sorted(rules)]
        for name, rules in found.items()
        if name.startswith(_MEMBERS)
    }
    return {
        name: [(path, expand_groups(text, groups)) for _, path, text in sorted(rules)]
        for name, rules in found.items()
    }


_MEMBERS = "object-group "
"""Begins the names of lists that other lists name as groups of addresses or ports."""


RULES = (
    SwitchRule(BLOCKED, INTERFACES, (), _dropping_routes),
    SwitchRule(BLOCKED, INTERFACES, (), _lone_routes),
    SwitchRule(BLOCKED, INTERFACES, (Input.LINKS,), _filter_findings),
    SwitchRule(BLOCKED, INTERFACES, (Input.LINKS,), _dropped_flows),
    SwitchRule(BLOCKED, INTERFACES, (Input.LINKS,), _policed_links),
    SwitchRule(BLOCKED, INTERFACES, (Input.BGP,), _blocked_sessions),
    SwitchRule(OPEN, OTHER, (), _open_filters),
    SwitchRule(BLOCKED, INTERFACES, (Input.BGP,), _policed_sessions),
)
