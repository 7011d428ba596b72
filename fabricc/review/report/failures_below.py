"""Failures at hosts and ToRs: cables, transceivers, NICs, a ToR, its uplinks, a unit without power."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.review.report.failure import BEYOND, Part, above_nics, at_access, both_halves, one_half
from fabricc.review.report.kinds import down_gbps
from fabricc.review.report.losses import (
    Hit,
    at_nics,
    first_name,
    shared_host_ports,
    tor_ports,
    tor_share,
    uplink_cages,
    usable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.capacity import Capacity
    from fabricc.review.report.failure import Failure
    from fabricc.review.report.losses import NicPort, Place


def below(fabric: Fabric, whole: Capacity, at: Place) -> Iterator[Failure]:
    """What fails at the hosts of a group and at their ToRs, looked at in one place."""
    unit, attached = fabric.units[at.unit], fabric.attachments[at.group]
    alike = [each for each in fabric.units.values() if each.group == at.group]
    tors = fabric.tor_counts()[at.group]
    tor = first_name(fabric, at.unit)
    yield from _cables(fabric, whole, at, sum(len(each.hosts) for each in alike), tors)
    links = len(at.slots) * attached.rails_per_tor + fabric.uplinks(at.group)
    hit = at_nics(fabric, at.group, tor_ports(fabric, at.group, at.slots))
    after = whole.changed(at.pod, 0, {(at.down_gbps, at.up_gbps): -1})
    yield at_access(Part("ToR", tor, tors), links, hit, one_half(whole, after))
    if fabric.shape.spines:
        yield from _uplinks(fabric, whole, at, Part("", tor, tors))
    after, of_unit = whole, list(fabric.tor_ids(at.unit))
    for each in of_unit:
        after = after.changed(at.pod, each.plane, {(down_gbps(fabric, each), at.up_gbps): -1})
    gpus = len(unit.hosts) * fabric.host_models[at.group].gpus
    part = Part("Power of a whole unit: its hosts and ToRs", unit.name, len(alike))
    dark = Hit(len(unit.hosts), gpus, 0, Fraction(1))
    yield replace(at_access(part, len(of_unit) * links, dark, both_halves(whole, after)), device=False)


def _cables(fabric: Fabric, whole: Capacity, at: Place, hosts: int, tors: int) -> Iterator[Failure]:
    """A host's link, a cage of a ToR that serves several, and a NIC that has several ports."""
    attached, first = fabric.attachments[at.group], at.slots[0]
    host, tor = fabric.units[at.unit].hosts[first], first_name(fabric, at.unit)
    cases: list[tuple[Part, list[NicPort]]] = []
    link = "Host link: cable, or transceiver at either end"
    cases.append(
        (Part(link, f"{host} to {tor}", hosts * attached.rails * attached.nic_ports), [(first, 0, 0)])
    )
    shared = shared_host_ports(fabric, at)
    if len(shared) > 1:
        layout = fabric.tor_layouts[at.group]
        per_tor = attached.rails_per_tor
        used = [attached.seat(slot)[1] * per_tor + rail for slot in at.slots for rail in range(per_tor)]
        number = tors * len({layout.slots[layout.down[index]].cage for index in used})
        cases.append((Part("Split cage of a ToR, host side: its transceiver", tor, number), shared))
    if attached.nic_ports > 1:
        ports = [(first, 0, port) for port in range(attached.nic_ports)]
        cases.append((Part("NIC with all its ports", host, hosts * attached.rails), ports))
    for part, lost in cases:
        after = whole
        for (port, _), count in Counter(
            (port, rail // attached.rails_per_tor) for _, rail, port in lost
        ).items():
            narrower = (at.down_gbps - count * attached.gbps, at.up_gbps)
            after = after.changed(
                at.pod, port % fabric.shape.planes, {(at.down_gbps, at.up_gbps): -1, narrower: 1}
            )
        yield at_access(part, len(lost), at_nics(fabric, at.group, lost), one_half(whole, after))


def _uplinks(fabric: Fabric, whole: Capacity, at: Place, tors: Part) -> Iterator[Failure]:
    """A single uplink of a ToR, and all uplinks on one of its cages; `tors` are those of the host group."""
    shape, uplinks = fabric.shape, fabric.uplinks(at.group)
    share = tor_share(fabric, at.group)
    uplink = "ToR uplink: cable, or transceiver at either end"
    cases = [(replace(tors, name=uplink, number=tors.number * uplinks), Counter({0: 1}))]
    cages = uplink_cages(fabric, at)
    cage = max(cages, key=lambda above: above.total())
    if cage.total() > 1:
        number = tors.number * len(cages)
        cases.append(
            (replace(tors, name="Split cage of a ToR, uplinks: its transceiver", number=number), cage)
        )
    for part, lost in cases:
        links = uplinks - lost.total()
        hashed = usable(shape.spines, fabric.tor_links[at.group], lost)
        kept = [1 - share * (1 - at.beyond(number * shape.uplink_gbps)) for number in (links, hashed)]
        narrower = (at.down_gbps, links * shape.uplink_gbps)
        after = whole.changed(at.pod, 0, {(at.down_gbps, at.up_gbps): -1, narrower: 1})
        width = f"{links} of {uplinks} at that ToR"
        yield above_nics(
            part, lost.total(), at.served, (kept[0], kept[1]), BEYOND, width, one_half(whole, after)
        )
