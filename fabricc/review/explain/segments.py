"""An address in a segment: the gateway's, or that of the host's port which has it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_interface
from typing import TYPE_CHECKING

from fabricc.fabric.addresses import unit_number
from fabricc.fabric.evpn import RESERVED, Segment
from fabricc.fabric.shape import HostId
from fabricc.review.explain.model import Details, Explanation, single_explanation
from fabricc.review.explain.pools import offset_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, HostPort
    from fabricc.review.explain.origins import PlanSources

    Address = IPv4Address | IPv6Address

DOCS = "fabricc docs evpn"
GATEWAY_RULE = "The first address of a segment's subnet is that of its gateway, the same on every ToR."
HOST_RULE = (
    "Hosts of a segment are numbered by unit, ToR, rail and host, from the 17th address of its subnet on: "
    "growth moves none."
)


def segment_address(plan: PlanSources, address: Address) -> Explanation | None:
    """Return the owner of the address that lies in the subnet of a segment; None for another."""
    fabric = plan.fabric
    for segment in fabric.evpn.segments if fabric.evpn else ():
        subnet = segment.subnet4 if address.version == 4 else segment.subnet6
        offset = offset_in(subnet, address) if subnet else None
        if subnet is None or offset is None:
            continue
        key = f"evpn.segments.{segment.name}.{'subnet' if address.version == 4 else 'subnet6'}"
        where = (
            ("segment", f"{segment.name}, VLAN {segment.vlan}, VNI {segment.vni}"),
            ("subnet", str(subnet)),
        )
        if offset == 1:
            return _explain_segment(plan, address, f"gateway of {segment.name}", where, GATEWAY_RULE, key)
        for host, port in _segment_ports(fabric, segment, offset):
            if address in (ip_interface(own).ip for own in (port.ipv4, port.ipv6) if own):
                details = (
                    ("device", host.name),
                    ("port", port.name),
                    ("far end", f"{port.peer.device} {port.peer.port}"),
                )
                return _explain_segment(
                    plan, address, f"{host.name} {port.name}", (*details, *where), HOST_RULE, key
                )
        return _explain_segment(plan, address, "not assigned", where, HOST_RULE, key)
    return None


def _explain_segment(
    plan: PlanSources, address: Address, title: str, details: Details, rule: str, key: str
) -> Explanation:
    return single_explanation("address", str(address), title, details, rule, plan.all_of([key]), docs=DOCS)


def _segment_ports(fabric: Fabric, segment: Segment, offset: int) -> Iterator[tuple[Host, HostPort]]:
    """Yield the host ports of the unit of an offset."""
    strides, evpn = fabric.strides, fabric.evpn
    if evpn is None or offset < RESERVED:
        return
    number = (offset - RESERVED) // (strides.rail * strides.host * strides.nic_port * strides.group)
    for coordinate, unit in fabric.units.items():
        if unit_number(strides, coordinate) == number and evpn.segment(unit.group) is segment:
            for slot in unit.hosts:
                host = fabric.host(HostId(coordinate, slot))
                yield from ((host, port) for port in host.ports)
