"""Run the actions of a push on one switch, each on a new connection and recorded in the journal before and after.

A new connection for every act keeps their number bounded, and proves each time that the switch can still be reached
and logged in to: a change is confirmed over a connection made after it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.values import dataclass
from fabricc.fabric.model import plan_peers
from fabricc.operate.change.resources import Effect
from fabricc.operate.devices import DeviceError, LockedError, running
from fabricc.operate.push import gates
from fabricc.operate.push.drain import list_sessions
from fabricc.operate.push.journal import State
from fabricc.operate.push.options import Congestion
from fabricc.operate.push.reach import SHOWN, Files
from fabricc.operate.push.rollback import MOST_REFUSED, RollbackRunner
from fabricc.operate.push.secret_store import extract_secrets, hide_secrets
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from fabricc.operate.devices.connection import Connection

_PAUSE_S = 0.5
_STATE = ("get_holds", "get_config")
"""What `require_free` and the files of a switch need."""
_AFTER_CHANGE = (State.VERIFIED, State.UNDRAINED)
"""States of a gate behind which the switch runs what the plan has."""
_GATE_REFUSED = MOST_REFUSED - 1
"""Refused logins in a row at a gate: one more is left for the way back."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """The state of a switch before anything changed.

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
class Executor(RollbackRunner):
    """The acts of one run; each may be called from any thread, and none for one switch at once."""

    _counted: dict[str, gates.Measurements] = field(default_factory=dict)
    _proved: dict[str, int] = field(default_factory=dict)
    _unread: dict[str, Counter[str]] = field(default_factory=dict)
    _peers: Mapping[str, Mapping[str, str]] | None = None

    # Before.

    def read_state(self, name: str) -> InitialState:
        """Read the running configuration and the difference, and store what a rollback needs. Changes nothing.

        Raises:
            DeviceError: FAB9106 another switch answers; FAB9111 a commit is pending; FAB9112 it runs something else
                than is known; FAB9113 nothing is known; FAB9114 it refuses the candidate; FAB9122 it cannot be drained;
                FAB9132 it has alarms; FAB9136 another session holds it.
        """
        device, wanted = self.source.devices[name], self.target(name)
        tunnels = self._is_vtep(name)
        with self._connect_switch(name) as switch:
            with switch.reading_ahead(*_STATE, "get_identity", *gates.list_getters(tunnels=tunnels)):
                self.require_free(name, switch, asking=True)
                files = self._files(switch, wanted)
                self.require_identity(switch, files)
                self._require_known(name, files, wanted)
                measured = gates.measure_switch(switch, tunnels=tunnels)
            if self.hook:  # the release of before may refuse the candidate
                diff = f"{self.action}: {device.nos} {device.release}\n"
            else:
                diff = hide_secrets(self._candidate(switch, wanted), files)
                switch.call("FAB9114", "discarding the candidate", "discard_config")
        planned = self.source.switch(name)
        if diff and not self.options.alarms and (alarms := measured.get("alarms")):
            remedy = "Check the alarms; with --allow-alarms the push continues, and stops only at new ones."
            raise DeviceError("FAB9132", f"{name} has alarms: {'; '.join(alarms[:SHOWN])}", remedy)
        found = self.effect(name, files, wanted) if diff else Effect("", Impact.NONE)
        if diff and self.options.adopt:
            self._note_drain(name, files, wanted)
        if diff and found.disruptive and self.options.drain:
            self._drain_running_files(name, files, measured)
            self._drain_target_files(name)
        if not measured.get("sessions", True) and list_sessions(device.nos, files):
            del measured["sessions"]  # an answer without them is no state to compare with
        loadable = back_ends.restore_unprinted(device.nos, files, wanted)
        held, secrets = extract_secrets(device.nos, loadable)
        if wanted != self.source.files(name):
            wanted, secrets = extract_secrets(device.nos, wanted, secrets)
        before, after = running.pack_files(held), running.pack_files(wanted)
        self.journal.record_plan(self.run, name, before, after, found.disruptive, measured, secrets)
        if not diff:
            self.journal.record_state(self.run, name, State.UNCHANGED)
        missing = gates.list_unstated(measured, lossless=bool(planned.qos.lossless))
        return InitialState(
            name, diff, found, tuple(gates.list_down_sessions(planned, measured)), tuple(missing)
        )

    def _note_drain(self, name: str, files: Files, target: Files) -> None:
        """Note that somebody has drained a switch that the push puts in service: another run may be at work on it."""
        with suppress(DeviceError):
            sessions = list_sessions(self.source.devices[name].nos, files)
            if not sessions or self._drain_switch_files(name, files) != files:
                return
            if self._drain_switch_files(name, target) != target:
                self.beside.append(f"{name}: it is drained, by a person or another run; the push undrains it")

    def _require_known(self, name: str, files: Files, target: Files) -> None:
        if self.options.adopt or not self._describe_difference(name, files, target):
            return
        known = self.journal.read_last_tree(self.source.devices[name])
        if not known:
            remedy = (
                "See `fabricc push TREE --dry-run --adopt`; --adopt starts from its present configuration."
            )
            message = f"{name}: it was never pushed, and its configuration differs from the tree"
            raise DeviceError("FAB9113", message, remedy)
        if wrong := self._describe_difference(name, files, self._unpack(name, known, target)):
            remedy = "Add the change to the spec or undo it; --adopt overwrites it with the tree."
            raise DeviceError("FAB9112", f"{name} was changed since the last push: {wrong}", remedy)

    # The change.

    def drain(self, name: str) -> None:
        """Let traffic leave the switch: what it runs, with graceful shutdown.

        Raises:
            DeviceError: it does not take it.
        """
        self.journal.record_intent(self.run, name, "drain")
        self._commit(name, self._drain_old_files(name), 0, first=True, guard=True)
        self.journal.record_state(self.run, name, State.DRAINED)

    def install(self, name: str) -> None:
        """Let the hook act on the drained switch, which takes logins again then.

        Raises:
            DeviceError: FAB9430 to FAB9432, or FAB9110, it takes none.
        """
        self.journal.record_intent(self.run, name, "image")
        self._call_hook(self.action, name)
        self.journal.record_state(self.run, name, State.INSTALLED)

    def change(self, name: str) -> None:
        """Load and commit what the switch is to run, drained when the change is disruptive.

        Raises:
            DeviceError: FAB9114 the candidate or FAB9115 the commit fails.
        """
        began = time.monotonic()
        self.journal.record_intent(self.run, name, "change")
        first = not self.needs_drain(name)
        self._commit(
            name, self._files_until_confirmed(name), self.get_revert_time(name), announce=True, first=first
        )
        self.journal.record_state(self.run, name, State.COMMITTED, seconds=time.monotonic() - began)

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
        with self._connect_switch(name) as switch:
            if first:
                self._require_as_asked(name, switch)
                if not self.hook:  # which may have changed the switch
                    self.unsent.add(name)
            else:
                self._require_as_left(name, switch)
            diff = self._candidate(switch, files)
            if guard:
                switch.guard(self.guard_s, armed=False)
            if announce:
                self.journal.record_state(self.run, name, State.CANDIDATE)
                self.journal.record_intent(self.run, name, "commit")
            if not diff:
                switch.call("FAB9114", "discarding the candidate", "discard_config")
                return
            named = {"revert_in": revert_s} if revert_s else {}
            self.unsent.discard(name)
            try:
                switch.call("FAB9115", "the commit", "commit_config", **named)
            except LockedError:
                if first and not self.hook:
                    self.unsent.add(name)
                else:  # what runs is this run's own state, or the commit of another session
                    self.suspects.add(name)
                    self.foreign.add(name)
                raise

    def _require_as_asked(self, name: str, switch: Connection) -> None:
        """Check right before a change that the switch is as it was when it was read, which may be hours ago.

        Raises:
            DeviceError: FAB9111 a commit is pending; FAB9112 it runs something else; FAB9116 it has new alarms, or its
                PFC watchdog detected a storm; FAB9136 another session holds it. Nothing was changed on it.
        """
        entry, old = self._read_entry(name), self.old_files(name)
        try:
            with switch.reading_ahead(*_STATE, "get_identity", *gates.HEALTH):
                self.require_free(name, switch)
                self.require_identity(switch, {})  # before anything is loaded
                now = gates.measure_health(switch)
                found = gates.find_new_alarms(dict(entry.baseline), now)
                found += gates.find_storms(self.source.switch(name), entry.baseline, now)
                if found:
                    raise DeviceError("FAB9116", f"{name}, before its change: {'; '.join(found[:SHOWN])}")
                files = self._files(switch, old)
            left = running.count_unread_lines(self.source.devices[name].nos, old)
            if running.pack_files(files) != entry.before and (
                wrong := self._describe_edits(name, files, left, old)
            ):
                raise DeviceError("FAB9112", f"{name} was changed after it was read: {wrong}")
        except DeviceError as error:
            self.journal.record_state(self.run, name, State.PLANNED, str(error))
            raise
        self._counted[name] = now

    def _require_as_left(self, name: str, switch: Connection) -> None:
        """Check right before a change that a drained switch is as the drain, or the image step, left it.

        Raises:
            DeviceError: FAB9111 a commit is pending; FAB9112 it runs something else; FAB9115 it went back in service;
                FAB9136 another session holds it.
        """
        self.suspects.add(name)  # until it is known that nobody else was here
        self.require_free(name, switch)
        if not switch.guard(self.guard_s, armed=True) and self.hook is None:  # a restart ends it too
            raise DeviceError("FAB9115", f"{name} went back in service by itself before its change")
        wanted = self._drain_old_files(name)
        # Another release prints other defaults, so after an image step facts alone are compared.
        left = None if self.hook else running.count_unread_lines(self.source.devices[name].nos, wanted)
        self._require_untouched(name, switch, wanted, left)
        self.suspects.discard(name)

    def _require_untouched(
        self, name: str, switch: Connection, target: Files, earlier_lines: Counter[str] | None
    ) -> None:
        """Refuse a drained switch that somebody else changed since this run did; see `_describe_edits`.

        Raises:
            DeviceError: FAB9112.
        """
        files = self._files(switch, target)
        wrong = (
            self._describe_difference(name, files, target)
            if earlier_lines is None
            else self._describe_edits(name, files, earlier_lines, target)
        )
        if wrong:
            self.edited.add(name)
            raise DeviceError(
                "FAB9112", f"{name} was changed by another session while it was drained: {wrong}"
            )

    def wait_for_gate(
        self,
        name: str,
        waiting: frozenset[str],
        later: frozenset[str],
        *,
        widths: bool,
        received: bool = True,
        unread: frozenset[str] = frozenset(),
        state: State = State.VERIFIED,
    ) -> tuple[str, ...]:
        """Wait until the switch runs what it is to run and is no worse than before.

        Args:
            name: the switch.
            waiting: peers with which links are down until they change too.
            later: switches that are yet to change: sessions that are new on this one need not be up.
            widths: whether next hops must be as many as before; `received`: whether prefixes must.
            received: see `widths`.
            unread: switches that the push did not contact: new sessions to them need not be up either.
            state: what it has reached then.

        Returns:
            What to know about it although it passed.

        Raises:
            DeviceError: FAB9116, it has not come good in time, or never will; FAB9110, it cannot be reached any more.
        """
        entry = self._read_entry(name)
        wanted = self._files_until_confirmed(name) if state is State.VERIFIED else self.target(name)
        planned = self.source.switch(name)
        configured = list_sessions(self.source.devices[name].nos, wanted)
        before = {**entry.baseline, **self._counted.get(name, {})}
        as_planned = self.target(name) == self.source.files(name)
        peers = self._plan_peers() if "router_macs" in before and state in _AFTER_CHANGE else {}
        until = time.monotonic() + self.options.settle_s
        lasting: list[str] = []
        crowded: list[str] = []
        while True:
            try:
                getters = gates.list_getters(tunnels=bool(peers))
                with (
                    self._connect_switch(name) as switch,
                    switch.reading_ahead("get_config", *getters),
                ):
                    files = self._files(switch, wanted)
                    wrong = self._describe_difference(name, files, wanted)
                    now = gates.measure_switch(switch, tunnels=bool(peers))
                lasting = gates.find_lasting_errors(planned, before, now, self.options)
                crowded = gates.find_congestion(planned, before, now, self.options)
                found = [*lasting, wrong] if wrong else [*lasting]
                found += gates.find_regressions(
                    planned, before, now, waiting, later | unread,
                    widths=widths, received=received, leaving=self.source.leaving, configured=configured,
                )  # fmt: skip
                found += gates.find_silent_sessions(planned, before, now, waiting) if as_planned else []
                found += gates.find_lost_peers(planned, peers, before, now, later | unread)
                found += crowded if self.options.congestion is Congestion.STOP else []
                failure = DeviceError("FAB9116", f"{name}: {'; '.join(found[:SHOWN])}") if found else None
                pause: float | None = _PAUSE_S
            except DeviceError as error:
                failure, pause = error, self.pause_s(name, error, _PAUSE_S, _GATE_REFUSED)
            if failure is None:
                self._proved[name] = hash(running.pack_files(files))
                self._unread[name] = running.count_unread_lines(self.source.devices[name].nos, files)
                break
            if lasting or time.monotonic() > until or self.stop.is_set() or pause is None:
                raise failure
            time.sleep(pause)
        self.journal.record_state(self.run, name, state)
        if state is State.VERIFIED:
            crowded += gates.report_pending_sessions(planned, before, now, unread)
        return tuple(f"{name}: {one}" for one in crowded)

    def _is_vtep(self, name: str) -> bool:
        """Return whether the switch is a VTEP of tenants by the plan."""
        tenants = self.source.switch(name).tenants
        return tenants is not None and tenants.source is not None

    def _plan_peers(self) -> Mapping[str, Mapping[str, str]]:
        """Return the ToRs of each tenant, computed once; see `fabric.model.plan_peers`."""
        if self._peers is None:
            self._peers = plan_peers(map(self.source.fabric.switch, self.source.places.values()))
        return self._peers

    def check_neighbor(self, name: str) -> None:
        """Check a neighbor of a changed switch; skip a neighbor that the push did not measure before.

        Raises:
            DeviceError: FAB9116, its PFC watchdog detected a storm; FAB9110, it cannot be reached any more.
        """
        before = {**self._read_entry(name).baseline, **self._counted.get(name, {})}
        if not before:
            return
        with self._connect_switch(name) as switch:
            if found := gates.find_storms(self.source.switch(name), before, gates.read_counters(switch)):
                raise DeviceError("FAB9116", f"its neighbor {name}: {'; '.join(found[:SHOWN])}")

    def confirm(self, name: str) -> None:
        """Keep the change.

        Raises:
            DeviceError: FAB9115, it went back meanwhile or does not answer.
        """
        self.journal.record_intent(self.run, name, "confirm")
        if self.get_revert_time(name):
            with self._connect_switch(name) as switch:
                with switch.reading_ahead("get_identity", switch.commit_getter):
                    self.require_identity(switch, {})
                    if self.needs_drain(name):
                        switch.guard(self.guard_s, armed=True)
                    if commit := switch.find_pending_commit():
                        self.require_own_commit(name, switch, commit)
                if commit:
                    switch.call("FAB9115", "the confirmation", "confirm_commit")
                self._require_proved(name, switch)
                if not commit:
                    switch.confirm_unseen()
        detail, intent = ("drained", "undrain") if self.needs_drain(name) else ("", "")
        self.journal.record_state(self.run, name, State.CONFIRMED, detail, intent=intent)

    def _require_proved(self, name: str, switch: Connection) -> None:
        wanted = self._files_until_confirmed(name)
        files = self._files(switch, wanted)
        if self._proved.get(name) == hash(running.pack_files(files)):
            return
        if wrong := self._describe_difference(name, files, wanted):
            remedy = f"Push again; --confirm-within (now {self.options.confirm_s} s) sets the time for it."
            raise DeviceError("FAB9115", f"{name} went back before the confirmation: {wrong}", remedy)

    def undrain(self, name: str) -> None:
        """Let traffic come back.

        Raises:
            DeviceError: it does not take it; FAB9111 or FAB9136, another session holds it; FAB9112, somebody else
                changed it.
        """
        self.journal.record_intent(self.run, name, "undrain")
        with self._connect_switch(name, ending=True) as switch:
            self.require_free(name, switch)
            self._require_untouched(name, switch, self._files_until_confirmed(name), self._unread.get(name))
            self._load(switch, self.target(name), "FAB9115", "the commit")
            switch.release()
