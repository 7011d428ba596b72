"""Failures above the ToRs: a spine and its cages, a link to a core, a core, a whole plane."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.fabric import links
from fabricc.fabric.model import Direction, TierName
from fabricc.fabric.shape import SwitchId
from fabricc.review.report.failure import AS_BEFORE, AT_NIC, BEYOND, Part, above_nics, both_halves, one_half
from fabricc.review.report.losses import tor_share, usable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.capacity import Capacity
    from fabricc.review.report.failure import Failure
    from fabricc.review.report.losses import Place


def above(fabric: Fabric, whole: Capacity, at: Place) -> Iterator[Failure]:
    """What fails above the ToRs; `at` is where these have the most hosts."""
    shape, counts = fabric.shape, fabric.counts()
    spine = SwitchId(TierName.SPINE, 0, at.pod, -1, 0, -1)
    yield from _spine_cage(fabric, whole, at, spine)
    uplinks = shape.uplinks - shape.links_per_spine
    kept = 1 - Fraction(1, shape.planes) * (1 - at.beyond(uplinks * shape.uplink_gbps))
    after = whole.narrowed(
        at.pod, 0, shape.links_per_spine * shape.uplink_gbps, shape.spine_uplinks * shape.core_link_gbps
    )
    tors = sum(whole.cells[at.pod, 0].tors.values())
    width = f"{uplinks} of {shape.uplinks} at every ToR{_of_its(fabric)}"
    lost = tors * shape.links_per_spine + shape.spine_uplinks
    part = Part("Spine", fabric.name(spine), counts["spines"])
    gpus = _gpus_of_pod(fabric, at.pod)
    rest = one_half(whole, after) if shape.pods > 1 else both_halves(whole, after)
    yield above_nics(part, lost, gpus, (kept, kept), BEYOND, width, rest)
    if shape.cores:
        yield from _cores(fabric, whole, at, gpus)
    if shape.planes > 1:
        lost = (counts["host_cables"] + counts["spine_cables"] + counts["core_cables"]) // shape.planes
        kept = 1 - Fraction(1, shape.planes)
        part = Part("A whole plane: all its ToRs, spines and cores", "plane a", shape.planes)
        width = f"0 of {shape.uplinks} in that plane, {AS_BEFORE} in the others"
        rest = both_halves(whole, whole.without_plane(0))
        yield replace(above_nics(part, lost, counts["gpus"], (kept, kept), AT_NIC, width, rest), device=False)


def _of_its(fabric: Fabric) -> str:
    """Which ToRs a spine serves, after `every ToR`."""
    shape = fabric.shape
    names = [name for name, told in (("pod", shape.cores), ("plane", shape.planes > 1)) if told]
    return f" of its {' and '.join(names)}" if names else ""


def _spine_cage(fabric: Fabric, whole: Capacity, at: Place, spine: SwitchId) -> Iterator[Failure]:
    """The cage of a spine with the most links down, where cages are split."""
    shape, slots = fabric.shape, fabric.spine_layout.slots
    cages: dict[int, Counter[str]] = {}
    for link in links.links(fabric, spine):
        if link.direction is Direction.DOWN:
            cages.setdefault(slots[link.slot].cage, Counter())[link.peer] += 1
    cage = max(cages.values(), key=lambda tors: tors.total(), default=Counter())
    if cage.total() < 2:
        return
    each = max(cage.values())
    share, uplinks = tor_share(fabric, at.group), shape.uplinks - each
    hashed = usable(shape.spines, shape.links_per_spine, Counter({0: each}))
    kept = [1 - share * (1 - at.beyond(number * shape.uplink_gbps)) for number in (uplinks, hashed)]
    whole_tor = (at.down_gbps, at.up_gbps)
    count = min(len(cage), whole.cells[at.pod, 0].tors.get(whole_tor, 0))
    narrower = (at.down_gbps, uplinks * shape.uplink_gbps)
    after = whole.changed(at.pod, 0, {whole_tor: -count, narrower: count})
    name = "Split cage of a spine, ToR side: its transceiver"
    part = Part(name, fabric.name(spine), len(cages) * fabric.counts()["spines"])
    width = f"{uplinks} of {shape.uplinks} at {len(cage)} ToR{'s' if len(cage) > 1 else ''}"
    gpus = at.served * len(cage)
    yield above_nics(part, cage.total(), gpus, (kept[0], kept[1]), BEYOND, width, one_half(whole, after))


def _cores(fabric: Fabric, whole: Capacity, at: Place, gpus: int) -> Iterator[Failure]:
    """A link between spine and core, and a core."""
    shape, counts, gbps = fabric.shape, fabric.counts(), fabric.shape.core_link_gbps
    cell = whole.cells[at.pod, 0]
    total, into_pod = shape.spines * shape.spine_uplinks, shape.spines_per_core_group * shape.links_per_core
    before = min(cell.leaving_gbps, cell.spine_up_gbps)

    def kept(number: int) -> Fraction:
        passed = min(cell.leaving_gbps, number * gbps)
        return 1 - Fraction(1, shape.planes) * (1 - (Fraction(passed, before) if before else 1))

    where = "between pods" if shape.pods > 1 else "towards the cores"
    spine = fabric.name(SwitchId(TierName.SPINE, 0, at.pod, -1, 0, -1))
    core = fabric.name(SwitchId(TierName.CORE, 0, 0, -1, 0, -1))
    one = Counter({0: 1})
    groups = shape.spines // shape.spines_per_core_group
    out = usable(shape.spines, shape.spine_uplinks, one)
    back = usable(shape.cores_per_group, into_pod, one) * groups
    part = Part(
        "Link of a spine to a core: cable, or transceiver at either end",
        f"{spine} to {core}",
        counts["core_cables"],
    )
    width = f"{shape.spine_uplinks - 1} of {shape.spine_uplinks} at that spine"
    rest = one_half(whole, whole.narrowed(at.pod, 0, 0, gbps))
    yield above_nics(part, 1, gpus, (kept(total - 1), kept(min(out, back))), where, width, rest)
    after = whole
    for pod, plane in whole.cells:
        if plane == 0:
            after = after.narrowed(pod, 0, 0, into_pod * gbps)
    group = Counter(dict.fromkeys(range(shape.spines_per_core_group), shape.links_per_core))
    hashed = usable(shape.spines, shape.spine_uplinks, group)
    width = f"{shape.spine_uplinks - shape.links_per_core} of {shape.spine_uplinks} at its spines"
    part = Part("Core", core, counts["cores"])
    ends = (kept(total - into_pod), kept(hashed))
    yield above_nics(
        part, shape.pods * into_pod, counts["gpus"], ends, where, width, both_halves(whole, after)
    )


def _gpus_of_pod(fabric: Fabric, pod: int) -> int:
    """GPUs of a pod."""
    return sum(
        len(unit.hosts) * fabric.host_models[unit.group].gpus
        for coordinate, unit in fabric.units.items()
        if coordinate // fabric.shape.units_per_pod == pod
    )
