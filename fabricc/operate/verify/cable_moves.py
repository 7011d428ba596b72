"""Find the fewest moves of cables that turn the present cabling into the planned one.

Planned and found cables together form paths and cycles: at every port at most one planned cable meets at most one
found one. A cycle of k planned and k found cables is a cycle of a permutation, and k - 1 swaps undo it: a swap splits
a cycle into two at best. A path is set right by one act for each of its planned cables, or found ones where these are
more: moves into the port that is free, and a cable that is laid or taken away where the counts differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise

from fabricc.base.values import dataclass

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


def _follow_chain(start: End, planned: dict[End, End], actual: dict[End, End]) -> list[End]:
    """Return the ends of a path or a cycle from a start on, along a planned cable first where there is one."""
    chain, by_plan = [start], start in planned
    while True:
        following = (planned if by_plan else actual).get(chain[-1])
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
