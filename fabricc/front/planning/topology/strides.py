"""Choose strides: how much room each coordinate gets in the address pools and number spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import attribute_names, dataclass, replace
from fabricc.fabric import addresses as adr
from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.fabric.out_of_band import ManagementNetwork, OtherDevices
from fabricc.fabric.shape import Shape, Strides, TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.fabric.design import AddressPlan
    from fabricc.front.spec.model import Routing


@dataclass(frozen=True, slots=True)
class Shortage:
    """A number space that is too small: which, bits it has and bits it would need."""

    pool: str
    has_bits: int
    needs_bits: int


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below `number`; 1 for 0."""
    return 1 << max(0, number - 1).bit_length()


def choose_strides(
    shape: Shape,
    units: int,
    most_uplinks: int,
    plan: AddressPlan,
    routing: Routing,
    pins: Mapping[str, int] | None = None,
    rails_per_tor: int | None = None,
    block_bits: int = 0,
) -> Strides:
    """Strides for a new fabric: as roomy as the pools and the management network allow, so that growth finds room.

    If not even the tightest fit, they are returned: `find_shortage` or `management_shortage` then reports what lacks.

    Args:
        shape: counts.
        units: units to hold at least.
        most_uplinks: uplinks a ToR could physically have.
        plan: the pools.
        routing: the block of ASNs, and whether spines and cores have their own.
        pins: strides that are not to be chosen, by name.
        rails_per_tor: most rails of a host that share a ToR, where that is not the shape's.
        block_bits: host bits of a ToR's aggregate at least.
    """
    kept = {name: value for name, value in (pins or {}).items() if name in NAMES}
    rail = power_of_two(rails_per_tor or shape.rails_per_tor)
    tight = Strides(
        host=max(power_of_two(shape.hosts_per_unit), (1 << block_bits) // (2 * rail)),
        rail=rail,
        nic_port=power_of_two(shape.nic_ports),
        group=power_of_two(shape.groups),
        unit=power_of_two(units),
        uplink=power_of_two(shape.uplinks or shape.peer_links),
        spine=power_of_two(shape.spines),
        plane=power_of_two(shape.planes),
        spine_uplink=power_of_two(max(1, shape.spine_uplinks)),
    )
    uplink = max(power_of_two(most_uplinks), tight.uplink)
    planes = replace(tight, nic_port=max(4, tight.nic_port), plane=max(4, tight.plane))
    roomy = replace(planes, uplink=uplink, spine=max(tight.spine, uplink))
    room = 4 * tight.unit
    every = (roomy, replace(roomy, spine=tight.spine), planes, tight)
    candidates = [replace(candidate, **kept) for candidate in every]
    fitting = [c for c in candidates if management_shortage(c, shape, units, plan.management) is None]

    def fits(strides: Strides) -> bool:
        return not (asn_shortage(strides, shape, units, routing) or find_shortage(strides, shape, plan))

    for least in (room, tight.unit) if kept else (room,):
        for candidate in fitting:
            wide = replace(candidate, unit=kept.get("unit", least))
            if fits(wide):
                while "unit" not in kept and fits(replace(wide, unit=2 * wide.unit)):
                    wide = replace(wide, unit=2 * wide.unit)
                return wide
    return replace(tight, **kept)


def find_shortage(strides: Strides, shape: Shape, plan: AddressPlan) -> Shortage | None:
    """Return the first pool in which these strides do not fit, or None."""
    s = strides
    tors = s.unit * s.group * s.nic_port
    spines = shape.pods * s.spine * s.plane
    cores = max(1, shape.cores) * s.plane
    needs: list[tuple[str, int, int]] = []
    for version in (4, 6):
        hosts, links, loopbacks = (
            getattr(plan, f"{kind}{version}") for kind in ("hosts", "links", "loopbacks")
        )
        suffix = "" if version == 4 else "6"
        if hosts:
            needs.append((f"hosts{suffix}", tors * s.rail * s.host * 2, 1 << hosts.bits))
        if links:
            needs.append((f"links{suffix}", 2 * tors * s.uplink * 2 << links.wide, 1 << links.bits))
            if shape.cores:
                needs.append(
                    (f"links{suffix}", 2 * spines * s.spine_uplink * 2 << links.wide, 1 << links.bits)
                )
        if loopbacks:
            most = max(2 * tors, 4 * spines, 4 * cores)
            needs.append((f"loopbacks{suffix}", most, 1 << loopbacks.bits))
    return _first_shortage(needs)


def asn_shortage(strides: Strides, shape: Shape, units: int, routing: Routing) -> Shortage | None:
    """Return the first tier whose ASNs do not fit into the block with these strides, or None."""
    s, block = strides, adr.asn_block(routing.asn_base)
    tors = s.unit * s.group * s.nic_port
    last = adr.tor_number(s, units - 1, shape.groups - 1, shape.nic_ports - 1)
    if block.first + block.tors + last > block.last:
        tors = max(tors, 2 * block.tors)
    if routing.spine_asn == "unique":
        spines, cores = shape.pods * s.spine * s.plane, max(1, shape.cores) * s.plane
        above = [("spines", spines, block.spines), ("cores", cores, block.cores)]
    else:
        above = [
            ("spines", shape.pods * s.plane, block.shared_spines),
            ("cores", s.plane, block.shared_spines),
        ]
    return _first_shortage([("ToRs", tors, block.tors), *above])


def _first_shortage(needs: Iterable[tuple[str, int, int]]) -> Shortage | None:
    return next(
        (
            Shortage(name, has.bit_length() - 1, (needed - 1).bit_length())
            for name, needed, has in needs
            if needed > has
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class NarrowSubnets:
    """Management subnets that are too small: whose, how many switches each has to hold, and the length for that."""

    network: ManagementNetwork
    wanted: int
    length: int


def management_shortage(
    strides: Strides, shape: Shape, units: int, networks: Sequence[ManagementNetwork]
) -> NarrowSubnets | None:
    """Return the first management network that is too small for its switches by these strides, or None."""
    numbers: dict[TierName | OtherDevices, int] = {
        TierName.SPINE: shape.pods * strides.spine * strides.plane,
        TierName.CORE: shape.cores * strides.plane,
    }
    for network in networks:
        if isinstance(network.tier, OtherDevices):
            continue
        full = 32 if network.pool.version == 4 else 128
        if network.tier is None:
            needed = _bits_of_all(numbers, shape, units, networks)
            if needed > network.pool.bits:
                return NarrowSubnets(network, 0, full - needed)
            continue
        wanted = _wanted_numbers(network, numbers, shape, units)
        if wanted > network.room:
            behind = network.size - network.first_behind
            return NarrowSubnets(
                network, wanted, full - (MANAGEMENT_RESERVED + wanted + behind - 1).bit_length()
            )
    return None


def _wanted_numbers(
    network: ManagementNetwork, numbers: Mapping[TierName | OtherDevices, int], shape: Shape, units: int
) -> int:
    """ToRs, or numbers of spines or cores, that each subnet of a network has to hold."""
    if network.tier and network.tier is not TierName.TOR:
        each = -(-numbers[network.tier] // network.subnets)
        return power_of_two(each) if network.subnets > 1 else each
    last = units if network.end is None else min(units, network.end)
    return (network.units or max(0, last - network.first)) * shape.tors_per_unit


def _bits_of_all(
    numbers: Mapping[TierName | OtherDevices, int],
    shape: Shape,
    units: int,
    networks: Sequence[ManagementNetwork],
) -> int:
    """Bits of the network that has the switches of every tier that no other takes."""
    others = [network for network in networks if network.tier is not None]
    while units and any(network.takes(TierName.TOR, units - 1) for network in others):
        units -= 1
    taken = {network.tier for network in others}
    tors = 2 * (MANAGEMENT_RESERVED + units * shape.tors_per_unit) if units else 0
    spines = 0 if TierName.SPINE in taken else 4 * numbers[TierName.SPINE]
    cores = 0 if TierName.CORE in taken else 4 * (numbers[TierName.CORE] + 1)
    return (max(tors, spines, cores, 2 * MANAGEMENT_RESERVED) - 1).bit_length()


NAMES = attribute_names(Strides)
