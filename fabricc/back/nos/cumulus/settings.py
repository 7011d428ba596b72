"""Statements that are settings by their first words: rows that keep them, and what becomes of what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Entry

if TYPE_CHECKING:
    from fabricc.back.reading import Document, Row, Scope

ENABLE = "(enable|state)"


def setting_rows(*beginnings: str, under: str = "setting", before: str = "") -> tuple[Row, ...]:
    """Statements that begin with these words: what follows is an entry of the table `setting[words]`."""
    return tuple(
        Entry(f"{before}{words} [<rest>]", f"{under}[{words}]", lambda _: "true")
        for words in dict.fromkeys(beginnings)
    )


def place_of(scope: Scope, unknown: frozenset[int]) -> int:
    """Return the first unknown line of a scope's values, else its own line."""
    return min((line for _, line in scope.said() if line in unknown), default=scope.line)


def gather_settings(scope: Scope, under: str = "setting") -> dict[str, tuple[str, int]]:
    """Settings of a scope: what follows their words, joined."""
    found = {
        name: (str(value), line)
        for name, (value, line) in scope.values.items()
        if name.startswith(under + "[")
    }
    for name, table in scope.tables.items():
        if name.startswith(under + "["):
            texts = ["true" if text is None else str(text) for text in table]
            found[name] = (", ".join(texts), max(line for _, line in table.values()))
    return found


def put_settings(
    document: Document, prefix: str, scope: Scope, under: str = "setting", leaf: str = "setting"
) -> None:
    """State the settings of a scope that are kept `under` a word, below `leaf` of a prefix."""
    for name, said in gather_settings(scope, under).items():
        document.put(f"{prefix}{leaf}{name[len(under) :]}", *said)
