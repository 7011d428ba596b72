"""Run the rules of `audit` on the devices of two built trees, and return what only the newer tree has."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from fabricc.audit.model import Evidence, FoundFabric, Link
from fabricc.audit.places import places_of
from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.write.workers import usable_cpus
from fabricc.facts.statement import HOST, NOWHERE, Device, End, Kind, Place, Tier, read_statement
from fabricc.review.diff.model import find_new_faults
from fabricc.review.diff.sides import Side, parts_of
from fabricc.review.diff.trees import TreeSide
from fabricc.rules.registry import run_host_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fabricc.proof.compare import Finding

_MOST, _OF_A_TIER = 128, 32
"""Switches of a side that are judged, and changed ones of a tier, which come first; a small fabric is judged whole.

As many changed hosts are judged, each alone.
"""
_INLINE = 64
"""Switches that this process judges alone."""
_TIERS = {"tor": Tier.TOR, "spine": Tier.SPINE, "core": Tier.CORE}


def find_new(base: Side, head: Side) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings about the devices of a tree that another side does not have.

    Args:
        base: the older side; nothing of a spec, whose files a build proves, is known before.
        head: the newer side.
    """
    groups, before = FindingGroups(), parts_of(base)
    partial: list[Diagnostic] = []
    for network, side in parts_of(head).items():
        if not isinstance(side, TreeSide):
            continue
        older = before.get(network)
        older = older if isinstance(older, TreeSide) else None
        changed = _changed_devices(older, side)
        chosen = _choose_devices(side, changed)
        if missed := len(set(changed).difference(chosen)):
            partial.append(_note_partial(network, missed, len(changed)))
        found = _find_all(side, chosen) if chosen else []
        if not found:
            continue
        known = _find_all(older, chosen) if older else []
        new = find_new_faults(found, known)
        groups.add(_drop_common(new, known, older, side, chosen) if older else new)
    return (*groups.diagnostics(head.label), *partial)


def _drop_common(
    new: Iterable[Finding], known: Iterable[Finding], older: TreeSide, head: TreeSide, judged: Collection[str]
) -> list[Finding]:
    """Return the findings without warnings about switches that join, if each older one of their tier has the same."""
    having: dict[tuple[str, str], set[str]] = {}
    for each in known:
        having.setdefault((each.code, each.group), set()).add(_device_of(each))

    def is_common(finding: Finding) -> bool:
        name, names = _device_of(finding), having.get((finding.code, finding.group), set())
        joins = name in head.kinds and name not in older.kinds
        if not joins or finding.severity is not Severity.WARNING:
            return False
        return names >= {each for each in judged if older.kinds.get(each) == head.kinds[name]} != set()

    return [each for each in new if not is_common(each)]


def _device_of(finding: Finding) -> str:
    return finding.message.partition(" ")[0].rstrip(":,")


def _note_partial(network: str, missed: int, changed: int) -> Diagnostic:
    where = f"network {network}: " if network else ""
    message = f"{where}no rule ran on {missed:,} of {changed:,} changed devices"
    remedy = "`fabricc check` of the newer tree runs the rules on all of them."
    return Diagnostic("FAB9054", Severity.WARNING, message, None, remedy)


def _changed_devices(base: TreeSide | None, head: TreeSide) -> list[str]:
    devices = (name for name, kind in head.kinds.items() if kind in _TIERS or kind == HOST)
    return [name for name in devices if base is None or not _is_same(base, head, name)]


def _choose_devices(head: TreeSide, changed: Collection[str]) -> Collection[str]:
    """Return switches, and hosts that changed."""
    hosts = [name for name in changed if head.kinds[name] == HOST]
    return [*_choose_switches(head, [name for name in changed if head.kinds[name] != HOST]), *hosts[:_MOST]]


def _choose_switches(head: TreeSide, changed: Collection[str]) -> Collection[str]:
    """Return all switches of a small fabric, else some that changed with their neighbors; none without a change."""
    if not changed:
        return ()
    switches = [name for name, kind in head.kinds.items() if kind in _TIERS]
    if len(switches) <= _MOST:
        return switches
    first = [[name for name in changed if head.kinds[name] == tier][:_OF_A_TIER] for tier in _TIERS]
    chosen = dict.fromkeys(chain.from_iterable(first))
    for name in tuple(chosen):
        neighbors = (far for _, _, far, *_ in head.cables.get(name, ()) if head.kinds.get(far) in _TIERS)
        chosen.update(dict.fromkeys(neighbors))
    return list(chosen)[:_MOST]


def _is_same(base: TreeSide, head: TreeSide, name: str) -> bool:
    return base.digests.get(name) == head.digests.get(name) and base.cables.get(name) == head.cables.get(name)


def _find_all(side: TreeSide, names: Collection[str]) -> list[Finding]:
    every = {name: side.read_device(name) for name in names if name in side.kinds}
    devices = {name: each for name, each in every.items() if each.kind is Kind.SWITCH}
    links = tuple(sorted(_find_links(side, devices), key=lambda link: (link.a, link.b)))
    places: dict[str, Place] = {name: Place(Tier.HOST) for name, kind in side.kinds.items() if kind == "host"}
    found = places_of(devices, links)
    places |= {name: found.get(name, NOWHERE)._replace(tier=_TIERS[side.kinds[name]]) for name in devices}
    jobs = usable_cpus() if len(devices) > _INLINE else 1
    wrong = find_all(FoundFabric(devices, links, places), jobs=jobs) if devices else []
    for each in every.values():
        if each.kind is Kind.HOST:
            wrong += run_host_rules(read_statement(each, Place(Tier.HOST), {}))
    return [each for each in wrong if each.severity is not Severity.NOTE]


def _find_links(side: TreeSide, devices: Mapping[str, Device]) -> Iterator[Link]:
    """Yield the cables of some switches, each once."""
    for name in devices:
        for port, role, far, far_port, _, _ in side.cables.get(name, ()):
            here, there = End(name, port), End(far, far_port)
            if role != "external" and (far not in devices or here < there):
                yield Link(min(here, there), max(here, there), (Evidence.DESCRIPTION,))
