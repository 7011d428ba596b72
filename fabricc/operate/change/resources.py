"""Collect the resources that a change takes from a fabric (uplinks, planes, rails, host ports), switch by switch."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import join_words
from fabricc.base.values import dataclass, replace
from fabricc.fabric.capacity.hosts import find_last_planes
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring, rail_name
from fabricc.fabric.links import served_slots
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import SwitchId, TierName, Unit
from fabricc.operate.change.order import TIERS, WHOLE, CapacityModel, Member, ShareError, compute_waves
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.devices.login import Device

_STEP = Fraction(1, 10_000)
"""The precision of a share as an option."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on one switch.

    Attributes:
        platform: NOS and release.
        impact: the gravest of its statements.
        why: of that statement, for people.
        breaks: switches to which the links are down while only one end has changed.
        way: how the system applies it, where that matters beyond the facts; "" else.
        confined: whether only hosts notice it whose own ports go to another VRF: no drain spares them.
        loses_vrf: whether the switch has a VRF with a VNI less: it then accepts fewer routes of its neighbors.
        access: what it changes about who can log in to the switch or change it.
        weakened: services and protections that it ends or weakens.
        leaves: whether it ends all sessions of the switch: what the switch carries is gone whatever the order.
        outside: the external ports, where only parties behind them and those who reach them notice it: traffic between
            hosts needs no drain. None where others notice it.
    """

    platform: str
    impact: Impact
    why: str = ""
    breaks: frozenset[str] = frozenset()
    way: str = ""
    confined: bool = False
    loses_vrf: bool = False
    access: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    leaves: bool = False
    outside: frozenset[str] | None = None

    @property
    def disruptive(self) -> bool:
        """Return whether traffic must leave the switch first."""
        return self.impact >= Impact.SESSION_RESET and not self.confined and self.outside is None

    @staticmethod
    def unknown(device: Device) -> Effect:
        """Return the worst case, for a switch whose running configuration is not known."""
        return Effect(
            f"{device.nos} {device.release}".strip(), Impact.RELOAD, "unknown until the switch is read"
        )


_ABSENT = Effect("", Impact.TRAFFIC_LOSS)


def build_capacity_model(
    fabric: Fabric,
    places: Mapping[str, SwitchId],
    effects: Mapping[str, Effect],
    absent: Collection[str] = (),
) -> CapacityModel:
    """Return the resources for which waves are planned; the links are those of `Wiring`.

    Args:
        fabric: the fabric.
        places: switch -> its coordinates.
        effects: switch that changes -> what its change does.
        absent: switches that do not answer: nobody counts on them.
    """
    members: dict[str, Member] = {}
    missing: list[Member] = []
    tiers: dict[str, int] = {}
    totals = _count_totals(fabric)
    breaking: set[tuple[str, str]] = set()
    wiring = Wiring(fabric)
    uplinks = wiring.open_uplinks
    leaving = {name for name, effect in effects.items() if effect.leaves}
    for name in leaving:
        for resource, count in _list_resources(fabric, places[name]):
            totals[resource] -= count
            if not totals[resource]:
                del totals[resource]
    for name in (*effects, *absent):
        at, effect = places[name], effects.get(name, _ABSENT)
        below = {
            lower: uplinks[lower].get(name, 0) for lower in wiring.below.get(name, ()) if lower not in leaving
        }
        below = {lower: count for lower, count in below.items() if count}
        breaking |= {(lower, name) for lower in below if lower in effect.breaks}
        breaking |= {(name, upper) for upper in uplinks.get(name, ()) if upper in effect.breaks}
        for lower in (*below, name):
            if (
                lower not in totals
                and lower not in leaving
                and (count := sum(uplinks.get(lower, {}).values()))
            ):
                totals[lower] = sum(wiring.uplinks[lower].values())
                if shut := totals[lower] - count:
                    missing.append(
                        Member(f"shut ports of {lower}", 0, "", disruptive=True, below={lower: shut})
                    )
                tiers[lower] = TIERS.index(places[lower].tier.value)
        tier, carries = (
            TIERS.index(at.tier.value),
            {} if name in leaving else dict(_list_resources(fabric, at)),
        )
        what = (effect.platform, effect.disruptive, _name_redundancy_set(fabric, at))
        ways = {} if name in leaving else fabric.external.at(name)
        carries |= Counter(_name_party(way.outsider.name) for way in ways.values())
        exits = effect.outside or ()
        lost = Counter(_name_party(way.outsider.name) for port, way in ways.items() if port in exits)
        sides = _name_side(fabric, at), _find_rail(fabric, at)
        member = Member(name, tier, *what, carries, below, effect.confined, lost, *sides)
        if name in effects:
            members[name] = member
        else:
            missing.append(member)
    drained = frozenset(name for name, change in fabric.changes.items() if change.drained)
    outside, alone_outside = _count_exits(fabric)
    totals |= outside
    alone = _find_shares_alone(fabric, totals) | alone_outside
    known = frozenset(outside)
    members, common = _add_last_planes(wiring, places, members, absent)
    totals |= dict.fromkeys(common, 1)
    rails: dict[str, Counter[int]] = {}
    for rail in (_find_rail(fabric, at) for at in wiring.tors.values()):
        if rail is not None:
            rails.setdefault(rail[0], Counter())[rail[1]] += 1
    return CapacityModel(
        members, totals, tiers, frozenset(breaking), drained, tuple(missing), alone, known, common, rails
    )


def _add_last_planes(
    wiring: Wiring, places: Mapping[str, SwitchId], members: Mapping[str, Member], absent: Collection[str]
) -> tuple[dict[str, Member], frozenset[str]]:
    """Return the members with the plane that hosts behind a dead ToR have left, and these resources.

    A ToR of that plane is the only way between its own hosts and them.
    """
    found, fabric = dict(members), wiring.fabric
    if fabric.port_planes == 1:
        return found, frozenset()
    standing = wiring.shut | Outage(gone=frozenset(absent))
    common: set[str] = set()
    for (plane, lost), hosts in find_last_planes(Remainder(wiring, standing)).items():
        resource = f"plane {PLANE_LETTERS[plane]} to {join_words(hosts, 1)}"
        beside = _name_redundancy_set(fabric, places[lost])
        for name, member in members.items():
            at = places[name]
            if at.tier is TierName.TOR and at.plane == plane and member.side and member.redundancy != beside:
                found[name] = replace(found[name], carries={**found[name].carries, resource: 1})
                common.add(resource)
    return found, frozenset(common)


def _name_party(party: str) -> str:
    return f"links to {party}"


def _count_exits(fabric: Fabric) -> tuple[dict[str, int], dict[str, Fraction]]:
    """Return the links to each outside party, and the share that it keeps while the switch with most of them is out."""
    totals: dict[str, int] = {}
    alone: dict[str, Fraction] = {}
    for party in fabric.external.outsiders:
        counts = Counter(link.at for link in party.links)
        totals[_name_party(party.name)] = counts.total()
        alone[_name_party(party.name)] = 1 - Fraction(max(counts.values()), counts.total())
    return totals, alone


def _find_shares_alone(fabric: Fabric, totals: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the share of its ports that a host of each group keeps while one of its ToRs is out."""
    found: dict[str, Fraction] = {}
    for unit in fabric.units.values():
        attached = fabric.attachments[unit.group]
        for of_set in range(attached.sets):
            if (name := _name_hosts(fabric, unit, of_set)) in totals:
                found[name] = 1 - Fraction(attached.rails_per_tor, totals[name])
    return found


def _name_hosts(fabric: Fabric, unit: Unit, of_set: int) -> str:
    """Return the name of the hosts of a unit that have the same ToRs."""
    if fabric.attachments[unit.group].sets == 1:
        return f"the hosts of {unit.name}"
    return f"the hosts of {unit.name}, set {of_set + 1}"


def _name_redundancy_set(fabric: Fabric, at: SwitchId) -> str:
    """Return the set of ToRs of which one may be out.

    These serve the same NICs, one for each port of a NIC; or are border leaves of a plane, which lead outside; or are
    all ToRs where two in each plane are joined without spines.
    """
    if at.tier is TierName.TOR and fabric.units[at.unit].border is not None:
        return f"border of plane {PLANE_LETTERS[at.plane]}"
    if fabric.shape.peer_links:
        return "ToRs without spines"
    if at.tier is TierName.TOR and fabric.shape.nic_ports > 1:
        return f"{fabric.units[at.unit].name} {at.index}"
    return ""


def _name_side(fabric: Fabric, at: SwitchId) -> str:
    """Return the plane of the NIC ports that a ToR serves, "" where all ports of a NIC reach the same spines."""
    if at.tier is not TierName.TOR or fabric.port_planes == 1 or fabric.units[at.unit].border is not None:
        return ""
    return f"plane {PLANE_LETTERS[at.plane % fabric.port_planes]}"


def _find_rail(fabric: Fabric, at: SwitchId) -> tuple[str, int] | None:
    """Return the unit and the plane of a ToR where each rail has spines of its own that nothing joins; else None."""
    unit = fabric.units[at.unit] if at.tier is TierName.TOR else None
    if unit is None or unit.border is not None or not fabric.shape.rails_apart:
        return None
    return unit.name, at.plane


def _list_resources(fabric: Fabric, at: SwitchId) -> Iterable[tuple[str, int]]:
    plane = PLANE_LETTERS[at.plane]
    if at.tier is TierName.CORE:
        yield f"plane {plane} cores", 1
    elif at.tier is TierName.SPINE:
        yield _name_spines(fabric, at.pod, plane), 1
        if _has_core_groups(fabric):
            yield _name_core_group(fabric, at.pod, plane, at.index // fabric.shape.spines_per_core_group), 1
    else:
        yield f"plane {plane} ToRs", 1
        for unit, slots, rails in served_slots(fabric, at):
            for rail in rails if slots else ():
                yield rail_name(fabric, unit.group, rail), len(slots)
            if slots:
                of_set = fabric.attachments[unit.group].seat(slots[0])[0]
                yield _name_hosts(fabric, unit, of_set), len(rails)


def _has_core_groups(fabric: Fabric) -> bool:
    """Return whether spines of a pod have different cores; traffic from other pods reaches each group evenly."""
    shape = fabric.shape
    return bool(shape.cores) and 1 < shape.spines_per_core_group < shape.spines


def _name_core_group(fabric: Fabric, pod: int, plane: str, group: int) -> str:
    first = group * fabric.shape.spines_per_core_group + 1
    last = first + fabric.shape.spines_per_core_group - 1
    return f"{_name_spines(fabric, pod, plane)} {first}-{last}"


def _name_spines(fabric: Fabric, pod: int, plane: str) -> str:
    return f"pod{pod + 1} plane {plane} spines" if fabric.shape.cores else f"plane {plane} spines"


def _count_totals(fabric: Fabric) -> dict[str, int]:
    shape = fabric.shape
    totals = {f"rail {rail}": 0 for rail in range(shape.rails)}
    tors: Counter[int] = Counter()
    for unit in fabric.units.values():
        attached = fabric.attachments[unit.group]
        tors.update(tor.plane for tor in fabric.tor_ids(unit.coordinate))
        for rail in range(attached.rails):
            name = rail_name(fabric, unit.group, rail)
            totals[name] = totals.get(name, 0) + len(unit.hosts) * len(attached.present)
        for of_set in {attached.seat(slot)[0] for slot in unit.hosts}:
            totals[_name_hosts(fabric, unit, of_set)] = attached.rails * len(attached.present)
    for number in fabric.planes:
        plane = PLANE_LETTERS[number]
        totals[f"plane {plane} ToRs"] = tors[number]
        totals[f"plane {plane} cores"] = shape.cores if number < fabric.port_planes else 0
        totals |= {_name_spines(fabric, pod, plane): shape.spines for pod in range(shape.pods)}
        for pod in range(shape.pods) if _has_core_groups(fabric) else ():
            for group in range(shape.spines // shape.spines_per_core_group):
                totals[_name_core_group(fabric, pod, plane, group)] = shape.spines_per_core_group
    return totals


def find_largest_keep(capacity: CapacityModel, most: int | None = None) -> Fraction | None:
    """Return the largest share that some order keeps, to a hundredth of a percent; None when there is none above 0."""
    if _is_kept(capacity, WHOLE, most):
        return WHOLE
    low = next((at for at in range(19, 0, -1) if _is_kept(capacity, Fraction(at, 20), most)), 0)
    if not low:
        return None
    kept, lost = Fraction(low, 20), Fraction(low + 1, 20)
    while lost - kept > _STEP:
        middle = (kept + lost) / 2 // _STEP * _STEP
        if _is_kept(capacity, middle, most):
            kept = middle
        else:
            lost = middle
    return kept


def _is_kept(capacity: CapacityModel, keep: Fraction, most: int | None) -> bool:
    """Return whether some order keeps a share."""
    try:
        compute_waves(capacity, keep, most)
    except ShareError:
        return False
    return True
