"""A push skips switches that do not answer if requested: they are reported, not counted on, and resumed later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.operate.lab import specs
from tests.operate.push import matrix
from tests.operate.push.network import DISRUPTIVE, HITLESS, Network

if TYPE_CHECKING:
    from pathlib import Path

GONE = "su001-tor1a"
SKIP = ("--adopt", "--skip-unreachable")


@pytest.fixture
def network(network: Network) -> Network:
    network.edit(HITLESS)
    network.ask("cut", GONE)
    return network


def run_outcomes(network: Network) -> list[str]:
    runs = json.loads(network.push("--status", "--format", "json", status=0).stdout)["runs"]
    return [run["outcome"] for run in runs]


@pytest.mark.slow
def test_the_others_are_changed_and_the_run_knows_who_is_left(network: Network) -> None:
    assert "FAB9110" in network.push("--adopt", status=3).stderr
    ran = network.push(*SKIP, status=3)
    assert f"FAB9140: left out, because they do not answer: {GONE}" in ran.stderr
    assert f"left out: {GONE} (" in ran.stderr, "with the reason"
    states = network.states()
    assert states.pop(GONE) == "planned"
    assert set(states.values()) == {"confirmed"}
    assert run_outcomes(network) == ["partial"]
    assert f"{GONE}  wave 0  planned  left out:" in network.push("--status", "--run", "1", status=0).stdout

    assert "FAB9140" in network.push("--resume", status=3).stderr, "it still does not answer"
    assert run_outcomes(network) == ["partial"], "the run ended again"
    network.ask("mend", GONE)
    assert "1 switch left" in network.push("--resume", status=0).stderr
    network.truthful(matrix.NEW[HITLESS])
    assert run_outcomes(network) == ["done"]


@pytest.mark.slow
def test_a_later_push_changes_what_was_left_out(network: Network) -> None:
    network.push(*SKIP, status=3)
    network.ask("mend", GONE)
    network.push("--adopt", status=0)
    assert network.states()[GONE] == "confirmed"
    assert network.runs(GONE) == network.runs(GONE).replace("transmit-interval 300", "")


def test_a_dry_run_reports_it_and_changes_nothing(network: Network) -> None:
    ran = network.push("--dry-run", *SKIP, "--format", "json", status=3)
    reported = json.loads(ran.stdout)
    assert GONE not in reported["switches"]
    assert "FAB9140" in {one["code"] for one in reported["findings"]}
    assert {network.interval(name) for name in network.source.devices if name != GONE} == {"first"}


@pytest.mark.slow
def test_no_wave_relies_on_a_switch_that_does_not_answer(network: Network) -> None:
    network.ask("mend", GONE)
    network.ask("cut", "spine01a")
    network.edit(DISRUPTIVE)
    ran = network.push(*SKIP, status=1)
    assert "FAB9121" in ran.stderr, "the other spine is all that is left"
    assert network.states() == {}, "no run is left behind"
    network.keep = "0%"
    assert (
        "0 % of plane a spines"
        in network.push(*SKIP, "--only", "spine01a", "--only", "spine02a", status=3).stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["deny", "impostor"])
def test_rejected_login_and_other_host_key_are_not_skipped_as_unreachable(
    network: Network, fault: str
) -> None:
    network.ask("mend", GONE)
    network.fault(GONE, "open", 1, "before", fault)
    ran = network.push(*SKIP, status=3)
    assert "FAB9110" in ran.stderr
    assert "FAB9140" not in ran.stderr
    assert network.states() == {}


def test_push_without_reachable_switches_does_not_start(network: Network) -> None:
    ran = network.push(*SKIP, "--only", GONE, status=3)
    assert "FAB9110" in ran.stderr
    assert network.states() == {}


@pytest.mark.slow
def test_a_resumed_run_that_is_refused_is_over_as_before(network: Network) -> None:
    network.push(*SKIP, status=3)
    network.ask("mend", GONE)
    network.ask("alarm", GONE)
    assert "FAB9132" in network.push("--resume", status=1).stderr
    assert run_outcomes(network) == ["partial"]
    network.push("--adopt", "--allow-alarms", status=0)


@pytest.mark.slow
def test_the_partner_of_a_switch_that_does_not_answer_stays_in_service(tmp_path: Path) -> None:
    text = specs.TWO_TIERS.format(cluster="small", hosts=4, more="")
    network = Network.start(tmp_path, text.replace("frr, uplinks: 2}", "frr, uplinks: 2, border: 2}"))
    network.direct = True
    try:
        first, second = sorted(name for name in network.source.devices if "border" in name)
        network.edit(DISRUPTIVE)
        network.ask("cut", first)
        ran = network.push(*SKIP, status=1)
        assert f"FAB9141: {second} cannot be taken out of service: {first}, which backs it up" in ran.stderr
        assert network.states() == {}, "no run is left behind"
        only = ("--only", "spine01a", "--only", first)
        assert "FAB9140" in network.push("--dry-run", *SKIP, *only, status=3).stderr, (
            "the remedy of the message"
        )
        network.keep = "0%"
        assert "FAB9141" not in network.push("--dry-run", *SKIP, status=3).stderr, "and the other one"
    finally:
        network.stop()
