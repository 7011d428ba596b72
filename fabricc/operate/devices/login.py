"""The login of one device."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

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
