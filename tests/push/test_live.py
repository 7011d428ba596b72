"""A live fabric of FRR switches taken from one state to the next over SSH, with traffic running."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.lab import demands, lifecycle, scenarios, state
from fabricc.lab.flows import Stream
from tests.push.live import Live
from tests.push.network import DISRUPTIVE, HITLESS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VICTIM = "spine01a"
ONLY = ("--adopt", "--only", VICTIM)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    try:
        yield Live.start(tmp_path)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.down(tmp_path / "lab")


def pushed_under_traffic(live: Live, *options: str) -> int:
    """Push, and tell how many datagrams of 64 flows were lost meanwhile."""
    ended: list[tuple[int, str]] = []
    with Stream(live.lab, scenarios.surviving(live.network, live.network.predict())) as stream:
        stream.start()
        scenarios.while_running(lambda: ended.append(live.push(*options)), stream)
        stream.recover(60)
        outage = stream.outage()
    assert ended[0][0] == 0, ended[0][1]
    assert outage.silent == 0
    print(f"{outage.lost} of {outage.sent} datagrams lost, longest gap {outage.worst_s * 1000:.0f} ms")
    return outage.lost


def test_a_spine_is_drained_and_changed_over_ssh_and_no_datagram_is_lost(live: Live) -> None:
    live.edit(DISRUPTIVE)
    assert pushed_under_traffic(live, *ONLY) == 0
    assert live.states() == {VICTIM: "undrained"}
    assert "timers bgp 3 12" in live.runs(VICTIM)
    assert "graceful-shutdown additive" not in live.runs(VICTIM)


@pytest.mark.slow
def test_the_whole_fabric_goes_from_one_state_to_the_next_and_no_datagram_is_lost(live: Live) -> None:
    live.edit(HITLESS)
    assert pushed_under_traffic(live, "--adopt") == 0
    assert set(live.states().values()) == {"confirmed"}
    assert all("transmit-interval 500" in live.runs(name) for name in live.source.devices)
    live.settle()
