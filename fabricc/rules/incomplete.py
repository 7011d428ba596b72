"""Find settings that lack a part without which they have no effect: AS numbers, routing on a port, parts of a cage."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults
from fabricc.back.nos.lost_lines import NAMES_AS
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, replace_keys
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.findings import finding_at, line_in_block
from fabricc.rules.forwarding import IDLE
from fabricc.rules.rule import (
    ADDRESSES,
    BGP,
    INTERFACES,
    POLICY,
    FabricRule,
    Input,
    Report,
    Switches,
    SwitchRule,
)
from fabricc.rules.sessions import sessions_to_switches
from fabricc.rules.static_routes import DROPS, STATIC, find_origins

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
    over_ports = (
        {key for key, _ in sessions_to_switches(statement, sessions)} if not statement.fars else set()
    )
    if bare and (
        len(bare) < len(statement.sessions)
        or _lead_to_switches(statement, sessions, bare)
        or not over_ports.isdisjoint(bare)
    ):
        who = join_words([neighbor for _, neighbor in bare], 2)
        message = f"{statement.name}: the session with {who} has no AS number of the neighbor and is never up"
        paths = tuple(session_path(bare[0], leaf) for leaf in _PLACES)
        word = bare[0][1]
        found = finding_at(
            IDLE, statement.device, paths, message, "no remote AS", Severity.WARNING, remedy, word=word
        )
        yield line_in_block(statement.device, found, NAMES_AS, word)
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
    device = statement.device
    if not stated and not defaults.bridges_by_default(system, device.model, statement.rest, device.release):
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
        paths = [f"{PORT}{bridged[0]}]/{leaf}" for leaf in (defaults.BRIDGED, *_ADDRESSES)]
        yield finding_at(IDLE, statement.device, paths, message, "bridged", Severity.WARNING, remedy)


_LEAST = re.compile(r"min(?:imum)?[-_]links")


def _small_bundles(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report bundles that are up with more members than they have."""
    if not any(map(_LEAST.search, statement.port_leaves)):
        return
    ports = statement.ports.values()
    members = Counter(statement.parse_name(str(each["bundle"])).port for each in ports if "bundle" in each)
    for port, values in statement.ports.items():
        has = members[statement.parse_name(port).port]
        leaf = next((each for each in values if _LEAST.search(each)), "")
        if leaf and is_number(str(values[leaf])) and 0 < has < int(str(values[leaf])):
            message = f"{statement.name} {port}: needs {values[leaf]} members and has {has}: it stays down"
            remedy = "Require no more members than the bundle has."
            path = f"{PORT}{port}]/{leaf}"
            yield finding_at(IDLE, statement.device, path, message, "small bundle", Severity.WARNING, remedy)


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


def _foreign_networks(fabric: Switches) -> Iterator[Report]:
    """Report networks that a ToR announces without a subnet or a route in them, while another ToR has some."""
    if not any(len(owners) > 1 for owners in find_origins(fabric).values()):
        return
    subnets = fabric.subnets()
    for block, owners in find_origins(fabric).items():
        having = {
            name
            for name in owners
            if name in subnets and any(block.covers(each.block) for each in subnets[name].of(name))
        }
        for name in sorted(owners - having) if having else ():
            routes = fabric.summaries[name].routes
            served = any(
                (own := parse_block(prefix)) and block.covers(own) and via not in DROPS
                for prefix, via, _ in routes
            )
            if fabric.summaries[name].tier is Tier.TOR and name in subnets and not served:
                message = (
                    f"{name} announces {block}, whose subnets are at {min(having)}: it takes their traffic"
                )
                remedy = "Remove the announcement."
                paths = (f"bgp/network[{block}]", f"bgp/aggregate[{block}]")
                yield Report(STATIC, name, paths, message, "foreign network", Severity.WARNING, remedy)


def _wide_aggregates(fabric: Switches) -> Iterator[Report]:
    """Report prefixes that a ToR announces for its hosts and in which other ToRs have hosts.

    A ToR that announces a smaller prefix for its hosts may have the larger one for receivers outside; ToRs with a link
    to each other, or with one subnet, may share a prefix.
    """
    around: dict[tuple[int, int], dict[int, set[str]]] = {}
    for origin, names in find_origins(fabric).items():
        around.setdefault((origin.family, origin.length), {}).setdefault(origin.first, set()).update(names)
    mine = {
        name: [block for text in each.attached.prefixes if (block := parse_block(text))]
        for name, each in fabric.summaries.items()
        if each.tier is Tier.TOR and each.attached is not None
    }
    found: dict[tuple[str, Block], str] = {}
    for other, hosts in mine.items():
        for host in hosts:
            for (family, length), blocks in around.items():
                if family == host.family and length < host.length:
                    whole = host.shorten(length)
                    for name in blocks.get(whole.first, set()) - {other}:
                        found.setdefault((name, whole), other)
    for (name, whole), other in sorted(found.items()):
        own = [each for each in mine.get(name, ()) if whole.covers(each)]
        smaller = [
            each for text in fabric.summaries[name].prefixes if (each := parse_block(text)) and each != whole
        ]
        if not own or any(each.covers(host) for each in smaller for host in own):
            continue
        if other in fabric.linked(name) or not set(own).isdisjoint(mine[other]):
            continue
        message = (
            f"{name} announces {whole} for its hosts, and hosts of {other} are in it: it takes their traffic"
        )
        remedy = "Announce the prefix of the own hosts alone."
        paths = (f"bgp/aggregate[{whole}]", f"bgp/network[{whole}]")
        yield Report(STATIC, name, paths, message, "wide aggregate", Severity.WARNING, remedy)


RULES = (
    FabricRule(STATIC, POLICY, (Input.TIER,), _foreign_networks),
    FabricRule(STATIC, POLICY, (Input.TIER,), _wide_aggregates),
    SwitchRule(IDLE, BGP, (Input.BGP,), _missing_numbers),
    SwitchRule(IDLE, BGP, (Input.BGP,), _external_in_internal),
    SwitchRule(IDLE, INTERFACES, (), _bridged_addresses),
    SwitchRule(IDLE, INTERFACES, (), _missing_parts),
    SwitchRule(IDLE, INTERFACES, (), _small_bundles),
    SwitchRule(IDLE, ADDRESSES, (), _alone_on_their_subnet),
)
