"""A push to a switch that has another name now: the same box, whose journal goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.operate.push.network import HITLESS

if TYPE_CHECKING:
    from tests.operate.push.network import Network


@pytest.mark.slow
def test_a_renamed_switch_is_known_by_its_former_name_and_keeps_its_traffic(network: Network) -> None:
    network.edit(HITLESS)
    network.push("--adopt", status=0)
    network.edit(f"{HITLESS}\nmoved: {{spine01a: spine-east}}")
    preview = network.push("--dry-run", status=0).stdout
    assert "spine-east" in preview
    output = network.push(status=0).stderr
    assert ", 0 disruptively;" in output
    assert network.states()["spine-east"] == "confirmed"
    assert "hostname spine-east" in network.runs("spine-east")

    network.push("--rollback", "2", status=0)
    assert "hostname spine01a" in network.runs("spine-east")
    network.push(status=0)
    network.edit(HITLESS)
    assert "spine-east" in network.source.devices, "the lock keeps the name"
    assert "0 of" in network.push(status=0).stderr
    network.edit("moved: {}".replace("{}", "{spine-east: spine-e}"))
    network.push(status=0)
    assert "hostname spine-e\n" in network.runs("spine-e")


@pytest.mark.slow
def test_rollback_restores_a_renamed_switch(network: Network) -> None:
    network.push("--adopt", status=0)
    network.edit(HITLESS)
    network.push(status=0)
    network.edit(f"{HITLESS}\nmoved: {{spine01a: spine-east}}")
    network.push(status=0)
    network.push("--rollback", "2", status=0)
    assert network.interval("spine-east") == "first"
