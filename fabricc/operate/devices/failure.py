"""The one exception about a live switch or the way to it."""

from __future__ import annotations

from fabricc.base.diagnostics import FindingsError


class DeviceError(FindingsError):
    """Something about a device or its access went wrong. Holds no secret."""


class UnreachableError(DeviceError):
    """A device does not answer: no connection to it can be made, or it let the time of a question pass."""


class RefusedLoginError(DeviceError):
    """A device answers and refuses the login; asking again may lock the account."""
