"""Plan the fabric of a lab from a spec: through the FRR back end, whole or a part of the units.

A fabric that is too large for one machine is reduced; the rest keeps its names, ports, addresses and ASNs.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import Compiled, compile_ethernet
from fabricc.fabric import links
from fabricc.fabric.design import DeviceChange, TierPlan
from fabricc.fabric.external import Exit, External, Split
from fabricc.fabric.shape import PortLayout, Shape, TierName
from fabricc.operate.lab import blueprint
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.fabric import Fabric

FRR = "frr"
MULTIPATH_LIMIT = 64
"""Next hops that packaged FRR is built for (`--enable-multipath=64`)."""


@dataclass(frozen=True, slots=True)
class LabFabric:
    """The source of a lab.

    Attributes:
        fabric: as it runs, every switch through the FRR back end.
        compiled: what reading and planning the spec found.
        differences: what the lab does differently from the spec, a sentence each.
        units, sample: how it was cut down, the arguments of `read_source`.
    """

    fabric: Fabric
    compiled: Compiled
    differences: tuple[str, ...]
    units: int | None = None
    sample: bool = False


class UnsoundError(FindingsError):
    """The spec has errors."""

    @property
    def status(self) -> int:
        """The input is wrong."""
        return 1


SIMULATED = "`fabricc check --sim TREE` runs opensm on simulated switches."
"""What does the job of a lab for InfiniBand."""


def read_source(
    spec_path: Path, units: int | None, frr_release: str, *, sample: bool = False, network: str | None = None
) -> LabFabric:
    """Plan a spec for the lab.

    Args:
        spec_path: the spec.
        units: keep only so many units (scalable units or racks), the first ones; None for all.
        sample: keep a part of the spines and cores too, and units of several pods (see `slicing.sample_fabric`).
        frr_release: release for switches of another NOS; those of FRR keep the spec's.
        network: the one to boot, where there are several.

    Raises:
        UnsoundError: the spec does not plan.
        LabError: FAB8011, no such number of units; FAB3330, segments.
    """
    compiled = compile_ethernet(spec_path, SIMULATED)
    fabric = compiled.planned
    # Settings that a NOS cannot express (FAB5...) are ignored: the lab has no queues, and runs only FRR.
    errors = [
        d for d in compiled.diagnostics if d.severity is Severity.ERROR and not d.code.startswith("FAB5")
    ]
    if fabric is None or errors:
        raise UnsoundError.of(compiled.diagnostics, compiled.sources)
    differences: list[str] = []
    part = _select_part(compiled.of_network(network).planned or fabric, units, sample, differences)
    if part.evpn:
        message = "the lab boots routed fabrics, and this one has segments with EVPN-VXLAN"
        remedy = "Boot another network of the hosts by `--network`, or the fabric without `evpn`."
        raise LabError("FAB3330", message, remedy)
    if part.tenancy:
        differences.append(blueprint.DIFFERENCE)
    through_frr = _through_frr(part, frr_release, differences)
    return LabFabric(through_frr, compiled, tuple(differences), units, sample)


def plan_fabric(
    spec_path: Path, units: int | None, *, sample: bool = False, network: str | None = None
) -> tuple[Fabric, tuple[str, ...]]:
    """Return the fabric of a spec under its own NOSes, whole or in part, and what was left out, a sentence each.

    Raises:
        UnsoundError: the spec does not plan, or a NOS cannot express it.
        LabError: FAB8011, no such number of units.
    """
    compiled = compile_ethernet(spec_path, SIMULATED)
    if not compiled.sound:
        raise UnsoundError.of(compiled.diagnostics, compiled.sources)
    differences: list[str] = []
    return _select_part(compiled.of_network(network).fabric, units, sample, differences), tuple(differences)


def _select_part(fabric: Fabric, units: int | None, sample: bool, differences: list[str]) -> Fabric:
    if not sample and units is None:
        return fabric
    part = sample_fabric(fabric, units) if sample else slice_fabric(fabric, units or 0)
    whole, kept = fabric.shape, part.shape
    differences.append(
        f"{part.counts()['units']} of {fabric.counts()['units']} units; "
        + (
            f"{kept.spines} of {whole.spines} spines a plane and pod, {kept.pods} of {whole.pods} pods"
            + (f", {kept.cores} of {whole.cores} cores a plane" if whole.cores else "")
            if sample
            else "every spine of theirs"
        )
    )
    names = {part.name(at) for at in part.switch_ids()}
    return replace(part, changes={name: what for name, what in part.changes.items() if name in names})


def _through_frr(fabric: Fabric, release: str, differences: list[str]) -> Fabric:
    """Return the same fabric with FRR on every switch; ports are renamed where another NOS named them."""
    others = {plan.nos for plan in fabric.tiers.values()} | {c.nos for c in fabric.changes.values() if c.nos}
    others.discard(FRR)
    if others:
        named = ", ".join(sorted(others))
        differences.append(f"{named} runs through the FRR back end: same plan, FRR's words and port names")
    paths = fabric.routing.maximum_paths
    if paths > MULTIPATH_LIMIT:
        differences.append(
            f"{MULTIPATH_LIMIT} equal-cost paths at most, not {paths}: FRR's packages are so built"
        )
    return replace(
        fabric,
        tiers={
            tier: plan if plan.nos == FRR else TierPlan(plan.model, FRR, release)
            for tier, plan in fabric.tiers.items()
        },
        port_names=_frr_names(fabric),
        routing=replace(fabric.routing, maximum_paths=min(paths, MULTIPATH_LIMIT)),
        changes={name: _convert_change(fabric, name, change) for name, change in fabric.changes.items()},
        external=_rename_exits(fabric),
    )


def _rename_exits(fabric: Fabric) -> External:
    """Return the ways out by FRR's port names."""
    external, exits, splits = fabric.external, dict[str, dict[str, Exit]](), dict[str, dict[int, Split]]()
    frr, new = back_ends.load(FRR).port_name, _frr_names(fabric)
    for at in fabric.switch_ids() if external.exits else ():
        switch, model = fabric.name(at), fabric.model(at)
        if not external.at(switch):
            continue
        names = dict(zip(links.port_names(fabric, at), new[FRR, links.layout_key(fabric, at)], strict=True))
        splits[switch] = {}
        for cage, split in external.splits.get(switch, {}).items():
            fresh = tuple(frr(model, slot.cage, slot.child, slot.children) for slot in split.slots)
            names |= dict(zip(split.names, fresh, strict=True))
            splits[switch][cage] = split._replace(names=fresh)
        exits[switch] = {}
        for port, way in external.at(switch).items():
            exits[switch][names[port]] = way._replace(link=replace(way.link, port=names[port]))
    return replace(external, exits=exits, splits=splits)


def _port_layouts(fabric: Fabric) -> Mapping[str, tuple[SwitchModel, PortLayout]]:
    models = {tier: plan.model for tier, plan in fabric.tiers.items()}
    layouts = {f"tor{at}": (models[TierName.TOR], layout) for at, layout in enumerate(fabric.tor_layouts)}
    if fabric.shape.spines:
        layouts["spine"] = (models[TierName.SPINE], fabric.spine_layout)
    if fabric.core_layout:
        layouts["core"] = (models[TierName.CORE], fabric.core_layout)
    return layouts | {box.key: (box.model, box.layout) for box in fabric.boxes.values()}


def _frr_names(fabric: Fabric) -> dict[tuple[str, str], tuple[str, ...]]:
    name = back_ends.load(FRR).port_name
    return {
        (FRR, key): tuple(name(model, slot.cage, slot.child, slot.children) for slot in layout.slots)
        for key, (model, layout) in _port_layouts(fabric).items()
    }


def _convert_change(fabric: Fabric, name: str, change: DeviceChange) -> DeviceChange:
    """Return an override without its NOS, and with its ports by FRR's names."""
    if not change.ports:
        return replace(change, nos=None, release=None)
    at = next(at for at in fabric.switch_ids() if fabric.name(at) == name)
    old = links.port_names(fabric, at)
    new = _frr_names(fabric)[FRR, links.layout_key(fabric, at)]
    renamed = dict(zip(old, new, strict=True))
    return replace(
        change, nos=None, release=None, ports={renamed[port]: what for port, what in change.ports.items()}
    )


_PODS, _UNITS_PER_POD, _SPINES, _CORES = 2, 2, 2, 2
"""What a sample has at least, where the fabric has as many: enough for every way between two rails and for ECMP."""


def slice_fabric(fabric: Fabric, units: int) -> Fabric:
    """Return the first `units` units and all border leaves, with every spine and core, so that widths stay as planned.

    Raises:
        LabError: FAB8011, the fabric has not as many.
    """
    _require_units(fabric, units)
    border = [unit.coordinate for unit in fabric.places() if unit.border is not None]
    return _of_units(fabric, sorted([*_serving_units(fabric)[:units], *border]))


def _serving_units(fabric: Fabric) -> list[int]:
    """Return the units whose ToRs have hosts."""
    return [unit.coordinate for unit in fabric.places() if unit.border is None]


def sample_fabric(fabric: Fabric, units: int | None = None) -> Fabric:
    """Return a sample: few units of two pods and of every host group, all planes, and a part of the spines and cores.

    Spines are kept in whole core groups unless one pod remains, and cores are left out only where one group remains:
    only then has every kept device the name and the ports that it has in the whole fabric.

    `units` are taken from the pods in turn; None for the fewest that show every prefix class.

    Raises:
        LabError: FAB8011, the fabric has not as many.
    """
    kept = _spread_units(fabric)
    if units is not None:
        _require_units(fabric, units)
        places = _serving_units(fabric)
        others = [at for at in places if at // fabric.shape.units_per_pod < _PODS and at not in kept]
        kept = [*kept, *others][:units]
        if len(kept) < units:
            kept += [at for at in places if at not in kept][: units - len(kept)]
    part = _of_units(fabric, sorted(kept))
    return replace(part, shape=_fewer_spines(part.shape))


def _spread_units(fabric: Fabric) -> list[int]:
    """Return the first units of the first pods in turn, and the first of each host group that is missing then."""
    by_pod = group_pairs((at // fabric.shape.units_per_pod, at) for at in _serving_units(fabric))
    pods = [found[:_UNITS_PER_POD] for pod, found in sorted(by_pod.items()) if pod < _PODS]
    kept = [at for turn in zip_longest(*pods) for at in turn if at is not None]
    groups = {group for at in kept for group in _host_groups(fabric, at)}
    for at in (unit.coordinate for unit in fabric.places()):
        if not groups.issuperset(_host_groups(fabric, at)):
            groups.update(_host_groups(fabric, at))
            kept.append(at)
    return kept


def _host_groups(fabric: Fabric, at: int) -> set[int]:
    """Return the groups of the hosts on the ToRs of a unit."""
    return {fabric.units[each].group for each in (at, *fabric.units[at].guests)}


def _fewer_spines(shape: Shape) -> Shape:
    if not shape.cores:
        return replace(shape, spines=min(shape.spines, _SPINES))
    step, per_group = shape.spines_per_core_group, shape.cores_per_group
    if shape.pods == 1:
        step = min(step, _SPINES)
    spines = min(shape.spines, -(-_SPINES // step) * step)
    if spines == step:
        per_group = min(per_group, _CORES)
    return replace(
        shape,
        spines=spines,
        spines_per_core_group=step,
        cores=per_group * (spines // step),
        cores_per_group=per_group,
    )


def _of_units(fabric: Fabric, coordinates: Iterable[int]) -> Fabric:
    """Return a fabric with some units, their guests, and the pods up to the last of them."""
    chosen = list(coordinates)
    kept = {each: fabric.units[each] for at in chosen for each in (at, *fabric.units[at].guests)}
    pods = min(max(chosen) // fabric.shape.units_per_pod + 1, fabric.shape.pods)
    return replace(fabric, units=kept, shape=replace(fabric.shape, pods=pods))


def _require_units(fabric: Fabric, units: int) -> None:
    there = fabric.counts()["units"]
    if not 1 <= units <= there:
        raise LabError("FAB8011", f"{units} units: the fabric has {there}")
