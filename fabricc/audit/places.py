"""Where devices stand: tiers by distance from what serves hosts, units by common hosts, pods and planes by links.

The graph of links decides. A name is asked only where a switch could as well be the one as the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import field
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar

from fabricc.audit.ends import OUTWARD, SERVED, said
from fabricc.audit.model import Kind, Place, Tier
from fabricc.back.nos.ports import PortKind
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

    from fabricc.audit.ends import Said
    from fabricc.audit.model import Device, Link

T = TypeVar("T", bound="Hashable")
Graph = dict[str, set[str]]

_DIGITS = re.compile(r"(\d+)")
_NIC = re.compile(r"(.*\d)(?:[a-z]|f\d+(?:np\d+)?|np\d+)")
_UPPER = re.compile(r"core|super|agg|ssp", re.IGNORECASE)
_LOWER = re.compile(r"leaf|tor|access|rack|border", re.IGNORECASE)
_FEW = 4
"""A switch above ToRs has links to at least one in so many of the ToRs that the best connected one has."""


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key for sorting names, numbers in them by value."""
    return tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in _DIGITS.split(text) if part
    )


@dataclass(frozen=True, slots=True)
class _Signs:
    """What a switch shows of standing below.

    Attributes:
        hosts: links to hosts of the folder.
        served: open ports that hosts could be on: bridged, or with an address and no BGP session.
        vtep: it begins tunnels.
        outward: open ports with a BGP session.
        reflects: routes to its neighbours, as spines do.
        announces: a block of addresses, as what serves hosts does.
    """

    hosts: int = 0
    served: int = 0
    vtep: bool = False
    outward: int = 0
    reflects: bool = False
    announces: bool = False

    @property
    def strength(self) -> tuple[int, int, int]:
        return self.hosts, self.served * (1 + self.vtep), int(self.vtep)


@dataclass(slots=True)
class _Sets:
    """Disjoint sets that are joined one after the other."""

    above: dict[Hashable, Hashable] = field(default_factory=dict)

    def root(self, item: Hashable) -> Hashable:
        while (up := self.above.setdefault(item, item)) != item:
            self.above[item] = self.above[up] = self.above.setdefault(up, up)
            item = self.above[item]
        return item

    def join(self, one: Hashable, two: Hashable) -> None:
        self.above[self.root(one)] = self.root(two)


def places_of(
    devices: Mapping[str, Device], links: Iterable[Link], sayings: Mapping[str, Said] | None = None
) -> Mapping[str, Place]:
    """The place of every device; `sayings` as of `links_of`."""
    links = tuple(links)
    switches = {name for name, device in devices.items() if device.kind is Kind.SWITCH}
    told = {name: sayings[name] if sayings else said(devices[name]) for name in switches}
    routed, signs = _looked_at(devices, told, links)
    graph, hung = _graph(told, routed, links)
    hosts = _host_links(devices, switches, links)
    policies = _Policies(devices, told, links)
    tiers = _tiers(graph, signs, policies) | dict.fromkeys(hung, Tier.OTHER)
    tors = {name for name, tier in tiers.items() if tier is Tier.TOR}
    units = _units(devices, told, tors, hosts, links)
    planes = _planes(graph, tiers, hosts)
    pods = _pods(graph, tiers, units)
    rails = _rails(hosts, tors, planes)
    found = {name: Place(Tier.HOST) for name in devices if name not in switches}
    for name, tier in tiers.items():
        found[name] = Place(tier, units.get(name), planes.get(name), pods.get(name), rails.get(name))
    for host, ends in hosts.items():
        of = next((tor for _, tor in ends if tor in tors), "")
        found[host] = Place(Tier.HOST, units.get(of), None, pods.get(of))
    return found


def _graph(
    told: Mapping[str, Said], routed: Mapping[str, Collection[str]], links: Iterable[Link]
) -> tuple[Graph, set[str]]:
    """Which switches have links, but those between two that share bundles; and the bridges that hang on routers.

    Where links are routed these alone make tiers.
    """
    pairs = {name: _pair_of(device) for name, device in told.items()}
    between = [link for link in links if link.a.device in told and link.b.device in told]
    between = [link for link in between if _differ(pairs, link.a.device, link.b.device)]
    by_routes = [link for link in between if any(end.port in routed[end.device] for end in (link.a, link.b))]
    routers = {end.device for link in by_routes for end in (link.a, link.b)}
    graph: Graph = {name: set() for name in told}
    hung: set[str] = set()
    for link in between:
        ends = {link.a.device, link.b.device}
        if not ends & routers or link.a.port in routed[link.a.device] or link.b.port in routed[link.b.device]:
            graph[link.a.device].add(link.b.device)
            graph[link.b.device].add(link.a.device)
        else:
            hung |= ends - routers
    return graph, hung


def _differ(pairs: Mapping[str, object], one: str, two: str) -> bool:
    return pairs[one] is None or pairs[one] != pairs[two]


def _pair_of(device: Said) -> tuple[object, object] | None:
    """What two switches that share bundles say alike."""
    facts = device.facts
    if not any(path in facts for path in ("mlag/domain", "mlag/peer_link", "mlag/mac")):
        return None
    return facts.get("mlag/domain"), facts.get("mlag/mac")


def _host_links(
    devices: Mapping[str, Device], switches: Collection[str], links: Iterable[Link]
) -> dict[str, list[tuple[str, str]]]:
    """Host -> (its port, switch) of its links, ports in order."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.device in devices and near.device not in switches and far.device in switches:
                found[near.device].append((near.port, far.device))
    return {host: sorted(ends, key=lambda end: natural(end[0])) for host, ends in found.items()}


def _looked_at(
    devices: Mapping[str, Device], told: Mapping[str, Said], links: Iterable[Link]
) -> tuple[dict[str, Collection[str]], dict[str, _Signs]]:
    """The ports of each switch that route, and what it shows of standing below."""
    taken: dict[str, set[str]] = defaultdict(set)
    hosts: dict[str, int] = defaultdict(int)
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if far.device in told:
                taken[near.device].add(near.port)
            elif far.device in devices:
                hosts[near.device] += 1
    routed: dict[str, Collection[str]] = {}
    signs: dict[str, _Signs] = {}
    for name, device in told.items():
        routed[name] = device.routed
        signs[name] = _signs_of(device, taken[name], hosts[name])
    return routed, signs


def _signs_of(device: Said, taken: Collection[str], hosts: int) -> _Signs:
    facts = device.facts
    busy = set(taken)
    busy |= {bundle for bundle, members in device.bundles().items() if busy.intersection(members)}
    if (peer_link := facts.get("mlag/peer_link")) is not None:
        busy.add(device.port(str(peer_link)) or str(peer_link))
    used = [use for base, use in device.used.items() if base not in busy]
    return _Signs(
        hosts, sum(use & SERVED > 0 for use in used), "evpn/source" in facts or "vxlan/source" in facts,
        sum(use & OUTWARD > 0 for use in used),
        "bgp/cluster_id" in facts or any(path.endswith("/reflector_client") for path in facts),
        any(path.startswith("bgp/aggregate[") for path in facts),
    )  # fmt: skip


class _Policies:
    """What switches take from and send to each other, by the names of their policies; looked at where tiers ask."""

    def __init__(
        self, devices: Mapping[str, Device], told: Mapping[str, Said], links: Iterable[Link]
    ) -> None:
        self._devices, self._told, self._links = devices, told, links
        self._owners: dict[str, str] = {}
        self._known: dict[str, Mapping[str, set[object]]] = {}

    @cached_property
    def _far(self) -> Mapping[tuple[str, str], str]:
        """Device and port -> device at the other end."""
        return {(near.device, near.port): far.device for link in self._links
                for near, far in ((link.a, link.b), (link.b, link.a))}  # fmt: skip

    def of(self, switch: str) -> Mapping[str, set[object]]:
        """Far end -> the policies of the sessions with it."""
        if switch not in self._known:
            found: dict[str, set[object]] = defaultdict(set)
            device, facts = self._told[switch], self._devices[switch].reading.facts
            for neighbour in device.neighbours:
                port = device.port(neighbour)
                far = self._far.get((switch, port)) if port else self._owner(neighbour)
                policy = tuple(facts.get(f"bgp/neighbor[{neighbour}]/{way}") for way in ("import", "export"))
                if far is not None and any(policy):
                    found[far].add(policy)
            self._known[switch] = found
        return self._known[switch]

    def _owner(self, address: str) -> str | None:
        if not self._owners:
            self._owners = {
                str(value).partition("/")[0]: name
                for name, device in self._told.items()
                for says in device.ports.values()
                for leaf, value in says.items()
                if leaf in ("ipv4", "ipv6")
            }
        return self._owners.get(address)

    def as_a_tor(self, name: str, spines: Iterable[str], theirs: Callable[[str], set[object]]) -> bool | None:
        """Whether spines have the policies for a switch that they have for ToRs; None where they have none."""
        spines = tuple(spines)
        own = {policy for spine in spines for policy in self.of(spine).get(name, ())}
        tors = {policy for spine in spines for policy in theirs(spine)}
        return own <= tors if own and tors else None

    def for_some(self, spine: str, switches: Collection[str]) -> set[object]:
        """The policies of the sessions of a spine with any of some switches."""
        return {policy for far, some in self.of(spine).items() if far in switches for policy in some}


def _tiers(graph: Graph, signs: Mapping[str, _Signs], policies: _Policies) -> dict[str, Tier]:
    tors = _tors(graph, signs)
    for part in _parts(graph):
        if not tors.intersection(part):
            tors |= _lower_side(graph, part, signs)
    distance = _distances(graph, tors)
    tiers = dict.fromkeys(tors, Tier.TOR)
    spines = {name for name, far in distance.items() if far == 1}
    spines -= (beside := _beside(graph, tors, spines))
    tiers |= dict.fromkeys(spines, Tier.SPINE) | dict.fromkeys(beside, Tier.OTHER)
    parts = _Sets()
    for name in tors | spines:
        for other in graph[name] & (tors | spines):
            parts.join(name, other)
    theirs = cache(lambda spine: policies.for_some(spine, tors))
    for name in (each for each, far in distance.items() if far == 2):
        above = graph[name] & spines
        if not above:
            tiers[name] = Tier.OTHER
        elif len({parts.root(each) for each in above}) > 1 or not (
            _is_tor(name, signs[name]) if (alike := policies.as_a_tor(name, above, theirs)) is None else alike
        ):
            tiers[name] = Tier.CORE
        else:
            tiers[name] = Tier.TOR
    return {name: tiers.get(name, Tier.OTHER) for name in graph}


def _tors(graph: Graph, signs: Mapping[str, _Signs]) -> set[str]:
    """Switches that serve hosts; where few ports look so and most links lead to such switches it is a spine."""
    tors = {name for name, sign in signs.items() if sign.hosts}
    shown = bool(tors)
    likely = [name for name, sign in signs.items() if not sign.hosts and sign.served]
    for name in sorted(likely, key=lambda each: (signs[each].strength, natural(each)), reverse=True):
        below = len(graph[name] & tors)
        if below <= (0 if shown else max(1, signs[name].served)):
            tors.add(name)
    bare = {name for name, sign in signs.items() if sign.vtep} - tors
    return tors | {name for name in bare if not graph[name] & tors}


def _parts(graph: Graph) -> list[set[str]]:
    """The switches that links join."""
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


def _lower_side(graph: Graph, part: set[str], signs: Mapping[str, _Signs]) -> set[str]:
    """The ToRs of switches none of which shows hosts: the one of two sides that does not reflect, or the larger one."""
    start = min(part, key=natural)
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
            sum(signs[each].reflects for each in others) - sum(signs[each].reflects for each in names),
            len(names) - len(others),
            sum(bool(_LOWER.search(each)) for each in names),
            -number,
        )

    chosen = sides[max((0, 1), key=lower)]
    return {name for name in chosen if not _UPPER.search(name)} or chosen


def _distances(graph: Graph, tors: Iterable[str]) -> dict[str, int]:
    """Links from the nearest ToR."""
    distance = dict.fromkeys(tors, 0)
    queue = list(distance)
    for name in queue:
        for other in graph[name]:
            if other not in distance:
                distance[other] = distance[name] + 1
                queue.append(other)
    return distance


def _beside(graph: Graph, tors: set[str], spines: set[str]) -> set[str]:
    """Of switches with links to ToRs those that have few of the ToRs that a spine has: routers beside the fabric."""
    degree = {name: len(graph[name] & tors) for name in spines}
    most: dict[str, int] = defaultdict(int)
    for name in spines:
        for tor in graph[name] & tors:
            most[tor] = max(most[tor], degree[name])
    return {name for name in spines if degree[name] * _FEW < max(most[tor] for tor in graph[name] & tors)}


def _is_tor(name: str, signs: _Signs) -> bool:
    """Whether a switch that has links to spines of one pod alone is a ToR without hosts, and not above them."""
    if bool(_UPPER.search(name)) != bool(_LOWER.search(name)):
        return bool(_LOWER.search(name))
    return signs.vtep or bool(signs.outward) or signs.announces


def _units(
    devices: Mapping[str, Device],
    told: Mapping[str, Said],
    tors: Collection[str],
    hosts: Mapping[str, Iterable[tuple[str, str]]],
    links: Iterable[Link],
) -> dict[str, int]:
    """ToR -> its unit: of ToRs with common hosts, in the folder or only named by LLDP or descriptions."""
    serving: dict[str, set[str]] = defaultdict(set)
    for host, ends in hosts.items():
        serving[host] |= {tor for _, tor in ends if tor in tors}
    for link in links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.device in tors and far.device not in devices:
                serving[far.device].add(near.device)
    for name in () if hosts else tors:
        for host in _told(told[name], devices):
            serving[host].add(name)
    sets, shared = _Sets(), False
    for some in serving.values():
        first, *others = sorted(some) or [""]
        shared = shared or bool(first)
        for other in others:
            sets.join(first, other)
    pairs: dict[object, str] = {}
    for name in sorted(tors):
        if (pair := _pair_of(told[name])) is not None and any(pair):
            sets.join(name, pairs.setdefault(pair, name))
            shared = True
    return _numbered(tors, sets.root) if shared else {}


def _told(device: Said, devices: Mapping[str, Device]) -> set[str]:
    """Names of hosts, as the descriptions of open ports begin with them: a word with a number that is no device's."""
    found = set()
    for port, _, _, text in device.joining()[2]:
        first, _, rest = text.partition(" ")
        if (
            rest
            and device.kind(port) is PortKind.PORT
            and any(map(str.isdigit, first))
            and first not in devices
        ):
            found.add(first)
    return found


def _numbered(names: Collection[str], group: Callable[[str], T]) -> dict[str, int]:
    """Names -> number of their group, groups counted from 0 in order of names."""
    numbers: dict[T, int] = {}
    return {name: numbers.setdefault(group(name), len(numbers)) for name in sorted(names, key=natural)}


def _planes(
    graph: Graph, tiers: Mapping[str, Tier], hosts: Mapping[str, list[tuple[str, str]]]
) -> dict[str, int]:
    """Switch -> its plane: parts of the graph that hosts alone join, in the order of the hosts' ports."""
    parts = ((min(each, key=natural), each) for each in _parts(graph))
    part = {name: first for first, each in parts for name in each}
    joined = _Sets()
    foremost: dict[str, int] = {}
    for ends in hosts.values():
        for at, (_, tor) in enumerate(ends):
            joined.join(part[ends[0][1]], part[tor])
            foremost[part[tor]] = min(at, foremost.get(part[tor], at))
    fabrics: dict[Hashable, set[str]] = defaultdict(set)
    for each in set(part.values()):
        fabrics[joined.root(each)].add(each)
    number = {
        each: at
        for some in fabrics.values()
        for at, each in enumerate(sorted(some, key=lambda name: (foremost.get(name, 0), natural(name))))
    }
    placed = {Tier.TOR, Tier.SPINE, Tier.CORE}
    return {name: number[of] for name, of in part.items() if tiers[name] in placed}


def _pods(graph: Graph, tiers: Mapping[str, Tier], units: Mapping[str, int]) -> dict[str, int]:
    """ToR or spine -> its pod, where cores join pods."""
    if Tier.CORE not in tiers.values():
        return {}
    inside = {name for name, tier in tiers.items() if tier in (Tier.TOR, Tier.SPINE)}
    sets = _Sets()
    for name in inside:
        for other in graph[name] & inside:
            sets.join(name, other)
        if name in units:
            sets.join(name, units[name])
    return _numbered(inside, sets.root)


def _rails(
    hosts: Mapping[str, list[tuple[str, str]]], tors: Collection[str], planes: Mapping[str, int]
) -> dict[str, int]:
    """ToR -> the NIC that it serves of each of its hosts, where it serves no other."""
    served: dict[str, set[int]] = defaultdict(set)
    several: set[str] = set()
    for ends in hosts.values():
        nics: dict[tuple[int | None, str], int] = {}
        counted: dict[int | None, int] = defaultdict(int)
        for port, tor in ends:
            plane = planes.get(tor)
            match = _NIC.fullmatch(port)
            key = (plane, match[1] if match else port)
            if key not in nics:
                nics[key] = counted[plane]
                counted[plane] += 1
            served[tor].add(nics[key])
        if len(nics) > 1 and len({tor for _, tor in ends}) > 1:
            several |= {tor for _, tor in ends}
    return {tor: min(some) for tor, some in served.items() if tor in several & set(tors) and len(some) == 1}
