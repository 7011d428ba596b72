"""Verbs that use Git end in a finding in every unusual repository, and wait for it once."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricc.base.foreign import git_process as door
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import GitError
from fabricc.cli.entry import run
from tests.review.diff.conftest import INVENTORIES
from tests.trust.test_git import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setattr(door, "_SILENT_S", 0.5)
    monkeypatch.setattr(door, "_PATIENCE", door._SilenceLimit())


def _add_fifo(path: str) -> Callable[[Path], None]:
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


def _add_setting(*words: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        git(top, "config", *words)

    return change


def _add_pointer(text: str) -> Callable[[Path], None]:
    """A `.git` file in the place of the folder."""

    def change(top: Path) -> None:
        (top / ".git").rename(top / "a\nb")
        (top / ".git").write_text(text, "utf-8")

    return change


def _write_bytes(path: str, content: bytes) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        (top / path).write_bytes(content)

    return change


def _remove_git(top: Path) -> None:
    shutil.rmtree(top / ".git")


def _link_git(top: Path) -> None:
    _remove_git(top)
    (top / ".git").symlink_to(".git")


def _two_pointers(top: Path) -> None:
    _remove_git(top)
    (top / ".git").write_text("gitdir: other\n", "utf-8")
    (top / "other").write_text("gitdir: .git\n", "utf-8")


def _init_only(top: Path) -> None:
    _remove_git(top)
    git(top, "init", "-q")


def _fifo_pointer(top: Path) -> None:
    _remove_git(top)
    os.mkfifo(top / ".git")


def _another_user(top: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    for folder in (top, top / ".git"):
        os.chown(folder, 12345, 12345)


def _lose_objects(top: Path) -> None:
    shutil.rmtree(top / ".git" / "objects")
    (top / ".git" / "objects" / "info").mkdir(parents=True)
    (top / ".git" / "objects" / "info" / "alternates").write_text("/nonexistent\n")


def _spec_object(top: Path) -> Path:
    found = git(top, "rev-parse", "HEAD:site/cluster.yaml")
    return top / ".git" / "objects" / found[:2] / found[2:]


def _damage_object(top: Path) -> None:
    _spec_object(top).chmod(0o644)
    _spec_object(top).write_bytes(b"\0\1")


def _fifo_object(top: Path) -> None:
    place = _spec_object(top)
    place.unlink()
    os.mkfifo(place)


def _include_file(top: Path) -> None:
    os.mkfifo(top / ".git" / "more")
    (top / ".git" / "config").write_text("[include]\n\tpath = more\n")


def _reference_table(top: Path) -> None:
    git(top, "config", "core.repositoryFormatVersion", "1")
    git(top, "config", "extensions.refStorage", "something")


def _forget_worktree(top: Path) -> None:
    origin = top.rename(top.with_name("origin"))
    git(origin, "worktree", "add", "-q", "--detach", str(top))
    shutil.rmtree(origin / ".git" / "worktrees")


def _inside_bare(top: Path) -> None:
    origin = top.rename(top.with_name("origin"))
    git(top.parent, "clone", "-q", "--bare", str(origin), str(top))
    shutil.copytree(INVENTORIES / "lab-smallest", top / "site")


UNUSUAL = {
    "none": _remove_git,
    "without commits": _init_only,
    "a blob is missing": _object("HEAD:site/cluster.yaml"),
    "a folder is missing": _object("HEAD:site"),
    "the commit is missing": _object("HEAD"),
    "the work tree is elsewhere": _add_setting("core.worktree", "/"),
    "the work tree is nowhere": _add_setting("core.worktree", "/nonexistent"),
    "bare": _add_setting("core.bare", "true"),
    "a format of the future": _add_setting("core.repositoryFormatVersion", "99"),
    "a FIFO as HEAD": _add_fifo(".git/HEAD"),
    "a FIFO as configuration": _add_fifo(".git/config"),
    "a FIFO as a branch": _add_fifo(".git/refs/heads/main"),
    "a FIFO as packed branches": _add_fifo(".git/packed-refs"),
    "a FIFO as shallow": _add_fifo(".git/shallow"),
    "a FIFO as .git": _fifo_pointer,
    "a file that points to itself": _add_pointer("gitdir: .git\n"),
    "a file that points to a line feed": _add_pointer("gitdir: a\nb"),
    "files that point to each other": _two_pointers,
    "a link to itself": _link_git,
    "no HEAD": _write_bytes(".git/HEAD", b"\xff\0"),
    "no configuration": _write_bytes(".git/config", b"[\xff"),
    "a branch that points to itself": _write_bytes(".git/refs/heads/main", b"ref: refs/heads/main\n"),
    "another user's": _another_user,
    "objects that are elsewhere and gone": _lose_objects,
    "a FIFO as alternates": _add_fifo(".git/objects/info/alternates"),
    "an object that is damaged": _damage_object,
    "a FIFO as an object": _fifo_object,
    "a common folder that is nowhere": _write_bytes(".git/commondir", b"/nonexistent\n"),
    "a FIFO as the common folder": _add_fifo(".git/commondir"),
    "a FIFO in the configuration": _include_file,
    "references of a kind to come": _reference_table,
    "a work tree that its clone forgot": _forget_worktree,
    "inside a bare one": _inside_bare,
    "a branch that names nothing": _write_bytes(".git/refs/heads/main", b"0" * 40),
}
WITHOUT_INDEX = ("none", "without commits", "inside a bare one")
VERBS = {
    "diff": ("diff", "{spec}"),
    "diff of two": ("diff", "{spec}", "--base", "HEAD~1", "--head", "HEAD"),
    "diff from a branch": ("diff", "{spec}", "--base", "main"),
    "migrate": ("migrate", "{spec}"),
    "check": ("check", "{folder}/build", "--committed", "HEAD", "--spec", "{spec}"),
    "validate": ("validate", "--changed", "{spec}"),
    "fmt": ("fmt", "--check", "--changed", "{spec}"),
    "lock": ("lock", "--check", "--changed", "{spec}"),
    "build": ("build", "{spec}", "-o", "{folder}/out"),
    "lock that is lost": ("lock", "--check", "{spec}"),
}
OF_COMMITS = tuple(VERBS)[:5]
"""Verbs that read commits, and so end in a finding where these cannot be read."""


@dataclass(frozen=True)
class Verdict:
    """The report of a verb: its exit status, the codes of findings, and its first lines about changes."""

    status: int
    codes: frozenset[str]
    changes: tuple[str, ...]


def run_verbs(top: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Verdict]:
    """Run every verb on a repository whose spec was edited; the last one without its lock."""
    found = {}
    for name, verb in VERBS.items():
        door._PATIENCE = door._SilenceLimit()
        site = top / "site"
        if name == "lock that is lost":
            (site / "fabricc.lock").unlink()
        capsys.readouterr()
        status = run([word.format(spec=site / "cluster.yaml", folder=site) for word in verb])
        reported = "".join(capsys.readouterr())
        assert "FAB7999" not in reported, reported
        changes = tuple(line for line in reported.splitlines() if "risk" in line or "device changes" in line)
        found[name] = Verdict(status, frozenset(re.findall(r"FAB[0-9]{4}", reported)), changes)
    return found


def edit(top: Path) -> None:
    """Change a number of the spec that is not committed, through the file itself."""
    spec = top / "site" / "cluster.yaml"
    spec.write_text(
        (INVENTORIES / "lab-smallest" / "cluster.yaml").read_text().replace("dscp: 26", "dscp: 24")
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, to be copied."""
    above = tmp_path_factory.mktemp("template")
    folder = above / "repository"
    shutil.copytree(INVENTORIES / "lab-smallest", folder / "site")
    git(above, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "commit", "-qm", "more", "--allow-empty")
    return folder


@pytest.fixture
def top(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template, tmp_path / "repository", symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "repository"


@pytest.mark.slow
@pytest.mark.parametrize("name", UNUSUAL)
def test_a_verb_ends_in_a_finding(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    UNUSUAL[name](top)
    edit(top)
    monkeypatch.chdir(top / "site")
    found = run_verbs(top, capsys)
    for verb in OF_COMMITS:
        assert found[verb].status == 1, verb
        assert "FAB9020" in found[verb].codes, verb
    lost = found["lock that is lost"]
    assert lost.status == 1
    assert lost.codes & ({"FAB3900"} if name in WITHOUT_INDEX else {"FAB9037", "FAB0084"})


def _move_repository(top: Path) -> Path:
    """Move a repository aside, so that another kind of repository takes its place."""
    return top.rename(top.with_name("origin"))


def _add_worktree(top: Path) -> None:
    git(_move_repository(top), "worktree", "add", "-q", "--detach", str(top))


def _add_submodule(top: Path) -> None:
    origin = _move_repository(top)
    git(top.parent, "init", "-q", "outer")
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    git(top.parent / "outer", *words, str(origin), "inner")
    git(top.parent / "outer" / "inner", "update-ref", "refs/heads/main", "HEAD")
    top.symlink_to("outer/inner")


def _clone_repository(*words: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        origin = _move_repository(top)
        git(origin, "config", "uploadpack.allowFilter", "true")
        git(top.parent, "clone", "-q", *words, f"file://{origin}", str(top))

    return change


def _add_alternates(top: Path) -> None:
    objects = top / ".git" / "objects"
    objects.rename(top.parent / "objects")
    (objects / "info").mkdir(parents=True)
    (objects / "info" / "alternates").write_text(f"{top.parent / 'objects'}\n")


def _alternates_in_a_circle(top: Path) -> None:
    (top / ".git" / "objects" / "info" / "alternates").write_text(f"../objects\n{top}/.git/objects\n")


def _replace_objects(top: Path) -> None:
    """Objects that Git shows in the place of those committed: the spec as it is in the work tree."""
    edit(top)
    own = git(top, "rev-parse", "HEAD:site/cluster.yaml")
    git(top, "replace", own, git(top, "hash-object", "-w", "site/cluster.yaml"))
    git(top, "checkout", "-q", "--force")


def _add_grafts(top: Path) -> None:
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "grafts").write_text(f"{git(top, 'rev-parse', 'HEAD')}\n")


def _use_sha256(top: Path) -> None:
    shutil.rmtree(top / ".git")
    git(top, "init", "-q", "-b", "main", "--object-format=sha256")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "base")
    git(top, "commit", "-qm", "more", "--allow-empty")


def _git(*words: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        git(top, *words)

    return change


READABLE = {
    "plain": lambda _: None,
    "a work tree beside the clone": _add_worktree,
    "a submodule": _add_submodule,
    "a partial clone": _clone_repository("--filter=blob:none"),
    "a clone that shares objects": _clone_repository("--shared"),
    "sparse, without the spec": _git("sparse-checkout", "set", "--no-cone", "/other"),
    "sparse, with a sparse index": _git("sparse-checkout", "set", "--cone", "--sparse-index", "site"),
    "alternates": _add_alternates,
    "alternates in a circle": _alternates_in_a_circle,
    "replaced objects": _replace_objects,
    "grafts": _add_grafts,
    "a detached head": _git("checkout", "-q", "--detach"),
    "a split index": _git("update-index", "--split-index"),
    "an index that is locked": _write_bytes(".git/index.lock", b""),
    "objects of SHA-256": _use_sha256,
    "a FIFO as attributes": _add_fifo(".git/info/attributes"),
    "a FIFO as submodules": _add_fifo(".gitmodules"),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, Verdict]:
    """The verdicts on the ordinary repository, which the first test stores."""
    return {}


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.slow
def test_a_repository_that_git_can_read_gets_the_ordinary_verdict(
    top: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    template: Path,
    tmp_path: Path,
    expected: dict[str, Verdict],
    name: str,
) -> None:
    monkeypatch.setattr(door, "_SILENT_S", 20.0)
    if not expected:
        plain = tmp_path / "plain"
        shutil.copytree(template, plain)
        edit(plain)
        monkeypatch.chdir(plain / "site")
        expected |= run_verbs(plain, capsys)
        assert any("risk" in line for line in expected["diff"].changes)
    READABLE[name](top)
    (top / "site").mkdir(exist_ok=True)
    for file in ("cluster.yaml", "fabricc.lock"):
        shutil.copy(template / "site" / file, top / "site" / file)
    edit(top)
    monkeypatch.chdir(top / "site")
    assert run_verbs(top, capsys) == expected


def _make_directory(top: Path) -> None:
    (top / ".git" / "index").unlink()
    (top / ".git" / "index").mkdir()


def _split_without_its_base(top: Path) -> None:
    git(top, "update-index", "--split-index")
    for file in (top / ".git").glob("sharedindex.*"):
        file.unlink()


INDEXES = {
    "a FIFO": _add_fifo(".git/index"),
    "no index": _write_bytes(".git/index", b"no index"),
    "empty": _write_bytes(".git/index", b""),
    "of a version to come": _write_bytes(".git/index", b"DIRC\0\0\0\x63" + b"\0" * 24),
    "a folder": _make_directory,
    "without what it shares": _split_without_its_base,
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.slow
def test_an_index_that_cannot_be_read_gives_no_verdict(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    INDEXES[name](top)
    edit(top)
    monkeypatch.chdir(top / "site")
    found = run_verbs(top, capsys)
    for verb in ("diff", "validate", "lock"):
        assert found[verb].status == 1, verb
        assert "FAB9020" in found[verb].codes, verb
    assert "FAB0084" in found["lock that is lost"].codes


def test_no_setting_of_a_repository_brings_replaced_objects_back(top: Path) -> None:
    _replace_objects(top)
    git(top, "config", "core.useReplaceRefs", "true")
    committed = (INVENTORIES / "lab-smallest" / "cluster.yaml").read_bytes()
    assert git(top, "show", "HEAD:site/cluster.yaml") != committed.decode().strip(), (
        "Git shows the other spec"
    )
    repository = Repository.of(top / "site")
    entry = repository.entry(repository.commit("HEAD"), "site/cluster.yaml")
    assert entry is not None
    assert repository.blob(entry) == committed
    assert dict(repository.blobs([entry])) == {entry: committed}


@pytest.mark.parametrize("name", ["HEAD", "config", "index"])
def test_unreadable_git_index_raises_instead_of_untracked(top: Path, name: str) -> None:
    _add_fifo(f".git/{name}")(top)
    with pytest.raises(GitError, match="did not answer within"):
        Repository.of(top / "site").tracks("cluster.yaml")


def test_an_index_that_cannot_be_read_is_named(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_SILENT_S", 20.0)
    monkeypatch.setattr(door, "_PATIENCE", door._SilenceLimit())
    (top / ".git" / "index").write_bytes(b"no index")
    with pytest.raises(GitError, match="cannot read the index"):
        Repository.of(top / "site").tracks("cluster.yaml")


@pytest.mark.slow
def test_a_silent_git_is_waited_for_once(top: Path) -> None:
    _add_fifo(".git/config")(top)
    for _ in range(5):
        with pytest.raises(GitError, match="did not answer within"):
            Repository.of(top / "site")
        assert door._PATIENCE.remaining_s() < door._SILENT_S / 2  # so the next call waits no longer than that


@pytest.mark.slow
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
