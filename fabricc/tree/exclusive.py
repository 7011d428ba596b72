"""One build at a time: a lock file beside the tree, released by the kernel when its holders are gone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fabricc.base.numbers import is_number
from fabricc.tree.failure import EmitError
from fabricc.tree.file import make_folder


@contextmanager
def exclusive(path: Path, tree: Path) -> Iterator[None]:
    """Hold the lock file `path` while working on `tree`; workers forked meanwhile hold it too.

    Raises:
        EmitError: FAB7003 another build holds it, FAB7001 it cannot be opened.
    """
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise EmitError.from_os(error) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
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
