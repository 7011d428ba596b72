"""One file by itself: whole or not at all, in its place, and untouched when nothing changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file


def test_the_same_content_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert write_file(path, b"one")
    before = path.stat()
    assert not write_file(path, b"one")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["page.html"]  # noqa: PTH208 - hidden files count


def test_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"one")
    path.chmod(0o640)
    assert write_file(path, b"two")
    assert path.stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("target", ["real.html", "missing.html"])
def test_a_link_is_not_written_through(tmp_path: Path, target: str) -> None:
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_bytes(b"one")
    link.symlink_to(target)
    with pytest.raises(EmitError, match="a symbolic link is in the place of the file"):
        write_file(link, b"two")
    assert real.read_bytes() == b"one"
    assert sorted(os.listdir(tmp_path)) == ["link.html", "real.html"]  # noqa: PTH208 - hidden files count


def test_parts_are_one_file(tmp_path: Path) -> None:
    assert write_file(tmp_path / "table.csv", (part for part in (b"one", b"two")))
    assert (tmp_path / "table.csv").read_bytes() == b"onetwo"


@pytest.mark.parametrize("place", ["", "missing/page.html"])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    with pytest.raises(EmitError) as failed:
        write_file(tmp_path / place, b"one")
    assert failed.value.diagnostic.code == "FAB7001"
    assert list(tmp_path.iterdir()) == []
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*"))


def test_a_folder_below_a_thousand_missing_ones_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    deep = Path("d/" * 1500)
    make_folder(deep)
    assert deep.is_dir()
    while deep != Path():  # pytest cannot remove so many
        deep.rmdir()
        deep = deep.parent


def test_a_folder_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    for path in ("a", "a/b", "a/b/c"):
        with pytest.raises(EmitError):
            make_folder(tmp_path / path)
