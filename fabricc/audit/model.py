"""The result of reading a folder: devices with their facts, links between them, places in the fabric.

Values in, values out: `gather` makes devices of files, `links` joins them, `places` finds their tiers, the rules read
everything. No plan decides anything here; a missing statement is None, never a guess.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.defaults import states_addresses_in_one_file
from fabricc.base.values import dataclass
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import NOWHERE, Device, End, LinkPeer, Place
from fabricc.rules.sessions import is_address

if TYPE_CHECKING:
    from collections.abc import Mapping


class Evidence(StrEnum):
    """The evidence for a link, the strongest first."""

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


@dataclass(frozen=True, slots=True)
class FoundFabric:
    """A whole folder.

    Attributes:
        devices: by name; `places`: of each.
        links: each once.
    """

    devices: Mapping[str, Device]
    links: tuple[Link, ...]
    places: Mapping[str, Place]


def fars_of(found: FoundFabric) -> dict[str, dict[str, LinkPeer]]:
    """Device -> port -> the other end of its link."""
    fars: dict[str, dict[str, LinkPeer]] = {name: {} for name in found.devices}
    for link in found.links:
        for near, far in link.ways:
            if near.device in fars:
                place = found.places.get(far.device, NOWHERE)
                known = far.device in found.devices
                fars[near.device].setdefault(near.port, LinkPeer(far, place.tier, known))
    return fars


def unlinked_fabric(devices: Mapping[str, Device], links: tuple[Link, ...]) -> dict[str, int]:
    """Return the switches of one fabric in a folder without any known link -> how many bare ports have sessions.

    Their addresses are in another file. Files of one switch, such as those of several releases, have its name.
    """
    if links:
        return {}
    names, bare = {}, {}
    for name, device in devices.items():
        if states_addresses_in_one_file(device.system):
            continue
        ports = {
            split_list_path(path, "bgp/neighbor")[0]
            for path in device.reading.facts
            if path.startswith(_SESSION)
        }
        bare[name] = sum(not is_address(port) for port in ports)
        if bare[name] >= _SEVERAL:
            names[name] = device.reading.facts.get("system/hostname", name)
    return {name: bare[name] for name in names} if len({*names.values()}) == len(names) else {}


_SESSION, _SEVERAL = "bgp/neighbor[", 2


def neighbors_of(found: FoundFabric) -> dict[str, set[str]]:
    """Return the devices of links -> the devices at the other ends."""
    linked: dict[str, set[str]] = {}
    for link in found.links:
        for near, far in link.ways:
            linked.setdefault(near.device, set()).add(far.device)
    together = {*unlinked_fabric(found.devices, found.links)}
    linked |= {name: together - {name} for name in together}
    return linked
