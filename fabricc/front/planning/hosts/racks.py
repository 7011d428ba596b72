"""Determine the rack of each host without a ToR in its rack, and the racks that are NVLink domains."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.front.planning.topology.units import largest_rack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import HostModel
    from fabricc.fabric.shape import Unit
    from fabricc.front.spec.model import ClusterSpec


def racks_of(spec: ClusterSpec) -> dict[str, str]:
    """Return host -> rack, of the hosts that rail wiring places in racks."""
    return {host: rack for group in spec.gpus.groups for host, rack in group.rack_of.items()}


def rack_findings(spec: ClusterSpec, units: Mapping[int, Unit]) -> Iterator[Diagnostic]:
    """FAB3057 where hosts of one rack belong to several units, so that their cables lead to other ToRs."""
    racks = racks_of(spec)
    seats: dict[str, set[int]] = {}
    for unit in units.values():
        for host in unit.hosts.values():
            if host in racks:
                seats.setdefault(racks[host], set()).add(unit.coordinate)
    split = [rack for rack, at in seats.items() if len(at) > 1]
    if split:
        names = (
            f"{split[0]} stands"
            if len(split) == 1
            else f"{split[0]} and {plural(len(split) - 1, 'other')} stand"
        )
        message = f"rack {names} in several units: {len(seats[split[0]])} for the hosts of {split[0]}"
        largest = max(map(largest_rack, spec.gpus.groups))
        help_ = f"Let `hosts_per_unit` be a multiple of {largest}, the hosts of the largest rack."
        yield spec.warning("FAB3057", message, "gpus", help=help_)


def domain_groups(
    spec: ClusterSpec, models: Sequence[HostModel], findings: list[Diagnostic]
) -> frozenset[int]:
    """Return host groups each rack of which is one NVLink domain of several hosts; `models`: by group.

    FAB3170 where nothing defines which hosts share NVLink, FAB3171 where a rack holds more of them than do.
    """
    found = set()
    for index, (group, model) in enumerate(zip(spec.gpus.groups, models, strict=True)):
        most = model.domain_hosts
        if spec.network or most == 1:
            continue
        with_tors = spec.gpus.wiring == "rack"
        rack, hosts = max(Counter(group.rack_of.values()).items(), key=lambda item: item[1], default=("", 0))
        if 0 < (group.hosts_per_unit if with_tors and group.beside is None else hosts) <= most:
            found.add(index)
        elif hosts:
            message = f"rack {rack} holds {hosts} hosts of {model.name}, and NVLink joins {most}"
            help_ = f"Give every NVLink domain a rack of its own, of {plural(most, 'host')} at most."
            findings.append(spec.error("FAB3171", message, *group.path, "racks", help=help_))
        else:
            message = (
                f"it is unknown which hosts of {group.name} share NVLink: {most} of {model.name} in a rack do"
            )
            help_ = (
                f"Write `hosts_per_rack: {most}`, a ToR for each rack."
                if with_tors
                else f"Name the racks instead of `hosts`: `racks: [a01, a02]` with `hosts_per_rack: {most}`."
            )
            findings.append(spec.warning("FAB3170", message, *group.path, help=help_))
    return frozenset(found)
