"""Read places of devices in racks from a table of the user, and list the contents of every rack."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.base.numbers import is_number
from fabricc.catalog.library import did_you_mean
from fabricc.front.spec.identities import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

COLUMNS = ("device", "rack", "unit", "height")
ELEVATION = ("rack", "unit", "device", "title")
MOST_UNITS = 100
IDENTITIES = frozenset(DEVICES) - set(COLUMNS)
_LARGEST = 16 * 1024 * 1024


class Place(NamedTuple):
    """The place of a device: its lowest unit, counted from the floor, and its height in units."""

    rack: str
    unit: int
    height: int

    @property
    def units(self) -> range:
        """The units that it takes."""
        return range(self.unit, self.unit + self.height)


class Racks(NamedTuple):
    """Places by device, and what is wrong with the table."""

    places: Mapping[str, Place]
    findings: tuple[Diagnostic, ...]


def device_titles(fabric: Fabric) -> dict[str, str]:
    """Return name -> title of the model for every device."""
    found = {fabric.name(at): fabric.model(at).title for at in fabric.switch_ids()}
    if switches := fabric.out_of_band.switches:
        found |= dict.fromkeys(switches.numbers, switches.bank.model.title)
        if switches.aggregation is not None:
            found |= dict.fromkeys(switches.aggregates, switches.aggregation.model.title)
    for unit in fabric.units.values():
        found |= dict.fromkeys(unit.hosts.values(), fabric.host_models[unit.group].title)
    return found


def read_places(path: Path, known: Mapping[str, str]) -> Racks:
    """The places of a CSV file with the columns `device`, `rack` and `unit`, and `height` where one is higher than 1.

    It may be the table of devices that a spec names for their identities: then a device is called by its given name,
    and one without a rack has no place.

    Args:
        path: the file.
        known: the devices of the fabric.
    """
    try:
        text = files.read(path, limit=_LARGEST).decode("utf-8-sig")
        if (conflict := conflict_in(text, str(path))) is not None:
            return Racks({}, (conflict,))
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV in UTF-8"
        return Racks({}, (_rack_error(path, 0, f"{path} cannot be read: {reason or error}"),))
    head = [word.strip().lower() for word in rows[0]] if rows else []
    given = set(head) & IDENTITIES
    if set(head) - given not in (set(COLUMNS), set(COLUMNS[:3])) or len(set(head)) != len(head):
        told = f"the first line is not {', '.join(COLUMNS[:3])} (and {COLUMNS[3]})"
        return Racks({}, (_rack_error(path, 1, told),))
    places: dict[str, Place] = {}
    taken: dict[tuple[str, int], str] = {}
    collisions: list[tuple[int, str, Place, str, int]] = []
    findings: list[Diagnostic] = []
    for line, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        cells = dict(zip(head, (cell.strip() for cell in row), strict=False))
        device = cells.get("name") or cells.get("device", "")
        if given and not cells.get("rack"):
            continue
        place = _parse_place(cells)
        if place is None:
            wanted = f"a rack, a unit of 1 to {MOST_UNITS} and a height that stays within"
            findings.append(
                _rack_error(path, line, f"{device or 'this line'} has no place: it needs {wanted}")
            )
        elif device not in known:
            findings.append(
                _rack_error(path, line, f"no device is named {device!a}", did_you_mean(device, known))
            )
        elif device in places:
            findings.append(_rack_error(path, line, f"{device} has two places", "Remove one of the lines."))
        elif both := [unit for unit in place.units if (place.rack, unit) in taken]:
            collisions.append((line, device, place, taken[place.rack, both[0]], both[0]))
        else:
            places[device] = place
            taken |= {(place.rack, unit): device for unit in place.units}
    for line, device, place, other, unit in collisions:
        told = f"{device} takes unit {unit} of rack {place.rack} that {other} takes"
        findings.append(_rack_error(path, line, told, _free_place(place, taken)))
    if not findings and (without := len(known) - len(places)):
        told = f"{without:,} of {len(known):,} devices have no place"
        findings.append(Diagnostic("FAB3143", Severity.WARNING, told, Position(str(path), 1)))
    return Racks(places, tuple(findings))


def _free_place(place: Place, taken: dict[tuple[str, int], str]) -> str:
    """Suggest the nearest free units of the rack, and mark them as taken."""
    starts = sorted(range(1, MOST_UNITS + 2 - place.height), key=lambda unit: (abs(unit - place.unit), unit))
    for unit in starts:
        units = range(unit, unit + place.height)
        if not any((place.rack, each) in taken for each in units):
            taken |= dict.fromkeys(((place.rack, each) for each in units), "")
            return f"Unit {unit} is free" + (
                f", with those above it to {units[-1]}." if place.height > 1 else "."
            )
    return "The rack is full: name another."


def _parse_place(cells: Mapping[str, str]) -> Place | None:
    rack, unit, height = cells.get("rack", ""), cells.get("unit", ""), cells.get("height") or "1"
    if not rack or not (is_number(unit) and is_number(height)) or len(unit + height) > 6:
        return None
    place = Place(rack, int(unit), int(height))
    fits = place.unit >= 1 and place.height >= 1 and place.units[-1] <= MOST_UNITS
    return place if fits else None


def _rack_error(path: Path, line: int, message: str, remedy: str = "") -> Diagnostic:
    return Diagnostic("FAB3142", Severity.ERROR, message, Position(str(path), max(line, 1)), remedy)


def elevation_rows(places: Mapping[str, Place], known: Mapping[str, str]) -> Iterator[tuple[object, ...]]:
    """Yield every unit of every rack from the highest used one to the floor, including empty ones."""
    racks: dict[str, dict[int, str]] = {}
    for device, place in places.items():
        racks.setdefault(place.rack, {}).update(dict.fromkeys(place.units, device))
    for rack in sorted(racks):
        for unit in range(max(racks[rack]), 0, -1):
            device = racks[rack].get(unit, "")
            yield rack, unit, device, known.get(device, "")


def device_place(places: Mapping[str, Place], device: str) -> tuple[str, int | str]:
    """Rack and lowest unit of a device; both empty where it has no place."""
    place = places.get(device)
    return (place.rack, place.unit) if place else ("", "")
