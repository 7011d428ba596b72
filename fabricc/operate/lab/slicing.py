"""Reduce a fabric that is too large for one machine; the rest keeps its names, ports, addresses and ASNs."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from fabricc.base.order import group_pairs
from fabricc.base.values import replace
from fabricc.operate.lab.failure import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Shape

_PODS, _UNITS_PER_POD, _SPINES, _CORES = 2, 2, 2, 2
"""What a sample has at least, where the fabric has as many: enough for every way between two rails and for ECMP."""


def slice_fabric(fabric: Fabric, units: int) -> Fabric:
    """Return the first `units` units and all border leaves, with every spine and core, so that widths stay as planned.

    Raises:
        LabError: FAB8011, the fabric has not as many.
    """
    _require_units(fabric, units)
    border = [unit.coordinate for unit in fabric.places() if unit.border is not None]
    return _of_units(fabric, sorted([*_serving_units(fabric)[:units], *border]))


def _serving_units(fabric: Fabric) -> list[int]:
    """Return the units whose ToRs have hosts."""
    return [unit.coordinate for unit in fabric.places() if unit.border is None]


def sample_fabric(fabric: Fabric, units: int | None = None) -> Fabric:
    """Return a sample: few units of two pods and of every host group, all planes, and a part of the spines and cores.

    Spines are kept in whole core groups unless one pod remains, and cores are left out only where one group remains:
    only then has every kept device the name and the ports that it has in the whole fabric.

    `units` are taken from the pods in turn; None for the fewest that show every prefix class.

    Raises:
        LabError: FAB8011, the fabric has not as many.
    """
    kept = _spread_units(fabric)
    if units is not None:
        _require_units(fabric, units)
        places = _serving_units(fabric)
        others = [at for at in places if at // fabric.shape.units_per_pod < _PODS and at not in kept]
        kept = [*kept, *others][:units]
        if len(kept) < units:
            kept += [at for at in places if at not in kept][: units - len(kept)]
    part = _of_units(fabric, sorted(kept))
    return replace(part, shape=_fewer_spines(part.shape))


def _spread_units(fabric: Fabric) -> list[int]:
    """Return the first units of the first pods in turn, and the first of each host group that is missing then."""
    by_pod = group_pairs((at // fabric.shape.units_per_pod, at) for at in _serving_units(fabric))
    pods = [found[:_UNITS_PER_POD] for pod, found in sorted(by_pod.items()) if pod < _PODS]
    kept = [at for turn in zip_longest(*pods) for at in turn if at is not None]
    groups = {group for at in kept for group in _host_groups(fabric, at)}
    for at in (unit.coordinate for unit in fabric.places()):
        if not groups.issuperset(_host_groups(fabric, at)):
            groups.update(_host_groups(fabric, at))
            kept.append(at)
    return kept


def _host_groups(fabric: Fabric, at: int) -> set[int]:
    """Return the groups of the hosts on the ToRs of a unit."""
    return {fabric.units[each].group for each in (at, *fabric.units[at].guests)}


def _fewer_spines(shape: Shape) -> Shape:
    if not shape.cores:
        return replace(shape, spines=min(shape.spines, _SPINES))
    step, per_group = shape.spines_per_core_group, shape.cores_per_group
    if shape.pods == 1:
        step = min(step, _SPINES)
    spines = min(shape.spines, -(-_SPINES // step) * step)
    if spines == step:
        per_group = min(per_group, _CORES)
    return replace(
        shape,
        spines=spines,
        spines_per_core_group=step,
        cores=per_group * (spines // step),
        cores_per_group=per_group,
    )


def _of_units(fabric: Fabric, coordinates: Iterable[int]) -> Fabric:
    """Return a fabric with some units, their guests, and the pods up to the last of them."""
    chosen = list(coordinates)
    kept = {each: fabric.units[each] for at in chosen for each in (at, *fabric.units[at].guests)}
    pods = min(max(chosen) // fabric.shape.units_per_pod + 1, fabric.shape.pods)
    return replace(fabric, units=kept, shape=replace(fabric.shape, pods=pods))


def _require_units(fabric: Fabric, units: int) -> None:
    there = fabric.counts()["units"]
    if not 1 <= units <= there:
        raise LabError("FAB8011", f"{units} units: the fabric has {there}")
