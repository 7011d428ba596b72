"""The links of one switch, both ends, from coordinates alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric import addresses as adr
from fabricc.fabric.model import Direction, TierName
from fabricc.fabric.naming import host_port_name, switch_name
from fabricc.fabric.shape import CableRow, SwitchId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import PortLayout


class Link(NamedTuple):
    """A link seen from one switch; a tuple, which is made four times as fast as a frozen dataclass.

    Attributes:
        slot: index of the local port in the switch's layout.
        local4, local6: own address with prefix length; remote4, remote6: the peer's, without.
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

    name: str
    asn: int
    ports: tuple[str, ...]


def far_end(fabric: Fabric, at: SwitchId) -> FarEnd:
    """What every neighbour of a switch asks about it; kept, for each has many."""
    key = (at.tier is TierName.CORE, at.plane, at.pod, at.unit, at.index, at.nic_port)
    found = fabric.far_ends.get(key)
    if found is None:
        found = FarEnd(switch_name(fabric, at), asn(fabric, at), port_names(fabric, at))
        fabric.far_ends[key] = found
    return found


def tor_id(fabric: Fabric, unit: int, group: int, nic_port: int) -> SwitchId:
    """Coordinates of a ToR."""
    shape = fabric.shape
    return SwitchId(TierName.TOR, nic_port % shape.planes, unit // shape.units_per_pod, unit, group, nic_port)


def number(fabric: Fabric, at: SwitchId) -> int:
    """A switch's number within its tier's number space."""
    strides = fabric.strides
    if at.tier is TierName.TOR:
        return adr.tor_number(strides, at.unit, at.index, at.nic_port)
    if at.tier is TierName.SPINE:
        return adr.spine_number(strides, at.pod, at.index, at.plane)
    return adr.core_number(strides, at.index, at.plane)


def asn(fabric: Fabric, at: SwitchId) -> int:
    """The switch's ASN: each ToR its own, spines and cores shared per tier, plane and pod unless asked for unique."""
    base, unique = fabric.routing.asn_base, fabric.routing.unique_spine_asn
    if at.tier is TierName.TOR:
        return base + adr.TOR_ASNS + number(fabric, at)
    if at.tier is TierName.SPINE:
        if unique:
            return base + adr.UNIQUE_SPINE_ASNS + number(fabric, at)
        return base + adr.SHARED_SPINE_ASNS + at.pod * fabric.strides.plane + at.plane
    return base + (adr.UNIQUE_CORE_ASNS + number(fabric, at) if unique else at.plane)


def management_offset(fabric: Fabric, at: SwitchId) -> int:
    """Offset in the management network: ToRs in the first half, spines in the third quarter, cores in the last."""
    shape, bits = fabric.shape, fabric.addresses.management.bits
    strides = fabric.strides
    if at.tier is TierName.TOR:
        in_unit = at.index * shape.nic_ports + at.nic_port
        return adr.MANAGEMENT_RESERVED + at.unit * shape.tors_per_unit + in_unit
    if at.tier is TierName.SPINE:
        return (1 << (bits - 1)) + (at.pod * strides.spine + at.index) * strides.plane + at.plane
    return (3 << (bits - 2)) + at.index * strides.plane + at.plane


def layout(fabric: Fabric, at: SwitchId) -> PortLayout:
    """The port layout of a switch."""
    if at.tier is TierName.TOR:
        return fabric.tor_layouts[fabric.units[at.unit].group]
    if at.tier is TierName.SPINE or fabric.core_layout is None:
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
    """What tells layouts apart: `tor` and the host group's index, `spine` or `core`."""
    return f"tor{fabric.units[at.unit].group}" if at.tier is TierName.TOR else at.tier.value


def links(fabric: Fabric, at: SwitchId) -> Iterator[Link]:
    """Every link of a switch: down first, then up."""
    if at.tier is TierName.TOR:
        shape = fabric.shape
        for slot in fabric.units[at.unit].hosts:
            for rail in range(at.index * shape.rails_per_tor, (at.index + 1) * shape.rails_per_tor):
                yield host_link(fabric, at, slot, rail)
        tor = number(fabric, at)
        for uplink in range(shape.uplinks):
            yield _tor_up(fabric, at, tor, uplink)
    elif at.tier is TierName.SPINE:
        yield from _spine_down(fabric, at)
        for uplink in range(fabric.shape.spine_uplinks):
            yield _spine_up(fabric, at, uplink)
    else:
        yield from _core_down(fabric, at)


def host_link(fabric: Fabric, tor: SwitchId, slot: int, rail: int) -> Link:
    """The link of a ToR to NIC `rail` of the host in `slot`."""
    shape, addresses = fabric.shape, fabric.addresses
    per_tor = shape.rails_per_tor
    unit = fabric.units[tor.unit]
    position = fabric.tor_layouts[unit.group].down[slot * per_tor + rail % per_tor]
    offset = adr.host_offset(fabric.strides, tor.unit, slot, rail, per_tor, tor.nic_port)
    hosts4, hosts6 = addresses.hosts4, addresses.hosts6
    tor4, host4 = hosts4.pair(offset) if hosts4 else (None, None)
    tor6, host6 = hosts6.pair(offset) if hosts6 else (None, None)
    return Link(
        position, Direction.HOST, "host", unit.hosts[slot],
        host_port_name(shape.nic_ports, rail, tor.nic_port), 0,
        *_cable(fabric, "host", tor, position, None, -1),
        tor4 and f"{tor4}/31", host4, tor6 and f"{tor6}/127", host6, False,
    )  # fmt: skip


def _tor_up(fabric: Fabric, tor: SwitchId, tor_number: int, uplink: int) -> Link:
    peer = _spine_id(tor.plane, tor.pod, uplink // fabric.shape.links_per_spine)
    offset = adr.tor_link_offset(fabric.strides, tor_number, uplink)
    return _switch_link(
        fabric,
        "spine",
        Direction.UP,
        tor,
        layout(fabric, tor).up[uplink],
        peer,
        _spine_slot(fabric, tor, uplink),
        offset,
    )


def _spine_slot(fabric: Fabric, tor: SwitchId, uplink: int) -> int:
    """Slot of the spine port at the far end of a ToR's uplink."""
    shape = fabric.shape
    in_unit = tor.index * shape.sides + tor.nic_port // shape.planes
    in_pod = (tor.unit % shape.units_per_pod) * shape.tors_per_unit_plane + in_unit
    return fabric.spine_layout.down[in_pod * shape.links_per_spine + uplink % shape.links_per_spine]


def _spine_down(fabric: Fabric, spine: SwitchId) -> Iterator[Link]:
    shape = fabric.shape
    first = spine.pod * shape.units_per_pod
    for unit in range(first, first + shape.units_per_pod):
        if unit not in fabric.units:
            continue
        for group in range(shape.groups):
            for side in range(shape.sides):
                tor = tor_id(fabric, unit, group, side * shape.planes + spine.plane)
                for parallel in range(shape.links_per_spine):
                    uplink = spine.index * shape.links_per_spine + parallel
                    offset = adr.tor_link_offset(fabric.strides, number(fabric, tor), uplink)
                    yield _switch_link(
                        fabric,
                        "spine",
                        Direction.DOWN,
                        spine,
                        _spine_slot(fabric, tor, uplink),
                        tor,
                        layout(fabric, tor).up[uplink],
                        offset,
                    )


def _spine_up(fabric: Fabric, spine: SwitchId, uplink: int) -> Link:
    core, slot = _core_end(fabric, spine, uplink)
    offset = _core_link_offset(fabric, spine, uplink)
    return _switch_link(
        fabric, "core", Direction.UP, spine, fabric.spine_layout.up[uplink], core, slot, offset
    )


def _core_end(fabric: Fabric, spine: SwitchId, uplink: int) -> tuple[SwitchId, int]:
    """The core, and the slot of its port, at the far end of a spine's uplink."""
    shape = fabric.shape
    group, in_group = divmod(spine.index, shape.spines_per_core_group)
    core, parallel = divmod(uplink, shape.links_per_core)
    port = (spine.pod * shape.spines_per_core_group + in_group) * shape.links_per_core + parallel
    at = SwitchId(TierName.CORE, spine.plane, 0, -1, group * shape.cores_per_group + core, -1)
    return at, layout(fabric, at).down[port]


def _core_link_offset(fabric: Fabric, spine: SwitchId, uplink: int) -> int:
    pool = fabric.addresses.links4 or fabric.addresses.links6
    bits = pool.bits if pool else 0
    return adr.spine_link_offset(fabric.strides, bits, number(fabric, spine), uplink)


def _core_down(fabric: Fabric, core: SwitchId) -> Iterator[Link]:
    shape = fabric.shape
    group, in_group = divmod(core.index, shape.cores_per_group)
    for pod in range(shape.pods):
        for index in range(group * shape.spines_per_core_group, (group + 1) * shape.spines_per_core_group):
            spine = _spine_id(core.plane, pod, index)
            for parallel in range(shape.links_per_core):
                uplink = in_group * shape.links_per_core + parallel
                _, slot = _core_end(fabric, spine, uplink)
                yield _switch_link(
                    fabric,
                    "core",
                    Direction.DOWN,
                    core,
                    slot,
                    spine,
                    fabric.spine_layout.up[uplink],
                    _core_link_offset(fabric, spine, uplink),
                )


def _spine_id(plane: int, pod: int, index: int) -> SwitchId:
    return SwitchId(TierName.SPINE, plane, pod, -1, index, -1)


def _switch_link(
    fabric: Fabric,
    kind: str,
    direction: Direction,
    at: SwitchId,
    slot: int,
    peer: SwitchId,
    peer_slot: int,
    offset: int,
) -> Link:
    """A link between switches; the upper end has the even address at `offset`."""
    addresses = fabric.addresses
    up = direction is Direction.UP
    lower, lower_slot, upper, upper_slot = (at, slot, peer, peer_slot) if up else (peer, peer_slot, at, slot)
    numbered = addresses.numbered
    remote4, local4 = addresses.links4.pair(offset) if numbered and addresses.links4 else (None, None)
    remote6, local6 = addresses.links6.pair(offset) if numbered and addresses.links6 else (None, None)
    if not up:
        local4, remote4, local6, remote6 = remote4, local4, remote6, local6
    far = far_end(fabric, peer)
    return Link(
        slot, direction, kind, far.name, far.ports[peer_slot], far.asn,
        *_cable(fabric, kind, lower, lower_slot, upper, upper_slot),
        local4 and f"{local4}/31", remote4, local6 and f"{local6}/127", remote6, not numbered,
    )  # fmt: skip


def _cable(
    fabric: Fabric, kind: str, lower: SwitchId, lower_slot: int, upper: SwitchId | None, upper_slot: int
) -> tuple[int, str, bool]:
    """Length, medium and shutdown of a link, the same from both ends: a port's own word before a device's."""
    default = fabric.cable_kinds[kind]
    if not fabric.changes:
        return default.length_m, default.medium, False
    length: int | None = None
    medium: str | None = None
    shutdown = False
    ends = [(lower, lower_slot)] + ([(upper, upper_slot)] if upper else [])
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
        lower, upper = (far, near) if link.direction is Direction.HOST else (near, far)
        yield CableRow(*lower, *upper, slots[link.slot].speed_gbps, link.medium, link.cable_m, link.kind)
