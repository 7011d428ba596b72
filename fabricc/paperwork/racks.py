"""Read places of devices in racks from a table of the user, list the contents of every rack, or propose the places."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.base.numbers import is_number
from fabricc.catalog.library import did_you_mean
from fabricc.fabric.shape import TierName, Unit
from fabricc.front.spec.identities import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def read_places(path: Path, devices: Mapping[str, str]) -> Racks:
    """The places of a CSV file with the columns `device`, `rack` and `unit`, and `height` where one is higher than 1.

    It may be the table of devices that a spec names for their identities: then a device is called by its given name,
    and one without a rack has no place.

    Args:
        path: the file.
        devices: the devices of the fabric.
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
        message = f"the first line is not {', '.join(COLUMNS[:3])} (and {COLUMNS[3]})"
        return Racks({}, (_rack_error(path, 1, message),))
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
        elif device not in devices:
            findings.append(
                _rack_error(path, line, f"no device is named {device!a}", did_you_mean(device, devices))
            )
        elif device in places:
            findings.append(_rack_error(path, line, f"{device} has two places", "Remove one of the lines."))
        elif both := [unit for unit in place.units if (place.rack, unit) in taken]:
            collisions.append((line, device, place, taken[place.rack, both[0]], both[0]))
        else:
            places[device] = place
            taken |= {(place.rack, unit): device for unit in place.units}
    for line, device, place, other, unit in collisions:
        message = f"{device} takes unit {unit} of rack {place.rack} that {other} takes"
        findings.append(_rack_error(path, line, message, _free_place(place, taken)))
    if not findings and (without := len(devices) - len(places)):
        message = f"{without:,} of {len(devices):,} devices have no place"
        findings.append(Diagnostic("FAB3143", Severity.WARNING, message, Position(str(path), 1)))
    return Racks(places, tuple(findings))


def _free_place(place: Place, used_units: dict[tuple[str, int], str]) -> str:
    """Suggest the nearest free units of the rack, and mark them as taken."""
    starts = sorted(range(1, MOST_UNITS + 2 - place.height), key=lambda unit: (abs(unit - place.unit), unit))
    for unit in starts:
        units = range(unit, unit + place.height)
        if not any((place.rack, each) in used_units for each in units):
            used_units |= dict.fromkeys(((place.rack, each) for each in units), "")
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


def elevation_rows(places: Mapping[str, Place], models: Mapping[str, str]) -> Iterator[tuple[object, ...]]:
    """Yield every unit of every rack from the highest used one to the floor, including empty ones."""
    racks: dict[str, dict[int, str]] = {}
    for device, place in places.items():
        racks.setdefault(place.rack, {}).update(dict.fromkeys(place.units, device))
    for rack in sorted(racks):
        for unit in range(max(racks[rack]), 0, -1):
            device = racks[rack].get(unit, "")
            yield rack, unit, device, models.get(device, "")


def device_place(places: Mapping[str, Place], device: str) -> tuple[str, int | str]:
    """Rack and lowest unit of a device; both empty where it has no place."""
    place = places.get(device)
    return (place.rack, place.unit) if place else ("", "")


TRAY_UNITS = 1
"""Height of a compute tray of a rack that is one NVLink domain: NVIDIA GB200 NVL72, 18 compute trays of 1 RU."""


class RackLayout(NamedTuple):
    """The layout of a rack; the catalog has no heights, so the user gives them.

    Attributes:
        hosts: hosts in a rack that the spec does not name.
        host_units: height of a host.
        switch_units: height of a switch.
        units: height of a rack.
    """

    hosts: int = 4
    host_units: int = 8
    switch_units: int = 2
    units: int = 48


class _Racks:
    """Racks that are filled: hosts from the floor, switches from the top."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._floor: dict[str, int] = {}
        self._top: dict[str, int] = {}
        self.places: dict[str, Place] = {}

    def room(self, rack: str) -> int:
        """Return the free units of a rack."""
        return self._top.get(rack, self._units) - self._floor.get(rack, 0)

    def add_host(self, device: str, rack: str, height: int) -> None:
        """Put a device on those that are in a rack.

        Raises:
            FindingsError: FAB3142, the rack is full.
        """
        if self.room(rack) < height:
            message = (
                f"rack {rack} has no {height} units for {device}: {self.room(rack)} of {self._units} are free"
            )
            raise FindingsError("FAB3142", message, "Change --rack-layout: fewer hosts, or lower ones.")
        lowest = self._floor.get(rack, 0) + 1
        self._floor[rack] = lowest + height - 1
        self.places[device] = Place(rack, lowest, height)

    def add_switch(self, device: str, racks: Iterable[str], height: int) -> None:
        """Put a device below those at the top of the first rack with room.

        Raises:
            FindingsError: FAB3142, no rack is as high.
        """
        if height > self._units:
            message = f"a rack of {self._units} units has no {height} units for {device}"
            raise FindingsError("FAB3142", message, "Change --rack-layout: lower switches, or a higher rack.")
        rack = next(rack for rack in racks if self.room(rack) >= height)
        lowest = self._top.get(rack, self._units) - height + 1
        self._top[rack] = lowest - 1
        self.places[device] = Place(rack, lowest, height)


def propose_places(fabrics: Sequence[Fabric], layout: RackLayout) -> dict[str, Place]:
    """Return a place for every device of a cluster.

    Hosts fill racks in the order of units. ToRs are in the rack of their hosts where one rack holds the unit,
    otherwise in a rack for switches next to it. Spines, cores and aggregation switches have racks of their own.

    Args:
        fabrics: the networks of the cluster, that of the rails first.
        layout: how a rack is filled.

    Raises:
        FindingsError: FAB3142, a rack is too low for its hosts or for a switch.
    """
    racks = _Racks(layout.units)
    homes: dict[str, str] = {}
    for fabric in fabrics:
        for unit in fabric.units.values():
            for host, rack, height in _host_racks(fabric, unit, layout):
                if host not in racks.places:
                    racks.add_host(host, rack, height)
            homes[unit.name] = _home(unit, racks, layout)
    for fabric in fabrics:
        for at in fabric.switch_ids():
            unit_name = fabric.units[at.unit].name if at.tier is TierName.TOR else ""
            home = homes.get(unit_name, "")
            series = ([home] if home else []), f"{unit_name}-net" if unit_name else "spines"
            racks.add_switch(fabric.name(at), _rack_series(*series), layout.switch_units)
        if switches := fabric.out_of_band.switches:
            for name in switches.aggregates:
                racks.add_switch(name, _rack_series([], "spines"), layout.switch_units)
            for name in switches.numbers:
                served = name.removeprefix("oob-").rpartition("-")[0]
                racks.add_switch(name, _rack_series([served], f"{served}-net"), 1)
    order = [name for fabric in fabrics for name in device_titles(fabric)]
    return {name: racks.places[name] for name in dict.fromkeys(order)}


def place_rows(places: Mapping[str, Place]) -> Iterator[tuple[object, ...]]:
    """Yield the table of places, as `--places` reads it."""
    yield COLUMNS
    for device, place in places.items():
        yield device, place.rack, place.unit, place.height


def _host_racks(fabric: Fabric, unit: Unit, layout: RackLayout) -> Iterator[tuple[str, str, int]]:
    """Yield the hosts of a unit with their racks and heights: racks of the spec, or new ones of equal size."""
    tray = fabric.host_models[unit.group].domain_hosts > 1 if unit.hosts else False
    whole = len(unit.hosts) <= layout.hosts
    for number, host in enumerate(unit.hosts.values()):
        rack = unit.name if whole else f"{unit.name}-{number // layout.hosts + 1}"
        yield host, fabric.racks.get(host, rack), TRAY_UNITS if tray else layout.host_units


def _home(unit: Unit, racks: _Racks, layout: RackLayout) -> str:
    """Return the rack that holds a whole unit and has room for a switch; "" where there is none."""
    found = {racks.places[host].rack for host in unit.hosts.values()}
    home = found.pop() if len(found) == 1 else ""
    return home if home and racks.room(home) >= layout.switch_units else ""


def _rack_series(first: Iterable[str], stem: str) -> Iterator[str]:
    """Yield racks until one has room."""
    yield from first
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1
