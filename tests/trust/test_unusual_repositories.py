"""Verbs that ask Git end in a finding in every unusual repository, and wait for it once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricc.base.foreign import git as door
from fabricc.base.foreign.git import GitError, Repository
from fabricc.cli.entry import run
from tests.review.diff.conftest import INVENTORIES
from tests.trust.test_git import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setattr(door, "_SILENT_S", 0.5)
    monkeypatch.setattr(door, "_PATIENCE", door._Patience())


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    shutil.copytree(INVENTORIES / "lab-smallest", folder / "site")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "commit", "-qm", "more", "--allow-empty")
    return folder


def _fifo(path: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        (top / path).parent.mkdir(exist_ok=True)
        (top / path).unlink(missing_ok=True)
        os.mkfifo(top / path)

    return change


def _object(name: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        found = git(top, "rev-parse", name)
        (top / ".git" / "objects" / found[:2] / found[2:]).unlink()

    return change


def _setting(*words: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        git(top, "config", *words)

    return change


def _pointer(text: str) -> Callable[[Path], None]:
    """A `.git` file in the place of the folder."""

    def change(top: Path) -> None:
        (top / ".git").rename(top / "a\nb")
        (top / ".git").write_text(text, "utf-8")

    return change


def _bytes(path: str, content: bytes) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        (top / path).write_bytes(content)

    return change


def _gone(top: Path) -> None:
    shutil.rmtree(top / ".git")


def _link(top: Path) -> None:
    _gone(top)
    (top / ".git").symlink_to(".git")


def _two_pointers(top: Path) -> None:
    _gone(top)
    (top / ".git").write_text("gitdir: other\n", "utf-8")
    (top / "other").write_text("gitdir: .git\n", "utf-8")


def _unborn(top: Path) -> None:
    _gone(top)
    git(top, "init", "-q")


def _fifo_pointer(top: Path) -> None:
    _gone(top)
    os.mkfifo(top / ".git")


UNUSUAL = {
    "none": _gone,
    "without commits": _unborn,
    "a blob is missing": _object("HEAD:site/cluster.yaml"),
    "a folder is missing": _object("HEAD:site"),
    "the commit is missing": _object("HEAD"),
    "the work tree is elsewhere": _setting("core.worktree", "/"),
    "the work tree is nowhere": _setting("core.worktree", "/nonexistent"),
    "bare": _setting("core.bare", "true"),
    "a format of the future": _setting("core.repositoryFormatVersion", "99"),
    "a FIFO as HEAD": _fifo(".git/HEAD"),
    "a FIFO as configuration": _fifo(".git/config"),
    "a FIFO as a branch": _fifo(".git/refs/heads/main"),
    "a FIFO as packed branches": _fifo(".git/packed-refs"),
    "a FIFO as shallow": _fifo(".git/shallow"),
    "a FIFO as .git": _fifo_pointer,
    "a file that points to itself": _pointer("gitdir: .git\n"),
    "a file that points to a line feed": _pointer("gitdir: a\nb"),
    "files that point to each other": _two_pointers,
    "a link to itself": _link,
    "no HEAD": _bytes(".git/HEAD", b"\xff\0"),
    "no configuration": _bytes(".git/config", b"[\xff"),
    "a branch that points to itself": _bytes(".git/refs/heads/main", b"ref: refs/heads/main\n"),
    "a branch that names nothing": _bytes(".git/refs/heads/main", b"0" * 40),
}
VERBS = {
    "diff": ("diff", "{spec}"),
    "diff of two": ("diff", "{spec}", "--base", "HEAD~1", "--head", "HEAD"),
    "migrate": ("migrate", "{spec}"),
    "check": ("check", "{folder}/build", "--committed", "HEAD", "--spec", "{spec}"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", UNUSUAL)
def test_a_verb_ends_in_a_finding(
    top: Path, capsys: pytest.CaptureFixture[str], name: str, verb: str
) -> None:
    UNUSUAL[name](top)
    site = top / "site"
    words = [word.format(spec=site / "cluster.yaml", folder=site) for word in VERBS[verb]]
    assert run(words) == 1
    streams = capsys.readouterr()
    told = streams.out + streams.err
    assert "FAB7999" not in told
    assert "FAB9020" in told


@pytest.mark.parametrize("name", ["HEAD", "config", "index"])
def test_a_file_that_nobody_tracks_for_certain_is_not_called_tracked(top: Path, name: str) -> None:
    _fifo(f".git/{name}")(top)
    with pytest.raises(GitError, match="did not answer within"):
        Repository.of(top / "site").tracks("cluster.yaml")


def test_an_index_that_cannot_be_read_is_named(top: Path) -> None:
    (top / ".git" / "index").write_bytes(b"no index")
    with pytest.raises(GitError, match="cannot read the index"):
        Repository.of(top / "site").tracks("cluster.yaml")


def test_a_silent_git_is_waited_for_once(top: Path) -> None:
    _fifo(".git/config")(top)
    for _ in range(5):
        with pytest.raises(GitError, match="did not answer within"):
            Repository.of(top / "site")
        assert door._PATIENCE.left() < door._SILENT_S / 2  # so the next call waits no longer than that


@pytest.mark.parametrize("kind", ["worktree", "submodule", "shallow"])
def test_ordinary_ways_to_have_a_repository_work(top: Path, tmp_path: Path, kind: str) -> None:
    if kind == "worktree":
        git(top, "worktree", "add", "-q", str(tmp_path / "other"))
    elif kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "other")
    else:
        git(tmp_path, "init", "-q", "outer")
        git(
            tmp_path / "outer",
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            str(top),
            "inner",
        )
    folder = tmp_path / ("outer/inner" if kind == "submodule" else "other") / "site"
    assert run(["diff", str(folder / "cluster.yaml")]) == 0
