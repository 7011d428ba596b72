"""Files that others wrote: what is opened, and what is refused at once and with little memory."""

from __future__ import annotations

import hashlib
import os
import socket
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base.foreign import files
from fabricc.base.foreign.files import Folder, ForeignFileError

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with a secret outside of it."""
    (tmp_path / "secret").write_text("the secret\n")
    top = tmp_path / "clone"
    (top / ".git").mkdir(parents=True)
    (top / "sites").mkdir()
    (top / "sites" / "cluster.yaml").write_text("cluster: x\n")
    return top


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def refusal_reason(path: Path, **how: object) -> str:
    with pytest.raises(ForeignFileError) as caught:
        files.read(path, **how)  # type: ignore[arg-type]
    return str(caught.value.strerror)


def test_a_file_and_a_link_within_the_repository_are_read(repository: Path) -> None:
    link = repository / "sites" / "b" / "cluster.yaml"
    link.parent.mkdir()
    link.symlink_to("../cluster.yaml")
    assert files.read(link) == b"cluster: x\n"
    assert files.digest_of_file(link) == hashlib.sha256(b"cluster: x\n").hexdigest()


@pytest.mark.parametrize(
    "target", ["../../secret", "{top}/../secret", "/dev/zero", "/etc/passwd", "/proc/self/environ"]
)
def test_no_link_leads_out_of_the_repository(repository: Path, target: str) -> None:
    link = repository / "sites" / "lock"
    link.symlink_to(target.format(top=repository))
    assert "leads out of" in refusal_reason(link)


def test_a_folder_may_not_lead_out_either_nor_bring_its_own_root(repository: Path) -> None:
    other = repository.parent / "other"
    (other / ".git").mkdir(parents=True)
    (other / "cluster.yaml").write_text("another's\n")
    (repository / "away").symlink_to(other)
    assert "leads out of" in refusal_reason(repository / "away" / "cluster.yaml")
    assert "leads out of" in refusal_reason(repository / "sites" / ".." / "away" / "cluster.yaml")


def test_without_a_repository_a_file_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "cluster.yaml").symlink_to("../secret")
    assert "leads out of" in refusal_reason(tmp_path / "a" / "cluster.yaml")
    (tmp_path / "here").symlink_to("a")
    (tmp_path / "a" / "own").write_text("mine\n")
    assert files.read(tmp_path / "here" / "own") == b"mine\n"


@pytest.mark.parametrize("opened", [files.read, files.read_regular_file, files.digest_of_file])
def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(
    tmp_path: Path, opened: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who may write below the root could exchange a folder while fabricc opens a file in it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "a" / "b" / ".git", outside / "b" / ".git"):
        folder.mkdir(parents=True)
        (folder.parent / "file").write_text(folder.parts[-3])
    check = files._check_boundary

    def exchange(real: str, path: Path | str) -> None:
        check(real, path)
        (root / "a").rename(root / "was")
        (root / "a").symlink_to(outside)

    monkeypatch.setattr(files, "_boundary", (root,))
    assert files.read(root / "a" / "b" / "file") == b"a"
    monkeypatch.setattr(files, "_check_boundary", exchange)
    with pytest.raises(files.ForeignFileError, match="a symbolic link, which is not followed"):
        opened(root / "a" / "b" / "file")


def test_a_named_root_binds(repository: Path) -> None:
    assert "outside of" in refusal_reason(repository / "sites" / "cluster.yaml", root=repository / ".git")


def test_non_regular_files_are_rejected_immediately(repository: Path) -> None:
    os.mkfifo(repository / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(repository / "s"))
        assert refusal_reason(repository / "fifo") == "a FIFO, not a regular file"
        assert "not a regular file" in refusal_reason(repository / "s")
        assert refusal_reason(repository / "sites") == "a folder, not a regular file"
    assert refusal_reason(Path("/dev/zero")) == "a device, not a regular file"


def test_a_large_file_costs_no_memory(repository: Path) -> None:
    large = repository / "large"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    assert refusal_reason(large) == f"larger than {files.LIMIT:,} bytes"
    with pytest.raises(ForeignFileError, match="larger"), Folder(repository) as folder:
        folder.digest("large")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_file_that_hides_its_size_is_bounded_all_the_same() -> None:
    assert Path("/proc/self/maps").stat().st_size == 0
    assert "larger than 16 bytes" in refusal_reason(Path("/proc/self/maps"), limit=16)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_has_is_a_refusal(repository: Path, name: str) -> None:
    assert "not a valid file name" in refusal_reason(repository / name)
    with pytest.raises(ForeignFileError), Folder(repository) as folder:
        folder.read(name)


def test_missing_files_raise_file_not_found(repository: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.read(repository / "none")
    with pytest.raises(FileNotFoundError), Folder(repository) as folder:
        folder.read("sites/none")


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../secret", "sites/../../secret", "./sites", "sites//cluster.yaml"]
)
def test_a_tree_is_read_by_clean_names_alone(repository: Path, name: str) -> None:
    with Folder(repository) as folder, pytest.raises(ForeignFileError, match="clean relative"):
        folder.read(name)


def test_a_tree_has_no_links(repository: Path) -> None:
    (repository / "file").symlink_to("sites/cluster.yaml")
    (repository / "folder").symlink_to("sites")
    with Folder(repository) as folder:
        assert folder.read("sites/cluster.yaml") == b"cluster: x\n"
        for name in ("file", "folder/cluster.yaml"):
            with pytest.raises(ForeignFileError, match="symbolic link"):
                folder.read(name)
            assert not folder.has(name)
        assert folder.has("sites/cluster.yaml")


def test_a_tree_gives_its_handles_back(repository: Path) -> None:
    deep = repository / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "f").write_text("deep\n")
    before = open_handles()
    with Folder(repository) as folder:
        for name in ("a/b/c/f", "sites/cluster.yaml", "a/b/c/f"):
            folder.read(name)
            assert open_handles() <= before + 4
    assert open_handles() == before
