"""Invariants 7, 9 and 10 over the whole fabric: where every announcement can get, intact and after any failure.

Switches whose policy is the same but for their own addresses and AS number are one *class* (per tier, plane and pod);
an announcement of one member stands for those of all. From each class an announcement is followed through everything
that sessions, route maps, prefix lists, communities and AS-path loop detection permit, **whatever path is best**.

Why that covers failures: a failure takes links, sessions and switches away. It adds no session and relaxes no filter,
so each route that a switch can hold after any set of failures, or while BGP converges, came along a walk whose every
step was permitted in the intact fabric. Those walks are what is followed here. If none of them goes down and then up,
no forwarding table can, in any state; the same holds for the buffer dependencies in `buffers`.

Loop detection is used only where it must work: an AS number that all members of a class share, or that of a class's
only member, stops a second visit. Members with AS numbers of their own may be visited again, as another member.
The work grows with the number of classes and the length of policies, not with the number of switches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.proof.invariants.policy import STOPS, Policy, Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.invariants.policy import Clause, Stance
    from fabricc.proof.invariants.prefixes import Block

SELF, BELOW, ABOVE, OUTSIDE = "self", "below", "above", "outside"
_OPPOSITE = {"up": "down", "down": "up", "peer": "peer"}
_LEARNED = {"up": BELOW, "down": ABOVE, "peer": ABOVE}
"""Direction of the announcement -> where the receiver has it from; a switch of its own tier counts as one above it."""


@dataclass(slots=True)
class Kind:
    """A class of switches.

    Attributes:
        policy: that of the member first in order.
        members: number of members; `names`: the first few.
        asns: AS numbers of its members.
        neighbors: direction -> classes there.
        toward: direction and family -> its treatment of neighbors there, for the requested ones.
    """

    policy: Policy
    members: int = 0
    names: list[str] = field(default_factory=list)
    asns: set[int] = field(default_factory=set)
    neighbors: dict[str, set[int]] = field(default_factory=lambda: {each: set() for each in _LEARNED})
    toward: dict[tuple[str, int], list[Stance]] = field(default_factory=dict)

    @property
    def label(self) -> int | None:
        """The AS number that stops a second visit, or None when members have their own."""
        return next(iter(self.asns)) if len(self.asns) == 1 else None

    def __str__(self) -> str:
        more = f" and {self.members - 1} more like it" if self.members > 1 else ""
        return self.policy.name + more


class State(NamedTuple):
    """A class that holds an announcement; `sender` is the class it came from, -1 for its own."""

    kind: int
    learned: str
    sender: int
    communities: frozenset[str]
    labels: frozenset[int]


class Valley(NamedTuple):
    """A class that passes up (or to its peer) what it learned from there; `clause` let it pass."""

    kind: int
    exports: str
    clause: Clause | None
    prefix: Block


Channel = tuple[int, int]
"""Links that lead from switches of one class to switches of another."""


@dataclass(slots=True)
class Spread:
    """The result of following every announcement.

    Attributes:
        dependencies: channel -> channels that its traffic can go on to.
        holders: (origin, holder, sender) that have the origin's prefixes; `refused`: those where one family or
            one kind of session did not get it.
        covering: classes that accept from above a route that covers their own prefixes.
    """

    dependencies: dict[Channel, set[Channel]] = field(default_factory=dict)
    valleys: dict[tuple[int, str, int], Valley] = field(default_factory=dict)
    holders: set[tuple[int, int, int, Block]] = field(default_factory=set)
    refused: set[tuple[int, int, int, Block]] = field(default_factory=set)
    covering: dict[int, tuple[Block, Block]] = field(default_factory=dict)


def follow_all(kinds: list[Kind]) -> Spread:
    """Follow the announcements of every class."""
    result = Spread()
    for origin, kind in enumerate(kinds):
        for prefix in kind.policy.originates:
            follow_prefix(kinds, own_route(origin), origin, prefix, result)
    return result


def own_route(kind: int) -> State:
    """Return a class that holds a prefix of its own."""
    return State(kind, SELF, -1, frozenset(), frozenset())


def follow_prefix(kinds: list[Kind], start: State, origin: int, prefix: Block, result: Spread) -> set[State]:
    """Return all states that can come to hold a prefix of state `start`; its origin is -1 if it is outside."""
    seen = {start}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if state.learned != SELF:
            result.holders.add((origin, state.kind, state.sender, prefix))
            if origin >= 0:
                _note_covering(kinds, state, origin, prefix, result)
        own = kinds[state.kind].label
        labels = state.labels if own is None else state.labels | {own}
        for direction, receivers in kinds[state.kind].neighbors.items():
            for receiver in receivers:
                if kinds[receiver].label in labels:
                    continue
                for after in _announce(kinds, state, labels, receiver, direction, origin, prefix, result):
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
    return seen


def _announce(
    kinds: list[Kind], state: State, labels: frozenset[int], receiver: int, direction: str, origin: int, prefix: Block,
    result: Spread,
) -> Iterator[State]:  # fmt: skip
    """Yield the states of `receiver` after an announcement by `state`; record dependencies and valleys."""
    sender, target = kinds[state.kind], kinds[receiver]
    route = Route(prefix, state.learned == SELF, state.communities)
    for out in _stances_toward(sender, direction, prefix.family):
        stopped = state.learned != SELF and not STOPS.isdisjoint(state.communities)
        sent = None if stopped else sender.policy.apply(out.exports, route)
        for into in _stances_toward(target, _OPPOSITE[direction], prefix.family):
            taken = None
            if sent is not None:
                arrived = Route(prefix, False, sent[0] if out.sends else frozenset())
                taken = target.policy.apply(into.imports, arrived)
            if sent is None or taken is None:
                if (
                    direction != "peer" or state.learned != ABOVE
                ):  # of two switches, the other one has it already
                    result.refused.add((origin, receiver, state.kind, prefix))
                continue
            if state.learned != SELF:
                result.dependencies.setdefault((receiver, state.kind), set()).add((state.kind, state.sender))
            if state.learned == ABOVE and direction != "down":
                key = (state.kind, out.exports, sent[1].sequence if sent[1] else 0)
                result.valleys.setdefault(key, Valley(state.kind, out.exports, sent[1], prefix))
            yield State(receiver, _LEARNED[direction], state.kind, taken[0], labels)


def _stances_toward(kind: Kind, direction: str, family: int) -> list[Stance]:
    found = kind.toward.get((direction, family))
    if found is None:
        found = [s for s in kind.policy.stances if s.direction == direction and family in s.families]
        kind.toward[direction, family] = found
    return found


def stances_outward(kind: Kind, family: int) -> list[Stance]:
    """Return how a class treats its neighbors outside the fabric."""
    return _stances_toward(kind, "external", family)


def _note_covering(kinds: list[Kind], state: State, origin: int, prefix: Block, result: Spread) -> None:
    """A route from above that covers a switch's own prefix sends its traffic back up once that prefix is gone."""
    if state.learned != ABOVE or state.kind == origin:
        return
    for own in kinds[state.kind].policy.originates:
        if prefix.length < own.length and prefix.covers(own):
            result.covering.setdefault(state.kind, (prefix, own))
