"""NAPALM drivers of the switches that fabricc compiles for, usable without the rest of it.

`napalm.get_network_driver("frr")` finds them through the namespace package `custom_napalm`. Nothing here imports
another part of fabricc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

DRIVERS: Mapping[str, str] = {
    "cumulus": "cumulus",
    "eos": "fabricc_eos",
    "frr": "frr",
    "junos": "fabricc_junos",
    "nxos": "fabricc_nxos",
    "sonic": "sonic",
}
"""Network operating system -> the name by which `napalm.get_network_driver` finds its driver.

NAPALM looks into `custom_napalm` first, so ours for EOS, Junos and NX-OS bear names that hide nothing.
"""

PROOFS: Mapping[str, frozenset[str]] = {
    "cumulus": frozenset({"key", "password"}),
    "eos": frozenset({"password"}),  # eAPI (arista-eosplus/pyeapi issue 156)
    "frr": frozenset({"key", "password"}),
    "junos": frozenset({"key", "password"}),
    "nxos": frozenset({"password"}),  # NX-API
    "sonic": frozenset({"key", "password"}),
}
"""Network operating system -> what its driver can prove a login by."""

ACCOUNTS: Mapping[str, frozenset[str] | None] = {
    "cumulus": frozenset(),
    "eos": frozenset(),
    "frr": None,
    "junos": frozenset(),
    # It cannot be deleted (Cisco Nexus 9000 Security Configuration Guide, `username`).
    "nxos": frozenset({"admin"}),
    "sonic": None,
}
"""Network operating system -> accounts that a replace never takes away; None where no candidate states accounts."""

DOORS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "cumulus": {"ssh": (22,)},
    "eos": {"https": (443,), "http": (80,), "ssh": (22,)},
    "frr": {"ssh": (22,)},
    "junos": {"netconf": (830, 22)},
    "nxos": {"https": (443,), "http": (80,)},
    "sonic": {"ssh": (22,)},
}
"""Network operating system -> transports that its driver speaks, its own first -> the ports that they are served on."""


def choose_transport(nos: str, options: Mapping[str, Any]) -> str:
    """Return the transport that a driver uses with these `optional_args`."""
    return str(options.get("transport") or next(iter(DOORS[nos])))


def list_proofs(nos: str, options: Mapping[str, Any]) -> frozenset[str]:
    """Return how a driver can log in with these `optional_args`; over SSH a key is always possible."""
    return PROOFS[nos] | ({"key"} if choose_transport(nos, options) == "ssh" else frozenset())


class HoldKind(StrEnum):
    """The reason for which a session holds a switch."""

    GUARD = "guard"
    COMMIT = "commit"
    CANDIDATE = "candidate"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim that some session has on a switch.

    Attributes:
        owner: name of the session or the account, "" when the device does not report it.
        left_s: seconds until the claim ends by itself; None when it does not, or when the device does not report it.
        own: whether this session made it; None when the device cannot distinguish sessions.
        blocks: whether a commit of another session is unsafe or impossible while it stands.
    """

    kind: HoldKind
    owner: str = ""
    left_s: float | None = None
    own: bool | None = False
    blocks: bool = True


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
