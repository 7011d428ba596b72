"""Management addresses in closed form: of switches, of BMCs and DPUs, and of the management switches themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric import links, out_of_band
from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.fabric.shape import GUEST_UNITS, SwitchId, TierName, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.design import Design


class ManagementPlace(NamedTuple):
    """The network of a switch and the offset of its address there."""

    network: out_of_band.ManagementNetwork
    offset: int

    @property
    def address(self) -> str:
        """The address, without prefix length."""
        return self.network.pool.address(self.offset)


def management_network(fabric: Design, at: SwitchId) -> out_of_band.ManagementNetwork | None:
    """Return the first network that takes a switch."""
    return next((each for each in fabric.addresses.management if each.takes(at.tier, at.unit)), None)


def management_place(fabric: Design, at: SwitchId) -> ManagementPlace:
    """Return the place of a switch's management address; planning rejects a switch without a network."""
    network = management_network(fabric, at)
    assert network is not None
    return ManagementPlace(network, management_offset(fabric, at, network))


def management_offset(fabric: Design, at: SwitchId, network: out_of_band.ManagementNetwork) -> int:
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


def host_network(fabric: Design, home: int) -> out_of_band.ManagementNetwork | None:
    """Return the network of the BMCs and DPUs of the hosts on a unit's ToRs."""
    return next(
        (each for each in fabric.addresses.management if each.takes(out_of_band.OtherDevices.HOST, home)),
        None,
    )


def switch_network(fabric: Design) -> out_of_band.ManagementNetwork | None:
    """Return the network of the management switches."""
    return next(
        (each for each in fabric.addresses.management if each.tier is out_of_band.OtherDevices.OOB), None
    )


def host_block(fabric: Design, network: out_of_band.ManagementNetwork) -> int:
    """Addresses of the hosts of a unit."""
    return fabric.strides.host * network.per_host


def unit_place(fabric: Design, network: out_of_band.ManagementNetwork, unit: Unit) -> tuple[int, int]:
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


def switch_place(
    fabric: Design, switches: out_of_band.ManagementSwitches, name: str
) -> ManagementPlace | None:
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
                yield owner(name, out_of_band.MANAGEMENT_PORT, place)
    if not any(each.tier is out_of_band.OtherDevices.HOST for each in fabric.addresses.management):
        return
    found = [out_of_band.management_endpoints(model) for model in fabric.host_models]
    for unit in fabric.units.values():
        for slot, host in unit.hosts.items():
            for endpoint in found[unit.group]:
                if place := endpoint_place(fabric, unit, slot, endpoint.number):
                    yield owner(host, endpoint.name, place)
