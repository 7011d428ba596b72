"""A thousand switches in one push, and in one verification: connections and memory stay bounded, and none times out."""

from __future__ import annotations

import json
import os
import resource
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.operate.push.network import FABRICC, Network, run_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGE = Path(__file__).parents[3] / "inventories" / "meta-24k"
SWITCHES, PARALLEL = 1000, 64


@contextmanager
def large_network(folder: Path, older: Callable[[str], str] = str) -> Iterator[tuple[Network, list[str]]]:
    """The largest inventory behind one server, and the names of a thousand of its switches."""
    network = Network.start(folder, (LARGE / "cluster.yaml").read_text(), older)
    try:
        yield network, list(network.source.devices)[-SWITCHES:]
    finally:
        network.stop()


@contextmanager
def measure_push(network: Network, what: str) -> Iterator[None]:
    """Report the wall time, the processor time of ours and of the peers, connections and memory; bound the last two."""
    ours, peers, began = (
        resource.getrusage(resource.RUSAGE_CHILDREN),
        seconds_of(network.server.pid),
        time.monotonic(),
    )
    yield
    wall, now = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = now.ru_utime + now.ru_stime - ours.ru_utime - ours.ru_stime
    peak, memory_kib = network.ask("peak"), now.ru_maxrss
    print(
        f"{what} of {SWITCHES} switches: {wall:.0f} s; processor {busy:.0f} s of ours, "
        f"{seconds_of(network.server.pid) - peers:.0f} s of the peers; {peak['connections']} connections, "
        f"{memory_kib >> 10} MiB"
    )
    assert peak["connections"] <= PARALLEL + 1
    assert memory_kib < 1 << 20


def seconds_of(process: int) -> float:
    """Processor time of a process, seconds (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_thousand_switches_are_pushed_with_bounded_connections_and_memory(tmp_path: Path) -> None:
    with large_network(tmp_path, lambda running: running.replace("min-rx 300", "min-rx 400")) as (
        network,
        chosen,
    ):
        only = [word for name in chosen for word in ("--only", name)]
        lost = ["--allow-lockout", "operator"]  # the inventory has accounts of its own
        options = ["--adopt", "--parallel", str(PARALLEL), "--settle", "60", "--confirm-within", "600"]
        with measure_push(network, "push"):
            network.push(*options, *lost, *only, status=0)
        assert set(network.states().values()) == {"confirmed"}
        assert len(network.states()) == SWITCHES


@pytest.mark.slow
def test_a_thousand_switches_are_verified_and_none_times_out(tmp_path: Path) -> None:
    with large_network(tmp_path) as (network, chosen):
        words = [
            *FABRICC,
            "verify",
            str(network.source.tree),
            "--access",
            str(network.access),
            "--parallel",
            str(PARALLEL),
            "--format",
            "json",
        ]
        with measure_push(network, "verification"):
            ran = run_apart([*words, "--devices", ",".join(chosen)])
        report = json.loads(ran.stdout)
        assert report["not_asked"] == {}
        assert len(report["compared"]["config"]) == SWITCHES
        assert ran.returncode == 0
