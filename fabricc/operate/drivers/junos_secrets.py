"""Write the secrets of a candidate as the switch stores them, so that an unchanged secret is no difference.

Junos stores a secret that it loads as `$9$` with a salt, so the same secret has many stored forms and a difference from
its clear text (the `show | compare` in networktocode/netutils pull request 227). The form is reversible and published,
for instance in Crypt::Juniper and netutils.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARK = "$9$"
_FAMILIES = ("QzF3n6/9CAtpu0O", "B1IREhcSyrleKvMW8LXx", "7N-dVbwsY2g4oaJZGUDj", "iHkq.mPf5T")
_LETTERS = "".join(_FAMILIES)
_SALT_LENGTHS = {letter: 3 - at for at, family in enumerate(_FAMILIES) for letter in family}
_WEIGHTS = ((1, 4, 32), (1, 16, 32), (1, 8, 32), (1, 64), (1, 32), (1, 4, 16, 128), (1, 32, 64))
_STATEMENT = re.compile(r"\s*(\S.*?) (\"[^\"]*\"|[^\s\"]+);(?:\s*##.*)?\s*$")
_CLEAR_SECRET = re.compile(r"\b(?:secret|authentication-key|value) (?!\"?\$\d\$)\S+;")


class _Statement(NamedTuple):
    """A statement with a value: its line, its path without the value, and the value."""

    line: int
    path: tuple[str, ...]
    value: str


def holds_clear_secrets(text: str) -> bool:
    """Return whether a configuration in braces has a secret in clear text."""
    return _CLEAR_SECRET.search(text) is not None


def write_stored_forms(plan: str, running: str) -> str:
    """Return a plan with the stored form of each secret that the running configuration already has.

    Args:
        plan: the configuration in braces, with secrets in clear text.
        running: the running configuration in braces.
    """
    stored = {one.path: one.value for one in _list_statements(running) if one.value.startswith(_MARK)}
    lines = plan.split("\n")
    for one in _list_statements(plan):
        form = stored.get(one.path, "")
        if form and decode_secret(form) == one.value:
            head = lines[one.line].rstrip().removesuffix(";")
            lines[one.line] = f'{head[: head.rindex(" ")]} "{form}";'
    return "\n".join(lines)


def decode_secret(stored: str) -> str | None:
    """Return the clear text of a secret of the form `$9$`; None for a text that is not of that form."""
    letters = stored.removeprefix(_MARK)
    if letters == stored or not letters or any(letter not in _SALT_LENGTHS for letter in letters):
        return None
    before, rest = letters[0], letters[1 + _SALT_LENGTHS[letters[0]] :]
    clear = ""
    while rest:
        weights = _WEIGHTS[len(clear) % len(_WEIGHTS)]
        group, rest = rest[: len(weights)], rest[len(weights) :]
        if len(group) < len(weights):
            return None
        value = 0
        for letter, weight in zip(group, weights, strict=True):
            gap = (_LETTERS.index(letter) - _LETTERS.index(before)) % len(_LETTERS) - 1
            value, before = value + gap * weight, letter
        clear += chr(value % 256)
    return clear


def _list_statements(text: str) -> Iterator[_Statement]:
    parents: list[str] = []
    for number, line in enumerate(text.split("\n")):
        words = " ".join(line.partition("##")[0].split())
        if words.endswith("{"):
            parents.append(words.removesuffix("{").strip())
        elif words == "}":
            del parents[-1:]
        elif match := _STATEMENT.match(line):
            path = (*parents, " ".join(match[1].split()))
            yield _Statement(number, path, match[2].strip('"'))
