"""The room of every pin equals what growth really finds, and a full tier is reported before growth fails."""

from __future__ import annotations

from typing import Any

import pytest

from fabricc.front.planning.topology.layout import list_rooms, report_full
from tests.front.planning.support import fabric_of, make_document, planned, spec_of
from tests.front.planning.test_growth import SETS, ZONES

PLAIN = make_document(gpus={"hosts": 32, "hosts_per_unit": 8, "rails_per_tor": 4})
PODS = {**ZONES, "gpus": {key: value for key, value in ZONES["gpus"].items() if key != "capacity"}}


@pytest.mark.parametrize("spec", [PLAIN, PODS])
def test_every_pin_that_bounds_something_has_its_row(spec: dict[str, Any]) -> None:
    first = planned(spec)
    assert first.fabric is not None
    found = {room.pin for room in list_rooms(first.fabric)}
    cores = {"links_per_spine", "spines_per_core_group"}  # known from spine_up_cage and from links_per_core
    alike = cores if "cores" in spec else {"spine_uplink"}
    assert found | alike | {"unit_digits", "host_digits"} == set(first.lock.strides)
    assert all(0 < room.used <= room.room for room in list_rooms(first.fabric))


@pytest.mark.parametrize("declared", [None, 64])
def test_growth_goes_as_far_as_the_room_and_no_further(declared: int | None) -> None:
    text = make_document(gpus={"hosts": 32, "hosts_per_unit": 8, "rails_per_tor": 4, "capacity": declared})
    first = planned(text)
    assert first.fabric is not None
    units = {room.pin: room.room for room in list_rooms(first.fabric)}
    most = min(units["unit"], units["links_per_spine"])
    assert (most > 4) == (declared is not None)
    grown = make_document(gpus={"hosts": 8 * most, "hosts_per_unit": 8, "rails_per_tor": 4})
    there = planned(grown, first.lock)
    assert there.fabric is not None
    (warning,) = report_full(spec_of(grown), there.fabric, list_rooms(there.fabric), pinned=True)
    assert (warning.code, f"ports for {most} units" in warning.message) == ("FAB3039", True)
    grown["gpus"]["hosts"] += 1
    assert planned(grown, first.lock).fabric is None


def test_pods_that_are_full_are_reported() -> None:
    first = planned(PODS)
    assert first.fabric is not None
    pods = {room.pin: room.room for room in list_rooms(first.fabric)}["links_per_core"]
    text = {**PODS, "gpus": {**PODS["gpus"], "racks": 16 * pods}}
    there = planned(text, first.lock)
    assert there.fabric is not None
    assert [
        d.code for d in report_full(spec_of(text), there.fabric, list_rooms(there.fabric), pinned=True)
    ] == ["FAB3039"]
    text["gpus"] |= {"racks": 16 * pods - 1}
    almost = planned(text, first.lock)
    assert almost.fabric is not None
    assert list(report_full(spec_of(text), almost.fabric, list_rooms(almost.fabric), pinned=True)) == []


def test_cores_that_join_sets_of_rails_have_a_port_for_every_set_of_a_pod() -> None:
    first = planned(SETS)
    assert first.fabric is not None
    shape, pods = (
        first.fabric.shape,
        {room.pin: room.room for room in list_rooms(first.fabric)}["links_per_core"],
    )
    grown = {**SETS, "gpus": {key: value for key, value in SETS["gpus"].items() if key != "capacity"}}
    grown["gpus"] |= {"hosts": pods * shape.units_per_pod * shape.hosts_per_unit}
    assert planned(grown, first.lock).fabric is not None
    grown["gpus"] |= {"hosts": grown["gpus"]["hosts"] + 1}
    assert planned(grown, first.lock).fabric is None


def test_a_capacity_that_is_declared_and_reached_is_no_warning() -> None:
    text = make_document(gpus={"hosts": 32, "hosts_per_unit": 8, "rails_per_tor": 4, "capacity": 32})
    fabric = fabric_of(text)
    assert list(report_full(spec_of(text), fabric, list_rooms(fabric), pinned=False)) == []
    text["gpus"].pop("capacity")
    (warning,) = report_full(spec_of(text), fabric, list_rooms(fabric), pinned=False)
    assert "gpus.capacity" in warning.help
