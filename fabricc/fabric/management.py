"""Management networks: their subnets and gateways, and what each takes.

Management addresses in closed form: of switches, of BMCs and DPUs, and of the management switches themselves.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, Pool
from fabricc.fabric.out_of_band import MANAGEMENT_PORT, ManagementSwitches, management_endpoints
from fabricc.fabric.shape import GUEST_UNITS, SwitchId, TierName, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.design import Design


class OtherDevices(StrEnum):
    """A kind of device with management addresses that is no switch of the fabric."""

    HOST = "host"
    OOB = "oob"


IN_UNITS = (TierName.TOR, OtherDevices.HOST)
"""Tiers that are in units, whose networks may be by units."""


@dataclass(frozen=True, slots=True)
class ManagementNetwork:
    """Management addresses of switches, or of BMCs and DPUs, in subnets of one length with a gateway each.

    Attributes:
        key: the spec's, such as `management.networks[0]`.
        pool: all of it.
        length: prefix length of each subnet.
        gateway: its offset in each subnet.
        tier: whose switches, or what else; None for all switches that no network before takes, which each have a
            part of the pool.
        first, end: the units whose ToRs or hosts it takes; `end` None for all that follow.
        units: units of one subnet; 0 for all.
        per_host: addresses that each host has, in a network of hosts.
    """

    key: str
    pool: Pool
    length: int
    gateway: int
    tier: TierName | OtherDevices | None = None
    first: int = 0
    end: int | None = None
    units: int = 0
    per_host: int = 0

    def takes(self, tier: TierName | OtherDevices, unit: int) -> bool:
        """Return whether switches of a tier, or hosts, are in it; of ToRs and hosts those of a unit."""
        if tier is not self.tier:
            return self.tier is None and isinstance(tier, TierName)
        return tier not in IN_UNITS or (self.first <= unit and (self.end is None or unit < self.end))

    @property
    def size(self) -> int:
        """Addresses of a subnet."""
        return 1 << (self.pool.bits + self.pool.length - self.length)

    @property
    def room(self) -> int:
        """Switches that a subnet holds, past the reserved addresses."""
        return max(0, self.first_behind - MANAGEMENT_RESERVED)

    @property
    def first_behind(self) -> int:
        """The first offset past those of switches: the gateway, where it is none of the reserved ones, or the last."""
        return self.size - 1 if self.gateway < MANAGEMENT_RESERVED else self.gateway

    @property
    def subnets(self) -> int:
        """Return how many subnets there are."""
        return 1 << (self.length - self.pool.length)

    @property
    def numbers(self) -> int:
        """Numbers of spines, cores or management switches to a subnet: of several a power of two, as strides are."""
        return self.room if self.subnets == 1 else 1 << self.room.bit_length() >> 1

    def gateway_of(self, offset: int) -> str:
        """Return the gateway of the subnet that an offset lies in."""
        return self.pool.address(offset // self.size * self.size + self.gateway)


def management_prefix(networks: Sequence[ManagementNetwork]) -> str:
    """Return the smallest prefix that has all networks of switches of the fabric in it."""
    pools = [network.pool for network in networks if not isinstance(network.tier, OtherDevices)]
    first = min(pool.first for pool in pools)
    bits = (first ^ max(pool.first + (1 << pool.bits) - 1 for pool in pools)).bit_length()
    whole = pools[0].length + pools[0].bits
    return str(Pool(first >> bits << bits, whole - bits, pools[0].version))


class ManagementPlace(NamedTuple):
    """The network of a switch and the offset of its address there."""

    network: ManagementNetwork
    offset: int

    @property
    def address(self) -> str:
        """The address, without prefix length."""
        return self.network.pool.address(self.offset)


def management_network(fabric: Design, at: SwitchId) -> ManagementNetwork | None:
    """Return the first network that takes a switch."""
    return next((each for each in fabric.addresses.management if each.takes(at.tier, at.unit)), None)


def management_place(fabric: Design, at: SwitchId) -> ManagementPlace:
    """Return the place of a switch's management address; planning rejects a switch without a network."""
    network = management_network(fabric, at)
    assert network is not None
    return ManagementPlace(network, management_offset(fabric, at, network))


def management_offset(fabric: Design, at: SwitchId, network: ManagementNetwork) -> int:
    """Return offset of a switch's address in the pool of its network.

    In the network of all tiers ToRs are in the first half, spines in the third quarter, cores in the last. In one of
    ToRs each subnet holds as many units, in one of spines or cores as many of their numbers. A given one goes before.
    """
    if (given := fabric.given.of(at).management) is not None:
        return given
    if at.tier is TierName.TOR:
        shape = fabric.shape
        in_unit = at.index * shape.nic_ports + at.nic_port
        unit = at.unit - network.first
        subnet, unit = divmod(unit, network.units) if network.units else (0, unit)
        return subnet * network.size + MANAGEMENT_RESERVED + unit * shape.tors_per_unit + in_unit
    number = links.tier_number(fabric, at)
    if network.tier is None:
        if at.tier is TierName.SPINE:
            return (1 << (network.pool.bits - 1)) + number
        return (3 << (network.pool.bits - 2)) + number
    subnet, number = divmod(number, network.numbers)
    return subnet * network.size + MANAGEMENT_RESERVED + number


def host_network(fabric: Design, home: int) -> ManagementNetwork | None:
    """Return the network of the BMCs and DPUs of the hosts on a unit's ToRs."""
    return next((each for each in fabric.addresses.management if each.takes(OtherDevices.HOST, home)), None)


def switch_network(fabric: Design) -> ManagementNetwork | None:
    """Return the network of the management switches."""
    return next((each for each in fabric.addresses.management if each.tier is OtherDevices.OOB), None)


def host_block(fabric: Design, network: ManagementNetwork) -> int:
    """Addresses of the hosts of a unit."""
    return fabric.strides.host * network.per_host


def unit_place(fabric: Design, network: ManagementNetwork, unit: Unit) -> tuple[int, int]:
    """Return the subnet of a unit's hosts and their block in it.

    Units that share ToRs count from the last block down.
    """
    if unit.beside is None:
        at = unit.coordinate - network.first
        return divmod(at, network.units) if network.units else (0, at)
    each = max(1, network.room // host_block(fabric, network))
    return divmod(network.subnets * each - 1 - (unit.coordinate - GUEST_UNITS), each)


def endpoint_place(fabric: Design, unit: Unit, slot: int, number: int) -> ManagementPlace | None:
    """Return where a host has the address of an endpoint by its coordinates; None in no network."""
    if (network := host_network(fabric, unit.home)) is None:
        return None
    subnet, block = unit_place(fabric, network, unit)
    inside = block * host_block(fabric, network) + slot * network.per_host + number
    return ManagementPlace(network, subnet * network.size + MANAGEMENT_RESERVED + inside)


def switch_place(fabric: Design, switches: ManagementSwitches, name: str) -> ManagementPlace | None:
    """Return where a management switch has its address by its number; None in no network."""
    if (network := switch_network(fabric)) is None:
        return None
    subnet, number = divmod(switches.number(name), network.numbers)
    return ManagementPlace(network, subnet * network.size + MANAGEMENT_RESERVED + number)


class Owner(NamedTuple):
    """A management address that is no fabric switch's: whose it is, and whether a table gives it."""

    device: str
    endpoint: str
    place: ManagementPlace
    given: bool = False


def address_owners(fabric: Design) -> Iterator[Owner]:
    """List management addresses other than those of the fabric's switches: of management switches, then of hosts."""
    given = fabric.out_of_band.given

    def owner(device: str, endpoint: str, place: ManagementPlace) -> Owner:
        if (offset := given.get((device, endpoint))) is None:
            return Owner(device, endpoint, place)
        return Owner(device, endpoint, place._replace(offset=offset), True)

    if switches := fabric.out_of_band.switches:
        for name in switches.names:
            if place := switch_place(fabric, switches, name):
                yield owner(name, MANAGEMENT_PORT, place)
    if not any(each.tier is OtherDevices.HOST for each in fabric.addresses.management):
        return
    found = [management_endpoints(model) for model in fabric.host_models]
    for unit in fabric.units.values():
        for slot, host in unit.hosts.items():
            for endpoint in found[unit.group]:
                if place := endpoint_place(fabric, unit, slot, endpoint.number):
                    yield owner(host, endpoint.name, place)
