"""The section `management`: networks and the units that each takes, keys that go together, and switches wished for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.fabric.cables import CableKind
from fabricc.fabric.management import IN_UNITS, Beyond
from fabricc.fabric.shape import TierName
from fabricc.front.spec.model import ManagementTier, ManagementWish, NosChoice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netaddr import IPNetwork

    from fabricc.fabric.management import ManagementNetwork
    from fabricc.front.spec.document import Findings


def find_misfit(
    raw: Mapping[str, Any], network: IPNetwork, length: int, tier: TierName | Beyond
) -> tuple[str, str, str] | None:
    """Return conflicting keys of a network: the reason, the key and a remedy."""
    if length < network.prefixlen:
        remedy = f"Write {network.prefixlen} or more, or leave it out for one subnet."
        return f"{network} has no subnets of /{length}", "prefix_length", remedy
    if tier is not Beyond.HOST and "per_host" in raw:
        return "`per_host` is of networks with `tier: host`", "per_host", "Remove it."
    if tier not in IN_UNITS:
        if key := next((key for key in ("from", "units") if key in raw), None):
            return f"{_describe_tier(tier)} are in no unit, so `{key}` has no effect", key, "Remove it."
    elif length > network.prefixlen and "units" not in raw:
        remedy = f"Add `units`: how many units' {_describe_tier(tier)} share a subnet."
        return f"no key states which units a /{length} holds", "prefix_length", remedy
    return None


def _describe_tier(tier: TierName | Beyond | None) -> str:
    """`ToRs`, `spines`, `hosts`, `management switches`."""
    named: dict[TierName | Beyond | None, str] = {TierName.TOR: "ToRs", Beyond.OOB: "management switches"}
    return named.get(tier, f"{tier}s")


def in_turn(
    networks: Sequence[ManagementNetwork], raw: Sequence[Mapping[str, Any]], findings: Findings
) -> tuple[ManagementNetwork, ...]:
    """Return the networks, those of ToRs and hosts with the units that each takes.

    They begin where the spec defines, or where the one before ends.

    FAB2160 for each that takes what another has.
    """
    found: list[ManagementNetwork] = []
    last: dict[TierName | Beyond | None, int] = {}
    for index, (network, section) in enumerate(zip(networks, raw, strict=True)):
        before = found[last[network.tier]] if network.tier in last else None
        first = section["from"] - 1 if "from" in section else before.end if before else 0
        if before and (clash := _find_clash(network, before, first)):
            message, remedy = clash
            findings.error("FAB2160", message, "management", "networks", index, help=remedy)
            continue
        if before and before.end is None:
            found[last[network.tier]] = replace(before, end=first)
        begin = first or 0
        end = begin + network.units * network.subnets if network.units else None
        last[network.tier] = len(found)
        found.append(replace(network, first=begin, end=end))
    return tuple(found)


def _find_clash(
    network: ManagementNetwork, before: ManagementNetwork, first: int | None
) -> tuple[str, str] | None:
    """Why a network cannot follow another of its tier, and a remedy; None where it begins behind that one."""
    whose = _describe_tier(network.tier)
    if network.tier not in IN_UNITS:
        remedy = f"Keep one network of {whose}, cut into subnets by `prefix_length` where it has to be."
        return f"{network.key}: {before.key} has all {whose}", remedy
    message = f"{network.key} takes {whose} of units that {before.key} has"
    if first is None:
        return message, "State in `units` how many units that one has."
    free = before.first + 1 if before.end is None else before.end
    return (
        (message, f"Begin with `from: {free + 1}` or later, in the order of units.") if first < free else None
    )


def build_switches(raw: Mapping[str, Any]) -> ManagementWish:
    """Return the section `management.switches`, valid and with its defaults, as values."""
    return ManagementWish(
        _read_tier(raw),
        _read_tier(raw["aggregation"]) if "aggregation" in raw else None,
        by_unit=raw["per"] == "unit",
        row=raw["row"],
        outside=tuple(raw["to"]),
        cable=CableKind("copper", raw["cable_m"]),
        uplink=CableKind(raw["uplink"]["medium"], raw["uplink"]["length_m"]),
    )


def _read_tier(raw: Mapping[str, Any]) -> ManagementTier:
    nos = NosChoice.of(raw["nos"]) if "nos" in raw else None
    return ManagementTier(raw["model"], nos, raw.get("count"), raw.get("uplinks"))
