"""`fabricc catalog import`: create a catalog entry from published data of a switch, and list what is missing there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.catalog.importing.draft import Imported, Wishes, import_failure
from fabricc.catalog.importing.netbox import device_type
from fabricc.catalog.importing.sonic import platform_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Imported", "Wishes", "import_switch"]


def import_switch(path: Path, wishes: Wishes) -> Imported:
    """Return the entry of a SONiC platform folder, or of a NetBox device type.

    Args:
        path: a folder such as `device/VENDOR/PLATFORM` of sonic-buildimage, or a YAML file of the device type library.
        wishes: the values that the user sets.

    Returns:
        The entry as text of a catalog file, empty where there is an error; and what it lacks: FAB2120 unreadable,
        FAB2121 no such SKU, FAB2122 unknown ASIC, FAB2123 a port table without a rule, FAB2124 to FAB2129 figures that
        are assumed or missing.
    """
    if path.is_dir():
        return platform_folder(path, wishes)
    if path.suffix in (".yaml", ".yml"):
        return device_type(path, wishes)
    return import_failure("FAB2120", f"{path} is neither a folder nor a YAML file",
                  "Name a platform folder of SONiC, or a device type of NetBox.")  # fmt: skip
