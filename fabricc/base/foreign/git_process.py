"""Run git so that it runs nothing else and reads nothing outside: fixed environment and settings, limit and deadline.

A clone, an unpacked archive or a folder inside a clone brings its own configuration, hooks, attributes, references and
object stores. Three layers prevent that it runs a command or fetches: fabricc does not use embedded bare repositories,
it only uses commands that read objects, and it overrides settings on the command line and in the environment, which
take precedence over the repository's configuration. The user's own configuration applies: it lists the safe folders.

Who writes in a folder can write a `.git` there that leads to any repository: a file, a link, `commondir`, linked
references, or object folders borrowed from elsewhere. A comparison with that repository would be about something that
the user did not name, and what Git prints of it would be read from outside. Such parts are found first, and refused.
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
from typing import IO, Self

from fabricc.base.foreign import files, shell
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


def run_git(folder: Path, *arguments: str, limit: int = _SHORT) -> Answer:
    """Run a command that reads objects, and return its answer.

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

    def left(self) -> float:
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
        """Its exit status."""
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
        return max(0.0, min(self._deadline - time.monotonic(), _PATIENCE.left()))

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


_LARGEST = 1 << 20
"""Bytes of a list of object folders."""
_MOST = 32
"""Folders of objects, of which one borrows from the next; Git follows five."""
_MOST_REFERENCES = 200_000
"""Files and folders of references, of which each may be a link."""
_FREE = frozenset((
    "config", "config.worktree", "description", "hooks", "info", "lfs", "modules", "objects", "rr-cache", "svn",
))  # fmt: skip
"""Targets of links that are permitted in Git's folder: they name no commit; names of objects are their digests."""
_REFERENCES = ("refs", "reftable")


def find_foreign_part(top: Path, own: Path, common: Path) -> Path | None:
    """Return the first part of a repository that belongs to another one; None where all is of the work tree.

    A `.git` that is no folder leads to a repository elsewhere. That one has to name the work tree, as Git writes it for
    work trees (`git worktree add`) and submodules. Objects may be borrowed: their names are digests of their bytes.

    Args:
        top: of the work tree, without links.
        own: Git's folder for this work tree.
        common: Git's folder for all work trees.
    """
    real_own, real_common = Path(os.path.realpath(own)), Path(os.path.realpath(common))
    if real_own == top / ".git":
        if real_common != real_own:
            return real_common
    elif not _leads_to(top, real_own) or not (
        _lists_worktree(real_own, real_common, top) or _sets_worktree(real_own, real_common, top)
    ):
        return real_own
    for place in _links(real_own, real_common):
        target = Path(os.path.realpath(place))
        if not (target.is_relative_to(real_own) or target.is_relative_to(real_common)):
            return place
    return None


def _links(own: Path, common: Path) -> Iterator[Path]:
    """Yield the links of Git's folders that can lead to references or to an index.

    Raises:
        GitError: there are more references than anybody looks through.
    """
    waiting = [own, *([common] if common != own else [])]
    tops, seen = tuple(waiting), 0
    while waiting:
        folder = waiting.pop()
        with suppress(OSError), os.scandir(folder) as found:
            for entry in found:
                if folder in tops and entry.name in _FREE:
                    continue
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.is_dir() and (folder not in tops or entry.name in _REFERENCES):
                    waiting.append(Path(entry.path))
                if (seen := seen + 1) > _MOST_REFERENCES:
                    message = f"{common} has more than {_MOST_REFERENCES:,} files of references"
                    raise GitError(message, "Pack them: `git pack-refs --all`.")


def find_outside_part(top: Path, own: Path, common: Path) -> Path | None:
    """Return the first place of a repository outside of the folder that may be read; None where there is none.

    Two kinds of repositories are the user's own: one whose top is above that folder, and one that lists the work tree
    among its own (`git worktree add`).

    Args:
        top: of the work tree.
        own: Git's folder for this work tree.
        common: Git's folder for all work trees.
    """
    limit = files.reading_boundary()
    if limit is None or (limit != top and limit.is_relative_to(top)):
        return None
    real_own, real_common = Path(os.path.realpath(own)), Path(os.path.realpath(common))
    if not real_own.is_relative_to(limit) and _lists_worktree(real_own, real_common, top):
        return None
    for folder in (real_own, real_common):
        if not folder.is_relative_to(limit):
            return folder
    return _find_borrowed(real_common / "objects", limit)


def _leads_to(top: Path, own: Path) -> bool:
    """Return whether the `.git` of a work tree is a link or a file that leads to a folder of Git."""
    place = top / ".git"
    if place.is_symlink():
        return Path(os.path.realpath(place)) == own
    try:
        word, _, folder = files.read_regular_file(place, limit=_LARGEST)[0].partition(b": ")
    except OSError:
        return False
    return word == b"gitdir" and Path(os.path.realpath(top / os.fsdecode(folder.rstrip(b"\r\n")))) == own


def _lists_worktree(own: Path, common: Path, top: Path) -> bool:
    """Return whether a repository has a work tree at `top`, see gitrepository-layout(5)."""
    if own.parent != common / "worktrees":
        return False
    try:
        stated = files.read(own / "gitdir", root=Path("/"), limit=_LARGEST)
    except OSError:
        return False
    return Path(os.path.realpath(own / os.fsdecode(stated.strip()))) == top / ".git"


def _sets_worktree(own: Path, common: Path, top: Path) -> bool:
    """Return whether the configuration of a repository has its work tree at `top`, as that of a submodule has."""
    if own != common:
        return False
    answer = run_git(top, "config", "-z", "--no-includes", "--get", "core.worktree")
    stated = os.fsdecode(answer.out.removesuffix(b"\0"))
    return bool(not answer.status and stated) and os.path.realpath(own / stated) == str(top)


def _find_borrowed(objects: Path, limit: Path) -> Path | None:
    """Return a folder of objects, or a link in one, that leads out of `limit`."""
    waiting, known = [objects], set[Path]()
    while waiting and len(known) < _MOST:
        folder = waiting.pop()
        if folder in known:
            continue
        known.add(folder)
        if not Path(os.path.realpath(folder)).is_relative_to(limit):
            return folder
        for inner in (folder, folder / "pack", folder / "info"):
            with suppress(OSError), os.scandir(inner) as found:
                if link := next((each.path for each in found if each.is_symlink()), None):
                    return Path(link)
        with suppress(OSError):
            stated = files.read_regular_file(folder / "info" / "alternates", limit=_LARGEST)[0]
            lines = [os.fsdecode(line) for line in stated.split(b"\n") if line.strip() and line[:1] != b"#"]
            if quoted := next((line for line in lines if line.startswith('"')), None):
                return Path(quoted)
            waiting += [folder / line for line in lines]
    return waiting[0] if waiting else None
