"""The links of one switch, both ends, from coordinates alone."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass, tupled
from fabricc.fabric import addresses as adr
from fabricc.fabric import evpn
from fabricc.fabric.given import NOTHING, Ends
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import host_port_name, switch_name
from fabricc.fabric.shape import CableRow, SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.evpn import Segment
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Attachment, PortLayout, Shape, Unit

    _Pairs = Callable[[int], tuple[str, str]]
    """Offset in a pool -> both ends of a link."""

TOR, SPINE, CORE = TierName.TOR, TierName.SPINE, TierName.CORE
COMPUTED = Ends(None, None)
"""What a link is given that is not in a table."""
_NO_ENDS = (None, None)
UP, DOWN, HOST = Direction.UP, Direction.DOWN, Direction.HOST
"""Members by name alone: looked up in their class, they cost Python 3.11 a tenth of the time that a link takes."""


class Link(NamedTuple):
    """A link seen from one switch.

    Attributes:
        slot: index of the local port in the switch's layout.
        local4, local6: own address; remote4, remote6: the peer's; their prefix is a /31 or /127, between switches that
            of the links pool. A port of a segment has none of its own, and the host's has the prefix of the segment's
            subnet.
        peer_asn: 0 for a host.
    """

    slot: int
    direction: Direction
    kind: str
    peer: str
    peer_port: str
    peer_asn: int
    cable_m: int
    medium: str
    shutdown: bool
    local4: str | None
    remote4: str | None
    local6: str | None
    remote6: str | None
    unnumbered: bool


class FarEnd(NamedTuple):
    """A switch as its neighbours know it; `ports` are the names of its slots."""

    at: SwitchId
    name: str
    asn: int
    ports: tuple[str, ...]
    layout: PortLayout
    number: int


class Below(NamedTuple):
    """A ToR as the spines above it know it: the first of their ports that are kept for it, and how many have cables."""

    tor: FarEnd
    first: int
    cables: range


def far_end(fabric: Fabric, at: SwitchId) -> FarEnd:
    """What every neighbour of a switch asks about it; kept, for each has many."""
    key = (at.tier is CORE, at.plane, at.pod, at.unit, at.index, at.nic_port)
    found = fabric.far_ends.get(key)
    if found is None:
        found = FarEnd(
            at,
            switch_name(fabric, at),
            asn(fabric, at),
            port_names(fabric, at),
            layout(fabric, at),
            number(fabric, at),
        )
        fabric.far_ends[key] = found
    return found


def _above(fabric: Fabric, tier: TierName, plane: int, pod: int) -> list[FarEnd]:
    """The spines of a pod, or the cores, of a plane; kept, for each switch below them asks."""
    key = (tier is CORE, plane, pod)
    found = fabric.ranks.get(key)
    if found is None:
        count = fabric.shape.cores if tier is CORE else fabric.shape.spines
        found = [far_end(fabric, SwitchId(tier, plane, pod, -1, index, -1)) for index in range(count)]
        fabric.ranks[key] = found
    return found


def _below(fabric: Fabric, plane: int, pod: int) -> list[Below]:
    """The ToRs of a pod and plane; kept, for each spine above them asks."""
    found = fabric.tors_below.get((plane, pod))
    if found is None:
        units = fabric.shape.units_per_pod
        found = [
            Below(
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


def tor_id(fabric: Fabric, unit: int, group: int, nic_port: int) -> SwitchId:
    """Coordinates of a ToR."""
    shape = fabric.shape
    return SwitchId(TOR, shape.plane(group, nic_port), unit // shape.units_per_pod, unit, group, nic_port)


def number(fabric: Fabric, at: SwitchId) -> int:
    """A switch's number within its tier's number space."""
    strides = fabric.strides
    if at.tier is TOR:
        return adr.tor_number(strides, at.unit, at.index, at.nic_port)
    if at.tier is SPINE:
        return adr.spine_number(strides, at.pod, at.index, at.plane)
    return adr.core_number(strides, at.index, at.plane)


def asn(fabric: Fabric, at: SwitchId) -> int:
    """The switch's ASN: given, or each ToR its own, spines and cores shared per tier, plane and pod or unique ones."""
    if (given := fabric.given.of(at).asn) is not None:
        return given
    block, unique = fabric.routing.asns, fabric.routing.unique_spine_asn
    if at.tier is TOR:
        return block.first + block.tors + number(fabric, at)
    if at.tier is SPINE:
        if unique:
            return block.first + block.spines + number(fabric, at)
        return block.first + block.shared_spines + at.pod * fabric.strides.plane + at.plane
    return block.first + (block.cores + number(fabric, at) if unique else at.plane)


def loopback_offset(fabric: Fabric, at: SwitchId, pool: Pool) -> int:
    """Offset in a loopback pool: ToRs in the first half, spines in the third quarter, cores in the last, or given."""
    given = fabric.given.of(at)
    own = given.loopback4 if pool.version == 4 else given.loopback6
    if own is not None:
        return own
    if at.tier is TOR:
        return number(fabric, at)
    offset = adr.spine_loopback_offset if at.tier is SPINE else adr.core_loopback_offset
    return offset(pool.bits, number(fabric, at))


def layout(fabric: Fabric, at: SwitchId) -> PortLayout:
    """The port layout of a switch."""
    if fabric.boxes and (box := fabric.boxes.get(at)) is not None:
        return box.layout
    if at.tier is TOR:
        return fabric.tor_layouts[fabric.units[at.unit].group]
    if at.tier is SPINE or fabric.core_layout is None:
        return fabric.spine_layout
    return fabric.core_layout


def port_names(fabric: Fabric, at: SwitchId) -> tuple[str, ...]:
    """Name of every slot of a switch, as its NOS has it."""
    nos = fabric.tiers[at.tier].nos
    if fabric.changes:
        change = fabric.changes.get(switch_name(fabric, at))
        nos = (change and change.nos) or nos
    return fabric.port_names[nos, layout_key(fabric, at)]


def layout_key(fabric: Fabric, at: SwitchId) -> str:
    """What tells layouts apart: `tor` and the host group's index, `spine` or `core`, or what a switch has alone."""
    if fabric.boxes and (box := fabric.boxes.get(at)) is not None:
        return box.key
    return f"tor{fabric.units[at.unit].group}" if at.tier is TOR else at.tier.value


def links(fabric: Fabric, at: SwitchId) -> Iterator[Link]:
    """Every link of a switch: down first, then up."""
    if at.tier is TOR:
        for unit, slots, rails in served(fabric, at):
            yield from host_links(fabric, at, unit, slots, rails)
        yield from _between(fabric, "spine", UP, at, uplinks(fabric, at))
    elif at.tier is SPINE:
        yield from _between(fabric, "spine", DOWN, at, _spine_down(fabric, at))
        yield from _between(fabric, "core", UP, at, _spine_up(fabric, at))
    else:
        yield from _between(fabric, "core", DOWN, at, _core_down(fabric, at))


def served(fabric: Fabric, tor: SwitchId) -> Iterator[tuple[Unit, list[int], range]]:
    """What a ToR serves: of its own unit, and of those beside it, the slots with hosts and the rails."""
    own = fabric.units[tor.unit]
    if own.border is not None:
        return
    for unit in (own, *(fabric.units[guest] for guest in own.guests)):
        slots, rails = fabric.attachments[unit.group].served(tor.index, tor.nic_port)
        present = [slot for slot in unit.hosts if slot in slots]
        if present or unit.beside is None:
            yield unit, present, rails


def host_blocks(fabric: Fabric, tor: SwitchId, unit: int) -> tuple[int, int]:
    """Offsets in the IPv4 and the IPv6 hosts pool of a ToR's block for the hosts of a unit: its own may be given."""
    computed = adr.tor_block(fabric.strides, unit, tor.index, tor.nic_port)
    given = fabric.given.of(tor)
    if unit != tor.unit or given is NOTHING:
        return computed, computed
    four, six = given.hosts4, given.hosts6
    return computed if four is None else four, computed if six is None else six


@dataclass(frozen=True, slots=True)
class Serving:
    """A ToR as the hosts of a unit know it: what its links to them have in common.

    Attributes:
        down: its ports by the number of the down-link.
        nics: rail -> its number among those of the ToR, where its addresses begin in the block, and the name of the
            host's port.
        block4, block6: offsets in the hosts pools of the ToR's block for the unit.
        pair4, pair6: of the hosts pools, `Pool.pair`; None without the family.
        given: slot -> addresses from outside.
        cable: of each link; None where single ones have another.
    """

    fabric: Fabric
    far: FarEnd
    unit: Unit
    attached: Attachment
    down: tuple[int, ...]
    nics: Mapping[int, tuple[int, int, str]]
    block4: int
    block6: int
    pair4: _Pairs | None
    pair6: _Pairs | None
    given: Mapping[int, Ends] | None
    segment: Segment | None
    cable: tuple[int, str, bool] | None

    def link(self, slot: int, rail: int) -> Link:
        """The link to the host in a slot on a rail."""
        attached, pair4, pair6 = self.attached, self.pair4, self.pair6
        number_, (rail_, of_rail, nic) = attached.seat(slot)[1], self.nics[rail]
        position = self.down[attached.first_port + number_ * attached.rails_per_tor + rail_]
        length, medium, shut = self.cable or _cable(self.fabric, "host", (self.far.at, position))
        if self.segment:
            host4, host6 = self._in_segment(self.segment, number_, rail_)
            tor4 = tor6 = None
        else:
            offset = of_rail + 2 * number_  # as `adr.in_block`
            own4, own6 = self.given.get(position, COMPUTED) if self.given else COMPUTED
            tor4, host4 = own4 or (pair4(offset + self.block4) if pair4 else _NO_ENDS)
            tor6, host6 = own6 or (pair6(offset + self.block6) if pair6 else _NO_ENDS)
        return tupled(Link, (
            position, HOST, "host", self.unit.hosts[slot], nic, 0, length, medium, shut,
            tor4, host4, tor6, host6, False,
        ))  # fmt: skip

    def _in_segment(self, segment: Segment, number_: int, rail: int) -> list[str | None]:
        """The addresses of a host's port in a segment, IPv4 and IPv6."""
        tor, strides = self.far.at, self.fabric.strides
        offset = evpn.host_offset(strides, self.unit.coordinate, tor.index, tor.nic_port, number_, rail)
        return [pool.address(offset) if pool else None for pool in (segment.subnet4, segment.subnet6)]


def serving(fabric: Fabric, unit: Unit, group: int, nic_port: int) -> Serving:
    """The ToR of a group of rails and NIC port that serves a unit; kept, for each of its hosts asks."""
    key = (unit.coordinate, group, nic_port)
    found = fabric.servings.get(key)
    if found is None:
        found = fabric.servings[key] = _serving(fabric, tor_id(fabric, unit.home, group, nic_port), unit)
    return found


def _serving(fabric: Fabric, tor: SwitchId, unit: Unit) -> Serving:
    attached = fabric.attachments[unit.group]
    nics = {}
    for rail in range(attached.rails):
        of_tor = rail % attached.rails_per_tor
        name = host_port_name(attached.nic_ports, rail, tor.nic_port, fabric.network)
        nics[rail] = of_tor, adr.in_block(fabric.strides, 0, of_tor), name
    addresses = fabric.addresses
    return Serving(
        fabric, far_end(fabric, tor), unit, attached, layout(fabric, tor).down, nics,
        *host_blocks(fabric, tor, unit.coordinate), _pairs_of(addresses.hosts4), _pairs_of(addresses.hosts6),
        fabric.given.hosts.get(tor),
        fabric.evpn.segment(unit.group) if fabric.evpn else None, _usual_cable(fabric, "host"),
    )  # fmt: skip


def _pairs_of(pool: Pool | None) -> _Pairs | None:
    return pool.pair if pool else None


def host_links(
    fabric: Fabric, tor: SwitchId, unit: Unit, slots: Iterable[int], rails: Sequence[int]
) -> Iterator[Link]:
    """The links of a ToR to some NICs, which it serves, of the hosts in some slots of a unit."""
    link = serving(fabric, unit, tor.index, tor.nic_port).link
    for slot in slots:
        for rail in rails:
            yield link(slot, rail)


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


def upward(fabric: Fabric, at: SwitchId) -> Iterator[End]:
    """The links of a switch to switches above it."""
    if at.tier is TOR:
        yield from uplinks(fabric, at)
    elif at.tier is SPINE:
        yield from _spine_up(fabric, at)


def uplinks(fabric: Fabric, tor: SwitchId) -> Iterator[End]:
    """The uplinks of a ToR, spine by spine: to each the first of the positions that the shape keeps."""
    up, parallel = layout(fabric, tor).up, fabric.shape.links_per_spine
    first, offset = _spine_port(fabric, tor), adr.tor_link_offset(fabric.strides, number(fabric, tor), 0)
    cables = range(fabric.tor_links[fabric.units[tor.unit].group])
    for spine, far in enumerate(_above(fabric, SPINE, tor.plane, tor.pod)):
        down = far.layout.down
        for cable in cables:
            uplink = spine * parallel + cable
            yield tupled(End, (up[uplink], far, down[first + cable], offset + 2 * uplink))


def _spine_port(fabric: Fabric, tor: SwitchId) -> int:
    """The first of the spine ports that are kept for a ToR; on each spine the same."""
    shape = fabric.shape
    in_unit = shape.in_plane(tor.index, tor.nic_port)
    in_pod = (tor.unit % shape.units_per_pod) * shape.tors_per_unit_plane + in_unit
    return in_pod * shape.links_per_spine


def _spine_down(fabric: Fabric, spine: SwitchId) -> Iterator[End]:
    strides, down = fabric.strides, layout(fabric, spine).down
    first = spine.index * fabric.shape.links_per_spine
    for tor, port, cables in _below(fabric, spine.plane, spine.pod):
        up, offset = tor.layout.up, adr.tor_link_offset(strides, tor.number, first)
        for cable in cables:
            yield tupled(End, (down[port + cable], tor, up[first + cable], offset + 2 * cable))


def _tors_of_plane(fabric: Fabric, unit: int, plane: int) -> Iterator[SwitchId]:
    """The ToRs of a unit that are in a plane."""
    shape, found = fabric.shape, fabric.units[unit]
    attached, sets = fabric.attachments[found.group], fabric.sets(found)
    by_rail, by_port = divmod(plane, shape.port_planes)
    for group in range(by_rail * shape.groups_per_plane, (by_rail + 1) * shape.groups_per_plane):
        if group // attached.tors in sets:
            for nic_port in range(by_port, attached.nic_ports, shape.port_planes):
                yield tor_id(fabric, unit, group, nic_port)


def _spine_up(fabric: Fabric, spine: SwitchId) -> Iterator[End]:
    shape, up, offset = (
        fabric.shape,
        layout(fabric, spine).up,
        _core_link_offset(fabric, far_end(fabric, spine)),
    )
    first, port = spine.index // shape.spines_per_core_group * shape.cores_per_group, _core_port(shape, spine)
    cores = _above(fabric, CORE, spine.plane % shape.port_planes, 0)
    for uplink in range(shape.spine_uplinks):
        core, parallel = divmod(uplink, shape.links_per_core)
        far = cores[first + core]
        yield tupled(End, (up[uplink], far, far.layout.down[port + parallel], offset + 2 * uplink))


def _core_port(shape: Shape, spine: SwitchId) -> int:
    """The first of the ports of a core that are a spine's; on each core of its group the same."""
    block = spine.pod * shape.rail_planes + spine.plane // shape.port_planes
    return (
        block * shape.spines_per_core_group + spine.index % shape.spines_per_core_group
    ) * shape.links_per_core


def _core_link_offset(fabric: Fabric, spine: FarEnd) -> int:
    """Offset of the first uplink of a spine."""
    pool = fabric.addresses.links4 or fabric.addresses.links6
    return adr.spine_link_offset(fabric.strides, pool.end_bits if pool else 0, spine.number, 0)


def _core_down(fabric: Fabric, core: SwitchId) -> Iterator[End]:
    shape, down = fabric.shape, layout(fabric, core).down
    group, in_group = divmod(core.index, shape.cores_per_group)
    first = in_group * shape.links_per_core
    indices = slice(group * shape.spines_per_core_group, (group + 1) * shape.spines_per_core_group)
    for pod, by_rail in product(range(shape.pods), range(shape.rail_planes)):
        for spine in _above(fabric, SPINE, by_rail * shape.port_planes + core.plane, pod)[indices]:
            up, port, offset = spine.layout.up, _core_port(shape, spine.at), _core_link_offset(fabric, spine)
            for uplink in range(first, first + shape.links_per_core):
                yield tupled(End, (down[port + uplink - first], spine, up[uplink], offset + 2 * uplink))


def _between(
    fabric: Fabric, kind: str, direction: Direction, at: SwitchId, ends: Iterable[End]
) -> Iterator[Link]:
    """Links between switches; the upper end has the even address."""
    addresses = fabric.addresses
    numbered, up = addresses.numbered, direction is UP
    pair4, pair6 = (_pairs_of(pool) if numbered else None for pool in (addresses.links4, addresses.links6))
    usual, given, changes = _usual_cable(fabric, kind), fabric.given.links, fabric.changes
    own_name = switch_name(fabric, at) if changes else ""
    length, medium, shut = usual or (0, "", False)
    for slot, far, peer_slot, offset in ends:
        own4, own6 = given.get(offset, COMPUTED) if given else COMPUTED
        remote4, local4 = own4 or (pair4(offset) if pair4 else _NO_ENDS)
        remote6, local6 = own6 or (pair6(offset) if pair6 else _NO_ENDS)
        upper = changes.get(far.name if up else own_name) if changes else None
        if bare := not numbered or (upper is not None and upper.unnumbered):
            remote4 = local4 = remote6 = local6 = None
        if not up:
            local4, remote4, local6, remote6 = remote4, local4, remote6, local6
        if usual is None:
            near, distant = (at, slot), (far.at, peer_slot)
            length, medium, shut = _cable(fabric, kind, *((near, distant) if up else (distant, near)))
        yield tupled(Link, (
            slot, direction, kind, far.name, far.ports[peer_slot], far.asn, length, medium, shut,
            local4, remote4, local6, remote6, bare,
        ))  # fmt: skip


def _usual_cable(fabric: Fabric, kind: str) -> tuple[int, str, bool] | None:
    """Length, medium and shutdown of every link of a kind; None when single devices may say something else."""
    default = fabric.cable_kinds[kind]
    return None if fabric.changes else (default.length_m, default.medium, False)


def _cable(fabric: Fabric, kind: str, *ends: tuple[SwitchId, int]) -> tuple[int, str, bool]:
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


def cable_rows(fabric: Fabric, at: SwitchId, directions: tuple[Direction, ...]) -> Iterator[CableRow]:
    """The cables of a switch in some directions, lower end first."""
    name, names, slots = switch_name(fabric, at), port_names(fabric, at), layout(fabric, at).slots
    for link in links(fabric, at):
        if link.direction not in directions:
            continue
        near, far = (name, names[link.slot]), (link.peer, link.peer_port)
        lower, upper = (far, near) if link.direction is HOST else (near, far)
        yield CableRow(*lower, *upper, slots[link.slot].speed_gbps, link.medium, link.cable_m, link.kind)
