"""Losses of hosts and GPUs in an outage (NIC ports without a path, planes, paths above), and of one more switch."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.fabric.capacity.remainder import WHOLE, LinkShare, Remainder
from fabricc.fabric.shape import HostId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.capacity.wiring import NicPort, Wiring
    from fabricc.fabric.fabric import Fabric

NO_PATH, RAIL_LOST, PORT_LOST, FEWER_PATHS = "no path left", "rail lost", "port lost", "fewer paths"
HOW = (NO_PATH, RAIL_LOST, PORT_LOST, FEWER_PATHS)
"""Effects on a host, most severe first. A lost rail leaves a GPU without a port, a lost port one with fewer."""


class PortLoss(NamedTuple):
    """The hosts and GPUs that are hit where NIC ports have no path.

    Attributes:
        hosts, gpus: without a port left.
        reduced: GPUs with some ports left; `kept` is the smallest share of its ports that one of them keeps.
    """

    hosts: int = 0
    gpus: int = 0
    reduced: int = 0
    kept: Fraction = WHOLE


@dataclass(frozen=True, slots=True)
class AffectedHost:
    """A host that has fewer ports or paths than before.

    Attributes:
        how: one of `HOW`.
        gpus: that have no port left; `reduced`: that have fewer.
        rails: rails with a port lost, from 0.
        ports: the share of its NIC ports that have a path.
        links: the smallest share of the links above any of its ports; `kept` the same with even hashing.
    """

    name: str
    how: str
    gpus: int
    reduced: int
    rails: tuple[int, ...]
    ports: Fraction
    links: Fraction
    kept: Fraction

    @property
    def stops(self) -> bool:
        """Return whether jobs must leave it: they lose connections, not only bandwidth."""
        return self.how != FEWER_PATHS


def compute_port_loss(fabric: Fabric, group: int, ports: Iterable[tuple[int, int, int]]) -> PortLoss:
    """Return the loss where some NIC ports of the hosts of one unit have no path.

    GPUs that share a NIC share its fate.

    Args:
        fabric: the network.
        group: the host group.
        ports: slot, rail and port of the NIC.
    """
    attached = fabric.attachments[group]
    nics, weight = count_gpu_nics(fabric, group)
    per_host: Counter[int] = Counter()
    per_gpu: Counter[tuple[int, int]] = Counter()
    for slot, rail, _ in set(ports):
        per_host[slot] += 1
        per_gpu[slot, rail // nics] += 1
    total = nics * len(attached.present)
    cut = sum(1 for lost in per_gpu.values() if lost >= total)
    reduced = [lost for lost in per_gpu.values() if lost < total]
    hosts = sum(1 for lost in per_host.values() if lost == attached.rails * len(attached.present))
    kept = 1 - Fraction(max(reduced, default=0), total)
    return PortLoss(hosts, ceil(cut * weight), ceil(len(reduced) * weight), kept)


def count_gpu_nics(fabric: Fabric, group: int) -> tuple[int, Fraction]:
    """Return the NICs that serve one GPU, and the GPUs that such NICs serve."""
    gpus, rails = fabric.host_models[group].gpus, fabric.attachments[group].rails
    if gpus and rails > gpus and rails % gpus == 0:
        return rails // gpus, Fraction(1)
    return 1, Fraction(gpus, rails)


def compute_host_loss(wiring: Wiring, ports: Iterable[NicPort]) -> PortLoss:
    """Return the loss of one host whose NIC ports in `ports` have no path."""
    lost = list(ports)
    if not lost:
        return PortLoss()
    group = wiring.fabric.units[lost[0].unit].group
    return compute_port_loss(wiring.fabric, group, (port[1:] for port in lost))


def count_cut_gpus(remainder: Remainder) -> int:
    """Return the number of GPUs without a port."""
    return sum(compute_host_loss(remainder.wiring, ports).gpus for ports in remainder.lost_ports.values())


class PartedHosts(NamedTuple):
    """Hosts with a NIC that reaches no NIC of others, as the ports that both have left are in different planes."""

    hosts: tuple[str, ...]
    others: tuple[str, ...]


def find_parted_hosts(remainder: Remainder) -> list[PartedHosts]:
    """Return the hosts without a plane in common, where both have ports left and had a plane in common before."""
    if not remainder.lost_ports or remainder.wiring.fabric.port_planes == 1:
        return []
    found: list[PartedHosts] = []
    groups = sorted(_group_hosts_by_planes(remainder).items(), key=lambda each: sorted(each[0].left))
    for (one, hosts), (other, others) in combinations(groups, 2):
        apart = one.left.isdisjoint(other.left) and not one.all.isdisjoint(other.all)
        if apart and len(hosts.keys() | others.keys()) > 1:
            found.append(PartedHosts(tuple(hosts), tuple(others)))
    return found


def find_newly_parted_hosts(now: Remainder, *known: Remainder) -> list[PartedHosts]:
    """Return the hosts that have no plane in common, without those of which that holds in a known state."""
    earlier = [pair for each in known for pair in find_parted_hosts(each)]
    return [
        pair
        for pair in find_parted_hosts(now)
        if not any(set(pair.hosts) <= set(of.hosts) and set(pair.others) <= set(of.others) for of in earlier)
    ]


def find_last_planes(remainder: Remainder) -> dict[tuple[int, str], tuple[str, ...]]:
    """Return a plane and a ToR without paths -> the hosts whose NICs behind that ToR have ports in this plane alone.

    A ToR of the plane that serves other NICs is the last way to them.
    """
    wiring = remainder.wiring
    found: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    for at, lost in remainder.lost_ports.items():
        tors = wiring.host_ports(at)
        for ports in group_pairs((port.rail, port) for port in tors).values():
            left = {wiring.tors[tors[port]].plane for port in ports if port not in lost}
            for port in ports if len(left) == 1 else ():
                if port in lost:
                    found[min(left), tors[port]][wiring.fabric.units[at.unit].hosts[at.slot]] = None
    return {key: tuple(hosts) for key, hosts in found.items()}


def keeps_common_plane(
    rails: Mapping[str, Mapping[int, int]], out: Mapping[tuple[str, int], int], more: tuple[str, int]
) -> bool:
    """Return whether hosts of one unit keep a plane of rails in common with those of each other unit.

    Hosts send from any of their NICs where a rail is down. A unit without any plane is cut off, which counts elsewhere.

    Args:
        rails: unit -> plane -> ToRs there; no switch joins these planes.
        out: unit and plane -> ToRs that are out.
        more: the unit and the plane of another ToR that goes.
    """

    def planes_left(unit: str) -> set[int]:
        gone = {plane: out.get((unit, plane), 0) + (more == (unit, plane)) for plane in rails[unit]}
        return {plane for plane, tors in rails[unit].items() if gone[plane] < tors}

    own = planes_left(more[0])
    others = (planes_left(unit) for unit in dict.fromkeys(unit for unit, _ in out) if unit != more[0])
    return not own or all(not theirs or own & theirs for theirs in others)


class _Planes(NamedTuple):
    """The planes that the ports of a NIC lead to, and those to which they still do."""

    all: frozenset[int]
    left: frozenset[int]


def _group_hosts_by_planes(remainder: Remainder) -> dict[_Planes, dict[str, None]]:
    """Map the planes of NICs to the hosts that have such a NIC, in the fabric's order."""
    wiring = remainder.wiring
    whole: dict[tuple[int, int], set[_Planes]] = {}
    found: defaultdict[_Planes, dict[str, None]] = defaultdict(dict)
    for name, at in wiring.hosts.items():
        lost = remainder.lost_ports.get(at, frozenset())
        group = wiring.fabric.units[at.unit].group
        kind = group, wiring.fabric.attachments[group].seat(at.slot)[0]
        planes = whole.get(kind) if not lost else None
        if planes is None:
            ports = group_pairs(
                (port.rail, (port, wiring.tors[tor].plane)) for port, tor in wiring.host_ports(at).items()
            )
            planes = {
                _Planes(
                    frozenset(plane for _, plane in of_nic),
                    frozenset(plane for port, plane in of_nic if port not in lost),
                )
                for of_nic in ports.values()
            }
            if not lost:
                whole[kind] = planes
        for each in planes:
            if each.left:
                found[each][name] = None
    return found


def find_affected_hosts(before: Remainder, now: Remainder) -> list[AffectedHost]:
    """Return the hosts that have fewer ports or paths than before, in the fabric's order."""
    wiring = now.wiring
    tors = [tor for tor in wiring.tors if tor in wiring.uplinks]
    was, left = ({tor: each.above(tor) for tor in tors} for each in (before, now))
    narrower = {tor for tor in tors if left[tor] < was[tor] or left[tor][1] < was[tor][1]}
    hit = {*now.lost_ports, *(HostId(port.unit, port.slot) for tor in narrower for port in wiring.nics(tor))}
    found: list[AffectedHost] = []
    for name, at in wiring.hosts.items():
        if at not in hit:
            continue
        lost, known = (each.lost_ports.get(at, frozenset()) for each in (now, before))
        more, ports = lost - known, wiring.host_ports(at)
        above = [tor for port, tor in ports.items() if port not in lost]
        if not more and narrower.isdisjoint(above):
            continue
        loss = compute_host_loss(wiring, lost)
        if not more:
            how = FEWER_PATHS
        elif len(lost) == len(ports):
            how = NO_PATH
        else:
            how = RAIL_LOST if loss.gpus > compute_host_loss(wiring, known).gpus else PORT_LOST
        kept = [left[tor] for tor in above if tor in left]
        found.append(
            AffectedHost(
                name, how, loss.gpus, loss.reduced, tuple(sorted({port.rail for port in more})),
                1 - Fraction(len(lost), len(ports)),
                min((links for links, _ in kept), default=WHOLE), min((even for _, even in kept), default=WHOLE),
            )
        )  # fmt: skip
    return found


class FurtherFailure(NamedTuple):
    """The worst effect of losing one more switch.

    Attributes:
        cuts, gpus: the switch whose loss leaves the most GPUs without a port, and how many more.
        narrows, at, share: the switch whose loss leaves the least capacity above a switch, which one, and how much.
    """

    cuts: str
    gpus: int
    narrows: str
    at: str
    share: Fraction


def find_further_failure(remainder: Remainder) -> FurtherFailure:
    """Return the worst effect of losing one more switch; losing a link is never worse than losing its switch."""
    cuts, gpus = _find_worst_cut(remainder)
    return FurtherFailure(cuts, gpus, *find_narrowest_uplinks(remainder, remainder.wiring.uplinks))


def _find_worst_cut(remainder: Remainder) -> tuple[str, int]:
    wiring, alone = remainder.wiring, _map_last_uplinks(remainder)
    worst = ("", 0)
    known: dict[object, int] = {}
    lost_units = {unit for unit, _ in remainder.lost_ports}
    for name in wiring.switches:
        if name in remainder.outage.gone:
            continue
        tors = (name, *alone.get(name, ()))
        ports = [port for tor in tors if tor in wiring.tors for port in wiring.nics(tor)]
        gpus = 0
        for unit, of_unit in group_pairs((port.unit, port) for port in ports).items():
            if unit in lost_units:
                gpus += _count_more_cut(remainder, unit, of_unit)
                continue
            group = wiring.fabric.units[unit].group
            key = group, tuple(port[1:] for port in of_unit)
            if key not in known:
                known[key] = compute_port_loss(wiring.fabric, group, key[1]).gpus
            gpus += known[key]
        worst = max(worst, (name, gpus), key=lambda each: each[1])
    return worst


def _count_more_cut(remainder: Remainder, unit: int, ports: Iterable[NicPort]) -> int:
    """Return how many more GPUs of a unit have no port if some ports are lost as well."""
    fabric = remainder.wiring.fabric
    group = fabric.units[unit].group
    gone = {port[1:] for (of, _), lost in remainder.lost_ports.items() if of == unit for port in lost}
    both = gone | {port[1:] for port in ports}
    return compute_port_loss(fabric, group, both).gpus - compute_port_loss(fabric, group, gone).gpus


def find_narrowest_uplinks(remainder: Remainder, switches: Iterable[str]) -> tuple[str, str, Fraction]:
    """Return the next hop whose loss leaves one of the switches the least capacity, that switch, and how much."""
    wiring = remainder.wiring
    narrowest: tuple[str, str, Fraction] = ("", "", WHOLE)
    seen: set[tuple[tuple[str, int], ...]] = set()
    for lower in switches:
        counts, of = remainder.next_hops(lower), sum(wiring.uplinks[lower].values())
        key = (*counts.items(), ("", of))
        if key in seen:  # equal to a switch that comes before it
            continue
        seen.add(key)
        shares: dict[tuple[int, ...], Fraction] = {}
        for upper in counts:
            rest = tuple(sorted(links for each, links in counts.items() if each != upper))
            if rest not in shares:
                shares[rest] = LinkShare.of_counts(rest, of).capacity
            if shares[rest] < narrowest[2]:
                narrowest = upper, lower, shares[rest]
    return narrowest


def _map_last_uplinks(remainder: Remainder) -> dict[str, list[str]]:
    """Map each switch to the ToRs for which it is the only remaining switch above; a ToR of a pair needs no other."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for tor in () if remainder.wiring.fabric.shape.peer_links else remainder.wiring.tors:
        if tor in remainder.wiring.uplinks and len(above := remainder.next_hops(tor)) == 1:
            found[next(iter(above))].append(tor)
    return found
