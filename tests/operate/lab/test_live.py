"""Labs that really run. Skipped where they cannot; whatever happens, nothing of them is left."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import demands, faults, growth, kernel, lifecycle, observe, state
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab
from fabricc.operate.lab.scenarios import network_of, trial_of, try_out
from fabricc.operate.lab.steady import Network, compare_steady
from tests import paired
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.lab.agreement import Trial

LIMIT_S = 120.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := demands.missing_programs():
        pytest.skip(f"a lab needs {', '.join(missing)}")
    place = tmp_path / "lab"
    yield place
    if (place / state.RECORD).exists():
        lifecycle.take_down_lab(place)


def boot_network(spec: Path, folder: Path) -> Network:
    lab, source = lifecycle.boot_lab(spec, folder)
    network = Network.of(lab, source.fabric)
    assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None
    return network


def assert_agrees(trial: Trial) -> None:
    assert trial.facts > 0
    assert {check.name: check.wrong for check in trial.wrong} == {}


def is_gone(lab: Lab) -> bool:
    return not any((kernel.NAMESPACES / name).exists() for name in lab.record.namespaces)


def test_smallest_lab_agrees_with_its_plan_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    network = boot_network(specs.two_tiers(tmp_path / "spec"), folder)
    lab = network.lab
    assert_agrees(try_out(lab, network, quick=True))

    if observe.has_lldp():
        assert observe.read_neighbors(lab) == network.neighbors()
    assert lab.pending("spine01a", "frr defaults datacenter\n"), "frr-reload tells what differs"

    ends = faults.break_target(lab, "su001-tor1a:swp3", silent=True)
    assert kernel.has_carrier(lab.record.namespace("su001-tor1a"), "swp3")
    assert observe.wait_until_settled(lab, network.predict(frozenset(ends)), LIMIT_S) is not None, (
        "BFD finds it"
    )
    faults.heal_target(lab)
    assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None

    ends = faults.break_target(lab, "spine02a")
    assert len(ends) == 4
    with pytest.raises(LabError, match="broken now: spine02a"):
        try_out(lab, network)
    assert observe.wait_until_settled(lab, network.predict(frozenset(ends)), LIMIT_S) is not None
    assert faults.heal_target(lab) == ["spine02a"]
    assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None
    assert network_of(lab).predict() == network.predict(), "the kept spec plans the same"

    supervisor = json.loads((folder / state.SUPERVISOR).read_text())["pid"]
    boxes = {switch: lab.process(switch) for switch in lab.record.switches}
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    limit = time.monotonic() + 20
    while any(kernel.start_time(process or 0) for process in boxes.values()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not any(kernel.start_time(process or 0) for process in boxes.values()), (
        "switches die with their keeper"
    )
    lifecycle.take_down_lab(folder)
    assert is_gone(lab)
    assert not folder.exists()


def test_a_lab_that_stopped_half_made_is_taken_away(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "boot_switches", stopped)
    monkeypatch.setattr(lifecycle, "_remove_lab", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        lifecycle.boot_lab(specs.two_tiers(tmp_path / "spec"), folder)
    monkeypatch.undo()
    lab = Lab.open(folder)
    assert not is_gone(lab)
    lifecycle.take_down_lab(folder)
    assert is_gone(lab)


@pytest.mark.slow
def test_a_fabric_of_three_tiers_agrees_in_every_failure_and_a_drain(tmp_path: Path, folder: Path) -> None:
    network = boot_network(specs.write(tmp_path / "spec", specs.THREE_TIERS), folder)
    trial = try_out(network.lab, network)
    assert_agrees(trial)
    kinds = {
        event.name.partition(" su")[0].partition(" pod")[0].partition(" core0")[0] for event in trial.events
    }
    assert kinds == {
        "host link", "ToR uplink", "spine uplink", "ToR", "spine", "core", "silent cut", "silent spine", "drain of",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("wiring", [paired.RAILS, paired.RACKS])
def test_two_tors_without_spines_agree_in_every_failure(tmp_path: Path, folder: Path, wiring: str) -> None:
    spec = specs.write(tmp_path / "spec", paired.spec_text("frr", wiring=wiring, hosts=2))
    network = boot_network(spec, folder)
    trial = try_out(network.lab, network)
    assert_agrees(trial)
    kinds = {event.name.partition(" su")[0] for event in trial.events}
    assert kinds == {"host link", "link between ToRs", "ToR", "silent cut"}


@pytest.mark.slow
def test_a_live_fabric_grows_without_losing_a_datagram(tmp_path: Path, folder: Path) -> None:
    network = boot_network(specs.two_tiers(tmp_path / "v1"), folder)
    step = growth.plan_step(network, specs.two_tiers(tmp_path / "v2", hosts=8), None)
    assert step.reloaded == ("spine01a", "spine02a")
    trial = trial_of(step.after.lab)
    event = growth.grow_lab(step, trial)
    compare_steady(step.after, trial)
    assert_agrees(trial)
    assert event.outage.lost == 0
    assert event.outage.sent > 0
    assert_agrees(try_out(Lab.open(folder), network_of(Lab.open(folder)), quick=True))


@pytest.mark.slow
def test_a_fabric_that_shrinks_is_no_growth(tmp_path: Path, folder: Path) -> None:
    network = boot_network(specs.two_tiers(tmp_path / "v1", hosts=8), folder)
    with pytest.raises(LabError, match="not a growth"):
        growth.plan_step(network, specs.two_tiers(tmp_path / "v2"), None)


@pytest.mark.slow
@pytest.mark.parametrize("links", ["numbered", "unnumbered"])
def test_both_families_run_on_both_kinds_of_link(tmp_path: Path, folder: Path, links: str) -> None:
    more = f"addressing: {{family: dual, fabric_links: {links}}}"
    network = boot_network(specs.two_tiers(tmp_path / "spec", more=more), folder)
    assert_agrees(try_out(network.lab, network, quick=True))


@pytest.mark.slow
def test_a_wrong_cable_is_seen(tmp_path: Path, folder: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    lab, source = lifecycle.boot_lab(spec, folder, swap=(("spine01a", "swp1"), ("spine01a", "swp2")))
    network = Network.of(lab, source.fabric)
    assert len(network.miswired_ports()) == 4
    trial = try_out(lab, network)
    wrong = {check.name: check.wrong for check in trial.wrong}
    if network.lab.record.lldp:
        assert sorted(line.partition(":")[0] for line in wrong["cables between switches"]) == [
            "spine01a", "spine01a", "su001-tor1a", "su001-tor2a",
        ]  # fmt: skip
        assert any("su001-tor1a:swp3: planned spine01a:swp1, heard spine01a:swp2" in line
                   for line in wrong["cables between switches"])  # fmt: skip
    assert len(wrong["BGP sessions"]) == 4
    assert {line.split()[0] for line in wrong["BGP sessions"]} == {"spine01a", "su001-tor1a", "su001-tor2a"}
    assert not trial.events, "what is wrong already is not broken further"


@pytest.mark.slow
def test_two_labs_of_one_cluster_are_independent(tmp_path: Path, folder: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    network = boot_network(spec, folder)
    other, _ = lifecycle.boot_lab(spec, tmp_path / "other")
    try:
        assert not {*other.record.namespaces} & {*network.lab.record.namespaces}
    finally:
        lifecycle.take_down_lab(tmp_path / "other")
    assert is_gone(other)
    trial = trial_of(network.lab)
    compare_steady(network, trial)
    assert_agrees(trial)
