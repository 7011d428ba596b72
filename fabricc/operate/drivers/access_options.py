"""Options of NAPALM drivers that an access file may set, and the transports that prove who answers.

Left out: options that name a file or a command (`ssh_config_file`, `session_log`, `alt_key_file`, `activate`), hold a
secret (`passphrase`, `enable_password`), turn verification off (`ssh_strict`, `ssl_verify`) or take safeguards of a
change away (`lock_disable`, `config_private`). Keys of the access file stand for those that are needed: `ssh_key`,
`known_hosts`, `ca_file`, `password`, `verify`.

Sources: `__init__` of the drivers in NAPALM 5.2, `netmiko.BaseConnection` 4.8, `pyeapi.eapilib` 1.0.4,
`jnpr.junos.Device` 2.8.2, `ncclient.transport.ssh` 0.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Kind = type[bool] | type[int] | type[float] | type[str]
"""The type of an option's value; a float may be written as an integer."""

_PORT: Mapping[str, Kind] = {"port": int}
_KEYS: Mapping[str, Kind] = {"use_keys": bool, "allow_agent": bool}
_SHELL: Mapping[str, Kind] = {
    **_PORT, **_KEYS, "system_host_keys": bool, "sudo": bool, "lock_timeout": int, "commit_timeout": float,
}  # fmt: skip
_NETMIKO: Mapping[str, Kind] = {
    **_PORT, **_KEYS, "system_host_keys": bool, "conn_timeout": float, "auth_timeout": float, "banner_timeout": float,
    "blocking_timeout": float, "session_timeout": float, "read_timeout_override": float, "keepalive": float,
    "global_delay_factor": float, "fast_cli": bool,
}  # fmt: skip
_SSH: Mapping[str, bool] = {"ssh": True}
_PORTS = 1, 65_535
_DAY_S = 86_400
"""The longest time of an option in seconds: with a longer one, a silent switch would keep a push from its end."""


@dataclass(frozen=True, slots=True)
class DriverRules:
    """The options and transports that an access file may set for one driver.

    Attributes:
        options: name of an option -> what its value is.
        transports: transport -> whether the driver proves who answers before it sends the login, as long as `verify`
            is true; the driver's own transport is the first.
    """

    options: Mapping[str, Kind] = field(default_factory=lambda: _PORT)
    transports: Mapping[str, bool] = field(default_factory=lambda: {"": False})

    def verifies(self, options: Mapping[str, Any]) -> bool:
        """Return whether these options leave a transport that verifies the device."""
        return self.transports.get(self.transport(options), False)

    def transport(self, options: Mapping[str, Any]) -> str:
        """Return the transport that these options choose."""
        return str(options.get("transport") or next(iter(self.transports)))

    def fault(self, name: str, value: object) -> str:
        """Return why an option is refused, a clause; "" for one that may be set."""
        if name == "transport" and len(self.transports) > 1:
            known = ", ".join(self.transports)
            return "" if value in self.transports else f"is none of {known}"
        kind = self.options.get(name)
        if kind is None:
            return "is not one that an access file may set"
        if not isinstance(value, int | float if kind is float else kind) or (
            kind is not bool and isinstance(value, bool)
        ):
            return f"is no {kind.__name__}"
        if isinstance(value, int | float) and kind is not bool:
            least, most = _PORTS if name.endswith("port") else (int(name == "commit_timeout"), _DAY_S)
            return "" if least <= value <= most else f"is not between {least} and {most}"
        return ""

    @property
    def names(self) -> list[str]:
        """The names of the options that may be set."""
        return sorted([*self.options, *(["transport"] if len(self.transports) > 1 else [])])


_NXAPI = {"https": True, "http": False}
RULES: Mapping[str, DriverRules] = {
    "frr": DriverRules({**_SHELL, "systemd": bool, "vrf_namespaces": bool}, _SSH),
    "sonic": DriverRules({**_SHELL, "reload": bool}, _SSH),
    "cumulus": DriverRules(_SHELL, _SSH),
    "fabricc_eos": DriverRules(
        {**_NETMIKO, "eos_autoComplete": bool, "force_no_enable": bool, "take_over": bool},
        {"https": True, "http": False, "ssh": True},
    ),
    "fabricc_nxos": DriverRules(
        {**_NETMIKO, "ssh_port": int, "force_no_enable": bool, "commit_timeout": float}, _NXAPI
    ),
    "fabricc_junos": DriverRules(
        {**_PORT, **_KEYS, "keepalive": int, "ignore_warning": bool, "auto_probe": int}, _SSH
    ),
    # NAPALM's own. Over HTTPS its EOS driver verifies no certificate, its Junos driver no host key; those on netmiko
    # and NX-API take `ssh_strict` and `ssl_verify` from fabricc.
    "eos": DriverRules(
        {**_NETMIKO, "eos_autoComplete": bool, "force_no_enable": bool},
        {"https": False, "http": False, "ssh": True},
    ),
    "nxos": DriverRules({**_NETMIKO, "force_no_enable": bool}, _NXAPI),
    "nxos_ssh": DriverRules({**_NETMIKO, "force_no_enable": bool}, _SSH),
    "junos": DriverRules({**_PORT, "keepalive": int, "ignore_warning": bool, "auto_probe": int}, {"ssh": False}),
    "ios": DriverRules({**_NETMIKO, "force_no_enable": bool}, {"ssh": True, "telnet": False}),
    "iosxr": DriverRules(_NETMIKO, _SSH),
    "iosxr_netconf": DriverRules(_PORT, {"ssh": False}),
}  # fmt: skip
"""Name for `napalm.get_network_driver` -> the options and transports that an access file may set for that driver."""


def rules_of_class(driver: object) -> DriverRules:
    """Return the rules of a driver that somebody else wrote, from the attributes that its class may have.

    `ACCESS_OPTIONS` maps options to the types of their values. `VERIFIES`: whether the driver verifies the device
    unless `ssh_strict` and `ssl_verify` are False. A class without them takes a port alone, and proves nothing.
    """
    stated = getattr(driver, "ACCESS_OPTIONS", {})
    return DriverRules({**_PORT, **stated}, {"": bool(getattr(driver, "VERIFIES", False))})
