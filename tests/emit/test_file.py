"""One file by itself: whole or not at all, in its place, and untouched when nothing changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fabricc.emit import EmitError
from fabricc.emit.file import write_file

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_content_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert write_file(path, b"one")
    before = path.stat()
    assert not write_file(path, b"one")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["page.html"]  # noqa: PTH208 - hidden files count


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_bytes(b"one")
    real.chmod(0o640)
    link.symlink_to(real)
    assert write_file(link, b"two")
    assert link.is_symlink()
    assert real.read_bytes() == b"two"
    assert real.stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("place", ["", "missing/page.html"])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    with pytest.raises(EmitError) as failed:
        write_file(tmp_path / place, b"one")
    assert failed.value.diagnostic.code == "FAB7001"
    assert list(tmp_path.iterdir()) == []
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*"))
