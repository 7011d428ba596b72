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


MANAGEMENT_PORT = "management"
"""Name of a switch's management port in tables, on every system."""
MOST_AGGREGATES = 16
"""Numbers kept for aggregation switches; the others follow."""


class Endpoint(NamedTuple):
    """A management endpoint of a host: its name, its number in the host's block, the port of its cable."""

    name: str
    number: int
    port: str


def management_endpoints(model: HostModel) -> tuple[Endpoint, ...]:
    """Return what of a host has management addresses; a DPU has two behind one port, its BMC's and its own."""
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
        outside: devices that the topmost of them lead to, in turn.
        cable, uplink: cables to devices, and between management switches.
        by_unit: one place to a unit, though racks are known.
        row: the place of spines and cores that no table places.
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
        """All of them, those of the aggregation first."""
        return (*self.aggregates, *self.numbers)

    def number(self, name: str) -> int:
        """Return the number of a switch among all."""
        if name in self.numbers:
            return MOST_AGGREGATES + self.numbers[name]
        return self.aggregates.index(name)


@dataclass(frozen=True, slots=True)
class OutOfBand:
    """The parts of the out-of-band network that follow from no coordinate.

    Attributes:
        racks: device -> rack, of those that a table places.
        given: (device, endpoint) -> offset of its address in its network, of those that a table gives one.
        switches: None where none are planned.
    """

    racks: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[tuple[str, str], int] = field(default_factory=dict)
    switches: ManagementSwitches | None = None
