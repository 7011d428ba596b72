"""Report settings of switches and hosts that their back ends cannot express, at the spec's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos import templating
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import as_sentence
from fabricc.fabric.facts import SETTINGS, congestion_facts, setting_facts
from fabricc.fabric.shape import HostId
from fabricc.fabric.vocabulary import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.back.nos.base import Nos
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch
    from fabricc.front.spec.model import ClusterSpec


def capability_gaps(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report each setting that a back end cannot express once."""
    told: set[tuple[str, str, str]] = set()
    for switch_id in fabric.kinds():
        switch = fabric.switch(switch_id)
        back_end = back_ends.load(switch.nos)
        gaps = back_end.gaps(switch)
        for gap in [*gaps, *find_unexpressed(switch, back_end, gaps)]:
            key = (gap.section or switch.tier.value, gap.code, gap.feature)
            if key in told:
                continue
            told.add(key)
            who = f"{switch.nos} {switch.release}".strip() + f" on {switch.model.name}"
            overridden = ("overrides", switch.name) in spec.positions
            at = ("overrides", switch.name) if overridden else (f"{switch.tier.value}s", "nos")
            yield _gap_finding(spec, gap, who, at)
    yield from _host_gaps(spec, fabric)


def find_unexpressed(switch: Switch, back_end: Nos, known: Iterable[Gap]) -> Iterator[Gap]:
    """Yield settings of the switch that its back end does not write, unless a `known` gap explains them.

    A back end may plan a fact without a line for it, so its rendered files are read as well.
    """
    told = {gap.feature for gap in known}
    wanted = setting_facts(switch) | congestion_facts(switch.qos)
    asked = {path for path in wanted if path.startswith(tuple(SETTINGS))}
    missing = asked and asked - back_end.planned(switch).keys()
    if asked - missing and not templating.in_use():
        missing |= asked - back_end.read(back_end.render(switch)).facts.keys()
    for beginning, feature in SETTINGS.items():
        if feature not in told and any(path.startswith(beginning) for path in missing):
            reason = f"fabricc has no configuration for {switch.nos} for it"
            yield Gap("FAB5001", feature, reason, "leave it out, or choose another NOS")


def _host_gaps(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    groups: set[int] = set()
    for coordinate, unit in fabric.units.items():
        if unit.hosts and unit.group not in groups:
            groups.add(unit.group)
            host = fabric.host(HostId(coordinate, next(iter(unit.hosts))))
            for gap in host_files.gaps(host):
                yield _gap_finding(spec, gap, host.model.name, spec.gpus.groups[unit.group].path)


def _gap_finding(spec: ClusterSpec, gap: Gap, who: str, at: tuple[str | int, ...]) -> Diagnostic:
    severity = Severity.ERROR if gap.fatal else Severity.WARNING
    message = f"{who}: {gap.feature}: {gap.reason}"
    source = f"\nSource: {gap.source}." if gap.source else ""
    return Diagnostic(gap.code, severity, message, spec.position(*at), as_sentence(gap.remedy) + source)
