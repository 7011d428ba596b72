"""Tables that a NetBox exports as CSV, as the objects that its API would answer with.

"Current View" has the columns that a table shows, "All Data" every one, both under their English labels. A cell of a
related object is its text: an interface's with its label after it, a device's with its asset tag, a rack's with its
facility ID, in parentheses (NetBox 3.7 to 4.6: `tables` and `__str__` of `dcim` and `ipam`).
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Row = Mapping[str, str]
    Object = dict[str, Any]

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
        told = f"{path.name} has no column {', '.join(repr(each.partition('|')[0]) for each in lacks)}"
        help_ = 'Export "All Data (CSV)", or show these columns first; the language of the NetBox user is English.'
        yield Diagnostic("FAB3270", Severity.WARNING, told, Position(str(path), 1, 1), help_)


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


def _strip_suffix(text: str, known: Collection[str] = ()) -> str:
    """Return a name without what NetBox shows after it."""
    return text if text in known else _MORE.sub("", text)


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


def _end_of_cable(device: str, interface: str, known: Collection[str]) -> Object:
    return {"name": _strip_suffix(interface), "device": {"name": _strip_suffix(device, known)}}


def _address_of_row(row: Row, known: Collection[str]) -> Object:
    return {
        "address": row.get("ip address"),
        "role": {"value": row.get("role", "").lower()},
        "assigned_object": _end_of_cable(row.get("parent", ""), row.get("interface", ""), known),
    }


def _of_interfaces(rows: Iterable[Row], known: Collection[str]) -> Iterator[Object]:
    for row in rows:
        for address in row.get("ip addresses", "").split(","):
            yield {
                "address": address.strip(),
                "assigned_object": _end_of_cable(row.get("device", ""), row.get("name", ""), known),
            }


def _cable_of_row(row: Row, known: Collection[str]) -> Object:
    """Return a cable, or none for several things at one end, which commas separate: the plan has no such cables."""
    found: Object = {}
    for side in "ab":
        device, interface = row.get(f"device {side}", ""), row.get(f"termination {side}", "")
        single = "," not in device + interface
        found[f"{side}_terminations"] = (
            [{"object": _end_of_cable(device, interface, known)}] if single else []
        )
    return found


def _to_peers(rows: Iterable[Row], known: Collection[str]) -> Iterator[Object]:
    """Return the cables listed with the interfaces at both of their ends, each once."""
    seen: set[frozenset[tuple[str, str]]] = set()
    for row in rows:
        peer, _, port = row.get("link peers", "").partition(" > ")
        near = {"device a": row.get("device", ""), "termination a": row.get("name", "")}
        cable = _cable_of_row(near | {"device b": peer, "termination b": port}, known)
        ends = [cable[f"{side}_terminations"] for side in "ab"]
        if not all(ends):
            continue
        pair = frozenset((each["object"]["device"]["name"], each["object"]["name"]) for (each,) in ends)
        if pair not in seen:
            seen.add(pair)
            yield cable
