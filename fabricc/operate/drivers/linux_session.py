"""A session on a Linux switch whose own tools apply configurations: its commands, a private folder, a lock."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommitConfirmException,
    CommitError,
    ConnectionException,
    NapalmException,
    SessionLockedException,
)

from fabricc.operate.drivers.holds import Claim, Hold
from fabricc.operate.drivers.linux import LinuxDriver
from fabricc.operate.drivers.redact import excerpt

_BEGINS, _ENDS = "==fabricc==", "==fabricc ends=="
"""The lines around the output of a command: a login script may print before it, and an answer may be cut off."""
_LONGEST_LOCK_S = 86400
"""A lock that would stand longer was written before the clock of the switch was set back, and is over."""
_HELD = 75  # EX_TEMPFAIL of sysexits.h: another session holds the lock


class LinuxSession(LinuxDriver):
    """The common base of the SONiC and Cumulus drivers."""

    FOLDER = ""

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self._folder = str(self.optional_args.get("private_dir", self.FOLDER))
        self._files: dict[str, str] = {}

    @contextmanager
    def _loading(self, files: dict[str, str]) -> Iterator[None]:
        """Hold the lock for these files as the candidate, and drop them when they are refused.

        Raises:
            CommitConfirmException: a commit waits for confirmation.
            SessionLockedException: another session holds a candidate.
        """
        if self.has_pending_commit():
            raise CommitConfirmException(f"{self.hostname}: a commit waits for confirmation")
        self._lock()
        self._files, self._loaded = files, bool(files)
        try:
            yield
        except NapalmException:
            with suppress(NapalmException):
                self.discard_config()
            raise

    def _run(
        self,
        command: str,
        failure: type[NapalmException] = CommandErrorException,
        given: str = "",
        limit_s: float | None = None,
    ) -> str:
        """Return the standard output of a shell command, without what login scripts print before it.

        Raises:
            NapalmException: `failure`, with the end of the output.
            ConnectionException: the answer is not that of the command, or is cut off, in spite of exit status 0.
        """
        framed = f"echo {_BEGINS}\n(\n{command}\n)\ns=$?\necho\necho '{_ENDS}'\nexit $s"
        ran = self._shell.run(f"{self._sudo()}sh -c {shlex.quote(framed)}", given.encode(), limit_s)
        before, begins, rest = ran.out.partition(f"{_BEGINS}\n")
        out, ends, after = rest.rpartition(f"\n{_ENDS}\n")
        if ran.status:
            output = excerpt(ran.err or out or rest or before, self.password, longest=500, end=True)
            raise failure(f"{self.hostname}: {command[:60]}: exit status {ran.status}: {output}")
        twice = any(f"\n{mark}\n" in f"\n{out}\n" for mark in (_BEGINS, _ENDS))
        if not begins or not ends or after or twice:
            output = excerpt(ran.out or ran.err, self.password, longest=100) or "nothing"
            raise ConnectionException(
                f"{self.hostname}: {command[:60]}: the answer is not whole, or not that of the command: {output!r}"
            )
        return out

    def _sudo(self) -> str:
        """Return what stands before every command: the drivers' commands run as root unless `sudo` is off."""
        return "sudo -n " if self.optional_args.get("sudo", True) else ""

    def _outputs(self, *commands: Sequence[str]) -> list[str]:
        return [self._run(shlex.join(command)) for command in commands]

    def cli(self, commands: Sequence[str], encoding: str = "text") -> dict[str, str]:
        """Output of commands of the switch's shell."""
        if encoding != "text":
            raise NotImplementedError("only text")
        return {command: self._run(command) for command in commands}

    def _kept(self, name: str) -> str:
        return self._run(f"cat {self._folder}/{name} 2> /dev/null || true").strip()

    def _keep(self, name: str, text: str, failure: type[NapalmException]) -> None:
        at = f"{self._folder}/{name}"
        command = f"umask 077 && mkdir -p {self._folder} && cat > {at}.new && mv {at}.new {at}"
        try:
            self._run(command, failure, text)
        except failure as error:
            reason = str(error).removeprefix(f"{self.hostname}: ")
            raise failure(f"{self.hostname}: cannot write {at} on the switch: {reason}") from None

    def _lock(self) -> None:
        """Take the lock, or renew one's own; it expires, so that a session left behind does not block for good.

        Raises:
            SessionLockedException: another session holds it.
        """
        seconds = int(self.optional_args.get("lock_timeout", 300))
        mine = shlex.quote(self._session)
        command = (
            f"umask 077; mkdir -p {self._folder} && cd {self._folder} || exit; exec 9> guard; flock 9; "
            f'now=$(date +%s); if [ -e lock ] && [ "$(head -n 1 lock)" != {mine} ] && '
            f'[ "$(tail -n 1 lock)" -gt "$now" ] && [ "$(tail -n 1 lock)" -lt $((now + {_LONGEST_LOCK_S})) ]; '
            f"then exit {_HELD}; fi; "
            f'printf "%s\\n%s\\n" {mine} $((now + {seconds})) > lock'
        )
        try:
            self._run(command)
        except CommandErrorException as error:
            if f"exit status {_HELD}" in str(error):
                raise SessionLockedException(
                    f"{self.hostname}: another session holds the candidate"
                ) from None
            raise

    def _unlock(self, *names: str) -> None:
        """Release this session's lock, and remove the files of the candidate."""
        self._drop_lock(self._session, *names)
        self._files, self._loaded = {}, False

    def _drop_lock(self, owner: str, *names: str) -> None:
        """Remove the lock of a session with the files of its candidate; the lock of any other stays."""
        drop = f'[ "$(head -n 1 lock 2> /dev/null)" = {shlex.quote(owner)} ] && rm -f lock {" ".join(names)}'
        self._run(f"cd {self._folder} 2> /dev/null && {drop}; true")

    # Claims of sessions.

    def _sign_commit(self) -> None:
        """Record on the switch which session makes the commit that will wait for confirmation."""
        self._keep("owner", f"{self._session}\n", CommitError)

    def _require_own_commit(self) -> None:
        """Refuse to confirm or to undo the pending commit of another session.

        Raises:
            CommitError: another session or a person made it.
        """
        if (owner := self._kept("owner")) != self._session:
            raise CommitError(f"{self.hostname}: {owner or 'somebody else'} made the commit that waits")

    def _commit_left_s(self) -> float | None:
        """Return the seconds until a pending commit goes back; None when the switch does not report them."""
        return None

    def get_holds(self) -> list[Hold]:
        """Return claims of every session: a commit that waits for confirmation, and the lock of a candidate.

        Not part of NAPALM.
        """
        found = []
        if self.has_pending_commit():
            owner = self._kept("owner")
            found.append(Hold(Claim.COMMIT, owner, self._commit_left_s(), own=owner == self._session))
        owner, left = self._lock_owner()
        if owner:
            found.append(Hold(Claim.CANDIDATE, owner, left, own=owner == self._session))
        return found

    def _lock_owner(self) -> tuple[str, float]:
        """Return the session that holds the candidate and the seconds until its lock expires; "" when nobody does."""
        words = self._run(f"cat {self._folder}/lock 2> /dev/null || true; date +%s").split()
        left = float(words[1]) - float(words[2]) if len(words) > 2 else 0.0
        return (words[0], left) if 0 < left < _LONGEST_LOCK_S else ("", 0.0)

    def end_hold(self, hold: Hold) -> bool:
        """Remove the candidate and the lock of a session that is dead. Not part of NAPALM."""
        self._drop_lock(hold.owner)
        return True
