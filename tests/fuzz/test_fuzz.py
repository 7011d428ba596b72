"""Some 400 inputs in the ordinary run, 100,000 in the slow one; what once broke something is opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.campaign import REGRESSIONS, load_regression, open_input, run_campaign
from tests.fuzz.targets import CORPORA

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fuzz.arena import Arena

SEED = 20
ORDINARY, ALL = 400, 100_000


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*--*")), ids=lambda path: path.name)
def test_recorded_fuzz_regressions_pass(arena: Arena, path: Path) -> None:
    target, data = load_regression(path)
    assert open_input(arena, target, data) == ""


@pytest.mark.slow
def test_no_input_of_any_kind_breaks_anything(arena: Arena) -> None:
    result = run_campaign(arena, ORDINARY, SEED)
    assert sum(result.inputs.values()) >= ORDINARY * 0.9
    assert not result.failures, "\n".join(f"{one.seed}: {one.reason}" for one in result.failures)


@pytest.mark.slow
def test_100_000_inputs_of_every_kind_break_nothing(arena: Arena) -> None:
    if not CORPORA.is_dir():
        print(f"without published configurations: no {CORPORA}")
    result = run_campaign(arena, ALL, SEED + 1)
    assert not result.failures, "\n".join(f"{one.seed}: {one.reason}" for one in result.failures)
