"""The NAPALM driver of Cumulus Linux: NVUE's own commands over SSH."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any

from napalm.base import exceptions

from fabricc.operate.drivers import Hold, HoldKind, linux_views, nvue_views
from fabricc.operate.drivers.answers import TIMES
from fabricc.operate.drivers.cumulus_connection import FILE, POLL_S, SHOW, STARTUP, CumulusConnection
from fabricc.operate.drivers.linux import PROCESSES
from fabricc.operate.drivers.nvue_views import APPLIED, CONFIRM, PENDING, SETTLED, Revisions
from fabricc.operate.drivers.redact import excerpt
from fabricc.operate.drivers.single import one_text

_CHANGES = re.compile(r"nv (?:set|unset) ")
_ZTP = re.compile(r"(?:^|\s)/usr/lib/cumulus/ztp(?:\s|$)")
"""Zero touch provisioning, whose script may load a configuration while it runs (NVIDIA, Zero Touch Provisioning)."""
_SAVE = (
    f"{SHOW}a=$(s startup) && nv config save >&2 && b=$(s startup) && "
    "c=$(s applied) && "
    'if [ "$b" = "$c" ] || [ "$a" != "$b" ]; then echo saved; else echo unsaved; fi'
)
"""Save, and report whether the startup configuration is the applied one, or has changed at least."""
_MINUTE_S = 60
_REVISIONS, _HISTORY = shlex.join(nvue_views.REVISIONS), shlex.join(nvue_views.HISTORY)
_DIFF = "nv config diff -o commands 2> /dev/null || true"
_DETACH = "nv config detach || true"
_LOADED = "loaded"
"""File on the switch with the name of the revision that a session of this driver loaded last."""


class CumulusDriver(CumulusConnection):
    """Cumulus Linux with NVUE, release 5.9 or later.

    **Candidate.** `startup.yaml`, the whole configuration: the file, a folder with it alone, or its text. NVUE loads it
    into a pending revision (`nv config replace`; a merge is `nv config patch`) and validates it there.

    **Outcome.** Exit statuses and the states of `nv config revision -o json` decide, never words of other output.

    **Commit.** `nv config apply -y`, with `--confirm MINUTESm` when there is `revert_in` (seconds, rounded up to the
    minutes that NVIDIA's guide states): NVUE itself goes back unless `nv config apply REVISION --confirm-yes` comes.
    `nv config save` follows the confirmation. `rollback()` applies the revision that was applied before the last
    commit. A commit of another session is neither confirmed nor undone.

    Args:
        hostname: name or address.
        username: login whose role has the command class `nvapply`. For BGP and LLDP it is also in the groups `frrvty`
            and `_lldpd`, or `sudo -n` lets it run vtysh and lldpcli.
        password: of the login; never shown.
        timeout: seconds for connecting and for each answer.
        optional_args: those of `fabricc.operate.drivers.shell.Shell`, and

            * `sudo` (True): run vtysh and lldpcli through `sudo -n` where the login needs it; nothing else uses sudo.
            * `private_dir` (`~/.napalm-cumulus`), `session` (random), `lock_timeout` (300 s),
              `commit_timeout` (300 s).
    """

    CONFIRM_STEP = _MINUTE_S
    CONFIRM_LIMITS = (_MINUTE_S, None)

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self._candidate = self._base = ""

    # Revisions.

    def _waiting(self, revisions: Revisions) -> str:
        """Return the revision that waits for its confirmation, "" when none does.

        Raises:
            CommitError: This driver did not commit it.
        """
        waiting = nvue_views.names_in(revisions, CONFIRM)
        if waiting:
            self._require_own_commit()
        if foreign := sorted(waiting - {self._kept("committed")}):
            raise exceptions.CommitError(
                f"{self.hostname}: revision {foreign[0]} of another session waits for confirmation; "
                "confirm or undo it there, or wait for its timer"
            )
        return next(iter(waiting), "")

    def _apply(
        self,
        words: str,
        revision: str,
        revisions: Revisions,
        wanted: frozenset[str],
        first: Sequence[str] = (),
    ) -> list[str]:
        """Run `nv config apply ...` and require that a revision then has one of the wanted states.

        A lost answer is no outcome: the state is read over a new connection until NVUE has settled it.

        Args:
            words: after `nv config apply`.
            revision: whose state decides.
            revisions: those of before.
            wanted: its states after success.
            first: commands that must succeed before.

        Returns:
            What `first` printed, "" for an answer that is lost.

        Raises:
            CommitError: NVUE refused it, or the revision has another state.
            ConnectionException: The connection broke, and the command had no effect.
        """
        lost: exceptions.NapalmException | None = None
        apply = f"nv config apply {words}"
        printed: list[str] = []
        try:
            with self._in_one_request(*first, apply, _REVISIONS, stops=True, limit_s=self._patience):
                printed = [self._run(command, exceptions.CommitError) for command in first]
                self._run(apply, exceptions.CommitError, limit_s=self._patience)
                found = self._revisions().get(revision, {})
        except (exceptions.CommandTimeoutException, exceptions.ConnectionException) as error:
            lost = error
            found = self._revisions().get(revision, {})
        # NVUE can take seconds to leave `confirm` after a confirmation that it accepted.
        ended = SETTLED if lost or CONFIRM in wanted else SETTLED - {CONFIRM}
        until = time.monotonic() + self._patience
        while found.get("state") not in ended:
            if time.monotonic() > until:
                break
            time.sleep(POLL_S)
            found = self._revisions().get(revision, {})
        if lost and found == revisions.get(revision, {}):
            raise lost
        if found.get("state") not in wanted:
            issues = nvue_views.describe_issues(found, self.password)
            raise exceptions.CommitError(f"{self.hostname}: revision {revision} was not applied: {issues}")
        return printed

    # Configuration.

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole configuration into a pending revision.

        Raises:
            ReplaceConfigException: NVUE refuses it, or the login could not look at BGP after the change.
            SessionLockedException: another session holds a candidate.
            CommitConfirmException: a commit waits for confirmation.
        """
        self._require_access()
        self._load(
            one_text(filename, config, FILE, exceptions.ReplaceConfigException),
            "replace",
            exceptions.ReplaceConfigException,
        )

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load a part that is added to what is applied.

        Raises:
            MergeConfigException: NVUE refuses it.
        """
        self._load(
            one_text(filename, config, FILE, exceptions.MergeConfigException),
            "patch",
            exceptions.MergeConfigException,
        )

    def _load(self, text: str, verb: str, failure: type[exceptions.NapalmException]) -> None:
        load = f"nv config {verb} {self._folder}/{FILE}"
        steps = (_DETACH, _REVISIONS, _HISTORY, load, _REVISIONS)
        store = self._keep_command(FILE)
        with self._loading({FILE: text}, store, given={store: text}):
            self._keep(FILE, text, failure)
            self._load_revision(verb, steps, load, failure)

    def _load_revision(
        self, verb: str, steps: Sequence[str], load: str, failure: type[exceptions.NapalmException]
    ) -> None:
        """Load the stored file into a revision, and note its name."""
        with self._in_one_request(*steps, stops=True, limit_s=self._patience):
            self._run(_DETACH)
            before = self._revisions()
            self._base = self._applied_revision(before)
            output = self._run(load, failure)
            after = self._revisions()
            found = nvue_views.names_in(after, PENDING) - nvue_views.names_in(before, PENDING)
            if len(found) != 1:
                states = ", ".join(after[name]["state"] for name in sorted(after.keys() - before.keys()))
                reason = (
                    excerpt(output, self.password) or f"the new revision has the state {states or 'none'}"
                )
                raise failure(f"{self.hostname}: nv config {verb} made no pending revision: {reason}")
            (self._candidate,) = found
        self._keep(_LOADED, f"{self._candidate}\n", failure)

    def _files_of(self, config: str) -> dict[str, str]:
        return {FILE: one_text(None, config, FILE, exceptions.ReplaceConfigException)}

    def compare_config(self) -> str:
        """Return NVUE's own difference between pending and applied, as commands.

        Raises:
            ConnectionException: the answer has no commands.
        """
        return (
            self._read_commands(self._nv("diff -o commands", exceptions.CommitError)) if self._files else ""
        )

    def _read_commands(self, text: str) -> str:
        """Return commands that NVUE prints, "" for none; a text may have several lines.

        Raises:
            ConnectionException: it is another text.
        """
        found = text.strip()
        if found and not _CHANGES.match(found):
            output = excerpt(found, self.password, longest=100)
            raise exceptions.ConnectionException(
                f"{self.hostname}: `nv config diff` printed no commands: {output!r}"
            )
        return found

    def discard_config(self) -> None:
        """Forget the pending revision of this session and give the lock back."""
        steps = [_DETACH] * bool(self._files)
        steps += [f"nv config delete {shlex.quote(self._candidate)} || true"] * bool(self._candidate)
        with self._in_one_request(*steps, self._drop_command(self._session, FILE, _LOADED)):
            for step in steps:
                self._run(step)
            self._candidate = ""
            self._unlock(FILE, _LOADED)

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Apply the pending revision.

        `message` is kept in NVUE's history; NVUE goes back after `revert_in` seconds, rounded up to minutes, unless
        confirmed.

        Raises:
            CommitConfirmException: `revert_in` is below a second.
            CommitError: NVUE refuses, or another change came in between; what ran before still runs.
        """
        if not self._files:
            raise exceptions.CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and revert_in < 1:
            raise exceptions.CommitConfirmException(f"{self.hostname}: revert_in must be at least one second")
        reads = (_REVISIONS, self._kept_command("committed"), _HISTORY)
        with self._in_one_request(self._lock_command(), *reads, stops=True):
            self._lock()
            revisions = self._revisions()
            self._waiting(revisions)
            applied = self._applied_revision(revisions)
        if applied != self._base:
            raise exceptions.CommitError(
                f"{self.hostname}: revision {applied} was applied by another session after this candidate was loaded; "
                "compare again"
            )
        first = [
            self._keep_command(name, value)
            for name, value in (
                ("before", applied),
                ("committed", self._candidate),
                ("owner", self._session),
            )
        ]
        words = "-y" + (f" --confirm {-(-revert_in // _MINUTE_S)}m" if revert_in else "")
        words += f" -m {shlex.quote(message)}" if message else ""
        candidate, self._candidate = self._candidate, ""
        if not revert_in:
            self._apply(words, candidate, revisions, APPLIED, first)
            self._save()
            self._unlock(FILE)
            return
        printed = self._apply(words, candidate, revisions, frozenset({CONFIRM}), [*first, STARTUP])
        with self._in_one_request(STARTUP, self._drop_command(self._session, FILE)):
            now = self._require_document(self._run(STARTUP))
            self._unlock(FILE)
        if printed and now != self._require_document(printed[-1]):
            self.rollback()
            raise exceptions.CommitError(
                f"{self.hostname}: NVUE saved the commit before its confirmation, so it was undone; "
                "run `nv set system config auto-save state disabled` and `nv config apply` on the switch"
            )

    def has_pending_commit(self) -> bool:
        """Return whether an apply waits for its confirmation."""
        return bool(nvue_views.names_in(self._revisions(), CONFIRM))

    def get_holds(self) -> list[Hold]:
        """Return claims of sessions, and the pending revision of a person with this account. Not part of NAPALM."""
        with self._in_one_request(*self._claim_commands()):
            found = super().get_holds()
            if self._has_foreign_revision(self._revisions()):
                found.append(Hold(HoldKind.CANDIDATE, self.username))
            if any(map(_ZTP.search, self._run(PROCESSES).splitlines())):
                found.append(Hold(HoldKind.UPDATE, "ZTP, which `sudo ztp -d` ends,"))
            return found

    def _claim_commands(self) -> Sequence[str]:
        """Return the commands of `get_holds`; the lock and the revisions are used twice."""
        return (*self._hold_commands(), *self._hold_commands(), self._kept_command("owner"), PROCESSES)

    def _hold_commands(self) -> Sequence[str]:
        return (_REVISIONS, self._owner_command(), _DIFF, self._kept_command(_LOADED))

    def _refuse_other_work(self) -> None:
        try:
            revisions = self._revisions()
            if nvue_views.names_in(revisions, CONFIRM):
                raise exceptions.CommitConfirmException(f"{self.hostname}: a commit waits for confirmation")
            if self._has_foreign_revision(revisions):
                raise exceptions.SessionLockedException(
                    f"{self.hostname}: {self.username} has a pending revision of NVUE"
                )
        except exceptions.NapalmException:
            self._unlock()  # which came in the same request
            raise

    def _has_foreign_revision(self, revisions: Revisions) -> bool:
        """Return whether this account has a pending revision that no session of this driver made.

        A session that died leaves its revision behind, also after its lock has expired or was removed.
        """
        owner, _ = self._lock_owner()
        if owner or not self._read_commands(self._run(_DIFF)):
            return False
        return self._kept(_LOADED) not in nvue_views.names_in(revisions, PENDING)

    def confirm_commit(self) -> None:
        """Confirm the commit that waits, and save it.

        Raises:
            CommitError: Nothing waits, NVUE went back already, or another session committed it.
        """
        kept = (self._kept_command(name) for name in ("owner", "committed"))
        with self._in_one_request(_REVISIONS, *kept):
            revisions = self._revisions()
            waiting = self._waiting(revisions)
        if not waiting:
            raise exceptions.CommitError(f"{self.hostname}: no commit waits for confirmation")
        self._settle("--confirm-yes", waiting, revisions, APPLIED)
        forget = f"rm -f {self._folder}/owner"
        self._save(forget)

    def _settle(self, option: str, waiting: str, revisions: Revisions, wanted: frozenset[str]) -> None:
        """Answer NVUE's wait for a confirmation, a second time where the first answer did not arrive.

        The command names the revision: it then fails for the commit of another session.
        """
        words = f"{shlex.quote(waiting)} {option}"
        try:
            self._apply(words, waiting, revisions, wanted)
        except (exceptions.CommandTimeoutException, exceptions.ConnectionException):
            self._apply(words, waiting, self._revisions(), wanted)

    def rollback(self) -> None:
        """Go back to the revision before the last commit, whether it waits for confirmation or not.

        Raises:
            CommitError: There is none, another session committed since then, or NVUE refuses.
        """
        before = self._kept("before")
        if not before:
            raise exceptions.CommitError(f"{self.hostname}: nothing to roll back to")
        revisions = self._revisions()
        if waiting := self._waiting(revisions):
            self._settle("--confirm-no", waiting, revisions, SETTLED - {CONFIRM})
        elif (applied := self._applied_revision(revisions)) == self._kept("committed"):
            self._apply(f"{shlex.quote(before)} -y", before, revisions, APPLIED)
            if (applied := self._applied_revision(self._revisions())) != before:
                raise exceptions.CommitError(f"{self.hostname}: revision {applied} is still applied")
        elif applied != before:
            raise exceptions.CommitError(
                f"{self.hostname}: revision {applied} of another session is applied; it is left alone"
            )
        self._save()
        self._run(f"cd {self._folder} && rm -f before committed owner")

    # Getters.

    def _requests(self) -> Mapping[str, Sequence[str]]:
        return {
            **super()._requests(),
            "get_holds": self._claim_commands(),
            "get_config": ("nv config show -r applied -o yaml", STARTUP),
            "get_interfaces_counters": (self._line_of(linux_views.LINKS),),
            "get_lossless_counters": (nvue_views.COUNTERS,),
            "get_alarms": (self._line_of(nvue_views.HEALTH),),
        }

    @property
    def _ahead_limit_s(self) -> float | None:
        return max(self._patience, TIMES * self.timeout)

    def _save(self, *then: str) -> None:
        """Save what is applied, and read it back: the exit status of `nv config save` is no proof.

        It is saved again over a new connection where the answer is lost.

        Args:
            then: commands to run when it could be saved.

        Raises:
            CommitError: The startup configuration is another one.
        """
        try:
            output = self._save_and(then)
        except (exceptions.CommandTimeoutException, exceptions.ConnectionException):
            self._reconnect()
            output = self._save_and(then)
        if output != "saved":
            output = excerpt(output, self.password, longest=100)
            raise exceptions.CommitError(
                f"{self.hostname}: `nv config save` did not save what is applied: {output!r}"
            )

    def _save_and(self, then: Sequence[str]) -> str:
        with self._in_one_request(_SAVE, *then, stops=True, limit_s=self._patience):
            output = self._run(_SAVE, exceptions.CommitError, limit_s=self._patience).strip()
            for command in then:
                self._run(command)
        return output
