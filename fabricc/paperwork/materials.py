"""Count the parts of a fabric: switches, hosts, and the optics and cables of every link."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.base.values import dataclass
from fabricc.catalog import optics
from fabricc.catalog.model import Breakout, Power, SwitchModel
from fabricc.fabric import links, out_of_band_cables
from fabricc.fabric.naming import host_port_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableKind, CableRow
    from fabricc.fabric.out_of_band import Port
    from fabricc.fabric.shape import Slot
    from fabricc.front.planning.topology.figures import Ends

OUTSIDE = "outside"
"""Role of ends that others have: what is plugged in there is theirs to buy."""
Line = TypeVar("Line", bound="Hashable")


_COPPER = "copper Cat 5e or better, RJ45 to RJ45"
_COPPER_SOURCE = "IEEE 802.3, clause 40 (1000BASE-T: 100 m over Category 5e)"


class Plug(NamedTuple):
    """A cage of a device."""

    device: str
    cage: str


class Side(NamedTuple):
    """One end of a link: the cage, which of its children, what that cage may be, and what kind of device has it."""

    plug: Plug
    child: int
    ends: tuple[optics.End, ...]
    role: str


class Item(NamedTuple):
    """A line of the bill, without its count; `power` is None for what draws none."""

    item: str
    role: str
    title: str
    vendor: str = ""
    number: str = ""
    length_m: int | str = ""
    source: str = ""
    power: Power | None = None


class LinkMaterials(NamedTuple):
    """A link of the cabling plan and what it is made of; without a `cable` no part in the catalog joins its ends."""

    row: CableRow
    modules: tuple[Item | None, Item | None]
    cable: Item | None

    @property
    def unnumbered(self) -> list[Item]:
        """Modules and cables without a maker's number."""
        items = (*self.modules, self.cable)
        return [item for item in items if item is not None and not item.number and item.item != "fibre"]


class MissingParts(NamedTuple):
    """Links that cannot be made, or not of parts with a number: everything that they have in common."""

    kind: str
    lower: optics.End | None
    upper: optics.End | None
    medium: str
    metres: int
    alone: bool


@dataclass(slots=True)
class Materials:
    """The counted parts.

    Attributes:
        bill: part -> number.
        joints: every link in the order of the cabling plan.
        lacking: links that nothing joins, by what they have in common.
        unnumbered: links with a part without a number, likewise.
        torn: kind of link -> cages whose children need different modules.
        devices: switches and hosts by name. plugged: transceivers by the cage that they are in.
    """

    bill: Counter[Item] = field(default_factory=Counter)
    joints: list[LinkMaterials] = field(default_factory=list)
    lacking: Counter[MissingParts] = field(default_factory=Counter)
    unnumbered: Counter[MissingParts] = field(default_factory=Counter)
    torn: Counter[str] = field(default_factory=Counter)
    devices: dict[str, Item] = field(default_factory=dict)
    plugged: dict[Plug, Item] = field(default_factory=dict)


def list_materials(fabric: Fabric, protocol: str = "ethernet") -> Materials:
    """Everything that a fabric of that protocol is made of, in time proportional to its ports."""
    found = Materials()
    sides = dict(_switch_sides(fabric, protocol, found.devices))
    sides |= _host_sides(fabric, protocol, found.devices)
    wired = [
        (row, sides[row.a_device, row.a_port], sides[row.b_device, row.b_port]) for row in fabric.cables()
    ]
    wired += _management_links(fabric, found)
    wired += _external_links(fabric, protocol, sides)
    found.bill.update(found.devices.values())
    _join_links(wired, found)
    return found


def _management_links(fabric: Fabric, found: Materials) -> Iterator[tuple[CableRow, Side, Side]]:
    """Yield the links between management switches and out of the network; count these switches and copper cables."""
    if (switches := fabric.out_of_band.switches) is None:
        return
    models = dict.fromkeys(switches.numbers, switches.bank.model)
    if switches.aggregation is not None:
        models |= dict.fromkeys(switches.aggregates, switches.aggregation.model)
    for name, model in models.items():
        power = model.power or Power()
        found.devices[name] = Item("switch", "management", model.title, model.vendor, power=power)
    for row, lower, upper in out_of_band_cables.management_cables(fabric):
        if lower is None:
            cable = Item("cable", row.kind, _COPPER, length_m=row.length_m, source=_COPPER_SOURCE)
            found.bill[cable] += 1
            found.joints.append(LinkMaterials(row, (None, None), cable))
            continue
        side = _management_side(models, row.a_device, lower)
        if upper is None:
            (end,) = side.ends
            far = Side(Plug(row.b_device, f"{row.a_device} {row.a_port}"), 0, _far_ends(end), OUTSIDE)
        else:
            far = _management_side(models, row.b_device, upper)
        yield row, side, far


def _management_side(models: Mapping[str, SwitchModel], name: str, port: Port) -> Side:
    return Side(Plug(name, str(port.slot.cage)), 0, (port_end(models[name], port.slot),), "management")


def _join_links(wired: Sequence[tuple[CableRow, Side, Side]], found: Materials) -> None:
    """Find what each link is made of, and count it."""
    peers: dict[Plug, set[Plug]] = {}
    needed: dict[Plug, int] = {}
    for row, lower, upper in wired:
        for near, far in ((lower.plug, upper.plug), (upper.plug, lower.plug)):
            peers.setdefault(near, set()).add(far)
            needed[near] = max(needed.get(near, 0), row.length_m)
    ways: dict[MissingParts, tuple[optics.Fit, optics.End, optics.End] | None] = {}
    counted: set[Hashable] = set()
    for row, lower, upper in wired:
        alone = len(peers[lower.plug]) == len(peers[upper.plug]) == 1
        metres = max(needed[lower.plug], needed[upper.plug])
        requested = MissingParts(
            row.kind, _first_end(lower.ends), _first_end(upper.ends), row.medium, metres, alone
        )
        if requested not in ways:
            ways[requested] = _choose_way(lower.ends, upper.ends, row.medium, metres, alone)
        if (way := ways[requested]) is None:
            found.lacking[requested._replace(metres=row.length_m)] += 1
            found.bill[Item("missing", row.kind, row.medium, length_m=row.length_m)] += 1
            found.joints.append(LinkMaterials(row, (None, None), None))
            continue
        found.joints.append(_link_materials(row, lower, upper, way, metres, found, counted))
        if found.joints[-1].unnumbered:
            found.unnumbered[requested] += 1


def merge_materials(parts: Iterable[Materials]) -> Materials:
    """Return the parts of several networks of the same hosts."""
    whole = Materials()
    for part in parts:
        whole.bill += part.bill
        whole.joints += part.joints
        whole.lacking += part.lacking
        whole.unnumbered += part.unnumbered
        whole.torn += part.torn
        whole.devices |= part.devices
        whole.plugged |= part.plugged
    return whole


def of_kind(
    kind: str,
    lower: tuple[optics.End, ...],
    upper: tuple[optics.End, ...],
    cable: CableKind,
    ends: Ends,
    parallel: int,
) -> Counter[Item]:
    """Count the parts of all links of a kind at once, if the links are equal.

    Args:
        kind: of the links.
        lower: possible cages at the lower ends.
        upper: the same at the upper ends.
        cable: what lies between them.
        ends: numbers of links and cages.
        parallel: neighboring links between the same two devices.
    """
    alone = parallel % max(found[0].use.children if found else 1 for found in (lower, upper)) == 0
    way = _choose_way(lower, upper, cable.medium, cable.length_m, alone)
    if way is None:
        return Counter({Item("missing", kind, cable.medium, length_m=cable.length_m): ends.links})
    fit, near, far = way
    heads = ends.upper if fit.split > 0 else ends.lower
    if fit.cable is not None:
        return Counter({_cable_line(fit.cable, fit.split, near, far, cable.length_m, kind): heads})
    bill: Counter[Item] = Counter()
    for module, end, cages in ((fit.near, near, ends.lower), (fit.far, far, ends.upper)):
        if module is not None:
            bill[_module_line(module, end, cable.length_m, kind)] += cages
    head = fit.far if fit.split > 0 else fit.near
    fibres = heads * len(head.connectors) if fit.split and head is not None else fit.per_child * ends.links
    bill[_fiber_line(fit, near, far, cable.length_m, kind)] += fibres
    return bill


def port_end(model: SwitchModel, slot: Slot, protocol: str = "ethernet") -> optics.End:
    """Return a port of a switch as one end of a link."""
    form = _form_factors(model)[slot.cage]
    return optics.End(form, _breakout_of_slot(slot), model.vendor, protocol, _counted_parts(model))


def _external_links(
    fabric: Fabric, protocol: str, sides: Mapping[tuple[str, str], Side]
) -> Iterator[tuple[CableRow, Side, Side]]:
    """Links that leave the fabric, with both sides."""
    external = fabric.external
    for at in fabric.switch_ids() if external.exits else ():
        switch = fabric.name(at)
        model = fabric.model(at)
        split = {
            name: Side(
                Plug(switch, str(slot.cage)),
                slot.child - 1,
                (port_end(model, slot, protocol),),
                at.tier.value,
            )
            for each in external.splits.get(switch, {}).values()
            for name, slot in zip(each.names, each.slots, strict=True)
        }
        for port, way in external.at(switch).items():
            link, near = way.link, split.get(port) or sides[switch, port]
            (end,) = near.ends
            yield link.cable, near, Side(Plug(link.peer, link.peer_port), 0, _far_ends(end), OUTSIDE)


def _far_ends(end: optics.End) -> tuple[optics.End, ...]:
    """Return the possible ends of an external port: one undivided cage like ours, or another with such ports."""
    speed, lanes = end.use.speed_gbps, end.use.lanes
    found = {end._replace(use=Breakout(1, speed, lanes)): None}
    for module in optics.load_optics().transceivers:
        uses = [use for use in module.uses if (use.children, use.speed_gbps) == (1, speed)]
        for use in (Breakout(1, speed, lanes), *uses):
            found[end._replace(form_factor=module.form_factor, use=use)] = None
    return tuple(found)


def _first_end(ends: tuple[optics.End, ...]) -> optics.End | None:
    return ends[0] if ends else None


def _switch_sides(
    fabric: Fabric, protocol: str, devices: dict[str, Item]
) -> Iterator[tuple[tuple[str, str], Side]]:
    """Yield (device, port) -> side for every switch port, and count the switches."""
    forms: dict[str, dict[int, str]] = {}
    for switch_id in fabric.switch_ids():
        model, role, name = fabric.model(switch_id), switch_id.tier.value, fabric.name(switch_id)
        devices[name] = Item("switch", role, model.title, model.vendor, power=model.power or Power())
        if model.name not in forms:
            forms[model.name] = _form_factors(model)
        slots, names = links.port_layout(fabric, switch_id).slots, links.port_names(fabric, switch_id)
        for slot, port in zip(slots, names, strict=True):
            end = optics.End(
                forms[model.name][slot.cage],
                _breakout_of_slot(slot),
                model.vendor,
                protocol,
                _counted_parts(model),
            )
            yield (name, port), Side(Plug(name, str(slot.cage)), slot.child - 1, (end,), role)


def _breakout_of_slot(slot: Slot) -> Breakout:
    return Breakout(slot.children, slot.speed_gbps, slot.lanes)


def _counted_parts(model: SwitchModel) -> tuple[str, ...]:
    return model.power.with_optics if model.power else ()


def _form_factors(model: SwitchModel) -> dict[int, str]:
    """Return the form factor of every cage, by its number on the front panel."""
    return {number: optics.cage_form(group) for group in model.cages for number in group.numbers}


def _host_sides(fabric: Fabric, protocol: str, devices: dict[str, Item]) -> dict[tuple[str, str], Side]:
    """Return (device, port) -> side for every host port in this network, and count its own hosts."""
    sides: dict[tuple[str, str], Side] = {}
    ports = [
        [
            (host_port_name(each.nic_ports, rail, nic_port, fabric.network), *each.nic(rail, nic_port))
            for rail in range(each.rails)
            for nic_port in each.present
        ]
        for each in fabric.attachments
    ]
    ends = [
        tuple(
            end._replace(protocol=protocol) for end in optics.host_ends(model, each.ports_per_nic, each.gbps)
        )
        for model, each in zip(fabric.host_models, fabric.attachments, strict=False)
    ]
    for host_id in fabric.host_ids():
        unit = fabric.units[host_id.unit]
        model, name = fabric.host_models[unit.group], unit.hosts[host_id.slot]
        if name not in fabric.guests:
            devices[name] = Item("host", "host", model.title, model.vendor, power=model.power or Power())
        for port, nic, on_nic in ports[unit.group]:
            cage, child = optics.cage_of(model, ends[unit.group], nic, on_nic)
            sides[name, port] = Side(Plug(name, f"{fabric.network}{cage}"), child, ends[unit.group], "host")
    return sides


def _choose_way(
    lower: Iterable[optics.End], upper: tuple[optics.End, ...], medium: str, metres: int, alone: bool
) -> tuple[optics.Fit, optics.End, optics.End] | None:
    for one in lower:
        for other in upper:
            found = optics.find_fits(one, other, medium, alone=alone)
            if (fit := optics.choose_shortest(found, metres, one, other)) is not None:
                return fit, one, other
    return None


def _link_materials(
    row: CableRow, lower: Side, upper: Side, way: tuple[optics.Fit, optics.End, optics.End], metres: int,
    found: Materials, counted: set[Hashable],
) -> LinkMaterials:  # fmt: skip
    """Return the parts of a link; shared parts are counted once, external modules are not ours."""
    fit, *ends = way
    head = upper if fit.split > 0 else lower
    if fit.cable is not None:
        cable = _cable_line(fit.cable, fit.split, ends[0], ends[1], row.length_m, row.kind)
        one = head.plug if fit.split else frozenset((lower.plug, upper.plug))
        _count_once(found.bill, counted, one, cable)
        return LinkMaterials(row, (None, None), cable)
    modules: list[Item | None] = []
    for side, end, module in zip((lower, upper), ends, (fit.near, fit.far), strict=True):
        item = _module_line(module, end, metres, side.role) if module and side.role != OUTSIDE else None
        modules.append(item)
        if item is None:
            continue
        if found.plugged.setdefault(side.plug, item) == item:
            _count_once(found.bill, counted, side.plug, item)
        else:
            _count_once(found.torn, counted, ("torn", side.plug), row.kind)
    fibre = _fiber_line(fit, ends[0], ends[1], row.length_m, row.kind)
    module = fit.far if fit.split > 0 else fit.near
    if fit.split and module is not None:
        use = ends[1 if fit.split > 0 else 0].use
        socket = head.child * len(module.connectors) // use.children
        _count_once(found.bill, counted, (head.plug, socket), fibre)
    else:
        found.bill[fibre] += fit.per_child
    return LinkMaterials(row, (modules[0], modules[1]), fibre)


def _count_once(lines: Counter[Line], counted: set[Hashable], one: Hashable, line: Line) -> None:
    """Count a line for a thing that several links share, the first time that it is met."""
    if one not in counted:
        counted.add(one)
        lines[line] += 1


def _module_line(module: optics.Transceiver, end: optics.End, metres: int, role: str) -> Item:
    part = optics.part_for(module.parts, end, metres)
    bought, source = _vendor_part(part, metres), (part or module).source
    return Item(
        "transceiver", role, module.title, *bought, source=source, power=_extra_power(part, end.counted)
    )


def _fiber_line(fit: optics.Fit, near: optics.End, far: optics.End, metres: int, kind: str) -> Item:
    fibre = fit.fibre
    if fibre is None:
        raise ValueError("no fibre between two transceivers")
    part = optics.part_for(fibre.parts, near, metres) or optics.part_for(fibre.parts, far, metres)
    ends = fibre.far if fibre.fan == 1 else f"{fibre.fan} x {fibre.far}"
    title = f"{fibre.medium} {fibre.near} to {ends}"
    return Item("fibre", kind, title, *_vendor_part(part, metres), metres, part.source if part else "")


def _cable_line(
    cable: optics.Assembly, split: int, lower: optics.End, upper: optics.End, metres: int, kind: str
) -> Item:
    head, tail = (upper, lower) if split > 0 else (lower, upper)
    part = optics.part_for(cable.parts, head, metres) or optics.part_for(cable.parts, tail, metres)
    near, far = (
        optics.find_plug(end, wanted) or end.form_factor
        for end, wanted in ((head, cable.near), (tail, cable.far))
    )
    ends = f"{head.use.children} x {far}" if split else far
    title = f"{cable.medium} {head.use.children}x{head.use.speed_gbps}G {near} to {ends}"
    power = None if cable.medium == "dac" else _extra_power(part)
    return Item("cable", kind, title, *_vendor_part(part, metres), metres, (part or cable).source, power)


def _extra_power(part: optics.Part | None, counted: tuple[str, ...] = ()) -> Power:
    """Return the power of a part that the figures of its device do not include."""
    own = part.power if part is not None and part.power is not None else Power()
    return Power(0 if "typical" in counted else own.typical_w, 0 if "maximum" in counted else own.maximum_w)


def _vendor_part(part: optics.Part | None, metres: int) -> tuple[str, str]:
    """Vendor and number of a part; both empty where the catalog has none of that maker."""
    return (part.vendor, optics.number_of(part, metres)) if part else ("", "")
