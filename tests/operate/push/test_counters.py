"""Counters and alarms at the gates of a push, against simulated switches over real sockets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.devices.login import Login
from fabricc.operate.devices.running import reverting_of_driver
from tests.operate.push import matrix
from tests.operate.push.network import HITLESS

if TYPE_CHECKING:
    from tests.operate.push.network import Network

NEW = matrix.NEW[HITLESS]


@pytest.mark.slow
def test_a_storm_on_the_canary_stops_the_push_there(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine01a", "commit_config", 1, "after", "storm")
    output = network.push("--adopt", status=3).stderr
    assert "spine01a: the PFC watchdog of swp1 detected 1 storm" in output
    states = network.states()
    assert states.pop("spine01a") == "rolled-back"
    assert set(states.values()) == {"planned"}
    network.truthful(NEW)


@pytest.mark.slow
def test_a_storm_on_a_switch_that_is_yet_to_change_stops_the_push_before_it(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine02a", "open", 2, "after", "storm")
    output = network.push("--adopt", status=3).stderr
    assert "spine02a, before its change: the PFC watchdog of swp1 detected 1 storm" in output
    states = network.states()
    assert states.pop("spine01a") == "confirmed"
    assert set(states.values()) == {"planned"}
    network.truthful(NEW)


@pytest.mark.slow
def test_a_storm_that_the_canary_causes_on_a_neighbor_takes_the_canary_back(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("su001-tor1a", "open", 2, "after", "storm")
    output = network.push("--adopt", status=3).stderr
    assert "spine01a: its neighbor su001-tor1a: the PFC watchdog of swp1 detected 1 storm" in output
    states = network.states()
    assert states.pop("spine01a") == "rolled-back"
    assert set(states.values()) == {"planned"}
    network.truthful(NEW)


def test_push_leaves_a_switch_that_changed_after_it_was_read(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine02a", "get_config", 2, "before", "drift")
    output = network.push("--adopt", status=3).stderr
    assert "spine02a was changed after it was read" in output
    assert network.states()["spine02a"] == "planned"
    assert "maximum-prefix 99" in network.runs("spine02a")


@pytest.mark.slow
def test_alarms_refuse_a_push_before_it_starts_and_new_ones_stop_it(network: Network) -> None:
    network.edit(HITLESS)
    network.ask("alarm", "spine02a")
    assert "FAB9132" in network.push("--adopt", status=1).stderr
    assert network.states() == {}
    network.push("--adopt", "--allow-alarms", "--only", "spine02a", status=0)
    network.fault("spine01a", "commit_config", 1, "after", "alarm")
    output = network.push("--adopt", "--allow-alarms", "--only", "spine01a", status=3).stderr
    assert "alarm: fan 2 has failed" in output
    assert network.states() == {"spine01a": "rolled-back"}


@pytest.mark.slow
def test_congestion_warns_or_stops_the_push(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine01a", "commit_config", 1, "after", "pause")
    output = network.push("--adopt", "--only", "spine01a", status=0).stderr
    assert "warning: spine01a: swp1 counts" in output
    network.fault("spine02a", "commit_config", 1, "after", "pause")
    output = network.push("--adopt", "--only", "spine02a", "--congestion", "stop", status=3).stderr
    assert "PFC frames a second" in output
    assert network.states() == {"spine02a": "rolled-back"}


@pytest.mark.slow
def test_push_lists_missing_counters_before_it_starts(network: Network) -> None:
    network.edit(HITLESS)
    line = "not stated by frr, so not watched: next hops (6), PFC frames sent (6), ECN marks (6)"
    assert line in network.push("--adopt", "--dry-run", status=0).stdout
    output = network.push("--adopt", status=0).stderr
    assert output.index(line) < output.index("wave 1 of")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--plan",), ("--dry-run",)])
def test_a_time_that_a_driver_would_refuse_is_refused_before_the_start(
    network: Network, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    network.push(status=0)
    driver = sys.modules["napalm_simulated"].SimulatedDriver
    monkeypatch.setattr(driver, "CONFIRM_LIMITS", (30, 3600), raising=False)
    network.edit(HITLESS)
    output = network.push(*options, status=1).stderr
    assert "FAB9133" in output
    assert "frr reverts a commit within 30 to 3600 s, not 10 s (6 switches, such as su001-tor1a)" in output
    assert network.interval("spine01a") == "first"
    network.push("--confirm-within", "30", *options, status=0)


@pytest.mark.parametrize(
    ("nos", "wanted", "taken", "limits"),
    [
        ("nxos", 29, 29, "30 to 3600 s"),
        ("nxos", 30, 30, ""),
        ("nxos", 3601, 3601, "30 to 3600 s"),
        ("junos", 10, 60, ""),
        ("junos", 90, 120, ""),
        ("junos", 65535 * 60 + 1, 65536 * 60, "60 to 3932100 s"),
        ("eos", 86400, 86400, "1 to 86399 s"),
        ("eos", 10, 10, ""),
        ("cumulus", 10**6, 1_000_020, ""),
        ("sonic", 10, 10, ""),
        ("frr", 10, 10, ""),
    ],
)
def test_drivers_state_their_confirm_times(nos: str, wanted: int, taken: int, limits: str) -> None:
    driver = reverting_of_driver(nos, Login())
    assert (driver.time(wanted), driver.refuses(wanted)) == (taken, limits)


@pytest.mark.slow
def test_confirm_time_is_rounded_to_minutes_before_the_start(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.push(status=0)
    monkeypatch.setattr(sys.modules["napalm_simulated"].SimulatedDriver, "CONFIRM_STEP", 60)
    network.edit(HITLESS)
    output = network.push("--only", "spine01a", status=0).stderr
    assert "FAB9134" in output
    assert "after 60 s" in output
