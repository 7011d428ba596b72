"""A thousand switches in one push: connections and memory stay bounded."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from tests.push.network import Network

LARGE = Path(__file__).parents[2] / "inventories" / "meta-24k"
SWITCHES, PARALLEL = 1000, 64


@pytest.mark.slow
def test_a_thousand_switches_are_pushed_with_bounded_connections_and_memory(tmp_path: Path) -> None:
    text = (LARGE / "cluster.yaml").read_text()
    network = Network.start(tmp_path, text, lambda running: running.replace("min-rx 300", "min-rx 400"))
    try:
        chosen = list(network.source.devices)[-SWITCHES:]
        began = time.monotonic()
        only = [word for name in chosen for word in ("--only", name)]
        ran = network.push(
            "--adopt",
            "--parallel",
            str(PARALLEL),
            "--settle",
            "60",
            "--confirm-within",
            "600",
            *only,
            status=0,
        )
        seconds = time.monotonic() - began
        peak = network.ask("peak")
        memory_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(
            f"{SWITCHES} switches in {seconds:.0f} s, {peak['connections']} connections, {memory_kib >> 10} MiB"
        )
        print(ran.stderr[-2000:])
        assert set(network.states().values()) == {"confirmed"}
        assert peak["connections"] <= PARALLEL + 1
        assert memory_kib < 1 << 20
    finally:
        network.stop()
