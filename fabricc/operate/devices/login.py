"""The switches of a fabric as devices to log in to: logins, NAPALM drivers, and the limit of refused logins."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.fabric.management import management_place
from fabricc.operate.devices import DeviceError
from fabricc.operate.drivers import DRIVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.devices.secrets import Reference


@dataclass(frozen=True, slots=True)
class Login:
    """The login of one device.

    Attributes:
        password: None for an SSH key alone.
        verify: whether SSH host keys and TLS certificates are verified.
        port: None for the driver's own.
        address: where to connect; "" for the management address of the plan.
        driver: name for `napalm.get_network_driver`, "" for the driver of the NOS.
        options: further `optional_args` of the driver.
    """

    username: str = "admin"
    password: Reference | None = None
    ssh_key: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    verify: bool = True
    timeout_s: int = 60
    port: int | None = None
    address: str = ""
    driver: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return NAPALM's `optional_args`, named as in netmiko and the NX-OS driver; without any secret."""
        found: dict[str, Any] = {"ssh_strict": self.verify, "ssl_verify": self.verify}
        if self.port is not None:
            found["port"] = self.port
        if self.ssh_key:
            found["key_file"] = self.ssh_key
        if self.known_hosts and self.verify:
            # Drivers on netmiko add an unknown key to the file when they are not to verify it.
            found["alt_key_file"] = self.known_hosts
        if self.ca_file and self.verify:
            found["ssl_verify"] = self.ca_file
        return {**found, **self.options}


MOST_REFUSING = 3
"""Switches that may refuse a login that none has accepted. Servers such as TACACS+ lock an account after 3 to 10."""
_WAIT_S = 5.0
"""Seconds that a login waits for the result of others: a silent switch does not hold up all."""


class LoginLimit:
    """Stop a wrong password after a few switches: one server may count the refusals of all of them.

    Until a switch accepts a login, no more than `MOST_REFUSING` switches are asked at once.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._accepted: set[int] = set()
        self._refusing: dict[int, set[str]] = {}
        self._open: dict[int, int] = {}

    def _is_free(self, login: int) -> bool:
        begun = len(self._refusing.get(login, ())) + self._open.get(login, 0)
        return login in self._accepted or begun < MOST_REFUSING

    @contextmanager
    def attempt(self, login: int, name: str) -> Iterator[bool]:
        """Wait until a login may be tried; the value is whether it may. The login is accepted unless it raises.

        Args:
            login: stands for account and password.
            name: the switch. One that has refused may be asked again: its own pauses apply.
        """
        with self._changed:
            refusing = self._refusing.setdefault(login, set())
            self._changed.wait_for(lambda: self._is_free(login) or len(refusing) >= MOST_REFUSING, _WAIT_S)
            free = login in self._accepted or len(refusing) < MOST_REFUSING or name in refusing
            self._open[login] = self._open.get(login, 0) + free
        accepted = False
        try:
            yield free
            accepted = free
        finally:
            with self._changed:
                self._open[login] -= free
                if accepted:
                    self._accepted.add(login)
                self._changed.notify_all()

    def refuse(self, login: int, name: str) -> None:
        """Count a switch that refuses the login."""
        with self._changed:
            self._refusing.setdefault(login, set()).add(name)


@dataclass(frozen=True, slots=True)
class Device:
    """One switch to log in to.

    Attributes:
        kind: `tor`, `spine` or `core`.
        address: of management, without prefix length.
        former: name that the same switch had before, "" for none.
    """

    name: str
    kind: str
    nos: str
    release: str
    address: str
    former: str = ""


def device_of_switch(fabric: Fabric, at: SwitchId) -> Device:
    """Return the device of one switch of the fabric."""
    name, tier = fabric.name(at), fabric.tiers[at.tier]
    change = fabric.changes.get(name)
    nos = (change and change.nos) or tier.nos
    release = (change and change.release) or (tier.release if nos == tier.nos else "")
    address = management_place(fabric, at).address
    return Device(name, at.tier.value, nos, release, address, fabric.moves.renamed.get(name, ""))


def devices_by_name(fabric: Fabric) -> dict[str, Device]:
    """Return every switch by name, in the fabric's order."""
    found = (device_of_switch(fabric, at) for at in fabric.switch_ids())
    return {one.name: one for one in found}


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
