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
    """Return the switches of one fabric whose sessions over bare ports have no known link -> how many such ports.

    Files of one switch, such as those of several releases or variants, have its name or its loopback.
    """
    ends = {(end.device, end.port) for link in links for end in (link.a, link.b)}
    names, bare, identifiers = {}, {}, set()
    for name, device in devices.items():
        facts = device.reading.facts
        stated = {split_list_path(path, "bgp/neighbor")[0] for path in facts if path.startswith(_SESSION)}
        ports = [port for port in stated if not is_address(port)]
        if any((name, port) in ends for port in ports):
            return {}
        if len(ports) >= _SEVERAL:
            bare[name], names[name] = len(ports), facts.get("system/hostname", name)
            one_file = states_addresses_in_one_file(device.system)
            own = facts.get("loopback/ipv4", facts.get("bgp/router_id", ""))
            identifiers.add(own if one_file else name)
    several = len({*names.values()}) == len(names) and len(identifiers) >= max(len(names) - 1, _SEVERAL)
    return bare if several else {}


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
