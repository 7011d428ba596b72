"""Run git so that it runs nothing else and reads nothing outside: fixed environment and settings, limit and deadline.

A clone, an unpacked archive or a folder inside a clone brings its own configuration, hooks, attributes, references and
object stores. Three layers prevent that it runs a command or fetches: fabricc does not use embedded bare repositories,
it only uses commands that read objects, and it overrides settings on the command line and in the environment, which
take precedence over the repository's configuration. The user's own configuration applies: it lists the safe folders.

A `.git` can also lead Git to another repository: see `git_parts`, which checks and watches the parts of a repository.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Protocol, Self

from fabricc.base.foreign import shell
from fabricc.base.values import dataclass

_SHORT = 1 << 16
_SECONDS = 120.0
"""For one call of git, however much it prints."""
_SILENT_S = 20.0
"""For git to print something: all calls of a process together. A FIFO in a repository would block each of them."""
_CHUNK = 1 << 18
LEAST = (2, 38)
"""The oldest supported release: the first one with `safe.bareRepository` (Git's release notes 2.38.0)."""
_VERSION = re.compile(r"git version (\d{1,4})\.(\d{1,4})(?![0-9])")
_KEPT = frozenset((
    "CONFIG_GLOBAL", "CONFIG_SYSTEM", "CONFIG_NOSYSTEM", "CEILING_DIRECTORIES", "DISCOVERY_ACROSS_FILESYSTEM",
))  # fmt: skip
"""`GIT_…` that locate the user's own configuration and limit the search; all others are dropped."""
_ENVIRONMENT = {
    # Only this protocol is allowed, whatever `protocol.….allow` sets. Git runs a transport helper as `git remote-NAME`,
    # which an alias of the repository can define, also for an empty NAME (`::x`): so no repository may know the name.
    "GIT_ALLOW_PROTOCOL": f"{os.urandom(16).hex()}/none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": "false",
    "LC_ALL": "C",
}
_SETTINGS = (
    "safe.bareRepository=explicit", "protocol.allow=never", "core.alternateRefsCommand=", "core.askPass=true",
    "core.attributesFile=/dev/null", "core.bigFileThreshold=1m", "core.commitGraph=false", "core.editor=true",
    "core.excludesFile=/dev/null", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat",
    "core.sshCommand=false", "core.useReplaceRefs=false", "credential.helper=", "fetch.bundleURI=", "gc.auto=0",
    "gpg.program=false", "log.showSignature=false", "maintenance.auto=false", "submodule.recurse=false",
)  # fmt: skip
"""`core.useReplaceRefs` of a repository takes precedence over GIT_NO_REPLACE_OBJECTS in Git 2.39."""


class GitError(Exception):
    """Git cannot read an object; the text has the reason, `help` the action, `code` the finding's code."""

    def __init__(self, message: str, help: str = "", code: str = "FAB9020") -> None:
        super().__init__(message)
        self.help = help
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit status of a command, its output and the beginning of its standard error."""

    status: int
    out: bytes
    stderr: str


class Watch(Protocol):
    """Find out whether the parts of a repository changed while Git read it."""

    def check(self) -> object:
        """Check the parts, and return their state.

        Raises:
            GitError: a part belongs to another repository, or may not be read.
        """

    def read_state(self) -> object:
        """Return the present state of the parts."""


_WATCHES: dict[Path, Watch] = {}
_TRIES = 5


def watch_repository(watch: Watch, *folders: Path) -> None:
    """Watch the parts of a repository whenever Git runs in one of these folders."""
    _WATCHES.update(dict.fromkeys(folders, watch))


def share_watch(folder: Path, other: Path) -> None:
    """Watch the repository of a folder also when Git runs in another folder, which borrows its objects."""
    if (watch := _WATCHES.get(folder)) is not None:
        watch_repository(watch, other)


def run_git(folder: Path, *arguments: str, limit: int = _SHORT) -> Answer:
    """Run a command that reads objects, and return its answer; run it again if the repository changed meanwhile.

    Raises:
        GitError: it answers more than `limit` bytes, or not within two minutes, or the repository keeps changing.
    """
    watch = _WATCHES.get(folder)
    if watch is None:
        return run_unwatched(folder, *arguments, limit=limit)
    for _ in range(_TRIES):
        state = watch.check()
        answer = run_unwatched(folder, *arguments, limit=limit)
        if watch.read_state() == state:
            return answer
    raise changing_repository_error(folder)


def changing_repository_error(folder: Path) -> GitError:
    """Return the error for a repository that changes all the time."""
    message = f"the Git repository of {folder} was changed while fabricc read it"
    return GitError(message, "Run the command again when no other program changes the repository.")


def run_unwatched(folder: Path, *arguments: str, limit: int = _SHORT) -> Answer:
    """Run a command as `run_git` does, without a look at the parts of the repository.

    Raises:
        GitError: it answers more than `limit` bytes, or not within two minutes.
    """
    with GitProcess(folder, arguments) as child:
        out = b"".join(child.all(limit))
        return Answer(child.end(), out, child.stderr())


class _SilenceLimit:
    """The seconds that git may still be silent in this process; the time between its calls restores them."""

    __slots__ = ("_left", "_since")

    def __init__(self) -> None:
        self._left = _SILENT_S
        self._since = time.monotonic()

    def remaining_s(self) -> float:
        """Return the seconds that are left."""
        self._left = min(_SILENT_S, self._left + time.monotonic() - self._since)
        self._since = time.monotonic()
        return self._left

    def take(self, seconds: float) -> None:
        """Count seconds in which git printed nothing."""
        self._left = max(0.0, self._left - seconds)
        self._since = time.monotonic()


_PATIENCE = _SilenceLimit()


class GitProcess:
    """A git process whose output is read up to a limit and until a deadline; it ends with the block or with fabricc."""

    __slots__ = ("_deadline", "_kept", "_process", "_what")

    def __init__(self, folder: Path, arguments: Sequence[str], stdin: IO[bytes] | None = None) -> None:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._what = f"git {arguments[0]}"
        self._kept = b""
        self._deadline = time.monotonic() + _SECONDS
        self._process = subprocess.Popen(
            [git_program(), "--no-pager", *settings, "-C", str(folder.absolute()), *arguments],
            cwd="/", env=git_environment(),
            stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, bufsize=0, preexec_fn=shell.end_with_parent(),
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def all(self, limit: int) -> Iterator[bytes]:
        """Yield all that it prints."""
        while chunk := self._read(self._process.stdout):
            limit -= len(chunk)
            if limit < 0:
                raise GitError(f"`{self._what}` answers more than fabricc reads")
            yield chunk

    def line(self) -> bytes:
        """Return the next line, without its end; of what is no line, the beginning."""
        while b"\n" not in self._kept and len(self._kept) < _SHORT:
            if not (chunk := self._read(self._process.stdout)):
                break
            self._kept += chunk
        line, _, self._kept = self._kept.partition(b"\n")
        return line

    def exactly(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes.

        Raises:
            GitError: there are fewer.
        """
        while size:
            chunk = self._kept or self._read(self._process.stdout)
            if not chunk:
                raise GitError(f"`{self._what}` ended early")
            self._kept = chunk[size:]
            size -= len(chunk) - len(self._kept)
            yield chunk[: len(chunk) - len(self._kept)]

    def end(self) -> int:
        """Return its exit status."""
        begin, left = time.monotonic(), self._seconds()
        try:
            return self._process.wait(left)
        except subprocess.TimeoutExpired:
            _PATIENCE.take(time.monotonic() - begin)
            raise self._late() from None

    def stderr(self) -> str:
        """Return the beginning of its standard error."""
        return self._read(self._process.stderr).decode("utf-8", "replace")

    def _read(self, stream: IO[bytes] | None) -> bytes:
        assert stream is not None
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        begin, left = time.monotonic(), self._seconds()
        if not poll.poll(left * 1000):
            _PATIENCE.take(time.monotonic() - begin)
            raise self._late()
        return os.read(stream.fileno(), _CHUNK)

    def _seconds(self) -> float:
        """Return the seconds for which the process may be silent from now on."""
        return max(0.0, min(self._deadline - time.monotonic(), _PATIENCE.remaining_s()))

    def _late(self) -> GitError:
        seconds = _SECONDS if time.monotonic() >= self._deadline else _SILENT_S
        remedy = "Check the repository for FIFOs, devices and slow disks."
        return GitError(f"`{self._what}` did not answer within {seconds:.0f} seconds", remedy)


def git_environment() -> dict[str, str]:
    """The environment of every git process: the user's own, without what steers Git, and with what shuts it."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.removeprefix("GIT_") in _KEPT
    }
    return own | _ENVIRONMENT


def git_program() -> str:
    """Return the path of a supported git, never one of the folder that fabricc was started in.

    Raises:
        GitError: there is none, or it is older than `LEAST`.
    """
    found = shell.find_program("git")
    if found is None:
        raise GitError("there is no `git` on this machine", "Install Git.")
    release = _git_release(found)
    if _parse_release(release) < LEAST:
        least = ".".join(map(str, LEAST))
        message = (
            f"Git on this machine is {release[:60]!r}; fabricc cannot lock down a Git older than {least}"
        )
        raise GitError(message, f"Install Git {least} or newer.", "FAB0082")
    return found


def _parse_release(release: str) -> tuple[int, ...]:
    """Return the first two numbers of the line that `git version` prints; none of another line."""
    found = _VERSION.match(release)
    return (int(found[1]), int(found[2])) if found and release.isascii() else ()


@lru_cache(maxsize=16)
def _git_release(path: str) -> str:
    """Return the line that `git version` prints, "" where it prints none."""
    try:
        done = subprocess.run(
            [path, "version"], cwd="/", env=git_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_SILENT_S, check=False, preexec_fn=shell.end_with_parent(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").partition("\n")[0]
