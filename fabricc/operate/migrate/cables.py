"""Plan cable moves between two specs in rounds; each round drains, recables and pushes a few upper switches."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.capacity.remainder import WHOLE, share_without
from fabricc.fabric.links import switch_asn, switch_links
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from fractions import Fraction

    from fabricc.fabric.fabric import Fabric

    End = tuple[str, str]
    Ends = tuple[End, End]
    Pair = tuple[Ends | None, Ends | None]


class Move(NamedTuple):
    """One cable: unplugged at `was`, plugged in at `now`; `now` is None if it is removed, `was` if it is new.

    Attributes:
        round: all cables of a round may be out at once.
        keeps: the least share of its links that a device below has meanwhile, of those that stay, when upper switches
            whose cables are pulled are drained before and run the new step before the next round.
        turn: the switch that is out for it: the upper one, or a lower one that is exchanged.
    """

    round: int
    was: Ends | None
    now: Ends | None
    keeps: Fraction
    turn: str


def plan_moves(old: Fabric, new: Fabric, keep: Fraction) -> tuple[Move, ...]:
    """Return the cables that move, ordered by round.

    A switch that is exchanged for one of another model is out with all of its cables.

    Every lower switch and host that stays keeps the share `keep` of its links in a round; one upper switch may always
    be out. Devices of another name are those that they were.
    """
    after = _list_cables(new)
    before = _rename_devices(_list_cables(old), after, new.moves.renamed)
    stay = {lower for (lower, _), _ in after}
    kept = {ends for ends in before if ends[0][0] in stay}
    gone, come = before - after, after - before
    pairs = _pair_cables(gone, come)
    turn = _CableTurns(find_exchanged_switches(old, new))
    rounds, keeps = _assign_rounds(
        kept, pairs, _find_ready_ends(old, new, {lower for lower, _ in come}), keep, turn
    )
    found = [
        Move(number, was, now, keeps.get(number, WHOLE), turn(was) if was else "")
        for pair in pairs
        for number, was, now in _split_move(pair, rounds, turn)
    ]
    return tuple(sorted(found, key=lambda move: (move.round, move.was or move.now or ())))


def group_switches_by_round(moved: Iterable[Move]) -> dict[int, tuple[str, ...]]:
    """Map each round to the switches that are out in it."""
    found: dict[int, set[str]] = {}
    for move in moved:
        found.setdefault(move.round, set()).update({move.turn} - {""})
    return {number: tuple(sorted(names)) for number, names in found.items()}


def _list_cables(fabric: Fabric) -> set[Ends]:
    return {((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in fabric.cables()}


def _rename_devices(before: set[Ends], after: set[Ends], renamed: Mapping[str, str]) -> set[Ends]:
    """Cables as they are, by the names that their devices have afterwards; `renamed`: a device's name -> its former."""
    if not renamed:
        return before
    had, have = ({device for ends in cables for device, _ in ends} for cables in (before, after))
    present = {was: now for now, was in renamed.items() if was in had - have and now in have - had}
    return {
        ((present.get(lower, lower), port), (present.get(upper, upper), upper_port))
        for (lower, port), (upper, upper_port) in before
    }


def find_exchanged_switches(old: Fabric, new: Fabric) -> set[str]:
    """Return the switches that change to another model."""
    models = {new.name(at): new.model(at) for at in new.switch_ids()}
    before = {old.name(at): old.model(at) for at in old.switch_ids()}
    return {name for name, model in before.items() if models.get(name, model) != model}


@dataclass(frozen=True, slots=True)
class _CableTurns:
    """Whose turn a cable has; `exchanged` are boxes of another model."""

    exchanged: AbstractSet[str]

    def __call__(self, ends: Ends) -> str:
        lower, upper = ends[0][0], ends[1][0]
        return lower if lower in self.exchanged else upper


def _pair_cables(gone: AbstractSet[Ends], come: AbstractSet[Ends]) -> list[Pair]:
    """Pair each removed cable with an added one that shares an end with it, the lower end first."""
    found: list[Pair] = []
    left, wanted = sorted(gone), sorted(come)
    for side in (0, 1):
        at = {ends[side]: ends for ends in wanted}
        rest = []
        for ends in left:
            if (other := at.pop(ends[side], None)) is not None:
                found.append((ends, other))
            else:
                rest.append(ends)
        left, wanted = rest, sorted(at.values())
    return [*found, *((ends, None) for ends in left), *((None, ends) for ends in wanted)]


def _map_targets(pairs: Iterable[Pair], turn: _CableTurns) -> dict[str, set[str]]:
    """Map each switch whose cables are unplugged to the switches where they are plugged in."""
    found: dict[str, set[str]] = {}
    for was, now in pairs:
        if was:
            found.setdefault(turn(was), set()).update({turn(now)} if now else ())
    return found


def _order_switches(targets: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Each switch after those that take its cables, so that these need not wait; circles are broken."""
    found: list[str] = []
    seen: set[str] = set()
    for first in sorted(targets):
        way = [] if first in seen else [first]
        while way:
            seen.add(way[-1])
            ahead = min((one for one in targets[way[-1]] if one in targets and one not in seen), default=None)
            if ahead is None:
                found.append(way.pop())
            else:
                way.append(ahead)
    return found


def _find_ready_ends(old: Fabric, new: Fabric, lower: AbstractSet[End]) -> set[End]:
    """Return the lower ends that carry traffic without a change of their own: what they must agree on stays."""
    was, now = _map_link_settings(old, lower), _map_link_settings(new, lower)
    return {end for end, agreed in now.items() if was.get(end) == agreed}


def _map_link_settings(fabric: Fabric, lower: AbstractSet[End]) -> dict[End, tuple[object, ...]]:
    """Map each lower end to the settings on which both ends of its cable must agree."""
    return {
        (link.peer, link.peer_port): (switch_asn(fabric, at), fabric.switch_mtu, link.peer_asn, *link[8:])
        for at in fabric.switch_ids()
        for link in switch_links(fabric, at)
        if link.direction is not Direction.UP and (link.peer, link.peer_port) in lower
    }


def _split_move(
    pair: Pair, rounds: Mapping[str, int], turn: _CableTurns
) -> Iterator[tuple[int, Ends | None, Ends | None]]:
    """A cable is pulled in the round of its switch, and plugged there too, or when the other switch has had its own."""
    was, now = pair
    pulled, plugged = (rounds.get(turn(ends), 1) if ends else 1 for ends in pair)
    if was and now and plugged > pulled:
        yield pulled, was, None
        yield plugged, None, now
    else:
        yield max(pulled, plugged), was, now


def _assign_rounds(
    before: AbstractSet[Ends],
    pairs: Sequence[Pair],
    ready: AbstractSet[End],
    keep: Fraction,
    turn: _CableTurns,
) -> tuple[dict[str, int], dict[int, Fraction]]:
    """Switch -> its round, and round -> the least share of its links that a device below the others has in it.

    Args:
        before: the cables as they are, of lower devices that stay.
        pairs: those that move.
        ready: lower ends whose cable carries traffic once it is plugged.
        keep: the share; one switch may always be out.
        turn: whose turn a cable has.
    """
    order = _order_switches(_map_targets(pairs, turn))
    below, back = _count_links_below(before, turn), _count_links_back(before, pairs, ready, order, turn)
    total = sum(below.values(), Counter[str]())
    have, out, later = Counter(total), Counter[str](), Counter[str]()
    rounds: dict[str, int] = {}
    keeps: dict[int, Fraction] = {}
    for one in order:
        more = below[one]
        if not keeps or any(
            share_without(total[low], total[low] - have[low] + out[low] + more[low]) < keep for low in more
        ):
            have.subtract(out)
            have.update(later)
            out, later = Counter(), Counter()
            shares = (share_without(total[low], total[low] - have[low]) for low in total)
            keeps[len(keeps) + 1] = min(shares, default=WHOLE)
        out.update(more)
        later.update(back[one])
        rounds[one] = number = len(keeps)
        left = (share_without(total[low], total[low] - have[low] + out[low]) for low in more)
        keeps[number] = min([keeps[number], *left])
    return rounds, keeps


def _count_links_below(before: Iterable[Ends], turn: _CableTurns) -> dict[str, Counter[str]]:
    """Upper switch -> device below that stays -> links between them."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for ends in before:
        (lower, _), (upper, _) = ends
        if turn(ends) == upper:
            found[upper][lower] += 1
    return found


def _count_links_back(
    before: AbstractSet[Ends],
    pairs: Sequence[Pair],
    ready: AbstractSet[End],
    order: Sequence[str],
    turn: _CableTurns,
) -> dict[str, Counter[str]]:
    """Switch -> device below -> links of before that carry traffic again once that switch has had its round."""
    turns = {one: at for at, one in enumerate(order)}
    found = _count_links_below(before - {was for was, _ in pairs if was}, turn)
    for was, now in pairs:
        if was and now and now[0] in ready:
            last = max(turn(was), turn(now), key=lambda one: turns.get(one, -1))
            found[last][now[0][0]] += 1
    return found
