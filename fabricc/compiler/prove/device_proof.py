"""Compare the files of one device with its plan; each finding names the line that causes it.

Overlays are proved on a few switches when a spec is validated, so that a build does not reject a valid spec.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.compiler.render import switch_files
from fabricc.compiler.render.overlays import SAMPLE
from fabricc.facts.paths import replace_keys
from fabricc.front.spec.load import apply_severities
from fabricc.proof import Finding, compare, device_findings
from fabricc.proof.finding_places import Text, place_findings
from fabricc.proof.invariants.rules import soften_breaches
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.back.nos.exec_commands import Reversal
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts, Reading, Value
    from fabricc.fabric.model import Host, Switch
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.proof.compare import Mismatch

    Reader = Callable[[Mapping[str, str]], Reading]

_COMMAND = "Take the line out of the overlay, the template or the tree."
_CHARACTER = "Remove the character from the template or the tree."
_REVERSAL = "Remove the line; an overlay with `removes: true` removes what the build writes."
DEPARTED = "FAB6007"
_DEPARTED = "Take the line out of the overlay, or accept FAB6007 in the spec, with the reason."


def switch_findings(
    switch: Switch, found: Text, *, fresh: bool = True, altered: bool = False
) -> Iterator[Finding]:
    """Check the files of a switch; overlays may add lines and facts, and change only those that they remove.

    Args:
        switch: the planned switch.
        found: its files.
        fresh: False if the same templates have just rendered them, so that no line can be the cause.
        altered: whether the files changed after the build, so that every line counts.
    """
    back_end = back_ends.load(switch.nos)
    own: set[tuple[str, int]] = set()
    if switch.overlays:
        missing, own = switch_files.overlay_lines(switch, found.files)
        yield from missing

    def render_expected() -> Text | None:
        try:
            files = switch_files.render_switch(switch)
        except EmitError:  # a template of the user's own that fails, or an overlay that no longer fits
            return None
        return Text(files, back_end.read(files))

    if hasattr(back_end, "commands_at_boot"):
        yield from _command_findings(switch.name, back_end.commands_at_boot(found.files))
    yield from _session_findings(switch, found.files)
    if hasattr(back_end, "reversals"):
        yield from _reversal_findings(switch.name, back_end.reversals, found.files)
    yield from _content_findings(switch.name, found.files)
    planned = back_end.planned(switch)
    with suppress(EmitError):  # an overlay that no longer fits, which is reported above
        stated = switch_files.overlay_departures(switch)
        yield from _departure_findings(switch, planned, stated, found.reading)
        planned = {path: value for path, value in {**planned, **stated}.items() if value is not None}
    reader = back_end.read if altered else None
    skipped = back_ends.skipped_lines(switch.nos, found.files)
    expected = render_expected if fresh else None
    yield from _fact_findings(switch.name, planned, found, expected, reader, own, skipped)


def _command_findings(device: str, lines: Iterable[tuple[str, int, str]]) -> Iterator[Finding]:
    """FAB6050 for each line of a file of settings that the switch would run as a command."""
    for file, line, text in lines:
        message = (
            f"{device}: {file} is read by a shell, and this line is not an assignment: {text.strip()[:60]!r}"
        )
        yield Finding("FAB6050", message, file, line, f"command {text.strip()}", help=_COMMAND)


def _session_findings(switch: Switch, files: Mapping[str, str]) -> Iterator[Finding]:
    """FAB0087 and FAB6051: commands of a prompt, and texts that nothing ends, from whatever input they came."""
    for file, unfit in switch_files.unfit_lines_of_files(switch.nos, files):
        code, kind = ("FAB0087", "command") if unfit.is_command else ("FAB6051", "open text")
        message = f"{switch.name}: {unfit.message}"
        yield Finding(code, message, file, unfit.line, f"{kind} {unfit.message}", help=unfit.remedy)


def _reversal_findings(
    device: str, find: Callable[[str, str], Iterator[Reversal]], files: Mapping[str, str]
) -> Iterator[Finding]:
    """FAB6054 for each line that removes or disables what the file sets."""
    for file, text in files.items():
        for found in find(file, text):
            what = f"removes what line {found.other} sets" if found.other else "disables a statement"
            message = f"{device}: {found.text[:60]!r} {what}, so the switch runs another configuration"
            yield Finding("FAB6054", message, file, found.line, f"reversal {found.text}", help=_REVERSAL)


def _content_findings(device: str, files: Mapping[str, str]) -> Iterator[Finding]:
    """FAB6052 and FAB6053: invisible characters and secrets, from whatever input they came."""
    for file, line, character in switch_files.invisible_characters(files):
        message = f"{device}: the text has the invisible or control character U+{ord(character):04X}"
        yield Finding("FAB6052", message, file, line, f"character {character!r}", help=_CHARACTER)
    for file, text in files.items():
        for line, message, remedy in switch_files.secret_lines(text):
            yield Finding("FAB6053", f"{device}: {message}", file, line, "secret", help=remedy)


def _departure_findings(
    switch: Switch, planned: Facts, stated: Mapping[str, Value | None], reading: Reading
) -> Iterator[Finding]:
    """Report FAB6007 for each planned fact that an overlay removes or replaces; as a note for descriptions.

    What has no effect any more follows from such a fact, and rules report it.
    """
    device, vocabulary = switch.name, back_ends.load_vocabulary(switch.nos)
    for path, value in stated.items():
        if (was := planned.get(path)) == value or path.startswith("unread["):
            continue
        message = (
            f"{device}: an overlay takes {path} = {was} away"
            if value is None
            else f"{device}: by an overlay {path} is {value}, and {'nothing' if was is None else was} in the plan"
        )
        at = reading.lines.get(path, ("", 0))
        severity = Severity.NOTE if "label" in vocabulary.row(path).tags else Severity.WARNING
        yield Finding(DEPARTED, message, *at, f"departed {replace_keys(path)}", severity, _DEPARTED)


def host_findings(host: Host, found: Text, *, fresh: bool = True, altered: bool = False) -> Iterator[Finding]:
    """Check the files of a host; for the arguments see `switch_findings`."""

    def render_expected() -> Text:
        files = host_files.render(host)
        return Text(files, host_files.read(files))

    yield from _content_findings(host.name, found.files)
    planned = host_files.planned(host)
    reader = host_files.read if altered else None
    yield from _fact_findings(host.name, planned, found, render_expected if fresh else None, reader, ())


def _fact_findings(
    device: str,
    planned: Facts,
    found: Text,
    expected: Callable[[], Text | None] | None,
    reader: Reader | None,
    own: Collection[tuple[str, int]],
    skipped: Sequence[tuple[str, int, str]] = (),
) -> Iterator[Finding]:
    """Yield the findings.

    `own` contains file and line of settings that need no plan, such as overlays. `skipped` contains lines that a reader
    ignores, such as tables that devices fill: in a built tree only a person can have written them.
    """
    mismatches, unknown = compare(planned, found.reading), [*found.reading.unknown, *skipped]
    if own:
        mismatches = [
            each
            for each in mismatches
            if each.planned is not None
            or (each.file, each.line) not in own
            or _disables_planned(each, planned)
        ]
        unknown = [each for each in unknown if each[:2] not in own]
    text = expected() if expected and (mismatches or unknown or reader) else None
    if text is None:
        return device_findings(device, mismatches, unknown)
    return place_findings(device, mismatches, unknown, text, found, reader)


_SWITCHED = "/enabled"


def _disables_planned(mismatch: Mismatch, planned: Facts) -> bool:
    """Return whether an unplanned fact disables a planned object, such as a BGP session."""
    if mismatch.found not in ("false", False) or not mismatch.path.endswith(_SWITCHED):
        return False
    begins = mismatch.path.removesuffix(_SWITCHED) + "/"
    return any(path.startswith(begins) for path in planned)


_CONTRADICTION = "A build refuses this. Overlays add lines; change the plan by keys of the spec."


def find_contradictions(spec: ClusterSpec, fabric: Fabric) -> list[Diagnostic]:
    """Return the errors that a build reports for switches with overlays, found on one switch of each kind."""
    named = {name for plan in fabric.overlays for name in plan.devices[:SAMPLE]}
    kinds = set(fabric.kinds())
    found: list[Diagnostic] = []
    for at in fabric.switch_ids() if named else kinds:
        if at not in kinds and fabric.name(at) not in named:
            continue
        switch = fabric.switch(at)
        if not switch.overlays:
            continue
        files = switch_files.render_switch(switch)
        text = Text(files, back_ends.load(switch.nos).read(files))
        found += [
            spec.error(each.code, each.message, "overlays", help=_CONTRADICTION)
            for each in switch_findings(switch, text, fresh=False)
            if each.severity is Severity.ERROR
        ]
    return apply_severities(soften_breaches(found, spec), spec.accept)
