"""The journal of pushes: SQLite, written before each act and after it, so that a killed run can be told and ended."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
import time
import zlib
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.push.source import refused
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FORMAT = 1
_TABLES = """
CREATE TABLE run (id INTEGER PRIMARY KEY, kind TEXT, tree TEXT, digest TEXT, options TEXT, begun REAL, ended REAL,
                  outcome TEXT);
CREATE TABLE device (run INTEGER, name TEXT, state TEXT, intent TEXT, detail TEXT, wave INTEGER, disruptive INTEGER,
                     before BLOB, after BLOB, baseline TEXT, at REAL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE step (run INTEGER, name TEXT, at REAL, what TEXT, seconds REAL);
"""


class State(StrEnum):
    """Where a switch stands in a run."""

    PLANNED = "planned"
    DRAINED = "drained"
    CANDIDATE = "candidate"
    COMMITTED = "committed-unconfirmed"
    VERIFIED = "verified"
    CONFIRMED = "confirmed"
    UNDRAINED = "undrained"
    ROLLED_BACK = "rolled-back"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"


NEW = frozenset({State.CONFIRMED, State.UNDRAINED})
"""Final: the switch runs what it was to run."""
FINAL = NEW | {State.ROLLED_BACK, State.UNCHANGED, State.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Run:
    """One push; `ended` and `outcome` are None while it is not over."""

    id: int
    kind: str
    tree: str
    digest: str
    options: Mapping[str, Any]
    begun: float
    ended: float | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One switch in a run.

    Attributes:
        intent: what was about to be done, "" when nothing was.
        wave: from 1; 0 before waves are planned.
        before, after: configuration that it ran, and that it is to run; "" before it was asked.
        baseline: what was measured before anything changed.
    """

    name: str
    state: State
    intent: str
    detail: str
    wave: int
    disruptive: bool
    before: str
    after: str
    baseline: Mapping[str, Any]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do or to undo."""
        return self.state in FINAL and not self.intent


def default_path(cluster: str) -> Path:
    """Where the journal of a cluster is kept, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "fabricc" / "push" / f"{cluster}.sqlite"


class Journal:
    """One cluster's pushes. It holds running configurations, so its file is for its owner alone (mode 0600)."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            RefusedError: FAB9124, it is no journal of this version or cannot be written.
        """
        self.path = path
        self._guard = threading.Lock()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._base.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_FORMAT}; COMMIT;")
            elif version != _FORMAT:
                raise refused("FAB9124", f"{path} is a journal of another version")
        except (OSError, sqlite3.Error) as error:
            raise refused(
                "FAB9124", f"cannot use the journal {path}: {error}", "Name another with --journal."
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def _write(self, statement: str, *values: Any) -> sqlite3.Cursor:
        with self._guard:
            return self._base.execute(statement, values)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._guard:
            return self._base.execute(statement, values).fetchall()

    # Runs.

    def begin(
        self, kind: str, tree: str, digest: str, options: Mapping[str, Any], names: Iterator[str]
    ) -> int:
        """A new run with its switches, nothing done yet; its number."""
        with self._guard, self._base:
            self._base.execute("BEGIN")
            cursor = self._base.execute(
                "INSERT INTO run (kind, tree, digest, options, begun) VALUES (?, ?, ?, ?, ?)",
                (kind, tree, digest, json.dumps(options), time.time()),
            )
            run = int(cursor.lastrowid or 0)
            self._base.executemany(
                "INSERT INTO device VALUES (?, ?, 'planned', '', '', 0, 0, NULL, NULL, '{}', ?)",
                ((run, name, time.time()) for name in names),
            )
        return run

    def end(self, run: int, outcome: str) -> None:
        """The run is over."""
        self._write("UPDATE run SET ended=?, outcome=? WHERE id=?", time.time(), outcome, run)

    def reopen(self, run: int) -> None:
        """The run goes on."""
        self._write("UPDATE run SET ended=NULL, outcome=NULL WHERE id=?", run)

    def drop(self, run: int) -> None:
        """Forget a run that changed nothing."""
        with self._guard, self._base:
            self._base.execute("BEGIN")
            for table, column in (("run", "id"), ("device", "run"), ("step", "run")):
                self._base.execute(f"DELETE FROM {table} WHERE {column}=?", (run,))

    def runs(self) -> list[Run]:
        """Every run, the latest first."""
        columns = "id, kind, tree, digest, options, begun, ended, outcome"
        rows = self._rows(f"SELECT {columns} FROM run ORDER BY id DESC")
        return [
            Run(number, kind, tree, digest, json.loads(options), begun, ended, outcome)
            for number, kind, tree, digest, options, begun, ended, outcome in rows
        ]

    def run(self, number: int | None = None) -> Run:
        """A run, the latest when no number is given.

        Raises:
            RefusedError: FAB9125, there is no such run.
        """
        for run in self.runs():
            if number is None or run.id == number:
                return run
        which = "no run" if number is None else f"no run {number}"
        raise refused(
            "FAB9125", f"the journal {self.path} has {which}", "`fabricc push TREE --status` lists them."
        )

    # Switches of a run.

    def entry(self, run: int, name: str) -> Entry:
        """A switch."""
        columns = "name, state, intent, detail, wave, disruptive, before, after, baseline"
        (row,) = self._rows(f"SELECT {columns} FROM device WHERE run=? AND name=?", run, name)
        name, state, intent, detail, wave, disruptive, before, after, baseline = row
        texts = _text(before), _text(after)
        return Entry(name, State(state), intent, detail, wave, bool(disruptive), *texts, json.loads(baseline))

    def states(self, run: int) -> dict[str, tuple[State, str, str, int]]:
        """Switch -> state, intent, detail and wave."""
        rows = self._rows(
            "SELECT name, state, intent, detail, wave FROM device WHERE run=? ORDER BY wave, name", run
        )
        return {row[0]: (State(row[1]), *row[2:]) for row in rows}

    def asked(self, run: int, name: str, before: str, after: str, disruptive: bool, baseline: Any) -> None:
        """What a switch ran, is to run, and how it was, before anything changes."""
        self._write(
            "UPDATE device SET before=?, after=?, disruptive=?, baseline=?, at=? WHERE run=? AND name=?",
            _blob(before), _blob(after), int(disruptive), json.dumps(baseline), time.time(), run, name,
        )  # fmt: skip

    def waves(self, run: int, waves: Mapping[str, int]) -> None:
        """Switch -> its wave."""
        with self._guard, self._base:
            self._base.execute("BEGIN")
            self._base.executemany(
                "UPDATE device SET wave=? WHERE run=? AND name=?",
                [(w, run, name) for name, w in waves.items()],
            )

    def intend(self, run: int, name: str, act: str) -> None:
        """Write what is about to be done, before it is."""
        self._write("UPDATE device SET intent=?, at=? WHERE run=? AND name=?", act, time.time(), run, name)

    def reached(self, run: int, name: str, state: State, detail: str = "", seconds: float = 0.0) -> None:
        """Write that a switch reached a state; nothing is about to be done any more."""
        now = time.time()
        with self._guard, self._base:
            self._base.execute("BEGIN")
            self._base.execute(
                "UPDATE device SET state=?, intent='', detail=?, at=? WHERE run=? AND name=?",
                (state.value, detail, now, run, name),
            )
            self._base.execute(
                "INSERT INTO step VALUES (?, ?, ?, ?, ?)", (run, name, now, state.value, seconds)
            )

    def known(self, name: str) -> str:
        """What a switch ran when a run last knew; "" when none does."""
        rows = self._rows(
            "SELECT state, before, after FROM device WHERE name=? AND before IS NOT NULL AND state != 'planned' "
            "ORDER BY run DESC LIMIT 1",
            name,
        )
        for state, before, after in rows:
            if State(state) in NEW or State(state) is State.UNCHANGED:
                return _text(after)
            if State(state) is State.ROLLED_BACK:
                return _text(before)
        return ""

    def commit_seconds(self) -> tuple[float, int]:
        """Median time of a change on record, and of how many."""
        rows = self._rows(
            "SELECT seconds FROM step WHERE what='committed-unconfirmed' AND seconds > 0 LIMIT 10000"
        )
        found = sorted(row[0] for row in rows)
        return (found[len(found) // 2], len(found)) if found else (0.0, 0)


def _blob(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogateescape"), 6)


def _text(blob: bytes | None) -> str:
    return "" if blob is None else zlib.decompress(blob).decode("utf-8", "surrogateescape")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a cluster's switches alone: one push at a time; the kernel releases it with the process.

    Raises:
        RefusedError: FAB9123, another push runs; FAB9124, the lock file cannot be made.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise refused(
            "FAB9124", f"cannot use {lock}: {error.strerror}", "Name another with --journal."
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused(
                "FAB9123", f"another push holds {path}", "Wait for it; `fabricc push TREE --status` shows it."
            ) from None
        yield
    finally:
        os.close(handle)
