"""Pods of different numbers of units: the coordinates that each takes of those that are numbered for it.

Every pod has numbers for as many units as the largest, so that a unit's pod follows from its coordinate alone; a
smaller pod leaves its last ones free, and takes them when it grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.planning.topology.shape import Sizing, size_fabric
from fabricc.front.planning.topology.tors import REPIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog
    from fabricc.front.planning.topology.units import Identities
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


def count_units(spec: ClusterSpec, present: int, capacity: int, lock: Lock) -> int:
    """Units to dimension for: those present, the declared capacity, and every pod that the spec lists."""
    pods = spec.spines.pods if spec.spines else ()
    stride = lock.strides.get("units_per_pod", max(pods, default=0))
    return max(present, capacity, len(pods) * stride)


def check_pods(spec: ClusterSpec, models: Models, catalog: Catalog, found: Identities, lock: Lock) -> None:
    """The pods that the spec lists have room for its units, and the numbers that the lock has for them.

    Raises:
        UnfitError: they have not.
    """
    if spec.spines is None or not (pods := spec.spines.pods):
        return
    stride = lock.strides.get("units_per_pod", max(pods))
    if max(pods) > stride or ("units_per_pod" in lock.strides and not lock.units):
        message = f"the lock pins units_per_pod to {stride}, " + (
            f"but a pod of {max(pods)} is listed"
            if max(pods) > stride
            else "and units to the pods they are in"
        )
        raise UnfitError(spec.error("FAB3020", message, "spines", "units_per_pod", help=REPIN))
    beyond = sum(
        unit.beside is None and unit.coordinate >= len(pods) * stride for unit in found.units.values()
    )
    if beyond:
        more = (*pods, *(min(stride, beyond - at) for at in range(0, beyond, stride)))
        fits = _size_with_pods(spec, models, catalog, more, lock) is not None
        text = (
            f"{plural(len(pods), 'pod')} of {', '.join(map(str, pods))} units have room for {sum(pods)}; "
            f"there are {found.places}"
        )
        help_ = (
            f"`units_per_pod: [{', '.join(map(str, more))}]` holds them."
            if fits
            else "More pods need more ports on the cores: list larger pods."
        )
        raise UnfitError(spec.error("FAB3058", text, "spines", "units_per_pod", help=help_))


def _size_with_pods(
    spec: ClusterSpec, models: Models, catalog: Catalog, pods: tuple[int, ...], lock: Lock
) -> Sizing | None:
    """Return the shape with other pods, or None where that cannot be."""
    if spec.spines is None:
        return None
    wanted = replace(spec, spines=replace(spec.spines, units_per_pod=max(pods), pods=pods))
    units = len(pods) * lock.strides.get("units_per_pod", max(pods))
    try:
        return size_fabric(wanted, models, units, units, lock.strides, catalog)
    except UnfitError:
        return None


def pod_findings(
    spec: ClusterSpec, models: Models, catalog: Catalog, sizing: Sizing, units: int, lock: Lock
) -> Iterator[Diagnostic]:
    """FAB3059 (a note) where pods as large as the spines allow leave the last so empty that even pods need fewer."""
    shape = sizing.shape
    if not shape.cores or spec.spines is None or spec.spines.units_per_pod or "units_per_pod" in lock.strides:
        return
    pods = -(-units // shape.units_per_pod)
    even = -(-units // pods)
    other = (
        _size_with_pods(spec, models, catalog, (even,) * pods, lock) if even < shape.units_per_pod else None
    )
    if other is None:
        return
    fewer = pods * shape.planes * (shape.spines - other.shape.spines)
    fewer += shape.port_planes * (shape.cores - other.shape.cores)
    if fewer > 0:
        last = units - (pods - 1) * shape.units_per_pod
        yield spec.note(
            "FAB3059",
            f"the last of {pods} pods has {plural(last, 'unit')} of {shape.units_per_pod} "
            "and as many spines as the others",
            "spines",
            help=f"`spines.units_per_pod: {even}` takes {plural(fewer, 'switch')} less.",
        )
