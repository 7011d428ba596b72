"""Classes find their queues by NX-OS's rules, and static pause thresholds keep the headroom and fit the pool."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.fabric.qos import BufferPools, Headroom, TrafficClass
from fabricc.nos.nxos import FILE, NXOS
from fabricc.nos.nxos.lossless import pauses, qos_groups, spare_bytes, strict_queues
from fabricc.nos.nxos.vocabulary import expanded, ranges
from tests.nos.nxos.variants import variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch


def traffic_class(priority: int, *, strict: bool = False, lossless: bool = False) -> TrafficClass:
    return TrafficClass(f"c{priority}", priority, (priority,), priority, lossless, strict, 10, False, False)


@pytest.mark.parametrize(
    ("classes", "groups"),
    [
        ([traffic_class(0), traffic_class(3, lossless=True)], {0: 0, 3: 3}),
        ([traffic_class(0), traffic_class(3), traffic_class(6, strict=True)], {0: 0, 3: 3, 6: 6}),
        (
            [traffic_class(7), traffic_class(5, strict=True), traffic_class(2, strict=True)],
            {5: 7, 2: 6, 7: 5},
        ),
        ([traffic_class(0, lossless=True), traffic_class(1)], {0: 7, 1: 1}),
        ([traffic_class(0, lossless=True), traffic_class(5, strict=True)], {0: 4, 5: 5}),
        ([traffic_class(0, strict=True), traffic_class(3, strict=True)], {0: 6, 3: 7}),
        ([traffic_class(0, strict=True)], {0: 7}),
    ],
)
def test_a_class_keeps_its_number_where_strict_queues_stay_on_top(
    classes: list[TrafficClass], groups: dict[int, int]
) -> None:
    assert qos_groups(classes) == groups


@given(st.sets(st.integers(0, 7), min_size=1), st.data())
def test_every_class_gets_a_queue_of_its_own(priorities: set[int], data: st.DataObject) -> None:
    flags = st.booleans()
    classes = [traffic_class(p, strict=data.draw(flags), lossless=data.draw(flags)) for p in priorities]
    groups = qos_groups(classes)
    assert sorted(groups) == sorted(priorities)
    assert len(set(groups.values())) == len(groups)
    assert all(0 <= group <= 7 for group in groups.values())
    strict = strict_queues(classes, groups)
    assert {groups[c.priority] for c in classes if c.strict} <= strict
    assert not {groups[c.priority] for c in classes if not c.strict} & strict
    assert sorted(strict) == list(range(8 - len(strict), 8))


def loaded(pool: int, headroom_pool: int, headroom: Headroom) -> Switch:
    switch = variant("cloudscale/numbered")
    pools = BufferPools(pool, headroom_pool, 1, None, False)
    profiles = tuple(replace(p, headroom=headroom) for p in switch.qos.profiles)
    return replace(switch, qos=replace(switch.qos, pools=pools, profiles=profiles))


headrooms = st.builds(
    Headroom,
    cable_m=st.just(5),
    size_bytes=st.integers(0, 500_000),
    xon_bytes=st.integers(0, 20_000),
    xoff_bytes=st.integers(1, 500_000),
    xon_offset_bytes=st.none() | st.integers(0, 20_000),
    dynamic_th=st.integers(-9, 9),
    source=st.just("drawn"),
)


@given(headrooms, st.integers(1, 10**8), st.integers(0, 10**7))
def test_pausing_leaves_the_headroom_and_all_buffers_fit(headroom: Headroom, pool: int, more: int) -> None:
    switch = loaded(pool, more, headroom)
    cell = switch.model.buffers.cell_bytes
    ports = sum(1 for port in switch.ports if port.profile)
    for pause in pauses(switch).values():
        assert pause.buffer_bytes - pause.pause_bytes >= headroom.xoff_bytes
        assert 0 <= pause.resume_bytes <= pause.pause_bytes
        figures = (pause.buffer_bytes, pause.pause_bytes, pause.resume_bytes)
        assert not any(figure % cell for figure in figures)
        if spare_bytes(switch) >= 0:
            rounding = 2 * cell + headroom.xon_bytes
            assert ports * (pause.buffer_bytes - rounding) <= pool + more


@given(headrooms)
def test_a_larger_alpha_pauses_no_earlier(headroom: Headroom) -> None:
    steps = [
        pauses(loaded(10**8, 0, replace(headroom, dynamic_th=exponent)))["400g-5m"].pause_bytes
        for exponent in range(-8, 5)
    ]
    assert all(before <= after for before, after in pairwise(steps))


def test_the_share_is_where_the_dynamic_threshold_settles() -> None:
    # Five ports, alpha 1: each gets a sixth of what guarantees (19456) and headroom (283648) leave of 60 MB.
    headroom = Headroom(40, 303_104, 19_456, 283_648, 9_216, 0, "table")
    pause = pauses(loaded(60_000_000, 0, headroom))["400g-40m"]
    expected = 19_456 + (60_000_000 - 5 * (19_456 + 283_648)) // 6
    assert pause.pause_bytes == expected // 192 * 192
    assert pause.resume_bytes == (pause.pause_bytes - 9_216) // 192 * 192


def test_a_moved_class_keeps_its_pause_priority() -> None:
    switch = variant("cloudscale/numbered")
    classes = tuple(
        replace(c, priority=0, strict=False) if c.lossless else replace(c, priority=5, strict=True)
        if c.strict else replace(c, priority=1)
        for c in switch.qos.classes
    )  # fmt: skip
    switch = replace(switch, qos=replace(switch.qos, classes=classes))
    text = NXOS.render(switch)[FILE]
    assert "  class type network-qos c-8q-nq4\n    mtu 9216\n    pause pfc-cos 0\n" in text
    facts = NXOS.read({FILE: text}).facts
    assert facts == NXOS.planned(switch)
    assert facts["interface[Ethernet1/1/1]/pfc"] == "0"
    assert facts["qos/dscp[26]/traffic_class"] == 4


@given(st.sets(st.integers(0, 63), min_size=1))
def test_lists_of_ranges_say_the_same_numbers(numbers: set[int]) -> None:
    assert expanded(ranges(numbers), 63) == sorted(numbers)


@pytest.mark.parametrize("text", ["", "-", "3-", "5-3", "64", "1,,2", "a", "1-2-3", "9999999999"])
def test_what_is_no_list_of_numbers_is_refused(text: str) -> None:
    assert expanded(text, 63) is None
