"""Find the network of every switch: the switches that links join, named by the files of the hosts on them.

Planes are not networks: their ports are in one network, and have its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from fabricc.audit.tiers import connected_parts, in_order
from fabricc.back import hosts as host_files
from fabricc.facts.statement import Kind

if TYPE_CHECKING:
    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device

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
