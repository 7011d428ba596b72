"""NAPALM's EOS driver with corrections."""

from __future__ import annotations

import re
import time
import uuid

from napalm.base import exceptions
from pyeapi.eapilib import CommandError

from fabricc.operate.drivers import Hold, HoldKind, single
from fabricc.operate.drivers.answers import (
    AnswerError,
    quote_words,
)
from fabricc.operate.drivers.checking import Options, Refusal
from fabricc.operate.drivers.eos_connection import SAVE, VERSION, ZEROTOUCH, EosConnection
from fabricc.operate.drivers.eos_views import QUESTION as SESSIONS
from fabricc.operate.drivers.eos_views import Sessions, holds_clear_keys, read_sessions, write_stored_forms
from fabricc.operate.drivers.redact import redact_text

FILE = "running-config.cfg"
ROLLBACK = "flash:rollback-0"
_DAY_S = 86400
_PREFIX = "napalm_"
_REFUSED = re.compile(r"CLI command (\d+) of \d+ '(.*?)' failed: (.*?)(?: \[errors: .*)?", re.DOTALL)
_BEFORE = 3
"""Commands before the first line of a candidate: `enable`, the session, and what empties it."""
_MOST_REFUSED = 20
_OLD_NAME = "--- system:/running-config"
"""First line of a difference (published outputs of `show session-config diffs`)."""
_LOCK_S = 10.0


class EosDriver(single.CleanCommits, EosConnection):
    """Arista EOS over eAPI; a candidate is `running-config.cfg`, the whole device.

    What differs from NAPALM's own driver:

    * `rollback()` goes to the configuration that ran before the commit; NAPALM's goes to the one last saved.
    * The configuration session is named after `session` (random), so that a new connection takes it up; one of that
      name left behind is aborted before a load. `take_over` (False) aborts other drivers' sessions too.
    * `close()` leaves a commit that waits for confirmation alone; NAPALM's aborts it.
    * `confirm_commit()` and `rollback()` of a new connection with the same `session` find the commit that waits; a
      commit of another session is left alone.
    * A commit `message` is accepted, and EOS does not keep it.
    * A commit is refused when somebody changed the switch after `compare_config`: the session would take that back.
    * Whether a commit took effect, and whether it waits, is read from the states of sessions, never from text.
    """

    CONFIRM_STEP = 1
    CONFIRM_LIMITS = (1, _DAY_S - 1)
    config_session: str | None

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        super().__init__(hostname, username, password, timeout, optional_args)
        options = optional_args or {}
        name = re.sub(r"[^A-Za-z0-9-]", "-", str(options.get("session") or uuid.uuid4().hex[:12]))
        self._session_name = f"{_PREFIX}{name}"
        self._waits = not options.get("session")
        self._take_over = bool(options.get("take_over", False))
        self._compared: str | None = None

    def _load(
        self, filename: str | None, config: str | None, failure: type[exceptions.NapalmException]
    ) -> None:
        text = single.one_text(filename, config, FILE, failure)
        with self._clean(failure):
            self._require_free()
            self._compared = None
            if self.config_session is None:
                self.config_session = self._session_name
            if holds_clear_keys(text):
                (shown,) = self._run_commands(["show running-config"], encoding="text")
                text = write_stored_forms(text, str(shown["output"]))
            self._load_config(None, text, failure is exceptions.ReplaceConfigException)

    def _sessions(self) -> Sessions:
        return read_sessions(self._run_commands([SESSIONS])[0])

    def _get_pending_commits(self) -> dict[str, int]:
        """Return the session that waits, in NAPALM's form; how long it still waits is not computed (-1)."""
        waiting = self._sessions().waiting
        return {waiting: -1} if waiting else {}

    def _require_free(self) -> None:
        """Abort sessions that are this driver's to abort, and wait for those of others unless it has a `session`.

        Raises:
            CommitConfirmException: a commit waits for confirmation.
            SessionLockedException: somebody else has a session open for too long.
        """
        until = time.monotonic() + _LOCK_S
        while True:
            sessions = self._sessions()
            if sessions.waiting:
                raise exceptions.CommitConfirmException("a commit waits for confirmation")
            others = [name for name in sessions.list_open() if name != self.config_session]
            for name in [one for one in others if self._is_left_behind(one)]:
                self._run_commands([f"configure session {name} abort"], encoding="text")
                others.remove(name)
            if not others or self.lock_disable or not self._waits:
                return
            if time.monotonic() > until:
                raise exceptions.SessionLockedException(f"configuration session {others[0]} is open")
            time.sleep(1)

    def _is_left_behind(self, name: str) -> bool:
        return name == self._session_name or (self._take_over and name.startswith(_PREFIX))

    def _obtain_lock(self, wait_time: float | None = None) -> None:
        """Do nothing: `_load` has already checked for sessions of others."""

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole device's configuration into a session."""
        self._load(filename, config, exceptions.ReplaceConfigException)

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load lines into a session."""
        self._load(filename, config, exceptions.MergeConfigException)

    def check_candidate(self, config: str) -> list[Refusal]:
        """Type a whole configuration into a session that is aborted; EOS ends at the first refused line, so again.

        Raises:
            NapalmException: it was not checked.
        """
        lines = single.one_text(None, config, FILE, exceptions.ReplaceConfigException).splitlines()
        found: list[Refusal] = []
        while len(found) < _MOST_REFUSED:
            refused = super().check_candidate("\n".join(lines) + "\n")
            found += refused
            if not refused or not refused[0].line:
                break
            _take_out(lines, refused[0].line - 1)
        return found

    def _refusals(self, output: str, config: str) -> list[Refusal]:
        named = _REFUSED.fullmatch(output[max(0, output.find("CLI command")) :])
        if named is None:
            return [Refusal(output)]
        lines = config.splitlines()
        sent = [number for number, line in enumerate(lines, 1) if not line.lstrip().startswith("!")]
        at = int(named[1]) - 1 - _BEFORE
        texts = [
            number for number in sent if redact_text(lines[number - 1].strip(), self.password) == named[2]
        ]
        exact = sent[at] if 0 <= at < len(sent) and sent[at] in texts else next(iter(texts), 0)
        return [Refusal(named[3], FILE if exact else "", exact)]

    def compare_config(self) -> str:
        """Return EOS's own difference between session and running configuration."""
        difference = self._difference() if self.config_session else ""
        self._compared = difference if self.config_session else None
        return difference

    def _difference(self) -> str:
        """Return the lines of `show session-config diffs` below its two names; none for an equal configuration.

        Raises:
            ConnectionException: the answer is no difference.
        """
        with self._clean(exceptions.CommitError):
            command = f"show session-config named {self.config_session} diffs"
            (shown,) = self._run_commands([command], encoding="text")
            lines = str(shown["output"]).strip().splitlines()
            if lines and not lines[0].startswith(_OLD_NAME):
                raise AnswerError(f"no difference of a session: {quote_words(str(shown['output']))}")
            return "\n".join(lines[2:]).strip()

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:  # noqa: ARG002
        """Commit the session; with `revert_in` (seconds, less than a day) EOS goes back unless confirmed.

        Raises:
            CommitError: EOS refuses it; NothingCommittedError, the session was aborted instead.
            SessionLockedException: the running configuration has changed since `compare_config`.
            CommitConfirmException: `revert_in` is out of range.
        """
        if self.config_session is None:
            raise exceptions.CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and not 0 < revert_in < _DAY_S:
            raise exceptions.CommitConfirmException(
                f"{self.hostname}: revert_in must be 1 to {_DAY_S - 1} seconds"
            )
        if self._compared is not None and self._difference() != self._compared:
            reason = f"{self.hostname}: the running configuration has changed since it was compared"
            raise exceptions.SessionLockedException(reason)
        timer = "" if revert_in is None else f" timer {_format_duration(revert_in)}"
        commands = [
            f"copy running-config {ROLLBACK}",
            f"configure session {self.config_session} commit{timer}",
            *([SAVE] if revert_in is None else []),
        ]
        name, self._identity = self.config_session, None
        with self._clean(exceptions.CommitError):
            try:
                self._run_commands(commands, encoding="text")
                sessions = None if revert_in is None else self._sessions()
            except (CommandError, exceptions.ConnectionClosedException) as error:
                # Read the state of the commit: a second one might be one too many.
                sessions = self._sessions()
                if name in sessions.list_open():
                    sessions = self._abort_refused(name, error)
                if name != sessions.waiting and not sessions.is_committed(name):
                    raise
                if revert_in is None:
                    self._run_commands([SAVE], encoding="text")
            if revert_in is not None and (sessions is None or sessions.waiting != name):
                raise exceptions.CommitError(
                    f"the switch does not report the commit of session {name} as waiting"
                )
        self.config_session = None

    def _abort_refused(self, name: str, error: Exception) -> Sessions:
        """Abort the session of a commit that failed, and return the sessions after that.

        Raises:
            NothingCommittedError: it was aborted before any commit.
        """
        self._run_commands([f"configure session {name} abort"], encoding="text")
        sessions = self._sessions()
        if name != sessions.waiting and not sessions.is_committed(name):
            self.config_session = None
            reason = redact_text(str(error), self.password, self.enablepwd)
            raise single.NothingCommittedError(f"{self.hostname}: nothing was committed: {reason}")
        return sessions

    def _pending_session(self) -> str:
        """Return this session's name when its commit waits, whichever connection made it; "" when none waits."""
        return self._own_sessions().waiting

    def _own_sessions(self) -> Sessions:
        """Return the sessions, of which none but this one waits.

        Raises:
            SessionLockedException: another session made the commit that waits.
        """
        sessions = self._sessions()
        if sessions.waiting and sessions.waiting != self._session_name:
            raise exceptions.SessionLockedException(f"session {sessions.waiting} made the commit that waits")
        return sessions

    def confirm_commit(self) -> None:
        """Keep and save the pending commit of this session."""
        with self._clean(exceptions.CommitError):
            before = self._own_sessions()
            waiting = before.waiting
            if not waiting:
                raise exceptions.CommitError("No pending commit-confirm found!")
            commands = [f"configure session {waiting} commit", SAVE]
            try:
                self._run_commands(commands, encoding="text")
            except exceptions.ConnectionClosedException:
                sessions = self._sessions()
                if sessions.waiting != waiting and not self._is_confirmed(before, sessions):
                    raise
                self._run_commands(commands[sessions.waiting != waiting :], encoding="text")
            if self._sessions().waiting == waiting:
                raise exceptions.CommitError(
                    f"the commit of session {waiting} still waits after its confirmation"
                )
            self.config_session = self._identity = None

    def _is_confirmed(self, before: Sessions, after: Sessions) -> bool:
        """Return whether the commit that waited is confirmed; once its time is over, EOS may have taken it back."""
        version = self._run_commands([VERSION])[0]
        return after.is_committed(before.waiting) and before.left_s(version) is not None

    def rollback(self) -> None:
        """Go back to what ran before the last commit of this session, whether it waits for confirmation or not."""
        with self._clean(exceptions.CommitError):
            waiting = self._pending_session()
            undo = f"configure session {waiting} abort" if waiting else f"configure replace {ROLLBACK}"
            commands = [undo, SAVE]
            try:
                self._run_commands(commands, encoding="text")
            except exceptions.ConnectionClosedException:
                undone = bool(waiting) and self._sessions().waiting != waiting
                self._run_commands(commands[undone:], encoding="text")
            self.config_session = self._identity = None

    def get_holds(self) -> list[Hold]:
        """Return a commit that waits for confirmation, sessions that are not committed, and ZTP. Not part of NAPALM.

        Each session of EOS has a candidate of its own, so the candidate of another session does not block. ZTP loads
        what it finds and restarts the switch, and until then EOS saves nothing.
        """
        with self._clean(exceptions.CommandErrorException):
            self._read_getters(["get_holds"])
            answer, version = self._run_commands([SESSIONS, VERSION])
            provisioning = self._try_command(ZEROTOUCH, 1)
            sessions = read_sessions(answer)
        left = sessions.left_s(version)
        waiting = [sessions.waiting] if sessions.waiting else []
        found = [
            Hold(HoldKind.COMMIT, _session_owner(name), left, own=name == self._session_name)
            for name in waiting
        ]
        found += [
            Hold(HoldKind.CANDIDATE, _session_owner(name), own=name == self._session_name, blocks=False)
            for name in sessions.list_open()
        ]
        if isinstance(provisioning, dict) and str(provisioning.get("mode")).lower() == "active":
            found.append(Hold(HoldKind.UPDATE, "ZTP, which `zerotouch cancel` ends,"))
        return found

    def end_hold(self, hold: Hold) -> bool:
        """Abort the uncommitted session of another driver that is dead. Not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
            self._run_commands([f"configure session {_PREFIX}{hold.owner} abort"], encoding="text")
        return True


def _take_out(lines: list[str], at: int) -> None:
    """Replace a line and the block below it with comments."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = "!"
    for below in range(at + 1, len(lines)):
        text = lines[below]
        if text.strip() and len(text) - len(text.lstrip()) <= depth:
            break
        lines[below] = "!"


def _session_owner(session: str) -> str:
    """Return the owner of a configuration session: the name that a driver gave it, or that of a person."""
    return session.removeprefix(_PREFIX)


def _format_duration(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
