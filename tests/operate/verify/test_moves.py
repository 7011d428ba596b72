"""The moves found turn what is into what is planned, and no fewer would."""

from __future__ import annotations

from collections import deque
from itertools import combinations
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from fabricc.operate.verify.cable_moves import Act, Cable, End, Move, find_fewest_moves

if TYPE_CHECKING:
    from collections.abc import Iterable

PORTS: list[End] = [(f"d{n % 3}", f"p{n}") for n in range(7)]


def apply_moves(found: Iterable[Cable], moves: Iterable[Move]) -> set[Cable]:
    """The cabling after the moves, lower end first.

    Raises:
        ValueError: a move cannot be done: a port that must be free is not, or the other way round.
    """
    actual = dict(end for a, b in found for end in ((a, b), (b, a)))
    for move in moves:
        apply(actual, move)
    return {(a, b) for a, b in actual.items() if a < b}


def apply(actual: dict[End, End], move: Move) -> None:
    a, b = move.a, move.b
    taken = {end for end in (a, b) if end in actual}
    fits = {
        Act.SWAP: taken == {a, b},
        Act.MOVE: taken == {a},
        Act.LAY: not taken,
        Act.REMOVE: actual.get(a) == b,
    }
    if not fits[move.act] or a == b:
        raise ValueError(f"cannot {move.words}")
    if move.act is Act.LAY:
        actual[a], actual[b] = b, a
        return
    peers = [(end, actual.pop(end)) for end in sorted(taken)]
    if move.act is Act.REMOVE:
        return
    other = {a: b, b: a}
    for end, peer in peers:
        here, there = other[end], other.get(peer, peer)
        actual[here], actual[there] = there, here


def flat_moves(planned: set[Cable], found: set[Cable]) -> list[Move]:
    return [move for moves in find_fewest_moves(sorted(planned), sorted(found)) for move in moves]


def all_cablings(ports: list[End]) -> list[set[Cable]]:
    """Every cabling of some ports."""
    if not ports:
        return [set()]
    first, rest = ports[0], ports[1:]
    found = all_cablings(rest)
    for peer in rest:
        found += [{(first, peer), *more} for more in all_cablings([port for port in rest if port != peer])]
    return found


def next_cablings(cables: frozenset[Cable]) -> set[frozenset[Cable]]:
    """Every cabling that one act makes of another."""
    taken = {end for cable in cables for end in cable}
    found = set()
    for a, b in combinations(sorted(PORTS), 2):
        acts = [Move(Act.SWAP, a, b)] if {a, b} <= taken else []
        acts += [Move(Act.MOVE, a, b)] if a in taken and b not in taken else []
        acts += [Move(Act.MOVE, b, a)] if b in taken and a not in taken else []
        acts += [Move(Act.LAY, a, b)] if not {a, b} & taken else []
        acts += [Move(Act.REMOVE, a, b)] if (a, b) in cables else []
        found |= {frozenset(apply_moves(cables, [act])) for act in acts}
    return found


def find_distances(planned: frozenset[Cable]) -> dict[frozenset[Cable], int]:
    """Fewest acts between the plan and every cabling: breadth first, for every act can be undone by one."""
    far = {planned: 0}
    waiting = deque([planned])
    while waiting:
        at = waiting.popleft()
        for one in next_cablings(at) - far.keys():
            far[one] = far[at] + 1
            waiting.append(one)
    return far


def test_no_fewer_moves_do_for_any_cabling_of_seven_ports() -> None:
    plans = [set(), *(set(zip(sorted(PORTS)[::2], sorted(PORTS)[1::2], strict=False)),)]
    plans += [{(PORTS[0], PORTS[3])}, {(PORTS[0], PORTS[3]), (PORTS[1], PORTS[2])}]
    for plan in plans:
        planned = {(min(a, b), max(a, b)) for a, b in plan}
        far = find_distances(frozenset(planned))
        assert len(far) == len(all_cablings(PORTS)) == 232
        for found, least in far.items():
            moves = flat_moves(planned, set(found))
            assert apply_moves(found, moves) == planned
            assert len(moves) == least, (planned, found, moves)


@st.composite
def draw_cablings(draw: st.DrawFn, ports: list[End]) -> set[Cable]:
    order = draw(st.permutations(ports))
    count = draw(st.integers(0, len(ports) // 2))
    return {
        (min(pair), max(pair))
        for pair in zip(order[0 : 2 * count : 2], order[1 : 2 * count : 2], strict=True)
    }


LARGER: list[End] = [(f"d{n // 6}", f"p{n}") for n in range(30)]


@given(draw_cablings(LARGER), draw_cablings(LARGER))
def test_the_moves_give_the_plan(planned: set[Cable], found: set[Cable]) -> None:
    moves = find_fewest_moves(sorted(planned), sorted(found))
    assert apply_moves(found, [move for group in moves for move in group]) == planned
    for group in reversed(moves):
        found = apply_moves(found, group)
    assert found == planned, "disturbances are independent of each other"


def test_crossed_cables_are_swapped_where_both_are_at_hand() -> None:
    planned = [(("tor-2", "3"), ("spine-1", "2")), (("tor-2", "4"), ("spine-2", "2"))]
    found = [(("tor-2", "3"), ("spine-2", "2")), (("tor-2", "4"), ("spine-1", "2"))]
    ((move,),) = find_fewest_moves(planned, found)
    assert move.words == "swap the cables in ports 3 and 4 of tor-2"


def test_a_row_shifted_by_one_port_is_reported_without_a_swap_too_many() -> None:
    planned = [(("tor", str(n)), (f"h{n}", "0")) for n in range(8)]
    found = [(("tor", str((n + 1) % 8)), (f"h{n}", "0")) for n in range(8)]
    ((*moves,),) = find_fewest_moves(planned, found)
    assert len(moves) == 7
    assert all(move.a[0] == move.b[0] == "tor" for move in moves)


def test_missing_and_unexpected_links_are_distinguished() -> None:
    a, b, c, d, e = (("s", n) for n in "abcde")
    assert [m.words for m in flat_moves({(a, b)}, set())] == ["connect port a of s and port b of s"]
    assert [m.words for m in flat_moves(set(), {(c, d)})] == [
        "remove the cable between port c of s and port d of s"
    ]
    assert [m.words for m in flat_moves({(a, b)}, {(b, e)})] == [
        "move the cable in port e of s to its port a"
    ]
