"""Split a folder of several networks into one Found for each: the switches that links join, and the hosts' files.

The files of a host determine the network of each port (`hosts.network_of`). Planes are not networks: their ports are in
one network, and have its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from fabricc.audit.device import without_no_addresses
from fabricc.audit.model import Found
from fabricc.audit.places import places_of
from fabricc.back import hosts as host_files
from fabricc.base.order import natural_key
from fabricc.base.values import replace
from fabricc.facts.device import Kind
from fabricc.facts.packed import Contents

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fabricc.facts.device import Device, End

RAILS = ""
"""Name of the network that the top level of a spec describes."""


def networks_of(found: Found) -> dict[str, Found]:
    """Return name of a network -> its devices, links and places; the rails first. One network without evidence."""
    parts = _connected_parts(found)
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for link in found.links:
        for near, far in link.ways:
            if far.device in parts and near.device in found.devices and near.device not in parts:
                votes[parts[far.device]][_network_of(found.devices[near.device], near)] += 1
    named = {part: counted.most_common(1)[0][0] for part, counted in votes.items()}
    names = sorted({*named.values()}, key=lambda name: (name != RAILS, name))
    if len(names) < 2 or RAILS not in names:
        return {RAILS: found}
    parted: dict[str, Found] = {}
    for name in names:
        own = {each for each, part in parts.items() if named.get(part, RAILS) == name}
        parted[name] = _part_of(found, name, own, {host for part in parted.values() for host in part.devices})
    return parted


def _connected_parts(found: Found) -> dict[str, int]:
    """Return switch -> the number of its connected part of the graph of switches."""
    switches = [name for name, device in found.devices.items() if device.kind is Kind.SWITCH]
    joined: dict[str, list[str]] = {name: [] for name in switches}
    for link in found.links:
        if link.a.device in joined and link.b.device in joined:
            joined[link.a.device].append(link.b.device)
            joined[link.b.device].append(link.a.device)
    parts: dict[str, int] = {}
    for number, start in enumerate(sorted(switches, key=natural_key)):
        waiting = [start]
        while waiting:
            if (name := waiting.pop()) not in parts:
                parts[name] = number
                waiting += joined[name]
    return parts


def _network_of(host: Device, port: End) -> str:
    """Return the network that a port of a host is of, by the file that states it."""
    start = f"interface[{port.port}]/"
    file = next((file for path, (file, _) in host.reading.lines.items() if path.startswith(start)), "")
    return host_files.network_of(file)


def _part_of(found: Found, network: str, switches: Collection[str], known: Collection[str]) -> Found:
    """Return the devices of a network: its switches, and hosts with the files that they have for it.

    Args:
        found: the folder.
        network: its name.
        switches: of it.
        known: hosts of networks before it, which have the files that are of no network.
    """
    links = tuple(link for link in found.links if link.a.device in switches or link.b.device in switches)
    ends = {end.device for link in links for end in (link.a, link.b)}
    devices = {
        name: device if name in switches else _files_of(device, network, own=name not in known)
        for name, device in found.devices.items()
        if name in switches or (name in ends and device.kind is Kind.HOST)
    }
    return Found(devices, links, places_of(devices, links))


def _files_of(host: Device, network: str, *, own: bool) -> Device:
    """Return a host with its files for a network, and those that are of none where these are its own part."""
    wanted = {network, RAILS} if own else {network}
    files = {file: text for file, text in host.files.items() if host_files.network_of(file) in wanted}
    reading = without_no_addresses(host_files.read(files), next(iter(files), ""))
    return replace(host, files=files, held=Contents(reading, host.aside))


def needs_of(parts: Mapping[str, Found]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return host -> further network -> how many ports it has there, and their speed."""
    needs: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for network, part in parts.items():
        speeds: dict[str, list[int]] = defaultdict(list)
        for link in part.links if network else ():
            for near, far in link.ways:
                if near.device in part.devices and part.devices[near.device].kind is Kind.HOST:
                    facts = part.devices[far.device].reading.facts
                    speed = facts.get(f"interface[{far.port}]/speed_gbps")
                    speeds[near.device].append(speed if isinstance(speed, int) else 0)
        for host, each in speeds.items():
            needs[host][network] = len(each), max(each)
    return needs
