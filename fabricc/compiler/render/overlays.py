"""Read the overlays that a spec names, refuse those that cannot be merged or hold a secret, and report lost settings.

A setting is lost if the back end of a switch or host cannot express it; the finding is at the spec's line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos import templating
from fabricc.back.nos.overlay import merge_overlay, strip_overlay
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import as_sentence
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.base.values import replace
from fabricc.compiler.render import switch_files
from fabricc.fabric.design import OverlayPlan
from fabricc.fabric.facts import SETTINGS, congestion_facts, setting_facts
from fabricc.fabric.model import Overlay, Switch
from fabricc.fabric.shape import HostId, TierName
from fabricc.fabric.vocabulary import Gap
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fabricc.back.nos.base import Nos
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.device_model import OverlayFile
    from fabricc.front.spec.model import ClusterSpec

MAX_BYTES = 1 << 20
_TEMPLATE = re.compile(r"\{\{|\{%|\$\{")
GapKey = tuple[str, str, str]
"""Section of the spec or tier, code and feature of a gap, which is reported once."""
SAMPLE = 8
"""Of the switches that an overlay names, how many are looked at for lines that take nothing away."""


def add_overlays(
    spec: ClusterSpec,
    folder: Path,
    fabric: Fabric | None,
    sources: dict[str, str],
    reported: set[GapKey],
    *,
    gaps: bool,
) -> tuple[Fabric | None, list[Diagnostic]]:
    """Return a planned fabric with the overlays of its spec, and what its back ends cannot express.

    `sources` gets the texts of overlays, `reported` the gaps that one section causes for all networks.
    """
    if fabric is None:
        return None, []
    found = list(capability_gaps(spec, fabric, reported)) if gaps else []
    if spec.overlays:
        fabric, unfit, texts = read_overlays(spec, folder, fabric)
        found += unfit
        sources |= texts
    return fabric, found


def read_overlays(
    spec: ClusterSpec, folder: Path, fabric: Fabric
) -> tuple[Fabric, list[Diagnostic], dict[str, str]]:
    """Return the fabric with the spec's overlays, what is wrong with them, and the texts of their files by name."""
    found: list[Diagnostic] = []
    plans: list[OverlayPlan] = []
    sources: dict[str, str] = {}
    for index, entry in enumerate(spec.overlays):
        text = _read_overlay(spec, index, folder, entry)
        if isinstance(text, Diagnostic):
            found.append(text)
            continue
        name = (folder / entry.file).as_posix()
        sources[name] = text
        found += _find_secrets(name, text)
        tiers = tuple(TierName(tier) for tier in entry.tiers)
        plans.append(
            OverlayPlan(Overlay(name, entry.into, text, entry.removes), entry.nos, tiers, entry.devices)
        )
        found += _useless_overlays(spec, index, fabric, plans[-1])
        found += _command_lines(spec, index, plans[-1])
        found += _report_exec_commands(plans[-1])
    fabric = replace(fabric, overlays=tuple(plans))
    if not found:
        found += _failed_merges(fabric)
    if not found and any(entry.removes for entry in spec.overlays):
        found += _idle_removals(fabric)
    found += [each for name, text in sources.items() for each in _template_marks(name, text)]
    return fabric, found, sources


def _read_overlay(spec: ClusterSpec, index: int, folder: Path, entry: OverlayFile) -> str | Diagnostic:
    path = folder / entry.file
    at = ("overlays", index, "file")
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            return spec.error("FAB2110", f"{path} leads out of the folder of the spec", *at)
        if not path.is_file():
            return spec.error("FAB2110", f"there is no file {path}", *at)
        raw = files.read(path, root=folder, limit=MAX_BYTES)
    except files.TooLargeError:
        return spec.error("FAB2110", f"{path} is larger than 1 MiB", *at)
    except OSError as error:
        return spec.error("FAB2110", f"{path} cannot be read: {error.strerror}", *at)
    try:
        text = raw.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return spec.error("FAB2110", f"{path} is not UTF-8 text", *at)
    return conflict_in(text, path.as_posix()) or text


def _find_secrets(name: str, text: str) -> Iterator[Diagnostic]:
    for line, message, remedy in switch_files.secret_lines(text):
        yield Diagnostic("FAB2112", Severity.ERROR, message, Position(name, line), remedy)


def _template_marks(name: str, text: str) -> Iterator[Diagnostic]:
    """FAB0085 for each line that a template engine has not rendered: overlays have no variables."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TEMPLATE.search(line):
            message = f"{found[0]!r} goes to the switches as it is: overlays have no variables"
            remedy = "Render the file first, or use a template of your own: see `fabricc docs overlays`."
            yield Diagnostic("FAB0085", Severity.WARNING, message, Position(name, number), remedy)


def _useless_overlays(
    spec: ClusterSpec, index: int, fabric: Fabric, plan: OverlayPlan
) -> Iterator[Diagnostic]:
    """FAB2113: a NOS that does not exist, a name that no switch has, or an overlay that no switch gets."""
    if plan.nos not in back_ends.list_names():
        known = ", ".join(back_ends.list_names())
        yield spec.error(
            "FAB2113", f"there is no NOS {plan.nos!r}", "overlays", index, "nos", help=f"Known: {known}."
        )
        return
    names = {fabric.name(at) for at in fabric.switch_ids()} if plan.devices else set()
    for place, name in enumerate(plan.devices):
        if name not in names:
            yield spec.error("FAB2113", f"there is no switch {name!r}", "overlays", index, "devices", place)
    if all(name in names for name in plan.devices) and not _covers_switch(fabric, plan):
        message = f"no switch is a {plan.nos} switch of these tiers and names: the overlay has no effect"
        yield spec.warning("FAB2113", message, "overlays", index)


def _command_lines(spec: ClusterSpec, index: int, plan: OverlayPlan) -> Iterator[Diagnostic]:
    """FAB6050: lines for a file of settings that the switch would run as a command."""
    if plan.overlay.removes or plan.nos not in back_ends.list_names():
        return
    back_end = back_ends.load(plan.nos)
    if not hasattr(back_end, "commands_at_boot"):
        return
    for into, line, text in back_end.commands_at_boot({plan.overlay.into: plan.overlay.text}):
        where = f"line {line} of {spec.overlays[index].file}"
        message = (
            f"{where} is not an assignment of plain words, and a shell reads {into}: {text.strip()[:60]!r}"
        )
        remedy = "Write NAME=value, or take the line out: the switch would run it as root."
        yield spec.error("FAB6050", message, "overlays", index, "file", help=remedy)


def _covers_switch(fabric: Fabric, plan: OverlayPlan) -> bool:
    """Return whether the overlay applies to any switch."""
    for at in fabric.kinds() if not plan.devices else fabric.switch_ids():
        switch = fabric.name(at)
        change = fabric.changes.get(switch)
        if plan.covers(switch, at.tier, (change and change.nos) or fabric.tiers[at.tier].nos):
            return True
    return False


def _report_exec_commands(plan: OverlayPlan) -> Iterator[Diagnostic]:
    """FAB0087 and FAB2111: lines that a person types at a prompt, and texts that nothing ends."""
    if plan.overlay.removes:
        return
    for each in switch_files.unfit_lines(plan.nos, plan.overlay.into, plan.overlay.text):
        code, where = "FAB0087" if each.is_command else "FAB2111", Position(plan.overlay.name, each.line)
        yield Diagnostic(code, Severity.ERROR, each.message, where, each.remedy)


def _idle_removals(fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB2113: lines of removing overlays that take nothing away from any of a few switches that have them."""
    idle: dict[str, set[int]] = {}
    named = {name for plan in fabric.overlays if plan.overlay.removes for name in plan.devices[:SAMPLE]}
    every = fabric.switch_ids() if named else fabric.kinds()
    kinds = set(fabric.kinds())
    for at in every:
        if at not in kinds and fabric.name(at) not in named:
            continue
        switch = fabric.switch(at)
        texts = switch_files.render_without_overlays(switch)
        for overlay in switch.overlays:
            if overlay.removes:
                texts, nothing = strip_overlay(texts, overlay)
                idle[overlay.name] = idle.get(overlay.name, set(nothing)) & set(nothing)
            else:
                texts = merge_overlay(texts, overlay)
    for name, lines in idle.items():
        for line in sorted(lines):
            message = "no switch with the overlay has such a line, so no line is removed"
            yield Diagnostic("FAB2113", Severity.WARNING, message, Position(name, line), "Remove the line.")


def _failed_merges(fabric: Fabric) -> Iterator[Diagnostic]:
    """Overlays that cannot be merged, tried on one switch of each kind before anything is written."""
    reported: set[tuple[str, Position | None]] = set()
    for at in fabric.kinds():
        if (switch := fabric.switch(at)).overlays:
            try:
                switch_files.render_switch(switch)
            except EmitError as error:
                wrong = error.diagnostic
                if (wrong.code, wrong.position) not in reported:
                    reported.add((wrong.code, wrong.position))
                    yield wrong


def capability_gaps(spec: ClusterSpec, fabric: Fabric, sections: set[GapKey]) -> Iterator[Diagnostic]:
    """Report each setting that a back end cannot express once; `sections` has what other networks have reported."""
    tiers: set[GapKey] = set()
    for switch_id in fabric.kinds():
        switch = fabric.switch(switch_id)
        back_end = back_ends.load(switch.nos)
        gaps = back_end.gaps(switch)
        for gap in [*gaps, *find_unexpressed(switch, back_end, gaps)]:
            key = (gap.section or switch.tier.value, gap.code, gap.feature)
            reported = sections if gap.section else tiers
            if key in reported:
                continue
            reported.add(key)
            who = f"{switch.nos} {switch.release}".strip() + f" on {switch.model.name}"
            overridden = ("overrides", switch.name) in spec.positions
            at: tuple[str, ...] = (
                ("overrides", switch.name) if overridden else (f"{switch.tier.value}s", "nos")
            )
            at = (gap.section,) if (gap.section,) in spec.positions else at
            yield _gap_finding(spec, gap, who, at)
    yield from _host_gaps(spec, fabric)


def find_unexpressed(switch: Switch, back_end: Nos, known_gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Yield settings of the switch that its back end does not write, unless a `known_gaps` gap explains them.

    A back end may plan a fact without a line for it, so its rendered files are read as well.
    """
    reported = {gap.feature for gap in known_gaps}
    wanted = setting_facts(switch) | congestion_facts(switch.qos)
    requested = {path for path in wanted if path.startswith(tuple(SETTINGS))}
    missing = requested and requested - back_end.planned(switch).keys()
    if requested - missing and not templating.template_path():
        missing |= requested - back_end.read(back_end.render(switch)).facts.keys()
    for beginning, feature in SETTINGS.items():
        if feature not in reported and any(path.startswith(beginning) for path in missing):
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
