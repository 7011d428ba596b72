"""A tree against its manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.proof.tree import TreeError, read_manifest, verify_manifest
from tests.tree.samples import emit_tree, make_files


def test_changed_missing_and_added_files_are_named(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    tree = tmp_path / "zone"
    manifest = read_manifest(tree)
    assert verify_manifest(tree, manifest, expected=()) == []
    (tree / "switches/s1/frr.conf").write_text("x")
    (tree / "switches/s2/frr.conf").unlink()
    (tree / "switches/s3/frr.conf").rename(tree / "notes")
    (tree / "switches/s3/frr.conf").symlink_to(tree / "notes")
    found = {(d.code, d.message.split()[0]) for d in verify_manifest(tree, manifest, expected=())}
    assert found == {
        ("FAB6010", "switches/s1/frr.conf"),
        ("FAB6011", "switches/s2/frr.conf"),
        ("FAB6011", "switches/s3/frr.conf"),
        ("FAB6012", "notes"),
    }


def test_a_folder_that_cannot_be_read_is_not_of_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit_tree(tmp_path, make_files(1))
    tree = tmp_path / "zone"
    manifest = read_manifest(tree)
    monkeypatch.chdir(tree)
    for _ in range(20):  # longer than a path may be
        Path("d" * 250).mkdir()
        monkeypatch.chdir("d" * 250)
    (found,) = verify_manifest(tree, manifest, expected=())
    assert found.code == "FAB6012"
    assert found.message.startswith("dddd")


def test_a_folder_without_manifest_is_no_tree(tmp_path: Path) -> None:
    with pytest.raises(TreeError) as raised:
        read_manifest(tmp_path)
    assert raised.value.code == "FAB6013"


def test_a_folder_of_trees_names_them(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    with pytest.raises(TreeError) as raised:
        read_manifest(tmp_path)
    (found,) = raised.value.diagnostics
    assert found.help == f"Built trees in it: {tmp_path / 'zone'}."
