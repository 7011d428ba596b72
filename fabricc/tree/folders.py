"""Walk, empty, keep and replace folders of an output tree without following links.

On ext4 a folder costs ten times what a hard link does, and a fabric's tree has more folders than files. So the old
tree's folders, emptied, stay as the hidden folder in which the next build puts its tree together.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fabricc.base.foreign import files
from fabricc.tree import EmitError

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")
KEPT_FROM = 2000
"""Number of folders from which keeping them pays."""


class Contents(NamedTuple):
    """The contents below a folder as relative paths: regular files, links and other kinds, folders."""

    files: list[str]
    links: list[str]
    folders: list[str]


def walk_folder(top: Path) -> Contents:
    """Return everything below `top`; nothing if it is no folder."""
    found = Contents([], [], [])
    waiting = [""] if top.is_dir() and not top.is_symlink() else []
    while waiting:
        prefix = waiting.pop()
        with os.scandir(f"{top}/{prefix}") as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    found.folders.append(path)
                    waiting.append(path + "/")
                elif entry.is_file(follow_symlinks=False):
                    found.files.append(path)
                else:
                    found.links.append(path)
    return found


def find_mount(top: Path) -> str | None:
    """Return the first place below `top` where another folder or file is mounted; None where the kernel lists none.

    A build would move the mounted files into the new tree, and delete what it replaces among them.
    """
    with suppress(OSError):
        listed = files.read(_MOUNTS, root=Path("/")).splitlines()
        above = os.fsencode(os.path.realpath(top)) + b"/"
        for line in listed:
            place = _OCTAL.sub(lambda code: bytes((int(code[1], 8),)), line.split(b" ")[4])
            if place.startswith(above):
                return os.fsdecode(place)
    return None


def folders_above(paths: Iterable[str]) -> set[str]:
    """Return every folder that the paths need."""
    needed: set[str] = set()
    for path in paths:
        end = path.rfind("/")
        while end > 0 and (folder := path[:end]) not in needed:
            needed.add(folder)
            end = path.rfind("/", 0, end)
    return needed


def make_missing_folders(path: Path) -> None:
    """Make a folder and those above it; `Path.mkdir` fails at a thousand missing folders.

    Raises:
        OSError: a folder cannot be made, or a file is in its place.
    """
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)


def remove_files(top: Path) -> list[str]:
    """Make `top` a folder that contains folders only, and list these.

    Raises:
        OSError: something in it cannot be removed.
    """
    if top.is_symlink() or top.is_file():
        top.unlink()
    make_missing_folders(top)
    found = walk_folder(top)
    for path in (*found.files, *found.links):
        os.unlink(f"{top}/{path}")  # noqa: PTH108 - a hot path
    return found.folders


def prune_folders(top: Path, folders: Iterable[str]) -> None:
    """Remove these folders where they are empty, deepest first."""
    for path in sorted(folders, reverse=True):
        with suppress(OSError):
            os.rmdir(f"{top}/{path}")  # noqa: PTH106 - a hot path


def retire_folder(top: Path) -> None:
    """Empty an unused folder: remove a small one, keep the folders of a large one for the next build.

    Raises:
        OSError: something in it cannot be removed.
    """
    if len(left := remove_files(top)) < KEPT_FROM:
        prune_folders(top, left)
        top.rmdir()


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
        if (place := find_mount(path)) is not None:
            raise OSError(errno.EBUSY, "something is mounted there", place)
        prune_folders(path, remove_files(path))
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def refuse_mounts(tree: Path) -> None:
    """Refuse to replace a tree in which something else is mounted.

    Raises:
        EmitError: FAB7009.
    """
    if (place := find_mount(tree)) is not None:
        message = f"something is mounted at {place}, so its files would be moved or deleted"
        raise EmitError("FAB7009", message, "Unmount it, or choose another folder with `-o`.")
