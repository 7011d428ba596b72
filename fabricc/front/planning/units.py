"""Identities: which unit has which coordinate, which host which slot; new ones take numbers never used before."""

from __future__ import annotations

from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.shape import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.front.spec.model import ClusterSpec, HostGroup


@dataclass(frozen=True, slots=True)
class Identities:
    """Units by coordinate (ascending), and what the lock has to remember of them."""

    units: dict[int, Unit]
    locked_units: dict[str, int]
    locked_hosts: dict[str, tuple[int, int]]


@dataclass(slots=True)
class _Memory:
    """The lock's identities while new ones are added."""

    units: dict[str, int]
    hosts: dict[str, tuple[int, int]]
    every_unit: bool
    prefix: str
    width: Digits
    pods: Pods
    used: set[int] = field(default_factory=set)
    slots: dict[int, set[int]] = field(default_factory=dict)

    def unit(self, key: str, named: bool) -> int:
        """The coordinate of a unit: the remembered one, or the lowest never used."""
        if key in self.units:
            return self.units[key]
        start = 0 if self.pods.sizes else len(self.used)
        coordinate = next(
            number for number in count(start) if number not in self.used and self.pods.holds(number)
        )
        self.used.add(coordinate)
        if named or self.every_unit:
            self.units[key] = coordinate
        return coordinate

    def name(self, coordinate: int) -> str:
        """The generated name of a unit."""
        return f"{self.prefix}{coordinate + 1:0{self.width.unit}d}"

    def generated(self, unit: str, hosts: int) -> dict[int, str]:
        """Slots and generated names of the counted hosts of a unit."""
        return {slot: f"{unit}-host{slot + 1:0{self.width.host}d}" for slot in range(hosts)}

    def slot(self, host: str, unit: int) -> int:
        """The slot of a named host in a unit: the remembered one, or the lowest never used."""
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
        """Whether a unit may have the coordinate: any where none are listed, and any beyond those that are."""
        if not self.sizes or coordinate >= len(self.sizes) * self.stride:
            return True
        pod, place = divmod(coordinate, self.stride)
        return place < self.sizes[pod]


@dataclass(frozen=True, slots=True)
class Digits:
    """Digits of the numbers in generated names: enough for the capacity, so that names sort in topological order."""

    unit: int
    host: int


def digits(spec: ClusterSpec, pins: Mapping[str, int]) -> Digits:
    """Digits for a spec: those that the lock pins, or at least three for units and two for hosts."""
    groups = spec.gpus.groups
    units = sum(len(g.racks) or -(-(len(g.host_names) or g.hosts) // g.hosts_per_unit) for g in groups)
    hosts = max(g.hosts_per_unit for g in groups)
    return Digits(
        pins.get("unit_digits") or max(3, len(str(max(units, spec.gpus.capacity_units or 0)))),
        pins.get("host_digits") or max(2, len(str(hosts))),
    )


def identities(
    spec: ClusterSpec,
    locked_units: Mapping[str, int],
    locked_hosts: Mapping[str, tuple[int, int]],
    width: Digits,
    pod_stride: int | None = None,
) -> Identities:
    """Give every unit and host of the spec its coordinate.

    A single group of counted hosts needs no memory: unit n has coordinate n. Everything named, and every unit
    of several groups or of listed pods, is remembered, also after it left the spec, so that its numbers are not given
    to another. `pod_stride`: coordinates of a pod as the lock pins them.
    """
    groups = spec.gpus.groups
    listed = spec.spines.pods if spec.spines else ()
    memory = _Memory(
        dict(locked_units),
        dict(locked_hosts),
        every_unit=len(groups) > 1 or bool(locked_units) or bool(listed),
        prefix="su" if spec.gpus.wiring == "rail" else "rack",
        width=width,
        pods=Pods(listed, pod_stride or max(listed, default=1)),
    )
    memory.used.update(memory.units.values())
    for unit, slot in memory.hosts.values():
        memory.slots.setdefault(unit, set()).add(slot)
    found: dict[int, Unit] = {}
    for index, group in enumerate(groups):
        if group.racks:
            _racks(group, index, memory, found)
        elif group.host_names:
            _named(group, index, memory, found)
        else:
            _counted(group, index, memory, found)
    return Identities(dict(sorted(found.items())), memory.units, memory.hosts)


def _racks(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit]) -> None:
    for rack, members in group.racks.items():
        coordinate = memory.unit(f"{group.name}/{rack}", named=True)
        slots = {memory.slot(host, coordinate): host for host in members}
        hosts = dict(sorted(slots.items())) or memory.generated(rack, group.hosts_per_unit)
        found[coordinate] = Unit(coordinate, rack, index, hosts)


def _counted(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit]) -> None:
    for number, first in enumerate(range(0, group.hosts, group.hosts_per_unit)):
        coordinate = memory.unit(f"{group.name}/{number}", named=False)
        name = memory.name(coordinate)
        hosts = memory.generated(name, min(group.hosts_per_unit, group.hosts - first))
        found[coordinate] = Unit(coordinate, name, index, hosts)


def _named(group: HostGroup, index: int, memory: _Memory, found: dict[int, Unit]) -> None:
    """Hosts listed one by one keep their places; new ones fill the free slots of the group's units in order."""
    own = {
        coordinate: number
        for number in range(-(-len(group.host_names) // group.hosts_per_unit) + len(memory.units))
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
    for host in waiting:
        while current is None or len(memory.slots.get(current, ())) >= group.hosts_per_unit:
            current = next(order, None)
            if current is None:
                current = memory.unit(f"{group.name}/{next(numbers)}", named=True)
                places.setdefault(current, {})
        places[current][memory.slot(host, current)] = host
    for coordinate, hosts in places.items():
        if hosts:
            name = memory.name(coordinate)
            found[coordinate] = Unit(coordinate, name, index, dict(sorted(hosts.items())))
