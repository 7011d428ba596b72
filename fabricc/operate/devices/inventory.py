"""Write the inventory of a fabric's switches for Nornir."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from fabricc.base.values import replace
from fabricc.operate.devices.device import DeviceError, devices_by_name
from fabricc.operate.devices.driver_classes import driver_name
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.login import Login


def write_inventory(fabric: Fabric, access: Access, folder: Path) -> list[Path]:
    """Write Nornir's SimpleInventory: `hosts.yaml`, `groups.yaml`, `defaults.yaml`; no secret is in them.

    Raises:
        DeviceError: FAB9103, the folder cannot be written.
    """
    hosts: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for one in devices_by_name(fabric).values():
        login = access.login(one)
        hosts[one.name] = {
            "hostname": login.address or one.address,
            "groups": [one.nos],
            "data": {"cluster": fabric.cluster, "tier": one.kind, "release": one.release},
        }
        if access.own(one):
            hosts[one.name] |= {"username": login.username, "connection_options": _connection_options(login)}
        login = access.login(replace(one, name="", former=""))
        groups.setdefault(
            one.nos,
            {
                "platform": driver_name(one.nos, login),
                "username": login.username,
                "connection_options": _connection_options(login),
            },
        )
    written = []
    try:
        make_folder(folder)
        for name, content in (("hosts", hosts), ("groups", groups), ("defaults", {})):
            path = folder / f"{name}.yaml"
            write_file(path, ("---\n" + yaml.safe_dump(content, sort_keys=False)).encode())
            written.append(path)
    except EmitError as error:
        raise DeviceError("FAB9103", f"the inventory: {error.diagnostic.message}") from None
    return written


def _connection_options(login: Login) -> dict[str, Any]:
    extras: dict[str, Any] = {"timeout": login.timeout_s, "optional_args": login.arguments()}
    found: dict[str, Any] = {"extras": extras}
    if login.port is not None:
        found["port"] = login.port
    return {"napalm": found}
