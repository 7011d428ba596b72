"""Further output of `fabricc plan` for any fabric: cables, assumptions, free room, effects of a repinning."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.catalog.figures import Draw, total_draw
from fabricc.catalog.model import Power
from fabricc.compiler.plan.host_facts import host_facts
from fabricc.review.diff.compare import application_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableKind, Switch
    from fabricc.front.planning.topology.layout import Room
    from fabricc.front.spec.model import ClusterSpec

    _Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]


def repinned_tables(compiled: Compiled) -> Iterator[_Table]:
    """Yield the pins that a repinning changes; what it touches is a finding."""
    if compiled.repinned is not None and compiled.repinned.pins:
        rows = [(name, old, new) for name, (old, new) in compiled.repinned.pins.items()]
        yield "Repinned", ("pin", "from", "to"), rows


def room_table(rooms: Iterable[Room]) -> _Table:
    """Return what is in use of what each pin allows."""
    rows = [(room.pin, room.what, room.used, room.room, room.room - room.used) for room in rooms]
    return "Room for growth", ("pin", "of what", "in use", "room", "left"), rows


def application_tables(samples: Iterable[Switch]) -> Iterator[_Table]:
    """Return how each kind of switch applies typical changes, for systems where that matters beyond the facts."""
    rows = dict.fromkeys(
        (
            switch.tier.value,
            switch.model.title,
            f"{switch.nos} {switch.release}",
            change,
            application_words(way),
        )
        for switch in samples
        for change, way in back_ends.typical_applications(switch)
    )
    if rows:
        yield "How changes are applied", ("tier", "model", "system", "change", "way"), list(rows)


def cable_table(counts: Mapping[str, int], kinds: Mapping[str, CableKind]) -> _Table:
    """Return the cables of each kind that there are."""
    rows = [
        (kind, counts[f"{kind}_cables"], cable.medium, cable.length_m)
        for kind, cable in kinds.items()
        if counts.get(f"{kind}_cables")
    ]
    return "Cables", ("link", "cables", "medium", "length, m"), rows


def power_by_tier(fabric: Fabric) -> dict[str, Draw]:
    """Return the power of the switches of each tier, and of the hosts of this network."""
    counts = fabric.counts()
    found = {
        f"{tier.value}s": total_draw([(plan.model.power or Power(), counts[f"{tier.value}s"])])
        for tier, plan in fabric.tiers.items()
    }
    units, guests = fabric.units.values(), fabric.guests.keys()
    own = ((fabric.host_models[unit.group], len(set(unit.hosts.values()) - guests)) for unit in units)
    hosts = total_draw((model.power or Power(), number) for model, number in own)
    if (oob := fabric.out_of_band.switches) is not None:
        above = [(oob.aggregation.model, len(oob.aggregates))] if oob.aggregation is not None else []
        carrying = [(oob.bank.model, len(oob.numbers)), *above]
        found["management switches"] = total_draw(
            (model.power or Power(), number) for model, number in carrying
        )
    return found | ({"hosts": hosts} if hosts.devices else {})


def power_table(fabric: Fabric) -> _Table:
    """Return the same as a table; unknown figures are marked, not guessed."""
    rows = [
        (
            what,
            draw.devices,
            *_known_power(draw.typical_w, draw.typical_of),
            *_known_power(draw.maximum_w, draw.maximum_of),
        )
        for what, draw in power_by_tier(fabric).items()
    ]
    head = ("of", "devices", "typical, W", "known of", "maximum, W", "known of")
    return "Power without optics (the bill of materials counts them)", head, rows


def _known_power(watts: float, number: int) -> tuple[object, int]:
    return watts if number else "-", number


def assumed_table(spec: ClusterSpec) -> _Table:
    """Return what the planner took, and for which key."""
    rows = [
        (path, value if isinstance(value, str) else json.dumps(value))
        for path, value in spec.assumptions.items()
    ]
    return "Assumed, because the spec does not state it", ("key", "value"), rows


def host_facts_tables(fabric: Fabric, spec: ClusterSpec) -> Iterator[_Table]:
    """Yield a table for each reason why facts of hosts are assumed, with the keys that settle them.

    A key of the catalog is shown as `ports_per_nic of hosts.dgx-h100`, so that 80 columns are enough.
    """
    rows: dict[str, list[tuple[str, str, str, str]]] = {}
    for fact in host_facts(fabric, spec):
        model, _, leaf = fact.key.rpartition(".")
        key = f"{leaf} of {model}" if model.startswith(("hosts.", "nics.")) else fact.key
        rows.setdefault(fact.reason, []).append((fact.model, fact.fact, fact.value, key))
    for reason, found in rows.items():
        yield f"Assumed about hosts: {reason}", ("model", "fact", "value", "key"), found


def growth_summary(compiled: Compiled, rooms: Iterable[Room]) -> dict[str, object]:
    """Return the same as JSON."""
    found: dict[str, object] = {"room": [room._asdict() for room in rooms]}
    if compiled.repinned is not None:
        touched = dataclasses.asdict(compiled.repinned.touched)
        found["repinned"] = {"pins": dict(compiled.repinned.pins), "touched": touched}
    return found
