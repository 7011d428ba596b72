"""The switches of a fabric as devices to log in to.

Exceptions about live switches and the access to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError
from fabricc.base.values import dataclass
from fabricc.fabric.management import management_place

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId


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


class DeviceError(FindingsError):
    """A device or the access to it failed. The text contains no secret."""


class UnreachableError(DeviceError):
    """A device does not answer: no connection can be made, or a request timed out."""


class LockedError(DeviceError):
    """Another session holds a device, or has changed it: the device did not begin the request."""


class RefusedLoginError(DeviceError):
    """A device answers and refuses the login; another attempt may lock the account."""
