"""The root of an unpacked archive is its own folder: no link leads out of it, whatever repository is far above."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricc.base.foreign import files
from fabricc.cli.entry import run
from tests.trust.conftest import SECRET, SPEC

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
INDEXES = (["--index-version=2"], ["--index-version=4"], ["--force-untracked-cache"], ["--split-index"])


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, timeout=60)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is a repository of dotfiles, with a secret."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    top = tmp_path / "home"
    (top / ".ssh").mkdir(parents=True)
    (top / ".ssh" / "key.yaml").write_text(f"{SECRET}: 1\n")
    (top / ".bashrc").write_text("x\n")
    git(tmp_path, "init", "-q", str(top))
    git(top, "add", ".bashrc")
    monkeypatch.setenv("HOME", str(top))
    return top


@pytest.fixture
def archive(home: Path) -> Path:
    """Return what was unpacked below it."""
    top = home / "dl" / "archive"
    top.mkdir(parents=True)
    (top / "cluster.yaml").write_text(SPEC)
    return top


def require_refusal(*words: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(list(words)) != 0
    reported = "".join(capsys.readouterr())
    assert "leads out of" in reported, reported
    assert SECRET not in reported


@pytest.mark.parametrize("state", [*INDEXES, "no index", "sha256"], ids=str)
def test_no_link_leads_from_an_archive_into_the_repository_above(
    home: Path, archive: Path, state: list[str] | str, capsys: pytest.CaptureFixture[str]
) -> None:
    if state == "no index":
        (home / ".git" / "index").unlink()
    elif state == "sha256":
        shutil.rmtree(home / ".git")
        git(home, "init", "-q", "--object-format=sha256")
        git(home, "add", ".bashrc")
    else:
        git(home, "update-index", *state)
    (archive / "evil.yaml").symlink_to("../../.ssh/key.yaml")
    for verb in ("validate", "plan", "fmt", "lock"):
        require_refusal(verb, str(archive / "evil.yaml"), capsys=capsys)


def test_an_archive_whose_git_tracks_nothing_is_no_larger(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(archive, "init", "-q")
    (archive / "evil.yaml").symlink_to("../../.ssh/key.yaml")
    require_refusal("validate", str(archive / "evil.yaml"), capsys=capsys)


@pytest.mark.parametrize("repository", [True, False])
@pytest.mark.parametrize("more", ["catalog: [sub/key.yaml]\n", "identities: {devices: sub/key.csv}\n"])
def test_no_folder_that_is_a_link_leads_out_either(
    home: Path, archive: Path, more: str, repository: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if not repository:
        shutil.rmtree(home / ".git")
    (home / ".ssh" / "key.csv").write_text(f"{SECRET},x\n")
    (archive / "sub").symlink_to("../../.ssh")
    (archive / "cluster.yaml").write_text(SPEC + more)
    require_refusal("validate", str(archive / "cluster.yaml"), capsys=capsys)


@pytest.mark.parametrize("index", INDEXES[:3], ids=str)
def test_a_tracked_spec_may_refer_to_all_of_its_repository(
    tmp_path: Path, home: Path, index: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    top = tmp_path / "work"
    (top / "sites" / "a").mkdir(parents=True)
    (top / "common.yaml").write_text(SPEC)
    (top / "sites" / "a" / "cluster.yaml").symlink_to("../../common.yaml")
    (top / "link").symlink_to("sites")
    git(top, "init", "-q")
    assert files.repository_of(top / "sites" / "a" / "cluster.yaml") == top, "nothing is added yet"
    git(top, "add", ".")
    git(top, "update-index", *index)
    for name in ("sites/a/cluster.yaml", "link/a/cluster.yaml", "sites/a"):
        assert files.repository_of(top / name) == top, name
    assert run(["validate", str(top / "sites" / "a" / "cluster.yaml")]) == 0
    git(top, "-c", "user.name=t", "commit", "-qm", "x")
    git(top, "worktree", "add", "-q", str(tmp_path / "second"))
    assert files.repository_of(tmp_path / "second" / "sites" / "a" / "cluster.yaml") == tmp_path / "second"
    if index != INDEXES[1]:
        assert files.repository_of(top / "sites" / "new.yaml") == top / "sites"


def test_a_damaged_index_ends_nothing(archive: Path, home: Path) -> None:
    place = home / ".git" / "index"
    for content in (b"", b"DIRC", b"DIRC\0\0\0\2", b"DIRC\0\0\0\2" + b"cluster.yaml\0" * 9, b"\0" * 500):
        place.write_bytes(content)
        assert files.repository_of(archive / "cluster.yaml") == archive
    place.unlink()
    os.mkfifo(place)
    assert files.repository_of(archive / "cluster.yaml") == archive


@pytest.mark.slow
def test_an_archive_is_not_compared_with_the_repository_above(
    home: Path, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(home, "commit", "-qm", "dotfiles")
    spec = archive / "cluster.yaml"
    assert run(["diff", str(spec)]) == 1
    reported = "".join(capsys.readouterr())
    assert "FAB9020" in reported
    assert "Compare two specs: `fabricc diff OLD NEW`." in reported
    git(home, "add", str(spec))
    assert run(["diff", str(spec)]) == 0
    assert "FAB9049" not in "".join(capsys.readouterr())


@pytest.fixture
def unrelated(tmp_path: Path, home: Path) -> Path:
    """A repository with a cluster of its own, and an archive unpacked in a folder of it that it does not track."""
    top = tmp_path / "work"
    (top / "zone").mkdir(parents=True)
    (top / "dl" / "archive").mkdir(parents=True)
    (top / "zone" / "cluster.yaml").write_text(SPEC)
    git(top, "init", "-q")
    git(top, "add", "zone")
    git(top, "commit", "-qm", "x")
    return top


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [("cluster: lab", "cluster: other"), ("dscp: 26", "dscp: 34"), ("", "")],
    ids=["another cluster", "the same cluster, changed", "the same spec"],
)
@pytest.mark.parametrize("verb", ["diff", "migrate"])
def test_an_archive_below_an_unrelated_repository_is_not_compared(
    unrelated: Path, verb: str, edit: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither is a copy of a spec: a spec is moved only if it is gone from its former place."""
    spec = unrelated / "dl" / "archive" / "cluster.yaml"
    spec.write_text(SPEC.replace(*edit) if edit[0] else SPEC)
    assert run([verb, str(spec)]) == 1
    printed = "".join(capsys.readouterr())
    assert "FAB9049" in printed
    assert "no device changes" not in printed
    add = printed.split("If it belongs to that repository: `")[1].split("`")[0]
    subprocess.run(add, shell=True, check=True, timeout=60)  # the command of the remedy
    run([verb, str(spec)])
    assert "FAB9049" not in "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_moved_spec_needs_no_index(unrelated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (unrelated / "zone" / "cluster.yaml").rename(unrelated / "dl" / "archive" / "cluster.yaml")
    assert run(["diff", str(unrelated / "dl" / "archive" / "cluster.yaml")]) == 0
    assert "FAB9034" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_other_verbs_take_nothing_from_an_unrelated_repository(
    unrelated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = unrelated / "dl" / "archive" / "cluster.yaml"
    spec.write_text(SPEC)
    assert run(["build", str(spec), "-o", str(spec.parent / "build")]) == 0
    (spec.parent / "fabricc-access.yaml").write_text("username: x\n")
    committed = ["check", str(spec.parent / "build"), "--committed", "HEAD", "--spec", str(spec)]
    revisions = ["diff", str(spec), "--base", "HEAD~0", "--head", "HEAD"]
    push = ["push", str(spec.parent / "build" / "lab"), "--spec", str(spec), "--keep", "0%"]
    for words, code in ((committed, "FAB9020"), (revisions, "FAB9031"), (push, "FAB9163")):
        capsys.readouterr()
        assert run(words) == 1, words
        assert code in "".join(capsys.readouterr()), words
