"""Run a push: read the switches, plan waves, change wave by wave, and roll back on any failure."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.operate.change.order_text import describe_kept_share, describe_parted
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.devices import DeviceError, UnreachableError
from fabricc.operate.devices.fanout import PATIENCE_S, for_each
from fabricc.operate.push.built_tree import PushRefusedError, StoppedError, UnansweredError
from fabricc.operate.push.journal import FINAL, NEW, Journal, State
from fabricc.operate.push.secret_store import require_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from fabricc.operate.change.order import Wave
    from fabricc.operate.drivers import Hold
    from fabricc.operate.push.executor import Executor, InitialState
from fabricc.operate.push.plan_waves import plan_waves, require_partners

R = TypeVar("R")


_MOST_LISTED = 20


@dataclass(slots=True)
class Reporter:
    """Receiver of progress: `print_line` takes a sentence, `progress` a phase, the number done and the total."""

    print_line: Callable[[str], None] = lambda _: None
    progress: Callable[[str, int, int], None] = lambda *_: None

    def ignore_errors(self) -> Reporter:
        """The same, which loses what the terminal does not take: it may be gone or full, or be written to already."""

        def print_text(text: str) -> None:
            with suppress(Exception):
                self.print_line(text)

        def progress(what: str, done: int, total: int) -> None:
            with suppress(Exception):
                self.progress(what, done, total)

        return Reporter(print_text, progress)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a push.

    Attributes:
        digest: of the tree that switches were brought to, or back from.
        states: how many switches are in each state.
        diagnostics: what went wrong, a finding for each switch.
    """

    run: int
    digest: str
    states: Mapping[str, int]
    diagnostics: tuple[Diagnostic, ...]
    interrupted: bool = False

    @property
    def exit_status(self) -> int:
        """0 when every switch runs what it is to run, 3 when a switch failed, 130 after Ctrl-C."""
        if self.interrupted:
            return 130
        return 3 if any(d.severity is Severity.ERROR for d in self.diagnostics) else 0


@dataclass(slots=True)
class Push:
    """A run as it is carried out.

    Attributes:
        new: switches that run what they are to run.
        given_up: switches that were brought back before this run was resumed, and that it leaves at that.
        skipped: switches that the run leaves out, because they do not answer.
    """

    executor: Executor
    reporter: Reporter
    effects: dict[str, Effect] = field(default_factory=dict)
    failures: dict[str, DeviceError] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    given_up: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    _broken_by: dict[str, frozenset[str]] = field(default_factory=dict)
    _unread: frozenset[str] = frozenset()

    @property
    def _stopped(self) -> bool:
        """Return whether nothing new begins: after Ctrl-C, or when the journal cannot be written any more."""
        return self.executor.stop.is_set() or bool(self.executor.journal.trouble)

    # Many switches.

    def _all(
        self,
        what: str,
        names: Iterable[str],
        act: Callable[[str], R],
        *,
        always: bool = False,
        patience_s: float | None = None,
    ) -> tuple[dict[str, R], dict[str, DeviceError]]:
        """Return the act on every switch: what it returned, and what it failed with; none begins after Ctrl-C."""

        def run_guarded(name: str) -> tuple[R | None, DeviceError | None]:
            try:
                if self._stopped and not always:
                    raise DeviceError("FAB9118", f"{name}: interrupted before {what}")
                return act(name), None
            except DeviceError as error:
                return None, error

        progress = partial(self.reporter.progress, what)
        parallel = self.executor.options.parallel
        found = for_each(names, run_guarded, parallel, progress, patience_s=patience_s)
        good = {name: value for name, (value, error) in found.items() if error is None}
        bad = {name: error for name, (_, error) in found.items() if error is not None}
        return good, bad  # type: ignore[return-value]

    def read_switches(self, names: Iterable[str], *, resumed: bool = False) -> dict[str, InitialState]:
        """Read every switch; a resumed run continues without those that do not answer, even if none does.

        Raises:
            PushRefusedError: one cannot be pushed to; nothing was changed anywhere.
        """
        wanted = list(names)
        require_secrets(self.executor.access, lambda name: self.executor.target(name).values(), wanted)
        self.executor.require_endpoints(wanted)
        requested, failed = self._all("asking", wanted, self.executor.read_state, patience_s=PATIENCE_S)
        if self.executor.options.skip_unreachable and (requested or resumed):
            self._skip_unreachable(
                {name: error for name, error in failed.items() if isinstance(error, UnreachableError)}
            )
            failed = {name: error for name, error in failed.items() if name not in self.skipped}
        if failed:
            silent = any(isinstance(error, UnreachableError) for error in failed.values())
            kind = UnansweredError if silent else PushRefusedError
            raise (StoppedError if self.executor.stop.is_set() else kind).of(_list_failures(failed))
        self.executor.require_distinct()
        if trouble := self.executor.journal.trouble:
            path = self.executor.journal.path
            message = f"cannot write to the journal {path}: {trouble}; nothing was changed"
            raise PushRefusedError("FAB9124", message, "Make space for it.")
        self.effects = {name: one.effect for name, one in requested.items() if one.diff}
        for line in sorted(self.executor.beside):
            self.reporter.print_line(line)
        return requested

    def _skip_unreachable(self, failed: Mapping[str, DeviceError]) -> None:
        """Skip switches that do not answer: they stay planned, and a resumed run contacts them again."""
        self.skipped |= failed.keys()
        for at, (name, error) in enumerate(failed.items()):
            self.executor.journal.record_state(self.executor.run, name, State.PLANNED, f"left out: {error}")
            if at < _MOST_LISTED:
                self.reporter.print_line(f"left out: {error}")

    def stop_guards(self) -> None:
        """Stop the guards of dead runs, which would undo this one later.

        Raises:
            PushRefusedError: FAB9136, one has restored its switch meanwhile, or a switch does not answer.
        """
        stopping = self.executor.stopping
        for name, hold in stopping.items():
            self.reporter.print_line(
                f"{describe_guard(name, hold)}: it is stopped, and {name} stays as it runs"
            )
        _, failed = self._all("stopping guards", list(stopping), self.executor.stop_guard)
        if failed:
            raise PushRefusedError.of(_list_failures(failed))
        stopping.clear()

    # Waves.

    def waves(self, names: Iterable[str] | None = None) -> list[Wave]:
        """Return the waves of what changes.

        Raises:
            PushRefusedError: FAB9121, the share cannot be kept; FAB9141, the only other switch is left out.
        """
        source, options = self.executor.source, self.executor.options
        chosen = self.effects if names is None else {name: self.effects[name] for name in names}
        ordered = {name: chosen[name] for name in source.places if name in chosen}
        planted = build_capacity_model(source.fabric, source.places, ordered, self.skipped)
        if options.keep:
            require_partners(planted, options.keep, options.most)
        return plan_waves(planted, options.keep, options.most)

    def carry_out(self, waves: Sequence[Wave]) -> None:
        """Wave by wave, until all is done, too much fails, or Ctrl-C."""
        journal, run = self.executor.journal, self.executor.run
        self._broken_by = _reverse_breaks(self.effects)
        self._unread = self.skipped | (self.executor.source.places.keys() - journal.states(run).keys())
        journal.waves(run, {name: at for at, wave in enumerate(waves, 1) for name in wave.members})
        for number, wave in enumerate(waves, 1):
            if self._stopped or len(self.failures) > self.executor.options.failures:
                return
            word = " (canary)" if wave.canary else ""
            named = f"{_shorten_names(wave.members)}, {describe_kept_share(wave)}"
            self.reporter.print_line(f"wave {number} of {len(waves)}{word}: {named}")
            try:
                self._change_wave(list(wave.members), canary=wave.canary)
            except BaseException:
                self._bring_back_begun(wave.members, {})
                raise

    def _change_wave(self, members: list[str], *, canary: bool = False) -> None:
        executor = self.executor
        drains = [name for name in members if executor.options.drain and self.effects[name].disruptive]
        executor.rounds = -(-len(drains) // executor.options.parallel) or 1
        failed: dict[str, DeviceError] = {}
        later = frozenset(self.effects.keys() - self.new - set(members))

        def go(
            what: str, names: Iterable[str], act: Callable[[str], object], *, always: bool = False
        ) -> None:
            good, bad = self._all(what, [n for n in names if n not in failed], act, always=always)
            failed.update(bad)
            for warning in (word for words in good.values() if isinstance(words, tuple) for word in words):
                self.reporter.print_line(f"warning: {warning}")

        go("draining", drains, executor.drain)
        if drains and not failed:
            executor.stop.wait(executor.leaving_s(drains))
        if executor.hook and not self._too_many(failed):
            go("installing", members, executor.install)
        if not self._too_many(failed):
            go("changing", members, executor.change)
        if not self._too_many(failed):
            begun = [name for name in members if self.effects[name].disruptive and name not in failed]
            executor.stop.wait(executor.settling_s(begun))
            go("gates", members, lambda name: self._check_gate(name, later, State.VERIFIED))
        if canary and not failed:
            failed |= self._check_neighbors(members)
        if self._too_many(failed):
            self._bring_back_begun(members, failed)
            return
        self._bring_back_begun([name for name in members if name in failed], failed)
        failed.clear()
        good = [name for name in members if name not in self.failures]
        go("confirming", good, executor.confirm, always=True)
        drained = [name for name in good if name in drains]
        go("undraining", drained, executor.undrain, always=True)
        go("gates", drained, lambda name: self._check_gate(name, later, State.UNDRAINED), always=True)
        if canary and drains and not failed:
            failed |= self._check_neighbors(good)
        self.new.update(name for name in good if name not in failed)
        self._bring_back_begun([name for name in good if name in failed], failed)

    def _too_many(self, failed: Mapping[str, DeviceError]) -> bool:
        return self._stopped or len(self.failures) + len(failed) > self.executor.options.failures

    def _check_gate(self, name: str, later: frozenset[str], state: State) -> tuple[str, ...]:
        """Gate a switch while those in `later` are yet to change; what they cut off, its neighbors cannot announce."""
        waiting = later & (self.effects[name].breaks | self._broken_by.get(name, frozenset()))
        whole = not any(self.effects[other].breaks for other in later)
        received = whole and not self.effects[name].loses_vrf
        watched = {"widths": not self._broken_by, "received": received}
        return self.executor.wait_for_gate(name, waiting, later, **watched, unread=self._unread, state=state)

    def _check_neighbors(self, canaries: Sequence[str]) -> dict[str, DeviceError]:
        """Return failures of canaries whose neighbor had a storm since it was read, or stopped answering."""
        executor = self.executor
        beside = {one.peer: name for name in canaries for one in executor.source.switch(name).bgp.sessions}
        requested = executor.journal.states(executor.run).keys() - self.skipped
        _, bad = self._all("neighbors", [one for one in beside if one in requested], executor.check_neighbor)
        return {beside[one]: DeviceError(error.code, f"{beside[one]}: {error}") for one, error in bad.items()}

    def _bring_back_begun(self, names: Sequence[str], failed: Mapping[str, DeviceError]) -> None:
        """Bring switches back that were begun with, and note why."""
        states = self.executor.journal.states(self.executor.run)
        begun = [n for n in names if states[n][0] not in (State.PLANNED, *FINAL) or states[n][1]]
        begun += [n for n in names if states[n][0] in NEW and n in failed and n not in begun]
        reasons = {n: str(failed.get(n) or "another switch of the wave failed") for n in names}
        if self._stopped:
            why = "the journal cannot be written" if self.executor.journal.trouble else "interrupted"
            reasons = {n: str(failed[n]) if n in failed else why for n in names}
        self.failures.update({n: failed[n] for n in names if n in failed})
        if begun:
            self.reporter.print_line(f"bringing back {_shorten_names(begun)}")
            self._all("bringing back", begun, lambda n: self.executor.restore(n, reasons[n]), always=True)

    def bring_back(self, names: Sequence[str], why: str) -> None:
        """Bring switches back to what they ran before the run."""
        self._all("bringing back", names, lambda name: self.executor.restore(name, why), always=True)

    def drop_candidates(self, names: Iterable[str]) -> None:
        """Drop the candidates that a killed run left on switches that it has not changed; others expire."""
        self._all("dropping candidates", names, self.executor.drop_candidate, always=True)

    # The end.

    def finish(self) -> Outcome:
        """Close the run in the journal, and return its outcome."""
        found = self._failure_diagnostics() or _report_rolled_back(sorted(self.given_up))
        states = self.executor.journal.states(self.executor.run)
        left = any(state is State.PLANNED for name, (state, *_) in states.items() if name not in self.skipped)
        good = not found and not left and not self._stopped
        if not left or self.failures or self._stopped:
            word = "interrupted" if self._stopped else "failed"
            self._end(word if not good else "partial" if self.skipped else "done")
        skipped = report_skipped(self.skipped, Severity.ERROR)
        return self._make_outcome([*found, *skipped], interrupted=self.executor.stop.is_set() and not good)

    def finish_rollback(self) -> Outcome:
        """Close a run whose switches were rolled back, and report those that were not."""
        self._end("rolled back")
        return self._make_outcome(self._failure_diagnostics())

    def _end(self, word: str) -> None:
        self.executor.journal.end(self.executor.run, word)

    def _make_outcome(self, found: list[Diagnostic], *, interrupted: bool = False) -> Outcome:
        executor = self.executor
        found += self._report_journal()
        counts = Counter(state.value for state, *_ in executor.journal.states(executor.run).values())
        return Outcome(executor.run, executor.source.digest, dict(counts), tuple(found), interrupted)

    def _report_journal(self) -> list[Diagnostic]:
        """Report a journal that was removed, or could not be written, and the states that it does not have."""
        journal = self.executor.journal
        whole = journal.is_complete()
        if journal.replaced or (journal.removed and whole and not journal.trouble):
            return [_make_journal_finding(journal)]
        if not journal.trouble:
            return []
        why = f"could not be written ({journal.trouble}), and the push was stopped"
        message = f"the journal {journal.path} {why}"
        remedy = "Free some space; then `fabricc push TREE` changes the switches that are left."
        if not whole:
            known = journal.states(self.executor.run).items()
            by = group_pairs((state.value, name) for name, (state, *_) in known)
            states = "; ".join(f"{state}: {', '.join(names)}" for state, names in by.items())
            message += f". It does not state how the run ended: {states}"
            remedy = (
                f"Free some space; then `fabricc push TREE --rollback {self.executor.run}` reads every "
                "unfinished switch, rolls it back, and corrects the journal."
            )
        return [Diagnostic("FAB9151", Severity.ERROR, message, None, remedy)]

    def _failure_diagnostics(self) -> list[Diagnostic]:
        """Return what failed, and the switches of which nobody knows what they run."""
        found = list(_list_failures({n: e for n, e in self.failures.items() if e.code != "FAB9118"}))
        for name, (state, _, detail, _) in self.executor.journal.states(self.executor.run).items():
            if state is State.UNKNOWN:
                remedy = (
                    "Check the switch: it may be drained or half changed. When it answers, run `fabricc push TREE "
                    f"--resume` to continue, or `--rollback {self.executor.run}` to restore it."
                )
                message = f"{name} is in an unknown state: {detail}"
                found.append(Diagnostic("FAB9119", Severity.ERROR, message, None, remedy))
        return found


def _make_journal_finding(journal: Journal) -> Diagnostic:
    """Return the finding about a journal whose file was taken away while the run wrote to it."""
    if journal.replaced:
        message = f"the journal {journal.path} was replaced while the push ran; the new file has no record of this run"
        remedy = "Put the right file in place. The next push needs --adopt, and this run cannot be undone."
        return Diagnostic("FAB9139", Severity.ERROR, message, None, remedy)
    message = (
        f"the journal {journal.path} was removed while the push ran; it was written again, and is complete"
    )
    return Diagnostic("FAB9139", Severity.WARNING, message)


def describe_guard(name: str, hold: Hold) -> str:
    """Return a guard of a dead run as a warning: what it would do."""
    left = max(0.0, hold.left_s or 0.0)
    return f"warning[FAB9137]: {name}: a guard of {hold.owner} restores the configuration before it in {left:.0f} s"


def report_skipped(names: Collection[str], severity: Severity) -> list[Diagnostic]:
    """Return the finding about switches that a push leaves out because they do not answer."""
    if not names:
        return []
    message = f"left out, because they do not answer: {_shorten_names(sorted(names))}"
    remedy = "When they answer, `fabricc push TREE --resume` or another push changes them."
    return [Diagnostic("FAB9140", severity, message, None, remedy)]


def report_parted(waves: Sequence[Wave]) -> list[Diagnostic]:
    """Return the findings about hosts that have no plane in common with others during a wave."""
    remedy = "Bring back the ToRs that are out first, or let the jobs leave these hosts."
    return [
        Diagnostic("FAB9410", Severity.WARNING, f"wave {number}: {parted}", None, remedy)
        for number, wave in enumerate(waves, 1)
        if (parted := describe_parted(wave))
    ]


def _report_rolled_back(names: Sequence[str]) -> list[Diagnostic]:
    """That switches of a resumed run which met no other failure run what they ran before it."""
    if not names:
        return []
    message = f"rolled back before the run was resumed, and unchanged since: {_shorten_names(names)}"
    return [Diagnostic("FAB9135", Severity.ERROR, message, None, "`fabricc push TREE` changes them.")]


def _list_failures(failed: Mapping[str, DeviceError]) -> tuple[Diagnostic, ...]:
    """Return a finding for each switch, the first ones in full."""
    shown = [error.diagnostic for error in failed.values()][:_MOST_LISTED]
    if len(failed) > _MOST_LISTED:
        shown.append(
            Diagnostic(shown[-1].code, Severity.ERROR, f"and {len(failed) - _MOST_LISTED} more switches")
        )
    return tuple(shown)


def _reverse_breaks(effects: Mapping[str, Effect]) -> dict[str, frozenset[str]]:
    """Switch -> switches whose change takes its links down while it has not changed itself."""
    found: dict[str, set[str]] = {}
    for name, effect in effects.items():
        for peer in effect.breaks:
            found.setdefault(peer, set()).add(name)
    return {peer: frozenset(names) for peer, names in found.items()}


def _shorten_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
