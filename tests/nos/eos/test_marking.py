"""Marking by delay: bytes become time and time bytes in one place, and the proof holds on what the device will do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.fabric.qos import Ecn
from fabricc.nos.eos import EOS, FILE, marking
from tests.nos.eos.variants import variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch


def by_step(step_us: int) -> Switch:
    switch = variant("delay-numbered")
    eos = {**switch.model.nos["eos"], "ecn_delay": {"step_us": step_us}}
    return replace(switch, model=replace(switch.model, nos={"eos": eos}))


speeds = st.sampled_from([25, 50, 100, 200, 400, 800, 1600])


@given(speeds, st.integers(1, 10**10), st.integers(1, 10**4))
def test_marks_come_by_kmax_and_less_than_a_step_before_it(speed_gbps: int, kmax: int, step_us: int) -> None:
    switch = by_step(step_us)
    profile = replace(switch.qos.profiles[0], speed_gbps=speed_gbps, ecn=Ecn(1, kmax, 20))
    threshold_us = marking.delay_us(switch, profile)
    assert threshold_us is not None
    assert threshold_us % step_us == 0
    held = marking.thresholds(threshold_us, speed_gbps)
    step_bytes = step_us * speed_gbps * 125
    if kmax >= step_bytes:
        assert kmax - step_bytes < held.min_bytes <= kmax
    else:
        assert held.min_bytes == step_bytes
    assert (held.max_bytes, held.max_percent) == (held.min_bytes + 1, 100)


@given(st.integers(1, 10**9 - 1))
def test_a_delay_reads_as_it_was_written(threshold_us: int) -> None:
    assert marking.read(*marking.delay_words(threshold_us).split()) == threshold_us


def test_a_delay_is_spelled_in_the_largest_unit_that_holds_it_whole() -> None:
    assert marking.delay_words(3000) == "3 milliseconds"
    assert marking.delay_words(2500) == "2500 microseconds"
    strange = (
        "0 milliseconds",
        "3 seconds",
        "x microseconds",
        f"{'9' * 5000} milliseconds",
        "\u0663 milliseconds",
    )
    assert [marking.read(*text.split()) for text in strange] == [None] * 5


def test_the_line_stands_on_the_port_and_no_queue_has_thresholds() -> None:
    text = EOS.render(variant("delay-numbered"))[FILE]
    at_port = (
        "   service-profile ROCE-400G-40M\n"
        "   random-detect ecn delay threshold 40 microseconds\n   random-detect ecn count\n"
    )
    assert text.count(at_port) == 2
    assert "minimum-threshold" not in text
    assert "      random-detect" not in text
    assert "delay" not in EOS.render(variant("delay-lossy"))[FILE]


@pytest.mark.parametrize("step_us", [1, 7, 1000])
def test_what_the_device_does_is_what_is_planned(step_us: int) -> None:
    switch = by_step(step_us)
    reading = EOS.read(EOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == EOS.planned(switch)
    waited = {1: 40, 7: 35, 1000: 1000}[step_us]
    prefix = "interface[Ethernet3/1]/"
    assert reading.facts[prefix + "ecn_delay_us"] == waited
    assert reading.facts[prefix + "queue[3]/ecn_min_bytes"] == waited * 50_000


def test_every_queue_that_can_wait_is_marked_and_the_notifications_are_not() -> None:
    facts = EOS.planned(variant("delay-numbered"))
    marked = {path for path in facts if path.startswith("interface[Ethernet3/1]/") and "ecn_min" in path}
    assert marked == {f"interface[Ethernet3/1]/queue[{queue}]/ecn_min_bytes" for queue in (0, 3)}


def test_the_published_lines_are_read() -> None:
    published = (
        "interface Ethernet17/1\n   speed 800g-8\n   random-detect ecn delay threshold 3 milliseconds\n"
        "   random-detect ecn count\n!\nend\n"
    )
    reading = EOS.read({FILE: published})
    assert reading.unknown == []
    assert reading.facts["interface[Ethernet17/1]/ecn_delay_us"] == 3000
