"""Find the places of devices: networks, tiers from the hosts up, units by common hosts, pods and planes by links.

A network is a set of switches that links join; the files of their hosts contain its name. Planes of one network are not
networks of their own: their ports have the name of the network.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeVar

from fabricc.audit.ends import Placement, placement_of
from fabricc.audit.model import unlinked_fabric
from fabricc.audit.tiers import DisjointSets, Graph, connected_parts, in_order, pair_of, tiers_of
from fabricc.back import hosts as host_files
from fabricc.back.nos.ports import PortKind
from fabricc.base.numbers import is_number, natural_key
from fabricc.facts.statement import Device, Kind, Place, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

    from fabricc.audit.model import FoundFabric, Link


T = TypeVar("T", bound="Hashable")

_NIC = re.compile(r"(.*\d)(?:[a-z]|f\d+(?:np\d+)?|np\d+)")


def places_of(
    devices: Mapping[str, Device], links: Iterable[Link], placements: Mapping[str, Placement] | None = None
) -> Mapping[str, Place]:
    """Return the place of every device; for `placements` see `links_of`."""
    links = tuple(links)
    switches = {name for name, device in devices.items() if device.kind is Kind.SWITCH}
    stated = {
        name: placements[name] if placements else placement_of(devices[name]) for name in sorted(switches)
    }
    graph, tiers = tiers_of(devices, stated, links)
    tiers |= _tiers_by_sessions(devices, links)
    hosts = _host_links(devices, switches, links)
    tors = {name for name, tier in tiers.items() if tier is Tier.TOR}
    units = _tor_units(devices, stated, tors, hosts, links)
    planes = _switch_planes(graph, tiers, hosts)
    pods = _switch_pods(graph, tiers, units)
    rails = _tor_rails(hosts, tors, planes)
    found = {name: Place(Tier.HOST) for name in devices if name not in switches}
    for name, tier in tiers.items():
        found[name] = Place(tier, units.get(name), planes.get(name), pods.get(name), rails.get(name))
    for host, ends in hosts.items():
        of = next((tor for _, tor in ends if tor in tors), "")
        found[host] = Place(Tier.HOST, units.get(of), None, pods.get(of))
    return found


def _tiers_by_sessions(devices: Mapping[str, Device], links: tuple[Link, ...]) -> dict[str, Tier]:
    """Return tiers where no link is known, and sessions over bare ports join each lower switch with each upper one.

    The upper ones share an AS number or have the most sessions; each lower one has an AS number of its own.
    """
    sessions = unlinked_fabric(devices, links)
    numbers = {name: devices[name].reading.facts.get("bgp/asn") for name in sessions}
    shared = Counter(numbers.values()).most_common(1)
    most = max(sessions.values(), default=0)
    for upper in (
        {name for name, number in numbers.items() if number in dict(shared)},
        {name for name, count in sessions.items() if count == most},
    ):
        lower = sessions.keys() - upper
        alone = len({numbers[name] for name in lower}) == len(lower)
        joined = all(count >= len(lower if name in upper else upper) for name, count in sessions.items())
        if alone and joined and min(len(upper), len(lower)) >= _SEVERAL:
            return dict.fromkeys(sorted(lower), Tier.TOR) | dict.fromkeys(sorted(upper), Tier.SPINE)
    return {}


_SEVERAL = 2


def _host_links(
    devices: Mapping[str, Device], switches: Collection[str], links: Iterable[Link]
) -> dict[str, list[tuple[str, str]]]:
    """Return host -> (its port, switch) of its links, ports in order."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for link in links:
        for near, far in link.ways:
            if near.device in devices and near.device not in switches and far.device in switches:
                found[near.device].append((near.port, far.device))
    return {host: sorted(ends, key=lambda end: natural_key(end[0])) for host, ends in found.items()}


def _tor_units(
    devices: Mapping[str, Device],
    stated: Mapping[str, Placement],
    tors: Collection[str],
    hosts: Mapping[str, Iterable[tuple[str, str]]],
    links: Iterable[Link],
) -> dict[str, int]:
    """Return ToR -> its unit: ToRs with common hosts, in the folder or named by LLDP or descriptions."""
    serving: dict[str, set[str]] = defaultdict(set)
    for host, ends in hosts.items():
        serving[host] |= {tor for _, tor in ends if tor in tors}
    for link in links:
        for near, far in link.ways:
            if near.device in tors and far.device not in devices:
                serving[far.device].add(near.device)
    for name in () if hosts else tors:
        for host in _described_hosts(stated[name], devices):
            serving[host].add(name)
    sets, shared = DisjointSets(), False
    for some in serving.values():
        first, *others = sorted(some) or [""]
        shared = shared or bool(first)
        for other in others:
            sets.join(first, other)
    pairs: dict[object, str] = {}
    for name in sorted(tors):
        if (pair := pair_of(stated[name])) is not None and any(pair):
            sets.join(name, pairs.setdefault(pair, name))
            shared = True
    return _number_groups(tors, sets.root) if shared else {}


def _described_hosts(device: Placement, devices: Mapping[str, Device]) -> set[str]:
    """Return host names at the start of open ports' descriptions: words with a number that name no device."""
    found = set()
    for port, _, _, text in device.described_ends():
        first, _, rest = text.partition(" ")
        if (
            rest
            and device.kind(port) is PortKind.PORT
            and any(map(is_number, first))
            and first not in devices
        ):
            found.add(first)
    return found


def _number_groups(names: Collection[str], group: Callable[[str], T]) -> dict[str, int]:
    """Return names -> number of their group, groups counted from 0 in order of names."""
    numbers: dict[T, int] = {}
    return {name: numbers.setdefault(group(name), len(numbers)) for name in sorted(names, key=in_order)}


def _switch_planes(
    graph: Graph, tiers: Mapping[str, Tier], hosts: Mapping[str, list[tuple[str, str]]]
) -> dict[str, int]:
    """Return switch -> its plane: parts of the graph that only hosts join, in the order of the hosts' ports."""
    part = {
        name: first
        for each in connected_parts(graph)
        for first in (min(each, key=in_order),)
        for name in each
    }
    joined = DisjointSets()
    foremost: dict[str, int] = {}
    for ends in hosts.values():
        for at, (_, tor) in enumerate(ends):
            joined.join(part[ends[0][1]], part[tor])
            foremost[part[tor]] = min(at, foremost.get(part[tor], at))
    fabrics: dict[Hashable, set[str]] = defaultdict(set)
    for each in set(part.values()):
        fabrics[joined.root(each)].add(each)
    number = {
        each: at
        for some in fabrics.values()
        for at, each in enumerate(sorted(some, key=lambda name: (foremost.get(name, 0), in_order(name))))
    }
    placed = {Tier.TOR, Tier.SPINE, Tier.CORE}
    return {name: number[of] for name, of in part.items() if tiers[name] in placed}


def _switch_pods(graph: Graph, tiers: Mapping[str, Tier], units: Mapping[str, int]) -> dict[str, int]:
    """Return ToR or spine -> its pod, if cores join pods."""
    if Tier.CORE not in tiers.values():
        return {}
    inside = {name for name, tier in tiers.items() if tier in (Tier.TOR, Tier.SPINE)}
    sets = DisjointSets()
    for name in inside:
        for other in graph[name] & inside:
            sets.join(name, other)
        if name in units:
            sets.join(name, units[name])
    return _number_groups(inside, sets.root)


def _tor_rails(
    hosts: Mapping[str, list[tuple[str, str]]], tors: Collection[str], planes: Mapping[str, int]
) -> dict[str, int]:
    """Return ToR -> the number of the only NIC that it serves on each host."""
    served: dict[str, set[int]] = defaultdict(set)
    several: set[str] = set()
    for ends in hosts.values():
        nics: dict[tuple[int | None, str], int] = {}
        counted: dict[int | None, int] = defaultdict(int)
        for port, tor in ends:
            plane = planes.get(tor)
            match = _NIC.fullmatch(port)
            key = (plane, match[1] if match else port)
            if key not in nics:
                nics[key] = counted[plane]
                counted[plane] += 1
            served[tor].add(nics[key])
        if len(nics) > 1 and len({tor for _, tor in ends}) > 1:
            several |= {tor for _, tor in ends}
    return {tor: min(some) for tor, some in served.items() if tor in several & set(tors) and len(some) == 1}


RAILS = ""
"""Name of the network that the top level of a spec describes."""


def networks_by_switch(found: FoundFabric) -> dict[str, str]:
    """Return switch -> its network; `RAILS` without evidence."""
    names: dict[str, str] = {}
    parts = switch_parts(found)
    part_of = {name: number for number, part in enumerate(parts) for name in part}
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for link in found.links:
        for near, far in link.ways:
            if far.device in part_of and near.device in found.devices and near.device not in part_of:
                network = network_of_fact(found.devices[near.device], f"interface[{near.port}]/")
                votes[part_of[far.device]][network] += 1
    for number, part in enumerate(parts):
        names.update(dict.fromkeys(part, votes[number].most_common(1)[0][0] if votes[number] else RAILS))
    return names


def switch_parts(found: FoundFabric) -> list[set[str]]:
    """Return the sets of switches that links join."""
    joined: dict[str, set[str]] = {
        name: set() for name in sorted(found.devices, key=in_order) if found.devices[name].kind is Kind.SWITCH
    }
    for link in found.links:
        if link.a.device in joined and link.b.device in joined:
            joined[link.a.device].add(link.b.device)
            joined[link.b.device].add(link.a.device)
    return connected_parts(joined)


def network_of_fact(host: Device, start: str) -> str:
    """Return the network of the file in which a host states the first fact whose path begins like this."""
    file = next((file for path, (file, _) in host.reading.lines.items() if path.startswith(start)), "")
    return host_files.network_of(file)
