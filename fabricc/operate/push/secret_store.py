"""Store the secrets of the configurations in a journal in a separate file, as long as the push can be undone."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from fabricc.operate.push.built_tree import RefusedError
from fabricc.operate.push.journal_file import LONGEST, require_ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

MARK = "FABRICC-KEPT-"
"""Placeholder in stored configurations for secrets in the separate file; a number and a full stop follow."""
_TABLE = "CREATE TABLE IF NOT EXISTS apart (run INTEGER, name TEXT, mark TEXT, secret TEXT)"


class SecretStore:
    """The secrets file of a journal. Every method raises FAB9124 if the file cannot be used."""

    def __init__(self, journal: Path) -> None:
        """Set the path next to this journal; the file is created with the first secret."""
        self._path = journal.with_name(journal.name + ".secrets")
        self._guard = threading.Lock()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            try:
                require_ours(self._path)
                with closing(sqlite3.connect(self._path, isolation_level=None)) as base:
                    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                    base.execute("PRAGMA secure_delete=ON")
                    base.execute(_TABLE)
                    yield base
            except (OSError, sqlite3.Error) as error:
                message, remedy = f"cannot use {self._path}: {error}", "Make space, or move it away."
                raise RefusedError("FAB9124", message, remedy) from None

    def keep(self, run: int, name: str, secrets: Mapping[str, str]) -> None:
        """Keep the secrets of a switch in a run, mark -> secret, in the place of those it has."""
        rows = [(run, name, mark, secret) for mark, secret in secrets.items()]
        with self._open() as base, base:
            base.execute("BEGIN")
            base.execute("DELETE FROM apart WHERE run=? AND name=?", (run, name))
            base.executemany("INSERT INTO apart VALUES (?, ?, ?, ?)", rows)

    def fill_in(self, run: int, name: str, text: str) -> str:
        """Return a stored configuration with its secrets; marks stay where they are gone."""
        if MARK not in text:
            return text
        query = "SELECT mark, secret FROM apart WHERE run=? AND name=?"
        with self._open() as base:
            rows = base.execute(query, (run, name)).fetchall()
        for mark, secret in rows:
            text = text.replace(str(mark), str(secret))
        return text

    def exists(self) -> bool:
        """Return whether any secret was ever stored."""
        return self._path.exists()

    def forget(self, run: int, names: Iterable[str], *, earlier: bool) -> None:
        """Remove the secrets of switches in a run, or in all earlier ones."""
        with self._open() as base, base:
            base.execute("BEGIN")
            statement = f"DELETE FROM apart WHERE run{'<' if earlier else '='}? AND name=?"
            base.executemany(statement, [(run, name) for name in names])
