"""The part of a spec that says how many of everything there are, and what they are cabled to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.audit.model import Tier
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.adopt.words import Words
    from fabricc.audit.model import Found

KEYS = {Tier.TOR: "tors", Tier.SPINE: "spines", Tier.CORE: "cores"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the files do not say outright, and trials decide.

    Attributes:
        models, systems: section of the spec -> model, and system with its release.
        host: model of the hosts; `os`: their system.
        cables: kind of cable -> medium and length.
        ecn: marking thresholds that are said instead of computed; `priorities`: classes with their shares.
    """

    models: Mapping[str, str]
    systems: Mapping[str, str]
    host: str
    os: str | None = None
    cables: Mapping[str, Mapping[str, Any]] | None = None
    ecn: Mapping[str, int] | None = None
    priorities: Words | None = None


def shape(found: Found, order: Order, choice: Choice) -> Words:
    """The words for hosts and switches."""
    words: Words = {"gpus": _gpus(order, choice)}
    planes = {plane for unit in order.units for plane in unit.tors}
    if len(planes) > 1 and words["gpus"].get("wiring") != "rail-only":
        words["planes"] = len(planes)
    for tier, key in KEYS.items():
        if names := order.tier(tier):
            own = {"model": choice.models[key], "nos": choice.systems[key]}
            words[key] = own | _tier(found, order, tier, names)
    if choice.cables:
        words["cables"] = {kind: dict(cable) for kind, cable in choice.cables.items()}
    return words


def _gpus(order: Order, choice: Choice) -> Words:
    words: Words = {"model": choice.host} | hosts_words(order)
    if choice.os:
        words["os"] = choice.os
    return words


def hosts_words(order: Order, *, named: bool = False) -> Words:
    """Hosts and how they are wired; listed by their names where asked, or where racks hold unlike numbers of them."""
    hosts = order.hosts
    first = hosts[0]
    tors = len({cable.peer for cable in first.cables})
    per_tor = max(1, round(len(first.cables) / tors))
    most = max(len(unit.hosts) for unit in order.units)
    if per_tor == first.nics:
        racks = {
            f"rack{at:03d}": [host.name for host in unit.hosts] for at, unit in enumerate(order.units, 1)
        }
        even = all(len(unit.hosts) == most for unit in order.units)
        return {"racks": racks if named or not even else len(racks), "hosts_per_rack": most, "wiring": "rack"}
    words: Words = {"hosts": [host.name for host in hosts] if named else len(hosts), "hosts_per_unit": most}
    planes = {plane for unit in order.units for plane in unit.tors}
    if len(planes) == tors > 1 and len(first.cables) == first.nics:
        words["wiring"] = "rail-only"
    if per_tor > 1:
        words["rails_per_tor"] = per_tor
    return words


def _tier(found: Found, order: Order, tier: Tier, names: list[str]) -> Words:
    words: Words = {}
    up = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}.get(tier)
    uplinks = [[c for c in order.cables.get(name, ()) if found.places[c.peer].tier is up] for name in names]
    if up is not None and any(uplinks):
        words["uplinks"] = max(map(len, uplinks))
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
    if reserved := _reserved(found, names):
        words["reserved_ports"] = reserved
    return words


def _per_pod(pods: Iterable[int]) -> int | list[int]:
    counted = Counter(pods)
    sizes = [counted[pod] for pod in sorted(counted)]
    return sizes[0] if len(set(sizes)) == 1 else sizes


def _reserved(found: Found, names: list[str]) -> int:
    """Ports of a switch that are described as reserved."""
    return max(
        sum(1 for path, value in found.devices[name].reading.facts.items()
            if value == "reserved" and path.endswith("]/description"))
        for name in names[:1]
    )  # fmt: skip
