"""An InfiniBand fabric as decided: wiring, identities, partitions, service levels, subnets.

LIDs and GUIDs are closed forms of coordinates, so that growth renumbers nothing.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.shape import Shape, SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import HostModel
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric

PLATFORM = "infiniband"
"""The platform of subnets, switches and hosts, in place of an operating system."""
DEFAULT_PKEY = 0x7FFF
"""Low 15 bits of the default partition's P_Key (IBTA volume 1, 10.9.1.2)."""


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """A traffic class: its service level, and how its virtual lane is served.

    Attributes:
        sl: service level, 0 to 7; the virtual lane has the number of the class in ascending order of levels.
        strict: served before all classes that are not strict (high-priority arbitration table).
        weight_percent: share of what strict classes leave.
    """

    name: str
    sl: int
    strict: bool
    weight_percent: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A tenant.

    Attributes:
        pkey: low 15 bits of its P_Key.
        hosts: in topological order.
        sl: service level of its traffic; None for that of the default class.
        rails: of hosts that it has some ports of, host -> their rails; it has all ports of the others.
    """

    name: str
    pkey: int
    hosts: tuple[str, ...]
    sl: int | None
    rails: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def has_rail(self, host: str, rail: int) -> bool:
        """Return whether the ports on a rail of one of its hosts belong to it."""
        own = self.rails.get(host)
        return own is None or rail in own

    def members(self) -> Iterator[str]:
        """Yield its hosts, and `host/rail N` for each rail of those that it has some ports of."""
        for host in self.hosts:
            own = self.rails.get(host)
            yield from [host] if own is None else [f"{host}/rail{rail}" for rail in own]


@dataclass(frozen=True, slots=True)
class Engine:
    """The routing engines of a subnet manager, first choice first, and why they are these."""

    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class IpoibPlan:
    """IP over InfiniBand: where a host port's address is, `datagram` or `connected`, and the IP MTU in bytes.

    Attributes:
        pool: all addresses; rail-port r has the r-th of `subnets` equal parts.
        host_stride: addresses between neighboring units in a subnet.
    """

    pool: Pool
    subnets: int
    host_stride: int
    mode: str
    mtu: int

    @property
    def bits(self) -> int:
        """Host bits of the subnet of one rail."""
        return self.pool.bits - (self.subnets - 1).bit_length()

    def address(self, rail_port: int, unit: int, slot: int) -> str:
        """Return the address of a host's port, with the prefix length of its subnet."""
        offset = (rail_port << self.bits) + unit * self.host_stride + slot + 1
        return f"{self.pool.address(offset)}/{32 - self.bits}"


@dataclass(frozen=True, slots=True)
class InfinibandFabric:
    """A whole fabric.

    Attributes:
        wiring: the cabling, in the closed form of every fabric; its addresses and ASNs are not used.
        guids: real GUIDs by name (`su001-tor1a`, `su001-host01/rail0`); names it lacks have placeholders.
        classes: ascending by service level; the class at index i has virtual lane i.
    """

    wiring: Fabric
    lids: LidPlan
    guids: Mapping[str, int]
    engine: Engine
    classes: tuple[ServiceClass, ...]
    partitions: tuple[Partition, ...]
    ipoib: IpoibPlan | None

    @property
    def subnets(self) -> int:
        """How many there are: each part that no switch joins to another has a subnet manager and prefix."""
        return self.wiring.fabrics

    def counts(self) -> dict[str, int]:
        """Totals as those of every fabric, and how many subnets there are."""
        return {**self.wiring.counts(), "subnets": self.subnets}


@dataclass(frozen=True, slots=True)
class SwitchEnd:
    """A cabled port of a switch: its number, what is at the other end, and the link.

    Attributes:
        peer_port: the peer's port number as InfiniBand counts; 1 on an adapter.
        word: lanes and generation as `ibnetdiscover` prints them, e.g. `4xNDR`.
    """

    port: int
    peer: str
    peer_guid: int
    peer_lid: int
    peer_port: int
    to_host: bool
    word: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of one subnet; `ports` counts all external ports, `ends` those that are cabled."""

    name: str
    tier: TierName
    guid: int
    lid: int
    ports: int
    ends: tuple[SwitchEnd, ...]


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of a host's adapter.

    Attributes:
        label: `host/rail0`, as the file of GUIDs calls it.
        name: netdev of IP over InfiniBand.
        rdma: RDMA device; the adapter's node description is `host rdma`.
    """

    label: str
    host: str
    name: str
    rdma: str
    pci: str
    rail: int
    nic_port: int
    subnet: int
    guid: int
    real_guid: bool
    lid: int
    switch: str
    switch_guid: int
    switch_lid: int
    switch_port: int
    word: str
    gbps: int
    address: str | None

    @property
    def description(self) -> str:
        """Node description: host and RDMA device, as `rdma-ndd` sets it."""
        return f"{self.host} {self.rdma}"


@dataclass(frozen=True, slots=True)
class Host:
    """A host with its ports in rail order; `os`, `model` and `leave_out` are those of its host group.

    Attributes:
        network: the further network that its ports are in; "" for the rails.
        rails_elsewhere: whether another spec describes its rails, and what a host has once, such as limits.
    """

    name: str
    os: str
    model: HostModel
    ports: tuple[HostPort, ...] = field(default_factory=tuple)
    leave_out: tuple[str, ...] = ()
    network: str = ""
    rails_elsewhere: bool = False


MOST_LIDS = 0xBFFF
"""Unicast LIDs of a subnet are 0x0001 to 0xBFFF: 49,151 (IBTA volume 1, 4.1.3)."""
PLACEHOLDER = 0x02FAB
"""First 20 bits of a placeholder GUID of the rails; a further network adds its number.

The second bit of the first octet means locally administered (EUI-64).
"""
_SUBNET_PREFIX = 0xFE80000000000000
"""Default GID prefix (IBTA volume 1, 4.1.1)."""
_MOST_NETWORKS = 8
"""The rails and further networks of the same hosts, which are numbered from 1 to 7."""
_SUBNETS = 16
"""Subnet prefixes of a network before those of the next one; further ones follow those of all networks."""
_KINDS = {TierName.CORE: 1, TierName.SPINE: 2, TierName.TOR: 3}
_HOST_KIND = 4


@dataclass(frozen=True, slots=True)
class LidPlan:
    """The start of the LIDs of a subnet: cores from 1, then spines by pod, then units one after the other.

    Attributes:
        spine: first LID of the spines; `unit`: first LID of the units.
        slots: host slots that a unit has room for.
        rails: rails of a host that a subnet has room for.
    """

    spine: int
    unit: int
    slots: int
    rails: int

    def unit_size(self, shape: Shape) -> int:
        """LIDs of one unit: its ToRs of the subnet, then its host ports."""
        return shape.tors_per_unit_fabric + self.slots * self.rails * shape.sides

    def switch(self, shape: Shape, at: SwitchId) -> int:
        """Return the LID of a switch."""
        if at.tier is TierName.CORE:
            return 1 + at.index
        if at.tier is TierName.SPINE:
            joined = at.pod * spine_sets(shape) + at.plane // shape.fabrics
            return self.spine + joined * shape.spines + at.index
        return self.unit + at.unit * self.unit_size(shape) + shape.in_fabric(at.index, at.nic_port)

    def host_port(self, shape: Shape, unit: int, slot: int, rail: int, nic_port: int) -> int:
        """Return the LID of a host port."""
        in_unit = (slot * self.rails + rail % self.rails) * shape.sides + nic_port // shape.port_planes
        return self.unit + unit * self.unit_size(shape) + shape.tors_per_unit_fabric + in_unit

    def top(self, shape: Shape, units: int) -> int:
        """Return the highest LID with so many units."""
        return self.unit + units * self.unit_size(shape) - 1


def subnet_rails(shape: Shape) -> int:
    """Return how many rails of a host one subnet has: all, or a group of neighbors if rails are separate subnets."""
    return shape.rails // shape.rail_planes if shape.rails_apart else shape.rails


def spine_sets(shape: Shape) -> int:
    """Return the sets of spines that a pod has in one subnet: one, or those of all rails where cores join them."""
    return shape.planes // shape.fabrics


def subnet_prefix(network: int, subnet: int) -> int:
    """Return the GID prefix of a subnet, which differs from that of every other subnet of its hosts.

    Args:
        network: number of the network, 0 for the rails.
        subnet: its number in that network.
    """
    more, number = divmod(subnet, _SUBNETS)
    return _SUBNET_PREFIX + (more * _MOST_NETWORKS + network) * _SUBNETS + number


def switch_guid(at: SwitchId, network: int) -> int:
    """Return the placeholder GUID of a switch: network, kind, plane, pod or unit, number."""
    place = at.unit if at.tier is TierName.TOR else at.pod
    index = at.index * 16 + at.nic_port if at.tier is TierName.TOR else at.index
    return _planned_guid(network, _KINDS[at.tier], at.plane, place, index)


def host_port_guid(shape: Shape, unit: int, slot: int, rail: int, nic_port: int, network: int) -> int:
    """Return the placeholder GUID of a host port."""
    in_unit = (slot * shape.rails + rail) * shape.sides + nic_port // shape.port_planes
    plane = shape.plane(rail // shape.rails_per_tor, nic_port)
    return _planned_guid(network, _HOST_KIND, plane, unit, in_unit)


def is_placeholder(guid: int) -> bool:
    """Return whether a GUID is one of those that fabricc plans until the real one is known."""
    return guid >> 44 in range(PLACEHOLDER, PLACEHOLDER + _MOST_NETWORKS)


def _planned_guid(network: int, kind: int, plane: int, place: int, index: int) -> int:
    """20 bits of prefix, 4 of kind, 4 of plane, 16 of place, 16 of index; the last 4 are 0, for ports of a node.

    From each 16th plane on, as of eight rails with four ports, the next four numbers stand for the four kinds.
    """
    more, plane = divmod(plane, 16)
    kind = (kind + 4 * more) % 16
    return ((PLACEHOLDER + network) << 44) | (kind << 40) | (plane << 36) | (place << 20) | (index << 4)


def guid_text(guid: int) -> str:
    """Return a GUID as the subnet manager's files have it."""
    return f"0x{guid:016x}"
