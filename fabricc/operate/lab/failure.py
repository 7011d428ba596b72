"""The exception of the lab: the environment or the running lab does not allow the request."""

from __future__ import annotations

from fabricc.base.diagnostics import FindingsError


class LabError(FindingsError):
    """The lab cannot go on."""

    @property
    def status(self) -> int:
        """The environment failed."""
        return 3
