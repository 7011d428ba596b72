"""Start a push, or a preview without changes; list earlier runs."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.devices import running
from fabricc.operate.drivers import lossless
from fabricc.operate.push import start_checks
from fabricc.operate.push.built_tree import PushRefusedError, prove_files
from fabricc.operate.push.image_step import INSTALL
from fabricc.operate.push.journal import SESSION, Journal, Run, State
from fabricc.operate.push.ownership import hold_switches, new_session
from fabricc.operate.push.plan_waves import estimate_s, plan_waves
from fabricc.operate.push.run import Outcome, Push, describe_guard, report_parted, report_skipped
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.change.order import Wave
    from fabricc.operate.push.executor import Executor, InitialState
    from fabricc.operate.push.reach import Files
    from fabricc.operate.push.setting import Setting

BACK = "rollback"
"""Prefix of the kind of a run that rolls switches back."""
HOOKED = " by hook"
"""Suffix of the kind of a run that calls a hook, after the action of the hook."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a push.

    Attributes:
        digest: digest of the tree.
        effects: changed switch -> effect of its change.
        seconds, basis: estimated duration, and the basis of the estimate.
        initial_states: the state that was read from switches; empty when none was contacted.
        assumed: switches whose change is unknown and counts as disruptive.
        unwatched: values that gates cannot watch, one line each.
        drained: how drained switches return to service if the push is killed, one line each.
        findings: findings about the login of the push itself.
        skipped: switches that do not answer, and are left out.
    """

    digest: str
    effects: Mapping[str, Effect]
    waves: Sequence[Wave]
    seconds: float
    basis: str
    initial_states: Mapping[str, InitialState] = field(default_factory=dict)
    assumed: int = 0
    unwatched: Sequence[str] = ()
    drained: Sequence[str] = ()
    findings: tuple[Diagnostic, ...] = ()
    skipped: frozenset[str] = frozenset()


def check_prerequisites(
    setting: Setting, names: Sequence[str], *, back: bool = False, trial: bool = False
) -> tuple[Diagnostic, ...]:
    """Check the prerequisites of a push: confirmation times of drivers, files of the plan, a login that survives it.

    With `back`, switches return to an earlier configuration, with which the login worked. A `trial` commits nothing, so
    its login needs no check.

    Returns:
        Findings of the proof, and about the login.

    Raises:
        PushRefusedError: FAB9121, FAB9133, FAB9150 or FAB9160.
    """
    start_checks.require_revert_time(setting, names)
    if not setting.digest_named:
        prove_files(setting.source, names)
    remarks = () if back or trial else setting.source.remarks
    if any(each.severity is Severity.ERROR for each in remarks):
        raise PushRefusedError.of(remarks)
    if not setting.login_known:
        return (*remarks, _UNJUDGED)
    return remarks if back else (*remarks, *start_checks.require_login(setting, names, trial=trial))


def report_findings(setting: Setting, findings: Sequence[Diagnostic]) -> None:
    """Print what to know before a push."""
    for one in findings:
        setting.reporter.print_line(f"{one.severity.value}[{one.code}]: {one.message}")


_UNJUDGED = Diagnostic(
    "FAB3252",
    Severity.NOTE,
    "no access file, so fabricc cannot check that its login works after the push",
    None,
    "Name one with --access, or put it next to the spec.",
)


@contextmanager
def hold_journal(setting: Setting) -> Iterator[Journal]:
    """Open the journal, and lock it against other runs on these switches."""
    source = setting.source
    address = next((one.address for one in source.devices.values()), "")
    with (
        hold_switches(setting.journal, source.fabric.cluster, address),
        closing(Journal(setting.journal)) as journal,
    ):
        yield journal


def _begin_run(setting: Setting, journal: Journal, kind: str, names: Sequence[str]) -> int:
    if open_runs := [run for run in journal.runs() if run.ended is None]:
        number = open_runs[0].id
        remedy = f"End it first: `fabricc push TREE --resume`, or `--rollback {number}` to undo it."
        raise PushRefusedError("FAB9128", f"run {number} was not finished", remedy)
    source = setting.source
    stated = {**setting.options.to_record(), **source.origin.to_record(), SESSION: new_session()}
    return journal.begin(kind, str(source.tree), source.digest, stated, iter(names))


def push_tree(setting: Setting) -> Outcome:
    """Bring every switch to the tree.

    Raises:
        PushRefusedError: it does not start; nothing was changed.
    """
    with hold_journal(setting) as journal:
        return run_push(setting, journal, setting.names, "push", None)


def run_push(
    setting: Setting,
    journal: Journal,
    names: list[str],
    kind: str,
    target: Callable[[str], Files] | None,
    action: str = INSTALL,
) -> Outcome:
    """Push to some switches as a new run.

    Args:
        setting: the task.
        journal: of the run.
        names: the switches.
        kind: of the run, as the journal has it.
        target: the files for each switch in place of those of the tree; switches then return to them.
        action: what the hook of the run is called for.
    """
    back = target is not None
    report_findings(setting, check_prerequisites(setting, names, back=back))
    if not back:
        report_findings(setting, setting.check_step_order(journal))
    hooked = f", {action}{HOOKED}" if setting.hook else ""
    run = _begin_run(setting, journal, kind + hooked, names)
    flow = Push(setting.executor(journal, run, target, action, back=back), setting.reporter)
    try:
        requested = flow.read_switches(names)
        waves = flow.waves()
        flow.stop_guards()
    except PushRefusedError:
        journal.drop(run)
        raise
    _report_start(setting, flow, requested, waves)
    flow.carry_out(waves)
    return flow.finish()


def _report_start(
    setting: Setting, flow: Push, states: Mapping[str, InitialState], waves: Sequence[Wave]
) -> None:
    print_line = setting.reporter.print_line
    drains = sum(1 for one in flow.effects.values() if one.disruptive)
    seconds, basis = estimate_s(waves, flow.effects, flow.executor)
    print_line(f"tree {setting.source.tree}, sha256 {setting.source.digest}")
    print_line(
        f"run {flow.executor.run}: {len(flow.effects)} of {plural(len(states), 'switch')} to change, "
        f"{drains} disruptively; "
        f"{plural(len(waves), 'wave')}, about {format_duration(seconds)} ({basis})"
    )
    for session in [text for one in states.values() for text in one.down][:5]:
        print_line(f"down already: {session}")
    for line in [*list_unwatched(setting, states), *report_drain_timers(flow.executor, flow.effects, waves)]:
        print_line(line)


def list_unwatched(setting: Setting, states: Mapping[str, InitialState]) -> list[str]:
    """Return one line per NOS with the values that gates cannot watch, because its switches do not report them."""
    devices = setting.source.devices
    return lossless.describe_gaps(
        ((devices[name].nos, one.unstated) for name, one in states.items()), "watched"
    )


def report_drain_timers(
    executor: Executor, effects: Mapping[str, Effect], waves: Sequence[Wave]
) -> list[str]:
    """Return one line per NOS that explains how switches leave the drain if the push is killed."""
    if not executor.options.drain:
        return []
    sizes = [sum(effects[name].disruptive for name in wave.members) for wave in waves]
    rounds = -(-max(sizes, default=0) // executor.options.parallel)
    time = format_duration(executor.guard_s * rounds)
    counts = Counter(
        (executor.source.devices[name].nos, executor.has_guard(name))
        for name, one in effects.items()
        if one.disruptive
    )
    return [
        f"{plural(count, 'switch')} with {nos} drained; one that a killed push leaves so "
        + (
            f"goes back in service by itself within {time}"
            if guarded
            else "stays so until --resume or --rollback: the system has no timer for it"
        )
        for (nos, guarded), count in sorted(counts.items())
    ]


def format_duration(seconds: float) -> str:
    """Format a duration."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def preview_push(setting: Setting) -> Preview:
    """Read the diff of every switch and plan the waves; change nothing and record no run.

    Raises:
        PushRefusedError: a switch cannot be pushed to, or the share cannot be kept.
    """
    findings = check_prerequisites(setting, setting.names)
    with hold_journal(setting) as journal:
        findings += setting.check_step_order(journal)
        run = _begin_run(setting, journal, "dry run", setting.names)
        flow = Push(setting.executor(journal, run), setting.reporter)
        try:
            requested = flow.read_switches(setting.names)
            waves = flow.waves()
            seconds, basis = estimate_s(waves, flow.effects, flow.executor)
        finally:
            journal.drop(run)
    reports = list_unwatched(setting, requested), report_drain_timers(flow.executor, flow.effects, waves)
    for name, hold in flow.executor.stopping.items():
        setting.reporter.print_line(f"{describe_guard(name, hold)}; the push stops it")
    findings += (*report_skipped(flow.skipped, Severity.WARNING), *report_parted(waves))
    digest = setting.source.digest
    return Preview(
        digest, flow.effects, waves, seconds, basis, requested, 0, *reports, findings, flow.skipped
    )


def plan_push(setting: Setting) -> Preview:
    """Plan the waves from the states in the journal; contacts no switch.

    Raises:
        PushRefusedError: FAB9121, the share cannot be kept; FAB9133, a driver cannot revert within the time.
    """
    findings = check_prerequisites(setting, setting.names)
    source = setting.source
    effects: dict[str, Effect] = {}
    unknown = 0
    with closing(Journal(setting.journal)) as journal:
        findings += setting.check_step_order(journal)
        executor = setting.executor(journal, 0)
        for name in setting.names:
            wanted, known = source.files(name), journal.read_last_tree(source.devices[name])
            if setting.hook:
                effects[name] = Effect(Effect.unknown(source.devices[name]).platform, Impact.RELOAD, INSTALL)
            elif known:
                found = executor.effect(
                    name, running.unpack_files(source.devices[name].nos, known, wanted), wanted
                )
                if found.impact or running.pack_files(wanted) != known:
                    effects[name] = found
            else:
                unknown += 1
                effects[name] = Effect.unknown(source.devices[name])
        planted = build_capacity_model(source.fabric, source.places, effects)
        waves = plan_waves(planted, setting.options.keep, setting.options.most)
        seconds, basis = estimate_s(waves, effects, executor)
        drained = report_drain_timers(executor, effects, waves)
    return Preview(
        source.digest, effects, waves, seconds, basis, assumed=unknown, drained=drained,
        findings=(*findings, *report_parted(waves)),
    )  # fmt: skip


def list_runs(
    journal: Path, number: int | None
) -> list[tuple[Run, Mapping[str, tuple[State, str, str, int]]]]:
    """Return runs with their switches: the latest first, or the one with this number.

    Raises:
        PushRefusedError: FAB9125, there is none.
    """
    with closing(Journal(journal)) as opened:
        found = [opened.run(number)] if number is not None else opened.runs()[:10]
        if not found:
            opened.run()
        return [(run, opened.states(run.id)) for run in found]
