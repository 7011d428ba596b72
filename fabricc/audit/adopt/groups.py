"""Group hosts as a spec does: each group in its own units, or sharing the ToRs of another group.

Hosts are of one kind if they have the same number of ports of the same speeds in the same segment, and their files
state the same system, GPUs and class. Nothing else in a file counts, so hosts with manual changes stay with the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.model import FoundFabric
    from fabricc.fabric.facts import Value

_NIC = re.compile(r"(.*\d)(?:[a-z]|f\d+(?:np\d+)?|np\d+)")
_STEM = re.compile(r"(?<![a-z])([a-z]+)-?\d+")  # begins where a word does, or a long one costs its square
_GPUS = "nccl/socket_ifname"
_TELLING = ("apply/system", "roce/procedure", "qos/rdma_dscp", _GPUS)
NOBODY = -1
"""The kind of hosts that a unit of border leaves has."""


class Cable(NamedTuple):
    """A cable as one of its ends sees it."""

    port: str
    peer: str
    peer_port: str


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host: in the folder, or only known by ports of ToRs.

    Attributes:
        cables: its ports in order, each with ToR and port there.
        assumed: known only by ports reserved for it; `described`: known by descriptions.
    """

    name: str
    cables: tuple[Cable, ...]
    assumed: bool = False
    described: bool = False

    @property
    def nics(self) -> int:
        """NICs, by the names of their ports."""
        return len(
            {match[1] if (match := _NIC.fullmatch(cable.port)) else cable.port for cable in self.cables}
        )

    @property
    def tors(self) -> tuple[str, ...]:
        """The ToRs that it is on."""
        return tuple(dict.fromkeys(cable.peer for cable in self.cables))


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """ToRs with common hosts, by plane in the order of their spines' ports; hosts by the first ToR's ports.

    Attributes:
        kind: of its own hosts; `NOBODY` of a unit of border leaves.
        guests: kind -> hosts of other groups, in the order of their slots.
    """

    pod: int
    tors: Mapping[int, tuple[str, ...]]
    hosts: tuple[FoundHost, ...]
    kind: int = 0
    guests: Mapping[int, tuple[FoundHost, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its ToRs."""
        return tuple(name for tors in self.tors.values() for name in tors)

    @property
    def all_hosts(self) -> tuple[FoundHost, ...]:
        """Return its own hosts, then those of other groups."""
        return (*self.hosts, *(host for guests in self.guests.values() for host in guests))


class Kinds(NamedTuple):
    """The host groups of a folder.

    Attributes:
        of: host -> its kind; `homes`: kind -> the group that another network has these hosts in, "" for none.
        gpus: kinds with GPUs.
    """

    of: Mapping[str, int]
    homes: Mapping[int, str]
    gpus: frozenset[int]


def kinds_of(found: FoundFabric, hosts: Iterable[FoundHost], homes: Mapping[str, str]) -> Kinds:
    """Return the kind of each host, numbered in the order of names.

    Args:
        found: the folder.
        hosts: those with a place.
        homes: host -> the group that another network has it in.
    """
    of: dict[str, int] = {}
    numbers: dict[object, int] = {}
    known: dict[int, str] = {}
    gpus: set[int] = set()
    for host in sorted(hosts, key=lambda each: natural_key(each.name)):
        device = found.devices.get(host.name)
        home = homes.get(host.name, "")
        described = _kind_of(found, host, device.reading.facts if device else {})
        number = numbers.setdefault((home, None if host.assumed else described), len(numbers))
        of[host.name], known[number] = number, home
        if device is not None and _GPUS in device.reading.facts:
            gpus.add(number)
    return Kinds(of, known, frozenset(gpus))


def _kind_of(found: FoundFabric, host: FoundHost, facts: Mapping[str, Value]) -> tuple[object, ...]:
    """Return the properties that decide the kind of a host."""
    ports = []
    for cable in host.cables:
        tor = found.devices[cable.peer].reading.facts
        leaves = (
            f"interface[{cable.peer_port}]/speed_gbps",
            f"evpn/port[{cable.peer_port}]",
        )
        ports.append(tuple(tor.get(leaf) for leaf in leaves))
    return (
        host.nics, len(host.tors), *sorted(ports, key=repr), *(facts.get(path) for path in _TELLING)
    )  # fmt: skip


def unit_of(
    pod: int, tors: Mapping[int, tuple[str, ...]], hosts: Sequence[FoundHost], kinds: Kinds
) -> FoundUnit:
    """Return the unit of some ToRs: hosts on the first ports are its own, in slots by port; others share the ToRs."""
    names = [name for each in tors.values() for name in each]
    by_kind: dict[int, list[FoundHost]] = defaultdict(list)
    for host in sorted(hosts, key=lambda each: _first_unit_port(each, names)):
        by_kind[kinds.of[host.name]].append(host)
    if not by_kind:
        return FoundUnit(pod, tors, (), NOBODY)
    own, *others = sorted(by_kind, key=lambda kind: min(_first_port(host) for host in by_kind[kind]))
    guests = {kind: tuple(_guest_slots(by_kind[kind], names)) for kind in others}
    return FoundUnit(pod, tors, tuple(_own_slots(by_kind[own], names)), own, guests)


def _first_port(host: FoundHost) -> tuple[object, ...]:
    return min(natural_key(cable.peer_port) for cable in host.cables)


def _first_unit_port(host: FoundHost, names: Sequence[str]) -> tuple[object, ...]:
    """Return the first of its ports on the ToRs of its unit."""
    ports = [(names.index(cable.peer), natural_key(cable.peer_port)) for cable in host.cables]
    return min(port for _, port in ports), min(ports)


def _own_slots(hosts: Sequence[FoundHost], names: Sequence[str]) -> list[FoundHost]:
    """Return a unit's own hosts in the order of slots: one set of ToRs after another."""
    if all(len(host.tors) == len(names) for host in hosts):
        return list(hosts)
    return sorted(hosts, key=lambda host: (min(map(names.index, host.tors)), _first_unit_port(host, names)))


def _guest_slots(hosts: Sequence[FoundHost], names: Sequence[str]) -> list[FoundHost]:
    """Return hosts of other groups in the order of slots: one on each set of ToRs in turn."""
    seated: dict[int, list[FoundHost]] = defaultdict(list)
    for host in hosts:
        seated[min(map(names.index, host.tors))].append(host)
    return [
        host
        for _, _, host in sorted(
            ((number, first, host) for first, each in seated.items() for number, host in enumerate(each)),
            key=lambda place: place[:2],
        )
    ]


def with_sets(units: Sequence[FoundUnit], kinds: Kinds) -> list[FoundUnit]:
    """Return the units in the order of coordinates: sets of ToRs that form one unit, and border leaves in the same way.

    A unit has as many ToRs as one of hosts with GPUs; in racks hosts have a unit for each set.
    """
    leading = next((unit for unit in units if unit.kind in kinds.gpus), units[0])
    wide = len(leading.names)
    racks = any(len(host.cables) // len(host.tors) == host.nics for host in leading.hosts[:1])
    found: list[FoundUnit] = []
    for unit in units:
        last = found[-1] if found else None
        if (
            last is None
            or (last.kind, last.pod) != (unit.kind, unit.pod)
            or unit.kind in kinds.gpus
            or (racks and unit.kind != NOBODY)
            or len(last.names) + len(unit.names) > wide
        ):
            found.append(unit)
            continue
        planes = sorted({*last.tors, *unit.tors})
        tors = {plane: (*last.tors.get(plane, ()), *unit.tors.get(plane, ())) for plane in planes}
        if unit.kind == NOBODY:
            found[-1] = FoundUnit(unit.pod, tors, (), NOBODY)
        else:
            found[-1] = unit_of(unit.pod, tors, (*last.all_hosts, *unit.all_hosts), kinds)
    return found


class Group(NamedTuple):
    """A group of hosts.

    Attributes:
        name: its name in a spec; `home`: whether another network has these hosts under that name.
        units: number of a unit -> its hosts of this group, in the order of their slots.
        beside: name of the group that owns the units, "" for its own.
        gpus: whether they have GPUs.
    """

    name: str
    home: bool
    units: Mapping[int, tuple[FoundHost, ...]]
    beside: str
    gpus: bool

    @property
    def hosts(self) -> tuple[FoundHost, ...]:
        """All of them."""
        return tuple(host for hosts in self.units.values() for host in hosts)


def groups_of(units: Sequence[FoundUnit], kinds: Kinds) -> tuple[Group, ...]:
    """Return the host groups: groups with their own units first, then the groups that share those units."""
    places: dict[tuple[int, int], dict[int, tuple[FoundHost, ...]]] = defaultdict(dict)
    for number, unit in enumerate(units):
        if unit.hosts:
            places[unit.kind, NOBODY][number] = unit.hosts
        for kind, guests in unit.guests.items():
            places[kind, unit.kind][number] = guests
    ordered = sorted(places, key=lambda key: key[1] != NOBODY)
    names = _name_groups(ordered, places, kinds)
    return tuple(
        Group(names[key], bool(kinds.homes[key[0]]), places[key],
              "" if key[1] == NOBODY else names[key[1], NOBODY], key[0] in kinds.gpus)
        for key in ordered
    )  # fmt: skip


def _name_groups(
    keys: Sequence[tuple[int, int]],
    places: Mapping[tuple[int, int], Mapping[int, tuple[FoundHost, ...]]],
    kinds: Kinds,
) -> dict[tuple[int, int], str]:
    """Return a name for each group: its own, else the unique word in the names of its hosts, else a default."""
    stems = {
        key: {stem for hosts in places[key].values() for host in hosts for stem in _name_stems(host.name)}
        for key in keys
    }
    names: dict[tuple[int, int], str] = {}
    for key in keys:
        others = {stem for other in keys if other != key for stem in stems[other]}
        own = sorted(stems[key] - others - {"host"})
        usual = "gpus" if key[0] in kinds.gpus or not names else "more"
        stem = kinds.homes[key[0]] or (own[0] if len(stems[key]) == 1 and own else usual)
        taken = set(names.values())
        names[key] = next(name for name in _numbered_names(stem) if name not in taken)
    return names


def _numbered_names(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}{number}" for number in range(2, 1000))


def _name_stems(name: str) -> list[str]:
    """Return the last word of a name that a number follows."""
    return _STEM.findall(name)[-1:]
