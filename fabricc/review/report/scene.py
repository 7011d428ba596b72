"""Select the visible part of a fabric: a few pods and units, the number of the others, and the captions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import TierName
from fabricc.review.report.values import Cable, format_count, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric

_PODS = 3
_UNITS = {1: 6, 2: 3, 3: 1}
"""Pods drawn -> units drawn in each; fewer where planes cross."""
_CROSSING = 4


@dataclass(frozen=True, slots=True)
class Unit:
    """A drawn unit: its name, the names of its hosts, GPUs, ToRs, and the links of a ToR to each spine."""

    name: str
    hosts: tuple[str, ...]
    gpus: int
    tors: int
    links: int


@dataclass(frozen=True, slots=True)
class Pod:
    """A drawn pod; in `units`, None stands for the `left_out` units."""

    number: int
    units: tuple[Unit | None, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of the drawing.

    Attributes:
        pods: None in place of `left_out` pods.
        tiers: from the top: heading and lines next to each tier. `links`: the same for the links below each tier.
        hosts: heading and lines next to the hosts.
        words: the picture in sentences.
    """

    pods: tuple[Pod | None, ...]
    left_out: int
    tiers: Mapping[TierName, tuple[str, ...]]
    links: Mapping[str, tuple[str, ...]]
    hosts: tuple[str, ...]
    words: tuple[str, ...]


def make_scene(fabric: Fabric, cables: Mapping[Cable, int]) -> Scene:
    """Return the visible part of a fabric."""
    places = [unit.coordinate for unit in fabric.places()]
    by_pod = group_pairs((at // fabric.shape.units_per_pod, at) for at in places)
    shown, left_out = _select_shown(sorted(by_pod), _PODS)
    most = _UNITS[sum(1 for pod in shown if pod is not None)]
    if len(fabric.planes) > 1:
        most = min(most, _CROSSING)
    pods = tuple(None if pod is None else _make_pod(fabric, pod, by_pod[pod], most) for pod in shown)
    counts = fabric.counts()
    tiers = {
        tier: (
            plural(counts[f"{tier.value}s"], "ToR" if tier is TierName.TOR else tier.value),
            plan.model.title,
            f"{plan.nos} {plan.release}".strip(),
        )
        for tier, plan in fabric.tiers.items()
    }
    models = sorted({fabric.host_models[unit.group].title for unit in fabric.units.values()})
    hosts = (plural(counts["hosts"], "host"), f"{counts['gpus']:,} GPUs", ", ".join(models))
    links = {kind: tuple(_link_lines(fabric, kind, cables)) for kind in ("host", "spine", "core", "peer")}
    return Scene(pods, left_out, tiers, links, hosts, tuple(_describe_scene(fabric, cables)))


_CABLE_KINDS = {
    "host": "Hosts to ToRs", "spine": "ToRs to spines", "core": "Spines to cores", "peer": "ToRs to each other",
}  # fmt: skip


def _select_shown(numbers: Sequence[int], most: int) -> tuple[tuple[int | None, ...], int]:
    """Return all numbers, or the first and last ones around None, and the number of omitted ones."""
    if len(numbers) <= most:
        return tuple(numbers), 0
    if most == 1:
        return (numbers[0], None), len(numbers) - 1
    return (*numbers[: most - 1], None, numbers[-1]), len(numbers) - most


def _make_pod(fabric: Fabric, pod: int, coordinates: Sequence[int], most: int) -> Pod:
    shown, left_out = _select_shown(coordinates, most)
    return Pod(pod, tuple(None if each is None else _make_unit(fabric, each) for each in shown), left_out)


def _make_unit(fabric: Fabric, coordinate: int) -> Unit:
    unit = fabric.units[coordinate]
    every = [unit, *(fabric.units[guest] for guest in unit.guests)]
    hosts = tuple(name for each in every for name in each.hosts.values())
    gpus = sum(len(each.hosts) * fabric.host_models[each.group].gpus for each in every)
    return Unit(
        unit.name, hosts, gpus, sum(1 for _ in fabric.tor_ids(coordinate)), fabric.tor_links[unit.group]
    )


def _link_lines(fabric: Fabric, kind: str, cables: Mapping[Cable, int]) -> Iterator[str]:
    """Yield the words next to the links of a kind: count, speed, medium and length, and how they spread."""
    found = sorted(((count, cable) for cable, count in cables.items() if cable.kind == kind), reverse=True)
    for count, cable in found[:2]:
        yield format_count(count, f"{cable.speed_gbps}G, {cable.medium} {cable.length_m} m")
    if len(found) > 2:
        yield f"and {plural(len(found) - 2, 'other kind')}"
    shape = fabric.shape
    if kind == "host" and found:
        serving = (attached for attached in fabric.attachments if attached.slots)
        each = sorted({attached.rails * len(attached.present) for attached in serving}, reverse=True)
        yield f"{' or '.join(map(str, each))} per host"
    if kind == "spine" and found:
        most, *fewer = (f"{shape.spines * links} per ToR, {links} per spine" for links in _tor_links(fabric))
        yield most
        if fewer:
            yield f"{'or' if len(fewer) == 1 else 'to'} {fewer[-1]}"
    if kind == "core" and found:
        yield f"{shape.spine_uplinks} per spine, {shape.links_per_core} per core"


def _tor_links(fabric: Fabric) -> list[int]:
    """Return the distinct numbers of links from a ToR with hosts to each spine, the largest first."""
    serving = (unit.group for unit in fabric.units.values() if unit.border is None)
    return sorted({fabric.tor_links[group] for group in serving}, reverse=True)


def _describe_scene(fabric: Fabric, cables: Mapping[Cable, int]) -> Iterator[str]:
    """Yield the picture in sentences, from the hosts up."""
    shape, counts = fabric.shape, fabric.counts()
    rails = plural(shape.rails, "rail")
    wired = (
        "All NICs of a host lead to the ToR of its rack"
        if shape.rails_per_tor == shape.rails
        else "NIC g of every host of a unit leads to ToR g"
        if shape.rails_per_tor == 1
        else f"Each ToR of a unit serves {shape.rails_per_tor} rails"
    )
    yield (
        f"{plural(counts['hosts'], 'host')} with {counts['gpus']:,} GPUs in {plural(counts['units'], 'unit')}; "
        f"{rails} and {plural(shape.rails * shape.nic_ports, 'port')} per host. {wired}"
        + (f", port by port ({shape.nic_ports} ports per NIC)." if shape.nic_ports > 1 else ".")
    )
    yield from _without_gpus(fabric)
    if fabric.port_planes > 1:
        letters = ", ".join(PLANE_LETTERS[: fabric.port_planes]) if shape.rail_planes == 1 else "of each rail"
        yield f"The NIC ports spread over {fabric.port_planes} planes ({letters}) that share no switch."
    if shape.rail_planes > 1:
        those = "A rail" if shape.rails == shape.rail_planes else f"{shape.rails // shape.rail_planes} rails"
        verb = "has" if shape.rails == shape.rail_planes else "have"
        spines = "ToRs and spines" if shape.spines else "ToRs"
        meet = "only the hosts join rails of different planes" if shape.rails_apart else "cores join them"
        yield f"{those} {verb} {spines} of their own, {len(fabric.planes)} planes in all; {meet}."
    leaves = [unit for unit in fabric.places() if unit.border is not None]
    border = sum(1 for unit in leaves for _ in fabric.tor_ids(unit.coordinate))
    yield _uplinks_in_words(fabric, counts["tors"] - border)
    if leaves:
        each = f"{plural(fabric.uplinks(leaves[0].group), 'uplink')} of {shape.uplink_gbps}G"
        yield f"{plural(border, 'ToR')} at the border without hosts, {each} each, for links that leave the fabric."
    if shape.cores:
        yield (
            f"{plural(shape.pods, 'pod')} of up to {plural(shape.units_per_pod, 'unit')}; each spine has "
            f"{plural(shape.spine_uplinks, 'uplink')} of {shape.core_link_gbps}G, {shape.links_per_core} to each of "
            f"{plural(shape.cores_per_group, 'core')} of its group; {plural(counts['cores'], 'core')} in all."
        )
    for cable, count in sorted(cables.items(), key=lambda each: (each[0].kind, -each[1])):
        together = format_rate(count * cable.speed_gbps)
        name = _CABLE_KINDS[cable.kind]
        each = format_count(count, f"{cable.speed_gbps}G")
        yield f"{name}: {each} over {cable.medium}, {cable.length_m} m; {together} together."


def _uplinks_in_words(fabric: Fabric, tors: int) -> str:
    """Return how the ToRs are connected upwards."""
    shape = fabric.shape
    if shape.peer_links:
        pairs = f"{plural(tors, 'ToR')} without spines, two in each plane"
        return f"{pairs}, joined by {plural(shape.peer_links, 'link')} of {shape.uplink_gbps}G."
    if not shape.spines:
        return f"{plural(tors, 'ToR')} without uplinks."
    of = "its plane" if len(fabric.planes) > 1 else "the fabric"
    where = f"its pod{' and plane' if len(fabric.planes) > 1 else ''}" if shape.cores else of
    each = ", or by its hosts ".join(
        f"{plural(shape.spines * links, 'uplink')} of {shape.uplink_gbps}G, {links} to each"
        for links in _tor_links(fabric)
    )
    serving = [unit.coordinate for unit in fabric.places() if unit.border is None]
    numbers = {sum(1 for _ in fabric.tor_ids(unit)) for unit in serving}
    of_unit = " or ".join(map(str, sorted(numbers, reverse=True)))
    return (
        f"{plural(tors, 'ToR')}, {of_unit} in each unit; a ToR has {each} "
        f"of the {plural(shape.spines, 'spine')} of {where}."
    )


def _without_gpus(fabric: Fabric) -> Iterator[str]:
    """Yield the hosts of each group that has no GPUs."""
    present = Counter(unit.group for unit in fabric.units.values() for _ in unit.hosts)
    for group, hosts in sorted(present.items()):
        attached, model = fabric.attachments[group], fabric.host_models[group]
        if not model.gpus:
            where = "in units of their own" if attached.beside is None else "on ToRs of other hosts"
            ports = format_count(attached.rails * len(attached.present), f"{attached.gbps}G")
            yield f"{plural(hosts, 'host')} without GPUs ({model.title}), {ports} each, {where}."
