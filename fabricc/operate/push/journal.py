"""Record pushes in a journal before and after each action, so that a killed run can be found and finished."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.operate.push.built_tree import Origin, PushRefusedError
from fabricc.operate.push.journal_file import LONGEST, JournalFile
from fabricc.operate.push.secret_store import SecretStore

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.devices.login import Device

    Secrets = Mapping[str, str]


class State(StrEnum):
    """The state of a switch in a run."""

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
SESSION = "session"
"""Where the options of a run have the name of its session."""
_SESSION = re.compile(r"[A-Za-z0-9-]{1,80}")
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

    @property
    def undone_run(self) -> int | None:
        """Number of the run that this one brings back; None for a push."""
        match = _UNDOES.match(self.kind)
        return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Entry:
    """One switch in a run.

    Attributes:
        intent: what was about to be done, "" when nothing was.
        before, after: configuration that it ran, and that it is to run; "" before it was read.
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
        """Return whether nothing is left to do or to undo."""
        return self.state in FINAL and not self.intent


class Journal(JournalFile):
    """One cluster's pushes. It holds running configurations, so its file is for its owner alone (mode 0600).

    Their secrets are in a separate file next to the journal, for as long as the last change of a switch can be undone.
    """

    def __init__(self, path: Path) -> None:
        """Open it, or make it; raises as `JournalFile` does."""
        super().__init__(path)
        self._apart = SecretStore(path)

    def _forget(self, run: int, *, earlier: bool) -> None:
        """Remove the secrets of a run, or of all earlier ones of the switches that it changed."""
        if self._apart.exists():
            rows = self.rows("SELECT name, state FROM device WHERE run=?", run)
            names = [name for name, state in rows if not earlier or state in NEW]
            self._apart.remove_secrets(run, names, earlier=earlier)

    # Runs.

    def begin(
        self, kind: str, tree: str, digest: str, options: Mapping[str, Any], names: Iterator[str]
    ) -> int:
        """Start a new run with its switches, and return its number.

        Raises:
            PushRefusedError: FAB9124, there is no space for it, nor for what it will write.
        """

        def act(base: sqlite3.Connection) -> int:
            statement = "INSERT INTO run (kind, tree, digest, options, begun) VALUES (?, ?, ?, ?, ?)"
            cursor = base.execute(
                statement, (kind, _encode_path(tree), digest, json.dumps(options), time.time())
            )
            run = int(cursor.lastrowid or 0)
            statement = "INSERT INTO device VALUES (?, ?, 'planned', '', '', 0, 0, NULL, NULL, '{}', ?)"
            base.executemany(statement, ((run, name, time.time()) for name in names))
            return run

        try:
            self.set_aside()
            return self.on_disk(act)
        except (OSError, sqlite3.Error) as error:
            self.give_up_reserve()
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            message = f"cannot write to the journal {self.path}: {reason}"
            raise PushRefusedError("FAB9124", message, "Make space for it.") from None

    def end(self, run: int, outcome: str) -> None:
        """The run is over."""
        self.write("UPDATE run SET ended=?, outcome=? WHERE id=?", time.time(), outcome, run)
        if outcome == "done":
            self._forget(run, earlier=True)
        self.give_up_reserve()

    def reopen(self, run: int) -> None:
        """The run goes on.

        Raises:
            PushRefusedError: FAB9124, there is no space for what it will write.
        """
        try:
            self.set_aside()
        except OSError as error:
            message = f"no space on the disk of {self.path}: {error.strerror}"
            raise PushRefusedError("FAB9124", message, "Make some.") from None
        self.write("UPDATE run SET ended=NULL, outcome=NULL WHERE id=?", run)

    def drop(self, run: int) -> None:
        """Forget a run that changed nothing."""
        self._forget(run, earlier=False)

        def act(base: sqlite3.Connection) -> None:
            for table, column in (("run", "id"), ("device", "run"), ("step", "run")):
                base.execute(f"DELETE FROM {table} WHERE {column}=?", (run,))

        self.transaction(act)
        self.give_up_reserve()

    def runs(self) -> list[Run]:
        """Return every run, the latest first."""
        columns = "id, kind, tree, digest, options, begun, ended, outcome"
        return [self._run(row) for row in self.rows(f"SELECT {columns} FROM run ORDER BY id DESC")]

    def _run(self, row: tuple[Any, ...]) -> Run:
        number, kind, tree, digest, options, begun, ended, outcome = row
        tree = os.fsdecode(tree) if isinstance(tree, bytes) else tree
        try:
            stated = json.loads(options)
            if not (
                isinstance(stated, dict)
                and all(isinstance(one, str) for one in (kind, tree, digest, outcome or ""))
                and all(isinstance(one, float) and 0 <= one < _LATEST for one in (begun, ended or 0.0))
            ):
                raise ValueError("a value of another kind")
        except (ValueError, TypeError, RecursionError) as error:
            raise self.make_damage_error(f"run {number}: {error}") from None
        return Run(number, kind, tree, digest, stated, begun, ended, outcome)

    def run(self, number: int | None = None) -> Run:
        """Return a run, the latest when no number is given.

        Raises:
            PushRefusedError: FAB9125, there is no such run.
        """
        for run in self.runs():
            if number is None or run.id == number:
                return run
        which = "no run" if number is None else f"no run {number}"
        remedy = (
            "`fabricc push TREE --status` lists the runs." if number else "Push first: `fabricc push TREE`."
        )
        raise PushRefusedError("FAB9125", f"the journal {self.path} has {which}", remedy)

    def sessions(self) -> dict[int, str]:
        """Run -> its session on switches, of those that have one."""
        named = ((run.id, run.options.get(SESSION)) for run in self.runs())
        return {number: name for number, name in named if isinstance(name, str) and _SESSION.fullmatch(name)}

    # Switches of a run.

    def entry(self, run: int, name: str) -> Entry:
        """Return a switch."""
        columns = "state, intent, detail, wave, disruptive, before, after, baseline"
        rows = self.rows(f"SELECT {columns} FROM device WHERE run=? AND name=?", run, name)
        if len(rows) != 1:
            raise self.make_damage_error(f"run {run} has no {name}")
        state, intent, detail, wave, disruptive, before, after, baseline = rows[0]
        stood = self._state(run, (name, state, intent, detail, wave))
        try:
            measured = json.loads(baseline)
            was, wanted = (self._apart.fill_in(run, name, _decompress_text(each)) for each in (before, after))
            if not isinstance(measured, dict):
                raise ValueError("what was measured is not a mapping")
        except (ValueError, TypeError, RecursionError, zlib.error) as error:
            raise self.make_damage_error(f"run {run}, {name}: {error}") from None
        return Entry(name, stood[0], intent, detail, bool(disruptive), was, wanted, measured)

    def _state(self, run: int, row: tuple[Any, ...]) -> tuple[State, str, str, int]:
        name, state, intent, detail, wave = row
        texts = all(isinstance(one, str) for one in (name, intent, detail))
        if not texts or not isinstance(wave, int) or state not in _STATES:
            raise self.make_damage_error(f"run {run}, {name!r}: a value of another kind")
        return State(state), intent, detail, wave

    def states(self, run: int) -> dict[str, tuple[State, str, str, int]]:
        """Switch -> state, intent, detail and wave."""
        query = "SELECT name, state, intent, detail, wave FROM device WHERE run=? ORDER BY wave, name"
        return {row[0]: self._state(run, row) for row in self.rows(query, run)}

    def record_plan(
        self, run: int, name: str, before: str, after: str, disruptive: bool, baseline: Any, secrets: Secrets
    ) -> None:
        """Record the former and planned configuration of a switch and its state; `secrets`: mark -> former secret."""
        if secrets:
            self._apart.store_secrets(run, name, secrets)
        self.write(
            "UPDATE device SET before=?, after=?, disruptive=?, baseline=?, at=? WHERE run=? AND name=?",
            _compress_text(before), _compress_text(after), int(disruptive), json.dumps(baseline), time.time(),
            run, name,
        )  # fmt: skip

    def waves(self, run: int, waves: Mapping[str, int]) -> None:
        """Switch -> its wave."""
        rows = [(wave, run, name) for name, wave in waves.items()]
        statement = "UPDATE device SET wave=? WHERE run=? AND name=?"
        self.transaction(lambda base: base.executemany(statement, rows))

    def record_intent(self, run: int, name: str, act: str) -> None:
        """Write what is about to be done, before it is."""
        self.write("UPDATE device SET intent=?, at=? WHERE run=? AND name=?", act, time.time(), run, name)

    def record_state(
        self, run: int, name: str, state: State, detail: str = "", seconds: float = 0.0, intent: str = ""
    ) -> None:
        """Write that a switch reached a state, and what is about to be done next, in one step."""
        now = time.time()

        def act(base: sqlite3.Connection) -> None:
            statement = "UPDATE device SET state=?, intent=?, detail=?, at=? WHERE run=? AND name=?"
            base.execute(statement, (state.value, intent, detail, now, run, name))
            base.execute("INSERT INTO step VALUES (?, ?, ?, ?, ?)", (run, name, now, state.value, seconds))

        self.transaction(act)

    def read_last_tree(self, device: Device) -> str:
        """Return what a switch ran when a run last knew, under its name or its former one; "" when none does."""
        return self._known_state(device.name) or (self._known_state(device.former) if device.former else "")

    def deployed_files(self, device: Device) -> str:
        """Return the files that the run gave a switch by which it runs what it runs; "" when no run did."""
        for name in filter(None, (device.name, device.former)):
            for number in self._runs_behind(name).get(name, [])[-1:]:
                return self.entry(number, name).after
        return ""

    def _known_state(self, name: str) -> str:
        query = (
            "SELECT run, state, before, after FROM device WHERE name=? AND before IS NOT NULL "
            "AND state != 'planned' ORDER BY run DESC LIMIT 1"
        )
        try:
            for run, state, before, after in self.rows(query, name):
                if state in (*NEW, State.UNCHANGED, State.ROLLED_BACK):
                    runs = before if state == State.ROLLED_BACK else after
                    return self._apart.fill_in(run, name, _decompress_text(runs))
        except (ValueError, TypeError, zlib.error) as error:
            raise self.make_damage_error(f"{name}: {error}") from None
        return ""

    def origins(self, devices: Iterable[Device]) -> dict[str, Origin]:
        """The trees by which switches run what they run, of those that a run knows, also under a former name."""
        runs, history = {run.id: run for run in self.runs()}, self._runs_behind()
        found = {}
        for device in devices:
            for number in (history.get(device.name) or history.get(device.former) or [])[-1:]:
                try:
                    found[device.name] = Origin.of(runs[number].options)
                except ValueError as error:
                    raise self.make_damage_error(f"run {number}: {error}") from None
        return found

    def _runs_behind(self, name: str = "") -> dict[str, list[int]]:
        """Switch -> the runs by which it runs what it runs, the last one last; `name`: of this switch alone."""
        runs = {run.id: run for run in self.runs()}
        history: dict[str, list[int]] = {}
        query = "SELECT run, name, state FROM device WHERE before IS NOT NULL AND state != 'planned'"
        rows = (
            self.rows(f"{query} AND name=? ORDER BY run", name)
            if name
            else self.rows(f"{query} ORDER BY run")
        )
        for number, switch, state in rows:
            past = history.setdefault(switch, [])
            if number not in runs or state not in _STATES:
                raise self.make_damage_error(f"run {number}, {switch!r}: a value of another kind")
            if state == State.ROLLED_BACK:
                continue
            if state not in NEW and state != State.UNCHANGED:
                past.clear()
            elif (undone := runs[number].undone_run) is not None:
                past[:] = [one for one in past if one < undone]
            else:
                past.append(number)
        return history

    def commit_seconds(self) -> tuple[float, int]:
        """Median time of a change on record, and of how many."""
        query = "SELECT seconds FROM step WHERE what='committed-unconfirmed' AND seconds > 0 LIMIT 10000"
        found = sorted(seconds for (seconds,) in self.rows(query) if isinstance(seconds, float))
        return (found[len(found) // 2], len(found)) if found else (0.0, 0)


def _compress_text(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogateescape"), 6)


def _decompress_text(blob: bytes | None) -> str:
    """Return a configuration as it was kept.

    Raises:
        ValueError, TypeError, zlib.error: it is none.
    """
    if blob is None:
        return ""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(blob, LONGEST)
    if not unpacking.eof:
        raise ValueError("a configuration is cut off, or too large")
    return content.decode("utf-8", "surrogateescape")


def _encode_path(path: str) -> str | bytes:
    """Return a path as SQLite takes it: as bytes where it is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path
