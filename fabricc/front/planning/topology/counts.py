"""Counts that a few more uplinks would improve: in three tiers, where pods change with them, that is only advised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.front.planning.topology.models import UnfitError
from fabricc.front.planning.topology.shape import size_fabric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog
    from fabricc.fabric.shape import Shape
    from fabricc.front.planning.topology.models import Models
    from fabricc.front.planning.topology.shape import Sizing
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec

_MOST_LINKS = 8
"""Maximum number of parallel links from a ToR to a spine to try: our judgment."""


def count_findings(
    spec: ClusterSpec, models: Models, catalog: Catalog, sizing: Sizing, present: int, units: int, lock: Lock
) -> Iterator[Diagnostic]:
    """Report FAB3060 (a note) where a few more uplinks of a ToR divide better and take fewer switches above it."""
    shape, spines = sizing.shape, spec.spines
    if (
        not shape.cores
        or spines is None
        or spec.tors.uplinks
        or spines.count
        or "links_per_spine" in lock.strides
    ):
        return
    fewest, raised = count_upper_switches(shape), 0
    for links in range(shape.links_per_spine + 1, _MOST_LINKS + 1):
        uplinks = -(-shape.uplinks // links) * links
        if not shape.uplinks < uplinks <= sizing.most_uplinks:
            continue
        wanted = replace(spec, tors=replace(spec.tors, uplinks=uplinks))
        try:
            other = count_upper_switches(
                size_fabric(wanted, models, present, units, lock.strides, catalog).shape
            )
        except UnfitError:
            continue
        if other < fewest:
            fewest, raised = other, uplinks
    if raised:
        message = (
            f"{plural(shape.uplinks, 'uplink')} of a ToR spread over "
            f"{plural(shape.spines, 'spine')} of a plane and pod"
        )
        help_ = (
            f"`tors.uplinks: {raised}` takes {plural(count_upper_switches(shape) - fewest, 'switch')} less."
        )
        yield spec.note("FAB3060", message, "tors", "oversubscription", help=help_)


def count_upper_switches(shape: Shape) -> int:
    """Return the number of spines and cores."""
    return shape.pods * shape.planes * shape.spines + shape.port_planes * shape.cores
