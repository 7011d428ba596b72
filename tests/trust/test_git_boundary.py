"""A `.git` leads Git neither to another repository nor out of the folder that may be read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricc.base.foreign import files, git_parts, git_process
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import Answer, GitError, run_git
from tests.trust.test_git import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Lead = Callable[[Path, Path], None]


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


def _add_pointer(root: Path, private: Path) -> None:
    (root / ".git").write_text(f"gitdir: {private}/.git\n")


def _add_link(root: Path, private: Path) -> None:
    (root / ".git").symlink_to(private / ".git")


def _add_commondir(root: Path, private: Path) -> None:
    git(root.parent, "init", "-q", "-b", "main", str(root))
    (root / ".git" / "commondir").write_text(f"{private}/.git\n")


def _add_worktree(root: Path, private: Path) -> None:
    """A work tree that only its own folder states, not the repository that it names."""
    own = root / "git" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text(f"{private}/.git\n")
    (own / "gitdir").write_text(f"{root}/.git\n")
    (root / ".git").write_text(f"gitdir: {own}\n")


def _add_empty(root: Path, private: Path, *linked: str) -> None:
    """A new repository with parts of another one by links."""
    git(root.parent, "init", "-q", "-b", "main", str(root))
    for name in linked:
        place = root / ".git" / name
        shutil.rmtree(place, ignore_errors=True)
        place.symlink_to(private / ".git" / name)


def _link_objects(root: Path, private: Path) -> None:
    _add_empty(root, private, "objects", "refs")


def _link_pack(root: Path, private: Path) -> None:
    git(private, "repack", "-adq")
    _add_empty(root, private, "objects/pack", "refs")


def _one_reference(root: Path, private: Path) -> None:
    _add_empty(root, private, "objects", "refs/heads/main")


def _packed_references(root: Path, private: Path) -> None:
    git(private, "pack-refs", "--all")
    _add_empty(root, private, "objects", "packed-refs")


def _link_table(root: Path, private: Path) -> None:
    """References below a folder that is linked; the index as well."""
    _add_empty(root, private, "objects", "refs/heads", "index")


def _nest_repository(root: Path, private: Path) -> None:
    """A repository inside of another one that claims the work tree of that one."""
    git(root.parent, "init", "-q", "-b", "main", str(root))
    inner = root / "sub"
    shutil.copytree(private / ".git", inner / ".git")
    git(inner, "config", "core.worktree", "../..")


def _add_alternates(root: Path, private: Path) -> None:
    _add_empty(root, private, "refs")
    (root / "more" / "info").mkdir(parents=True)
    (root / "more" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
    (root / ".git" / "objects" / "info" / "alternates").write_text("# one\n../../more\n")


def _quote_private(root: Path, private: Path) -> None:
    _add_alternates(root, private)
    (root / "more" / "info" / "alternates").write_text(f'"{private}/.gi\\164/objects"\n')


@pytest.mark.parametrize(
    "lead",
    [
        _add_pointer, _add_link, _add_commondir, _add_worktree, _link_objects, _link_pack, _one_reference,
        _packed_references, _link_table, _nest_repository,
        _add_alternates, _quote_private,
    ],
    ids=lambda one: one.__name__,
)  # fmt: skip
def test_no_git_folder_leads_to_another_repository(lead: Lead, private: Path, root: Path) -> None:
    lead(root, private)
    if lead is _add_pointer:
        (private / ".git" / "worktrees").mkdir()
    looked = root / "sub" if lead is _nest_repository else root
    assert git(looked, "cat-file", "blob", "main:cluster.yaml") == "secret", "Git itself reads it"
    with pytest.raises(GitError, match="a part of another repository"):
        Repository.of(looked)
    files.set_boundary(root)
    with pytest.raises(GitError, match="a part of another repository"):
        Repository.of(looked)


def _own_references(root: Path, private: Path) -> None:
    """References of its own to a commit whose objects another repository has."""
    (root / ".git" / "refs" / "heads" / "main").write_text(git(private, "rev-parse", "main") + "\n")


def _linked_objects(root: Path, private: Path) -> None:
    _add_empty(root, private, "objects")
    _own_references(root, private)


def _borrowed_objects(root: Path, private: Path) -> None:
    root.rmdir()
    git(root.parent, "clone", "-q", "--shared", str(private), str(root))


def _chain_links(root: Path, private: Path) -> None:
    _add_alternates(root, private)
    (root / ".git" / "refs").unlink()
    (root / ".git" / "refs" / "heads").mkdir(parents=True)
    _own_references(root, private)


@pytest.mark.parametrize(
    "lead", [_linked_objects, _borrowed_objects, _chain_links], ids=lambda one: one.__name__
)
def test_borrowed_objects_are_read_unless_a_folder_is_the_limit(
    lead: Lead, private: Path, root: Path
) -> None:
    lead(root, private)
    repository = Repository.of(root)
    entry = repository.entry(repository.commit("main"), "cluster.yaml")
    assert entry is not None
    assert repository.blob(entry) == b"secret\n"
    files.set_boundary(root)
    with pytest.raises(GitError, match="may be read"):
        Repository.of(root)


@pytest.mark.slow
def test_work_trees_and_submodules_are_read(private: Path, root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(private), "sub")
    git(tmp_path, "clone", "-q", "--bare", str(private), "bare")
    git(tmp_path / "bare", "worktree", "add", "-q", "--detach", str(tmp_path / "of bare"))
    git(root / "sub", "worktree", "add", "-q", "--detach", str(tmp_path / "of sub"))
    git(tmp_path, "clone", "-q", "--separate-git-dir", "apart.git", str(private), "apart")
    with pytest.raises(GitError, match=r"uses \S+/apart.git, a part of another repository"):
        Repository.of(tmp_path / "apart")
    git(tmp_path / "apart", "config", "core.worktree", str(tmp_path / "apart"))
    (tmp_path / "alias").symlink_to(tmp_path / "apart")
    for folder in ("root/sub", "of bare", "of sub", "apart", "alias"):
        repository = Repository.of(tmp_path / folder)
        assert repository.entry(repository.commit("HEAD"), "cluster.yaml") is not None, folder
    moved = (tmp_path / "of bare").rename(tmp_path / "moved")
    with pytest.raises(GitError, match="a part of another repository") as refused:
        Repository.of(moved)
    assert "`git worktree repair`" in refused.value.help
    git(moved, "worktree", "repair")
    assert Repository.of(moved).commit("HEAD")


def test_a_repository_has_no_references_without_end(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_parts, "_MOST_REFERENCES", 50)
    for number in range(60):
        git(private, "update-ref", f"refs/tags/{number}", "HEAD")
    with pytest.raises(GitError, match="more than 50") as refused:
        Repository.of(private)
    assert refused.value.help == "Pack them: `git pack-refs --all`."
    git(private, "pack-refs", "--all")
    assert Repository.of(private).commit("HEAD")


@pytest.mark.slow
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


def _exchange_git(root: Path, private: Path) -> Path:
    (root / ".git").rename(root.parent / "kept")
    (root / ".git").symlink_to(private / ".git")
    return root / ".git"


def _exchange_parts(root: Path, private: Path) -> Path:
    """References, and objects to which they lead."""
    (root / ".git" / "refs" / "heads").rename(root.parent / "kept")
    (root / ".git" / "refs" / "heads").symlink_to(private / ".git" / "refs" / "heads")
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
    return root / ".git" / "refs" / "heads"


def _exchange_folder(root: Path, private: Path) -> Path:
    """The folder from which Git looks for the repository."""
    (root / "site").rename(root.parent / "kept")
    (root / "site").symlink_to(private / "site")
    return root / "site"


def _add_repository(root: Path, private: Path) -> Path:
    """A repository between the folder and the top."""
    (root.parent / "kept").mkdir()
    (root / "site" / ".git").symlink_to(private / ".git")
    return root / "site" / ".git"


@pytest.mark.slow
@pytest.mark.parametrize(
    "exchange",
    [_exchange_git, _exchange_parts, _exchange_folder, _add_repository],
    ids=lambda one: one.__name__,
)
def test_no_part_is_exchanged_while_git_reads(
    exchange: Callable[[Path, Path], Path], private: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part leads to another repository only while Git runs, and is put back before fabricc looks again."""
    for folder in (root, private):
        (folder / "site").mkdir()
        (folder / "site" / "cluster.yaml").write_text(f"{folder.name}\n")
    git(root, "init", "-q", "-b", "main")
    for folder in (root, private):
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "site")
    files.set_boundary(root)
    repository = Repository.of(root / "site")
    original, answers, most = git_process.run_unwatched, list[Answer](), [1]

    def read(folder: Path, *words: str, limit: int = 1 << 16) -> Answer:
        if words[0] != "cat-file" or len(answers) >= most[0]:
            return original(folder, *words, limit=limit)
        place = exchange(root, private)
        answers.append(original(folder, *words, limit=limit))
        place.unlink()
        (root / ".git" / "objects" / "info" / "alternates").unlink(missing_ok=True)
        if exchange is _add_repository:
            (root.parent / "kept").rmdir()
        else:
            (root.parent / "kept").rename(place)
        return answers[-1]

    monkeypatch.setattr(git_process, "run_unwatched", read)
    requested = ("cat-file", "blob", "main:site/cluster.yaml")
    assert run_git(repository.folder, *requested).out == b"root\n"
    assert [answer.out for answer in answers] == [b"private\n"], "Git itself was led there"
    most[0] = 99
    with pytest.raises(GitError, match="was changed while fabricc read it"):
        run_git(repository.folder, *requested)
