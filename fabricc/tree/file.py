"""One file that a user named, written or removed: whole or not at all, untouched if it is right, links followed safely.

A repository or an unpacked archive may bring links that lead out of it, to files of the user. Such a link may lead
only to places in the repository that tracks the link or its folder; without such a repository, in the folder that has
the link.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG

from fabricc.base.foreign.files import Folder, ForeignFileError, kind_of, repository_at, root_below
from fabricc.base.foreign.shell import home_folder
from fabricc.tree import EmitError
from fabricc.tree.folders import make_missing_folders

_NOTHING_LOST = "The former content is untouched."
_NAME_IT = "Name the place itself, or remove the link."
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(path: Path, content: bytes | Iterable[bytes]) -> bool:
    """Put `content`, whole or in parts, into a file in one step; whether that changed it.

    Raises:
        EmitError: it cannot be written, it is a link, or a link on the way to its folder leads out of what brought it;
            what stood there before still does.
    """
    try:
        with _open_folder(path.parent) as folder:
            return _replace_file(folder, path.name, content)
    except ValueError:
        raise _unusable_name(path) from None
    except OSError as error:
        remedy = _NAME_IT if isinstance(error, ForeignFileError) else _NOTHING_LOST
        raise EmitError("FAB7001", f"cannot write {path}: {error.strerror or error}", remedy) from None


def remove_file(path: Path) -> bool:
    """Remove a file; whether there was one. A link, or what is no file, stays.

    Raises:
        EmitError: FAB7001, it cannot be removed, or a link on the way to its folder leads out of what brought it.
    """
    try:
        with _open_folder(path.parent) as folder:
            if not folder.has(path.name):
                return False
            os.unlink(path.name, dir_fd=folder.handle)
            return True
    except OSError as error:
        raise EmitError(
            "FAB7001", f"cannot remove {path}: {error.strerror or error}", _NOTHING_LOST
        ) from None


def make_folder(path: Path) -> None:
    """Make a folder and those above it, through no link that `follow_links` refuses.

    Raises:
        EmitError: FAB7001, there or not at all.
    """
    try:
        make_missing_folders(follow_links(path))
    except ForeignFileError as error:
        raise EmitError("FAB7001", f"cannot write {path}: {error.strerror}", _NAME_IT) from None
    except ValueError:
        raise _unusable_name(path) from None
    except OSError as error:
        raise EmitError.from_os(error) from None


def _unusable_name(path: Path) -> EmitError:
    return EmitError("FAB7001", f"cannot write {str(path)!a}: no name of a file", _NOTHING_LOST)


def _open_folder(path: Path) -> Folder:
    """Return a folder to write in, through no link that `follow_links` refuses.

    Raises:
        ForeignFileError, OSError: a link leads out of the repository that contains it, or the folder does not exist.
    """
    return Folder(follow_links(path), root=Path("/"))


def _replace_file(folder: Folder, name: str, content: bytes | Iterable[bytes]) -> bool:
    """Write a draft next to the file, and rename it unless the file has the same content.

    Raises:
        OSError: nothing has changed.
    """
    mode = _file_mode(folder, name)
    if isinstance(content, bytes):
        if mode is not None and _has_content(folder, name, content):
            return False
        content = (content,)
    draft, here = f".{name}.{os.getpid()}.new", folder.handle
    with os.fdopen(os.open(draft, _DRAFT, 0o666, dir_fd=here), "wb") as file:
        try:
            file.writelines(content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            os.rename(draft, name, src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=here)
            raise
    return True


def _file_mode(folder: Folder, name: str) -> int | None:
    """Return the permissions of the existing file, None if there is none.

    Raises:
        ForeignFileError: it is a link or no regular file.
    """
    try:
        mode = os.stat(name, dir_fd=folder.handle, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if not S_ISREG(mode):
        raise ForeignFileError(f"{kind_of(mode)} is in the place of the file", folder.path / name)
    return S_IMODE(mode)


def _has_content(folder: Folder, name: str, content: bytes) -> bool:
    try:
        return folder.read(name, limit=len(content)) == content
    except OSError:
        return False


_MOST = 40  # links on one way, as in Linux (path_resolution(7))


def follow_links(path: Path) -> Path:
    """Return the place that a path leads to, without links.

    Three kinds of links may lead anywhere, since no archive brings them: links in the user's home folder itself, links
    in folders where the user cannot write, and links on the way to the working folder as the shell names it (`PWD`).

    Raises:
        ForeignFileError: a link leads out of what brought it, or the place is in a folder of Git.
        OSError: there are too many links.
        ValueError: no file can have such a name.
    """
    here, waiting, links = Path("/"), _reversed_parts(path if path.is_absolute() else Path.cwd() / path), 0
    while waiting:
        part = waiting.pop()
        place = here.parent if part == ".." else here / part
        if part == ".." or not place.is_symlink():
            here = place
            continue
        if (links := links + 1) > _MOST:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        _check_link(here, place, path)
        target = place.readlink()
        here = Path("/") if target.is_absolute() else here
        waiting += _reversed_parts(target)
    if ".git" in here.parts:
        raise ForeignFileError("the folder is Git's own", path)
    return here


def _reversed_parts(path: Path) -> list[str]:
    """Return the parts of a path, the last one first, without the root."""
    return [part for part in reversed(path.parts) if part.strip("/")]


def _check_link(folder: Path, link: Path, path: Path) -> None:
    """Raise an error where a link of a folder leads out of what brought it."""
    root = repository_at(folder) or root_below(folder, link)
    if not Path(os.path.realpath(link)).is_relative_to(root) and not _is_of_user(folder, link):
        raise ForeignFileError(f"a symbolic link leads out of {root}", path)


def _is_of_user(folder: Path, link: Path) -> bool:
    """Return whether the user, or the administrator of the machine, made a link, because no archive can bring it."""
    if folder == Path("/") or not os.access(folder, os.W_OK):
        return True
    if folder == home_folder():
        return True
    working = Path(os.environ.get("PWD", ""))
    if not working.is_absolute() or os.path.realpath(working) != str(Path.cwd()):
        return False
    return any(
        Path(os.path.realpath(each.parent)) / each.name == link for each in (working, *working.parents)
    )
