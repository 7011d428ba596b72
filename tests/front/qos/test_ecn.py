"""Marking thresholds scale with rate and round trip, and ECN always acts before PFC."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.fabric.qos import Ecn
from fabricc.front.qos.ecn import (
    base_rtt_ns,
    bdp_bytes,
    ecn_thresholds,
    leaves_room,
    most_lossy_queues,
    pause_point_bytes,
)
from fabricc.front.qos.lossless_policy import POLL_LIMITS_MS, longest_pause_ns, watchdog_timers

FAR = 10**9


def test_the_round_trip_of_a_two_tier_path() -> None:
    """90 m of cable, three switches of 800 ns and the NICs: 2 * (454.5 + 2400 + 1000) ns."""
    assert base_rtt_ns((5, 40, 40, 5), (800, 800, 800)) == 7709
    assert base_rtt_ns((), (), nic_ns=0) == 0


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (100, Ecn(96_192, 385_344, 20)),
        (200, Ecn(192_576, 770_880, 20)),
        (400, Ecn(385_344, 1_541_760, 20)),
        (800, Ecn(770_880, 3_083_520, 20)),
    ],
)
def test_thresholds_of_that_path_on_cells_of_192_bytes(speed: int, expected: Ecn) -> None:
    assert ecn_thresholds(speed, 7709, FAR, mtu=9216, cell_bytes=192) == expected


def test_a_short_slow_path_marks_from_three_packets() -> None:
    assert ecn_thresholds(25, 2000, FAR, mtu=9216, cell_bytes=192) == Ecn(27_648, 110_592, 20)


def test_the_pause_point_of_a_dynamic_threshold() -> None:
    assert pause_point_bytes(1000, 0, 9) == 100
    assert pause_point_bytes(1000, 1, 2) == 400
    assert pause_point_bytes(1000, -3, 2) == 100
    assert pause_point_bytes(-5, 0, 2) == 0


def test_no_thresholds_where_the_pause_point_is_too_near() -> None:
    assert ecn_thresholds(400, 7709, 60_000, mtu=9216, cell_bytes=192) is None
    assert ecn_thresholds(400, 7709, 70_000, mtu=9216, cell_bytes=192) is not None


@given(
    speed=st.sampled_from([25, 100, 200, 400, 800]),
    rtt=st.integers(500, 200_000),
    shared=st.integers(0, 10**9),
    exponent=st.integers(-7, 6),
    queues=st.integers(1, 1152),
    mtu=st.integers(1280, 9216),
    cell=st.sampled_from([96, 144, 192, 208, 254, 4096]),
)
def test_ecn_acts_before_pfc(
    speed: int, rtt: int, shared: int, exponent: int, queues: int, mtu: int, cell: int
) -> None:
    pause = pause_point_bytes(shared, exponent, queues)
    marking = ecn_thresholds(speed, rtt, pause, mtu=mtu, cell_bytes=cell)
    assert (marking is not None) == leaves_room(pause, mtu, cell)
    if marking is None:
        return
    assert 0 < marking.min_bytes < marking.max_bytes < pause
    assert marking.min_bytes % cell == marking.max_bytes % cell == 0
    assert 0 < marking.max_percent <= 100
    filled = queues * marking.max_bytes
    assert marking.max_bytes < 2.0**exponent * (shared - filled)


@given(
    speed=st.sampled_from([100, 200, 400, 800]), rtt=st.integers(2000, 50_000), more=st.integers(1, 50_000)
)
def test_thresholds_never_fall_with_rate_or_round_trip(speed: int, rtt: int, more: int) -> None:
    here = ecn_thresholds(speed, rtt, FAR, mtu=9216, cell_bytes=192)
    longer = ecn_thresholds(speed, rtt + more, FAR, mtu=9216, cell_bytes=192)
    faster = ecn_thresholds(2 * speed, rtt, FAR, mtu=9216, cell_bytes=192)
    assert here is not None
    assert longer is not None
    assert faster is not None
    assert here.min_bytes <= min(longer.min_bytes, faster.min_bytes)
    assert here.max_bytes <= min(longer.max_bytes, faster.max_bytes)


def test_bdp() -> None:
    assert bdp_bytes(400, 8000) == 400_000


@pytest.mark.parametrize(
    ("ports", "timers"),
    [
        (1, (200, 100)),
        (32, (200, 100)),
        (33, (400, 200)),
        (64, (400, 200)),
        (128, (800, 400)),
        (256, (1600, 800)),
    ],
)
def test_watchdog_timers_grow_with_ports(ports: int, timers: tuple[int, int]) -> None:
    dog = watchdog_timers(ports)
    assert (dog.detect_ms, dog.restore_ms, dog.poll_ms, dog.action) == (
        timers[0],
        timers[0],
        timers[1],
        "drop",
    )


@given(st.integers(1, 5000))
def test_watchdog_stays_within_limits_and_above_any_legal_pause(ports: int) -> None:
    dog = watchdog_timers(ports)
    assert POLL_LIMITS_MS[0] <= dog.poll_ms <= min(POLL_LIMITS_MS[1], dog.detect_ms // 2, dog.restore_ms // 2)
    assert dog.detect_ms <= 5000
    assert dog.restore_ms <= 60_000
    assert dog.detect_ms * 1_000_000 > longest_pause_ns(10)


def test_a_pause_lasts_83_9_microseconds_at_400g() -> None:
    assert longest_pause_ns(400) == 83_884


def test_a_switch_without_ports_has_no_watchdog() -> None:
    with pytest.raises(ValueError, match="at least one port"):
        watchdog_timers(0)


@given(st.integers(0, 10**9), st.integers(-8, 7), st.integers(1, 512), st.integers(-8, 7))
def test_a_lossy_queue_that_is_congested_too_brings_the_pause_point_down(
    shared: int, exponent: int, queues: int, lossy: int
) -> None:
    alone, beside = (
        pause_point_bytes(shared, exponent, queues),
        pause_point_bytes(shared, exponent, queues, lossy),
    )
    assert beside <= alone
    free = shared - queues * beside
    taken = Fraction(2) ** lossy * free / (1 + Fraction(2) ** lossy)
    assert beside <= Fraction(2) ** exponent * (free - taken)


def test_the_shipped_alpha_of_eight_costs_a_switch_with_few_ports_most() -> None:
    assert pause_point_bytes(90_000, 0, 1) == 45_000
    assert pause_point_bytes(90_000, 0, 1, 3) == 9_000


@pytest.mark.parametrize(("high", "most"), [(2_843_520, 5), (1_421_760, 11), (7_292_288, 1), (12_000_000, 0)])
def test_lossy_queues_that_may_be_congested_until_the_pause_point_is_below_kmax(high: int, most: int) -> None:
    shared = 153_138_048
    assert most_lossy_queues(high, shared, 0, 12, 3) == most
    pauses = [shared // (1 + 12 + 8 * queues) for queues in (most, most + 1)]
    assert (pauses[0] >= high or most == 0, pauses[1] < high) == (True, True)
