"""The shell of the user: quote words for pasted commands, expand `~`, find programs, and end them with fabricc."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.foreign.text import is_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def expand_home(path: str | Path) -> Path:
    """Return a path with a leading `~` or `~user` replaced; it stays as it is where that user has no home.

    `Path.expanduser` raises a RuntimeError for an unknown user.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - see above


def home_folder() -> Path:
    """Return the user's home with all links resolved."""
    return Path(os.path.realpath(expand_home("~")))


_PLAIN = frozenset(range(0x20, 0x7F)) - {ord("'"), ord("\\")}


def shell_word(text: str) -> str:
    """Return a word for a POSIX shell that stands for this text, in characters that everybody sees.

    A word with a line feed, another control character or one that changes the direction of the line is in `$'…'`
    (POSIX.1-2024), which is one line of ASCII.
    """
    if all(map(is_shown, text)):
        return shlex.quote(text)
    raw = text.encode("utf-8", "surrogateescape" if _is_name(text) else "replace")
    return "$'" + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in raw) + "'"


def shell_path(path: Path | str) -> str:
    """Return such a word for a file or folder, which no command takes for an option."""
    text = str(path)
    return shell_word(f"./{text}" if text.startswith("-") else text)


def _is_name(text: str) -> bool:
    """Return whether a file can have this name: Python represents bytes that are no UTF-8 as some lone surrogates."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


_PR_SET_PDEATHSIG = 1


def find_program(name: str) -> str | None:
    """Return the path of a program in the absolute folders of `PATH`, never in the folder that fabricc was started in.

    None where there is none.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    rooted = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return shutil.which(name, path=rooted)


class ProgramResult(NamedTuple):
    """The exit status of a program, and what it printed."""

    status: int
    output: str
    error: str


def run_program(command: Sequence[str], limit_s: float) -> ProgramResult:
    """Run a program of this machine without input, and return its result.

    Raises:
        FileNotFoundError: it is not installed.
        TimeoutError: it does not end in time.
        OSError: it cannot be started.
    """
    program = find_program(command[0])
    if program is None:
        raise FileNotFoundError(command[0])
    try:
        done = subprocess.run(
            [program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s,
            check=False, preexec_fn=end_with_parent(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"it did not end within {limit_s:.0f} seconds") from None
    output, error = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return ProgramResult(done.returncode, output, error)


def end_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` by which Linux kills the child when the calling thread ends, also when fabricc is killed.

    None on other systems, which have no such request: there a child runs until it is done.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child must take no lock
    parent = os.getpid()

    def end_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the request
            os._exit(1)

    return end_with_parent
