"""Live switches: access, logins, connections and what they run; and the errors of all of these."""

from __future__ import annotations

from fabricc.base.diagnostics import FindingsError


class DeviceError(FindingsError):
    """A device or the access to it failed. The text contains no secret."""


class UnreachableError(DeviceError):
    """A device does not answer: no connection can be made, or a request timed out."""


class LockedError(DeviceError):
    """Another session holds a device, or has changed it: the device did not begin the request."""


class UnprovenDeviceError(DeviceError):
    """A device answers and does not prove that it is the expected one: it has another host key or certificate."""


class RefusedLoginError(DeviceError):
    """A device answers and refuses the login; another attempt may lock the account."""
