"""A lock that is gone is no first build, and a conflict that a merge left is refused in every input."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.base.documents.document import conflict_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.conftest import Clone

CONFLICT = "<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> topic\n"


@pytest.mark.parametrize(
    "words", [("build", "cluster.yaml"), ("build", "cluster.yaml", "--frozen"), ("lock", "cluster.yaml"),
              ("lock", "--check", "cluster.yaml")], ids=" ".join,
)  # fmt: skip
def test_a_missing_lock_next_to_a_standing_tree_is_an_error(clone: Clone, words: tuple[str, ...]) -> None:
    (clone.top / "fabricc.lock").unlink()
    status, printed = clone.reading(*words)
    assert status == 1
    assert "FAB9037" in printed
    assert "git checkout" in printed


def test_a_first_build_needs_no_lock(clone: Clone) -> None:
    (clone.top / "fabricc.lock").unlink()
    assert clone.fabricc("build", "cluster.yaml", "-o", "first")[0] == 0


def test_a_lock_that_git_has_and_the_work_tree_lacks_is_an_error(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (clone.top / ".git").rmdir()
    for words in (["init", "-q"], ["add", "-f", "fabricc.lock"]):
        subprocess.run(["git", "-C", str(clone.top), *words], check=True, timeout=60)
    (clone.top / "fabricc.lock").unlink()
    status, printed = clone.fabricc("build", "cluster.yaml", "-o", str(tmp_path / "out"))
    assert status == 1
    assert "Git has one" in printed


@pytest.mark.parametrize("kind", ["overlay", "catalog", "spec", "policy", "identities", "template", "prices"])
def test_a_conflict_in_any_input_is_named_with_its_line(clone: Clone, kind: str) -> None:
    spec, words = clone.top / "cluster.yaml", ("validate", "cluster.yaml")
    text = spec.read_text()
    conflict = "# first line\n" + CONFLICT.format(ours="ip route 10.0.0.0/8 Null0", theirs="! none")
    if kind == "overlay":
        (clone.top / "o.conf").write_text(conflict)
        spec.write_text(text + "overlays: [{file: o.conf, nos: frr, into: frr.conf, tiers: [spine]}]\n")
    elif kind == "catalog":
        (clone.top / "c.yaml").write_text(conflict)
        spec.write_text(text + "catalog: [c.yaml]\n")
    elif kind == "spec":
        spec.write_text("# first line\n" + CONFLICT.format(ours="x: 1", theirs="x: 2") + text)
    elif kind == "policy":
        (clone.top / "p.yaml").write_text(conflict)
        words = ("diff", "cluster.yaml", "cluster.yaml", "--policy", "p.yaml")
    elif kind == "identities":
        (clone.top / "d.csv").write_text(conflict)
        spec.write_text(text + "identities: {devices: d.csv}\n")
    elif kind == "template":
        (clone.top / "t" / "frr").mkdir(parents=True)
        (clone.top / "t" / "frr" / "frr.conf.j2").write_text(conflict)
        words = ("build", "cluster.yaml", "-o", "fresh", "--templates", "t")
    else:
        (clone.top / "p.csv").write_text(conflict)
        words = ("plan", "cluster.yaml", "--alternatives", "--prices", "p.csv")
    status, printed = clone.fabricc(*words)
    assert status == (3 if kind == "template" else 1), printed
    assert "a merge conflict is not resolved: <<<<<<<" in printed
    assert ":2" in printed


@pytest.mark.parametrize(
    "line", ["<<<<<<< HEAD", "=======", ">>>>>>> x", "||||||| base", "<<<<<<<<<<<< HEAD", ">>>>>>>\r"]
)
def test_every_marker_alone_is_a_conflict(line: str) -> None:
    found = conflict_in(f"a\n{line}\nb\n", "file")
    assert found is not None
    assert found.position is not None
    assert found.position.line == 2


@pytest.mark.parametrize(
    "line", [" =======", "========", "! ======= !", "a <<<<<<< b", "<<<<<<<x", "<<: *a", "> text"]
)
def test_other_lines_are_none(line: str) -> None:
    assert conflict_in(f"a\n{line}\nb\n", "file") is None
