"""From coordinates to devices: one host of a fabric."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric import links
from fabricc.fabric.model import Host, HostPort, Peer
from fabricc.fabric.naming import host_port_name
from fabricc.fabric.queue_pairs import queue_pairs
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from fabricc.catalog.model import HostModel
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.design import Design
    from fabricc.fabric.shape import Attachment


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
    return Host(
        name=name,
        cluster=fabric.cluster,
        model=model,
        unit=coordinate,
        slot=slot,
        rail_isolated=shape.rails_apart,
        ports=tuple(ports),
        classes=fabric.qos[f"tor{fabric.units[unit.home].group}"].classes,
        fabric_prefixes4=evpn.reached(unit.group, 4) if evpn else _pool_prefix(addresses.hosts4),
        fabric_prefixes6=evpn.reached(unit.group, 6) if evpn else _pool_prefix(addresses.hosts6),
        outside4=outward(4) if addresses.hosts4 else (),
        outside6=outward(6) if addresses.hosts6 else (),
        recommended_qps=queue_pairs(fabric.paths(unit.group), fabric.load_balancing),
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
