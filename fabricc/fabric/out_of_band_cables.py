"""Cables of the out-of-band network: from management ports to the switches of their rack or unit, and above these."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.model import CableRow
from fabricc.fabric.out_of_band import MANAGEMENT_PORT, Port, host_ports
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.fabric import Fabric


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
