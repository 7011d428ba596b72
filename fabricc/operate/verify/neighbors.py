"""Derive the present cables from the LLDP neighbors of switches, and compare them with the cabling plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.operate.devices.identity import shorten_word
from fabricc.operate.verify.cable_moves import Act, Cable, End, Move, find_fewest_moves
from fabricc.operate.verify.model import Aspect, Deviation, make_finding

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

SeenNeighbors = dict[str, list["Neighbor"]]
"""Port -> the LLDP announcements received there."""


_PADDING = " \t\r\n\0."
"""What firmware adds to a name in its announcements: blanks, a zero byte, the dot of a whole domain name."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """One announcement: system name, port ID and port description (IEEE 802.1AB, sections 8.5.3 to 8.5.6)."""

    system: str
    port: str
    text: str


@dataclass(frozen=True, slots=True)
class LldpView:
    """The planned and the actual LLDP neighbors of one switch.

    Attributes:
        planned: port -> far end.
        dark: ports that are planned and shut.
        ports: every port of the fabric; neighbors on other ports, such as the management port, are ignored.
    """

    planned: dict[str, End]
    dark: frozenset[str]
    ports: frozenset[str]
    neighbor_seen: SeenNeighbors


def read_lldp_view(switch: Switch, neighbors: Mapping[str, Iterable[Mapping[str, Any]]]) -> LldpView:
    """Return the planned neighbors of a switch and those of NAPALM's `get_lldp_neighbors_detail`."""
    planned = {port.name: (port.peer.device, port.peer.port) for port in switch.ports if port.peer}
    ports = frozenset(port.name for port in switch.ports)
    keys = ("remote_system_name", "remote_port", "remote_port_description")
    seen = {
        port: [Neighbor(*(str(one.get(key, "")) for key in keys)) for one in announced]
        for port, announced in neighbors.items()
        if port in ports
    }
    dark = frozenset(port.name for port in switch.ports if port.peer and not port.enabled)
    return LldpView(planned, dark, ports, seen)


@dataclass(slots=True)
class Cabling:
    """The planned and the present cables of the switches that were read.

    Attributes:
        silent: number of planned cables to hosts that send no LLDP; they are not compared.
    """

    planned: list[Cable] = field(default_factory=list)
    found: list[Cable] = field(default_factory=list)
    silent: int = 0
    findings: list[Deviation] = field(default_factory=list)
    moves: list[list[Move]] = field(default_factory=list)


def compare_cabling(
    views: Mapping[str, LldpView], names: Callable[[str], Mapping[str, str] | None]
) -> Cabling:
    """Compare the LLDP neighbors of switches with the plan.

    `names` gives for a switch of the plan other name of a port -> its name, such as the alias that it announces; None
    for a system that is no switch of the plan.
    """
    cabling = Cabling()
    seen = _resolve_ends(views, names)
    partner = _pair_ends(views, seen, cabling)
    _select_planned(views, seen, partner, cabling)
    cabling.found = sorted({(min(a, b), max(a, b)) for a, b in partner.items()})
    cabling.moves = find_fewest_moves(cabling.planned, cabling.found)
    _report_cables(cabling, partner)
    return cabling


def _resolve_ends(
    views: Mapping[str, LldpView], names: Callable[[str], Mapping[str, str] | None]
) -> dict[End, list[End]]:
    """Return for each local end the far ends that announce themselves there, by their names in the plan."""
    hosts: dict[str, set[str]] = {}
    for one in views.values():
        for device, port in one.planned.values():
            hosts.setdefault(device, set()).add(port)
    # Host names have no case (RFC 4343): firmware and BMCs announce capitals.
    small = {name.lower(): name for name in (*hosts, *views)}
    found: dict[End, list[End]] = {}
    for device, one in views.items():
        for port, announced in one.neighbor_seen.items():
            ends = (_resolve_end(neighbor, views, hosts, names, small) for neighbor in announced)
            found[device, port] = list(dict.fromkeys(ends))
    return found


def _resolve_end(
    neighbor: Neighbor,
    views: Mapping[str, LldpView],
    planned: Mapping[str, Collection[str]],
    names: Callable[[str], Mapping[str, str] | None],
    small: Mapping[str, str],
) -> End:
    name = neighbor.system.strip(_PADDING)
    systems = (name, name.partition(".")[0])
    for system in dict.fromkeys((*systems, *(small.get(one.lower(), one.lower()) for one in systems))):
        ports = views[system].ports if system in views else planned.get(system, frozenset())
        for word in (neighbor.port, neighbor.text):
            if port := _find_port(word.strip(_PADDING), ports):
                return system, port
        if system and (other := names(system)) is not None:
            words = (_find_port(word.strip(_PADDING), other) for word in (neighbor.port, neighbor.text))
            return system, other.get(next(filter(None, words), ""), shorten_word(neighbor.port))
        if ports:
            return system, shorten_word(neighbor.port)
    return shorten_word(neighbor.system) or "an unnamed device", shorten_word(neighbor.port)


def _find_port(word: str, ports: Collection[str]) -> str:
    """Return the port of that name; no device has two ports whose names differ in case alone."""
    if word in ports:
        return word
    return next((port for port in ports if port.lower() == word.lower()), "")


def _pair_ends(
    views: Mapping[str, LldpView], seen: Mapping[End, list[End]], cabling: Cabling
) -> dict[End, End]:
    """Return both ends of every present cable: first those that both ends report, then those that one end reports."""
    partner: dict[End, End] = {}
    later: list[tuple[End, End]] = []
    for end, others in seen.items():
        if len(others) > 1:
            several = ", ".join(f"{device} {port}" for device, port in sorted(others))
            message = f"port {end[1]} hears several devices: {several}"
            cabling.findings.append(_warn_about_end(end, message))
        for other in others:
            if end in seen.get(other, ()) and end not in partner and other not in partner and end != other:
                partner[end], partner[other] = other, end
            else:
                later.append((end, other))
    for end, other in later:
        if partner.get(end) == other:
            continue
        if end in partner or other in partner or end == other:
            if len(seen[end]) == 1:
                message = f"port {end[1]} hears {other[0]} {other[1]}, which hears something else"
                cabling.findings.append(_warn_about_end(end, message))
            continue
        partner[end], partner[other] = other, end
        if other[0] in views:
            message = f"port {end[1]} hears {other[0]} {other[1]}, which does not hear it"
            cabling.findings.append(_warn_about_end(end, message))
    return partner


def _warn_about_end(end: End, message: str) -> Deviation:
    remedy = "Check whether one fiber of the pair is dark or miswired, or an announcement is outdated."
    return make_finding(Aspect.CABLING, end[0], "FAB9204", message, remedy=remedy, severity=Severity.WARNING)


def _select_planned(
    views: Mapping[str, LldpView],
    seen: Mapping[End, list[End]],
    partner: Mapping[End, End],
    cabling: Cabling,
) -> None:
    """Select the planned cables that can be compared, lower end first."""
    speaking = {other[0] for others in seen.values() for other in others}
    planned: dict[Cable, None] = {}
    for device, one in views.items():
        for port, peer in one.planned.items():
            end = (device, port)
            judged = end in partner or peer in partner
            if not judged and port in one.dark:
                continue
            if not judged and peer[0] not in views and peer[0] not in speaking:
                cabling.silent += 1
                continue
            planned[min(end, peer), max(end, peer)] = None
    cabling.planned = list(planned)


def _report_cables(cabling: Cabling, partner: Mapping[End, End]) -> None:
    """Report each planned cable that is missing, and each present cable that is planned at neither end."""
    wanted = {end: other for a, b in cabling.planned for end, other in ((a, b), (b, a))}
    for moves in cabling.moves:
        remedy = "; then ".join(move.words for move in moves[:3])
        remedy += f"; and {len(moves) - 3} more moves" if len(moves) > 3 else ""
        touched = _find_affected_cables(moves, wanted, partner)
        for a, b in touched:
            cabling.findings.append(_report_missing_cable(a, b, partner, f"{remedy[0].upper()}{remedy[1:]}."))
        for move in moves:
            if move.act is Act.REMOVE:
                at, other = (move.a, partner.get(move.a, move.b))
                message = f"port {at[1]} leads to {other[0]} {other[1]}, which is not planned"
                remedy = f"{move.words.capitalize()}."
                cabling.findings.append(
                    make_finding(Aspect.CABLING, at[0], "FAB9203", message, remedy=remedy)
                )


def _find_affected_cables(
    moves: Iterable[Move], planned: Mapping[End, End], partner: Mapping[End, End]
) -> list[Cable]:
    """Return the missing planned cables of a disturbance, from the end that is near the moves."""
    moves = list(moves)
    near = {end[0] for move in moves for end in (move.a, move.b)}
    cables: dict[Cable, Cable] = {}
    for end in (end for move in moves for end in (move.a, move.b)):
        for one in (end, partner.get(end)):
            other = planned.get(one) if one else None
            if one and other and partner.get(one) != other:
                here, there = (one, other) if one[0] in near else (other, one)
                cables.setdefault((min(one, other), max(one, other)), (here, there))
    return list(cables.values())


def _report_missing_cable(a: End, b: End, partner: Mapping[End, End], remedy: str) -> Deviation:
    if a not in partner and b not in partner:
        message = f"port {a[1]} has no neighbor, planned is {b[0]} {b[1]}"
        return make_finding(Aspect.CABLING, a[0], "FAB9202", message, remedy=remedy)
    here, planned = (a, b) if a in partner else (b, a)
    there = partner[here]
    message = f"port {here[1]} leads to {there[0]} {there[1]}, planned is {planned[0]} {planned[1]}"
    return make_finding(Aspect.CABLING, here[0], "FAB9201", message, remedy=remedy)
