"""A declared oversubscription holds, with a switch lost too where that is wanted."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.fabric.model import Direction
from fabricc.front.planning.topology.clos import fewest_spines, spine_layer
from tests.effort import scale_examples
from tests.front.planning.support import fabric_of, make_document, planned


def wished_spec(hosts: int = 128, per_unit: int = 32, **tors: Any) -> dict[str, Any]:
    gpus = {"hosts": hosts, "hosts_per_unit": per_unit}
    return make_document(gpus=gpus, tors={"n_minus_1": True, **tors})


def test_non_blocking_on_exactly_enough_uplinks_does_not_survive_a_spine() -> None:
    result = planned(wished_spec())
    assert result.fabric is None
    (wrong,) = result.diagnostics
    assert wrong.code == "FAB3024"
    assert "12,800 Gb/s down and 12,000 up; declared is 1:1 also then" in wrong.message
    assert "No number of uplinks" in wrong.help


def test_the_number_of_uplinks_that_is_named_survives() -> None:
    (wrong,) = planned(wished_spec(per_unit=16)).diagnostics
    found = re.search(r"`tors.uplinks: (\d+)` to (\d+) spines", wrong.help)
    assert found is not None
    fabric = fabric_of(wished_spec(per_unit=16, uplinks=int(found[1])))
    spines = fabric.shape.spines
    assert spines == int(found[2])
    tor = fabric.switch(next(iter(fabric.kinds())))
    down = sum(p.speed_gbps for p in tor.ports if p.direction is Direction.HOST and p.peer)
    up = sum(p.speed_gbps for p in tor.ports if p.direction is Direction.UP)
    assert down <= up * Fraction(spines - 1, spines)


@pytest.mark.parametrize("ratio", [1.0, 1.2])
def test_without_the_wish_nothing_is_refused(ratio: float) -> None:
    fabric_of(make_document(tors={"oversubscription": ratio}))


@settings(max_examples=scale_examples(25))
@given(per_unit=st.integers(4, 28), ratio=st.sampled_from([0.5, 0.75, 0.9, 1.0, 1.5]))
def test_planned_uplinks_keep_the_ratio_without_any_one_spine(per_unit: int, ratio: float) -> None:
    result = planned(wished_spec(hosts=4 * per_unit, per_unit=per_unit, oversubscription=ratio))
    if result.fabric is None:
        assert result.diagnostics
        return
    shape = result.fabric.shape
    tor = next(s for s in map(result.fabric.switch, result.fabric.kinds()) if s.tier_index == 0)
    down = sum(p.speed_gbps for p in tor.ports if p.direction is Direction.HOST and p.peer)
    left = (shape.spines - 1) * shape.links_per_spine * shape.uplink_gbps
    assert down <= Fraction(str(ratio)) * left


def test_uplinks_that_break_the_declared_ratio_are_refused_where_they_are_written() -> None:
    (wrong,) = planned(make_document(tors={"uplinks": 8, "oversubscription": 1.0})).diagnostics
    assert wrong.code == "FAB3027"
    assert wrong.message == "a ToR has 12,800 Gb/s down and 3,200 up with 8 uplinks; declared is 1:1"
    assert wrong.help == "It takes `uplinks: 32`, or declare `oversubscription: 4`."


@pytest.mark.parametrize(
    "tors", [{"uplinks": 32, "oversubscription": 1.0}, {"uplinks": 8, "oversubscription": 4}]
)
def test_suggested_uplinks_can_be_planned(tors: dict[str, Any]) -> None:
    fabric_of(make_document(tors=tors))


def test_uplinks_alone_declare_no_ratio() -> None:
    fabric_of(make_document(tors={"uplinks": 8}))


def test_accepting_the_invariant_accepts_the_planning_error() -> None:
    accept = [{"code": "FAB6204", "reason": "uplinks follow next month"}]
    fabric_of({**make_document(tors={"uplinks": 8, "oversubscription": 1.0}), "accept": accept})


def uneven_spec(per_unit: int, units: int, **tors: Any) -> dict[str, Any]:
    """A rack-wired document whose ToRs have as many host ports as hosts in a rack times eight."""
    switch = {"model": "sn5600", "nos": "frr"}
    gpus = {"hosts": units * per_unit, "hosts_per_unit": per_unit}
    return make_document(gpus=gpus, tors={**switch, "oversubscription": 1.0, **tors}, spines=switch)


def test_a_few_uplinks_more_save_whole_spines_and_are_reported() -> None:
    result = planned(uneven_spec(58, 4))  # 58 host ports at 400G to a ToR: 29 uplinks at 800G
    assert result.fabric is not None
    shape = result.fabric.shape
    assert (shape.uplinks, shape.spines, shape.links_per_spine) == (30, 15, 2)
    (note,) = [d for d in result.diagnostics if d.code == "FAB3029"]
    assert note.message == "1:1 takes 29 uplinks to a ToR; it gets 30, which spread evenly over 15 spines"
    again = planned(uneven_spec(58, 4), result.lock)
    assert again.fabric is not None
    assert again.fabric.shape == shape


def test_a_number_of_uplinks_that_is_requested_is_kept() -> None:
    shape = fabric_of(uneven_spec(58, 4, uplinks=29)).shape
    assert (shape.uplinks, shape.spines) == (29, 29)


@settings(max_examples=scale_examples(60))
@given(
    tors=st.integers(1, 64),
    uplinks=st.integers(1, 64),
    spare=st.integers(0, 16),
    ports=st.sampled_from([32, 64, 128]),
)
def test_added_uplinks_never_need_more_spines_and_always_fit(
    tors: int, uplinks: int, spare: int, ports: int
) -> None:
    exact = spine_layer(tors, uplinks, ports)
    fewest = fewest_spines(tors, uplinks, uplinks + spare, ports)
    assert (exact is None) == (fewest is None) == (tors > ports)
    if exact is None or fewest is None:
        return
    assert fewest.count <= exact.count
    assert uplinks <= fewest.count * fewest.links_per_spine <= uplinks + spare
    assert tors * fewest.links_per_spine <= ports
    assert fewest.count == -(-uplinks // fewest.links_per_spine)


def test_a_sole_spine_warns_and_two_do_not() -> None:
    small = make_document(
        gpus={"hosts": 16, "hosts_per_unit": 8}, tors={"uplinks": 2, "oversubscription": None}
    )
    (wrong,) = [d for d in planned(small).diagnostics if d.code == "FAB3028"]
    assert "`spines.count: 2`" in wrong.help
    two = planned({**small, "spines": {**small["spines"], "count": 2}})
    assert two.fabric is not None
    assert not [d for d in two.diagnostics if d.code == "FAB3028"]
