"""Compute the coordinates behind a number: the inverse of the closed forms.

A number belongs to a device when the coordinates found exist and give that number again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric import addresses as adr
from fabricc.fabric import links
from fabricc.fabric.given_identities import COMPUTED
from fabricc.fabric.links import host_links, tor_id
from fabricc.fabric.management import ManagementPlace, management_network, management_place
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import GUEST_UNITS, SwitchId, TierName
from fabricc.review.explain.formulas import link_pool_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.out_of_band import ManagementNetwork


class Place(NamedTuple):
    """The coordinates of a number, whether a device has them or not.

    Attributes:
        tier: of the switch; missing coordinates are -1.
        member: `index` of the switch: which ToR group, spine or core.
        slot, rail: of a host link: the host in its unit and the rail among those of the ToR, else -1.
        host_unit: of a host link: the host's unit, which differs from the ToR's for hosts that share ToRs.
        uplink: of an uplink, else -1.
        end: the offset is that of the upper end (0) or the lower one (1) of a link; 0 elsewhere.
        missing: why there is no such device; "" if there is one.
    """

    tier: TierName
    plane: int
    pod: int
    unit: int
    member: int
    nic_port: int
    slot: int = -1
    rail: int = -1
    uplink: int = -1
    end: int = 0
    missing: str = ""
    host_unit: int = -1

    @property
    def switch(self) -> SwitchId:
        """The switch; of a link the lower one, which numbers it."""
        return SwitchId(self.tier, self.plane, self.pod, self.unit, self.member, self.nic_port)


def host_link(fabric: Fabric, offset: int) -> Place:
    """Return the host link at an offset in the hosts pool."""
    strides = fabric.strides
    link, end = divmod(offset, 2)
    link, number_ = divmod(link, strides.host)
    link, rail = divmod(link, strides.rail)
    link, unit = divmod(link, strides.unit)
    group, nic_port = divmod(link, strides.nic_port)
    beside = GUEST_UNITS + strides.unit - 1 - unit
    host_unit = beside if beside in fabric.units else unit
    known = fabric.units.get(host_unit)
    place = _tor_place(fabric, known.home if known else unit, group, nic_port)
    if known is None or place.missing:
        return place._replace(slot=number_, rail=rail, end=end, host_unit=host_unit)
    attached, missing = fabric.attachments[known.group], ""
    slot = attached.slot(group // attached.tors, number_)
    slots, rails = attached.served(group, nic_port)
    if rail >= attached.rails_per_tor:
        missing = f"a ToR has {plural(attached.rails_per_tor, 'rail')} of a host, not number {rail + 1}"
    elif not rails or slot not in slots or slot not in known.hosts:
        missing = f"{known.name} has no host in slot {slot}"
    return place._replace(slot=slot, rail=rail, end=end, missing=missing, host_unit=host_unit)


def host_address(fabric: Fabric, offset: int, version: int) -> Place:
    """The host link at an offset in the hosts pool of a version, blocks and addresses that are given in mind."""
    bits, moved = fabric.aggregate_bits(), ""
    at = offset
    for tor, own in fabric.given.switches.items():
        given = own.hosts4 if version == 4 else own.hosts6
        computed = adr.tor_block(fabric.strides, tor.unit, tor.index, tor.nic_port)
        if given is not None and given >> bits == offset >> bits:
            at, moved = offset - given + computed, ""
            break
        if given is not None and computed >> bits == offset >> bits:
            moved = f"{fabric.name(tor)} is given another block"
    place = host_link(fabric, at)
    if moved and not place.missing:
        return place._replace(missing=moved)
    if place.missing or not (links_of := fabric.given.hosts.get(place.switch)):
        return place
    unit = fabric.units[place.host_unit]
    rail = fabric.attachments[unit.group].served(place.switch.index, place.switch.nic_port)[1][place.rail]
    (link,) = host_links(fabric, place.switch, unit, (place.slot,), (rail,))
    taken = links_of.get(link.slot, COMPUTED)[version == 6] is not None
    return place._replace(missing="its link is given others") if taken else place


def fabric_link(fabric: Fabric, offset: int) -> Place:
    """Return the link between switches at an offset in the links pool."""
    strides, shape = fabric.strides, fabric.shape
    half = 1 << max(0, link_pool_bits(fabric) - 1)
    if offset < half:
        link, end = divmod(offset, 2)
        number, uplink = divmod(link, strides.uplink)
        place, most = _tor_of(fabric, number), shape.uplinks or shape.peer_links
        place = place._replace(missing=place.missing or _explain_free_position(fabric, place.switch, uplink))
    else:
        link, end = divmod(offset - half, 2)
        number, uplink = divmod(link, strides.spine_uplink)
        place, most = _spine_of(fabric, number), shape.spine_uplinks
    missing = place.missing
    if not missing and uplink >= most:
        have = f"has {plural(most, 'uplink')}" if most else "has no uplinks: there are no cores"
        missing = f"{fabric.name(place.switch)} {have}" + (f", not number {uplink + 1}" if most else "")
    return place._replace(uplink=uplink, end=end, missing=missing)


def _explain_free_position(fabric: Fabric, tor: SwitchId, uplink: int) -> str:
    """Why a position among a ToR's uplinks has no link although others do; "" where it has one."""
    parallel = fabric.shape.links_per_spine
    if fabric.shape.peer_links and not links.is_lower_end(fabric, tor, Direction.PEER):
        return f"links between ToRs have numbers of the first one; {fabric.name(tor)} is the second"
    if not parallel:
        return ""
    spine, cable = divmod(uplink, parallel)
    own = fabric.tor_links[fabric.units[tor.unit].group]
    if spine >= fabric.shape.spines or cable < own:
        return ""
    each = f"{plural(own, 'link')} to each spine"
    return f"{fabric.name(tor)} has {each}; positions for {parallel} are kept, number {uplink + 1} is free"


def loopback_place(fabric: Fabric, pool: Pool, offset: int) -> Place:
    """Return the switch whose loopback is at an offset in a loopback pool."""
    spines, cores = adr.spine_loopback_offset(pool.bits, 0), adr.core_loopback_offset(pool.bits, 0)
    if offset < spines:
        place = _tor_of(fabric, offset)
    else:
        place = _spine_of(fabric, offset - spines) if offset < cores else _core_of(fabric, offset - cores)
    return _unless_given(fabric, place, lambda at: links.loopback_offset(fabric, at, pool) == offset)


def _unless_given(fabric: Fabric, place: Place, has: Callable[[SwitchId], bool]) -> Place:
    if place.missing or has(place.switch):
        return place
    return place._replace(missing=f"{fabric.name(place.switch)} is given another")


def place_of_management(fabric: Fabric, network: ManagementNetwork, offset: int) -> Place | None:
    """Return the switch whose management address is at an offset; None for addresses that no switch can have."""
    place = _find_managed(fabric, network, offset)
    return place and _unless_given(
        fabric, place, lambda at: management_place(fabric, at) == ManagementPlace(network, offset)
    )


def _find_managed(fabric: Fabric, network: ManagementNetwork, offset: int) -> Place | None:
    if network.tier is None:
        place = _of_all_tiers(fabric, network, offset)
        if place is None or place.missing or network is management_network(fabric, place.switch):
            return place
        return place._replace(missing=f"{fabric.name(place.switch)} is in another management network")
    subnet, inside = divmod(offset, network.size)
    number = inside - adr.MANAGEMENT_RESERVED
    if not 0 <= number < network.room:
        return None
    if network.tier is not TierName.TOR:
        find = _spine_of if network.tier is TierName.SPINE else _core_of
        return find(fabric, subnet * network.numbers + number) if number < network.numbers else None
    unit, in_unit = divmod(number, fabric.shape.tors_per_unit)
    unit += network.first + subnet * network.units
    of_subnet = network.first + (subnet + 1) * network.units if network.units else network.end
    if of_subnet is not None and unit >= of_subnet:
        return None
    return _tor_place(fabric, unit, *divmod(in_unit, fabric.shape.nic_ports))


def _of_all_tiers(fabric: Fabric, network: ManagementNetwork, offset: int) -> Place | None:
    shape, bits = fabric.shape, network.pool.bits
    half, quarter = 1 << (bits - 1), 3 << (bits - 2)
    if offset >= quarter:
        return _core_of(fabric, offset - quarter)
    if offset >= half:
        return _spine_of(fabric, offset - half)
    if offset < adr.MANAGEMENT_RESERVED:
        return None
    unit, in_unit = divmod(offset - adr.MANAGEMENT_RESERVED, shape.tors_per_unit)
    return _tor_place(fabric, unit, *divmod(in_unit, shape.nic_ports))


def of_asn(fabric: Fabric, number: int) -> Iterator[Place]:
    """The switches that have an ASN, `number` counted from the base; one that is missing where nobody has it."""
    unique, block = fabric.routing.unique_spine_asn, fabric.routing.asns
    if number >= block.tors:
        yield _tor_of(fabric, number - block.tors)
    elif number >= block.spines:
        yield _own_place(_spine_of(fabric, number - block.spines), unique)
    elif number >= block.cores:
        yield _own_place(_core_of(fabric, number - block.cores), unique)
    elif number >= block.shared_spines:
        pod, plane = divmod(number - block.shared_spines, fabric.strides.plane)
        if unique or pod >= fabric.shape.pods or plane >= len(fabric.planes):
            yield _shared_place(TierName.SPINE, plane, pod, unique)
            return
        for index in range(fabric.shape.spines):
            yield Place(TierName.SPINE, plane, pod, -1, index, -1)
    elif unique or number >= fabric.port_planes or not fabric.shape.cores:
        yield _shared_place(TierName.CORE, number, 0, unique)
    else:
        for index in range(fabric.shape.cores):
            yield Place(TierName.CORE, number, 0, -1, index, -1)


def _own_place(place: Place, unique: bool) -> Place:
    why = "spines and cores share their ASNs (routing.spine_asn)"
    return place if unique else place._replace(missing=why)


def _shared_place(tier: TierName, plane: int, pod: int, unique: bool) -> Place:
    why = f"there is no {tier.value} of pod {pod + 1} in plane {plane + 1}"
    if unique:
        why = "every spine and core has an ASN of its own (routing.spine_asn)"
    return Place(tier, plane, pod, -1, 0, -1, missing=why)


def _tor_of(fabric: Fabric, number: int) -> Place:
    rest, nic_port = divmod(number, fabric.strides.nic_port)
    unit, group = divmod(rest, fabric.strides.group)
    return _tor_place(fabric, unit, group, nic_port)


def _tor_place(fabric: Fabric, unit: int, group: int, nic_port: int) -> Place:
    shape = fabric.shape
    at = tor_id(fabric, unit, group, nic_port)
    missing, found = "", fabric.units.get(unit)
    if found is None:
        missing = f"there is no unit {unit}: {_describe_units(fabric)}"
    elif group >= shape.groups:
        missing = f"a unit has {plural(shape.groups, 'ToR')} per NIC port, not number {group + 1}"
    elif nic_port >= shape.nic_ports:
        missing = f"a NIC has {plural(shape.nic_ports, 'cabled port')}, not number {nic_port + 1}"
    elif at not in fabric.tor_ids(unit):
        missing = f"no host of {found.name} is on ToR group {group}, NIC port {nic_port}"
    return Place(TierName.TOR, at.plane, at.pod, unit, group, nic_port, missing=missing)


def _spine_of(fabric: Fabric, number: int) -> Place:
    shape = fabric.shape
    rest, plane = divmod(number, fabric.strides.plane)
    pod, spine = divmod(rest, fabric.strides.spine)
    missing = _first_missing(("plane", plane, len(fabric.planes), ""), ("pod", pod, shape.pods, ""),
                      ("spine", spine, shape.spines, " in a pod and plane"))  # fmt: skip
    return Place(TierName.SPINE, plane, pod, -1, spine, -1, missing=missing)


def _core_of(fabric: Fabric, number: int) -> Place:
    shape = fabric.shape
    core, plane = divmod(number, fabric.strides.plane)
    missing = _first_missing(
        ("plane", plane, fabric.port_planes, ""), ("core", core, shape.cores, " in a plane")
    )
    return Place(TierName.CORE, plane, 0, -1, core, -1, missing=missing)


def _first_missing(*counted: tuple[str, int, int, str]) -> str:
    """Return the first (noun, number, total, place) that does not exist, as text; "" if all exist."""
    wrong = (each for each in counted if each[1] >= each[2])
    reasons = (f"there is no {noun} {at}{of}: {plural(count, noun)}, from 0" for noun, at, count, of in wrong)
    return next(reasons, "")


def _describe_units(fabric: Fabric) -> str:
    first = min(unit.coordinate for unit in fabric.places())
    return f"units go from {first} to {fabric.present - 1}, with room for {fabric.strides.unit}"
