"""The management and out-of-band networks: subnets, gateways, members, the switches of their rows and the cables."""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, Pool
from fabricc.fabric.model import CableRow
from fabricc.fabric.shape import Slot, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableKind


class OtherDevices(StrEnum):
    """A kind of device outside the fabric that has management addresses."""

    HOST = "host"
    OOB = "oob"


IN_UNITS = (TierName.TOR, OtherDevices.HOST)
"""Device kinds that belong to units, so a network may cover some units only."""


@dataclass(frozen=True, slots=True)
class ManagementNetwork:
    """Management addresses of switches, or of BMCs and DPUs, in subnets of one length with a gateway each.

    Attributes:
        key: its key in the spec, such as `management.networks[0]`.
        pool: the prefix of the whole network.
        length: prefix length of each subnet.
        gateway: offset of the gateway in each subnet.
        tier: the tier or kind of its devices; None for all switches that no earlier network includes, each tier with
            a part of the pool.
        first, end: range of the units whose ToRs or hosts it includes; `end` None for no upper limit.
        units: number of units per subnet; 0 for all.
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
        """Return whether the network includes the devices of a kind; for ToRs and hosts, those of a unit."""
        if tier is not self.tier:
            return self.tier is None and isinstance(tier, TierName)
        return tier not in IN_UNITS or (self.first <= unit and (self.end is None or unit < self.end))

    @property
    def size(self) -> int:
        """Return the number of addresses of a subnet."""
        return 1 << (self.pool.bits + self.pool.length - self.length)

    @property
    def room(self) -> int:
        """Return the number of switches that fit in a subnet, without the reserved addresses."""
        return max(0, self.first_behind - MANAGEMENT_RESERVED)

    @property
    def first_behind(self) -> int:
        """Return the first offset after those of switches: the gateway if it is not a reserved one, or the last."""
        return self.size - 1 if self.gateway < MANAGEMENT_RESERVED else self.gateway

    @property
    def subnets(self) -> int:
        """Return how many subnets there are."""
        return 1 << (self.length - self.pool.length)

    @property
    def numbers(self) -> int:
        """Return the numbers of spines, cores or management switches per subnet: of several subnets a power of two."""
        return self.room if self.subnets == 1 else 1 << self.room.bit_length() >> 1

    def gateway_of(self, offset: int) -> str:
        """Return the gateway of the subnet that contains an offset."""
        return self.pool.address(offset // self.size * self.size + self.gateway)


def management_prefix(networks: Sequence[ManagementNetwork]) -> str:
    """Return the smallest prefix that contains all management networks of the fabric's switches."""
    pools = [network.pool for network in networks if not isinstance(network.tier, OtherDevices)]
    first = min(pool.first for pool in pools)
    bits = (first ^ max(pool.first + (1 << pool.bits) - 1 for pool in pools)).bit_length()
    whole = pools[0].length + pools[0].bits
    return str(Pool(first >> bits << bits, whole - bits, pools[0].version))


MANAGEMENT_PORT = "management"
"""Name of a switch's management port in tables, on every system."""
MOST_AGGREGATES = 16
"""The first numbers, reserved for aggregation switches; other management switches have higher ones."""


class Endpoint(NamedTuple):
    """A management endpoint of a host: its name, its number in the host's block, the port of its cable."""

    name: str
    number: int
    port: str


def management_endpoints(model: HostModel) -> tuple[Endpoint, ...]:
    """Return the endpoints of a host with management addresses; a DPU has two on one port, its BMC's and its own."""
    ports, nic = model.management, model.management_interface
    return (
        *([Endpoint(nic, 0, nic)] if ports.nic else ()),
        *([Endpoint("bmc", 1, "bmc")] if ports.bmc else ()),
        *(
            Endpoint(f"dpu{dpu}-{end}", 2 + 2 * dpu + index, f"dpu{dpu}")
            for dpu in range(ports.dpus)
            for index, end in enumerate(("bmc", "oob"))
        ),
    )


def host_ports(model: HostModel) -> tuple[str, ...]:
    """Return the management ports of a host that are cabled."""
    return tuple(dict.fromkeys(each.port for each in management_endpoints(model)))


class Port(NamedTuple):
    """A port of a management switch."""

    name: str
    slot: Slot


@dataclass(frozen=True, slots=True)
class Bank:
    """A model of management switches: the ports that lead down, and those that lead up."""

    model: SwitchModel
    down: tuple[Port, ...]
    up: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class ManagementSwitches:
    """The management switches.

    Attributes:
        numbers: switch in a rack -> its number, pinned in the lock; address and uplinks follow from it.
        aggregates: the aggregation switches.
        outside: devices outside the plan that the topmost switches connect to, in turn.
        cable, uplink: cables to devices, and between management switches.
        by_unit: whether a unit counts as one location although its racks are known.
        row: the location of spines and cores that no table contains.
    """

    bank: Bank
    aggregation: Bank | None
    numbers: Mapping[str, int]
    aggregates: tuple[str, ...]
    outside: tuple[str, ...]
    cable: CableKind
    uplink: CableKind
    by_unit: bool
    row: str

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all management switches, aggregation switches first."""
        return (*self.aggregates, *self.numbers)

    def number(self, name: str) -> int:
        """Return the number of a switch among all management switches."""
        if name in self.numbers:
            return MOST_AGGREGATES + self.numbers[name]
        return self.aggregates.index(name)


@dataclass(frozen=True, slots=True)
class OutOfBand:
    """The parts of the out-of-band network that do not follow from coordinates.

    Attributes:
        racks: device -> rack, for devices in a table.
        given: (device, endpoint) -> offset of its address in its network, for addresses in a table.
        switches: the management switches; None if none are planned.
    """

    racks: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[tuple[str, str], int] = field(default_factory=dict)
    switches: ManagementSwitches | None = None


class Socket(NamedTuple):
    """A management port of a device."""

    device: str
    port: str


@dataclass(slots=True)
class Site:
    """A rack or unit: management ports of its switches in order, and of its hosts by position.

    Attributes:
        room: positions that are kept for the hosts of a unit.
    """

    switches: list[Socket] = field(default_factory=list)
    hosts: dict[int, Socket] = field(default_factory=dict)
    room: int = 0

    def seats(self, ports: int) -> Iterator[tuple[int, int, Socket]]:
        """Number of the switch, of its port, and what is cabled to it, where each switch has so many ports.

        Hosts take ports from the first on, in the order of their positions, and the switches of the fabric from the
        last port down, so that neither moves the other before a switch is full.
        """
        for index, socket in enumerate(self.switches):
            turn, back = divmod(index, ports)
            yield turn, ports - 1 - back, socket
        full, taken = divmod(len(self.switches), ports)
        for position, socket in self.hosts.items():
            turn, port = divmod(position - (ports - taken), ports)
            yield (full, position, socket) if turn < 0 else (full + 1 + turn, port, socket)

    def count_switches(self, ports: int) -> int:
        """Switches that it takes."""
        return 1 + max((turn for turn, _, _ in self.seats(ports)), default=-1)


def management_sites(fabric: Fabric, by_unit: bool, row: str) -> dict[str, Site]:
    """Return every rack or unit that management ports are in, by name, in the order of units."""
    found: dict[str, Site] = {}
    racks: Mapping[str, str] = {} if by_unit else {**fabric.racks, **fabric.out_of_band.racks}
    homes = {
        host: fabric.units[unit.home].name for unit in fabric.units.values() for host in unit.hosts.values()
    }

    def site(name: str) -> Site:
        return found.setdefault(rack_slug(name), Site())

    for network in (fabric, *fabric.networks):
        for at in network.switch_ids():
            name, place = network.name(at), row
            if at.tier is TierName.TOR and (hosts := network.units[at.unit].hosts):
                place = homes.get(next(iter(hosts.values())), network.units[at.unit].name)
            site(racks.get(name, place)).switches.append(Socket(name, MANAGEMENT_PORT))
    ports = [host_ports(model) for model in fabric.host_models]
    racked: list[tuple[str, int, str]] = []
    for unit in fabric.units.values():
        if not unit.hosts:
            continue
        home, each = fabric.units[unit.home].name, len(ports[unit.group])
        own = site(home)
        start = own.room
        own.room += fabric.attachments[unit.group].slots * each
        for slot, host in unit.hosts.items():
            if rack_slug(racks.get(host, home)) != rack_slug(home):
                racked.append((racks[host], unit.group, host))
                continue
            for index, port in enumerate(ports[unit.group]):
                own.hosts[start + slot * each + index] = Socket(host, port)
    for rack, group, host in racked:
        here = site(rack)
        start = max((here.room - 1, *here.hosts)) + 1
        here.hosts |= {start + index: Socket(host, port) for index, port in enumerate(ports[group])}
    return {name: each for name, each in found.items() if each.switches or each.hosts}


def rack_slug(name: str) -> str:
    """Return a rack's name as part of a device's: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "rack"


def switch_name(place: str, index: int) -> str:
    """`oob-a01-1`: the first management switch of a rack or unit."""
    return f"oob-{place}-{index + 1}"


def aggregate_name(index: int) -> str:
    """`oob-agg1`: an aggregation switch of the out-of-band network."""
    return f"oob-agg{index + 1}"


class Cable(NamedTuple):
    """A cable of the out-of-band network, and the slots of its ends; None at a device's management port."""

    row: CableRow
    lower: Port | None
    upper: Port | None


def management_cables(fabric: Fabric) -> Iterator[Cable]:
    """Yield every cable of the out-of-band network: to devices, then between management switches, then out."""
    if (planned := fabric.out_of_band.switches) is None:
        return
    down, cable = planned.bank.down, planned.cable
    for place, site in management_sites(fabric, planned.by_unit, planned.row).items():
        for turn, port, socket in sorted(site.seats(len(down))):
            upper = down[port]
            ends = (*socket, switch_name(place, turn), upper.name)
            row = CableRow(*ends, upper.slot.speed_gbps, cable.medium, cable.length_m, "management")
            yield Cable(row, None, upper)
    above, uplink = planned.aggregation, planned.uplink
    if above is not None:
        uplinks = len(planned.bank.up)
        for name, number in planned.numbers.items():
            for index, lower in enumerate(planned.bank.up):
                port, turn = divmod(number * uplinks + index, len(planned.aggregates))
                upper = above.down[port]
                ends = (name, lower.name, planned.aggregates[turn], upper.name)
                row = CableRow(
                    *ends, lower.slot.speed_gbps, uplink.medium, uplink.length_m, "management-uplink"
                )
                yield Cable(row, lower, upper)
    top, names = (above, planned.aggregates) if above else (planned.bank, tuple(planned.numbers))
    for name in names if planned.outside else ():
        for index, lower in enumerate(top.up):
            ends = (name, lower.name, planned.outside[index % len(planned.outside)], "")
            row = CableRow(
                *ends, lower.slot.speed_gbps, uplink.medium, uplink.length_m, "management-external"
            )
            yield Cable(row, lower, None)
