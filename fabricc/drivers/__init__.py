"""NAPALM drivers of the switches that fabricc compiles for, usable without the rest of it.

`napalm.get_network_driver("frr")` finds them through the namespace package `custom_napalm`. Nothing here imports
another part of fabricc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def driver_class(nos: str) -> Any:
    """The NAPALM driver class of a network operating system.

    Every class has the attribute `CONFIRM_STEP`: seconds of which `revert_in` is a multiple, 0 when the device
    cannot revert a commit by itself.

    Raises:
        KeyError: no driver for that name.
    """
    from napalm import get_network_driver

    return get_network_driver(DRIVERS[nos])
