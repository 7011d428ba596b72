"""A change of a few switches in one of several networks renders those alone, and comes to what a whole build does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.driver import build_tree
from tests.compiler.test_hosts_of_networks import FRONTEND, HEAD, STORAGE

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.result import BuildResult

WHOLE = f"{HEAD}{STORAGE}{FRONTEND}"
IN_STORAGE = WHOLE.replace(
    STORAGE,
    f"{STORAGE}    overrides: {{storage-rack003-tor1a: {{drain: true}}, storage-spine01a: {{cable_m: 7}}}}\n",
)
IN_RAILS = WHOLE.replace("networks:\n", "overrides: {su001-tor2a: {drain: true}}\nnetworks:\n")
IN_BOTH = IN_STORAGE.replace("networks:\n", "overrides: {su001-tor2a: {drain: true}}\nnetworks:\n")
OF_HOSTS = WHOLE.replace(STORAGE, f"{STORAGE}    overrides: {{storage-rack003-tor1a: {{cable_m: 2}}}}\n")
MANY = HEAD.replace("hosts: 4, hosts_per_unit: 4, capacity: 16", "hosts: 32, hosts_per_unit: 16")


def build_text(folder: Path, out: str, text: str) -> BuildResult:
    spec = folder / "cluster.yaml"
    spec.write_text(text.replace(HEAD[: HEAD.index("tors:")], MANY[: MANY.index("tors:")]))
    result, _ = build_tree(spec, folder / out, jobs=1)
    assert result.exit_status == 0
    return result


def tree_contents(result: BuildResult) -> dict[str, bytes]:
    assert result.tree is not None
    return {
        str(path.relative_to(result.tree)): path.read_bytes()
        for path in result.tree.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "most"),
    [
        pytest.param(IN_STORAGE, 12, id="storage", marks=pytest.mark.slow),
        pytest.param(IN_RAILS, 1, id="rails", marks=pytest.mark.slow),
        pytest.param(IN_BOTH, 13, id="both"),
        pytest.param(OF_HOSTS, 8, id="hosts"),
    ],
)
def test_it_comes_to_the_same(tmp_path: Path, changed: str, most: int) -> None:
    first = build_text(tmp_path, "out", WHOLE)
    before = tree_contents(first)
    part = build_text(tmp_path, "out", changed)
    assert part.proved in range(1, most + 1)
    assert part.counts == first.counts
    whole = build_text(tmp_path, "fresh", changed)
    assert tree_contents(part) == tree_contents(whole)
    back = build_text(tmp_path, "out", WHOLE)
    assert back.proved in range(1, most + 1)
    assert tree_contents(back) == before
