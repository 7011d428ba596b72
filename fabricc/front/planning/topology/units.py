"""Assign coordinates to units and slots to hosts; new ones take numbers that were never used before."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.fabric.shape import GUEST_UNITS, Attachment, Unit
from fabricc.front.planning.topology.attachments import find_leading_group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.catalog.model import HostModel
    from fabricc.front.spec.model import ClusterSpec, HostGroup


BORDER = "tors.border"
"""Name in the lock for the units of border leaves, which no host group can have."""


@dataclass(frozen=True, slots=True)
class Identities:
    """Units by coordinate, each before the guests on its ToRs, and the lines that the lock has to keep."""

    units: dict[int, Unit]
    locked_units: dict[str, int]
    locked_hosts: dict[str, tuple[int, int]]

    @property
    def present(self) -> int:
        """Units with ToRs, up to the highest coordinate."""
        return max(unit.home for unit in self.units.values()) + 1

    @property
    def places(self) -> int:
        """Units with ToRs."""
        return sum(1 for unit in self.units.values() if unit.beside is None)

    @property
    def guests(self) -> int:
        """Units of guests, up to the highest coordinate that was ever assigned."""
        return max((0, *(number - GUEST_UNITS + 1 for number in self.locked_units.values())))


@dataclass(slots=True)
class _Memory:
    """The lock's identities while new ones are added."""

    units: dict[str, int]
    hosts: dict[str, tuple[int, int]]
    every_unit: bool
    prefix: str
    width: Digits
    pods: Pods
    names: Mapping[str, str]
    free: int = 0
    used: set[int] = field(default_factory=set)
    slots: dict[int, set[int]] = field(default_factory=dict)

    def unit(self, key: str, named: bool) -> int:
        """Return the coordinate of a unit: the remembered one, or the lowest never used."""
        if key in self.units:
            return self.units[key]
        coordinate = next(
            number for number in count(self.free) if number not in self.used and self.pods.holds(number)
        )
        self.used.add(coordinate)
        self.free = coordinate + 1
        if named or self.every_unit:
            self.units[key] = coordinate
        return coordinate

    def guest(self, key: str) -> int:
        """Return the coordinate of a unit of guests: the remembered one, or one never assigned."""
        if key not in self.units:
            self.units[key] = max(GUEST_UNITS - 1, *self.units.values()) + 1
        return self.units[key]

    def name(self, coordinate: int) -> str:
        """Return the generated name of a unit, or the one given in its place."""
        computed = f"{self.prefix}{coordinate + 1:0{self.width.unit}d}"
        return self.names.get(computed, computed)

    def generate_names(self, unit: str, hosts: int) -> dict[int, str]:
        """Slots and generated names of the counted hosts of a unit."""
        return self.name_hosts(f"{unit}-host", hosts)

    def name_hosts(self, stem: str, hosts: int) -> dict[int, str]:
        """Return slots and names of hosts: a stem and the number of each, or the name given in its place."""
        computed = {slot: f"{stem}{slot + 1:0{self.width.host}d}" for slot in range(hosts)}
        if not self.names:
            return computed
        return {slot: self.names.get(name, name) for slot, name in computed.items()}

    def slot(self, host: str, unit: int) -> int:
        """Return the slot of a named host in a unit: the remembered one, or the lowest never used."""
        where = self.hosts.get(host)
        if where is not None and where[0] == unit:
            return where[1]
        taken = self.slots.setdefault(unit, set())
        slot = next(number for number in count() if number not in taken)
        taken.add(slot)
        self.hosts[host] = (unit, slot)
        return slot


@dataclass(frozen=True, slots=True)
class Pods:
    """The numbers of units of pods that the spec lists, each of which has `stride` coordinates."""

    sizes: tuple[int, ...]
    stride: int

    def holds(self, coordinate: int) -> bool:
        """Return whether a unit may have the coordinate: any where none are listed, and any beyond those that are."""
        if not self.sizes or coordinate >= len(self.sizes) * self.stride:
            return True
        pod, place = divmod(coordinate, self.stride)
        return place < self.sizes[pod]


@dataclass(frozen=True, slots=True)
class Digits:
    """Digits of the numbers in generated names: enough for the capacity, so that names sort in topological order."""

    unit: int
    host: int


def capacity_units(spec: ClusterSpec, hosts: Sequence[HostModel], attached: Sequence[Attachment]) -> int:
    """Units that hold the declared capacity: those present, and growth in units of the smallest group with GPUs.

    0 where none is declared. Hosts that are not on the rails are no part of the capacity of `gpus`.

    Args:
        spec: the spec.
        hosts: host group index -> model.
        attached: likewise, how its hosts are attached.
    """
    if spec.gpus.capacity is None:
        return 0
    groups = spec.gpus.groups  # border leaves are attached as a group that the spec does not have
    own = [index for index, each in enumerate(attached[: len(groups)]) if each.beside is None]
    present = {index: units_of(groups[index], attached[index].slots) for index in own}
    room = sum(count * attached[index].slots for index, count in present.items() if not groups[index].alone)
    step = min(attached[index].slots for index in ([i for i in own if hosts[i].gpus] or own))
    leaves = len(border_units(spec, hosts, attached))
    return sum(present.values()) + leaves - (-max(0, spec.gpus.capacity - room) // step)


def units_of(group: HostGroup, slots: int) -> int:
    """Units (or racks) that the hosts of a group fill at most, the last one perhaps in part."""
    if largest := whole_rack_size(group, slots):
        return -(-len(set(group.rack_of.values())) * largest // slots)
    return len(group.racks) or -(-group.hosts // slots)


def whole_rack_size(group: HostGroup, slots: int) -> int:
    """Hosts of the largest rack where units hold whole racks of it, so that smaller racks stay whole too; else 0."""
    largest = largest_rack(group)
    return largest if largest and not slots % largest else 0


def largest_rack(group: HostGroup) -> int:
    """Hosts of the largest rack of a group with rail wiring; 0 where no racks are named."""
    return max(Counter(group.rack_of.values()).values(), default=0)


def border_units(
    spec: ClusterSpec, hosts: Sequence[HostModel], attached: Sequence[Attachment]
) -> tuple[int, ...]:
    """Border leaves per plane of each of their units."""
    each = attached[find_leading_group(hosts, range(len(hosts)))].tors
    return tuple(min(each, spec.tors.border - first) for first in range(0, spec.tors.border, each))


def _name_prefix(spec: ClusterSpec) -> str:
    """Return the prefix of the computed name of a unit; its number follows."""
    return spec.unit_prefix


def retired_units(spec: ClusterSpec, names: Mapping[str, str]) -> frozenset[int]:
    """Return the coordinates of retired counted units: no other unit gets one while the spec lists them.

    Args:
        spec: the spec.
        names: computed name of a unit -> the given one.
    """
    if any(group.racks or group.host_names for group in spec.gpus.groups if group.beside is None):
        return frozenset()
    computed = {name: key for key, name in names.items()}
    pattern = re.compile(rf"{_name_prefix(spec)}(0*[1-9][0-9]{{0,5}})")
    found = (pattern.fullmatch(computed.get(name, name)) for name in spec.retired)
    return frozenset(int(match[1]) - 1 for match in found if match)


def count_digits(
    spec: ClusterSpec, attached: Sequence[Attachment], capacity: int, pins: Mapping[str, int]
) -> Digits:
    """Return the digits of numbers in names: those that the lock pins, or at least three for units and two for hosts.

    Args:
        spec: the spec.
        attached: how the hosts of each group are attached.
        capacity: units to plan for.
        pins: the lock's.
    """
    pairs = zip(spec.gpus.groups, attached, strict=True)
    units = sum(units_of(group, each.slots) for group, each in pairs if each.beside is None)
    hosts = max(each.slots for each in attached)
    return Digits(
        pins.get("unit_digits") or max(3, len(str(max(units, capacity)))),
        pins.get("host_digits") or max(2, len(str(hosts))),
    )


def assign_identities(
    spec: ClusterSpec,
    locked_units: Mapping[str, int],
    locked_hosts: Mapping[str, tuple[int, int]],
    width: Digits,
    attached: Sequence[Attachment],
    pod_stride: int | None = None,
    border: Sequence[int] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> Identities:
    """Give every unit and host of the spec its coordinate.

    A single group of counted hosts needs no memory: unit n has coordinate n. Everything named, and every unit
    of several groups or of listed pods, is remembered, also after it left the spec, so that its numbers are not given
    to another. `pod_stride`: coordinates of a pod as the lock pins them. `border`: border leaves per plane of each of
    their units, which come after those of hosts. `names`: computed name of a unit or counted host -> the given one.
    """
    groups = spec.gpus.groups
    listed = spec.spines.pods if spec.spines else ()
    memory = _Memory(
        dict(locked_units),
        dict(locked_hosts),
        every_unit=len(groups) > 1 or bool(locked_units) or bool(listed) or bool(border),
        prefix=_name_prefix(spec),
        width=width,
        pods=Pods(listed, pod_stride or max(listed, default=1)),
        names=names,
    )
    memory.used.update(number for number in memory.units.values() if number < GUEST_UNITS)
    if gone := retired_units(spec, names):
        memory.used |= gone
        memory.every_unit = True
    for unit, slot in memory.hosts.values():
        memory.slots.setdefault(unit, set()).add(slot)
    found: dict[int, Unit] = {}
    for index, (group, slots) in enumerate(zip(groups, (each.slots for each in attached), strict=True)):
        if group.beside is not None:
            continue
        if group.racks:
            _add_racks(group, index, memory, found)
        elif group.host_names:
            _add_named(group, index, memory, found, slots)
        else:
            _add_counted(group, index, memory, found, slots)
    for number in range(len(border)):
        coordinate = memory.unit(f"{BORDER}/{number}", named=True)
        before = sum(border[:number])
        found[coordinate] = Unit(coordinate, f"border{number + 1}", len(groups) + number, {}, border=before)
    for index, group in enumerate(groups):
        if group.beside is not None:
            _add_shared_hosts(group, index, memory, found, attached[index])
    ordered = sorted(found.values(), key=lambda unit: (unit.home, unit.coordinate))
    return Identities({unit.coordinate: unit for unit in ordered}, memory.units, memory.hosts)


def _add_racks(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit]) -> None:
    for rack, members in group.racks.items():
        coordinate = memory.unit(f"{group.name}/{rack}", named=True)
        slots = {memory.slot(host, coordinate): host for host in members}
        hosts = dict(sorted(slots.items())) or memory.generate_names(rack, group.hosts_per_unit)
        found[coordinate] = Unit(coordinate, rack, index, hosts)


def _add_counted(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit], slots: int) -> None:
    for number, first in enumerate(range(0, group.hosts, slots)):
        coordinate = memory.unit(f"{group.name}/{number}", named=False)
        name = memory.name(coordinate)
        hosts = memory.generate_names(name, min(slots, group.hosts - first))
        found[coordinate] = Unit(coordinate, name, index, hosts)


def _add_named(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit], slots: int) -> None:
    """Hosts listed one by one keep their places; new ones fill the free slots of the group's units in order.

    Where units hold whole racks of the largest size, a smaller rack is not split: its unit keeps a slot free.
    """
    own = {
        coordinate: number
        for number in range(-(-len(group.host_names) // slots) + len(memory.units))
        if (coordinate := memory.units.get(f"{group.name}/{number}")) is not None
    }
    places: dict[int, dict[int, str]] = {coordinate: {} for coordinate in own}
    waiting = []
    for host in group.host_names:
        unit, slot = memory.hosts.get(host, (-1, -1))
        if unit in places:
            places[unit][slot] = host
        else:
            waiting.append(host)
    numbers = count(max(own.values(), default=-1) + 1)
    order = iter(sorted(own))
    current = next(order, None)
    arriving = (
        Counter(group.rack_of[host] for host in waiting) if whole_rack_size(group, slots) else Counter()
    )
    for host in waiting:
        needed = max(1, arriving.pop(group.rack_of.get(host, ""), 1))  # of its first host: the whole rack
        while current is None or len(memory.slots.get(current, ())) + needed > slots:
            current = next(order, None)
            if current is None:
                current = memory.unit(f"{group.name}/{next(numbers)}", named=True)
                places.setdefault(current, {})
        places[current][memory.slot(host, current)] = host
    for coordinate, hosts in places.items():
        if hosts:
            name = memory.name(coordinate)
            found[coordinate] = Unit(coordinate, name, index, dict(sorted(hosts.items())))


def _add_shared_hosts(
    group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit], attached: Attachment
) -> None:
    """Add hosts on the ToRs of another group's units, in the order of these, as a unit of guests of each."""
    homes = sorted(unit.coordinate for unit in found.values() if unit.group == attached.beside)
    known = {memory.units.get(f"{group.name}/{home}", -1): home for home in homes}
    staying: dict[int, list[str]] = {home: [] for home in homes}
    waiting: list[str] = []
    for name in group.host_names:
        home = known.get(memory.hosts.get(name, (-2, 0))[0])
        (waiting if home is None else staying[home]).append(name)
    arriving, left = iter(waiting), group.hosts
    for home in homes:
        unit, key = found[home], f"{group.name}/{home}"
        if group.host_names:
            free = attached.slots - len(memory.slots.get(memory.units.get(key, -1), ()))
            names = [*staying[home], *islice(arriving, max(0, free))]
            hosts = {memory.slot(name, memory.guest(key)): name for name in names}
        else:
            here, left = min(attached.slots, left), left - min(attached.slots, left)
            hosts = memory.name_hosts(f"{unit.name}-{group.name}", here)
        if hosts:
            coordinate = memory.guest(key)
            found[coordinate] = Unit(coordinate, unit.name, index, dict(sorted(hosts.items())), beside=home)
            found[home] = replace(unit, guests=(*unit.guests, coordinate))
