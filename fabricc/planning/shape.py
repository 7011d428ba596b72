"""From the spec's ratios and counts to the shape of the fabric, or to what would fit instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricc.fabric.shape import Shape
from fabricc.planning import topology
from fabricc.planning.layout import Block, arrange, cages_for, ports_at, speeds
from fabricc.planning.models import UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import Catalog, HostModel, SwitchModel
    from fabricc.diagnostics import Diagnostic
    from fabricc.fabric.shape import PortLayout
    from fabricc.planning.models import Models
    from fabricc.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Sizing:
    """A shape with the port layouts that realise it.

    Attributes:
        capacity_units: units that the spines can hold.
        host_gbps: host group -> speed of one of its ports after splitting.
        tor_up_cage, spine_up_cage: cage position where the uplinks begin.
        most_uplinks: uplinks a ToR could physically have.
    """

    shape: Shape
    capacity_units: int
    host_gbps: tuple[int, ...]
    tor_layouts: tuple[PortLayout, ...]
    spine_layout: PortLayout
    core_layout: PortLayout | None
    tor_up_cage: int
    spine_up_cage: int
    most_uplinks: int


def size(
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
        UnfitError: nothing of that kind can be built; the diagnostics say what would.
    """
    rails, nic_ports, host_gbps = _nics(spec, models)
    per_tor = spec.gpus.rails_per_tor or rails
    if rails % per_tor:
        fitting = ", ".join(str(d) for d in topology.divisors(rails))
        raise UnfitError(
            spec.error("FAB3004", f"{rails} rails cannot be shared out {per_tor} to a ToR", "gpus", "rails_per_tor",
                       help=f"Use one of {fitting}.")
        )  # fmt: skip
    slots = max(group.hosts_per_unit for group in spec.gpus.groups)
    up_gbps = _link_speed(spec, models.tor, models.spine, spec.tors.uplink_gbps, "tors")
    tors = _tor_uplinks(spec, models, slots * per_tor, host_gbps, up_gbps, pins)
    sides = rails // per_tor * (nic_ports // spec.planes)
    bottom = _Bottom(rails, nic_ports, per_tor, slots, sides, host_gbps, up_gbps, *tors)
    if spec.cores is None:
        return _two_tiers(spec, models, catalog, units, pins, bottom)
    return _three_tiers(spec, models, present, units, pins, bottom)


@dataclass(frozen=True, slots=True)
class _Bottom:
    """What the ToR tier decides: `sides` are ToRs per unit and plane, `uplinks` those that the ratio asks for."""

    rails: int
    nic_ports: int
    per_tor: int
    slots: int
    sides: int
    host_gbps: tuple[int, ...]
    up_gbps: int
    uplinks: int
    up_cage: int
    most_uplinks: int


def _nics(spec: ClusterSpec, models: Models) -> tuple[int, int, tuple[int, ...]]:
    """Rails, cabled NIC ports after splitting, and the speed of one of them per host group."""
    rails = {model.rails for model in models.hosts}
    if len(rails) > 1:
        names = ", ".join(f"{m.name} {m.rails}" for m in models.hosts)
        raise UnfitError(spec.error("FAB3001", f"host models differ in their number of rails: {names}", "gpus",
                               help="Put models of different rail counts into fabrics of their own."))  # fmt: skip
    ports, gbps = set(), []
    for model in models.hosts:
        options = _splits(model)
        fitting = {count: speed for count, speed in options.items() if count % spec.planes == 0}
        if not fitting:
            possible = ", ".join(str(n) for n in sorted({d for c in options for d in topology.divisors(c)}))
            raise UnfitError(
                spec.error("FAB3002", f"{model.title} cannot be spread over {spec.planes} planes", "planes",
                           help=f"Its NICs allow {possible}.")
            )  # fmt: skip
        count = model.ports_per_nic if model.ports_per_nic in fitting else min(fitting)
        ports.add(count)
        gbps.append(fitting[count])
    if len(ports) > 1:
        raise UnfitError(spec.error("FAB3003", "host models differ in their number of ports per NIC", "gpus",
                               help="Put them into fabrics of their own."))  # fmt: skip
    return rails.pop(), ports.pop(), tuple(gbps)


def _splits(model: HostModel) -> dict[int, int]:
    """Ports of one NIC -> speed of each, unsplit and split."""
    options = {model.ports_per_nic: model.port_gbps}
    for split in model.nic.port_splits:
        if split.children * split.speed_gbps == model.port_gbps:
            options[model.ports_per_nic * split.children] = split.speed_gbps
    return options


def _link_speed(spec: ClusterSpec, low: SwitchModel, high: SwitchModel, asked: int | None, tier: str) -> int:
    common = speeds(low) & speeds(high)
    if asked is not None and asked not in common:
        offered = ", ".join(f"{s}" for s in sorted(common)) or "none"
        raise UnfitError(
            spec.error("FAB3005", f"{low.title} and {high.title} share no {asked}G port", tier, "uplink_gbps",
                       help=f"Speeds they share: {offered}.")
        )  # fmt: skip
    if not common:
        raise UnfitError(
            spec.error("FAB3005", f"{low.title} and {high.title} share no port speed", tier, "model")
        )
    return asked or max(common)


def _tor_uplinks(
    spec: ClusterSpec,
    models: Models,
    hosts: int,
    host_gbps: tuple[int, ...],
    up_gbps: int,
    pins: Mapping[str, int],
) -> tuple[int, int, int]:
    """(uplinks by the ratio, cage position of the first, most uplinks that fit) of a ToR."""
    tier, tor = spec.tors, models.tor
    ends = []
    for index, speed in enumerate(host_gbps):
        end = cages_for(tor, Block(speed, hosts + tier.reserved_ports))
        if end is None:
            has = ports_at(tor, speed)
            per_tor = hosts // max(group.hosts_per_unit for group in spec.gpus.groups)
            largest = max(0, (has - tier.reserved_ports) // per_tor)
            raise UnfitError(
                spec.error("FAB3006", f"a ToR needs {hosts + tier.reserved_ports} host ports at {speed}G; "
                           f"{tor.title} has {has}", *spec.gpus.groups[index].path,
                           help=f"The largest number of hosts per unit without any uplink is {largest}; for "
                           f"{tier.oversubscription}:1 it is {_largest_unit(spec, tor, speed, up_gbps, per_tor)}.")
            )  # fmt: skip
        ends.append(end)
    start = max(pins.get("tor_up_cage", 0), *ends)
    if "tor_up_cage" in pins and start > pins["tor_up_cage"]:
        raise UnfitError(
            _pinned(spec, "tor_up_cage", pins["tor_up_cage"], start, "host ports of a ToR", "gpus")
        )
    most = _room(tor, up_gbps, start)
    down = max(hosts * speed for speed in host_gbps)
    uplinks = tier.uplinks or topology.uplinks_needed(down, tier.oversubscription or 1.0, up_gbps)
    if uplinks > most:
        raise UnfitError(_too_many_uplinks(spec, tor, hosts, host_gbps, up_gbps, uplinks, most))
    return uplinks, start, most


def _room(model: SwitchModel, speed: int, start: int) -> int:
    """Ports of a speed in the cages from a position on."""
    low, high = 0, ports_at(model, speed)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if cages_for(model, Block(speed, middle), start) is not None else (low, middle - 1)
        )
    return low


def _largest_unit(spec: ClusterSpec, tor: SwitchModel, speed: int, up_gbps: int, per_tor: int) -> int:
    """Most hosts of a unit for which the ToR has the host ports and the uplinks of its ratio."""
    for hosts in range(ports_at(tor, speed) // per_tor, 0, -1):
        links = hosts * per_tor
        uplinks = spec.tors.uplinks or topology.uplinks_needed(
            links * speed, spec.tors.oversubscription or 1.0, up_gbps
        )
        if arrange(tor, Block(speed, links + spec.tors.reserved_ports), Block(up_gbps, uplinks)):
            return hosts
    return 0


def _too_many_uplinks(
    spec: ClusterSpec,
    tor: SwitchModel,
    hosts: int,
    host_gbps: tuple[int, ...],
    up_gbps: int,
    uplinks: int,
    most: int,
) -> Diagnostic:
    speed = max(host_gbps)
    per_tor = hosts // max(group.hosts_per_unit for group in spec.gpus.groups)
    largest = _largest_unit(spec, tor, speed, up_gbps, per_tor)
    ratio = f"; with {most} uplinks the ratio is {hosts * speed / (most * up_gbps):.3g}:1" if most else ""
    return spec.error(
        "FAB3007",
        f"a ToR with {hosts} host ports at {speed}G needs {uplinks} uplinks at {up_gbps}G; "
        f"{tor.title} has room for {most}",
        "tors",
        "uplinks" if spec.tors.uplinks else "oversubscription",
        help=f"The largest number of hosts per unit that fits is {largest}{ratio}.",
    )


def _spread(
    spec: ClusterSpec, bottom: _Bottom, pins: Mapping[str, int]
) -> tuple[int, int | None, int | None]:
    """(uplinks, spines or None, links per spine or None) after pinned counts; uplinks may grow to divide evenly."""
    uplinks, count, links = bottom.uplinks, spec.spines.count, pins.get("links_per_spine")
    if count is None and links is None:
        return uplinks, None, None
    if count is None and links is not None:
        count = -(-uplinks // links)
    if count is None:
        return uplinks, None, None
    if links is None:
        links = -(-uplinks // count)
    if spec.tors.uplinks and count * links != spec.tors.uplinks:
        near = topology.divisors(spec.tors.uplinks)
        raise UnfitError(
            spec.error("FAB3008", f"{spec.tors.uplinks} uplinks do not spread evenly over {count} spines "
                       f"with {links} links to each", "spines", "count",
                       help=f"Counts that divide {spec.tors.uplinks}: {', '.join(map(str, near))}.")
        )  # fmt: skip
    if count * links > bottom.most_uplinks:
        raise UnfitError(
            spec.error("FAB3007", f"{links} links to each of {count} spines are {count * links} uplinks; the ToR has "
                       f"room for {bottom.most_uplinks}", "spines", "count",
                       help=f"The largest count that fits is {bottom.most_uplinks // links}.")
        )  # fmt: skip
    return count * links, count, links


def _two_tiers(
    spec: ClusterSpec, models: Models, catalog: Catalog, units: int, pins: Mapping[str, int], bottom: _Bottom
) -> Sizing:
    ports = ports_at(models.spine, bottom.up_gbps) - spec.spines.reserved_ports
    uplinks, count, links = _spread(spec, bottom, pins)
    tors = units * bottom.sides
    if count is None or links is None:
        layer = topology.spine_layer(tors, uplinks, ports) if ports > 0 else None
        if layer is None:
            raise UnfitError(_spine_too_small(spec, models, catalog, bottom, tors, ports))
        count, links = layer.count, layer.links_per_spine
    capacity = ports // links // bottom.sides
    if capacity < units:
        raise UnfitError(
            _beyond_capacity(
                spec, models, catalog, bottom, pins, units, capacity, count, links, uplinks, ports
            )
        )
    shape = Shape(
        planes=spec.planes, nic_ports=bottom.nic_ports, rails=bottom.rails, rails_per_tor=bottom.per_tor,
        hosts_per_unit=bottom.slots, pods=1, units_per_pod=capacity, spines=count, links_per_spine=links,
        cores=0, spines_per_core_group=count, cores_per_group=0, links_per_core=0,
        uplink_gbps=bottom.up_gbps, core_link_gbps=0,
    )  # fmt: skip
    spine = arrange(
        models.spine, Block(bottom.up_gbps, capacity * bottom.sides * links), Block(bottom.up_gbps, 0)
    )
    return _sizing(spec, models, bottom, shape, capacity, spine, None, 0)


def _three_tiers(
    spec: ClusterSpec, models: Models, present: int, units: int, pins: Mapping[str, int], bottom: _Bottom
) -> Sizing:
    if spec.cores is None or models.core is None:
        raise AssertionError("three tiers need cores")
    core_gbps = _link_speed(spec, models.spine, models.core, spec.spines.uplink_gbps, "spines")
    uplinks, count, links = _spread(spec, bottom, pins)
    asked = pins.get("units_per_pod") or spec.spines.units_per_pod
    found = None
    most = ports_at(models.spine, bottom.up_gbps) // bottom.sides
    for per_pod in (asked,) if asked else range(min(units, most), 0, -1):
        found = _pod(spec, models.spine, per_pod, uplinks, count, links, bottom, core_gbps, pins)
        if found:
            break
    if found is None:
        best = next(
            (
                n
                for n in range(most, 0, -1)
                if _pod(spec, models.spine, n, uplinks, count, links, bottom, core_gbps, pins)
            ),
            0,
        )
        raise UnfitError(
            spec.error("FAB3010", f"no number of {models.spine.title} spines serves a pod of {asked or units} units "
                       f"with {uplinks} uplinks per ToR", "spines", "units_per_pod",
                       help=f"The largest pod that fits has {best} units." if best else
                       "Choose a spine model with more ports.")
        )  # fmt: skip
    per_pod, spines, links, spine_uplinks, up_cage = found
    pods = -(-units // per_pod)
    core_ports = ports_at(models.core, core_gbps) - spec.cores.reserved_ports
    layer = _cores(spec, pods, spines, spine_uplinks, core_ports, pins)
    if layer is None:
        raise UnfitError(_cores_too_small(spec, models.core, pods, spines, spine_uplinks, core_ports))
    shape = Shape(
        planes=spec.planes, nic_ports=bottom.nic_ports, rails=bottom.rails, rails_per_tor=bottom.per_tor,
        hosts_per_unit=bottom.slots, pods=-(-present // per_pod), units_per_pod=per_pod, spines=spines, links_per_spine=links,
        cores=layer.count, spines_per_core_group=layer.spines_per_group, cores_per_group=layer.cores_per_group,
        links_per_core=layer.links_per_core, uplink_gbps=bottom.up_gbps, core_link_gbps=core_gbps,
    )  # fmt: skip
    spine = arrange(
        models.spine,
        Block(bottom.up_gbps, per_pod * bottom.sides * links),
        Block(core_gbps, spine_uplinks),
        up_cage,
    )
    per_pod_ports = layer.spines_per_group * layer.links_per_core
    capacity_pods = core_ports // per_pod_ports
    core = arrange(models.core, Block(core_gbps, capacity_pods * per_pod_ports), Block(core_gbps, 0))
    return _sizing(spec, models, bottom, shape, capacity_pods * per_pod, spine, core, up_cage)


def _pod(
    spec: ClusterSpec,
    model: SwitchModel,
    per_pod: int,
    uplinks: int,
    count: int | None,
    links: int | None,
    bottom: _Bottom,
    core_gbps: int,
    pins: Mapping[str, int],
) -> tuple[int, int, int, int, int] | None:
    """(units, spines, links per spine, uplinks per spine, first uplink cage) of the fitting pod of fewest spines."""
    options = [(count, links)] if count and links else [(n, uplinks // n) for n in topology.divisors(uplinks)]
    for spines, parallel in options:
        down = per_pod * bottom.sides * parallel
        end = cages_for(model, Block(bottom.up_gbps, down + spec.spines.reserved_ports))
        if end is None:
            continue
        start = pins.get("spine_up_cage", end)
        ratio = spec.spines.oversubscription or 1.0
        ups = spec.spines.uplinks or topology.uplinks_needed(down * bottom.up_gbps, ratio, core_gbps)
        if start >= end and cages_for(model, Block(core_gbps, ups), start) is not None:
            return per_pod, spines, parallel, ups, start
    return None


def _cores(
    spec: ClusterSpec, pods: int, spines: int, uplinks: int, ports: int, pins: Mapping[str, int]
) -> topology.CoreLayer | None:
    per_group, links = pins.get("spines_per_core_group"), pins.get("links_per_core")
    if per_group and links and spines % per_group == 0 and uplinks % links == 0:
        layer = topology.CoreLayer(spines // per_group, uplinks // links, per_group, links)
        return layer if pods * per_group * links <= ports else None
    return topology.core_layer(pods, spines, uplinks, ports, spec.cores.count if spec.cores else None)


def _sizing(
    spec: ClusterSpec, models: Models, bottom: _Bottom, shape: Shape, capacity: int,
    spine: PortLayout | None, core: PortLayout | None, spine_up_cage: int,
) -> Sizing:  # fmt: skip
    hosts = bottom.slots * bottom.per_tor
    reserved = spec.tors.reserved_ports
    tors = tuple(
        arrange(
            models.tor,
            Block(speed, hosts + reserved),
            Block(bottom.up_gbps, shape.uplinks),
            bottom.up_cage,
            reserved,
        )
        for speed in bottom.host_gbps
    )
    layouts = tuple(layout for layout in tors if layout is not None)
    if spine is None or len(layouts) < len(tors):
        raise AssertionError("a sized switch must have a layout")
    return Sizing(
        shape,
        capacity,
        bottom.host_gbps,
        layouts,
        spine,
        core,
        bottom.up_cage,
        spine_up_cage,
        bottom.most_uplinks,
    )


def _pinned(
    spec: ClusterSpec, name: str, pinned: int, needed: int, what: str, *path: str | int
) -> Diagnostic:
    return spec.error(
        "FAB3020",
        f"the lock pins {name} to {pinned}, but the {what} now need {needed}",
        *path,
        help="Undo the change, or accept renumbering with `fabricc build --repin`.",
    )


def _spine_too_small(
    spec: ClusterSpec, models: Models, catalog: Catalog, bottom: _Bottom, tors: int, ports: int
) -> Diagnostic:
    """A flat two-tier mesh that cannot exist: say what could."""
    reach = max(0, ports)
    remedies = []
    for planes in (2, 4, 8):
        if planes > spec.planes and (fit := _with_planes(spec, models, planes, bottom, tors)):
            remedies.append(fit)
            break
    slower = [
        s
        for s in speeds(models.tor) & speeds(models.spine)
        if s < bottom.up_gbps and ports_at(models.spine, s) >= tors
    ]
    if slower and not spec.tors.uplink_gbps:
        ports_slower = ports_at(models.spine, max(slower))
        remedies.append(f"`tors.uplink_gbps: {max(slower)}` gives the spine {ports_slower} ports.")
    if fitting := spines_that_reach(catalog, tors, bottom.up_gbps):
        shown = ", ".join(f"{name} ({count} ports)" for name, count in fitting[:6])
        remedies.append(f"A spine of at least {tors} ports at {bottom.up_gbps}G: {shown}.")
    else:
        remedies.append(f"No spine of the catalog has {tors} ports at {bottom.up_gbps}G.")
    remedies.append("Or a third tier: add `cores`.")
    largest = reach // bottom.sides
    remedies.append(f"The largest that fits is {largest} units ({largest * bottom.slots} hosts).")
    return spec.error(
        "FAB3009",
        f"{tors} ToRs per plane cannot be one flat mesh: {models.spine.title} has {reach} ports at {bottom.up_gbps}G, "
        f"and a spine needs a link to every ToR",
        "spines",
        "model",
        help=" ".join(remedies),
    )


def _with_planes(spec: ClusterSpec, models: Models, planes: int, bottom: _Bottom, tors: int) -> str:
    """One sentence on how more planes would hold the same hosts, or "" when they would not."""
    total_gpu_ports = tors * bottom.slots * bottom.per_tor // (bottom.nic_ports // spec.planes)
    for model in models.hosts[:1]:
        options = {c: s for c, s in _splits(model).items() if c % planes == 0}
        if not options:
            return ""
        count = min(options)
        speed = options[count]
        if speed not in speeds(models.tor) or speed not in speeds(models.spine):
            return ""
        radix = ports_at(models.tor, speed)
        down = topology.largest_down(radix, spec.tors.oversubscription or 1.0)
        leaves = -(-total_gpu_ports * count // planes // down)
        layer = topology.spine_layer(leaves, radix - down, ports_at(models.spine, speed))
        if layer:
            return (
                f"`planes: {planes}` fits: {model.nic.title} ports as {count} x {speed}G, per plane {leaves} ToRs "
                f"of {down} host ports and {layer.count} spines."
            )
    return ""


def spines_that_reach(catalog: Catalog, tors: int, speed_gbps: int) -> list[tuple[str, int]]:
    """Catalog switches with at least `tors` ports of a speed, smallest first."""
    found = [(name, ports_at(catalog.switches[name], speed_gbps)) for name in catalog.switches]
    return sorted(
        ((name, ports) for name, ports in found if ports >= tors), key=lambda entry: (entry[1], entry[0])
    )


def _beyond_capacity(
    spec: ClusterSpec, models: Models, catalog: Catalog, bottom: _Bottom, pins: Mapping[str, int],
    units: int, capacity: int, count: int, links: int, uplinks: int, ports: int,
) -> Diagnostic:  # fmt: skip
    layer = topology.spine_layer(units * bottom.sides, uplinks, ports)
    if layer is None:
        return _spine_too_small(spec, models, catalog, bottom, units * bottom.sides, ports)
    what = "the lock pins" if "links_per_spine" in pins else "the spec asks for"
    return spec.error(
        "FAB3011",
        f"{what} {count} spines per plane with {links} links to each ToR, which hold {capacity} units; "
        f"{units} are needed",
        *(("spines", "count") if spec.spines.count else ("gpus",)),
        help=f"{layer.count} spines with {layer.links_per_spine} links hold them; that moves cables and spine ports: "
        "accept it with `fabricc build --repin`, and declare growth ahead with `gpus.capacity`.",
    )


def _cores_too_small(
    spec: ClusterSpec, core: SwitchModel, pods: int, spines: int, uplinks: int, ports: int
) -> Diagnostic:
    asked = spec.cores.count if spec.cores else None
    best = topology.core_layer(pods, spines, uplinks, ports)
    if best:
        text = f"{best.count} fit: {best.groups} groups of {best.cores_per_group}"
    else:
        most = next((p for p in range(pods, 0, -1) if topology.core_layer(p, spines, uplinks, ports)), 0)
        text = f"the largest number of pods that fits is {most}"
    count = f"{asked} cores" if asked else "no number of cores"
    return spec.error(
        "FAB3012",
        f"{count} of {core.title} ({ports} ports) can join {pods} pods of {spines} spines with {uplinks} uplinks each",
        "cores",
        "count" if asked else "model",
        help=f"Per plane, {text}.",
    )
