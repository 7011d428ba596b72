"""What `fabricc plan` says of any fabric: cables, assumptions, the room that pins leave, what a repinning changes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import CableKind
    from fabricc.front.planning.room import Room
    from fabricc.front.spec.model import ClusterSpec

    _Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]


def repinned_tables(compiled: Compiled) -> Iterator[_Table]:
    """The pins that a repinning changes; what it touches is a finding."""
    if compiled.repinned is not None and compiled.repinned.pins:
        rows = [(name, old, new) for name, (old, new) in compiled.repinned.pins.items()]
        yield "Repinned", ("pin", "from", "to"), rows


def room_table(rooms: Iterable[Room]) -> _Table:
    """What is in use of what each pin allows."""
    rows = [(room.pin, room.what, room.used, room.room, room.room - room.used) for room in rooms]
    return "Room for growth", ("pin", "of what", "in use", "room", "left"), rows


def cable_table(counts: Mapping[str, int], kinds: Mapping[str, CableKind]) -> _Table:
    """The cables of each kind that there are."""
    rows = [
        (kind, counts[f"{kind}_cables"], cable.medium, cable.length_m)
        for kind, cable in kinds.items()
        if counts.get(f"{kind}_cables")
    ]
    return "Cables", ("link", "cables", "medium", "length, m"), rows


def assumed_table(spec: ClusterSpec) -> _Table:
    """What the planner took, and for which key."""
    rows = [(path, str(value)) for path, value in spec.assumptions.items()]
    return "Assumed, because the spec does not say", ("key", "value"), rows


def summary(compiled: Compiled, rooms: Iterable[Room]) -> dict[str, object]:
    """The same as JSON holds it."""
    found: dict[str, object] = {"room": [room._asdict() for room in rooms]}
    if compiled.repinned is not None:
        touched = dataclasses.asdict(compiled.repinned.touched)
        found["repinned"] = {"pins": dict(compiled.repinned.pins), "touched": touched}
    return found
