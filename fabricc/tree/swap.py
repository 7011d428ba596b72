"""Replace a folder with a finished one in one step, and remove what a killed build left."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from fabricc.tree import folders
from fabricc.tree.errors import EmitError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@cache
def _load_renameat2() -> Callable[..., int] | None:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]


def _exchange_folders(first: Path, second: Path) -> bool:
    """Swap two folders in one step; return False if the kernel or file system cannot.

    Raises:
        OSError: any other failure.
    """
    function = _load_renameat2()
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def install_tree(stage: Path, target: Path, aside: Path) -> None:
    """Make `stage` the folder `target`; the old folder is then at `stage` or `aside`.

    Without `renameat2` (other kernels, some network file systems) this takes two renames; `recover` undoes
    the first when a kill falls between them.

    Raises:
        OSError: nothing changed.
    """
    if not target.exists():
        stage.rename(target)
    elif not _exchange_folders(stage, target):
        target.rename(aside)
        try:
            stage.rename(target)
        except OSError:
            aside.rename(target)
            raise


def recover_tree(target: Path, aside: Path) -> None:
    """Restore the tree that a build, killed between two renames, had moved away."""
    if aside.is_dir() and not aside.is_symlink() and not target.exists():
        aside.rename(target)


def remove_path(path: Path) -> None:
    """Remove a file, a link or a whole folder of any depth; links are never followed.

    Raises:
        OSError: something in it cannot be removed, or is mounted there.
    """
    if path.is_dir() and not path.is_symlink():
        if (place := folders.find_mount(path)) is not None:
            raise OSError(errno.EBUSY, "something is mounted there", place)
        folders.prune_folders(path, folders.remove_files(path))
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def refuse_mounts(tree: Path) -> None:
    """Refuse to replace a tree in which something else is mounted.

    Raises:
        EmitError: FAB7009.
    """
    if (place := folders.find_mount(tree)) is not None:
        message = f"something is mounted at {place}, so its files would be moved or deleted"
        raise EmitError("FAB7009", message, "Unmount it, or choose another folder with `-o`.")
