"""Assign links from a ToR to each spine: what its own host group sends, of those that the shape keeps room for.

The busiest host group decides the shape. A ToR of another group has the fewest whole links to each spine that keep the
declared ratio. It has them in the first of the positions that the shape keeps for it, so that a group that becomes
faster gets more links and no link moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.front.planning.topology.shape import Sizing
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec

PIN = "spread_spines"
"""The number of the lock over which links of groups that are not the busiest are figured."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Links of ToRs to each spine.

    Attributes:
        links: host group index -> links to each spine.
        spines: as many spines as the links are figured for; more spines than these take no link away.
    """

    links: tuple[int, ...]
    spines: int


def spread_links(spec: ClusterSpec, sizing: Sizing, lock: Lock) -> Spread:
    """Return the links of the ToRs of every host group: enough for the ratio, also with a spine lost if requested."""
    shape, needed = sizing.shape, sizing.needed_uplinks
    spines = _figured_spines(spec, sizing, lock)
    over = max(1, spines - 1) if spec.tors.n_minus_1 else spines
    most, busiest = shape.links_per_spine, max(needed)
    links = tuple(most if need == busiest else min(most, -(-need // over)) for need in needed)
    return Spread(links, spines)


def _figured_spines(spec: ClusterSpec, sizing: Sizing, lock: Lock) -> int:
    """The spines that links are figured for: as pinned, or those that the groups of the lock had before, if fewer.

    A lock has no line for them while all ToRs are equal; their number then follows from its busiest group.
    """
    shape, pins = sizing.shape, lock.strides
    if "links_per_spine" not in pins:
        return shape.spines
    before = pins.get(PIN)
    if before is None:
        groups = zip(spec.gpus.groups, sizing.needed_uplinks, strict=True)
        known = [
            need for group, need in groups if any(key.startswith(f"{group.name}/") for key in lock.units)
        ]
        before = -(-max(known or sizing.needed_uplinks[:1]) // shape.links_per_spine)
    return min(shape.spines, before)


def spread_pins(sizing: Sizing, chosen: Spread, lock: Lock) -> dict[str, int]:
    """Return what the lock has to keep of it: nothing as long as every ToR is to have the same number of links."""
    differ = sizing.shape.links_per_spine > 1 and len(set(sizing.needed_uplinks)) > 1
    return {PIN: chosen.spines} if differ or PIN in lock.strides else {}


def spread_findings(spec: ClusterSpec, sizing: Sizing, chosen: Spread) -> Iterator[Diagnostic]:
    """FAB3030 (a note) for each group whose ToRs have more uplinks than their ratio needs."""
    shape, busiest = sizing.shape, max(sizing.needed_uplinks)
    for group, needed, links in zip(spec.gpus.groups, sizing.needed_uplinks, chosen.links, strict=True):
        has = links * shape.spines
        if group.beside is not None or needed == busiest or has <= needed or spec.tors.n_minus_1:
            continue
        each = f"{plural(links, 'link')} to each of {plural(shape.spines, 'spine')}"
        kept = (
            f"It was cabled for {plural(chosen.spines, 'spine')}: `fabricc build --repin=links_per_spine "
            "--repin=spread_spines` chooses afresh, and moves cables."
            if links > -(-needed // shape.spines)
            else "No action is needed: a ToR has the same whole number of links to every spine."
        )
        message = f"a ToR of host group {group.name} needs {plural(needed, 'uplink')} and gets {has}: {each}"
        yield spec.note("FAB3030", message, *group.path, help=kept)
