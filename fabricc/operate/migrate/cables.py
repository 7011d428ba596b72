"""Cables that move from one spec to the next, in rounds that leave every switch most of its links."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.fabric import Fabric

    End = tuple[str, str]
    Ends = tuple[End, End]


class Move(NamedTuple):
    """One cable: pulled where `was` says, plugged where `now` says; either is None when it goes or is new.

    Attributes:
        round: all cables of a round may be out at once.
        keeps: the least share of its links that a switch has by then: a link that was moved carries nothing until both
            of its ends run the new step.
    """

    round: int
    was: Ends | None
    now: Ends | None
    keeps: Fraction


def moves(old: Fabric, new: Fabric, keep: Fraction) -> tuple[Move, ...]:
    """The cables between devices that both have, and between those and new ones; ordered by rounds.

    A switch that is exchanged for one of another model is out with all of its cables.

    Args:
        old: the fabric that is cabled.
        new: the next one.
        keep: share of its links that each switch has no hand on in a round; one cable may always move.
    """
    before, after = _cables(old), _cables(new)
    gone, come = before - after, after - before
    if not gone and not come:
        return ()
    links = Counter(device for ends in before for device, _ in ends)
    for name in _exchanged(old, new):
        del links[name]
    pairs = _paired(gone, come)
    out: dict[str, int] = defaultdict(int)
    rounds: list[tuple[int, Ends | None, Ends | None]] = []
    for was, now in pairs:
        touched = {device for device, _ in was if device in links} if was else set()
        number = max((out[device] // _most(links[device], keep) for device in touched), default=0)
        for device in touched:
            out[device] = max(out[device], number * _most(links[device], keep)) + 1
        rounds.append((number + 1, was, now))
    rounds.sort(key=lambda each: (each[0], each[1] or each[2] or ()))
    return tuple(_told(rounds, links))


def _cables(fabric: Fabric) -> set[Ends]:
    return {((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in fabric.cables()}


def _exchanged(old: Fabric, new: Fabric) -> set[str]:
    models = {new.name(at): new.model(at) for at in new.switch_ids()}
    return {
        name for at in old.switch_ids() if (name := old.name(at)) in models and models[name] != old.model(at)
    }


def _most(links: int, keep: Fraction) -> int:
    """Links of a switch that may be out at once."""
    return max(1, int(links * (1 - keep)))


def _paired(gone: set[Ends], come: set[Ends]) -> list[tuple[Ends | None, Ends | None]]:
    """A cable that goes beside one that comes and has an end in common with it, the lower end first."""
    found: list[tuple[Ends | None, Ends | None]] = []
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


def _told(rounds: Iterable[tuple[int, Ends | None, Ends | None]], links: Counter[str]) -> Iterator[Move]:
    listed = list(rounds)
    out: Counter[str] = Counter()
    least: dict[int, Fraction] = {}
    worst = Fraction(1)
    for number, was, _ in listed:
        for device in {device for device, _ in was if device in links} if was else ():
            out[device] += 1
            worst = min(worst, 1 - Fraction(out[device], links[device]))
        least[number] = worst
    for number, was, now in listed:
        yield Move(number, was, now, least[number])
