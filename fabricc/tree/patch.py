"""Change a few files of a large tree in place: write them next to it, record them, then move them one by one.

Replacing a whole tree costs time for every file in it. When few files change, those are written to a hidden folder, a
record lists the place of each, and each is renamed to its place. Before the record exists the tree is the old one;
after that the new one is certain: the next build completes the renames of a killed build (`complete`), as a database
does with its log. The record is in the user's own state folder and has the digest of every file, so that a patch that
came with a repository is never moved.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fabricc.base.foreign.files import Folder, ForeignFileError
from fabricc.base.values import dataclass
from fabricc.tree import EmitError, folders, name_failures
from fabricc.tree.manifest import checked_path
from fabricc.tree.stage import CREATE, StagedFile, read_existing
from fabricc.tree.state import has_pending, patch_of

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
        """Return an empty patch.

        Raises:
            EmitError: FAB7001, the folder next to the tree cannot be made; FAB7009, something is mounted in the tree.
        """
        folder = folder_of(target)
        for each in (target, folder):
            folders.refuse_mounts(each)
        try:
            folders.remove_path(folder)
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise EmitError.from_os(error) from None
        return Patch(target, folder)

    def put(self, path: str, content: bytes, *, mode: int = 0o644, sha256: str = "") -> StagedFile:
        """Stage one file, unless the tree has the same bytes there, as `Stage.put` does.

        Raises:
            EmitError: FAB7004, the path is not a plain one inside the tree.
            OSError: it cannot be written; the tree is as it was.
        """
        digest = sha256 or hashlib.sha256(content).hexdigest()
        if read_existing(f"{self.target}/{path}") == (content, bool(mode & 0o100)):
            return StagedFile(path, digest, changed=False, edited=False)
        self.write(path, [content], mode=mode)
        return StagedFile(path, digest, changed=True, edited=False)

    def write(self, path: str, content: Iterable[bytes | memoryview], *, mode: int = 0o644) -> str:
        """Stage one file that is known to differ; its SHA-256 (hex).

        Raises:
            EmitError, OSError: as `put`.
        """
        digest = hashlib.sha256()
        place = self.folder / _staged_name(path)
        with name_failures(place), os.fdopen(os.open(place, CREATE, mode), "wb") as file:
            for part in content:
                digest.update(part)
                file.write(part)
        return digest.hexdigest()

    def commit(self, digests: Mapping[str, str]) -> None:
        """Move the staged files of these paths to their places, whichever process staged them.

        Args:
            digests: path -> SHA-256 (hex) of what was staged.

        Raises:
            EmitError: FAB7001; before the record stands the tree is as it was, afterwards `complete` goes on.
        """
        try:
            with _delay_signals():
                self.record_digests(digests)
                _move_files(self.target, self.folder, digests)
                _drop_patch(self.target, self.folder)
        except OSError as error:
            raise EmitError.from_os(error) from None

    def record_digests(self, digests: Mapping[str, str]) -> None:
        """Write the record; after this the patch is certain.

        Raises:
            OSError: it cannot be written.
        """
        record = patch_of(self.target, make=True)
        if record is None:
            raise OSError(errno.EACCES, "there is no state folder of the user's own")
        draft = record.with_name(record.name + ".new")
        with name_failures(draft):
            draft.write_text(json.dumps(dict(digests)), encoding="utf-8")
        draft.replace(record)

    def abandon(self) -> None:
        """Drop the staged files, unless they must be completed."""
        if not has_pending(self.target):
            with suppress(OSError):
                folders.remove_path(self.folder)


def folder_of(target: Path) -> Path:
    """Return the hidden folder of a tree's patch."""
    return target.with_name(f".{target.name}.patch")


def complete_patch(target: Path) -> None:
    """Complete the half-applied patch of a killed build of this user; the caller holds the lock of the tree.

    Staged files without a record, or with other bytes than recorded, are removed.

    Raises:
        EmitError: FAB7001.
    """
    folder = folder_of(target)
    try:
        with _delay_signals():
            if (digests := _read_record(target)) and not target.is_symlink() and not folder.is_symlink():
                with suppress(
                    ForeignFileError, FileNotFoundError
                ):  # the whole build that follows makes it right
                    _move_files(target, folder, _genuine_files(folder, digests))
            _drop_patch(target, folder)
    except OSError as error:
        raise EmitError.from_os(error, f"complete the build that ended in {folder}:") from None


def _read_record(target: Path) -> dict[str, str]:
    """Return the content of the record, empty if there is none."""
    record = patch_of(target)
    try:
        stated = json.loads(record.read_text(encoding="utf-8")) if record else {}
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _genuine_files(folder: Path, digests: Mapping[str, str]) -> dict[str, str]:
    """Return the waiting files that have the recorded bytes."""
    found = {}
    with Folder(folder) as staged:
        for path, digest in digests.items():
            with suppress(OSError):
                if staged.digest(_staged_name(path)) == digest:
                    found[path] = digest
    return found


def _staged_name(path: str) -> str:
    """Return the name under which the staged file of a path waits.

    Raises:
        EmitError: FAB7004, the path is not a plain one inside the tree.
    """
    return hashlib.sha256(checked_path(path).encode()).hexdigest()


def _move_files(target: Path, folder: Path, paths: Iterable[str]) -> None:
    """Move staged files to their places, through no link.

    Raises:
        ForeignFileError: a folder of the tree is a link.
        OSError: a file is not there or cannot be moved.
    """
    with Folder(folder) as staged, Folder(target) as tree:
        for path in paths:
            with tree.above(path) as (place, name):
                os.rename(_staged_name(path), name, src_dir_fd=staged.handle, dst_dir_fd=place)


def _drop_patch(target: Path, folder: Path) -> None:
    """Remove the record before the rest."""
    if (record := patch_of(target)) is not None:
        record.unlink(missing_ok=True)
    folders.remove_path(folder)


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay signals that would end the process until the tree is whole; only a main thread may handle signals."""
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
