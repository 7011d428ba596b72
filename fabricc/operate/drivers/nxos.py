"""NAPALM's NX-OS driver with the device's own configuration replace, and with corrections."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from napalm.base import exceptions
from napalm.nxapi_plumbing import NXAPICommandError, NXAPIConnectionError
from napalm.nxapi_plumbing.errors import NXAPIError

from fabricc.operate.drivers import Hold, HoldKind, nxos_candidate, nxos_replace, single
from fabricc.operate.drivers.checking import Options, Refusal
from fabricc.operate.drivers.nxos_connection import RUNNING, STATUS, NxosConnection, require_text
from fabricc.operate.drivers.nxos_exchange import QUIET, LongRequest
from fabricc.operate.drivers.redact import excerpt, redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "running-config.cfg"
OWNER_FILE = "fabricc_owner.json"
"""A note on the switch about whose the last replace with a timer is."""
SHORTEST_S, LONGEST_S = 30, 3600
COMMIT_S = 600.0
"""Default seconds that a replace may take (`commit_timeout`). Our judgment: Cisco publishes no figure."""
POLL_S = 2.0
"""Seconds between two looks at the log of a replace that runs."""
_NO_FILE = "No such file or directory"
_QUIET_POLLS = 5
"""Looks without a new entry, while the device reports that it is idle, after which a lost request never arrived."""
_LOG, _ROLLBACK_LOG = "show config-replace log exec", "show rollback log exec"


class NxosDriver(NxosConnection):
    """Cisco NX-OS over NX-API and SCP; a candidate is `running-config.cfg`, the whole device.

    What differs from NAPALM's own driver:

    * A replace is `configure replace`, which takes a running configuration; NAPALM's wants a checkpoint file that only
      the device can write. The candidate has the device's own frame and printed forms (`nxos_candidate.py`). It is
      verified when loaded (`verify-only`), compared by the device (`show-patch`), and can wait for confirmation
      (`commit-timeout`, 30 to 3600 s; Cisco Nexus 9000 System Management Configuration Guide, "Performing
      Configuration Replace").
    * A replace runs for up to `commit_timeout` (600) seconds. Its outcome is that of the device's log of replaces,
      which is read while the command runs and after its answer is lost (`nxos_replace`). Without an entry in the log,
      its last line counts only when the running configuration has changed.
    * Merges are refused: NAPALM's applies line by line, and takes a refused line for success.
    """

    CONFIRM_STEP = 1
    CONFIRM_LIMITS = (SHORTEST_S, LONGEST_S)
    loaded: bool
    candidate_cfg: str

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        super().__init__(hostname, username, password, timeout, optional_args)
        options = optional_args or {}
        # Two sessions must not commit each other's candidate, so each has a file of its own.
        self._session = str(options.get("session") or "")
        named = self._session or str(uuid.uuid4())
        self.candidate_cfg = f"candidate-{hashlib.sha256(named.encode()).hexdigest()[:12]}.txt"
        self._commit_timeout = float(options.get("commit_timeout", COMMIT_S))
        self._running = self._plan = self._digest = ""
        self._unchanged = False

    @property
    def _target(self) -> str:
        return f"{self._dest_file_system}{self.candidate_cfg}"

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Copy the whole device's configuration to the device, which verifies it; not when the device runs it."""
        answer = self._verify(single.one_text(filename, config, FILE, exceptions.ReplaceConfigException))
        if answer is not None and not nxos_replace.is_verified(answer):
            self.discard_config()
            with self._clean(exceptions.ReplaceConfigException):
                raise exceptions.ReplaceConfigException(excerpt(answer, self.password, longest=500, end=True))

    def _verify(self, text: str) -> str | None:
        """Load a candidate: the device's answer to `verify-only`; None when it runs the candidate."""
        status, running = self._show(exceptions.ReplaceConfigException, STATUS, RUNNING)
        self._require_status(status)
        if nxos_replace.remaining_s(status):
            raise exceptions.CommitConfirmException(f"{self.hostname}: a commit waits for confirmation")
        self._running, self._plan = self._require_running(running), text
        candidate = nxos_candidate.build_candidate(running, text, self._printed_forms(text))
        self._digest = nxos_candidate.digest_statements(candidate)
        self._unchanged = not nxos_candidate.differs(running, candidate)
        if self._unchanged:
            self.loaded = self.replace = True
            return None
        with self._clean(exceptions.ReplaceConfigException):
            super().load_replace_candidate(config=candidate)
        return self._command_text(
            f"configure replace {self._target} verify-only", exceptions.ReplaceConfigException
        )

    def _require_running(self, running: str) -> str:
        """Return a running configuration; an answer without a command, or a part of one, is an error."""
        with self._clean(exceptions.ReplaceConfigException):
            single.require_nxos(running)
        if all(one.head.startswith("!") or not one.head for one in nxos_candidate.split_blocks(running)):
            raise exceptions.ReplaceConfigException(f"{self.hostname}: `{RUNNING}` shows no configuration")
        return running

    def check_candidate(self, config: str) -> list[Refusal]:
        """Let the device verify a whole configuration, and report each line that it did not validate.

        Raises:
            NapalmException: it was not checked: the connection broke, or a commit waits for confirmation.
        """
        try:
            text = single.one_text(None, config, FILE, exceptions.ReplaceConfigException)
            answer = self._verify(text)
            if answer is None:
                return []
            found = [
                Refusal(redact_text(reason, self.password), FILE if line else "", line)
                for reason, line in nxos_replace.refused_lines(answer, text)
            ]
            if not found and not nxos_replace.is_verified(answer):
                return self._refusals(excerpt(answer, self.password, longest=500, end=True), config)
            self.compare_config()
            return found
        except (
            exceptions.ReplaceConfigException,
            exceptions.CommitError,
            exceptions.CommandErrorException,
        ) as error:
            return self._refusals(str(error), config)
        finally:
            with suppress(exceptions.NapalmException):
                self.discard_config()

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:  # noqa: ARG002
        """Refuse a merge: it is not atomic, and a refused line would go unnoticed.

        Raises:
            MergeConfigException: always.
        """
        raise exceptions.MergeConfigException(
            f"{self.hostname}: NX-OS merges line by line; replace the whole configuration"
        )

    def _files_of(self, config: str) -> dict[str, str]:
        return {FILE: single.one_text(None, config, FILE, exceptions.ReplaceConfigException)}

    def compare_config(self) -> str:
        """Return the commands that the device would run; none when it runs the candidate."""
        if not self.loaded or self._unchanged:
            return ""
        output = self._command_text(f"configure replace {self._target} show-patch", exceptions.CommitError)
        with self._clean(exceptions.CommitError):
            return "\n".join(nxos_replace.changing_commands(output))

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:  # noqa: ARG002
        """Replace the running configuration; with `revert_in` (30 to 3600 s) NX-OS goes back unless confirmed.

        Raises:
            CommitError: it failed.
            SessionLockedException: the running configuration has changed since the candidate was loaded.
            NapalmException: with `nothing_committed`, it did not begin.
            CommandTimeoutException: the device did not report an outcome in time.
        """
        if not self.loaded:
            raise exceptions.CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and not SHORTEST_S <= revert_in <= LONGEST_S:
            raise exceptions.CommitConfirmException(
                f"{self.hostname}: revert_in must be {SHORTEST_S} to {LONGEST_S} seconds"
            )
        self._identity = None
        self.drop_ahead()
        if self._unchanged:
            self._require_same_running()
        else:
            wait = "" if revert_in is None else f" commit-timeout {revert_in}"
            with single.nothing_committed():
                last = self._require_same_running()
                owner = self._note_owner(last) if wait and self._session else ""
                before = self._save_checkpoint()
            self._run_logged(
                f"configure replace {self._target}{wait}", _LOG, nxos_replace.REPLACED, before, self._running
            )
            self._finish(owner)
        self.loaded = False
        if revert_in is None:
            self._save()

    def _require_same_running(self) -> nxos_replace.Operation | None:
        """Refuse a switch that somebody changed since the candidate was loaded; return its last replace.

        Raises:
            SessionLockedException: the running configuration differs.
        """
        with self._clean(exceptions.CommitError):
            texts = self._read_texts(RUNNING, _LOG)
            running = require_text(texts, RUNNING)
        if nxos_candidate.differs(self._running, running):
            reason = f"{self.hostname}: the running configuration has changed since it was compared"
            raise exceptions.SessionLockedException(reason)
        return _read_operation(texts, _LOG)

    def _save_checkpoint(self) -> nxos_replace.Operation | None:
        """Write the checkpoint for `rollback`, and see that it is there; return the last replace."""
        checkpoint, listing = f"checkpoint file {self.rollback_cfg}", f"dir {self.rollback_cfg}"
        with self._clean(exceptions.CommitError):
            # A switch refuses to delete a file that it does not have.
            commands = (f"delete {self.rollback_cfg}", checkpoint, listing, _LOG)
            try:
                texts = self._read_texts(*commands)
            except NXAPIConnectionError:
                texts = self._read_texts(*commands)
            if checkpoint not in texts or _NO_FILE in texts.get(listing, _NO_FILE):
                raise exceptions.CommitError(
                    f"the checkpoint {self.rollback_cfg} could not be written: is the disk full?"
                )
        return _read_operation(texts, _LOG)

    def _note_owner(self, last: nxos_replace.Operation | None) -> str:
        """Write a note that the next replace is one of this session; return its text.

        The log has the account that ran a replace, and a name of the switch's own for its file. The digest is that
        of the candidate: where the log shows no replace, it proves what was committed.

        Args:
            last: the last replace before it.
        """
        fields = {"session": self._session, "after": last and list(last.key), "digest": self._digest}
        note = json.dumps(fields) + "\n"
        self._copy_to_device(note, OWNER_FILE)
        return note

    @property
    def _owner_note(self) -> str:
        """The command that shows the note about whose the last replace is."""
        return f"show file {self._dest_file_system}{OWNER_FILE}"

    def _find_owner(self, texts: Mapping[str, str]) -> tuple[str, bool | None]:
        """Return who made the commit that waits, and False where it was another session, else None.

        A log without any replace proves nothing, so the commit is then that of this session only if its note has the
        digest of what runs.

        Args:
            texts: the answers to `_LOG`, `_owner_note` and `RUNNING`, where the switch has any.
        """
        last = _read_operation(texts, _LOG)
        if last is not None and last.user not in ("", self.username):
            return last.user, False
        if not self._session:
            return "", None
        unproved = None if last else False
        try:
            note = json.loads(texts.get(self._owner_note, ""))
            session, after, digest = note["session"], note["after"], note.get("digest")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return "", unproved
        if not isinstance(session, str) or not session.isprintable():
            return "", unproved
        if last is None:
            if session == self._session and digest != nxos_candidate.digest_statements(
                require_text(texts, RUNNING)
            ):
                return "", False
            return session, None if session == self._session else False
        begun = after != list(last.key)
        return (session if begun else ""), None if begun == (session == self._session) else False

    def _finish(self, owner: str) -> None:
        """Enter commands that no configuration shows, record printed keys, and delete the candidate with secrets.

        Args:
            owner: the note that the replace can have removed; "" for none.
        """
        with self._clean(exceptions.CommitError):
            assert self.device is not None
            if commands := nxos_candidate.unprinted_commands(self._plan):
                self.device.config_list(["configure terminal", *commands])
            self._note_printed_forms()
            delete, texts = f"delete {self.candidate_cfg}", {}
            try:
                texts = self.device.api.read_texts((delete, self._owner_note))
                if isinstance(texts[delete], NXAPIError):
                    raise texts[delete]
            except NXAPIConnectionError:
                if self._check_file_exists(self.candidate_cfg):
                    self._delete_file(self.candidate_cfg)
        if owner and texts.get(self._owner_note) != owner:
            self._copy_to_device(owner, OWNER_FILE)

    def _run_logged(
        self, command: str, log: str, outcome: str, before: nxos_replace.Operation | None, replaced: str = ""
    ) -> None:
        """Run a command that takes long, and judge it by the device's own log.

        Args:
            command: a replace or a rollback.
            log: shows the log of the last one.
            outcome: beginning of the last line of the command's answer, used where the log has no outcome.
            before: the last operation in that log before.
            replaced: a configuration that no longer runs after a success without an outcome in the log; "" for any.
        """
        exchange = self._exchange(self._commit_timeout)
        exchange.longest_s = self._commit_timeout
        request = LongRequest(exchange, [QUIET, command])
        until, quiet = time.monotonic() + self._commit_timeout, 0
        while True:
            answered = request.wait(POLL_S)
            try:
                operation = self._find_logged_operation(log)
                status = (
                    ""
                    if answered and not request.error
                    else self._show(exceptions.CommandErrorException, STATUS)[0]
                )
            except (exceptions.ConnectionException, exceptions.CommandTimeoutException) as error:
                if isinstance(error, exceptions.ConnectAuthError):  # each further look may lock the account
                    raise
                operation, status = before, ""
            own = operation is not None and operation.user in ("", self.username)
            new = operation if own and operation != before else None
            if new and new.status:
                if new.succeeded:
                    return
                raise self._failed_commit(request.text, new.status)
            if answered and not request.error and new is None:
                if not nxos_replace.reports_outcome(request.text, outcome):
                    raise self._failed_commit(request.text, begun=self._may_have_begun(operation, before))
                if replaced and not nxos_candidate.differs(
                    replaced, self._show(exceptions.CommitError, RUNNING)[0]
                ):
                    raise exceptions.CommitError(
                        f"{self.hostname}: the replace reports success, but its log has no entry and nothing changed"
                    )
                return
            if isinstance(request.error, NXAPICommandError):
                begun = new is not None or self._may_have_begun(operation, before)
                raise self._failed_commit(str(request.error), begun=begun)
            if request.error and new is None:
                quiet = quiet + 1 if nxos_replace.is_idle(status) else 0
                if quiet >= _QUIET_POLLS and not self._may_have_begun(operation, before):
                    raise self._failed_commit(str(request.error), begun=False)
            if answered:
                time.sleep(POLL_S)
            if time.monotonic() > until:
                text = f"{self.hostname}: no outcome of `{command.split()[0]}` in {self._commit_timeout:g} s"
                raise exceptions.CommandTimeoutException(text)

    def _may_have_begun(
        self, operation: nxos_replace.Operation | None, before: nxos_replace.Operation | None
    ) -> bool:
        """Return whether this session's replace may have begun: nothing shows that another one came first.

        Args:
            operation: the last one in the device's log, which is none of this session.
            before: the last one before the replace.
        """
        if operation is not None and operation != before and operation.user not in ("", self.username):
            return False
        return nxos_candidate.differs(self._running, self._show(exceptions.CommitError, RUNNING)[0])

    def _failed_commit(self, output: str, status: str = "", *, begun: bool = True) -> exceptions.CommitError:
        """Return the error of a replace; `begun` is False where the device's log shows that it did not begin."""
        text = excerpt(output.strip(), self.password, longest=500, end=True)
        reason = f"its log reports {status!r}: {text}" if status else text
        kind = exceptions.CommitError if begun else single.NothingCommittedError
        return kind(f"{self.hostname}: {reason or 'no outcome is reported'}")

    def _find_logged_operation(self, log: str) -> nxos_replace.Operation | None:
        """Return the last operation in a log of the device; None when it has no such log."""
        with self._clean(exceptions.CommandErrorException):
            return _read_operation(self._read_texts(log), log)

    def _save(self) -> None:
        """Save what runs; where the answer does not report it, what was saved decides.

        Raises:
            CommitError: it is not saved.
        """
        command = "copy running-config startup-config"
        try:
            output = self._command_text(command, exceptions.CommitError)
        except exceptions.ConnectionClosedException:
            output = self._command_text(command, exceptions.CommitError)
        if nxos_replace.reports_outcome(output, nxos_replace.SAVED):
            return
        (running,) = self._show(exceptions.CommitError, RUNNING)
        with self._clean(exceptions.CommitError):
            if nxos_candidate.differs(running, self._show_startup()):
                raise exceptions.CommitError(
                    f"the configuration is not saved: {excerpt(output, self.password)}"
                )

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation."""
        return any(hold.left_s is not None for hold in self.get_holds())

    def get_holds(self) -> list[Hold]:
        """Return a commit that waits for confirmation, or a replace in progress, by `show config-replace status`.

        The account is that of the log, the session that of a note on the switch. Not part of NAPALM.
        """
        (status,) = self._show(exceptions.CommandErrorException, STATUS)
        with self._clean(exceptions.CommandErrorException):
            texts = {STATUS: status}
            if nxos_replace.remaining_s(status):
                texts |= self._read_texts(_LOG, self._owner_note, RUNNING)
            hold = self._find_waiting_commit(texts)
        return [] if hold is None else [hold]

    def get_waiting_commit(self) -> Hold | None:
        """Return the commit that waits for confirmation, by one request; not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
            return self._find_waiting_commit(self._read_commit_texts())

    def _read_commit_texts(self) -> dict[str, str]:
        return self._read_texts(STATUS, _LOG, self._owner_note, RUNNING)

    def _find_waiting_commit(self, texts: Mapping[str, str]) -> Hold | None:
        status = require_text(texts, STATUS)
        self._require_status(status)
        if left_s := nxos_replace.remaining_s(status):
            owner, own = self._find_owner(texts)
            return Hold(HoldKind.COMMIT, owner, float(left_s), own)
        return None if nxos_replace.is_idle(status) else Hold(HoldKind.COMMIT)

    def _require_status(self, status: str) -> None:
        """Refuse a status in words of no known form, unless the log shows that no replace has run either.

        Raises:
            ConnectionException: whether a commit waits cannot be read.
        """
        if not nxos_replace.is_status(status) and self._find_logged_operation(_LOG) is not None:
            shown = excerpt(status, self.password, longest=100)
            raise exceptions.ConnectionException(f"{self.hostname}: unknown form of `{STATUS}`: {shown!r}")

    def confirm_commit(self) -> None:
        """Stop the timer, check that it has stopped, and save.

        Raises:
            CommitError: no commit waits, or the timer still runs.
            SessionLockedException: another user made the commit that waits.
        """
        if not self._require_own_commit() and not self._has_unsaved_commit():
            raise exceptions.CommitError(f"{self.hostname}: no commit waits for confirmation")
        self._confirm()

    def _require_own_commit(self) -> bool:
        """Return whether a commit waits, and refuse one that the log or the note shows to be somebody else's.

        Raises:
            SessionLockedException: another user or session made it.
        """
        with self._clean(exceptions.CommandErrorException):
            texts = self._read_commit_texts()
            self._running = texts.get(RUNNING, "")  # a lost rollback is judged by it
            hold = self._find_waiting_commit(texts)
        if hold is None or hold.left_s is None:
            return False
        if hold.own is False:
            reason = f"{hold.owner or 'somebody else'} made the commit that waits"
            if not hold.owner and _read_operation(texts, _LOG) is None:
                reason = f"nothing proves whose commit waits; wait for its timer, and allow `{_LOG}`"
            raise exceptions.SessionLockedException(f"{self.hostname}: {reason}")
        return True

    def confirm_unseen_commit(self) -> None:
        """Confirm a commit whose timer `show config-replace status` does not show; not part of NAPALM.

        Cisco publishes no example of the line with the timer, so a release can print it in a form of its own. The log
        and the startup configuration decide then.
        """
        if self._has_unsaved_commit():
            self._confirm()

    def _has_unsaved_commit(self) -> bool:
        """Return whether the last replace is a successful one of this user that has not been saved."""
        operation = self._find_logged_operation(_LOG)
        if operation is None or not operation.succeeded or operation.user != self.username:
            return False
        (self._running,) = self._show(exceptions.CommitError, RUNNING)
        with self._clean(exceptions.CommitError):
            return nxos_candidate.differs(self._running, self._show_startup())

    def _confirm(self) -> None:
        status = self._stop_timer(self._running)
        if self._is_timer_running(status):
            raise exceptions.CommitError(
                f"{self.hostname}: the commit timer still runs after the confirmation"
            )
        self._save()

    def _stop_timer(self, committed: str = "") -> str:
        """Confirm the replace; return the status after it, which decides.

        Args:
            committed: what runs unless the switch goes back, which it may have done where the answer is lost; "" for
                a timer whose end does not matter.

        Raises:
            CommitError: the switch went back.
        """
        with self._clean(exceptions.CommitError):
            assert self.device is not None
            commands = [QUIET, "configure replace commit", STATUS]
            try:
                answers = self.device.show_list(commands, raw_text=True)
            except NXAPIConnectionError:
                status, running = self._show(exceptions.CommitError, STATUS, RUNNING)
                if committed and nxos_candidate.differs(committed, running):
                    raise exceptions.CommitError(
                        f"{self.hostname}: the switch went back before its confirmation"
                    ) from None
                if not nxos_replace.remaining_s(status):
                    return status
                answers = self.device.show_list(commands, raw_text=True)
            return require_text({STATUS: str(answers[-1]["result"] or "")}, STATUS)

    def _is_timer_running(self, status: str) -> bool:
        """Return whether the time that the status reports gets shorter; a time that stays is no running timer."""
        if not (before := nxos_replace.remaining_s(status)):
            return False
        time.sleep(POLL_S)
        return 0 < nxos_replace.remaining_s(self._show(exceptions.CommandErrorException, STATUS)[0]) < before

    def rollback(self) -> None:
        """Go back to the checkpoint taken before the last commit, then stop a timer that runs, then save.

        The timer is the way back if the rollback fails, so it is stopped last.

        Raises:
            SessionLockedException: another user made the commit that waits.
        """
        self._identity = None
        self.drop_ahead()
        self._require_own_commit()
        with self._clean(exceptions.CommitError):
            if not self._check_file_exists(self.rollback_cfg):
                raise exceptions.CommitError(f"the checkpoint {self.rollback_cfg} is not on the switch")
        before = self._find_logged_operation(_ROLLBACK_LOG)
        command = f"rollback running-config file {self.rollback_cfg}"
        self._run_logged(command, _ROLLBACK_LOG, nxos_replace.ROLLED_BACK, before)
        if self.has_pending_commit():
            self._stop_timer()
        self._save()

    def discard_config(self) -> None:
        """Delete the candidate."""
        if self._unchanged:
            self.loaded = False
        with self._clean(exceptions.CommandErrorException):
            super().discard_config()

    # Printed forms of keys.

    def _printed_forms(self, text: str) -> dict[str, str]:
        """Return how the device prints a plan's lines with clear keys, where that was recorded when they were set."""
        keys = nxos_candidate.clear_keys(text)
        if not keys:
            return {}
        return nxos_candidate.PrintedForms.read(self._show_file(nxos_candidate.FORMS_FILE)).of(keys)

    def _note_printed_forms(self) -> None:
        """Write how the device prints keys that were sent in clear text, for the next comparison."""
        keys = nxos_candidate.clear_keys(self._plan)
        if keys and len(self._printed_forms(self._plan)) < len(keys):
            printed = nxos_candidate.printed_keys(self._show(exceptions.CommitError, RUNNING)[0])
            forms = {line: printed[server] for line, server in keys.items() if server in printed}
            self._copy_to_device(nxos_candidate.PrintedForms.note(forms), nxos_candidate.FORMS_FILE)

    def _copy_to_device(self, text: str, name: str) -> None:
        """Copy a text to a file of the device, as a candidate is copied."""
        candidate, self.candidate_cfg = self.candidate_cfg, name
        try:
            super().load_replace_candidate(config=text)
        finally:
            self.candidate_cfg = candidate

    # Getters.


def _read_operation(texts: Mapping[str, str], log: str) -> nxos_replace.Operation | None:
    """Return the last operation in a log; None where the switch has no such log, or it has no operation."""
    return nxos_replace.read_log(texts[log]) if log in texts else None
