"""Finish a run that was killed or lost switches: read what each switch runs, then continue or roll back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.operate.devices import running
from fabricc.operate.devices.errors import DeviceError
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.push.journal import FINAL, NEW, State

if TYPE_CHECKING:
    from fabricc.operate.push.executor import Executor
    from fabricc.operate.push.run import Push


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
