"""The Fabric: everything decided, in closed form; any device can be computed alone from its coordinates.

So can the queue pairs that a connection needs to use the fabric's parallel paths.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import expand, links
from fabricc.fabric.design import Design
from fabricc.fabric.model import CableRow, Host, HostPort, Peer, Switch
from fabricc.fabric.naming import host_port_name, switch_name
from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.fabric.shape import Attachment, DeviceId, HostId, SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from fabricc.catalog.model import HostModel
    from fabricc.fabric.addresses import Pool


@dataclass(frozen=True, slots=True)
class Fabric(Design):
    """A whole fabric: its design, and every device and cable of it, each made on demand.

    Attributes:
        networks: as of a design, with the devices of each.
    """

    networks: tuple[Fabric, ...] = ()

    def kinds(self) -> Iterator[SwitchId]:
        """Yield one switch of every kind that a back end could treat differently."""
        seen: set[tuple[object, ...]] = set()
        alone = self.changes.keys() | self.external.exits.keys()
        for switch in self.switch_ids():
            name = switch_name(self, switch) if alone else ""
            group = self.units[switch.unit].group if switch.tier is TierName.TOR else -1
            key = (switch.tier, group, name if name in alone else None, self._has_tenants(switch))
            if key not in seen:
                seen.add(key)
                yield switch

    def host_kinds(self) -> Iterator[HostId]:
        """Yield one host of every kind that its files could treat differently."""
        seen: set[tuple[object, ...]] = set()
        of_tenants = self.tenancy.of_host if self.tenancy else {}
        for host in self.host_ids():
            unit = self.units[host.unit]
            name = unit.hosts[host.slot]
            key = (unit.group, self.units[unit.home].group, name in of_tenants, name in self.guests)
            if key not in seen:
                seen.add(key)
                yield host

    def _has_tenants(self, switch: SwitchId) -> bool:
        """Return whether a port of a ToR belongs to a tenant."""
        if self.tenancy is None or switch.tier is not TierName.TOR:
            return False
        served = links.served_slots(self, switch)
        return any(unit.hosts[slot] in self.tenancy.of_host for unit, slots, _ in served for slot in slots)

    def with_far_ends(self, names: Set[str]) -> set[str]:
        """These devices, and what stands at the far ends of the cables of those that are switches."""
        found = set(names)
        for at in self.switch_ids() if names else ():
            if self.name(at) in names:
                found.update(link.peer for link in links.switch_links(self, at))
        return found

    def name(self, switch: SwitchId) -> str:
        """Return the name of a switch."""
        return switch_name(self, switch)

    def switch(self, switch: SwitchId) -> Switch:
        """Return one switch, in time proportional to its ports."""
        return expand.expand_switch(self, switch)

    def host(self, host: HostId) -> Host:
        """Return one host, in time proportional to its rails."""
        return expand_host(self, host.unit, host.slot)

    def find(self, name: str) -> DeviceId | None:
        """Return the switch or host of that name, or None."""
        for switch in self.switch_ids():
            if switch_name(self, switch) == name:
                return switch
        for coordinate, unit in self.units.items():
            for slot, host in unit.hosts.items():
                if host == name:
                    return HostId(coordinate, slot)
        return None

    def cables(self) -> Iterator[CableRow]:
        """Yield every cable, lower end first, in the order of `switch_ids`."""
        for unit in self.units:
            for tor in self.tor_ids(unit):
                yield from expand.tor_cables(self, tor)
        if self.shape.cores:
            for switch in self.switch_ids():
                if switch.tier is TierName.SPINE:
                    yield from expand.spine_cables(self, switch)


class _Nic(NamedTuple):
    """A NIC port that all hosts of a group have; `tor` is the number of its ToR in the set."""

    rail: int
    nic_port: int
    tor: int
    rdma: str
    pci: str
    table: int
    metric: int | None
    on_nic: int
    second_pci: str


def _expand_nics(attached: Attachment, model: HostModel, network: str, number: int) -> list[_Nic]:
    """Return the NIC ports of hosts of a model that are attached in this way, in the network with this number."""
    found = []
    for rail, nic_port in product(range(attached.rails), attached.present):
        name = host_port_name(attached.nic_ports, rail, nic_port, network)
        at, (nic, on_nic) = rail * attached.nic_ports + nic_port, attached.nic(rail, nic_port)
        rdma, pci = (
            f"{model.nic.rdma_prefix}_{name.replace('rail', 'r')}",
            model.pci[nic] if model.pci else "",
        )
        table, metric = 100 + 1000 * number + at, 100 + at if network else None
        second = model.second_pci[nic] if model.second_pci else ""
        of_set = rail // attached.rails_per_tor
        found.append(_Nic(rail, nic_port, of_set, rdma, pci, table, metric, on_nic, second))
    return found


def expand_host(fabric: Design, coordinate: int, slot: int) -> Host:
    """Compute one host from its coordinates."""
    shape, addresses, unit = fabric.shape, fabric.addresses, fabric.units[coordinate]
    model = fabric.host_models[unit.group]
    attached, outward, evpn = fabric.attachments[unit.group], fabric.external.prefixes, fabric.evpn
    segment = evpn.segment(unit.group) if evpn else None
    length4, gateway4 = _segment_route(segment.subnet4) if segment else ("/31", None)
    length6, gateway6 = _segment_route(segment.subnet6) if segment else ("/127", None)
    first, mtu, fabrics = attached.seat(slot)[0] * attached.tors, fabric.host_mtu, shape.fabrics
    ports = []
    for rail, nic_port, of_set, rdma, pci, table, metric, on_nic, second in _expand_nics(
        attached, model, fabric.network, fabric.number
    ):
        tor = links.serving_tor(fabric, unit, first + of_set, nic_port)
        far = tor.far
        at, _, _, _, name, _, cable_m, medium, _, tor4, own4, tor6, own6, _ = tor.values(slot, rail)
        ports.append(
            HostPort(
                name, rail, nic_port, rdma, pci, far.layout.slots[at].speed_gbps, mtu, cable_m, medium,
                Peer(far.name, far.ports[at]), own4 and own4 + length4, own4 and (gateway4 or tor4),
                own6 and own6 + length6, own6 and (gateway6 or tor6), table, far.at.plane % fabrics, metric, on_nic,
                second,
            )
        )  # fmt: skip
    name = unit.hosts[slot]
    parties = fabric.tenancy.parties_of(name) if fabric.tenancy else None
    return Host(
        name=name,
        cluster=fabric.cluster,
        model=model,
        unit=coordinate,
        slot=slot,
        rail_isolated=shape.rails_apart,
        ports=tuple(ports),
        classes=fabric.qos[f"tor{fabric.units[unit.home].group}"].classes,
        fabric_prefixes4=evpn.reachable_prefixes(unit.group, 4) if evpn else _pool_prefix(addresses.hosts4),
        fabric_prefixes6=evpn.reachable_prefixes(unit.group, 6) if evpn else _pool_prefix(addresses.hosts6),
        outside4=outward(4, parties) if addresses.hosts4 else (),
        outside6=outward(6, parties) if addresses.hosts6 else (),
        recommended_qps=queue_pairs(fabric.paths(unit.group), fabric.load_balancing, model.nic.queue_pairs),
        planes=fabric.fabrics,
        spreads_packets=fabric.load_balancing.mode is Spreading.PACKET,
        os=fabric.host_systems[unit.group],
        rdma_class=fabric.host_classes[unit.group],
        network=fabric.network,
        guest=name in fabric.guests,
        beside=tuple(each.network for each in fabric.networks if name in each.guests),
        rails_elsewhere=fabric.rails_elsewhere and model.gpus > 0,
        rack=fabric.racks.get(name, ""),
        domain=fabric.domain(unit, name),
        socket_interface=fabric.socket_interface(unit.group),
        leave_out=fabric.host_leave_outs[unit.group] if fabric.host_leave_outs else (),
    )


def _segment_route(subnet: Pool | None) -> tuple[str, str | None]:
    """Return the prefix length of addresses in the subnet of a segment, and its gateway."""
    return (f"/{subnet.length}", subnet.address(1)) if subnet else ("", None)


def _pool_prefix(pool: Pool | None) -> tuple[str, ...]:
    return (str(pool),) if pool else ()


MOST = 4
"""Queue pairs of a connection at most (assumed: no document gives a figure for a path count).

NCCL's default is 1, and its user guide advises more for fabrics of several tiers, up to 128. Every one costs context
memory in the NIC for each peer: the manual of Ascend's HCCL, for the same setting, finds no gain beyond 8 and shows 4.
"""


def queue_pairs(paths: int, balancing: LoadBalancing, least: int = 1) -> int:
    """Queue pairs per connection, for NCCL_IB_QPS_PER_CONNECTION and UCX_IB_NUM_PATHS.

    A queue pair has one UDP source port, and so takes one path where switches hash flows or flowlets: there are as
    many as paths, at most `MOST`. Where switches spread packets, one queue pair takes every path already.

    Args:
        paths: equal-cost ways from the host's ToRs to others, see `Fabric.paths`.
        balancing: how switches spread.
        least: queue pairs that the NIC needs for the speed of a port.
    """
    return max(least, 1 if balancing.mode is Spreading.PACKET else min(MOST, paths))
