"""Find the fewest pins of the lock to change so that a spec that outgrew it can be planned."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol, TypeVar

from fabricc.base.values import dataclass, replace
from fabricc.front.planning.identity.touched import Touched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.front.spec.lock import Lock


class Planned(Protocol):
    """The result of planning a spec: a fabric, or findings that explain why there is none, and the lock it needs."""

    @property
    def fabric(self) -> object | None:
        """None when it cannot be planned."""

    @property
    def lock(self) -> Lock:
        """The lock as it should be."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what was found."""


P = TypeVar("P", bound=Planned)


@dataclass(frozen=True, slots=True)
class Repinned:
    """The result of a repinning.

    Attributes:
        pins: name of a pin -> (its number in the lock, its new one), those that differ.
        touched: which of the devices that the old pins have room for become another.
        asked: the requested pins; empty for the fewest that suffice.
        enough: False when the requested pins do not suffice and nothing is planned; `pins` then has those that do.
    """

    pins: Mapping[str, tuple[int, int]]
    touched: Touched
    asked: tuple[str, ...] = ()
    enough: bool = True

    @property
    def changes(self) -> str:
        """`host from 32 to 64, tor_up_cage from 16 to 32`."""
        return ", ".join(f"{name} from {old} to {new}" for name, (old, new) in self.pins.items())


def minimal_sets(items: Iterable[str], suffices: Callable[[frozenset[str]], bool]) -> list[frozenset[str]]:
    """Return every set of items that suffices while no proper subset of it does, the smallest first.

    All items together must suffice, and more must never be worse. The sets are the minimal hitting sets of the
    conflicts (items of which one at least must go), found breadth first: R. Reiter, "A theory of diagnosis from first
    principles", Artificial Intelligence 32 (1987), section 4.
    """
    every = frozenset(items)
    found: list[frozenset[str]] = []
    conflicts: list[frozenset[str]] = []
    queue, seen = deque([frozenset[str]()]), {frozenset[str]()}
    while queue:
        chosen = queue.popleft()
        if any(smaller <= chosen for smaller in found):
            continue
        if suffices(chosen):
            found.append(chosen)
            continue
        conflict = next((known for known in conflicts if not known & chosen), None)
        if conflict is None:
            conflict = _find_conflict(every, chosen, suffices)
            conflicts.append(conflict)
        for item in sorted(conflict):
            if (larger := chosen | {item}) not in seen:
                seen.add(larger)
                queue.append(larger)
    return found


def _find_conflict(
    every: frozenset[str], chosen: frozenset[str], suffices: Callable[[frozenset[str]], bool]
) -> frozenset[str]:
    """Items outside of `chosen` that cannot all stay, and of which each is needed for that."""
    kept = every - chosen
    for item in sorted(kept):
        if not suffices(every - (kept - {item})):
            kept -= {item}
    return kept


def find_repin(
    lock: Lock, asked: Sequence[str], plan: Callable[[Lock], P], touched: Callable[[P], Touched]
) -> tuple[P, Repinned | None]:
    """Return the plan of a spec that may change pins, and the changes; None if no change of pins makes it possible.

    Args:
        lock: the lock as it is.
        asked: the pins to choose afresh, no other changes; empty for the fewest that suffice, and among several such
            sets that which touches least: GPUs, then devices, cables and addresses.
        plan: the planner; pins that its lock lacks are chosen, the others are kept or it finds an error.
        touched: what of the fabric that the lock stands for becomes another by a plan.
    """
    plans: dict[frozenset[str], P] = {}

    def without(keys: frozenset[str]) -> P:
        if keys not in plans:
            kept = {name: value for name, value in lock.strides.items() if name not in keys}
            plans[keys] = plan(replace(lock, strides=kept))
        return plans[keys]

    def suffices(keys: frozenset[str]) -> bool:
        planned = without(keys)
        pins = planned.lock.strides
        stay = all(pins.get(name, old) == old for name, old in lock.strides.items() if name not in keys)
        return planned.fabric is not None and stay

    def outcome(keys: frozenset[str], *, enough: bool = True) -> Repinned:
        planned = without(keys)
        pins = planned.lock.strides
        changed = {
            name: (old, pins[name])
            for name, old in sorted(lock.strides.items())
            if pins.get(name, old) != old
        }
        return Repinned(changed, touched(planned) if changed else Touched(), tuple(asked), enough)

    wanted = frozenset(asked)
    if asked and suffices(wanted):
        return without(wanted), outcome(wanted)
    everything = frozenset(lock.strides)
    most = [everything, *(everything - {name} for name in sorted(everything))]
    free = next(
        (keys for keys in most if suffices(keys)), None
    )  # a pin may be needed that would be chosen otherwise
    if free is None:
        return without(everything), None
    sets = minimal_sets(free, suffices)
    options = {keys: outcome(keys, enough=not asked) for keys in sets}
    best = min(options, key=lambda keys: (options[keys].touched.weight, len(keys), sorted(keys)))
    return without(wanted if asked else best), options[best]
