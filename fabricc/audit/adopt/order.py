"""The fabric that was found, in the order of coordinates: units as spines count them, hosts and spines as ToRs do."""

from __future__ import annotations

import re
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

from fabricc.audit.adopt.groups import Cable, FoundHost, groups_of, kinds_of, unit_of, with_sets
from fabricc.audit.adopt.outward import exits_of
from fabricc.audit.ends import Placement, placement_of
from fabricc.back.nos.ports import PortKind
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.facts.statement import Kind, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.audit.adopt.groups import FoundUnit, Group, Kinds
    from fabricc.audit.model import FoundFabric

_OTHER, _LONGEST_NAME = re.compile(r"[^a-z0-9]+"), 63
_CABLE_DESCRIPTION = re.compile(r"((?=\S*\d)\S+) ((?=\S*\d)\S+)")


@dataclass(frozen=True, slots=True)
class Order:
    """Everything that has coordinates.

    Attributes:
        groups: of the hosts.
        spines: (pod, plane) -> spines; `cores`: plane -> cores.
        cables: switch -> its cables to devices with coordinates, in the order of ports.
        left: devices that have none.
        assumed: what was taken for granted, in words.
    """

    units: tuple[FoundUnit, ...]
    groups: tuple[Group, ...]
    spines: Mapping[tuple[int, int], tuple[str, ...]]
    cores: Mapping[int, tuple[str, ...]]
    cables: Mapping[str, tuple[Cable, ...]]
    left: tuple[str, ...]
    assumed: tuple[str, ...] = ()

    def tier(self, tier: Tier) -> list[str]:
        """Return the switches of a tier."""
        if tier is Tier.TOR:
            return [name for unit in self.units for name in unit.names]
        of: Iterable[tuple[str, ...]] = (self.spines if tier is Tier.SPINE else self.cores).values()
        return [name for names in of for name in names]

    @property
    def has_peer_links(self) -> bool:
        """Return whether two ToRs are joined without spines."""
        tors = {*self.tier(Tier.TOR)}
        return not self.spines and any(
            cable.peer in tors for name in tors for cable in self.cables.get(name, ())
        )

    @property
    def hosts(self) -> list[FoundHost]:
        """All hosts, unit by unit."""
        return [host for unit in self.units for host in unit.all_hosts]


def order_of(found: FoundFabric, homes: Mapping[str, str] = MappingProxyType({})) -> Order:
    """Return the devices of a folder in the order of coordinates.

    Args:
        found: the folder.
        homes: host -> the group that another network has it in.
    """
    cables = _cables_by_device(found)
    places = found.places
    tors = sorted((name for name, place in places.items() if place.tier is Tier.TOR), key=natural_key)
    hosts, assumed = _hosts_by_tor(found, cables, tors)
    cores = _switches_by_plane(found, Tier.CORE)
    pods = _number_pods(found, cables, cores)
    seats = _tor_positions(found, cables, tors)
    units: dict[object, list[str]] = defaultdict(list)
    for name in sorted(tors, key=lambda each: (pods.get(places[each].pod, 0), seats[each])):
        number = places[name].unit
        units[name if number is None else number].append(name)
    kinds = kinds_of(found, {host.name: host for some in hosts.values() for host in some}.values(), homes)
    planes = _tor_planes(found, cables, hosts)
    made = [
        _make_unit(planes, pods.get(places[names[0]].pod, 0), names, hosts, kinds) for names in units.values()
    ]
    made.sort(key=lambda unit: unit.pod)
    made = with_sets(made, kinds)
    placed = {name for unit in made for name in (*unit.names, *(host.name for host in unit.all_hosts))}
    spines = _order_spines(found, cables, made)
    ordered = _order_cores(found, cables, cores, spines)
    placed |= {name for some in (*spines.values(), *ordered.values()) for name in some}
    left = tuple(sorted((name for name in found.devices if name not in placed), key=natural_key))
    return Order(tuple(made), groups_of(made, kinds), spines, ordered, cables, left, tuple(assumed))


def _cables_by_device(found: FoundFabric) -> dict[str, tuple[Cable, ...]]:
    cables: dict[str, list[Cable]] = defaultdict(list)
    for link in found.links:
        if link.a.device in found.devices and link.b.device in found.devices:
            cables[link.a.device].append(Cable(link.a.port, *link.b))
            cables[link.b.device].append(Cable(link.b.port, *link.a))
    return {
        name: tuple(sorted(each, key=lambda cable: natural_key(cable.port))) for name, each in cables.items()
    }


def _switches_by_plane(found: FoundFabric, tier: Tier) -> dict[int, list[str]]:
    """Return plane -> switches of a tier, in order of names."""
    groups: dict[int, list[str]] = defaultdict(list)
    for name in sorted(found.places, key=natural_key):
        if found.places[name].tier is tier:
            groups[found.places[name].plane or 0].append(name)
    return groups


def _number_pods(
    found: FoundFabric, cables: Mapping[str, tuple[Cable, ...]], cores: Mapping[int, list[str]]
) -> dict[int | None, int]:
    """Return number of a pod -> its new number: pods in the order of a core's ports."""
    pods: dict[int | None, int] = {}
    for names in cores.values():
        for name in names:
            for cable in cables.get(name, ()):
                pods.setdefault(found.places[cable.peer].pod, len(pods))
    return pods or {None: 0}


def _tor_positions(
    found: FoundFabric, cables: Mapping[str, tuple[Cable, ...]], tors: Iterable[str]
) -> dict[str, tuple[object, ...]]:
    """Return ToR -> its position among those of its plane: the first of its ports at the spines."""
    seats: dict[str, tuple[object, ...]] = {}
    for name in tors:
        above = [
            natural_key(c.peer_port) for c in cables.get(name, ()) if found.places[c.peer].tier is Tier.SPINE
        ]
        seats[name] = (min(above, default=()), natural_key(name))
    return seats


def _tor_planes(
    found: FoundFabric, cables: Mapping[str, tuple[Cable, ...]], hosts: Mapping[str, list[FoundHost]]
) -> dict[str, int]:
    """Return ToR -> its plane; if cores join planes by rail, the parts of each pod, in the order of NICs."""
    tors = [name for name, place in found.places.items() if place.tier is Tier.TOR]
    planes = {name: found.places[name].plane or 0 for name in tors}
    if not any(place.tier is Tier.CORE for place in found.places.values()):
        return planes
    part: dict[str, int] = {}
    for number, start in enumerate(tors):
        waiting = [start]
        while waiting:
            if (name := waiting.pop()) not in part:
                part[name] = number
                waiting += [
                    c.peer
                    for c in cables.get(name, ())
                    if found.places[c.peer].tier in (Tier.TOR, Tier.SPINE)
                ]
    first: dict[tuple[int | None, int], int] = {}
    for host in (host for each in hosts.values() for host in each):
        for at, cable in enumerate(host.cables):
            key = found.places[cable.peer].pod, part.get(cable.peer, 0)
            first[key] = min(at, first.get(key, at))
    ordered: dict[int | None, list[int]] = defaultdict(list)
    for pod, number in sorted(first, key=lambda key: first[key]):
        ordered[pod].append(number)
    if len({len(each) for each in ordered.values()}) != 1:
        return planes
    return {
        name: ordered[pod].index(part[name])
        if part[name] in ordered.get(pod := found.places[name].pod, ())
        else plane
        for name, plane in planes.items()
    }


def _make_unit(
    planes: Mapping[str, int], pod: int, names: list[str], hosts: Mapping[str, list[FoundHost]], kinds: Kinds
) -> FoundUnit:
    tors: dict[int, list[str]] = defaultdict(list)
    for name in names:
        tors[planes[name]].append(name)
    every = {host.name: host for name in names for host in hosts.get(name, ())}
    return unit_of(
        pod, {plane: tuple(each) for plane, each in sorted(tors.items())}, list(every.values()), kinds
    )


def _order_spines(
    found: FoundFabric,
    cables: Mapping[str, tuple[Cable, ...]],
    units: Iterable[FoundUnit],
) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the spines of each pod and plane in the order of a ToR's uplinks; those unknown to the first unit last."""
    spines: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    for unit in units:
        for plane, tors in unit.tors.items():
            for tor in tors:
                for cable in cables.get(tor, ()):
                    if found.places[cable.peer].tier is Tier.SPINE:
                        spines[unit.pod, plane].setdefault(cable.peer)
    return {key: tuple(names) for key, names in sorted(spines.items())}


def _order_cores(
    found: FoundFabric,
    cables: Mapping[str, tuple[Cable, ...]],
    cores: Mapping[int, list[str]],
    spines: Mapping[tuple[int, int], tuple[str, ...]],
) -> dict[int, tuple[str, ...]]:
    """Return the cores of each plane in the order of the spines' uplinks."""
    ordered: dict[int, dict[str, None]] = {plane: {} for plane in cores}
    for names in spines.values():
        for name in names:
            for cable in cables.get(name, ()):
                if (place := found.places[cable.peer]).tier is Tier.CORE:
                    ordered.setdefault(place.plane or 0, {}).setdefault(cable.peer)
    return {plane: tuple(names) for plane, names in sorted(ordered.items())}


def _hosts_by_tor(
    found: FoundFabric, cables: Mapping[str, tuple[Cable, ...]], tors: Iterable[str]
) -> tuple[dict[str, list[FoundHost]], list[str]]:
    """Return ToR -> its hosts; without any in the folder, those of descriptions, else one per open port."""
    hosts: dict[str, list[FoundHost]] = defaultdict(list)
    known = [name for name, device in found.devices.items() if device.kind is Kind.HOST and name in cables]
    if known:
        for name in sorted(known, key=natural_key):
            host = FoundHost(name, cables[name])
            for tor in dict.fromkeys(cable.peer for cable in host.cables):
                hosts[tor].append(host)
        return hosts, []
    described: dict[str, list[Cable]] = defaultdict(list)
    silent = 0
    outward = {(way.switch, way.port) for way in exits_of(found)}
    for tor in tors:
        for port, description in _open_ports(placement_of(found.devices[tor]), cables.get(tor, ())):
            if (tor, port) in outward:
                continue
            match = _CABLE_DESCRIPTION.fullmatch(description)
            name, own = match.groups() if match else (f"{tor}-{port}", "rail0")
            silent += match is None
            described[name.lower()].append(Cable(own, tor, port))
    named = dict(zip(described, _host_names(described), strict=True))
    for name, each in ((named[key], cables_there) for key, cables_there in described.items()):
        ordered = tuple(sorted(each, key=lambda cable: natural_key(cable.port)))
        host = FoundHost(name, ordered, assumed=silent > 0, described=silent == 0)
        for tor in dict.fromkeys(cable.peer for cable in ordered):
            hosts[tor].append(host)
    words = (
        [f"The folder holds no files of hosts: {len(described):,} are taken from the open ports of ToRs."]
        if described
        else []
    )
    if silent:
        words.append(f"{silent:,} of these ports do not name their host: each counts as a host of its own.")
    return hosts, words


def _host_names(names: Iterable[str]) -> Iterator[str]:
    """Yield for each name a different one that a spec accepts: lower-case letters, digits and inner hyphens."""
    taken: set[str] = set()
    for name in names:
        plain = _OTHER.sub("-", name).strip("-")
        if plain in taken or not 0 < len(plain) <= _LONGEST_NAME:
            plain = f"host-{crc32(name.encode()):08x}"
        taken.add(plain)
        yield plain


def _open_ports(device: Placement, cables: Iterable[Cable]) -> list[tuple[str, str]]:
    """Return the ports of a ToR that may lead to hosts, with their descriptions, in order.

    A member of a bundle serves hosts if the bundle does, and if no other member is a link to a known device.
    """
    taken = {cable.port for cable in cables}
    serving = {
        member
        for bundle, members in device.bundles().items()
        if taken.isdisjoint(members) and bundle != device.facts.get("mlag/peer_link")
        if _serves_hosts(device, bundle)
        for member in members
    }
    found = []
    for port, values in device.ports.items():
        if port in taken or values.get("enabled") == "false" or device.kind(port) is not PortKind.PORT:
            continue
        if port in serving or _serves_hosts(device, port):
            found.append((port, str(values.get("description", ""))))
    return sorted(found, key=lambda each: natural_key(each[0]))


def _serves_hosts(device: Placement, port: str) -> bool:
    """Return whether a port or bundle has an address, bridges, or is in a segment."""
    values = device.ports.get(port, {})
    return any(device.addresses(port)) or "switchport" in values or f"evpn/port[{port}]" in device.facts
