"""Find tiers in the graph of links: switches that serve hosts, and the others by their distance from these.

A name decides only where a switch could be in either tier.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from fabricc.audit.ends import OUTWARD, SERVED, Placement
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.facts.statement import Device, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

    from fabricc.audit.model import Link

_UPPER = re.compile(r"core|super|agg|ssp", re.IGNORECASE)
_LOWER = re.compile(r"leaf|tor|access|rack|border", re.IGNORECASE)
_FEW = 4
"""A switch above ToRs has links to at least one in so many of the ToRs that the best connected one has."""


def tiers_of(
    devices: Mapping[str, Device], stated: Mapping[str, Placement], links: Iterable[Link]
) -> tuple[Graph, dict[str, Tier]]:
    """Return the graph of the switches, and the tier of each; `stated`: their statements about their place."""
    graph, hung = _build_graph(stated, links)
    tiers = _assign_tiers(graph, _tier_signs(devices, stated, links), _Policies(devices, stated, links))
    return graph, tiers | dict.fromkeys(hung, Tier.OTHER)


@dataclass(frozen=True, slots=True)
class _TierEvidence:
    """The evidence that a switch is below another one.

    Attributes:
        hosts: links to hosts of the folder.
        served: open ports that hosts could be on: bridged, or with an address and no BGP session.
        vtep: it begins tunnels.
        outward: open ports with a BGP session.
        reflects: routes to its neighbors, as spines do.
        announces: a block of addresses, as what serves hosts does.
    """

    hosts: int
    served: int
    vtep: bool
    outward: int
    reflects: bool
    announces: bool

    @property
    def strength(self) -> tuple[int, int, int]:
        return self.hosts, self.served * (1 + self.vtep), int(self.vtep)


def _build_graph(stated: Mapping[str, Placement], links: Iterable[Link]) -> tuple[Graph, set[str]]:
    """Return the links between switches, without those that share bundles, and what is attached to them.

    That is bridges next to routers, and routers that tenants alone have links to. Where links are routed, only these
    make tiers.
    """
    pairs = {name: pair_of(device) for name, device in stated.items()}

    def mates(one: str, two: str) -> bool:
        return pairs[one] is not None and pairs[one] == pairs[two]

    def routes(link: Link) -> bool:
        return any(end.port in stated[end.device].routed for end in (link.a, link.b))

    between = [link for link in links if link.a.device in stated and link.b.device in stated]
    between = [link for link in between if not mates(link.a.device, link.b.device)]
    beyond = _routers_of_tenants(stated, between)
    between = [link for link in between if not beyond & {link.a.device, link.b.device}]
    routers = {end.device for link in between if routes(link) for end in (link.a, link.b)}
    graph: Graph = {name: set() for name in stated}
    hung = beyond
    for link in between:
        ends = {link.a.device, link.b.device}
        if not ends & routers or routes(link):
            graph[link.a.device].add(link.b.device)
            graph[link.b.device].add(link.a.device)
        else:
            hung |= ends - routers
    return graph, hung


def _routers_of_tenants(stated: Mapping[str, Placement], links: Iterable[Link]) -> set[str]:
    """Return the devices all of whose links end in VRFs of switches that have other links outside VRFs."""
    entered: dict[str, list[tuple[str, bool]]] = {}
    for link in links:
        for near, far in link.ways:
            entered.setdefault(near.device, []).append(
                (far.device, far.port in stated[far.device].shape.in_vrfs)
            )
    if not any(inside for ends in entered.values() for _, inside in ends):
        return set()
    plain = {
        near.device
        for link in links
        for near, _ in link.ways
        if near.port not in stated[near.device].shape.in_vrfs
    }
    return {name for name, ends in entered.items() if all(inside and far in plain for far, inside in ends)}


def pair_of(device: Placement) -> tuple[object, object] | None:
    """Return the statements that two switches with common bundles share."""
    facts = device.facts
    if not any(path in facts for path in ("mlag/domain", "mlag/peer_link", "mlag/mac")):
        return None
    return facts.get("mlag/domain"), facts.get("mlag/mac")


def _tier_signs(
    devices: Mapping[str, Device], stated: Mapping[str, Placement], links: Iterable[Link]
) -> dict[str, _TierEvidence]:
    """Return the signs of each switch for a low tier."""
    taken: dict[str, set[str]] = defaultdict(set)
    hosts: dict[str, int] = defaultdict(int)
    for link in links:
        for near, far in link.ways:
            if far.device in stated:
                taken[near.device].add(near.port)
            elif far.device in devices:
                hosts[near.device] += 1
    return {name: _signs_of(device, taken[name], hosts[name]) for name, device in stated.items()}


def _signs_of(device: Placement, peer_ports: Collection[str], hosts: int) -> _TierEvidence:
    facts = device.facts
    busy = set(peer_ports)
    busy |= {bundle for bundle, members in device.bundles().items() if busy.intersection(members)}
    if (peer_link := facts.get("mlag/peer_link")) is not None:
        busy.add(device.port(str(peer_link)) or str(peer_link))
    used = [use for base, use in device.used.items() if base not in busy]
    return _TierEvidence(
        hosts, sum(use & SERVED > 0 for use in used), "evpn/source" in facts or "vxlan/source" in facts,
        sum(use & OUTWARD > 0 for use in used),
        "bgp/cluster_id" in facts or any(path.endswith("/reflector_client") for path in facts),
        any(path.startswith("bgp/aggregate[") for path in facts),
    )  # fmt: skip


class _Policies:
    """Import and export policies of switches by far end, by name; used where tiers need them."""

    def __init__(
        self, devices: Mapping[str, Device], stated: Mapping[str, Placement], links: Iterable[Link]
    ) -> None:
        self._devices, self._stated, self._links = devices, stated, links
        self._known: dict[str, Mapping[str, set[object]]] = {}

    @cached_property
    def _far(self) -> Mapping[tuple[str, str], str]:
        """Device and port -> device at the other end."""
        return {(near.device, near.port): far.device for link in self._links for near, far in link.ways}

    @cached_property
    def _owners(self) -> Mapping[str, str]:
        """Address -> the device that has it."""
        return {
            str(value).partition("/")[0]: name
            for name, device in self._stated.items()
            for values in device.ports.values()
            for leaf, value in values.items()
            if leaf in ("ipv4", "ipv6")
        }

    def of(self, switch: str) -> Mapping[str, set[object]]:
        """Return far end -> the policies of the sessions with it."""
        if switch not in self._known:
            found: dict[str, set[object]] = defaultdict(set)
            device, facts = self._stated[switch], self._devices[switch].reading.facts
            for neighbor in device.neighbors:
                port = device.port(neighbor)
                far = self._far.get((switch, port)) if port else self._owners.get(neighbor)
                policy = tuple(facts.get(f"bgp/neighbor[{neighbor}]/{way}") for way in ("import", "export"))
                if far is not None and any(policy):
                    found[far].add(policy)
            self._known[switch] = found
        return self._known[switch]

    def policies_as_tor(
        self, name: str, spines: Collection[str], tor_policies: Callable[[str], set[object]]
    ) -> bool | None:
        """Return whether spines have the policies for a switch that they have for ToRs; None where they have none."""
        own = {policy for spine in spines for policy in self.of(spine).get(name, ())}
        tors = {policy for spine in spines for policy in tor_policies(spine)}
        return own <= tors if own and tors else None

    def policies_with_some(self, spine: str, switches: Collection[str]) -> set[object]:
        """Return the policies of the sessions of a spine with any of some switches."""
        return {policy for far, some in self.of(spine).items() if far in switches for policy in some}


def _assign_tiers(
    graph: Graph, evidence: Mapping[str, _TierEvidence], policies: _Policies
) -> dict[str, Tier]:
    tors = _find_tors(graph, evidence)
    for part in connected_parts(graph):
        if not tors.intersection(part):
            tors |= _lower_side(graph, part, evidence)
    distance = _tor_distances(graph, tors)
    tiers = dict.fromkeys(tors, Tier.TOR)
    spines = {name for name, far in distance.items() if far == 1}
    spines -= (beside := _outside_routers(graph, tors, spines))
    tiers |= dict.fromkeys(spines, Tier.SPINE) | dict.fromkeys(beside, Tier.OTHER)
    joined = DisjointSets()
    for name in tors | spines:
        for other in graph[name] & (tors | spines):
            joined.join(name, other)
    theirs = cache(lambda spine: policies.policies_with_some(spine, tors))
    for name in (each for each, far in distance.items() if far == 2):
        above = graph[name] & spines
        if not above:
            tiers[name] = Tier.OTHER
        elif len({joined.root(each) for each in above}) > 1:
            tiers[name] = Tier.CORE
        else:
            below = policies.policies_as_tor(name, above, theirs)
            below = _is_tor(name, evidence[name]) if below is None else below
            tiers[name] = Tier.TOR if below else Tier.CORE
    return {name: tiers.get(name, Tier.OTHER) for name in graph}


def _find_tors(graph: Graph, evidence: Mapping[str, _TierEvidence]) -> set[str]:
    """Return switches that serve hosts; one with few such ports and mostly links to such switches is a spine."""
    tors = {name for name, sign in evidence.items() if sign.hosts}
    shown = bool(tors)
    likely = [name for name, sign in evidence.items() if not sign.hosts and sign.served]
    for name in sorted(likely, key=lambda each: (evidence[each].strength, in_order(each)), reverse=True):
        below = len(graph[name] & tors)
        if below <= (0 if shown else max(1, evidence[name].served)):
            tors.add(name)
    bare = {name for name, sign in evidence.items() if sign.vtep} - tors
    return tors | {name for name in bare if not graph[name] & tors}


def _lower_side(graph: Graph, part: set[str], evidence: Mapping[str, _TierEvidence]) -> set[str]:
    """The ToRs of switches none of which shows hosts: the one of two sides that does not reflect, or the larger one."""
    start = min(part, key=in_order)
    side = {start: 0}
    queue = [start]
    for name in queue:
        for other in graph[name]:
            if other not in side:
                side[other] = 1 - side[name]
                queue.append(other)
            elif side[other] == side[name]:
                return {each for each in part if _LOWER.search(each)}
    if len(part) == 1:
        return set()
    sides = [{name for name, of in side.items() if of == number} for number in (0, 1)]

    def lower(number: int) -> tuple[int, int, int, int]:
        names, others = sides[number], sides[1 - number]
        return (
            sum(evidence[each].reflects for each in others) - sum(evidence[each].reflects for each in names),
            len(names) - len(others),
            sum(bool(_LOWER.search(each)) for each in names),
            -number,
        )

    chosen = sides[max((0, 1), key=lower)]
    return {name for name in chosen if not _UPPER.search(name)} or chosen


def _tor_distances(graph: Graph, tors: Iterable[str]) -> dict[str, int]:
    """Return the number of links from the nearest ToR."""
    distance = dict.fromkeys(tors, 0)
    queue = list(distance)
    for name in queue:
        for other in graph[name]:
            if other not in distance:
                distance[other] = distance[name] + 1
                queue.append(other)
    return distance


def _outside_routers(graph: Graph, tors: set[str], spines: set[str]) -> set[str]:
    """Return switches linked to ToRs that have few of the ToRs of a spine: routers next to the fabric."""
    degree = {name: len(graph[name] & tors) for name in spines}
    most: dict[str, int] = defaultdict(int)
    for name in spines:
        for tor in graph[name] & tors:
            most[tor] = max(most[tor], degree[name])
    return {name for name in spines if degree[name] * _FEW < max(most[tor] for tor in graph[name] & tors)}


def _is_tor(name: str, evidence: _TierEvidence) -> bool:
    """Return whether a switch with links to the spines of one pod only is a ToR without hosts."""
    if bool(_UPPER.search(name)) != bool(_LOWER.search(name)):
        return bool(_LOWER.search(name))
    return evidence.vtep or bool(evidence.outward) or evidence.announces


Graph = dict[str, set[str]]
"""Name -> the names that links join it with."""


def in_order(name: str) -> tuple[object, ...]:
    """A key for sorting names by the numbers in them; of those that differ in zeros alone, one is first too."""
    return natural_key(name), name


@dataclass(slots=True)
class DisjointSets:
    """Disjoint sets that are joined one after the other."""

    above: dict[Hashable, Hashable] = field(default_factory=dict)

    def root(self, item: Hashable) -> Hashable:
        """Return the representative of an item's set."""
        while (up := self.above.setdefault(item, item)) != item:
            self.above[item] = self.above[up] = self.above.setdefault(up, up)
            item = self.above[item]
        return item

    def join(self, one: Hashable, two: Hashable) -> None:
        """Merge the sets of two items."""
        self.above[self.root(one)] = self.root(two)


def connected_parts(graph: Graph) -> list[set[str]]:
    """Return the sets of switches that links connect."""
    found: list[set[str]] = []
    known: set[str] = set()
    for name in graph:
        if name not in known:
            part = {name}
            queue = [name]
            for each in queue:
                queue += graph[each] - part
                part |= graph[each]
            known |= part
            found.append(part)
    return found
