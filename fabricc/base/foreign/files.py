"""The one door to files that others wrote: regular ones, bounded in size, inside their root, never through a link out.

A repository, a tree or a folder that somebody else filled may hold links to secrets, FIFOs, devices and files without
end. `read` opens one file that a user or a spec names, `Folder` the files of a tree by their relative names.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG, S_ISSOCK
from tempfile import TemporaryDirectory
from typing import BinaryIO, Self

from fabricc.base.foreign.git_index import owns_path

LIMIT = 64 << 20
"""The largest file in bytes that is read whole, unless the caller sets a limit."""
STREAMED = 4 << 30
"""Bytes of a file of which only a digest is taken."""
READ_BELOW, READ_ALSO = "FABRICC_READ_BELOW", "FABRICC_READ_ALSO"
"""Variables by which a process that starts fabricc limits what it opens; see `set_boundary`."""
_CHUNK = 1 << 18
_UNCLEAN = frozenset(("", ".", ".."))
"""Parts that no clean relative path has."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_WAY = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
"""For folders that the user may pass, and perhaps not list."""
_KINDS = (
    (S_ISDIR, "a folder"),
    (S_ISLNK, "a symbolic link"),
    (S_ISFIFO, "a FIFO"),
    (S_ISSOCK, "a socket"),
    (S_ISCHR, "a device"),
    (S_ISBLK, "a device"),
)


_boundary: tuple[Path, ...] = ()
"""Folders and files outside of which nothing is opened, whatever root a caller names; none where it is empty."""


def set_boundary(root: Path, *others: Path) -> None:
    """Open from now on nothing outside of a folder and of some other files; `Path("/")` as a root still opens all."""
    global _boundary
    _boundary = tuple(Path(os.path.realpath(each)) for each in (root, *others))


def reading_boundary() -> Path | None:
    """Return the folder outside of which nothing is opened; None where there is none."""
    return _boundary[0] if _boundary else None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder of this process, whose files may be read in spite of `set_boundary`; it is removed again."""
    global _boundary
    before = _boundary
    with TemporaryDirectory(prefix="fabricc-diff-") as name:
        if before:
            _boundary = (*before, Path(os.path.realpath(name)))
        try:
            yield Path(name)
        finally:
            _boundary = before


def _check_boundary(real: str, path: Path | str) -> None:
    if _boundary and not any(Path(real).is_relative_to(each) for each in _boundary):
        raise ForeignFileError(f"outside of {_boundary[0]}, the folder that may be read", path)


class ForeignFileError(OSError):
    """A file that fabricc does not open or does not read to its end; `strerror` contains the reason."""

    def __init__(self, reason: str, path: Path | str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


class TooLargeError(ForeignFileError):
    """A file with more bytes than its kind has."""


def read(path: Path, *, root: Path | None = None, limit: int = LIMIT) -> bytes:
    """Return the bytes of a file that a user or a spec names.

    Links are followed as long as they stay inside `root`.

    Args:
        path: the file.
        root: the folder that it has to be in; None for the repository of `path`, see `repository_of`.
        limit: the most bytes that the file may have.

    Raises:
        ForeignFileError: it is outside its root, no regular file, or too large.
        OSError: it is not there or must not be read.
    """
    handle = _open_named(path, root)
    try:
        return _read_content(handle, path, limit)
    finally:
        os.close(handle)


def digest_of_file(path: Path, *, root: Path | None = None, limit: int = STREAMED) -> str:
    """SHA-256 (hex) of such a file, in little memory.

    Raises:
        ForeignFileError, OSError: as `read`.
    """
    handle = _open_named(path, root)
    try:
        return _hash_content(handle, path, limit)
    finally:
        os.close(handle)


def read_regular_file(path: str | Path, *, limit: int = LIMIT) -> tuple[bytes, bool]:
    """Return the bytes of a regular file that is itself no link, and whether its owner may run it.

    For folders that the caller has walked: the way to the file is not looked at.

    Raises:
        ForeignFileError: it is a link, no regular file, or too large.
        OSError: it is not there or must not be read.
    """
    handle = _open_plain(path)
    try:
        return _read_content(handle, path, limit), bool(os.fstat(handle).st_mode & 0o100)
    finally:
        os.close(handle)


def plain_digest(path: str | Path, *, limit: int = STREAMED) -> tuple[str, bool]:
    """Return the SHA-256 (hex) of a plain file, like `plain`, in little memory.

    Raises:
        ForeignFileError, OSError: as `plain`.
    """
    handle = _open_plain(path)
    try:
        return _hash_content(handle, path, limit), bool(os.fstat(handle).st_mode & 0o100)
    finally:
        os.close(handle)


def clone_of(path: Path) -> Path | None:
    """Return the nearest folder above a path that has a `.git`; None where no repository is.

    A folder that a link of an outer repository leads to is no repository of its own.
    """
    found: Path | None = None
    for folder in _absolute_path(path).parents:
        if os.path.lexists(folder / ".git") and (found is None or not _leads_into(found, folder)):
            found = folder
    return found


def repository_of(path: Path) -> Path:
    """Return the folder that what is named may refer to: the repository that tracks it, else the folder it is in.

    An unpacked archive is no part of a repository far above it, such as one of the user's dotfiles.
    """
    return root_below(_absolute_path(path).parent, path)


def root_below(folder: Path, path: Path) -> Path:
    """Return the folder that no link on the way to a file may leave: the repository that tracks it, else `folder`.

    Args:
        folder: that of the spec, where a spec names the file.
        path: the file, in this folder or below it.
    """
    return tracking_repository(path) or _absolute_path(folder)


def tracking_repository(path: Path) -> Path | None:
    """Return the repository that tracks a file; None where there is none."""
    clone = clone_of(path)
    return clone if clone is not None and owns_path(clone, _absolute_path(path)) else None


def repository_at(folder: Path) -> Path | None:
    """Return the repository that has a folder as its top or tracks a file in it; None where there is none."""
    clone = clone_of(folder / "_")
    return clone if clone == _absolute_path(folder) else tracking_repository(folder)


class Folder:
    """The files of one folder by their relative names, through no link in any component.

    Folders on the way to the last file stay open, so that the files of a sorted list cost one opening each. Threads
    and forked processes may share it.
    """

    __slots__ = ("_idle", "handle", "path")

    def __init__(self, path: Path, *, root: Path | None = None) -> None:
        """Open the folder itself, which may be a link inside `root`, None for its repository.

        Raises:
            ForeignFileError: it is outside its root.
            OSError: it is not there, no folder, or must not be read.
        """
        self._idle: list[_OpenFolders] = []
        self.handle = -1
        self.path = path
        self.handle = _open_named(path, root, _FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give the handles back."""
        while self._idle:
            self._idle.pop().back_to(0)
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def read(self, name: str, *, limit: int = LIMIT) -> bytes:
        """Return the bytes of a file.

        Raises:
            ForeignFileError: its name is no clean relative one, it is a link, behind one, no regular file or too large.
            OSError: it is not there or must not be read.
        """
        handle = self._open_file(name)
        try:
            return _read_content(handle, f"{self.path}/{name}", limit)
        finally:
            os.close(handle)

    def digest(self, name: str, *, limit: int = STREAMED) -> str:
        """SHA-256 (hex) of a file, in little memory.

        Raises:
            ForeignFileError, OSError: as `read`.
        """
        handle = self._open_file(name)
        try:
            return _hash_content(handle, f"{self.path}/{name}", limit)
        finally:
            os.close(handle)

    def open(self, name: str, *, limit: int = LIMIT) -> BinaryIO:
        """Return a file to read from.

        Raises:
            ForeignFileError, OSError: as `read`.
        """
        handle = self._open_file(name)
        try:
            _checked_size(handle, self.path / name, limit)
        except OSError:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb")

    def has(self, name: str) -> bool:
        """Return whether there is a regular file of that name, behind no link."""
        try:
            with self.above(name) as (folder, last):
                return S_ISREG(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode)
        except (OSError, ValueError):
            return False

    @contextmanager
    def above(self, name: str) -> Iterator[tuple[int, str]]:
        """A handle on the folder that a file is in, for use with `dir_fd`, and the file's name there.

        Raises:
            ForeignFileError, OSError: as `read`, of the folders on the way.
        """
        folders, last, way = self._way_to(name)
        try:
            yield way.go(self.handle, folders, name), last
        finally:
            self._idle.append(way)

    def _open_file(self, name: str) -> int:
        folders, last, way = self._way_to(name)
        try:
            return _open_in(way.go(self.handle, folders, name), last, _FILE, name)
        finally:
            self._idle.append(way)

    def _way_to(self, name: str) -> tuple[list[str], str, _OpenFolders]:
        """Return the folders above a file, its name there, and open folders that nobody else uses."""
        *folders, last = parts = name.split("/")
        if not _UNCLEAN.isdisjoint(parts):
            raise ForeignFileError("its name is not a clean relative path", name)
        try:
            return folders, last, self._idle.pop()
        except IndexError:
            return folders, last, _OpenFolders()


class _OpenFolders:
    """The open folders from a folder down to the last file that was opened."""

    __slots__ = ("_handles", "_names")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._handles: list[int] = []

    def go(self, top: int, folders: list[str], path: str) -> int:
        """Return a handle on the innermost of these folders."""
        shared = 0
        for ours, wanted in zip(self._names, folders, strict=False):
            if ours != wanted:
                break
            shared += 1
        self.back_to(shared)
        for name in folders[shared:]:
            self._handles.append(_open_in(self._handles[-1] if self._handles else top, name, _FOLDER, path))
            self._names.append(name)
        return self._handles[-1] if self._handles else top

    def back_to(self, depth: int) -> None:
        while len(self._names) > depth:
            self._names.pop()
            os.close(self._handles.pop())


def _open_named(path: Path, root: Path | None, how: int = _FILE) -> int:
    """Return a handle on what a path leads to, inside its root; the way from the root there has no link any more."""
    try:
        above = repository_of(path) if root is None else _absolute_path(root)
        top, real = os.path.realpath(above), os.path.realpath(path)
    except ValueError:
        raise _unusable_name(path) from None
    if real != top and not real.startswith(top.rstrip("/") + "/"):
        by_link = _absolute_path(path).is_relative_to(above)
        why = "a symbolic link leads out of" if by_link else "outside of"
        raise ForeignFileError(f"{why} {above}", path)
    if root != Path("/"):
        _check_boundary(real, path)
    handle = _open_real_folder(top)
    try:
        *folders, last = real[len(top) :].strip("/").split("/")
        for part in folders:
            handle, upper = _open_in(handle, part, _FOLDER, path), handle
            os.close(upper)
        return _open_in(handle, last or ".", how, path)
    finally:
        os.close(handle)


def _open_plain(path: str | Path) -> int:
    if not _boundary:
        return _open_in(None, str(path), _FILE, path)
    above, name = os.path.split(path)
    real = os.path.realpath(above)
    _check_boundary(os.path.join(real, name), path)  # noqa: PTH118 - of texts
    handle = _open_real_folder(real)
    try:
        return _open_in(handle, name, _FILE, path)
    finally:
        os.close(handle)


def _open_real_folder(real: str) -> int:
    """Return a handle on a folder by its path without links; a part that became a link in the meantime is an error."""
    if not hasattr(os, "O_PATH"):
        return os.open(real, _FOLDER)
    handle = os.open("/", _WAY)
    try:
        for part in filter(None, real.split("/")):
            handle, upper = _open_in(handle, part, _WAY, real), handle
            os.close(upper)
        return _open_in(handle, ".", _FOLDER, real)
    finally:
        os.close(handle)


def _open_in(folder: int | None, name: str, how: int, path: Path | str) -> int:
    try:
        return os.open(name, how, dir_fd=folder)
    except ValueError:
        raise _unusable_name(path) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(folder, name):
            raise ForeignFileError("a symbolic link, which is not followed", path) from None
        if error.errno == errno.ENXIO:  # a socket
            raise ForeignFileError("not a regular file", path) from None
        error.filename = str(path)
        raise


def _is_link(folder: int | None, name: str) -> bool:
    return S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _unusable_name(path: Path | str) -> ForeignFileError:
    return ForeignFileError("its name is not a valid file name", ascii(str(path)))


def kind_of(mode: int) -> str:
    """Return what a file is that is no regular one, by its `st_mode`."""
    return next((name for fits, name in _KINDS if fits(mode)), "something else")


def _checked_size(handle: int, path: Path | str, limit: int) -> int:
    """Return bytes of an open file, which has to be a regular one of at most `limit` bytes."""
    entry = os.fstat(handle)
    if not S_ISREG(entry.st_mode):
        raise ForeignFileError(f"{kind_of(entry.st_mode)}, not a regular file", path)
    if entry.st_size > limit:
        raise _too_large(path, limit)
    return entry.st_size


def _read_chunks(handle: int, path: Path | str, limit: int) -> Iterator[bytes]:
    """Yield an open file in parts."""
    left, whole = limit, _checked_size(handle, path, limit)
    size = min(whole, _CHUNK) + 1
    chunk = os.read(handle, size)
    complete = len(chunk) == whole < size  # the call allows one byte more
    while chunk:
        left -= len(chunk)
        if left < 0:  # it grows, or does not report its size
            raise _too_large(path, limit)
        yield chunk
        chunk = b"" if complete else os.read(handle, _CHUNK)


def _read_content(handle: int, path: Path | str, limit: int) -> bytes:
    size = _checked_size(handle, path, limit)
    content = os.read(handle, size + 1)
    if len(content) == size:  # all of it: the call allows one byte more
        return content
    parts, left = [content], limit - len(content)
    while left >= 0 and (chunk := os.read(handle, _CHUNK)):
        parts.append(chunk)
        left -= len(chunk)
    if left < 0:  # it grows, or does not report its size
        raise _too_large(path, limit)
    return b"".join(parts)


def _hash_content(handle: int, path: Path | str, limit: int) -> str:
    sum_ = hashlib.sha256()
    for chunk in _read_chunks(handle, path, limit):
        sum_.update(chunk)
    return sum_.hexdigest()


def _too_large(path: Path | str, limit: int) -> TooLargeError:
    return TooLargeError(f"larger than {limit:,} bytes", path)


def _absolute_path(path: Path) -> Path:
    """Return the path from the root, `..` taken out by its text: where links lead is looked at afterwards."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `Path.absolute` leaves `..`


def _leads_into(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
