"""The bandwidth of a network during an outage: between two halves of its hosts, and of single GPUs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.fabric.capacity.hosts import count_gpu_nics
from fabricc.fabric.capacity.remainder import WHOLE, LinkShare, Remainder
from fabricc.fabric.shape import HostId, TierName, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.capacity.wiring import NicPort

Cell = tuple[int, int]
"""A pod and a plane."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """The bandwidth of a network.

    Attributes:
        hosts_gbps: that all hosts can send.
        carried: place -> bandwidth of its narrowest tier; a place is a pod, or a unit where there is one pod.
        present: place -> the share of its hosts' bandwidth that belongs to hosts in service.
    """

    hosts_gbps: int
    carried: Mapping[int, int]
    present: Mapping[int, Fraction]

    @property
    def carried_gbps(self) -> int:
        """The bandwidth of the narrowest tier of all places."""
        return sum(self.carried.values())

    @property
    def bisection_gbps(self) -> Fraction:
        """The bandwidth from one half of the hosts to the other half, in one direction, with every link up."""
        return Fraction(self.carried_gbps, 2)

    def compare_bisection(self, whole: Throughput) -> Fraction:
        """Return the share of the bisection bandwidth that is left, with the greatest losses in one half.

        Hosts that are off are in neither half.
        """
        if not whole.carried_gbps:
            return Fraction(0)
        usual = {
            place: max(of * self.present[place], Fraction(self.carried[place]))
            for place, of in whole.carried.items()
        }
        ratios = {place: 1 - self.carried[place] / of for place, of in usual.items() if of}
        room = half = sum(usual.values(), Fraction(0)) / 2
        lost = Fraction(0)
        for place in sorted(ratios, key=lambda each: ratios[each], reverse=True):
            taken = min(room, usual[place])
            lost, room = lost + taken * ratios[place], room - taken
        return (half - lost) / whole.bisection_gbps


class _TorRates(NamedTuple):
    """Gb/s of a ToR: from its hosts, up with all its uplinks, by the links that are left, and by even hashing."""

    down: int
    up: int
    links: int
    even: int


class OutageRates:
    """The bandwidth of every ToR and pod during an outage."""

    def __init__(self, remainder: Remainder) -> None:
        self.left, self.wiring = remainder, remainder.wiring
        fabric, shape = self.wiring.fabric, self.wiring.fabric.shape
        self.tors: dict[str, _TorRates] = {}
        known: dict[tuple[int, LinkShare | None], _TorRates] = {}
        for name in self.wiring.tors:
            key = down, share = self.wiring.tor_gbps(name), remainder.shares.get(name)
            if key not in known:
                numbers = (share.of, share.links, share.even) if share else (0, 0, 0)
                known[key] = _TorRates(down, *(n * shape.uplink_gbps for n in numbers))
            self.tors[name] = known[key]
        self.lost: Counter[str] = Counter()
        for at, ports in remainder.dead_ports.items():
            unit = fabric.units[at.unit]
            tors = self.wiring.host_ports(at)
            for port in ports:
                self.lost[tors[port]] += fabric.attachments[unit.group].gbps

    def cells(self) -> dict[Cell, list[str]]:
        """Return the ToRs of each pod and plane."""
        return group_pairs(((at.pod, at.plane), name) for name, at in self.wiring.tors.items())

    def core_rates(self) -> dict[Cell, tuple[int, int, int]]:
        """Return Gb/s from each pod and plane to the cores: with all links, by those left, and by even hashing."""
        found: dict[Cell, tuple[int, int, int]] = {}
        gbps = self.wiring.fabric.shape.core_link_gbps
        for part, lowers in self.wiring.switches_of_parts():
            at = self.wiring.switches[lowers[0]]
            if at.tier is TierName.SPINE:
                share = self.left.parts[part]
                found[at.pod, at.plane] = share.of * gbps, share.links * gbps, share.even * gbps
        return found


def measure_throughput(rates: OutageRates) -> Throughput:
    """Return the bandwidth of a network during an outage, by the links that are left."""
    left = rates.left
    fabric = left.wiring.fabric
    gone = left.outage.gone
    down = {name: 0 if name in gone else rate.down - rates.lost[name] for name, rate in rates.tors.items()}
    leaving = {name: min(down[name], rate.links) for name, rate in rates.tors.items()}
    cells, pods = rates.cells(), len({at.pod for at in left.wiring.tors.values()})
    carried: Counter[int] = Counter()
    if pods == 1:
        one = fabric.counts()["units"] == 1  # needs no uplinks
        for name, at in left.wiring.tors.items():
            carried[at.unit] += down[name] if one else leaving[name]
    else:
        cores = rates.core_rates()
        for (pod, plane), tors in cells.items():
            above = cores.get((pod, plane), (0, 0, 0))[1]
            carried[pod] += min(sum(leaving[name] for name in tors), above)
    usual, off = Counter[int](), Counter[int]()
    for name, at in left.wiring.tors.items():
        usual[at.pod if pods > 1 else at.unit] += rates.tors[name].down
    for host in gone & left.wiring.hosts.keys():
        unit = fabric.units[left.wiring.hosts[host].unit]
        attached = fabric.attachments[unit.group]
        place = unit.home // fabric.shape.units_per_pod if pods > 1 else unit.home
        off[place] += attached.rails * len(attached.present) * attached.gbps
    present = {place: 1 - Fraction(off[place], of) if of else WHOLE for place, of in usual.items()}
    return Throughput(sum(down.values()), carried, present)


class BandwidthLoss(NamedTuple):
    """The hosts and GPUs that lose bandwidth.

    Attributes:
        hosts, gpus: without a port.
        reduced: GPUs that keep less than before.
        by_links: the smallest share of its bandwidth that one of these keeps, if traffic spreads over every link that
            is left; `evenly`: if it is hashed evenly over next hops.
    """

    hosts: int
    gpus: int
    reduced: int
    by_links: Fraction
    evenly: Fraction


def measure_bandwidth_loss(rates: OutageRates) -> BandwidthLoss:
    """Return the GPUs that lose bandwidth: at their NICs, above their ToRs, or between their pod and the cores."""
    left = rates.left
    fabric, factors = left.wiring.fabric, _find_factors(rates)
    dead = group_pairs((at.unit, (at.slot, ports)) for at, ports in left.dead_ports.items())
    found = [
        _measure_unit(left, unit, dict(dead.get(unit.coordinate, ())), factors)
        for unit in fabric.units.values()
        if unit.hosts
    ]
    return BandwidthLoss(
        sum(each.hosts for each in found),
        sum(each.gpus for each in found),
        sum(each.reduced for each in found),
        min((each.by_links for each in found), default=WHOLE),
        min((each.evenly for each in found), default=WHOLE),
    )


def _find_factors(rates: OutageRates) -> Mapping[str, tuple[Fraction, Fraction]]:
    """Return the share of the traffic beyond each ToR that passes, by links and evenly, of ToRs where it is not all."""
    cores = rates.core_rates()
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for cell, tors in rates.cells().items():
        leaving = sum(min(rates.tors[name].down, rates.tors[name].up) for name in tors)
        pod = (WHOLE, WHOLE)
        if (core := cores.get(cell)) is not None:
            pod = (_share_of(leaving, core[0], core[1]), _share_of(leaving, core[0], core[2]))
        for name in tors:
            down, up, links, even = rates.tors[name]
            own = (_share_of(down, up, links), _share_of(down, up, even)) if up else (WHOLE, WHOLE)
            both = min(own[0], pod[0]), min(own[1], pod[1])
            if min(both) < 1:
                found[name] = both
    return found


def _share_of(traffic: int, before: int, after: int) -> Fraction:
    """Return the share of the traffic that passed with a bandwidth before and passes with another one after."""
    passed = min(traffic, before)
    return Fraction(min(traffic, after), passed) if passed else WHOLE


def _measure_unit(
    remainder: Remainder,
    unit: Unit,
    dead: Mapping[int, frozenset[NicPort]],
    factors: Mapping[str, tuple[Fraction, Fraction]],
) -> BandwidthLoss:
    if not dead and not factors:
        return BandwidthLoss(0, 0, 0, WHOLE, WHOLE)
    wiring, fabric = remainder.wiring, remainder.wiring.fabric
    nics, weight = count_gpu_nics(fabric, unit.group)
    attached = fabric.attachments[unit.group]
    alike = group_pairs(
        ((attached.seat(slot)[0], _port_keys(dead.get(slot, ()))), slot) for slot in unit.hosts
    )
    hosts = cut = reduced = 0
    kept = [(WHOLE, WHOLE)]
    for (_, lost), slots in alike.items():
        ports = wiring.host_ports(HostId(unit.coordinate, slots[0]))
        if not lost and factors.keys().isdisjoint(ports.values()):
            continue
        hosts += len(slots) if len(lost) == len(ports) else 0
        of_gpu = group_pairs((port.rail // nics, (port, tor)) for port, tor in ports.items())
        for each in of_gpu.values():
            live = [factors.get(tor, (WHOLE, WHOLE)) for port, tor in each if _port_key(port) not in lost]
            share = sum(one for one, _ in live) / len(each), sum(two for _, two in live) / len(each)
            if not live:
                cut += len(slots)
            elif min(share) < 1:
                reduced += len(slots)
                kept.append((Fraction(share[0]), Fraction(share[1])))
    links, evenly = (min(each[field] for each in kept) for field in range(2))
    return BandwidthLoss(hosts, ceil(cut * weight), ceil(reduced * weight), links, evenly)


def _port_key(port: NicPort) -> tuple[int, int]:
    """Return what identifies a NIC port of a host."""
    return port.rail, port.nic_port


def _port_keys(ports: Iterable[NicPort]) -> frozenset[tuple[int, int]]:
    return frozenset(map(_port_key, ports))
