"""The part of a spec that states the numbers of everything and its cabling."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from math import gcd
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt.groups import NOBODY, Group
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass, replace
from fabricc.facts.statement import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fabricc.audit.adopt.found_tiers import Words
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.adopt.trial import Site
    from fabricc.audit.model import FoundFabric

_FEW = 16
_MORE = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)
_RATIOS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 16.0)
KEYS = {Tier.TOR: "tors", Tier.SPINE: "spines", Tier.CORE: "cores"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Values that the files do not state and trials decide.

    Attributes:
        models, systems: section of the spec -> model, and system with its release.
        hosts: group of hosts -> model; `os`: their system; `classes`: the class that RDMA of a group uses.
        room: group of hosts -> room of a unit, where larger than its number of hosts.
        ports: name of the ports of a further network in host models.
        ratio: of ToRs whose groups have different numbers of uplinks.
        reserved: section of the spec -> ports that its switches reserve; `media`: of links to an outside party.
        cables: kind of cable -> medium and length.
        ecn: marking thresholds that are stated instead of computed; `priorities`: classes with their shares.
    """

    models: Mapping[str, str]
    systems: Mapping[str, str]
    hosts: Mapping[str, str]
    os: str | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    room: Mapping[str, int] = field(default_factory=dict)
    ports: str | None = None
    ratio: float | None = None
    reserved: Mapping[str, int] = field(default_factory=dict)
    media: Mapping[str, str] = field(default_factory=dict)
    cables: Mapping[str, Mapping[str, Any]] | None = None
    ecn: Mapping[str, int] | None = None
    priorities: Words | None = None


def shape_words(site: Site, choice: Choice) -> Words:
    """Return the words for hosts and switches."""
    found, order = site.found, site.order
    words: Words = _of_network(site, choice) if site.network else {"gpus": _gpu_words(order, choice)}
    by_rail, by_port = _plane_counts(order)
    if by_port > 1 and words.get("gpus", {}).get("wiring") != "rail-only":
        words["planes"] = by_port
    for tier, key in KEYS.items():
        if names := order.tier(tier):
            own = {"model": choice.models[key], "nos": choice.systems[key]}
            words[key] = own | _tier_words(found, order, tier, names)
            if reserved := choice.reserved.get(key, reserved_ports(found, names)):
                words[key]["reserved_ports"] = reserved
    if by_rail > 1 and "spines" in words and words.get("gpus", {}).get("wiring") != "rail-only":
        words["spines"]["rails"] = leading_group(order).hosts[0].nics // by_rail
    if choice.ratio is not None:
        words["tors"].pop("uplinks", None)
        words["tors"]["oversubscription"] = choice.ratio
    if choice.cables:
        words["cables"] = {kind: dict(cable) for kind, cable in choice.cables.items()}
    return words


def _plane_counts(order: Order) -> tuple[int, int]:
    """Return the numbers of planes by rail and by NIC port."""
    every = {plane for unit in order.units for plane in unit.tors}
    plane = {tor: plane for unit in order.units for plane, tors in unit.tors.items() for tor in tors}
    host = leading_group(order).hosts[0]
    per_nic = len(host.cables) // host.nics
    by_port = len({plane[cable.peer] for cable in host.cables[:per_nic]})
    return len(every) // by_port, by_port


def leading_group(order: Order) -> Group:
    """Return the group that decides how units are wired: the first with GPUs, else the first."""
    return next((group for group in order.groups if group.gpus and not group.beside), order.groups[0])


def _gpu_words(order: Order, choice: Choice) -> Words:
    words: Words = wiring_words(order)
    if choice.os:
        words["os"] = choice.os
    if len(order.groups) == 1:
        return {"model": choice.hosts[order.groups[0].name]} | hosts_words(order, order.groups[0]) | words
    return words | {"groups": [group_words(order, group, choice) for group in order.groups]}


def _of_network(site: Site, choice: Choice) -> Words:
    """Return the words of a further network about hosts: those of the rails are known, in their units or its own."""
    order, rails = site.order, site.rails
    assert rails is not None
    wired = wiring_words(order)
    words: Words = {} if wired.get("wiring") == "rack" else {"wiring": "rail", **wired}
    if choice.ports not in (None, site.network):
        words["ports"] = choice.ports
    known = {rail_name(rails, group) for group in rails.groups}
    theirs = [group for group in order.groups if group.name in known and not group.beside]
    if theirs and not _same_units(theirs, rails):
        words["hosts_per_unit"] = max(_most_hosts(group) for group in theirs)
    others = [group for group in order.groups if group.name not in known]
    alone = [_joining_group(order, group, choice) for group in others]
    return words | ({"groups": alone} if alone else {})


def _joining_group(order: Order, group: Group, choice: Choice) -> Words:
    """Return a group of hosts on further networks only; without model and hosts if another network states it."""
    if not group.home:
        return group_words(order, group, choice, racks=False)
    known = replace(choice, hosts={**choice.hosts, group.name: ""})
    words = group_words(order, group, known, racks=False)
    return {key: value for key, value in words.items() if key not in ("model", "hosts")}


def rail_name(rails: Order, group: Group) -> str:
    """Return the name of a group of `gpus`, which has a usual one where it is the only one."""
    return "gpus" if len(rails.groups) == 1 else group.name


def _same_units(groups: Iterable[Group], rails: Order) -> bool:
    """Return whether hosts are together in the units that they are in on the rails."""
    those = [{host.name for host in hosts} for group in rails.groups for hosts in group.units.values()]
    return all({host.name for host in hosts} in those for group in groups for hosts in group.units.values())


def group_words(order: Order, group: Group, choice: Choice, *, racks: bool = True) -> Words:
    """Return one of several groups; without `racks` its hosts are counted as such, whatever their wiring."""
    words: Words = {"name": group.name, "model": choice.hosts[group.name]}
    words |= hosts_words(order, group, racks=racks)
    if (room := choice.room.get(group.name)) is not None:
        words["hosts_per_rack" if "hosts_per_rack" in words else "hosts_per_unit"] = room
    if group.beside:
        words["beside"] = group.beside
    if (name := choice.classes.get(group.name)) is not None:
        words["class"] = name
    return words | rails_per_tor(order, group)


def wiring_words(order: Order) -> Words:
    """Return the wiring of hosts to the ToRs of a unit."""
    host = leading_group(order).hosts[0]
    tors = len(host.tors)
    per_tor = max(1, round(len(host.cables) / tors))
    if per_tor == host.nics:
        return {"wiring": "rack"}
    words: Words = {}
    planes = {plane for unit in order.units for plane in unit.tors}
    if len(planes) == tors > 1 and len(host.cables) == host.nics:
        words["wiring"] = "rail-only"
    if per_tor > 1:
        words["rails_per_tor"] = per_tor
    return words


def rails_per_tor(order: Order, group: Group) -> Words:
    """Return the rails per ToR of a group other than the leading one, if it does not follow."""
    lead, host = leading_group(order), group.hosts[0]
    if group == lead:
        return {}
    words, first = wiring_words(order), lead.hosts[0]
    of_rail = gcd(len(host.cables), len(first.cables) // first.nics)
    rails = len(host.cables) // of_rail
    per_tor = rails * of_rail // len(host.tors)
    requested = rails if words.get("wiring") == "rack" else words.get("rails_per_tor", 1)
    return {} if per_tor == gcd(requested, rails) else {"rails_per_tor": per_tor}


def hosts_words(order: Order, group: Group, *, named: bool = False, racks: bool = True) -> Words:
    """Return the hosts of a group; listed by name if requested, or if racks have different numbers of hosts."""
    hosts = [host.name for host in group.hosts]
    racks = racks and wiring_words(order).get("wiring") == "rack"
    most = max(map(len, group.units.values()))
    if group.beside:
        return {
            "hosts": hosts if named else len(hosts),
            "hosts_per_rack" if racks else "hosts_per_unit": most,
        }
    if racks:
        even = all(len(each) == most for each in group.units.values())
        listed = {
            f"rack{number + 1:03d}": [host.name for host in each] for number, each in group.units.items()
        }
        return {"racks": listed if named or not even else len(listed), "hosts_per_rack": most}
    if group != leading_group(order):
        most = _most_hosts(group)
    return {"hosts": hosts if named else len(hosts), "hosts_per_unit": most}


def _most_hosts(group: Group) -> int:
    """Return the largest number of hosts of a group behind one set of ToRs."""
    return max(Counter(tor for host in group.hosts for tor in host.tors).values())


def named_hosts(order: Order, section: Words) -> Words:
    """Return the section that states hosts, with all of them by their names."""
    if "groups" not in section:
        return section | (hosts_words(order, order.groups[0], named=True) if "model" in section else {})
    racks = any("racks" in words for words in section["groups"])
    groups = {group.name: hosts_words(order, group, named=True, racks=racks) for group in order.groups}
    return section | {
        "groups": [
            words | {key: groups[words["name"]][key] for key in ("hosts", "racks") if key in words}
            for words in section["groups"]
        ]
    }


def unit_rooms(order: Order, group: Group) -> list[int]:
    """Return possible sizes of a unit for a group other than its present size, the likeliest first."""
    words = hosts_words(order, group)
    most = next(words[key] for key in ("hosts_per_unit", "hosts_per_rack") if key in words)
    return sorted((most + more for more in _MORE), key=lambda room: (-(room & -room), room))


def uplink_ratios(found: FoundFabric, order: Order) -> list[float]:
    """Return ratios that result in the uplinks of the ToRs, if these differ between groups."""
    sums: dict[str, tuple[int, int]] = {}
    served = {name for group in order.groups for host in group.hosts for name in host.tors}
    for name in order.tier(Tier.TOR):
        if name in served:
            cables = {cable.port: found.places[cable.peer].tier for cable in order.cables.get(name, ())}
            sums[name] = (
                sum(_port_speed(found, name, p) for p, of in cables.items() if of is Tier.HOST),
                sum(_port_speed(found, name, p) for p, of in cables.items() if of is Tier.SPINE),
            )
    if len({up for _, up in sums.values()}) < 2:
        return []
    exact = {round(down / up, 3) for down, up in sums.values() if up}
    low, high = min(exact), max(exact)
    return sorted({*(ratio for ratio in _RATIOS if low <= ratio <= 2 * high), *exact, round(high + 0.001, 3)})


def _port_speed(found: FoundFabric, name: str, port: str) -> int:
    speed = found.devices[name].reading.facts.get(f"interface[{port}]/speed_gbps")
    return speed if isinstance(speed, int) else 0


def _tier_words(found: FoundFabric, order: Order, tier: Tier, names: list[str]) -> Words:
    words: Words = {}
    up = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}.get(tier)
    if tier is Tier.TOR and not order.spines:
        up = Tier.TOR
    uplinks = [[c for c in order.cables.get(name, ()) if found.places[c.peer].tier is up] for name in names]
    if up is not None and any(uplinks):
        words["peer_links" if up is tier else "uplinks"] = max(map(len, uplinks))
        if uplinks_first(
            order, {name: {c.port for c in some} for name, some in zip(names, uplinks, strict=True)}
        ):
            words["uplinks_first"] = True
        speeds = Counter(
            speed
            for name, cables in zip(names, uplinks, strict=True)
            for cable in cables
            if isinstance(
                speed := found.devices[name].reading.facts.get(f"interface[{cable.port}]/speed_gbps"), int
            )
        )
        if speeds:
            words["uplink_gbps"] = speeds.most_common(1)[0][0]
    if tier is Tier.SPINE:
        words["count"] = max(map(len, order.spines.values()))
        if order.cores:
            words["units_per_pod"] = _per_pod(unit.pod for unit in order.units)
    if tier is Tier.CORE:
        words["count"] = max(map(len, order.cores.values()))
    if tier is Tier.TOR:
        words |= _border_words(found, order)
    return words


def uplinks_first(order: Order, uplinks: Mapping[str, Collection[str]]) -> bool:
    """Return whether switches with other links have all of them behind their uplinks, which are on some ports."""
    others = ports_of(order, uplinks)
    both = [(max(map(natural_key, up)), min(map(natural_key, others[name]))) for name, up in uplinks.items()
            if up and others[name]]  # fmt: skip
    return bool(both) and all(last < first for last, first in both)


def ports_of(order: Order, uplinks: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Switch -> its ports with a link that is none of these."""
    found = {
        name: {cable.port for cable in order.cables.get(name, ())}.difference(up)
        for name, up in uplinks.items()
    }
    for cable in (cable for host in order.hosts for cable in host.cables):
        if cable.peer in found:
            found[cable.peer].add(cable.peer_port)
    return found


def _border_words(found: FoundFabric, order: Order) -> Words:
    """Return the border leaves of each plane, and their links to each spine."""
    leaves: Counter[int] = Counter()
    links = set()
    for unit in order.units:
        for plane, tors in unit.tors.items() if unit.kind == NOBODY else ():
            leaves[plane] += len(tors)
            above = [Counter(c.peer for c in order.cables.get(tor, ()) if found.places[c.peer].tier is Tier.SPINE)
                     for tor in tors]  # fmt: skip
            links |= {number for each in above for number in each.values()}
    if not leaves:
        return {}
    return {"border": max(leaves.values())} | (
        {"border_links": max(links)} if max(links, default=1) > 1 else {}
    )


def _per_pod(pods: Iterable[int]) -> int | list[int]:
    counted = Counter(pods)
    sizes = [counted[pod] for pod in sorted(counted)]
    return sizes[0] if len(set(sizes)) == 1 else sizes


def reserved_ports(found: FoundFabric, names: list[str]) -> int:
    """Return ports of a switch that are described as reserved, of the first few."""
    return max(
        sum(1 for path, value in found.devices[name].reading.facts.items()
            if value == "reserved" and path.endswith("]/description"))
        for name in names[:_FEW]
    )  # fmt: skip
