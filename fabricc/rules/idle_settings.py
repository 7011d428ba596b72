"""Find settings by which a switch, a port, a session or a log server that is configured stays without its purpose."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import idle_settings as settings
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Tier, session_path
from fabricc.proof.compare import Finding
from fabricc.rules.access import MISSING
from fabricc.rules.announcements import POINTLESS
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at, line_of
from fabricc.rules.forwarding import IDLE
from fabricc.rules.routing import TIMERS
from fabricc.rules.rule import BGP, INTERFACES, OTHER, Input, SwitchRule
from fabricc.rules.sessions import UPPER, external_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions

_LOG = "management/syslog"


def _idle_switches(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch that is left in maintenance, or whose routes of BGP are never used."""
    device, remedy = statement.device, "End the maintenance, and remove the setting."
    for path, value in statement.facts_below("bgp/").items():
        if effect := settings.describe_idle_switch(path, value):
            message = f"{statement.name} {effect}"
            yield finding_at(IDLE, device, path, message, "idle switch", Severity.WARNING, remedy)
    for file, line, text in device.unknown:
        if effect := settings.describe_idle_line(text):
            place = device.paths.get(file, file)
            message = f"{statement.name} {effect}"
            yield Finding(IDLE, message, place, line, "idle switch", Severity.WARNING, remedy)


def _looped_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a link or an address that return their packets to themselves."""
    found = {
        port: leaf
        for port, values in statement.ports.items()
        for leaf, value in values.items()
        if settings.is_looped(leaf, value) and (port in statement.fars or port in statement.addresses)
    }
    if found:
        message = f"{statement.name} {join_words([*found], 2)}: in loopback, so nothing leaves by it"
        path = next(f"{PORT}{port}]/{leaf}" for port, leaf in found.items())
        remedy = "Remove the loopback, which is for tests."
        yield finding_at(IDLE, statement.device, path, message, "port in loopback", Severity.WARNING, remedy)


def _late_announcements(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links that hold routes back for longer than any system does by default."""
    if not any(leaf.startswith(settings.DELAY) for leaf in statement.session_leaves):
        return
    found: dict[int, list[tuple[tuple[str, str], str]]] = {}
    for key, values in statement.sessions.items():
        for leaf, value in values.items() if sessions.near.get(key) else ():
            if seconds := settings.announcement_delay(leaf, value):
                found.setdefault(seconds, []).append((key, leaf))
    for seconds, places in found.items():
        who = join_words([key[1] for key, _ in places], 2)
        message = f"{statement.name}: {who} get new routes, and the end of old ones, after {seconds} s"
        path = session_path(*places[0])
        remedy = "Announce routes at once."
        yield finding_at(IDLE, statement.device, path, message, "late routes", Severity.WARNING, remedy)


def _quiet_logs(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report log servers that get no message of a failed link or session."""
    device = statement.device
    message = f"{statement.name}: its log server gets nothing, or only messages of the gravest levels"
    remedy, group = "Send messages from the level `notice` or `informational` on.", "quiet log"
    if _LOG not in statement.rest:
        return
    for path in (_LOG, *statement.facts_below("platform/syslog[")):
        if settings.quiets_log(path, statement.rest.get(path, ""), line_of(device, path)):
            yield finding_at(MISSING, device, path, message, group, Severity.WARNING, remedy)
            return
    for file, line, text in device.unknown:
        if settings.quiets_all_logs(text):
            place = device.paths.get(file, file)
            yield Finding(MISSING, message, place, line, group, Severity.WARNING, remedy)
            return


def _fixed_neighbors(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report neighbors of sessions whose MAC address is fixed: a replaced switch or cable is not noticed."""
    stated = [*statement.facts_below("routing/setting[arp ")]
    if any("arp " in leaf for leaf in statement.port_leaves):
        stated += [
            f"{PORT}{port}]/{leaf}"
            for port, values in statement.ports.items()
            for leaf in values
            if "arp " in leaf
        ]
    neighbors = {neighbor for _, neighbor in statement.sessions} if stated else set()
    paths = [path for path in stated if settings.fixed_neighbor(path) in neighbors]
    if paths:
        who = settings.fixed_neighbor(paths[0])
        message = f"{statement.name}: the MAC address of the neighbor {who} is fixed: packets go to it alone"
        remedy = "Remove it, so that ARP finds the neighbor."
        yield finding_at(
            IDLE, statement.device, paths[0], message, "fixed neighbor", Severity.WARNING, remedy
        )


def _slow_ports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ports on which BFD notices a failure after BGP's hold time."""
    found = {}
    detections = statement.once(_detections_of_ports, lambda: _detections_of_ports(statement))
    for key, session in sessions.stated.items() if detections else ():
        port, hold = sessions.near.get(key, ""), session.timers[1]
        if session.bfd == "true" and isinstance(hold, int) and hold:
            for leaf, detection in detections.get(port, ()):
                if detection > hold * 1000:
                    found[port] = leaf, detection, hold
    if found:
        port, (leaf, detection, hold) = next(iter(found.items()))
        where = f"{statement.name} {join_words([*found], 2)}"
        message = f"{where}: BFD detects after {detection:,} ms, BGP holds for {hold} s already"
        remedy = "Let BFD notice failures within a second."
        path = f"{PORT}{port}]/{leaf}"
        yield finding_at(TIMERS, statement.device, path, message, "slow BFD", Severity.WARNING, remedy)


def _detections_of_ports(statement: Statement) -> dict[str, list[tuple[str, int]]]:
    """Return port -> the facts by which BFD of the port notices a failure, and after how many milliseconds."""
    found: dict[str, list[tuple[str, int]]] = {}
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            if detection := settings.detection_of_port(leaf, value):
                found.setdefault(port, []).append((leaf, detection))
    return found


def _hidden_aggregates(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report aggregates with a community by which neighbors keep them to themselves."""
    if not any(each.tier in UPPER for each in statement.fars.values()):
        return
    for path, mark in settings.hiding_aggregates(statement.facts_below):
        message = f"{statement.name}: its aggregate has the community {mark}: spines do not pass it on"
        remedy = "Announce the aggregate without the community."
        yield finding_at(
            POINTLESS, statement.device, path, message, "hidden aggregate", Severity.WARNING, remedy
        )
        return


def _has_own_routes(families: str) -> bool:
    """Return whether a session has routes of the switches themselves; those of VPNs need the next hop of the VTEP."""
    beside = families.replace("evpn", "")
    return "vpn" not in beside and ("ip" in beside or beside == families)


def _kept_next_hops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links to lower switches by which routes keep a next hop that the neighbor cannot reach."""
    if statement.place.tier not in UPPER:
        return
    keys = [
        key
        for key, values in external_sessions(statement)
        if values.get("next_hop_unchanged") not in (None, "false", "off")
        and (far := statement.fars.get(sessions.near.get(key, ""))) is not None
        and far.known
        and far.tier is not Tier.HOST
        and _has_own_routes(str(sessions.stated[key].families))
    ]
    if keys:
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name}: routes to {who} keep the next hop of another link: they are not usable there"
        )
        remedy = "Let the switch name itself as next hop; only sessions with EVPN keep it."
        path = session_path(keys[0], "next_hop_unchanged")
        yield finding_at(IDLE, statement.device, path, message, "kept next hop", Severity.WARNING, remedy)


def _lone_loopbacks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report the loopback with the router identifier in a VRF that has no session."""
    for port, values in statement.ports.items():
        vrf = values.get("vrf")
        if (
            vrf
            and port.lower() in _LOOPBACKS
            and sessions.stated
            and not any(key[0] == vrf for key in sessions.stated)
        ):
            message = (
                f"{statement.name} {port}: in the VRF {vrf}, which has no session: no other switch reaches it"
            )
            remedy = "Remove the loopback from the VRF."
            path = f"{PORT}{port}]/vrf"
            yield finding_at(IDLE, statement.device, path, message, "lone loopback", Severity.WARNING, remedy)


def _detours(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report static routes to an address of a subnet of the switch whose next hop is in another one."""
    for path, value in statement.facts_below("static_route[").items():
        target = parse_network(first_key(path))
        hop = parse_network(str(value).partition(" ")[0])
        if target is None or hop is None or target.prefixlen < target.max_prefixlen:
            continue
        own = statement.remember(_subnets_of_hosts, _subnets_of_hosts)
        inside = [each for each in own if each.version == target.version and target.network_address in each]
        if inside and not any(hop.network_address in each for each in inside):
            host = target.network_address
            message = (
                f"{statement.name} sends traffic for {host}, a host of its own port, to {hop.network_address}"
            )
            remedy = "Remove the static route: the host is in a subnet of the switch."
            yield finding_at(IDLE, statement.device, path, message, "detour", Severity.WARNING, remedy)


def _subnets_of_hosts(statement: Statement) -> list[IPv4Network | IPv6Network]:
    """Return the subnets of the ports with PFC that lead to no other switch."""
    links = {port for port, far in statement.fars.items() if far.tier is not Tier.HOST}
    return [
        network
        for port in lossless_ports(statement)
        if port not in links
        for text in statement.addresses.get(port, [])
        if (network := parse_network(text)) is not None
    ]


def parse_network(text: str) -> IPv4Network | IPv6Network | None:
    """Return the network of a text, None for a text that is none."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


_LOOPBACKS = ("lo0", "loopback0")


RULES = (
    SwitchRule(IDLE, BGP, (Input.PFC,), _detours),
    SwitchRule(IDLE, BGP, (Input.BGP,), _fixed_neighbors),
    SwitchRule(TIMERS, BGP, (Input.BGP,), _slow_ports),
    SwitchRule(POINTLESS, BGP, (Input.LINKS,), _hidden_aggregates),
    SwitchRule(IDLE, BGP, (Input.TIER, Input.LINKS), _kept_next_hops),
    SwitchRule(IDLE, INTERFACES, (Input.BGP,), _lone_loopbacks),
    SwitchRule(IDLE, BGP, (), _idle_switches),
    SwitchRule(IDLE, INTERFACES, (Input.LINKS,), _looped_ports, shared=True),
    SwitchRule(IDLE, BGP, (Input.BGP,), _late_announcements),
    SwitchRule(MISSING, OTHER, (), _quiet_logs),
)
