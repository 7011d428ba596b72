"""List the files that a Git repository tracks, from its index alone: no program runs, no configuration is read.

See gitformat-index(5). Of versions 2 and 3, the bytes are searched for an entry: a name behind the two bytes of its
flags, the low twelve bits of which are its length. Entries of a shared index are not looked up, so they count as
untracked.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG

from fabricc.base.foreign.shell import home_folder

_LARGEST = 256 << 20  # bytes of an index
_LONGEST = 4096  # bytes of a `.git` that is a file
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FIRST = 12 + 60  # bytes of the header, and of an entry before its flags
_VERSIONS = (2, 3)
_LENGTH, _EXTENDED = 0x0FFF, 0x4000


def owns_path(top: Path, path: Path) -> bool:
    """Return whether what is at a path belongs to the repository at `top`: it is tracked, or has a tracked part.

    A repository without an index that can be read, such as a new one, owns all that is in it, unless the home of the
    user is in it as well: what is unpacked somewhere below the home is no part of a repository of dotfiles.

    Args:
        top: the folder with `.git`.
        path: below it; both are absolute.
    """
    if (index := _read_index(top)) is None:
        return not is_above_home(top)
    name = os.fsencode(path.relative_to(top))
    parts = name.split(b"/")
    links = (b"/".join(parts[:count]) for count in range(1, len(parts)))
    return (
        _has_entry(index, name, b"\0")
        or _has_entry(index, name, b"/")
        or any(_has_entry(index, link, b"\0") for link in links)
    )


def is_above_home(top: Path) -> bool:
    """Return whether the user's home is a folder or is below it: who can write there is the user."""
    return home_folder().is_relative_to(os.path.realpath(top))


def _has_entry(index: bytes, name: bytes, end: bytes) -> bool:
    """Return whether an entry is of this name, or, where `/` ends the name, of a file below it."""
    at = index.find(name + end, _FIRST)
    while at >= 0:
        length = min(index.find(b"\0", at) - at, _LENGTH)
        flags, before = (int.from_bytes(index[at - back : at - back + 2], "big") for back in (2, 4))
        if flags & _LENGTH == length or (before & _EXTENDED and before & _LENGTH == length):
            return True
        at = index.find(name + end, at + 1)
    return False


def _read_index(top: Path) -> bytes | None:
    """Return the index of a repository or of one of its work trees; None for one that cannot be read."""
    place = top / ".git"
    try:
        if place.is_file():
            word, _, folder = _read_content(place, _LONGEST).partition(b": ")
            place = top / os.fsdecode(folder.strip()) if word == b"gitdir" else place
        place /= "index"
        entry = place.stat()
        index = _cached_index(str(place), entry.st_ino, entry.st_mtime_ns, entry.st_size)
    except (OSError, ValueError):
        return None
    known = index[:4] == b"DIRC" and int.from_bytes(index[4:8], "big") in _VERSIONS
    return index if known else None


@lru_cache(maxsize=4)
def _cached_index(place: str, _inode: int, _modified: int, _size: int) -> bytes:
    return _read_content(Path(place), _LARGEST)


def _read_content(path: Path, most: int) -> bytes:
    with os.fdopen(os.open(path, _READ), "rb") as file:
        entry = os.fstat(file.fileno())
        if not S_ISREG(entry.st_mode) or entry.st_size > most:
            raise ValueError("no regular file, or too large")
        return file.read(most)
