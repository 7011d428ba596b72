"""NAPALM's Junos driver with corrections."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from jnpr.junos.exception import CommitError as EzCommitError
from jnpr.junos.exception import ConnectClosedError, RpcError, RpcTimeoutError
from napalm.base import exceptions
from ncclient import NCClientError

from fabricc.operate.drivers import Hold, HoldKind, junos_secrets, junos_views
from fabricc.operate.drivers.checking import Options, Refusal
from fabricc.operate.drivers.junos_connection import JunosConnection
from fabricc.operate.drivers.junos_views import read_version, went_back
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.single import CleanCommits, nothing_committed, one_text

FILE = "juniper.conf"
_MINUTE_S = 60
_LOST = (ConnectClosedError, NCClientError, RpcTimeoutError, OSError, EOFError)
"""Exceptions of PyEZ, ncclient and Paramiko for an answer that does not arrive."""
_POLL_S = 1.0


class JunosDriver(CleanCommits, JunosConnection):
    """Juniper Junos over NETCONF; a candidate is `juniper.conf`, the whole device.

    What differs from NAPALM's own driver:

    * `revert_in` is rounded up to whole minutes, which is what Junos counts in.
    * A load is refused while a commit waits, because Junos takes the next commit as its confirmation.
    * A commit or a confirmation whose answer is lost is not sent again blindly: the driver connects again and reads
      the list of commits. That list is also read under the lock, before a commit.
    * Whether a commit waits is read from Junos's own mark on the newest commit (`junos_views.py`).
    * With the option `session`, the log of a commit begins with it, so that `get_holds` detects commits of others.
    * A confirmation is a `commit check`, which commits nothing: the plain commit of NAPALM's driver also commits what
      another session has in the shared candidate. `rollback()` takes the lock, and drops nothing of others.
    * A lock that another session holds is a SessionLockedException; a commit that fails gives the lock back.
    """

    CONFIRM_STEP = _MINUTE_S
    CONFIRM_LIMITS = (_MINUTE_S, 65535 * _MINUTE_S)

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        super().__init__(hostname, username, password, timeout, optional_args)
        self._session = str((optional_args or {}).get("session") or "")

    def _load(
        self,
        filename: str | None,
        config: str | None,
        failure: type[exceptions.NapalmException],
        *,
        replace: bool,
    ) -> None:
        text = one_text(filename, config, FILE, failure)
        with self._clean(failure):
            self._load_alone(text, replace=replace)

    def _load_alone(self, text: str, *, replace: bool) -> None:
        known, self._seen = self._seen, None
        if self._find_waiting_commit(known):
            raise exceptions.CommitConfirmException("a commit waits for confirmation")
        self.config_replace = replace
        if junos_secrets.holds_clear_secrets(text):
            engine = self._read_engine() if junos_secrets.holds_snmp_passwords(text) else b""
            text = junos_secrets.write_stored_forms(text, self._running(), engine)
        if replace:
            text = self._state_release(text)
        try:
            self._load_candidate(None, text, replace)
        except exceptions.LockError as error:
            raise exceptions.SessionLockedException(str(error)) from None

    def _read_engine(self) -> bytes:
        """Return the ID of the switch's SNMP engine, empty where the switch refuses the command."""
        answer = self._try_request(lambda: self.cli([junos_secrets.ENGINE])[junos_secrets.ENGINE])
        return junos_secrets.read_engine(str(answer))

    def _state_release(self, text: str) -> str:
        """Return a configuration with the running release in it, which Junos writes itself above each.

        Without it, or with that of an earlier image, it may be a difference of an unchanged switch.
        """
        if self._version is None:
            self._running()
        if not self._version:
            return text
        stated = read_version(text)
        return text.replace(stated, self._version, 1) if stated else f"{self._version}\n{text}"

    def _unlock(self) -> None:
        """Give the lock back; one that Junos does not take back ends with the session, and is no failed commit."""
        with suppress(exceptions.UnlockError):
            super()._unlock()

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole device's configuration (`load override`) under an exclusive lock."""
        self._load(filename, config, exceptions.ReplaceConfigException, replace=True)

    def check_candidate(self, config: str) -> list[Refusal]:
        """Load a whole configuration, let Junos check its commit, and drop it; not part of NAPALM.

        Raises:
            NapalmException: it was not checked.
        """
        text = one_text(None, config, FILE, exceptions.ReplaceConfigException)
        wrong: list[dict[str, Any]] = []
        with self._clean(exceptions.ReplaceConfigException):
            try:
                self._load_alone(text, replace=True)
                self.device.cu.commit_check()
            except exceptions.ReplaceConfigException as error:
                wrong = list(error.args[0])
            except RpcTimeoutError:
                raise
            except (EzCommitError, RpcError) as error:
                wrong = list(error.errs or [{"message": str(error)}])
            finally:
                with suppress(Exception):
                    super().discard_config()
        return [self._refusal(one, text) for one in wrong if one.get("severity") != "warning"]

    def _refusal(self, error: dict[str, Any], text: str) -> Refusal:
        path, element = (" ".join(str(error.get(key) or "").split()) for key in ("edit_path", "bad_element"))
        words = [path, element, " ".join(str(error.get("message") or "refused").split())]
        line = junos_views.line_of(text, path, element)
        told = redact_text(": ".join(word for word in words if word), self.password)
        return Refusal(told, FILE if line else "", line)

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load statements that are added, under an exclusive lock."""
        self._load(filename, config, exceptions.MergeConfigException, replace=False)

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Commit; with `revert_in` (seconds, rounded up to minutes) Junos goes back unless confirmed."""
        minutes = None if revert_in is None else -(-revert_in // _MINUTE_S) * _MINUTE_S
        if minutes is not None and minutes < _MINUTE_S:
            raise exceptions.CommitConfirmException(f"{self.hostname}: revert_in must be at least one second")
        self._forget()
        with nothing_committed(), self._clean(exceptions.CommitError):
            before = self._read_commits()
            if self._find_waiting_commit(before):
                if self.locked:
                    super().discard_config()
                raise exceptions.SessionLockedException("a commit of another session waits for confirmation")
        with self._clean(exceptions.CommitError):
            try:
                super().commit_config(self._log_message(message), minutes)
            except _LOST as lost:
                self._connect_again(lost)
                if not self._is_committed(before):
                    raise
                if minutes is not None and not self._find_waiting_commit():
                    raise exceptions.CommitError("the switch does not report the commit as waiting") from None
            except (EzCommitError, RpcError):
                with suppress(Exception):
                    super().discard_config()
                raise

    def _log_message(self, message: str) -> str:
        mark = f"{junos_views.SESSION_MARK}{self._session}" if self._session else ""
        return ": ".join(filter(None, (mark, message)))

    def confirm_commit(self) -> None:
        """Keep a commit that waits, without committing what other sessions have in the candidate."""
        with self._clean(exceptions.CommitError):
            commits, self._seen = self._seen or self._read_commits(), None
            if (commit := self._find_waiting_commit(commits)) is None:
                raise exceptions.CommitError("no commit waits for confirmation")
            running = "" if commit.marked else self._running()
            try:
                self._confirm(commit, commits)
            except _LOST as lost:
                self._connect_again(lost)
                now = self._read_commits()
                if (again := self._find_waiting_commit(now)) is not None:
                    self._confirm(again, now)
                elif went_back(commits, now) or (running and self._running() != running):
                    raise exceptions.CommitError(
                        "the confirmation was lost and the switch went back"
                    ) from None

    def _confirm(self, commit: junos_views.Commit, commits: list[junos_views.Commit]) -> None:
        """Confirm by a check where Junos reports the effect of one, else by a commit under the lock.

        Args:
            commit: the newest of `commits`.
            commits: as they were read last.

        Raises:
            CommitError: it still waits, went back, or another session holds the candidate that a commit would take.
        """
        if commit.marked:
            try:
                self.device.cu.commit_check()
            except RpcTimeoutError:
                raise
            except (EzCommitError, RpcError):
                pass  # the mark decides, and a commit reports what is wrong
            now = self._read_commits()
            if self._find_waiting_commit(now) is None:
                if went_back(commits, now):
                    raise exceptions.CommitError("the switch went back before its confirmation")
                return
        self._require_lock()
        super().commit_config()
        if (after := self._find_waiting_commit()) is not None and after.marked:
            raise exceptions.CommitError("the commit still waits after its confirmation")

    def _require_lock(self) -> None:
        """Take the lock, which Junos refuses while another session has the lock or uncommitted changes.

        Raises:
            SessionLockedException: another session has.
        """
        try:
            self._lock()
        except exceptions.LockError as error:
            raise exceptions.SessionLockedException(str(error)) from None

    def rollback(self) -> None:
        """Go back to what ran before the last commit that changed something, whether it waits or not.

        Raises:
            SessionLockedException: another session has the lock or uncommitted changes, which would be lost.
        """
        self._forget()
        with self._clean(exceptions.CommitError):
            self._require_lock()
            try:
                for number in (1, 2):  # a commit that only confirmed the one before has no difference
                    self.device.cu.rollback(rb_id=number)
                    if self.device.cu.diff(rb_id=0):
                        break
                super().commit_config()
            except (EzCommitError, RpcError):
                with suppress(Exception):
                    super().discard_config()
                raise

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation."""
        with self._clean(exceptions.CommitError):
            return self._find_waiting_commit() is not None

    def get_waiting_commit(self) -> Hold | None:
        """Return the commit that waits for its confirmation, alone; not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
            self._seen = self._read_commits()
            commit = self._find_waiting_commit(self._seen)
            return None if commit is None else self._describe_commit(commit)

    def _describe_commit(self, commit: junos_views.Commit) -> Hold:
        own = commit.session == self._session if commit.session else None
        left_s = None if own else self._left_s(commit)
        return Hold(HoldKind.COMMIT, commit.session or commit.user, left_s, own)

    def _find_waiting_commit(
        self, commits: list[junos_views.Commit] | None = None
    ) -> junos_views.Commit | None:
        """Return the commit that waits for its confirmation; read the list of commits unless it is given.

        An entry without the mark decides nothing on a release that is not known to set it: the commit counts as
        waiting until its time is over, and a confirmation is then no commit of others.
        """
        commit = next(iter(self._read_commits() if commits is None else commits), None)
        if commit is None or commit.marked or commit.until_s is None:
            self._marks = self._marks or (True if commit and commit.marked else None)
            return commit if commit and commit.marked else None
        if self._marks is None:
            software = self._try_request(lambda: self.device.rpc.get_software_information())
            self._marks = junos_views.marks_commits(software)
        if self._marks:
            return None
        return None if self._left_s(commit) == 0 else commit

    def _left_s(self, commit: junos_views.Commit) -> float | None:
        """Return the seconds that a commit still waits; 0 when its time is over, None where they are not reported."""
        clock = junos_views.read_clock(
            self._try_request(lambda: self.device.rpc.get_system_uptime_information())
        )
        return None if commit.until_s is None or clock is None else float(max(0, commit.until_s - clock))

    def _read_commits(self) -> list[junos_views.Commit]:
        return junos_views.read_commits(self.device.rpc.get_commit_information())

    def _is_committed(self, before: list[junos_views.Commit]) -> bool:
        """Return whether the commit after a list of commits took effect; wait for one that still runs."""
        until = time.monotonic() + self.timeout
        while (now := self._read_commits()) == before and self._is_locked() and time.monotonic() < until:
            time.sleep(_POLL_S)
        return junos_views.has_one_more(before, now, self._session)

    def _is_locked(self) -> bool:
        """Return whether another session holds the lock, as one whose commit still runs does."""
        try:
            self._lock()
        except exceptions.LockError:
            return True
        self._unlock()
        return False

    def get_holds(self) -> list[Hold]:
        """Return a commit that waits for confirmation, and uncommitted changes in the shared candidate.

        Junos reports the account that made a commit, and its log, which begins with the session. Not part of NAPALM.
        """
        with self._clean(exceptions.CommandErrorException):
            found = []
            self._seen = self._read_commits()
            if commit := self._find_waiting_commit(self._seen):
                found.append(self._describe_commit(commit))
            if not self.locked and self.device.cu.diff(rb_id=0):
                found.append(Hold(HoldKind.CANDIDATE))
            return found

    # Getters.
