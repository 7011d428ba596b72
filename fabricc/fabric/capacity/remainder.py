"""The rest of a network in an outage: next hops, links, parts, NIC ports and rails.

What remains of some links is counted by links, and by traffic that is hashed evenly over next hops.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import format_share
from fabricc.base.values import replace
from fabricc.fabric.capacity.wiring import NicPort, Outage, Wiring, rail_name
from fabricc.fabric.shape import HostId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class Remainder:
    """The capacity of a network during an outage.

    Links between two ToRs without spines are the uplinks of both.

    A link between switches carries traffic if it and both of its switches are in service, and if the upper switch still
    leads to another ToR, where it did before: otherwise it announces no route of use. A drained switch carries traffic
    only where nothing else is left.
    """

    def __init__(self, wiring: Wiring, outage: Outage) -> None:
        self.wiring, self.outage = wiring, outage
        self._dead = wiring.count_dead_links(outage.ends)
        self._cut = {lower for lower, _ in self._dead}
        self._most_lost = len(self._dead) + len(outage.gone)  # switches that one above them can lose
        self._hops: dict[str, Mapping[str, int]] = {}
        self._known: dict[int, Mapping[str, int]] = {}
        self._onward: dict[str, int] = {}

    def next_hops(self, lower: str) -> Mapping[str, int]:
        """Map the switches above a switch to the links that carry traffic to them."""
        found = self._hops.get(lower)
        if found is None:
            found = self._hops[lower] = self._choose_next_hops(lower)
        return found

    def _choose_next_hops(self, lower: str) -> Mapping[str, int]:
        outage, above = self.outage, self.wiring.uplinks[lower]
        spine = self.wiring.switches[lower].tier is TierName.SPINE
        if lower in outage.gone or (spine and lower in outage.drained):
            return {}
        if lower in self._cut:
            return self._find_next_hops(lower, above)
        key = id(above)  # switches with equal uplinks share the value
        if key not in self._known:
            self._known[key] = self._find_next_hops(lower, above)
        return self._known[key]

    def _find_next_hops(self, lower: str, above: Mapping[str, int]) -> Mapping[str, int]:
        left = {
            upper: count - self._dead[lower, upper]
            for upper, count in above.items()
            if upper not in self.outage.gone
        }
        left = {upper: count for upper, count in left.items() if count and self._leads_on(upper)}
        whole = {upper: count for upper, count in left.items() if upper not in self.outage.drained}
        return whole or left

    def _leads_on(self, upper: str) -> bool:
        """Return whether a switch leads to ToRs of two places below it or to a core, unless it never did.

        Below a spine each ToR is a place, below a core each plane of a pod.
        """
        below, core = self.wiring.below[upper], self.wiring.switches[upper].tier is TierName.CORE
        shape = self.wiring.fabric.shape
        rails = len(self.wiring.fabric.planes) // self.wiring.fabric.port_planes
        places = shape.pods * rails if core else len(below)
        single = shape.peer_links or (places < 2 and upper not in self.wiring.uplinks)
        if single or not self._cut_or_gone or places - self._most_lost > 1 or self._has_one_tor:
            return True
        found = self._onward.get(upper)
        if found is None:
            left = [lower for lower in self._list_lower(upper) if not core or any(self._list_lower(lower))]
            switches = self.wiring.switches
            found = len({(switches[each].pod, switches[each].plane) if core else each for each in left})
            self._onward[upper] = found
        return found > 1 or (upper in self.wiring.uplinks and bool(self.next_hops(upper)))

    def _list_lower(self, upper: str) -> Iterator[str]:
        """Yield the switches in service that a switch has a link to below it."""
        for lower in self.wiring.below[upper]:
            if lower not in self.outage.gone and self.wiring.uplinks[lower][upper] > self._dead[lower, upper]:
                yield lower

    @cached_property
    def _has_one_tor(self) -> bool:
        """Return whether one ToR is in service: it joins its hosts, and there is nothing else to lead to."""
        return sum(tor not in self.outage.gone for tor in self.wiring.tors) < 2

    @cached_property
    def _cut_or_gone(self) -> bool:
        """Return whether lower switches or links are out, so that a switch may lead to nothing."""
        return bool(self._cut) or any(name in self.wiring.uplinks for name in self.outage.gone)

    def share(self, lower: str) -> LinkShare:
        """Return the remaining part of a switch's uplinks."""
        total, counts = sum(self.wiring.uplinks[lower].values()), self.next_hops(lower)
        found = LinkShare.of_counts(counts.values(), total)
        groups: defaultdict[int, list[int]] = defaultdict(list)
        size = self.wiring.spines_per_core_group
        if size < 2 or len(counts) < 2 or self.wiring.switches[lower].tier is not TierName.TOR:
            return found
        for upper, count in counts.items():
            groups[self.wiring.switches[upper].index // size].append(count)
        # traffic from other pods reaches every group of spines with the same cores evenly, whatever their number
        apart = count_even_links(count_even_links(group) for group in groups.values())
        return found._replace(even=min(found.even, apart))

    @cached_property
    def shares(self) -> Mapping[str, LinkShare]:
        """Switch with uplinks -> the remaining part of them."""
        found: dict[str, LinkShare] = {}
        known: dict[int, LinkShare] = {}
        for lower in self.wiring.uplinks:
            hops = self.next_hops(lower)  # equal switches share the value
            if id(hops) not in known:
                known[id(hops)] = self.share(lower)
            found[lower] = known[id(hops)]
        return found

    @cached_property
    def parts(self) -> Mapping[str, LinkShare]:
        """Part of the fabric -> its remaining links: uplinks by plane, and links to each outside party."""
        found: dict[str, LinkShare] = {}
        for part, lowers in self.wiring.switches_of_parts():
            counted = Counter(self.shares[lower] for lower in lowers)
            links, of, even = (
                sum(each[field] * number for each, number in counted.items()) for field in range(3)
            )
            if self.wiring.switches[lowers[0]].tier is TierName.SPINE:
                even = self._count_even_core_links(lowers)
            seen = 2 if self.wiring.fabric.shape.peer_links else 1  # both ToRs have a link as an uplink
            found[part] = LinkShare(links // seen, of // seen, even // seen)
        out = self.outage
        for party, ends in self.wiring.exits.items():
            left = [end for end in ends if end[0] not in out.gone and end not in out.ends]
            left = [end for end in left if end[0] not in out.drained] or left
            found[f"links to {party}"] = LinkShare(len(left), len(ends), len(left))
        return found

    def _count_even_core_links(self, spines: Sequence[str]) -> int:
        """Return the traffic, in links, between a pod and the cores if it is hashed evenly in both directions.

        ToRs spread traffic over the spines, and spines over their cores; spines of other pods spread it over the
        groups of cores, and within a group over its cores.
        """
        out = count_even_links(self.shares[spine].links for spine in spines)
        groups: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
        for spine in spines:
            groups[frozenset(self.wiring.uplinks[spine])].update(self.next_hops(spine))
        back = count_even_links(count_even_links(cores.values()) for cores in groups.values())
        return min(out, back)

    def above(self, tor: str) -> tuple[Fraction, Fraction]:
        """Return the share of the links above a ToR, and with even hashing: its uplinks, or its pod's to the cores."""
        own = self.shares[tor]
        beyond = self.parts.get(f"{self.wiring.part(tor)} to cores")
        if beyond is None:
            return own.by_links, own.capacity
        return min(own.by_links, beyond.by_links), min(own.capacity, beyond.capacity)

    def pair_links(self, one: str, other: str) -> int:
        """Return the links of a ToR over which it reaches another ToR of its pod and plane, through the same spines."""
        if self.wiring.fabric.shape.peer_links:
            return self.next_hops(one).get(other, 0) if other not in self.outage.gone else 0
        theirs = self.next_hops(other)
        return sum(min(count, theirs.get(upper, 0)) for upper, count in self.next_hops(one).items())

    @cached_property
    def lone_tors(self) -> frozenset[str]:
        """Return the ToRs in service whose uplinks all lead to spines without traffic."""
        if self.wiring.fabric.shape.peer_links:  # each still joins its hosts
            return frozenset()
        tors = (tor for tor in self.wiring.tors if tor in self.wiring.uplinks)
        return frozenset(tor for tor in tors if tor not in self.outage.gone and not self.next_hops(tor))

    @cached_property
    def dead_ports(self) -> Mapping[HostId, frozenset[NicPort]]:
        """Host -> its NIC ports whose link, host or ToR is out."""
        return _group_by_host(self._list_dead_ports())

    @cached_property
    def lost_ports(self) -> Mapping[HostId, frozenset[NicPort]]:
        """Host -> its NIC ports without a path: those that are dead, and those whose ToR leads nowhere."""
        if not self.lone_tors:
            return self.dead_ports
        return _group_by_host(
            chain(self._list_dead_ports(), *(self.wiring.nics(tor) for tor in self.lone_tors))
        )

    def _list_dead_ports(self) -> Iterator[NicPort]:
        wiring, outage = self.wiring, self.outage
        for name in outage.gone:
            if name in wiring.tors:
                yield from wiring.nics(name)
            elif name in wiring.hosts:
                yield from wiring.host_ports(wiring.hosts[name])
        for end in outage.ends:
            if (port := wiring.find_nic(end)) is not None:
                yield port

    @property
    def lost_links(self) -> int:
        """The number of links that are out, or whose device at either end is."""
        gone, found = self.outage.gone, sum(len(ports) for ports in self.dead_ports.values())
        between = 0
        for lower, above in self.wiring.uplinks.items():
            if lower in gone:
                between += sum(above.values())
            elif lower in self._cut or not gone.isdisjoint(above):
                between += sum(n if upper in gone else self._dead[lower, upper] for upper, n in above.items())
        return found + (
            between // 2 if self.wiring.fabric.shape.peer_links else between
        )  # seen from both ToRs

    @cached_property
    def rails(self) -> Mapping[str, Fraction]:
        """Rail -> the share of its NIC ports that have a path."""
        fabric = self.wiring.fabric
        total, lost = Counter[str](), Counter[str]()
        for unit in fabric.units.values():
            attached = fabric.attachments[unit.group]
            for rail in range(attached.rails):
                total[rail_name(fabric, unit.group, rail)] += len(unit.hosts) * len(attached.present)
        for ports in self.lost_ports.values():
            for port in ports:
                lost[rail_name(fabric, fabric.units[port.unit].group, port.rail)] += 1
        return {rail: 1 - Fraction(lost[rail], of) if of else WHOLE for rail, of in total.items()}

    @cached_property
    def served_rails(self) -> Mapping[str, Fraction]:
        """Rail -> the share of its NIC ports that have a path; a host that is out takes none from the others."""
        switches = self.outage.gone & self.wiring.switches.keys()
        if switches == self.outage.gone:
            return self.rails
        return Remainder(self.wiring, replace(self.outage, gone=switches)).rails

    def least_share(self) -> tuple[Fraction, str]:
        """Return the smallest capacity of any part or rail, or of any switch in service, and its name."""
        idle = self.outage.gone | self.outage.drained
        in_service = {name: share for name, share in self.shares.items() if name not in idle}
        narrowest = find_narrowest({**self.parts, **in_service})
        return min([narrowest, *((share, rail) for rail, share in self.served_rails.items())])


def _group_by_host(ports: Iterable[NicPort]) -> dict[HostId, frozenset[NicPort]]:
    found: defaultdict[HostId, set[NicPort]] = defaultdict(set)
    for port in ports:
        found[HostId(port.unit, port.slot)].add(port)
    return {at: frozenset(of_host) for at, of_host in found.items()}


WHOLE = Fraction(1)


class LinkShare(NamedTuple):
    """The remaining part of some links.

    Attributes:
        links, of: links that carry traffic, and all links.
        even: links' worth of traffic that passes without loss when senders hash evenly over the next hops.
    """

    links: int
    of: int
    even: int

    @staticmethod
    def of_counts(counts: Iterable[int], of: int) -> LinkShare:
        """Return the share of `of` links of which some are left, given as the number of links to each next hop."""
        left = [count for count in counts if count]
        return LinkShare(sum(left), of, count_even_links(left))

    @property
    def by_links(self) -> Fraction:
        """The share of the links that carry traffic: the bandwidth if traffic spreads over every link."""
        return Fraction(self.links, self.of) if self.of else WHOLE

    @property
    def capacity(self) -> Fraction:
        """The share of the bandwidth that remains without loss when traffic is hashed evenly over next hops."""
        return Fraction(self.even, self.of) if self.of else WHOLE

    def plus(self, other: LinkShare) -> LinkShare:
        """Add another share."""
        return LinkShare(self.links + other.links, self.of + other.of, self.even + other.even)

    @property
    def text(self) -> str:
        """The share for people, with its unit where links and even hashing differ."""
        return describe_share(self.by_links, self.capacity)


def count_even_links(counts: Iterable[int]) -> int:
    """Return the traffic, in links, that passes if it is hashed evenly over next hops with a link.

    ECMP gives every next hop that announces a route the same share, however many links are left behind it. The
    narrowest next hop therefore limits what all of them carry without loss.
    """
    left = [count for count in counts if count]
    return min(left) * len(left) if left else 0


def describe_share(by_links: Fraction, evenly: Fraction) -> str:
    """Describe a share by its links and by even hashing, as one figure where both agree."""
    if by_links == evenly:
        return format_share(by_links)
    return f"{format_share(by_links)} of the links, {format_share(evenly)} if hashed evenly"


def share_without(count: int, lost: int = 1) -> Fraction:
    """Return the share that is left of `count` equal parts, such as the spines of a plane, when some are lost."""
    return Fraction(max(0, count - lost), count) if count else WHOLE


def count_removable(count: int, keep: Fraction) -> int:
    """Return how many of `count` equal parts may be out at once so that the share `keep` is left; at least one."""
    return max(1, int(count * (1 - keep)))


def find_narrowest(shares: Mapping[str, LinkShare]) -> tuple[Fraction, str]:
    """Return the smallest capacity of some named shares, and its name; all and "" where there is none."""
    return min(((share.capacity, name) for name, share in shares.items()), default=(WHOLE, ""))
