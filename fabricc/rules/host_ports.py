"""Find ports that cannot work: in loopback, not forwarding, without an address, in an unused VRF or a missing VLAN."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, harmful_settings, qos_defaults
from fabricc.back.nos.lost_lines import NAMES_ADDRESS
from fabricc.back.nos.ports import PortKind, lists_every_port, misspelled_kind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern
from fabricc.facts.statement import Statement, Tier, scope_of
from fabricc.proof.invariants.view import as_int
from fabricc.rules.access import UNDEFINED
from fabricc.rules.classes import lossless_ports
from fabricc.rules.consensus import is_overwhelming
from fabricc.rules.findings import finding_at, line_in_block
from fabricc.rules.forwarding import IDLE
from fabricc.rules.incomplete import MANY_PARTS, count_parts
from fabricc.rules.rule import ADDRESSES, INTERFACES, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions


_ADDRESSES = ("ipv4", "ipv6", "unnumbered")
_SPARE = re.compile(r"\b(?:spare|unused|reserved?|free|future|unassigned|available)\b", re.IGNORECASE)
_BORROWED, _SHARED = ("address_from", "dhcp"), "gateway["
"""Facts of a port with the address of another interface, of a server, or of several switches."""
_BRIDGED = ("switchport", "access_vlan", "bundle", "kind")
_SEGMENT_PORT = "evpn/port["


def _lone_instances(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report routing instances of ports with PFC that have no link to a switch, no session and no route."""
    ports: dict[str, list[str]] = {}
    for port in lossless_ports(statement):
        if vrf := str(statement.of(port, "vrf") or ""):
            ports.setdefault(vrf, []).append(port)
    for vrf, mine in ports.items():
        others = [port for port in statement.ports if str(statement.of(port, "vrf") or "") == vrf]
        joined = any(
            (far := statement.fars.get(port)) is not None and far.known and far.tier is not Tier.HOST
            for port in others
        )
        stated = any(path.startswith((scope_of(vrf), f"evpn/vrf[{vrf}]")) for path in statement.rest)
        alone = not joined and not stated and not any(key[0] == vrf for key in sessions.stated)
        if alone and sessions.runs_bgp and len(others) == len(mine):
            message = (
                f"{statement.name} {join_words(mine, 2)}: in the VRF {vrf}, which has no session, no route and no "
                "link to a switch: hosts there reach no other switch"
            )
            remedy = "Remove the port from the VRF, or join the VRF to the fabric."
            path = f"{PORT}{mine[0]}]/vrf"
            yield finding_at(IDLE, statement.device, path, message, "lone VRF", Severity.WARNING, remedy)


def _bare_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report described ports with PFC that have no address and do not bridge, next to others that have one."""
    bare, used = _find_bare_ports(statement, lossless_ports(statement))
    if used and bare:
        yield _bare_finding(statement, bare, "PFC and a description")


def _lone_bare_ports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report the same of a system without PFC: one port among many, which leads to no known switch."""
    if qos_defaults.states_pfc(statement.device.system) or not sessions.runs_bgp:
        return
    named = {neighbor for _, neighbor in statement.sessions}
    inner = {port for port, far in statement.fars.items() if far.tier is not Tier.HOST}
    ports = [
        port
        for port, values in statement.ports.items()
        if values.get("description")
        and port not in named | inner
        and "." not in port
        and statement.parse_name(port).kind is PortKind.PORT
    ]
    bare, used = _find_bare_ports(statement, ports)
    if bare and is_overwhelming(used, used + len(bare)):
        yield _bare_finding(statement, bare, "a description")


def _find_bare_ports(statement: Statement, ports: Iterable[str]) -> tuple[list[str], int]:
    """Return the described ports in use without an address that do not bridge, and how many have an address.

    A port with a session of its name needs no address; ports that their descriptions call spare wait for a host.
    """
    device = statement.device
    bridges = defaults.bridges_by_default(device.system, device.model, statement.rest)
    named = {neighbor for _, neighbor in statement.sessions}
    bare, used = [], 0
    for port in ports:
        values = statement.ports[port]
        addressed = port in statement.addresses or port in named
        if addressed or any(statement.of(port, leaf) is not None for leaf in _ADDRESSES):
            used += 1
        elif (
            (description := values.get("description"))
            and not _SPARE.search(str(description))
            and values.get("enabled") != "false"
            and not (bridges and "routed" not in values)
            and not any(leaf in values for leaf in (*_BRIDGED, *_BORROWED))
            and not any(leaf.startswith(_SHARED) for leaf in values)
            and not any(each.startswith(f"{port}.") for each in statement.ports)
        ):
            bare.append(port)
    return bare, used


def _bare_finding(statement: Statement, bare: list[str], what: str) -> Finding:
    message = f"{statement.name} {join_words(bare, 2)}: {what}, but no address: it routes nothing"
    remedy = "Give the port its address, or shut it."
    paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("ipv4", "mtu", "description")]
    found = finding_at(IDLE, statement.device, paths, message, "no address", Severity.WARNING, remedy)
    return line_in_block(statement.device, found, NAMES_ADDRESS)


def _shut_hosts(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a ToR with sessions whose ports to hosts, routed or in a VLAN, are all shut."""
    if statement.place.tier is not Tier.TOR or not sessions.runs_bgp:
        return
    if not statement.once(_shut_hosts, lambda: _has_shut_ports(statement)):
        return
    ports = [*_ports_to_hosts(statement), *_bridged_ports(statement)]
    shut = [port for port in ports if statement.of(port, "enabled") == "false"]
    if len(shut) > 1 and len(shut) == len(ports):
        message = f"{statement.name} {join_words(shut, 2)}: all ports to hosts are shut"
        remedy = "Enable the ports, or remove the addresses and VLANs of those that wait for a host."
        path = f"{PORT}{shut[0]}]/enabled"
        yield finding_at(IDLE, statement.device, path, message, "shut hosts", Severity.WARNING, remedy)


def _has_shut_ports(statement: Statement) -> bool:
    ports = [*lossless_ports(statement), *(port for port in statement.ports if _is_bridged(statement, port))]
    return sum(statement.of(port, "enabled") == "false" for port in ports) > 1


_LONE = ("/32", "/128")


def _lone_addresses(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ports to hosts whose address has no subnet: the host at the other end is not in it."""
    lone = {
        port
        for port in lossless_ports(statement)
        if str(statement.ports[port].get("ipv4", "")).endswith(_LONE)
        and "unnumbered" not in statement.ports[port]
    }
    if not lone or not qos_defaults.states_pfc(statement.device.system):
        return
    named = {neighbor for _, neighbor in statement.sessions} | {*sessions.near.values()}
    if ports := [port for port in _ports_to_hosts(statement) if port in lone - named]:
        message = f"{statement.name} {join_words(ports, 2)}: the address has no subnet, so no host is reached"
        remedy = "Give the port the length of the subnet that it shares with the host."
        path = f"{PORT}{ports[0]}]/ipv4"
        yield finding_at(IDLE, statement.device, path, message, "lone address", Severity.WARNING, remedy)


def _ports_to_hosts(statement: Statement) -> list[str]:
    """Return the ports with PFC, an address and a description that lead to no known switch."""
    inner = {port for port, far in statement.fars.items() if far.tier is not Tier.HOST}
    return [
        port
        for port in lossless_ports(statement)
        if port not in inner
        and any(leaf in statement.ports[port] for leaf in ("ipv4", "ipv6"))
        and not _SPARE.search(str(statement.ports[port].get("description", "spare")))
    ]


def _bridged_ports(statement: Statement) -> list[str]:
    """Return the described ports in a VLAN that lead to no known switch."""
    inner = {port for port, far in statement.fars.items() if far.tier is not Tier.HOST}
    return [
        port
        for port, values in statement.ports.items()
        if _is_bridged(statement, port)
        and port not in inner
        and not _SPARE.search(str(values.get("description", "spare")))
    ]


def _is_bridged(statement: Statement, port: str) -> bool:
    return "access_vlan" in statement.ports[port] or f"{_SEGMENT_PORT}{port}]" in statement.rest


def _addressed_members(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report members of a bundle with an address of their own, which has no effect."""
    members = [
        port
        for port, values in statement.ports.items()
        if "bundle" in values and any(leaf in values for leaf in _ADDRESSES)
    ]
    if members:
        bundle = statement.ports[members[0]]["bundle"]
        message = f"{statement.name} {join_words(members, 2)}: in the bundle {bundle}, so the own address has no effect"
        remedy = "Remove the port from the bundle, or move the address to the bundle."
        path = f"{PORT}{members[0]}]/bundle"
        yield finding_at(IDLE, statement.device, path, message, "member address", Severity.WARNING, remedy)


def _addressed_bridges(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report members of a VLAN with an address of their own, which has no effect."""
    members = [
        port
        for port, values in statement.ports.items()
        if sessions.stated
        and "switchport" in values
        and not {"routed", "bundle"} & values.keys()
        and any(leaf in values for leaf in _ADDRESSES)
    ]
    if members:
        message = f"{statement.name} {join_words(members, 2)}: in a VLAN, so the own address has no effect"
        remedy = "Remove the port from the VLAN, or move the address to the VLAN's interface."
        paths = [f"{PORT}{members[0]}]/{leaf}" for leaf in _BRIDGED]
        yield finding_at(IDLE, statement.device, paths, message, "bridged address", Severity.WARNING, remedy)


def _bare_bundles(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report described members of a bundle that has neither an address nor a part that bridges."""
    if not sessions.runs_bgp:
        return  # an excerpt may leave the bundle out
    bundles: dict[tuple[str, str], list[str]] = {}
    for port, values in statement.ports.items():
        if "bundle" in values and values.get("description") and values.get("enabled") != "false":
            carrier = statement.carrier(port)
            bundles.setdefault((str(values["bundle"]), "" if carrier == port else carrier), []).append(port)
    for (name, carrier), members in bundles.items():
        parts = [each for each in statement.ports if carrier and each.partition(".")[0] == carrier]
        if not any(statement.ports[each].keys() - _EMPTY for each in parts):
            message = f"{statement.name} {join_words(members, 2)}: in {name}, which has no address and does not bridge"
            remedy = "Configure the bundle, or remove the ports from it."
            path = f"{PORT}{members[0]}]/bundle"
            yield finding_at(IDLE, statement.device, path, message, "bare bundle", Severity.WARNING, remedy)


_EMPTY = frozenset({"enabled", "description", "mtu", "kind", "physical_mtu", "bundle"})
"""Facts of a port that give it nothing to carry."""


_MOST_LANES, _FASTEST_LANE_GBPS = 8, 200
"""Of any cage and any lane that IEEE 802.3 defines (802.3dj)."""


def _narrow_parts(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report cages that are split into parts with more lanes than they have, or with too few for the speed."""
    found = statement.facts_below("breakout[")
    speeds: dict[str, int] = {}
    for port, values in statement.ports.items() if found else ():
        if (split := defaults.splitting_fact(statement.device.system, port)) is not None:
            speeds[split[0]] = max(speeds.get(split[0], 0), as_int(values.get("speed_gbps")) or 0)
    for path, value in found.items():
        lanes, parts = as_int(statement.rest.get(f"{path}/lanes")), count_parts(value)
        if not path.endswith("]") or not lanes or not 0 < parts < MANY_PARTS:
            continue
        cage = first_key(path)
        if parts * lanes > _MOST_LANES:
            what, at = f"{parts} parts of {lanes} lanes, a cage has at most {_MOST_LANES}", path
        elif (fastest := speeds.get(path, 0)) > lanes * _FASTEST_LANE_GBPS:
            what, at = f"{fastest} Gb/s over {lanes} lane: no lane is so fast", f"{path}/lanes"
        else:
            continue
        message, remedy = f"{statement.name} {cage}: {what}", "Correct the number of parts or of lanes."
        yield finding_at(IDLE, statement.device, at, message, "lanes", Severity.WARNING, remedy)


def _unstated_parts(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report cages that are split into more parts than the ports of each, on a switch that states unused ports too."""
    facts, system = statement.rest, statement.device.system
    if not lists_every_port(system):
        return
    stated: dict[str, int] = {}
    whole = False
    for port, values in statement.ports.items():
        if (split := defaults.splitting_fact(system, port)) is None:
            whole = whole or values.get("enabled") == "false"
        elif split[0] in facts:
            stated[split[0]] = max(stated.get(split[0], 0), split[1] + 1)
    if (
        whole
        and len(stated) > 1
        and all(last < count_parts(facts[path]) < MANY_PARTS for path, last in stated.items())
    ):
        path, last = next(iter(stated.items()))
        message = (
            f"{statement.name} {first_key(path)}: split into {count_parts(facts[path])} parts, of which the switch has "
            f"{last}, as in each cage that is split: each port has the speed of a narrower part"
        )
        remedy = "Split the cages into as many parts as they have cables, or state the other parts."
        yield finding_at(IDLE, statement.device, path, message, "unused parts", Severity.WARNING, remedy)


def _ports_without_forwarding(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with addresses that forward no packets."""
    found = {
        port: f"{PORT}{port}]/{leaf}"
        for port, values in statement.ports.items()
        if "ipv4" in values
        for leaf, value in values.items()
        if defaults.forwards_nothing(leaf, value)
    }
    if found:
        message = (
            f"{statement.name} {join_words([*found], 2)}: the port drops every packet that it should forward"
        )
        path, remedy = next(iter(found.values())), "Let the port forward IPv4."
        yield finding_at(IDLE, statement.device, path, message, "no forwarding", Severity.WARNING, remedy)


def _looped_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a link or an address that return their packets to themselves."""
    found = {
        port: leaf
        for port, values in statement.ports.items()
        for leaf, value in values.items()
        if harmful_settings.is_looped(leaf, value) and (port in statement.fars or port in statement.addresses)
    }
    if found:
        message = f"{statement.name} {join_words([*found], 2)}: in loopback, so nothing leaves by it"
        path = next(f"{PORT}{port}]/{leaf}" for port, leaf in found.items())
        remedy = "Remove the loopback, which is for tests."
        yield finding_at(IDLE, statement.device, path, message, "port in loopback", Severity.WARNING, remedy)


_LOOPBACK_VRF = "interface[lo]/vrf"
_LOOPBACKS = ("lo", "lo0", "loopback0")


def _lost_loopback(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a loopback in a VRF that has neither a link to another switch nor a session."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier is not Tier.HOST]
    if not links and not sessions.stated:
        return
    stated = {port: statement.of(port, "vrf") for port in statement.ports if port.lower() in _LOOPBACKS}
    if (vrf := statement.rest.get(_LOOPBACK_VRF)) is not None:
        stated["lo"] = vrf
    for port, vrf in stated.items():
        if (
            vrf
            and all(statement.of(link, "vrf") != vrf for link in links)
            and not any(key[0] == vrf for key in sessions.stated)
        ):
            message = f"{statement.name} {port}: in the VRF {vrf}, which has no link to another switch and no session"
            remedy, path = "Leave the loopback in the VRF of the links.", f"{PORT}{port}]/vrf"
            yield finding_at(IDLE, statement.device, path, message, "loopback", Severity.WARNING, remedy)


_NAMES = re.compile(r"\w[^\s,\[\]()]*")
_VLAN = path_pattern("(?:vrf[_]/)?(?:vlan|evpn/segment|vxlan/vlan)[#](?:/.*)?")
_SVI = re.compile(r"Vlan(\d+)")
_NUMBERS = re.compile(r"[\d-]+")
_PRESENT = 1
"""The VLAN that every switch has."""


def _undefined_vlans(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports in VLANs that a switch with VLANs does not have: their frames are dropped."""
    names = {
        str(value)
        for path, value in statement.rest.items()
        if path.endswith("/name") and _VLAN.fullmatch(path)
    }
    for port, values in statement.ports.items() if names else ():
        unknown = [
            each for each in _NAMES.findall(str(values.get("vlans", ""))) if not _NUMBERS.fullmatch(each)
        ]
        if missing := [each for each in unknown if each not in names and each not in ("all", "none")]:
            message = f"{statement.name} {port}: in VLAN {missing[0]}, which the switch does not have"
            path = f"interface[{port}]/vlans"
            remedy = "Create the VLAN, or name the one that is meant."
            yield finding_at(
                UNDEFINED, statement.device, path, message, "undefined VLAN", Severity.WARNING, remedy
            )
    defined = {
        int(match[1]) for path in statement.rest if path[0] in "ev" and (match := _VLAN.fullmatch(path))
    }
    ports: dict[int, list[str]] = {}
    for port, values in statement.ports.items() if defined else ():
        vlan = values.get("access_vlan")
        if (
            defaults.lists_vlans(statement.device.system)
            and "ipv4" in values
            and (svi := _SVI.fullmatch(port))
        ):
            vlan = int(svi[1])
        if (
            isinstance(vlan, int)
            and vlan not in defined
            and vlan != _PRESENT
            and values.get("enabled") != "false"
        ):
            ports.setdefault(vlan, []).append(port)
    for vlan, found in ports.items():
        message = f"{statement.name} {join_words(found, 2)}: in VLAN {vlan}, which the switch does not have"
        paths = (f"interface[{found[0]}]/access_vlan", f"interface[{found[0]}]/ipv4")
        remedy = "Create the VLAN, or name the one that is meant."
        yield finding_at(
            UNDEFINED, statement.device, paths, message, "undefined VLAN", Severity.WARNING, remedy
        )


def _misspelled_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a name that no port has and that is nearly one: the system refuses their lines."""
    for port in statement.ports:
        if kind := misspelled_kind(statement.device.system, port):
            message = f"{statement.name}: no port is called {port}, so its lines have no effect"
            paths = [f"{PORT}{port}]/{leaf}" for leaf in ("enabled", *_ADDRESSES)]
            remedy = f"Write `{kind}`."
            yield finding_at(
                IDLE, statement.device, paths, message, "misspelled port", Severity.WARNING, remedy
            )


RULES = (
    SwitchRule(IDLE, INTERFACES, (), _misspelled_ports, shared=True),
    SwitchRule(UNDEFINED, INTERFACES, (), _undefined_vlans),
    SwitchRule(IDLE, INTERFACES, (Input.PFC,), _lone_instances),
    SwitchRule(IDLE, INTERFACES, (Input.PFC,), _bare_ports),
    SwitchRule(IDLE, INTERFACES, (), _lone_bare_ports),
    SwitchRule(IDLE, INTERFACES, (Input.PFC, Input.TIER), _shut_hosts),
    SwitchRule(IDLE, INTERFACES, (Input.PFC,), _lone_addresses),
    SwitchRule(IDLE, INTERFACES, (), _addressed_members),
    SwitchRule(IDLE, INTERFACES, (Input.BGP,), _addressed_bridges),
    SwitchRule(IDLE, INTERFACES, (Input.LINKS,), _bare_bundles),
    SwitchRule(IDLE, INTERFACES, (), _narrow_parts),
    SwitchRule(IDLE, INTERFACES, (), _unstated_parts),
    SwitchRule(IDLE, INTERFACES, (), _ports_without_forwarding, shared=True),
    SwitchRule(IDLE, INTERFACES, (Input.LINKS,), _looped_ports, shared=True),
    SwitchRule(IDLE, ADDRESSES, (), _lost_loopback),
)
