"""The management and out-of-band networks: subnets, gateways, members, and the switches that their cables lead to."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, Pool
from fabricc.fabric.shape import Slot, TierName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.catalog.model import HostModel, SwitchModel
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
