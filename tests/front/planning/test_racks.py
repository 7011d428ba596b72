"""Racks with rail wiring: they name and place hosts, which fill units in the order of the racks."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fabricc.paperwork.plan_tables import fabric_summary
from tests.front.planning.support import fabric_of, make_document, planned
from tests.front.planning.test_growth import find_identity


def racked_spec(racks: Any, **gpus: Any) -> dict[str, Any]:
    return make_document(
        gpus={"hosts": None, "racks": racks, "hosts_per_unit": 8, **gpus}, spines={"count": 4}
    )


def test_hosts_of_racks_fill_units_in_the_natural_order_of_the_racks() -> None:
    fabric = fabric_of(racked_spec({"a10": ["x", "y"], "a9": 4, "a1": 4}))
    first, second = fabric.units.values()
    assert list(first.hosts.values()) == [f"a{rack}-host0{host}" for rack in (1, 9) for host in range(1, 5)]
    assert list(second.hosts.values()) == ["x", "y"]
    assert [fabric.host(at).rack for at in fabric.host_ids()] == ["a1"] * 4 + ["a9"] * 4 + ["a10"] * 2
    assert fabric_summary(fabric, {})["racks"]["a10"] == ["x", "y"]  # type: ignore[index]


def test_wiring_by_rail_is_that_of_hosts_without_racks() -> None:
    """A rack has no ToR: all else is as if its hosts were listed."""
    with_racks = fabric_of(racked_spec({"a1": 4, "a2": 4, "b1": 4}))
    names = [f"{rack}-host0{host}" for rack in ("a1", "a2", "b1") for host in range(1, 5)]
    listed = fabric_of(make_document(gpus={"hosts": names, "hosts_per_unit": 8}, spines={"count": 4}))
    assert find_identity(with_racks) == find_identity(listed)


@pytest.mark.parametrize(
    "later",
    [
        {"a0": 4, "a1": 4, "a2": 4, "b1": 4}, {"a1": 4, "a2": 4, "b1": ["p", "q", "r", "s"], "b0": 2},
        {"b1": 4, "a1": 4, "a2": 4, "c1": 4},
    ],
)  # fmt: skip
def test_another_rack_moves_no_host(later: dict[str, Any]) -> None:
    spec = racked_spec({"a1": 4, "a2": 4, "b1": 4}, capacity=32)
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


def test_a_rack_that_a_unit_splits_is_reported() -> None:
    (reported,) = [d for d in planned(racked_spec({"a1": 6, "a2": 6})).diagnostics if d.code == "FAB3057"]
    assert "a2" in reported.message
    assert not [
        d for d in planned(racked_spec({"a1": 4, "a2": 4, "a3": 4})).diagnostics if d.code == "FAB3057"
    ]


NVL72 = {"model": "gb200-nvl72", "racks": ["a01", "a02"], "hosts_per_rack": 18, "hosts_per_unit": 36}


def find_domains(**gpus: Any) -> tuple[list[str], list[str]]:
    """Return the NVLink domain of each host, and the codes of findings."""
    tors = {"model": "sn5600", "oversubscription": 4}
    plan = planned(make_document(gpus={"hosts": None, **NVL72, **gpus}, tors=tors))
    reported = [d.code for d in plan.diagnostics if d.code in ("FAB3170", "FAB3171")]
    assert plan.fabric is not None
    return [plan.fabric.host(at).domain for at in plan.fabric.host_ids()], reported


def test_a_named_rack_of_trays_is_an_nvlink_domain() -> None:
    assert find_domains() == (["a01"] * 18 + ["a02"] * 18, [])
    assert find_domains(racks={"a01": 16, "a02": ["x", "y"]}) == (["a01"] * 16 + ["a02"] * 2, [])


def test_a_rack_with_its_own_tor_is_an_nvlink_domain() -> None:
    in_rack = {"wiring": "rack", "hosts_per_unit": None, "racks": 2}
    assert find_domains(**in_rack) == (["rack001"] * 18 + ["rack002"] * 18, [])
    assert find_domains(**in_rack | {"racks": ["b1", "b2"], "hosts_per_rack": 9}) == (
        ["b1"] * 9 + ["b2"] * 9,
        [],
    )
    assert find_domains(**in_rack | {"racks": 1, "hosts_per_rack": 24}) == ([""] * 24, ["FAB3170"])


def test_trays_without_a_rack_have_no_nvlink_domain() -> None:
    assert find_domains(racks=None, hosts_per_rack=None, hosts=36) == ([""] * 36, ["FAB3170"])


def test_a_host_that_ends_its_domain_has_none() -> None:
    assert find_domains(model="dgx-h100", hosts_per_rack=4, hosts_per_unit=8) == ([""] * 8, [])


def test_a_rack_with_more_trays_than_share_nvlink_is_refused() -> None:
    gpus = {"hosts": None, **NVL72, "racks": {"a01": 18, "a02": 19}, "hosts_per_rack": None}
    plan = planned(make_document(gpus=gpus, tors={"model": "sn5600"}))
    (reported,) = [d for d in plan.diagnostics if d.code == "FAB3171"]
    assert "a02 holds 19 hosts" in reported.message
    assert "18 hosts" in reported.help


def test_a_smaller_rack_stays_whole_and_keeps_the_room_of_a_full_one() -> None:
    """A rack short of a host, or delivered in part: the next rack begins in the next unit."""
    result = planned(racked_spec({"a1": 4, "a2": 3, "a3": 4, "a4": 1}, capacity=32))
    assert result.fabric is not None
    assert "FAB3057" not in {each.code for each in result.diagnostics}
    units = [[host[:2] for host in unit.hosts.values()] for unit in result.fabric.units.values()]
    assert units == [["a1"] * 4 + ["a2"] * 3, ["a3"] * 4 + ["a4"]]
    full = planned(racked_spec({"a1": 4, "a2": 4, "a3": 4, "a4": 1}, capacity=32), result.lock)
    assert full.fabric is not None
    before = {name: at for at in result.fabric.host_ids() if (name := result.fabric.host(at).name)}
    after = {name: at for at in full.fabric.host_ids() if (name := full.fabric.host(at).name)}
    assert {name: after[name] for name in before} == before
    assert after["a2-host04"].unit == before["a2-host01"].unit


def test_the_remedies_name_a_unit_of_whole_racks() -> None:
    (split,) = [d for d in planned(racked_spec({"a1": 6, "a2": 6})).diagnostics if d.code == "FAB3057"]
    assert "a multiple of 6" in split.help


@pytest.mark.parametrize(("hosts", "code"), [(144, "FAB3006"), (36, "FAB3007")])
def test_a_unit_that_fits_has_whole_racks(hosts: int, code: str) -> None:
    """The largest unit of trays of NVL72 on 64 ports is 18, not 32, which splits a rack."""
    racks = {f"a{number}": 18 for number in range(1, 9)}
    gpus = {"model": "gb200-nvl72", "racks": racks, "hosts_per_unit": hosts}
    spec = make_document(gpus=gpus, tors={"model": "sn5400"}, spines={"model": "sn5400"})
    spec["gpus"] = gpus
    (refused,) = [each for each in planned(spec).diagnostics if each.code == code]
    assert refused.help.startswith("The largest number of hosts per unit")
    assert "is 18" in refused.help


def test_a_rack_that_the_ratio_would_split_gets_a_ratio_that_fits() -> None:
    gpus = {"model": "gb200-nvl72", "racks": {"a1": 18, "a2": 18}, "hosts_per_unit": 36}
    spec = make_document(gpus=gpus, tors={"model": "sn4700"}, spines={"model": "sn4700"})
    spec["gpus"] = gpus
    (refused,) = [each for each in planned(spec).diagnostics if each.code == "FAB3006"]
    assert refused.help.endswith(
        "A rack fits with `gpus.hosts_per_unit: 18` and `tors.oversubscription: 1.3`."
    )
    spec["gpus"] = gpus | {"hosts_per_unit": 18}
    spec["tors"]["oversubscription"] = 1.3
    assert planned(spec).fabric is not None
