"""The shape of a fabric: how many of everything, and the strides that turn coordinates into numbers.

A device or link is a function of its coordinates (plane, unit, pod, group, index, port) and of these strides,
never of a counter over the fabric. That is why one switch can be computed alone and why growth renumbers nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from fabricc.base.values import dataclass


class TierName(StrEnum):
    """The three switch tiers, from the hosts up."""

    TOR = "tor"
    SPINE = "spine"
    CORE = "core"


class Slot(NamedTuple):
    """One logical port of a model in a given use: child `child` of `children` of front-panel cage `cage`."""

    cage: int
    child: int
    children: int
    lanes: int
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class PortLayout:
    """Every port of one kind of switch, and which of them serve links.

    Attributes:
        slots: all ports in panel order.
        down: downlink number -> index into `slots`; on a ToR the ports of its unit's hosts, those of hosts that share
            the ToR, then the reserved ones.
        up: uplink number -> index into `slots`.
        reserved: how many of the last entries of `down` are kept free for the user.
    """

    slots: tuple[Slot, ...]
    down: tuple[int, ...]
    up: tuple[int, ...]
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """A scalable unit or rack that exists.

    Attributes:
        coordinate: its number, pinned in the lock; addresses, ASNs and names of its ToRs follow from it.
        group: index of its host group.
        hosts: slot -> host name, in slot order; a slot without a host is absent.
        beside: coordinate of the unit whose ToRs serve these hosts, or None for ToRs of its own.
        guests: coordinates of the units whose hosts are on its ToRs too.
        border: of a unit of border leaves, which has no hosts, how many come before it in a plane; else None.
    """

    coordinate: int
    name: str
    group: int
    hosts: dict[int, str]
    beside: int | None = None
    guests: tuple[int, ...] = ()
    border: int | None = None

    @property
    def home(self) -> int:
        """Coordinate of the unit whose ToRs serve its hosts."""
        return self.coordinate if self.beside is None else self.beside


GUEST_UNITS = 1_000_000
"""Coordinates from here on are of additional units; they take addresses from the end of the unit stride."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """The attachment of the hosts of a group to the ToRs of a unit.

    ToRs that serve the same hosts are a *set*: one for each NIC port and share of the rails. Hosts with as many rails
    as the unit has ToRs for have one set. Hosts with fewer fill a unit of their own set by set, so that no ToR is
    without hosts; with other hosts they are dealt out over the sets in turn.

    Attributes:
        rails: rails of a host; `rails_per_tor` of them share a ToR.
        nic_ports: cabled ports of a host on each rail; port j leads to the ToRs of NIC port j.
        gbps: speed of one port.
        ports_per_nic: cabled ports of one NIC; ports are numbered through all NICs, rail by rail.
        slots: hosts that a unit has room for; `hosts` of them behind one set.
        sets: sets of ToRs in a unit, set s from the s * `tors`th ToR on.
        first_port: number of the first of their ports among the downlinks of a ToR.
        beside: index of the host group whose ToRs they share, or None.
        absent: ports of a NIC, counted on one rail, whose planes do not exist yet.
    """

    rails: int
    nic_ports: int
    rails_per_tor: int
    gbps: int
    ports_per_nic: int
    slots: int
    hosts: int
    sets: int = 1
    first_port: int = 0
    beside: int | None = None
    absent: frozenset[int] = frozenset()

    @property
    def present(self) -> tuple[int, ...]:
        """The cabled ports of a rail, by NIC port: those of planes that exist."""
        return tuple(port for port in range(self.nic_ports) if port not in self.absent)

    @property
    def tors(self) -> int:
        """ToRs of a set that one NIC port reaches."""
        return self.rails // self.rails_per_tor

    @property
    def ports(self) -> int:
        """Ports of a ToR that are kept for these hosts."""
        return self.hosts * self.rails_per_tor

    def seat(self, slot: int) -> tuple[int, int]:
        """Return the set that serves a slot, and the slot's number there."""
        if self.beside is None:
            return divmod(slot, self.hosts)
        number, tors = divmod(slot, self.sets)
        return tors, number

    def slot(self, of_set: int, number: int) -> int:
        """Return the slot with a number in a set: `seat` the other way."""
        return of_set * self.hosts + number if self.beside is None else number * self.sets + of_set

    def served(self, index: int, nic_port: int) -> tuple[range, range]:
        """Slots and rails that the ToR of an index and NIC port in the unit serves; empty where it serves none."""
        of_set, share = divmod(index, self.tors)
        if of_set >= self.sets or nic_port >= self.nic_ports:
            return range(0), range(0)
        rails = range(share * self.rails_per_tor, (share + 1) * self.rails_per_tor)
        if self.beside is None:
            return range(of_set * self.hosts, (of_set + 1) * self.hosts), rails
        return range(of_set, self.slots, self.sets), rails

    def nic(self, rail: int, nic_port: int) -> tuple[int, int]:
        """Return the NIC of a host, and the port of that NIC, to which a port belongs."""
        return divmod(rail * self.nic_ports + nic_port, self.ports_per_nic)


class UnitWiring(NamedTuple):
    """Wiring of the hosts of a unit: the unit whose ToRs serve them, rails that share one, maximum of sets of ToRs."""

    home: int
    rails_per_tor: int
    sets: int


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts per plane and per pod.

    Attributes:
        planes: sets of spines in a pod that share no ToR: `rail_planes` by rail times `port_planes` by NIC port.
        nic_ports: cabled ports of one NIC, after splitting.
        rails: NICs per host; `rails_per_tor` of them share a ToR.
        hosts_per_unit: slots of a unit.
        pods: sets of spines; 1 in a two-tier fabric.
        units_per_pod: units behind one set of spines; in a two-tier fabric, as many as the spines can hold.
        spines: per plane and pod. A ToR of the busiest host group has `links_per_spine` links to each; every ToR has
            the positions of so many, see `tor_uplinks`.
        cores: per plane of NIC ports; 0 in a two-tier fabric. Spine i of every pod and plane is connected to core group
            i // `spines_per_core_group`: to each of its `cores_per_group` cores by `links_per_core` links.
        rail_planes: sets of spines by rail, each for as many ToRs of a unit; cores join them.
        peer_links: links between the two ToRs of a plane, where there are no spines; 0 without.
    """

    planes: int
    nic_ports: int
    rails: int
    rails_per_tor: int
    hosts_per_unit: int
    pods: int
    units_per_pod: int
    spines: int
    links_per_spine: int
    cores: int
    spines_per_core_group: int
    cores_per_group: int
    links_per_core: int
    uplink_gbps: int
    core_link_gbps: int
    rail_planes: int = 1
    peer_links: int = 0

    @property
    def port_planes(self) -> int:
        """Planes that the ports of a NIC are spread over: fabrics that share no switch, also where there are cores."""
        return self.planes // self.rail_planes

    @property
    def fabrics(self) -> int:
        """Fabrics that no switch joins: the planes, or, where cores join those of rails, one for each port of the NICs.

        Plane p is in fabric p mod this.
        """
        return self.port_planes if self.cores else self.planes

    @property
    def rails_apart(self) -> bool:
        """Return whether rails of different planes meet in hosts only: there are no cores to join them."""
        return self.rail_planes > 1 and not self.cores

    def plane(self, group: int, nic_port: int) -> int:
        """The plane of a ToR: its rails choose before its NIC port, port j belongs to plane j mod `port_planes`."""
        return group // self.groups_per_plane * self.port_planes + nic_port % self.port_planes

    def in_plane(self, group: int, nic_port: int) -> int:
        """Return a ToR's number among those of its unit and plane."""
        return group % self.groups_per_plane * self.sides + nic_port // self.port_planes

    @property
    def groups(self) -> int:
        """ToRs of a unit that one NIC port reaches."""
        return self.rails // self.rails_per_tor

    @property
    def groups_per_plane(self) -> int:
        """Return how many of these are in one plane."""
        return self.groups // self.rail_planes

    @property
    def tors_per_unit(self) -> int:
        """ToRs of a unit over all planes."""
        return self.groups * self.nic_ports

    @property
    def sides(self) -> int:
        """ToRs of one plane that a rail reaches: 2 for dual-ToR hosts in one plane."""
        return self.nic_ports // self.port_planes

    def in_fabric(self, group: int, nic_port: int) -> int:
        """Return a ToR's number among those of its unit that can reach each other."""
        per_fabric = self.groups * self.port_planes // self.fabrics
        return group % per_fabric * self.sides + nic_port // self.port_planes

    @property
    def tors_per_unit_fabric(self) -> int:
        """ToRs of a unit that can reach each other: those of a plane, or of all planes that cores join."""
        return self.tors_per_unit // self.fabrics

    @property
    def tors_per_unit_plane(self) -> int:
        """ToRs of a unit in one plane."""
        return self.groups_per_plane * self.sides

    @property
    def uplinks(self) -> int:
        """Uplinks of a ToR of the busiest host group; every ToR has room for as many."""
        return self.spines * self.links_per_spine

    @property
    def spine_uplinks(self) -> int:
        """Uplinks of a spine; 0 in a two-tier fabric."""
        return self.cores_per_group * self.links_per_core


@dataclass(frozen=True, slots=True)
class Strides:
    """The numbering distance of neighboring coordinates: powers of two, pinned in the lock.

    Attributes:
        host, rail: slots of a unit, rails that share a ToR.
        nic_port, group, unit: NIC ports, ToR groups of a unit, units.
        uplink: uplinks of a ToR. `spine`, `plane`: spines of a pod, planes.
        spine_uplink: uplinks of a spine.
    """

    host: int
    rail: int
    nic_port: int
    group: int
    unit: int
    uplink: int
    spine: int
    plane: int
    spine_uplink: int


@dataclass(frozen=True, slots=True)
class SwitchId:
    """Coordinates of a switch.

    Attributes:
        index: ToR group in its unit, spine in its pod and plane, or core in its plane.
        pod: 0 in a two-tier fabric and for cores.
        unit: -1 above ToRs. `nic_port`: NIC port a ToR serves, -1 above ToRs.
    """

    tier: TierName
    plane: int
    pod: int
    unit: int
    index: int
    nic_port: int


class HostId(NamedTuple):
    """Coordinates of a host: its unit's, and its slot there."""

    unit: int
    slot: int


DeviceId = SwitchId | HostId
"""Coordinates of a switch or host."""
