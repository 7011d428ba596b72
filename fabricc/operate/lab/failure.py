"""The one exception of the lab: the environment or the running lab does not allow what was asked."""

from __future__ import annotations

from fabricc.base.diagnostics import Diagnostic, Severity


class LabError(Exception):
    """The lab cannot go on; `diagnostic` says why and what to do."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, Severity.ERROR, message, None, remedy)
