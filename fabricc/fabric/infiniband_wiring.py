"""Switches and hosts of a subnet with port numbers, GUIDs and LIDs at both ends of every link.

Ports are counted as the subnet manager does, lanes and rates written as `ibnetdiscover` does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fabricc.catalog.rates import generation_at
from fabricc.fabric import infiniband as identity
from fabricc.fabric import links
from fabricc.fabric.infiniband import Host, HostPort, InfinibandFabric, Switch, SwitchEnd
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import host_port_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbors import Link
    from fabricc.fabric.shape import Attachment, PortLayout, Slot, SwitchId


def switch_guid(ib: InfinibandFabric, at: SwitchId) -> int:
    """Return the node GUID of a switch: the real one, or its placeholder."""
    return ib.guids.get(ib.wiring.name(at)) or identity.switch_guid(at, ib.wiring.number)


def _rails_by_name(wiring: Fabric, attached: Attachment) -> dict[str, tuple[int, int]]:
    """Name of each port of hosts that are attached so -> rail and port of the NIC."""
    return {
        host_port_name(attached.nic_ports, rail, port, wiring.network): (rail, port)
        for rail in range(attached.rails)
        for port in attached.present
    }


class Subnet:
    """The devices of one subnet, made one at a time in the fabric's order.

    Attributes:
        ib: the fabric; `number`: which of its subnets, from 0.
    """

    def __init__(self, ib: InfinibandFabric, number: int) -> None:
        self.ib, self.number = ib, number
        wiring = ib.wiring
        self._switches = {
            wiring.name(at): at for at in wiring.switch_ids() if at.plane % wiring.shape.fabrics == number
        }
        self._slots = {
            host: (coordinate, slot)
            for coordinate, unit in wiring.units.items()
            for slot, host in unit.hosts.items()
        }
        self._rails = [_rails_by_name(wiring, each) for each in wiring.attachments]
        self._ports: dict[str, dict[str, int]] = {}

    def switches(self) -> Iterator[Switch]:
        """Yield every switch: ToRs by unit, then spines, then cores."""
        for name, at in self._switches.items():
            yield self._switch(name, at)

    def host_ports(self) -> Iterator[HostPort]:
        """Yield every host port of the subnet: by unit, slot and rail."""
        for host in expand_hosts(self.ib):
            yield from (port for port in host.ports if port.subnet == self.number)

    def _switch(self, name: str, at: SwitchId) -> Switch:
        wiring = self.ib.wiring
        layout = links.port_layout(wiring, at)
        ends = [
            self._end(link, layout, layout.slots[link.slot])
            for link in links.switch_links(wiring, at)
            if not link.shutdown
        ]
        return Switch(
            name=name,
            tier=at.tier,
            guid=switch_guid(self.ib, at),
            lid=self.ib.lids.switch(wiring.shape, at),
            ports=port_count(layout),
            ends=tuple(sorted(ends, key=lambda end: end.port)),
        )

    def _end(self, link: Link, layout: PortLayout, used: Slot) -> SwitchEnd:
        ib, shape = self.ib, self.ib.wiring.shape
        port, word = port_number(layout, used), speed_word(used.speed_gbps, used.lanes)
        if link.direction is Direction.HOST:
            unit, slot = self._slots[link.peer]
            rail, nic_port = self._rails[ib.wiring.units[unit].group][link.peer_port]
            guid = ib.guids.get(f"{link.peer}/{link.peer_port}")
            guid = guid or identity.host_port_guid(shape, unit, slot, rail, nic_port, ib.wiring.number)
            lid = ib.lids.host_port(shape, unit, slot, rail, nic_port)
            peer = f"{link.peer} {rdma_name(ib, unit, link.peer_port)}"
            return SwitchEnd(port, peer, guid, lid, 1, True, word)
        peer_at = self._switches[link.peer]
        lid = ib.lids.switch(shape, peer_at)
        number = self._numbers(peer_at)[link.peer_port]
        guid = switch_guid(ib, peer_at)
        return SwitchEnd(port, link.peer, guid, lid, number, False, word)

    def _numbers(self, at: SwitchId) -> dict[str, int]:
        """Port name -> number as InfiniBand counts, of a kind of switch."""
        key = links.layout_key(self.ib.wiring, at)
        if key not in self._ports:
            named = ports_by_name(self.ib.wiring, at)
            self._ports[key] = {name: number for name, (number, _) in named.items()}
        return self._ports[key]


def rdma_name(ib: InfinibandFabric, unit: int, port: str) -> str:
    """Return the RDMA device of a host port: the driver's prefix and the rail."""
    model = ib.wiring.host_models[ib.wiring.units[unit].group]
    return f"{model.nic.rdma_prefix}_{port.replace('rail', 'r')}"


def expand_hosts(ib: InfinibandFabric) -> Iterator[Host]:
    """Yield every host with its ports in rail order."""
    for coordinate, unit in ib.wiring.units.items():
        for slot in unit.hosts:
            yield host_at(ib, coordinate, slot)


def host_at(ib: InfinibandFabric, coordinate: int, slot: int) -> Host:
    """Return the host in that slot of that unit."""
    unit = ib.wiring.units[coordinate]
    system = ib.wiring.host_systems[unit.group] if ib.wiring.host_systems else ""
    leave_out = ib.wiring.host_leave_outs[unit.group] if ib.wiring.host_leave_outs else ()
    name = unit.hosts[slot]
    model = ib.wiring.host_models[unit.group]
    ports = tuple(_host_ports(ib, coordinate, slot, name))
    elsewhere = ib.wiring.rails_elsewhere and model.gpus > 0
    return Host(name, system, model, ports, leave_out, ib.wiring.network, elsewhere)


def _host_ports(ib: InfinibandFabric, unit: int, slot: int, host: str) -> Iterator[HostPort]:
    wiring, shape = ib.wiring, ib.wiring.shape
    model = wiring.host_models[wiring.units[unit].group]
    attached = wiring.attachments[wiring.units[unit].group]
    first = attached.seat(slot)[0] * attached.tors
    for rail in range(attached.rails):
        for nic_port in attached.present:
            tor = links.tor_id(wiring, unit, first + rail // attached.rails_per_tor, nic_port)
            (link,) = links.host_links(wiring, tor, wiring.units[unit], (slot,), (rail,))
            if link.shutdown:
                continue
            label = f"{host}/{link.peer_port}"
            real = ib.guids.get(label)
            layout = links.port_layout(wiring, tor)
            used = layout.slots[link.slot]
            number = rail * shape.nic_ports + nic_port
            yield HostPort(
                label=label,
                host=host,
                name=link.peer_port if wiring.network else f"ib{number}",
                rdma=rdma_name(ib, unit, link.peer_port),
                pci=model.pci[rail] if model.pci and attached.nic_ports == 1 else "",
                rail=rail,
                nic_port=nic_port,
                subnet=tor.plane % shape.fabrics,
                guid=real or identity.host_port_guid(shape, unit, slot, rail, nic_port, wiring.number),
                real_guid=real is not None,
                lid=ib.lids.host_port(shape, unit, slot, rail, nic_port),
                switch=wiring.name(tor),
                switch_guid=switch_guid(ib, tor),
                switch_lid=ib.lids.switch(shape, tor),
                switch_port=port_number(layout, used),
                word=speed_word(used.speed_gbps, used.lanes),
                gbps=used.speed_gbps,
                address=ib.ipoib.address(number, unit, slot) if ib.ipoib else None,
            )


def port_number(layout: PortLayout, slot: Slot) -> int:
    """Return the number of a slot, from 1; the cages of an InfiniBand switch are consecutive.

    All cages have as many numbers as the one that is split most: a switch with one split cage runs in the profile in
    which all can be, and an unsplit cage then has the first of its two numbers (assumed, see the catalog).
    """
    return (slot.cage - layout.slots[0].cage) * _per_cage(layout) + slot.child


def port_count(layout: PortLayout) -> int:
    """Return ports that the switch reports, cabled or not."""
    return (layout.slots[-1].cage - layout.slots[0].cage + 1) * _per_cage(layout)


def ports_by_name(wiring: Fabric, at: SwitchId) -> dict[str, tuple[int, Slot]]:
    """Printed name of each port of a switch -> its number and slot."""
    layout = links.port_layout(wiring, at)
    names = links.port_names(wiring, at)
    return {name: (port_number(layout, slot), slot) for name, slot in zip(names, layout.slots, strict=True)}


@cache
def speed_word(gbps: int, lanes: int) -> str:
    """Lanes and generation of a port: `4xHDR` for 200 Gb/s on four lanes, `2xHDR` for 100 on two."""
    generation = generation_at(gbps, lanes)
    return f"{lanes}x{generation.name if generation else gbps}"


def _per_cage(layout: PortLayout) -> int:
    return max(slot.children for slot in layout.slots)
