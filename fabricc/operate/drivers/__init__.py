"""NAPALM drivers of the switches that fabricc compiles for, usable without the rest of it.

`napalm.get_network_driver("frr")` finds them through the namespace package `custom_napalm`. Nothing here imports
another part of fabricc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
