"""Racks that hold hosts and no ToR of theirs: which rack each host stands in, and racks that lead to several units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.shape import Unit
    from fabricc.front.spec.model import ClusterSpec


def racks_of(spec: ClusterSpec) -> dict[str, str]:
    """Host -> rack, of the hosts that rail wiring places in racks."""
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
        yield spec.warning(
            "FAB3057",
            f"rack {names} in several units: {len(seats[split[0]])} for the hosts of {split[0]}",
            "gpus",
            help="Let `hosts_per_unit` be a multiple of the hosts of a rack.",
        )
