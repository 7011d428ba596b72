"""Recognize the markers of a merge conflict that was committed unresolved, in any text that fabricc reads."""

from __future__ import annotations

import re

from fabricc.base.diagnostics import Diagnostic, Position, Severity

_MARKER = re.compile(r"(?m)^(?:<{7,}|>{7,}|\|{7,})(?=[ \t\r\n]|\Z)|^={7}(?=\r?$)")
"""Lines that git-merge(1) writes, also with a longer `conflict-marker-size`; a rule of `=` may be longer than seven."""
_WHOLE = tuple(
    map(re.compile, (r"(?m)^<{7,}(?=[ \t\r\n])", r"(?m)^={7,}\r?$", r"(?m)^>{7,}(?=[ \t\r\n]|\Z)"))
)
"""The three lines that a conflict in a device's output has at least; a banner may have one of them."""


def conflict_in(text: str, file: str) -> Diagnostic | None:
    """Return FAB0032 at the first marker of a merge conflict in a text, None where it has none."""
    found = _MARKER.search(text)
    if found is None:
        return None
    place = Position(file, text.count("\n", 0, found.start()) + 1, 1)
    message = f"a merge conflict is not resolved: {found[0][:7]}"
    return Diagnostic(
        "FAB0032", Severity.ERROR, message, place, "Resolve the conflict and delete the markers."
    )


def conflict_in_output(text: str, file: str) -> Diagnostic | None:
    """Return FAB0032 where a text that a device printed has a whole conflict, None where it has none."""
    end = 0
    for marker in _WHOLE:
        found = marker.search(text, end)
        if found is None:
            return None
        end = found.end()
    return conflict_in(text, file)
