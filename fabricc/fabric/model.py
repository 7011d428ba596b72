"""The waist: what every device is, fully decided and without a vendor's word.

A back end receives one `Switch` or one `Host` and needs nothing else. MTUs are IP MTUs in bytes, speeds are
Gb/s, lengths metres; addresses are text in canonical form (RFC 5952 for IPv6).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from fabricc.values import dataclass

if TYPE_CHECKING:
    from fabricc.catalog.model import HostModel, NicModel, SwitchModel


class TierName(StrEnum):
    """The three switch tiers, from the hosts up."""

    TOR = "tor"
    SPINE = "spine"
    CORE = "core"


class Direction(StrEnum):
    """What a port leads to."""

    DOWN = "down"  # a lower switch tier
    UP = "up"  # a higher switch tier
    HOST = "host"
    UNUSED = "unused"


# --- quality of service -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """One class, the same on every switch and NIC of the fabric.

    `priority` is at once traffic class, PFC and 802.1p priority, priority group and queue number; a NOS whose
    local numbers differ maps them itself.

    Attributes:
        dscps: code points classified into it, ascending; every code point belongs to exactly one class.
        data_dscp: the code point that senders of this class use: the first that the spec lists for it.
        weight_percent: share of what strict classes leave; 0 for strict classes.
        cnp: True for the class that carries congestion notification packets.
    """

    name: str
    priority: int
    dscps: tuple[int, ...]
    data_dscp: int
    lossless: bool
    strict: bool
    weight_percent: int
    ecn: bool
    cnp: bool


@dataclass(frozen=True, slots=True)
class Headroom:
    """What one lossless priority group of a port is given, bytes; `source` names the table row or formula.

    `cable_m` is the length it was looked up with: the cable's own, rounded up to a listed one.
    """

    cable_m: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    xon_offset_bytes: int | None
    dynamic_th: int
    source: str


@dataclass(frozen=True, slots=True)
class Ecn:
    """WRED marking of one queue: probability rises from 0 at `min_bytes` to `max_percent` at `max_bytes`."""

    min_bytes: int
    max_bytes: int
    max_percent: int


@dataclass(frozen=True, slots=True)
class PortProfile:
    """Lossless settings shared by all ports of one speed and cable class on one switch.

    Attributes:
        name: stable and unique on the switch, e.g. `400g-40m`.
        ecn: None where nothing is marked and only PFC is left against congestion.
    """

    name: str
    speed_gbps: int
    cable_m: int
    headroom: Headroom
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """PFC watchdog timers in milliseconds; action is `drop` or `forward`."""

    detect_ms: int
    restore_ms: int
    poll_ms: int
    action: str


@dataclass(frozen=True, slots=True)
class BufferPools:
    """Shared-buffer pools of one switch in bytes (see `catalog.model.Pools`)."""

    ingress_lossless_bytes: int
    headroom_bytes: int
    egress_lossless_bytes: int
    egress_lossy_bytes: int | None
    egress_lossless_static: bool


@dataclass(frozen=True, slots=True)
class Trimming:
    """A packet that finds no room in its queue is cut short and sent on, so that its receiver asks for it at once.

    Attributes:
        size_bytes: what is left of the packet.
        dscp, queue: code point that the rest is given, and the queue that it leaves by.
        queues: the queues whose packets are cut, ascending.
    """

    size_bytes: int
    dscp: int
    queue: int
    queues: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SwitchQos:
    """The lossless policy of one switch.

    Attributes:
        classes: ascending by priority.
        profiles: one per (speed, cable class) in use, ascending by name; empty without a lossless class.
        watchdog, pools: None without a lossless class.
        trimming: None where packets without room are dropped.
        link_retry: frames lost on a link are sent again by its end (LLR of Ultra Ethernet 1.0).
    """

    classes: tuple[TrafficClass, ...]
    profiles: tuple[PortProfile, ...]
    watchdog: Watchdog | None
    pools: BufferPools | None
    trimming: Trimming | None = None
    link_retry: bool = False

    @property
    def lossless(self) -> tuple[TrafficClass, ...]:
        """The classes protected by PFC."""
        return tuple(c for c in self.classes if c.lossless)


class Spreading(StrEnum):
    """What keeps its path through equal-cost links: a flow, a burst of it, or nothing."""

    HASH = "hash"
    FLOWLET = "flowlet"
    PACKET = "packet"


@dataclass(frozen=True, slots=True)
class LoadBalancing:
    """How equal-cost paths share traffic; addresses, protocol and ports are always hashed.

    Attributes:
        queue_pairs: hash the destination queue pair of the RoCE transport header too.
        flowlet_idle_us: pause that ends a flowlet; None for the platform's own.
    """

    mode: Spreading = Spreading.HASH
    queue_pairs: bool = False
    flowlet_idle_us: int | None = None


# --- ports and sessions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peer:
    """The far end of a cable: device and port as that device names it."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class Port:
    """One logical port of a switch: a whole cage or one child of a breakout.

    Attributes:
        name: as the switch's NOS names it.
        cage: number on the front panel, from 1.
        child, children: this child of how many (1 of 1 for a whole cage).
        lanes: SerDes lanes of this port; its first lane in the cage is `(child - 1) * lanes`.
        profile: name of its `PortProfile`; None when unused or without a lossless class.
        ipv4, ipv6: address with prefix length, or None.
        unnumbered: True when the link runs on IPv6 link-local addresses (RFC 8950).
        reserved: True for a port that the spec keeps free for the user: unused and shut, but not to be planned over.
    """

    name: str
    cage: int
    child: int
    children: int
    lanes: int
    speed_gbps: int
    direction: Direction
    enabled: bool
    mtu: int
    peer: Peer | None = None
    cable_m: int | None = None
    medium: str | None = None
    ipv4: str | None = None
    ipv6: str | None = None
    unnumbered: bool = False
    profile: str | None = None
    reserved: bool = False

    @property
    def description(self) -> str:
        """Text for the port's description: the far end, or why the port is shut."""
        if self.peer:
            return f"{self.peer.device} {self.peer.port}"
        return "reserved" if self.reserved else "unused"


class Transport(StrEnum):
    """What a BGP session runs over."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    UNNUMBERED = "unnumbered"


@dataclass(frozen=True, slots=True)
class PeerGroup:
    """Settings shared by the sessions in one direction: `UPSTREAM` or `DOWNSTREAM`.

    Attributes:
        maximum_prefixes: per address family; more from one neighbour takes the session down.
    """

    name: str
    import_map: str
    export_map: str
    maximum_prefixes: int


@dataclass(frozen=True, slots=True)
class Session:
    """One eBGP session (single hop). IPv4 and IPv6 transport carry their own family, unnumbered carries all.

    Attributes:
        local, remote: addresses without prefix length; None when unnumbered.
    """

    group: str
    transport: Transport
    port: str
    peer: str
    remote_asn: int
    local: str | None
    remote: str | None


# --- routing policy -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrefixRule:
    """Permits `prefix`, or its more specifics of a length from `ge` to `le`."""

    prefix: str
    ge: int | None = None
    le: int | None = None


@dataclass(frozen=True, slots=True)
class PrefixList:
    """A named list of permitted prefixes of one family (4 or 6); whatever it does not permit, it denies."""

    name: str
    family: int
    rules: tuple[PrefixRule, ...]


@dataclass(frozen=True, slots=True)
class CommunityList:
    """A named list that matches routes carrying the one standard community (RFC 1997) `community`."""

    name: str
    community: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One step of a route map; conditions are ANDed, the first clause that matches decides.

    Attributes:
        prefix_list, community_list: names to match, or None.
        local_preference: value to set, or None.
        add_community: community to add to those present, or None.
    """

    sequence: int
    permit: bool
    prefix_list: str | None = None
    family: int | None = None
    community_list: str | None = None
    local_preference: int | None = None
    add_community: str | None = None


@dataclass(frozen=True, slots=True)
class RouteMap:
    """A named list of clauses; a route that none matches is denied."""

    name: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Bgp:
    """One BGP process.

    Attributes:
        maximum_paths: equal-cost next hops to install.
        multipath_relax: accept equal-length paths whose AS_PATHs differ.
        ipv4, ipv6: address families carried.
        redistribute_map: route map for connected routes taken into BGP.
        aggregates: prefixes announced in place of their more specifics, only where no other device has these.
        bfd_interval_ms: None without BFD.
        ttl_security: accept sessions only from one hop away (GTSM, RFC 5082).
    """

    asn: int
    router_id: str
    keepalive_s: int
    hold_s: int
    maximum_paths: int
    multipath_relax: bool
    ipv4: bool
    ipv6: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    redistribute_map: str
    aggregates: tuple[str, ...]
    groups: tuple[PeerGroup, ...]
    sessions: tuple[Session, ...]
    prefix_lists: tuple[PrefixList, ...]
    community_lists: tuple[CommunityList, ...]
    route_maps: tuple[RouteMap, ...]
    ttl_security: bool = False


# --- devices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Account:
    """A local account with a public SSH key."""

    name: str
    ssh_key: str


SECRET_PREFIX = "FABRICC-SECRET-"
"""What a reference to a secret begins with in the files; the secret's name follows, at most 16 characters."""


@dataclass(frozen=True, slots=True)
class Tacacs:
    """TACACS+ (RFC 8907): servers in the order in which they are asked; `key` is a reference to a secret."""

    servers: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class Snmp:
    """Read-only SNMP; `community` is a reference to a secret, location and contact may be empty."""

    community: str
    location: str
    contact: str


@dataclass(frozen=True, slots=True)
class Management:
    """The out-of-band side of a device; `address` has the prefix length.

    Attributes:
        access: IPv4 networks that may reach the device's management services; empty for everyone.
        tacacs, snmp, gnmi_port: None where the service is off.
        lldp_interval_s: seconds between LLDP announcements; a neighbour forgets after four of them.
    """

    address: str
    gateway: str
    ntp: tuple[str, ...]
    dns: tuple[str, ...]
    syslog: tuple[str, ...]
    users: tuple[Account, ...]
    access: tuple[str, ...] = ()
    tacacs: Tacacs | None = None
    snmp: Snmp | None = None
    gnmi_port: int | None = None
    lldp_interval_s: int = 30


@dataclass(frozen=True, slots=True)
class Overlay:
    """Content of the user's own for one file of a switch, merged in after rendering.

    Attributes:
        name: what messages call it: the user's file.
        into: the switch's file, below its folder; "" for a back end's only one.
        text: the content, in the file's own syntax.
    """

    name: str
    into: str
    text: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, everything decided.

    Attributes:
        plane: from 0. `pod` is None outside three-tier fabrics and on cores; `unit` is None above ToRs.
        tier_index: 0 for ToRs, 1 for spines, 2 for cores; back ends derive a hash seed per tier from it.
        loopback4, loopback6: addresses without prefix length (/32, /128); None when the family is absent.
        ports: every fabric cage's ports in panel order, the unused ones too.
    """

    name: str
    cluster: str
    tier: TierName
    plane: int
    pod: int | None
    unit: int | None
    model: SwitchModel
    nos: str
    release: str
    loopback4: str | None
    loopback6: str | None
    drained: bool
    management: Management
    ports: tuple[Port, ...]
    bgp: Bgp
    qos: SwitchQos
    load_balancing: LoadBalancing = LoadBalancing()
    overlays: tuple[Overlay, ...] = ()

    @property
    def tier_index(self) -> int:
        """Distance from the hosts: 0 ToR, 1 spine, 2 core."""
        return (TierName.TOR, TierName.SPINE, TierName.CORE).index(self.tier)


@dataclass(frozen=True, slots=True)
class HostPort:
    """One back-end port of a host.

    Attributes:
        name: netdev name, at most 15 characters: `rail0`, or `rail0a` and `rail0b` for a two-port NIC.
        rail: NIC number from 0, which is also its GPU's; `nic_port`: port of that NIC from 0.
        rdma: RDMA device name.
        pci: PCI address of the NIC or "" where the platform does not fix it.
        ipv4, gateway4, ipv6, gateway6: None when the family is absent; addresses with prefix length.
        table: routing table of this port; its rules have priority 1000 plus the table's offset from 100.
    """

    name: str
    rail: int
    nic_port: int
    rdma: str
    pci: str
    speed_gbps: int
    mtu: int
    cable_m: int
    medium: str
    peer: Peer
    ipv4: str | None
    gateway4: str | None
    ipv6: str | None
    gateway6: str | None
    table: int


@dataclass(frozen=True, slots=True)
class Host:
    """A GPU host, everything decided.

    Attributes:
        fabric_prefixes4, fabric_prefixes6: what is reached through the rails, for policy routes.
        classes: the fabric's traffic classes, as on every switch.
        recommended_qps: queue pairs per connection that use the fabric's parallel paths.
        os: operating system and release, e.g. `rhel-9`.
    """

    name: str
    cluster: str
    model: HostModel
    unit: int
    slot: int
    rail_isolated: bool
    ports: tuple[HostPort, ...]
    classes: tuple[TrafficClass, ...]
    fabric_prefixes4: tuple[str, ...]
    fabric_prefixes6: tuple[str, ...]
    recommended_qps: int
    os: str = "ubuntu-24.04"

    @property
    def nic(self) -> NicModel:
        """The NIC of every rail: the host model's own, or the one that the spec names."""
        return self.model.nic
