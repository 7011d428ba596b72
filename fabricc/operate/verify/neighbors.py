"""Derive the present cables from the LLDP neighbors of switches, and compare them with the cabling plan.

Find the fewest moves that turn the present cabling into the planned one.

Planned and found cables together form paths and cycles: at every port at most one planned cable meets at most one
found one. A cycle of k planned and k found cables is a cycle of a permutation, and k - 1 swaps undo it: a swap splits
a cycle into two at best. A path is set right by one act for each of its planned cables, or found ones where these are
more: moves into the port that is free, and a cable that is laid or taken away where the counts differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.operate.devices.identity import shorten_word
from fabricc.operate.verify.model import Aspect, Deviation, make_finding

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

SeenNeighbors = dict[str, list["Neighbor"]]
"""Port -> the LLDP announcements received there."""


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
    systems = (neighbor.system, neighbor.system.partition(".")[0])
    for system in dict.fromkeys((*systems, *(small.get(one.lower(), one.lower()) for one in systems))):
        ports = views[system].ports if system in views else planned.get(system, frozenset())
        for port in (neighbor.port, neighbor.text):
            if port in ports:
                return system, port
        if system and (other := names(system)) is not None:
            port = next((one for one in (neighbor.port, neighbor.text) if one in other), "")
            return system, other.get(port, shorten_word(neighbor.port))
        if ports:
            return system, shorten_word(neighbor.port)
    return shorten_word(neighbor.system) or "an unnamed device", shorten_word(neighbor.port)


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
    moves: Iterable[Move], wanted: Mapping[End, End], partner: Mapping[End, End]
) -> list[Cable]:
    """Return the missing planned cables of a disturbance, from the end that is near the moves."""
    moves = list(moves)
    near = {end[0] for move in moves for end in (move.a, move.b)}
    cables: dict[Cable, Cable] = {}
    for end in (end for move in moves for end in (move.a, move.b)):
        for one in (end, partner.get(end)):
            other = wanted.get(one) if one else None
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


End = tuple[str, str]
"""A device and its port."""
Cable = tuple[End, End]


class Act(StrEnum):
    """The kind of a change of the cabling."""

    SWAP = "swap"
    MOVE = "move"
    LAY = "lay"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Move:
    """One change of the cabling.

    Attributes:
        a, b: the ports that exchange their cables (swap); from where and to where (move); what a new cable connects
            (lay); what an old one connected (remove).
    """

    act: Act
    a: End
    b: End

    @property
    def words(self) -> str:
        """The instruction for the person at the rack."""
        (device, port), (other, far), a, b = self.a, self.b, _format_port(self.a), _format_port(self.b)
        if self.act is Act.SWAP:
            both = f"ports {port} and {far} of {device}" if device == other else f"{a} and {b}"
            return f"swap the cables in {both}"
        if self.act is Act.MOVE:
            return f"move the cable in {a} to {f'its port {far}' if device == other else b}"
        return f"connect {a} and {b}" if self.act is Act.LAY else f"remove the cable between {a} and {b}"


def _format_port(end: End) -> str:
    return f"port {end[1]} of {end[0]}"


def find_fewest_moves(planned: Iterable[Cable], found: Iterable[Cable]) -> list[list[Move]]:
    """Return the moves of each disturbance, in the order in which the plan names its cables.

    Cables that are right need no move. The time is proportional to the number of cables. Among sets of equally few
    moves, the one on fewer devices is chosen. No port may occur twice among the planned cables, nor among the found.
    """
    wanted, actual = _both_ways(planned), _both_ways(found)
    ends = [*wanted, *(end for end in actual if end not in wanted)]
    seen: set[End] = set()
    chains: list[tuple[int, list[Move]]] = []
    for closed in (False, True):
        for at, end in enumerate(ends):
            if end in seen or (not closed and end in wanted and end in actual):
                continue
            chain = _follow_chain(end, wanted, actual)
            seen.update(chain)
            moves = (
                _repair_cycle(chain)
                if closed
                else _repair_path(chain, begins=end in wanted, ends=chain[-1] in wanted)
            )
            if moves:
                chains.append((at, moves))
    return [moves for _, moves in sorted(chains, key=lambda item: item[0])]


def _both_ways(cables: Iterable[Cable]) -> dict[End, End]:
    found: dict[End, End] = {}
    for a, b in cables:
        found[a], found[b] = b, a
    return found


def _follow_chain(start: End, wanted: dict[End, End], actual: dict[End, End]) -> list[End]:
    """Return the ends of a path or a cycle from a start on, along a planned cable first where there is one."""
    chain, by_plan = [start], start in wanted
    while True:
        following = (wanted if by_plan else actual).get(chain[-1])
        if following is None or following == start:
            return chain
        chain.append(following)
        by_plan = not by_plan


def _repair_path(chain: Sequence[End], *, begins: bool, ends: bool) -> list[Move]:
    """Return the moves that repair a path.

    Planned and found cables alternate. `begins` and `ends`: whether the first and the last cable is a planned one.
    """
    if len(chain) == 1:
        return []
    if begins != ends:
        return _shift_cables(chain if begins else chain[::-1])
    ways = (chain, chain[::-1])
    if begins:
        return min(
            ([*_shift_cables(way), Move(Act.LAY, *sorted(way[-2:]))] for way in ways),
            key=_count_device_changes,
        )
    return min(
        ([Move(Act.REMOVE, *sorted(way[:2])), *_shift_cables(way[1:])] for way in ways),
        key=_count_device_changes,
    )


def _shift_cables(chain: Sequence[End]) -> list[Move]:
    """Return the moves along a path whose first port is free and planned: every second cable moves by two ports."""
    return [Move(Act.MOVE, chain[at + 2], chain[at]) for at in range(0, len(chain) - 2, 2)]


def _repair_cycle(chain: Sequence[End]) -> list[Move]:
    """Return the swaps for a cycle that begins with a planned cable; they use the ports at one end of its cables."""
    other = [chain[1], chain[0], *reversed(chain[2:])]
    return min((_swap_ports(way[::2]) for way in (list(chain), other)), key=_count_device_changes)


def _swap_ports(ports: Sequence[End]) -> list[Move]:
    """Return swaps for a cycle of ports whose cables belong one port further back; those within a device come first."""
    moves: list[Move] = []
    left: list[End] = []
    for port in ports:
        if left and left[-1][0] == port[0]:
            moves.append(Move(Act.SWAP, left.pop(), port))
        left.append(port)
    if len(left) > 1 and left[0][0] == left[-1][0]:
        moves.append(Move(Act.SWAP, left.pop(), left[0]))
    return moves + [Move(Act.SWAP, a, b) for a, b in pairwise(left)]


def _count_device_changes(moves: Sequence[Move]) -> int:
    """Return the number of moves from one device to another."""
    return sum(1 for move in moves if move.act in (Act.SWAP, Act.MOVE) and move.a[0] != move.b[0])
