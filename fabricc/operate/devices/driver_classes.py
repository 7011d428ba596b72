"""Find the NAPALM driver of a login."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.operate.devices.login import DeviceError
from fabricc.operate.drivers import DRIVERS

if TYPE_CHECKING:
    from fabricc.operate.devices.login import Login

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def driver_name(nos: str, login: Login | None = None) -> str:
    """Return the name by which `napalm.get_network_driver` finds the driver: that of the login, else of the NOS."""
    return (login and login.driver) or DRIVERS.get(nos, nos)


def napalm_base() -> Any:
    """Return NAPALM's module of drivers and exceptions."""
    from napalm import base  # half a second, which a push that only shows its plan does not pay

    return base


def driver_class(nos: str, login: Login) -> Any:
    """Return the driver's class for a login.

    Raises:
        DeviceError: FAB9104, there is no such driver.
    """
    return find_driver(nos, driver_name(nos, login))


def find_driver(nos: str, name: str) -> Any:
    """Return the class of a driver by its name for NAPALM.

    Raises:
        DeviceError: FAB9104, there is no such driver.
    """
    if not _NAME.fullmatch(name):
        raise _missing_driver(nos, name)
    base = napalm_base()
    try:
        return base.get_network_driver(name)
    except base.exceptions.ModuleImportError:
        raise _missing_driver(nos, name) from None


def _missing_driver(nos: str, name: str) -> DeviceError:
    return DeviceError(
        "FAB9104", f"NAPALM finds no driver {name!r} for {nos}", "Install it, or name one with `driver:`."
    )
