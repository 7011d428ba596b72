"""Compute the loss that the failure of a part causes, one failure at a time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.review.report.capacity import evenly_hashed
from fabricc.review.report.kinds import down_gbps, fullest_unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.fabric import Fabric

NicPort = tuple[int, int, int]
"""Slot of the host in its unit, rail, and port of that NIC."""


class Hit(NamedTuple):
    """Who is hit where NIC ports are lost.

    Attributes:
        hosts, gpus: without a port left.
        reduced: GPUs with some ports left; `kept` is the smallest share of its ports that one of them keeps.
    """

    hosts: int
    gpus: int
    reduced: int
    kept: Fraction


def at_nics(fabric: Fabric, group: int, ports: Iterable[NicPort]) -> Hit:
    """Who is hit when these ports of hosts of one unit have no link; GPUs that share a NIC share its fate."""
    attached = fabric.attachments[group]
    nics, weight = _gpu_nics(fabric, group)
    per_host: Counter[int] = Counter()
    per_gpu: Counter[tuple[int, int]] = Counter()
    for slot, rail, _ in set(ports):
        per_host[slot] += 1
        per_gpu[slot, rail // nics] += 1
    total = nics * attached.nic_ports
    cut = sum(1 for lost in per_gpu.values() if lost >= total)
    reduced = [lost for lost in per_gpu.values() if lost < total]
    hosts = sum(1 for lost in per_host.values() if lost == attached.rails * attached.nic_ports)
    kept = 1 - Fraction(max(reduced, default=0), total)
    return Hit(hosts, ceil(cut * weight), ceil(len(reduced) * weight), kept)


def _gpu_nics(fabric: Fabric, group: int) -> tuple[int, Fraction]:
    """NICs that serve one GPU, and GPUs that such NICs serve."""
    gpus, rails = fabric.host_models[group].gpus, fabric.attachments[group].rails
    if gpus and rails > gpus and rails % gpus == 0:
        return rails // gpus, Fraction(1)
    return 1, Fraction(gpus, rails)


def tor_share(fabric: Fabric, group: int) -> Fraction:
    """Share of a GPU's ports that one ToR of its unit serves, of those that it serves at all."""
    nics, _ = _gpu_nics(fabric, group)
    attached = fabric.attachments[group]
    return Fraction(min(attached.rails_per_tor, nics), nics * attached.nic_ports)


@dataclass(frozen=True, slots=True)
class Place:
    """The fullest unit of a host group, where losses are the largest, and what its first ToR carries.

    Attributes:
        slots: of its own hosts on that ToR.
        down_gbps, up_gbps: of one ToR, of the hosts present and of all uplinks.
        served: GPUs of one ToR.
    """

    group: int
    unit: int
    pod: int
    slots: tuple[int, ...]
    down_gbps: int
    up_gbps: int
    served: int

    def beyond(self, up_gbps: int) -> Fraction:
        """Return the share of traffic beyond the ToR that still passes with this bandwidth up."""
        before = min(self.down_gbps, self.up_gbps)
        return Fraction(min(self.down_gbps, up_gbps), before) if before else Fraction(1)


def example_place(fabric: Fabric, group: int) -> Place:
    """Return the example place of a host group."""
    shape, unit = fabric.shape, fullest_unit(fabric, group)
    tor = links.tor_id(fabric, unit, 0, 0)
    slots = tuple(next(links.served_slots(fabric, tor))[1])
    hit = at_nics(fabric, group, tor_ports(fabric, group, slots))
    pod, up_gbps = unit // shape.units_per_pod, fabric.uplinks(group) * shape.uplink_gbps
    return Place(group, unit, pod, slots, down_gbps(fabric, tor), up_gbps, hit.gpus + hit.reduced)


def tor_ports(fabric: Fabric, group: int, slots: tuple[int, ...]) -> list[NicPort]:
    """The NIC ports of a unit's own hosts that its first ToR serves."""
    return [(slot, rail, 0) for slot in slots for rail in range(fabric.attachments[group].rails_per_tor)]


def shared_host_ports(fabric: Fabric, at: Place) -> list[NicPort]:
    """The NIC ports on that cage of a unit's first ToR that serves the most; one where cages are not split."""
    layout, attached = fabric.tor_layouts[at.group], fabric.attachments[at.group]
    found: dict[int, list[NicPort]] = {}
    for slot in at.slots:
        for rail in range(attached.rails_per_tor):
            cage = layout.slots[layout.down[attached.seat(slot)[1] * attached.rails_per_tor + rail]].cage
            found.setdefault(cage, []).append((slot, rail, 0))
    return max(found.values(), key=len)


def uplink_cages(fabric: Fabric, at: Place) -> list[Counter[int]]:
    """Of each cage with uplinks of a unit's first ToR: spine -> links to it."""
    layout, tor = fabric.tor_layouts[at.group], links.tor_id(fabric, at.unit, 0, 0)
    found: dict[int, Counter[int]] = {}
    for number, end in enumerate(links.tor_uplinks(fabric, tor)):
        found.setdefault(layout.slots[end.slot].cage, Counter())[number // fabric.tor_links[at.group]] += 1
    return list(found.values())


def usable_links(count: int, parallel: int, lost: Counter[int]) -> int:
    """Return the links that even hashing can use: `count` switches with `parallel` links each, minus the lost."""
    return evenly_hashed([parallel - lost[above] for above in range(count)])


def first_name(fabric: Fabric, unit: int) -> str:
    """Name of a unit's first ToR."""
    return fabric.name(links.tor_id(fabric, unit, 0, 0))
