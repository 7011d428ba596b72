"""Pin what the closest spec leaves open: the lock, names, numbers, overrides, conventions and empty places.

Conventions are descriptions of ports and sessions, statements about unused ports, and BGP limits. A slot or unit is
empty where hosts or racks have left between others.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt import models, tables
from fabricc.audit.adopt.models import panel_of
from fabricc.audit.adopt.outward import rename_switches
from fabricc.audit.adopt.shape import named_hosts
from fabricc.audit.adopt.tenants import rename_hosts
from fabricc.audit.adopt.trial import Draft, Site, homes_of, match_switches
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.facts import Facts, neighbor_key
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.shape import TierName
from fabricc.facts.statement import Device, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.audit.adopt.found_tiers import Words
    from fabricc.audit.adopt.groups import FoundHost, Group
    from fabricc.compiler.compiled import Compiled

_DRAINED = "add_community 65535:0"

_HOSTS, _MANAGEMENT, _LOOPBACKS = ("hosts4", "hosts6"), ("management",), ("loopback4", "loopback6")
_WITHOUT: tuple[tuple[str, ...], ...] = (
    (), _HOSTS, _MANAGEMENT, (*_HOSTS, *_MANAGEMENT), (*_HOSTS, *_MANAGEMENT, *_LOOPBACKS),
    (*_HOSTS, *_MANAGEMENT, *_LOOPBACKS, "asn"),
)  # fmt: skip
"""Columns that are left out if the spec rejects them; overlays keep their settings."""

_PORT = 16
"""Weight of a link on another port, in table cells: a link must be recabled, a cell only written."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""Names that a spec accepts for a device."""

Step = tuple["Draft", "Compiled"]


def settle_draft(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Return a valid draft with the lock, names, tables and overrides of the existing fabric."""
    for step in (assign_slots, _set_pins, _set_names, _set_tables, apply_conventions, _set_overrides):
        draft, compiled = step(site, draft, compiled)
    return draft, compiled


def _set_pins(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set strides and the first ASN to the existing values if more numbers then equal the computed ones."""
    best = _count_deviations(site, compiled)
    shown = models.infer_strides(compiled, site.found, site.order)
    plain = {pin: value for pin, value in shown.items() if not pin.endswith("_cage")}
    for lock in dict.fromkeys(
        _with_strides(compiled.lock_text, some, site.network) for some in (shown, plain)
    ):
        pinned = replace(draft, lock=lock)
        for tried in (pinned, *_asn_bases(site, pinned, compiled)):
            made = site.compile_draft(tried)
            if made.sound and (rows := _count_deviations(site, made)) < best:
                best, draft, compiled = rows, tried, made
    return draft, compiled


def _asn_bases(site: Site, draft: Draft, compiled: Compiled) -> Iterator[Draft]:
    """Yield the draft with the base that follows from the first ToR's ASN."""
    at, name = next(iter(match_switches(compiled, site.order).items()))
    asn = site.found.devices[name].reading.facts.get("bgp/asn")
    if isinstance(asn, int):
        base = compiled.fabric.routing.asn_base + asn - compiled.fabric.switch(at).bgp.asn
        routing = {**draft.words.get("routing", {}), "asn_base": base}
        yield replace(draft, words={**draft.words, "routing": routing})


def _count_deviations(site: Site, compiled: Compiled) -> int:
    """Return the number of values that differ from the computed ones: table cells and ports."""
    rows = (
        *tables.device_rows(compiled, site.found, site.order),
        *tables.link_rows(compiled, site.found, site.order),
    )
    return sum(map(len, rows)) + _PORT * sum(1 for _ in tables.misplaced_links(compiled, site.order))


def _set_names(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set the names of hosts if they differ from the computed ones."""
    if [host.name for host in compiled.hosts()] == [host.name for host in site.order.hosts]:
        return draft, compiled
    words = rename_hosts(draft.words, _names_by_plan(site, compiled))
    if site.network:
        words = named_hosts(site.order, words)
    else:
        words["gpus"] = named_hosts(site.order, words["gpus"])
    tried = replace(draft, words=words)
    made = site.compile_draft(tried)
    return (tried, made) if made.sound else (draft, compiled)


def _names_by_plan(site: Site, compiled: Compiled) -> dict[str, str]:
    """Return planned host name -> existing host name."""
    planned = (host.name for host in compiled.hosts())
    return dict(zip(planned, (host.name for host in site.order.hosts), strict=False))


def _set_tables(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set names, numbers and addresses by tables where they differ from the closed form."""
    rows = [
        {key: cell for key, cell in row.items() if key != "name" or NAME.fullmatch(cell)}
        for row in tables.device_rows(compiled, site.found, site.order)
    ]
    for without in _WITHOUT if rows else ():
        some = [{key: cell for key, cell in row.items() if key not in without} for row in rows]
        given = {row["device"]: row["name"] for row in some if "name" in row}
        tried = replace(
            draft, devices=[row for row in some if len(row) > 1], words=_use_names(draft.words, given)
        )
        if (made := site.compile_draft(tried)).sound:
            draft, compiled = tried, made
            break
    links = tables.link_rows(compiled, site.found, site.order)
    between = [row for row in links if row["b_device"] not in {host.name for host in site.order.hosts}]
    for some in (links, between) if links != between else (links,):
        tried = replace(draft, links=some)
        if some and (made := site.compile_draft(tried)).sound:
            return tried, made
    return draft, compiled


def _use_names(words: Mapping[str, Any], new_names: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the words with the new names of switches where external links use them."""
    if "external" not in words:
        return words
    at = {link["at"] for party in words["external"].values() for link in party["links"]}
    return {
        **words,
        "external": rename_switches(words["external"], {name: new_names.get(name, name) for name in at}),
    }


def _set_overrides(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set the deviations of single switches as overrides."""
    hosts = {device.name: device for device in site.sides.hosts}
    changes = {
        switch.name: change
        for switch in compiled.switches()
        if switch.name in site.found.devices
        and (change := _switch_changes(switch, site.found.devices[switch.name], hosts))
    }
    tried = replace(draft, words={**draft.words, "overrides": changes})
    if changes and (made := site.compile_draft(tried)).sound:
        return tried, made
    return draft, compiled


def _switch_changes(planned: Switch, device: Device, hosts: Mapping[str, Device]) -> dict[str, Any]:
    """Return the deviations of a switch from its tier: drained, ports shut, other lengths of cables to hosts."""
    facts = device.reading.facts
    ports: dict[str, dict[str, Any]] = {}
    for port in planned.ports:
        if port.peer is None:
            continue
        change: dict[str, Any] = {}
        if port.enabled and facts.get(f"interface[{port.name}]/enabled") == "false":
            change["shutdown"] = True
        host = hosts.get(port.peer.device)
        length = host.reading.facts.get(f"interface[{port.peer.port}]/cable_m") if host else None
        if isinstance(length, int) and length != port.cable_m:
            change["cable_m"] = length
        if change:
            ports[port.name] = change
    drained = any(
        path.startswith("route_map[TO-") and _DRAINED in str(value) for path, value in facts.items()
    )
    return ({"drain": True} if drained and not planned.drained else {}) | ({"ports": ports} if ports else {})


def _with_strides(lock: str, strides: Mapping[str, int], network: str) -> str:
    """Return the text of a lock with other strides of a network."""
    start = f"network {network} " if network else ""
    return re.sub(
        rf"^{start}stride ([\w/-]+) \d+$",
        lambda at: f"{start}stride {at[1]} {strides[at[1]]}" if at[1] in strides else at[0],
        lock,
        flags=re.M,
    )


_FITTING = re.compile(r"(?! )[\w .:;,/()\[\]<>@#+=*{}-]+(?<! )", re.ASCII)
_USUAL = {"fabric": "{peer} {peer_port}", "host": "{peer} {peer_port}", "session": "{peer}"}


def apply_conventions(site: Site, draft: Draft, compiled: Compiled) -> tuple[Draft, Compiled]:
    """Add the conventions that most switches share and a build would not produce to a sound draft."""
    switches = [
        (each, site.found.devices[each.name].reading.facts)
        for each in compiled.switches()
        if each.name in site.found.devices
    ]
    for key, words in (
        ("routing", _shared_limits(switches)),
        ("descriptions", _common_descriptions(switches)),
        ("unused_ports", _unused_ports(switches)),
    ):
        if not words:
            continue
        value = words if isinstance(words, str) else {**draft.words.get(key, {}), **words}
        tried = replace(draft, words={**draft.words, key: value})
        if (made := site.compile_draft(tried)).sound:
            draft, compiled = tried, made
    return draft, compiled


def _shared_limits(switches: list[tuple[Switch, Facts]]) -> dict[str, int]:
    """Return the limits that all switches share, if they differ from the planned ones."""
    paths = {(each.bgp.maximum_paths, facts.get("bgp/maximum_paths")) for each, facts in switches}
    limits = set()
    for each, facts in switches:
        groups = {group.name: group.maximum_prefixes for group in each.bgp.groups}
        for session in each.bgp.sessions:
            key = neighbor_key(session.transport, session.remote, session.port)
            limits.add((groups[session.group], facts.get(f"bgp/neighbor[{key}]/maximum_prefixes")))
    found = {}
    for name, pairs in (("maximum_paths", paths), ("maximum_prefixes", limits)):
        stated = {value for _, value in pairs}
        value = next(iter(stated)) if len(stated) == 1 else None
        if isinstance(value, int) and {planned for planned, _ in pairs} != stated:
            found[name] = value
    return found


def _common_descriptions(switches: list[tuple[Switch, Facts]]) -> dict[str, str]:
    """Return the text of most descriptions of a kind, if it differs from the default."""
    counted: dict[str, Counter[str]] = {kind: Counter() for kind in _USUAL}
    for switch, facts in switches:
        ports = {port.name: port for port in switch.ports if port.peer}
        for port in ports.values():
            kind = "host" if port.direction is Direction.HOST else "fabric"
            if port.direction is not Direction.EXTERNAL:
                counted[kind][
                    _description_pattern(facts.get(f"interface[{port.name}]/description"), switch, port)
                ] += 1
        for session in switch.bgp.sessions:
            key = neighbor_key(session.transport, session.remote, session.port)
            stated = facts.get(f"bgp/neighbor[{key}]/description")
            counted["session"][_description_pattern(stated, switch, ports[session.port])] += 1
    most = {kind: each.most_common(1)[0] for kind, each in counted.items() if each}
    return {
        kind: words
        for kind, (words, count) in most.items()
        if words not in ("", _USUAL[kind]) and 2 * count > counted[kind].total()
    }


def _description_pattern(stated: object, switch: Switch, port: Port) -> str:
    """Return a description with placeholders for the names of both ends; "" if it cannot be a convention."""
    if (
        not isinstance(stated, str)
        or not _FITTING.fullmatch(stated)
        or port.peer is None
        or set(stated) & set("{}")
    ):
        return ""
    names = {
        switch.name: "device", port.name: "port", port.peer.device: "peer", port.peer.port: "peer_port"
    }  # fmt: skip
    longest = sorted(names, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda at: f"{{{names[at[0]]}}}", stated)


def _unused_ports(switches: list[tuple[Switch, Facts]]) -> str | None:
    """Return `silent` if no switch states anything about unconnected ports."""
    stated = {
        f"interface[{port.name}]/{leaf}" in facts
        for switch, facts in switches
        for port in switch.ports
        if port.direction is Direction.UNUSED
        for leaf in ("enabled", "description", "routed")
    }
    return "silent" if stated == {False} else None


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
    seats, coordinates = _SlotFinder(site, compiled), _unit_coordinates(site, compiled) or [*units]
    if seats.as_planned() and coordinates == [*units]:
        return draft, compiled
    words = rename_hosts(draft.words, _names_by_plan(site, compiled))
    words["gpus"] = _make_room(named_hosts(order, draft.words["gpus"]), seats)
    tried = replace(draft, words=words)
    made = site.compile_draft(tried)
    if not made.sound or None in seats.numbers.values():
        return draft, compiled
    lines = "".join(f"{line}\n" for line in _place_lines(site, made, coordinates))
    placed = replace(tried, lock=_PLACE.sub("", made.lock_text) + lines)
    made = site.compile_draft(placed)
    return (placed, made) if made.sound else (draft, compiled)


class _SlotFinder:
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
        """Return whether every host is in its planned slot."""
        homes, order = homes_of(self.fabric), self.site.order
        if len(homes) != len(order.units):
            return False
        return all(
            {*self.slots(index, group, unit).values()} == {*self.fabric.units[homes[unit]].hosts}
            for index, group in enumerate(order.groups) for unit in group.units
        )  # fmt: skip


def _make_room(words: Words, seats: _SlotFinder) -> Words:
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
        candidates = (
            spines[c.peer].pod * shape.units_per_pod + number // shape.links_per_spine // shape.tors_per_unit_plane
            for name in unit.names for c in site.order.cables.get(name, ())
            if site.found.places[c.peer].tier is Tier.SPINE and c.peer in spines
            and (number := down[c.peer].get(c.peer_port)) is not None
        )  # fmt: skip
        found += [coordinate for coordinate in (next(candidates, None),) if coordinate is not None]
    rising = all(one < two for one, two in pairwise(found))
    return found if rising and len(found) == len(site.order.units) else []


def _place_lines(site: Site, compiled: Compiled, coordinates: Sequence[int]) -> list[str]:
    """Return the lines of a lock that state places: units by key, hosts by name."""
    seats, lines = _SlotFinder(site, compiled), []
    for index, group in enumerate(site.order.groups):
        section = compiled.spec.gpus.groups[index]
        for number, unit in enumerate(group.units):
            key = f"rack{unit + 1:03d}" if section.racks else number
            lines.append(f"unit {section.name}/{key} {coordinates[unit]}")
            slots = seats.slots(index, group, unit)
            lines += [f"host {name} {coordinates[unit]} {slot}" for name, slot in slots.items()]
    return sorted(lines, reverse=True)
