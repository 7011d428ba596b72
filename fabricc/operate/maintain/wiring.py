"""Model the links of a network, the hosts of each ToR, and the links that carry traffic during an outage. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from fractions import Fraction
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import TierName
from fabricc.review.report.capacity import evenly_hashed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbours import Link
    from fabricc.fabric.shape import SwitchId

End = tuple[str, str]
"""A device and its port."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Devices and links that are out of service.

    Attributes:
        gone: devices that are off.
        drained: switches that traffic is led around.
        ends: of links that carry nothing; one of both ends is enough.
    """

    gone: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    ends: frozenset[End] = frozenset()

    def __or__(self, other: Outage) -> Outage:
        return Outage(self.gone | other.gone, self.drained | other.drained, self.ends | other.ends)

    def exclude_outage(self, other: Outage) -> Outage:
        """Return this outage without the parts of the other one."""
        back = other.gone | other.drained
        return Outage(self.gone - back, self.drained - back, self.ends - other.ends)

    @property
    def names(self) -> list[str]:
        """Devices and links as they are named on the command line."""
        return [
            *sorted(self.gone | self.drained),
            *(f"{device}:{port}" for device, port in sorted(self.ends)),
        ]


class Cable(NamedTuple):
    """A link of a switch to one above it."""

    port: str
    upper: str
    upper_port: str


class Nic(NamedTuple):
    """A port of a host's NIC, and the port of the ToR that serves it; `unit` and `slot` are the host's."""

    tor: str
    port: str
    host: str
    host_port: str
    unit: int
    slot: int
    rail: int
    nic_port: int


class Share(NamedTuple):
    """The remaining part of some links.

    Attributes:
        links, of: those that carry, and those that there are.
        even: links' worth of traffic that passes when it is hashed evenly over the switches above that have a link.
    """

    links: int
    of: int
    even: int

    @property
    def capacity(self) -> Fraction:
        """The part of their bandwidth that carries traffic without loss."""
        return Fraction(self.even, self.of)

    def plus(self, other: Share) -> Share:
        """Add another share."""
        return Share(self.links + other.links, self.of + other.of, self.even + other.even)


@dataclass(frozen=True, slots=True)
class Wiring:
    """One network with every cable once; the cost is linear in the number of cables.

    Attributes:
        switches: name -> coordinates, in the fabric's order.
        up: switch with uplinks -> these.
        below: switch -> those that have a link up to it.
        nics: ToR -> the NIC ports that it serves.
        hosts: host -> its NIC ports.
        exits: outside party -> the ends of the links to it.
        shut: what the spec itself has out.
    """

    fabric: Fabric
    switches: Mapping[str, SwitchId]
    up: Mapping[str, tuple[Cable, ...]]
    below: Mapping[str, tuple[str, ...]]
    nics: Mapping[str, tuple[Nic, ...]]
    hosts: Mapping[str, tuple[Nic, ...]] = field(default_factory=dict)
    exits: Mapping[str, tuple[End, ...]] = field(default_factory=dict)
    shut: Outage = field(default_factory=Outage)

    @staticmethod
    def of(fabric: Fabric) -> Wiring:
        """Return the wiring of a fabric."""
        switches = {fabric.name(at): at for at in fabric.switch_ids()}
        up: dict[str, tuple[Cable, ...]] = {}
        below: defaultdict[str, dict[str, None]] = defaultdict(dict)
        nics: dict[str, tuple[Nic, ...]] = {}
        shut: set[End] = set()
        hosts: defaultdict[str, list[Nic]] = defaultdict(list)
        for name, at in switches.items():
            if at.tier is TierName.TOR:
                served = tuple(_list_nics(fabric, name, at, shut))
                nics[name] = served
                for nic in served:
                    hosts[nic.host].append(nic)
            cables = tuple(_list_uplinks(fabric, name, at, shut))
            if cables:
                up[name] = cables
                for cable in cables:
                    below[cable.upper][name] = None
        exits = {
            outsider.name: tuple((link.at, link.port) for link in outsider.links)
            for outsider in fabric.external.outsiders
        }
        drained = frozenset(name for name, change in fabric.changes.items() if change.drained)
        return Wiring(
            fabric,
            switches,
            up,
            {name: tuple(lowers) for name, lowers in below.items()},
            nics,
            {name: tuple(of_host) for name, of_host in hosts.items()},
            exits,
            Outage(drained=drained, ends=frozenset(shut)),
        )

    def far_end(self, end: End) -> End | None:
        """Return the other end of a link, the same end if it leads outside, None if there is no such link."""
        device, port = end
        if device in self.hosts:
            return next(((nic.tor, nic.port) for nic in self.hosts[device] if nic.host_port == port), None)
        for nic in self.nics.get(device, ()):
            if nic.port == port:
                return nic.host, nic.host_port
        for cable in self.up.get(device, ()):
            if cable.port == port:
                return cable.upper, cable.upper_port
        for lower in self.below.get(device, ()):
            for cable in self.up[lower]:
                if (cable.upper, cable.upper_port) == end:
                    return lower, cable.port
        return end if port in self.fabric.external.at(device) else None

    def ports(self, device: str) -> list[str]:
        """Return the ports of a device that have a link."""
        if device in self.hosts:
            return [nic.host_port for nic in self.hosts[device]]
        down = [
            cable.upper_port
            for lower in self.below.get(device, ())
            for cable in self.up[lower]
            if cable.upper == device
        ]
        served = [nic.port for nic in self.nics.get(device, ())]
        own = [cable.port for cable in self.up.get(device, ())]
        return [*served, *own, *down, *self.fabric.external.at(device)]

    def count_active_links(self, lower: str, out: Outage) -> Counter[str]:
        """Count links that carry traffic by upper switch; drained switches carry traffic only if no other is left."""
        found: Counter[str] = Counter()
        if lower in out.gone or (lower in out.drained and self.switches[lower].tier is TierName.SPINE):
            return found
        for cable in self.up[lower]:
            if (
                cable.upper not in out.gone
                and not {(lower, cable.port), (cable.upper, cable.upper_port)} & out.ends
            ):
                found[cable.upper] += 1
        whole = Counter({upper: count for upper, count in found.items() if upper not in out.drained})
        return whole or found

    def share(self, lower: str, out: Outage) -> Share:
        """Return the remaining part of a switch's uplinks."""
        found = self.count_active_links(lower, out)
        return Share(found.total(), len(self.up[lower]), evenly_hashed(list(found.values())))

    def resource(self, lower: str) -> str:
        """Return the part of the fabric to which the uplinks of a switch belong."""
        at, cores = self.switches[lower], self.fabric.shape.cores
        name = f"plane {PLANE_LETTERS[at.plane]}"
        if cores:
            name = f"pod{at.pod + 1} {name}"
        return name if at.tier is TierName.TOR else f"{name} to cores"

    def parts(self, out: Outage) -> dict[str, Share]:
        """Map each part of the fabric to its remaining share: uplinks by plane, and exits by outside party."""
        found: dict[str, Share] = {}
        for lower in self.up:
            part = self.resource(lower)
            found[part] = found.get(part, Share(0, 0, 0)).plus(self.share(lower, out))
        for party, ends in self.exits.items():
            left = [end for end in ends if end[0] not in out.gone and end not in out.ends]
            left = [end for end in left if end[0] not in out.drained] or left
            found[f"out to {party}"] = Share(len(left), len(ends), len(left))
        return found

    def dark(self, out: Outage) -> Iterator[Nic]:
        """Yield NIC ports without a path: their link, one of its devices or everything above their ToR is out."""
        named = out.gone | {device for device, _ in out.ends}
        alone = (
            {tor for tor in self.nics if tor in self.up and not self.count_active_links(tor, out)}
            if named
            else set()
        )
        for name in dict.fromkeys(chain(named, alone)):
            for nic in (*self.nics.get(name, ()), *self.hosts.get(name, ())):
                ends = {(nic.tor, nic.port), (nic.host, nic.host_port)}
                if ends & out.ends or {nic.tor, nic.host} & out.gone or nic.tor in alone:
                    yield nic


def _list_nics(fabric: Fabric, name: str, tor: SwitchId, shut: set[End]) -> Iterator[Nic]:
    names = links.port_names(fabric, tor)
    for unit, slots, rails in links.served_slots(fabric, tor):
        found: Iterable[Link] = links.host_links(fabric, tor, unit, slots, rails)
        for link, (slot, rail) in zip(found, product(slots, rails), strict=True):
            if link.shutdown:
                shut.add((name, names[link.slot]))
            yield Nic(
                name, names[link.slot], link.peer, link.peer_port, unit.coordinate, slot, rail, tor.nic_port
            )


def _list_uplinks(fabric: Fabric, name: str, at: SwitchId, shut: set[End]) -> Iterator[Cable]:
    if not fabric.changes:
        names = links.port_names(fabric, at)
        for end in links.upward_links(fabric, at):
            far = links.far_end(fabric, end.peer)
            yield Cable(names[end.slot], far.name, far.ports[end.peer_slot])
        return
    names = links.port_names(fabric, at)
    for link in links.switch_links(fabric, at):
        if link.direction is Direction.UP:
            if link.shutdown:
                shut.add((name, names[link.slot]))
            yield Cable(names[link.slot], link.peer, link.peer_port)
