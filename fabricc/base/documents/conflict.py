"""Recognize the markers of a merge conflict that was committed unresolved, in any text that fabricc reads."""

from __future__ import annotations

import re

from fabricc.base.diagnostics import Diagnostic, Position, Severity

_MARKER = re.compile(r"(?m)^(?:<{7,}|>{7,}|\|{7,})(?=[ \t\r\n]|\Z)|^={7}(?=\r?$)")
"""Lines that git-merge(1) writes, also with a longer `conflict-marker-size`; a rule of `=` may be longer than seven."""


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
