"""`fabricc catalog import`: create a catalog entry from published data of a switch, and list what is missing there.

A device type of the NetBox library has the front panel and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic
from fabricc.catalog.importing import draft
from fabricc.catalog.importing.draft import ImportOptions, ImportResult, import_failure
from fabricc.catalog.importing.sonic import platform_folder
from fabricc.catalog.library import Library
from fabricc.catalog.load import read_document

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ImportOptions", "ImportResult", "import_switch"]


def import_switch(path: Path, options: ImportOptions) -> ImportResult:
    """Return the entry of a SONiC platform folder, or of a NetBox device type.

    Args:
        path: a folder such as `device/VENDOR/PLATFORM` of sonic-buildimage, or a YAML file of the device type library.
        options: the values that the user sets.

    Returns:
        The entry as text of a catalog file, empty where there is an error; and what it lacks: FAB2120 unreadable,
        FAB2121 no such SKU, FAB2122 unknown ASIC, FAB2123 a port table without a rule, FAB2124 to FAB2129 figures that
        are assumed or missing.
    """
    if path.is_dir():
        return platform_folder(path, options)
    if path.suffix in (".yaml", ".yml"):
        return device_type(path, options)
    return import_failure("FAB2120", f"{path} is neither a folder nor a YAML file",
                  "Name a platform folder of SONiC, or a device type of NetBox.")  # fmt: skip


_TYPE = re.compile(r"([0-9.]+)(g|t|)base-(?:x-)?([a-z0-9]+)")
LANES = {
    "t": 1, "tx": 1, "sfp": 1, "sfpp": 1, "sfp28": 1, "sfp56": 1, "sfp112": 1, "sfpdd": 2, "dsfp": 2,
    "qsfpp": 4, "qsfp28": 4, "qsfp56": 4, "qsfp112": 4, "cfp2": 4, "cfp4": 4, "qsfpdd": 8, "osfp": 8, "osfp1600": 8,
}  # fmt: skip
"""SerDes lanes of a cage by the last word of its interface type."""


def device_type(path: Path, options: ImportOptions) -> ImportResult:
    """Return the entry of a device type."""
    document = read_document(path)
    if isinstance(document, Diagnostic):
        return draft.ImportResult("", (document,))
    raw = document.value if isinstance(document.value, dict) else {}
    maker, model, interfaces = (raw.get(key) for key in ("manufacturer", "model", "interfaces"))
    if not (isinstance(maker, str) and isinstance(model, str) and isinstance(interfaces, list)):
        return draft.import_failure("FAB2120", f"{path} is not a device type of NetBox",
                            "It has `manufacturer`, `model` and `interfaces`.")  # fmt: skip
    if options.asic not in Library().names("asics"):
        return draft.unknown_asic(options.asic)
    ports = [each for each in interfaces if isinstance(each, dict) and not each.get("mgmt_only")]
    panel = [(cage_of_type(str(each.get("type", ""))), each) for each in ports]
    unread = sorted({str(each.get("type", "")) for found, each in panel if found is None})
    known = [found for found, _ in panel if found is not None]
    if not known:
        remedy = "A switch has interfaces with a speed."
        return draft.import_failure("FAB2120", f"{path} has no Ethernet cage", remedy)
    name = options.name or draft.as_name(model)
    lacks = [
        draft.missing_data("FAB2129", f"{name}: cages are whole, and their lanes those of the form factor",
                   "Add the splits that the maker names to `breakouts`."),
        draft.missing_data("FAB2126", f"{name}: no system is known to run on it, so it can be planned alone",
                   "Add `nos` with the names of its ports, see `fabricc docs catalog`."),
        draft.missing_data("FAB2124", f"{name}: buffers and the lossless table are assumed, those of {options.asic}",
                   "Add `buffers` where the maker publishes them."),
    ]  # fmt: skip
    if unread:
        message = f"{name}: interfaces of these types are left out: {', '.join(unread)}"
        lacks.insert(
            0, draft.missing_data("FAB2129", message, "Add their cages, or leave them to the system.")
        )
    entry: dict[str, Any] = {
        "sources": {"type": f"NetBox device type {maker}/{path.name}"},
        "switches": {
            name: {
                "extends": options.asic,
                "title": f"{maker} {model}",
                "vendor": draft.as_name(maker),
                "cages": draft.render_cages(draft.in_runs(known), source="type"),
                "nos": {},
            }
        },
    }
    return draft.finish_entry(name, entry, lacks)


def cage_of_type(kind: str) -> tuple[int, tuple[str, ...]] | None:
    """Lanes and whole use of a cage by its interface type, as in `400gbase-x-qsfpdd`; None for what is no such cage."""
    found = _TYPE.fullmatch(kind)
    if not found or found[3] not in LANES:
        return None
    gbps = float(found[1]) * {"": 0.001, "g": 1, "t": 1000}[found[2]]
    lanes = LANES[found[3]]
    return (lanes, (f"1x{int(gbps)}/{lanes}",)) if gbps == int(gbps) else None
