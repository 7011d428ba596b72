"""Find settings that lack a part without which they have no effect: AS numbers, routing on a port, ways to manage.

Ways to manage are a gateway in the subnet of the management port, and access lists that permit someone.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern, replace_keys, split_list_path
from fabricc.facts.statement import Statement, session_path
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.access import MISSING
from fabricc.rules.announcements import POINTLESS, connected_maps
from fabricc.rules.findings import finding_at, line_of
from fabricc.rules.forwarding import IDLE
from fabricc.rules.next_hops import NEXT_HOP
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import (
    ADDRESSES,
    BGP,
    INTERFACES,
    OTHER,
    POLICY,
    FabricRule,
    Input,
    Report,
    Switches,
    SwitchRule,
)
from fabricc.rules.sessions import sessions_to_switches
from fabricc.rules.summary import SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.sessions import Sessions

_PLACES = ("description", "families", "import", "export", "bfd")


def _missing_numbers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions without the AS number of the neighbor, where others have one, and BGP without an own number."""
    system = statement.device.system
    numbered = {key[0] for key, values in statement.sessions.items() if _has_number(system, values)}
    bare = [
        key
        for key, values in statement.sessions.items()
        if values.get("enabled") != "false" and not _has_number(system, values)
        if not key[0] or key[0] in numbered
    ]
    remedy = "State the AS number, or remove the session."
    if bare and (len(bare) < len(statement.sessions) or _lead_to_switches(statement, sessions, bare)):
        who = join_words([neighbor for _, neighbor in bare], 2)
        message = f"{statement.name}: the session with {who} has no AS number of the neighbor and is never up"
        paths = tuple(session_path(bare[0], leaf) for leaf in _PLACES)
        word = bare[0][1]
        yield finding_at(
            IDLE, statement.device, paths, message, "no remote AS", Severity.WARNING, remedy, word=word
        )
    alone = [
        key
        for key, session in sessions.stated.items()
        if not key[0]
        and session.enabled
        and session.asn is None
        and "bgp/confederation" not in statement.rest
    ]
    if alone and "bgp/asn" not in statement.rest and _lead_to_switches(statement, sessions, alone):
        who = join_words([neighbor for _, neighbor in alone], 2)
        message = f"{statement.name} has no AS number, so its sessions with {who} are never up"
        paths = ("bgp/router_id", session_path(alone[0], "remote_asn"), session_path(alone[0], "families"))
        yield finding_at(IDLE, statement.device, paths, message, "no AS", Severity.WARNING, remedy)


_GROUPS = "platform/bgp_group["


def _external_in_internal(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report internal groups where all neighbors have another AS number, so that no session comes up."""
    groups = {
        path: value for path, value in statement.facts_below(_GROUPS).items() if path.endswith("]/type")
    }
    own = statement.rest.get("bgp/asn")
    named = [values.get("remote_asn") for (vrf, _), values in statement.sessions.items() if not vrf]
    others = named and own is not None and all(each not in (None, own, "internal") for each in named)
    if others and set(groups.values()) == {"internal"}:
        path = next(iter(groups))
        name = first_key(path)
        message = f"{statement.name}: the group {name} is internal, and its neighbors have other AS numbers"
        remedy = "Make the group external, or state the own AS number for its neighbors."
        yield finding_at(IDLE, statement.device, path, message, "internal group", Severity.WARNING, remedy)


_STATED = frozenset({"remote_asn", "setting[remote-as]"})
"""A number, and another statement about it, such as `remote-as auto` of FRR."""


def _has_number(system: str, values: Mapping[str, Value]) -> bool:
    """Return whether a session states the AS number of the neighbor, or that it is the own one, or any other."""
    kind = values.get("remote_kind")
    return not _STATED.isdisjoint(values) or (
        kind is not None and (kind == "internal" or defaults.accepts_every_number(system))
    )


def _lead_to_switches(statement: Statement, sessions: Sessions, keys: list[tuple[str, str]]) -> bool:
    return any(
        (far := statement.fars.get(sessions.near.get(key, ""))) is not None and far.known for key in keys
    )


_ADDRESSES = ("ipv4", "ipv6", "unnumbered")


def _bridged_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with addresses that bridge, because nothing makes them routed ports."""
    system = statement.device.system
    stated = defaults.states_every_routed_port(system) and any(
        "routed" in values and any(leaf in values for leaf in _ADDRESSES)
        for values in statement.ports.values()
    )
    if not stated and not defaults.bridges_by_default(system, statement.device.model, statement.rest):
        return
    bridged = [
        port
        for port, values in statement.ports.items()
        if "routed" not in values
        and any(leaf in values for leaf in _ADDRESSES)
        and values.get("enabled") != "false"
        and (name := statement.parse_name(port)).kind in (PortKind.PORT, PortKind.BUNDLE)
        and not name.unit
        and "." not in port
    ]
    if bridged:
        message = (
            f"{statement.name} {join_words(bridged, 2)}: an address without effect, since the port bridges"
        )
        remedy = "Make it a routed port (`no switchport`), or remove the address."
        paths = [f"{PORT}{bridged[0]}]/{leaf}" for leaf in _ADDRESSES]
        yield finding_at(IDLE, statement.device, paths, message, "bridged", Severity.WARNING, remedy)


def _missing_parts(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report parts of split ports in use whose port is not split, or into fewer parts."""
    missing = [
        port
        for port, values in statement.ports.items()
        if any(leaf in values for leaf in _ADDRESSES)
        and (split := defaults.splitting_fact(statement.device.system, port)) is not None
        and (
            split[0] in statement.rest
            or defaults.states_splits(statement.device.system, statement.device.model, statement.rest)
        )
        and split[1] >= count_parts(statement.rest.get(split[0]))
    ]
    if missing:
        path, _place = defaults.splitting_fact(statement.device.system, missing[0]) or ("", 0)
        message = (
            f"{statement.name} {join_words(missing, 2)}: no such port, as its cage is not split into so many"
        )
        remedy = "Split the port into the parts that are configured."
        paths = [path, *(f"{PORT}{missing[0]}]/{leaf}" for leaf in _ADDRESSES)]
        same = {
            each: number
            for each, number in statement.rest.items()
            if replace_keys(each) == replace_keys(path)
        }
        if (
            path in same and len(same) > len(set(same.values())) == 1
        ):  # split as all others: the port is the odd one
            paths.insert(0, f"{PORT}{missing[0]}]/enabled")
        yield finding_at(IDLE, statement.device, paths, message, "no part", Severity.WARNING, remedy)


_NOT_SPLIT = ("disabled", "off", "none")
MANY_PARTS = 64
"""More parts than any port splits into."""


def count_parts(value: object) -> int:
    """Return the number of parts that a statement makes, `400g-2x`, `2x` or `2`; many for an unknown form."""
    if value in (None, *_NOT_SPLIT):
        return 0
    match = re.search(r"(\d+)x?$", str(value))
    return int(match[1]) if match else MANY_PARTS


_HOST_MASK = "/32"
_PHYSICAL = re.compile(r"[A-Za-z]+-?\d")
"""The beginning of the name of a port of a box; names of interfaces of software may be any."""
_LINK_STATE = ("ospf", "isis")
_FEW = 4
"""Ports with larger subnets, from which on a port without one is an error."""


def _alone_on_their_subnet(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports whose subnet has no room for a neighbor, and that borrow no other address of the switch."""
    single = [port for port, own in statement.addresses.items() if own[0].endswith(_HOST_MASK)]
    if not single or "loopback/ipv4" not in statement.rest:
        return
    if any(path.startswith(_LINK_STATE) for path in statement.rest):
        return
    texts = Counter(
        text for own in statement.addresses.values() for text in own if "." in text
    )  # a borrowed address is on several ports
    own = str(statement.rest["loopback/ipv4"]).partition("/")[0]
    alone = [
        port
        for port in single
        if (text := str((values := statement.ports.get(port, {})).get("ipv4", ""))).endswith(_HOST_MASK)
        and texts[text] == 1
        and text.partition("/")[0] != own
        and values.get("enabled") != "false"
        and not {"kind", "vrf"} & values.keys()
        and statement.parse_name(port).kind is PortKind.PORT
        and _PHYSICAL.match(port)
    ]
    wide = sum(not text.endswith(_HOST_MASK) for text in texts)
    if alone and wide >= _FEW and len(alone) < wide:
        message = (
            f"{statement.name} {join_words(alone, 2)}: a subnet of one address has no room for a neighbor"
        )
        remedy = "Give the port a subnet of two addresses, such as a /31."
        path = f"{PORT}{alone[0]}]/ipv4"
        yield finding_at(IDLE, statement.device, path, message, "no neighbor", Severity.WARNING, remedy)


_ADDRESS, _GATEWAY = "management/address", "management/gateway"
_SOURCES = ("management/source[", "management/ntp_source")
"""Statements that name the management port, without which it may be another one."""
_SMALL, _IPV4 = 30, 4
"""A subnet without room for more than one other device is hardly that of a management network."""
_SERVERS = {"management/ntp": "NTP server", "management/syslog": "log server"}


def _source_paths(path: str) -> tuple[str, str]:
    """Return the facts that name the source interface of a service."""
    return f"{path}_source", f"management/source[{path.rpartition('/')[2]}]"


def _lost_management(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a gateway in no subnet of the management port, and servers that nothing leads to.

    Servers are followed where management has a routing instance of its own, which no route of the fabric enters.
    """
    if statement.rest.get("management/enabled") == "false" and _ADDRESS in statement.rest:
        message, remedy = f"{statement.name}: the management port is shut", "Enable the management port."
        path = "management/enabled"
        yield finding_at(MISSING, statement.device, path, message, "shut port", Severity.WARNING, remedy)
    sources = any(statement.facts_below(each) for each in _SOURCES)
    for path, service in _SERVERS.items():
        source = next((each for each in _source_paths(path) if each in statement.rest), "")
        named = (defaults.server_of_fabric(text) for *_, text in statement.device.unknown)
        reported = path == "management/ntp" and not statement.rest.keys().isdisjoint(SERVICES)
        lost = path not in statement.rest and not any(found and found[0] == path for found in named)
        if source and lost and not reported:
            message = f"{statement.name} names a port for its {service}, and no {service}"
            remedy = f"Configure the {service}."
            yield finding_at(
                MISSING, statement.device, source, message, f"no {service}", Severity.WARNING, remedy
            )
    if (
        _ADDRESS not in statement.rest
        and _GATEWAY in statement.rest
        and (sources or _ADDRESS in statement.device.reading.lines)
    ):
        message = f"{statement.name}: management has a gateway, and its port has no address"
        remedy = "Set the address of the management port."
        yield finding_at(MISSING, statement.device, _GATEWAY, message, "no address", Severity.WARNING, remedy)
    try:
        subnet = ip_interface(str(statement.rest.get(_ADDRESS, ""))).network
    except ValueError:
        return
    gateway = statement.rest.get(_GATEWAY)
    if gateway is not None:
        try:
            address = ip_address(str(gateway))
            outside = address not in subnet or (subnet.num_addresses > _PAIR and address == subnet[0])
        except ValueError:
            return
        if (
            outside
            and ip_address(str(gateway)).version == subnet.version
            and subnet.prefixlen < subnet.max_prefixlen
        ):
            message = f"{statement.name}: the gateway of management {gateway} is no host of {subnet}"
            remedy = "Name a gateway in the subnet of the management port."
            small = subnet.prefixlen >= _SMALL and subnet.version == _IPV4
            paths = (_ADDRESS, _GATEWAY) if small else (_GATEWAY, _ADDRESS)
            yield finding_at(NEXT_HOP, statement.device, paths, message, "gateway", Severity.WARNING, remedy)
        return
    if statement.rest.get("management/isolated") != "true":
        return
    for path, service in _SERVERS.items():
        for text in re.split(r"[\s,]+", str(statement.rest.get(path, ""))):
            if _is_outside(text, subnet):
                message = f"{statement.name}: no route of management leads to the {service} {text}"
                remedy = "Configure a gateway for management."
                yield finding_at(
                    MISSING,
                    statement.device,
                    (*_misplaced_defaults(statement, subnet), _ADDRESS, path),
                    message,
                    "no gateway",
                    Severity.WARNING,
                    remedy,
                )
                return


def _misplaced_defaults(statement: Statement, subnet: object) -> list[str]:
    """Return the default routes of the fabric whose gateway is in the subnet of the management port."""
    found = {
        **statement.facts_below("static_route[0.0.0.0/0]"),
        **{path: via for path, via in statement.facts_below("vrf[").items() if "/static_route[" in path},
    }
    return [path for path, via in found.items() if "." in str(via) and not _is_outside(str(via), subnet)]


def _is_outside(text: str, subnet: object) -> bool:
    """Return whether an address is in no subnet of one family."""
    try:
        address = ip_address(text)
        network = ip_network(str(subnet))
    except ValueError:
        return False
    return address.version == network.version and address not in network


_PAIR = 2
_ACCESS = path_pattern("management/access(?:[_])?")


def _closed_access(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report services of management whose access list permits nobody, or is nowhere defined."""
    for path, value in statement.facts_below("management/access").items():
        if value == "" and _ACCESS.fullmatch(path):
            service = first_key(path) or "login"
            message = f"{statement.name}: the access list for {service} permits nobody, or is not defined"
            remedy = "Permit the networks of the administrators."
            device, group = statement.device, "closed access"
            opens = not line_of(device, path).startswith(" ")  # the list, whose rule is on a line below
            word = "deny" if opens else ""
            yield finding_at(MISSING, device, path, message, group, Severity.WARNING, remedy, word=word)
            return


_SSH = "management/ssh"


def _without_login(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that SSH is shut in the default VRF and enabled in no other one."""
    if statement.rest.get(f"{_SSH}[default]") == "off" and _SSH not in statement.rest:
        shut = [*statement.facts_below(f"{_SSH}[")]
        message = f"{statement.name} shuts SSH in every VRF, so nobody logs in with it"
        remedy = "Enable SSH in the VRF of the management port."
        yield finding_at(MISSING, statement.device, shut[::-1], message, "no login", Severity.WARNING, remedy)


def _strange_imports(fabric: Switches) -> Iterator[Report]:
    """Report imports from upper switches that permit prefixes of no other switch of the folder alone."""
    named = {
        parse_block(each)
        for mine in fabric.summaries.values()
        for _, _, texts in mine.accepts
        for each in texts
    }
    if fabric.planned or not named:
        return
    theirs: dict[str, set[Block]] = {}
    for name, summary in fabric.summaries.items():
        texts = (*summary.loopbacks, *summary.prefixes, *(prefix for prefix, _, _ in summary.routes))
        theirs[name] = {block for each in texts if (block := parse_block(each))}
        if mine := fabric.subnets().get(name):
            theirs[name] |= {each.block for each in mine.of(name)}
    for name, summary in fabric.summaries.items():
        for policy, path, texts in summary.accepts:
            blocks = [block for each in texts if (block := parse_block(each))]
            others = (block for other, found in theirs.items() if other != name for block in found)
            if any(fabric.owners(each.partition("/")[0]) for each in texts):
                continue
            if len(blocks) == len(texts) and not any(
                each.family == other.family and (each.covers(other) or other.covers(each))
                for other in others
                for each in blocks
            ):
                message = (
                    f"{name}: the import policy {policy} permits {texts[0]} alone, which no other switch has"
                )
                remedy = "Permit the prefixes of the fabric in the policy."
                yield Report(REFUSED, name, (path,), message, "strange import", Severity.WARNING, remedy)


def _unreached_clauses(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches that permit every route before their other clauses."""
    joined = sessions_to_switches(statement, sessions)
    used = {str(values.get(way)) for _, values in joined for way in ("import", "export")}
    used |= connected_maps(statement) if joined else set()
    maps: dict[str, list[tuple[int, str]]] = {}
    for path, value in statement.facts_below("route_map[").items():
        name, place = split_list_path(path, "route_map")
        if name in used and is_number(place):
            maps.setdefault(name, []).append((int(place), str(value)))
    for name, clauses in maps.items():
        ordered = sorted(clauses)
        for at, (number, text) in enumerate(ordered):
            last = next((after for after, other in ordered[at + 1 :] if other != "permit"), None)
            if text == "permit" and last is not None:
                message = f"{statement.name}: clause {name} {number} permits every route: clause {last} is not reached"
                remedy = "Remove the clause, or move it behind the others."
                path = f"route_map[{name}]/{number}"
                yield finding_at(
                    POINTLESS, statement.device, path, message, "unreached", Severity.WARNING, remedy
                )
                break


def _unbound_lists(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies that permit every route on a switch that requires policies and has a prefix list without use."""
    if statement.rest.get("bgp/requires_policy") != "true":
        return
    lists = {first_key(path) for path in statement.facts_below("prefix_list[")}
    joined = sessions_to_switches(statement, sessions) if lists else []
    imports = {str(stated.get(way)) for _, stated in joined for way in ("import", "export")}
    imports |= connected_maps(statement) if joined else set()
    clauses = statement.facts_below("route_map[") if imports else {}
    bare = {path: first_key(path) for path, value in clauses.items() if value == "permit"}
    if not imports.intersection(bare.values()):
        return
    values = [value for path, value in statement.rest.items() if path[0] != "p"]
    values += [value for says in statement.sessions.values() for value in says.values()]
    unused = sorted(lists.difference(*(str(value).replace(",", " ").split() for value in values)))
    for path in bare if unused else ():
        name, number = split_list_path(path, "route_map")
        if name in imports and is_number(number):
            message = f"{statement.name}: {name} permits every route, and nothing uses {unused[0]}"
            remedy = "Match the list in the clause, or remove the list."
            yield finding_at(
                POINTLESS, statement.device, path, message, "unbound list", Severity.WARNING, remedy
            )


RULES = (
    FabricRule(REFUSED, POLICY, (Input.TIER,), _strange_imports),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unreached_clauses),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unbound_lists),
    SwitchRule(IDLE, BGP, (Input.BGP,), _missing_numbers),
    SwitchRule(IDLE, BGP, (Input.BGP,), _external_in_internal),
    SwitchRule(IDLE, INTERFACES, (), _bridged_addresses),
    SwitchRule(IDLE, INTERFACES, (), _missing_parts),
    SwitchRule(IDLE, ADDRESSES, (), _alone_on_their_subnet),
    SwitchRule(NEXT_HOP, ADDRESSES, (), _lost_management),
    SwitchRule(MISSING, OTHER, (), _closed_access),
    SwitchRule(MISSING, OTHER, (), _without_login),
)
