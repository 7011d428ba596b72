"""Allow one build at a time: a lock file next to the tree, which the kernel releases with its holders."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fabricc.base.numbers import is_number
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder

_ATTEMPTS = 3
_PAUSE_S = 0.02


@contextmanager
def hold_lock(tree: Path) -> Iterator[None]:
    """Hold the lock of a tree during work on it; workers forked meanwhile hold it too.

    Raises:
        EmitError: FAB7003 another build holds it, FAB7001 it cannot be opened.
    """
    make_folder(tree.parent)
    try:
        handle = os.open(lock_of(tree), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise EmitError.from_os(error) from None
    try:
        if not _lock_file(handle):
            holder = os.read(handle, 32).decode("ascii", "replace").strip()
            who = f"process {holder}" if is_number(holder) else "another process"
            remedy = "Wait for it to end, or give this build another folder with `-o`."
            raise EmitError("FAB7003", f"{who} is building {tree} right now", remedy) from None
        with suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
        # A child that another thread forks right now holds the file open until it runs its program.
        fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Edit a file of a folder while other edits of it wait, so that none is lost.

    Raises:
        OSError: the folder cannot be opened.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def is_building(tree: Path) -> bool:
    """Return whether another process holds the lock of a tree right now."""
    try:
        handle = os.open(lock_of(tree), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(handle)
    return False


def lock_of(tree: Path) -> Path:
    """Return the lock file of a tree."""
    return tree.with_name(f".{tree.name}.lock")


def _lock_file(handle: int) -> bool:
    """Lock an open file; a verb that checks for a running build holds it for a moment."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False
