"""What a fabric is bought as: switches, hosts, and the optics and cables of every link, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.base.values import dataclass
from fabricc.catalog.joining import fits, number_of, part_for, reach_of, shortest
from fabricc.catalog.model import Breakout
from fabricc.catalog.optics import End, cage_form, host_ends, lane_gbps, plugs
from fabricc.catalog.reach import reaches

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.joining import Fit
    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.catalog.optics import Assembly, Part, Transceiver
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import CableRow
    from fabricc.front.spec.model import ClusterSpec

Line = TypeVar("Line", bound="Hashable")

BILL = (
    "item", "for", "title", "vendor", "part_number", "length_m", "quantity", "spares", "total", "source",
)  # fmt: skip
LABELS = (
    "cable", "end", "device", "port", "module", "module_part", "far_device", "far_port", "medium", "length_m",
    "cable_title", "cable_part", "line_1", "line_2", "line_3",
)  # fmt: skip
SPARED = ("transceiver", "fibre", "cable")
"""Items of which spares are bought; switches and hosts are the maker's to replace."""


class Plug(NamedTuple):
    """A cage of a device."""

    device: str
    cage: str


class Side(NamedTuple):
    """One end of a link: the cage, which of its children, what that cage may be, and what kind of device has it."""

    plug: Plug
    child: int
    ends: tuple[End, ...]
    role: str


class Item(NamedTuple):
    """A line of the bill, without its count."""

    item: str
    role: str
    title: str
    vendor: str = ""
    number: str = ""
    length_m: int | str = ""
    source: str = ""


class Joint(NamedTuple):
    """A link of the cabling plan and what it is made of; without a `cable` nothing in the catalog joins its ends."""

    row: CableRow
    modules: tuple[Item | None, Item | None]
    cable: Item | None


class Lack(NamedTuple):
    """Why links cannot be made: everything that they have in common."""

    kind: str
    lower: End | None
    upper: End | None
    medium: str
    metres: int
    alone: bool


@dataclass(slots=True)
class Materials:
    """What was counted.

    Attributes:
        bill: line -> how many.
        joints: every link in the order of the cabling plan.
        lacking: links that nothing joins, by what they have in common.
        torn: kind of link -> cages whose children need different modules.
    """

    bill: Counter[Item] = field(default_factory=Counter)
    joints: list[Joint] = field(default_factory=list)
    lacking: Counter[Lack] = field(default_factory=Counter)
    torn: Counter[str] = field(default_factory=Counter)


def materials(fabric: Fabric) -> Materials:
    """Everything that the fabric is made of, in time proportional to its ports."""
    found = Materials()
    sides = dict(_switch_sides(fabric, found.bill))
    sides |= _host_sides(fabric, found.bill)
    links = [
        (row, sides[row.a_device, row.a_port], sides[row.b_device, row.b_port]) for row in fabric.cables()
    ]
    peers: dict[Plug, set[Plug]] = {}
    needed: dict[Plug, int] = {}
    for row, lower, upper in links:
        for near, far in ((lower.plug, upper.plug), (upper.plug, lower.plug)):
            peers.setdefault(near, set()).add(far)
            needed[near] = max(needed.get(near, 0), row.length_m)
    ways: dict[Lack, tuple[Fit, End, End] | None] = {}
    counted: set[Hashable] = set()
    inserted: dict[Plug, Item] = {}
    for row, lower, upper in links:
        alone = len(peers[lower.plug]) == len(peers[upper.plug]) == 1
        metres = max(needed[lower.plug], needed[upper.plug])
        asked = Lack(row.kind, _first(lower.ends), _first(upper.ends), row.medium, metres, alone)
        if asked not in ways:
            ways[asked] = _way(lower.ends, upper.ends, row.medium, metres, alone)
        if (way := ways[asked]) is None:
            found.lacking[asked._replace(metres=row.length_m)] += 1
            found.bill[Item("missing", row.kind, row.medium, length_m=row.length_m)] += 1
            found.joints.append(Joint(row, (None, None), None))
            continue
        found.joints.append(_joint(row, lower, upper, way, metres, found, counted, inserted))
    return found


def _first(ends: tuple[End, ...]) -> End | None:
    return ends[0] if ends else None


def _switch_sides(fabric: Fabric, bill: Counter[Item]) -> Iterator[tuple[tuple[str, str], Side]]:
    """(device, port) -> side, of every cabled port of a switch; the switches go on the bill."""
    forms: dict[str, dict[int, str]] = {}
    for switch_id in fabric.switch_ids():
        switch = fabric.switch(switch_id)
        model, role = switch.model, switch.tier.value
        bill[Item("switch", role, model.title, model.vendor)] += 1
        cages = forms.setdefault(model.name, _forms(model))
        for port in switch.ports:
            if port.peer is not None:
                use = Breakout(port.children, port.speed_gbps, port.lanes)
                end = End(cages[port.cage], use, model.vendor)
                plug = Plug(switch.name, str(port.cage))
                yield (switch.name, port.name), Side(plug, port.child - 1, (end,), role)


def _forms(model: SwitchModel) -> dict[int, str]:
    """The form factor of every cage, by its number on the front panel."""
    return {
        number: cage_form(group)
        for group in model.cages
        for number in range(group.first, group.first + group.count)
    }


def _host_sides(fabric: Fabric, bill: Counter[Item]) -> dict[tuple[str, str], Side]:
    """(device, port) -> side, of every back-end port of a host; the hosts go on the bill."""
    sides: dict[tuple[str, str], Side] = {}
    ports: dict[int, list[tuple[str, str, int, tuple[End, ...]]]] = {}
    for host_id in fabric.host_ids():
        unit = fabric.units[host_id.unit]
        model, name = fabric.host_models[unit.group], unit.hosts[host_id.slot]
        if name not in fabric.guests:
            bill[Item("host", "host", model.title, model.vendor)] += 1
        if unit.group not in ports:
            ends = host_ends(model)
            ports[unit.group] = [
                (port.name, *_cage_of(model, ends, port.rail, port.nic_port), ends)
                for port in fabric.host(host_id).ports
            ]
        for port_name, cage, child, port_ends in ports[unit.group]:
            sides[name, port_name] = Side(Plug(name, cage), child, port_ends, "host")
    return sides


def _cage_of(model: HostModel, ends: tuple[End, ...], rail: int, nic_port: int) -> tuple[str, int]:
    """Which cage a port of a NIC is in, and which of its children it is."""
    for number, rails in enumerate(model.cages):
        if rail in rails:
            return f"cage{number}", rails.index(rail)
    children = ends[0].use.children if ends else 1
    return f"{rail}.{nic_port // children}", nic_port % children


def _way(
    lower: Iterable[End], upper: tuple[End, ...], medium: str, metres: int, alone: bool
) -> tuple[Fit, End, End] | None:
    for one in lower:
        for other in upper:
            found = fits(one, other, medium, alone=alone)
            if (fit := shortest(found, metres, (one.vendor, other.vendor))) is not None:
                return fit, one, other
    return None


def _joint(
    row: CableRow, lower: Side, upper: Side, way: tuple[Fit, End, End], metres: int,
    found: Materials, counted: set[Hashable], inserted: dict[Plug, Item],
) -> Joint:  # fmt: skip
    """What a link is made of; what it shares with other links is counted once."""
    fit, *ends = way
    head = upper if fit.split > 0 else lower
    if fit.cable is not None:
        cable = _cable(fit.cable, fit.split, ends[0], ends[1], row.length_m, row.kind)
        one = head.plug if fit.split else frozenset((lower.plug, upper.plug))
        _count(found.bill, counted, one, cable)
        return Joint(row, (None, None), cable)
    modules: list[Item | None] = []
    for side, end, module in zip((lower, upper), ends, (fit.near, fit.far), strict=True):
        item = _module(module, end, metres, side.role) if module else None
        modules.append(item)
        if item is None:
            continue
        if inserted.setdefault(side.plug, item) == item:
            _count(found.bill, counted, side.plug, item)
        else:
            _count(found.torn, counted, ("torn", side.plug), row.kind)
    fibre = _fibre(fit, ends[0].vendor, ends[1].vendor, row.length_m, row.kind)
    module = fit.far if fit.split > 0 else fit.near
    if fit.split and module is not None:
        use = ends[1 if fit.split > 0 else 0].use
        socket = head.child * len(module.connectors) // use.children
        _count(found.bill, counted, (head.plug, socket), fibre)
    else:
        found.bill[fibre] += fit.per_child
    return Joint(row, (modules[0], modules[1]), fibre)


def _count(lines: Counter[Line], counted: set[Hashable], one: Hashable, line: Line) -> None:
    """Count a line for a thing that several links share, the first time that it is met."""
    if one not in counted:
        counted.add(one)
        lines[line] += 1


def _module(module: Transceiver, end: End, metres: int, role: str) -> Item:
    part = part_for(module.parts, end.vendor, metres)
    return Item("transceiver", role, module.title, *_bought(part, metres), source=(part or module).source)


def _fibre(fit: Fit, near: str, far: str, metres: int, kind: str) -> Item:
    fibre = fit.fibre
    if fibre is None:
        raise ValueError("no fibre between two transceivers")
    part = part_for(fibre.parts, near, metres) or part_for(fibre.parts, far, metres)
    ends = fibre.far if fibre.fan == 1 else f"{fibre.fan} x {fibre.far}"
    title = f"{fibre.medium} {fibre.near} to {ends}"
    return Item("fibre", kind, title, *_bought(part, metres), metres, part.source if part else "")


def _cable(cable: Assembly, split: int, lower: End, upper: End, metres: int, kind: str) -> Item:
    head, tail = (upper, lower) if split > 0 else (lower, upper)
    part = part_for(cable.parts, head.vendor, metres) or part_for(cable.parts, tail.vendor, metres)
    near, far = (
        next((plug for plug in plugs(end.form_factor) if plug in wanted), end.form_factor)
        for end, wanted in ((head, cable.near), (tail, cable.far))
    )
    ends = f"{head.use.children} x {far}" if split else far
    title = f"{cable.medium} {head.use.children}x{head.use.speed_gbps}G {near} to {ends}"
    return Item("cable", kind, title, *_bought(part, metres), metres, (part or cable).source)


def _bought(part: Part | None, metres: int) -> tuple[str, str]:
    """Vendor and number of a part; both empty where the catalog has none of that maker."""
    return (part.vendor, number_of(part, metres)) if part else ("", "")


def bill_rows(found: Materials, spares: Fraction) -> Iterator[tuple[object, ...]]:
    """The lines of the bill, what is missing last; the share of spares is rounded up for each line."""
    order = ("switch", "host", *SPARED, "missing")
    for item, quantity in sorted(
        found.bill.items(), key=lambda line: (order.index(line[0].item), str(line[0]))
    ):
        spare = ceil(quantity * spares) if item.item in SPARED else 0
        yield (
            item.item, item.role, item.title, item.vendor, item.number, item.length_m, quantity, spare,
            quantity + spare, item.source,
        )  # fmt: skip


def label_rows(found: Materials) -> Iterator[tuple[object, ...]]:
    """Two labels for each link, the lower end first; a cable is called by its lower end, so that no name moves."""
    for row, modules, cable in found.joints:
        lower, upper = (row.a_device, row.a_port), (row.b_device, row.b_port)
        bought = (cable.title, cable.number) if cable else ("", "")
        for end, near, far, module in (("a", lower, upper, modules[0]), ("b", upper, lower, modules[1])):
            plugged = (module.title, module.number) if module else ("", "")
            yield (
                " ".join(lower), end, *near, *plugged, *far, row.medium, row.length_m, *bought,
                " ".join(near), f"to {' '.join(far)}", f"{row.medium} {row.length_m} m, {row.speed_gbps}G",
            )  # fmt: skip


def material_findings(spec: ClusterSpec, found: Materials) -> Iterator[Diagnostic]:
    """FAB3140 for links that nothing in the catalog joins, FAB3141 for cages that one module cannot serve."""
    for lack, number in found.lacking.items():
        yield spec.warning(
            "FAB3140",
            f"cables.{lack.kind}: {number:,} of {lack.medium}, {lack.metres} m: {_why(lack)}",
            "cables",
            lack.kind,
            help=_instead(lack),
        )
    for kind, number in found.torn.items():
        yield spec.warning(
            "FAB3141",
            f"cables.{kind}: {number:,} cages whose children need different modules",
            "cables",
            kind,
            help="Give the cables of one cage one medium and lengths that one module serves.",
        )


def _found(lack: Lack, medium: str) -> Sequence[Fit]:
    if lack.lower is None or lack.upper is None:
        return ()
    return fits(lack.lower, lack.upper, medium, alone=lack.alone)


def _why(lack: Lack) -> str:
    if lack.lower is None or lack.upper is None:
        return "the catalog says no cage of this NIC at that speed"
    joined = f"{_words(lack.lower)} and {_words(lack.upper)}"
    if found := _found(lack, lack.medium):
        return f"between {joined} the catalog's reaches {max(map(reach_of, found))} m"
    if min(lack.lower.use.children, lack.upper.use.children) > 1 and not lack.alone:
        return f"{joined} are both split, which no such cable is"
    if lack.medium == "dac" and lane_gbps(lack.lower.use) != lane_gbps(lack.upper.use):
        return f"{joined} have lanes of different speed, which passive copper does not convert"
    return f"nothing in the catalog joins {joined}"


def _words(end: End) -> str:
    return f"{end.use.children}x{end.use.speed_gbps}G in {end.form_factor} ({end.use.lanes} lanes each)"


def _instead(lack: Lack) -> str:
    """Other media that reach, or the longest of this one: what the catalog joins, by the same look-up."""
    media: Mapping[str, object] = reaches()
    others = [medium for medium in media if any(reach_of(fit) >= lack.metres for fit in _found(lack, medium))]
    longest = max(map(reach_of, _found(lack, lack.medium)), default=0)
    ways = [f"{' or '.join(others)} of that length"] if others else []
    ways += [f"a {lack.medium} cable of {longest} m at the most"] if longest else []
    return f"Use {', or '.join(ways)}." if ways else "See `fabricc docs catalog` for what it holds."
