"""Find the parts of a Git repository that belong to another one, and changes of its parts while Git reads it.

Who writes in a folder can write a `.git` there that leads to any repository: a file, a link, `commondir`, linked
references, or object folders borrowed from elsewhere. A comparison with that repository would be about something that
the user did not name, and what Git prints of it would be read from outside. Such parts are found first, and refused.

Git opens them by name afterwards. They could be exchanged until then, and put back: so their inodes and times of change
(ctime), which no program can set, are compared before and after Git runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from fabricc.base.foreign import files
from fabricc.base.foreign.git_objects import visible_path
from fabricc.base.foreign.git_process import GitError, changing_repository_error, run_unwatched

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


State = dict[Path, tuple[int, ...]]
"""Place -> device, inode, mode and time of change; none of a place where nothing is."""
_TICK_NS = 10_000_000
"""The longest step of a file system's clock: two changes within it can have one time (Linux, CONFIG_HZ of 100)."""
_LOOKS = 5


class RepositoryParts:
    """The parts that decide which repository Git reads from a folder, see `git_process.Watch`."""

    __slots__ = ("_checked", "_common", "_folder", "_own", "_top")

    def __init__(self, folder: Path, top: Path, git_dir: Path, common: Path) -> None:
        self._folder, self._top, self._own, self._common = folder, top, git_dir, common
        self._checked: State = {}

    def check(self) -> State:
        """Return the state of the parts, checked if they changed since the last call.

        Raises:
            GitError: a part belongs to another repository, or may not be read, or the parts keep changing.
        """
        if self._checked and self.read_state() == self._checked:
            return self._checked
        for _ in range(_LOOKS):
            state = self._read_all()
            _check_parts(self._top, self._own, self._common)
            if (self._is_plain(state) or self._is_found()) and state == self._read_all():
                self._checked = state
                return state
        raise changing_repository_error(self._folder)

    def read_state(self) -> State:
        """Return the present state of the parts that were checked."""
        return {place: _read_place(place) for place in self._checked}

    def _is_plain(self, state: State) -> bool:
        """Return whether Git can find nothing else than the folder `.git` at the top."""
        place = self._top / ".git"
        below = (each for each in state if each.name == ".git" and each != place)
        return (
            self._own == self._common == place
            and bool(state[place] and S_ISDIR(state[place][2]) and not state[place / "commondir"])
            and not any(state[each] for each in below)
        )

    def _is_found(self) -> bool:
        """Return whether Git still finds the same folders."""
        requested = ("--absolute-git-dir", "--git-common-dir", "--show-cdup")
        answer = run_unwatched(self._folder, "rev-parse", "--path-format=absolute", *requested)
        own, common, above, *_ = [*os.fsdecode(answer.out).split("\n"), "", ""]
        found = Path(own), Path(common), Path(os.path.realpath(self._folder / above))
        return found == (self._own, self._common, self._top)

    def _read_all(self) -> State:
        """Return the state of all parts; wait until a further change would have a later time."""
        state: State = {}
        for _ in range(_LOOKS):
            now = time.time_ns()
            state = {place: _read_place(place) for place in self._list_places()}
            newest = max(entry[-1] for entry in state.values() if entry)
            if not now - _TICK_NS < newest <= now:
                break
            time.sleep((newest + _TICK_NS - now) / 1e9)
        return state

    def _list_places(self) -> Iterator[Path]:
        """Yield the places whose exchange would lead Git elsewhere.

        Raises:
            GitError: there are more references than anybody looks through.
        """
        limit, top = files.reading_boundary(), self._top
        own, common = Path(os.path.realpath(self._own)), Path(os.path.realpath(self._common))
        for folder in (self._folder, *self._folder.parents):
            if folder.is_relative_to(top):
                yield folder / ".git"
            elif limit is None or folder == limit or not folder.is_relative_to(limit):
                break
            yield folder
        for start in {own, common}:
            yield from (each for each in (start, *start.parents) if not top.is_relative_to(each))
        yield from (own / name for name in ("commondir", "gitdir", "HEAD", "config.worktree"))
        yield common / "config"
        yield from (place for place, linked in _walk_references(own, common) if not linked)
        if limit is not None:
            yield from _walk_objects(common / "objects", limit)


def _read_place(place: Path) -> tuple[int, ...]:
    try:
        entry = os.lstat(place)
    except OSError:
        return ()
    return entry.st_dev, entry.st_ino, entry.st_mode, entry.st_ctime_ns


def _check_parts(top: Path, git_dir: Path, common: Path) -> None:
    """Raise an error where a part of a repository belongs to another one, or may not be read."""
    if foreign := find_foreign_part(top, git_dir, common):
        message = (
            f"the Git repository of {top} uses {visible_path(str(foreign))}, a part of another repository"
        )
        remedy = (
            "Clone it, or use `git worktree add FOLDER REVISION`; `git worktree repair` corrects a moved one."
        )
        raise GitError(message, remedy)
    if outside := find_outside_part(top, git_dir, common):
        message = f"the Git repository of {top} is in {outside}, outside of the folder that may be read"
        raise GitError(message, "Start with the whole repository as root, or use `git worktree add`.")


def find_foreign_part(top: Path, git_dir: Path, common: Path) -> Path | None:
    """Return the first part of a repository that belongs to another one; None where all is of the work tree.

    A `.git` that is no folder leads to a repository elsewhere. That one has to name the work tree, as Git writes it for
    work trees (`git worktree add`) and submodules. Objects may be borrowed: their names are digests of their bytes.

    Args:
        top: of the work tree, without links.
        git_dir: Git's folder for this work tree.
        common: Git's folder for all work trees.
    """
    real_own, real_common = Path(os.path.realpath(git_dir)), Path(os.path.realpath(common))
    if real_own == top / ".git":
        if real_common != real_own:
            return real_common
    elif not _leads_to(top, real_own) or not (
        _lists_worktree(real_own, real_common, top) or _sets_worktree(real_own, real_common, top)
    ):
        return real_own
    for place, linked in _walk_references(real_own, real_common):
        target = Path(os.path.realpath(place))
        if linked and not (target.is_relative_to(real_own) or target.is_relative_to(real_common)):
            return place
    return None


def _walk_references(git_dir: Path, common: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of references and of Git, and the links in them, which can lead to references or to an index.

    Yields:
        A place, and whether it is a link.

    Raises:
        GitError: there are more references than anybody looks through.
    """
    waiting = [git_dir, *([common] if common != git_dir else [])]
    tops, seen = tuple(waiting), 0
    while waiting:
        folder = waiting.pop()
        yield folder, False
        with suppress(OSError), os.scandir(folder) as found:
            for entry in found:
                if folder in tops and entry.name in _FREE:
                    continue
                if entry.is_symlink():
                    yield Path(entry.path), True
                elif entry.is_dir() and (folder not in tops or entry.name in _REFERENCES):
                    waiting.append(Path(entry.path))
                if (seen := seen + 1) > _MOST_REFERENCES:
                    message = f"{common} has more than {_MOST_REFERENCES:,} files of references"
                    raise GitError(message, "Pack them: `git pack-refs --all`.")


def find_outside_part(top: Path, git_dir: Path, common: Path) -> Path | None:
    """Return the first place of a repository outside of the folder that may be read; None where there is none.

    Two kinds of repositories are the user's own: one whose top is above that folder, and one that lists the work tree
    among its own (`git worktree add`).

    Args:
        top: of the work tree.
        git_dir: Git's folder for this work tree.
        common: Git's folder for all work trees.
    """
    limit = files.reading_boundary()
    if limit is None or (limit != top and limit.is_relative_to(top)):
        return None
    real_own, real_common = Path(os.path.realpath(git_dir)), Path(os.path.realpath(common))
    if not real_own.is_relative_to(limit) and _lists_worktree(real_own, real_common, top):
        return None
    for folder in (real_own, real_common):
        if not folder.is_relative_to(limit):
            return folder
    return _find_borrowed(real_common / "objects", limit)


def _leads_to(top: Path, git_dir: Path) -> bool:
    """Return whether the `.git` of a work tree is a link or a file that leads to a folder of Git."""
    place = top / ".git"
    if place.is_symlink():
        return Path(os.path.realpath(place)) == git_dir
    try:
        word, _, folder = files.read_regular_file(place, limit=_LARGEST)[0].partition(b": ")
    except OSError:
        return False
    return word == b"gitdir" and Path(os.path.realpath(top / os.fsdecode(folder.rstrip(b"\r\n")))) == git_dir


def _lists_worktree(git_dir: Path, common: Path, top: Path) -> bool:
    """Return whether a repository has a work tree at `top`, see gitrepository-layout(5)."""
    if git_dir.parent != common / "worktrees":
        return False
    try:
        stated = files.read(git_dir / "gitdir", root=Path("/"), limit=_LARGEST)
    except OSError:
        return False
    return Path(os.path.realpath(git_dir / os.fsdecode(stated.strip()))) == top / ".git"


def _sets_worktree(git_dir: Path, common: Path, top: Path) -> bool:
    """Return whether the configuration of a repository has its work tree at `top`, as that of a submodule has."""
    if git_dir != common:
        return False
    answer = run_unwatched(top, "config", "-z", "--no-includes", "--get", "core.worktree")
    stated = os.fsdecode(answer.out.removesuffix(b"\0"))
    return bool(not answer.status and stated) and os.path.realpath(git_dir / stated) == str(top)


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
        lines = _read_borrowed(folder)
        if quoted := next((line for line in lines if line.startswith('"')), None):
            return Path(quoted)
        waiting += [folder / line for line in lines]
    return waiting[0] if waiting else None


def _read_borrowed(objects: Path) -> list[str]:
    """Return the folders from which a folder of objects borrows, as Git reads them."""
    try:
        stated = files.read_regular_file(objects / "info" / "alternates", limit=_LARGEST)[0]
    except OSError:
        return []
    return [os.fsdecode(line) for line in stated.split(b"\n") if line.strip() and line[:1] != b"#"]


def _walk_objects(objects: Path, limit: Path) -> Iterator[Path]:
    """Yield the places below a folder that decide from where objects are read."""
    waiting, known = [objects], set[Path]()
    while waiting and len(known) < _MOST:
        folder = Path(os.path.realpath(waiting.pop()))
        if folder in known:
            continue
        known.add(folder)
        yield from (
            each for each in (folder, *folder.parents) if each != limit and each.is_relative_to(limit)
        )
        yield from (folder / name for name in ("pack", "info", "info/alternates"))
        waiting += [folder / line for line in _read_borrowed(folder)]
