"""Find parts of a repository that belong to another repository, or are outside of the folder that may be read.

Who writes in a folder can write a `.git` there that leads to any repository: a file, a link, `commondir`, linked
references, or object folders borrowed from elsewhere. A comparison with that repository would be about something that
the user did not name, and what Git prints of it would be read from outside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import GitError, run_git

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
