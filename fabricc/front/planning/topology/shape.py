"""Compute the shape of a fabric from the ratios and counts of the spec, or report what would fit instead."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric.shape import PortLayout, Shape
from fabricc.front.planning.topology import clos, refusals
from fabricc.front.planning.topology import layout as topology_layout
from fabricc.front.planning.topology.models import Models, RequestedTier, UnfitError
from fabricc.front.planning.topology.tors import REPIN, TorTier, bottom_of, link_speed, refuse_moved, up_pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import Catalog
    from fabricc.front.spec.model import ClusterSpec, Tier


@dataclass(frozen=True, slots=True)
class Sizing:
    """A shape with the port layouts that realise it.

    Attributes:
        capacity_units: units that the spines can hold.
        tor_up_cage, spine_up_cage: cage position where the uplinks begin, see `TorTier.up_cage`.
        cage_pins: what the lock has to keep of these.
        most_uplinks: uplinks a ToR could physically have.
        needed_uplinks: host group index -> uplinks that its ToRs need.
        bottom: what the ToR tier decided.
    """

    shape: Shape
    capacity_units: int
    tor_layouts: tuple[PortLayout, ...]
    spine_layout: PortLayout
    core_layout: PortLayout | None
    tor_up_cage: int
    spine_up_cage: int
    most_uplinks: int
    needed_uplinks: tuple[int, ...]
    bottom: TorTier
    cage_pins: Mapping[str, int]

    @property
    def pins(self) -> dict[str, int]:
        """Return what the lock pins of the cabling."""
        shape = self.shape
        pins = {**self.cage_pins}
        if shape.spines:
            pins["links_per_spine"] = shape.links_per_spine
        if shape.cores:
            pins |= {
                "units_per_pod": shape.units_per_pod,
                "spines_per_core_group": shape.spines_per_core_group,
                "links_per_core": shape.links_per_core,
            }
        return pins


def size_fabric(
    spec: ClusterSpec, models: Models, present: int, units: int, pins: Mapping[str, int], catalog: Catalog
) -> Sizing:
    """Work out the shape.

    Args:
        spec: the spec.
        models: its catalog entries.
        present: units that exist, up to the highest coordinate.
        units: units to dimension for: present or declared capacity, whichever is more.
        pins: strides of the lock; those that concern the shape are kept.
        catalog: where to look for models that would fit.

    Raises:
        UnfitError: no such fabric can be built; the diagnostics contain remedies.
    """
    bottom = bottom_of(spec, models, pins)
    if spec.spines is None or models.spine is None:
        return _one_tier(spec, models, units, bottom)
    spine = RequestedTier(spec.spines, models.spine)
    if spec.cores is None or models.core is None:
        return _two_tiers(spec, models, catalog, units, pins, bottom, spine)
    return _three_tiers(
        spec, models, present, units, pins, bottom, spine, RequestedTier(spec.cores, models.core)
    )


def check_joined(spec: ClusterSpec, models: Models, units: int, pins: Mapping[str, int]) -> None:
    """Several units have spines.

    Raises:
        UnfitError: they have none; the diagnostic contains spines that would join them.
    """
    if spec.spines is None and units > 1 and not spec.tors.peer_links:
        raise UnfitError(refusals.report_islands(spec, models, bottom_of(spec, models, pins), units))


def _one_tier(spec: ClusterSpec, models: Models, units: int, bottom: TorTier) -> Sizing:
    """ToRs without spines, alone or in pairs; strides get room for the units that spines would join later."""
    peers = spec.tors.peer_links
    gbps = bottom.up_gbps if peers else 0
    shape = replace(_two_tier_shape(bottom, 0, 0), units_per_pod=units, uplink_gbps=gbps, peer_links=peers)
    return _assemble_sizing(spec, models, bottom, shape, units, PortLayout((), (), ()), None, 0)


def _two_tier_shape(bottom: TorTier, spines: int, links: int) -> Shape:
    """Return the shape of a two-tier fabric, for one unit."""
    return Shape(
        planes=bottom.planes.count,
        nic_ports=bottom.lead.nic_ports,
        rails=bottom.lead.rails,
        rails_per_tor=bottom.lead.rails_per_tor,
        hosts_per_unit=bottom.slots,
        pods=1,
        units_per_pod=1,
        spines=spines,
        links_per_spine=links,
        cores=0,
        spines_per_core_group=spines,
        cores_per_group=0,
        links_per_core=0,
        uplink_gbps=bottom.up_gbps,
        core_link_gbps=0,
        rail_planes=bottom.planes.by_rail,
    )


def _spread_uplinks(
    spec: ClusterSpec, spines: Tier, bottom: TorTier, pins: Mapping[str, int]
) -> tuple[int, int | None, int | None]:
    """(uplinks, spines or None, links per spine or None) after pinned counts; uplinks may grow to divide evenly."""
    uplinks, count, links = bottom.uplinks, spines.count, pins.get("links_per_spine")
    if count is None and links is None:
        return uplinks, None, None
    if count is None and links is not None:
        count = -(-uplinks // links)
    if count is None:
        return uplinks, None, None
    if links is None:
        links = -(-uplinks // count)
    if spec.tors.uplinks and count * links != spec.tors.uplinks and "links_per_spine" in pins:
        needed = f"{count} spines need {count * links} uplinks, not {spec.tors.uplinks}"
        message = f"the lock pins {links} links to each spine; {needed}"
        raise UnfitError(spec.error("FAB3008", message, "spines", "count", help=REPIN))
    if spec.tors.uplinks and count * links != spec.tors.uplinks:
        near = clos.list_divisors(spec.tors.uplinks)
        message = (
            f"{spec.tors.uplinks} uplinks do not spread evenly over {plural(count, 'spine')} with "
            f"{plural(links, 'link')} to each"
        )
        help_ = f"Counts that divide {spec.tors.uplinks}: {', '.join(map(str, near))}."
        raise UnfitError(spec.error("FAB3008", message, "spines", "count", help=help_))
    if count * links > bottom.most_uplinks:
        message = (
            f"{plural(count, 'spine')} with {plural(links, 'link')} to each need {count * links} uplinks; the ToR has "
            f"room for {bottom.most_uplinks}"
        )
        help_ = f"The largest count that fits is {bottom.most_uplinks // links}."
        raise UnfitError(spec.error("FAB3007", message, "spines", "count", help=help_))
    return count * links, count, links


def _two_tiers(
    spec: ClusterSpec,
    models: Models,
    catalog: Catalog,
    units: int,
    pins: Mapping[str, int],
    bottom: TorTier,
    spine: RequestedTier,
) -> Sizing:
    ports = topology_layout.ports_at(spine.model, bottom.up_gbps) - spine.tier.reserved_ports
    uplinks, count, links = _spread_uplinks(spec, spine.tier, bottom, pins)
    tors = units * bottom.sides
    if count is None or links is None:
        most = (
            uplinks
            if spec.tors.uplinks
            else min(bottom.most_uplinks, pins.get("uplink", bottom.most_uplinks))
        )
        layer = clos.fewest_spines(tors, uplinks, most, ports) if ports > 0 else None
        if layer is None:
            raise UnfitError(refusals.spine_too_small(spec, models, spine, catalog, bottom, tors, ports))
        count, links = layer.count, layer.links_per_spine
    capacity = ports // links // bottom.sides
    if capacity < units:
        raise UnfitError(
            refusals.beyond_capacity(
                spec, models, spine, catalog, bottom, pins, units, capacity, count, links, uplinks, ports
            )
        )
    shape = replace(_two_tier_shape(bottom, count, links), units_per_pod=capacity)
    down = topology_layout.Block(bottom.up_gbps, capacity * bottom.sides * links)
    layout = topology_layout.arrange_ports(spine.model, down, topology_layout.Block(bottom.up_gbps, 0))
    return _assemble_sizing(spec, models, bottom, shape, capacity, layout, None, 0)


def _three_tiers(
    spec: ClusterSpec,
    models: Models,
    present: int,
    units: int,
    pins: Mapping[str, int],
    bottom: TorTier,
    spine: RequestedTier,
    core: RequestedTier,
    *,
    compares: bool = True,
) -> Sizing:
    """Size ToRs, spines and cores; `compares`: name other keys with which a pod that does not fit would."""
    refuse_moved(spec, "spine", pins, uplinks_first=spine.tier.uplinks_first)
    core_gbps = link_speed(spec, spine.model, core.model, spine.tier.uplink_gbps, "spines")
    uplinks, count, links = _spread_uplinks(spec, spine.tier, bottom, pins)
    requested = pins.get("units_per_pod") or spine.tier.units_per_pod
    found = None
    most = topology_layout.ports_at(spine.model, bottom.up_gbps) // bottom.sides
    for per_pod in (requested,) if requested else range(min(units, most), 0, -1):
        found = _find_pod(spine, per_pod, uplinks, count, links, bottom, core_gbps, pins)
        if found:
            break
    if found is None:
        sizes = range(most, 0, -1)
        best = next(
            (n for n in sizes if _find_pod(spine, n, uplinks, count, links, bottom, core_gbps, pins)), 0
        )
        free = _find_pod(spine, requested or units, bottom.uplinks, None, None, bottom, core_gbps, pins)
        others = _find_keys(spec, models, present, units, spine, core) if compares and not pins else ()
        raise UnfitError(
            refusals.no_pod(spec, spine, requested or units, uplinks, count, best, free and free[1], others)
        )
    per_pod, spines, links, spine_uplinks, up_cage = found
    pods, by_rail = -(-units // per_pod), bottom.planes.by_rail
    core_ports = topology_layout.ports_at(core.model, core_gbps) - core.tier.reserved_ports
    layer = _find_cores(spec, pods * by_rail, spines, spine_uplinks, core_ports, pins)
    if layer is None and {"spines_per_core_group", "links_per_core"} <= pins.keys():
        message = f"the cores have no ports for {plural(pods, 'pod')} with the links that the lock pins"
        raise UnfitError(spec.error("FAB3020", message, "spines", help=REPIN))
    if layer is None:
        sizes = range(per_pod + 1, 0 if pins else min(units, most) + 1)
        larger = (
            (n, _find_pod(spine, n, uplinks, count, count and links, bottom, core_gbps, pins)) for n in sizes
        )
        joined = (
            (n, cores.count)
            for n, pod in larger
            if pod and (cores := clos.core_layer(-(-units // n) * by_rail, pod[1], pod[3], core_ports))
        )
        raise UnfitError(
            refusals.cores_too_small(
                spec, core.model, pods, by_rail, spines, spine_uplinks, core_ports, next(joined, None)
            )
        )
    shape = replace(
        _two_tier_shape(bottom, spines, links),
        pods=-(-present // per_pod),
        units_per_pod=per_pod,
        cores=layer.count,
        spines_per_core_group=layer.spines_per_group,
        cores_per_group=layer.cores_per_group,
        links_per_core=layer.links_per_core,
        core_link_gbps=core_gbps,
    )
    spine_layout = topology_layout.arrange_ports(
        spine.model,
        topology_layout.Block(bottom.up_gbps, per_pod * bottom.sides * links),
        topology_layout.Block(core_gbps, spine_uplinks),
        up_cage,
        uplinks_first=spine.tier.uplinks_first,
    )
    per_pod_ports = by_rail * layer.spines_per_group * layer.links_per_core
    capacity_pods = core_ports // per_pod_ports
    core_layout = topology_layout.arrange_ports(
        core.model,
        topology_layout.Block(core_gbps, capacity_pods * per_pod_ports),
        topology_layout.Block(core_gbps, 0),
    )
    return _assemble_sizing(
        spec, models, bottom, shape, capacity_pods * per_pod, spine_layout, core_layout, up_cage
    )


def _find_keys(
    spec: ClusterSpec, models: Models, present: int, units: int, spine: RequestedTier, core: RequestedTier
) -> Iterator[str]:
    """Yield a sentence on other uplinks or spines by rail, and one on more planes, with which the same pods fit."""
    bottom = bottom_of(spec, models, {})
    starts: list[tuple[tuple[str, ...], ClusterSpec]] = [((), spec)]
    if bottom.planes.by_rail == 1 and bottom.lead.tors > 1:
        share = bottom.lead.rails_per_tor
        by_rail = replace(spec, spines=replace(spine.tier, rails=share))
        starts.append(((f"`spines.rails: {share}`",), by_rail))
    for numbers in ((spec.planes,), [each for each in (2, 4, 8) if each > spec.planes]):
        for planes, (start, begun) in product(numbers, starts):
            for names, wanted in refusals.split_planes(begun, models, spine, planes):
                if wanted.gpus != spec.gpus or wanted == spec:
                    continue
                try:
                    split = bottom_of(wanted, models, {})
                    _three_tiers(wanted, models, present, units, {}, split, spine, core, compares=False)
                except UnfitError:
                    continue
                first, *others = start + (names if planes != spec.planes else names[1:])
                added = f" with {' and '.join(others)}" if others else ""
                yield f"{first}{added} fits: {plural(split.planes.count, 'set')} of spines a pod."
                break
            else:
                continue
            break


def _find_pod(
    requested: RequestedTier,
    per_pod: int,
    uplinks: int,
    count: int | None,
    links: int | None,
    bottom: TorTier,
    core_gbps: int,
    pins: Mapping[str, int],
) -> tuple[int, int, int, int, int] | None:
    """(units, spines, links per spine, uplinks per spine, first uplink cage) of the fitting pod of fewest spines."""
    request, model = requested
    options = (
        [(count, links)] if count and links else [(n, uplinks // n) for n in clos.list_divisors(uplinks)]
    )
    for spines, parallel in options:
        if links is None and spines > pins.get("spine", spines):
            continue
        down = per_pod * bottom.sides * parallel
        ratio = request.oversubscription or 1.0
        ups = request.uplinks or clos.uplinks_needed(down * bottom.up_gbps, ratio, core_gbps)
        panel, start = model, pins.get("spine_up_cage")
        if request.uplinks_first:
            before = (
                pins.get("spine_down_cage")
                or topology_layout.cages_for(model, topology_layout.Block(core_gbps, ups))
                or 0
            )
            panel, start = (
                topology_layout.rotate_cages(model, before),
                topology_layout.cage_count(model) - before,
            )
        end = topology_layout.cages_for(
            panel, topology_layout.Block(bottom.up_gbps, down + request.reserved_ports)
        )
        if end is None:
            continue
        start = end if start is None else start
        if links is None and ups > pins.get("spine_uplink", ups):
            continue
        if (
            start >= end
            and topology_layout.cages_for(panel, topology_layout.Block(core_gbps, ups), start) is not None
        ):
            return per_pod, spines, parallel, ups, start
    return None


def _find_cores(
    spec: ClusterSpec, pods: int, spines: int, uplinks: int, ports: int, pins: Mapping[str, int]
) -> clos.CoreLayer | None:
    per_group, links = pins.get("spines_per_core_group"), pins.get("links_per_core")
    for name, value, number, what in (
        ("spines_per_core_group", per_group, spines, "spines of a pod"),
        ("links_per_core", links, uplinks, "uplinks of a spine"),
    ):
        if value and number % value:
            message = f"the lock pins {name} to {value}, which does not divide the {number} {what}"
            raise UnfitError(spec.error("FAB3020", message, "spines", help=REPIN))
    if per_group and links:
        layer = clos.CoreLayer(spines // per_group, uplinks // links, per_group, links)
        return layer if pods * per_group * links <= ports else None
    count = spec.cores.count if spec.cores else None
    return clos.core_layer(pods, spines, uplinks, ports, count, per_group, links)


def _assemble_sizing(
    spec: ClusterSpec,
    models: Models,
    bottom: TorTier,
    shape: Shape,
    capacity: int,
    spine: PortLayout | None,
    core: PortLayout | None,
    spine_up_cage: int,
) -> Sizing:
    reserved = spec.tors.reserved_ports
    uplinks = topology_layout.Block(bottom.up_gbps, shape.uplinks or shape.peer_links)
    tors = tuple(
        topology_layout.arrange_ports(
            models.tor,
            topology_layout.Block(bottom.hosts[home].speed_gbps, bottom.hosts[home].count + reserved),
            uplinks,
            bottom.up_cage,
            reserved,
            bottom.beside[home],
            uplinks_first=spec.tors.uplinks_first,
        )
        for home in (
            index if each.beside is None else each.beside for index, each in enumerate(bottom.attached)
        )
    )
    layouts = tuple(layout for layout in tors if layout is not None)
    if spine is None or len(layouts) < len(tors):
        raise AssertionError("a sized switch must have a layout")
    cage_pins = up_pin("tor", spec.tors, models.tor, bottom.up_cage)
    if shape.cores and spec.spines and models.spine:
        cage_pins |= up_pin("spine", spec.spines, models.spine, spine_up_cage)
    return Sizing(
        shape,
        capacity,
        layouts,
        spine,
        core,
        bottom.up_cage,
        spine_up_cage,
        bottom.most_uplinks,
        bottom.needed,
        bottom,
        cage_pins,
    )
