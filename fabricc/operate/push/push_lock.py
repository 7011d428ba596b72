"""Find the journal of a cluster, and let one push at a time hold it and the switches."""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.operate.push.built_tree import PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_PATH = 4096


def _get_state_folder() -> Path:
    """Return the folder of journals, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "fabricc" / "push"


def get_default_path(cluster: str) -> Path:
    """Return the default path of the journal of a cluster."""
    return _get_state_folder() / f"{cluster}.sqlite"


@contextmanager
def hold_switches(path: Path, cluster: str, address: str) -> Iterator[None]:
    """Hold a cluster's switches alone, with their one journal; the kernel releases them with the process.

    With a second journal, one of the two would be wrong, and two pushes could change one switch. So this account's
    state folder records which journal a cluster has, until that file is removed.

    `address` is that of one of them: clusters of one name elsewhere are others.

    Raises:
        RefusedError: FAB9123, another push runs; FAB9152, they have another journal; FAB9124, no lock can be made.
    """
    with _open_lock(path.with_name(path.name + ".lock"), path) as (_, ours):
        if not ours:
            remedy = "Wait for it; `fabricc push TREE --status` shows it."
            raise PushRefusedError("FAB9123", f"another push holds {path}", remedy)
        key = hashlib.sha256(f"{cluster} {address}".encode()).hexdigest()[:12]
        with _open_lock(_get_state_folder() / f"{cluster}-{key}.journal", path) as (handle, free):
            known = os.pread(handle, _LONGEST_PATH, 0).decode("utf-8", "surrogateescape")
            own = os.path.realpath(path)
            if not free:
                message = f"another push holds the switches of {cluster}"
                raise PushRefusedError("FAB9123", message, f"Its journal is {known}.")
            if known and known != own and Path(known).exists():
                message = f"the switches of {cluster} have the journal {known}, and a second one would leave it untrue"
                remedy = f"Use --journal {known}; or remove that file, and push with --adopt."
                raise PushRefusedError("FAB9152", message, remedy)
            os.ftruncate(handle, 0)
            os.pwrite(handle, own.encode("utf-8", "surrogateescape"), 0)
            yield


@contextmanager
def _open_lock(lock: Path, journal: Path) -> Iterator[tuple[int, bool]]:
    """An open file, and whether nobody else holds it.

    Raises:
        RefusedError: FAB9124, it cannot be made.
    """
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        remedy = "Name another with --journal." if lock.parent == journal.parent else "Set XDG_STATE_HOME."
        raise PushRefusedError("FAB9124", f"cannot use {lock}: {error.strerror}", remedy) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield handle, free
    finally:
        os.close(handle)
