"""The fabrics that the benchmark times are built by today's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.push import measure_push
from benchmarks.specs import SYSTEMS, TWO_TIERS, Fabric
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("gpus", [TWO_TIERS, 2 * TWO_TIERS])
def test_a_timed_fabric_is_sound(system: str, gpus: int, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(Fabric(gpus, system).spec(), encoding="utf-8")
    assert compile_spec(spec).sound


@pytest.mark.slow
def test_a_hitless_push_takes_at_most_30_requests_of_each_switch(tmp_path: Path) -> None:
    found = measure_push(tmp_path / "all", 12)
    assert (found.switches, found.silent) == (12, 0)
    assert found.requests <= 30
    silent = measure_push(tmp_path / "silent", 12, 1)
    assert silent.requests <= 30, "a silent switch makes nobody ask the others again"


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "most"), [("nxos", 30), ("junos", 60)])
def test_silent_switches_make_nobody_request_more(nos: str, most: int, tmp_path: Path) -> None:
    found = measure_push(tmp_path / "silent", 12, 1, nos)
    assert (found.nos, found.switches, found.silent) == (nos, 12, 1)
    assert found.requests <= most
