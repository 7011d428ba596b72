"""A tree that lacks a file is rejected by each verb that reads trees, also if its manifest has no row for the file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base.foreign.files import Folder
from fabricc.cli.entry import run
from fabricc.operate.push.built_tree import take_snapshot
from fabricc.proof.required_files import completeness_findings
from fabricc.proof.tree import TreeError
from fabricc.tree.manifest import NAME, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.trust.conftest import Clone

_INVENTORIES = Path(__file__).parents[2] / "inventories"
_FREE = re.compile(r"jobs/(kubernetes/nic-configuration\.yaml|(nvshmem|mori)(-.*)?\.env)")
"""Files that depend on models of the catalog, which no plan of a tree states; `check` compares them with the spec."""


def kind_of(path: str) -> str:
    """Return a path without the name of its device and without numbers."""
    return re.sub(r"\d+", "N", re.sub(r"^(hosts|switches)/[^/]+/", r"\1/*/", path))


def lacking(tree: Path, path: str) -> Manifest:
    """Return the manifest of a tree without the row of a file."""
    manifest = Manifest.parse((tree / NAME).read_bytes())
    return Manifest(
        manifest.cluster,
        manifest.version,
        manifest.spec,
        manifest.inputs,
        {each: digest for each, digest in manifest.files.items() if each != path},
    )


def remove(tree: Path, *paths: str) -> None:
    """Remove files and their rows in the manifest."""
    for path in paths:
        (tree / path).unlink()
        (tree / NAME).write_bytes(b"".join(lacking(tree, path).parts()))


def kinds(tree: Path) -> Iterator[str]:
    """Yield one path of each kind of files."""
    seen: set[str] = set()
    for path in Manifest.parse((tree / NAME).read_bytes()).files:
        if kind_of(path) not in seen:
            seen.add(kind_of(path))
            yield path


@pytest.mark.parametrize(
    "name",
    [
        "lab-smallest",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "storage-zone",
                "tenant-front-end",
                "rack-zone-512",
                "whole-cluster-256",
                "gb200-nvl72-su",
            )
        ),
    ],
)
def test_every_kind_of_file_is_required_by_the_plan(tmp_path: Path, name: str) -> None:
    shutil.copytree(_INVENTORIES / name, tmp_path / name)
    assert run(["build", str(tmp_path / name / "cluster.yaml"), "-o", str(tmp_path / "out")]) == 0
    tree = next(path for path in (tmp_path / "out").iterdir() if (path / NAME).is_file())
    accepted = set()
    with Folder(tree) as folder:
        assert not [*completeness_findings(folder, Manifest.parse((tree / NAME).read_bytes()))]
        for path in kinds(tree):
            if not [*completeness_findings(folder, lacking(tree, path))]:
                accepted.add(path)
    assert not {path for path in accepted if not _FREE.fullmatch(path)}


@pytest.mark.parametrize(
    "path",
    ["switches/spine01a/daemons", "hosts/su001-host01/etc/nccl.conf", "plan/classes.csv", "jobs/hosts.csv"],
)
@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)], ids=["older", "newer", "both"])
def test_diff_rejects_trees_that_lack_a_file_and_its_row(
    clone: Clone, path: str, sides: tuple[int, ...]
) -> None:
    other = clone.top / "other" / "lab"
    shutil.copytree(clone.tree, other)
    pair = (clone.tree, other)
    for side in sides:
        remove(pair[side], path)
    status, printed = clone.reading("diff", *map(str, pair))
    assert status == 1
    assert "FAB6011" in printed
    assert path in printed
    assert "no device changes" not in printed
    checked, report = clone.reading("check", str(pair[sides[0]]), "--spec", "cluster.yaml")
    assert checked == 1
    assert path.split("/")[-1] in report or "FAB6001" in report


@pytest.mark.parametrize(
    "prefix",
    ["switches/", "hosts/", "switches/spine01a/", "hosts/su001-host01/", "plan/", "jobs/", "acceptance/"],
)
def test_whole_folders_are_missed_by_check_diff_and_push(clone: Clone, prefix: str) -> None:
    files = Manifest.parse((clone.tree / NAME).read_bytes()).files
    remove(clone.tree, *(path for path in files if path.startswith(prefix)))
    for words in (
        ("diff", str(clone.tree), str(clone.tree)),
        ("check", str(clone.tree), "--spec", "cluster.yaml"),
    ):
        status, printed = clone.reading(*words)
        assert status == 1, words
        assert "FAB6011" in printed
    with pytest.raises(TreeError) as caught:
        take_snapshot(clone.tree)
    assert {each.code for each in caught.value.diagnostics} == {"FAB6011"}


def test_check_knows_the_files_that_only_the_spec_names(clone: Clone) -> None:
    remove(clone.tree, "jobs/nvshmem.env")
    status, printed = clone.reading("check", str(clone.tree), "--spec", "cluster.yaml")
    assert status == 1
    assert "jobs/nvshmem.env" in printed


def test_push_and_verify_reject_a_tree_without_a_file_of_its_plan(clone: Clone) -> None:
    remove(clone.tree, "hosts/su001-host01/apply")
    for words in (("push", "--plan"), ("verify",)):
        status, printed = clone.fabricc(words[0], str(clone.tree), "--spec", "cluster.yaml", *words[1:])
        assert status in (1, 2), words
        assert "FAB6011" in printed
        assert "FAB9120" in printed


def test_explain_reports_what_the_tree_lacks(clone: Clone) -> None:
    remove(clone.tree, "switches/spine01a/daemons")
    status, printed = clone.fabricc("explain", f"{clone.tree}/switches/spine01a/frr.conf:3")
    assert status == 0
    assert "switches/spine01a/daemons" in printed


def test_a_tree_of_another_version_is_compared_with_its_own_plan(clone: Clone) -> None:
    """The lists of names are those of this version, so an older tree may lack a table, but no device."""
    manifest = clone.tree / NAME
    manifest.write_text(manifest.read_text().replace('"version": "', '"version": "0.0.1-', 1))
    remove(clone.tree, "plan/worksheet.json", "jobs/ucx.conf")
    assert clone.reading("diff", str(clone.tree), str(clone.tree))[0] == 0
    remove(clone.tree, "switches/spine01a/daemons")
    status, printed = clone.reading("diff", str(clone.tree), str(clone.tree))
    assert status == 1
    assert "switches/spine01a/daemons" in printed
