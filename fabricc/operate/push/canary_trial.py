"""`push --try`: one canary of each kind of configuration, whose device checks its candidate and forgets it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fabricc.back import nos as back_ends
from fabricc.back.nos.overlay_text import find_printer
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.compiler import accepted_lines
from fabricc.compiler.compiled import COMPUTE, compile_spec
from fabricc.compiler.render.switch_files import overlay_lines
from fabricc.front.spec.lock import lines_of
from fabricc.operate.devices import DeviceError, running
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.devices.identity import LOOK, identify_device
from fabricc.operate.push.built_tree import SWITCHES, BuiltTree, PushRefusedError
from fabricc.operate.push.ownership import new_session
from fabricc.operate.push.reach import read_files, reject_namesake
from fabricc.operate.push.secret_store import require_secrets
from fabricc.operate.push.start import check_prerequisites, hold_journal
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.lines import Place, Texts, explain_line
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.questions import subject_of
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.push.journal import Journal
    from fabricc.operate.push.setting import Setting

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Kind:
    """Settings that configurations of one kind share."""

    model: str
    nos: str
    release: str
    tier: str

    def __str__(self) -> str:
        """In words."""
        return f"{self.model}, {self.nos} {self.release}, {self.tier}".replace(" ,", ",")


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """One thing that a device refuses of its candidate.

    Attributes:
        text: the device's words.
        file, line: of the candidate; "" and 0 where they are not known.
    """

    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """The results for the configurations of one kind.

    Attributes:
        canary: the switch that was contacted.
        lines: lines of its candidate.
        refused: what it refuses; empty when it takes all.
        trouble: why it was not tried, None when it was.
    """

    kind: Kind
    canary: str
    lines: int
    refused: tuple[RejectedLine, ...] = ()
    trouble: DeviceError | None = None


@dataclass(frozen=True, slots=True)
class Trials:
    """Every kind's trial, and the findings; `sources` are the files that those point into."""

    trials: tuple[Trial, ...]
    findings: tuple[Diagnostic, ...]
    sources: Mapping[str, str]


def record_trials(source: BuiltTree, found: Trials, path: Path) -> None:
    """Add the results of the trials to a ledger.

    Raises:
        PushRefusedError: FAB9047, what stands there is not a ledger.
        EmitError: it cannot be written.
    """
    known, wrong = accepted_lines.read_ledger(path)
    if wrong:
        raise PushRefusedError.of(wrong)
    fresh = []
    for trial in found.trials:
        if trial.trouble is None:
            switch, texts = source.switch(trial.canary), source.files(trial.canary)
            refused = {line: one.text for one in trial.refused if (line := _get_refused_line(texts, one))}
            if refused or not trial.refused:
                fresh.append(accepted_lines.record_trial(switch, texts, refused))
    write_file(path, accepted_lines.ledger_bytes(accepted_lines.merge_ledgers(known, fresh)))


def _get_refused_line(texts: Mapping[str, str], refusal: RejectedLine) -> str:
    """The line that is refused, "" when it is not known."""
    lines = texts.get(refusal.file, "").splitlines()
    return lines[refusal.line - 1] if 1 <= refusal.line <= len(lines) else ""


def choose_canaries(source: BuiltTree, names: Iterable[str]) -> dict[Kind, str]:
    """Return the first switch of each kind, in the fabric's order."""
    found: dict[Kind, str] = {}
    for name in names:
        found.setdefault(identify_kind(source, name), name)
    return dict(sorted(found.items(), key=lambda one: str(one[0])))


def identify_kind(source: BuiltTree, name: str) -> Kind:
    """Return the kind of a switch's configuration."""
    device = source.devices[name]
    return Kind(source.switch(name).model.name, device.nos, device.release, device.kind)


def try_canaries(setting: Setting) -> Trials:
    """Let a canary of each kind check its configuration; nothing is changed.

    Raises:
        PushRefusedError: it does not start: the files are not those of the plan.
    """
    source = setting.source
    chosen = choose_canaries(source, setting.names)
    findings = list(check_prerequisites(setting, list(chosen.values()), trial=True))
    require_secrets(setting.access, lambda name: source.files(name).values(), list(chosen.values()))

    def one(name: str) -> tuple[tuple[RejectedLine, ...], DeviceError | None]:
        try:
            if setting.stop.is_set():
                raise DeviceError("FAB9118", f"{name}: interrupted before the trial")
            return _try_candidate(setting, journal, name), None
        except DeviceError as error:
            return (), error

    with hold_journal(setting) as journal:
        progress = partial(setting.reporter.progress, "trying")
        answers = for_each(chosen.values(), one, setting.options.parallel, progress)
    trials = []
    for kind, name in chosen.items():
        refused, trouble = answers[name]
        lines = sum(len(text.splitlines()) for text in source.files(name).values())
        trials.append(Trial(kind, name, lines, refused, trouble))
    sources: dict[str, str] = {}
    origins = Origins(source) if any(trial.refused for trial in trials) else None
    for trial in trials:
        if trial.trouble:
            findings.append(trial.trouble.diagnostic)
        for refusal in trial.refused:
            assert origins is not None
            findings.append(_make_finding(source, trial, refusal, origins, sources))
    return Trials(tuple(trials), tuple(findings), sources)


def _try_candidate(setting: Setting, journal: Journal, name: str) -> tuple[RejectedLine, ...]:
    device, access = setting.source.devices[name], setting.access
    files = setting.source.files(name)
    text = access.fill_in(running.pack_files(files))
    with open_connection(device, access, f"fabricc-try-{new_session()}") as switch:
        found = identify_device(
            setting.source.roster, name, switch, read_files(device.nos, switch, files), files
        )
        if found.wrong:
            raise DeviceError(
                "FAB9106", f"{name}: another switch answers at its address: {found.wrong}", LOOK
            )
        reject_namesake(setting.source, journal, name, found.identity, files)
        if switch.pending():
            raise DeviceError("FAB9111", f"{name}: a commit of another session waits for its confirmation")
        refusals: Sequence[Any] = switch.call("FAB9166", "checking the candidate", "check_candidate", text)
    try:
        return tuple(
            RejectedLine(
                " ".join(switch.without_secrets(access.hide_secrets(str(one.text))).split())[:_LONGEST],
                str(one.file),
                int(one.line),
            )
            for one in refusals
        )
    except (AttributeError, TypeError, ValueError):
        raise DeviceError("FAB9166", f"{name}: its driver reports rejections in its own format") from None


class Origins:
    """Lines of the spec behind a line of a switch."""

    def __init__(self, source: BuiltTree) -> None:
        whole = compile_spec(source.spec, gaps=False, ethernet_only=True)
        compiled = whole.of_network(source.fabric.network or COMPUTE)
        lock = lines_of(compiled.lock_text, source.fabric.network)
        known = PlanSources(compiled.spec, source.fabric, compiled.sources, str(compiled.lock_path), lock)
        self._source, self._known, self._explainer = source, known, Explainer(known)

    def of(self, name: str, file: str, line: int) -> list[str]:
        """`cluster.yaml:7 routing.hold_s` for each input that the spec states, at most a few."""
        source = self._source
        subject = subject_of(self._known, source.places[name])
        files = source.files(name)
        reader = back_ends.load(source.devices[name].nos).read
        texts, explain_fact = Texts(files, files, reader), partial(self._explainer.fact, subject)
        explanation = explain_line(name, texts, Place(file, line), name, explain_fact)
        found = (
            f"{origin.position.file}:{origin.position.line} {origin.key}"
            for statement in explanation.statements
            for origin in statement.origins
            if origin.position is not None
        )
        return list(dict.fromkeys(found))[:3]


def _describe_source(source: BuiltTree, trial: Trial, refusal: RejectedLine, line: str) -> str:
    """Return where a line comes from: an overlay of the user's own, or what prints it."""
    switch = source.switch(trial.canary)
    if (
        switch.overlays
        and (refusal.file, refusal.line) in overlay_lines(switch, source.files(trial.canary))[1]
    ):
        return f"your own, from an overlay ({', '.join(overlay.name for overlay in switch.overlays)})"
    return f"printed by {find_printer(trial.kind.nos, refusal.file, line)}"


def _make_finding(
    source: BuiltTree, trial: Trial, refusal: RejectedLine, origins: Origins, sources: dict[str, str]
) -> Diagnostic:
    """Return a refusal at our own file and line, with what prints the line and what of the spec is behind it."""
    message = f"{trial.canary} ({trial.kind}) refuses it: {refusal.text}"
    line = _get_refused_line(source.files(trial.canary), refusal)
    if not line:
        return Diagnostic(
            "FAB9164", Severity.ERROR, message, None, "The device names no line that is in the tree."
        )
    at = str(source.tree / f"{SWITCHES}{trial.canary}/{refusal.file}")
    sources[at] = source.files(trial.canary)[refusal.file]
    behind = origins.of(trial.canary, refusal.file, refusal.line)
    words = f"{line.strip()!r} is {_describe_source(source, trial, refusal, line)}"
    words += f"; behind it: {', '.join(behind)}." if behind else "; no line of the spec is behind it."
    return Diagnostic("FAB9164", Severity.ERROR, message, Position(at, refusal.line), words)
