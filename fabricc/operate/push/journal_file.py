"""The file of a journal: SQLite, which takes what is written also where its disk is full.

A full disk during a push loses neither the journal nor the push: space is reserved next to the file. When the reserve
is used up too, the journal continues in memory, long enough to roll back unfinished switches and to report it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fabricc.operate.push.built_tree import PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

R = TypeVar("R")
LARGEST, LONGEST = 4 << 30, 64 << 20
"""Bytes of a journal, and of one of its values: some 100 pushes of 5,000 switches."""
_FORMAT = 1
_RESERVE = 4 << 20
"""Bytes set aside while a push runs: some 1,000 steps, far more than bringing a wave back takes."""
_TABLES = """
CREATE TABLE run (id INTEGER PRIMARY KEY, kind TEXT, tree TEXT, digest TEXT, options TEXT, begun REAL, ended REAL,
                  outcome TEXT);
CREATE TABLE device (run INTEGER, name TEXT, state TEXT, intent TEXT, detail TEXT, wave INTEGER, disruptive INTEGER,
                     before BLOB, after BLOB, baseline TEXT, at REAL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE step (run INTEGER, name TEXT, at REAL, what TEXT, seconds REAL);
"""
_ANOTHER = "Name another with --journal."


class JournalFile:
    """The file; from any thread.

    Attributes:
        trouble: why it could not be written, "" while it can.
        removed: whether somebody removed the file while it was open; it was written again then.
        replaced: whether another file stands in its place, which is left alone.
    """

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            PushRefusedError: FAB9124, it is no journal of this version or cannot be written.
        """
        self.path = path
        self.trouble = ""
        self.removed = self.replaced = False
        self._guard = threading.Lock()
        self._full: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_ours(path)
            self._base = _open_database(path)
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._base.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_FORMAT}; COMMIT;")
            elif version != _FORMAT:
                raise PushRefusedError("FAB9124", f"{path} is a journal of another version")
            query = "SELECT type, name FROM sqlite_master WHERE type != 'index'"
            ours = [("table", name) for name in ("device", "run", "step")]
            if sorted(self._base.execute(query).fetchall()) != ours:
                raise PushRefusedError("FAB9124", f"{path} is not a journal of fabricc", _ANOTHER)
            self._identity = _identify_file(path)
        except (OSError, sqlite3.Error, OverflowError) as error:
            raise PushRefusedError("FAB9124", f"cannot use the journal {path}: {error}", _ANOTHER) from None

    def close(self) -> None:
        """Close the file."""
        self._base.close()
        if self._full is not None:
            self._full.close()

    def make_damage_error(self, what: str) -> PushRefusedError:
        """Return FAB9124: the content of the journal is not valid."""
        remedy = "Check the switches, then move the file away and push with --adopt."
        return PushRefusedError("FAB9124", f"the journal {self.path} is damaged: {what}", remedy)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return what a query gives.

        Raises:
            PushRefusedError: FAB9124, the file is damaged.
        """
        with self._guard:
            try:
                return self._base.execute(statement, values).fetchall()
            except (sqlite3.Error, OverflowError) as error:
                raise self.make_damage_error(str(error)) from None

    def write(self, statement: str, *values: Any) -> None:
        """Write by one statement; see `transaction`."""
        self.transaction(lambda base: base.execute(statement, values))

    def transaction(self, act: Callable[[sqlite3.Connection], object]) -> None:
        """Write; what the disk does not take goes into the reserve, or else into memory."""
        with self._guard:
            self._write_again()
            if self._try_write(act) or (self.give_up_reserve() and self._try_write(act)):
                return
            if self._full is None:
                memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
                try:
                    self._base.backup(memory)
                except sqlite3.Error as error:
                    raise self.make_damage_error(str(error)) from None
                self._full, self._base = self._base, memory
            self._run_transaction(self._base, act)

    def _write_again(self) -> None:
        """Write the file again when somebody removed it: what this process has open is lost with it otherwise."""
        if self._full is not None or self.replaced or (now := _identify_file(self.path)) == self._identity:
            return
        if now is not None:
            self.replaced = True
            return
        self.removed = True
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        try:
            self._base.backup(memory)
            # Before the new file is opened: SQLite removes the log of the old one by its name.
            self._base.close()
            require_ours(self.path)
            fresh = _open_database(self.path)
            memory.backup(fresh)
        except (OSError, sqlite3.Error, PushRefusedError) as error:
            self.trouble = self.trouble or f"it was removed, and cannot be written again: {error}"
            self._full, self._base = self._base, memory
            return
        self._base, self._identity = fresh, _identify_file(self.path)
        memory.close()

    def _try_write(self, act: Callable[[sqlite3.Connection], object]) -> bool:
        try:
            self._run_transaction(self._base, act)
        except sqlite3.Error as error:
            self.trouble = self.trouble or str(error)
            return False
        return True

    @staticmethod
    def _run_transaction(base: sqlite3.Connection, act: Callable[[sqlite3.Connection], R]) -> R:
        with base:
            base.execute("BEGIN")
            return act(base)

    @property
    def _reserve(self) -> Path:
        return self.path.with_name(self.path.name + ".reserve")

    def give_up_reserve(self) -> bool:
        """Give back the space that is set aside; whether there was any."""
        try:
            self._reserve.unlink()
        except OSError:
            return False
        return True

    def set_aside(self) -> None:
        """Keep space on the disk while a run is open.

        Raises:
            OSError: there is none.
        """
        self.give_up_reserve()
        handle = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, _RESERVE)
        finally:
            os.close(handle)

    def on_disk(self, act: Callable[[sqlite3.Connection], R]) -> R:
        """Write to the file alone.

        Raises:
            sqlite3.Error: it does not take it.
        """
        with self._guard:
            return self._run_transaction(self._base, act)

    def is_complete(self) -> bool:
        """Return whether the file has all that was written; what is in memory alone is tried again."""
        with self._guard:
            self._write_again()
            if self._full is not None:
                with suppress(sqlite3.Error):
                    self._base.backup(self._full)
                    self._base, self._full = self._full, None
            return self._full is None


def _open_database(path: Path) -> sqlite3.Connection:
    """Return a connection to a journal, as every one is set up."""
    base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    base.execute("PRAGMA trusted_schema=OFF")
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    return base


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None when there is none, or it cannot be looked at."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_ours(path: Path) -> None:
    """Make the file when there is none.

    Raises:
        OSError: it is a link.
        PushRefusedError: FAB9124, it is no regular file, somebody else's, or larger than any journal.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        entry = os.fstat(handle)
    finally:
        os.close(handle)
    wrong = (
        "not a regular file" if not stat.S_ISREG(entry.st_mode)
        else "a file of somebody else" if entry.st_uid != os.geteuid()
        else f"larger than {LARGEST:,} bytes" if entry.st_size > LARGEST
        else "writable by others" if entry.st_mode & 0o022
        else ""
    )  # fmt: skip
    if wrong:
        raise PushRefusedError("FAB9124", f"the journal {path} is {wrong}", _ANOTHER)
