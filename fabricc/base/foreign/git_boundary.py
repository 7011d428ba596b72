"""Find where a repository has objects or references outside of the folder that may be read.

Who writes in that folder can write a `.git` there that leads to any repository: a file, a link, `commondir`, or object
folders borrowed from elsewhere. What Git prints of such a repository would be read from outside.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fabricc.base.foreign import files

_LARGEST = 1 << 20
"""Bytes of a list of object folders."""
_MOST = 32
"""Folders of objects, of which one borrows from the next; Git follows five."""


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


def _lists_worktree(own: Path, common: Path, top: Path) -> bool:
    """Return whether a repository has a work tree at `top`, see gitrepository-layout(5)."""
    if own.parent != common / "worktrees":
        return False
    try:
        stated = files.read(own / "gitdir", root=Path("/"), limit=_LARGEST)
    except OSError:
        return False
    return Path(os.path.realpath(own / os.fsdecode(stated.strip()))) == top / ".git"


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
