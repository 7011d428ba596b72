"""Start a push, a preview without changes, or the end of an earlier run (resume, rollback)."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.devices import running
from fabricc.operate.drivers import lossless
from fabricc.operate.push import start_checks, unfinished
from fabricc.operate.push.built_tree import PushRefusedError, prove_files
from fabricc.operate.push.image_step import INSTALL, OPPOSITE, RETURN
from fabricc.operate.push.journal import NEW, SESSION, Journal, Run, State
from fabricc.operate.push.options import Options
from fabricc.operate.push.ownership import hold_switches, new_session
from fabricc.operate.push.run import Outcome, Push, describe_guard, estimate_s, plan_waves, report_skipped
from fabricc.operate.push.secret_store import MARK, require_secrets
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.change.order import Wave
    from fabricc.operate.push.executor import Executor, InitialState
    from fabricc.operate.push.reach import Files
    from fabricc.operate.push.setting import Setting

_BACK = "rollback"
"""How the kind of a run begins that brings switches back."""
_HOOKED = " by hook"
"""How the kind of a run ends that calls a hook; the action stands before it."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a push.

    Attributes:
        digest: of the tree.
        effects: switch that changes -> what its change does.
        seconds, basis: estimated time, and what the figure rests on.
        initial_states: the state that was read from switches; empty when none was contacted.
        assumed: switches whose change is not known and counted as disruptive.
        unwatched: what gates cannot watch, a line each.
        drained: what becomes of drained switches should the push be killed, a line each.
        findings: what to know of the push's own login.
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
    """Return what a push of any kind rests on: times that drivers take, files of the plan, a login that outlives it.

    With `back` the switches return to an earlier configuration, to which a login is known to work. A `trial` commits
    nothing, so it needs no login that outlives it.

    Returns:
        What to know of the login.

    Raises:
        RefusedError: FAB9133, FAB9150 or FAB9160.
    """
    start_checks.require_revert_time(setting, names)
    if not setting.digest_named:
        prove_files(setting.source, names)
    if not setting.login_known:
        return (_UNJUDGED,)
    return () if back else start_checks.require_login(setting, names, trial=trial)


def _report_findings(setting: Setting, findings: Sequence[Diagnostic]) -> None:
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
    """The journal of a run, and no other run on these switches meanwhile."""
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
        RefusedError: it does not start; nothing was changed.
    """
    with hold_journal(setting) as journal:
        return _run_push(setting, journal, setting.names, "push", None)


def _run_push(
    setting: Setting,
    journal: Journal,
    names: list[str],
    kind: str,
    target: Callable[[str], Files] | None,
    action: str = INSTALL,
) -> Outcome:
    back = target is not None
    _report_findings(setting, check_prerequisites(setting, names, back=back))
    if not back:
        _report_findings(setting, setting.check_step_order(journal))
    hooked = f", {action}{_HOOKED}" if setting.hook else ""
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
    """Return what gates cannot watch, because switches do not state it: a line for each NOS."""
    devices = setting.source.devices
    return lossless.describe_gaps(
        ((devices[name].nos, one.unstated) for name, one in states.items()), "watched"
    )


def report_drain_timers(
    executor: Executor, effects: Mapping[str, Effect], waves: Sequence[Wave]
) -> list[str]:
    """Return what becomes of switches that a push leaves drained because it is killed: a line for each NOS."""
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
    """Read every switch's own diff, and plan the waves; changes nothing and keeps no run in the journal.

    Raises:
        RefusedError: a switch cannot be pushed to, or the share cannot be kept.
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
    findings += (*report_skipped(flow.skipped, Severity.WARNING),)
    digest = setting.source.digest
    return Preview(
        digest, flow.effects, waves, seconds, basis, requested, 0, *reports, findings, flow.skipped
    )


def plan_push(setting: Setting) -> Preview:
    """Plan the waves from the states in the journal; contacts no switch.

    Raises:
        RefusedError: FAB9121, the share cannot be kept; FAB9133, a driver cannot revert within the time.
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
        source.digest, effects, waves, seconds, basis, assumed=unknown, drained=drained, findings=findings
    )


def _get_target(setting: Setting, journal: Journal, run: Run) -> Callable[[str], Files]:
    """Return the files that a run gives to each switch.

    The journal has them for the switches that the run contacted. The others get the files of the tree, or, in a
    rollback, what they ran before the run that it undoes.
    """
    undone = run.undone_run

    def target(name: str) -> Files:
        files = setting.source.files(name)
        kept = journal.entry(run.id, name).after
        if not kept and undone is not None:
            kept = journal.entry(undone, _find_earlier_name(setting, journal, undone, name)).before
        return running.unpack_files(setting.source.devices[name].nos, kept, files) if kept else files

    return target


def _find_earlier_name(setting: Setting, journal: Journal, run: int, name: str) -> str:
    """Return the name that a switch had in an earlier run."""
    return name if name in journal.states(run) else setting.source.devices[name].former


def _read_stored_texts(journal: Journal, run: Run) -> Callable[[str], tuple[str, str]]:
    """Return what the journal has of a switch: what it ran, and what it was to run."""

    def texts(name: str) -> tuple[str, str]:
        entry = journal.entry(run.id, name)
        return entry.before, entry.after

    return texts


def _restore_options(setting: Setting, run: Run) -> Setting:
    """Return the setting with the options of an earlier run, except those on the command line now.

    Raises:
        RefusedError: FAB9124, the journal does not state them.
    """
    try:
        begun = Options.of(run.options)
    except ValueError as error:
        raise PushRefusedError("FAB9124", f"the options of run {run.id} are damaged: {error}") from None
    requested = {name: getattr(setting.options, name) for name in setting.stated}
    return replace(setting, options=replace(begun, **requested))


def _get_hook_action(run: Run) -> str:
    """Return what the hook of a run is called for."""
    return RETURN if run.kind.endswith(RETURN + _HOOKED) else INSTALL


def _require_hook(setting: Setting, run: Run) -> None:
    """Hold a run that is ended, or taken back, to the image step that it began with.

    Raises:
        RefusedError: FAB9433, it has one and no hook is named, or the other way.
    """
    if run.kind.endswith(_HOOKED) != (setting.hook is not None):
        began = (
            f"run {run.id} installs releases" if setting.hook is None else f"run {run.id} has no image step"
        )
        remedy = "Name its hook with --hook." if setting.hook is None else "Leave --hook out."
        raise PushRefusedError("FAB9433", began, remedy)


def resume_run(setting: Setting) -> Outcome:
    """End the latest run: switches that were in the midst of their change first, then the waves that are left.

    It goes on with the options that it began with.

    Raises:
        RefusedError: FAB9125 there is none, FAB9129 the tree is another by now, or a switch refuses.
    """
    with hold_journal(setting) as journal:
        run = journal.run()
        _require_hook(setting, run)
        setting = _restore_options(setting, run)
        names = [name for name in journal.states(run.id) if name in setting.source.places]
        _report_findings(setting, check_prerequisites(setting, names, back=run.kind.startswith(_BACK)))
        source = setting.source
        if run.digest != source.digest:
            remedy = f"Build that state again, or undo the run with --rollback {run.id}."
            raise PushRefusedError("FAB9129", f"run {run.id} was of another state of {run.tree}", remedy)
        target = _get_target(setting, journal, run)
        back = run.kind.startswith(_BACK)
        flow = Push(
            setting.executor(journal, run.id, target, _get_hook_action(run), back=back), setting.reporter
        )
        require_secrets(setting.access, _read_stored_texts(journal, run), journal.states(run.id))
        journal.reopen(run.id)
        flow.given_up = frozenset(
            name for name, (state, *_) in journal.states(run.id).items() if state is State.ROLLED_BACK
        )
        try:
            waves = _remaining_waves(flow)
        except PushRefusedError:
            if run.ended is not None:  # nothing goes on: it is over, as before
                journal.end(run.id, run.outcome or "failed")
            raise
        changing = sum(len(wave.members) for wave in waves)
        setting.reporter.print_line(
            f"run {run.id} goes on: {plural(changing, 'switch')} left in {plural(len(waves), 'wave')}"
        )
        flow.carry_out(waves)
        return flow.finish()


def _remaining_waves(flow: Push) -> list[Wave]:
    """Finish unfinished switches of a run, read those that it never contacted, and plan the remaining waves.

    Raises:
        RefusedError: a switch refuses, or the share cannot be kept.
    """
    journal, run = flow.executor.journal, flow.executor.run
    old = unfinished.settle_switches(flow)
    states = journal.states(run)
    fresh = [n for n, (s, *_) in states.items() if s is State.PLANNED and not journal.entry(run, n).before]
    kept = dict(flow.effects)
    requested = flow.read_switches(fresh, resumed=True) if fresh else {}
    changing = {*old, *(name for name, one in requested.items() if one.diff)}
    flow.effects = {**kept, **flow.effects}
    waves = flow.waves([name for name in flow.effects if name in changing])
    flow.stop_guards()
    return waves


def roll_back_run(setting: Setting, number: int) -> Outcome:
    """Bring every switch of a run back to what it ran before, in waves as a push does, with the options of the run.

    Raises:
        RefusedError: FAB9125, there is no such run; or the way back cannot start, and nothing was changed.
    """
    with hold_journal(setting) as journal:
        run = journal.run(number)
        _require_hook(setting, run)
        adopt = setting.options.adopt
        setting = _restore_options(setting, run)
        # The --adopt of the run does not cover changes that somebody made since.
        setting = replace(setting, options=replace(setting.options, adopt=adopt))
        target = _get_target(setting, journal, run)
        flow = Push(
            setting.executor(journal, run.id, target, _get_hook_action(run), back=True), setting.reporter
        )
        states = journal.states(run.id)
        require_secrets(setting.access, _read_stored_texts(journal, run), states)
        gone = [name for name in states if MARK in journal.entry(run.id, name).before]
        if gone:
            raise PushRefusedError(
                "FAB9153",
                f"what {gone[0]} ran before run {run.id} had secrets that are not stored now",
                "Only the last change of a switch with secrets can be undone: build the former state, and push it.",
            )
        begun = [
            name for name in unfinished.list_unfinished(flow.executor) if journal.entry(run.id, name).before
        ]
        begun = [n for n in begun if states[n][0] is not State.PLANNED or states[n][1]]
        if begun:
            setting.reporter.print_line(f"{plural(len(begun), 'switch')} left half way: going back first")
            if not adopt:
                flow.executor.suspects.update(begun)
            flow.bring_back(begun, f"rollback of run {run.id}")
        if run.ended is None:
            flow.drop_candidates(name for name, (state, *_) in states.items() if state is State.PLANNED)
        newer = {name: None for name, (state, *_) in journal.states(run.id).items() if state in NEW}
        ended = flow.finish_rollback() if run.ended is None or begun or not newer else None
        if ended and not newer:
            return ended
        try:
            outcome = _push_earlier_files(setting, journal, run, newer.keys())
        except PushRefusedError as error:
            if not ended or not begun:
                raise
            return replace(ended, diagnostics=(*ended.diagnostics, *error.diagnostics))
        untold = ended.diagnostics if ended else ()
        return replace(outcome, diagnostics=(*untold, *outcome.diagnostics))


def _push_earlier_files(setting: Setting, journal: Journal, run: Run, newer: Collection[str]) -> Outcome:
    """Push what ran before a run to the switches that run its configuration."""

    def then(name: str) -> str:
        """Return the name that a switch had in that run."""
        return name if name in newer else setting.source.devices[name].former

    def before(name: str) -> Files:
        kept = journal.entry(run.id, then(name)).before
        return running.unpack_files(setting.source.devices[name].nos, kept, setting.source.files(name))

    chosen = [name for name in setting.names if then(name) in newer]
    return _run_push(
        setting, journal, chosen, f"{_BACK} of {run.id}", before, OPPOSITE[_get_hook_action(run)]
    )


def list_runs(
    journal: Path, number: int | None
) -> list[tuple[Run, Mapping[str, tuple[State, str, str, int]]]]:
    """Return runs with their switches: the latest first, or the one with this number.

    Raises:
        RefusedError: FAB9125, there is none.
    """
    with closing(Journal(journal)) as opened:
        found = [opened.run(number)] if number is not None else opened.runs()[:10]
        if not found:
            opened.run()
        return [(run, opened.states(run.id)) for run in found]
