"""The sections on topology and on failures as tables: tiers with their oversubscription, units, pods, losses."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.numbers import group_pairs
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import describe_planes
from fabricc.fabric.shape import TierName
from fabricc.review.report import values
from fabricc.review.report.failures import Failure, describe_kept_bandwidth
from fabricc.review.report.picture import draw_picture
from fabricc.review.report.values import Kind, Row
from fabricc.review.report.values import count_cables as cables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

_DOWN = (Direction.HOST, Direction.DOWN)
_UP = (Direction.UP, Direction.PEER)
_LISTED = 40
_TIER = (
    "tier", "switches", "model", "runs", "ports down", "ports up", "free ports", "oversubscription", "declared",
)  # fmt: skip


def topology_section(spec: ClusterSpec, fabric: Fabric, kinds: tuple[Kind, ...]) -> values.Section:
    """Return the section with the picture, tiers and units."""
    drawn = draw_picture(fabric, cables_of(kinds))
    tiers = values.Table(
        "tiers",
        "Tiers",
        _TIER,
        tuple(_tier_rows(spec, fabric, kinds)),
        right=(7, 8),
        note="Of the busiest switch of a tier. Oversubscription is the bandwidth of its used ports down divided "
        "by that of its used ports up. Free ports are not cabled; `reserved_ports` stay free for you.",
    )
    units = values.Table(
        "units",
        "Units",
        ("units", "number", "host model", "hosts of each", "GPUs of each", "ToRs of each"),
        tuple(_unit_rows(fabric)),
        codes=(0,),
        note="Equal units are in one row, under the first and the last name in the plan's order.",
    )
    tables: tuple[values.Table, ...] = (tiers, units)
    if fabric.shape.cores:
        tables = (*tables, _pod_table(fabric))
    shape = fabric.shape
    lead = f"{plural(len(fabric.tiers), 'tier')} of switches, {describe_planes(len(fabric.planes), shape.planes)}"
    lead += f", {plural(shape.pods, 'pod')}." if shape.cores else "."
    return values.Section("topology", "Topology", lead, (drawn, *tables))


def tier_title(tier: TierName) -> str:
    """Return what people call a switch of a tier."""
    return "ToR" if tier is TierName.TOR else tier.value


def tier_ratios(kinds: tuple[Kind, ...]) -> dict[TierName, Fraction]:
    """Return tier -> the highest ratio of Gb/s down over up of the used ports; none for the topmost tier."""
    found: dict[TierName, Fraction] = {}
    for kind in kinds:
        if up := kind.gbps(Direction.UP):
            ratio_ = Fraction(kind.gbps(*_DOWN), up)
            found[kind.tier] = max(ratio_, found.get(kind.tier, Fraction(0)))
    return found


def _tier_rows(spec: ClusterSpec, fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    wanted = {TierName.TOR: spec.tors, TierName.SPINE: spec.spines, TierName.CORE: spec.cores}
    for title, alike in _kinds_by_tier(fabric, kinds):
        busiest = max(alike, key=lambda kind: len(kind.links))
        tier, ratios = busiest.tier, tier_ratios(alike)
        plan, requested = fabric.tiers[tier], wanted[tier]
        declared = requested.oversubscription if requested and tier in ratios else None
        free = len(busiest.layout.slots) - len(busiest.links)
        kept = busiest.layout.reserved
        boxes = Counter(box.model.title for at, box in fabric.boxes.items() if at.tier is tier)
        models = ", ".join([plan.model.title, *(f"{number} x {model}" for model, number in boxes.items())])
        yield (
            title, sum(kind.count for kind in alike), models, f"{plan.nos} {plan.release}".strip(),
            _describe_ports(busiest, _DOWN), _describe_ports(busiest, _UP),
            f"{free}, {kept} kept for you" if kept else str(free),
            values.format_ratio(ratios[tier]) if tier in ratios else values.NONE,
            values.NONE
            if declared is None
            else values.format_ratio(declared) + (", one lost" if requested and requested.n_minus_1 else ""),
        )  # fmt: skip


def _kinds_by_tier(fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    """Yield the kinds of every tier; ToRs by host group if these have different numbers of uplinks."""
    groups = fabric.groups()
    for tier in fabric.tiers:
        of_tier = tuple(kind for kind in kinds if kind.tier is tier)
        if tier is not TierName.TOR or fabric.even:
            yield tier_title(tier), of_tier
            continue
        for group in sorted({groups[kind.at.unit] for kind in of_tier}):
            alike = tuple(kind for kind in of_tier if groups[kind.at.unit] == group)
            yield f"{tier_title(tier)} of {fabric.host_models[group].title}", alike


def _describe_ports(kind: Kind, ways: tuple[Direction, ...]) -> str:
    """Return `32 × 400G = 12.8 Tb/s`, by speed."""
    slots = kind.layout.slots
    speeds = Counter(slots[link.slot].speed_gbps for link in kind.links if link.direction in ways)
    if not speeds:
        return values.NONE
    text = " + ".join(values.format_count(count, f"{speed}G") for speed, count in sorted(speeds.items()))
    return f"{text} = {values.format_rate(kind.gbps(*ways))}"


def _unit_rows(fabric: Fabric) -> Iterator[Row]:
    alike: dict[tuple[int, int, int], list[str]] = {}
    for unit in (each for each in fabric.units.values() if each.border is None):
        tors = sum(1 for _ in fabric.tor_ids(unit.home))
        alike.setdefault((unit.group, len(unit.hosts), tors), []).append(unit.name)
    for (group, hosts, tors), names in sorted(alike.items(), key=lambda each: (each[0][0], -each[0][1])):
        model = fabric.host_models[group]
        yield values.format_span(names), len(names), model.title, hosts, hosts * model.gpus, tors


def _pod_table(fabric: Fabric) -> values.Table:
    """Pods that hold equally many units in one row."""
    shape = fabric.shape
    units, gpus = Counter[int](), Counter[int]()
    for unit in fabric.units.values():
        pod = unit.home // shape.units_per_pod
        units[pod] += unit.beside is None and unit.border is None
        gpus[pod] += len(unit.hosts) * fabric.host_models[unit.group].gpus
    alike = group_pairs(((units[pod], gpus[pod]), pod + 1) for pod in sorted(units))
    room, spines = shape.units_per_pod, len(fabric.planes) * shape.spines
    rows = [
        (values.format_span([f"pod{pod}" for pod in pods]), len(pods), number, room, held, spines)
        for (number, held), pods in alike.items()
    ]
    columns = ("pods", "number", "units of each", "room for units", "GPUs of each", "spines of each")
    return values.Table("pods", "Pods", columns, tuple(rows[:_LISTED]), codes=(0,))


def failure_section(fabric: Fabric, found: Sequence[Failure], *, hashed: bool) -> values.Section:
    """Return the section with the failure table."""
    lead = (
        "One part lost, everything else up, computed from the plan where it hurts most: in the fullest unit."
    )
    if not found:
        lead = "Not known: the files break the plan, or take parts of it out of service. See the findings."
    rows = tuple(
        (
            each.part, each.example, each.number, each.links, each.hosts_cut, each.gpus_cut, each.reduced,
            describe_kept_bandwidth(each), each.width, format_share(each.bisection),
        )
        for each in found
    )  # fmt: skip
    columns = (
        "what fails", "for example", "there are", "links lost", "hosts cut off", "GPUs cut off", "GPUs with less",
        "they keep at least", "equal-cost next hops" if hashed else "uplinks left", "bisection left",
    )  # fmt: skip
    note = " ".join(_topology_notes(fabric, hashed))
    table = values.Table("losses", "One part lost", columns, rows, codes=(1,), right=(9,), note=note)
    return values.Section("failures", "Failures", lead, (table,))


def _topology_notes(fabric: Fabric, hashed: bool) -> Iterator[str]:
    yield "A GPU is cut off when its NIC has no port left; over the host's own links it may still reach the other NICs."
    if hashed:
        yield (
            "“If hashed evenly”: ECMP gives each next hop the same share, so a collective "
            "is as fast as its slowest flow."
        )
        routing = fabric.routing
        interval = f"{routing.bfd_interval_ms} ms"
        detected = (
            f"BFD detects a silent loss after {values.format_count(routing.bfd_multiplier, interval)}"
            if routing.bfd_interval_ms
            else f"A silent loss is detected after the hold time of {routing.hold_s} s"
        )
        yield f"{detected}."
    if any(port[2] for change in fabric.changes.values() for port in change.ports.values()):
        yield "Links that overrides shut count as working here."
