"""What the spec accepts, and acceptances that have nothing to accept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.diagnostics import Severity
from fabricc.spec.load import accepted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.diagnostics import Diagnostic
    from fabricc.spec.model import ClusterSpec

GAPS = "FAB5"
"""Codes of what a NOS cannot express: even its errors may be accepted, as a lab without PFC does."""
LATER = ("FAB6", "FAB7")
"""Codes that only emitting and checking can report, so that their absence before says nothing."""


def settled(spec: ClusterSpec, diagnostics: Iterable[Diagnostic], *, gaps: bool = True) -> list[Diagnostic]:
    """The findings up to planning, accepted warnings and gaps as notes; FAB2900 for an entry that matches none.

    `gaps`: whether back ends were asked what they cannot express; if not, nothing is said of accepted gaps.
    """
    unasked = LATER if gaps else (*LATER, GAPS)
    codes = {entry.code for entry in spec.accept}
    softened = [
        replace(d, severity=Severity.WARNING) if d.code in codes and d.code.startswith(GAPS) else d
        for d in diagnostics
    ]
    result = accepted(softened, spec.accept)
    present = {d.code for d in softened if d.severity is not Severity.ERROR}
    for index, entry in enumerate(spec.accept):
        if entry.code not in present and not entry.code.startswith(unasked):
            message = f"no warning here has the code {entry.code}, so accepting it has no effect"
            result.append(spec.warning("FAB2900", message, "accept", index, help="Remove the entry."))
    return result
