"""Explain why a fabric cannot be built, with remedies: planes, another model, a third tier, a smaller number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.front.planning.topology import clos
from fabricc.front.planning.topology.attachments import list_port_splits
from fabricc.front.planning.topology.layout import port_speeds, ports_at
from fabricc.front.planning.topology.models import Models, RequestedTier, UnfitError
from fabricc.front.planning.topology.tors import MOST_HOSTS, TorTier, bottom_of, largest_unit
from fabricc.front.spec.model import ClusterSpec, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog, SwitchModel


def report_islands(spec: ClusterSpec, models: Models, bottom: TorTier, units: int) -> Diagnostic:
    """Report units without spines to join them, whether one can hold all hosts, and which spines suffice."""
    remedies = []
    if units == 2 and bottom.lead.tors == 1 and bottom.lead.nic_ports == spec.planes and bottom.most_uplinks:
        remedies.append(f"`tors.peer_links: N` joins the two ToRs by N links, at most {bottom.most_uplinks}.")
    group, *others = spec.gpus.groups
    counted = not others and not group.racks
    free = ports_at(models.tor, bottom.hosts[0].speed_gbps) - spec.tors.reserved_ports
    most = min(MOST_HOSTS, free // bottom.lead.rails_per_tor)
    if counted and group.hosts <= most:
        remedies.append(f"`gpus.hosts_per_unit: {group.hosts}` puts them behind the ToRs of one unit.")
    tier = Tier(models.tor.name, spec.tors.nos)
    wanted, known = replace(spec, spines=tier), replace(models, spine=models.tor)
    smaller = largest_unit(
        wanted, models.tor, bottom.hosts[0].speed_gbps, bottom.up_gbps, bottom.lead.rails_per_tor
    )
    for per_unit in (group.hosts_per_unit, smaller) if counted else (group.hosts_per_unit,):
        number = units
        if per_unit != group.hosts_per_unit:
            changed = replace(group, hosts_per_unit=per_unit)
            wanted = replace(wanted, gpus=replace(spec.gpus, groups=(changed,)))
            number = -(-group.hosts // per_unit)
        if layer := find_spines(wanted, known, number):
            keys = f"`gpus.hosts_per_unit: {per_unit}` and " if per_unit != group.hosts_per_unit else ""
            remedies.append(
                f"{keys}`spines: {{model: {tier.model}, nos: …}}` joins {plural(number, 'unit')} by "
                f"{plural(layer.count, 'spine')} a plane."
            )
            break
    if counted:
        remedies.append(f"The most hosts of one unit is {most}.")
    message = f"without spines {units} units are {units} islands: their hosts cannot reach each other"
    place = (
        ("tors",) if spec.network is not None else spec.gpus.groups[0].path
    )  # hosts are those of the rails
    return spec.error("FAB3054", message, *place, help=" ".join(remedies))


def find_spines(spec: ClusterSpec, models: Models, units: int) -> clos.SpineLayer | None:
    """Return the spines for this number of units, or None where there are none."""
    if models.spine is None or spec.spines is None:
        return None
    try:
        bottom = bottom_of(spec, models, {})
    except UnfitError:
        return None
    most = bottom.uplinks if spec.tors.uplinks else bottom.most_uplinks
    ports = ports_at(models.spine, bottom.up_gbps) - spec.spines.reserved_ports
    return clos.fewest_spines(units * bottom.sides, bottom.uplinks, most, ports) if ports > 0 else None


def spine_too_small(
    spec: ClusterSpec,
    models: Models,
    spine: RequestedTier,
    catalog: Catalog,
    bottom: TorTier,
    tors: int,
    ports: int,
) -> Diagnostic:
    """Report a two-tier mesh that cannot exist, with remedies."""
    reach = max(0, ports)
    remedies = []
    for planes in (2, 4, 8):
        if planes > spec.planes and (fit := _with_planes(spec, models, spine, planes, bottom, tors)):
            remedies.append(fit)
            break
    if fit := _with_larger_units(spec, models, spine, bottom, tors):
        remedies.append(fit)
    if fit := _with_rails_apart(spec, models, bottom, tors):
        remedies.append(fit)
    slower = [
        s
        for s in port_speeds(models.tor) & port_speeds(spine.model)
        if s < bottom.up_gbps and ports_at(spine.model, s) >= tors
    ]
    if slower and not spec.tors.uplink_gbps:
        ports_slower = ports_at(spine.model, max(slower))
        remedies.append(f"`tors.uplink_gbps: {max(slower)}` gives the spine {ports_slower} ports.")
    if fitting := spines_that_reach(catalog, spec.infiniband is not None, tors, bottom.up_gbps):
        shown = ", ".join(f"{name} ({count} ports)" for name, count in fitting[:6])
        remedies.append(f"A spine of at least {tors:,} ports at {bottom.up_gbps}G: {shown}.")
    else:
        remedies.append(f"No spine of the catalog has {tors:,} ports at {bottom.up_gbps}G.")
    remedies.append("Or a third tier: add `cores`.")
    if largest := reach // bottom.sides:
        remedies.append(f"The largest that fits is {largest:,} units ({largest * bottom.slots:,} hosts).")
    if spine.tier.count:
        remedies.append("Leave `spines.count` out with any of these.")
    message = (
        f"{tors:,} ToRs per plane cannot be one flat mesh: {spine.model.title} has {reach:,} ports at "
        f"{bottom.up_gbps}G, and a spine needs a link to every ToR"
    )
    return spec.error("FAB3009", message, "spines", "model", help=" ".join(remedies))


def _with_rails_apart(spec: ClusterSpec, models: Models, bottom: TorTier, tors: int) -> str:
    """Return one sentence on the same hosts with spines for each rail, or "" where that does not fit either."""
    if spec.spines is None or spec.spines.rails or bottom.lead.rails == bottom.lead.rails_per_tor:
        return ""
    units = tors // bottom.sides
    apart = replace(spec, gpus=replace(spec.gpus, rails_apart=True))
    layer = find_spines(apart, models, units)
    return (
        f"`gpus.wiring: rail-only` fits: per rail {plural(units, 'ToR')} and {plural(layer.count, 'spine')}."
        if layer
        else ""
    )


def _with_planes(
    spec: ClusterSpec, models: Models, spine: RequestedTier, planes: int, bottom: TorTier, tors: int
) -> str:
    """One sentence on the same hosts over more planes, by the plan's own arithmetic, or "" when that does not fit."""
    for changes, wanted in split_planes(spec, models, spine, planes):
        if fit := _describe_fit(changes, wanted, models, spine, bottom, tors):
            return fit
    return ""


def _with_larger_units(
    spec: ClusterSpec, models: Models, spine: RequestedTier, bottom: TorTier, tors: int
) -> str:
    """Return one sentence on fewer ToRs with more hosts or rails behind each, or "" where that does not fit."""
    group, *others = spec.gpus.groups
    if others or group.racks:
        return ""
    lead = bottom.lead
    most = largest_unit(spec, models.tor, lead.gbps, bottom.up_gbps, lead.rails_per_tor)
    for per_unit in range(2 * group.hosts_per_unit, most + 1, group.hosts_per_unit):
        larger = replace(spec.gpus, groups=(replace(group, hosts_per_unit=per_unit),))
        keys = (f"`gpus.hosts_per_unit: {per_unit}`",)
        if fit := _describe_fit(keys, replace(spec, gpus=larger), models, spine, bottom, tors):
            return fit
    shares = clos.list_divisors(lead.rails) if spec.gpus.wiring == "rail" else []
    for share in sorted(n for n in shares if n > lead.rails_per_tor):
        wanted = replace(spec, gpus=replace(spec.gpus, rails_per_tor=share))
        keys = (f"`gpus.rails_per_tor: {share}`",)
        if fit := _describe_fit(keys, wanted, models, spine, bottom, tors):
            return fit
    return ""


def _describe_fit(
    changes: tuple[str, ...],
    spec: ClusterSpec,
    models: Models,
    spine: RequestedTier,
    bottom: TorTier,
    tors: int,
) -> str:
    """Return one sentence on two tiers of a changed spec for the same hosts, or "" where they do not fit."""
    try:
        split = bottom_of(spec, models, {})
    except UnfitError:
        return ""
    units = tors // bottom.sides
    if len(spec.gpus.groups) == 1:
        units = -(-units * bottom.slots // spec.gpus.groups[0].hosts_per_unit)
    leaves = units * split.sides
    most = split.uplinks if spec.tors.uplinks else split.most_uplinks
    ports = ports_at(spine.model, split.up_gbps) - spine.tier.reserved_ports
    layer = clos.fewest_spines(leaves, split.uplinks, most, ports) if ports > 0 else None
    if layer is None:
        return ""
    first, *others = changes
    keys = f"{first} with {' and '.join(others)}" if others else first
    return f"{keys} fits: per plane {plural(leaves, 'ToR')} and {plural(layer.count, 'spine')}."


def split_planes(
    spec: ClusterSpec, models: Models, spine: RequestedTier, planes: int
) -> Iterator[tuple[tuple[str, ...], ClusterSpec]]:
    """Yield the spec over so many planes, as it is and with as many hosts to a unit as the ToRs then hold.

    With each the keys to write: more planes halve the speed of a port, so slower uplinks may reach more ToRs.
    """
    key = f"`planes: {planes}`"
    nic_gbps = {
        speed
        for model in models.hosts
        for count, speed in list_port_splits(model).items()
        if count % planes == 0
    }
    for speed in (None, *sorted(nic_gbps & port_speeds(models.tor) & port_speeds(spine.model), reverse=True)):
        if speed and spec.tors.uplink_gbps:
            continue
        tors = replace(spec.tors, uplink_gbps=speed) if speed else spec.tors
        wanted = replace(spec, planes=planes, tors=tors)
        keys = (key, f"`tors.uplink_gbps: {speed}`") if speed else (key,)
        yield keys, wanted
        group, *others = spec.gpus.groups
        if others or group.racks or not nic_gbps:
            continue
        up_gbps = speed or max(port_speeds(models.tor) & port_speeds(spine.model))
        most = largest_unit(
            wanted, models.tor, max(nic_gbps), up_gbps, spec.gpus.rails_per_tor or models.hosts[0].rails
        )
        if most > group.hosts_per_unit:
            larger = replace(wanted.gpus, groups=(replace(group, hosts_per_unit=most),))
            yield (*keys, f"`gpus.hosts_per_unit: {most}`"), replace(wanted, gpus=larger)


def spines_that_reach(
    catalog: Catalog, infiniband: bool, tors: int, speed_gbps: int
) -> list[tuple[str, int]]:
    """Catalog switches of InfiniBand or of Ethernet with at least `tors` ports of a speed, smallest first."""
    found = [
        (name, ports_at(model, speed_gbps))
        for name, model in catalog.switches.items()
        if ("infiniband" in model.nos) is infiniband
    ]
    return sorted(
        ((name, ports) for name, ports in found if ports >= tors), key=lambda entry: (entry[1], entry[0])
    )


def beyond_capacity(
    spec: ClusterSpec,
    models: Models,
    spine: RequestedTier,
    catalog: Catalog,
    bottom: TorTier,
    pins: Mapping[str, int],
    units: int,
    capacity: int,
    count: int,
    links: int,
    uplinks: int,
    ports: int,
) -> Diagnostic:
    """More units than the pinned number of spines and links can hold."""
    layer = clos.spine_layer(units * bottom.sides, uplinks, ports)
    if layer is None:
        return spine_too_small(spec, models, spine, catalog, bottom, units * bottom.sides, ports)
    is_pinned = "links_per_spine" in pins
    what = "the lock pins" if is_pinned else "the spec requests"
    fit = f"{plural(layer.count, 'spine')} with {plural(layer.links_per_spine, 'link')} to each ToR hold them"
    if is_pinned:
        help_ = (
            f"{fit}; that moves cables and spine ports: accept it with `fabricc build --repin`, "
            "and declare growth ahead with `gpus.capacity`."
        )
    else:
        help_ = f"{fit}: write `spines.count: {layer.count}`, or leave it out."
    return spec.error(
        "FAB3011",
        f"{what} {plural(count, 'spine')} a plane with {plural(links, 'link')} to each ToR, which hold "
        f"{plural(capacity, 'unit')}; {units} are needed",
        *(("spines", "count") if spine.tier.count else ("gpus",)),
        help=help_,
    )


def cores_too_small(
    spec: ClusterSpec,
    core: SwitchModel,
    pods: int,
    by_rail: int,
    spines: int,
    uplinks: int,
    ports: int,
    larger: tuple[int, int] | None,
) -> Diagnostic:
    """Report cores that cannot join the pods, each with `by_rail` sets of spines, and how many cores or pods could.

    `larger`: units of a larger pod, and how many cores can join as many as there then are; None without.
    """
    requested = spec.cores.count if spec.cores else None
    best = clos.core_layer(pods * by_rail, spines, uplinks, ports)
    if best:
        fit = "fits" if best.count == 1 else "fit"
        text = f"{plural(best.count, 'core')} {fit}, {best.groups} x {best.cores_per_group}"
        text += f": `cores.count: {best.count}`"
    else:
        fits = (p for p in range(pods, 0, -1) if clos.core_layer(p * by_rail, spines, uplinks, ports))
        most = next(fits, 0)
        text = f"the largest number of pods that fits is {most}"
        if larger:
            text += f": `spines.units_per_pod: {larger[0]}` makes them fewer"
            text += f", with `cores.count: {larger[1]}`" if requested else ""
    verb = "cannot" if requested else "can"
    count = plural(requested, "core") if requested else "no number of cores"
    sets = f"{by_rail} sets of " if by_rail > 1 else ""
    message = (
        f"{count} of {core.title} ({ports} ports) {verb} join {plural(pods, 'pod')} of {sets}{plural(spines, 'spine')} "
        f"with {plural(uplinks, 'uplink')} each"
    )
    return spec.error(
        "FAB3012", message, "cores", "count" if requested else "model", help=f"Per plane, {text}."
    )


def no_pod(
    spec: ClusterSpec,
    spine: RequestedTier,
    units: int,
    uplinks: int,
    count: int | None,
    best: int,
    free: int | None,
    others: Iterable[str],
) -> Diagnostic:
    """Report a pod of more units than spines can serve.

    Args:
        spec: the spec.
        spine: the spines that it requests.
        units: units of the pod.
        uplinks: uplinks of a ToR.
        count: pinned spines, or None.
        best: the most units that fit.
        free: spines that serve the pod when none are pinned, or None.
        others: sentences on keys with which the same pod fits.
    """
    who = (
        f"no number of {spine.model.title} spines serves"
        if count is None
        else "the pinned spines do not serve"
    )
    remedies = [f"The largest pod that fits has {plural(best, 'unit')}."] if best else []
    remedies[:0] = others
    if count is not None and free is not None:
        remedies.insert(0, f"`spines.count: {free}` serves it, in place of {count}.")
    return spec.error(
        "FAB3010",
        f"{who} a pod of {plural(units, 'unit')} with {uplinks} uplinks per ToR",
        "spines",
        "count" if count is not None and spine.tier.count else "units_per_pod",
        help=" ".join(remedies) or "Choose a spine model with more ports.",
    )
