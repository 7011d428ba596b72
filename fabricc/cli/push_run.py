"""Run `fabricc push` in each of its modes."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fabricc.base.values import replace
from fabricc.cli import logins, output
from fabricc.cli.entry import INTERRUPTED
from fabricc.compiler import accepted_lines
from fabricc.compiler.result import ENVIRONMENT
from fabricc.operate.devices.access import NAME, Access
from fabricc.operate.devices.fanout import write_inventory
from fabricc.operate.devices.login import Login
from fabricc.operate.push import canary_trial, report, start, start_checks, unfinished
from fabricc.operate.push.built_tree import BuiltTree, PushRefusedError, read_source
from fabricc.operate.push.image_step import Hook, ImageKey, Images, read_images
from fabricc.operate.push.options import Congestion, Options
from fabricc.operate.push.ownership import get_default_path
from fabricc.operate.push.run import Outcome, Reporter
from fabricc.operate.push.setting import Setting
from fabricc.proof import signatures
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

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
        output.print_document(report.encode_preview(found, setting.options, remarks))
        return status
    output.print_verbatim(*report.format_preview(found, setting.options))
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
        output.print_document(report.encode_trials(found, setting.source.digest, status))
        return status
    output.print_findings(found.findings, "text", found.sources)
    output.out(*report.format_trials(found))
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
        output.print_document(report.encode_outcome(outcome, remarks))
        return outcome.exit_status
    output.print_findings(outcome.diagnostics, "text", {})
    output.out(report.format_outcome(outcome))
    return outcome.exit_status


def _show_status(journal: Path, number: int | None, format_: str) -> int:
    runs = start.list_runs(journal, number)
    if format_ == "json":
        output.print_document(report.encode_status(runs))
    else:
        output.out(*report.format_status(runs, whole=number is not None))
    return 0
