"""Find the fewest pins of the lock to change so that a spec that outgrew it can be planned, and count the effects.

Devices, cables and addresses that change are counted on both fabrics.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric import links
from fabricc.fabric.management import management_place
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import PortLayout, Strides, SwitchId, TierName
from fabricc.front.planning.topology import units
from fabricc.front.planning.topology.border import with_border, with_leaves
from fabricc.front.planning.topology.models import Models, UnfitError, models_of
from fabricc.front.planning.topology.shape import Sizing, size_fabric
from fabricc.front.planning.topology.spread import spread_links
from fabricc.front.planning.topology.strides import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class ChangedParts:
    """The parts of a fabric that change.

    Attributes:
        gpus: GPUs whose host, or a ToR of theirs, is renumbered or recabled.
        switches, hosts: devices with another number, address, cable or name; of a switch above, also at a far end.
        cables: cables that move at one end at least.
        links: links that stay where they are and get other addresses or AS numbers.
    """

    gpus: int = 0
    switches: int = 0
    hosts: int = 0
    cables: int = 0
    links: int = 0

    @property
    def weight(self) -> tuple[int, ...]:
        """Return the key by which two are compared: parts that carry jobs first."""
        return self.gpus, self.switches + self.hosts, self.cables, self.links

    def __str__(self) -> str:
        if not any(self.weight):
            return "nothing that is there becomes another"
        parts = [
            plural(count, noun)
            for count, noun in ((self.gpus, "GPU"), (self.hosts, "host"), (self.switches, "switch"))
            if count
        ]
        parts += [f"{plural(self.cables, 'cable')} moved"] * bool(self.cables)
        parts += [f"{plural(self.links, 'link')} readdressed"] * bool(self.links)
        return ", ".join(parts)


class Identity(Protocol):
    """Numbers that identify the devices of a fabric and follow from pins, without names."""

    def switch(self, at: SwitchId) -> Hashable:
        """Return the numbers of a switch."""

    def host(self, unit: int, slot: int) -> Hashable:
        """Return the numbers of a host that are not those of its links."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that strides give: of a switch its own (loopback, router ID), ASN and management address."""

    fabric: Fabric

    def switch(self, at: SwitchId) -> Hashable:
        """Return the number, ASN and management address of a switch."""
        fabric = self.fabric
        return (
            links.tier_number(fabric, at),
            links.switch_asn(fabric, at),
            management_place(fabric, at).address,
        )

    def host(self, unit: int, slot: int) -> Hashable:
        """Return none: a host has only the addresses of its links."""


def as_pinned(spec: ClusterSpec, catalog: Catalog, lock: Lock, after: Fabric) -> Fabric | None:
    """Return the part of the fabric `after` that fits the lock's pins, with those pins.

    The lock does not record how far its fabric had grown; what it had no room for cannot exist. None when the ports of
    today's ToRs and spines cannot be laid out as the lock pins them.
    """
    models = models_of(spec, catalog)
    sizing = _size_as_pinned(spec, models, catalog, lock)
    if sizing is None:
        return None
    strides = Strides(**{name: lock.strides.get(name, getattr(after.strides, name)) for name in NAMES})
    room = min(sizing.capacity_units, lock.strides.get("unit", sizing.capacity_units))
    attached, pod_stride = sizing.bottom.attached, lock.strides.get("units_per_pod")
    width = units.count_digits(
        spec, attached, units.capacity_units(spec, models.hosts, attached), lock.strides
    )
    leaves = units.border_units(spec, models.hosts, attached)
    known = units.assign_identities(spec, lock.units, lock.hosts, width, attached, pod_stride, leaves).units
    slots = lock.strides.get("host", sizing.shape.hosts_per_unit)
    kept = {
        coordinate: replace(
            unit,
            hosts={
                slot: name for slot, name in unit.hosts.items() if attached[unit.group].seat(slot)[1] < slots
            },
        )
        for coordinate, unit in known.items()
        if unit.home < room
    }
    pods = -(-(max((unit.home for unit in kept.values()), default=0) + 1) // sizing.shape.units_per_pod)
    before = replace(
        after,
        host_models=models.hosts,
        shape=replace(sizing.shape, pods=pods),
        strides=strides,
        units=kept,
        attachments=attached,
        tor_layouts=sizing.tor_layouts,
        tor_links=spread_links(spec, sizing, lock).links,
        spine_layout=sizing.spine_layout,
        core_layout=sizing.core_layout,
    )
    return with_leaves(spec, models, before)


def _size_as_pinned(spec: ClusterSpec, models: Models, catalog: Catalog, lock: Lock) -> Sizing | None:
    """Return the sizes with the lock's pins; a spine count that does not fit them is newer, so the pins decide it."""
    for each in (spec, replace(spec, spines=spec.spines and replace(spec.spines, count=None))):
        with suppress(UnfitError):
            return with_border(each, models, size_fabric(each, models, 1, 1, lock.strides, catalog))
    return None


def find_touched(spec: ClusterSpec, catalog: Catalog, lock: Lock, after: Fabric | None) -> ChangedParts:
    """Return how a fabric with the lock's pins differs from `after`; None is no fabric and changes nothing."""
    return ChangedParts() if after is None else compare_fabrics(as_pinned(spec, catalog, lock, after), after)


def compare_fabrics(
    before: Fabric | None, after: Fabric, was: Identity | None = None, becomes: Identity | None = None
) -> ChangedParts:
    """Return what of `before` differs in `after`; None is a fabric of which everything differs.

    Args:
        before: the fabric that the pins had room for.
        after: the fabric of today's spec.
        was: what identifies the devices of `before`; by default the numbers of its strides.
        becomes: the same of `after`.
    """
    if before is None:
        counts = after.counts()
        switches = counts["tors"] + counts["spines"] + counts["cores"]
        cables = counts["spine_cables"] + counts["core_cables"] + counts.get("peer_cables", 0)
        return ChangedParts(counts["gpus"], switches, counts["hosts"], cables, 0)
    old, new = _by_place(before), _by_place(after)
    was, becomes = was or Numbers(old), becomes or Numbers(new)
    remaining = {_reduce_switch_id(at): at for at in new.switch_ids()}
    switches, moved, readdressed = 0, 0, 0
    hosts: set[str] = set()
    behind: set[str] = set()
    for at in old.switch_ids():
        then = _links_by_port(old, at)
        there = remaining.get(_reduce_switch_id(at))
        now = _links_by_port(new, there) if there else {}
        changed = {place for place, link in then.items() if now.get(place) != link}
        for place in changed:
            direction, end, _ = then[place]
            if direction is Direction.DOWN or (direction is Direction.PEER and old.name(at) > end[0]):
                continue
            stays = place in now and now[place][1] == end
            moved, readdressed = moved + (not stays), readdressed + stays
            if direction is Direction.HOST:
                hosts.add(end[0])
        other = there is None or (old.name(at), was.switch(at)) != (new.name(there), becomes.switch(there))
        switches += other or bool(changed)
        if at.tier is TierName.TOR and (other or any(then[p][0] is not Direction.HOST for p in changed)):
            behind.update(
                unit.hosts[slot] for unit, slots, _ in links.served_slots(old, at) for slot in slots
            )
    gpus = 0
    for unit in old.units.values():
        at_unit = unit.coordinate
        hosts |= {
            name
            for slot, name in unit.hosts.items()
            if (_name_of_host(new, at_unit, slot), becomes.host(at_unit, slot))
            != (name, was.host(at_unit, slot))
        }
        gpus += len((hosts | behind) & set(unit.hosts.values())) * old.host_models[unit.group].gpus
    return ChangedParts(gpus, switches, len(hosts), moved, readdressed)


def _name_of_host(fabric: Fabric, unit: int, slot: int) -> str | None:
    return fabric.units[unit].hosts.get(slot) if unit in fabric.units else None


def _reduce_switch_id(at: SwitchId) -> tuple[int | str, ...]:
    """Return a switch without the pod and plane, which follow from its unit, rails and NIC port."""
    plane, pod = (-1, -1) if at.tier is TierName.TOR else (at.plane, at.pod)
    return at.tier.value, plane, pod, at.unit, at.index, at.nic_port


def _links_by_port(
    fabric: Fabric, at: SwitchId
) -> dict[str, tuple[Direction, tuple[str, str], tuple[str | int | None, ...]]]:
    """Port -> direction, far end, addresses of both ends with the far end's ASN."""
    names = links.port_names(fabric, at)
    return {
        names[link.slot]: (
            link.direction,
            (link.peer, link.peer_port),
            (link.local4, link.remote4, link.local6, link.remote6, link.peer_asn),
        )
        for link in links.switch_links(fabric, at)
    }


def _by_place(fabric: Fabric) -> Fabric:
    """Return the fabric with every port named by cage and part of it, the same for every NOS and every layout."""
    layouts: dict[TierName, Mapping[str, PortLayout]] = {
        TierName.TOR: {f"tor{index}": layout for index, layout in enumerate(fabric.tor_layouts)}
    }
    if fabric.shape.spines:
        layouts[TierName.SPINE] = {"spine": fabric.spine_layout}
    if fabric.core_layout is not None:
        layouts[TierName.CORE] = {"core": fabric.core_layout}
    named = {
        (fabric.tiers[tier].nos, key): tuple(f"{s.cage}/{s.child}/{s.children}" for s in layout.slots)
        for tier, group in layouts.items()
        for key, layout in group.items()
    }
    return replace(fabric, port_names=named, changes={})


class PlanResult(Protocol):
    """The result of planning a spec: a fabric, or findings that explain why there is none, and the lock it needs."""

    @property
    def fabric(self) -> object | None:
        """None if it cannot be planned."""

    @property
    def lock(self) -> Lock:
        """The lock as it should be."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what was found."""


P = TypeVar("P", bound=PlanResult)


@dataclass(frozen=True, slots=True)
class RepinResult:
    """The result of a repinning.

    Attributes:
        pins: name of a pin -> (its number in the lock, its new one), those that differ.
        touched: which of the devices that the old pins have room for become another.
        requested: the requested pins; empty for the fewest that suffice.
        enough: False when the requested pins do not suffice and nothing is planned; `pins` then has those that do.
    """

    pins: Mapping[str, tuple[int, int]]
    touched: ChangedParts
    requested: tuple[str, ...] = ()
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
    lock: Lock, requested: Sequence[str], plan: Callable[[Lock], P], touched: Callable[[P], ChangedParts]
) -> tuple[P, RepinResult | None]:
    """Return the plan of a spec that may change pins, and the changes; None if no change of pins makes it possible.

    Args:
        lock: the lock as it is.
        requested: the pins to choose again; empty for the fewest that suffice. Of several such sets, the one that
            changes the fewest GPUs, then devices, cables and addresses is chosen.
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

    def outcome(keys: frozenset[str], *, enough: bool = True) -> RepinResult:
        planned = without(keys)
        pins = planned.lock.strides
        changed = {
            name: (old, pins[name])
            for name, old in sorted(lock.strides.items())
            if pins.get(name, old) != old
        }
        return RepinResult(changed, touched(planned) if changed else ChangedParts(), tuple(requested), enough)

    wanted = frozenset(requested)
    if requested and suffices(wanted):
        return without(wanted), outcome(wanted)
    everything = frozenset(lock.strides)
    most = [everything, *(everything - {name} for name in sorted(everything))]
    free = next(
        (keys for keys in most if suffices(keys)), None
    )  # a pin may be needed that would be chosen otherwise
    if free is None:
        return without(everything), None
    sets = minimal_sets(free, suffices)
    options = {keys: outcome(keys, enough=not requested) for keys in sets}
    best = min(options, key=lambda keys: (options[keys].touched.weight, len(keys), sorted(keys)))
    return without(wanted if requested else best), options[best]
