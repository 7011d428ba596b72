"""The one exception about a live switch or the way to it."""

from __future__ import annotations

from fabricc.base.diagnostics import FindingsError


class DeviceError(FindingsError):
    """Something about a device or its access went wrong. Holds no secret."""


class RefusedLoginError(DeviceError):
    """A device answers and refuses the login; asking again may lock the account."""
