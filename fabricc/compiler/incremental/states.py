"""The state of every file of a tree, by size and time: taken after a build, compared before the next.

Files are looked at folder by folder: the kernel has fewer names to follow, and the folder of a host has the same names
as that of the next, so that these are kept once. A look takes 0.94 of the time that it takes by whole paths, and a
build of 24,576 GPUs that finds nothing to do 0.87, most of it because this process takes what the other has not
looked at yet (runs in turn).
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import accumulate, groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.compiler.write.workers import run_checks_in_process, share_pieces, usable_cpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_STATE = 16  # bytes of a state: time and size
_WORTH_A_PROCESS = 20_000
_PIECE = 64  # folders that a process looks at before it takes more
_OPENED = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)


@dataclass(frozen=True)
class Listing:
    """The files of a tree, and its folders of the first two levels.

    Attributes:
        lists: sorted names, each list once.
        folders: each folder of the second level, and last "" for the tree itself, which has all that is in none of
            those -> which of the lists are its names.
    """

    lists: Sequence[Sequence[str]]
    folders: Mapping[str, int]

    @staticmethod
    def of(paths: Iterable[str]) -> Listing:
        """Return the listing of files from their sorted paths in the tree."""
        lists: dict[tuple[str, ...], int] = {}
        folders: dict[str, int] = {}
        upper: set[str] = set()
        for folder, places in groupby(map(split_path, paths), itemgetter(0)):
            names = [name for _, name in places]
            if folder:
                upper.add(folder.partition("/")[0])
                folders[folder] = lists.setdefault(tuple(sorted(names)), len(lists))
            else:
                upper.update(*((name, name.partition("/")[0]) for name in names))
        folders[""] = lists.setdefault(tuple(sorted(upper)), len(lists))
        return Listing(tuple(lists), folders)

    def names(self, folder: str) -> Sequence[str]:
        """Return the names that are checked in a folder; none if the tree does not have it."""
        return self.lists[self.folders[folder]] if folder in self.folders else ()

    @cached_property
    def encoded(self) -> Sequence[Sequence[bytes]]:
        """The lists as the kernel takes names, which need not be made of text once for each folder."""
        return [[*map(os.fsencode, names)] for names in self.lists]

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """Return the byte offset of the states of each folder, its own before those of its names; "/" is the end."""
        sizes = [(1 + len(names)) * _STATE for names in self.lists]
        ends = accumulate((sizes[at] for at in self.folders.values()), initial=0)
        return dict(zip([*self.folders, "/"], ends, strict=True))


@dataclass(frozen=True)
class States:
    """A tree as it was at some time.

    Attributes:
        tree: its folder.
        listing: what is in it.
        found: time and size of each, folder by folder.
    """

    tree: Path
    listing: Listing
    found: bytes

    def with_changes(self, paths: Iterable[str]) -> States:
        """Return a copy with the present states of these files, which are listed already, and of their folders.

        Raises:
            OSError: one of them is not there.
        """
        found = bytearray(self.found)
        touched = {place for path in paths for place in _touched_names(path)}
        for folder, name in touched:
            at = self._state_offset(folder, name)
            found[at : at + _STATE] = _path_state(self.tree, folder, name)
        return States(self.tree, self.listing, bytes(found))

    def has(self, path: str) -> bool:
        """Return whether a file is unchanged."""
        folder, name = split_path(path)
        if name not in self.listing.names(folder):
            return False
        at = self._state_offset(folder, name)
        try:
            return _path_state(self.tree, folder, name) == self.found[at : at + _STATE]
        except OSError:
            return False

    @contextmanager
    def check_in_background(
        self, jobs: int | None, before: Callable[[], bool]
    ) -> Iterator[tuple[Callable[[], bool], Callable[[], bool]]]:
        """Yield two functions: one answers a question, one also returns whether every file is unchanged.

        For a large tree another process does both at the same time, with help at the end. The tree's own files, of
        which every build
        that changes something changes one, come last.

        Args:
            jobs: processes to use; None for one per usable CPU.
            before: the question.
        """
        folders = [*self.listing.folders]
        with share_pieces(-(-len(folders) // _PIECE)) as pieces:

            def same() -> bool:
                return all(self._same_folders(folders[at * _PIECE : (at + 1) * _PIECE]) for at in pieces)

            if not is_large(self.listing) or (usable_cpus() if jobs is None else jobs) < 2:
                requested = cache(before)
                yield requested, lambda: requested() and same()
                return
            with run_checks_in_process(before, same) as answer:
                yield lambda: answer(0), lambda: same() and answer(0) and answer(1)

    def _same_folders(self, folders: Sequence[str]) -> bool:
        first = self.listing.starts[folders[0]]
        try:
            found = read_states(self.tree, self.listing, folders)
        except OSError:
            return False
        return not self.tree.is_symlink() and found == self.found[first : first + len(found)]

    def _state_offset(self, folder: str, name: str) -> int:
        """Return the offset of a name's state, or of the folder's own state for an empty name."""
        at = 1 + bisect_left(self.listing.names(folder), name) if name else 0
        return self.listing.starts[folder] + at * _STATE


def is_large(listing: Listing) -> bool:
    """Return whether a second process for the file states pays."""
    return listing.starts["/"] >= _WORTH_A_PROCESS * _STATE


def split_path(path: str) -> tuple[str, str]:
    """Return the folder by which a listing has a file, and its name there."""
    above = path.find("/", path.find("/") + 1)
    return (path[:above], path[above + 1 :]) if above > 0 else ("", path)


def _touched_names(path: str) -> Iterator[tuple[str, str]]:
    """Yield a file and the folders above it, as far as a listing has them."""
    folder, name = split_path(path)
    yield from ((folder, name), (folder, ""), ("", path.partition("/")[0]), ("", ""))


def read_states(tree: Path, listing: Listing, folders: Iterable[str]) -> bytes:
    """Return the states of folders and of all names in them.

    Raises:
        OSError: one of them is not there.
    """
    stat, states = os.lstat, array("q")
    for folder in folders:
        handle = os.open(f"{tree}/{folder}", _OPENED)
        try:
            states.extend(_of(os.fstat(handle)))
            for name in listing.encoded[listing.folders[folder]]:
                entry = stat(name, dir_fd=handle)
                states.append(entry.st_mtime_ns)
                states.append(entry.st_size)
        finally:
            os.close(handle)
    return states.tobytes()


def _path_state(tree: Path, folder: str, name: str) -> bytes:
    return array("q", _of(os.lstat(tree / folder / name))).tobytes()


_of = attrgetter("st_mtime_ns", "st_size")
