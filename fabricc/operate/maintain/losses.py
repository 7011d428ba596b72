"""Find the hosts that lose capacity during an outage, and the worst further failure. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.review.report.capacity import evenly_hashed
from fabricc.review.report.losses import Hit, at_nics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fabricc.operate.maintain.wiring import Nic, Outage, Wiring

WHOLE = Fraction(1)
NO_PATH, RAIL_LOST, PORT_LOST, FEWER_PATHS = "no path left", "rail lost", "port lost", "fewer paths"
HOW = (NO_PATH, RAIL_LOST, PORT_LOST, FEWER_PATHS)
"""How a host is affected, most severe first. A lost rail leaves a GPU without a port, a lost port one with fewer."""


@dataclass(frozen=True, slots=True)
class AffectedHost:
    """A host that has fewer ports or paths than before.

    Attributes:
        how: one of `HOW`.
        gpus: that have no port left; `reduced`: that have fewer.
        rails: rails with a port lost, from 0.
        kept: the smallest capacity of the links above any of its ports.
    """

    name: str
    how: str
    gpus: int
    reduced: int
    rails: tuple[int, ...]
    kept: Fraction

    @property
    def stops(self) -> bool:
        """Whether jobs must leave it: they lose connections, not only bandwidth."""
        return self.how != FEWER_PATHS


class NextFailure(NamedTuple):
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


def find_affected_hosts(wiring: Wiring, before: Outage, out: Outage) -> list[AffectedHost]:
    """Return the hosts that have fewer ports or paths than before, in the fabric's order."""
    old, new = _group_by_host(wiring.dark(before)), _group_by_host(wiring.dark(out))
    was, now = compute_tor_capacities(wiring, before), compute_tor_capacities(wiring, out)
    narrower = {tor for tor, share in now.items() if share < was[tor]}
    hosts = {*new, *(nic.host for tor in narrower for nic in wiring.nics.get(tor, ()))}
    found: list[AffectedHost] = []
    for name in (each for each in wiring.hosts if each in hosts):
        ports, lost, known = wiring.hosts[name], new.get(name, set()), old.get(name, set())
        more = lost - known
        if not more and not any(nic.tor in narrower for nic in ports if nic not in lost):
            continue
        hit = _compute_host_loss(wiring, lost)
        if not more:
            how = FEWER_PATHS
        elif len(lost) == len(ports):
            how = NO_PATH
        else:
            how = RAIL_LOST if hit.gpus > _compute_host_loss(wiring, known).gpus else PORT_LOST
        kept = min((now[nic.tor] for nic in ports if nic not in lost and nic.tor in now), default=WHOLE)
        rails = tuple(sorted({nic.rail for nic in more}))
        found.append(AffectedHost(name, how, hit.gpus, hit.reduced, rails, kept))
    return found


def compute_tor_capacities(wiring: Wiring, out: Outage) -> dict[str, Fraction]:
    """Map each ToR with uplinks to the capacity left above it, in its uplinks or its pod's links to the cores."""
    parts = wiring.parts(out)
    found: dict[str, Fraction] = {}
    for tor in wiring.nics:
        if tor in wiring.up:
            beyond = parts.get(f"{wiring.resource(tor)} to cores")
            own = wiring.share(tor, out).capacity
            found[tor] = min(own, beyond.capacity) if beyond else own
    return found


def count_cut_gpus(wiring: Wiring, out: Outage) -> int:
    """Return the number of GPUs without a port."""
    return sum(_compute_host_loss(wiring, lost).gpus for lost in _group_by_host(wiring.dark(out)).values())


def find_worst_failure(wiring: Wiring, out: Outage) -> NextFailure:
    """Return the worst effect of losing one more switch; losing a link is never worse than losing its switch."""
    lost = _group_by_host(wiring.dark(out))
    cut = {name: _compute_host_loss(wiring, ports).gpus for name, ports in lost.items()}
    alone = _map_last_uplinks(wiring, out)
    worst = ("", 0)
    narrowest: tuple[str, str, Fraction] = ("", "", WHOLE)
    for name in wiring.switches:
        if name in out.gone:
            continue
        tors = (name, *alone.get(name, ()))
        more: defaultdict[str, set[Nic]] = defaultdict(set)
        for nic in (nic for tor in tors for nic in wiring.nics.get(tor, ())):
            more[nic.host].add(nic)
        hit = {
            host: _compute_host_loss(wiring, ports | lost.get(host, set())) for host, ports in more.items()
        }
        gpus = sum(each.gpus - cut.get(host, 0) for host, each in hit.items())
        worst = max(worst, (name, gpus), key=lambda each: each[1])
    for lower in wiring.up:
        counts, of = wiring.count_active_links(lower, out), len(wiring.up[lower])
        for upper in counts:
            share = Fraction(evenly_hashed([links for each, links in counts.items() if each != upper]), of)
            if share < narrowest[2]:
                narrowest = upper, lower, share
    return NextFailure(worst[0], worst[1], *narrowest)


def _map_last_uplinks(wiring: Wiring, out: Outage) -> dict[str, list[str]]:
    """Map each switch to the ToRs for which it is the only remaining switch above."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for tor in wiring.nics:
        if tor in wiring.up and len(left := wiring.count_active_links(tor, out)) == 1:
            found[next(iter(left))].append(tor)
    return found


def _group_by_host(nics: Iterable[Nic]) -> dict[str, set[Nic]]:
    found: dict[str, set[Nic]] = {}
    for nic in nics:
        found.setdefault(nic.host, set()).add(nic)
    return found


def _compute_host_loss(wiring: Wiring, ports: Collection[Nic]) -> Hit:
    """Return the loss of a host whose NIC ports in `ports` are out."""
    if not ports:
        return Hit(0, 0, 0, WHOLE)
    group = wiring.fabric.units[next(iter(ports)).unit].group
    return at_nics(wiring.fabric, group, ((nic.slot, nic.rail, nic.nic_port) for nic in ports))
