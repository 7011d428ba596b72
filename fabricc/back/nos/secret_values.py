"""Keep secrets out of what readers state: whoever prints, compares or stores facts needs no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.service_defaults import unsafe_line
from fabricc.base.secret_words import HIDDEN, SECRET_PREFIX, hide_secret_words, secrets_by_line
from fabricc.fabric.facts import Reading, Unplanned, Value

if TYPE_CHECKING:
    from collections.abc import Mapping


_SET = "set"
KNOWN_TO_EVERYONE = ("public", "private")
"""Communities that each rule about them may name."""
_STRUCTURED = (".yaml", ".yml", ".json")


def hide_values(reading: Reading, files: Mapping[str, str]) -> Reading:
    """Replace each secret in the facts and unknown lines of a reading: a fact states only that there is one.

    References to secrets stay. The reading is changed and returned. `files` are what was read.
    """
    facts, lines = reading.facts, reading.lines
    keys = _secret_keys(files) if reading.unknown else {}
    quoting = []
    for path, value in facts.items():
        if path.endswith("/secret"):
            facts[path] = _shown_value(value)
        elif "setting[" in path or "table[" in path:  # the fact quotes a configuration
            quoting.append((path, value))
    for path, value in quoting:
        shown, quote = hide_secret_words(path), hide_secret_words(f"{path}={value}")
        if shown != path:
            facts[shown] = facts.pop(path)
            if path in lines:
                lines[shown] = lines.pop(path)
        if quote != f"{shown}={value}":
            facts[shown] = quote.removeprefix(f"{shown}=")
    hidden_lines: dict[str, str] = {}  # hundreds of unknown settings may quote one line of JSON
    for at, unknown in enumerate(reading.unknown):
        file, line, text = unknown
        for word in keys.get((file, line), ()):
            text = text.replace(word, HIDDEN)
        if text not in hidden_lines:
            # A password or community that everybody tries stays, as the rule about it needs it.
            hidden = hide_secret_words(text)
            hidden_lines[text] = text if unsafe_line(text) and not unsafe_line(hidden) else hidden
        if (hidden := hidden_lines[text]) != unknown[2]:
            kind = Unplanned if isinstance(unknown, Unplanned) else None
            reading.unknown[at] = kind(file, line, hidden) if kind else (file, line, hidden)
    return reading


def _secret_keys(files: Mapping[str, str]) -> dict[tuple[str, int], set[str]]:
    """Return file and line of each secret of YAML and JSON: only other lines show that a key is one."""
    found: dict[tuple[str, int], set[str]] = {}
    for file, text in files.items():
        if file.endswith(_STRUCTURED):
            for line, word in secrets_by_line(text):
                found.setdefault((file, line), set()).add(word)
    return found


def _shown_value(value: Value) -> Value:
    parts = [
        part if part.startswith(SECRET_PREFIX) or part in KNOWN_TO_EVERYONE else _SET
        for part in str(value).split(",")
        if part
    ]
    return ",".join(dict.fromkeys(parts))
