"""Run `fabricc push` in each of its modes, and print the waves, the diffs of switches and the outcome."""

from __future__ import annotations

import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.diagnostics.wording import format_share, join_words, plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.cli import logins, output
from fabricc.cli.entry import INTERRUPTED
from fabricc.compiler import accepted_lines
from fabricc.compiler.result import ENVIRONMENT
from fabricc.operate.change.order_text import describe_kept_share, encode_wave, list_cuts
from fabricc.operate.devices.access import NAME, Access
from fabricc.operate.devices.fanout import write_inventory
from fabricc.operate.devices.login import Login
from fabricc.operate.push import canary_trial, start, start_checks, unfinished
from fabricc.operate.push.built_tree import BuiltTree, PushRefusedError, read_source
from fabricc.operate.push.image_step import Hook, ImageKey, Images, read_images
from fabricc.operate.push.options import Congestion, Options
from fabricc.operate.push.ownership import get_default_path
from fabricc.operate.push.run import Outcome, Reporter
from fabricc.operate.push.setting import Setting
from fabricc.operate.push.start import Preview, format_duration
from fabricc.proof import signatures
from fabricc.review.diff import view
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.foreign.text import Rendered
    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.push.canary_trial import Trials
    from fabricc.operate.push.journal import Run, State

    Runs = Sequence[tuple[Run, Mapping[str, tuple[State, str, str, int]]]]


_OPTIONS = tuple(one.name for one in fields(Options))
"""Each is named as its parameter of the command line is; `drain` by its contrary, `no_drain`."""


def run_push(
    mode: str | None, rollback: int | None, inventory_out: Path | None, chosen: dict[str, Any]
) -> int:
    """Run the requested mode and report; return the exit status.

    Args:
        mode: `plan`, `dry-run`, `try`, `resume` or `status`; None to push, or with one of the next two.
        rollback: the number of the run to roll back.
        inventory_out: folder for the inventory of another tool.
        chosen: the other options by their parameters' names.
    """
    setting = _make_setting(chosen, mode)
    if inventory_out is not None:
        return _export_inventory(setting, inventory_out)
    if mode == "status":
        return _show_status(setting.journal, chosen["number"], chosen["format_"])
    if mode in ("plan", "dry-run"):
        return _show_preview(setting, chosen["format_"], dry_run=mode == "dry-run")
    if mode == "try":
        return _run_trial(setting, chosen["ledger"], chosen["format_"], record=chosen["record"])
    return _carry_out(setting, mode, rollback, chosen["format_"])


def _make_setting(chosen: dict[str, Any], mode: str | None) -> Setting:
    digest = (chosen["tree_digest"] or "").lower().removeprefix("sha256:")
    source = read_source(
        chosen["tree"], chosen["spec"], lock=chosen["lock"], digest=digest, network=chosen["network"]
    )
    requested = chosen | {"drain": not chosen["no_drain"], "congestion": Congestion(chosen["congestion"])}
    absent = chosen["access_file"] is None and not (source.spec.parent / NAME).exists()
    unasked = mode == "status" or (mode == "plan" and absent)
    access = Access(Login()) if unasked else logins.access(source.spec, chosen["access_file"])
    if mode != "status" and (allowed := chosen["allowed"] or access.allowed):
        who = signatures.signer_of(source.tree, source.digest, allowed, chosen["signature"])
        output.err(f"{source.tree}: signed by {who}")
    path = chosen["journal"] or get_default_path(_journal_name(source.fabric))
    options, consents = (
        Options(**{name: requested[name] for name in _OPTIONS}),
        frozenset(chosen["allow_lockout"]),
    )
    return Setting(
        source, access, path, options, only=chosen["only"], stated=_stated_options(), digest_named=bool(digest),
        login_known=not unasked, consents=consents, hook=_load_hook(source, chosen), taken=frozenset(chosen["taken"]),
    )  # fmt: skip


def _load_hook(source: BuiltTree, chosen: dict[str, Any]) -> Hook | None:
    """Return the named hook after a check of its images.

    Raises:
        PushRefusedError: FAB9424 or FAB9425.
    """
    if chosen["hook"] is None:
        return None
    images = Images({}, ())
    if chosen["images"]:
        names = chosen["only"] or source.devices
        switches = [source.switch(name) for name in names if name in source.devices]
        used = {ImageKey(one.nos, one.release, one.model.name) for one in switches}
        images = read_images(chosen["images"], used)
        if images.findings:
            raise PushRefusedError.of(images.findings)
    return Hook(chosen["hook"], chosen["hook_s"], images)


def _journal_name(fabric: Fabric) -> str:
    """Return a cluster's own, and one for each of its further networks."""
    return f"{fabric.cluster}.{fabric.network}" if fabric.network else fabric.cluster


@contextmanager
def _attended_setting(setting: Setting) -> Iterator[Setting]:
    """Yield the setting for an attended run: progress is shown, and Ctrl-C, SIGTERM and SIGHUP stop the run.

    Lines that must stay on the terminal are printed through the reporter, or afterwards. A closed or full terminal ends
    no run, and SIGHUP stays ignored if the caller ignores it, as nohup does.
    """
    signs = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signs.remove(signal.SIGHUP)
    with output.progress() as bars:
        teller = Reporter(bars.print_line if bars else output.err, bars or (lambda *_: None)).ignore_errors()

        def stop(*_: object) -> None:
            if not setting.stop.is_set():
                setting.stop.set()
                teller.print_line("Stopping: switches that are being changed are rolled back first.")

        before = {sign: signal.signal(sign, stop) for sign in signs}
        try:
            yield replace(setting, reporter=teller)
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)


def _stated_options() -> frozenset[str]:
    """Return names of run options on the command line."""
    at = click.get_current_context()
    return frozenset(
        name
        for name in _OPTIONS
        if at.get_parameter_source("no_drain" if name == "drain" else name) is ParameterSource.COMMANDLINE
    )


def _export_inventory(setting: Setting, folder: Path) -> int:
    for path in write_inventory(setting.source.fabric, setting.access, folder):
        output.out(str(path))
    return 0


def _show_preview(setting: Setting, format_: str, *, dry_run: bool) -> int:
    found: start.Preview
    if dry_run:
        with _attended_setting(setting) as attended:
            found = start.preview_push(attended)
    else:
        found = start.plan_push(setting)
    remarks = start_checks.report_revert_limits(setting, list(found.effects))
    status = ENVIRONMENT if found.skipped else 0
    if format_ == "json":
        output.print_document(encode_preview(found, setting.options, remarks))
        return status
    output.print_verbatim(*format_preview(found, setting.options))
    output.print_findings(found.findings, "text", {})
    output.print_findings(remarks, "text", {})
    return status


def _run_trial(setting: Setting, ledger: Path | None, format_: str, *, record: bool) -> int:
    with _attended_setting(setting) as attended:
        found = canary_trial.try_canaries(attended)
    status = _status_of(found, stopped=setting.stop.is_set())
    if record and status != INTERRUPTED:
        try:
            canary_trial.record_trials(
                setting.source, found, ledger or setting.source.spec.parent / accepted_lines.NAME
            )
        except (EmitError, PushRefusedError) as error:
            found, status = replace(found, findings=(*found.findings, *error.diagnostics)), 1
    if format_ == "json":
        output.print_document(encode_trials(found, setting.source.digest, status))
        return status
    output.print_findings(found.findings, "text", found.sources)
    output.out(*format_trials(found))
    return status


def _status_of(found: canary_trial.Trials, *, stopped: bool) -> int:
    if stopped:
        return INTERRUPTED
    if any(trial.trouble for trial in found.trials):
        return ENVIRONMENT
    return 1 if any(trial.refused for trial in found.trials) else 0


def _carry_out(setting: Setting, mode: str | None, rollback: int | None, format_: str) -> int:
    remarks = start_checks.report_revert_limits(setting, setting.names)
    if format_ == "text":
        output.print_findings(remarks, "text", {})
    outcome: Outcome
    with _attended_setting(setting) as attended:
        if mode == "resume":
            outcome = unfinished.resume_run(attended)
        elif rollback is not None:
            outcome = unfinished.roll_back_run(attended, rollback)
        else:
            outcome = start.push_tree(attended)
    if format_ == "json":
        output.print_document(encode_outcome(outcome, remarks))
        return outcome.exit_status
    output.print_findings(outcome.diagnostics, "text", {})
    output.out(format_outcome(outcome))
    return outcome.exit_status


def _show_status(journal: Path, number: int | None, format_: str) -> int:
    runs = start.list_runs(journal, number)
    if format_ == "json":
        output.print_document(encode_status(runs))
    else:
        output.out(*format_status(runs, whole=number is not None))
    return 0


_MEMBERS = 6
_SHOWN = 1000
"""Lines of one switch's own difference in text."""


def format_preview(found: Preview, options: Options) -> list[str]:
    """Return lines: the tree's digest, diffs of contacted switches, then the waves with the share that each keeps."""
    lines = [f"tree sha256 {found.digest}"]
    for name, one in found.initial_states.items():
        if one.diff:
            head = f"--- {name} ({one.effect.impact.label}) {one.effect.why}".rstrip()
            diff = one.diff.splitlines()
            lines += [head, *mask_diff("\n".join(diff[:_SHOWN])).split("\n")]
            if len(diff) > _SHOWN:
                lines.append(f"... and {len(diff) - _SHOWN:,} more lines; --format json has them all")
            lines.append("")
    if not found.effects:
        return [*lines, "Every switch runs the tree."]
    for number, wave in enumerate(found.waves, 1):
        drains = sum(1 for name in wave.members if found.effects[name].disruptive)
        words = [plural(len(wave.members), "switch")]
        words += ["canary"] if wave.canary else []
        words += [f"{drains} drained" if options.drain else f"{drains} not drained"] if drains else []
        words += list_cuts(wave)
        lines.append(f"wave {number}: {', '.join(words)}; {describe_kept_share(wave)}")
        lines.append(f"  {join_words(wave.members, _MEMBERS)}")
    lines.append(
        f"{plural(len(found.effects), 'switch')} in {plural(len(found.waves), 'wave')}, "
        f"keeping {format_share(options.keep)}; "
        f"about {format_duration(found.seconds)} ({found.basis})"
    )
    lines += _format_ways(found)
    for title, attribute in (("logins change", "access"), ("services and protections end", "weakened")):
        counts = Counter(each for effect in found.effects.values() for each in getattr(effect, attribute))
        lines += [f"{title}: {what} on {plural(count, 'switch')}" for what, count in sorted(counts.items())]
    lines += [*found.unwatched, *found.drained]
    if found.assumed:
        message = (
            "switches have no earlier push, so their change counts as disruptive; "
            "`--dry-run` reads their difference"
        )
        lines.append(f"{found.assumed} {message}")
    return lines


def _format_ways(found: Preview) -> list[str]:
    """Lines: how systems apply the changes, where that matters beyond the facts, and the switches of each way."""
    ways = group_pairs((effect.way, name) for name, effect in found.effects.items() if effect.way)
    return [f"{way}: {join_words(names, _MEMBERS)}" for way, names in ways.items()]


def encode_preview(found: Preview, options: Options, remarks: Sequence[Diagnostic]) -> Rendered:
    """Return the preview as JSON; `diff` is a switch's own, None where it was not contacted."""
    waves = found.waves if options.drain else [replace(wave, drained=()) for wave in found.waves]
    return json_document({
        "tree_sha256": found.digest,
        "switches": {
            name: {
                "impact": effect.impact.label, "why": effect.why, "drained": effect.disruptive and options.drain,
                "access": list(effect.access), "weakened": list(effect.weakened),
                **({"way": effect.way} if effect.way else {}),
                "diff": mask_diff(found.initial_states[name].diff) if name in found.initial_states else None,
            }
            for name, effect in found.effects.items()
        },
        "waves": [list(wave.members) for wave in found.waves],
        "order": list(map(encode_wave, waves)),
        "seconds": round(found.seconds),
        "findings": [finding_entry(one) for one in (*found.findings, *remarks)],
    })  # fmt: skip


def format_trials(found: Trials) -> list[str]:
    """Lines: what became of each kind of configuration."""
    lines = []
    for one in found.trials:
        if one.trouble:
            message = "not tried"
        elif one.refused:
            message = f"refuses {len(one.refused)} of {one.lines} lines"
        else:
            message = f"takes all {one.lines} lines"
        lines.append(f"{one.kind}: {one.canary} {message}")
    return lines


def encode_trials(found: Trials, digest: str, exit_status: int) -> Rendered:
    """Return the trials as JSON; `refused` is None where the switch could not be reached."""
    return json_document({
        "tree_sha256": digest, "exit_status": exit_status,
        "kinds": [
            {
                "model": one.kind.model, "nos": one.kind.nos, "release": one.kind.release, "tier": one.kind.tier,
                "switch": one.canary, "lines": one.lines, "refused": None if one.trouble else len(one.refused),
            }
            for one in found.trials
        ],
        "findings": [finding_entry(one) for one in found.findings],
    })  # fmt: skip


def mask_diff(diff: str) -> str:
    """Mask the secrets in a diff."""
    return "\n".join(view.mask_secrets(line) for line in diff.splitlines())


def format_outcome(found: Outcome) -> str:
    """Describe how a run ended, in a line."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(found.states.items()))
    return f"run {found.run}: {counts or 'nothing to do'}; tree sha256 {found.digest}"


def encode_outcome(found: Outcome, remarks: Sequence[Diagnostic]) -> Rendered:
    """Return the same for programs."""
    return json_document({
        "run": found.run, "tree_sha256": found.digest, "exit_status": found.exit_status,
        "states": dict(sorted(found.states.items())),
        "findings": [finding_entry(one) for one in (*remarks, *found.diagnostics)],
    })  # fmt: skip


def format_status(runs: Runs, *, whole: bool) -> list[str]:
    """Runs, a line each; with every switch when `whole`."""
    lines = []
    for run, states in runs:
        counts = Counter(state.value for state, *_ in states.values())
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.begun))
        ended = run.outcome or "not finished"
        words = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        lines.append(f"run {run.id}  {when}  {run.kind}  {ended}: {words}; tree sha256 {run.digest}")
        if not whole and run.ended is not None:
            continue
        for name, (state, intent, detail, wave) in states.items():
            about = f", about to {intent}" if intent else ""
            lines.append(f"  {name}  wave {wave}  {state.value}{about}{'  ' + detail if detail else ''}")
    return lines


def encode_status(runs: Runs) -> Rendered:
    """Return the same for programs, every switch of every run."""
    return json_document({
        "runs": [
            {
                "run": run.id, "kind": run.kind, "begun": _format_utc(run.begun),
                "ended": None if run.ended is None else _format_utc(run.ended), "outcome": run.outcome,
                "tree_sha256": run.digest,
                "switches": {
                    name: {"state": state.value, "intent": intent, "detail": detail, "wave": wave}
                    for name, (state, intent, detail, wave) in states.items()
                },
            }
            for run, states in runs
        ]
    })  # fmt: skip


def _format_utc(seconds: float) -> str:
    """Return a time as ISO 8601 has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
