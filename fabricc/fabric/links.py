"""The links of one switch, both ends, from coordinates alone."""

from __future__ import annotations

from itertools import product, starmap
from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric import addresses as adr
from fabricc.fabric.given_identities import COMPUTED, NOTHING
from fabricc.fabric.model import CableRow, Direction
from fabricc.fabric.naming import host_port_name, switch_name
from fabricc.fabric.neighbors import NO_ENDS, DownlinkTor, FarEnd, Link, Serving
from fabricc.fabric.shape import PortLayout, Shape, SwitchId, TierName, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.design import Design
    from fabricc.fabric.neighbors import Pairs, Values

    _End = tuple[int, FarEnd, int, int]
    """The values of an `End`."""

TOR, SPINE, CORE = TierName.TOR, TierName.SPINE, TierName.CORE
UP, DOWN, HOST, PEER = Direction.UP, Direction.DOWN, Direction.HOST, Direction.PEER
"""Members by name alone: looked up in their class, they cost Python 3.11 a tenth of the time that a link takes."""


def far_end(fabric: Design, at: SwitchId) -> FarEnd:
    """Return what every neighbor of a switch needs of it; cached, because each has many."""
    key = (at.tier is CORE, at.plane, at.pod, at.unit, at.index, at.nic_port)
    found = fabric.far_ends.get(key)
    if found is None:
        found = FarEnd(
            at,
            switch_name(fabric, at),
            switch_asn(fabric, at),
            port_names(fabric, at),
            port_layout(fabric, at),
            tier_number(fabric, at),
        )
        fabric.far_ends[key] = found
    return found


def _switches_above(fabric: Design, tier: TierName, plane: int, pod: int) -> list[FarEnd]:
    """Return the spines of a pod, or the cores, of a plane; cached, because each switch below them needs it."""
    key = (tier is CORE, plane, pod)
    found = fabric.ranks.get(key)
    if found is None:
        count = fabric.shape.cores if tier is CORE else fabric.shape.spines
        found = [far_end(fabric, SwitchId(tier, plane, pod, -1, index, -1)) for index in range(count)]
        fabric.ranks[key] = found
    return found


def _tors_below(fabric: Design, plane: int, pod: int) -> list[DownlinkTor]:
    """Return the ToRs of a pod and plane; cached, because each spine above them needs it."""
    found = fabric.tors_below.get((plane, pod))
    if found is None:
        units = fabric.shape.units_per_pod
        found = [
            DownlinkTor(
                far_end(fabric, tor),
                _spine_port(fabric, tor),
                range(fabric.tor_links[fabric.units[unit].group]),
            )
            for unit in range(pod * units, (pod + 1) * units)
            if unit in fabric.units
            for tor in _tors_of_plane(fabric, unit, plane)
        ]
        fabric.tors_below[plane, pod] = found
    return found


def tor_id(fabric: Design, unit: int, group: int, nic_port: int) -> SwitchId:
    """Coordinates of a ToR."""
    shape = fabric.shape
    return SwitchId(TOR, shape.plane(group, nic_port), unit // shape.units_per_pod, unit, group, nic_port)


def tier_number(fabric: Design, at: SwitchId) -> int:
    """Return a switch's number within its tier's number space."""
    strides = fabric.strides
    if at.tier is TOR:
        return adr.tor_number(strides, at.unit, at.index, at.nic_port)
    if at.tier is SPINE:
        return adr.spine_number(strides, at.pod, at.index, at.plane)
    return adr.core_number(strides, at.index, at.plane)


def switch_asn(fabric: Design, at: SwitchId) -> int:
    """The switch's ASN: given, or each ToR its own, spines and cores shared per tier, plane and pod or unique ones."""
    if (given := fabric.given.of(at).asn) is not None:
        return given
    block, unique = fabric.routing.asns, fabric.routing.unique_spine_asn
    if at.tier is TOR:
        return block.first + block.tors + tier_number(fabric, at)
    if at.tier is SPINE:
        if unique:
            return block.first + block.spines + tier_number(fabric, at)
        return block.first + block.shared_spines + at.pod * fabric.strides.plane + at.plane
    return block.first + (block.cores + tier_number(fabric, at) if unique else at.plane)


def loopback_offset(fabric: Design, at: SwitchId, pool: Pool) -> int:
    """Offset in a loopback pool: ToRs in the first half, spines in the third quarter, cores in the last, or given."""
    given = fabric.given.of(at)
    own = given.loopback4 if pool.version == 4 else given.loopback6
    if own is not None:
        return own
    if at.tier is TOR:
        return tier_number(fabric, at)
    offset = adr.spine_loopback_offset if at.tier is SPINE else adr.core_loopback_offset
    return offset(pool.bits, tier_number(fabric, at))


def port_layout(fabric: Design, at: SwitchId) -> PortLayout:
    """Return the port layout of a switch."""
    if fabric.boxes and (box := fabric.boxes.get(at)) is not None:
        return box.layout
    if at.tier is TOR:
        return fabric.tor_layouts[fabric.units[at.unit].group]
    if at.tier is SPINE or fabric.core_layout is None:
        return fabric.spine_layout
    return fabric.core_layout


def port_names(fabric: Design, at: SwitchId) -> tuple[str, ...]:
    """Name of every slot of a switch, as its NOS has it."""
    nos = fabric.tiers[at.tier].nos
    if fabric.changes:
        change = fabric.changes.get(switch_name(fabric, at))
        nos = (change and change.nos) or nos
    return fabric.port_names[nos, layout_key(fabric, at)]


def layout_key(fabric: Design, at: SwitchId) -> str:
    """Return the key of a layout: `tor` and the host group's index, `spine` or `core`, or what a switch has alone."""
    if fabric.boxes and (box := fabric.boxes.get(at)) is not None:
        return box.key
    return f"tor{fabric.units[at.unit].group}" if at.tier is TOR else at.tier.value


def switch_links(fabric: Design, at: SwitchId) -> Iterator[Link]:
    """Yield every link of a switch: down first, then up."""
    return (Link._make(values) for values in link_values(fabric, at))


def link_values(fabric: Design, at: SwitchId) -> Iterator[Values]:
    """Return the same as `links` without field names, which cost a third of the time of a link."""
    if at.tier is TOR:
        for unit, slots, rails in served_slots(fabric, at):
            yield from _host_values(fabric, at, unit, slots, rails)
        yield from _switch_link(fabric, "spine", UP, at, _list_uplinks(fabric, at))
        if fabric.shape.peer_links:
            yield from _switch_link(fabric, "peer", PEER, at, _list_peer_links(fabric, at))
    elif at.tier is SPINE:
        yield from _switch_link(fabric, "spine", DOWN, at, _spine_down(fabric, at))
        yield from _switch_link(fabric, "core", UP, at, _spine_up(fabric, at))
    else:
        yield from _switch_link(fabric, "core", DOWN, at, _core_down(fabric, at))


def neighbors_of(fabric: Design, at: SwitchId) -> dict[str, tuple[Direction, SwitchId, int]]:
    """Return the switches that a switch has links to: name -> in which direction, coordinates and AS number."""
    if at.tier is TOR:
        ends = [(UP, _list_uplinks(fabric, at))]
        if fabric.shape.peer_links:
            ends.append((PEER, _list_peer_links(fabric, at)))
    elif at.tier is SPINE:
        ends = [(DOWN, _spine_down(fabric, at)), (UP, _spine_up(fabric, at))]
    else:
        ends = [(DOWN, _core_down(fabric, at))]
    return {far.name: (way, far.at, far.asn) for way, some in ends for _, far, _, _ in some}


def served_slots(fabric: Design, tor: SwitchId) -> Iterator[tuple[Unit, list[int], range]]:
    """Yield the slots with hosts and the rails that a ToR serves, in its unit and in units that share it."""
    own = fabric.units[tor.unit]
    if own.border is not None:
        return
    for unit in (own, *(fabric.units[guest] for guest in own.guests)):
        slots, rails = fabric.attachments[unit.group].served(tor.index, tor.nic_port)
        present = [slot for slot in unit.hosts if slot in slots]
        if present or unit.beside is None:
            yield unit, present, rails


def host_blocks(fabric: Design, tor: SwitchId, unit: int) -> tuple[int, int]:
    """Offsets in the IPv4 and the IPv6 hosts pool of a ToR's block for the hosts of a unit: its own may be given."""
    computed = adr.tor_block(fabric.strides, unit, tor.index, tor.nic_port)
    given = fabric.given.of(tor)
    if unit != tor.unit or given is NOTHING:
        return computed, computed
    four, six = given.hosts4, given.hosts6
    return computed if four is None else four, computed if six is None else six


def serving_tor(fabric: Design, unit: Unit, group: int, nic_port: int) -> Serving:
    """Return the ToR of a group of rails and NIC port that serves a unit; cached, as each of its hosts needs it."""
    key = (unit.coordinate, group, nic_port)
    found = fabric.servings.get(key)
    if found is None:
        found = fabric.servings[key] = _find_serving_tor(
            fabric, tor_id(fabric, unit.home, group, nic_port), unit
        )
    return found


def _find_serving_tor(fabric: Design, tor: SwitchId, unit: Unit) -> Serving:
    attached = fabric.attachments[unit.group]
    nics = {}
    for rail in range(attached.rails):
        of_tor = rail % attached.rails_per_tor
        name = host_port_name(attached.nic_ports, rail, tor.nic_port, fabric.network)
        nics[rail] = of_tor, adr.in_block(fabric.strides, 0, of_tor), name
    addresses, far = fabric.addresses, far_end(fabric, tor)
    changed = far.name in fabric.changes
    return Serving(
        far, unit, attached, far.layout.down, nics,
        *host_blocks(fabric, tor, unit.coordinate), _pairs_of(addresses.hosts4), _pairs_of(addresses.hosts6),
        fabric.given.hosts.get(tor),
        fabric.evpn.segment(unit.group) if fabric.evpn else None, fabric.strides,
        None if changed else _default_cable(fabric, "host"),
        {slot: _cable_of_link(fabric, "host", (tor, slot)) for slot in far.layout.down} if changed else {},
    )  # fmt: skip


def _pairs_of(pool: Pool | None) -> Pairs | None:
    return pool.pair if pool else None


def host_links(
    fabric: Design, tor: SwitchId, unit: Unit, slots: Iterable[int], rails: Sequence[int]
) -> Iterator[Link]:
    """Yield the links of a ToR to some NICs, which it serves, of the hosts in some slots of a unit."""
    return (Link._make(values) for values in _host_values(fabric, tor, unit, slots, rails))


def _host_values(
    fabric: Design, tor: SwitchId, unit: Unit, slots: Iterable[int], rails: Sequence[int]
) -> Iterator[Values]:
    of_link = serving_tor(fabric, unit, tor.index, tor.nic_port).values
    for slot in slots:
        for rail in rails:
            yield of_link(slot, rail)


class End(NamedTuple):
    """One end of a link to another switch: own slot, the far end and its slot, offset of the addresses in the pool."""

    slot: int
    far: FarEnd
    peer_slot: int
    offset: int

    @property
    def peer(self) -> SwitchId:
        """Coordinates of the far end."""
        return self.far.at


def upward_links(fabric: Design, at: SwitchId) -> Iterator[End]:
    """Yield the links of a switch to switches above it."""
    if at.tier is TOR:
        return tor_uplinks(fabric, at)
    return starmap(End, _spine_up(fabric, at) if at.tier is SPINE else ())


def tor_uplinks(fabric: Design, tor: SwitchId) -> Iterator[End]:
    """Yield the uplinks of a ToR, spine by spine: to each the first of the positions that the shape keeps."""
    return starmap(End, _list_uplinks(fabric, tor))


def _list_uplinks(fabric: Design, tor: SwitchId) -> Iterator[_End]:
    up, parallel = port_layout(fabric, tor).up, fabric.shape.links_per_spine
    first, offset = _spine_port(fabric, tor), adr.tor_link_offset(fabric.strides, tier_number(fabric, tor), 0)
    cables = range(fabric.tor_links[fabric.units[tor.unit].group])
    for spine, far in enumerate(_switches_above(fabric, SPINE, tor.plane, tor.pod)):
        down = far.layout.down
        for cable in cables:
            uplink = spine * parallel + cable
            yield up[uplink], far, down[first + cable], offset + 2 * uplink


def is_lower_end(fabric: Design, at: SwitchId, direction: Direction) -> bool:
    """Return whether a switch is the lower end of its links in a direction: of two ToRs, the first of the plane."""
    if direction is PEER:
        return _tors_below(fabric, at.plane, at.pod)[0].tor.at == at
    return direction is UP


def _list_peer_links(fabric: Design, tor: SwitchId) -> Iterator[_End]:
    """List the links to the other ToR of the plane; their addresses are those of uplinks of the first ToR."""
    pair = [each.tor for each in _tors_below(fabric, tor.plane, tor.pod)]
    near, far = pair if pair[0].at == tor else reversed(pair)
    offset = adr.tor_link_offset(fabric.strides, pair[0].number, 0)
    for link in range(fabric.shape.peer_links):
        yield near.layout.up[link], far, far.layout.up[link], offset + 2 * link


def _spine_port(fabric: Design, tor: SwitchId) -> int:
    """Return the first of the spine ports that are kept for a ToR; on each spine the same."""
    shape = fabric.shape
    in_unit = shape.in_plane(tor.index, tor.nic_port)
    in_pod = (tor.unit % shape.units_per_pod) * shape.tors_per_unit_plane + in_unit
    return in_pod * shape.links_per_spine


def _spine_down(fabric: Design, spine: SwitchId) -> Iterator[_End]:
    strides, down = fabric.strides, port_layout(fabric, spine).down
    first = spine.index * fabric.shape.links_per_spine
    for tor, port, cables in _tors_below(fabric, spine.plane, spine.pod):
        up, offset = tor.layout.up, adr.tor_link_offset(strides, tor.number, first)
        for cable in cables:
            yield down[port + cable], tor, up[first + cable], offset + 2 * cable


def _tors_of_plane(fabric: Design, unit: int, plane: int) -> Iterator[SwitchId]:
    """Yield the ToRs of a unit that are in a plane."""
    shape, found = fabric.shape, fabric.units[unit]
    attached, sets = fabric.attachments[found.group], fabric.sets(found)
    by_rail, by_port = divmod(plane, shape.port_planes)
    for group in range(by_rail * shape.groups_per_plane, (by_rail + 1) * shape.groups_per_plane):
        if group // attached.tors in sets:
            for nic_port in attached.present:
                if nic_port % shape.port_planes == by_port:
                    yield tor_id(fabric, unit, group, nic_port)


def _spine_up(fabric: Design, spine: SwitchId) -> Iterator[_End]:
    shape, up, offset = (
        fabric.shape,
        port_layout(fabric, spine).up,
        _core_link_offset(fabric, far_end(fabric, spine)),
    )
    first, port = spine.index // shape.spines_per_core_group * shape.cores_per_group, _core_port(shape, spine)
    cores = _switches_above(fabric, CORE, spine.plane % shape.port_planes, 0)
    for uplink in range(shape.spine_uplinks):
        core, parallel = divmod(uplink, shape.links_per_core)
        far = cores[first + core]
        yield up[uplink], far, far.layout.down[port + parallel], offset + 2 * uplink


def _core_port(shape: Shape, spine: SwitchId) -> int:
    """Return the first of the ports of a core that are a spine's; on each core of its group the same."""
    block = spine.pod * shape.rail_planes + spine.plane // shape.port_planes
    return (
        block * shape.spines_per_core_group + spine.index % shape.spines_per_core_group
    ) * shape.links_per_core


def _core_link_offset(fabric: Design, spine: FarEnd) -> int:
    """Return offset of the first uplink of a spine."""
    pool = fabric.addresses.links4 or fabric.addresses.links6
    return adr.spine_link_offset(fabric.strides, pool.end_bits if pool else 0, spine.number, 0)


def _core_down(fabric: Design, core: SwitchId) -> Iterator[_End]:
    shape, down = fabric.shape, port_layout(fabric, core).down
    group, in_group = divmod(core.index, shape.cores_per_group)
    first = in_group * shape.links_per_core
    indices = slice(group * shape.spines_per_core_group, (group + 1) * shape.spines_per_core_group)
    for pod, by_rail in product(range(shape.pods), range(shape.rail_planes)):
        for spine in _switches_above(fabric, SPINE, by_rail * shape.port_planes + core.plane, pod)[indices]:
            up, port, offset = spine.layout.up, _core_port(shape, spine.at), _core_link_offset(fabric, spine)
            for uplink in range(first, first + shape.links_per_core):
                yield down[port + uplink - first], spine, up[uplink], offset + 2 * uplink


def _switch_link(
    fabric: Design, kind: str, direction: Direction, at: SwitchId, ends: Iterable[_End]
) -> Iterator[Values]:
    """Return a link between switches; the upper end has the even address, of two ToRs the second."""
    addresses = fabric.addresses
    numbered, up = addresses.numbered, is_lower_end(fabric, at, direction)
    pair4, pair6 = (_pairs_of(pool) if numbered else None for pool in (addresses.links4, addresses.links6))
    usual, given, changes = _usual_cable(fabric, kind), fabric.given.links, fabric.changes
    own_name = switch_name(fabric, at) if changes else ""
    length, medium, shut = usual or (0, "", False)
    own4, own6 = COMPUTED
    bare = not numbered
    for slot, far, peer_slot, offset in ends:
        if given:
            own4, own6 = given.get(offset, COMPUTED)
        remote4, local4 = own4 or (pair4(offset) if pair4 else NO_ENDS)
        remote6, local6 = own6 or (pair6(offset) if pair6 else NO_ENDS)
        if changes:
            upper = changes.get(far.name if up else own_name)
            bare = not numbered or (upper is not None and upper.unnumbered)
        if bare:
            remote4 = local4 = remote6 = local6 = None
        if not up:
            local4, remote4, local6, remote6 = remote4, local4, remote6, local6
        if usual is None:
            near, distant = (at, slot), (far.at, peer_slot)
            length, medium, shut = _cable_of_link(fabric, kind, *((near, distant) if up else (distant, near)))
        yield (
            slot, direction, kind, far.name, far.ports[peer_slot], far.asn, length, medium, shut,
            local4, remote4, local6, remote6, bare,
        )  # fmt: skip


def _usual_cable(fabric: Design, kind: str) -> tuple[int, str, bool] | None:
    """Return length, medium and shutdown of every link of a kind; None when single devices may override them."""
    return None if fabric.changes else _default_cable(fabric, kind)


def _default_cable(fabric: Design, kind: str) -> tuple[int, str, bool]:
    """Return the length and medium of a link that no device overrides."""
    default = fabric.cable_kinds[kind]
    return default.length_m, default.medium, False


def _cable_of_link(fabric: Design, kind: str, *ends: tuple[SwitchId, int]) -> tuple[int, str, bool]:
    """Length, medium and shutdown of a link, the same from both ends: a port's own word before a device's.

    `ends` are switch and slot, the lower end first; of a link to a host the switch's alone.
    """
    default = fabric.cable_kinds[kind]
    length: int | None = None
    medium: str | None = None
    shutdown = False
    changed = [(fabric.changes.get(switch_name(fabric, end)), end, slot) for end, slot in ends]
    for change, end, slot in changed:
        if change and (port := change.ports.get(port_names(fabric, end)[slot])):
            length = port[0] if length is None else length
            medium = port[1] if medium is None else medium
            shutdown = shutdown or port[2]
    for change, _, _ in changed:
        if change and length is None:
            length = change.cable_m
    return default.length_m if length is None else length, medium or default.medium, shutdown


def cable_rows(fabric: Design, at: SwitchId, directions: tuple[Direction, ...]) -> Iterator[CableRow]:
    """Yield the cables of a switch in some directions, lower end first; those between ToRs at the first name alone."""
    name, names, slots = switch_name(fabric, at), port_names(fabric, at), port_layout(fabric, at).slots
    for link in switch_links(fabric, at):
        if link.direction not in directions or (link.direction is PEER and name > link.peer):
            continue
        near, far = (name, names[link.slot]), (link.peer, link.peer_port)
        lower, upper = (far, near) if link.direction is HOST else (near, far)
        yield CableRow(*lower, *upper, slots[link.slot].speed_gbps, link.medium, link.cable_m, link.kind)
