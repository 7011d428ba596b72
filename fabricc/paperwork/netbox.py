"""Match a NetBox export with a plan: tables of identities for devices that the plan has, and those it lacks."""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import clip
from fabricc.base.foreign.formats import csv_text
from fabricc.base.numbers import natural_key
from fabricc.base.values import replace
from fabricc.fabric.given_identities import Identities
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.spec.identities import DEVICES, LINKS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow
    from fabricc.front.spec.netbox import Device, End, Export

_WORDS = (
    (TierName.CORE, re.compile(r"core|super-?spine")),
    (TierName.SPINE, re.compile(r"spine")),
    (TierName.TOR, re.compile(r"leaf|(^|[-_ ])tor($|[-_ ])|top-of-rack")),
)
"""Words of roles -> tier, in the order in which they are tried."""
_BLOCKS = ("hosts4", "hosts6")
"""Columns that a table of devices has where any ToR is given a block."""
_SHOWN = 10
_LONGEST = 200


class Tables(NamedTuple):
    """The tables as text, `links` empty where no link is given anything, and what found no place."""

    devices: str
    links: str
    findings: tuple[Diagnostic, ...]


def tables_of(export: Export, fabric: Fabric, roles: Mapping[str, TierName]) -> Tables:
    """Return the tables of identities from an export for a fabric.

    A device is matched to the switch or host with the same computed name; case and domain do not count. The other
    devices of a tier are matched to its remaining switches, both in natural order of their names.

    Args:
        export: the data of the NetBox.
        fabric: the plan.
        roles: tiers of roles whose names do not show them.
    """
    fabric = replace(fabric, given=Identities())
    placed, findings = _place_devices(export.devices, fabric, roles)
    numbers: dict[End, dict[int, str]] = {}
    loopbacks: dict[str, list[str]] = {}
    for given in export.addresses:
        if (name := placed.get(given.device)) is None:
            continue
        if (found := _interface_name(given.address)) is None:
            findings.append(_unreadable_address(given.address, f"{name} {given.interface}"))
            continue
        numbers.setdefault((name, given.interface), {})[found.version] = given.address
        if given.role == "loopback" or found.network.prefixlen == found.max_prefixlen:
            loopbacks.setdefault(name, []).append(str(found.ip))
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    cables = list(fabric.cables())
    links = [row for cable in cables if (row := _link_row(cable, numbers))]
    blocks = _tor_blocks(fabric, switches, links, export.prefixes)
    rows = []
    for each in export.devices:
        if name := placed.get(each.name):
            own = blocks.get(name, ("", ""))
            rows.append(_device_row(name, each, loopbacks.get(name, ()), own, fabric, name in switches))
    findings += _primary_findings(export.devices, placed, loopbacks, switches, fabric)
    findings += _cable_findings(export.cables, placed, cables)
    lines = [DEVICES, *sorted(row for row in rows if any(row[1:]))]
    if not blocks:
        lines = [
            tuple(cell for word, cell in zip(DEVICES, row, strict=True) if word not in _BLOCKS)
            for row in lines
        ]
    return Tables(csv_text(lines), csv_text([LINKS, *links]) if links else "", tuple(findings))


def _tor_blocks(
    fabric: Fabric,
    switches: Mapping[str, SwitchId],
    links: Sequence[tuple[str, ...]],
    prefixes: Sequence[str],
) -> dict[str, tuple[str, str]]:
    """Blocks of ToRs for the hosts of their units, IPv4 and IPv6, by the addresses of their links.

    That is the narrowest prefix of the NetBox that holds all of a ToR and of no other; without one it is as long as the
    plan's blocks.
    """
    known = sorted(
        {own.network for text in prefixes if (own := _interface_name(text))}, key=lambda each: -each.prefixlen
    )
    hosts = {
        name: set(fabric.units[at.unit].hosts.values())
        for name, at in switches.items()
        if at.tier is TierName.TOR
    }
    held: dict[tuple[str, bool], list[IPv4Address | IPv6Address]] = {}
    for row in links:
        for six, text in enumerate((row[5], row[7])):
            if text and row[0] in hosts.get(row[2], ()):
                held.setdefault((row[2], six == 1), []).append(ip_address(text))
    wide = {
        key: next((each for each in known if _contains_addresses(each, addresses)), None)
        for key, addresses in held.items()
    }
    shared = Counter(wide.values())
    blocks: dict[str, tuple[str, str]] = {}
    for (tor, six), addresses in held.items():
        length = addresses[0].max_prefixlen - fabric.aggregate_bits()
        found = wide[tor, six]
        if found is None or shared[found] > 1:
            found = ip_network(f"{addresses[0]}/{length}", strict=False)
        if _contains_addresses(found, addresses):
            four, other = blocks.get(tor, ("", ""))
            blocks[tor] = (four, str(found)) if six else (str(found), other)
    return blocks


def _contains_addresses(
    block: IPv4Network | IPv6Network, addresses: Iterable[IPv4Address | IPv6Address]
) -> bool:
    """Return whether a prefix larger than one link contains all of some addresses."""
    return block.prefixlen < block.max_prefixlen - 1 and all(each in block for each in addresses)


def _interface_name(text: str) -> IPv4Interface | IPv6Interface | None:
    try:
        return ip_interface(text)
    except ValueError:
        return None


def _place_devices(
    devices: Sequence[Device], fabric: Fabric, roles: Mapping[str, TierName]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """Name in the NetBox -> computed name, and what has no place."""
    tiers = {fabric.name(at): at.tier for at in fabric.switch_ids()}
    hosts = {name for unit in fabric.units.values() for name in unit.hosts.values()}
    forms = {each.name: _short_name(each.name) for each in devices}
    placed = {name: form for name, form in forms.items() if form in tiers or form in hosts}
    free: dict[TierName, list[str]] = {}
    for name, tier in tiers.items():
        if name not in placed.values():
            free.setdefault(tier, []).append(name)
    others: dict[TierName, list[str]] = {}
    strangers: Counter[str] = Counter()
    for each in devices:
        if each.name in placed:
            continue
        own = roles.get(each.role) or _tier_of_role(each.role)
        if own is not None and own in free:
            others.setdefault(own, []).append(each.name)
        else:
            strangers[each.role or "none"] += 1
    findings = _report_doubles(devices, placed)
    findings += [
        _netbox_finding(f"{plural(count, 'device')} of role {clip(role)!r} without a place: no tier has this "
                        f"name, or it is full",
              "Name the tier with `--role ROLE=TIER` if they are its switches.")
        for role, count in sorted(strangers.items())
    ]  # fmt: skip
    for tier, names in others.items():
        ordered, room = sorted(names, key=natural_key), sorted(free[tier], key=natural_key)
        placed |= dict(zip(ordered, room, strict=False))
        if len(ordered) != len(room):
            counts = f"{plural(len(ordered), 'device')} for {plural(len(room), tier.value)}"
            message = f"there are {counts} of the plan, taken in the order of their names"
            findings.append(
                _netbox_finding(message, "Compare the shape of the spec with the installed switches.")
            )
    return placed, findings


def _short_name(name: str) -> str:
    """Return the name of a device in lower case and without its domain, as a plan has it."""
    return name.strip().lower().partition(".")[0]


def _report_doubles(devices: Sequence[Device], placed: Mapping[str, str]) -> list[Diagnostic]:
    """FAB2156 for each name that several devices have, such as those of two sites."""
    counts = Counter(placed.get(each.name, each.name.lower()) for each in devices)
    remedy = "Export the devices of one site alone, or give each device a name of its own."
    return [
        Diagnostic("FAB2156", Severity.ERROR, f"{count} devices have the name {clip(name)!r}", None, remedy)
        for name, count in sorted(counts.items())
        if count > 1
    ]


def _tier_of_role(role: str) -> TierName | None:
    return next((tier for tier, words in _WORDS if words.search(role.lower())), None)


def _device_row(
    name: str, device: Device, loopbacks: Iterable[str], blocks: tuple[str, str], fabric: Fabric, switch: bool
) -> tuple[str, ...]:
    """Return a line of the table of devices; of a host its place alone."""
    place = (device.rack, device.unit, device.height) if device.rack and device.unit else ("", "", "")
    if not switch:
        return name, *[""] * 7, *place
    primary = _interface_name(device.primary)
    networks = [ip_network(str(each.pool)) for each in fabric.addresses.management]
    management = str(primary.ip) if primary and any(primary.ip in each for each in networks) else ""
    own = [text for text in loopbacks if text != management]
    first4, first6 = (next((text for text in own if (":" in text) is six), "") for six in (False, True))
    given = device.name.lower() if _short_name(device.name) != name else ""
    return name, given, device.asn, first4, first6, management, *blocks, *place


def _primary_findings(
    devices: Iterable[Device],
    placed: Mapping[str, str],
    loopbacks: Mapping[str, Sequence[str]],
    switches: Container[str],
    fabric: Fabric,
) -> Iterator[Diagnostic]:
    """Report primary addresses of switches that are neither of the plan's management networks nor of loopbacks."""
    networks = [ip_network(str(each.pool)) for each in fabric.addresses.management]
    outside: list[str] = []
    for each in devices:
        name = placed.get(each.name, "")
        if name not in switches or not each.primary:
            continue
        if (primary := _interface_name(each.primary)) is None:
            yield _unreadable_address(each.primary, f"{name} (primary)")
        elif str(primary.ip) not in loopbacks.get(name, ()) and not any(
            primary.ip in own for own in networks
        ):
            outside.append(f"{primary.ip} of {name}")
    if outside:
        pools = ", ".join(str(each.pool) for each in fabric.addresses.management) or "no network"
        message = (
            f"{plural(len(outside), 'primary address')} outside of the management pool ({pools}): "
            f"{', '.join(sorted(outside, key=natural_key)[:3])}"
        )
        yield _netbox_finding(
            message, "Name their network in `management.network`; else the plan computes other addresses."
        )


def _link_row(cable: CableRow, numbers: Mapping[End, Mapping[int, str]]) -> tuple[str, ...] | None:
    """A line of the table of links, where both ends have an address of one block of two; a host has its ToR's other."""
    ends = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
    cells: list[str] = []
    for version, length, wide in ((4, 31, 30), (6, 127, 127)):
        pair = [_interface_name(numbers.get(end, {}).get(version, "")) for end in ends]
        if cable.kind == "host" and pair[1] and not pair[0] and pair[1].network.prefixlen == length:
            pair[0] = next(
                _interface_name(f"{each}/{length}") for each in pair[1].network if each != pair[1].ip
            )
        lengths = {length} if cable.kind == "host" else {length, wide}
        blocks = {each.network for each in pair if each and each.network.prefixlen in lengths}
        fits = len(blocks) == 1 and all(pair)
        cells += [str(each.ip) if each and fits else "" for each in pair]
    return (*ends[0], *ends[1], *cells) if any(cells) else None


def _cable_findings(
    found: Sequence[tuple[End, End]], placed: Mapping[str, str], cables: Iterable[CableRow]
) -> Iterator[Diagnostic]:
    """Cables between placed devices that the plan has otherwise."""
    if not found:
        return
    planned = {frozenset({(row.a_device, row.a_port), (row.b_device, row.b_port)}) for row in cables}
    there = {
        frozenset({(placed[a[0]], a[1]), (placed[b[0]], b[1])})
        for a, b in found
        if a[0] in placed and b[0] in placed
    }
    for words, wrong in (("not in the plan", there - planned), ("not in the NetBox", planned - there)):
        if wrong:
            shown = [clip(" to ".join(" ".join(end) for end in sorted(each)), _LONGEST) for each in wrong]
            more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            message = f"{plural(len(shown), 'cable')} {words}: {', '.join(sorted(shown)[:_SHOWN])}{more}"
            help_ = "Names of interfaces are those of the operating system that the spec names."
            yield Diagnostic("FAB2151", Severity.WARNING, message, None, help_)


def _unreadable_address(text: str, place: str) -> Diagnostic:
    message = f"{clip(text)!r} of {place} is not an address with a prefix length"
    help_ = "Correct it in the NetBox: without it, the plan would have a computed address in its place."
    return Diagnostic("FAB2147", Severity.ERROR, message, None, help_)


def _netbox_finding(message: str, help: str) -> Diagnostic:
    return Diagnostic("FAB2150", Severity.WARNING, message, None, help)
