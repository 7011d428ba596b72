"""Find settings of one switch that by themselves keep sessions, routes or the kernel from their purpose."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, harmful_settings
from fabricc.back.nos.harmful_settings import Harm, Scale
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern, split_list_path
from fabricc.facts.statement import Tier, session_path
from fabricc.proof.compare import Finding
from fabricc.rules.access import UNSAFE
from fabricc.rules.blocked_routes import denying_facts
from fabricc.rules.classes import lossless_ports
from fabricc.rules.detection import TIMERS
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE, STILL
from fabricc.rules.idle_filters import POINTLESS
from fabricc.rules.loops import LOOPS
from fabricc.rules.protection import BUFFER
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import BGP, OTHER, POLICY, Input, SwitchRule
from fabricc.rules.sessions import UPPER, external_sessions, is_address, sessions_to_switches
from fabricc.rules.summary import CONNECTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Key, Sessions


_CODES = {
    "timers": TIMERS, "sessions": IDLE, "avoided": IDLE, "routes": POINTLESS, "loops": LOOPS, "kernel": STILL,
    "unsafe": UNSAFE, "buffers": BUFFER,
}  # fmt: skip
"""Kind of a harm -> code."""


_REMEDY = "Remove the setting, or set the value that the other switches have."


_FAMILY = "bgp/family["


_OFF = ("off", "disabled")


def _scale_of(statement: Statement, sessions: Sessions) -> Scale:
    """Return what the settings of a switch have to be enough for."""
    upper = statement.place.tier in UPPER
    if upper:
        below = {far.end.device for far in statement.fars.values() if far.tier is Tier.TOR}
        prefixes = len(below)
    else:
        own = ("bgp/aggregate[", "bgp/network[")
        prefixes = sum(len(statement.facts_below(each)) for each in own) + ("loopback/ipv4" in statement.rest)
    holds = [hold for each in sessions.stated.values() if isinstance(hold := each.timers[1], int) and hold]
    return Scale(
        len(sessions.stated),
        len(statement.addresses.keys() | statement.fars.keys()),
        prefixes,
        min(holds, default=None),
        upper and prefixes > 1,
        any(":" in neighbor or not is_address(neighbor) for _, neighbor in sessions.stated),
    )


def _harmful_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report settings of sessions over links to other switches, each with all sessions that have it."""
    leaves = statement.once(
        _harmful_sessions,
        lambda: frozenset(filter(harmful_settings.may_harm_session, statement.session_leaves)),
    )
    if not leaves:
        return
    scale = _scale_of(statement, sessions)
    found: dict[tuple[str, Harm], list[Key]] = {}
    for key, values in sessions_to_switches(statement, sessions):
        for leaf, value in values.items():
            if leaf in leaves and (harm := harmful_settings.harm_of_session(leaf, value, scale)):
                found.setdefault((leaf, harm), []).append(key)
    for (leaf, harm), keys in found.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = f"{statement.name}: the session with {who} {harm.effect}"
        paths = session_path(keys[0], leaf)
        yield finding_at(
            _CODES[harm.kind], statement.device, paths, message, f"harmful {leaf}", Severity.WARNING, _REMEDY
        )


def _harmful_processes(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report settings of the process, the daemons and the kernel."""
    stated = [each for begins in harmful_settings.ABOUT for each in statement.facts_below(begins).items()]
    settings = [(path, value) for path, value in stated if harmful_settings.may_harm_switch(path)]
    if settings:
        scale = _scale_of(statement, sessions)
        for path, value in settings:
            harm = harmful_settings.harm_of_switch(path, value, scale)
            port = harmful_settings.port_of_kernel(path)
            if harm and (port in ("", "default") or port in statement.addresses):
                message = f"{statement.name}: {harm.effect}"
                yield finding_at(
                    _CODES[harm.kind],
                    statement.device,
                    path,
                    message,
                    f"harmful {path}",
                    Severity.WARNING,
                    _REMEDY,
                )


def _families_off(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report address families that BGP has off as a whole, and that sessions carry."""
    for path, value in statement.facts_below(_FAMILY).items():
        family, leaf = split_list_path(path, "bgp/family")
        carrying = [
            neighbor
            for (vrf, neighbor), values in statement.sessions.items()
            if not vrf and family in str(values.get("families", "")).split(",")
        ]
        if value in _OFF and carrying and not leaf:
            message = f"{statement.name}: {family} is off in BGP, and {len(carrying)} sessions carry it"
            remedy = "Enable the address family."
            yield finding_at(
                POINTLESS, statement.device, path, message, "family off", Severity.WARNING, remedy
            )


def _empty_maps(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches, and of redistribution, that have no clause: they permit none."""
    found: dict[str, list[Key]] = {}
    for key, values in sessions_to_switches(statement, sessions):
        for leaf in ("import", "export"):
            if statement.rest.get(f"route_map[{values.get(leaf)}]/rules") == 0:
                found.setdefault(str(values[leaf]), []).append(key)
    for name, keys in found.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = f"{statement.name}: the policy {name} of the sessions with {who} has no clause, and permits nothing"
        remedy = "Add the clause that permits the prefixes of the fabric."
        path = f"route_map[{name}]/rules"
        yield finding_at(REFUSED, statement.device, path, message, "empty policy", Severity.WARNING, remedy)
    for path, value in statement.facts_below("bgp/r").items():
        if CONNECTED.fullmatch(path) and statement.rest.get(f"route_map[{value}]/rules") == 0:
            message = f"{statement.name}: no connected route enters BGP: the policy {value} has no clause"
            remedy = "Add the clause that permits the subnets of the switch."
            at = f"route_map[{value}]/rules"
            yield finding_at(REFUSED, statement.device, at, message, "empty policy", Severity.WARNING, remedy)


def _idle_switches(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch that is left in maintenance, or whose routes of BGP are never used."""
    device, remedy = statement.device, "End the maintenance, and remove the setting."
    about = ("bgp/", "isis[", "ospf[") if statement.fars else ("bgp/",)
    stated = (each for begins in about for each in statement.facts_below(begins).items())
    for path, value in stated:
        if effect := harmful_settings.describe_idle_switch(path, value):
            message = f"{statement.name} {effect}"
            yield finding_at(IDLE, device, path, message, "idle switch", Severity.WARNING, remedy)
    for file, line, text in device.unknown:
        if effect := harmful_settings.describe_idle_line(text):
            place = device.paths.get(file, file)
            message = f"{statement.name} {effect}"
            yield Finding(IDLE, message, place, line, "idle switch", Severity.WARNING, remedy)


def _late_announcements(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links that hold routes back for longer than any system does by default."""
    if not any(leaf.startswith(harmful_settings.DELAY) for leaf in statement.session_leaves):
        return
    found: dict[int, list[tuple[tuple[str, str], str]]] = {}
    for key, values in statement.sessions.items():
        for leaf, value in values.items() if sessions.near.get(key) else ():
            if seconds := harmful_settings.announcement_delay(leaf, value):
                found.setdefault(seconds, []).append((key, leaf))
    for seconds, places in found.items():
        who = join_words([key[1] for key, _ in places], 2)
        message = f"{statement.name}: {who} get new routes, and the end of old ones, after {seconds} s"
        path = session_path(*places[0])
        remedy = "Announce routes at once."
        yield finding_at(IDLE, statement.device, path, message, "late routes", Severity.WARNING, remedy)


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
    paths = [path for path in stated if harmful_settings.fixed_neighbor(path) in neighbors]
    if paths:
        who = harmful_settings.fixed_neighbor(paths[0])
        message = f"{statement.name}: the MAC address of the neighbor {who} is fixed: packets go to it alone"
        remedy = "Remove it, so that ARP finds the neighbor."
        yield finding_at(
            IDLE, statement.device, paths[0], message, "fixed neighbor", Severity.WARNING, remedy
        )


def _hidden_aggregates(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report aggregates with a community by which neighbors keep them to themselves."""
    if not any(each.tier in UPPER for each in statement.fars.values()):
        return
    for path, mark in harmful_settings.hiding_aggregates(statement.facts_below):
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


def _kept_families(values: Mapping[str, Value], spoken: object) -> str:
    """Return the families of a session whose routes keep their next hops."""
    stated = str(values["next_hop_unchanged"])
    return str(spoken) if stated in ("true", "all") else stated


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
        and _has_own_routes(_kept_families(values, sessions.stated[key].families))
    ]
    if keys:
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name}: routes to {who} keep the next hop of another link: they are not usable there"
        )
        remedy = "Let the switch name itself as next hop; only sessions with EVPN keep it."
        path = session_path(keys[0], "next_hop_unchanged")
        yield finding_at(IDLE, statement.device, path, message, "kept next hop", Severity.WARNING, remedy)


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


_ENTERING = path_pattern(r"(?:vrf[_]/)?bgp/(?:redistribute_\w+|redistribute[_])")


def _closed_redistribution(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report maps by which no route of another protocol enters BGP."""
    stated = {**statement.facts_below("bgp/redistribute"), **statement.facts_below("vrf[")}
    for path, value in stated.items():
        if _ENTERING.fullmatch(path) and (facts := denying_facts(statement, str(value))):
            message = f"{statement.name}: no route enters BGP by the map {value}, which permits none"
            remedy = "Permit the prefixes of the switch in the map, or remove the redistribution."
            yield finding_at(
                POINTLESS, statement.device, tuple(facts), message, "nothing enters", Severity.WARNING, remedy
            )


_LINKS = (29, 30)
"""Lengths of subnets of links with such addresses: Linux lets gateways of VLANs, in larger ones, have them."""


def _reserved_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with the first or the last address of a subnet, which stand for all of it (RFC 1122, 3.2.1.3)."""
    gateways = {
        f"Vlan{first_key(path)}": [str(value)]
        for path, value in statement.facts_below("evpn/segment[").items()
        if path.endswith("]/ipv4")
    }
    links = _LINKS if defaults.may_have_subnet_address(statement.device.system) else range(8, 31)
    for port, texts in (*statement.addresses.items(), *gateways.items()):
        for text in texts:
            net = None if ":" in text else parse_network(text)
            if net is None or net.prefixlen not in links:
                continue
            if text.partition("/")[0] in map(str, (net.network_address, net.broadcast_address)):
                message = (
                    f"{statement.name} {port}: {text} is the address of the subnet itself, or of all in it"
                )
                remedy = "Give the port another address of the subnet."
                paths = (f"{PORT}{port}]/ipv4", f"evpn/segment[{port.removeprefix('Vlan')}]/ipv4")
                yield finding_at(
                    IDLE, statement.device, paths, message, "reserved address", Severity.WARNING, remedy
                )


def parse_network(text: str) -> IPv4Network | IPv6Network | None:
    """Return the network of a text, None for a text that is none."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


RULES = (
    SwitchRule(IDLE, OTHER, (), _reserved_addresses),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _closed_redistribution),
    SwitchRule(IDLE, BGP, (Input.BGP, Input.LINKS), _harmful_sessions),
    SwitchRule(STILL, OTHER, (Input.LINKS,), _harmful_processes),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _families_off),
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _empty_maps),
    SwitchRule(IDLE, BGP, (Input.PFC,), _detours),
    SwitchRule(IDLE, BGP, (Input.BGP,), _fixed_neighbors),
    SwitchRule(POINTLESS, BGP, (Input.LINKS,), _hidden_aggregates),
    SwitchRule(IDLE, BGP, (Input.TIER, Input.LINKS), _kept_next_hops),
    SwitchRule(IDLE, BGP, (), _idle_switches),
    SwitchRule(IDLE, BGP, (Input.BGP,), _late_announcements),
)
