"""The fabrics that the benchmark times are built by today's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
