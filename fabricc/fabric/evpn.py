"""EVPN-VXLAN: layer-2 segments of hosts across ToRs, each with an anycast gateway (RFC 7432, RFC 8365, RFC 9135).

Every ToR is a VTEP with its loopback as source, and has every segment: a VLAN, the VNI that follows from it, and a
gateway whose address and MAC are the same on all ToRs. Routes between segments stay in their VRF, which has its own VNI
(symmetric IRB, RFC 9135 section 4). Route targets are configured explicitly, because the AS number differs by ToR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric import addresses as adr
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.shape import Strides

VXLAN_BYTES = 50
"""Bytes that VXLAN adds to the IP MTU: outer IPv4, UDP and VXLAN header, and inner Ethernet header (RFC 7348)."""
ROUTE_TARGET_AS = 65000
"""Administrator field of route targets; the VNI is the number field (RFC 4360 section 4)."""
_ABOVE_DERIVED = 20000
"""Added to the number of a route distinguisher; the result fits 16 bits."""
RESERVED = MANAGEMENT_RESERVED
"""Number of reserved addresses at the start of a subnet: the gateway has the first, virtual addresses the others."""


def route_target(vni: int) -> str:
    """Return the route target of a VNI, the same on every ToR."""
    return f"{ROUTE_TARGET_AS}:{vni}"


@dataclass(frozen=True, slots=True)
class Vrf:
    """A routing table that segments share.

    Attributes:
        vlan: VLAN without hosts; `vni` carries routed traffic between ToRs.
    """

    name: str
    vlan: int
    vni: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A VLAN of hosts on all ToRs, and its subnets; None where the family is absent."""

    name: str
    vlan: int
    vni: int
    vrf: str
    subnet4: Pool | None
    subnet6: Pool | None

    @property
    def gateway4(self) -> str | None:
        """The gateway's IPv4 address with the prefix length."""
        return gateway_address(self.subnet4)

    @property
    def gateway6(self) -> str | None:
        """The gateway's IPv6 address with the prefix length."""
        return gateway_address(self.subnet6)


def gateway_address(subnet: Pool | None) -> str | None:
    """Return the first address of a subnet with the prefix length."""
    return f"{subnet.address(1)}/{subnet.length}" if subnet else None


@dataclass(frozen=True, slots=True)
class Evpn:
    """The segments of a fabric.

    Attributes:
        of_group: host group -> index of the segment of its hosts' ports.
        mtu: IP MTU of segments in bytes.
    """

    segments: tuple[Segment, ...]
    vrfs: tuple[Vrf, ...]
    anycast_mac: str
    of_group: tuple[int, ...]
    mtu: int

    def segment(self, group: int) -> Segment:
        """Return the segment of a host group."""
        return self.segments[self.of_group[group]]

    def reachable_prefixes(self, group: int, version: int) -> tuple[str, ...]:
        """Return the subnets of an IP version that hosts of a group reach: those of their VRF."""
        vrf = self.segment(group).vrf
        subnets = (
            each.subnet4 if version == 4 else each.subnet6 for each in self.segments if each.vrf == vrf
        )
        return tuple(str(subnet) for subnet in subnets if subnet)


def route_distinguisher(source: str, number: int) -> str:
    """Return the route distinguisher of a VRF or VLAN with this number at a VTEP (RFC 4364 section 4.2, type 1).

    FRR derives a distinguisher from the router ID and a small number that counts its VRFs and VNIs. It drops an
    `rd` line that states the derived value (`bgp_evpn_vrf_rd_matches_existing`), so ours are far above these.
    """
    return f"{source}:{_ABOVE_DERIVED + number}"


@dataclass(frozen=True, slots=True)
class Vtep:
    """The segments of a ToR.

    Attributes:
        source: its loopback, the source address of VXLAN packets.
    """

    source: str
    segments: tuple[Segment, ...]
    vrfs: tuple[Vrf, ...]
    anycast_mac: str
    mtu: int

    def distinguisher(self, vlan: int) -> str:
        """Return the route distinguisher of a VLAN or VRF: the VTEP's own (RFC 4364 section 4.2, type 1)."""
        return route_distinguisher(self.source, vlan)


def host_offset(strides: Strides, unit: int, group: int, nic_port: int, number: int, rail: int) -> int:
    """Return the offset of the address of a host's port in the subnet of its segment.

    Units use consecutive blocks, so a new unit changes no existing address. `group` and `nic_port` identify its ToR in
    the unit, `number` the host at this ToR, and `rail` the rail among those that share the ToR.
    """
    tor = adr.tor_number(strides, adr.unit_number(strides, unit), group, nic_port)
    return RESERVED + tor * strides.rail * strides.host + adr.in_block(strides, number, rail) // 2


def bits_for(offsets: Iterable[int], version: int) -> int:
    """Return the number of host bits that a subnet needs for these offsets; the last IPv4 address is broadcast."""
    return (max(offsets, default=RESERVED) + (1 if version == 4 else 0)).bit_length()
