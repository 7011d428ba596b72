"""Racks with rail wiring: they name and place hosts, which fill units in the order of the racks."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fabricc.compiler.tables import fabric_summary
from tests.front.planning.support import document, fabric_of, planned
from tests.front.planning.test_growth import identity


def racked(racks: Any, **gpus: Any) -> dict[str, Any]:
    return document(gpus={"hosts": None, "racks": racks, "hosts_per_unit": 8, **gpus}, spines={"count": 4})


def test_hosts_of_racks_fill_units_in_the_natural_order_of_the_racks() -> None:
    fabric = fabric_of(racked({"a10": ["x", "y"], "a9": 4, "a1": 4}))
    first, second = fabric.units.values()
    assert list(first.hosts.values()) == [f"a{rack}-host0{host}" for rack in (1, 9) for host in range(1, 5)]
    assert list(second.hosts.values()) == ["x", "y"]
    assert [fabric.host(at).rack for at in fabric.host_ids()] == ["a1"] * 4 + ["a9"] * 4 + ["a10"] * 2
    assert fabric_summary(fabric, {})["racks"]["a10"] == ["x", "y"]  # type: ignore[index]


def test_wiring_by_rail_is_that_of_hosts_without_racks() -> None:
    """A rack has no ToR: all else is as if its hosts were listed."""
    with_racks = fabric_of(racked({"a1": 4, "a2": 4, "b1": 4}))
    names = [f"{rack}-host0{host}" for rack in ("a1", "a2", "b1") for host in range(1, 5)]
    listed = fabric_of(document(gpus={"hosts": names, "hosts_per_unit": 8}, spines={"count": 4}))
    assert identity(with_racks) == identity(listed)


@pytest.mark.parametrize(
    "later",
    [
        {"a0": 4, "a1": 4, "a2": 4, "b1": 4}, {"a1": 4, "a2": 4, "b1": ["p", "q", "r", "s"], "b0": 2},
        {"b1": 4, "a1": 4, "a2": 4, "c1": 4},
    ],
)  # fmt: skip
def test_another_rack_moves_no_host(later: dict[str, Any]) -> None:
    spec = racked({"a1": 4, "a2": 4, "b1": 4}, capacity=32)
    first = planned(spec)
    spec = deepcopy(spec)
    spec["gpus"]["racks"] = later
    second = planned(spec, first.lock)
    assert first.fabric is not None
    assert second.fabric is not None
    kept = {name for unit in second.fabric.units.values() for name in unit.hosts.values()}
    for at in first.fabric.host_ids():
        host = first.fabric.host(at)
        if host.name in kept:
            assert second.fabric.host(at) == host


def test_a_rack_that_a_unit_splits_is_told() -> None:
    (told,) = [d for d in planned(racked({"a1": 6, "a2": 6})).diagnostics if d.code == "FAB3057"]
    assert "a2" in told.message
    assert not [d for d in planned(racked({"a1": 4, "a2": 4, "a3": 4})).diagnostics if d.code == "FAB3057"]
