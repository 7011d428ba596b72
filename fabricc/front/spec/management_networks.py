"""Several out-of-band networks: keys that go together, and which units' ToRs each network takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.fabric.model import TierName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netaddr import IPNetwork

    from fabricc.fabric.management import ManagementNetwork
    from fabricc.front.spec.document import Findings


def misfit(
    raw: Mapping[str, Any], network: IPNetwork, length: int, tier: TierName
) -> tuple[str, str, str] | None:
    """What of a network's keys does not go together: why, the key and a remedy."""
    if length < network.prefixlen:
        remedy = f"Write {network.prefixlen} or more, or leave it out for one subnet."
        return f"{network} has no subnets of /{length}", "prefix_length", remedy
    if tier is not TierName.TOR:
        if key := next((key for key in ("from", "units") if key in raw), None):
            return f"{tier}s are in no unit, so `{key}` says nothing", key, "Remove it."
    elif length > network.prefixlen and "units" not in raw:
        remedy = "Add `units`: how many units' ToRs share a subnet."
        return f"nothing says which units a /{length} holds", "prefix_length", remedy
    return None


def in_turn(
    networks: Sequence[ManagementNetwork], raw: Sequence[Mapping[str, Any]], findings: Findings
) -> tuple[ManagementNetwork, ...]:
    """The networks, those of ToRs with the units that each takes: from where it says, or where the one before ends.

    FAB2160 for each that takes what another has.
    """
    found: list[ManagementNetwork] = []
    last: dict[TierName | None, int] = {}
    for index, (network, section) in enumerate(zip(networks, raw, strict=True)):
        before = found[last[network.tier]] if network.tier in last else None
        first = section["from"] - 1 if "from" in section else before.end if before else 0
        if before and (clash := _clash(network, before, first)):
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


def _clash(
    network: ManagementNetwork, before: ManagementNetwork, first: int | None
) -> tuple[str, str] | None:
    """Why a network cannot follow another of its tier, and a remedy; None where it begins behind that one."""
    if network.tier is not TierName.TOR:
        remedy = (
            f"Keep one network of {network.tier}s, cut into subnets by `prefix_length` where it has to be."
        )
        return f"{network.key}: {before.key} has all {network.tier}s", remedy
    message = f"{network.key} takes ToRs of units that {before.key} has"
    if first is None:
        return message, "Say in `units` how many units that one holds."
    free = before.first + 1 if before.end is None else before.end
    return (
        (message, f"Begin with `from: {free + 1}` or later, in the order of units.") if first < free else None
    )
