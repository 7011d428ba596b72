"""The spec as typed values, and where in the file each of them stands."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.fabric.design import Descriptions
from fabricc.fabric.routing import BgpSettings, LoadBalancing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from netaddr import IPNetwork

    from fabricc.base.documents.document import KeyPath
    from fabricc.fabric.evpn import Segment, Vrf
    from fabricc.fabric.external import ExternalParty
    from fabricc.fabric.infiniband import ServiceClass
    from fabricc.fabric.model import CableKind
    from fabricc.fabric.tenants import TenantNumbers
    from fabricc.front.spec import device_model


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts of one model; a unit (scalable unit or rack) holds hosts of one group, and of groups that share its ToRs.

    Attributes:
        name: the group's name; `gpus` when the spec has a single, unnamed one.
        model: catalog name of the host.
        hosts: how many, counting unnamed ones; the length of `host_names` when those are given.
        hosts_per_unit: hosts of one scalable unit (rail wiring) or of one rack (rack wiring).
        host_names: names in spec order when hosts are listed one by one without racks, else empty.
        racks: rack name -> host names ((), when only counted), in spec order; empty when not named.
        rack_of: host name -> the rack that holds it and no ToR of its, with rail wiring; empty when not named.
        path: where the group stands in the spec.
        os: operating system and release of the hosts.
        nic: catalog name of their NICs, or None for those of the host model.
        rails_per_tor: rails of these hosts that share a ToR, 0 for all; None: as the whole section has it.
        beside: name of the group whose ToRs these hosts share, or None for units of their own.
        rdma_class: name of the class of their RDMA, or None for the first lossless one.
        socket_interface: interface of the hosts for sockets of jobs; "" where the spec names none.
        leave_out: settings that the files of the hosts leave to somebody else, sorted.
        nic_mode: `nic` or `dpu`, the mode of BlueField cards; "" where the spec names none.
        alone: on further networks and not on the rails, so that no capacity of the rails' hosts counts them.
    """

    name: str
    model: str
    hosts: int
    hosts_per_unit: int
    host_names: tuple[str, ...] = ()
    racks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    path: KeyPath = ("gpus",)
    os: str = "ubuntu-24.04"
    nic: str | None = None
    rack_of: Mapping[str, str] = field(default_factory=dict)
    rails_per_tor: int | None = None
    beside: str | None = None
    rdma_class: str | None = None
    socket_interface: str = ""
    leave_out: tuple[str, ...] = ()
    nic_mode: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPU side: who is connected and how it is wired.

    Attributes:
        wiring: `rail` (NIC r of every host of a unit goes to ToR r) or `rack` (all NICs to the rack's ToR).
        rails_per_tor: rails that share a ToR: 1 for rail wiring, all of them for rack wiring.
        capacity: hosts in units of their own to dimension spines and strides for; None takes the present number.
        rails_apart: no switch joins ToRs of different rails.
    """

    groups: tuple[HostGroup, ...]
    wiring: str
    rails_per_tor: int
    capacity: int | None
    rails_apart: bool = False


@dataclass(frozen=True, slots=True)
class Tier:
    """One requested switch tier.

    Attributes:
        oversubscription: down Gb/s over up Gb/s at most; 1.0 is non-blocking. None on the topmost tier.
        count: pinned number of switches per plane (and per pod for spines of a three-tier fabric), or None.
        uplinks: pinned number of uplinks of every switch of the tier, or None (from `oversubscription`).
        uplink_gbps: speed of the uplinks, or None for the fastest both ends share.
        reserved_ports: ports at host-port speed (ToR) or downlink speed (spine, core) kept free.
        units_per_pod: units behind one set of spines in a three-tier fabric, or None.
        n_minus_1: `oversubscription` has to hold with any one switch of the tier above lost, too.
        rails: rails that share a set of spines, or None for all of them.
        pods: units of each pod where the spec lists them; `units_per_pod` is then the most.
        border: border leaves per plane, each with `border_links` links to every spine.
        uplinks_first: uplinks are on the first cages and the other links behind them.
        peer_links: links between the two ToRs of a plane without spines; 0 without.
    """

    model: str
    nos: device_model.NosChoice
    oversubscription: float | None = None
    count: int | None = None
    uplinks: int | None = None
    uplink_gbps: int | None = None
    reserved_ports: int = 0
    units_per_pod: int | None = None
    n_minus_1: bool = False
    rails: int | None = None
    pods: tuple[int, ...] = ()
    border: int = 0
    border_links: int = 1
    uplinks_first: bool = False
    peer_links: int = 0


@dataclass(frozen=True, slots=True)
class Priority:
    """One requested traffic class; None means the default computed in `qos`.

    Attributes:
        dscps: code points classified into it; empty for the class that takes all the rest.
        lossless: PFC on.
        strict: strict-priority scheduling, for CNP and control.
        priority: PFC and 802.1p priority, also traffic class, queue and priority group; None: dscp >> 3.
        weight_percent: share of what strict classes leave; None: by default rule.
        ecn: marking on; None: on for lossless classes.
        sends: the code point that senders use; None: the lowest.
        unsent: code points that senders do not use according to the spec.
    """

    name: str
    dscps: tuple[int, ...]
    lossless: bool
    strict: bool
    priority: int | None
    weight_percent: int | None
    ecn: bool | None
    sends: int | None = None
    unsent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EcnThresholds:
    """Marking thresholds in bytes and the probability at the upper one, as the spec states them."""

    min_bytes: int
    max_bytes: int
    max_percent: int


@dataclass(frozen=True, slots=True)
class TrimmingRequest:
    """Packets without room are cut to `size_bytes`; what is left travels in the class `class_name`."""

    class_name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Congestion:
    """Congestion signals before PFC has to act.

    Attributes:
        profile: `dcqcn`, `dctcp`, `uec`, or `pfc-only` for no marks on lossless classes.
        preset: name of published thresholds, or None.
        thresholds: stated ones, or None; with neither the profile decides.
        trimming: None for packets that are dropped whole.
        link_retry: link-layer retry on every link between switches and to hosts.
    """

    profile: str = "dcqcn"
    preset: str | None = None
    thresholds: EcnThresholds | None = None
    trimming: TrimmingRequest | None = None
    link_retry: bool = False

    @property
    def marked(self) -> bool:
        """Return whether switches mark lossless classes unless a class overrides it."""
        return self.profile != "pfc-only"


@dataclass(frozen=True, slots=True)
class Addressing:
    """Address pools; the IPv6 pools are None unless the family is `ipv6` or `dual`.

    Attributes:
        family: `ipv4`, `ipv6` or `dual`.
        fabric_links: `numbered` (/31, /127) or `unnumbered` (RFC 8950).
        link_prefix_length: 31 or 30, of the IPv4 subnets of numbered links between switches.
    """

    family: str
    fabric_links: str
    hosts: IPNetwork
    links: IPNetwork
    loopbacks: IPNetwork
    hosts6: IPNetwork | None
    links6: IPNetwork | None
    loopbacks6: IPNetwork | None
    link_prefix_length: int = 31


@dataclass(frozen=True, slots=True)
class Routing(BgpSettings):
    """The requested BGP settings (RFC 7938).

    Attributes:
        asn_base: first ASN of the private block used.
        spine_asn: `shared` (per tier, plane and pod) or `unique` (per switch).
        maximum_paths, maximum_prefixes: in the place of those that follow from the plan; None for these.
    """

    asn_base: int
    spine_asn: str
    maximum_paths: int | None = None
    maximum_prefixes: int | None = None


@dataclass(frozen=True, slots=True)
class Cables:
    """Cables per kind of link: host to ToR, ToR to spine, spine to core, ToR to ToR."""

    host: CableKind
    spine: CableKind
    core: CableKind
    peer: CableKind


@dataclass(frozen=True, slots=True)
class Network:
    """The section `network`, which makes a spec one of a further network of the hosts.

    Attributes:
        number: from 1; pools, ASNs and routing tables of the network follow from it.
        ports: which ports of the hosts, as their models name them.
        hosts_per_unit: of its own, or None for the units of the network that the top level describes.
        capacity: hosts in units of their own to plan for, or None for those of `gpus` and what else there is.
        groups: hosts that are not on the rails, every one with its name.
        rails_elsewhere: how the rails are wired, which another spec describes; "" where this one does.
    """

    name: str
    number: int
    ports: str
    hosts_per_unit: int | None
    capacity: int | None = None
    groups: tuple[HostGroup, ...] = ()
    rails_elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class EvpnRequest:
    """The segments as the spec has them.

    Attributes:
        groups: segment -> host groups that it names; none for those that no other names.
        mtu: IP MTU of the segments, bytes.
    """

    segments: tuple[Segment, ...]
    vrfs: tuple[Vrf, ...]
    anycast_mac: str
    groups: Mapping[str, tuple[str, ...]]
    mtu: int


@dataclass(frozen=True, slots=True)
class TenantRequest:
    """A tenant as the spec has it.

    Attributes:
        hosts, racks: names, without ranges.
        gpus: GPUs of each of `hosts`; None for all of them. `parts`: GPUs of single ones of these.
        reach: further networks that its hosts are in as well.
        numbers: those that do not follow from the lock.
        vrf: the name of its VRF; "" where that is the tenant's.
    """

    name: str
    hosts: tuple[str, ...]
    racks: tuple[str, ...]
    gpus: tuple[int, ...] | None
    parts: Mapping[str, tuple[int, ...]]
    reach: tuple[str, ...]
    numbers: TenantNumbers
    vrf: str = ""


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """A tenant as the spec has it: low 15 bits of its P_Key, and names of units and hosts."""

    name: str
    pkey: int
    units: tuple[str, ...]
    hosts: tuple[str, ...]
    priority: str | None


@dataclass(frozen=True, slots=True)
class Ipoib:
    """IP over InfiniBand: pool, `datagram` or `connected`, and the IP MTU in bytes."""

    pool: IPNetwork
    mode: str
    mtu: int


@dataclass(frozen=True, slots=True)
class Infiniband:
    """The section, defaults filled in.

    Attributes:
        routing: `auto`, `ftree`, `updn` or `minhop`.
        guids: file of real GUIDs relative to the spec, or None.
        classes: ascending by service level; never empty.
        ipoib: None when switched off.
    """

    routing: str
    guids: str | None
    classes: tuple[ServiceClass, ...]
    partitions: tuple[PartitionSpec, ...]
    ipoib: Ipoib | None


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The whole spec, defaults filled in.

    Attributes:
        network: None for what the top level describes.
        networks: name -> spec of each further network of the same hosts, whose hosts `hosts_of` names.
        headroom_oversubscription: headroom demand over the shared headroom pool; None for the platform's own.
        planes_present: planes that exist now, from the first; 0 for all.
        plane_split: `none` or `software`; "" where the spec leaves it open.
        infiniband: the subnet with `fabric: infiniband`, when all that is of Ethernet has no meaning; else None.
        evpn: segments of the hosts, or None for routed links to them.
        tenants: in spec order; empty where hosts share the fabric's routing table.
        identities: files of tables of identities, `devices`, `links` and `management`; what they give is in the next
            four.
        given_racks: device -> rack that it stands in.
        moved: former name -> the present one, of what is the same.
        replaced: name of a host or switch that is gone -> what stands in its place.
        retired: names of racks, hosts and host groups that give their places back.
        positions: path -> place in the file, for every mapping value and list item that the file has.
        assumptions: dotted path -> value, for every default taken, in spec order.
    """

    cluster: str
    file: str
    catalog_files: tuple[str, ...]
    gpus: Gpus
    tors: Tier
    spines: Tier | None
    cores: Tier | None
    planes: int
    priorities: tuple[Priority, ...]
    addressing: Addressing
    routing: Routing
    cables: Cables
    management: device_model.Management
    host_mtu: int
    switch_mtu: int
    overrides: Mapping[str, device_model.Override]
    accept: tuple[device_model.Acceptance, ...]
    congestion: Congestion = field(default_factory=Congestion)
    load_balancing: LoadBalancing = field(default_factory=LoadBalancing)
    headroom_oversubscription: Fraction | None = None
    vendor_qos: bool = False
    infiniband: Infiniband | None = None
    planes_present: int = 0
    plane_split: str = ""
    overlays: tuple[device_model.OverlayFile, ...] = ()
    unused_silent: bool = False
    descriptions: Descriptions = Descriptions()
    network: Network | None = None
    networks: Mapping[str, ClusterSpec] = field(default_factory=dict)
    external: tuple[ExternalParty, ...] = ()
    evpn: EvpnRequest | None = None
    tenants: tuple[TenantRequest, ...] = ()
    identities: Mapping[str, str] = field(default_factory=dict)
    given_devices: tuple[device_model.DeviceRow, ...] = ()
    given_links: tuple[device_model.LinkRow, ...] = ()
    given_management: tuple[device_model.ManagementRow, ...] = ()
    given_racks: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, device_model.Replacement] = field(default_factory=dict)
    retired: tuple[str, ...] = ()
    positions: Mapping[KeyPath, Position] = field(default_factory=dict, compare=False, repr=False)
    assumptions: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def network_name(self) -> str:
        """The name of the further network that it describes; empty for what the top level of a spec describes."""
        return self.network.name if self.network else ""

    @property
    def unit_prefix(self) -> str:
        """The beginning of names of counted units: by the wiring of the rails, in every spec of the same hosts."""
        wiring = (self.network and self.network.rails_elsewhere) or self.gpus.wiring
        return "su" if wiring == "rail" else "rack"

    @property
    def identity_files(self) -> tuple[str, ...]:
        """The tables of identities that it names, those of further networks too."""
        return tuple(file for each in (self, *self.networks.values()) for file in each.identities.values())

    def position(self, *path: str | int) -> Position:
        """Return the place of a value, or of the nearest enclosing one that the file has."""
        for length in range(len(path), 0, -1):
            if (found := self.positions.get(path[:length])) is not None:
                return found
        return Position(self.file, 1, 1)

    def error(self, code: str, message: str, *path: str | int, help: str = "") -> Diagnostic:
        """Return an error about the value at `path`."""
        return Diagnostic(code, Severity.ERROR, message, self.position(*path), help)

    def warning(self, code: str, message: str, *path: str | int, help: str = "") -> Diagnostic:
        """Return a warning about the value at `path`."""
        return Diagnostic(code, Severity.WARNING, message, self.position(*path), help)

    def note(self, code: str, message: str, *path: str | int, help: str = "") -> Diagnostic:
        """Return a note about the value at `path`."""
        return Diagnostic(code, Severity.NOTE, message, self.position(*path), help)
