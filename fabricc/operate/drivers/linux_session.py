"""A session on a Linux switch whose own tools apply configurations: commands as root, a private folder, a lock."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommandErrorException, NapalmException, SessionLockedException

from fabricc.operate.drivers.linux_getters import LinuxGetters
from fabricc.operate.drivers.redact import redacted
from fabricc.operate.drivers.shell import Shell

_HELD = 75  # EX_TEMPFAIL of sysexits.h: another session holds the lock


class LinuxSession(LinuxGetters, NetworkDriver):  # type: ignore[misc]
    """What the SONiC and the Cumulus drivers share; their docstrings list the arguments."""

    CONFIRM_STEP = 1
    FOLDER = ""

    def __init__(
        self,
        hostname: str,
        username: str,
        password: str,
        timeout: int = 60,
        optional_args: dict[str, Any] | None = None,
    ) -> None:
        options = dict(optional_args or {})
        self.hostname, self.username, self.password, self.timeout = hostname, username, password, timeout
        self.optional_args = options
        self._shell = Shell(hostname, username, password, timeout, options)
        self._session = str(options.get("session") or uuid.uuid4())
        self._folder = str(options.get("private_dir", self.FOLDER))
        self._patience = int(options.get("commit_timeout", 300))
        self._files: dict[str, str] = {}

    def open(self) -> None:
        """Connect and log in."""
        self._shell.open()

    def close(self) -> None:
        """Drop a candidate that was not committed, and disconnect."""
        if self._files and self._shell.alive:
            with suppress(NapalmException):
                self.discard_config()
        self._shell.close()

    def is_alive(self) -> dict[str, bool]:
        """Whether the SSH connection stands."""
        return {"is_alive": self._shell.alive}

    def _run(
        self,
        command: str,
        failure: type[NapalmException] = CommandErrorException,
        given: str = "",
        limit_s: float | None = None,
    ) -> str:
        """Standard output of a shell command as root.

        Raises:
            NapalmException: `failure`, with the end of what it said.
        """
        sudo = "sudo -n " if self.optional_args.get("sudo", True) else ""
        ran = self._shell.run(f"{sudo}sh -c {shlex.quote(command)}", given.encode(), limit_s)
        if ran.status:
            said = redacted((ran.err or ran.out).strip()[-500:], self.password)
            raise failure(f"{self.hostname}: {command[:60]}: exit status {ran.status}: {said}")
        return ran.out

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
        self._run(
            f"umask 077 && mkdir -p {self._folder} && cat > {at}.new && mv {at}.new {at}", failure, text
        )

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
            f'[ "$(tail -n 1 lock)" -gt "$now" ]; then exit {_HELD}; fi; '
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
        """Give one's own lock back, with the files of the candidate."""
        mine = shlex.quote(self._session)
        drop = f'[ "$(head -n 1 lock 2> /dev/null)" = {mine} ] && rm -f lock {" ".join(names)}'
        self._run(f"cd {self._folder} 2> /dev/null && {drop}; true")
