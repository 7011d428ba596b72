"""Report every failure of a single part of a planned fabric, from the cable up: who is hit, and what is left.

The fullest unit serves as the example.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric import links
from fabricc.fabric.capacity import throughput
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import NicPort, Outage, Wiring, outage_of_planes
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.review.report.values import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.fabric.fabric import Fabric

SlotPort = tuple[int, int, int]
"""Slot of the host in its unit, rail, and port of that NIC."""


@dataclass(frozen=True, slots=True)
class ExampleUnit:
    """The fullest unit of a host group, where losses are the largest.

    Attributes:
        tor: name of its first ToR.
        slots: of its own hosts on that ToR.
        down_gbps: bandwidth of the hosts on that ToR.
    """

    group: int
    unit: int
    pod: int
    tor: str
    slots: tuple[int, ...]
    down_gbps: int


def find_example_unit(fabric: Fabric, group: int) -> ExampleUnit:
    """Return the first of the units of a host group that have the most hosts."""
    units = [unit for unit in fabric.units.values() if unit.group == group]
    unit = max(units, key=lambda each: (len(each.hosts), -each.coordinate)).coordinate
    tor = links.tor_id(fabric, unit, 0, 0)
    served = [*links.served_slots(fabric, tor)]
    gbps = sum(len(slots) * len(rails) * fabric.attachments[of.group].gbps for of, slots, rails in served)
    return ExampleUnit(
        group, unit, unit // fabric.shape.units_per_pod, fabric.name(tor), tuple(served[0][1]), gbps
    )


def list_tor_nic_ports(fabric: Fabric, at: ExampleUnit) -> list[SlotPort]:
    """Return the NIC ports of the unit's own hosts that its first ToR serves."""
    return [
        (slot, rail, 0) for slot in at.slots for rail in range(fabric.attachments[at.group].rails_per_tor)
    ]


def list_shared_nic_ports(fabric: Fabric, at: ExampleUnit) -> list[SlotPort]:
    """Return the NIC ports on that cage of the first ToR that serves the most; one where cages are not split."""
    layout, attached = fabric.tor_layouts[at.group], fabric.attachments[at.group]
    found: dict[int, list[SlotPort]] = {}
    for slot, rail, port in list_tor_nic_ports(fabric, at):
        cage = layout.slots[layout.down[attached.seat(slot)[1] * attached.rails_per_tor + rail]].cage
        found.setdefault(cage, []).append((slot, rail, port))
    return max(found.values(), key=len)


def list_uplink_cages(fabric: Fabric, at: ExampleUnit) -> list[list[str]]:
    """Return the ports of each cage of the first ToR that has uplinks, or links to the other ToR."""
    tor = links.tor_id(fabric, at.unit, 0, 0)
    layout, names = links.port_layout(fabric, tor), links.port_names(fabric, tor)
    found: dict[int, list[str]] = {}
    for link in links.switch_links(fabric, tor):
        if link.direction in (Direction.UP, Direction.PEER):
            found.setdefault(layout.slots[link.slot].cage, []).append(names[link.slot])
    return list(found.values())


def single_failures(fabric: Fabric, *, hashed: bool) -> tuple[Failure, ...]:
    """Return the failure of each single part, with everything else up.

    Links that overrides shut count as working; `hashed`: switches hash over next hops, as ECMP does.
    """
    wiring = Wiring(fabric)
    whole = _measure_whole(wiring)
    found = [_measure_loss(wiring, whole, loss) for loss in _list_losses(wiring)]
    return tuple(each if hashed else replace(each, evenly=None) for each in found)


def least_bandwidth(fabric: Fabric) -> Fraction:
    """Return the least share of the bisection bandwidth that is left after the loss of any single device or cable."""
    wiring = Wiring(fabric)
    whole = _measure_whole(wiring)
    rates = (
        throughput.OutageRates(Remainder(wiring, loss.outage)) for loss in _list_losses(wiring) if loss.device
    )
    left = (throughput.measure_throughput(each).compare_bisection(whole) for each in rates)
    return min(left, default=Fraction(1))


def _measure_whole(wiring: Wiring) -> throughput.Throughput:
    return throughput.measure_throughput(throughput.OutageRates(Remainder(wiring, Outage())))


def _measure_loss(wiring: Wiring, whole: throughput.Throughput, loss: _Loss) -> Failure:
    """Return who is hit by the loss of a part, and what is left."""
    left = Remainder(wiring, loss.outage)
    rates = throughput.OutageRates(left)
    found = throughput.measure_bandwidth_loss(rates)
    return Failure(
        *loss.part, left.lost_links, throughput.measure_throughput(rates).compare_bisection(whole),
        found.hosts, found.gpus, found.reduced, found.by_links, loss.where,
        found.evenly if found.evenly < found.by_links else None, loss.width, loss.device,
    )  # fmt: skip


def _list_losses(wiring: Wiring) -> Iterator[_Loss]:
    """Yield the loss of each single part, from the cable up."""
    fabric = wiring.fabric
    present = sorted({unit.group for unit in fabric.places() if unit.hosts})
    examples = [find_example_unit(fabric, group) for group in present]
    for at in examples:
        of = f" ({fabric.host_models[at.group].title})" if len(examples) > 1 else ""
        for each in _list_losses_below(wiring, at):
            yield each._replace(part=each.part._replace(name=each.part.name + of))
    if examples and fabric.shape.spines:
        yield from _list_losses_above(wiring, examples)


def hardest_single(lost: tuple[Failure, ...]) -> Failure | None:
    """The single part whose loss cuts off the most GPUs; where none does, takes the most bandwidth from all."""
    single = [each for each in lost if each.device]
    return max(single, key=lambda each: (each.gpus_cut, each.reduced * (1 - each.kept)), default=None)


def _cut_links(ends: Iterable[tuple[str, str]]) -> Outage:
    """Return the outage of some links."""
    return Outage(ends=frozenset(ends))


def _cut_nics(wiring: Wiring, unit: int, ports: Iterable[SlotPort]) -> Outage:
    """Return the outage of the links of some NIC ports of a unit."""
    return _cut_links(wiring.nic_end(NicPort(unit, *port)) for port in ports)


def _list_losses_below(wiring: Wiring, at: ExampleUnit) -> Iterator[_Loss]:
    """Yield losses at the hosts of a group and at their ToRs, at one example unit."""
    fabric = wiring.fabric
    unit = fabric.units[at.unit]
    alike = [each for each in fabric.units.values() if each.group == at.group]
    tors = Part("ToR", at.tor, fabric.tor_counts()[at.group])
    yield from _list_cable_losses(wiring, at, sum(len(each.hosts) for each in alike), tors.number)
    yield _Loss(tors, Outage(gone=frozenset({at.tor})))
    if fabric.shape.spines or fabric.shape.peer_links:
        yield from _list_uplink_losses(wiring, at, tors)
    names = {*unit.hosts.values(), *(fabric.name(tor) for tor in fabric.tor_ids(at.unit))}
    part = Part("Power of a whole unit: its hosts and ToRs", unit.name, len(alike))
    yield _Loss(part, Outage(gone=frozenset(names)), device=False)


def _list_cable_losses(wiring: Wiring, at: ExampleUnit, hosts: int, tors: int) -> Iterator[_Loss]:
    """Yield a host's link, a ToR cage that serves several links, and a NIC with several ports."""
    fabric = wiring.fabric
    attached, first = fabric.attachments[at.group], at.slots[0]
    host = fabric.units[at.unit].hosts[first]
    link = "Host link: cable, or transceiver at either end"
    part = Part(link, f"{host} to {at.tor}", hosts * attached.rails * len(attached.present))
    yield _Loss(part, _cut_nics(wiring, at.unit, [(first, 0, 0)]))
    shared = list_shared_nic_ports(fabric, at)
    if len(shared) > 1:
        layout = fabric.tor_layouts[at.group]
        per_tor = attached.rails_per_tor
        used = [attached.seat(slot)[1] * per_tor + rail for slot in at.slots for rail in range(per_tor)]
        number = tors * len({layout.slots[layout.down[index]].cage for index in used})
        part = Part("Split cage of a ToR, host side: its transceiver", at.tor, number)
        yield _Loss(part, _cut_nics(wiring, at.unit, shared))
    if len(attached.present) > 1:
        ports = [(first, 0, port) for port in attached.present]
        part = Part("NIC with all its ports", host, hosts * attached.rails)
        yield _Loss(part, _cut_nics(wiring, at.unit, ports))


def _list_uplink_losses(wiring: Wiring, at: ExampleUnit, tors: Part) -> Iterator[_Loss]:
    """Yield a single uplink of a ToR, and all uplinks in one cage; `tors` are those of the host group."""
    fabric, cages = wiring.fabric, list_uplink_cages(wiring.fabric, at)
    peers = fabric.shape.peer_links
    uplinks, number = peers or fabric.uplinks(at.group), tors.number * fabric.uplinks(at.group)
    name = f"{'Link between ToRs' if peers else 'ToR uplink'}: cable, or transceiver at either end"
    cases = [(Part(name, tors.example, fabric.counts().get("peer_cables", number)), cages[0][:1])]
    cage = max(cages, key=len)
    if len(cage) > 1:
        name = f"Split cage of a ToR, {'to the other ToR' if peers else 'uplinks'}: its transceiver"
        cases.append((Part(name, tors.example, tors.number * len(cages)), cage))
    for part, ports in cases:
        width = f"{uplinks - len(ports)} of {uplinks} at that ToR"
        yield _Loss(part, _cut_links((at.tor, port) for port in ports), BEYOND, width)


def _list_losses_above(wiring: Wiring, examples: Sequence[ExampleUnit]) -> Iterator[_Loss]:
    """Yield losses above the ToRs in the pod with the busiest ToR; `examples` has one unit of each host group."""
    fabric, shape, counts = wiring.fabric, wiring.fabric.shape, wiring.fabric.counts()
    at = max(examples, key=lambda each: each.down_gbps)
    groups = _find_groups_of_pod(fabric, at.pod)
    spine = SwitchId(TierName.SPINE, 0, at.pod, -1, 0, -1)
    yield from _list_spine_cage_losses(wiring, spine)
    name = fabric.name(spine)
    width = f"{_describe_uplinks(fabric, groups, shape.spines - 1)} at every ToR{_describe_reach(fabric)}"
    yield _Loss(Part("Spine", name, counts["spines"]), Outage(gone=frozenset({name})), BEYOND, width)
    if shape.cores:
        yield from _list_core_losses(wiring, at.pod)
    apart = fabric.fabrics
    if apart > 1:
        part = Part("A whole plane: all its ToRs, spines and cores", "plane a", apart)
        width = f"{_describe_uplinks(fabric, groups, 0)} in that plane, {AS_BEFORE} in the others"
        outage = outage_of_planes(fabric, range(0, len(fabric.planes), apart))
        yield _Loss(part, outage, width=width, device=False)


def _describe_reach(fabric: Fabric) -> str:
    """Return which ToRs a spine serves, after `every ToR`."""
    shape = fabric.shape
    names = [name for name, present in (("pod", shape.cores), ("plane", len(fabric.planes) > 1)) if present]
    return f" of its {' and '.join(names)}" if names else ""


def _find_groups_of_pod(fabric: Fabric, pod: int) -> set[int]:
    """Return the host groups of the ToRs in the first plane of a pod."""
    tors = ((unit.group, tor) for unit in fabric.places() for tor in fabric.tor_ids(unit.coordinate))
    return {group for group, tor in tors if (tor.pod, tor.plane) == (pod, 0)}


def _describe_uplinks(fabric: Fabric, groups: Iterable[int], spines: int) -> str:
    """`30 of 32`: the uplinks of a ToR that lead to so many spines, for each number that a ToR has."""
    numbers = sorted({fabric.tor_links[group] for group in groups}, reverse=True)
    return " or ".join(f"{spines * links} of {fabric.shape.spines * links}" for links in numbers)


def _list_spine_cage_losses(wiring: Wiring, spine: SwitchId) -> Iterator[_Loss]:
    """Yield the cage of a spine with the most links down, where cages are split."""
    fabric, name = wiring.fabric, wiring.fabric.name(spine)
    slots, names = fabric.spine_layout.slots, links.port_names(fabric, spine)
    cages: dict[int, list[tuple[str, str]]] = {}
    for link in links.switch_links(fabric, spine):
        if link.direction is Direction.DOWN:
            cages.setdefault(slots[link.slot].cage, []).append((names[link.slot], link.peer))
    cage = max(cages.values(), key=len, default=[])
    if len(cage) < 2:
        return
    lost = Counter(tor for _, tor in cage)
    widths: dict[tuple[int, int], int] = {}
    for tor in lost:
        group = fabric.units[wiring.tors[tor].unit].group
        most = max(n for each, n in lost.items() if fabric.units[wiring.tors[each].unit].group == group)
        widths[group, most] = widths.get((group, most), 0) + 1
    of = {group: fabric.uplinks(group) for group, _ in widths}
    rows = [
        f"{of[group] - n} of {of[group]} at {plural(tors, 'ToR')}"
        for (group, n), tors in sorted(widths.items())
    ]
    part = Part(
        "Split cage of a spine, ToR side: its transceiver", name, len(cages) * fabric.counts()["spines"]
    )
    yield _Loss(part, _cut_links((name, port) for port, _ in cage), BEYOND, ", ".join(rows))


def _list_core_losses(wiring: Wiring, pod: int) -> Iterator[_Loss]:
    """Yield a link between spine and core, and a core."""
    fabric, shape, counts = wiring.fabric, wiring.fabric.shape, wiring.fabric.counts()
    where = "between pods" if shape.pods > 1 else "towards the cores"
    spine = SwitchId(TierName.SPINE, 0, pod, -1, 0, -1)
    end, core = next(links.upward_links(fabric, spine)), fabric.name(SwitchId(TierName.CORE, 0, 0, -1, 0, -1))
    name, port = fabric.name(spine), links.port_names(fabric, spine)[end.slot]
    part = Part("Link of a spine to a core: cable, or transceiver at either end",
                f"{name} to {end.far.name}", counts["core_cables"])  # fmt: skip
    width = f"{shape.spine_uplinks - 1} of {shape.spine_uplinks} at that spine"
    yield _Loss(part, _cut_links([(name, port)]), where, width)
    width = f"{shape.spine_uplinks - shape.links_per_core} of {shape.spine_uplinks} at its spines"
    yield _Loss(Part("Core", core, counts["cores"]), Outage(gone=frozenset({core})), where, width)


AT_NIC, BEYOND = "at the NIC", "beyond the ToR"
AS_BEFORE = "as before"


@dataclass(frozen=True, slots=True)
class Failure:
    """One part lost, everything else up.

    Attributes:
        part: what fails. `example`: one of them by name.
        number: how many of it there are. `links`: links lost with one.
        hosts_cut, gpus_cut: without any port.
        reduced: GPUs that keep less bandwidth than before, `kept` of it at least, at the place `where`.
        evenly: what even hashing leaves of it, where that is less than the links that are left.
        width: equal-cost next hops left.
        bisection: share of the bisection bandwidth that is left.
        device: a single device or cable, not the power of a whole room.
    """

    part: str
    example: str
    number: int
    links: int
    bisection: Fraction
    hosts_cut: int = 0
    gpus_cut: int = 0
    reduced: int = 0
    kept: Fraction = Fraction(1)
    where: str = AT_NIC
    evenly: Fraction | None = None
    width: str = AS_BEFORE
    device: bool = True


class Part(NamedTuple):
    """The failing part, one by name, and how many there are."""

    name: str
    example: str
    number: int


class _Loss(NamedTuple):
    """A part that is lost; `where`, `width` and `device` are those of `Failure`."""

    part: Part
    outage: Outage
    where: str = AT_NIC
    width: str = AS_BEFORE
    device: bool = True


def describe_kept_bandwidth(each: Failure) -> str:
    """Return the share of their bandwidth that the affected GPUs keep, for people."""
    if not each.reduced:
        return NONE
    text = f"{format_share(each.kept)} {each.where}"
    return text if each.evenly is None else f"{text}; {format_share(each.evenly)} if hashed evenly"
