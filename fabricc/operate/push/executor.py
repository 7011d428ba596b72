"""What a push does to one switch: each act on a connection of its own, written to the journal before and after.

A new connection for every act keeps their number bounded, and proves each time that the switch can still be reached
and logged in to: a change is confirmed over a connection made after it.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.devices import running
from fabricc.operate.devices.failure import DeviceError
from fabricc.operate.push import gates, growth
from fabricc.operate.push.hook import OPPOSITE
from fabricc.operate.push.impact import Effect
from fabricc.operate.push.journal import FINAL, NEW, State
from fabricc.operate.push.options import UNREACHABLE_S, Congestion
from fabricc.operate.push.reach import SHOWN, Files, Reach, undo
from fabricc.operate.push.secrecy import set_apart, without_secrets
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.operate.devices.connection import Connection

_PAUSE_S, _RETRY_S = 0.5, 2.0
_SPARE_S = 30
_UNTOUCHED = (State.PLANNED, State.DRAINED, *(FINAL - NEW - {State.UNKNOWN}))
"""States of a switch on which the image step has not been begun, but where it is what is intended."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a switch said before anything changed.

    Attributes:
        diff: the device's own, "" when there is nothing to change.
        down: sessions that are down already.
        unstated: what gates watch and the switch does not state.
    """

    name: str
    diff: str
    effect: Effect
    down: tuple[str, ...]
    unstated: tuple[str, ...] = ()


@dataclass(slots=True)
class Executor(Reach):
    """The acts of one run; each may be called from any thread, and none for one switch at once."""

    _counted: dict[str, gates.Measured] = field(default_factory=dict)
    _proved: dict[str, int] = field(default_factory=dict)

    # Before.

    def ask(self, name: str) -> Asked:
        """Ask what a switch runs and what would change, and keep what is needed to bring it back. Changes nothing.

        Raises:
            DeviceError: FAB9106 another switch answers; FAB9111 a commit is pending; FAB9112 it runs something else
                than is known; FAB9113 nothing is known; FAB9114 it refuses the candidate; FAB9122 it cannot be drained;
                FAB9132 it has alarms.
        """
        device, wanted = self.source.devices[name], self.target(name)
        with self._connected(name) as switch:
            switch.require_no_commit()
            files = self._files(switch, wanted)
            self.require_identity(switch, files)
            self._require_known(name, files, wanted)
            if self.hook:  # the release of before may refuse the candidate
                diff = f"{self.action}: {device.nos} {device.release}\n"
            else:
                diff = without_secrets(device.nos, self._candidate(switch, wanted), files)
                switch.call("FAB9114", "discarding the candidate", "discard_config")
            measured = gates.measure(switch)
        planned = self.source.switch(name)
        if diff and not self.options.alarms and (alarms := measured.get("alarms")):
            remedy = "See what they are about; --allow-alarms pushes all the same, and stops at new ones."
            raise DeviceError("FAB9132", f"{name} has alarms: {'; '.join(alarms[:SHOWN])}", remedy)
        found = self.effect(name, files, wanted) if diff else Effect("", Impact.NONE)
        if diff and found.disruptive and self.options.drain:
            self._drained(name, files)
        held, secrets = set_apart(device.nos, files)
        if wanted != self.source.files(name):
            wanted, secrets = set_apart(device.nos, wanted, secrets)
        before, after = running.packed(held), running.packed(wanted)
        self.journal.asked(self.run, name, before, after, found.disruptive, measured, secrets)
        if not diff:
            self.journal.reached(self.run, name, State.UNCHANGED)
        missing = gates.unstated(measured, lossless=bool(planned.qos.lossless))
        return Asked(name, diff, found, tuple(gates.down_before(planned, measured)), tuple(missing))

    def _require_known(self, name: str, files: Files, wanted: Files) -> None:
        if self.options.adopt or not self._unlike(name, files, wanted):
            return
        known = self.journal.known(self.source.devices[name])
        if not known:
            remedy = "See `fabricc push TREE --dry-run --adopt`; --adopt takes what it runs now as known."
            message = f"{name}: no push has been here, and it does not run what the tree says"
            raise DeviceError("FAB9113", message, remedy)
        if wrong := self._unlike(name, files, running.unpacked(known, wanted)):
            remedy = "Bring the change into the spec or undo it; --adopt gives it up for what the tree says."
            raise DeviceError("FAB9112", f"{name} was changed since the last push: {wrong}", remedy)

    # The change.

    def drain(self, name: str) -> None:
        """Let traffic leave the switch: what it runs, with graceful shutdown.

        Raises:
            DeviceError: it does not take it.
        """
        self.journal.intend(self.run, name, "drain")
        self._commit(name, self._drained(name, self.old(name)), 0, first=True, guard=True)
        self.journal.reached(self.run, name, State.DRAINED)

    def install(self, name: str) -> None:
        """Let the hook act on the drained switch, which takes logins again then.

        Raises:
            DeviceError: FAB9430 to FAB9432, or FAB9110, it takes none.
        """
        self.journal.intend(self.run, name, "image")
        self._call_hook(self.action, name)
        self.journal.reached(self.run, name, State.INSTALLED)

    def _call_hook(self, action: str, name: str) -> None:
        if self.hook is None:
            return
        device, model = self.source.devices[name], self.source.switch(name).model.name
        self.hook.call(action, device, model, self.run)
        until = time.monotonic() + max(self.options.settle_s, UNREACHABLE_S)
        while True:
            try:
                with self._connected(name):
                    return
            except DeviceError:
                if time.monotonic() > until or self.stop.is_set():
                    raise
            time.sleep(_RETRY_S)

    def change(self, name: str) -> None:
        """Load and commit what the switch is to run, drained when the change is disruptive.

        Raises:
            DeviceError: FAB9114 the candidate or FAB9115 the commit fails.
        """
        began = time.monotonic()
        self.journal.intend(self.run, name, "change")
        first = not self.drains(name)
        self._commit(name, self._changed(name), self.confirms(name), announce=True, first=first)
        self.journal.reached(self.run, name, State.COMMITTED, seconds=time.monotonic() - began)

    def _commit(
        self,
        name: str,
        files: Files,
        revert_s: int,
        *,
        first: bool,
        announce: bool = False,
        guard: bool = False,
    ) -> None:
        with self._connected(name) as switch:
            if first:
                self._require_as_asked(name, switch)
            elif not switch.guard(self.guard_s, armed=True) and self.hook is None:  # a restart ends it too
                raise DeviceError("FAB9115", f"{name} went back in service by itself before its change")
            diff = self._candidate(switch, files)
            if guard:
                switch.guard(self.guard_s, armed=False)
            if announce:
                self.journal.reached(self.run, name, State.CANDIDATE)
                self.journal.intend(self.run, name, "commit")
            if not diff:
                switch.call("FAB9114", "discarding the candidate", "discard_config")
                return
            named = {"revert_in": revert_s} if revert_s else {}
            switch.call("FAB9115", "the commit", "commit_config", **named)

    def _require_as_asked(self, name: str, switch: Connection) -> None:
        """The gate right before a change: the switch is as it was when it was asked, which may be hours ago.

        Raises:
            DeviceError: FAB9111 a commit is pending; FAB9112 it runs something else; FAB9116 it has new alarms, or its
                PFC watchdog detected a storm. Nothing was changed on it.
        """
        entry, old = self._entry(name), self.old(name)
        try:
            if switch.pending():
                raise DeviceError("FAB9111", f"{name}: a commit of somebody else waits for its confirmation")
            files = self._files(switch, old)
            if running.packed(files) != entry.before and (wrong := self._unlike(name, files, old)):
                raise DeviceError("FAB9112", f"{name} was changed since it was asked: {wrong}")
            now = gates.health(switch)
            found = gates.new_alarms(dict(entry.baseline), now)
            found += growth.storms(self.source.switch(name), entry.baseline, now)
            if found:
                raise DeviceError("FAB9116", f"{name}, before its change: {'; '.join(found[:SHOWN])}")
        except DeviceError as error:
            self.journal.reached(self.run, name, State.PLANNED, str(error))
            raise
        self._counted[name] = now

    def gate(
        self,
        name: str,
        waiting: frozenset[str],
        later: frozenset[str],
        *,
        widths: bool,
        received: bool = True,
        apart: frozenset[str] = frozenset(),
        state: State = State.VERIFIED,
    ) -> tuple[str, ...]:
        """Wait until the switch runs what it is to run and is no worse than before.

        Args:
            name: the switch.
            waiting: peers with which links are down until they change too.
            later: switches that are yet to change: sessions that are new on this one need not be up.
            widths: whether next hops must be as many as before; `received`: whether prefixes must.
            received: see `widths`.
            apart: switches that the push has not asked: sessions to them that are new need not be up either.
            state: what it has reached then.

        Returns:
            What to know about it although it passed.

        Raises:
            DeviceError: FAB9116, it has not come good in time, or never will; FAB9110, it cannot be reached any more.
        """
        entry = self._entry(name)
        wanted = self._changed(name) if state is State.VERIFIED else self.target(name)
        planned = self.source.switch(name)
        before = {**entry.baseline, **self._counted.get(name, {})}
        until = time.monotonic() + self.options.settle_s
        lasting: list[str] = []
        crowded: list[str] = []
        while True:
            try:
                with self._connected(name) as switch:
                    files = self._files(switch, wanted)
                    wrong = self._unlike(name, files, wanted)
                    now = gates.measure(switch)
                lasting = growth.lasting(planned, before, now, self.options)
                crowded = growth.congestion(planned, before, now, self.options)
                found = [*lasting, wrong] if wrong else [*lasting]
                found += gates.complaints(
                    planned, before, now, waiting, later | apart,
                    widths=widths, received=received, leaving=self.source.leaving,
                )  # fmt: skip
                found += crowded if self.options.congestion is Congestion.STOP else []
                failure = DeviceError("FAB9116", f"{name}: {'; '.join(found[:SHOWN])}") if found else None
            except DeviceError as error:
                failure = error
            if failure is None:
                self._proved[name] = hash(running.packed(files))
                break
            if lasting or time.monotonic() > until or self.stop.is_set():
                raise failure
            time.sleep(_PAUSE_S)
        self.journal.reached(self.run, name, state)
        if state is State.VERIFIED:
            crowded += gates.ahead(planned, before, now, apart)
        return tuple(f"{name}: {one}" for one in crowded)

    def watch(self, name: str) -> None:
        """Look at a neighbour of a switch that changed; nothing was measured on one that was not asked.

        Raises:
            DeviceError: FAB9116, its PFC watchdog detected a storm; FAB9110, it cannot be reached any more.
        """
        before = {**self._entry(name).baseline, **self._counted.get(name, {})}
        if not before:
            return
        with self._connected(name) as switch:
            if found := growth.storms(self.source.switch(name), before, growth.counters(switch)):
                raise DeviceError("FAB9116", f"its neighbour {name}: {'; '.join(found[:SHOWN])}")

    def confirm(self, name: str) -> None:
        """Keep the change.

        Raises:
            DeviceError: FAB9115, it went back meanwhile or does not answer.
        """
        self.journal.intend(self.run, name, "confirm")
        if self.confirms(name):
            with self._connected(name) as switch:
                self.require_identity(switch, {})
                if self.drains(name):
                    switch.guard(self.guard_s, armed=True)
                if switch.pending():
                    switch.call("FAB9115", "the confirmation", "confirm_commit")
                self._require_runs(name, switch)
        drained = self.drains(name)
        self.journal.reached(self.run, name, State.CONFIRMED, "drained" if drained else "")
        if drained:
            self.journal.intend(self.run, name, "undrain")

    def _require_runs(self, name: str, switch: Connection) -> None:
        wanted = self._changed(name)
        files = self._files(switch, wanted)
        if self._proved.get(name) == hash(running.packed(files)):
            return
        if wrong := self._unlike(name, files, wanted):
            raise DeviceError("FAB9115", f"{name} went back before the confirmation: {wrong}")

    def undrain(self, name: str) -> None:
        """Let traffic come back.

        Raises:
            DeviceError: it does not take it.
        """
        self.journal.intend(self.run, name, "undrain")
        with self._connected(name, ending=True) as switch:
            self._load(switch, self.target(name), "FAB9115", "the commit")
            switch.release()

    # Back.

    def restore(self, name: str, why: str, state: State = State.ROLLED_BACK) -> State:
        """Bring the switch back to what it ran before, asking again while it does not answer; never raises.

        Returns:
            `state`, or `unknown` when it has not answered, or not taken it, for too long.
        """
        entry = self._entry(name)
        self.journal.intend(self.run, name, "restore")
        try:
            if self.hook and (entry.state not in _UNTOUCHED or entry.intent == "image"):
                self._call_hook(OPPOSITE[self.action], name)
            self._restored(name)
        except DeviceError as error:
            state, why = State.UNKNOWN, f"{why}; then {error}"
        self.journal.reached(self.run, name, state, why)
        return state

    def _restored(self, name: str) -> None:
        until = time.monotonic() + max(self.confirms(name) + _SPARE_S, UNREACHABLE_S)
        while True:
            try:
                with self._connected(name, ending=True) as switch:
                    self._restore(name, switch)
                    switch.release()
                return
            except DeviceError as error:
                if error.code == "FAB9106" or time.monotonic() > until:
                    raise
            time.sleep(_RETRY_S)

    def _restore(self, name: str, switch: Connection) -> None:
        self.require_identity(switch, {})
        old = self.old(name)
        undo(switch)
        try:
            self._return(name, switch, old)
        except DeviceError:
            # A full disk takes no candidate; what runs exactly what it ran needs none.
            if running.packed(self._files(switch, old)) != self._entry(name).before:
                raise

    def _return(self, name: str, switch: Connection, old: Files) -> None:
        self._load(switch, old, "FAB9117", "going back")
        if wrong := self._unlike(name, self._files(switch, old), old):
            raise DeviceError("FAB9117", f"{name} does not go back: {wrong}")

    def found(self, name: str) -> str:
        """What an unfinished switch runs: `old`, `new`, either `drained`, or "" for something else.

        A commit that waits for its confirmation is undone first: how long it still waits is not known.

        Raises:
            DeviceError: it does not answer.
        """
        wanted, old = self.target(name), self.old(name)
        with self._connected(name) as switch:
            self.require_identity(switch, {})
            undo(switch)
            word = self._word(name, self._files(switch, wanted), wanted, old)
            if "drained" in word:
                switch.guard(self.guard_s, armed=True)
            else:
                switch.release()
        return word

    def _word(self, name: str, files: Files, wanted: Files, old: Files) -> str:
        states: list[tuple[str, Callable[[], Files]]] = [("new", lambda: wanted), ("old", lambda: old)]
        if self.drains(name):
            states.append(("new, drained", lambda: self._drained(name, wanted)))
            states.append(("old, drained", lambda: self._drained(name, old)))
        return next((word for word, state in states if not self._unlike(name, files, state())), "")
