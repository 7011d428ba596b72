"""How a test reaches a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Device:
    """Where a device listens and who may log in.

    Attributes:
        driver: its name for `napalm.get_network_driver`.
        options: NAPALM's `optional_args` to reach it, with its host key or certificate.
    """

    driver: str
    host: str
    username: str
    password: str
    options: dict[str, Any] = field(default_factory=dict)

    def login(self) -> dict[str, Any]:
        """Return the access-file entry that reaches the device, without its password."""
        options = dict(self.options)
        keys = {"port": "port", "alt_key_file": "known_hosts", "ssl_verify": "ca_file"}
        found = {key: options.pop(option) for option, key in keys.items() if option in options}
        return {"address": self.host, "username": self.username, **found, "options": options}

    def connect(self, password: str | None = None, timeout: int = 30, **options: Any) -> Any:
        """A NAPALM driver for the device, not opened."""
        from napalm import get_network_driver

        return get_network_driver(self.driver)(
            self.host,
            self.username,
            self.password if password is None else password,
            timeout=timeout,
            optional_args={**self.options, **options},
        )
