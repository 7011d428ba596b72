"""Pushes one after the other: growth, removal, rollbacks, an upgraded image, a restart. Journal and switches agree."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.devices import running
from tests.operate.lab import specs
from tests.operate.push.network import DISRUPTIVE, HITLESS, Network
from tests.operate.push.test_drivers import make_bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PORT = "overrides: {su001-tor1a: {ports: {swp1: {shutdown: true}}}}"
NEW = ("confirmed", "undrained", "unchanged")


def as_new(text: str) -> str:
    """Return the configuration of a switch of the third rack as it comes from its maker."""
    if "hostname su003" not in text:
        return text
    name = re.search(r"hostname (\S+)", text)[1]  # type: ignore[index]
    files = {"frr.conf": f"frr version 8.4\nfrr defaults traditional\nhostname {name}\nend\n"}
    return running.pack_files(files)


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Network]:
    """A fabric of two racks, cabled for three; the third rack has switches as they come from their maker."""
    text = specs.two_tiers(tmp_path / "text", 6).read_text()
    found = Network.start(tmp_path, text, as_new)
    found.direct = True
    found.more = text.replace("hosts: 6", "hosts: 4")
    found.edit("")
    yield found
    found.stop()


def require_new(network: Network, names: set[str]) -> None:
    states = network.states()
    assert states.keys() >= names
    assert all(states[name] in NEW for name in names), states


@pytest.mark.slow
def test_a_rack_joins_in_the_change_that_takes_a_port_away(growing: Network) -> None:
    growing.push("--adopt", status=0)
    small, before = set(growing.source.devices), growing.runs("su001-tor1a")
    growing.more = growing.more.replace("hosts: 4", "hosts: 6")
    growing.edit(PORT)
    added = set(growing.source.devices) - small
    assert {name[:5] for name in added} == {"su003"}
    output = growing.push(status=1).stderr
    assert "--adopt" in output, output
    growing.push("--adopt", status=0)
    require_new(growing, small | added)
    assert growing.runs("su001-tor1a") != before
    growing.push(status=0)
    assert set(growing.states().values()) == {"unchanged"}
    growing.push("--rollback", "2", status=0)
    assert growing.runs("su001-tor1a") == before
    assert "router bgp" not in growing.runs(min(added)), "it is again as it came from its maker"
    growing.push("--adopt", status=0)
    require_new(growing, small | added)


@pytest.mark.slow
@pytest.mark.slow
def test_each_run_is_rolled_back_in_any_order_and_pushed_again(network: Network) -> None:
    network.push(status=0)
    first = network.interval("spine01a")
    seen = [first]
    for change in (HITLESS, DISRUPTIVE):
        network.edit(change)
        network.push("--adopt", status=0)
        seen.append(network.interval("spine01a"))
    assert len({*seen}) == 3
    network.push("--rollback", "2", status=0)
    assert network.interval("spine01a") == first, "what ran before run 2, although run 3 came later"
    network.push("--rollback", "3", status=0)
    assert network.interval("spine01a") == seen[1]
    network.push("--rollback", "2", status=0)
    assert network.interval("spine01a") == first
    network.push(status=0)
    assert network.interval("spine01a") == seen[2]
    network.push(status=0)
    assert set(network.states().values()) == {"unchanged"}


def restart_server(server: Any, nos: str) -> None:
    """Start the switch again: it runs what it has saved, and no commit waits."""
    if nos == "eos":
        server._stop()
        server.running = list(server.startup)
        server.sessions.clear()
        server.done.clear()
    else:
        server.running, server.waiting, server.executed = server.startup, None, ""


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["eos", "nxos"])
def test_a_switch_that_restarts_before_the_confirmation_takes_the_next_push(nos: str, tmp_path: Path) -> None:
    with make_bench(tmp_path, nos) as switch:
        switch.lost = True  # the gate waits for sessions
        process = switch.begin()
        until = time.monotonic() + 120
        while switch.state() != "committed-unconfirmed" and time.monotonic() < until:
            time.sleep(0.05)
        restart_server(switch.server, nos)
        assert process.wait(180) == 3
        assert switch.state() == "rolled-back"
        assert not switch.new
        switch.lost = False
        switch.push(status=0)
        assert (switch.state(), switch.new) == ("undrained", True)
        switch.push(status=0)
        assert switch.state() == "unchanged"


@pytest.mark.slow
def test_a_switch_whose_image_was_exchanged_takes_the_next_push(tmp_path: Path) -> None:
    with make_bench(tmp_path, "eos") as switch:
        switch.push(status=0)
        restart_server(switch.server, "eos")
        switch.server.release = "4.31"  # reports sessions in the older form
        switch.push(status=0)
        assert switch.state() == "unchanged"
        switch.push("--rollback", "1", status=0)
        assert (switch.state(), switch.new) == ("undrained", False)
        switch.push(status=0)
        assert (switch.state(), switch.new) == ("undrained", True)
