"""What a NetBox says of devices, addresses and cables: the lists of its API, as JSON files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LISTS = ("devices", "ip-addresses", "cables")
"""The lists that are read, as the last words of their addresses: `/api/dcim/devices/` and so on."""
_LARGEST = 64 * 1024 * 1024


class Device(NamedTuple):
    """A device: slug or name of its role, rack and lowest unit, main address, and ASN from a custom field `asn`."""

    name: str
    role: str
    rack: str
    unit: str
    height: str
    primary: str
    asn: str


class Address(NamedTuple):
    """An address with its prefix length, on an interface of a device; `role` as `loopback`."""

    address: str
    role: str
    device: str
    interface: str


End = tuple[str, str]
"""Device and interface."""


class Export(NamedTuple):
    """What a NetBox says, and what is wrong with it; `cables` joins interfaces alone."""

    devices: tuple[Device, ...] = ()
    addresses: tuple[Address, ...] = ()
    cables: tuple[tuple[End, End], ...] = ()
    findings: tuple[Diagnostic, ...] = ()


def read_export(path: Path) -> Export:
    """The export at a path: a folder of `devices.json`, `ip-addresses.json` and `cables.json`, or a file with all."""
    found: dict[str, list[Any]] = {}
    names = [path / f"{name}.json" for name in LISTS] if path.is_dir() else [path]
    for file in names:
        if path.is_dir() and not file.exists() and file.stem != "devices":
            continue
        try:
            value = json.loads(files.read(file, limit=_LARGEST))
        except (OSError, ValueError, RecursionError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or "it is no JSON"
            return Export(findings=(_wrong(file, f"{file} cannot be read: {reason}"),))
        parts = {file.stem: value} if path.is_dir() else value if isinstance(value, dict) else {}
        found |= {name: _items(part) for name, part in parts.items() if name in LISTS}
    if not found.get("devices"):
        return Export(findings=(_wrong(path, f"{path} has no list of devices"),))
    return Export(
        tuple(_devices(found["devices"])),
        tuple(_addresses(found.get("ip-addresses", []))),
        tuple(_cables(found.get("cables", []))),
    )


def _wrong(path: Path, message: str) -> Diagnostic:
    help_ = (
        "Name a folder with devices.json, ip-addresses.json and cables.json, as `/api/dcim/devices/?limit=0` and its "
        "like answer, or one JSON file with these three lists by name."
    )
    return Diagnostic("FAB2149", Severity.ERROR, message, Position(str(path), 1, 1), help_)


def _items(value: Any) -> list[Any]:
    """The objects of an answer of the API, or of a bare list."""
    listed = value.get("results") if isinstance(value, dict) else value
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _text(value: Any, *path: str) -> str:
    """The text at a path of keys; "" where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _devices(items: Iterable[dict[str, Any]]) -> Iterator[Device]:
    for each in items:
        role = _text(each, "role", "slug") or _text(each, "device_role", "slug")  # before NetBox 3.6
        primary = _text(each, "primary_ip4", "address") or _text(each, "primary_ip", "address")
        rack, unit = _text(each, "rack", "name"), _text(each, "position")
        height = _text(each, "device_type", "u_height")
        asn = _text(each, "custom_fields", "asn")
        if name := _text(each, "name"):
            yield Device(name, role, rack, unit, height, primary, asn)


def _addresses(items: Iterable[dict[str, Any]]) -> Iterator[Address]:
    for each in items:
        device, interface = (
            _text(each, "assigned_object", "device", "name"),
            _text(each, "assigned_object", "name"),
        )
        if device and (address := _text(each, "address")):
            yield Address(address, _text(each, "role", "value"), device, interface)


def _cables(items: Iterable[dict[str, Any]]) -> Iterator[tuple[End, End]]:
    for each in items:
        ends = [list(_ends(each, side)) for side in "ab"]
        if all(len(end) == 1 for end in ends):
            yield ends[0][0], ends[1][0]


def _ends(cable: dict[str, Any], side: str) -> Iterator[End]:
    """The interfaces at one side: a list since NetBox 3.3, one object before."""
    listed = cable.get(f"{side}_terminations")
    ends = (
        [each.get("object") for each in _items(listed)]
        if listed is not None
        else [cable.get(f"termination_{side}")]
    )
    for end in ends:
        device, name = _text(end, "device", "name"), _text(end, "name")
        if device and name:
            yield device, name
