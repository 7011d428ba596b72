"""The result of reading a folder: devices with their facts, links between them, places in the fabric.

Values in, values out: `gather` makes devices of files, `links` joins them, `places` finds their tiers, the rules read
everything. No plan decides anything here; a missing statement is None, never a guess.
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
    """An LLDP announcement on one port."""

    port: str
    device: str
    far_port: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the folder.

    Attributes:
        name: its own name, else that of its files; unique in the folder.
        system: name of its NOS, `host` of a host.
        files: name as the back end calls it -> text; `paths`: the same name -> path below the folder, for findings.
        held: the facts of its files; packed where thousands are in memory.
        box: the product name on the device, "" if unknown; `model`: its entry in the catalog.
        release: of the NOS, "" if unknown.
        neighbours: its LLDP neighbors.
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
        """Return the content of its files."""
        return unpacked(self.held) if isinstance(self.held, Held) else self.held

    @property
    def reading(self) -> Reading:
        """Facts with their lines, and the lines that no row knows."""
        return self.contents.reading

    @property
    def aside(self) -> frozenset[tuple[str, int]]:
        """Return file and line of unknown lines without effect on forwarding or losslessness."""
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
    """The statement of one evidence about the far end of a port; `far.port` is "" if it only names the device."""

    near: End
    far: End
    evidence: Evidence
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two ports, `a` before `b`; `evidence` in order of strength, at least one.

    The far end may be a device that the folder does not hold: then its device is the name that the near end uses.

    Attributes:
        against: other statements about either port that contradict this link.
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
    """The place of a device; None if unknown.

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
