"""The Fabric: everything decided, in closed form; any device can be computed alone from its coordinates."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import addresses as adr
from fabricc.fabric import expand, links
from fabricc.fabric.external import External
from fabricc.fabric.given import Identities
from fabricc.fabric.moves import Moves
from fabricc.fabric.out_of_band import OutOfBand
from fabricc.fabric.routing import BgpSettings, LoadBalancing
from fabricc.fabric.shape import SwitchId, TierName, Wired

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.addresses import AsnBlock, Pool
    from fabricc.fabric.evpn import Evpn
    from fabricc.fabric.given import Box
    from fabricc.fabric.links import Below, FarEnd, Serving
    from fabricc.fabric.management import ManagementNetwork
    from fabricc.fabric.model import Host, Overlay, Services, Switch
    from fabricc.fabric.qos import PortProfile, SwitchQos
    from fabricc.fabric.shape import Attachment, CableRow, PortLayout, Shape, Strides, Unit


class HostId(NamedTuple):
    """Coordinates of a host: its unit's, and its slot there."""

    unit: int
    slot: int


DeviceId = SwitchId | HostId


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


@dataclass(frozen=True, slots=True)
class RoutingPlan(BgpSettings):
    """BGP settings of the whole fabric; prefix limits are per neighbour and family; `maximum_prefixes` is given."""

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
    """What ports and sessions are described by: `{device}`, `{port}`, `{peer}`, `{peer_port}`; "" for the usual words.

    Attributes:
        fabric: of ports to switches; `host`: to hosts; `session`: of BGP sessions.
    """

    fabric: str = ""
    host: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class CableKind:
    """Medium and length of the cables of one kind of link."""

    medium: str
    length_m: int


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """What one switch does differently; `ports` maps a port name to (cable_m, medium, shutdown).

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
    """Which switches have an overlay: those of a NOS, in all tiers or some, or the named ones alone."""

    overlay: Overlay
    nos: str
    tiers: tuple[TierName, ...]
    devices: tuple[str, ...]

    def covers(self, name: str, tier: TierName, nos: str) -> bool:
        """Whether the switch of that name, tier and NOS has it."""
        return (
            nos == self.nos
            and (not self.tiers or tier in self.tiers)
            and (not self.devices or name in self.devices)
        )


@dataclass(frozen=True, slots=True)
class Fabric:
    """A whole fabric.

    Attributes:
        units: coordinate -> unit, ascending; only those that exist.
        host_models: host group index -> model.
        attachments: host group index -> how its hosts are attached.
        host_systems: host group index -> operating system of its hosts.
        host_classes: host group index -> class of its hosts' RDMA, "" for the first lossless one.
        tor_layouts: host group index -> port layout of its ToRs.
        tor_links: host group index -> links of its ToRs to each spine, of the shape's `links_per_spine` at most. The
            positions of the others are kept free, on ToRs, on spines and in the links pool.
        port_names: (nos, layout key) -> name of each slot; the key is `tor` and the group index, `spine` or `core`.
        qos: layout key -> policy of such switches, and name -> that of a switch whose cables differ.
        profiles: (layout key, speed, cable length) -> lossless profile, where there is a lossless class.
        changes: device name -> what it does differently.
        network: name of a further network of the hosts; "" for the one that the top level of the spec describes.
        number: of that network, from 1; routing tables of hosts follow from it.
        guests: hosts that are another fabric's too, whose files those of this network stand beside.
        networks: the further networks; of a further network those, named after it, that hosts of its own are in too.
        racks: host -> rack that it stands in, where racks have no ToR of theirs.
        domain_groups: host groups each rack of which is one NVLink domain.
        external: the ways out.
        evpn: the segments of its hosts; None where each link to a host is routed.
        given: names, ASNs and addresses from outside, in the place of computed ones.
        out_of_band: management switches, and management addresses from outside of what is no switch of the fabric.
        boxes: switches of another model than their tier's.
        moves: what devices were called before, and which are another box; no part of the value.
        far_ends, ranks, tors_below, servings: what neighbours have asked about switches so far, see `links`; no part
            of the value.
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
    load_balancing: LoadBalancing = field(default_factory=LoadBalancing)
    overlays: tuple[OverlayPlan, ...] = ()
    unused_silent: bool = False
    descriptions: Descriptions = Descriptions()
    network: str = ""
    number: int = 0
    guests: Mapping[str, HostId] = field(default_factory=dict)
    networks: tuple[Fabric, ...] = ()
    racks: Mapping[str, str] = field(default_factory=dict)
    domain_groups: frozenset[int] = frozenset()
    external: External = field(default_factory=External)
    evpn: Evpn | None = None
    given: Identities = field(default_factory=Identities)
    out_of_band: OutOfBand = field(default_factory=OutOfBand)
    boxes: Mapping[SwitchId, Box] = field(default_factory=dict)
    moves: Moves = field(default_factory=Moves, compare=False)
    far_ends: dict[tuple[int, ...], FarEnd] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    ranks: dict[tuple[int, ...], list[FarEnd]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    tors_below: dict[tuple[int, int], list[Below]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    servings: dict[tuple[int, int, int], Serving] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def switch_ids(self) -> Iterator[SwitchId]:
        """Every switch: ToRs by unit, then spines, then cores."""
        shape = self.shape
        for unit in self.units:
            yield from self.tor_ids(unit)
        for pod in range(shape.pods):
            for plane in range(shape.planes):
                for index in range(shape.spines):
                    yield SwitchId(TierName.SPINE, plane, pod, -1, index, -1)
        for plane in range(shape.port_planes):
            for index in range(shape.cores):
                yield SwitchId(TierName.CORE, plane, 0, -1, index, -1)

    def tor_ids(self, unit: int) -> Iterator[SwitchId]:
        """The ToRs of a unit: of the sets that have hosts; none of a unit whose hosts are beside others."""
        found = self.units[unit]
        if found.beside is not None:
            return
        shape, attached = self.shape, self.attachments[found.group]
        pod, tors = unit // shape.units_per_pod, attached.tors
        for of_set in self.sets(found):
            for group in range(of_set * tors, (of_set + 1) * tors):
                for nic_port in range(attached.nic_ports):
                    yield SwitchId(TierName.TOR, shape.plane(group, nic_port), pod, unit, group, nic_port)

    def sets(self, unit: Unit) -> list[int]:
        """The sets of ToRs that serve hosts of a unit."""
        attached = self.attachments[unit.group]
        return sorted({attached.seat(slot)[0] for slot in unit.hosts}) if attached.sets > 1 else [0]

    def host_ids(self) -> Iterator[HostId]:
        """Every host, in topological order."""
        for coordinate, unit in self.units.items():
            for slot in unit.hosts:
                yield HostId(coordinate, slot)

    def own_hosts(self) -> list[str]:
        """The hosts that are in no network named before this one, in topological order."""
        names = (name for unit in self.units.values() for name in unit.hosts.values())
        return [name for name in names if name not in self.guests]

    def kinds(self) -> Iterator[SwitchId]:
        """One switch of every kind that a back end could treat differently."""
        seen: set[tuple[object, ...]] = set()
        for switch in self.switch_ids():
            name = expand.switch_name(self, switch)
            group = self.units[switch.unit].group if switch.tier is TierName.TOR else -1
            key: tuple[object, ...] = (
                switch.tier,
                group,
                name if name in self.changes or name in self.external.exits else None,
            )
            if key not in seen:
                seen.add(key)
                yield switch

    def with_far_ends(self, names: Set[str]) -> set[str]:
        """These devices, and what stands at the far ends of the cables of those that are switches."""
        found = set(names)
        for at in self.switch_ids() if names else ():
            if self.name(at) in names:
                found.update(link.peer for link in links.links(self, at))
        return found

    def name(self, switch: SwitchId) -> str:
        """The name of a switch."""
        return expand.switch_name(self, switch)

    def switch(self, switch: SwitchId) -> Switch:
        """One switch, in time proportional to its ports."""
        return expand.switch(self, switch)

    def host(self, host: HostId) -> Host:
        """One host, in time proportional to its rails."""
        return expand.host(self, host.unit, host.slot)

    def model(self, at: SwitchId) -> SwitchModel:
        """The model of a switch: its tier's, or its own."""
        box = self.boxes.get(at) if self.boxes else None
        return self.tiers[at.tier].model if box is None else box.model

    def find(self, name: str) -> DeviceId | None:
        """The switch or host of that name, or None."""
        for switch in self.switch_ids():
            if expand.switch_name(self, switch) == name:
                return switch
        for coordinate, unit in self.units.items():
            for slot, host in unit.hosts.items():
                if host == name:
                    return HostId(coordinate, slot)
        return None

    def cables(self) -> Iterator[CableRow]:
        """Every cable, lower end first, in the order of `switch_ids`."""
        for unit in self.units:
            for tor in self.tor_ids(unit):
                yield from expand.tor_cables(self, tor)
        if self.shape.cores:
            for switch in self.switch_ids():
                if switch.tier is TierName.SPINE:
                    yield from expand.spine_cables(self, switch)

    def domain(self, unit: Unit, host: str) -> str:
        """The NVLink domain of a host of a unit, named after its rack; "" where none reaches beyond a host."""
        return self.racks.get(host, unit.name) if unit.group in self.domain_groups else ""

    def rack_hosts(self) -> dict[str, list[str]]:
        """The hosts of every rack that has no ToR of its own."""
        found: dict[str, list[str]] = {}
        for host, rack in self.racks.items():
            found.setdefault(rack, []).append(host)
        return found

    def groups(self) -> dict[int, int]:
        """Unit -> index of its host group."""
        return {coordinate: unit.group for coordinate, unit in self.units.items()}

    def wired(self) -> dict[int, Wired]:
        """Unit -> how its hosts are wired."""
        alike = self.attachments
        return {
            coordinate: Wired(unit.home, alike[unit.group].rails_per_tor, alike[unit.group].sets)
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
        """Host group -> ToRs of its units."""
        found: Counter[int] = Counter()
        for unit in self.places():
            attached = self.attachments[unit.group]
            found[unit.group] += len(self.sets(unit)) * attached.tors * attached.nic_ports
        return found

    @property
    def even(self) -> bool:
        """Whether ToRs of all host groups have as many uplinks."""
        return len({self.tor_links[unit.group] for unit in self.places() if unit.border is None}) < 2

    def uplinks(self, group: int) -> int:
        """Uplinks of a ToR of a host group."""
        return self.shape.spines * self.tor_links[group]

    def paths(self, group: int) -> int:
        """Equal-cost ways from a ToR of a host group to one of another unit, of another pod where there are cores.

        Without spines one: a host's peers are behind the same ToR.
        """
        return max(1, self.uplinks(group) * max(1, self.shape.spine_uplinks))

    def figures(self) -> dict[str, object]:
        """The shape by name; where ToRs differ in their links to a spine, also these by host group, as in the spec."""
        found: dict[str, object] = {name: getattr(self.shape, name) for name in self.shape.__slots__}
        if self.shape.rail_planes == 1:
            del found["rail_planes"]
        links = [
            each for each, attached in zip(self.tor_links, self.attachments, strict=True) if attached.slots
        ]
        return found if self.even else {**found, "links_per_spine_of_groups": links}

    def counts(self) -> dict[str, int]:
        """Totals: devices, GPUs, cables of each kind; hosts without GPUs, also in `hosts`, where there are any."""
        shape, tors = self.shape, self.tor_counts()
        sizes = [(len(unit.hosts), unit.group) for unit in self.units.values()]
        spines = shape.pods * shape.planes * shape.spines
        ports = [attached.rails * attached.nic_ports for attached in self.attachments]
        without = sum(count for count, group in sizes if not self.host_models[group].gpus)
        return {
            "gpus": sum(count * self.host_models[group].gpus for count, group in sizes),
            "hosts": sum(count for count, _ in sizes),
            "units": sum(unit.border is None for unit in self.places()),
            "tors": tors.total(),
            "spines": spines,
            "cores": shape.port_planes * shape.cores,
            "host_cables": sum(count * ports[group] for count, group in sizes),
            "spine_cables": sum(count * self.uplinks(group) for group, count in tors.items()),
            "core_cables": spines * shape.spine_uplinks,
        } | ({"hosts_without_gpus": without} if without else {})

    def pool(self, kind: str, version: int) -> Pool | None:
        """The `hosts`, `links` or `loopbacks` pool of an IP version."""
        found: Pool | None = getattr(self.addresses, f"{kind}{version}")
        return found

    def aggregate_bits(self) -> int:
        """Host bits of a ToR's aggregate."""
        return adr.block_bits(self.strides)
