"""Statements of planned switches: the links and tiers come from the plan, everything else from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.fabric.facts import Reading
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.facts.device import Device, End, Kind, Place, Tier
from fabricc.facts.packed import Contents
from fabricc.facts.statement import Expectation, Far, read_statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Said
    from fabricc.fabric.model import Port, Switch
    from fabricc.facts.statement import Statement
    from fabricc.rules.summary import Summary

_TIERS = {TierName.TOR: Tier.TOR, TierName.SPINE: Tier.SPINE, TierName.CORE: Tier.CORE}
_ABOVE = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}
_BELOW = {Tier.SPINE: Tier.TOR, Tier.CORE: Tier.SPINE}


def planned_statement(switch: Switch, reading: Said, files: Mapping[str, str], folder: str = "") -> Statement:
    """Return the statement of a planned switch.

    Args:
        switch: the plan.
        reading: the facts of its files, or the planned facts.
        files: its files, named as its back end names them.
        folder: of its files; findings name them below it.
    """
    tier = _TIERS[switch.tier]
    paths = {file: f"{folder}/{file}" if folder else file for file in files}
    unknown = reading.unknown if isinstance(reading, Reading) else []
    contents = Contents(Reading(dict(reading.facts), dict(reading.lines), unknown))
    model = switch.model.name
    device = Device(
        switch.name, Kind.SWITCH, switch.nos, files, paths, contents, model, model, switch.release
    )
    place = Place(tier, switch.unit, switch.plane, switch.pod)
    unmarked = frozenset(each.priority for each in switch.qos.lossless if not each.ecn)
    expected = Expectation(
        unmarked,
        unguarded=switch.qos.watchdog is None,
        undetected=not _configures_bfd(switch),
        nics_mapped=True,
    )
    fars = {port.name: _far(port, tier) for port in switch.ports if port.peer}
    return read_statement(device, place, fars, expected)


def _configures_bfd(switch: Switch) -> bool:
    """Return whether the plan has BFD, and the release can express it: a gap of the release has its own finding."""
    if switch.bgp.bfd_interval_ms is None:
        return False
    planned = back_ends.load(switch.nos).planned(switch)
    return any(value == "true" for path, value in planned.items() if path.endswith("/bfd"))


def _far(port: Port, tier: Tier) -> Far:
    assert port.peer is not None
    end = End(port.peer.device, port.peer.port)
    if port.direction is Direction.EXTERNAL:
        return Far(end, Tier.OTHER, known=False, declared=True)
    if port.direction is Direction.HOST:
        return Far(end, Tier.HOST, known=True)
    if port.direction is Direction.PEER:
        return Far(end, tier, known=True)
    above = port.direction is Direction.UP
    return Far(end, (_ABOVE if above else _BELOW).get(tier, Tier.OTHER), known=True)


def is_common(summary: Summary) -> bool:
    """Whether switches that differ in coordinates alone have the same summary, but for what `common_summary` sets."""
    return not (summary.routes or summary.unresolved or summary.outer or summary.loops)


def common_summary(summary: Summary, switch: Switch) -> Summary:
    """Return the summary of a switch that differs from another one in coordinates alone."""
    return summary._replace(
        asn=switch.bgp.asn, router_id=switch.bgp.router_id, prefixes=switch.bgp.aggregates
    )
