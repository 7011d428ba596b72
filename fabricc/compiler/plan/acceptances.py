"""Apply the acceptances of a spec, and report acceptances that match no finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.model import RULE_CODES
from fabricc.front.spec.load import GAPS, apply_severities, soften_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.front.spec.model import ClusterSpec

LATER = ("FAB6", "FAB7", *RULE_CODES)
"""Codes that only emission and checks can report: their absence earlier proves nothing."""


def apply_acceptances(
    spec: ClusterSpec, diagnostics: Iterable[Diagnostic], *, gaps: bool = True, planned: bool = True
) -> list[Diagnostic]:
    """Return the findings up to planning with accepted warnings and gaps as notes; FAB2900 for an unmatched entry.

    Args:
        spec: contains the acceptances.
        diagnostics: the findings.
        gaps: whether the capability gaps of the back ends are known; if not, accepted gaps are not judged.
        planned: whether there is a plan; without one, a finding that matches an entry may be missing.
    """
    unasked = LATER if gaps else (*LATER, GAPS)
    known = soften_errors(diagnostics, spec.accept)
    result = apply_severities(known, spec.accept)
    present = {d.code for d in known if d.severity is not Severity.ERROR}
    for index, entry in enumerate(spec.accept if planned else ()):
        if entry.code not in present and not entry.line and not entry.code.startswith(unasked):
            message = f"no warning here has the code {entry.code}, so accepting it has no effect"
            result.append(spec.warning("FAB2900", message, "accept", index, help="Remove the entry."))
    return result
