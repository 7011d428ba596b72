"""End an earlier run: finish the switches that it left half way, then continue it or take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.operate.devices import DeviceError, running
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.push import start
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.image_step import INSTALL, OPPOSITE, RETURN
from fabricc.operate.push.journal import FINAL, NEW, State
from fabricc.operate.push.options import Options
from fabricc.operate.push.run import Outcome, Push
from fabricc.operate.push.secret_store import MARK, require_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fabricc.operate.change.order import Wave
    from fabricc.operate.push.executor import Executor
    from fabricc.operate.push.journal import Journal, Run
    from fabricc.operate.push.reach import Files
    from fabricc.operate.push.setting import Setting


def resume_run(setting: Setting) -> Outcome:
    """Finish the latest run: first the switches whose change was interrupted, then the remaining waves.

    It uses the options of that run.

    Raises:
        PushRefusedError: FAB9125 there is none, FAB9129 the tree is another by now, or a switch refuses.
    """
    with start.hold_journal(setting) as journal:
        run = journal.run()
        _require_hook(setting, run)
        setting = _restore_options(setting, run)
        names = [name for name in journal.states(run.id) if name in setting.source.places]
        start.report_findings(
            setting, start.check_prerequisites(setting, names, back=run.kind.startswith(start.BACK))
        )
        source = setting.source
        if run.digest != source.digest:
            remedy = f"Build that state again, or undo the run with --rollback {run.id}."
            raise PushRefusedError("FAB9129", f"run {run.id} was of another state of {run.tree}", remedy)
        target = _get_target(setting, journal, run)
        back = run.kind.startswith(start.BACK)
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
        PushRefusedError: a switch refuses, or the share cannot be kept.
    """
    journal, run = flow.executor.journal, flow.executor.run
    old = settle_switches(flow)
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
    """Restore the configuration of every switch from before a run, in waves like a push, with the options of the run.

    Raises:
        PushRefusedError: FAB9125, there is no such run; or the way back cannot start, and nothing was changed.
    """
    with start.hold_journal(setting) as journal:
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
        begun = [name for name in list_unfinished(flow.executor) if journal.entry(run.id, name).before]
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
    """Push the configurations from before a run to the switches that still run its configuration."""

    def then(name: str) -> str:
        """Return the name that a switch had in that run."""
        return name if name in newer else setting.source.devices[name].former

    def before(name: str) -> Files:
        kept = journal.entry(run.id, then(name)).before
        return running.unpack_files(setting.source.devices[name].nos, kept, setting.source.files(name))

    chosen = [name for name in setting.names if then(name) in newer]
    return start.run_push(
        setting, journal, chosen, f"{start.BACK} of {run.id}", before, OPPOSITE[_get_hook_action(run)]
    )


def _restore_options(setting: Setting, run: Run) -> Setting:
    """Return the setting with the options of an earlier run, except those on the command line now.

    Raises:
        PushRefusedError: FAB9124, the journal does not state them.
    """
    try:
        begun = Options.of(run.options)
    except ValueError as error:
        raise PushRefusedError("FAB9124", f"the options of run {run.id} are damaged: {error}") from None
    requested = {name: getattr(setting.options, name) for name in setting.stated}
    return replace(setting, options=replace(begun, **requested))


def _require_hook(setting: Setting, run: Run) -> None:
    """Require the same image step for resuming or rolling back a run as at its start.

    Raises:
        PushRefusedError: FAB9433, the run has an image step and no hook is named, or the reverse.
    """
    if run.kind.endswith(start.HOOKED) != (setting.hook is not None):
        began = (
            f"run {run.id} installs releases" if setting.hook is None else f"run {run.id} has no image step"
        )
        remedy = "Name its hook with --hook." if setting.hook is None else "Leave --hook out."
        raise PushRefusedError("FAB9433", began, remedy)


def _get_hook_action(run: Run) -> str:
    """Return the action for which a run calls its hook."""
    return RETURN if run.kind.endswith(RETURN + start.HOOKED) else INSTALL


def _get_target(setting: Setting, journal: Journal, run: Run) -> Callable[[str], Files]:
    """Return a function that returns the target files of a switch in a run.

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
    """Return a function that reads the configuration before a run and its target, by switch, from the journal."""

    def texts(name: str) -> tuple[str, str]:
        entry = journal.entry(run.id, name)
        return entry.before, entry.after

    return texts


def list_unfinished(executor: Executor) -> list[str]:
    """Switches of the run that something is left to do with, in the order of their waves.

    It includes switches in an unknown state: they are read again.
    """
    states = executor.journal.states(executor.run)
    settled = FINAL - {State.UNKNOWN}
    return [name for name, (state, intent, _, _) in states.items() if state not in settled or intent]


def settle_switches(push: Push) -> list[str]:
    """Read what the unfinished switches run; finish those that run the new configuration.

    Returns:
        The switches that still run the old one, which waves are to be planned for.
    """
    executor, journal = push.executor, push.executor.journal
    states = journal.states(executor.run)
    push.new |= {name for name, (state, intent, _, _) in states.items() if state in NEW and not intent}
    requested = [
        name for name in list_unfinished(executor) if executor.journal.entry(executor.run, name).before
    ]
    _remember_effects(push, [n for n, (s, *_) in states.items() if s is not State.UNCHANGED])

    def look(name: str) -> tuple[str, DeviceError | None]:
        try:
            word = executor.compare_running(name)
        except DeviceError as error:
            return "", error
        if executor.hook and states[name][0] in (State.PLANNED, State.DRAINED):
            word = word.replace("new", "old")  # of the same text, and not of the release
        if word != "old, drained":
            return word, None
        # In every case, no switch stays drained whose recorded state is that from before the run.
        if executor.restore(name, "drained when the run ended", State.PLANNED) is State.UNKNOWN:
            return "", DeviceError("FAB9117", journal.entry(executor.run, name).detail)
        return "old", None

    found = for_each(requested, look, executor.options.parallel)
    for name, (word, error) in found.items():
        if error is not None:
            push.failures[name] = error
            journal.record_state(executor.run, name, State.UNKNOWN, str(error))
        elif word == "old":
            message = "asked after the run was killed: runs the old one"
            journal.record_state(executor.run, name, State.PLANNED, message)
        elif word == "":
            wrong = DeviceError("FAB9112", f"{name} runs neither the old nor the new configuration")
            push.failures[name] = wrong
            journal.record_state(executor.run, name, State.UNKNOWN, str(wrong))
    new = ("new", "new, drained")
    halfway = [name for name, (word, error) in found.items() if error is None and word in new]
    _finish_switches(push, halfway, {name: word for name, (word, _) in found.items()})
    return [name for name, (word, _) in found.items() if word == "old"]


def _finish_switches(push: Push, halfway: list[str], words: dict[str, str]) -> None:
    """Prove and keep switches that run the new configuration, or bring them back."""
    executor = push.executor
    if not halfway:
        return
    push.reporter.print_line(f"{plural(len(halfway), 'switch')} with the new configuration already")

    def end(name: str) -> DeviceError | None:
        try:
            if words[name] == "new, drained":
                executor.undrain(name)
            final = State.UNDRAINED if executor.needs_drain(name) else State.CONFIRMED
            later = frozenset(push.effects.keys() - push.new - {name})
            executor.wait_for_gate(name, later, later, widths=False, received=False, state=final)
        except DeviceError as error:
            executor.restore(name, str(error))
            return error
        return None

    ended = for_each(halfway, end, executor.options.parallel)
    push.new |= {name for name, error in ended.items() if error is None}
    push.failures |= {name: error for name, error in ended.items() if error is not None}


def _remember_effects(push: Push, names: list[str]) -> None:
    executor = push.executor
    for name in names:
        entry = executor.journal.entry(executor.run, name)
        if not entry.before:
            continue
        after = executor.target(name)
        before = running.unpack_files(executor.source.devices[name].nos, entry.before, after)
        push.effects[name] = executor.effect(name, before, after)
