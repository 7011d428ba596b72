"""Insert the secrets of configurations before a push, hide them in its output, and store them while it can be undone.

The store and the journal are separate files.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from fabricc.base.secret_words import HIDDEN, hide_secret_words, secrets_by_line
from fabricc.operate.devices import DeviceError, running
from fabricc.operate.devices.secrets import REFERENCE, secret_names_in
from fabricc.operate.drivers.redact import secrets_in
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.journal_file import LONGEST, require_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.operate.devices.access import Access

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
                raise PushRefusedError("FAB9124", message, remedy) from None

    def store_secrets(self, run: int, name: str, secrets: Mapping[str, str]) -> None:
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

    def remove_secrets(self, run: int, names: Iterable[str], *, earlier: bool) -> None:
        """Remove the secrets of switches in a run, or in all earlier ones."""
        with self._open() as base, base:
            base.execute("BEGIN")
            statement = f"DELETE FROM apart WHERE run{'<' if earlier else '='}? AND name=?"
            base.executemany(statement, [(run, name) for name in names])


_LEAST = 4
"""Characters of a secret from which a diff is searched for it: a shorter one is part of too many words."""


def require_secrets(access: Access, texts: Callable[[str], Iterable[str]], names: Collection[str]) -> None:
    """Look up every secret that configurations refer to, before any switch is contacted.

    `texts` gives what may be loaded on a switch.

    Raises:
        PushRefusedError: FAB9131 for each secret that cannot be had, or that stands in a configuration as a plain word.
    """
    wanted: set[str] = set()
    for name in names:
        for text in texts(name):
            wanted |= secret_names_in(text)
    wrong = []
    for secret in sorted(wanted):
        try:
            access.secret(secret)
        except DeviceError as error:
            wrong.append(error.diagnostic)
    if wrong:
        raise PushRefusedError.of(wrong)
    values = {access.secret(secret).reveal(): secret for secret in wanted}
    for name in names if values else ():
        for text in texts(name):
            if used := next((secret for value, secret in values.items() if value in text), None):
                raise PushRefusedError(
                    "FAB9131",
                    f"the value of the secret {used!r} also occurs as an ordinary word in the configuration of {name}",
                    "Choose a secret that does not occur in the configuration.",
                )


def extract_secrets(
    nos: str, files: Mapping[str, str], known_marks: Mapping[str, str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a switch runs, with a mark in place of each secret that it holds itself; and mark -> secret.

    Such are values of before, and what the device encrypts. They are looked for where the reader finds a secret, and
    behind words such as `password` in lines that it does not know: marks change no other fact.

    References are in place of the secrets that are known. `known_marks`: marks in use -> their secrets.
    """
    places: dict[tuple[str, int], set[str]] = {}
    for file, text in files.items():
        for line, word in secrets_by_line(text):
            places.setdefault((file, line), set()).add(word)
    found = running.read_facts(nos, files)
    texts = {file: text.splitlines(keepends=True) for file, text in files.items()}
    stated = {place for path, place in found.lines.items() if running.is_secret(nos, path)}
    for file, line in stated | {(file, line) for file, line, _ in found.unknown}:
        if 0 < line <= len(texts.get(file, ())):
            places.setdefault((file, line), set()).update(secrets_in(texts[file][line - 1]))
    marks = {secret: mark for mark, secret in (known_marks or {}).items()}
    for (file, line), words in places.items():
        for word in sorted(words, key=len, reverse=True):
            lines = texts.get(file, [])
            if 0 < line <= len(lines) and word in lines[line - 1] and not REFERENCE.search(word):
                mark = marks.setdefault(word, f"{MARK}{len(marks) + 1}.")
                lines[line - 1] = lines[line - 1].replace(word, mark)
    return {file: "".join(lines) for file, lines in texts.items()}, {m: word for word, m in marks.items()}


def hide_secrets(diff: str, files: Mapping[str, str]) -> str:
    """Return a device's own diff without secrets, neither those of its configuration nor those of its lines."""
    if not diff:
        return diff
    words = {word for text in files.values() for _, word in secrets_by_line(text)}
    for word in sorted((word for word in words if len(word) >= _LEAST), key=len, reverse=True):
        diff = re.sub(rf"(?<![\w$.]){re.escape(word)}(?!\w)", HIDDEN, diff)
    return hide_secret_words(diff)
