"""Every recipe of the cookbook, on the spec that `fabricc init` writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

PAGE = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text("utf-8")
RECIPES = {
    section.partition("\n")[0]: found[1]
    for section in PAGE.split("\n## ")[1:]
    if (found := re.search(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
}


def test_recipes_are_found() -> None:
    assert len(RECIPES) == PAGE.count("```yaml") > 10


@pytest.mark.parametrize("task", RECIPES)
def test_a_recipe_compiles(task: str, tmp_path: Path, fabricc: Callable[..., Ran]) -> None:
    assert fabricc("init", str(tmp_path / "fabric")).status == 0
    path = tmp_path / "fabric" / "cluster.yaml"
    spec = yaml.safe_load(path.read_text())
    added = yaml.safe_load(RECIPES[task])
    assert {**spec, **added} != spec
    path.write_text(json.dumps({**spec, **added}))
    found = compile_spec(path)
    assert [each.message for each in found.diagnostics if each.severity is Severity.ERROR] == []
