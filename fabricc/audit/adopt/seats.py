"""Places that are empty: slots and units read back from ports, where hosts or racks have left between others."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.audit.adopt.models import panel_of
from fabricc.audit.adopt.shape import named_hosts
from fabricc.audit.adopt.trial import homes_of, match_switches
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.shape import TierName
from fabricc.facts.device import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.audit.adopt.groups import FoundHost, Group
    from fabricc.audit.adopt.sides import Words
    from fabricc.audit.adopt.trial import Draft, Site
    from fabricc.compiler.compiled import Compiled

_PLACE = re.compile(r"^(?:unit|host) .*\n", re.MULTILINE)
_ROOM = ("hosts_per_unit", "hosts_per_rack")


def assign_slots(site: Site, draft: Draft, compiled: Compiled) -> tuple[Draft, Compiled]:
    """Return a sound draft with hosts by name, and a lock with slots and units if some between them are empty."""
    order = site.order
    units = range(len(order.units))
    if site.network or any(g.beside for g in order.groups) or any(not unit.hosts for unit in order.units):
        return draft, compiled
    if not {*order.tier(Tier.TOR)} <= {*match_switches(compiled, order).values()}:
        return draft, compiled  # units with different numbers of ToRs have no slots in common
    seats, coordinates = _Seats(site, compiled), _unit_coordinates(site, compiled) or [*units]
    if seats.as_planned() and coordinates == [*units]:
        return draft, compiled
    words = {**draft.words, "gpus": _make_room(named_hosts(order, draft.words["gpus"]), seats)}
    tried = replace(draft, words=words)
    made = site.compiled(tried)
    if not made.sound or None in seats.numbers.values():
        return draft, compiled
    lines = "".join(f"{line}\n" for line in _place_lines(site, made, coordinates))
    placed = replace(tried, lock=_PLACE.sub("", made.lock_text) + lines)
    made = site.compiled(placed)
    return (placed, made) if made.sound else (draft, compiled)


class _Seats:
    """Find the slot of each host in its unit, by the ports of ToRs.

    Attributes:
        numbers: host -> its number among those that its first ToR serves; None where its port is none for hosts.
    """

    def __init__(self, site: Site, compiled: Compiled) -> None:
        self.site, self.fabric = site, compiled.fabric
        self.indices = {name: at.index for at, name in match_switches(compiled, site.order).items()}
        self.numbers = {
            host.name: self._slot_number(index, host)
            for index, group in enumerate(site.order.groups) for host in group.hosts
        }  # fmt: skip

    def _slot_number(self, group: int, host: FoundHost) -> int | None:
        cable, tor = host.cables[0], self.fabric.tiers[TierName.TOR].model
        layout, attached = self.fabric.tor_layouts[group], self.fabric.attachments[group]
        first = layout.slots[layout.down[attached.first_port]]
        for use in panel_of(self.site.found.devices[cable.peer].system, tor).get(cable.peer_port, ()):
            if use.children == first.children and use.cage >= first.cage:
                port = (use.cage - first.cage) * use.children + use.child - first.child
                return int(port // attached.rails_per_tor)
        return None

    def slots(self, index: int, group: Group, unit: int) -> dict[str, int]:
        """Return host of a group in a unit -> its slot, if its number is known."""
        attached, names = self.fabric.attachments[index], self.site.order.units[unit].names
        alike = self.site.order.units[0].names
        found = {}
        for host in group.units[unit]:
            place = self.indices[alike[names.index(host.cables[0].peer)]]
            if (number := self.numbers[host.name]) is not None:
                found[host.name] = attached.slot(place // attached.tors, number)
        return found

    def as_planned(self) -> bool:
        """Return whether the slots that are planned are those that hosts are in."""
        homes, order = homes_of(self.fabric), self.site.order
        if len(homes) != len(order.units):
            return False
        return all(
            {*self.slots(index, group, unit).values()} == {*self.fabric.units[homes[unit]].hosts}
            for index, group in enumerate(order.groups) for unit in group.units
        )  # fmt: skip


def _make_room(words: Words, seats: _Seats) -> Words:
    """Return the section `gpus` with room for the last used slot of hosts."""
    groups = seats.site.order.groups

    def widen_section(section: Words, group: Group) -> Words:
        last = max(seats.numbers[host.name] or 0 for host in group.hosts)
        return section | {key: max(section[key], last + 1) for key in _ROOM if key in section}

    if "groups" not in words:
        return widen_section(words, groups[0])
    return words | {"groups": [widen_section(*each) for each in zip(words["groups"], groups, strict=True)]}


def _unit_coordinates(site: Site, compiled: Compiled) -> Sequence[int]:
    """Return the coordinate of each unit from the reserved ports of spines; empty if these do not show all."""
    fabric, shape = compiled.fabric, compiled.fabric.shape
    spines = {
        name: at for at, name in match_switches(compiled, site.order).items() if at.tier is TierName.SPINE
    }
    down = {}
    for name, at in spines.items():
        ports = links.port_names(fabric, at)
        down[name] = {ports[slot]: number for number, slot in enumerate(links.port_layout(fabric, at).down)}
    found: list[int] = []
    for unit in site.order.units:
        told = (
            spines[c.peer].pod * shape.units_per_pod + number // shape.links_per_spine // shape.tors_per_unit_plane
            for name in unit.names for c in site.order.cables.get(name, ())
            if site.found.places[c.peer].tier is Tier.SPINE and c.peer in spines
            and (number := down[c.peer].get(c.peer_port)) is not None
        )  # fmt: skip
        found += [coordinate for coordinate in (next(told, None),) if coordinate is not None]
    rising = all(one < two for one, two in pairwise(found))
    return found if rising and len(found) == len(site.order.units) else []


def _place_lines(site: Site, compiled: Compiled, coordinates: Sequence[int]) -> list[str]:
    """Return the lines of a lock that state places: units by key, hosts by name."""
    seats, lines = _Seats(site, compiled), []
    for index, group in enumerate(site.order.groups):
        section = compiled.spec.gpus.groups[index]
        for number, unit in enumerate(group.units):
            key = f"rack{unit + 1:03d}" if section.racks else number
            lines.append(f"unit {section.name}/{key} {coordinates[unit]}")
            slots = seats.slots(index, group, unit)
            lines += [f"host {name} {coordinates[unit]} {slot}" for name, slot in slots.items()]
    return sorted(lines, reverse=True)
