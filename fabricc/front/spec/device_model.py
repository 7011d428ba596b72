"""Sections of the spec about devices: management, overrides, overlays, identity tables, replacements, acceptances."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Position, Severity
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    from netaddr import IPAddress, IPNetwork

    from fabricc.fabric.model import CableKind, Services
    from fabricc.fabric.out_of_band import ManagementNetwork


@dataclass(frozen=True, slots=True)
class NosChoice:
    """A network operating system and its release, e.g. (`sonic`, `202505`); release None takes its default."""

    name: str
    release: str | None

    @staticmethod
    def of(text: str) -> NosChoice:
        """Return the system of a word in a spec: `sonic-202505`, or `sonic`."""
        name, _, release = text.partition("-")
        return NosChoice(name, release or None)

    @property
    def text(self) -> str:
        """The system as a spec writes it."""
        return f"{self.name}-{self.release}" if self.release else self.name


@dataclass(frozen=True, slots=True)
class ManagementTier:
    """Requested management switches, or those that aggregate them.

    Attributes:
        count: of each rack or unit, None for as many as its ports need; of an aggregation all there are.
        uplinks: of each, or None for one to each device that it can lead to.
    """

    model: str
    nos: NosChoice | None
    count: int | None
    uplinks: int | None


@dataclass(frozen=True, slots=True)
class ManagementRequest:
    """The requested management switches.

    Attributes:
        by_unit: one place to a unit, though racks are known.
        row: the place of spines and cores that no table places.
        outside: devices that the topmost of them lead to.
        cable: to devices. `uplink`: between management switches.
    """

    tier: ManagementTier
    aggregation: ManagementTier | None
    by_unit: bool
    row: str
    outside: tuple[str, ...]
    cable: CableKind
    uplink: CableKind


@dataclass(frozen=True, slots=True)
class Management:
    """The out-of-band networks and the services on them.

    Attributes:
        network, gateway: of every switch that none of `networks` takes; None where these have to take all.
        switches: None where the out-of-band switches are not planned.
    """

    network: IPNetwork | None
    gateway: IPAddress | None
    services: Services
    networks: tuple[ManagementNetwork, ...] = ()
    switches: ManagementRequest | None = None


@dataclass(frozen=True, slots=True)
class PortOverride:
    """Overrides of one port of one device; None or False means as planned."""

    cable_m: int | None = None
    medium: str | None = None
    shutdown: bool = False


@dataclass(frozen=True, slots=True)
class Override:
    """Overrides of one device; None or False means as planned.

    Attributes:
        model: catalog name of another model than its tier's.
        nos: another NOS or release than its tier's.
        drain: announce everything with the graceful-shutdown community (RFC 8326).
        cable_m: length of every cable of this device that no port override names.
        ports: port name -> what is different there.
        unnumbered: its links to switches below it are unnumbered ones, among numbered ones.
    """

    nos: NosChoice | None = None
    drain: bool = False
    cable_m: int | None = None
    ports: Mapping[str, PortOverride] = field(default_factory=dict)
    model: str | None = None
    unnumbered: bool = False


@dataclass(frozen=True, slots=True)
class OverlayFile:
    """Content of the user's own for switches of a NOS: in all tiers unless some are named, or for devices by name.

    Attributes:
        file: relative to the spec; `into`: the switch's file that it is merged into, "" for the only one.
        tiers: `tor`, `spine`, `core`; empty for all.
        removes: the content is taken away instead.
    """

    file: str
    nos: str
    into: str = ""
    tiers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    removes: bool = False


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A line of the table of devices: what a switch is given; None is as computed.

    Attributes:
        device: its computed name.
        hosts4, hosts6: a ToR's block for the links to hosts of its unit.
        positions: column -> place in the file.
    """

    device: str
    name: str | None = None
    asn: int | None = None
    loopback4: IPv4Address | None = None
    loopback6: IPv6Address | None = None
    management: IPv4Address | IPv6Address | None = None
    hosts4: IPv4Network | None = None
    hosts6: IPv6Network | None = None
    positions: Mapping[str, Position] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A line of the table of links: device and port of both ends, and their addresses; None is as computed.

    Attributes:
        positions: column -> place in the file.
    """

    a: tuple[str, str]
    b: tuple[str, str]
    ipv4: tuple[IPv4Address | None, IPv4Address | None] = (None, None)
    ipv6: tuple[IPv6Address | None, IPv6Address | None] = (None, None)
    positions: Mapping[str, Position] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ManagementRow:
    """A line of the table of management addresses: what a host's endpoint, or a management switch, is given.

    Attributes:
        device, port: as the table of out-of-band addresses has them.
        positions: column -> place in the file.
    """

    device: str
    port: str
    address: IPv4Address
    positions: Mapping[str, Position] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Another box in the place of one; `by` is its name, `serial` may be ""."""

    by: str
    serial: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A diagnostic the user knows about, with the reason and how grave it is here: a note, a warning or an error.

    Attributes:
        code: of the diagnostic.
        reason: why it is so.
        severity: how grave it is here.
        line: of FAB9065, the configuration line that the spec vouches for, with `*` for any text; "" for other codes.
    """

    code: str
    reason: str
    severity: Severity = Severity.NOTE
    line: str = ""
