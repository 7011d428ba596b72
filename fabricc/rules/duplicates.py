"""Find addresses, identifiers, AS numbers, VNIs and lanes that several devices or parts have, and lone ends."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos import evpn_defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import whole_number
from fabricc.base.values import dataclass
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern, split_list_path
from fabricc.facts.statement import Device, Kind, Statement, Tier
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.findings import finding_at
from fabricc.rules.links import ADDRESSES as DIFFERENT
from fabricc.rules.overlaps import OVERLAP
from fabricc.rules.rule import ADDRESSES, INTERFACES, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.segments import INSTANCE, SEGMENT, VNI, VRF_VNI, joined_switches
from fabricc.rules.sessions import Sessions, opposite_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fabricc.proof.compare import Finding


TWICE = "FAB9604"
_DISTINGUISHER = path_pattern(f"{INSTANCE}evpn/(?:segment|vni|vrf)[_]/distinguisher|vrf[_]/distinguisher")
_LOCAL = ("fe80:", "169.254.")
_HOST = ("127.", "::1/")
"""Addresses of the host itself, which every device has."""
_ALONE = ("32", "128")
_ROUTER_ID = "bgp/router_id"
_WORDS = {
    "loopback/ipv4": "loopback", "loopback/ipv6": "loopback", "management/address": "management address",
}  # fmt: skip
_IDENTITIES = (_ROUTER_ID, *_WORDS)
_LINK_STATE = {
    "OSPF": ("router identifier of OSPF", path_pattern("ospf[_]/router_id")),
    "IS-IS": ("system identifier of IS-IS", path_pattern("isis[_]/net")),
    "SRv6": ("prefix of its locator", path_pattern("srv6/locator[_]/prefix")),
}
"""Protocol -> what it names switches by, and the fact of its first process in the default routing instance."""


@dataclass(slots=True)
class UniqueValues:
    """Values of a device that no other device may have.

    Attributes:
        addresses: a line for each: routing instance and address; `paths`: of each.
        identities: path -> value.
        pair: whether another switch may have the same VTEP, gateway and AS number.
        management: where the facts of its management port begin, if that has the address.
        link_state: protocol -> path and value of its identifier.
    """

    tier: Tier
    pair: bool
    asn: int | None = None
    addresses: str = ""
    paths: tuple[str, ...] = ()
    identities: dict[str, str] = field(default_factory=dict)
    management: str = ""
    link_state: dict[str, tuple[str, str]] = field(default_factory=dict)


def unique_values_of(statement: Statement) -> UniqueValues:
    """Return what a device has; addresses that switches share by design left out."""
    facts = statement.rest
    pair = bool(statement.facts_below("mlag/"))
    asn = facts.get("bgp/asn")
    owned = UniqueValues(statement.place.tier, pair, asn if isinstance(asn, int) else None)
    shared = {str(facts.get(path, "")) for path in ("vxlan/source", "vxlan/source_mlag", "evpn/source")} - {
        ""
    }
    addresses: dict[str, str] = {}
    for port, texts in statement.addresses.items():
        values = statement.ports[port]
        if port in shared or port == facts.get("mlag/local") or values.get("enabled") == "false":
            continue
        vrf = str(values.get("vrf", ""))
        kind = statement.parse_name(statement.parse_name(port).port).kind
        segment = f"evpn/segment[{port.removeprefix('Vlan')}]/"
        tunneled = evpn_defaults.states_segments(statement.device.system) and f"{segment}vni" in facts
        vrf = str(facts.get(f"{segment}vrf", "")) if tunneled else vrf
        bridged = "kind" in values or (kind is PortKind.VIRTUAL and not tunneled)
        gateways = {first_key(leaf).partition("/")[0] for leaf in values if leaf.startswith(_VIRTUAL)}
        for text in () if bridged and not gateways else texts:
            address, _, length = text.partition("/")
            if bridged and address in gateways:
                continue  # the same on all switches
            if length in _ALONE and statement.device.kind is Kind.SWITCH:
                continue  # a loopback: several may have one, for VTEPs, rendezvous points and services
            if address in shared or text.lower().startswith(_LOCAL + _HOST):
                continue
            if kind is PortKind.MANAGEMENT:
                owned.identities.setdefault("management/address", address)
                owned.management = f"{PORT}{port}]/"
                continue
            leaf = next((leaf for leaf in ("ipv4", "ipv6") if values.get(leaf) == text), f"secondary[{text}]")
            addresses[f"{vrf} {address}"] = f"{PORT}{port}]/{leaf}"
    owned.addresses, owned.paths = "\n".join(addresses), tuple(addresses.values())
    for path in _IDENTITIES:
        if (value := facts.get(path)) is not None and not str(value).startswith(_LOCAL + _HOST):
            owned.identities[path] = str(value).partition("/")[0]
    for protocol, (_, pattern) in _LINK_STATE.items():
        for start in ("ospf[", "isis[", "srv6/locator["):
            for path, value in statement.facts_below(start).items():
                if pattern.fullmatch(path) and statement.device.kind is Kind.SWITCH:
                    text = str(value)
                    owned.link_state.setdefault(
                        protocol, (path, _system_id(text) if start == "isis[" else text)
                    )
    return owned


_VIRTUAL = "gateway["
"""Begins the leaves of addresses that several switches have besides one of their own."""


def _system_id(title: str) -> str:
    """Return the identifier of the system within a network entity title."""
    digits = title.replace(".", "")
    return ".".join(re.findall("....", digits[-14:-2])) or title


def _strange_loopbacks(fabric: Switches) -> Iterator[Report]:
    """Report loopbacks that differ from the router identifier and from the loopbacks around, where both are one."""
    if fabric.planned:
        return
    same, others = dict[str, str](), dict[str, str]()
    for name, summary in fabric.summaries.items():
        own = [text.partition("/")[0] for text in summary.loopbacks if "." in text]
        if summary.router_id and own:
            (same if summary.router_id in own else others)[name] = own[0]
    if len(same) < _SEVERAL or len(others) > len(same) // 2:
        return
    for name, loopback in others.items():
        identifier, known = fabric.summaries[name].router_id, same.values()
        near = any(each in same for each in fabric.linked(name))
        if near and _likeness(loopback, known) < _likeness(identifier, known):
            message = (
                f"{name} has the loopback {loopback} and the router identifier {identifier}, which are the same on "
                f"{len(same)} other switches"
            )
            remedy = "Give both one address."
            yield Report(
                TWICE, name, ("loopback/ipv4",), message, "strange loopback", Severity.WARNING, remedy
            )


_SEVERAL = 3


def _likeness(address: str, others: Collection[str]) -> int:
    """Return how many first numbers of an address are those of most other ones."""
    first = Counter(other.rpartition(".")[0] for other in others).most_common(1)[0][0].split(".")
    return next(
        (at for at, (a, b) in enumerate(zip(address.split("."), first, strict=False)) if a != b), len(first)
    )


def report_repeated(
    owned: Mapping[str, UniqueValues], devices: Mapping[str, Device], groups: Mapping[str, str]
) -> Iterator[Finding]:
    """Report a value that several devices have, at each; a note between two `groups` without a known link."""
    seen: set[str] = set()
    twice: set[str] = set()
    for has in owned.values():
        mine = has.addresses.split("\n") if has.addresses else ()
        twice.update(seen.intersection(mine))
        seen.update(mine)
    first: dict[str, tuple[str, str]] = {}
    copied = _copied_links(owned, twice) if twice else set[str]()
    for name, has in sorted(owned.items()) if twice else ():
        for key, path in zip(has.addresses.split("\n"), has.paths, strict=False):
            other, there = first.setdefault(key, (name, path)) if key in twice else (name, "")
            if other != name:
                severity = Severity.ERROR if groups[name] == groups[other] else Severity.NOTE
                severity = Severity.WARNING if key in copied and severity is Severity.ERROR else severity
                for (one, at), (two, its) in (((name, path), (other, there)), ((other, there), (name, path))):
                    message = (
                        f"{one} {_place_words(at)} has {key.rpartition(' ')[2]}, which is also that of {two} "
                        f"{_place_words(its)}"
                    )
                    yield finding_at(TWICE, devices[one], at, message, "address twice", severity, _REMEDY)
    for path, words in _WORDS.items():
        yield from _report_identities(owned, devices, groups, path, words)
    yield from _report_numbers(owned, devices)
    for protocol in _LINK_STATE:
        yield from _report_link_state(owned, devices, groups, protocol)


def _report_link_state(
    owned: Mapping[str, UniqueValues], devices: Mapping[str, Device], groups: Mapping[str, str], protocol: str
) -> Iterator[Finding]:
    """Report an identifier of several switches that links join: their databases overwrite each other."""
    words = _LINK_STATE[protocol][0]
    holders: dict[tuple[str, str], list[str]] = {}
    for name, has in sorted(owned.items()):
        if protocol in has.link_state:
            holders.setdefault((groups[name], has.link_state[protocol][1]), []).append(name)
    for (_, value), names in holders.items():
        for name in names if len(names) > 1 else ():
            others = [each for each in names if each != name]
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            message = f"{name} has the {words} {value}, which is also that of {others[0]}{more}"
            path, group = owned[name].link_state[protocol][0], f"{words} twice"
            yield finding_at(TWICE, devices[name], path, message, group, Severity.WARNING, _REMEDY)


def _copied_links(owned: Mapping[str, UniqueValues], twice: Collection[str]) -> set[str]:
    """Return the addresses of links that two other switches have too, at both ends: parts of one pool, used twice.

    These are no fault where the switches do not announce the subnets of their links.
    """
    holders: dict[str, set[str]] = {}
    for name, has in owned.items():
        for key in has.addresses.split("\n"):
            if key in twice:
                holders.setdefault(key, set()).add(name)
    found = set()
    for key, names in holders.items():
        vrf, _, address = key.rpartition(" ")
        others = holders.get(f"{vrf} {opposite_address(address)}", set())
        if others and names.isdisjoint(others):
            found.add(key)
    return found


_REMEDY = "Give each its own."


def _place_words(path: str) -> str:
    return split_list_path(path, "interface")[0]


def _report_identities(
    owned: Mapping[str, UniqueValues],
    devices: Mapping[str, Device],
    groups: Mapping[str, str],
    path: str,
    words: str,
) -> Iterator[Finding]:
    holders: dict[str, list[str]] = {}
    for name, has in sorted(owned.items()):
        if value := has.identities.get(path):
            holders.setdefault(value, []).append(name)
    for value, names in holders.items():
        for name in names if len(names) > 1 else ():
            near = [each for each in names if each != name and groups[each] == groups[name]]
            others = near or [each for each in names if each != name]
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            message = f"{name} has the {words} {value}, which is also that of {others[0]}{more}"
            severity = _severity_of(owned[name], owned[others[0]], path) if near else Severity.NOTE
            paths = (path, f"{owned[name].management}ipv4")
            yield finding_at(TWICE, devices[name], paths, message, f"{words} twice", severity, _REMEDY)


def _severity_of(one: UniqueValues, other: UniqueValues, path: str) -> Severity:
    """Return the severity: a loopback may be one of several."""
    same = one.identities.get(_ROUTER_ID) == other.identities.get(_ROUTER_ID)
    return Severity.ERROR if path.startswith("loopback/") and same else Severity.WARNING


def _report_numbers(owned: Mapping[str, UniqueValues], devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report an AS number of two ToRs if nine of ten have their own: each drops the other's routes."""
    tors = {
        n: has.asn for n, has in sorted(owned.items()) if has.tier is Tier.TOR and has.asn and not has.pair
    }
    counts = Counter(tors.values())
    alone = sum(1 for times in counts.values() if times == 1)
    if len(tors) < 4 or alone * 5 < len(tors) * 4:
        return
    remedy = "Assign a separate AS number to each ToR."
    for name, message in repeated_numbers(tors):
        yield finding_at(TWICE, devices[name], "bgp/asn", message, "AS twice", remedy=remedy)


def repeated_numbers(tors: Mapping[str, int], above: Collection[int] = ()) -> Iterator[tuple[str, str]]:
    """Yield ToRs whose AS number another one or a switch above them has, and the message."""
    holders: dict[int, list[str]] = {}
    for name, asn in tors.items():
        holders.setdefault(asn, []).append(name)
    for name, asn in tors.items():
        others = (each for each in holders[asn] if each != name)
        other = "a switch above it" if asn in above else next(others, "")
        if other:
            yield name, f"{name} has AS {asn}, which is also that of {other}: each drops the other's routes"


def _repeated_router_ids(fabric: Switches) -> Iterator[Report]:
    """Report a router identifier of several switches; it must differ within an AS (RFC 6286).

    Without links that join the two switches it is a note: they may be of different fabrics.
    """
    holders: dict[str, list[str]] = {}
    for name, summary in sorted(fabric.summaries.items()):
        if summary.router_id:
            holders.setdefault(summary.router_id, []).append(name)
    for value, names in holders.items():
        for name in names if len(names) > 1 else ():
            joined = set(names) if fabric.planned else fabric.reachable({name})
            near = [each for each in names if each != name and each in joined]
            others = near or [each for each in names if each != name]
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            message = f"{name} has the router identifier {value}, which is also that of {others[0]}{more}"
            same = any(fabric.summaries[name].asn == fabric.summaries[each].asn for each in near)
            severity = Severity.ERROR if same else Severity.WARNING if near else Severity.NOTE
            yield Report(
                TWICE, name, (_ROUTER_ID, "bgp/asn"), message, "router identifier twice", severity, _REMEDY
            )


def distinguishers(statement: Statement) -> tuple[tuple[str, str], ...]:
    """Return the route distinguishers of a switch, and the paths that state them.

    Those of a switch that exchanges no routes of VPNs mean nothing to others.
    """
    if not _exchanges_vpns(statement):
        return ()
    return tuple(
        (str(value), path)
        for path, value in statement.rest.items()
        if path.endswith("/distinguisher") and ":" in str(value) and _DISTINGUISHER.fullmatch(path)
    )


def _exchanges_vpns(statement: Statement) -> bool:
    """Return whether a session has EVPN or a family of VPNs, or a VLAN or VRF a VNI."""
    if any("vpn" in str(values.get("families", "")) for values in statement.sessions.values()):
        return True
    families = any("vpn" in path for path in statement.facts_below("bgp/family["))
    return (
        families
        or bool(statement.facts_below("evpn/neighbor["))
        or any(path.endswith("]/vni") for path in statement.rest)
    )


def _repeated_vnis(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report two VLANs or two VRFs with one VNI."""
    for pattern, kind in ((VNI, "VLAN"), (VRF_VNI, "VRF")):
        first: dict[object, str] = {}
        for path, value in statement.rest.items():
            match = pattern.fullmatch(path) if path[0] in "ev" else None
            if match and (other := first.setdefault(value, match[1])) != match[1]:
                message = f"{statement.name} has VNI {value} for {kind} {match[1]} and {kind} {other}: one is cut off"
                remedy = f"Give each {kind} a VNI of its own."
                paths = (path, *(each for each in statement.rest if each.endswith(f"[{other}]/vni")))
                yield finding_at(
                    SEGMENT, statement.device, paths, message, "VNI twice", Severity.WARNING, remedy
                )
                yield finding_at(
                    SEGMENT, statement.device, paths[1:], message, "VNI twice", Severity.WARNING, remedy
                )


_OF_PAIR = 2
"""Switches of an MLAG pair, which may share a route distinguisher."""


def _are_one_pair(fabric: Switches, names: Sequence[str]) -> bool:
    """Return whether two switches are each other's MLAG peer, or have one domain where no address names the peer."""
    pairs = [fabric.summaries[each].pair for each in names]
    if len(names) != _OF_PAIR or not pairs[0] or not pairs[1]:
        return False
    owners = [*fabric.owners(pairs[0].peer)]
    return (
        names[1] in owners if owners else (pairs[0].domain, pairs[0].mac) == (pairs[1].domain, pairs[1].mac)
    )


def _repeated_distinguishers(fabric: Switches) -> Iterator[Report]:
    """Report a route distinguisher of two switches: of two routes that differ in nothing else, one is passed on."""
    holders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, summary in sorted(fabric.summaries.items()):
        for value, path in summary.distinguishers:
            holders[value].setdefault(name, path)
    known: dict[str, frozenset[str]] = {}
    for value, by_switch in sorted(holders.items()):
        for names in joined_switches(fabric, by_switch, known) if len(by_switch) > 1 else ():
            for name in names if len(names) > 1 and not _are_one_pair(fabric, names) else ():
                other = next(each for each in names if each != name)
                message = f"{name} has the route distinguisher {value}, which {other} has too: routes of one are lost"
                remedy = "Give each switch route distinguishers of its own, for example with its loopback."
                yield Report(
                    SEGMENT,
                    name,
                    (by_switch[name],),
                    message,
                    "distinguisher twice",
                    Severity.WARNING,
                    remedy,
                )


SHARED = "FAB9061"
_NUMBERS = re.compile(r"\d{1,9}")


def _shared_lanes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report each port with a lane of another port: of the two, the port whose lanes do not fit its neighbors."""
    owners: dict[str, str] = {}
    lanes = {
        port: stated.replace(" ", "").split(",")
        for port, values in statement.ports.items()
        if isinstance(stated := values.get("lanes"), str)  # a count does not identify the lanes
    }
    order = sorted(lanes, key=lambda port: [*map(int, _NUMBERS.findall(port))])
    beside = {
        port: (before, after)
        for before, port, after in zip(["", *order], order, [*order[1:], ""], strict=False)
    }

    def fits(port: str) -> tuple[bool, bool]:
        """Return whether the lanes of a port are consecutive, and whether they continue those of a neighbor."""
        numbers = [whole_number(each) or 0 for each in lanes[port]]
        before, after = (lanes.get(each, [""]) for each in beside[port])
        continued = whole_number(before[-1]) == numbers[0] - 1 or whole_number(after[0]) == numbers[-1] + 1
        return numbers == [*range(numbers[0], numbers[0] + len(numbers))], continued

    for port, mine in lanes.items():
        for lane in mine:
            owner = owners.setdefault(lane, port)
            if owner != port:
                is_first = lanes[owner] == mine or not fits(owner)[0]
                odd = owner if is_first and fits(port) > fits(owner) else port
                other = port if odd == owner else owner
                message = f"{odd} of {statement.name} has lane {lane}, which {other} has too"
                remedy = "Remove the port that was not configured, often a stock port."
                path = f"{PORT}{odd}]/lanes"
                yield finding_at(SHARED, statement.device, path, message, "shared lane", remedy=remedy)
                break


def _wide_loopbacks(fabric: Switches) -> Iterator[Report]:
    """Report loopbacks with a subnet in which other switches have their loopbacks or router identifiers."""
    wide = [
        (name, text, own)
        for name, summary in fabric.summaries.items()
        for text in summary.loopbacks
        if (own := parse_block(text)) and own.length < own.bits
    ]
    others = [
        (name, block)
        for name, summary in (fabric.summaries.items() if wide else ())
        for text in (summary.router_id, *summary.loopbacks)
        if text and (block := parse_block(text.partition("/")[0]))
    ]
    for name, text, own in wide:
        if inside := next((each for each, block in others if each != name and own.covers(block)), ""):
            message = f"{name} has {text} at its loopback, which covers the address of {inside}"
            remedy = f"Give the loopback its address alone, with the length {own.bits}."
            path = (f"loopback/ipv{own.family}",)
            yield Report(OVERLAP, name, path, message, "wide loopback", Severity.WARNING, remedy)


def _unmatched_ends(fabric: Switches) -> Iterator[Report]:
    """Report ports of OSPF or IS-IS without a neighbor on two switches that a link would join as it joins others.

    These are a switch and one that all others next to a third one have links to, or the ends of a chain.
    """
    lone = {name: each.lone for name, each in fabric.summaries.items() if each.lone}
    if fabric.planned or len(lone) < 2:
        return
    links = {name: {*fabric.linked(name)} for name in fabric.summaries}
    ends = sum(map(len, lone.values()))
    ring = ends == 2 and sum(map(len, links.values())) > 4 and all(len(links[name]) == 1 for name in lone)

    def completes(one: str, two: str) -> bool:
        beside = (links.get(each, set()) - {one, *lone} for each in links[one])
        return any(len(others) > 1 and others <= links[two] for others in beside)

    for name, ports in lone.items():
        apart = [each for each in lone if each != name and each not in links[name]]
        missing = [each for each in apart if ring or completes(name, each) or completes(each, name)]
        for port, text in ports if missing else ():
            other = f"{missing[0]} has {lone[missing[0]][0][1]}"
            message = f"{name} {port}: no switch has an address in the subnet of {text}: {other}"
            remedy = "Give both ends of the link addresses of one subnet."
            path = (f"{PORT}{port}]/ipv4",)
            yield Report(DIFFERENT, name, path, message, "lone end", Severity.WARNING, remedy)


RULES = (
    FabricRule(DIFFERENT, ADDRESSES, (Input.LINKS,), _unmatched_ends),
    FabricRule(OVERLAP, ADDRESSES, (Input.BGP,), _wide_loopbacks),
    SwitchRule(SEGMENT, ADDRESSES, (), _repeated_vnis),
    FabricRule(SEGMENT, ADDRESSES, (), _repeated_distinguishers),
    FabricRule(TWICE, ADDRESSES, (Input.BGP,), _repeated_router_ids),
    SwitchRule(SHARED, INTERFACES, (), _shared_lanes),
    FabricRule(TWICE, ADDRESSES, (Input.BGP, Input.LINKS), _strange_loopbacks),
)
