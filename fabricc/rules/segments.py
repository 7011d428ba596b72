"""Find overlays that do not come up: VTEPs without an address, and segments that switches configure differently."""

from __future__ import annotations

import re
from collections import defaultdict
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import ADDRESSES, FabricRule, Report, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.rule import Switches
    from fabricc.rules.sessions import Sessions

SOURCE, SEGMENT = "FAB9690", "FAB9691"
_FIRST_LOOPBACKS = ("loopback0", "lo0.0", "lo0", "lo")
"""Names of the interface whose addresses are those of `loopback/`."""
_LOOPBACK = re.compile(r"lo(?:opback)?\d*(?:\.\d+)?", re.IGNORECASE)
_VNI = re.compile(r"(?:evpn/segment|vxlan/vlan)\[(\d+)\]/vni")
_TARGET = re.compile(r"evpn/(segment|vni)\[(\d+)\]/route_target")
_VLAN_PORT = re.compile(r"(?:vlan|irb\.|Vlan)(\d+)", re.IGNORECASE)
_GATEWAY, _SOURCE = "gateway[", "vxlan/source"


class SegmentSetting(NamedTuple):
    """A setting of an EVPN segment or a VLAN that other switches must share.

    Attributes:
        kind: `VNI`, `route target` or `gateway`.
        owner: the VNI of a route target, the VLAN of a VNI, the VLAN and subnet of a gateway.
        values: what it announces under, and accepts: of a VNI and a gateway the same.
        path: of the fact.
    """

    kind: str
    owner: str
    values: tuple[frozenset[str], frozenset[str]]
    path: str


def segment_settings(statement: Statement) -> tuple[SegmentSetting, ...]:
    """Return the settings of a switch that other switches with the segment must share."""
    found, numbers = [], dict[str, str]()
    for path, value in statement.rest.items():
        if path[0] in "ev" and (match := _VNI.fullmatch(path)):
            numbers[match[1]] = str(value)
            found.append(SegmentSetting("VNI", match[1], (frozenset({str(value)}),) * 2, path))
    for path, value in statement.rest.items():
        match = _TARGET.fullmatch(path) if path.startswith("evpn/") else None
        if match and (targets := read_targets(str(value))):
            owner = match[2] if match[1] == "vni" else numbers.get(match[2], "")
            found.append(SegmentSetting("route target", owner, targets, path))
    for port, says in statement.ports.items():
        if match := _VLAN_PORT.fullmatch(port):
            addresses = {str(value): leaf for leaf, value in says.items() if leaf.startswith(_GATEWAY)}
            subnet = says.get("ipv4")
            if addresses and isinstance(subnet, str) and "/" in subnet:
                owner = f"{match[1]} {ip_interface(subnet).network}"
                leaf = next(iter(addresses.values()))
                values = (frozenset(addresses),) * 2
                found.append(SegmentSetting("gateway", owner, values, f"{PORT}{port}]/{leaf}"))
    for path, value in statement.rest.items():
        if path.startswith("evpn/segment[") and path.endswith("]/ipv4") and "/" in str(value):
            vlan, network = path[len("evpn/segment[") : -len("]/ipv4")], ip_interface(str(value)).network
            gateway = (frozenset({str(value).partition("/")[0]}),) * 2
            found.append(SegmentSetting("gateway", f"{vlan} {network}", gateway, path))
    return tuple(each for each in found if each.owner)


def read_targets(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the route targets that a segment exports and imports; None where the system derives one of them."""
    if "auto" in text.split() or text.partition(" ")[0] not in ("import", "export"):
        both = frozenset(text.replace(",", " ").split())
        return None if "auto" in both or not both else (both, both)
    imports, _, exports = text.partition("export")
    found = [frozenset(part.replace("import", "").replace(",", " ").split()) for part in (exports, imports)]
    return (found[0], found[1]) if all(found) else None


def _dead_sources(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a VTEP whose source has no address, and loopbacks with an address that are shut."""
    for path, source in statement.rest.items():
        if path.endswith(_SOURCE) and not _has_address(statement, str(source)):
            message = (
                f"{statement.name} sends VXLAN from {source}, which has no address: the VTEP does not come up"
            )
            remedy = "Name the loopback that has the VTEP's address, or give this one an address."
            yield finding_at(SOURCE, statement.device, path, message, "VTEP source", Severity.WARNING, remedy)
    for port, says in statement.ports.items():
        shut = _LOOPBACK.fullmatch(port) and says.get("enabled") in (False, "false")
        if shut and (_has_address(statement, port) or _has_address(statement, f"{port}.0")):
            message = f"{statement.name} {port} is shut and has an address: nobody reaches the address"
            path = f"{PORT}{port}]/enabled"
            remedy = "Enable the loopback."
            yield finding_at(
                SOURCE, statement.device, path, message, "loopback shut", Severity.WARNING, remedy
            )


def _has_address(statement: Statement, port: str) -> bool:
    """Return whether an interface has an address; an address in place of a name has itself."""
    if ":" in port or is_number(port[:1]):
        return True
    if port.lower() in _FIRST_LOOPBACKS and any(f"loopback/ipv{each}" in statement.rest for each in "46"):
        return True
    says = statement.ports.get(port, {})
    return any(leaf.startswith(("ipv4", "ipv6", "secondary", "dhcp")) for leaf in says)


def _dead_peers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report an MLAG peer whose address is in no subnet of the interface that leads to it."""
    peer, local = str(statement.rest.get("mlag/peer", "")), str(statement.rest.get("mlag/local", ""))
    subnet = statement.ports.get(local, {}).get("ipv4")
    if not isinstance(subnet, str) or "/" not in subnet:
        return
    try:
        address = ip_address(peer)
    except ValueError:
        return
    if address not in ip_interface(subnet).network or address == ip_interface(subnet).ip:
        message = (
            f"{statement.name} expects its MLAG peer at {peer}, and {local} has {subnet}: they do not meet"
        )
        remedy = "Name the peer's address in the subnet of the local interface."
        yield finding_at(
            SOURCE, statement.device, "mlag/peer", message, "MLAG peer", Severity.WARNING, remedy
        )


_WHY = {
    "VNI": "its hosts are cut off from those of the other switches",
    "route target": "they do not take each other's routes",
    "gateway": "hosts that move lose their gateway",
}


def _compare_segments(fabric: Switches) -> Iterator[Report]:
    """Report a switch whose setting of a segment meets that of no other switch, although others agree."""
    stated: defaultdict[tuple[str, str], dict[str, SegmentSetting]] = defaultdict(dict)
    for name, summary in fabric.summaries.items():
        for each in summary.segments:
            stated[each.kind, each.owner].setdefault(name, each)
    known: dict[str, frozenset[str]] = {}
    for (kind, owner), by_switch in sorted(stated.items()):
        if len({each.values for each in by_switch.values()}) > 1:
            for names in joined_switches(fabric, by_switch, known):
                yield from _compare_setting(fabric, kind, owner, {name: by_switch[name] for name in names})


def joined_switches(
    fabric: Switches, names: Iterable[str], known: dict[str, frozenset[str]]
) -> Iterator[list[str]]:
    """Yield the switches that links join, set by set: a folder may have several fabrics with the same numbers."""
    for name in names:
        if name not in known:
            joined = frozenset(fabric.reachable({name}))
            known |= dict.fromkeys(joined, joined)
    for joined in dict.fromkeys(known[name] for name in names):
        yield [name for name in names if name in joined]


def _compare_setting(
    fabric: Switches, kind: str, owner: str, by_switch: Mapping[str, SegmentSetting]
) -> Iterator[Report]:
    if len(by_switch) < 2:
        return
    alone = [name for name in by_switch if not _exchanges_routes(name, by_switch)]
    pair = kind != "VNI" and len(by_switch) == 2  # both are wrong: one of them has another value
    if len(alone) == len(by_switch) and not pair:
        return
    for name in sorted(alone):
        mine = by_switch[name]
        if kind == "VNI" and _is_used_elsewhere(fabric, name, mine):
            continue
        other = next(each for each in by_switch if each != name and (pair or each not in alone))
        message = (
            f"{name}: {kind} {_describe(mine)} of {_owner(kind, owner)}, on {other} "
            f"{_describe(by_switch[other])}: {_WHY[kind]}"
        )
        remedy = f"Use one {kind} on all switches of the segment."
        yield Report(SEGMENT, name, (mine.path,), message, f"segment {kind}", Severity.WARNING, remedy)


def _exchanges_routes(name: str, by_switch: Mapping[str, SegmentSetting]) -> bool:
    """Return whether another switch takes what a switch announces, and the other way."""
    out, taken = by_switch[name].values
    others = [each.values for other, each in by_switch.items() if other != name]
    return any(out & theirs for _, theirs in others) and any(taken & theirs for theirs, _ in others)


def _is_used_elsewhere(fabric: Switches, name: str, own: SegmentSetting) -> bool:
    """Return whether another switch has the VNI, for whatever VLAN."""
    others = (each for other, each in fabric.summaries.items() if other != name)
    return any(each.kind == "VNI" and each.values == own.values for one in others for each in one.segments)


def _describe(setting: SegmentSetting) -> str:
    return join_words(sorted(setting.values[0] | setting.values[1]), 2)


def _owner(kind: str, owner: str) -> str:
    return f"VNI {owner}" if kind == "route target" else f"VLAN {owner.partition(' ')[0]}"


RULES = (
    SwitchRule(SOURCE, ADDRESSES, (), _dead_sources),
    SwitchRule(SOURCE, ADDRESSES, (), _dead_peers),
    FabricRule(SEGMENT, ADDRESSES, (), _compare_segments),
)
