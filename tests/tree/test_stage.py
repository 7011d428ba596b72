"""The output tree: incremental, exact, and never outside its folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fabricc.tree import EmitError, folders
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.manifest import Manifest
from fabricc.tree.stage import Stage
from tests.tree.samples import emit_tree, make_files

if TYPE_CHECKING:
    from pathlib import Path


def file_states(tree: Path) -> dict[str, tuple[int, int]]:
    return {
        str(p.relative_to(tree)): (p.stat().st_ino, p.stat().st_mtime_ns)
        for p in tree.rglob("*")
        if p.is_file()
    }


def verify(tree: Path) -> dict[str, str]:
    """The tree's files are exactly those of its manifest, byte for byte."""
    stated = Manifest.parse((tree / "manifest.json").read_bytes()).files
    found = {
        str(p.relative_to(tree)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in tree.rglob("*")
        if p.is_file()
    }
    found.pop("manifest.json")
    assert found == stated
    return found


def test_a_second_equal_build_touches_nothing(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    before = file_states(tmp_path / "zone")
    folder = (tmp_path / "zone").stat().st_ino
    done = emit_tree(tmp_path, make_files(1))
    assert (done.written, done.removed) == (0, 0)
    assert file_states(tmp_path / "zone") == before
    assert (tmp_path / "zone").stat().st_ino == folder
    assert sorted(p.name for p in tmp_path.iterdir()) == [".zone.lock", "zone"]


def test_unchanged_files_keep_inode_and_time_and_stale_ones_go(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    before = file_states(tmp_path / "zone")
    done = emit_tree(tmp_path, make_files(2))
    after = file_states(tmp_path / "zone")
    verify(tmp_path / "zone")
    assert done.written == 20 + 1 + 1  # a third of the switches, the generation, the manifest
    assert done.removed == 1
    assert "plan/generation-1.txt" not in after
    unchanged = [p for p in after if p.startswith("switches/") and int(p.split("/")[1][1:]) % 3]
    assert len(unchanged) == 40
    assert all(after[p] == before[p] for p in unchanged)


def test_a_folder_that_loses_its_last_file_goes_too(tmp_path: Path) -> None:
    emit_tree(tmp_path, {"switches/a/x": b"1", "switches/b/x": b"1"})
    emit_tree(tmp_path, {"switches/a/x": b"1"})
    assert [p.name for p in (tmp_path / "zone/switches").iterdir()] == ["a"]


def test_edited_file_is_repaired_and_reported(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    (tmp_path / "zone/switches/s1/frr.conf").write_text("shutdown\n")
    stage = Stage.open(tmp_path, "zone")
    written = [stage.put(p, c) for p, c in make_files(1).items()]
    assert (
        [w.path for w in written if w.changed]
        == [w.path for w in written if w.edited]
        == ["switches/s1/frr.conf"]
    )
    stage.abandon()
    emit_tree(tmp_path, make_files(1))
    verify(tmp_path / "zone")


def test_a_foreign_file_below_a_thousand_folders_is_kept(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    deep = tmp_path / "zone"
    for _ in range(1500):
        deep /= "d"
        deep.mkdir()
    (deep / "mine").write_text("x")
    emit_tree(tmp_path, make_files(2))
    assert (deep / "mine").read_text() == "x"
    (deep / "mine").unlink()
    while deep.name == "d":  # pytest cannot remove so many
        deep.rmdir()
        deep = deep.parent
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".") and path.is_dir()]


def test_files_that_no_build_wrote_are_kept_and_named(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    (tmp_path / "zone/NOTES.md").write_text("mine")
    done = emit_tree(tmp_path, make_files(2))
    assert (tmp_path / "zone/NOTES.md").read_text() == "mine"
    assert [d.code for d in done.diagnostics] == ["FAB7007"]
    assert "NOTES.md" in done.diagnostics[0].message


@pytest.mark.parametrize("place", ["own", "switches/a b", "tree.txt"])
def test_a_mount_in_the_tree_stops_the_build(tmp_path: Path, place: str) -> None:
    """The mounted files would be moved into the new tree, and those that it replaces deleted."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a mount needs root and unshare")
    emit_tree(tmp_path, make_files(1))
    source, target = tmp_path / "source", tmp_path / "zone" / place
    if place.endswith(".txt"):
        source.write_text("precious")
        target.write_text("")
    else:
        (source / "below").mkdir(parents=True)
        target.mkdir(parents=True)
    code = "import pathlib, sys, fabricc.tree.stage as s; s.Stage.open(pathlib.Path(sys.argv[1]), 'zone')"
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$5"'
    places = (source, target, sys.executable, code, tmp_path)
    words = ["unshare", "-m", "sh", "-c", script, "sh", *map(str, places)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "fabricc.tree.EmitError" in ran.stderr, ran.stderr
    assert f"something is mounted at {target}" in ran.stderr
    assert folders.find_mount(tmp_path) is None


def test_a_users_file_where_a_folder_must_go_stops_the_build(tmp_path: Path) -> None:
    emit_tree(tmp_path, {"plan/a": b"1"})
    (tmp_path / "zone/switches").write_text("mine")
    with pytest.raises(EmitError) as refused:
        emit_tree(tmp_path, make_files(1))
    assert refused.value.diagnostic.code == "FAB7002"
    assert (tmp_path / "zone/switches").read_text() == "mine"


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/x",
        "a/../../x",
        "",
        "a//b",
        ".hidden",
        "a/b\n",
        "a\0b",
        "a/" + "b" * 300,
        "a\\b",
        "~",
        "a/-x",
    ],
)
def test_no_name_leads_out_of_the_tree(tmp_path: Path, path: str) -> None:
    with pytest.raises(EmitError) as refused:
        emit_tree(tmp_path, {path: b"x"})
    assert refused.value.diagnostic.code == "FAB7004"


@pytest.mark.parametrize("cluster", ["..", ".", "a/b", "", ".x", "a\n"])
def test_no_cluster_name_leads_out_of_the_output_folder(tmp_path: Path, cluster: str) -> None:
    with pytest.raises(EmitError) as refused:
        Stage.open(tmp_path / "out", cluster)
    assert refused.value.diagnostic.code == "FAB7004"


def test_planted_links_are_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "frr.conf").write_text("precious")
    out = tmp_path / "out"
    emit_tree(out, make_files(1))
    tree = out / "zone"
    (tree / "switches").rename(tree / "moved")
    (tree / "switches").symlink_to(outside)
    (tree / "plan/generation-1.txt").unlink()
    (tree / "plan/generation-1.txt").symlink_to(outside / "frr.conf")
    (out / ".zone.next").symlink_to(outside)
    emit_tree(out, make_files(1))
    assert (outside / "frr.conf").read_text() == "precious"
    assert [p.name for p in outside.iterdir()] == ["frr.conf"]
    assert not (tree / "switches").is_symlink()
    assert (tree / "plan/generation-1.txt").read_bytes() == b"x\n"


@pytest.mark.parametrize("shape", ["link", "file", "files", "other-manifest"])
def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path, shape: str) -> None:
    target = tmp_path / "zone"
    if shape == "link":
        (tmp_path / "real").mkdir()
        target.symlink_to(tmp_path / "real")
    elif shape == "file":
        target.write_text("x")
    else:
        target.mkdir()
        (target / ("thesis.tex" if shape == "files" else "manifest.json")).write_text("{}")
    with pytest.raises(EmitError) as refused:
        emit_tree(tmp_path, make_files(1))
    assert refused.value.diagnostic.code == "FAB7002"
    assert not (target / "switches").exists()


def test_a_tree_whose_manifest_has_merge_conflicts_can_be_built_again(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))
    manifest = tmp_path / "zone/manifest.json"
    manifest.write_text("<<<<<<< ours\n" + manifest.read_text())
    emit_tree(tmp_path, make_files(2))
    verify(tmp_path / "zone")


def test_two_builds_at_once_are_refused(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "zone"), pytest.raises(EmitError) as refused:
        emit_tree(tmp_path, make_files(1))
    assert refused.value.diagnostic.code == "FAB7003"
    assert str(os.getpid()) in refused.value.diagnostic.message
    emit_tree(tmp_path, make_files(1))


def test_the_lock_is_free_after_a_build_although_a_child_forked_meanwhile_still_has_its_file(
    tmp_path: Path,
) -> None:
    reading, writing = os.pipe()
    with hold_lock(tmp_path / "zone"):
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    try:
        emit_tree(tmp_path, make_files(1))
    finally:
        os.close(writing)
        os.waitpid(child, 0)
        os.close(reading)


@pytest.mark.parametrize("before", [None, b"old", b"a,b\n1,2\n"])
def test_a_file_in_parts_is_staged_as_a_whole_one(tmp_path: Path, before: bytes | None) -> None:
    path, parts = "plan/links.csv", [b"a,b\n", b"1,2\n"]
    whole, part = tmp_path / "whole", tmp_path / "part"
    for out in (whole, part):
        out.mkdir()
        if before is not None:
            emit_tree(out, {path: before})
            (out / "zone" / path).write_bytes(before if before in b"".join(parts) else b"edited")
    stages = [Stage.open(out, "zone") for out in (whole, part)]
    written = [stages[0].put(path, b"".join(parts)), stages[1].put_parts(path, lambda: iter(parts))]
    assert written[0] == written[1]
    assert written[0].changed == (before != b"".join(parts))
    staged = [(stage.folder / path) for stage in stages]
    assert [each.exists() for each in staged] == [written[0].changed] * 2
    assert not written[0].changed or staged[0].read_bytes() == staged[1].read_bytes()


def test_a_file_in_parts_is_written_where_the_present_one_may_be_run(tmp_path: Path) -> None:
    emit_tree(tmp_path, {"plan/links.csv": b"x"})
    (tmp_path / "zone/plan/links.csv").chmod(0o755)
    stage = Stage.open(tmp_path, "zone")
    assert stage.put_parts("plan/links.csv", lambda: [b"x"]).changed
    assert not (stage.folder / "plan/links.csv").stat().st_mode & 0o100


def test_a_manifest_of_many_files_comes_in_parts() -> None:
    files_ = {f"hosts/h{number:05}/x": "1" * 64 for number in range(9000)}
    manifest = Manifest("z", "1", "c.yaml", {}, files_)
    parts = [*manifest.parts()]
    assert len(parts) == 3
    assert Manifest.parse(b"".join(parts)) == manifest


def test_manifest_is_sorted_and_reads_back(tmp_path: Path) -> None:
    first, second = "1" * 64, "2" * 64
    one = Manifest("z", "1", "c.yaml", {"b": second, "a": first}, {"y": second, "x": first})
    other = Manifest("z", "1", "c.yaml", {"a": first, "b": second}, {"x": first, "y": second})
    assert [*one.parts()] == [*other.parts()]
    assert Manifest.parse(b"".join(one.parts())) == one


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"made_by": "fabricc"}', b"[" * 100_000])
def test_a_manifest_that_is_none_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        Manifest.parse(content)


def test_kept_folders_of_a_large_tree_serve_the_next_build_and_no_longer_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "KEPT_FROM", 10)
    spare = tmp_path / ".zone.next"
    emit_tree(tmp_path, make_files(1))
    emit_tree(tmp_path, make_files(2))
    assert len(list(spare.rglob("*"))) == 62
    assert not [p for p in spare.rglob("*") if not p.is_dir()]
    (spare / "switches/s1/planted").symlink_to(tmp_path)
    fewer = make_files(3, count=40)
    emit_tree(tmp_path, fewer)
    verify(tmp_path / "zone")
    assert len(list((tmp_path / "zone/switches").iterdir())) == 40
    assert len(list((spare / "switches").iterdir())) == 60
    emit_tree(tmp_path, fewer)
    assert len(list((tmp_path / "zone/switches").iterdir())) == 40
    verify(tmp_path / "zone")
