"""Compute the quantities of a shape in closed form: switches, optics, cables, idle ports, room, ratio, GPUs cut off."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fabricc.catalog.optics import FIBRES, cage_of, host_ends
from fabricc.fabric import links
from fabricc.fabric.shape import Attachment, PortLayout, Shape, TierName
from fabricc.front.planning.topology.layout import port_speeds, ports_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableKind
    from fabricc.front.spec.model import ClusterSpec


class SizedShape(Protocol):
    """A shape with its port layouts, planned or not."""

    @property
    def shape(self) -> Shape:
        """The counts."""
        ...

    @property
    def tor_layouts(self) -> tuple[PortLayout, ...]:
        """By host group."""
        ...

    @property
    def spine_layout(self) -> PortLayout:
        """The port layout of every spine."""
        ...

    @property
    def core_layout(self) -> PortLayout | None:
        """The port layout of every core."""
        ...


class FilledUnit(NamedTuple):
    """A unit: its coordinate, its host group, and how many hosts there are; of border leaves none."""

    coordinate: int
    group: int
    hosts: int


class Ends(NamedTuple):
    """Links of one kind, and the cages that they are plugged into at their lower and upper ends."""

    links: int
    lower: int
    upper: int


class Outside(NamedTuple):
    """Links that leave the fabric, and transceivers at our ends of them."""

    links: int
    optics: int


class Figures(NamedTuple):
    """The quantities of a shape.

    Attributes:
        switches: by tier, ToRs first. `switch_gbps`: what the ports of all of them carry together.
        ends: kind of link -> its links and cages.
        optics: cages with a transceiver: those of links over fibre.
        idle: ports of switches without a link.
        room: hosts until a tier is full.
        ratio: Gb/s of the hosts over those that reach the top, of full units and pods; 1 at the least.
        cut: GPUs without a port once one part is lost.
        outside: the external links, which are not part of `ends` and `optics`.
    """

    switches: Mapping[TierName, int]
    switch_gbps: int
    ends: Mapping[str, Ends]
    optics: int
    idle: int
    room: int
    ratio: Fraction
    cut: int
    outside: Outside = Outside(0, 0)

    @property
    def boxes(self) -> int:
        """Return the number of switches of all tiers."""
        return sum(self.switches.values())

    @property
    def cables(self) -> int:
        """Return the number of links of all kinds."""
        return sum(each.links for each in self.ends.values())


def compute_figures(
    spec: ClusterSpec,
    hosts: Sequence[HostModel],
    attached: Sequence[Attachment],
    models: Mapping[TierName, SwitchModel],
    sized: SizedShape,
    links: Sequence[int],
    units: Sequence[FilledUnit],
) -> Figures:
    """Compute the quantities of a shape.

    Args:
        spec: the spec that has it.
        hosts: host group index -> model.
        attached: likewise, how its hosts are attached; units of border leaves follow, here and in what is by group.
        models: of the switches of each tier.
        sized: the shape.
        links: host group index -> links of its ToRs to each spine.
        units: those that there are.
    """
    shape = sized.shape
    tors = {unit: attached[unit.group].tors * attached[unit.group].nic_ports for unit in units}
    peopled = [unit for unit in units if unit.hosts]
    switches = {TierName.TOR: sum(tors.values())}
    if shape.spines:
        switches[TierName.SPINE] = shape.pods * shape.planes * shape.spines
    if shape.cores:
        switches[TierName.CORE] = shape.port_planes * shape.cores
    layouts = {TierName.SPINE: sized.spine_layout, TierName.CORE: sized.core_layout}
    ports = sum(count * len(sized.tor_layouts[unit.group].slots) for unit, count in tors.items())
    ports += sum(
        count * len(layout.slots) for tier, count in switches.items() if (layout := layouts.get(tier))
    )
    ends = {"host": _host_ends(hosts, attached, sized, peopled)}
    if shape.spines:
        ends["spine"] = _spine_ends(sized, attached, links, units)
    if shape.peer_links:
        cages = shape.planes * _count_cages(sized.tor_layouts[0], sized.tor_layouts[0].up)
        ends["peer"] = Ends(shape.planes * shape.peer_links, cages, cages)
    if shape.cores and sized.core_layout is not None:
        into = shape.pods * shape.rail_planes * shape.spines_per_core_group * shape.links_per_core
        ends["core"] = Ends(
            switches[TierName.SPINE] * shape.spine_uplinks,
            switches[TierName.SPINE] * _count_cages(sized.spine_layout, sized.spine_layout.up),
            switches[TierName.CORE] * _count_cages(sized.core_layout, sized.core_layout.down[:into]),
        )
    kinds: Mapping[str, CableKind] = {kind: getattr(spec.cables, kind) for kind in ends}
    taken = ends["host"].links + 2 * sum(each.links for kind, each in ends.items() if kind != "host")
    return Figures(
        switches=switches,
        switch_gbps=sum(count * forwarding_rate(models[tier]) for tier, count in switches.items()),
        ends=ends,
        optics=sum(each.lower + each.upper for kind, each in ends.items() if kinds[kind].medium in FIBRES),
        idle=ports - taken,
        room=_remaining_hosts(spec, models[TierName.TOR], sized, units),
        ratio=_oversubscription_ratio(sized),
        cut=max(_count_cut_gpus(hosts[unit.group], shape, unit.hosts) for unit in peopled),
    )


def with_ways_out(found: Figures, fabric: Fabric) -> Figures:
    """Add the external links to the figures of a plan: their ports, and cages with a transceiver for them alone."""
    idle, modules = found.idle, 0
    exits = fabric.external.exits
    switches = {name: at for at in fabric.switch_ids() if (name := fabric.name(at)) in exits}
    for name, at in switches.items():
        ways = exits[name]
        slots, names = links.port_layout(fabric, at).slots, links.port_names(fabric, at)
        splits = fabric.external.splits.get(name, {})
        cages = {port: slot.cage for port, slot in zip(names, slots, strict=True)}
        for cage, split in splits.items():
            cages |= dict.fromkeys(split.names, cage)
            idle += len(split.slots) - sum(slot.cage == cage for slot in slots)
        idle -= len(ways)
        inside = {slots[link.slot].cage for link in links.switch_links(fabric, at) if link.medium in FIBRES}
        modules += len({cages[port] for port, way in ways.items() if way.link.medium in FIBRES} - inside)
    return found._replace(idle=idle, outside=Outside(sum(map(len, exits.values())), modules))


def forwarding_rate(model: SwitchModel) -> int:
    """Return the total bandwidth of a switch's ports at its best speed, Gb/s."""
    return max((speed * ports_at(model, speed) for speed in port_speeds(model)), default=0)


def _count_cages(layout: PortLayout, used: Iterable[int]) -> int:
    return len({layout.slots[slot].cage for slot in used})


def _host_ends(
    hosts: Sequence[HostModel], attached: Sequence[Attachment], sized: SizedShape, units: Sequence[FilledUnit]
) -> Ends:
    shape, links, lower, upper = sized.shape, 0, 0, 0
    for (group, count), number in Counter((unit.group, unit.hosts) for unit in units).items():
        model, layout = hosts[group], sized.tor_layouts[group]
        own = attached[group]
        ends = host_ends(model, own.ports_per_nic, own.gbps)
        nics = {
            cage_of(model, ends, *own.nic(rail, port))[0]
            for rail in range(shape.rails)
            for port in range(shape.nic_ports)
        }
        links += number * count * shape.rails * shape.nic_ports
        lower += number * count * len(nics)
        upper += (
            number * shape.tors_per_unit * _count_cages(layout, layout.down[: count * shape.rails_per_tor])
        )
    return Ends(links, lower, upper)


def _spine_ends(
    sized: SizedShape, attached: Sequence[Attachment], links: Sequence[int], units: Sequence[FilledUnit]
) -> Ends:
    shape, total, lower, parallel = sized.shape, 0, 0, sized.shape.links_per_spine
    pods: dict[int, set[int]] = {}
    for unit in units:
        cables, up, own = links[unit.group], sized.tor_layouts[unit.group].up, attached[unit.group]
        used = [up[spine * parallel + cable] for spine in range(shape.spines) for cable in range(cables)]
        total += own.tors * own.nic_ports * len(used)
        lower += own.tors * own.nic_ports * _count_cages(sized.tor_layouts[unit.group], used)
        pod, place = divmod(unit.coordinate, shape.units_per_pod)
        first = place * shape.tors_per_unit_plane
        of_plane = product(range(own.tors), range(0, own.nic_ports, shape.port_planes))
        pods.setdefault(pod, set()).update(
            sized.spine_layout.down[(first + tor) * parallel + cable]
            for tor in {shape.in_plane(*each) for each in of_plane}
            for cable in range(cables)
        )
    upper = (
        sum(_count_cages(sized.spine_layout, used) for used in pods.values()) * shape.planes * shape.spines
    )
    return Ends(total, lower, upper)


def _remaining_hosts(
    spec: ClusterSpec, tor: SwitchModel, sized: SizedShape, units: Sequence[FilledUnit]
) -> int:
    """Return the hosts until a tier is full: in existing units, and in further units of the smallest group."""
    shape, groups = sized.shape, spec.gpus.groups
    if not shape.spines:
        gbps = sized.tor_layouts[0].slots[sized.tor_layouts[0].down[0]].speed_gbps
        return (ports_at(tor, gbps) - spec.tors.reserved_ports) // shape.rails_per_tor
    present = sum(groups[unit.group].hosts_per_unit for unit in units if unit.hosts)
    smallest = min(group.hosts_per_unit for group in groups)
    last = max(unit.coordinate for unit in units) + 1
    return present + (unit_capacity(sized) - last) * smallest


def _oversubscription_ratio(sized: SizedShape) -> Fraction:
    shape, found = sized.shape, Fraction(1)
    if shape.spines:
        down = max(_downlink_gbps(layout) for layout in sized.tor_layouts)
        found *= max(Fraction(1), Fraction(down, shape.uplinks * shape.uplink_gbps))
    if shape.cores:
        up = shape.spine_uplinks * shape.core_link_gbps
        found *= max(Fraction(1), Fraction(_downlink_gbps(sized.spine_layout), up))
    return found


def _downlink_gbps(layout: PortLayout) -> int:
    """Return the bandwidth of the downlinks without reserved ports, Gb/s."""
    served = layout.down[: len(layout.down) - layout.reserved]
    return sum(layout.slots[slot].speed_gbps for slot in served)


def _count_cut_gpus(model: HostModel, shape: Shape, hosts: int) -> int:
    """Count the GPUs without a port after the loss of a ToR, or of a NIC where each has several ports."""
    shared = bool(model.gpus) and shape.rails > model.gpus and shape.rails % model.gpus == 0
    nics, weight = (
        (shape.rails // model.gpus, Fraction(1)) if shared else (1, Fraction(model.gpus, shape.rails))
    )
    if shape.nic_ports > 1:
        return ceil(weight) if nics == 1 else 0
    return ceil(hosts * (shape.rails_per_tor // nics) * weight)


def unit_capacity(sized: SizedShape) -> int:
    """Return the number of units that the switches above the ToRs have ports for."""
    shape, core = sized.shape, sized.core_layout
    if not shape.cores or core is None:
        return shape.units_per_pod
    per_pod = shape.rail_planes * shape.spines_per_core_group * shape.links_per_core
    return len(core.down) // per_pod * shape.units_per_pod


def fill_units(spec: ClusterSpec) -> Iterator[FilledUnit]:
    """Return the units of a new fabric in order."""
    coordinate = 0
    for index, group in enumerate(spec.gpus.groups):
        racks = [len(names) or group.hosts_per_unit for names in group.racks.values()]
        whole, rest = divmod(group.hosts, group.hosts_per_unit)
        for hosts in racks or [group.hosts_per_unit] * whole + [rest] * bool(rest):
            yield FilledUnit(coordinate, index, hosts)
            coordinate += 1
