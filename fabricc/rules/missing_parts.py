"""Find segments, VRFs and gateways of EVPN that lack a part they need.

Also loopbacks and sessions that one switch of a tier lacks.
"""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, evpn_defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import outer_key, split_list_path
from fabricc.facts.statement import Tier
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.access import UNDEFINED
from fabricc.rules.announcements import SILENT, permits_address
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE
from fabricc.rules.rule import (
    ADDRESSES,
    BGP,
    OTHER,
    POLICY,
    FabricRule,
    Input,
    Report,
    Switches,
    SwitchRule,
)
from fabricc.rules.tenants import TUNNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions


SEGMENT, _VRF = "evpn/segment[", "evpn/vrf["


_LEARNED = "announces_learned"


_ROUTES = {
    "distinguisher": "no route distinguisher",
    "route_target": "no route target",
    "announces_learned": "no `redistribute learned`",
}
"""Leaf of the EVPN routes of a VLAN -> what it lacks without it."""


SOURCES = ("evpn/source", "vxlan/source")


def _leaves_by_key(statement: Statement, start: str, name: str) -> dict[str, dict[str, object]]:
    """Return the facts of each entry of a list, by the rest of their paths."""
    found: defaultdict[str, dict[str, object]] = defaultdict(dict)
    for path, value in statement.facts_below(start).items():
        key, leaf = split_list_path(path, name)
        found[key][leaf] = value
    return found


def _incomplete_segments(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report VLANs with a part of what EVPN needs: a VNI, a route distinguisher, route targets, learned addresses."""
    device = statement.device
    carries = any("evpn" in str(each.families).split(",") for each in sessions.stated.values())
    texts = device.files.values()
    unmet = evpn_defaults.unmet_parts(device.system, statement.rest, statement.ports, texts, carries=carries)
    for place, words in unmet:
        path = f"{PORT}{place}]/enabled" if place in statement.ports else place
        message = f"{device.name}: {words}: its hosts are cut off from those of other switches"
        remedy = "State it as the other switches do."
        yield finding_at(TUNNEL, device, path, message, words, Severity.WARNING, remedy)
    if not evpn_defaults.needs_targets(device.system):
        return
    tunnels = any(path in statement.rest for path in SOURCES)
    targets = [
        path
        for start in (SEGMENT, _VRF)
        for path in statement.facts_below(start)
        if path.endswith("]/route_target")
    ]
    if carries and (path := defaults.agents_without_evpn(statement.rest)):
        message = (
            f"{device.name} has EVPN sessions, and its routing agents do not know EVPN: no route is exchanged"
        )
        remedy = "Use the multi-agent routing model."
        yield finding_at(TUNNEL, device, path, message, "routing agents", Severity.WARNING, remedy)
    if targets and sessions.stated and not carries:
        message = f"{device.name} has EVPN routes, and no session that carries them"
        remedy = "Activate the neighbors in the address family of EVPN."
        paths = ["evpn/route_targets", "bgp/family[evpn]", targets[0]]
        yield finding_at(TUNNEL, device, paths, message, "no EVPN session", Severity.WARNING, remedy)
    for vlan, leaves in _leaves_by_key(statement, SEGMENT, "evpn/segment").items():
        stated = [leaf for leaf in _ROUTES if leaf in leaves]
        lacks = [words for leaf, words in _ROUTES.items() if leaf not in leaves]
        if not evpn_defaults.states_segments(device.system):
            lacks = [words for leaf, words in _ROUTES.items() if leaf not in leaves and leaf != _LEARNED]
            if not stated:
                continue
        if stated and tunnels and "vni" not in leaves:
            lacks.append("no VNI")
        if not lacks or not (stated or ("vni" in leaves and carries)):
            continue
        what = join_words(lacks, 3) if stated else "a VNI and no EVPN routes"
        message = (
            f"{statement.name}: VLAN {vlan} has {what}, so its hosts are cut off from those of other switches"
        )
        paths = [f"{SEGMENT}{vlan}]/{leaf}" for leaf in (*_ROUTES, "vni")]
        remedy = "Configure the VNI, the route distinguisher, the route targets and `redistribute learned` of the VLAN."
        yield finding_at(TUNNEL, device, paths, message, "segment parts", Severity.WARNING, remedy)


def _incomplete_vrfs(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report VRFs with a VNI that do not route, and gateways with a VNI that are in no VRF where others are."""
    device = statement.device
    vrfs = _leaves_by_key(statement, _VRF, "evpn/vrf")
    segments = _leaves_by_key(statement, SEGMENT, "evpn/segment")
    used = {str(leaves.get("vrf", "")) for leaves in segments.values()}
    used |= {str(vrf) for port in statement.addresses if (vrf := statement.of(port, "vrf")) is not None}
    for name, leaves in vrfs.items():
        if "defined" in leaves and name in used and evpn_defaults.stays_unrouted(device.system, leaves):
            message = f"{statement.name}: VRF {name} does not route, so its hosts reach no other subnet"
            paths, remedy = (
                [f"{_VRF}{name}]/{leaf}" for leaf in ("defined", "vni")],
                "Enable routing in the VRF.",
            )
            yield finding_at(TUNNEL, device, paths, message, "unrouted VRF", Severity.WARNING, remedy)
    routed = any("vni" in leaves for leaves in vrfs.values()) or bool(statement.facts_below("vxlan/vrf["))
    bare = {
        vlan: f"{SEGMENT}{vlan}]/ipv4"
        for vlan, each in segments.items()
        if "ipv4" in each and "vni" in each and "vrf" not in each
    }
    for path in statement.facts_below("vxlan/vlan["):
        vlan = outer_key(path)
        for port in (f"vlan{vlan}", f"Vlan{vlan}"):
            own = statement.ports.get(port, {})
            if "ipv4" in own and "vrf" not in own:
                bare[vlan] = f"{PORT}{port}]/ipv4"
    if bare and routed:
        message = (
            f"{statement.name}: the gateway of VLAN {join_words([*bare], 2)} has a VNI and is in the default VRF, "
            "where the underlay is"
        )
        remedy = "Put the VLAN interface into the VRF of its tenant."
        path = next(iter(bare.values()))
        yield finding_at(TUNNEL, device, path, message, "gateway VRF", Severity.WARNING, remedy)


_MAC = "evpn/anycast_mac"


_MULTICAST = 1


def _gateway_macs(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report gateways that several switches have and whose MAC address is missing, or is one of a group."""
    device, value = statement.device, str(statement.rest.get(_MAC, ""))
    remedy = "Configure one individual MAC address of the gateways on all switches."
    digits = "".join(each for each in value.lower() if each in "0123456789abcdef")
    if digits and int(digits[:2], 16) & _MULTICAST:
        message = (
            f"{statement.name}: the MAC address of gateways {value} is one of a group, so no host accepts it"
        )
        yield finding_at(TUNNEL, device, _MAC, message, "group MAC", Severity.WARNING, remedy)
    if value or not (sessions.runs_bgp or statement.facts_below("mlag/")):
        return
    if not evpn_defaults.needs_gateway_mac(device.system, device.files.values()):
        return
    paths = [
        f"{PORT}{port}]/{leaf}"
        for port, leaves in statement.ports.items()
        for leaf in leaves
        if leaf.startswith("gateway[")
    ]
    paths += [path for path in statement.facts_below(SEGMENT) if path.endswith("]/ipv4")]
    if paths:
        message = (
            f"{statement.name}: virtual addresses of gateways without a MAC address, so they answer no host"
        )
        yield finding_at(TUNNEL, device, paths[0], message, "no gateway MAC", Severity.WARNING, remedy)


def _undefined_instances(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports in a routing instance that no line creates, where the system needs one."""
    if "vrf" not in statement.port_leaves or not defaults.creates_instances(statement.device.system):
        return
    for port, values in statement.ports.items():
        name = values.get("vrf")
        if name is None or port not in statement.addresses:
            continue
        stated = (*statement.facts_below(f"vrf[{name}]"), *statement.facts_below(f"{_VRF}{name}]"))
        if all(each.startswith(f"vrf[{name}]/bgp/") for each in stated):
            message = f"{statement.name} {port}: the VRF {name} is nowhere defined, so the port stays down"
            remedy = "Create the VRF, or take the port out of it."
            path = f"{PORT}{port}]/vrf"
            yield finding_at(
                UNDEFINED, statement.device, path, message, "undefined VRF", Severity.WARNING, remedy
            )


_PROCESSES = {"ospf_process": ("ospf[", "OSPF"), "eigrp": ("eigrp[", "EIGRP")}


def _undefined_processes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports in a process of OSPF or EIGRP that the switch does not have, where it has another one."""
    for leaf, (start, what) in _PROCESSES.items() if not statement.port_leaves.isdisjoint(_PROCESSES) else ():
        for port, values in statement.ports.items():
            name = values.get(leaf)
            if name is None or statement.facts_below(f"{start}{name}]") or not statement.facts_below(start):
                continue
            message = f"{statement.name} {port}: no process of {what} is called {name}, so the port has none"
            remedy = f"Name the process of {what} that the switch has."
            path = f"{PORT}{port}]/{leaf}"
            yield finding_at(
                UNDEFINED, statement.device, path, message, "undefined process", Severity.WARNING, remedy
            )


_NEARLY_ALL = 0.6


def _silent_loopbacks(fabric: Switches) -> Iterator[Report]:
    """Report loopbacks that a switch does not announce, where nearly all others, some of its tier, announce theirs."""
    announcing = {
        name: summary
        for name, summary in fabric.summaries.items()
        if summary.alone and summary.joined and summary.hosts and not fabric.planned
    }
    heard: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for name, summary in announcing.items():
        blocks = [block for text in summary.prefixes if (block := parse_block(text))]
        for port, text in summary.hosts:
            own = parse_block(text)
            policy = fabric.policy(name) if summary.maps else None
            mapped = summary.maps and (
                policy is None or permits_address(policy, summary.maps, text.partition("/")[0])
            )
            heard[port][name] = bool(mapped) or (own is not None and any(each.covers(own) for each in blocks))
    for port, by_switch in heard.items():
        others = sum(by_switch.values())
        tiers = {announcing[name].tier for name, is_heard in by_switch.items() if is_heard}
        silent = [
            name for name, is_heard in by_switch.items() if not is_heard and announcing[name].tier in tiers
        ]
        if not silent or others < _SOME or others < len(by_switch) * _NEARLY_ALL:
            continue
        for name in silent:
            text = dict(announcing[name].hosts)[port]
            message = f"{name} does not announce its {port} {text}, as {others} other switches do"
            paths = (
                *(f"bgp/network[{each}]" for each in announcing[name].prefixes),
                "bgp/router_id",
                "bgp/asn",
            )
            remedy = "Announce the loopback by a network statement."
            yield Report(SILENT, name, paths, message, "loopback", Severity.WARNING, remedy)


_SOME = 3


def _without_sessions(fabric: Switches) -> Iterator[Report]:
    """Report a switch whose BGP has no session in the default routing instance, as all others of its system have."""
    systems = defaultdict(list)
    for name, summary in fabric.summaries.items() if not fabric.planned else ():
        if summary.asn is not None or summary.mute:
            systems[summary.system].append(name)
    for names in systems.values():
        mute = [name for name in names if fabric.summaries[name].mute]
        for name in mute if len(mute) == 1 and len(names) > _SOME else ():
            path = fabric.summaries[name].mute
            where = "" if path == "bgp/asn" else " in the default routing instance"
            message = f"{name} has no session of BGP{where}, as {len(names) - 1} other switches have"
            remedy = "State its neighbors there."
            yield Report(SILENT, name, (path,), message, "no session", Severity.WARNING, remedy)


def _lone_demands(fabric: Switches) -> Iterator[Report]:
    """Report sessions over bare ports that demand what no switch at which their other ends can be does.

    Where tiers are known, the other ends are on another tier.
    """
    for name, summary in fabric.summaries.items() if not fabric.planned else ():
        others = [
            each
            for other in fabric.linked(name) if summary.demands
            if (each := fabric.summaries.get(other)) and (each.tier is Tier.OTHER or each.tier is not summary.tier)
        ]  # fmt: skip
        for what, path, neighbor in summary.demands if len(others) >= _SOME - 1 else ():
            if any(what in map(itemgetter(0), each.demands) or what == f"AS {each.asn}" for each in others):
                continue
            message = f"{name}: the session with {neighbor} demands {what}, which no other switch has: it is never up"
            remedy = "State it at both ends, or remove it."
            yield Report(IDLE, name, (path,), message, f"lone {what}", Severity.WARNING, remedy)


RULES = (
    SwitchRule(UNDEFINED, OTHER, (), _undefined_processes),
    SwitchRule(UNDEFINED, OTHER, (), _undefined_instances),
    SwitchRule(TUNNEL, ADDRESSES, (), _incomplete_segments),
    SwitchRule(TUNNEL, ADDRESSES, (), _incomplete_vrfs),
    SwitchRule(TUNNEL, ADDRESSES, (), _gateway_macs),
    FabricRule(SILENT, POLICY, (), _silent_loopbacks),
    FabricRule(IDLE, BGP, (Input.BGP,), _lone_demands),
    FabricRule(SILENT, BGP, (), _without_sessions),
)
