"""Follow the links on the way to a place that fabricc writes, as far as they may lead.

A repository or an unpacked archive may bring links that lead out of it, to files of the user. Such a link may lead
only to places in the repository that tracks the link or its folder; without such a repository, in the folder that has
the link.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fabricc.base.foreign.files import ForeignFileError, repository_at, root_below
from fabricc.base.foreign.home import home_folder

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
