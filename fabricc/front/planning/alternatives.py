"""Find other shapes for the same hosts: unit size, switch models, tiers, planes and oversubscription.

Closed forms compute the figures of every candidate. Each candidate that no other one beats is planned. If the planner
rejects it, it is dropped and those it had beaten are compared again. So few are planned, and every listed one is.
"""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass, replace
from fabricc.fabric.shape import Attachment, TierName
from fabricc.front.planning.hosts import host_cable, with_host_cable
from fabricc.front.planning.networks.external import move_external_links
from fabricc.front.planning.topology import figures as shape_figures
from fabricc.front.planning.topology.attachments import attach_groups, list_port_splits
from fabricc.front.planning.topology.border import leaf_attachments, with_border
from fabricc.front.planning.topology.layout import port_speeds, ports_at
from fabricc.front.planning.topology.models import Models, Naming, UnfitError, models_of, nos_release
from fabricc.front.planning.topology.refusals import find_spines
from fabricc.front.planning.topology.shape import size_fabric
from fabricc.front.planning.topology.spread import spread_links
from fabricc.front.planning.topology.tors import largest_unit, link_speed
from fabricc.front.planning.topology.units import border_units, capacity_units
from fabricc.front.spec.device_model import NosChoice
from fabricc.front.spec.gpus import ALL_RAILS
from fabricc.front.spec.lock import EMPTY_LOCK
from fabricc.front.spec.model import ClusterSpec, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from fractions import Fraction

    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import Catalog, SwitchModel
    from fabricc.fabric.fabric import Fabric

    Changes = dict[KeyPath, object]
    """Path of a key -> its new value; None where the key is removed."""
    Measures = tuple[Fraction | int, ...]
    Planner = Callable[[ClusterSpec], Fabric | None]
    Price = Callable[["Candidate"], Fraction | None]
    """Return the cost of a candidate, or None where it is unknown."""

RATIOS = (1.0, 2.0)
"""Oversubscription ratios of ToRs to try in addition to that of the spec."""
PLANES = (1, 2, 4, 8)
_KEYS = ("model", "nos", "oversubscription", "count", "uplinks", "units_per_pod", "uplink_gbps", "n_minus_1")
"""Keys of a tier section that an alternative may change."""
LARGEST_TOR = 2
"""Times the bandwidth of the spec's ToR that another may have: chassis stand at the end of a row, not in a rack."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape in closed form.

    Attributes:
        spec: the spec with this shape. `changes`: the keys that differ from the given spec.
        models, sized, figures: its hardware models, its layout and its quantities.
        attached: host group index -> how its hosts are attached.
        own: whether it uses only models that the spec names.
        fabric: its plan, where there is one already.
    """

    spec: ClusterSpec
    changes: Changes
    models: Models
    sized: shape_figures.SizedShape
    figures: shape_figures.Figures
    attached: Sequence[Attachment]
    own: bool
    fabric: Fabric | None = None

    def measure(self, price: Fraction | None = None) -> Measures:
        """Return the criteria for comparison."""
        return criteria_of_shape(self.figures, sum(group.hosts for group in self.spec.gpus.groups), price)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A candidate that was planned."""

    candidate: Candidate
    fabric: Fabric


class Alternatives(NamedTuple):
    """The shapes to show, and the numbers of shapes that are worse and that have no price."""

    best: tuple[Alternative, ...]
    bettered: int
    unpriced: int


class _Switches(NamedTuple):
    """The model of ToRs and that of all tiers above, with the systems they run."""

    tor: SwitchModel
    above: SwitchModel
    tor_nos: NosChoice
    above_nos: NosChoice


def find_alternatives(
    found: Iterable[Candidate], planner: Planner, naming: Naming, price: Price | None = None
) -> Alternatives:
    """Plan the shapes that no other one beats, and the best shapes with the spec's own models.

    Args:
        found: the candidates.
        planner: the fabric of a spec, as a new one; None where there is none, or where it could not be built.
        naming: what is to be known of network operating systems.
        price: the cost of a shape, if cost is compared.
    """
    costs = [(each, price(each) if price else None) for each in found]
    known = [(each.measure(cost), each) for each, cost in costs if not price or cost is not None]
    pool = dict(
        enumerate(sorted(known, key=lambda entry: (entry[0], entry[1].figures.cut, -entry[1].figures.room)))
    )
    planned: dict[int, Alternative] = {}
    while True:
        own = {at: measures for at, (measures, each) in pool.items() if each.own}
        front = sorted({*find_best({at: measures for at, (measures, _) in pool.items()}), *find_best(own)})
        for at in front:
            if (each := planned.get(at) or _plan_candidate(pool[at][1], planner, naming)) is not None:
                planned[at] = each
        if all(at in planned for at in front):
            return Alternatives(
                tuple(planned[at] for at in front), len(pool) - len(front), len(costs) - len(known)
            )
        pool = {at: entry for at, entry in pool.items() if at in planned or at not in front}


def _plan_candidate(candidate: Candidate, planner: Planner, naming: Naming) -> Alternative | None:
    """Plan a candidate with its external links, moved to free ports of the same switches if necessary."""
    fabric = candidate.fabric or planner(candidate.spec)
    if fabric is None and candidate.spec.external:
        inside = planner(replace(candidate.spec, external=()))
        moved = move_external_links(candidate.spec, inside, naming) if inside is not None else None
        if moved is not None and (fabric := planner(moved[0])) is not None:
            candidate = replace(candidate, spec=moved[0], changes=candidate.changes | moved[1])
    return Alternative(add_external_links(candidate, fabric), fabric) if fabric is not None else None


def add_external_links(candidate: Candidate, fabric: Fabric) -> Candidate:
    """Add the external links to the figures of a planned shape. Comparisons omit them: all shapes have the same."""
    return replace(candidate, figures=shape_figures.with_ways_out(candidate.figures, fabric))


def criteria_of_shape(found: shape_figures.Figures, hosts: int, price: Fraction | None = None) -> Measures:
    """Return the criteria of a shape, less is better: ratio, cost, optics, cables, GPUs cut off by a loss, less room.

    The cost is the price, or where none is given the switches and what they forward together. What decides nothing by
    itself counts in steps: the ratio in quarters, GPUs cut off and room for growth in doublings.
    """
    cost = (found.boxes, found.switch_gbps) if price is None else (price, 0)
    room = (found.room // hosts).bit_length()
    return ceil(4 * found.ratio), *cost, found.optics, found.cables, found.cut.bit_length(), -room


def is_better(one: Measures, other: Measures) -> bool:
    """Return whether one shape is at least as good in every criterion, and better in one."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def find_best(measures: Mapping[int, Measures]) -> list[int]:
    """Return the keys whose measures, in the same order, no other ones beat; the first of several equal ones."""
    front: list[int] = []
    for at, mine in measures.items():
        if not any(measures[other] == mine or is_better(measures[other], mine) for other in front):
            front.append(at)
    return front


def own_shape(spec: ClusterSpec, fabric: Fabric) -> Candidate:
    """Return the shape of a spec."""
    switches = {tier: each.model for tier, each in fabric.tiers.items()}
    models = Models(fabric.host_models, *map(switches.get, TierName))  # type: ignore[arg-type]
    units = [
        shape_figures.FilledUnit(unit.coordinate, unit.group, len(unit.hosts))
        for unit in fabric.units.values()
        if unit.hosts or unit.border is not None
    ]
    counted = shape_figures.compute_figures(
        spec, models.hosts, fabric.attachments, switches, fabric, fabric.tor_links, units
    )
    return Candidate(spec, {}, models, fabric, counted, fabric.attachments, own=True, fabric=fabric)


def list_candidates(
    spec: ClusterSpec, catalog: Catalog, naming: Naming, apart: Collection[str] = ()
) -> Iterator[Candidate]:
    """List the shapes that closed forms can size; none unless the hosts are `is_uniformly_wired`.

    Args:
        spec: the spec.
        catalog: the models that there are.
        naming: what is to be known of network operating systems.
        apart: models that stand for themselves; of others with the same ports one does for all.

    Raises:
        UnfitError: the catalog lacks a model that the spec names.
    """
    models = models_of(spec, catalog)
    named = {model.name for model in models.switches.values()}
    seen: set[tuple[object, ...]] = set()
    for planes in _possible_planes(spec, models):
        for chosen in _list_model_choices(spec, models, catalog, naming, planes, apart):
            known = Models(models.hosts, chosen.tor, chosen.above, chosen.above)
            for tiers, ratio in product((1, 2, 3), _candidate_ratios(spec)):
                wanted, changes = _with_switches(spec, chosen, tiers, planes, ratio)
                for per_unit in _unit_sizes(wanted, known):
                    sized, more = _with_units(wanted, per_unit)
                    found = _size_candidate(sized, changes | more, known, catalog, named)
                    if found is None:
                        continue
                    key = (chosen.tor.name, chosen.above.name if tiers > 1 else "", found.sized.shape)
                    if key not in seen:
                        seen.add(key)
                        yield found


def is_uniformly_wired(attached: Sequence[Attachment]) -> bool:
    """Return whether all groups have their own units and use every rail, as closed forms assume.

    Border leaves have no hosts.
    """
    first = attached[0]
    wiring = first.rails, first.nic_ports, first.rails_per_tor
    return all(
        (each.rails, each.nic_ports, each.rails_per_tor) == wiring and each.sets == 1 and each.beside is None
        for each in attached
        if each.slots
    )


def _size_candidate(
    spec: ClusterSpec, changes: Changes, known: Models, catalog: Catalog, named: AbstractSet[str]
) -> Candidate | None:
    """Compute the shape of a spec, or return None where there is none."""
    models = replace(
        known, spine=known.spine if spec.spines else None, core=known.core if spec.cores else None
    )
    units = tuple(shape_figures.fill_units(spec))
    if spec.spines is None and (len(units) > 1 or spec.tors.border):
        return None
    try:
        attached = attach_groups(spec, models)
        leaves = border_units(spec, models.hosts, attached)
        units += tuple(
            shape_figures.FilledUnit(len(units) + n, len(attached) + n, 0) for n in range(len(leaves))
        )
        wanted = max(len(units), capacity_units(spec, models.hosts, attached))
        if not is_uniformly_wired(attached) or (
            spec.spines and not spec.cores and not find_spines(spec, models, wanted)
        ):
            return None
        sized = with_border(spec, models, size_fabric(spec, models, len(units), wanted, {}, catalog))
    except UnfitError:
        return None
    links = spread_links(spec, sized, EMPTY_LOCK).links if spec.spines else (0,) * len(models.hosts)
    links += (spec.tors.border_links,) * len(leaves)
    attached += leaf_attachments(sized.shape, leaves)
    spec = with_host_cable(spec, host_cable(spec, models, sized.tor_layouts, attached))
    counted = shape_figures.compute_figures(
        spec, models.hosts, attached, models.switches, sized, links, units
    )
    used = {model.name for model in models.switches.values()}
    return Candidate(spec, changes, models, sized, counted, attached, used <= named)


def _list_model_choices(
    spec: ClusterSpec, models: Models, catalog: Catalog, naming: Naming, planes: int, apart: Collection[str]
) -> Iterator[_Switches]:
    """List the spec's own models, one model for all tiers, and its ToRs below another model of the same system."""
    wished = spec.spines or spec.tors
    own = _Switches(models.tor, models.spine or models.tor, spec.tors.nos, wished.nos)
    yield own
    slowest = min(_host_gbps(models, planes), default=0)
    for model in _pick_distinct_models(catalog, own.tor, spec.tors.nos.name, slowest, apart):
        if (system := _choose_nos(spec, naming, spec.tors.nos, model)) is None:
            continue
        if shape_figures.forwarding_rate(model) <= LARGEST_TOR * shape_figures.forwarding_rate(own.tor):
            yield _Switches(model, model, system, system)
        if system.name == spec.tors.nos.name:
            yield _Switches(own.tor, model, spec.tors.nos, system)


def count_ports(model: SwitchModel, slowest: int = 0) -> tuple[tuple[int, int], ...]:
    """Return (speed, ports) of a model for every speed from `slowest` on."""
    return tuple((speed, ports_at(model, speed)) for speed in sorted(port_speeds(model)) if speed >= slowest)


def find_equal_models(model: SwitchModel, catalog: Catalog) -> tuple[str, ...]:
    """Return other models with as many ports of every speed."""
    switches = ((name, catalog.switches[name]) for name in catalog.switches)
    return tuple(
        name for name, other in switches if name != model.name and count_ports(other) == count_ports(model)
    )


def _pick_distinct_models(
    catalog: Catalog, own: SwitchModel, nos: str, slowest: int, apart: Collection[str]
) -> Iterator[SwitchModel]:
    """Pick one of all models with the same ports, none slower: the spec's own, else one of its vendor or its system."""
    found: dict[tuple[object, ...], SwitchModel] = {}
    fastest = max(port_speeds(own))
    switches = [own, *(catalog.switches[name] for name in catalog.switches if name != own.name)]
    for model in sorted(switches, key=lambda each: (each.vendor != own.vendor, nos not in each.nos)):
        if model.nos and max(port_speeds(model), default=0) >= fastest:
            found.setdefault((model.name,) if model.name in apart else count_ports(model, slowest), model)
    yield from found.values()


def _choose_nos(spec: ClusterSpec, naming: Naming, wished: NosChoice, model: SwitchModel) -> NosChoice | None:
    """Choose the system of a model: as in the spec, of another release, or the first in the catalog."""
    others = (NosChoice(name, None) for name in (wished.name, *model.nos) if name in naming.names())
    choices = (wished, *others)
    return next((each for each in choices if nos_release(spec, naming, each, model, [], "tors")), None)


def _host_gbps(models: Models, planes: int) -> Iterator[int]:
    """Return the speeds of NIC ports that are spread over this number of planes."""
    for model in models.hosts:
        yield from (speed for count, speed in list_port_splits(model).items() if count % planes == 0)


def _possible_planes(spec: ClusterSpec, models: Models) -> Iterator[int]:
    """Return the numbers of planes that divide the ports of every NIC, the spec's own first."""
    for planes in dict.fromkeys((spec.planes, *PLANES)):
        if all(any(count % planes == 0 for count in list_port_splits(model)) for model in models.hosts):
            yield planes


def _candidate_ratios(spec: ClusterSpec) -> tuple[float, ...]:
    return tuple(dict.fromkeys((spec.tors.oversubscription or 1.0, *RATIOS)))


def _with_switches(
    spec: ClusterSpec, chosen: _Switches, tiers: int, planes: int, ratio: float
) -> tuple[ClusterSpec, Changes]:
    """Return the spec with these models and tiers, without the counts that it pins for others."""
    tors = replace(spec.tors, model=chosen.tor.name, nos=chosen.tor_nos, oversubscription=ratio, uplinks=None)
    spines, cores = (
        replace(
            old or Tier(chosen.above.name, chosen.above_nos),
            model=chosen.above.name, nos=chosen.above_nos, count=None, uplinks=None, units_per_pod=None, pods=(),
        )
        for old in (spec.spines, spec.cores)
    )  # fmt: skip
    if tiers == 3:
        spines = replace(spines, oversubscription=spines.oversubscription or 1.0)
    else:
        spines = replace(spines, oversubscription=None, uplink_gbps=None, n_minus_1=False)
    if tiers == 1:
        tors = replace(tors, oversubscription=None, uplink_gbps=None, n_minus_1=False)
    above = spines if tiers > 1 else None, cores if tiers > 2 else None
    changes: Changes = {("planes",): planes} if planes != spec.planes else {}
    sections = ("tors", spec.tors, tors), ("spines", spec.spines, above[0]), ("cores", spec.cores, above[1])
    for key, old, new in sections:
        changes |= _changed_keys(key, old, new)
    return replace(spec, tors=tors, spines=above[0], cores=above[1], planes=planes), changes


def _changed_keys(key: str, old: Tier | None, new: Tier | None) -> Iterator[tuple[KeyPath, object]]:
    """List the keys of a tier section that differ."""
    if new is None or old is None:
        if new is not old:
            yield (key,), new and {"model": new.model, "nos": new.nos.text}
        return
    for name in _KEYS:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield (key, name), after.text if isinstance(after, NosChoice) else after or None


def _unit_sizes(spec: ClusterSpec, models: Models) -> Iterator[int]:
    """Return unit sizes to try: the spec's own, the largest, powers of two, and one that fills the last unit best."""
    group, *others = spec.gpus.groups
    if others or (*group.path, "racks") in spec.positions:
        yield group.hosts_per_unit
        return
    if spec.spines is None:
        yield group.hosts
        return
    try:
        attached = attach_groups(spec, models)[0]
        up_gbps = link_speed(spec, models.tor, models.spine or models.tor, spec.tors.uplink_gbps, "tors")
    except UnfitError:
        return
    most = largest_unit(spec, models.tor, attached.gbps, up_gbps, attached.rails_per_tor)
    if most := min(most, group.hosts):
        power = 1 << most.bit_length() - 1
        even = -(-group.hosts // -(-group.hosts // most))
        sizes = (group.hosts_per_unit, most, power, even)
        yield from dict.fromkeys(each for each in sizes if 0 < each <= most)


def _with_units(spec: ClusterSpec, per_unit: int) -> tuple[ClusterSpec, Changes]:
    """Return the spec with units of this many hosts; without spines all hosts are behind one ToR."""
    group, *others = spec.gpus.groups
    gpus = spec.gpus
    changes: Changes = {}
    if spec.spines is None and not gpus.rails_apart and gpus.rails_per_tor != ALL_RAILS:
        gpus = replace(gpus, rails_per_tor=ALL_RAILS)
        changes["gpus", "rails_per_tor"] = ALL_RAILS
    if per_unit != group.hosts_per_unit:
        groups = (replace(group, hosts_per_unit=per_unit), *others)
        gpus = replace(gpus, groups=groups)
        key = "hosts_per_rack" if (*group.path, "hosts_per_rack") in spec.positions else "hosts_per_unit"
        changes[*group.path, key] = per_unit
    return replace(spec, gpus=gpus), changes
