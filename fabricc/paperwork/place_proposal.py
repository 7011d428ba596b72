"""A first proposal of where every device stands, for a hall that has no table of places yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import FindingsError
from fabricc.fabric.shape import TierName
from fabricc.paperwork.racks import COLUMNS, Place, device_titles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Unit

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
