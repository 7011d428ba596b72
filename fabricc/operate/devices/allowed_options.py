"""Check that an access file may set the options of a login, and that the driver verifies the device."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.operate.devices.driver_classes import find_driver
from fabricc.operate.devices.failure import DeviceError
from fabricc.operate.drivers import DRIVERS
from fabricc.operate.drivers.access_options import RULES, DriverRules, rules_of_class

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fabricc.operate.devices.device import Device
    from fabricc.operate.devices.login import Login


def require_known(where: str, nos: str, driver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that an access file may not set for any driver that may be meant.

    Args:
        where: the file and the table, which begin the message.
        nos: the system of the table, "" for any.
        driver: the driver that the file names, "" for that of the system.
        options: those of the table.

    Raises:
        DeviceError: FAB9170.
    """
    name = _plain_name(driver or DRIVERS.get(nos, ""))
    if name and name not in RULES:
        return  # a foreign driver; its options are checked when a login is created
    candidates = [RULES[name]] if name else list(RULES.values())
    for option, value in options.items():
        faults = [rules.fault(str(option), value) for rules in candidates]
        if all(faults):
            names = sorted({each for rules in candidates for each in rules.names})
            raise _refuse_option(f"{where}: the option {option!r} {_clearest_fault(faults)}", names)


def require_login(device: Device, login: Login) -> None:
    """Refuse a login with options that an access file may not set, or to a device that is not verified.

    Raises:
        DeviceError: FAB9170 or FAB9171; FAB9104, there is no such driver.
    """
    driver = login.driver or DRIVERS.get(device.nos, device.nos)
    rules = RULES.get(_plain_name(driver)) or _foreign_rules(device.nos, driver)
    for option, value in login.options.items():
        if fault := rules.fault(str(option), value):
            raise _refuse_option(
                f"{device.name}: the option {option!r} {fault} for the driver {driver}", rules.names
            )
    if login.verify and not rules.verifies(login.options):
        transport = rules.transport(login.options)
        over = f" over {transport}" if transport else ""
        message = (
            f"{device.name}: the driver {driver} does not prove who answers{over}, so the login could be read"
        )
        remedy = "Use another transport or driver, or accept it with `verify: false`; each run then warns."
        raise DeviceError("FAB9171", message, remedy)


@lru_cache(64)
def _foreign_rules(nos: str, driver: str) -> DriverRules:
    return rules_of_class(find_driver(nos, driver))


def _plain_name(driver: str) -> str:
    """Return a name as NAPALM understands it: in lower case, without hyphens and prefix."""
    return driver.lower().replace("-", "").removeprefix("custom_napalm.").removeprefix("napalm.")


def _clearest_fault(faults: list[str]) -> str:
    """Return why an option is refused: for its value, where some driver knows its name."""
    return next((fault for fault in faults if not fault.endswith("may set")), faults[0])


def _refuse_option(message: str, names: list[str]) -> DeviceError:
    return DeviceError("FAB9170", message, f"It may set {', '.join(names)}.")
