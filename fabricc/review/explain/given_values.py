"""Explain a name, ASN or address that a table of the spec gives: whose it is, in which line, and where it is pinned."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Position
from fabricc.fabric.management import management_place
from fabricc.fabric.naming import computed_name
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.review.explain.model import Explanation, Origin, Source, single_explanation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from ipaddress import IPv4Address, IPv6Address

    from fabricc.review.explain.coordinates import Place
    from fabricc.review.explain.origins import PlanSources

RULE = "The spec's table of identities gives it, in the place of the computed one."
DOCS = "fabricc docs identity"
TABLES = "identities."
"""What the keys of origins in the tables begin with."""
_USES = {
    "asn": "ASN",
    "loopback4": "loopback; also its BGP router ID",
    "loopback6": "loopback",
    "management": "management address",
}


def given_origins(plan: PlanSources, at: SwitchId, kind: str) -> tuple[Origin, ...]:
    """The cell of the table, or the line of the lock, that gives a switch something; none where it is computed."""
    name = computed_name(plan.fabric, at)
    row = next((each for each in plan.spec.given_devices if each.device == name), None)
    if row is None or getattr(row, kind) is None:
        own = plan.fabric.name(at)
        return (plan.lock_origin(f"name {name}", own),) if kind == "name" and own != name else ()
    position = row.positions[kind]
    return (Origin(Source.SPEC, f"{TABLES}devices {name} {kind}", "", position, plan.snippet(position)),)


def explain_given(
    plan: PlanSources, question: str, subject: str, value: str, kind: str, owners: Sequence[SwitchId]
) -> Explanation:
    """Explain the owner of a given value; `kind` is the column of the table, `question` the subject."""
    names = [plan.fabric.name(at) for at in owners]
    origins = tuple(origin for at in owners for origin in given_origins(plan, at, kind))
    details = (
        ("device" if len(names) == 1 else "devices", ", ".join(names)),
        ("use", _USES[kind]),
        ("coordinates", "; ".join(map(switch_text, owners))),
    )
    title = f"{_USES[kind].partition(';')[0]} of {', '.join(names)}"
    return single_explanation(question, subject, title, details, RULE, origins, value=value, docs=DOCS)


def given_address(plan: PlanSources, address: IPv4Address | IPv6Address) -> Explanation | None:
    """Return the owner of the address that a table gives; None for another."""
    fabric, text = plan.fabric, str(address)
    pools = fabric.addresses
    for at, own in fabric.given.switches.items():
        for kind, pool in (
            ("loopback4", pools.loopbacks4),
            ("loopback6", pools.loopbacks6),
            ("management", management_place(fabric, at).network.pool),
        ):
            offset: int | None = getattr(own, kind)
            if pool and offset is not None and pool.address(offset) == text:
                return explain_given(plan, "address", text, text, kind, [at])
    every = chain(fabric.given.links.values(), *(each.values() for each in fabric.given.hosts.values()))
    if not any(text in (pair or ()) for ends in every for pair in ends):
        return None
    return _explain_link(plan, text)


def _explain_link(plan: PlanSources, text: str) -> Explanation | None:
    fabric = plan.fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    switches |= {computed_name(fabric, at): at for at in switches.values()}
    for row in plan.spec.given_links:
        for version, ends in (("4", row.ipv4), ("6", row.ipv6)):
            if text not in map(str, ends):
                continue
            own, far = (row.a, row.b) if str(ends[0]) == text else (row.b, row.a)
            ends_of = (fabric.name(switches[name]) if name in switches else name for name in (own[0], far[0]))
            device, other = ends_of
            position = row.positions[f"a_ipv{version}"]
            origin = Origin(Source.SPEC, f"{TABLES}links", "", position, plan.snippet(position))
            details = (("device", device), ("port", own[1]), ("far end", f"{other} {far[1]}"))
            title = f"link of {device} {own[1]} to {other} {far[1]}"
            return single_explanation("address", text, title, details, RULE, (origin,), docs=DOCS)
    return None


TIERS = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}


def tier_text(place: Place) -> str:
    """`a host link of a ToR`, `an uplink of a spine`, `a core`."""
    tier = TIERS[place.tier]
    if place.slot >= 0:
        return f"a host link of a {tier}"
    return f"an uplink of a {tier}" if place.uplink >= 0 else f"a {tier}"


def coordinates_text(place: Place) -> str:
    """Return the coordinates that a place has, in words."""
    parts = [switch_text(place.switch)]
    if place.slot >= 0:
        parts.append(f"slot {place.slot}, rail {place.rail} of the ToR")
    if place.uplink >= 0:
        parts.append(f"uplink {place.uplink}")
    return ", ".join(parts)


def switch_text(at: SwitchId) -> str:
    """Return the coordinates of a switch, in words; all count from 0."""
    if at.tier is TierName.TOR:
        return f"unit {at.unit}, ToR group {at.index}, NIC port {at.nic_port}"
    if at.tier is TierName.SPINE:
        return f"pod {at.pod}, spine {at.index}, plane {at.plane}"
    return f"core {at.index}, plane {at.plane}"


def identity_origins(plan: PlanSources, unit: int, slot: int = -1) -> tuple[Origin, ...]:
    """Where the lock gives a unit its coordinate and a named host its slot; nothing for those that are counted."""
    return tuple(_identity_origins(plan, unit, slot))


def _identity_origins(plan: PlanSources, unit: int, slot: int) -> Iterator[Origin]:
    found = plan.fabric.units.get(unit)
    if found is None:
        return
    host = found.hosts.get(slot)
    written = plan.sources.get(plan.lock_file, "")
    for name, line in _identity_items(plan.lock_text):
        if name not in (f"unit {unit}", f"host {host} {unit}"):
            continue
        lines = written.splitlines()
        place = Position(plan.lock_file, lines.index(line) + 1, 1) if line in lines else None
        note = "" if place else "chosen by this plan; `fabricc build` pins it"
        yield Origin(Source.LOCK, line.rpartition(" ")[0], line.rpartition(" ")[2], place, line, note)


def _identity_items(lock: str) -> Iterator[tuple[str, str]]:
    """Yield (`unit COORDINATE` or `host NAME UNIT`, line) of every identity in a lock."""
    for line in lock.splitlines():
        words = line.split()
        if words[:1] == ["unit"]:
            yield f"unit {words[2]}", line
        elif words[:1] == ["host"]:
            yield f"host {words[1]} {words[2]}", line
