"""Statements that are kept verbatim, because they do not need a fact of their own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Keep, Said, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Value

SETTING, FROM, TO, THEN = "setting", "from", "to", "then"
"""Kinds of kept statements: settings, and conditions and actions of terms."""
_SECRETS = frozenset({
    "authentication-key", "hello-authentication-key", "key", "md5", "password", "pre-shared-key", "secret",
    "simple-password",
})  # fmt: skip
_SET = "set"
"""What stands for a secret."""


def verbatim_rows(words: str, above: str = "", kind: str = SETTING, lead: str = "") -> list[Keep]:
    """Return rows that keep statements with some first words, with everything below them.

    Args:
        words: the first words, with blanks between; one with `+` has others behind it.
        above: words before them that are not kept.
        kind: key of the statements in the scope.
        lead: words that are kept before them.
    """
    before = f"{kind} {lead} " if lead else f"{kind} "
    return [
        Keep(f"{above} {word[:-1]} <below>" if word[-1] == "+" else f"{above} {word} [<below>]",
             partial(_statement_text, before, word.rstrip("+")))
        for word in words.split()
    ]  # fmt: skip


def _statement_text(before: str, word: str, below: str | None = None) -> Mapping[str, Value]:
    words = [word, *(below.split(" ") if below else ())]
    for at, each in enumerate(words[:-1]):
        if each in _SECRETS:
            words[at + 1 :] = [_SET]
            break
    return {before + " ".join(words): "true"}


def kept_statements(scope: Scope, kind: str = SETTING) -> list[tuple[str, int]]:
    """(words, line) of the statements of a kind, in the order of the text."""
    begin = f"{kind} "
    said = scope.values.items()
    return [(name.removeprefix(begin), line) for name, (_, line) in said if name.startswith(begin)]


def put_settings(
    document: Document, prefix: str, scope: Scope, kind: str = SETTING, leaf: str = SETTING, lead: str = ""
) -> None:
    """State what a scope kept: `setting[all words but the last]` is the last one, or all where there are several."""
    if not scope.values:
        return
    found: dict[str, list[Said]] = {}
    for words, line in kept_statements(scope, kind):
        key, _, value = words.rpartition(" ")
        found.setdefault(lead + (key or value), []).append((value if key else "true", line))
    for key, said in found.items():
        values = [str(value) for value, _ in said if value != "true" or len(said) == 1]
        document.put(f"{prefix}{leaf}[{key}]", ",".join(values), said[-1][1])
