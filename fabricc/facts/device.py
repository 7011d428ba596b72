"""The facts of one device from its files, and its place; for planned, built, collected and foreign devices."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple
from warnings import warn

from fabricc.base.values import dataclass
from fabricc.facts.packed import Held, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Reading
    from fabricc.facts.packed import Contents

HOST = "host"
"""The system of hosts."""


class Kind(StrEnum):
    """The kind of a device."""

    SWITCH = "switch"
    HOST = "host"


class Neighbor(NamedTuple):
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
        neighbors: its LLDP neighbors.
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
    neighbors: tuple[Neighbor, ...] = ()

    @property
    def contents(self) -> Contents:
        """Return the content of its files."""
        return unpacked(self.held) if isinstance(self.held, Held) else self.held

    @property
    def reading(self) -> Reading:
        """Facts with their lines, and unknown lines."""
        return self.contents.reading

    @property
    def aside(self) -> frozenset[tuple[str, int]]:
        """Return file and line of unknown lines without effect on forwarding or losslessness."""
        return self.contents.aside

    @property
    def neighbours(self) -> tuple[Neighbor, ...]:
        """Return `neighbors`. Deprecated: the former spelling."""
        warn("Device.neighbours is now Device.neighbors", DeprecationWarning, stacklevel=2)
        return self.neighbors


class End(NamedTuple):
    """A port of a device, by names."""

    device: str
    port: str


class Tier(StrEnum):
    """The tier of a device; those of a tier have links to the next one."""

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
