"""What is found in a folder of configurations: devices with what they say, links between them, places in the fabric.

Values in, values out: `gather` makes devices of files, `links` joins them, `places` tells their tiers, the rules read
all of it. Nothing here is decided by a plan; what is not said is None, never a guess.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.packed import Held, unpacked
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.audit.packed import Contents
    from fabricc.fabric.facts import Reading


HOST = "host"
"""The system of hosts."""


class Kind(StrEnum):
    """What a device is."""

    SWITCH = "switch"
    HOST = "host"


class Neighbour(NamedTuple):
    """What LLDP told on one port."""

    port: str
    device: str
    far_port: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the folder.

    Attributes:
        name: what it calls itself, else what its files are called; unique in the folder.
        system: name of its NOS, `host` of a host.
        files: name as the back end calls it -> text; `paths`: the same name -> path below the folder, for findings.
        held: what its files say; packed where thousands are held at once.
        box: the product as the device names it, "" where nothing tells; `model`: its entry in the catalog.
        release: of the NOS, "" where nothing tells.
        neighbours: what LLDP told.
    """

    name: str
    kind: Kind
    system: str
    files: Mapping[str, str]
    paths: Mapping[str, str]
    held: Contents | Held
    box: str = ""
    model: str | None = None
    release: str = ""
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def contents(self) -> Contents:
        """What its files say."""
        return unpacked(self.held) if isinstance(self.held, Held) else self.held

    @property
    def reading(self) -> Reading:
        """Facts with their lines, and the lines that no row knows."""
        return self.contents.reading

    @property
    def aside(self) -> frozenset[tuple[str, int]]:
        """File and line of those among the unknown ones that say nothing about forwarding or losslessness."""
        return self.contents.aside


class End(NamedTuple):
    """A port of a device, by names."""

    device: str
    port: str


class Evidence(StrEnum):
    """What shows that a link is there, the strongest first."""

    LLDP = "LLDP"
    SUBNET = "subnet"
    SESSION = "BGP session"
    DESCRIPTION = "description"


class Claim(NamedTuple):
    """What one evidence says of where a port leads; `far.port` is "" where it names the device alone."""

    near: End
    far: End
    evidence: Evidence
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two ports, `a` before `b`; `evidence` in order of strength, one at least.

    The far end may be a device that the folder does not hold: then its device is what the near end calls it.

    Attributes:
        against: what else was said of either port, and cannot be true with this link.
    """

    a: End
    b: End
    evidence: tuple[Evidence, ...]
    against: tuple[Claim, ...] = ()

    @property
    def ways(self) -> tuple[tuple[End, End], tuple[End, End]]:
        """Each end with the one that it leads to."""
        return (self.a, self.b), (self.b, self.a)


class Tier(StrEnum):
    """Where a device stands; those of a tier have links to the next one."""

    HOST = "host"
    TOR = "tor"
    SPINE = "spine"
    CORE = "core"
    OTHER = "other"


class Place(NamedTuple):
    """Where a device stands; None where nothing tells.

    Attributes:
        unit: number of the set of ToRs with common hosts, counted in order of names.
        plane: of switches that only reach each other through hosts.
        pod: of spines with common ToRs; rail: of a ToR that serves one NIC of each host.
    """

    tier: Tier
    unit: int | None = None
    plane: int | None = None
    pod: int | None = None
    rail: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A whole folder.

    Attributes:
        devices: by name; `places`: of each.
        links: each once.
    """

    devices: Mapping[str, Device]
    links: tuple[Link, ...]
    places: Mapping[str, Place]
