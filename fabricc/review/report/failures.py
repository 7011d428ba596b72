"""Every failure of a planned fabric, from the cable up."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.review.report.capacity import fabric_capacity
from fabricc.review.report.failure import (
    AS_BEFORE,
    AT_NIC,
    BEYOND,
    Part,
    above_nics,
    at_access,
    both_halves,
    one_half,
)
from fabricc.review.report.kinds import down_gbps
from fabricc.review.report.losses import (
    Hit,
    at_nics,
    example_place,
    first_name,
    shared_host_ports,
    tor_ports,
    tor_share,
    uplink_cages,
    usable_links,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.capacity import Capacity
    from fabricc.review.report.failure import Failure
    from fabricc.review.report.losses import NicPort, Place


def single_failures(fabric: Fabric, *, hashed: bool) -> tuple[Failure, ...]:
    """Return the failure of each single part, with everything else up.

    Links that overrides shut count as working; `hashed`: switches hash over next hops, as ECMP does.
    """
    whole = fabric_capacity(fabric)
    present = sorted({unit.group for unit in fabric.places() if unit.hosts})
    places = [example_place(fabric, group) for group in present]
    found: list[Failure] = []
    for at in places:
        of = f" ({fabric.host_models[at.group].title})" if len(places) > 1 else ""
        found += [replace(each, part=each.part + of) for each in failures_below(fabric, whole, at)]
    if places and fabric.shape.spines:
        found += failures_above(fabric, whole, places)
    return tuple(each if hashed else replace(each, evenly=None) for each in found)


def hardest_single(lost: tuple[Failure, ...]) -> Failure | None:
    """The single part whose loss cuts off the most GPUs; where none does, takes the most bandwidth from all."""
    single = [each for each in lost if each.device]
    return max(single, key=lambda each: (each.gpus_cut, each.reduced * (1 - each.kept)), default=None)


def failures_below(fabric: Fabric, whole: Capacity, at: Place) -> Iterator[Failure]:
    """Yield failures at the hosts of a group and at their ToRs, at one example place."""
    unit, attached = fabric.units[at.unit], fabric.attachments[at.group]
    alike = [each for each in fabric.units.values() if each.group == at.group]
    tors = fabric.tor_counts()[at.group]
    tor = first_name(fabric, at.unit)
    yield from _cable_failures(fabric, whole, at, sum(len(each.hosts) for each in alike), tors)
    links = len(at.slots) * attached.rails_per_tor + fabric.uplinks(at.group)
    hit = at_nics(fabric, at.group, tor_ports(fabric, at.group, at.slots))
    after = whole.changed(at.pod, 0, {(at.down_gbps, at.up_gbps): -1})
    yield at_access(Part("ToR", tor, tors), links, hit, one_half(whole, after))
    if fabric.shape.spines:
        yield from _uplink_failures(fabric, whole, at, Part("", tor, tors))
    after, of_unit = whole, list(fabric.tor_ids(at.unit))
    for each in of_unit:
        after = after.changed(at.pod, each.plane, {(down_gbps(fabric, each), at.up_gbps): -1})
    gpus = len(unit.hosts) * fabric.host_models[at.group].gpus
    part = Part("Power of a whole unit: its hosts and ToRs", unit.name, len(alike))
    dark = Hit(len(unit.hosts), gpus, 0, Fraction(1))
    yield replace(at_access(part, len(of_unit) * links, dark, both_halves(whole, after)), device=False)


def _cable_failures(fabric: Fabric, whole: Capacity, at: Place, hosts: int, tors: int) -> Iterator[Failure]:
    """Yield a host's link, a ToR cage that serves several links, and a NIC with several ports."""
    attached, first = fabric.attachments[at.group], at.slots[0]
    host, tor = fabric.units[at.unit].hosts[first], first_name(fabric, at.unit)
    link = "Host link: cable, or transceiver at either end"
    part = Part(link, f"{host} to {tor}", hosts * attached.rails * attached.nic_ports)
    cases: list[tuple[Part, list[NicPort]]] = [(part, [(first, 0, 0)])]
    shared = shared_host_ports(fabric, at)
    if len(shared) > 1:
        layout = fabric.tor_layouts[at.group]
        per_tor = attached.rails_per_tor
        used = [attached.seat(slot)[1] * per_tor + rail for slot in at.slots for rail in range(per_tor)]
        number = tors * len({layout.slots[layout.down[index]].cage for index in used})
        cases.append((Part("Split cage of a ToR, host side: its transceiver", tor, number), shared))
    if attached.nic_ports > 1:
        ports = [(first, 0, port) for port in range(attached.nic_ports)]
        cases.append((Part("NIC with all its ports", host, hosts * attached.rails), ports))
    for part, lost in cases:
        after = whole
        of_tors = Counter((port, rail // attached.rails_per_tor) for _, rail, port in lost)
        for (port, _), count in of_tors.items():
            narrower = (at.down_gbps - count * attached.gbps, at.up_gbps)
            kinds = {(at.down_gbps, at.up_gbps): -1, narrower: 1}
            after = after.changed(at.pod, port % fabric.shape.planes, kinds)
        yield at_access(part, len(lost), at_nics(fabric, at.group, lost), one_half(whole, after))


def _uplink_failures(fabric: Fabric, whole: Capacity, at: Place, tors: Part) -> Iterator[Failure]:
    """Yield a single uplink of a ToR, and all uplinks in one cage; `tors` are those of the host group."""
    shape, uplinks = fabric.shape, fabric.uplinks(at.group)
    share = tor_share(fabric, at.group)
    uplink = "ToR uplink: cable, or transceiver at either end"
    cases = [(Part(uplink, tors.example, tors.number * uplinks), Counter({0: 1}))]
    cages = uplink_cages(fabric, at)
    cage = max(cages, key=lambda above: above.total())
    if cage.total() > 1:
        name = "Split cage of a ToR, uplinks: its transceiver"
        cases.append((Part(name, tors.example, tors.number * len(cages)), cage))
    for part, lost in cases:
        links = uplinks - lost.total()
        hashed = usable_links(shape.spines, fabric.tor_links[at.group], lost)
        kept = [1 - share * (1 - at.beyond(number * shape.uplink_gbps)) for number in (links, hashed)]
        narrower = (at.down_gbps, links * shape.uplink_gbps)
        after = whole.changed(at.pod, 0, {(at.down_gbps, at.up_gbps): -1, narrower: 1})
        width = f"{links} of {uplinks} at that ToR"
        rest = one_half(whole, after)
        yield above_nics(part, lost.total(), at.served, (kept[0], kept[1]), BEYOND, width, rest)


def failures_above(fabric: Fabric, whole: Capacity, places: Sequence[Place]) -> Iterator[Failure]:
    """Yield failures above the ToRs in the pod with the busiest ToR; `places` has one of each host group."""
    shape, counts = fabric.shape, fabric.counts()
    at = max(places, key=lambda each: each.down_gbps)
    groups = _groups_of_pod(fabric, at.pod)
    here = [each for each in places if each.group in groups]
    spine = SwitchId(TierName.SPINE, 0, at.pod, -1, 0, -1)
    yield from _spine_cage(fabric, whole, at.pod, here, spine)
    share = Fraction(1, shape.spines)
    beyond = min(each.beyond(int(each.up_gbps * (1 - share))) for each in here)
    kept = 1 - Fraction(1, shape.port_planes) * (1 - beyond)
    after = whole.narrow_cell(at.pod, 0, share, shape.spine_uplinks * shape.core_link_gbps)
    width = f"{_of_each(fabric, groups, shape.spines - 1)} at every ToR{_of_its(fabric)}"
    lost = sum(tors * fabric.tor_links[group] for group, tors in groups.items())
    lost += shape.spine_uplinks
    part = Part("Spine", fabric.name(spine), counts["spines"])
    gpus = _gpus_of_pod(fabric, at.pod) // shape.rail_planes
    rest = one_half(whole, after) if shape.pods > 1 else both_halves(whole, after)
    yield above_nics(part, lost, gpus, (kept, kept), BEYOND, width, rest)
    if shape.cores:
        yield from _core_failures(fabric, whole, at, gpus)
    apart = shape.fabrics
    if apart > 1:
        lost = (counts["host_cables"] + counts["spine_cables"] + counts["core_cables"]) // apart
        kept = 1 - Fraction(1, shape.port_planes)
        part = Part("A whole plane: all its ToRs, spines and cores", "plane a", apart)
        width = f"{_of_each(fabric, groups, 0)} in that plane, {AS_BEFORE} in the others"
        rest = both_halves(whole, whole.without_planes(range(0, shape.planes, apart)))
        gpus = counts["gpus"] * shape.port_planes // apart
        yield replace(above_nics(part, lost, gpus, (kept, kept), AT_NIC, width, rest), device=False)


def _of_its(fabric: Fabric) -> str:
    """Which ToRs a spine serves, after `every ToR`."""
    shape = fabric.shape
    names = [name for name, told in (("pod", shape.cores), ("plane", shape.planes > 1)) if told]
    return f" of its {' and '.join(names)}" if names else ""


def _groups_of_pod(fabric: Fabric, pod: int) -> Counter[int]:
    """Host group -> its ToRs in the first plane of a pod."""
    tors = ((unit.group, tor) for unit in fabric.places() for tor in fabric.tor_ids(unit.coordinate))
    return Counter(group for group, tor in tors if (tor.pod, tor.plane) == (pod, 0))


def _of_each(fabric: Fabric, groups: Iterable[int], spines: int) -> str:
    """`30 of 32`: the uplinks of a ToR that lead to so many spines, for each number that a ToR has."""
    numbers = sorted({fabric.tor_links[group] for group in groups}, reverse=True)
    return " or ".join(f"{spines * links} of {fabric.shape.spines * links}" for links in numbers)


def _spine_cage(
    fabric: Fabric, whole: Capacity, pod: int, places: Iterable[Place], spine: SwitchId
) -> Iterator[Failure]:
    """The cage of a spine with the most links down, where cages are split; `places` are those of the pod's groups."""
    shape, slots = fabric.shape, fabric.spine_layout.slots
    cages: dict[int, Counter[str]] = {}
    for link in links.switch_links(fabric, spine):
        if link.direction is Direction.DOWN:
            cages.setdefault(slots[link.slot].cage, Counter())[link.peer] += 1
    cage = max(cages.values(), key=lambda tors: tors.total(), default=Counter())
    if cage.total() < 2:
        return
    tors = _by_group(fabric, spine, cage)
    kept, widths, gpus, after = [Fraction(1), Fraction(1)], [], 0, whole
    for at in places:
        if at.group not in tors:
            continue
        of_group, every = tors[at.group], fabric.uplinks(at.group)
        each = max(of_group.values())
        share, uplinks = tor_share(fabric, at.group), every - each
        hashed = usable_links(shape.spines, fabric.tor_links[at.group], Counter({0: each}))
        left = [1 - share * (1 - at.beyond(number * shape.uplink_gbps)) for number in (uplinks, hashed)]
        kept = [min(pair) for pair in zip(kept, left, strict=True)]
        whole_tor = (at.down_gbps, at.up_gbps)
        count = min(len(of_group), whole.cells[pod, 0].tors.get(whole_tor, 0))
        narrower = (at.down_gbps, uplinks * shape.uplink_gbps)
        after = after.changed(pod, 0, {whole_tor: -count, narrower: count})
        widths.append(f"{uplinks} of {every} at {plural(len(of_group), 'ToR')}")
        gpus += at.served * len(of_group)
    name = "Split cage of a spine, ToR side: its transceiver"
    part = Part(name, fabric.name(spine), len(cages) * fabric.counts()["spines"])
    width = ", ".join(widths)
    yield above_nics(part, cage.total(), gpus, (kept[0], kept[1]), BEYOND, width, one_half(whole, after))


def _by_group(fabric: Fabric, spine: SwitchId, tors: Counter[str]) -> dict[int, Counter[str]]:
    """Host group -> its ToRs among these of a spine's pod and plane, with their links to the spine."""
    group_of = {
        fabric.name(tor): unit.group
        for coordinate, unit in fabric.units.items()
        for tor in fabric.tor_ids(coordinate)
        if (tor.plane, tor.pod) == (spine.plane, spine.pod)
    }
    found: dict[int, Counter[str]] = {}
    for tor, count in tors.items():
        found.setdefault(group_of[tor], Counter())[tor] = count
    return found


def _core_failures(fabric: Fabric, whole: Capacity, at: Place, gpus: int) -> Iterator[Failure]:
    """Yield a link between spine and core, and a core."""
    shape, counts, gbps = fabric.shape, fabric.counts(), fabric.shape.core_link_gbps
    cell = whole.cells[at.pod, 0]
    total, into_pod = shape.spines * shape.spine_uplinks, shape.spines_per_core_group * shape.links_per_core
    before = min(cell.leaving_gbps, cell.spine_up_gbps)

    def kept_share(number: int) -> Fraction:
        passed = min(cell.leaving_gbps, number * gbps)
        return 1 - Fraction(1, shape.port_planes) * (1 - (Fraction(passed, before) if before else 1))

    where = "between pods" if shape.pods > 1 else "towards the cores"
    spine = fabric.name(SwitchId(TierName.SPINE, 0, at.pod, -1, 0, -1))
    core = fabric.name(SwitchId(TierName.CORE, 0, 0, -1, 0, -1))
    one = Counter({0: 1})
    groups = shape.spines // shape.spines_per_core_group
    out = usable_links(shape.spines, shape.spine_uplinks, one)
    back = usable_links(shape.cores_per_group, into_pod, one) * groups
    name = "Link of a spine to a core: cable, or transceiver at either end"
    part = Part(name, f"{spine} to {core}", counts["core_cables"])
    width = f"{shape.spine_uplinks - 1} of {shape.spine_uplinks} at that spine"
    rest = one_half(whole, whole.narrow_cell(at.pod, 0, Fraction(0), gbps))
    yield above_nics(part, 1, gpus, (kept_share(total - 1), kept_share(min(out, back))), where, width, rest)
    after = whole
    for pod, plane in whole.cells:
        if plane % shape.port_planes == 0:
            after = after.narrow_cell(pod, plane, Fraction(0), into_pod * gbps)
    group = Counter(dict.fromkeys(range(shape.spines_per_core_group), shape.links_per_core))
    hashed = usable_links(shape.spines, shape.spine_uplinks, group)
    width = f"{shape.spine_uplinks - shape.links_per_core} of {shape.spine_uplinks} at its spines"
    part = Part("Core", core, counts["cores"])
    lost, ends = shape.pods * shape.rail_planes * into_pod, (kept_share(total - into_pod), kept_share(hashed))
    yield above_nics(part, lost, counts["gpus"], ends, where, width, both_halves(whole, after))


def _gpus_of_pod(fabric: Fabric, pod: int) -> int:
    """GPUs of a pod."""
    return sum(
        len(unit.hosts) * fabric.host_models[unit.group].gpus
        for unit in fabric.units.values()
        if unit.home // fabric.shape.units_per_pod == pod
    )
