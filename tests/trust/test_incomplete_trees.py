"""`diff` compares trees only as their builds wrote them, and a concurrent build never causes a false verdict."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.proof import tree as trees
from fabricc.review.diff import trees as sides_of_trees

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.conftest import Clone

FILE = "switches/spine01a/frr.conf"


@pytest.fixture
def pair(clone: Clone) -> tuple[Path, Path]:
    other = clone.top / "other" / "lab"
    shutil.copytree(clone.tree, other)
    return clone.tree, other


def test_equal_trees_have_no_changes(clone: Clone, pair: tuple[Path, Path]) -> None:
    status, printed = clone.reading("diff", *map(str, pair))
    assert status == 0
    assert printed.startswith("no device changes")


@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)], ids=["older", "newer", "both"])
@pytest.mark.parametrize("fault", ["changed", "missing", "folder missing", "host file missing", "unreadable"])
@pytest.mark.spread
def test_a_tree_that_is_not_as_its_manifest_states_is_rejected(
    clone: Clone, pair: tuple[Path, Path], fault: str, sides: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for side in sides:
        tree = pair[side]
        if fault == "changed":
            text = (tree / FILE).read_text()
            (tree / FILE).write_text(text.replace("9100", "9000") + "! edited\n")
        elif fault == "missing":
            (tree / FILE).unlink()
        elif fault == "folder missing":
            shutil.rmtree(tree / "switches")
        elif fault == "host file missing":
            next(path for path in (tree / "hosts").rglob("*") if path.is_file()).unlink()
        else:
            (tree / FILE).unlink()
            os.mkfifo(tree / FILE)
    code = "FAB6010" if fault == "changed" else "FAB6011"
    status, printed = clone.reading("diff", *map(str, pair))
    assert status == 1
    assert code in printed
    assert "no device changes" not in printed
    monkeypatch.setattr(trees, "_PIECE", 5)
    monkeypatch.setattr(sides_of_trees, "usable_cpus", lambda: 2)
    assert clone.reading("diff", *map(str, pair)) == (status, printed), "as large trees are read"
    checked, report = clone.reading("check", str(pair[sides[0]]), "--spec", "cluster.yaml")
    assert checked == 1
    assert code in report, "check reports the same"


def test_a_check_next_to_a_build_is_repeated(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build exchanges the tree after the manifest is read: the first reading is of two builds."""
    read, builds = trees.Folder.digest, []

    def exchanged(folder: trees.Folder, name: str, **limits: int) -> str:
        if name == "plan/classes.csv" and not builds:
            builds.append(run(["build", "cluster.yaml"]))
        return read(folder, name, **limits)

    spec = clone.top / "cluster.yaml"
    spec.write_text(spec.read_text().replace("dscp: 26", "dscp: 34"))
    monkeypatch.setattr(trees.Folder, "digest", exchanged)
    status = run(["check", "build/lab"])
    printed = "".join(clone.capsys.readouterr())
    assert builds == [0]
    assert status == 0, printed
    assert "FAB6010" not in printed


def test_a_tree_that_changes_at_every_attempt_is_no_false_verdict(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = iter(range(1000))
    monkeypatch.setattr(trees, "_manifest_digest", lambda _: str(next(digests)))
    (clone.tree / FILE).unlink()
    status, printed = clone.reading("diff", str(clone.tree), str(clone.tree))
    assert status == 1
    assert "FAB6020" in printed


def test_a_manifest_that_names_another_cluster_than_its_plan_is_rejected(
    clone: Clone, pair: tuple[Path, Path]
) -> None:
    manifest = pair[1] / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"cluster": "lab"', '"cluster": "other"', 1))
    for words in (("diff", *map(str, pair)), ("check", str(pair[1]), "--spec", "cluster.yaml")):
        status, printed = clone.reading(*words)
        assert status == 1, words
        assert "names the cluster 'other'" in printed
