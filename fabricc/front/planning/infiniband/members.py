"""Resolve partitions: from names of units, racks and hosts in the spec to the ports of each tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.catalog.library import suggestion_remedy
from fabricc.fabric.infiniband.model import DEFAULT_PKEY, Partition
from fabricc.fabric.tenants import NOBODY, assign_numbers
from fabricc.front.planning.networks.tenants import assign_rails
from fabricc.front.spec.tenants import SECTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec, Infiniband, PartitionSpec

MOST_OF_A_PORT = 127
"""Tenants of one host: an adapter's table has 128 P_Keys (data sheet figure, assumed), one is the default's."""


def tenant_partitions(
    spec: ClusterSpec, wiring: Fabric, pinned: Mapping[str, int], findings: list[Diagnostic]
) -> tuple[tuple[Partition, ...], dict[str, int]]:
    """Return a partition for each entry of `tenants`, and the numbers of tenants for the lock.

    The P_Key of a tenant is its number, which it keeps. `pinned`: numbers that the lock has.
    """
    numbers = assign_numbers([each.name for each in spec.tenants], pinned)
    if beyond := [name for name, number in numbers.items() if number >= DEFAULT_PKEY]:
        message = f"{beyond[0]} needs a P_Key above 0x{DEFAULT_PKEY - 1:04x}"
        help_ = "Delete the lines of tenants that left from the lock; their numbers are free then."
        findings.append(spec.error("FAB3320", message, SECTION, beyond[0], help=help_))
    ports = assign_rails(spec, wiring, findings)
    order = [host for unit in wiring.units.values() for host in unit.hosts.values()]
    found = []
    for index, request in enumerate(spec.tenants):
        rails = {
            host: tuple(rail for rail, owner in enumerate(ports[host]) if owner == index)
            for host in order
            if index in ports.get(host, ())
        }
        some = {host: own for host, own in rails.items() if len(own) < len(ports[host])}
        found.append(Partition(request.name, numbers[request.name], tuple(rails), None, some))
    if idle := [host for host in order if NOBODY in ports.get(host, (NOBODY,))]:
        more = f" and {len(idle) - 1} more" if idle[1:] else ""
        message = f"{idle[0]}{more}: ports in no partition, which reach no host"
        help_ = "Name them in a tenant, unless they are spare hosts."
        findings.append(spec.note("FAB5625", message, SECTION, help=help_))
    return tuple(found), numbers


def partitions_of(
    spec: ClusterSpec, section: Infiniband, wiring: Fabric, findings: list[Diagnostic]
) -> tuple[Partition, ...]:
    """Return the tenants with their hosts in topological order; unknown names are findings (FAB5809)."""
    levels = {each.name: each.sl for each in section.classes}
    units = {unit.name: tuple(unit.hosts.values()) for unit in wiring.units.values()}
    places = {
        host: (coordinate, slot)
        for coordinate, unit in wiring.units.items()
        for slot, host in unit.hosts.items()
    }
    found = []
    load: dict[str, int] = {}
    for each in section.partitions:
        members = _resolve_members(spec, each, units, places, findings)
        for host in members:
            load[host] = load.get(host, 0) + 1
        level = levels.get(each.priority) if each.priority else None
        found.append(Partition(each.name, each.pkey, members, level))
    busiest = max(load.items(), key=lambda item: item[1], default=("", 0))
    if busiest[1] > MOST_OF_A_PORT:
        message = f"{busiest[0]} is in {busiest[1]} partitions; an adapter supports {MOST_OF_A_PORT} and the default"
        findings.append(spec.error("FAB5809", message, "infiniband", "partitions", help="Join some tenants."))
    if found and (alone := [host for host in places if host not in load]):
        more = f" and {len(alone) - 1} more" if alone[1:] else ""
        message = f"{alone[0]}{more}: in no partition, so they reach no host"
        help_ = "Add them to a partition, unless they are spare hosts."
        findings.append(spec.note("FAB5625", message, "infiniband", "partitions", help=help_))
    return tuple(found)


def _resolve_members(
    spec: ClusterSpec,
    each: PartitionSpec,
    units: dict[str, tuple[str, ...]],
    places: dict[str, tuple[int, int]],
    findings: list[Diagnostic],
) -> tuple[str, ...]:
    members: set[str] = set()
    for key, names, known in (("units", each.units, units), ("hosts", each.hosts, places)):
        for index, name in enumerate(names):
            if name in known:
                members.update(units[name] if key == "units" else (name,))
                continue
            otherwise = f"They are named like {next(iter(known))}."
            findings.append(
                spec.error(
                    "FAB5809",
                    f"partition '{each.name}': there is no {key[:-1]} '{name}'",
                    *("infiniband", "partitions", each.name, key, index),
                    help=suggestion_remedy(name, list(known)[:5000], otherwise, 1),
                )
            )
    return tuple(sorted(members, key=lambda host: places[host]))
