"""A few files of a large tree changed in place: written beside it, recorded, then moved in one after another.

Putting a whole tree in the place of another costs time for every file in it. When few change, those few are written
to a hidden folder, a record names where each belongs, and each is renamed to its place. Until the record stands the
tree is the old one; once it stands the new one is certain: a build killed among the renames is completed by the next
command that opens the tree (`settle`), as a database does with its log.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fabricc.emit import swap
from fabricc.emit.exclusive import exclusive
from fabricc.emit.failure import EmitError
from fabricc.emit.names import checked_path
from fabricc.emit.stage import CREATE, Written, read_file
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_RECORD = "record.json"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Patch:
    """Files that are to take their places in `target`; make it with `Patch.open` while holding the tree's lock.

    Attributes:
        target: the tree.
        folder: the hidden folder written to.
    """

    target: Path
    folder: Path

    @staticmethod
    def open(target: Path) -> Patch:
        """An empty patch.

        Raises:
            EmitError: FAB7001, the folder beside the tree cannot be made.
        """
        folder = folder_of(target)
        try:
            swap.remove(folder)
            folder.mkdir()
        except OSError as error:
            raise EmitError.from_os(error) from None
        return Patch(target, folder)

    def put(self, path: str, content: bytes, *, mode: int = 0o644, sha256: str = "") -> Written:
        """Stage one file, unless the tree has the same bytes there, as `Stage.put` does.

        Raises:
            EmitError: FAB7004, the path is not a plain one inside the tree.
            OSError: it cannot be written; the tree is as it was.
        """
        digest = sha256 or hashlib.sha256(content).hexdigest()
        found, runs = read_file(self.target / path)
        if found == content and runs == bool(mode & 0o100):
            return Written(path, digest, changed=False, edited=False)
        self.write(path, [content], mode=mode)
        return Written(path, digest, changed=True, edited=False)

    def write(self, path: str, content: Iterable[bytes], *, mode: int = 0o644) -> None:
        """Stage one file that is known to differ.

        Raises:
            EmitError, OSError: as `put`.
        """
        with os.fdopen(os.open(_staged(self.folder, path), CREATE, mode), "wb") as file:
            file.writelines(content)

    def commit(self, paths: Iterable[str]) -> None:
        """Put staged files in their places: those of these paths, by whichever process they were staged.

        Raises:
            EmitError: FAB7001; before the record stands the tree is as it was, afterwards `settle` goes on.
        """
        try:
            draft = self.folder / "draft"
            draft.write_text(json.dumps(list(paths)), encoding="utf-8")
            with _uninterrupted():
                draft.rename(self.folder / _RECORD)
                _apply(self.target, self.folder)
        except OSError as error:
            raise EmitError.from_os(error) from None

    def abandon(self) -> None:
        """Drop what is staged, unless it is to be completed."""
        if not (self.folder / _RECORD).exists():
            with suppress(OSError):
                swap.remove(self.folder)


def folder_of(target: Path) -> Path:
    """The hidden folder of a tree's patch."""
    return target.with_name(f".{target.name}.patch")


def settle(target: Path) -> None:
    """Complete the patch that a killed build left half applied, if there is one.

    Raises:
        EmitError: FAB7001; FAB7003, another build has the tree.
    """
    target = target.absolute()
    if target.name and (folder_of(target) / _RECORD).is_file():
        with exclusive(target.with_name(f".{target.name}.lock"), target):
            complete(target)


def complete(target: Path) -> None:
    """As `settle`, for who holds the tree's lock; a patch that was not recorded goes.

    Raises:
        EmitError: FAB7001.
    """
    folder = folder_of(target)
    try:
        if (folder / _RECORD).is_file():
            with _uninterrupted():
                _apply(target, folder)
        elif folder.exists():
            swap.remove(folder)
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(str(error))
        raise EmitError.from_os(failure, f"complete the build that ended in {folder}:") from None


def _staged(folder: Path, path: str) -> Path:
    """Where the file for a path of the tree waits.

    Raises:
        EmitError: FAB7004, the path is not a plain one inside the tree.
    """
    return folder / hashlib.sha256(checked_path(path).encode()).hexdigest()


def _apply(target: Path, folder: Path) -> None:
    """Move every staged file that is still there, then remove the record before the rest."""
    for path in json.loads((folder / _RECORD).read_text(encoding="utf-8")):
        staged = _staged(folder, path)
        if staged.exists():
            staged.rename(target / path)
    (folder / _RECORD).unlink()
    swap.remove(folder)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals that would end the process wait until the tree is whole; only a main thread is asked to handle any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: waiting.append(number)) for number in _SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for missed in waiting:
            signal.raise_signal(missed)
