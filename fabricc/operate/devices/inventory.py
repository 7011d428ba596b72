"""The live switches of a fabric, and their export for Nornir."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.base.values import dataclass
from fabricc.fabric.management import management_place
from fabricc.operate.devices.connection import driver_name
from fabricc.operate.devices.failure import DeviceError
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.devices.access import Access, Login


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


def device(fabric: Fabric, at: SwitchId) -> Device:
    """One switch of the fabric."""
    name, tier = fabric.name(at), fabric.tiers[at.tier]
    change = fabric.changes.get(name)
    nos = (change and change.nos) or tier.nos
    release = (change and change.release) or (tier.release if nos == tier.nos else "")
    address = management_place(fabric, at).address
    return Device(name, at.tier.value, nos, release, address, fabric.moves.renamed.get(name, ""))


def devices(fabric: Fabric) -> dict[str, Device]:
    """Every switch by name, in the fabric's order."""
    found = (device(fabric, at) for at in fabric.switch_ids())
    return {one.name: one for one in found}


def export(fabric: Fabric, access: Access, folder: Path) -> list[Path]:
    """Write Nornir's SimpleInventory: `hosts.yaml`, `groups.yaml`, `defaults.yaml`; no secret is in them.

    Raises:
        DeviceError: FAB9103, the folder cannot be written.
    """
    hosts: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for one in devices(fabric).values():
        login = access.login(one)
        hosts[one.name] = {
            "hostname": login.address or one.address,
            "groups": [one.nos],
            "data": {"cluster": fabric.cluster, "tier": one.kind, "release": one.release},
        }
        if access.own(one):
            hosts[one.name] |= {"username": login.username, "connection_options": _connection(login)}
        login = access.login(replace(one, name="", former=""))
        groups.setdefault(
            one.nos,
            {
                "platform": driver_name(one.nos, login),
                "username": login.username,
                "connection_options": _connection(login),
            },
        )
    written = []
    try:
        make_folder(folder)
        for name, content in (("hosts", hosts), ("groups", groups), ("defaults", {})):
            path = folder / f"{name}.yaml"
            write_file(path, _yaml(content).encode())
            written.append(path)
    except EmitError as error:
        raise DeviceError("FAB9103", f"the inventory: {error.diagnostic.message}") from None
    return written


def _connection(login: Login) -> dict[str, Any]:
    extras: dict[str, Any] = {"timeout": login.timeout_s, "optional_args": login.arguments()}
    found: dict[str, Any] = {"extras": extras}
    if login.port is not None:
        found["port"] = login.port
    return {"napalm": found}


def _yaml(content: dict[str, Any]) -> str:
    return "---\n" + yaml.safe_dump(content, sort_keys=False)
