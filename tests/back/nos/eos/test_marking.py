"""Marking by delay: bytes become time and time bytes in one place, and the proof holds on what the device will do.

`UPDATE_GOLDEN=1 pytest tests/back/nos/eos/test_marking.py` rewrites the golden file of the whole spine.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.nos.eos import EOS, FILE, qos, qos_rows
from fabricc.cli.entry import run
from fabricc.fabric.qos import Ecn
from tests.back.nos.eos.variants import variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

GOLDEN = Path(__file__).parent / "golden" / "7808r4-spine.cfg"
# An R4 chassis with one of its eight line cards, marking by another step if requested.
CATALOG = """\
switches:
  one-card:
    extends: 7808r4
    title: Arista 7808R4 (one line card)
    cages:
      - {first: 1, count: 36, lanes: 8, breakouts: [1x800/8, 2x400/4], assumed: true, reason: one line card}
    nos:
      eos: {assumed: true, reason: as the whole chassis, ecn_delay: {step_us: STEP, assumed: true, reason: to be tried}}
"""
SPEC = """\
cluster: deep
catalog: [catalog.yaml]
gpus: {model: dgx-b300, hosts: 8, hosts_per_unit: 4}
tors: {model: 7060x6-64pe, nos: eos}
spines: {model: one-card, nos: eos-4.33, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
management:
  users:
    - {name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}
"""


def build(folder: Path, step_us: int, spec: str = SPEC) -> int:
    (folder / "catalog.yaml").write_text(CATALOG.replace("STEP", str(step_us)))
    (folder / "cluster.yaml").write_text(spec)
    return run(["build", str(folder / "cluster.yaml"), "--output", str(folder / "out")])


def by_step(step_us: int) -> Switch:
    switch = variant("delay-numbered")
    eos = {**switch.model.nos["eos"], "ecn_delay": {"step_us": step_us}}
    return replace(switch, model=replace(switch.model, nos={"eos": eos}))


speeds = st.sampled_from([25, 50, 100, 200, 400, 800, 1600])


@given(speeds, st.integers(1, 10**10), st.integers(1, 10**4))
def test_marks_come_by_kmax_and_less_than_a_step_before_it(speed_gbps: int, kmax: int, step_us: int) -> None:
    switch = by_step(step_us)
    profile = replace(switch.qos.profiles[0], speed_gbps=speed_gbps, ecn=Ecn(1, kmax, 20))
    threshold_us = qos.delay_us(switch, profile)
    assert threshold_us is not None
    assert threshold_us % step_us == 0
    held = qos.delay_thresholds(threshold_us, speed_gbps)
    step_bytes = step_us * speed_gbps * 125
    if kmax >= step_bytes:
        assert kmax - step_bytes < held.min_bytes <= kmax
    else:
        assert held.min_bytes == step_bytes
    assert (held.max_bytes, held.max_percent) == (held.min_bytes + 1, 100)


@given(st.integers(1, 10**9 - 1))
def test_a_delay_reads_as_it_was_written(threshold_us: int) -> None:
    assert qos_rows.to_microseconds(*qos.delay_words(threshold_us).split()) == threshold_us


def test_a_delay_is_spelled_in_the_largest_unit_that_holds_it_whole() -> None:
    assert qos.delay_words(3000) == "3 milliseconds"
    assert qos.delay_words(2500) == "2500 microseconds"
    strange = (
        "0 milliseconds",
        "3 seconds",
        "x microseconds",
        f"{'9' * 5000} milliseconds",
        "\u0663 milliseconds",
    )
    assert [qos_rows.to_microseconds(*text.split()) for text in strange] == [None] * 5


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
def test_rounded_marking_delays_are_planned_as_the_device_rounds_them(step_us: int) -> None:
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


def test_a_whole_r4_spine_is_the_golden_text_and_is_proved(tmp_path: Path) -> None:
    assert build(tmp_path, 1) == 0
    text = (tmp_path / "out" / "deep" / "switches" / "spine01a" / FILE).read_text()
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_delay_after_which_pfc_has_paused_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(tmp_path, 10_000) == 1
    errors = [line for line in capsys.readouterr().err.splitlines() if "error FAB" in line]
    assert errors
    assert all("FAB6217" in line and "running-config.cfg" in line for line in errors)


def test_pfc_alone_has_no_delay(tmp_path: Path) -> None:
    assert build(tmp_path, 1, SPEC + "congestion: {profile: pfc-only}\n") == 0
    text = (tmp_path / "out" / "deep" / "switches" / "spine01a" / FILE).read_text()
    assert "priority-flow-control priority 3 no-drop" in text
    assert "random-detect" not in text
