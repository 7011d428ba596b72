"""The waist: what every device is, fully decided and without a vendor's word, and the rows of the cabling plan.

A back end receives one `Switch` or one `Host` and needs nothing else. MTUs are IP MTUs in bytes, speeds are Gb/s,
lengths metres; addresses are text in canonical form (RFC 5952 for IPv6).
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING

from fabricc.base import secret_words
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Bgp, LoadBalancing, StaticRoute
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.catalog.model import HostModel, NicModel, SwitchModel
    from fabricc.fabric.evpn import Vtep
    from fabricc.fabric.qos import SwitchQos, TrafficClass
    from fabricc.fabric.tenants import TenantVrfs


class Direction(StrEnum):
    """The kind of device that a port leads to."""

    DOWN = "down"  # a lower switch tier
    UP = "up"  # a higher switch tier
    PEER = "peer"  # the other ToR of a plane without spines
    HOST = "host"
    EXTERNAL = "external"  # out of the fabric
    UNUSED = "unused"


@dataclass(frozen=True, slots=True)
class Peer:
    """The far end of a cable: device and port as that device names it."""

    device: str
    port: str


NO_CAGE = -1
"""The cage of a port of a foreign switch that the catalog does not have."""


@dataclass(frozen=True, slots=True)
class Port:
    """One logical port of a switch: a whole cage or one child of a breakout.

    Attributes:
        name: as the switch's NOS names it.
        cage: number on the front panel, from 0 or 1 as the system counts; `NO_CAGE` where it is not known.
        child, children: this child of how many (1 of 1 for a whole cage).
        lanes: SerDes lanes of this port; its first lane in the cage is `(child - 1) * lanes`.
        profile: name of its `PortProfile`; None when unused, without a lossless class, or when it leads outside.
        ipv4, ipv6: address with prefix length, or None.
        unnumbered: True when the link runs on IPv6 link-local addresses (RFC 8950).
        reserved: True for a port that the spec keeps free for the user: unused and shut, but not to be planned over.
        trusted: packets that arrive are classified by their DSCP; else they are in the default class and get its DSCP.
        segment: VLAN that the port is an access port of; None for a routed one.
        vrf: VRF of the tenant that the port belongs to; "" for the routing table that switches share.
        label: what it is described by where the spec has words of its own; "" for the usual ones.
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
    trusted: bool = True
    segment: int | None = None
    label: str = ""
    vrf: str = ""

    @property
    def description(self) -> str:
        """Text for the port's description: the far end, or why the port is shut."""
        if self.label:
            return self.label
        if self.peer:
            return f"{self.peer.device} {self.peer.port}"
        return "reserved" if self.reserved else "unused"


@dataclass(frozen=True, slots=True)
class Account:
    """A local account with a public SSH key.

    Attributes:
        password: reference to the hash of a password; "" for an account with a key alone.
    """

    name: str
    ssh_key: str
    password: str = ""


SECRET_PREFIX = secret_words.SECRET_PREFIX
"""Prefix of a reference to a secret in the files; the secret's name follows, at most 16 characters."""


@dataclass(frozen=True, slots=True)
class LoginServers:
    """Servers of TACACS+ (RFC 8907) or RADIUS (RFC 2865) in the order of use; `key` is a reference to a secret."""

    servers: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class SyslogTls:
    """Transport of log messages over TLS (RFC 5425).

    Attributes:
        ca: name of the certificate that the servers' certificates are verified with.
        port: of the servers.
    """

    ca: str
    port: int


@dataclass(frozen=True, slots=True)
class NtpKey:
    """A symmetric key that every time server must answer with (RFC 5905).

    Attributes:
        kind: `sha1` or `md5`.
        key: reference to a secret.
    """

    number: int
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """A user of SNMPv3 that reads with authentication (HMAC-SHA-96, RFC 3414) and privacy (AES-128, RFC 3826).

    Attributes:
        auth, privacy: references to secrets.
    """

    name: str
    auth: str
    privacy: str


@dataclass(frozen=True, slots=True)
class SnmpTraps:
    """Traps of SNMPv3 with authentication and privacy.

    Attributes:
        servers: addresses of the receivers.
        user: name of the user whose passwords they use.
    """

    servers: tuple[str, ...]
    user: str


@dataclass(frozen=True, slots=True)
class Snmp:
    """Read-only SNMP.

    Attributes:
        community: reference to the secret of SNMPv2c; "" without one.
        location, contact: may be empty.
        users: of SNMPv3.
        traps: None where nothing receives traps.
    """

    community: str
    location: str
    contact: str
    users: tuple[SnmpUser, ...] = ()
    traps: SnmpTraps | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """Management services of every device.

    Attributes:
        access: IPv4 networks that may reach the device's management services; empty for everyone.
        tacacs, radius, snmp, gnmi_port: None where the service is off; at most one of `tacacs` and `radius` is on.
        lldp_interval_s: seconds between LLDP announcements; a neighbor forgets after four of them.
        ntp_key: None where time servers need no key.
        banner: lines before a login, which line breaks separate; "" for none.
        syslog_tls: None where log servers receive messages over UDP.
    """

    ntp: tuple[str, ...]
    dns: tuple[str, ...]
    syslog: tuple[str, ...]
    users: tuple[Account, ...]
    access: tuple[str, ...] = ()
    tacacs: LoginServers | None = None
    radius: LoginServers | None = None
    snmp: Snmp | None = None
    gnmi_port: int | None = None
    lldp_interval_s: int = 30
    ntp_key: NtpKey | None = None
    banner: str = ""
    syslog_tls: SyslogTls | None = None

    @property
    def login(self) -> tuple[str, LoginServers] | None:
        """Return the protocol whose servers check logins, `tacacs` or `radius`, and the servers; None without."""
        if self.tacacs:
            return "tacacs", self.tacacs
        return ("radius", self.radius) if self.radius else None

    @property
    def snmp_users(self) -> tuple[SnmpUser, ...]:
        """Return the users of SNMPv3."""
        return self.snmp.users if self.snmp else ()


@dataclass(frozen=True, slots=True)
class Management(Services):
    """The out-of-band side of one device: the services, its own address with the prefix length, and its gateway."""

    address: str = ""
    gateway: str = ""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Content of the user's own for one file of a switch, merged in after rendering.

    Attributes:
        name: what messages call it: the user's file.
        into: the switch's file, below its folder; "" for a back end's only one.
        text: the content, in the file's own syntax.
        removes: it is taken away instead.
    """

    name: str
    into: str
    text: str
    removes: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, everything decided.

    Attributes:
        plane: from 0. `pod` is None outside three-tier fabrics and on cores; `unit` is None above ToRs.
        tier_index: 0 for ToRs, 1 for spines, 2 for cores; back ends derive a hash seed per tier from it.
        loopback4, loopback6: addresses without prefix length (/32, /128); None when the family is absent.
        ports: every fabric cage's ports in panel order, the unused ones too; last those that a cage has more of
            because external links split it.
        vtep: its segments with EVPN-VXLAN; None without, and above ToRs.
        tenants: the VRFs of tenants with EVPN-VXLAN or without; None where there are none, and above ToRs.
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
    static_routes: tuple[StaticRoute, ...] = ()
    vtep: Vtep | None = None
    tenants: TenantVrfs | None = None

    @property
    def tier_index(self) -> int:
        """Distance from the hosts: 0 ToR, 1 spine, 2 core."""
        return (TierName.TOR, TierName.SPINE, TierName.CORE).index(self.tier)


@dataclass(frozen=True, slots=True)
class HostPort:
    """One back-end port of a host.

    Attributes:
        name: netdev name, at most 15 characters: `rail0`, or `rail0a` and `rail0b` for a two-port NIC.
        rail: NIC number from 0, which is also its GPU's; `nic_port`: port of that NIC from 0. On a host without GPUs
            these only identify the ToR.
        rdma: RDMA device name.
        pci: PCI address of the NIC or "" where the platform does not fix it.
        ipv4, gateway4, ipv6, gateway6: None when the family is absent; addresses with prefix length, of a link or of a
            segment that other hosts share.
        table: routing table of this port; its rules have priority 1000 plus the table's offset from 100.
        plane: of the host's `planes`, the one that the port is in.
        metric: of its routes in the main table, which sockets take that bind no address; None for no such routes.
        on_nic: which port of its NIC it is, from 0: `nic_port`, unless the ports of a NIC are on different rails.
        second_pci: PCI address of a second function of the same port, "" without one.
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
    plane: int = 0
    metric: int | None = None
    on_nic: int = 0
    second_pci: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """A host, everything decided.

    Attributes:
        fabric_prefixes4, fabric_prefixes6: what is reached through the rails, for policy routes.
        outside4, outside6: what lies outside the fabric and is reached through the rails too.
        classes: the fabric's traffic classes, as on every switch.
        recommended_qps: queue pairs per connection that use the fabric's parallel paths.
        rail_isolated: rails meet in hosts only.
        planes: fabrics that the host's ports belong to and that no switch joins.
        rack: its rack in the spec, with rail wiring, else ""; with rack wiring its unit is its rack.
        domain: the NVLink domain that its GPUs share with those of other hosts, else "".
        spreads_packets: switches take a path for every packet, so that packets arrive out of order.
        os: operating system and release, e.g. `rhel-9`.
        rdma_class: name of the class of its RDMA; "" for the first lossless one.
        socket_interface: interface for sockets of jobs; "" where nothing names one.
        leave_out: settings that its files leave to somebody else.
        network: the further network that `ports` and all the rest are of; "" for that of the rails.
        guest: whether this is a part of a host, whose other files another network's fabric has.
        beside: the networks that have such a part of this host.
        rails_elsewhere: whether another spec describes its rails, and what a host has once, such as kernel modules.
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
    planes: int = 1
    spreads_packets: bool = False
    rdma_class: str = ""
    outside4: tuple[str, ...] = ()
    outside6: tuple[str, ...] = ()
    network: str = ""
    guest: bool = False
    beside: tuple[str, ...] = ()
    rails_elsewhere: bool = False
    rack: str = ""
    domain: str = ""
    socket_interface: str = ""
    leave_out: tuple[str, ...] = ()

    @property
    def nic(self) -> NicModel:
        """The NIC of every rail: the host model's own, or the one that the spec names."""
        return self.model.nic


@dataclass(frozen=True, slots=True)
class CableKind:
    """Medium and length of the cables of one kind of link."""

    medium: str
    length_m: int


@dataclass(frozen=True, slots=True)
class CableRow:
    """One cable of the cabling plan; `a` is the lower end. `kind` is `host`, `spine`, `core` or `external`."""

    a_device: str
    a_port: str
    b_device: str
    b_port: str
    speed_gbps: int
    medium: str
    length_m: int
    kind: str


def plan_peers(switches: Iterable[Switch]) -> dict[str, dict[str, str]]:
    """Return for the VNI of each tenant the ToRs that have ports in use in its VRF: VTEP address -> name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for switch in switches:
        if switch.tenants and switch.tenants.source:
            used = {port.vrf for port in switch.ports if port.enabled}
            for tenant in switch.tenants.tenants:
                if tenant.name in used:
                    found[str(tenant.vni)][switch.tenants.source] = switch.name
    return found
