"""The switches of a fabric by kind: equal ones are examined once and counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbors import Link
    from fabricc.fabric.shape import PortLayout, SwitchId


class Cable(NamedTuple):
    """Cables of one article; `kind` is `host`, `spine` or `core`."""

    kind: str
    speed_gbps: int
    medium: str
    length_m: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Switches that have the same links: one of them, and how many there are."""

    at: SwitchId
    name: str
    layout: PortLayout
    links: tuple[Link, ...]
    count: int

    @property
    def tier(self) -> TierName:
        """Their tier."""
        return self.at.tier

    def cable(self, link: Link) -> Cable:
        """Return the cable of a link of theirs."""
        return Cable(link.kind, self.layout.slots[link.slot].speed_gbps, link.medium, link.cable_m)

    def gbps(self, *ways: Direction) -> int:
        """Return the bandwidth of the links in some directions."""
        slots = self.layout.slots
        return sum(slots[link.slot].speed_gbps for link in self.links if link.direction in ways)


def switch_kinds(fabric: Fabric) -> tuple[Kind, ...]:
    """Return every kind of switch, ToRs first; the numbers of all kinds add up to all switches.

    The kind of a ToR depends on its host groups and the slots with hosts, that of a spine on its links to the units of
    its pod. Switches
    that overrides change, and the ends of their cables, are kinds of their own.
    """
    touched = fabric.with_far_ends(fabric.changes.keys())
    pods: Counter[int] = Counter()
    for unit in fabric.places():
        for tor in fabric.tor_ids(unit.coordinate):
            pods[tor.pod] += fabric.tor_links[unit.group]
    counts: Counter[object] = Counter()
    samples: dict[object, SwitchId] = {}
    for at in fabric.switch_ids():
        key: object
        if touched and (name := fabric.name(at)) in touched:
            key = name
        elif at.tier is TierName.TOR:
            key = tuple((unit.group, *slots) for unit, slots, _ in links.served_slots(fabric, at))
        else:
            key = (at.tier, pods[at.pod]) if at.tier is TierName.SPINE else at.tier
        samples.setdefault(key, at)
        counts[key] += 1
    return tuple(
        Kind(
            at,
            fabric.name(at),
            links.port_layout(fabric, at),
            tuple(links.switch_links(fabric, at)),
            counts[key],
        )
        for key, at in samples.items()
    )


def count_cables(found: tuple[Kind, ...]) -> Counter[Cable]:
    """Count the cables of each kind; each is counted at its lower end, a host's at the ToR."""
    counted: Counter[Cable] = Counter()
    between: Counter[Cable] = Counter()  # ToRs, where both ends have the same role
    for kind in found:
        for link in kind.links:
            if link.direction is Direction.PEER:
                between[kind.cable(link)] += kind.count
            elif link.direction is not Direction.DOWN:
                counted[kind.cable(link)] += kind.count
    return counted + Counter({cable: ends // 2 for cable, ends in between.items()})


def host_port_gbps(fabric: Fabric, group: int) -> int:
    """Speed of the ports of a host group."""
    return fabric.attachments[group].gbps
