"""Read devices, addresses and cables from NetBox: the lists of its API as JSON, or its tables as CSV.

"Current View" has the columns that a table shows, "All Data" every one, both under their English labels. A cell of a
related object is its text: an interface's with its label after it, a device's with its asset tag, a rack's with its
facility ID, in parentheses (NetBox 3.7 to 4.6: `tables` and `__str__` of `dcim` and `ipam`).
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Row = Mapping[str, str]
    Object = dict[str, Any]

LISTS = ("devices", "ip-addresses", "cables", "prefixes")
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
    """The content of a NetBox, and the part that is unreadable; `cables` joins interfaces alone.

    Attributes:
        prefixes: of its IPAM.
        files: what was read.
    """

    devices: tuple[Device, ...] = ()
    addresses: tuple[Address, ...] = ()
    cables: tuple[tuple[End, End], ...] = ()
    prefixes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    findings: tuple[Diagnostic, ...] = ()


def read_export(path: Path) -> Export:
    """Return the export at a path: a folder with a file for each list, or one file; without devices it is none."""
    found: dict[str, list[Any]] = {}
    tables: dict[str, list[dict[str, str]]] = {}
    findings: list[Diagnostic] = []
    try:
        read = _read_files(path)
    except OSError as error:
        return Export(findings=(_error_in_file(path, f"{path} cannot be read: {error.strerror}"),))
    for file, name in read.items():
        try:
            text = files.read(file, limit=_LARGEST).decode("utf-8-sig")
            if (conflict := conflict_in(text, str(file))) is not None:
                return Export(findings=(conflict,))
            if file.suffix == ".csv":
                tables[name] = rows_of(text)
                findings += missing_columns(name, file, tables[name])
            else:
                value = json.loads(text)
                several = not path.is_dir() and isinstance(value, dict) and not value.keys().isdisjoint(LISTS)
                parts = value if several else {name: value}
                for key, part in parts.items():
                    if key in LISTS and (page := _describe_page(key, part)):
                        return Export(findings=(_error_in_file(file, page, _ALL_PAGES),))
                found |= {key: _list_objects(part) for key, part in parts.items() if key in LISTS}
        except (OSError, ValueError, RecursionError, csv.Error) as error:
            kind = "CSV" if file.suffix == ".csv" else "JSON"
            reason = (isinstance(error, OSError) and error.strerror) or f"it is no {kind}"
            return Export(findings=(_error_in_file(file, f"{file} cannot be read: {reason}"),))
    found = objects_of_tables(tables) | found
    devices = tuple(_read_devices(found.get("devices", [])))
    if devices and (unnamed := len(found["devices"]) - len(devices)):
        message = f"{plural(unnamed, 'device')} without a name, so without a place"
        remedy = "Name them in the NetBox if they belong to the fabric."
        findings.append(Diagnostic("FAB2150", Severity.WARNING, message, Position(str(path), 1, 1), remedy))
    if not devices:
        return Export(findings=(*findings, _error_in_file(path, f"{path} has no list of devices")))
    if lists := [name for name in LISTS[1:3] if name not in found]:
        hint = f"there is no list of {' nor of '.join(lists)}: their values stay as computed"
        findings.append(Diagnostic("FAB3271", Severity.NOTE, hint, Position(str(path), 1, 1), _HELP))
    addresses, cables = _read_addresses(found.get("ip-addresses", [])), _read_cables(found.get("cables", []))
    prefixes = tuple(_text_at(each, "prefix") for each in found.get("prefixes", []))
    return Export(devices, tuple(addresses), tuple(cables), prefixes, tuple(read), tuple(findings))


def _read_files(path: Path) -> dict[Path, str]:
    """Return file -> list. A single file contains devices unless its name indicates another list."""
    known = {".json": LISTS, ".csv": TABLES}
    if not path.is_dir():
        return {path: _list_of(path) if _list_of(path) in known.get(path.suffix, ()) else "devices"}
    return {
        file: _list_of(file)
        for file in sorted(path.iterdir())
        if _list_of(file) in known.get(file.suffix, ())
    }


def _list_of(file: Path) -> str:
    """Return the list that a file is called after; NetBox proposes names such as `netbox_IP addresses.csv`."""
    return file.stem.lower().removeprefix("netbox_").replace(" ", "-").replace("_", "-")


_HELP = (
    "Name a folder with devices, ip-addresses and cables as .json, as `/api/dcim/devices/` and so on answer, or as "
    ".csv, as NetBox exports its tables; or one JSON file with these three lists by name."
)
_ALL_PAGES = (
    "Fetch every page: follow `next` until it is null, also with `limit=0`, which the server caps at MAX_PAGE_SIZE "
    "(`fabricc docs import`)."
)


def _error_in_file(path: Path, message: str, remedy: str = _HELP) -> Diagnostic:
    return Diagnostic("FAB2149", Severity.ERROR, message, Position(str(path), 1, 1), remedy)


def _describe_page(name: str, value: Any) -> str:
    """Return why an answer of the API is not the whole list, in words; "" where it is."""
    if not isinstance(value, dict) or not isinstance(listed := value.get("results"), list):
        return ""
    count = value.get("count")
    if isinstance(count, int) and not isinstance(count, bool) and count != len(listed):
        return f"the list of {name} is one page: it has {len(listed)} of {count} objects"
    if value.get("next") or value.get("previous"):
        return f"the list of {name} is one page, with {len(listed)} objects: there are further pages"
    return ""


def _list_objects(value: Any) -> list[Any]:
    """Return the objects of an answer of the API, or of a bare list."""
    listed = value.get("results") if isinstance(value, dict) else value
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _text_at(value: Any, *path: str) -> str:
    """Return the text at a path of keys; "" where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _read_devices(items: Iterable[dict[str, Any]]) -> Iterator[Device]:
    for each in items:
        role = _text_at(each, "role", "slug") or _text_at(each, "device_role", "slug")  # before NetBox 3.6
        primary = _text_at(each, "primary_ip4", "address") or _text_at(each, "primary_ip", "address")
        rack, unit = _text_at(each, "rack", "name"), _text_at(each, "position")
        height = _text_at(each, "device_type", "u_height")
        asn = _text_at(each, "custom_fields", "asn")
        if name := _text_at(each, "name"):
            yield Device(name, role, rack, unit, height, primary, asn)


def _read_addresses(items: Iterable[dict[str, Any]]) -> Iterator[Address]:
    for each in items:
        device, interface = (
            _text_at(each, "assigned_object", "device", "name"),
            _text_at(each, "assigned_object", "name"),
        )
        if device and (address := _text_at(each, "address")):
            yield Address(address, _text_at(each, "role", "value"), device, interface)


def _read_cables(items: Iterable[dict[str, Any]]) -> Iterator[tuple[End, End]]:
    for each in items:
        ends = [list(_list_ends(each, side)) for side in "ab"]
        if all(len(end) == 1 for end in ends):
            yield ends[0][0], ends[1][0]


def _list_ends(cable: dict[str, Any], side: str) -> Iterator[End]:
    """Yield the interfaces at one side: a list since NetBox 3.3, one object before."""
    listed = cable.get(f"{side}_terminations")
    ends = (
        [each.get("object") for each in _list_objects(listed)]
        if listed is not None
        else [cable.get(f"termination_{side}")]
    )
    for end in ends:
        device, name = _text_at(end, "device", "name"), _text_at(end, "name")
        if device and name:
            yield device, name


_WANTED = {
    "devices": ("name", "role", "rack", "position", "ipv4 address|ip address"),
    "ip-addresses": ("ip address", "role", "parent", "interface"),
    "cables": ("device a", "termination a", "device b", "termination b"),
    "prefixes": ("prefix (flat)|prefix",),
    "interfaces": ("device", "name", "ip addresses", "link peers"),
    "racks": ("name", "facility id"),
}
"""List -> labels of the columns that are read, in lower case; `|` between those of which one suffices."""
TABLES = tuple(_WANTED)
_DELIMITERS = ",;|\t"
"""Of `csv_delimiter`, a preference of NetBox's users."""
_MORE = re.compile(r" \([^()]*\)$")
_NO_SLUG = re.compile(r"[^a-z0-9]+")


def rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of an export, cells by label in lower case.

    Raises:
        csv.Error: it is no CSV.
    """
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    head = [word.strip().lower() for word in rows[0]] if rows else []
    return [dict(zip(head, (cell.strip() for cell in row), strict=False)) for row in rows[1:] if any(row)]


def missing_columns(name: str, path: Path, rows: Sequence[Row]) -> Iterator[Diagnostic]:
    """Yield the columns of a list that the exported view did not show."""
    there = rows[0].keys() if rows else {label for labels in _WANTED[name] for label in labels.split("|")}
    lacks = [labels for labels in _WANTED[name] if not there & set(labels.split("|"))]
    if lacks:
        message = f"{path.name} has no column {', '.join(repr(each.partition('|')[0]) for each in lacks)}"
        help_ = 'Export "All Data (CSV)", or show these columns first; the language of the NetBox user is English.'
        yield Diagnostic("FAB3270", Severity.WARNING, message, Position(str(path), 1, 1), help_)


def objects_of_tables(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Object]]:
    """The tables as lists of the API; interfaces stand in for addresses and cables without a table of their own."""
    racks = {_format_name(each.get("name", ""), each.get("facility id")): each.get("name", "")
             for each in tables.get("racks", ())}  # fmt: skip
    found = {"devices": [_device_of_row(each, racks) for each in tables.get("devices", ())]}
    known = {each["name"] for each in found["devices"]}
    if (interfaces := tables.get("interfaces")) is not None:
        found["ip-addresses"] = list(_of_interfaces(interfaces, known))
        found["cables"] = list(_to_peers(interfaces, known))
    if (addresses := tables.get("ip-addresses")) is not None:
        found["ip-addresses"] = [_address_of_row(each, known) for each in addresses]
    if (cables := tables.get("cables")) is not None:
        found["cables"] = [_cable_of_row(each, known) for each in cables]
    if (prefixes := tables.get("prefixes")) is not None:
        found["prefixes"] = [{"prefix": each.get("prefix (flat)") or each.get("prefix")} for each in prefixes]
    return {name: each for name, each in found.items() if each}


def _format_name(name: str, more: str | None) -> str:
    return f"{name} ({more})" if more else name


def _strip_suffix(text: str, device_names: Collection[str] = ()) -> str:
    """Return a name without what NetBox shows after it."""
    return text if text in device_names else _MORE.sub("", text)


def _device_of_row(row: Row, racks: Mapping[str, str]) -> Object:
    rack, role = row.get("rack", ""), row.get("role", "").lower()
    return {
        "name": row.get("name", ""),
        "role": {"slug": _NO_SLUG.sub("-", role).strip("-")},
        "rack": {"name": racks.get(rack, rack)},
        "position": row.get("position"),
        "device_type": {"u_height": row.get("u height")},
        "primary_ip4": {"address": row.get("ipv4 address") or row.get("ip address")},
        "custom_fields": {"asn": row.get("asn")},
    }


def _end_of_cable(device: str, interface: str, device_names: Collection[str]) -> Object:
    return {"name": _strip_suffix(interface), "device": {"name": _strip_suffix(device, device_names)}}


def _address_of_row(row: Row, device_names: Collection[str]) -> Object:
    return {
        "address": row.get("ip address"),
        "role": {"value": row.get("role", "").lower()},
        "assigned_object": _end_of_cable(row.get("parent", ""), row.get("interface", ""), device_names),
    }


def _of_interfaces(rows: Iterable[Row], device_names: Collection[str]) -> Iterator[Object]:
    for row in rows:
        for address in row.get("ip addresses", "").split(","):
            yield {
                "address": address.strip(),
                "assigned_object": _end_of_cable(row.get("device", ""), row.get("name", ""), device_names),
            }


def _cable_of_row(row: Row, device_names: Collection[str]) -> Object:
    """Return a cable, or none for several things at one end, which commas separate: the plan has no such cables."""
    found: Object = {}
    for side in "ab":
        device, interface = row.get(f"device {side}", ""), row.get(f"termination {side}", "")
        single = "," not in device + interface
        found[f"{side}_terminations"] = (
            [{"object": _end_of_cable(device, interface, device_names)}] if single else []
        )
    return found


def _to_peers(rows: Iterable[Row], device_names: Collection[str]) -> Iterator[Object]:
    """Return the cables listed with the interfaces at both of their ends, each once."""
    seen: set[frozenset[tuple[str, str]]] = set()
    for row in rows:
        peer, _, port = row.get("link peers", "").partition(" > ")
        near = {"device a": row.get("device", ""), "termination a": row.get("name", "")}
        cable = _cable_of_row(near | {"device b": peer, "termination b": port}, device_names)
        ends = [cable[f"{side}_terminations"] for side in "ab"]
        if not all(ends):
            continue
        pair = frozenset((each["object"]["device"]["name"], each["object"]["name"]) for (each,) in ends)
        if pair not in seen:
            seen.add(pair)
            yield cable
