"""A session on a Linux switch whose own tools apply configurations: its commands, a private folder, a lock."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from napalm.base import exceptions

from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.drivers.answers import TIMES
from fabricc.operate.drivers.linux import NEIGHBORS, ROUTER_MACS, ROUTES, SUMMARY, LinuxDriver
from fabricc.operate.drivers.redact import excerpt
from fabricc.operate.drivers.shell import CommandResult

_BEGINS, _ENDS = "==fabricc==", "==fabricc ends=="
"""The lines around the output of a command: a login script may print before it, and an answer may be cut off."""
_PART = re.compile(r"(?m)^==fabricc (\d+) (?:begins|ends with (\d+))==\n")
"""The lines around the output of each command where several go in one request; the second has its exit status."""
_LONGEST_LOCK_S = 86400
"""A lock with more time left was written before the clock was set back; it counts as expired."""
_HELD = 75  # EX_TEMPFAIL of sysexits.h: another session holds the lock


class LinuxSession(LinuxDriver):
    """The common base of the SONiC and Cumulus drivers."""

    FOLDER = ""

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self._ahead: dict[str, list[CommandResult]] = {}
        self._folder = str(self.optional_args.get("private_dir", self.FOLDER))
        self._files: dict[str, str] = {}

    @contextmanager
    def _loading(
        self,
        files: dict[str, str],
        *commands: str,
        given: Mapping[str, str] | None = None,
        limit_s: float | None = None,
    ) -> Iterator[None]:
        """Hold the lock for these files as the candidate, and drop them when they are refused.

        Args:
            files: by name.
            commands: sent with the lock; each `_run` of one in the block uses its result.
            given: see `_in_one_request`.
            limit_s: seconds to wait for all of it.

        Raises:
            CommitConfirmException: a commit waits for confirmation.
            SessionLockedException: another session holds a candidate.
        """
        before, lock = self._hold_commands(), self._lock_command()
        with self._in_one_request(*before, lock, *commands, given=given, stops=True, limit_s=limit_s):
            self._refuse_other_work()
            self._lock()
            self._files, self._loaded = files, bool(files)
            try:
                yield
            except exceptions.NapalmException:
                with suppress(exceptions.NapalmException):
                    self.discard_config()
                raise

    def _hold_commands(self) -> Sequence[str]:
        """Return the commands that `_refuse_other_work` reads."""
        return ()

    def _refuse_other_work(self) -> None:
        """Refuse to load a candidate while another session works on the switch.

        Raises:
            CommitConfirmException: a commit waits for confirmation.
            SessionLockedException: another session holds a candidate.
        """
        if self.has_pending_commit():
            raise exceptions.CommitConfirmException(f"{self.hostname}: a commit waits for confirmation")

    def _run(
        self,
        command: str,
        failure: type[exceptions.NapalmException] = exceptions.CommandErrorException,
        given: str = "",
        limit_s: float | None = None,
    ) -> str:
        """Return the standard output of a shell command, without what login scripts print before it.

        Raises:
            NapalmException: `failure`, with the end of the output.
            ConnectionException: the answer is not that of the command, or is cut off, in spite of exit status 0.
        """
        if results := self._ahead.get(command):
            ran = results.pop(0)
        else:
            script = f"echo {_BEGINS}\n(\n{command}\n)\ns=$?\necho\necho '{_ENDS}'\nexit $s"
            ran = self._open_frame(self._send(script, given, limit_s), command)
        if ran.status:
            output = excerpt(ran.err or ran.out, self.password, longest=500, end=True)
            raise failure(f"{self.hostname}: {command[:60]}: exit status {ran.status}: {output}")
        return ran.out

    def _send(self, script: str, given: str, limit_s: float | None) -> CommandResult:
        return self._shell.run(f"{self._sudo()}sh -c {shlex.quote(script)}", given.encode(), limit_s)

    def _open_frame(self, ran: CommandResult, command: str) -> CommandResult:
        """Return the result of a command without the lines around its output; the rest of a failure stays.

        Raises:
            ConnectionException: the exit status is 0, but the lines are missing.
        """
        before, begins, rest = ran.out.partition(f"{_BEGINS}\n")
        out, ends, after = rest.rpartition(f"\n{_ENDS}\n")
        if ran.status:
            return CommandResult(ran.status, ran.out and (out or rest or before), ran.err)
        twice = any(f"\n{mark}\n" in f"\n{out}\n" for mark in (_BEGINS, _ENDS))
        if not begins or not ends or after or twice:
            raise self._incomplete_answer(ran, command)
        return CommandResult(0, out, ran.err)

    def _incomplete_answer(self, ran: CommandResult, command: str) -> exceptions.ConnectionException:
        output = excerpt(ran.out or ran.err, self.password, longest=100) or "nothing"
        return exceptions.ConnectionException(
            f"{self.hostname}: {command[:60]}: the answer is not whole, or not that of the command: {output!r}"
        )

    @contextmanager
    def _in_one_request(
        self,
        *commands: str,
        given: Mapping[str, str] | None = None,
        stops: bool = False,
        limit_s: float | None = None,
    ) -> Iterator[None]:
        """Send several commands at once; each `_run` of one of them in the block uses its result, once.

        Args:
            commands: in this order; a read command whose result is known already is not sent.
            given: the command that reads standard input, and its text.
            stops: send all of them, and stop at the first failure; for commands that change the switch.
            limit_s: seconds to wait for all; None for some times the connection's timeout.

        Raises:
            ConnectionException: the answer is not that of these commands, or is cut off.
        """
        sent = self._send_together(commands, given or {}, limit_s, stops=stops)
        try:
            yield
        finally:
            for command in sent:
                self._ahead.pop(command, None)

    def _send_together(
        self, commands: Sequence[str], given: Mapping[str, str], limit_s: float | None, *, stops: bool = False
    ) -> Sequence[str]:
        """Keep the results of commands for `_run`, and return those that were sent; a single one is left to `_run`."""
        missing = list(commands)
        if not stops:
            missing = [one for one in dict.fromkeys(commands) if not self._ahead.get(one)]
        for command in missing:
            self._ahead.pop(command, None)
        if len(missing) < 2:
            return ()
        parts = [
            f"echo '==fabricc {number} begins=='\nprintf '\\n==fabricc {number} begins==\\n' >&2\n(\n{command}\n)"
            + ("" if command in given else " < /dev/null")
            + f'\ns=$?\necho\necho "==fabricc {number} ends with $s=="'
            for number, command in enumerate(missing)
        ]
        joined = "\n[ $s = 0 ] || break\n".join(parts) if stops else "\n".join(parts)
        script = f"echo\nwhile :; do\n{joined}\nbreak\ndone\necho '{_ENDS}'"
        ran = self._send(script, "".join(given.values()), limit_s or TIMES * self.timeout)
        for command, result in zip(missing, self._split_parts(ran, missing, stops=stops), strict=False):
            uses = 1 if stops else commands.count(command)
            self._ahead.setdefault(command, []).extend([result] * uses)
        return missing

    def _split_parts(
        self, ran: CommandResult, commands: Sequence[str], *, stops: bool
    ) -> list[CommandResult]:
        """Return the result of each command of a request, in order.

        Raises:
            ConnectionException: the answer is not that of these commands, or is cut off.
        """
        if ran.status:  # the shell itself, such as a refusal of sudo
            return [CommandResult(ran.status, ran.out, ran.err)] * len(commands)
        errors = _PART.split(ran.err)
        texts = dict(zip(errors[1::3], errors[3::3], strict=True))
        pieces = _PART.split(ran.out)
        marks, bodies = list(zip(pieces[1::3], pieces[2::3], strict=True)), pieces[3::3]
        results = [
            CommandResult(int(ended), body.removesuffix("\n"), texts.get(number, ""))
            for (number, _), (_, ended), body in zip(marks[::2], marks[1::2], bodies[::2], strict=False)
            if ended is not None
        ]
        expected = [
            (str(number), end) for number, one in enumerate(results) for end in (None, str(one.status))
        ]
        ended = len(results) == len(commands) or (stops and results and results[-1].status)
        between = {*bodies[1:-1:2], ""}
        if marks != expected or not ended or between != {""} or not bodies or bodies[-1] != f"{_ENDS}\n":
            raise self._incomplete_answer(ran, commands[0])
        return results

    def _sudo(self) -> str:
        """Return the prefix of every command: the drivers' commands run as root unless `sudo` is off."""
        return "sudo -n " if self.optional_args.get("sudo", True) else ""

    def _outputs(self, *commands: Sequence[str]) -> list[str]:
        lines = [self._line_of(command) for command in commands]
        with self._in_one_request(*lines):
            return [self._run(line) for line in lines]

    def _line_of(self, command: Sequence[str]) -> str:
        """Return the line for the shell that runs a program."""
        return shlex.join(command)

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Send the commands of several getters in one request; each getter uses its answers once. Not part of NAPALM.

        Args:
            getters: names of getters; those without an entry in `_requests` send their own requests later.
        """
        requests = self._requests()
        commands = [command for name in getters for command in requests.get(name, ())]
        self._send_together(commands, {}, self._ahead_limit_s)

    def drop_ahead(self) -> None:
        """Forget answers that no getter has used; not part of NAPALM."""
        self._ahead.clear()

    @property
    def _ahead_limit_s(self) -> float | None:
        """Seconds that the commands of several getters may take."""
        return None

    def _requests(self) -> Mapping[str, Sequence[str]]:
        """Return getter -> its commands as `_run` has them."""
        found = {
            "get_bgp_neighbors": (SUMMARY, NEIGHBORS),
            "get_ecmp_widths": ROUTES,
            "get_router_macs": (ROUTER_MACS,),
        }
        return {
            name: [self._line_of((*self.VTYSH, "-c", command)) for command in commands]
            for name, commands in found.items()
        }

    def cli(self, commands: Sequence[str], encoding: str = "text") -> dict[str, str]:
        """Return the output of each shell command."""
        if encoding != "text":
            raise NotImplementedError("only text")
        return {command: self._run(command) for command in commands}

    def _kept(self, name: str) -> str:
        return self._run(self._kept_command(name)).strip()

    def _kept_command(self, name: str) -> str:
        return f"cat {self._folder}/{name} 2> /dev/null || true"

    def _keep(self, name: str, text: str, failure: type[exceptions.NapalmException]) -> None:
        try:
            self._run(self._keep_command(name), failure, text)
        except failure as error:
            reason = str(error).removeprefix(f"{self.hostname}: ")
            at = f"{self._folder}/{name}"
            raise failure(f"{self.hostname}: cannot write {at} on the switch: {reason}") from None

    def _keep_command(self, name: str, line: str = "") -> str:
        """Return the command that writes a file of this driver: a line, or its standard input without one."""
        at = f"{self._folder}/{name}"
        source = f"printf '%s\\n' {shlex.quote(line)}" if line else "cat"
        return f"umask 077 && mkdir -p {self._folder} && {source} > {at}.new && mv {at}.new {at}"

    def _lock_command(self) -> str:
        seconds = int(self.optional_args.get("lock_timeout", 300))
        mine = shlex.quote(self._session)
        return (
            f"umask 077; mkdir -p {self._folder} && cd {self._folder} || exit; exec 9> guard; flock 9; "
            f'now=$(date +%s); if [ -e lock ] && [ "$(head -n 1 lock)" != {mine} ] && '
            f'[ "$(tail -n 1 lock)" -gt "$now" ] && [ "$(tail -n 1 lock)" -lt $((now + {_LONGEST_LOCK_S})) ]; '
            f"then exit {_HELD}; fi; "
            f'printf "%s\\n%s\\n" {mine} $((now + {seconds})) > lock'
        )

    def _lock(self) -> None:
        """Acquire or renew the lock; it expires, so that a dead session does not block the switch forever.

        Raises:
            SessionLockedException: another session holds it.
        """
        try:
            self._run(self._lock_command())
        except exceptions.CommandErrorException as error:
            if f"exit status {_HELD}" in str(error):
                raise exceptions.SessionLockedException(
                    f"{self.hostname}: another session holds the candidate"
                ) from None
            raise

    def _unlock(self, *names: str) -> None:
        """Release this session's lock, and remove the files of the candidate."""
        self._drop_lock(self._session, *names)
        self._files, self._loaded = {}, False

    def _drop_lock(self, owner: str, *names: str) -> None:
        """Remove the lock of a session with the files of its candidate; the lock of any other stays."""
        self._run(self._drop_command(owner, *names))

    def _drop_command(self, owner: str, *names: str) -> str:
        drop = f'[ "$(head -n 1 lock 2> /dev/null)" = {shlex.quote(owner)} ] && rm -f lock {" ".join(names)}'
        return f"cd {self._folder} 2> /dev/null && {drop}; true"

    # Claims of sessions.

    def _require_own_commit(self) -> None:
        """Refuse to confirm or to undo the pending commit of another session.

        Raises:
            CommitError: another session or a person made it.
        """
        if (owner := self._kept("owner")) != self._session:
            raise exceptions.CommitError(
                f"{self.hostname}: {owner or 'somebody else'} made the commit that waits"
            )

    def _commit_left_s(self) -> float | None:
        """Return the seconds until a pending commit is rolled back; None if the switch does not report them."""
        return None

    def get_holds(self) -> list[Hold]:
        """Return claims of every session: a commit that waits for confirmation, and the lock of a candidate.

        Not part of NAPALM.
        """
        found = []
        if self.has_pending_commit():
            owner = self._kept("owner")
            found.append(Hold(HoldKind.COMMIT, owner, self._commit_left_s(), own=owner == self._session))
        owner, left = self._lock_owner()
        if owner:
            found.append(Hold(HoldKind.CANDIDATE, owner, left, own=owner == self._session))
        return found

    def _lock_owner(self) -> tuple[str, float]:
        """Return the session that holds the candidate and the seconds until its lock expires; "" when nobody does."""
        words = self._run(self._owner_command()).split()
        left = float(words[1]) - float(words[2]) if len(words) > 2 else 0.0
        return (words[0], left) if 0 < left < _LONGEST_LOCK_S else ("", 0.0)

    def _owner_command(self) -> str:
        return f"{self._kept_command('lock')}; date +%s"

    def end_hold(self, hold: Hold) -> bool:
        """Remove the candidate and the lock of a session that is dead. Not part of NAPALM."""
        self._drop_lock(hold.owner)
        return True
