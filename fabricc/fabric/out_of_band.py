"""The out-of-band network itself: what of hosts is in it, and the switches that its cables lead to."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.model import CableKind
    from fabricc.fabric.shape import Slot

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
