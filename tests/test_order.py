"""An output depends on its input alone: not on the number of workers, nor on earlier work of the process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc import audit_folder, build, check, diff
from fabricc.review.diff.review_json import as_json
from tests.audit.adopted import GAPS, SHAPES, specs_to_try
from tests.outward import spec_text as outward
from tests.segmented import spec_text as segmented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.compiler import BuildResult

    Words = Mapping[str, Any] | Path

SMALL: Mapping[str, Words] = {
    "eos": yaml.safe_load(segmented("eos")),
    "sonic": yaml.safe_load(outward("sonic")),
}
LARGE = ("meta-24k", "whole-cluster-256", "superpod-b200-4su")
"""Inventories that take minutes."""


def write_spec(words: Words, folder: Path) -> Path:
    """The spec in a folder of its own, what systems cannot express accepted."""
    folder.mkdir(parents=True)
    spec = folder / "cluster.yaml"
    if isinstance(words, Path):
        shutil.copytree(words.parent, folder, dirs_exist_ok=True)
        return spec
    own = words.get("accept", [])
    known = {each["code"] for each in own}
    more = [{"code": code, "reason": "no part of what is tried"} for code in GAPS if code not in known]
    spec.write_text(yaml.safe_dump({**words, "accept": [*own, *more]}))
    return spec


def list_findings(result: BuildResult, folder: Path) -> list[str]:
    return [repr(each).replace(str(folder), "") for each in result.diagnostics]


def review_trees(tree: Path, other: Path, jobs: int) -> str:
    """The review of another spec's."""
    return repr(as_json(diff(tree, other, jobs=jobs)))


def compile_and_check(words: Words, other: Words, folder: Path, jobs: int) -> Mapping[str, object]:
    """All that comes of a spec, and of a tree in which a line of some switches is missing."""
    shutil.rmtree(folder, ignore_errors=True)
    spec = write_spec(words, folder)
    built = build(spec, folder / "out", jobs=jobs)
    found: dict[str, object] = {"built": list_findings(built, folder)}
    if built.tree is None:
        return found
    tree = built.tree
    files = [path for path in sorted(tree.rglob("*")) if path.is_file()]
    found["tree"] = {path.relative_to(tree): path.read_bytes() for path in files}
    found["again"] = build(spec, folder / "out", jobs=jobs).up_to_date
    found["review"] = review_trees(tree, write_spec(other, folder / "other"), jobs).replace(str(folder), "")
    for path in [path for path in files if "switches" in path.parts][::3]:
        lines = path.read_text().split("\n")
        at = len(lines) // 2
        path.write_text("\n".join([*lines[:at], *lines[at + 1 :]]))
    found["checked"] = list_findings(check(tree, spec, jobs=jobs), folder)
    audit = audit_folder(tree / "switches" if (tree / "switches").is_dir() else tree, jobs=jobs)
    found["audited"] = audit.findings, list(audit.devices), audit.coverage.devices
    return found


def check_order(chosen: Mapping[str, Words], folder: Path) -> None:
    """One after the other by one process each, and then once more the other way round by several."""
    names = list(chosen)
    following = dict(zip(names, [*names[1:], names[0]], strict=True))
    first = {name: compile_and_check(chosen[name], chosen[following[name]], folder, 1) for name in names}
    for at, name in enumerate(reversed(names)):
        again = compile_and_check(chosen[name], chosen[following[name]], folder, 2 + at % 2)
        for part, value in first[name].items():
            assert again[part] == value, (name, part)
    assert any("tree" in each for each in first.values())


@pytest.mark.slow
def test_neither_workers_nor_other_fabrics_change_what_comes_of_a_spec(tmp_path: Path) -> None:
    check_order(SMALL, tmp_path / "zone")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_neither_changes_what_comes_of_any_spec(part: int, tmp_path: Path) -> None:
    """Shapes, recipes, examples and inventories, a sixth of them at a time."""
    chosen = {name: words for name, words in specs_to_try().items() if name not in LARGE}
    assert chosen.keys() >= SHAPES.keys()
    check_order(dict(list(chosen.items())[part::6]), tmp_path / "zone")
