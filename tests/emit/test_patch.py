"""A few files of a tree change in place: none, or all of them, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from fabricc.emit import EmitError, Patch, patch
from fabricc.emit.exclusive import exclusive
from tests.emit.samples import emit, files

NEW = {"switches/s1/frr.conf": b"new one\n", "switches/s2/frr.conf": b"new two\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    emit(tmp_path, files(1))
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
    put(tree, NEW).commit(NEW)
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
    with pytest.raises(EmitError, match="no file name"):
        Patch.open(tree).put(path, b"x")


def test_a_full_disk_before_the_record_leaves_the_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, made = content(tree), put(tree, NEW)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EmitError) as failed:
        made.commit(NEW)
    assert failed.value.diagnostic.code == "FAB7001"
    made.abandon()
    assert content(tree) == before
    assert not made.folder.exists()


def test_a_failure_after_the_record_is_completed_by_who_comes_next(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, real = put(tree, NEW), Path.rename

    def rename(self: Path, target: Path) -> Path:
        if target.name == "frr.conf":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(EmitError):
        made.commit(NEW)
    made.abandon()
    monkeypatch.undo()
    patch.settle(tree)
    assert content(tree) == NEW
    assert not made.folder.exists()


def test_a_build_at_work_is_not_disturbed(tree: Path) -> None:
    made = put(tree, NEW)
    (made.folder / "record.json").write_text("[]")
    with exclusive(tree.with_name(".zone.lock"), tree), pytest.raises(EmitError) as failed:
        patch.settle(tree)
    assert failed.value.diagnostic.code == "FAB7003"


def test_an_interrupt_waits_until_the_tree_is_whole(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = put(tree, NEW), Path.rename

    def rename(self: Path, target: Path) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        made.commit(NEW)
    assert content(tree) == NEW
    assert not made.folder.exists()
