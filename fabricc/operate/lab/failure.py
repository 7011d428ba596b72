"""The one exception of the lab: the environment or the running lab does not allow what was asked."""

from __future__ import annotations

from fabricc.base.diagnostics import FindingsError


class LabError(FindingsError):
    """The lab cannot go on."""

    @property
    def status(self) -> int:
        """The environment failed."""
        return 3
