"""The one exception about a live switch or the way to it."""

from __future__ import annotations

from fabricc.base.diagnostics import Diagnostic, Severity


class DeviceError(Exception):
    """Something about a device or its access went wrong; `diagnostic` says what and what to do. Holds no secret."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.diagnostic = Diagnostic(code, Severity.ERROR, message, None, remedy)
