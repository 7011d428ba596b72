"""A `.git` in the folder that may be read leads Git to no repository outside of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fabricc.base.foreign import files
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import GitError
from tests.trust.test_git import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of the user with a secret."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setattr(files, "_boundary", ())
    top = tmp_path / "private"
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    (top / "cluster.yaml").write_text("secret\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "secret")
    return top


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that may be read."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def _pointer(root: Path, private: Path) -> None:
    (root / ".git").write_text(f"gitdir: {private}/.git\n")


def _link(root: Path, private: Path) -> None:
    (root / ".git").symlink_to(private / ".git")


def _common(root: Path, private: Path) -> None:
    git(root.parent, "init", "-q", "-b", "main", str(root))
    (root / ".git" / "commondir").write_text(f"{private}/.git\n")


def _worktree(root: Path, private: Path) -> None:
    """A work tree that only its own folder states, not the repository that it names."""
    own = root / "git" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text(f"{private}/.git\n")
    (own / "gitdir").write_text(f"{root}/.git\n")
    (root / ".git").write_text(f"gitdir: {own}\n")


def _objects(root: Path, private: Path) -> None:
    git(root.parent, "init", "-q", "-b", "main", str(root))
    for name in ("objects", "refs"):
        shutil.rmtree(root / ".git" / name)
        (root / ".git" / name).symlink_to(private / ".git" / name)


def _pack(root: Path, private: Path) -> None:
    git(private, "repack", "-adq")
    git(root.parent, "init", "-q", "-b", "main", str(root))
    for name in ("objects/pack", "refs"):
        shutil.rmtree(root / ".git" / name)
        (root / ".git" / name).symlink_to(private / ".git" / name)


def _alternates(root: Path, private: Path) -> None:
    git(root.parent, "init", "-q", "-b", "main", str(root))
    (root / "more" / "info").mkdir(parents=True)
    (root / "more" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
    (root / ".git" / "objects" / "info" / "alternates").write_text("# one\n../../more\n")
    shutil.rmtree(root / ".git" / "refs")
    (root / ".git" / "refs").symlink_to(private / ".git" / "refs")


def _quoted(root: Path, private: Path) -> None:
    _alternates(root, private)
    (root / "more" / "info" / "alternates").write_text(f'"{private}/.gi\\164/objects"\n')


@pytest.mark.parametrize(
    "lead",
    [_pointer, _link, _common, _worktree, _objects, _pack, _alternates, _quoted],
    ids=lambda one: one.__name__,
)
def test_no_git_folder_leads_out_of_the_folder_that_may_be_read(lead, private: Path, root: Path) -> None:  # type: ignore[no-untyped-def]
    lead(root, private)
    if lead is _pointer:
        (private / ".git" / "worktrees").mkdir()
    open_one = Repository.of(root)
    entry = open_one.entry(open_one.commit("main"), "cluster.yaml")
    assert entry is not None
    assert open_one.blob(entry) == b"secret\n", "without the limit, Git reads it"
    files.set_boundary(root)
    with pytest.raises(GitError, match="may be read"):
        Repository.of(root)


def test_repositories_of_the_user_are_read(private: Path, root: Path, tmp_path: Path) -> None:
    (private / "site").mkdir()
    (private / "site" / "cluster.yaml").write_text("x\n")
    git(private, "add", ".")
    git(private, "commit", "-qm", "site")
    root.rmdir()
    git(private, "worktree", "add", "-q", "--detach", str(root))
    for folder, looked in (
        (private, private),
        (private / "site", private / "site"),
        (root, root),
        (root, root / "site"),
    ):
        files.set_boundary(folder)
        repository = Repository.of(looked)
        assert repository.entry(repository.commit("HEAD"), "site/cluster.yaml") is not None
    files.set_boundary(tmp_path)
    assert Repository.of(root).commit("HEAD")
