"""Bring switches back to what they ran before a run, and find out what an unfinished one runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.devices import DeviceError, RefusedLoginError, running
from fabricc.operate.push.drain import drain_files
from fabricc.operate.push.image_step import OPPOSITE
from fabricc.operate.push.journal import FINAL, NEW, State
from fabricc.operate.push.options import UNREACHABLE_S
from fabricc.operate.push.ownership import Ownership, drop_own_candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.push.reach import Files

_RETRY_S = 2.0
_SPARE_S = 30
MOST_REFUSED = 3
"""Refused logins in a row after which a switch is not retried; accounts are locked after 3 to 10."""
_UNTOUCHED = (State.PLANNED, State.DRAINED, *(FINAL - NEW - {State.UNKNOWN}))
"""States of a switch on which the image step has not been begun, but where it is what is intended."""


class _ForeignChangeError(DeviceError):
    """Somebody else changed a switch: going back would undo that."""


@dataclass(slots=True)
class RollbackRunner(Ownership):
    """The ways back of one run; each may be called from any thread, and none for one switch at once."""

    def _call_hook(self, action: str, name: str) -> None:
        if self.hook is None:
            return
        device, model = self.source.devices[name], self.source.switch(name).model.name
        self.hook.call(action, device, model, self.run, self.access)
        until = time.monotonic() + max(self.options.settle_s, UNREACHABLE_S)
        while True:
            try:
                with self._connect_switch(name):
                    return
            except DeviceError as error:
                pause = self.pause_s(name, error, _RETRY_S, MOST_REFUSED)
                if time.monotonic() > until or self.stop.is_set() or pause is None:
                    raise
            time.sleep(pause)

    def restore(self, name: str, why: str, state: State = State.ROLLED_BACK) -> State:
        """Restore the earlier configuration of the switch, with retries while it does not answer; never raises.

        Returns:
            `state`, or `unknown` when it has not answered, or not taken it, for too long, or when somebody else
            changed the switch meanwhile.
        """
        entry = self._read_entry(name)
        self.journal.record_intent(self.run, name, "restore")
        try:
            if self.hook and (entry.state not in _UNTOUCHED or entry.intent == "image"):
                self._call_hook(OPPOSITE[self.action], name)
            self._restore_with_retries(name)
        except DeviceError as error:
            state, why = State.UNKNOWN, f"{why}; then {error}"
        self.journal.record_state(self.run, name, state, why)
        return state

    def _restore_with_retries(self, name: str) -> None:
        until = time.monotonic() + max(self.get_revert_time(name) + _SPARE_S, UNREACHABLE_S)
        while True:
            try:
                with self._connect_switch(name, ending=True) as switch:
                    self._restore_once(name, switch)
                    switch.release()
                return
            except DeviceError as error:
                pause = self.pause_s(name, error, _RETRY_S, MOST_REFUSED)
                final = error.code == "FAB9106" or isinstance(error, _ForeignChangeError)
                if final or time.monotonic() > until or pause is None:
                    raise
            time.sleep(pause)

    def _restore_once(self, name: str, switch: Connection) -> None:
        self.require_identity(switch, {})
        if name in self.unsent:
            drop_own_candidate(switch)
            return
        old = self.old_files(name)
        self.undo(name, switch)
        if name in self.suspects or name in self.edited:
            files = self._files(switch, old)
            word = self._word(name, files, self.target(name), old)
            # Another session may have committed the same configuration.
            if name in self.edited or not word or (name in self.foreign and word.startswith("new")):
                raise self._keep_foreign_change(name, switch, files)
        try:
            self._load_before(name, switch, old)
        except DeviceError:
            # A full disk takes no candidate; what runs exactly what it ran needs none.
            if running.pack_files(self._files(switch, old)) != self._read_entry(name).before:
                raise

    def _load_before(self, name: str, switch: Connection, old: Files) -> None:
        self._load(switch, old, "FAB9117", "going back")
        if wrong := self._describe_difference(name, self._files(switch, old), old):
            raise DeviceError("FAB9117", f"{name} cannot be rolled back: {wrong}")

    def _keep_foreign_change(self, name: str, switch: Connection, files: Files) -> _ForeignChangeError:
        """Keep the change of somebody else, undo only the drain, and return a finding about it."""
        nos = self.source.devices[name].nos
        plain, shut = self.source.render_states(name, running.address_versions(nos, files))
        try:
            serving = drain_files(name, nos, files, shut, plain)
            if serving != files:
                self._load(switch, serving, "FAB9117", "taking back the drain")
            ended = "it is in service again"
        except RefusedLoginError:
            raise
        except DeviceError as error:
            ended = f"it may be drained ({error})"
        switch.release()
        wrong = self._describe_difference(name, files, self.old_files(name)) or "see above"
        return _ForeignChangeError(
            "FAB9138", f"{name} was changed by another session and keeps that change ({wrong}); {ended}"
        )

    # What an unfinished switch runs.

    def compare_running(self, name: str) -> str:
        """Return what an unfinished switch runs: `old`, `new`, either `drained`, or "" for something else.

        A commit of this run that waits for its confirmation is undone first: how long it still waits is not known.

        Raises:
            DeviceError: it does not answer; FAB9111, a commit of another session waits.
        """
        wanted, old = self.target(name), self.old_files(name)
        with self._connect_switch(name) as switch:
            self.require_identity(switch, {})
            self.undo(name, switch)
            word = self._word(name, self._files(switch, wanted), wanted, old)
            if "drained" in word:
                switch.guard(self.guard_s, armed=True)
            else:
                switch.release()
        return word

    def _word(self, name: str, files: Files, target: Files, old: Files) -> str:
        states: list[tuple[str, Callable[[], Files]]] = [("new", lambda: target), ("old", lambda: old)]
        if self.needs_drain(name):
            states.append(("new, drained", lambda: self._drain_target_files(name)))
            states.append(("old, drained", lambda: self._drain_old_files(name)))
        return next(
            (word for word, state in states if not self._describe_difference(name, files, state())), ""
        )
