"""A few files of a tree change in place: none, or all of them, whatever happens in between."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from fabricc.tree import EmitError, patch, state
from fabricc.tree.patch import Patch
from tests.tree.samples import emit_tree, make_files

NEW = {"switches/s1/frr.conf": b"new one\n", "switches/s2/frr.conf": b"new two\n"}

DIGESTS = {path: hashlib.sha256(content).hexdigest() for path, content in NEW.items()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    emit_tree(tmp_path, make_files(1))
    return tmp_path / "zone"


def put(tree: Path, table: dict[str, bytes]) -> Patch:
    made = Patch.open(tree)
    for path, content in table.items():
        assert made.put(path, content).changed
    return made


def content(tree: Path) -> dict[str, bytes]:
    return {path: (tree / path).read_bytes() for path in NEW}


def test_files_take_their_places_and_nothing_stays_behind(tree: Path) -> None:
    untouched = (tree / "switches/s3/frr.conf").stat()
    put(tree, NEW).commit(DIGESTS)
    assert content(tree) == NEW
    assert (tree / "switches/s3/frr.conf").stat() == untouched
    assert sorted(path.name for path in tree.parent.iterdir()) == [".zone.lock", "zone"]


def test_the_same_bytes_are_no_change(tree: Path) -> None:
    made = Patch.open(tree)
    assert not made.put("switches/s1/frr.conf", (tree / "switches/s1/frr.conf").read_bytes()).changed
    assert made.put("switches/s1/frr.conf", (tree / "switches/s1/frr.conf").read_bytes(), mode=0o755).changed
    made.abandon()
    assert not made.folder.exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".hidden"])
def test_no_file_leaves_the_tree(tree: Path, path: str) -> None:
    with pytest.raises(EmitError, match="is not a file name"):
        Patch.open(tree).put(path, b"x")


def test_a_full_disk_before_the_record_leaves_the_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, made = content(tree), put(tree, NEW)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EmitError) as failed:
        made.commit(DIGESTS)
    assert failed.value.diagnostic.code == "FAB7001"
    made.abandon()
    assert content(tree) == before
    assert not made.folder.exists()


def test_a_failure_after_the_record_is_completed_by_the_next_build(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, real = put(tree, NEW), os.rename

    def rename(source: str, target: str, **where: int) -> None:
        if target == "frr.conf":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(source, target, **where)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(EmitError):
        made.commit(DIGESTS)
    made.abandon()
    monkeypatch.undo()
    assert state.has_pending(tree)
    patch.complete_patch(tree)
    assert content(tree) == NEW
    assert not made.folder.exists()
    assert not state.has_pending(tree)


def test_without_a_folder_for_the_record_nothing_is_moved(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, made = content(tree), put(tree, NEW)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    with pytest.raises(EmitError, match="state folder"):
        made.commit(DIGESTS)
    made.abandon()
    assert content(tree) == before
    assert not made.folder.exists()


@pytest.mark.parametrize("ignored", [False, True])
def test_an_interrupt_waits_until_the_tree_is_whole(
    tree: Path, monkeypatch: pytest.MonkeyPatch, ignored: bool
) -> None:
    made, real = put(tree, NEW), os.rename
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)

    def rename(source: str, target: str, **where: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        real(source, target, **where)

    monkeypatch.setattr(os, "rename", rename)
    try:
        with nullcontext() if ignored else pytest.raises(KeyboardInterrupt):
            made.commit(DIGESTS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert content(tree) == NEW
    assert not made.folder.exists()
