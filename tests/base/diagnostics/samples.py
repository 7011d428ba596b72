"""Findings with something awkward in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.formats import render_document, render_text

if TYPE_CHECKING:
    from fabricc.base.foreign.text import SafeText

PLAIN = Diagnostic(
    "FAB1001", Severity.ERROR, "unknown key 'wirng'", Position("a/cluster.yaml", 5, 3), "Did you mean?"
)
WARNING = Diagnostic(
    "FAB2051", Severity.WARNING, "50% of, all: it", Position("b:c,d%.yaml", 1, 1), "line\nbreak"
)
NOTE = Diagnostic("FAB2014", Severity.NOTE, "no place")
NASTY = Diagnostic(
    "FAB0005", Severity.ERROR, "<&\x1b[31m\x00\ud800\r\n", Position("\x1b]0;x\x07/\udce9 <.yaml", 9, 2)
)
ALL = (PLAIN, WARNING, NOTE, NASTY)


def render(
    found: Iterable[Diagnostic], format: str, sources: Mapping[str, str], *, color: bool = False
) -> SafeText:
    """Return findings in one of `FORMATS`, as a verb prints them."""
    if format == "text":
        return render_text(found, sources, color=color)
    return render_document(found, format)
