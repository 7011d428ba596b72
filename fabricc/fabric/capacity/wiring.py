"""The links of a network (uplinks by pairs of switches, NIC ports of hosts, single links), and what is out of service.

Links between switches follow from coordinates. Switches of one tier, pod, plane and host group have equal uplinks,
which are computed once. Ports are looked up only for single devices.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import HostId, SwitchId, TierName, Unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fabricc.fabric.fabric import Fabric

Pair = tuple[str, str]
"""A lower switch and one above it; of two ToRs that are joined without spines, each is above the other."""


class NicPort(NamedTuple):
    """A port of a host's NIC: the host's unit and slot, the rail, and the port of the NIC."""

    unit: int
    slot: int
    rail: int
    nic_port: int


class Wiring:
    """The links of one network, each computed when it is needed.

    Attributes:
        fabric: the network.
        switches: name -> coordinates, in the fabric's order.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.switches: Mapping[str, SwitchId] = {fabric.name(at): at for at in fabric.switch_ids()}
        self._served: dict[str, tuple[NicPort, ...]] = {}
        self._gbps: dict[str, int] = {}
        self._host_tors: dict[tuple[int, int], list[tuple[int, int, str]]] = {}

    @cached_property
    def uplinks(self) -> Mapping[str, Mapping[str, int]]:
        """Switch with uplinks -> switch above it -> links between them; switches with equal links share the value."""
        found: dict[str, Mapping[str, int]] = {}
        known: dict[object, Mapping[str, int]] = {}
        for name, at in self.switches.items():
            key = self._uplink_key(at)
            if key not in known:
                known[key] = self._count_uplinks(at)
            if known[key]:
                found[name] = known[key]
        return found

    @cached_property
    def open_uplinks(self) -> Mapping[str, Mapping[str, int]]:
        """The same as `uplinks`, without links that the spec shuts."""
        dead = self.count_dead_links(self.shut.ends)
        found = dict(self.uplinks)
        for lower in {lower for lower, _ in dead}:
            left = {name: count - dead[lower, name] for name, count in self.uplinks[lower].items()}
            found[lower] = {name: count for name, count in left.items() if count}
        return found

    def _uplink_key(self, at: SwitchId) -> object:
        if at.tier is TierName.TOR and self.fabric.shape.peer_links:
            return at
        if at.tier is TierName.TOR:
            return at.pod, at.plane, self.fabric.units[at.unit].group
        shape = self.fabric.shape
        return at.tier, at.plane % shape.port_planes, at.index // max(1, shape.spines_per_core_group)

    def _count_uplinks(self, at: SwitchId) -> Mapping[str, int]:
        fabric, shape = self.fabric, self.fabric.shape
        if at.tier is TierName.TOR and shape.peer_links:
            found = links.switch_links(fabric, at)
            return Counter(link.peer for link in found if link.direction is Direction.PEER)
        if at.tier is TierName.TOR:
            above = (SwitchId(TierName.SPINE, at.plane, at.pod, -1, each, -1) for each in range(shape.spines))
            parallel = fabric.tor_links[fabric.units[at.unit].group]
            return {fabric.name(each): parallel for each in above} if parallel else {}
        if at.tier is TierName.CORE or not shape.spine_uplinks:
            return {}
        first, plane = (
            at.index // shape.spines_per_core_group * shape.cores_per_group,
            at.plane % shape.port_planes,
        )
        cores = (
            SwitchId(TierName.CORE, plane, 0, -1, first + each, -1) for each in range(shape.cores_per_group)
        )
        return {fabric.name(each): shape.links_per_core for each in cores}

    @property
    def spines_per_core_group(self) -> int:
        """Spines of a pod and plane that have the same cores; 0 where no other pod sends traffic through cores."""
        shape = self.fabric.shape
        return shape.spines_per_core_group if shape.cores and shape.pods * shape.rail_planes > 1 else 0

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """Switch -> the switches that have a link up to it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for lower, above in self.uplinks.items():
            for upper in above:
                found[upper].append(lower)
        return {upper: tuple(lowers) for upper, lowers in found.items()}

    @cached_property
    def tors(self) -> Mapping[str, SwitchId]:
        """The ToRs by name."""
        return {name: at for name, at in self.switches.items() if at.tier is TierName.TOR}

    @cached_property
    def hosts(self) -> Mapping[str, HostId]:
        """The hosts by name, in the fabric's order."""
        units = self.fabric.units
        return {units[at.unit].hosts[at.slot]: at for at in self.fabric.host_ids()}

    @cached_property
    def exits(self) -> Mapping[str, tuple[End, ...]]:
        """Outside party -> the ends of the links to it."""
        return {
            outsider.name: tuple((link.at, link.port) for link in outsider.links)
            for outsider in self.fabric.external.outsiders
        }

    @cached_property
    def shut(self) -> Outage:
        """The outage that the spec itself declares: drained switches, and links that are shut."""
        changes = self.fabric.changes
        ends: set[End] = set()
        for name, change in changes.items():
            if any(shut for _, _, shut in change.ports.values()) and name in self.switches:
                at = self.switches[name]
                names = links.port_names(self.fabric, at)
                ends |= {
                    self.lower_end((name, names[link.slot]))
                    for link in links.switch_links(self.fabric, at)
                    if link.shutdown and change.ports.get(names[link.slot], (None, None, False))[2]
                }
        drained = frozenset(
            name for name, change in changes.items() if change.drained and name in self.switches
        )
        return Outage(drained=drained, ends=frozenset(ends))

    def lower_end(self, end: End) -> End:
        """Return the lower end of a link between switches, of two ToRs the first; or the ToR's end to a host."""
        far = self.far_end(end)
        if far is None or far[0] not in self.switches:
            return end
        if end[0] not in self.switches:
            return far
        if self.switches[far[0]].tier is self.switches[end[0]].tier:
            return min(end, far)
        return far if self.switches[far[0]].tier is self._tier_below(end[0]) else end

    def _tier_below(self, name: str) -> TierName | None:
        return {TierName.SPINE: TierName.TOR, TierName.CORE: TierName.SPINE}.get(self.switches[name].tier)

    # Hosts.

    def nics(self, tor: str) -> tuple[NicPort, ...]:
        """Return the NIC ports that a ToR serves."""
        found = self._served.get(tor)
        if found is None:
            at = self.tors[tor]
            found = self._served[tor] = tuple(
                NicPort(unit.coordinate, slot, rail, at.nic_port)
                for unit, slots, rails in links.served_slots(self.fabric, at)
                for slot in slots
                for rail in rails
            )
        return found

    def tor_gbps(self, tor: str) -> int:
        """Return the bandwidth that the hosts on a ToR can send into it, Gb/s."""
        found = self._gbps.get(tor)
        if found is None:
            found = self._gbps[tor] = sum(
                len(slots) * len(rails) * self.fabric.attachments[unit.group].gbps
                for unit, slots, rails in links.served_slots(self.fabric, self.tors[tor])
            )
        return found

    def nic_end(self, port: NicPort) -> End:
        """Return the ToR's end of the link of a NIC port."""
        found = self._host_links(HostId(port.unit, port.slot))
        return next(end for end, (nic, _) in found.items() if nic == port)

    def host_ports(self, at: HostId) -> Mapping[NicPort, str]:
        """Return the NIC ports of a host, and the ToR of each."""
        unit = self.fabric.units[at.unit]
        key = at.unit, self.fabric.attachments[unit.group].seat(at.slot)[0]
        if key not in self._host_tors:
            self._host_tors[key] = list(self._list_host_tors(unit, at))
        return {
            NicPort(at.unit, at.slot, rail, nic_port): tor for rail, nic_port, tor in self._host_tors[key]
        }

    def _list_host_tors(self, unit: Unit, at: HostId) -> Iterator[tuple[int, int, str]]:
        """Yield rail and NIC port of a host, and the ToR; hosts of a unit that share ToRs have the same."""
        attached = self.fabric.attachments[unit.group]
        for rail, nic_port in product(range(attached.rails), attached.present):
            port = NicPort(at.unit, at.slot, rail, nic_port)
            tor = links.tor_id(self.fabric, unit.home, self._tor_index(unit, port), nic_port)
            yield rail, nic_port, self.fabric.name(tor)

    # Single links.

    def far_end(self, end: End) -> End | None:
        """Return the other end of a link, the same end if it leads outside, None if there is no such link."""
        device, port = end
        if device in self.hosts:
            return next(
                (near for near, (_, far) in self._host_links(self.hosts[device]).items() if far == port), None
            )
        if device not in self.switches:
            return None
        found = self._switch_ports(device).get(port)
        if found is None:
            return end if port in self.fabric.external.at(device) else None
        return found

    def ports(self, device: str) -> list[str]:
        """Return the ports of a device that have a link."""
        if device in self.hosts:
            return [port for _, port in self._host_links(self.hosts[device]).values()]
        return [*self._switch_ports(device), *self.fabric.external.at(device)]

    def find_nic(self, end: End) -> NicPort | None:
        """Return the NIC port of a link to a host that is named by either end; None for another link."""
        if end[0] in self.hosts:
            return next(
                (nic for nic, port in self._host_links(self.hosts[end[0]]).values() if port == end[1]), None
            )
        far = self.far_end(end)
        return self.find_nic(far) if far is not None and far[0] in self.hosts else None

    def count_dead_links(self, ends: Iterable[End]) -> Counter[Pair]:
        """Count the links between switches that some ends name, by lower and upper switch; each link once."""
        dead: set[tuple[Pair, End]] = set()
        for end in ends:
            if (
                end[0] not in self.switches
                or (far := self.far_end(end)) is None
                or far[0] not in self.switches
            ):
                continue
            lower = self.lower_end(end)
            if lower == end and far == end:
                continue
            upper = far if lower == end else end
            dead.add(((lower[0], upper[0]), lower))
            if self.switches[lower[0]].tier is self.switches[upper[0]].tier:  # each is above the other
                dead.add(((upper[0], lower[0]), upper))
        return Counter(pair for pair, _ in dead)

    def _switch_ports(self, device: str) -> dict[str, End]:
        at = self.switches[device]
        names = links.port_names(self.fabric, at)
        order = {Direction.HOST: 0, Direction.UP: 1, Direction.PEER: 1, Direction.DOWN: 2}
        found = sorted(links.switch_links(self.fabric, at), key=lambda link: order[link.direction])
        return {names[link.slot]: (link.peer, link.peer_port) for link in found}

    def _host_links(self, at: HostId) -> dict[End, tuple[NicPort, str]]:
        """Return the ToR's end of each link of a host -> the NIC port and its name."""
        unit = self.fabric.units[at.unit]
        found: dict[End, tuple[NicPort, str]] = {}
        for port in self.host_ports(at):
            tor = links.serving_tor(self.fabric, unit, self._tor_index(unit, port), port.nic_port)
            values = tor.values(at.slot, port.rail)
            found[tor.far.name, tor.far.ports[values[0]]] = port, values[4]
        return found

    def _tor_index(self, unit: Unit, port: NicPort) -> int:
        """Return the index, in its unit, of the ToR that serves a NIC port."""
        attached = self.fabric.attachments[unit.group]
        return attached.seat(port.slot)[0] * attached.tors + port.rail // attached.rails_per_tor

    # Parts.

    def part(self, lower: str) -> str:
        """Return the part of the fabric to which the uplinks of a switch belong."""
        at, cores = self.switches[lower], self.fabric.shape.cores
        name = f"plane {PLANE_LETTERS[at.plane]}"
        if cores:
            name = f"pod{at.pod + 1} {name}"
        return name if at.tier is TierName.TOR else f"{name} to cores"

    def switches_of_parts(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each part and the lower switches whose uplinks belong to it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for lower in self.uplinks:
            found[self.part(lower)].append(lower)
        yield from found.items()


def rail_name(fabric: Fabric, group: int, rail: int) -> str:
    """Return the name of a rail: of all hosts with GPUs, which share what is left of it, or of another model."""
    model = fabric.host_models[group]
    return f"rail {rail}" if model.gpus else f"rail {rail} of {model.name}"


End = tuple[str, str]
"""A device and its port."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Devices and links that are out of service.

    Attributes:
        gone: switches and hosts that are off.
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

    def split(self) -> list[Outage]:
        """Return one outage for each device and link."""
        found = [Outage(gone=frozenset({name})) for name in sorted(self.gone)]
        found += [Outage(drained=frozenset({name})) for name in sorted(self.drained)]
        return [*found, *(Outage(ends=frozenset({end})) for end in sorted(self.ends))]

    @property
    def names(self) -> list[str]:
        """Devices and links as they are named on the command line."""
        return [
            *sorted(self.gone | self.drained),
            *(f"{device}:{port}" for device, port in sorted(self.ends)),
        ]


def outage_of_planes(fabric: Fabric, planes: Collection[int]) -> Outage:
    """Return the outage of every switch of some planes."""
    return Outage(gone=frozenset(fabric.name(at) for at in fabric.switch_ids() if at.plane in planes))
