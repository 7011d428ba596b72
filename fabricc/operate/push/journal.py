"""The journal of pushes: SQLite, written before each act and after it, so that a killed run can be told and ended.

A disk that fills up in the midst of a push takes neither the journal nor the push: space is set aside beside the file,
and when that is gone too the journal goes on in memory, long enough to bring back what was begun and to say so.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import sqlite3
import stat
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fabricc.base.values import dataclass
from fabricc.operate.push.built_tree import RefusedError
from fabricc.operate.push.origin import Origin

if TYPE_CHECKING:
    from fabricc.operate.devices.device import Device

R = TypeVar("R")
_FORMAT = 1
MARK = "FABRICC-KEPT-"
"""What stands in stored configurations for secrets that lie apart; a number and a full stop follow."""
_APART = "CREATE TABLE IF NOT EXISTS apart (run INTEGER, name TEXT, mark TEXT, secret TEXT)"
_LARGEST, _LONGEST = 4 << 30, 64 << 20
"""Bytes of a journal, and of one of its values: some 100 pushes of 5,000 switches."""
_RESERVE = 4 << 20
"""Bytes set aside while a push runs: some 1,000 steps, far more than bringing a wave back takes."""
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
    INSTALLED = "installed"
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
_STATES = frozenset(State)
_UNDOES = re.compile(r"rollback of (\d{1,9})")
_LATEST = 1 << 40
_LONGEST_PATH = 4096
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
        before, after: configuration that it ran, and that it is to run; "" before it was asked.
        baseline: what was measured before anything changed.
    """

    name: str
    state: State
    intent: str
    detail: str
    disruptive: bool
    before: str
    after: str
    baseline: Mapping[str, Any]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do or to undo."""
        return self.state in FINAL and not self.intent


def _state() -> Path:
    """Where journals are kept, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "fabricc" / "operate" / "push"


def default_path(cluster: str) -> Path:
    """Where the journal of a cluster is kept."""
    return _state() / f"{cluster}.sqlite"


class Journal:
    """One cluster's pushes. It holds running configurations, so its file is for its owner alone (mode 0600).

    Secrets that they hold lie apart, in a file of their own beside it, for as long as the last push of a switch can be
    undone.

    Attributes:
        trouble: why the file could not be written, "" while it can; whoever pushes stops then.
    """

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            RefusedError: FAB9124, it is no journal of this version or cannot be written.
        """
        self.path = path
        self.trouble = ""
        self._guard = threading.Lock()
        self._file: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _require_ours(path)
            self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            self._base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            self._base.execute("PRAGMA trusted_schema=OFF")
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._base.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_FORMAT}; COMMIT;")
            elif version != _FORMAT:
                raise RefusedError("FAB9124", f"{path} is a journal of another version")
            kinds = self._base.execute(
                "SELECT type, name FROM sqlite_master WHERE type != 'index'"
            ).fetchall()
            if sorted(kinds) != [("table", "device"), ("table", "run"), ("table", "step")]:
                raise RefusedError(
                    "FAB9124", f"{path} is no journal of fabricc", "Name another with --journal."
                )
        except (OSError, sqlite3.Error, OverflowError) as error:
            raise RefusedError(
                "FAB9124", f"cannot use the journal {path}: {error}", "Name another with --journal."
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._base.close()
        if self._file is not None:
            self._file.close()

    # Secrets.

    @contextmanager
    def _apart(self) -> Iterator[sqlite3.Connection]:
        """The file of secrets.

        Raises:
            RefusedError: FAB9124, it cannot be used.
        """
        path = self.path.with_name(self.path.name + ".secrets")
        with self._guard:
            try:
                _require_ours(path)
                with closing(sqlite3.connect(path, isolation_level=None)) as base:
                    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
                    base.execute("PRAGMA secure_delete=ON")
                    base.execute(_APART)
                    yield base
            except (OSError, sqlite3.Error) as error:
                raise RefusedError(
                    "FAB9124", f"cannot use {path}: {error}", "Make space, or move it away."
                ) from None

    def _filled(self, run: int, name: str, text: str) -> str:
        """A stored configuration with its secrets; marks stay where they are gone."""
        if MARK not in text:
            return text
        with self._apart() as base:
            rows = base.execute(
                "SELECT mark, secret FROM apart WHERE run=? AND name=?", (run, name)
            ).fetchall()
        for mark, secret in rows:
            text = text.replace(str(mark), str(secret))
        return text

    def _forget(self, run: int, *, earlier: bool) -> None:
        """Remove the secrets of a run, or of all earlier ones of its switches."""
        if not self.path.with_name(self.path.name + ".secrets").exists():
            return
        names = [(run, row[0]) for row in self._rows("SELECT name FROM device WHERE run=?", run)]
        with self._apart() as base, base:
            base.execute("BEGIN")
            base.executemany(f"DELETE FROM apart WHERE run{'<' if earlier else '='}? AND name=?", names)

    def _damaged(self, what: str) -> RefusedError:
        remedy = "Look at the switches; then move the file away and push with --adopt."
        return RefusedError("FAB9124", f"the journal {self.path} is damaged: {what}", remedy)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._guard:
            try:
                return self._base.execute(statement, values).fetchall()
            except (sqlite3.Error, OverflowError) as error:
                raise self._damaged(str(error)) from None

    # Writing, on a disk that may be full.

    def _write(self, statement: str, *values: Any) -> None:
        self._transaction(lambda base: base.execute(statement, values))

    def _transaction(self, act: Callable[[sqlite3.Connection], object]) -> None:
        """Write; what the disk does not take goes into the reserve, or else into memory."""
        with self._guard:
            if self._took(act) or (self._reserve_given_up() and self._took(act)):
                return
            if self._file is None:
                memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
                try:
                    self._base.backup(memory)
                except sqlite3.Error as error:
                    raise self._damaged(str(error)) from None
                self._file, self._base = self._base, memory
            self._in(self._base, act)

    def _took(self, act: Callable[[sqlite3.Connection], object]) -> bool:
        try:
            self._in(self._base, act)
        except sqlite3.Error as error:
            self.trouble = self.trouble or str(error)
            return False
        return True

    @staticmethod
    def _in(base: sqlite3.Connection, act: Callable[[sqlite3.Connection], R]) -> R:
        with base:
            base.execute("BEGIN")
            return act(base)

    @property
    def _reserve(self) -> Path:
        return self.path.with_name(self.path.name + ".reserve")

    def _reserve_given_up(self) -> bool:
        try:
            self._reserve.unlink()
        except OSError:
            return False
        return True

    def _set_aside(self) -> None:
        """Keep space on the disk while a run is open.

        Raises:
            OSError: there is none.
        """
        self._reserve_given_up()
        handle = os.open(self._reserve, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, _RESERVE)
        finally:
            os.close(handle)

    def written(self) -> bool:
        """Whether the file has all that was written; what is in memory alone is tried again."""
        with self._guard:
            if self._file is not None:
                with suppress(sqlite3.Error):
                    self._base.backup(self._file)
                    self._base, self._file = self._file, None
            return self._file is None

    # Runs.

    def begin(
        self, kind: str, tree: str, digest: str, options: Mapping[str, Any], names: Iterator[str]
    ) -> int:
        """A new run with its switches, nothing done yet; its number.

        Raises:
            RefusedError: FAB9124, there is no space for it, nor for what it will write.
        """

        def act(base: sqlite3.Connection) -> int:
            cursor = base.execute(
                "INSERT INTO run (kind, tree, digest, options, begun) VALUES (?, ?, ?, ?, ?)",
                (kind, tree, digest, json.dumps(options), time.time()),
            )
            run = int(cursor.lastrowid or 0)
            base.executemany(
                "INSERT INTO device VALUES (?, ?, 'planned', '', '', 0, 0, NULL, NULL, '{}', ?)",
                ((run, name, time.time()) for name in names),
            )
            return run

        try:
            self._set_aside()
            with self._guard:
                return self._in(self._base, act)
        except (OSError, sqlite3.Error) as error:
            self._reserve_given_up()
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise RefusedError(
                "FAB9124", f"cannot write to the journal {self.path}: {reason}", "Make space for it."
            ) from None

    def end(self, run: int, outcome: str) -> None:
        """The run is over."""
        self._write("UPDATE run SET ended=?, outcome=? WHERE id=?", time.time(), outcome, run)
        if outcome == "done":
            self._forget(run, earlier=True)
        self._reserve_given_up()

    def reopen(self, run: int) -> None:
        """The run goes on.

        Raises:
            RefusedError: FAB9124, there is no space for what it will write.
        """
        try:
            self._set_aside()
        except OSError as error:
            raise RefusedError(
                "FAB9124", f"no space beside {self.path}: {error.strerror}", "Make some."
            ) from None
        self._write("UPDATE run SET ended=NULL, outcome=NULL WHERE id=?", run)

    def drop(self, run: int) -> None:
        """Forget a run that changed nothing."""
        self._forget(run, earlier=False)

        def act(base: sqlite3.Connection) -> None:
            for table, column in (("run", "id"), ("device", "run"), ("step", "run")):
                base.execute(f"DELETE FROM {table} WHERE {column}=?", (run,))

        self._transaction(act)
        self._reserve_given_up()

    def runs(self) -> list[Run]:
        """Every run, the latest first."""
        columns = "id, kind, tree, digest, options, begun, ended, outcome"
        rows = self._rows(f"SELECT {columns} FROM run ORDER BY id DESC")
        return [self._run(row) for row in rows]

    def _run(self, row: tuple[Any, ...]) -> Run:
        number, kind, tree, digest, options, begun, ended, outcome = row
        try:
            stated = json.loads(options)
            if not (
                isinstance(stated, dict)
                and all(isinstance(one, str) for one in (kind, tree, digest, outcome or ""))
                and all(isinstance(one, float) and 0 <= one < _LATEST for one in (begun, ended or 0.0))
            ):
                raise ValueError("a value of another kind")
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(f"run {number}: {error}") from None
        return Run(number, kind, tree, digest, stated, begun, ended, outcome)

    def run(self, number: int | None = None) -> Run:
        """A run, the latest when no number is given.

        Raises:
            RefusedError: FAB9125, there is no such run.
        """
        for run in self.runs():
            if number is None or run.id == number:
                return run
        which = "no run" if number is None else f"no run {number}"
        raise RefusedError(
            "FAB9125", f"the journal {self.path} has {which}", "`fabricc push TREE --status` lists them."
        )

    # Switches of a run.

    def entry(self, run: int, name: str) -> Entry:
        """A switch."""
        columns = "state, intent, detail, wave, disruptive, before, after, baseline"
        rows = self._rows(f"SELECT {columns} FROM device WHERE run=? AND name=?", run, name)
        if len(rows) != 1:
            raise self._damaged(f"run {run} has no {name}")
        state, intent, detail, wave, disruptive, before, after, baseline = rows[0]
        stood = self._state(run, (name, state, intent, detail, wave))
        try:
            measured = json.loads(baseline)
            texts = (self._filled(run, name, _text(before)), self._filled(run, name, _text(after)))
            if not isinstance(measured, dict):
                raise ValueError("what was measured is no mapping")
        except (ValueError, TypeError, RecursionError, zlib.error) as error:
            raise self._damaged(f"run {run}, {name}: {error}") from None
        return Entry(name, stood[0], intent, detail, bool(disruptive), *texts, measured)

    def _state(self, run: int, row: tuple[Any, ...]) -> tuple[State, str, str, int]:
        name, state, intent, detail, wave = row
        texts = all(isinstance(one, str) for one in (name, intent, detail))
        if not texts or not isinstance(wave, int) or state not in _STATES:
            raise self._damaged(f"run {run}, {name!r}: a value of another kind")
        return State(state), intent, detail, wave

    def states(self, run: int) -> dict[str, tuple[State, str, str, int]]:
        """Switch -> state, intent, detail and wave."""
        rows = self._rows(
            "SELECT name, state, intent, detail, wave FROM device WHERE run=? ORDER BY wave, name", run
        )
        return {row[0]: self._state(run, row) for row in rows}

    def asked(
        self,
        run: int,
        name: str,
        before: str,
        after: str,
        disruptive: bool,
        baseline: Any,
        secrets: Mapping[str, str],
    ) -> None:
        """What a switch ran, is to run, and how it was, before anything changes; mark -> secret of what it ran."""
        if secrets:
            rows = [(run, name, mark, secret) for mark, secret in secrets.items()]
            with self._apart() as base, base:
                base.execute("BEGIN")
                base.execute("DELETE FROM apart WHERE run=? AND name=?", (run, name))
                base.executemany("INSERT INTO apart VALUES (?, ?, ?, ?)", rows)
        self._write(
            "UPDATE device SET before=?, after=?, disruptive=?, baseline=?, at=? WHERE run=? AND name=?",
            _blob(before), _blob(after), int(disruptive), json.dumps(baseline), time.time(), run, name,
        )  # fmt: skip

    def waves(self, run: int, waves: Mapping[str, int]) -> None:
        """Switch -> its wave."""
        rows = [(wave, run, name) for name, wave in waves.items()]
        self._transaction(
            lambda base: base.executemany("UPDATE device SET wave=? WHERE run=? AND name=?", rows)
        )

    def intend(self, run: int, name: str, act: str) -> None:
        """Write what is about to be done, before it is."""
        self._write("UPDATE device SET intent=?, at=? WHERE run=? AND name=?", act, time.time(), run, name)

    def reached(self, run: int, name: str, state: State, detail: str = "", seconds: float = 0.0) -> None:
        """Write that a switch reached a state; nothing is about to be done any more."""
        now = time.time()

        def act(base: sqlite3.Connection) -> None:
            base.execute(
                "UPDATE device SET state=?, intent='', detail=?, at=? WHERE run=? AND name=?",
                (state.value, detail, now, run, name),
            )
            base.execute("INSERT INTO step VALUES (?, ?, ?, ?, ?)", (run, name, now, state.value, seconds))

        self._transaction(act)

    def known(self, device: Device) -> str:
        """What a switch ran when a run last knew, under its name or its former one; "" when none does."""
        return self._known(device.name) or (self._known(device.former) if device.former else "")

    def _known(self, name: str) -> str:
        rows = self._rows(
            "SELECT run, state, before, after FROM device WHERE name=? AND before IS NOT NULL AND state != 'planned' "
            "ORDER BY run DESC LIMIT 1",
            name,
        )
        try:
            for run, state, before, after in rows:
                if state in NEW or state == State.UNCHANGED:
                    return self._filled(run, name, _text(after))
                if state == State.ROLLED_BACK:
                    return self._filled(run, name, _text(before))
        except (ValueError, TypeError, zlib.error) as error:
            raise self._damaged(f"{name}: {error}") from None
        return ""

    def origins(self, devices: Iterable[Device]) -> dict[str, Origin]:
        """The trees by which switches run what they run, of those that a run knows, also under a former name."""
        runs = {run.id: run for run in self.runs()}
        history: dict[str, list[int]] = {}
        query = (
            "SELECT run, name, state FROM device WHERE before IS NOT NULL AND state != 'planned' ORDER BY run"
        )
        for number, name, state in self._rows(query):
            past = history.setdefault(name, [])
            if number not in runs or state not in _STATES:
                raise self._damaged(f"run {number}, {name!r}: a value of another kind")
            if state == State.ROLLED_BACK:
                continue
            if state not in NEW and state != State.UNCHANGED:
                past.clear()
            elif undone := _UNDOES.match(runs[number].kind):
                past[:] = [one for one in past if one < int(undone[1])]
            else:
                past.append(number)
        found = {}
        for device in devices:
            for number in (history.get(device.name) or history.get(device.former) or [])[-1:]:
                try:
                    found[device.name] = Origin.of(runs[number].options)
                except ValueError as error:
                    raise self._damaged(f"run {number}: {error}") from None
        return found

    def commit_seconds(self) -> tuple[float, int]:
        """Median time of a change on record, and of how many."""
        rows = self._rows(
            "SELECT seconds FROM step WHERE what='committed-unconfirmed' AND seconds > 0 LIMIT 10000"
        )
        found = sorted(row[0] for row in rows if isinstance(row[0], float))
        return (found[len(found) // 2], len(found)) if found else (0.0, 0)


def _blob(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogateescape"), 6)


def _text(blob: bytes | None) -> str:
    """A configuration as it was kept.

    Raises:
        ValueError, TypeError, zlib.error: it is none.
    """
    if blob is None:
        return ""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(blob, _LONGEST)
    if not unpacking.eof:
        raise ValueError("a configuration is cut off, or too large")
    return content.decode("utf-8", "surrogateescape")


def _require_ours(path: Path) -> None:
    """Make the file when there is none.

    Raises:
        OSError: it is a link.
        RefusedError: FAB9124, it is no regular file, somebody else's, or larger than any journal.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        entry = os.fstat(handle)
    finally:
        os.close(handle)
    wrong = (
        "not a regular file" if not stat.S_ISREG(entry.st_mode)
        else "a file of somebody else" if entry.st_uid != os.geteuid()
        else f"larger than {_LARGEST:,} bytes" if entry.st_size > _LARGEST
        else "writable by others" if entry.st_mode & 0o022
        else ""
    )  # fmt: skip
    if wrong:
        raise RefusedError("FAB9124", f"the journal {path} is {wrong}", "Name another with --journal.")


@contextmanager
def alone(path: Path, cluster: str, address: str) -> Iterator[None]:
    """Hold a cluster's switches alone, with their one journal; the kernel releases them with the process.

    A second journal beside the first would leave one of them untrue, and two pushes could meet on one switch. So this
    account's state folder says which journal a cluster has, until that file is gone.

    `address` is that of one of them: clusters of one name elsewhere are others.

    Raises:
        RefusedError: FAB9123, another push runs; FAB9152, they have another journal; FAB9124, no lock can be made.
    """
    with _locked(path.with_name(path.name + ".lock"), path) as (_, ours):
        if not ours:
            raise RefusedError(
                "FAB9123", f"another push holds {path}", "Wait for it; `fabricc push TREE --status` shows it."
            )
        key = hashlib.sha256(f"{cluster} {address}".encode()).hexdigest()[:12]
        with _locked(_state() / f"{cluster}-{key}.journal", path) as (handle, free):
            known = os.pread(handle, _LONGEST_PATH, 0).decode("utf-8", "surrogateescape")
            own = os.path.realpath(path)
            if not free:
                raise RefusedError(
                    "FAB9123", f"another push holds the switches of {cluster}", f"Its journal is {known}."
                )
            if known and known != own and Path(known).exists():
                message = f"the switches of {cluster} have the journal {known}, and a second one would leave it untrue"
                remedy = f"Use --journal {known}; or remove that file, and push with --adopt."
                raise RefusedError("FAB9152", message, remedy)
            os.ftruncate(handle, 0)
            os.pwrite(handle, own.encode("utf-8", "surrogateescape"), 0)
            yield


@contextmanager
def _locked(lock: Path, journal: Path) -> Iterator[tuple[int, bool]]:
    """An open file, and whether nobody else holds it.

    Raises:
        RefusedError: FAB9124, it cannot be made.
    """
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        remedy = "Name another with --journal." if lock.parent == journal.parent else "Set XDG_STATE_HOME."
        raise RefusedError("FAB9124", f"cannot use {lock}: {error.strerror}", remedy) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield handle, free
    finally:
        os.close(handle)
