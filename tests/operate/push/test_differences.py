"""A device's own difference is printed in part when it is long, and refused when it is larger than any change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.operate.push.network import HITLESS

if TYPE_CHECKING:
    from tests.operate.push.network import Network

ONLY = ("--adopt", "--only", "spine01a")


@pytest.fixture
def network(network: Network) -> Network:
    network.edit(HITLESS)
    return network


def test_a_long_difference_is_shown_in_part_and_whole_to_programs(network: Network) -> None:
    network.fault("spine01a", "compare_config", 1, "instead", "long")
    shown = network.push("--dry-run", *ONLY, status=0).stdout
    assert shown.count("\n+x") <= 1000
    assert "more lines; --format json has them all" in shown
    network.fault("spine01a", "compare_config", 1, "instead", "long")
    reported = json.loads(network.push("--dry-run", *ONLY, "--format", "json", status=0).stdout)
    assert reported["switches"]["spine01a"]["diff"].count("\n+x") == 5000


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--dry-run",), ()])
def test_a_difference_larger_than_any_change_is_refused(network: Network, words: tuple[str, ...]) -> None:
    network.fault("spine01a", "compare_config", 1, "instead", "huge")
    ran = network.push(*words, *ONLY, status=1)
    assert "FAB9108" in ran.stderr
    assert len(ran.stdout + ran.stderr) < 10_000
    assert network.states() == {}, "no run is left behind"
    assert network.interval("spine01a") == "first"


def test_one_that_grows_in_the_midst_of_a_change_takes_the_switch_back(network: Network) -> None:
    network.fault("spine01a", "compare_config", 2, "instead", "huge")
    assert "FAB9108" in network.push(*ONLY, status=3).stderr
    assert network.states() == {"spine01a": "rolled-back"}
    network.truthful("none")
