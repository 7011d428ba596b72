"""Find switches that do not forward as they should: no routing, source checks, idle links, equal hash seeds.

A link is idle if its sessions are shut or it has no protocol. A seed must differ from that of the tier below.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.rules.findings import at_lost_activation, finding_at, line_in_block
from fabricc.rules.links import DIFFER
from fabricc.rules.rule import BGP, INTERFACES, OTHER, POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import UPPER, Key, Sessions, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.compare import Finding


STILL, STRICT = "FAB9682", "FAB9685"


def _does_not_route(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report that a switch with links to others and addresses of a family does not forward packets of it.

    A port without a number routes IPv4, and IPv6 if a session exchanges its prefixes (RFC 8950).
    """
    exchanged = (
        "ipv4",
        *(["ipv6"] if any("ipv6" in str(e.families) for e in sessions.stated.values()) else []),
    )
    families = {
        version
        for port in statement.fars
        for version in ("ipv4", "ipv6")
        if statement.of(port, version) is not None
        or (version in exchanged and statement.of(port, "unnumbered") is not None)
    }
    joined = () if families else sessions_to_switches(statement, sessions)
    routed = families.union(*(str(values.get("families", "")).split(",") for _, values in joined))
    for path, value in statement.rest.items():
        family = defaults.unrouted_family(path, value)
        if family and family in routed:
            message = f"{statement.name} does not route {family} packets between its links: traffic is lost"
            remedy = "Enable routing for the family."
            yield finding_at(STILL, statement.device, path, message, "no routing", Severity.ERROR, remedy)
    system = statement.device.system
    still = not defaults.may_route_by_default(system, statement.rest) or "ipv4" in defaults.unset_kernel(
        system, statement.rest
    )
    if "ipv4" in families and still:
        message = f"{statement.name} does not state that it routes IPv4 packets, which its system does not by default"
        remedy = "Enable routing for the family."
        kernel = next((path for path in statement.rest if path.startswith("kernel[")), "bgp/asn")
        paths = (kernel, "bgp/asn", "system/hostname")
        found = finding_at(STILL, statement.device, paths, message, "no routing", Severity.ERROR, remedy)
        yield line_in_block(statement.device, found, defaults.ROUTES, "routing")


def _checks_sources(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a strict check of sources on links between switches, which have several ways back to a source."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier is not Tier.HOST]
    if len(links) < 2:
        return
    found = {
        port: f"{PORT}{each}]/{leaf}"
        for port in links
        for each in statement.chain(port)
        for leaf, value in statement.ports.get(each, {}).items()
        if defaults.has_strict_rpf(leaf, value)
    }
    found |= {
        port: path
        for path, value in statement.facts_below("kernel[").items()
        if (port := defaults.port_with_strict_rpf(path, value)) in links
    }
    whole = next(
        (path for path, value in statement.rest.items() if defaults.has_strict_rpf(path, value)), None
    )
    found |= {"all ports": whole} if whole else {}
    if found:
        message = f"{statement.name} {join_words(list(found), 2)}: packets with another way back are lost"
        remedy = "Disable the source check between switches, or make it loose."
        path = next(iter(found.values()))
        yield finding_at(STRICT, statement.device, path, message, "source check", Severity.WARNING, remedy)


SEEDS = "FAB9670"


def _hash_seeds(fabric: Switches) -> Iterator[Report]:
    used = {(each.tier, each.seed[1]) for each in fabric.summaries.values() if each.seed is not None}
    remedy = "Give each tier a hash seed of its own."
    reported: set[str] = set()
    for name, summary in sorted(fabric.summaries.items()):
        if summary.tier not in UPPER or summary.seed is None:
            continue
        path, seed = summary.seed
        lower = Tier.TOR if summary.tier is Tier.SPINE else Tier.SPINE
        if (lower, seed) not in used:
            continue
        below = {
            each: other.seed[0]
            for each in sorted(fabric.linked(name))
            if (other := fabric.summaries.get(each))
            and other.tier is lower
            and other.seed
            and other.seed[1] == seed
        }
        if below:
            message = (
                f"{name} hashes with the seed {seed}, as {next(iter(below))} below it does: flows that one switch puts "
                "on a link are put on one link again"
            )
            yield Report(SEEDS, name, (path,), message, "hash seed", Severity.WARNING, remedy)
        for each in below.keys() - reported:
            message = (
                f"{each} hashes with the seed {seed}, as {name} above it does: flows that one switch puts on a link "
                "are put on one link again"
            )
            yield Report(SEEDS, each, (below[each],), message, "hash seed", Severity.WARNING, remedy)
        reported |= below.keys()


IDLE = "FAB9675"
_HEADER_BYTES = 14
"""Ethernet header, which the MTU of a port counts and that of a family does not."""
_ROUTED = ("ipv4", "ipv6", "unnumbered")
_PROTOCOLS = (
    "ospf",
    "isis",
    "eigrp",
    "rip[",
    "rip/",
    "mpls",
    "vrf[",
    "[router rip",
    "[router babel",
    "[router openf",
)
LEFT = "bgp/setting[graceful-shutdown"
"""What the settings begin with by which neighbors avoid a switch that is about to be shut."""
_HELPS = tuple(f"{LEFT}{suffix}" for suffix in (" aware", "-aware", " receiver"))
"""What those begin with by which a switch avoids neighbors that are: the default of NX-OS, `receiver` of Junos."""


def _shut_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links to known switches that are shut."""
    shut = [
        key
        for key, session in sessions.stated.items()
        if not session.enabled and leads_to_switch(statement, sessions.near.get(key, ""))
    ]
    if shut:
        who = join_words([neighbor for _, neighbor in shut], 2)
        more = "" if len(shut) < len(sessions.stated) else ", all that it has"
        message = f"{statement.name}: the sessions with {who} are shut{more}, so their links are unused"
        remedy = "Enable the sessions, or shut the ports of the links too."
        path = session_path(shut[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut session", Severity.WARNING, remedy)


def _shut_overlay(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch whose sessions between loopbacks with EVPN are all shut."""
    overlay = [
        key
        for key, session in sessions.stated.items()
        if not sessions.near.get(key, "") and "evpn" in str(session.families).split(",")
    ]
    if overlay and not any(sessions.stated[key].enabled for key in overlay):
        who = join_words([neighbor for _, neighbor in overlay], 2)
        message = (
            f"{statement.name}: the sessions with {who} are shut, all that carry EVPN: no VTEP is learned"
        )
        remedy = "Enable the sessions between loopbacks, or remove them."
        path = session_path(overlay[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut overlay", Severity.WARNING, remedy)


_UNICAST = frozenset({"ipv4", "ipv6"})
_IPV4_ORIGIN = re.compile(r"bgp/(?:aggregate|network)\[\d+\.")
_ENTERING = ("bgp/aggregate[", "bgp/network[", "bgp/redistribute")
"""What the facts begin with by which a switch puts its own routes into BGP."""


def _empty_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report links to known switches whose sessions carry no unicast routes, where no other protocol does."""
    yield from _without_families(statement, sessions)
    if statement.has_link_state:
        return
    carried: dict[str, set[str]] = {}
    first: dict[str, Key] = {}
    stated = any(session.families for session in sessions.stated.values())
    joined = {key for key, _ in sessions_to_switches(statement, sessions)}
    for key, session in sessions.stated.items():
        port = sessions.near.get(key, "") or key[1]
        if (
            session.enabled
            and not key[0]
            and (stated or session.families is not None)
            and (key in joined or leads_to_switch(statement, port))
        ):
            first.setdefault(port, key)
            carried.setdefault(port, set()).update(str(session.families or "").split(","))
    entering = [path for each in _ENTERING for path in statement.facts_below(each)]
    carries_ipv4 = any("ipv4" in str(session.families) for session in sessions.stated.values())
    texts = {text for some in statement.addresses.values() for text in some}
    misplaced = texts and all(families == {"ipv6"} for families in carried.values()) and ":" not in str(texts)
    lost = not carries_ipv4 and (misplaced or any(map(_IPV4_ORIGIN.match, entering)))
    empty = [
        first[port]
        for port, families in carried.items()
        if lost or (not families & _UNICAST and (entering or not families - {""}))
    ]
    if empty:
        who = join_words([neighbor for _, neighbor in empty], 2)
        message = (
            f"{statement.name}: the session with {who} carries no {'IPv4' if lost else 'IPv4 or IPv6'} routes"
        )
        remedy = "Activate the address family on the session."
        paths = tuple(session_path(empty[0], leaf) for leaf in ("families", "remote_asn", "remote_kind"))
        other = "ipv6" in str(sessions.stated[empty[0]].families).split(",") and ":" not in empty[0][1]
        word = "address-family ipv6" if other else ""
        found = finding_at(
            IDLE, statement.device, paths, message, "no family", Severity.WARNING, remedy, word=word
        )
        yield found if other else at_lost_activation(statement.device, found, empty[0][1], "ipv4")


def _without_families(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions that carry no family at all, in a file that states families of none or others.

    Those over links to known switches are reported with their links, where no link-state protocol runs.
    """
    carrying = statement.has_link_state or any(each.families for each in sessions.stated.values())
    empty = [
        key
        for key, session in sessions.stated.items()
        if session.families == "" and session.enabled and (carrying or key[1] in statement.ports)
        if statement.has_link_state or not leads_to_switch(statement, sessions.near.get(key, ""))
    ]
    if empty:
        who = join_words([neighbor for _, neighbor in empty], 2)
        message, word = (
            f"{statement.name}: the session with {who} carries no routes, of no family",
            empty[0][1],
        )
        remedy = "Activate the address family on the session."
        paths = tuple(session_path(empty[0], leaf) for leaf in ("families", "remote_asn", "remote_kind"))
        found = finding_at(
            IDLE, statement.device, paths, message, "no family", Severity.WARNING, remedy, word=word
        )
        other = at_lost_activation(statement.device, found, empty[0][1], "evpn")
        yield other if other != found else at_lost_activation(statement.device, found, empty[0][1], "ipv4")


def leads_to_switch(statement: Statement, port: str) -> bool:
    """Return whether a port has a link to a known switch."""
    far = statement.fars.get(port)
    return far is not None and far.known and far.tier is not Tier.HOST


def _shut_links(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ports that are shut, over which a session leads, or to switches with addresses where none has a port."""
    used = {sessions.near.get(key, "") for key, session in sessions.stated.items() if session.enabled}
    direct = bool(used - {""})  # otherwise sessions lead from loopback to loopback, over every link
    shut = [
        port
        for port in dict.fromkeys((*statement.fars, *sorted(used - {""})))
        if statement.of(port, "enabled") == "false"
        and (
            used.intersection(statement.chain(port))
            if direct
            else leads_to_switch(statement, port) and _has_address(statement, port)
        )
    ]
    if shut:
        why = "sessions lead over it" if direct else "it has an address"
        message = f"{statement.name} {join_words(shut, 2)}: shut, and {why}"
        remedy = "Enable the ports, or shut the sessions too."
        path = f"{PORT}{shut[0]}]/enabled"
        yield finding_at(IDLE, statement.device, path, message, "shut link", Severity.WARNING, remedy)


def _has_address(statement: Statement, port: str) -> bool:
    return any(statement.of(port, leaf) is not None for leaf in _ROUTED)


def _silent_links(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch with addresses on links to switches, and neither a session, nor an IGP, nor a static route."""
    if sessions.stated or sessions.listens or statement.has_link_state:
        return
    if any("static_route[" in path or any(word in path for word in _PROTOCOLS) for path in statement.rest):
        return
    if any(
        any(word in leaf for word in _PROTOCOLS) for values in statement.ports.values() for leaf in values
    ):
        return
    if "bgp/asn" in statement.rest and not any(path.startswith("route_map[") for path in statement.rest):
        return  # the file that has the sessions may be missing
    links = [
        port
        for port in statement.fars
        if leads_to_switch(statement, port)
        and _has_address(statement, port)
        and statement.of(port, "enabled") != "false"
        and statement.of(port, "vrf") is None
    ]
    alone = len(statement.addresses) == 1 and not any(path.startswith("loopback/") for path in statement.rest)
    if links and not alone:  # the end of one link has nothing to announce
        message = f"{statement.name} has addresses on links to switches ({join_words(links, 2)}), no routing protocol"
        remedy = "Run BGP on the links between switches."
        paths = (
            "platform/routing",
            "bgp/neighbor",
            f"{PORT}{links[0]}]/ipv4",
            f"{PORT}{links[0]}]/description",
        )
        yield finding_at(IDLE, statement.device, paths, message, "no routing", Severity.WARNING, remedy)


def _passive_links(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report links to known switches without sessions on which OSPF or IS-IS looks for no neighbor."""
    used = {sessions.near.get(key, "") for key, session in sessions.stated.items() if session.enabled}
    passive: dict[str, str] = {}
    for port in statement.fars:
        unused = leads_to_switch(statement, port) and not used.intersection(statement.chain(port))
        if unused and (path := statement.passive_path(port)):
            passive[port] = path
    if passive:
        message = f"{statement.name} {join_words(list(passive), 2)}: passive, so the link to a switch carries no routes"
        remedy = "Let OSPF or IS-IS find its neighbors on links between switches."
        path = next(iter(passive.values()))
        yield finding_at(IDLE, statement.device, path, message, "passive link", Severity.WARNING, remedy)


def _idle_link_state(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports on which OSPF or IS-IS is to run by a process that the switch does not have."""
    known_system = defaults.ospf_defaults(statement.device.system) is not None
    for leaf, name in (("ospf_area", "OSPF"), ("isis", "IS-IS")):
        if leaf not in statement.port_leaves or not (statement.fars and known_system):
            continue
        begins = f"{leaf.partition('_')[0]}["
        known = {first_key(path) for path in statement.facts_below(begins)}
        inner = any(begins in path for path in statement.facts_below("vrf["))
        bare = [
            port
            for port, values in statement.ports.items()
            if leaf in values and "vrf" not in values
            if not (known or inner) or (leaf == "isis" and str(values[leaf]) not in known)
        ]
        if bare:
            message = (
                f"{statement.name} {join_words(bare, 2)}: no process of {name} runs there and finds neighbors"
            )
            remedy = f"State the process of {name} that the port names."
            idle = sorted(known.difference(str(values.get(leaf)) for values in statement.ports.values()))[:1]
            inside = [path for each in idle for path in statement.facts_below(f"{begins}{each}]/")]
            paths, word = (*inside, f"{PORT}{bare[0]}]/{leaf}"), f"{leaf} {idle[0]}" if idle else ""
            yield finding_at(
                IDLE, statement.device, paths, message, "no process", Severity.WARNING, remedy, word=word
            )


_ALONE = ("32", "128")


_ADDRESSES = ("ipv4", "ipv6", "unnumbered", "address_from", "dhcp", "virtual")
"""Beginnings of leaves by which a port has an address."""


def _unnumbered_ospf(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with OSPF and no address, or one without a subnet on a port that is no point-to-point link."""
    initial = defaults.ospf_defaults(statement.device.system)
    if initial is None:
        return
    joined = [
        (port, values)
        for port, values in statement.ports.items()
        if values.get("ospf_area") is not None
        and values.get("enabled") != "false"
        and statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE)
    ]
    odd = [
        port
        for port, values in joined
        if str(values.get("ipv4", "")).partition("/")[2] in _ALONE
        and values.get("ospf_network", initial.network) == "broadcast"
    ]
    bare = [port for port, values in joined if not any(leaf.startswith(_ADDRESSES) for leaf in values)]
    if bare and any("ipv4" in values for _, values in joined):
        message = f"{statement.name} {join_words(bare, 2)}: OSPF and no address: it runs there only with one"
        paths = (f"{PORT}{bare[0]}]/ospf_area", f"{PORT}{bare[0]}]/ospf_network")
        remedy = "Give these ports an address, or take them out of OSPF."
        yield finding_at(
            IDLE, statement.device, paths, message, "OSPF without address", Severity.WARNING, remedy
        )
    if odd:
        message = (
            f"{statement.name} {join_words(odd, 2)}: OSPF treats an address without a subnet as a LAN, and finds no "
            "neighbor"
        )
        remedy = "Make the network of OSPF point-to-point on these ports."
        paths = (f"{PORT}{odd[0]}]/ospf_network", f"{PORT}{odd[0]}]/ospf_area")
        yield finding_at(IDLE, statement.device, paths, message, "unnumbered OSPF", Severity.WARNING, remedy)


def _small_frames(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports whose packets are larger than their frames can be, where a system states both (Junos)."""
    small = [
        port
        for port, values in statement.ports.items()
        if isinstance(frame := values.get("physical_mtu"), int)
        and isinstance(packet := values.get("mtu"), int)
        and frame < packet + _HEADER_BYTES
    ]
    if small:
        values = statement.ports[small[0]]
        message = (
            f"{statement.name} {join_words(small, 2)}: packets of {values['mtu']:,} bytes do not fit into frames of "
            f"{values['physical_mtu']:,}"
        )
        remedy = "Set the MTU of the port to that of its packets and the Ethernet header."
        path = f"{PORT}{small[0]}]/physical_mtu"
        yield finding_at(DIFFER, statement.device, path, message, "small frames", Severity.ERROR, remedy)


def _graceful_shutdown(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch in graceful shutdown (RFC 8326)."""
    for path, value in statement.facts_below(LEFT).items():
        if value not in ("off", "false", "receiver") and not path.startswith(_HELPS):
            message = f"{statement.name} is in graceful shutdown: its neighbors avoid it as long as they can"
            remedy = "End the maintenance, and remove the setting."
            yield finding_at(
                IDLE, statement.device, path, message, "graceful shutdown", Severity.WARNING, remedy
            )


RULES = (
    SwitchRule(IDLE, BGP, (Input.LINKS,), _shut_sessions),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _empty_sessions),
    SwitchRule(IDLE, BGP, (), _shut_overlay),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _shut_links),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _silent_links),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _passive_links),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _idle_link_state),
    SwitchRule(IDLE, BGP, (), _unnumbered_ospf),
    SwitchRule(IDLE, BGP, (), _graceful_shutdown),
    SwitchRule(DIFFER, INTERFACES, (), _small_frames, shared=True),
    SwitchRule(STRICT, POLICY, (Input.LINKS,), _checks_sources, shared=True),
    SwitchRule(STILL, POLICY, (Input.LINKS, Input.BGP), _does_not_route),
    FabricRule(SEEDS, OTHER, (Input.HASH_SEED,), _hash_seeds),
)
