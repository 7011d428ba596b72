"""A patch that a clone brought is nobody's: no verb moves a file of it, through a link or not."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from fabricc.tree import folders, state
from tests.trust.conftest import SPEC

if TYPE_CHECKING:
    from tests.trust.conftest import Clone

READING = (
    ("check", "build/lab"),
    ("verify", "build/lab"),
    ("diff", "build/lab", "build/lab"),
    ("push", "build/lab", "--plan"),
    ("explain", "build/lab/switches/su001-tor1a/frr.conf:1"),
    ("check", "build/lab", "--spec", "cluster.yaml"),
    ("plan", "cluster.yaml"),
    ("validate", "cluster.yaml"),
)


def plant(clone: Clone, name: str, content: bytes) -> None:
    """A patch as a killed build leaves it, of the present and of an earlier form."""
    folder = clone.tree.with_name(".lab.patch")
    folder.mkdir()
    digest = hashlib.sha256(content).hexdigest()
    for output in (name, f"./{name}"):
        (folder / hashlib.sha256(output.encode()).hexdigest()).write_bytes(content)
    (folder / "record.json").write_text(json.dumps([name]))
    (folder / "patch.json").write_text(json.dumps({"tree": str(clone.tree), "files": {name: digest}}))


@pytest.mark.parametrize("verb", READING, ids=lambda verb: " ".join(verb[:1]))
def test_no_verb_that_reads_completes_it_through_a_link(clone: Clone, verb: tuple[str, ...]) -> None:
    clone.tree.rename(clone.top / "build" / "real")
    clone.tree.symlink_to(clone.home)
    plant(clone, "secret", b"overwritten\n")
    clone.reading(*verb)


@pytest.mark.parametrize("verb", READING, ids=lambda verb: " ".join(verb[:1]))
def test_no_verb_that_reads_completes_it_in_the_tree(clone: Clone, verb: tuple[str, ...]) -> None:
    plant(clone, "switches/su001-tor1a/frr.conf", b"hostname theirs\n")
    clone.reading(*verb)


def test_build_drops_it(clone: Clone) -> None:
    before = (clone.tree / "switches/su001-tor1a/frr.conf").read_bytes()
    plant(clone, "switches/su001-tor1a/frr.conf", b"hostname theirs\n")
    status, reported = clone.fabricc("build", "cluster.yaml")
    assert status == 0, reported
    assert (clone.tree / "switches/su001-tor1a/frr.conf").read_bytes() == before
    assert not clone.tree.with_name(".lab.patch").exists()


def test_build_follows_no_link_in_the_place_of_the_tree_or_the_patch(clone: Clone) -> None:
    clone.tree.with_name(".lab.patch").symlink_to(clone.home)
    clone.tree.with_name(".lab.next").symlink_to(clone.home)
    clone.tree.with_name(".lab.rejected").symlink_to(clone.home)
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    clone.tree.rename(clone.top / "build" / "real")
    clone.tree.symlink_to(clone.home)
    status, reported = clone.fabricc("build", "cluster.yaml")
    assert status != 0
    assert "symbolic link" in reported


def test_build_writes_into_no_folder_that_a_link_of_the_clone_leads_to(clone: Clone) -> None:
    (clone.top / "build").rename(clone.top / "was")
    (clone.top / "build").symlink_to(clone.home)
    status, reported = clone.fabricc("build", "cluster.yaml")
    assert status != 0
    assert "leads out of" in reported


def test_a_patch_of_our_own_goes_through_no_link(clone: Clone) -> None:
    """A folder of the tree is exchanged for a link while a patch of this user's waits."""
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    from fabricc.tree import patch
    from fabricc.tree.patch import Patch

    made = Patch.open(clone.tree)
    made.put("switches/su001-tor1a/secret", b"overwritten\n")
    made.record_digests({"switches/su001-tor1a/secret": hashlib.sha256(b"overwritten\n").hexdigest()})
    folder = clone.tree / "switches" / "su001-tor1a"
    folder.rename(clone.top / "was")
    folder.symlink_to(clone.home)
    patch.complete_patch(clone.tree)
    assert (clone.home / "secret").read_text() != "overwritten\n"
    assert not state.has_pending(clone.tree)


def test_staged_bytes_that_were_exchanged_are_not_moved(clone: Clone) -> None:
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    from fabricc.tree import patch
    from fabricc.tree.patch import Patch

    name = "switches/su001-tor1a/frr.conf"
    before = (clone.tree / name).read_bytes()
    made = Patch.open(clone.tree)
    made.put(name, b"ours\n")
    made.record_digests({name: hashlib.sha256(b"ours\n").hexdigest()})
    for staged in made.folder.iterdir():
        staged.write_bytes(b"theirs\n")
    patch.complete_patch(clone.tree)
    assert (clone.tree / name).read_bytes() == before


def test_unfinished_patch_is_reported_and_completed_only_by_build(clone: Clone) -> None:
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    from fabricc.tree.patch import Patch

    name = "switches/su001-tor1a/frr.conf"
    made = Patch.open(clone.tree)
    made.put(name, b"half way\n")
    made.record_digests({name: hashlib.sha256(b"half way\n").hexdigest()})
    for verb in (("check", "build/lab"), ("diff", "build/lab", "build/lab"), ("push", "build/lab", "--plan")):
        status, reported = clone.reading(*verb)
        assert status != 0
        assert "FAB6020" in reported, reported
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    assert clone.reading("check", "build/lab")[0] == 0


def test_without_a_state_folder_everything_is_built_whole(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    for more in ("", "overrides: {su001-tor1a: {drain: true}}\n"):
        (clone.top / "cluster.yaml").write_text(SPEC + more)
        status, reported = clone.fabricc("build", "cluster.yaml")
        assert status == 0, reported
        assert clone.reading("check", "build/lab")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [".lab.patch", ".lab.next", ".lab.old", ".lab.rejected", "lab/switches/x"])
def test_folders_of_any_depth_and_oddities_in_them_are_no_trouble(clone: Clone, name: str) -> None:
    folder = clone.top / "build" / name
    folder.mkdir()
    (folder / "link").symlink_to(clone.home)
    os.mkfifo(folder / "fifo")
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    try:
        assert clone.reading("check", "build/lab")[0] in (0, 1)
        assert clone.fabricc("build", "cluster.yaml")[0] == 0
    finally:
        folders.remove_path(clone.top / "build")
    assert clone.secret.exists()


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_a_lock_file_that_is_none_stops_no_verb(clone: Clone, kind: str) -> None:
    lock = clone.top / "build" / ".lab.lock"
    if kind == "fifo":
        os.mkfifo(lock)
    elif kind == "link":
        lock.symlink_to(clone.secret)
    else:
        lock.mkdir()
    assert clone.reading("check", "build/lab")[0] == 0
    status, reported = clone.fabricc("build", "cluster.yaml")
    assert status == 0 or "FAB7001" in reported
