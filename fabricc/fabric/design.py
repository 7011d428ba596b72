"""The decisions about a fabric, as values; names, links and devices are functions of them and of coordinates."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric import addresses as adr
from fabricc.fabric.external import External
from fabricc.fabric.given_identities import Identities, Moves, SingleModel
from fabricc.fabric.out_of_band import ManagementNetwork, OutOfBand
from fabricc.fabric.routing import BgpSettings, LoadBalancing
from fabricc.fabric.shape import HostId, SwitchId, TierName, UnitWiring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.addresses import AsnBlock, Pool
    from fabricc.fabric.evpn import Evpn
    from fabricc.fabric.model import CableKind, Overlay, Services
    from fabricc.fabric.neighbors import DownlinkTor, FarEnd, Serving
    from fabricc.fabric.qos import PortProfile, SwitchQos
    from fabricc.fabric.shape import Attachment, PortLayout, Shape, Strides, Unit
    from fabricc.fabric.tenants import Tenancy


@dataclass(frozen=True, slots=True)
class TierPlan:
    """Model and NOS of a tier."""

    model: SwitchModel
    nos: str
    release: str


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Pools; the IPv4 loopback pool always exists, for router IDs. `hosts4` and `links4` are None without IPv4.

    Attributes:
        management: networks of management ports; a switch is in the first that takes it.
    """

    hosts4: Pool | None
    links4: Pool | None
    loopbacks4: Pool
    hosts6: Pool | None
    links6: Pool | None
    loopbacks6: Pool | None
    numbered: bool
    management: tuple[ManagementNetwork, ...]

    def pools(self) -> dict[str, Pool]:
        """The pools by name: `hosts4`, `management`, of further such networks `management.networks[0]` and so on."""
        names = ("hosts4", "links4", "loopbacks4", "hosts6", "links6", "loopbacks6")
        found = {name: pool for name in names if (pool := getattr(self, name)) is not None}
        return found | {each.key.removesuffix(".network"): each.pool for each in self.management}

    def whole_pools(self, aggregate_bits: int) -> Iterator[str]:
        """Prefixes of the pools, but of one that is a single route of the fabric itself."""
        for hosts, loopbacks, links in (
            (self.hosts4, self.hosts4 and self.loopbacks4, self.links4),
            (self.hosts6, self.loopbacks6, self.links6),
        ):
            if hosts and hosts.bits > aggregate_bits:
                yield str(hosts)
            if loopbacks and loopbacks.bits:
                yield str(loopbacks)
            if links and links.bits > 1 and self.numbered:
                yield str(links)


@dataclass(frozen=True, slots=True)
class RoutingPlan(BgpSettings):
    """BGP settings of the whole fabric; prefix limits are per neighbor and family; `maximum_prefixes` is given."""

    asn_base: int
    unique_spine_asn: bool
    maximum_paths: int
    limit_from_above: int
    limit_from_tor: int
    limit_from_spine: int
    maximum_prefixes: int | None = None

    @property
    def asns(self) -> AsnBlock:
        """The block of ASNs from the base on."""
        return adr.asn_block(self.asn_base)


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Descriptions of ports and sessions: `{device}`, `{port}`, `{peer}`, `{peer_port}`; "" for the usual words.

    Attributes:
        fabric: of ports to switches; `host`: to hosts; `session`: of BGP sessions.
    """

    fabric: str = ""
    host: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """The exceptions of one switch; `ports` maps a port name to (cable_m, medium, shutdown).

    Attributes:
        unnumbered: whether its links to switches below have no addresses, though others have.
    """

    nos: str | None
    release: str | None
    drained: bool
    cable_m: int | None
    ports: Mapping[str, tuple[int | None, str | None, bool]]
    unnumbered: bool = False


@dataclass(frozen=True, slots=True)
class OverlayPlan:
    """The switches of an overlay: those of a NOS, in all tiers or some, or only the named ones."""

    overlay: Overlay
    nos: str
    tiers: tuple[TierName, ...]
    devices: tuple[str, ...]

    def covers(self, name: str, tier: TierName, nos: str) -> bool:
        """Return whether the switch of that name, tier and NOS has it."""
        return (
            nos == self.nos
            and (not self.tiers or tier in self.tiers)
            and (not self.devices or name in self.devices)
        )


@dataclass(frozen=True, slots=True)
class Design:
    """A whole fabric as decided values, and what follows from these alone.

    Attributes:
        units: coordinate -> unit, ascending; only those that exist.
        host_models: host group index -> model.
        attachments: host group index -> how its hosts are attached.
        host_systems: host group index -> operating system of its hosts.
        host_classes: host group index -> class of its hosts' RDMA, "" for the first lossless one.
        host_sockets: host group index -> interface for sockets of jobs; "" for the host model's `management_interface`.
        host_leave_outs: host group index -> settings that the files of its hosts leave to somebody else.
        tor_layouts: host group index -> port layout of its ToRs.
        tor_links: host group index -> links of its ToRs to each spine, of the shape's `links_per_spine` at most. The
            positions of the others are kept free, on ToRs, on spines and in the links pool.
        port_names: (nos, layout key) -> name of each slot; the key is `tor` and the group index, `spine` or `core`.
        qos: layout key -> policy of such switches, and name -> that of a switch whose cables differ.
        profiles: (layout key, speed, cable length) -> lossless profile, where there is a lossless class.
        changes: device name -> what it does differently.
        network: name of a further network of the hosts; "" for the one that the top level of the spec describes.
        number: of that network, from 1; routing tables of hosts follow from it.
        rails_elsewhere: whether another spec describes the rails of the hosts with GPUs.
        guests: hosts that are another fabric's too, whose files are in the same folders as those of this network.
        networks: the further networks; of a further network those, named after it, that hosts of its own are in too.
        racks: host -> rack that it stands in, where racks have no ToR of theirs.
        domain_groups: host groups each rack of which is one NVLink domain.
        external: the ways out.
        evpn: the segments of its hosts; None where each link to a host is routed.
        tenancy: the tenants of its hosts; None where all links to hosts share the fabric's routing table.
        given: names, ASNs and addresses from outside, in the place of computed ones.
        out_of_band: management switches, and management addresses from outside of what is no switch of the fabric.
        boxes: switches of another model than their tier's.
        planes_present: planes of the NIC ports that exist, from the first; 0 for all.
        plane_split: how NICs spread a transfer over planes: `none` or `software`; "" where it is open.
        moves: earlier names of devices, and devices that are another box; no part of the value.
        far_ends, ranks, tors_below, servings: values about switches that neighbors have requested so far, see `links`;
            no part of the value.
    """

    cluster: str
    shape: Shape
    strides: Strides
    units: Mapping[int, Unit]
    host_models: tuple[HostModel, ...]
    attachments: tuple[Attachment, ...]
    tiers: Mapping[TierName, TierPlan]
    tor_layouts: tuple[PortLayout, ...]
    tor_links: tuple[int, ...]
    spine_layout: PortLayout
    core_layout: PortLayout | None
    port_names: Mapping[tuple[str, str], tuple[str, ...]]
    addresses: AddressPlan
    routing: RoutingPlan
    services: Services
    cable_kinds: Mapping[str, CableKind]
    switch_mtu: int
    host_mtu: int
    qos: Mapping[str, SwitchQos]
    profiles: Mapping[tuple[str, int, int], PortProfile]
    changes: Mapping[str, DeviceChange] = field(default_factory=dict)
    host_systems: tuple[str, ...] = ()
    host_classes: tuple[str, ...] = ()
    host_sockets: tuple[str, ...] = ()
    host_leave_outs: tuple[tuple[str, ...], ...] = ()
    load_balancing: LoadBalancing = field(default_factory=LoadBalancing)
    overlays: tuple[OverlayPlan, ...] = ()
    unused_silent: bool = False
    descriptions: Descriptions = Descriptions()
    network: str = ""
    number: int = 0
    rails_elsewhere: bool = False
    guests: Mapping[str, HostId] = field(default_factory=dict)
    networks: tuple[Design, ...] = ()
    racks: Mapping[str, str] = field(default_factory=dict)
    domain_groups: frozenset[int] = frozenset()
    external: External = field(default_factory=External)
    evpn: Evpn | None = None
    tenancy: Tenancy | None = None
    given: Identities = field(default_factory=Identities)
    out_of_band: OutOfBand = field(default_factory=OutOfBand)
    boxes: Mapping[SwitchId, SingleModel] = field(default_factory=dict)
    planes_present: int = 0
    plane_split: str = ""
    moves: Moves = field(default_factory=Moves, compare=False)
    far_ends: dict[tuple[int, ...], FarEnd] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    ranks: dict[tuple[int, ...], list[FarEnd]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    tors_below: dict[tuple[int, int], list[DownlinkTor]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    servings: dict[tuple[int, int, int], Serving] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def overlay(self) -> bool:
        """Return whether ToRs are VTEPs, so that switches carry EVPN routes."""
        return self.evpn is not None or (self.tenancy is not None and self.tenancy.tunnels)

    @property
    def underlay_hosts(self) -> bool:
        """Return whether the routing table that switches share has the links to hosts."""
        return self.evpn is None and self.tenancy is None

    @property
    def port_planes(self) -> int:
        """Planes of the NIC ports that exist."""
        return self.planes_present or self.shape.port_planes

    @property
    def planes(self) -> tuple[int, ...]:
        """The planes that exist; see `Shape.planes`."""
        shape = self.shape
        return tuple(each for each in range(shape.planes) if each % shape.port_planes < self.port_planes)

    @property
    def fabrics(self) -> int:
        """Return the number of separate fabrics that exist; see `Shape.fabrics`."""
        return self.port_planes if self.shape.cores else len(self.planes)

    def switch_ids(self) -> Iterator[SwitchId]:
        """Yield every switch: ToRs by unit, then spines, then cores."""
        shape = self.shape
        for unit in self.units:
            yield from self.tor_ids(unit)
        for pod in range(shape.pods):
            for plane in self.planes:
                for index in range(shape.spines):
                    yield SwitchId(TierName.SPINE, plane, pod, -1, index, -1)
        for plane in range(self.port_planes):
            for index in range(shape.cores):
                yield SwitchId(TierName.CORE, plane, 0, -1, index, -1)

    def tor_ids(self, unit: int) -> Iterator[SwitchId]:
        """Return the ToRs of a unit: of the sets that have hosts; none of a unit of guests."""
        found = self.units[unit]
        if found.beside is not None:
            return
        shape, attached = self.shape, self.attachments[found.group]
        pod, tors = unit // shape.units_per_pod, attached.tors
        for of_set in self.sets(found):
            for group in range(of_set * tors, (of_set + 1) * tors):
                for nic_port in attached.present:
                    yield SwitchId(TierName.TOR, shape.plane(group, nic_port), pod, unit, group, nic_port)

    def sets(self, unit: Unit) -> list[int]:
        """Return the sets of ToRs that serve hosts of a unit."""
        attached = self.attachments[unit.group]
        return sorted({attached.seat(slot)[0] for slot in unit.hosts}) if attached.sets > 1 else [0]

    def host_ids(self) -> Iterator[HostId]:
        """Yield every host, in topological order."""
        for coordinate, unit in self.units.items():
            for slot in unit.hosts:
                yield HostId(coordinate, slot)

    def own_hosts(self) -> list[str]:
        """The hosts that are in no network named before this one, in topological order."""
        names = (name for unit in self.units.values() for name in unit.hosts.values())
        return [name for name in names if name not in self.guests]

    def model(self, at: SwitchId) -> SwitchModel:
        """Return the model of a switch: its tier's, or its own."""
        box = self.boxes.get(at) if self.boxes else None
        return self.tiers[at.tier].model if box is None else box.model

    def domain(self, unit: Unit, host: str) -> str:
        """Return the NVLink domain of a host of a unit, named after its rack; "" where none reaches beyond a host."""
        return self.racks.get(host, unit.name) if unit.group in self.domain_groups else ""

    def socket_interface(self, group: int) -> str:
        """Return the interface for sockets of jobs on the hosts of a group; "" where nothing names one."""
        named = self.host_sockets[group] if self.host_sockets else ""
        return named or self.host_models[group].management_interface

    def rack_hosts(self) -> dict[str, list[str]]:
        """Return the hosts of every rack that has no ToR."""
        found: dict[str, list[str]] = {}
        for host, rack in self.racks.items():
            found.setdefault(rack, []).append(host)
        return found

    def groups(self) -> dict[int, int]:
        """Unit -> index of its host group."""
        return {coordinate: unit.group for coordinate, unit in self.units.items()}

    def wired(self) -> dict[int, UnitWiring]:
        """Unit -> how its hosts are wired."""
        alike = self.attachments
        return {
            coordinate: UnitWiring(unit.home, alike[unit.group].rails_per_tor, alike[unit.group].sets)
            for coordinate, unit in self.units.items()
        }

    def places(self) -> Iterator[Unit]:
        """The units that have ToRs."""
        return (unit for unit in self.units.values() if unit.beside is None)

    @property
    def present(self) -> int:
        """Units with ToRs, up to the highest coordinate."""
        return max(unit.coordinate for unit in self.places()) + 1

    def tor_counts(self) -> Counter[int]:
        """Return host group -> ToRs of its units."""
        found: Counter[int] = Counter()
        for unit in self.places():
            attached = self.attachments[unit.group]
            found[unit.group] += len(self.sets(unit)) * attached.tors * len(attached.present)
        return found

    @property
    def even(self) -> bool:
        """Return whether ToRs of all host groups have as many uplinks."""
        return len({self.tor_links[unit.group] for unit in self.places() if unit.border is None}) < 2

    def uplinks(self, group: int) -> int:
        """Uplinks of a ToR of a host group."""
        return self.shape.spines * self.tor_links[group]

    def paths(self, group: int) -> int:
        """Equal-cost ways from a ToR of a host group to one of another unit, of another pod where there are cores.

        Without spines the links to the other ToR, or one: a host's peers are behind the same ToR.
        """
        return max(1, self.shape.peer_links, self.uplinks(group) * max(1, self.shape.spine_uplinks))

    def figures(self) -> dict[str, object]:
        """The shape by name; where ToRs differ in their links to a spine, also these by host group, as in the spec."""
        found: dict[str, object] = {name: getattr(self.shape, name) for name in self.shape.__slots__}
        if self.shape.rail_planes == 1:
            del found["rail_planes"]
        if not self.shape.peer_links:
            del found["peer_links"]
        if self.planes_present:
            found["planes_present"] = self.planes_present
        links = [
            each for each, attached in zip(self.tor_links, self.attachments, strict=True) if attached.slots
        ]
        return found if self.even else {**found, "links_per_spine_of_groups": links}

    def counts(self) -> dict[str, int]:
        """Totals: devices, GPUs, cables of each kind; hosts without GPUs, also in `hosts`, where there are any."""
        shape, tors = self.shape, self.tor_counts()
        sizes = [(len(unit.hosts), unit.group) for unit in self.units.values()]
        spines = shape.pods * len(self.planes) * shape.spines
        ports = [attached.rails * len(attached.present) for attached in self.attachments]
        without = sum(count for count, group in sizes if not self.host_models[group].gpus)
        found = {
            "gpus": sum(count * self.host_models[group].gpus for count, group in sizes),
            "hosts": sum(count for count, _ in sizes),
            "units": sum(unit.border is None for unit in self.places()),
            "tors": tors.total(),
            "spines": spines,
            "cores": self.port_planes * shape.cores,
            "host_cables": sum(count * ports[group] for count, group in sizes),
            "spine_cables": sum(count * self.uplinks(group) for group, count in tors.items()),
            "core_cables": spines * shape.spine_uplinks,
        }
        if shape.peer_links:
            found["peer_cables"] = len(self.planes) * shape.peer_links
        return found | ({"hosts_without_gpus": without} if without else {})

    def pool(self, kind: str, version: int) -> Pool | None:
        """Return the `hosts`, `links` or `loopbacks` pool of an IP version."""
        found: Pool | None = getattr(self.addresses, f"{kind}{version}")
        return found

    def aggregate_bits(self) -> int:
        """Return host bits of a ToR's aggregate."""
        return adr.block_bits(self.strides)
