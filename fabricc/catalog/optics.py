"""The catalog of transceivers, fibers and cables, and the choice of those that connect two cages over a length."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.installation import load_package_yaml
from fabricc.base.values import dataclass, replace
from fabricc.catalog.assemble import parse_breakout, read_citation, read_power
from fabricc.catalog.library import replace_sources
from fabricc.catalog.model import Breakout, CageGroup, HostModel, Power

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


TABLE = Path(__file__).parent / "optics.yaml"


@dataclass(frozen=True, slots=True)
class Part:
    """A part that a maker sells.

    Attributes:
        reach_m: where it is less than that of what it is a part of.
        lengths: the lengths sold, m, with the number of each; empty where the number is that of all.
        protocols: `ethernet` or `infiniband`, or both.
        power: what one draws, a cable with all its ends; None where no source states it.
    """

    vendor: str
    number: str
    reach_m: int | None
    lengths: tuple[tuple[float, str], ...]
    protocols: tuple[str, ...]
    source: str
    power: Power | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Optics that understand each other; `parallel` ones have a fibre for each lane, and can be split."""

    medium: str
    lane_gbps: int
    parallel: bool
    source: str


@dataclass(frozen=True, slots=True)
class Transceiver:
    """A pluggable module.

    Attributes:
        connectors: its sockets for fibres, in the order of the children they carry.
        uses: what its cage does electrically when it is in use.
    """

    title: str
    form_factor: str
    family: str
    connectors: tuple[str, ...]
    reach_m: int
    uses: tuple[Breakout, ...]
    parts: tuple[Part, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Fibre:
    """A fibre cable with a plug at the near side and `fan` plugs at the far one."""

    medium: str
    near: str
    far: str
    fan: int
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Assembly:
    """A cable with modules on it: one at the near side, one for each of `fan` children at the far one."""

    medium: str
    near: tuple[str, ...]
    far: tuple[str, ...]
    fan: tuple[int, ...]
    lane_gbps: int
    converts: bool
    reach_m: int
    parts: tuple[Part, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Optics:
    """Optics, and the rules of cages: (lanes, Gb/s a lane, form factor), their plugs, and the lanes of a plug."""

    rule: tuple[tuple[int, int, str], ...]
    takes: Mapping[str, tuple[str, ...]]
    lanes: Mapping[str, int]
    families: Mapping[str, Family]
    transceivers: tuple[Transceiver, ...]
    fibres: tuple[Fibre, ...]
    assemblies: tuple[Assembly, ...]


class End(NamedTuple):
    """A cage as one end of a link: form factor, use, maker of the box, protocol.

    `counted` are the figures of the box's power, of `typical` and `maximum`, that count what is plugged in.
    """

    form_factor: str
    use: Breakout
    vendor: str
    protocol: str = "ethernet"
    counted: tuple[str, ...] = ()


@cache
def load_optics() -> Optics:
    """The table that comes with the product."""
    raw = load_package_yaml(TABLE)
    table = replace_sources({key: value for key, value in raw.items() if key != "sources"}, raw["sources"])
    return Optics(
        rule=tuple(
            (row["lanes"], row["lane_gbps"], row["form_factor"]) for row in table["cages"]["rule"]["rows"]
        ),
        takes={cage: tuple(row["plugs"]) for cage, row in table["cages"]["takes"].items()},
        lanes={plug: row["lanes"] for row in table["cages"]["lanes"] for plug in row["plugs"]},
        families={
            name: Family(row["medium"], row["lane_gbps"], row["parallel"], read_citation(row))
            for name, row in table["families"].items()
        },
        transceivers=tuple(map(_build_transceiver, table["transceivers"])),
        fibres=tuple(
            Fibre(row["medium"], row["near"], row["far"], row["fan"], _build_parts(row))
            for row in table["fibres"]
        ),
        assemblies=tuple(map(_build_assembly, table["assemblies"])),
    )


def _build_transceiver(row: Mapping[str, Any]) -> Transceiver:
    return Transceiver(
        row["title"], row["form_factor"], row["family"], tuple(row["connectors"]), row["reach_m"],
        tuple(map(parse_breakout, row["uses"])), _build_parts(row), read_citation(row),
    )  # fmt: skip


def _build_assembly(row: Mapping[str, Any]) -> Assembly:
    return Assembly(
        row["medium"], tuple(row["near"]), tuple(row["far"]), tuple(row["fan"]), row["lane_gbps"],
        row.get("converts", False), row["reach_m"], _build_parts(row), read_citation(row),
    )  # fmt: skip


def _build_parts(row: Mapping[str, Any]) -> tuple[Part, ...]:
    return tuple(
        Part(
            part["vendor"], part["number"], part.get("reach_m"),
            tuple(sorted(part.get("lengths", {}).items())),
            tuple(part.get("protocols", ("ethernet",))), read_citation(part), read_power(part),
        )
        for part in row["parts"]
    )  # fmt: skip


def lane_gbps(use: Breakout) -> Fraction:
    """Return the speed of one lane of such a use, Gb/s."""
    return Fraction(use.speed_gbps, use.lanes)


def form_factor(lanes: int, uses: Iterable[Breakout]) -> str:
    """Return the form of a cage whose model does not define it, by its lanes and the fastest of its uses."""
    fastest = max(map(lane_gbps, uses))
    rows = load_optics().rule
    return next((form for most, gbps, form in rows if lanes <= most and fastest <= gbps), rows[-1][2])


def plugs_of_cage(cage: str) -> tuple[str, ...]:
    """Return the plugs that a cage takes, its own first."""
    return cage, *load_optics().takes.get(cage, ())


def cage_form(group: CageGroup) -> str:
    """Return the form factor of a switch's cages."""
    return group.form_factor or form_factor(group.lanes, group.breakouts)


def host_ends(model: HostModel, ports: int, gbps: int) -> tuple[End, ...]:
    """Return the possible uses of a back-end cage of a host; all of them have the same number of children.

    The forms are those that its NIC is sold with. Without such rows they follow from lanes and speed.

    Args:
        model: the host.
        ports: cabled ports of one NIC, after planes have split them.
        gbps: speed of one such port.
    """
    nic, parts = model.nic, ports // model.ports_per_nic
    splits = [use for use in nic.port_splits if use.speed_gbps == gbps]
    if model.cages:
        children = parts * len(model.cages[0])
        uses = [replace(use, children=children) for use in splits if use.children == parts]
        return tuple(End(model.form_factor, use, nic.vendor) for use in uses)
    counts = (model.ports_per_nic, 1) if nic.cages else (1, model.ports_per_nic)
    for unsplit in counts:
        if found := _nic_ends(model, splits, unsplit, parts):
            return tuple(End(form, use, nic.vendor) for form, use in found)
    return ()


def _nic_ends(
    model: HostModel, splits: Sequence[Breakout], unsplit: int, parts: int
) -> list[tuple[str, Breakout]]:
    """Return form and use of a NIC's cage that has this many ports, each of which planes split into `parts`."""
    children = unsplit * parts
    wanted = [use for use in splits if use.children == children]
    gbps = {use.speed_gbps for use in splits} | {model.port_gbps}
    cages = [cage for cage in model.nic.cages if cage.speed_gbps in gbps]
    if not cages:
        return [(_nic_form(form_factor(children * use.lanes, (use,))), use) for use in wanted]
    sold = [
        (cage.form_factor, Breakout(children, cage.speed_gbps, cage.lanes))
        for cage in cages
        if cage.children == children and cage.children * cage.speed_gbps == unsplit * model.port_gbps
    ]
    whole = [
        cage.form_factor for cage in cages if (cage.children, cage.speed_gbps) == (unsplit, model.port_gbps)
    ]
    return sold or [(form, use) for form in dict.fromkeys(whole) for use in wanted]


def cage_of(model: HostModel, ends: tuple[End, ...], nic: int, on_nic: int) -> tuple[str, int]:
    """Return the cage that a port of a NIC is in, and which of its children it is."""
    children = ends[0].use.children if ends else 1
    for number, rails in enumerate(model.cages):
        if nic in rails:
            return f"cage{number}", rails.index(nic) * max(1, children // len(rails)) + on_nic
    return f"{nic}.{on_nic // children}", on_nic % children


def _nic_form(form: str) -> str:
    """Return the form on a NIC, where the heat sink is the card's."""
    return "osfp-rhs" if form == "osfp" else form


REACH_TABLE = Path(__file__).parent / "cable-reach.yaml"


class Reach(NamedTuple):
    """The longest cable of a medium, m, for lanes of up to `lane_gbps`; `source` as in the rest of the catalog."""

    lane_gbps: int
    metres: int
    source: str


@cache
def load_reaches() -> Mapping[str, tuple[Reach, ...]]:
    """Return the rows of every medium, slowest lanes first."""
    raw = load_package_yaml(REACH_TABLE)
    table = replace_sources(raw["media"], raw["sources"])
    return {
        medium: tuple(Reach(row["lane_gbps"], row["metres"], read_citation(row)) for row in rows)
        for medium, rows in table.items()
    }


def find_reach(medium: str, lane_gbps: Fraction | int) -> Reach:
    """Return the row of a medium that counts for lanes of a speed, Gb/s."""
    rows = load_reaches()[medium]
    return next((row for row in rows if lane_gbps <= row.lane_gbps), rows[-1])


def longest_reach(medium: str) -> int:
    """Return how far a medium reaches at the speed that suits it best, m."""
    return max(row.metres for row in load_reaches()[medium])


FIBRES = ("mmf", "smf")


@dataclass(frozen=True, slots=True)
class Fit:
    """The parts that connect two ends.

    Attributes:
        near, far: the transceivers; None where the cable has its modules on it.
        fibre: the fibre between them, whose near side is the end with fewer connectors than children, if there is one.
        per_child: how many such fibres a child takes.
        cable: the assembly.
        split: which end is split over several of the other: -1 the near one, 1 the far one, 0 none.
    """

    near: Transceiver | None = None
    far: Transceiver | None = None
    fibre: Fibre | None = None
    per_child: int = 1
    cable: Assembly | None = None
    split: int = 0


def find_fits(near: End, far: End, medium: str, *, alone: bool) -> tuple[Fit, ...]:
    """Everything that joins two ends over a medium, at whatever length.

    Args:
        near: the end whose maker's parts are preferred.
        far: the other one.
        medium: `dac`, `aec`, `aoc`, `mmf` or `smf`.
        alone: whether all children of each lead to the other, so that one cable carries them all.
    """
    if medium in FIBRES:
        return tuple(_over_fibre(near, far, medium))
    return tuple(_assembly_fits(near, far, medium, alone=alone))


def _over_fibre(near: End, far: End, medium: str) -> Iterator[Fit]:
    """Two transceivers of one family; no standard fibre is split at both of its sides."""
    table = load_optics()
    for one in _fitting_modules(near, medium):
        for other in _fitting_modules(far, medium):
            if one.family != other.family:
                continue
            sides = (near, one), (far, other)
            shared = tuple(end.use.children // len(module.connectors) for end, module in sides)
            if min(shared) > 1 or (max(shared) > 1 and not table.families[one.family].parallel):
                continue
            if max(shared) <= 1:
                each = [len(module.connectors) // end.use.children for end, module in sides]
                if each[0] != each[1]:
                    continue
                fibre = _fiber_fits(medium, one.connectors[0], other.connectors[0], 1)
                yield Fit(one, other, fibre, per_child=each[0])
            else:
                split = -1 if shared[0] > 1 else 1
                head, tail = (one, other) if split < 0 else (other, one)
                if len(tail.connectors) == (far if split < 0 else near).use.children:
                    fibre = _fiber_fits(medium, head.connectors[0], tail.connectors[0], max(shared))
                    yield Fit(one, other, fibre, split=split)


def _fitting_modules(end: End, medium: str) -> Iterator[Transceiver]:
    table = load_optics()
    for plug in plugs_of_cage(end.form_factor):
        for module in table.transceivers:
            over = table.families[module.family].medium
            if module.form_factor == plug and end.use in module.uses and over == medium:
                yield module


def _fiber_fits(medium: str, near: str, far: str, fan: int) -> Fibre:
    wanted = (medium, near, far, fan)
    known = (each for each in load_optics().fibres if (each.medium, each.near, each.far, each.fan) == wanted)
    return next(known, Fibre(*wanted))


def _assembly_fits(near: End, far: End, medium: str, *, alone: bool) -> Iterator[Fit]:
    children = near.use.children, far.use.children
    if children[0] == children[1]:
        ways = ((0, near, far, 1),) if alone else ()
    elif min(children) == 1:
        head, tail = (near, far) if children[0] > 1 else (far, near)
        ways = ((-1 if head is near else 1, head, tail, max(children)),)
    else:
        ways = ()
    for split, head, tail, fan in ways:
        rates = lane_gbps(head.use), lane_gbps(tail.use)
        for cable in load_optics().assemblies:
            joined = _cable_ends(cable, head, tail) or (fan == 1 and _cable_ends(cable, tail, head))
            carried = (rates[0] == rates[1] or cable.converts) and max(rates) <= cable.lane_gbps
            if cable.medium == medium and fan in cable.fan and joined and carried:
                yield Fit(cable=cable, split=split)


def _cable_ends(cable: Assembly, head: End, tail: End) -> bool:
    return find_plug(head, cable.near) is not None and find_plug(tail, cable.far) is not None


def find_plug(end: End, forms: Collection[str]) -> str | None:
    """Return the first of these plugs that the cage of an end takes and that has enough lanes for its ports."""
    lanes = end.use.children * end.use.lanes
    known = load_optics().lanes
    return next(
        (plug for plug in plugs_of_cage(end.form_factor) if plug in forms and known[plug] >= lanes), None
    )


def reach_of(fit: Fit) -> int:
    """Return how far it reaches, m."""
    return min(item.reach_m for item in (fit.near, fit.far, fit.cable) if item is not None)


def choose_shortest(found: Iterable[Fit], metres: int, near: End, far: End) -> Fit | None:
    """Return the parts that suffice for a length: first by both makers, then by shortest reach."""
    enough = [fit for fit in found if reach_of(fit) >= metres]
    return min(
        enough, key=lambda fit: (_count_foreign_ends(fit, metres, near, far), reach_of(fit)), default=None
    )


def is_sold(fit: Fit, metres: int, near: End, far: End) -> bool:
    """Return whether the catalog has a number of the makers of the ends for each of its parts."""
    return reach_of(fit) >= metres and not _count_foreign_ends(fit, metres, near, far)


def _count_foreign_ends(fit: Fit, metres: int, near: End, far: End) -> int:
    """Return how many of its ends have no part of the maker."""
    if fit.cable is not None:
        return int(not any(part_for(fit.cable.parts, end, metres) for end in (near, far)))
    modules = ((fit.near, near), (fit.far, far))
    return sum(1 for module, end in modules if module and not part_for(module.parts, end, metres))


def part_for(parts: Iterable[Part], end: End, metres: int) -> Part | None:
    """Return the part of an end's maker that reaches far enough, and no farther than it must."""
    fitting = [
        part
        for part in parts
        if part.vendor == end.vendor
        and end.protocol in part.protocols
        and (part.reach_m is None or metres <= part.reach_m)
        and (not part.lengths or metres <= part.lengths[-1][0])
    ]
    return min(fitting, key=lambda part: part.reach_m or float("inf"), default=None)


def number_of(part: Part, metres: int) -> str:
    """Return its part number; where each length has one, that of the shortest length which suffices."""
    return next((number for length, number in part.lengths if length >= metres), part.number)
