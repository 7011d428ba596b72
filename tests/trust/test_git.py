"""Git is called from one place, and nothing that a repository brings runs: each way in is planted and shown to work."""

from __future__ import annotations

import ast
import os
import pty
import re
import shlex
import shutil
import subprocess
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

import fabricc
from fabricc.base.foreign import git_history
from fabricc.base.foreign import git_process as door
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import Answer, GitError
from fabricc.base.values import replace
from fabricc.cli.entry import run
from fabricc.compiler.load.revision import SpecHistory
from tests.review.diff.conftest import INVENTORIES

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SOURCE = Path(fabricc.__file__).parent
ABSENT = "1234567890123456789012345678901234567890"


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def git(folder: Path, *arguments: str, check: bool = True, stdin: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if "EDITOR" not in name}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    done = subprocess.run(
        command, check=check, capture_output=True, text=True, env=environment, input=stdin, timeout=60
    )
    return done.stdout.strip()


def on_a_terminal(folder: Path, arguments: Sequence[str], stdin: str) -> None:
    """Run git with a terminal for its output, so that it uses a pager; what it prints is dropped."""
    ours, its = pty.openpty()
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    environment = {n: v for n, v in os.environ.items() if "EDITOR" not in n and "PAGER" not in n}
    subprocess.run(
        command, check=False, stdout=its, stderr=its, env=environment, input=stdin.encode(), timeout=60
    )
    os.close(its)
    os.close(ours)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    shutil.copytree(INVENTORIES / "lab-smallest", folder / "site")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "commit", "-qm", "more", "--allow-empty")
    for branch in ("left", "right"):
        git(folder, "checkout", "-qb", branch, "main")
        with (folder / "site" / "cluster.yaml").open("a", encoding="utf-8") as file:
            file.write(f"# {branch}\n")
        git(folder, "commit", "-qam", branch)
    git(folder, "checkout", "-q", "main")
    return folder


@pytest.fixture
def trap(tmp_path: Path) -> tuple[str, Path]:
    """A command that leaves a mark, and the mark."""
    mark, command = tmp_path / "ran", tmp_path / "trap"
    command.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(mark))}\nexit 1\n", "utf-8")
    command.chmod(0o755)
    return str(command), mark


def send_requests(folder: Path) -> None:
    """Run every request of fabricc to a repository, once for existing and once for missing objects."""
    try:
        found = Repository.of(folder)
        commit = found.commit("HEAD")
        git_history.merge_bases(found, commit, found.commit("HEAD~1"))
        with TemporaryDirectory() as scratch:
            first = found.commit("HEAD~1")
            git_history.merge_commits(found, commit, first, (first,), Path(scratch))
        entries = found.entries(commit, "site")
        assert entries
        for entry in entries:
            found.blob(entry)
        list(found.digests(entries))
    except GitError:
        pass  # a damaged repository may be refused; what counts is that nothing runs
    for revision in ("HEAD", ABSENT, "nowhere"):
        run(["diff", str(folder / "cluster.yaml"), "--base", revision])
    run(["diff", str(folder / "cluster.yaml"), "--base", "left", "--head", "right"])


def append_config(repository: Path, text: str) -> None:
    with (repository / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(text)


PLANTED: dict[str, tuple[str, Sequence[str]]] = {
    "alias": ("[alias]\n\tx = !{trap}\n", ("x",)),
    "ext transport": (
        '[remote "origin"]\n\turl = ext::{trap}\n[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n',
        ("fetch", "origin"),
    ),
    "git proxy": (
        '[core]\n\tgitProxy = {trap}\n[remote "origin"]\n\turl = git://localhost/x\n',
        ("fetch", "origin"),
    ),
    "ssh command": (
        '[core]\n\tsshCommand = {trap}\n[remote "origin"]\n\turl = ssh://localhost/x\n',
        ("fetch", "origin"),
    ),
    "upload pack": (
        '[remote "origin"]\n\turl = {top}\n\tuploadpack = {trap}\n[protocol "file"]\n\tallow = always\n',
        ("fetch", "origin"),
    ),
    "lazy fetch": (
        '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\turl = {top}\n'
        '\tuploadpack = {trap}\n\tpromisor = true\n[protocol "file"]\n\tallow = always\n',
        ("cat-file", "-p", ABSENT),
    ),
    "merge driver": (
        '[merge "evil"]\n\tdriver = {trap} %O %A %B\n[merge]\n\tdefault = evil\n',
        ("merge-tree", "--write-tree", "left", "right"),
    ),
    "fsmonitor": ("[core]\n\tfsmonitor = {trap}\n", ("status",)),
    "pager": ("[core]\n\tpager = {trap}\n", ("-p", "log")),
    "pager of one command": ("[pager]\n\tcat-file = {trap}\n", ("cat-file", "-p", "HEAD")),
    "editor": ("[core]\n\teditor = {trap}\n", ("commit", "--allow-empty")),
    "credential helper": ("[credential]\n\thelper = {trap}\n", ("credential", "fill")),
    "filter": (
        '[filter "evil"]\n\tsmudge = {trap}\n\tclean = {trap}\n\tprocess = {trap}\n',
        ("cat-file", "--filters", "HEAD:site/cluster.yaml"),
    ),
    "text conversion": (
        '[diff "evil"]\n\ttextconv = {trap}\n\tcommand = {trap}\n',
        ("cat-file", "--textconv", "HEAD:site/cluster.yaml"),
    ),
    "external diff": ("[diff]\n\texternal = {trap}\n", ("diff", "--no-index", "/dev/null", "{trap}")),
    "references of alternates": (
        "[core]\n\talternateRefsCommand = {trap}\n",
        ("rev-list", "--alternate-refs"),
    ),
    "hooks path": ("[core]\n\thooksPath = {top}/hooks\n", ("commit", "--allow-empty", "-m", "x")),
    "included file": ("[include]\n\tpath = {top}/more\n", ("status",)),
}


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.slow
def test_no_command_that_a_repository_names_runs(
    repository: Path, trap: tuple[str, Path], tmp_path: Path, name: str
) -> None:
    command, mark = trap
    text, control = PLANTED[name]
    for hook in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
        (tmp_path / "hooks").mkdir(exist_ok=True)
        shutil.copy(command, tmp_path / "hooks" / hook)
    (tmp_path / "more").write_text(f"[core]\n\tfsmonitor = {command}\n", "utf-8")
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n", "utf-8")
    git(tmp_path, "init", "-q", "--bare", "other.git")
    (repository / ".git" / "objects" / "info" / "alternates").write_text(
        f"{tmp_path}/other.git/objects\n", "utf-8"
    )
    append_config(repository, text.format(trap=command, top=tmp_path))
    requested = [word.format(trap=command) for word in control]
    on_a_terminal(repository, requested, "protocol=https\nhost=localhost\n\n")
    assert mark.exists(), "the trap is not set"
    mark.unlink()
    send_requests(repository / "site")
    assert not mark.exists()


STEERING = {
    "GIT_DIR": "{top}/evil.git",
    "GIT_EXTERNAL_DIFF": "{trap}",
    "GIT_SSH_COMMAND": "{trap}",
    "GIT_PAGER": "{trap}",
    "GIT_EXEC_PATH": "{top}/hooks",
    "GIT_TRACE": "{top}/ran",
    "GIT_TRACE2_EVENT": "{top}/ran",
    "GIT_CONFIG_PARAMETERS": "'core.fsmonitor={trap}'",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.worktree",
    "GIT_CONFIG_VALUE_0": "/",
    "GIT_OBJECT_DIRECTORY": "{top}/nothing",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "{top}/nothing",
    "GIT_ATTR_SOURCE": "nowhere",
    "GIT_REPLACE_REF_BASE": "refs/heads/",
    "GIT_NAMESPACE": "x",
    "GIT_CEILING_DIRECTORIES": "",
}


@pytest.mark.spread
@pytest.mark.parametrize("name", [*STEERING, "GIT_INDEX_FILE", "GIT_COMMON_DIR"])
def test_the_environment_does_not_steer_git(
    repository: Path,
    trap: tuple[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    before = Repository.of(repository / "site").commit("HEAD")
    value = STEERING.get(name, "{top}/nothing").format(trap=trap[0], top=tmp_path)
    monkeypatch.setenv(name, value)
    assert Repository.of(repository / "site").commit("HEAD") == before
    assert not trap[1].exists()
    kept = door.git_environment().get(name)
    assert kept != value or name == "GIT_CEILING_DIRECTORIES"


@pytest.fixture
def embedded(tmp_path: Path, trap: tuple[str, Path]) -> Path:
    """A clone whose folder `clusters/a` has a spec, and is a bare repository with a command to fetch by."""
    inner = tmp_path / "clone" / "clusters" / "a"
    inner.mkdir(parents=True)
    git(tmp_path, "init", "-q", str(tmp_path / "clone"))
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(inner))
    (inner / "config").write_text(
        f'[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tpartialClone = evil\n[remote "evil"]\n'
        f'\turl = {tmp_path}\n\tuploadpack = {trap[0]}\n\tpromisor = true\n[protocol "file"]\n\tallow = always\n',
        "utf-8",
    )
    (inner / "refs" / "heads" / "main").write_text(f"{ABSENT}\n", "utf-8")
    for name in ("cluster.yaml", "fabricc.lock"):
        shutil.copy(INVENTORIES / "lab-smallest" / name, inner)
    return inner


def test_an_embedded_bare_repository_is_refused(
    embedded: Path, trap: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    git(embedded, "cat-file", "-p", "HEAD", check=False)
    assert trap[1].exists(), "the trap is not set"
    trap[1].unlink()
    assert run(["diff", str(embedded / "cluster.yaml")]) == 1
    assert not trap[1].exists()
    reported = capsys.readouterr().err
    assert "FAB9020" in reported
    assert "is inside a bare Git repository" in reported


@pytest.mark.parametrize(
    "settings", ["\tbare = true\n", "\tbare = false\n\tworktree = .\n", "\tbare = false\n"]
)
def test_an_older_git_does_not_use_it_either(
    embedded: Path, trap: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    monkeypatch.setattr(
        door, "_SETTINGS", [each for each in door._SETTINGS if not each.startswith("safe.bareRepository")]
    )
    text = (embedded / "config").read_text("utf-8")
    (embedded / "config").write_text(text.replace("\tbare = true\n", settings), "utf-8")
    with pytest.raises(GitError):
        Repository.of(embedded)
    assert run(["diff", str(embedded / "cluster.yaml")]) == 1
    assert not trap[1].exists()


@pytest.mark.slow
def test_a_git_without_the_switch_for_lazy_fetches_fetches_nothing(
    repository: Path, trap: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(door._ENVIRONMENT, "GIT_NO_LAZY_FETCH")
    append_config(repository, PLANTED["lazy fetch"][0].format(trap=trap[0], top=tmp_path))
    send_requests(repository / "site")
    with pytest.raises(GitError):
        Repository.of(repository).commit(ABSENT)
    assert not trap[1].exists()


@pytest.mark.slow
def test_a_blob_that_a_partial_clone_lacks_is_no_spec_that_is_not_there(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = git(repository, "rev-parse", "HEAD:site/cluster.yaml")
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    assert run(["diff", str(repository / "site" / "cluster.yaml")]) == 1
    assert "Git cannot read site/cluster.yaml" in capsys.readouterr().err


def test_replaced_and_grafted_objects_count_for_nothing(repository: Path) -> None:
    real = git(repository, "rev-parse", "HEAD:site/cluster.yaml")
    (repository / "other").write_text("forged\n", "utf-8")
    forged = git(repository, "hash-object", "-w", "other")
    git(repository, "replace", real, forged)
    found = Repository.of(repository / "site")
    head, first = found.commit("HEAD"), found.commit("HEAD~1")
    (repository / ".git" / "info" / "grafts").write_text(f"{head}\n", "utf-8")
    assert git(repository, "merge-base", head, first, check=False) == "", "the graft is not set"
    assert git_history.merge_bases(found, head, first) == (first,)
    entry = found.entry(head, "site/cluster.yaml")
    assert entry is not None
    assert found.blob(entry) == (repository / "site" / "cluster.yaml").read_bytes()


@pytest.mark.parametrize("form", ["sha1", "sha256"])
@pytest.mark.spread
def test_an_object_whose_content_was_exchanged_is_refused(tmp_path: Path, form: str) -> None:
    """`git cat-file` and `git show` print it; the name of the commit stays the same."""
    top = tmp_path / form
    top.mkdir()
    git(top, "init", "-q", f"--object-format={form}")
    (top / "cluster.yaml").write_text("cluster: real\n", "utf-8")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    found = Repository.of(top)
    entry = found.entry(found.commit("HEAD"), "cluster.yaml")
    assert entry is not None
    assert found.blob(entry) == b"cluster: real\n"
    assert [text for _, text in found.blobs([entry])] == [b"cluster: real\n"]
    place = top / ".git" / "objects" / entry.object[:2] / entry.object[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 14\0cluster: fake\n"))
    assert git(top, "show", "HEAD:cluster.yaml") == "cluster: fake"
    for read in (
        lambda: found.blob(entry),
        lambda: [*found.blobs([entry])],
        lambda: [*found.digests([entry])],
    ):
        with pytest.raises(GitError, match=r"cluster\.yaml: its object \w{12} in Git has other content"):
            read()


@pytest.mark.parametrize("first", ["main", "left"])
def test_a_folder_with_two_entries_of_one_name_is_refused(repository: Path, first: str) -> None:
    """A review would compare one of them, and Git check out the other."""
    names = [git(repository, "rev-parse", f"{branch}:site/cluster.yaml") for branch in ("main", "left")]
    body = b"".join(
        b"100644 cluster.yaml\0" + bytes.fromhex(name) for name in (names if first == "main" else names[::-1])
    )
    inner = subprocess.run(
        ["git", "-C", str(repository), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
        input=body, capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    top = git(repository, "mktree", stdin=f"040000 tree {inner}\tsite\n")
    commit = git(repository, "commit-tree", top, "-p", "main", "-m", "twins")
    found = Repository.of(repository)
    for look in (lambda: found.entry(commit, "site/cluster.yaml"), lambda: found.all_entries(commit)):
        with pytest.raises(GitError, match=r"two entries with the name site/cluster\.yaml"):
            look()


@pytest.mark.parametrize("name", [b"..", b"../x", b"."])
def test_a_name_that_leads_out_of_its_folder_is_refused(repository: Path, name: bytes) -> None:
    """Git lists it and never checks it out; templates of a revision were written outside of their folder by it."""
    file = git(repository, "rev-parse", "main:site/cluster.yaml")
    inner = subprocess.run(
        ["git", "-C", str(repository), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
        input=b"100644 " + name + b"\0" + bytes.fromhex(file), capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip
    top = git(repository, "mktree", stdin=f"040000 tree {inner}\tsite\n")
    commit = git(repository, "commit-tree", top, "-p", "main", "-m", "climb")
    found = Repository.of(repository)
    for look in (lambda: found.entries(commit, "site"), lambda: found.all_entries(commit)):
        with pytest.raises(GitError, match="leads out of its folder"):
            look()


def test_a_folder_whose_content_was_exchanged_is_refused(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD:site")
    spec = git(repository, "rev-parse", "HEAD:site/cluster.yaml")
    place = repository / ".git" / "objects" / tree[:2] / tree[2:]
    place.chmod(0o644)
    body = b"100644 other.yaml\0" + bytes.fromhex(spec)
    place.write_bytes(zlib.compress(b"tree %d\0" % len(body) + body))
    found = Repository.of(repository)
    head = found.commit("HEAD")
    for path in ("site/cluster.yaml", "site/other.yaml"):
        with pytest.raises(GitError, match=r"site: its object \w{12} in Git has other content"):
            found.entry(head, path)
    for look in (lambda: found.entries(head, "site"), lambda: found.all_entries(head)):
        with pytest.raises(GitError, match=r"site: its object \w{12} in Git has other content"):
            look()


def forge_object(repository: Path, name: str, kind: str, content: bytes) -> None:
    """Exchange the content of an object."""
    place = repository / ".git" / "objects" / name[:2] / name[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(f"{kind} {len(content)}\0".encode() + content))


def commit_content(repository: Path, revision: str) -> bytes:
    return (git(repository, "cat-file", "commit", revision) + "\n").encode()


def add_commit(repository: Path, name: str) -> str:
    (repository / name).write_text(name, "utf-8")
    git(repository, "add", name)
    git(repository, "commit", "-qm", name)
    return git(repository, "rev-parse", "HEAD")


def test_a_forged_commit_between_others_does_not_move_the_base(repository: Path) -> None:
    """Git compares the content of the two named commits with their names, and of no other."""
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "topic")
    middle = add_commit(repository, "a")
    topic = add_commit(repository, "b")
    git(repository, "checkout", "-qB", "main", start)
    main = add_commit(repository, "c")
    found = Repository.of(repository)
    assert git_history.merge_bases(found, main, topic) == (start,)
    content = commit_content(repository, middle)
    forge_object(repository, middle, "commit", content.replace(start.encode(), main.encode()))
    assert git(repository, "merge-base", main, topic) == main, "Git reads the forged commit"
    with pytest.raises(
        GitError, match=rf"commit {middle[:12]}: its object {middle[:12]} in Git has other content"
    ):
        git_history.merge_bases(found, main, topic)


@pytest.mark.slow
def test_a_forged_commit_below_the_base_hides_no_other_base(repository: Path) -> None:
    """Branches that merged each other have two bases; a forged history has one of them above the other."""
    start = git(repository, "rev-parse", "HEAD")
    older, newer = add_commit(repository, "a"), ""
    git(repository, "checkout", "-qb", "other", start)
    step = add_commit(repository, "b")
    newer = add_commit(repository, "c")
    for branch, own, merged in (("first", newer, older), ("second", older, newer)):
        git(repository, "checkout", "-qB", branch, own)
        git(repository, "merge", "-q", "--no-ff", "-m", branch, merged)
    found = Repository.of(repository)
    first, second = found.commit("first"), found.commit("second")
    assert {*git_history.merge_bases(found, first, second)} == {older, newer}
    forge_object(
        repository, step, "commit", commit_content(repository, step).replace(start.encode(), older.encode())
    )
    assert git(repository, "merge-base", "--all", first, second) == newer, "Git reads the forged commit"
    with pytest.raises(GitError, match="has other content"):
        git_history.merge_bases(found, first, second)


@pytest.mark.slow
def test_an_older_commit_that_was_merged_before_is_no_second_base(repository: Path) -> None:
    older = git(repository, "rev-parse", "HEAD")
    newer = add_commit(repository, "a")
    git(repository, "checkout", "-qb", "topic", "HEAD~2")
    add_commit(repository, "b")
    for merged in (older, newer):
        git(repository, "merge", "-q", "--no-ff", "-m", "merge", merged)
    git(repository, "checkout", "-q", "main")
    main = add_commit(repository, "c")
    found = Repository.of(repository)
    assert git_history.merge_bases(found, main, found.commit("topic")) == (newer,)


def test_two_contents_of_one_commit_do_not_move_the_base(repository: Path) -> None:
    """Which of two packs Git reads an object from depends on what it read before."""
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "topic")
    middle = add_commit(repository, "a")
    topic = add_commit(repository, "b")
    git(repository, "checkout", "-qB", "main", start)
    main = add_commit(repository, "c")
    found = Repository.of(repository)
    original = git_history.run_git

    def read_forged(folder: Path, *words: str, limit: int = 1 << 16) -> Answer:
        answer = original(folder, *words, limit=limit)
        if words[0] == "merge-base":
            return replace(answer, out=f"{main}\n".encode())
        rows = f"{topic} {middle}\n{middle} {main}\n"
        return replace(answer, out=rows.encode()) if words[0] == "rev-list" else answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git_history, "run_git", read_forged)
        with pytest.raises(GitError, match="do not lead to the base that Git finds"):
            git_history.merge_bases(found, main, topic)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_a_merge_reads_no_exchanged_object(repository: Path, kind: str, tmp_path: Path) -> None:
    """Where the base has the content of the branch, a merge keeps that of the other side."""
    start = git(repository, "rev-parse", "HEAD")
    for branch, name in (("topic", "cluster: topic\n"), ("main", "cluster: main\n")):
        git(repository, "checkout", "-qB", branch, start)
        (repository / "site" / "cluster.yaml").write_text(name, "utf-8")
        git(repository, "commit", "-qam", branch)
    found = Repository.of(repository)
    main, topic = found.commit("main"), found.commit("topic")
    place = "site/cluster.yaml" if kind == "blob" else "site"
    forged = git(repository, "rev-parse", f"{start}:{place}")
    new = subprocess.run(
        ["git", "-C", str(repository), "cat-file", kind, f"topic:{place}"], capture_output=True, check=True
    ).stdout
    forge_object(repository, forged, kind, new)
    with pytest.raises(GitError, match=r"its object \w{12} in Git has other content"):
        git_history.merge_commits(found, main, topic, (start,), tmp_path / "merge")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_a_merge_does_not_read_a_second_content_of_an_object(
    repository: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is exchanged after fabricc compared it with its name, and before Git merges."""
    start = git(repository, "rev-parse", "HEAD")
    for branch, name in (("topic", "cluster: topic\n"), ("main", "cluster: site\n")):
        git(repository, "checkout", "-qB", branch, start)
        (repository / "site" / ("cluster.yaml" if branch == "topic" else "notes")).write_text(name, "utf-8")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", branch)
    place = "site/cluster.yaml" if kind == "blob" else "site"
    first = git(repository, "rev-parse", f"{start}:{place}")
    new = subprocess.run(
        ["git", "-C", str(repository), "cat-file", kind, f"topic:{place}"], capture_output=True, check=True
    ).stdout
    expected = git(repository, "merge-tree", "--write-tree", "main", "topic")
    original = git_history.run_git

    def exchange(folder: Path, *words: str, limit: int = 1 << 16) -> Answer:
        if words[0] == "merge-tree":
            forge_object(repository, first, kind, new)
        return original(folder, *words, limit=limit)

    monkeypatch.setattr(git_history, "run_git", exchange)
    found = Repository.of(repository)
    main, topic = found.commit("main"), found.commit("topic")
    merge = git_history.merge_commits(found, main, topic, (start,), tmp_path / "merge")
    assert (merge.tree, merge.conflicts) == (expected, ())


@pytest.mark.slow
def test_a_merge_of_copies_is_that_of_git(repository: Path, tmp_path: Path) -> None:
    """Renamed files and folders, links, modes, a submodule, and a conflict."""
    site = repository / "site"
    for number in range(4):
        (site / f"{number}").write_text("".join(f"{number} {line}\n" for line in range(40)), "utf-8")
    (site / "link").symlink_to("0")
    (repository / "same").mkdir()
    (repository / "same" / "file").write_text("same\n", "utf-8")
    git(repository, "add", "-A")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(repository, "commit", "-qm", "more")
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qB", "topic")
    git(repository, "mv", "site", "zone")
    (repository / "zone" / "1").write_text(
        "topic\n" + (repository / "zone" / "1").read_text("utf-8"), "utf-8"
    )
    (repository / "zone" / "2").chmod(0o755)
    git(repository, "add", "zone")
    git(repository, "update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    git(repository, "commit", "-qm", "topic")
    git(repository, "checkout", "-qfB", "main", start)
    (site / "1").write_text((site / "1").read_text("utf-8") + "main\n", "utf-8")
    (site / "link").unlink()
    (site / "link").symlink_to("3")
    git(repository, "add", "site")
    git(repository, "commit", "-qm", "main")
    found = Repository.of(repository)
    main, topic = found.commit("main"), found.commit("topic")
    expected = git(repository, "merge-tree", "--write-tree", "main", "topic")
    merge = git_history.merge_commits(found, main, topic, (start,), tmp_path / "merge")
    assert (merge.tree, merge.conflicts) == (expected, ())
    (site / "1").write_text("main\n", "utf-8")
    git(repository, "commit", "-qam", "conflict")
    merge = git_history.merge_commits(found, found.commit("main"), topic, (start,), tmp_path / "again")
    assert merge.conflicts == ("zone/1",)


def cross_branches(repository: Path, levels: int) -> None:
    """Make branches `main` and `topic`: each has a commit and a merge of both per level, and one more commit."""
    tips, lines, mark = {each: git(repository, "rev-parse", "HEAD") for each in ("main", "topic")}, [], 0

    def commit(branch: str, *files: str, merged: str = "") -> str:
        nonlocal mark
        mark += 1
        text = f"{mark}\n"
        lines.append(
            f"commit refs/heads/{branch}\nmark :{mark}\ncommitter t <t@example.org> {mark} +0000\ndata 0\n"
        )
        lines.append(f"from {tips[branch]}\n" + (f"merge {merged}\n" if merged else ""))
        lines.extend(f"M 100644 inline site/{file}\ndata {len(text)}\n{text}\n" for file in files)
        return f":{mark}"

    for level in range(levels):
        tips = {branch: commit(branch, f"{branch}{level}") for branch in tips}
        before = dict(tips)
        for branch, other in (("main", "topic"), ("topic", "main")):
            tips[branch] = commit(branch, f"{other}{level}", merged=before[other])
    for branch in tips:
        commit(branch, f"last-{branch}")
    git(repository, "fast-import", "--quiet", "--force", stdin="".join(lines))


@pytest.mark.slow
def test_a_merge_with_several_bases_reads_copies(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git merges the bases first, and their bases before; one object is exchanged right before that."""
    cross_branches(repository, 2)
    expected = git(repository, "merge-tree", "--write-tree", "main", "topic")
    found = Repository.of(repository)
    main, topic = found.commit("main"), found.commit("topic")
    bases = git_history.merge_bases(found, main, topic)
    assert len(bases) == 2
    assert len(git_history.merge_bases(found, *bases)) == 2
    first = git(repository, "rev-parse", f"{bases[0]}:site")
    original = git_history.run_git

    def exchange(folder: Path, *words: str, limit: int = 1 << 16) -> Answer:
        if words[0] == "merge-tree":
            content = subprocess.run(
                ["git", "-C", str(repository), "cat-file", "tree", "topic:site"],
                capture_output=True,
                check=True,
            )
            forge_object(repository, first, "tree", content.stdout)
        return original(folder, *words, limit=limit)

    monkeypatch.setattr(git_history, "run_git", exchange)
    merge = git_history.merge_commits(found, main, topic, bases, tmp_path / "merge")
    assert (merge.tree, merge.conflicts) == (expected, ())
    assert git(repository, "merge-tree", "--write-tree", "main", "topic", check=False) != expected


@pytest.mark.slow
def test_too_many_bases_are_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross_branches(repository, 1)
    found = Repository.of(repository)
    main, topic = found.commit("main"), found.commit("topic")
    bases = git_history.merge_bases(found, main, topic)
    monkeypatch.setattr(git_history, "_MOST_MERGED", 3)
    with pytest.raises(GitError, match="more than 3 bases") as caught:
        git_history.merge_commits(found, main, topic, bases, tmp_path / "merge")
    assert caught.value.help == f"Merge {main[:12]} into the branch, and review the result."


def test_a_repository_that_does_not_answer_is_given_up(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(repository / ".git" / "more")
    append_config(repository, "[include]\n\tpath = more\n")
    monkeypatch.setattr(door, "_SECONDS", 0.5)
    begin = time.monotonic()
    with pytest.raises(GitError, match="did not answer within"):
        Repository.of(repository)
    assert time.monotonic() - begin < 10


@pytest.mark.slow
def test_oversized_git_objects_are_not_read(repository: Path) -> None:
    (repository / "site" / "large").write_bytes(bytes(3 << 20))
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "large")
    found = Repository.of(repository)
    entry = found.entry(found.commit("HEAD"), "site/large")
    assert entry is not None
    assert len(found.blob(entry)) == 3 << 20
    with pytest.raises(GitError, match="larger than 1 MiB"):
        found.blob(entry, 1 << 20)
    with pytest.raises(GitError, match="answers more than fabricc reads"):
        door.run_git(repository, "cat-file", "blob", entry.object, limit=1 << 20)


@pytest.mark.parametrize(
    "revision", ["--upload-pack=x", "-h", "--all", "", "HEAD\n--all", "HEAD\0", "HEAD:site"]
)
@pytest.mark.spread
def test_invalid_revisions_are_rejected(repository: Path, revision: str) -> None:
    with pytest.raises(GitError, match="finds no revision"):
        Repository.of(repository).commit(revision)


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "site/../../x", "", ".", "site//x", "site/./x", "x\0"]
)
@pytest.mark.spread
def test_a_path_never_climbs(repository: Path, path: str) -> None:
    found = Repository.of(repository)
    with pytest.raises(GitError, match="not a path inside"):
        found.entry(found.commit("HEAD"), path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cluster.yaml", "fabricc.lock", "own-catalog.yaml"])
@pytest.mark.parametrize("made", ["link", "gitlink"])
def test_a_link_in_a_revision_is_not_read(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, made: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("cluster: s3cret\n", "utf-8")
    site = repository / "site"
    if name == "own-catalog.yaml":
        with (site / "cluster.yaml").open("a", encoding="utf-8") as file:
            file.write(f"catalog: [{name}]\n")
        git(repository, "commit", "-qam", "catalog")
    head = git(repository, "rev-parse", "HEAD")
    target = git(repository, "rev-parse", "HEAD") if made == "gitlink" else None
    if target is None:
        (repository / "target").write_text(str(secret), "utf-8")
        target = git(repository, "hash-object", "-w", "target")
    mode = "160000" if made == "gitlink" else "120000"
    git(repository, "update-index", "--add", "--cacheinfo", f"{mode},{target},site/{name}")
    git(repository, "commit", "-qm", "link")
    status = run(["diff", str(site / "cluster.yaml"), "--base", head, "--head", "HEAD"])
    streams = capsys.readouterr()
    assert status == 1
    assert f"site/{name} is " in streams.err
    assert "s3cret" not in streams.out + streams.err


def test_a_spec_that_is_a_link_does_not_choose_the_repository(repository: Path, embedded: Path) -> None:
    spec = repository / "site" / "linked.yaml"
    spec.symlink_to(embedded / "cluster.yaml")
    assert SpecHistory.of(spec).repository.folder == repository / "site"


def test_a_relative_folder_is_below_the_folder_that_fabricc_runs_in(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.parent)
    answer = door.run_git(Path(repository.name), "rev-parse", "--show-prefix")
    assert (answer.status, answer.out) == (0, b"\n")


def test_git_is_not_taken_from_the_folder_that_fabricc_runs_in(
    repository: Path, trap: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(trap[0], repository / "git")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert Repository.of(repository / "site").prefix == "site/"
    assert not trap[1].exists()


def test_a_repository_of_another_user_is_refused_and_can_be_trusted(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(GitError, match="belongs to another user") as caught:
        Repository.of(repository / "site")
    assert "safe.directory" in caught.value.help
    own = tmp_path / "own"
    own.write_text(f"[safe]\n\tdirectory = {repository}\n", "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert Repository.of(repository / "site").prefix == "site/"


def test_git_is_started_from_one_place() -> None:
    def words(tree: ast.AST) -> set[str]:
        """Whole texts, and the first words of command lines, that stand in calls and lists."""
        found = set()
        for node in ast.walk(tree):
            parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", ())
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            found |= {text.split()[0] for text in texts if isinstance(text, str) and text.split()}
        return found

    def starts_git(path: Path) -> bool:
        text = path.read_text("utf-8")
        if "git" not in text or not re.search(r"\b(?:subprocess|os|pty|asyncio)\b", text):
            return False
        tree = ast.parse(text)
        named = {Path(word).name for word in words(tree)}
        starts = any(
            isinstance(node, ast.Import | ast.ImportFrom)
            and any("subprocess" in name.name or name.name in ("os", "pty", "asyncio") for name in node.names)
            for node in ast.walk(tree)
        )
        return starts and "git" in named

    assert [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if starts_git(path)] == [
        "base/foreign/git_process.py"
    ]


@pytest.mark.slow
def test_a_branch_that_is_older_than_the_policy_is_held_to_it(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = repository / "site" / "cluster.yaml"
    text = spec.read_text("utf-8")
    for where in ("file", "spec"):
        git(repository, "checkout", "-qB", "topic", "main")
        spec.write_text(text.replace("dscp: 26", "dscp: 34"), "utf-8")
        git(repository, "commit", "-qam", "topic")
        git(repository, "checkout", "-qB", where, "main")
        if where == "file":
            (repository / "site" / "fabricc-policy.yaml").write_text("max_impact: none\n", "utf-8")
        else:
            spec.write_text(f"{text}\npolicy: {{max_impact: none}}\n", "utf-8")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "policy")
        capsys.readouterr()
        assert run(["diff", str(spec), "--base", where, "--head", "topic"]) == 1
        assert "FAB9012" in capsys.readouterr().out
        git(repository, "checkout", "-q", "topic")
        assert run(["diff", str(spec), "--base", where]) == 1
        assert run(["diff", str(spec), "--base", "main", "--head", "topic"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("main", "refs/tags/main"), ("origin/main", "refs/tags/origin/main"), ("origin/main", "refs/heads/origin/main"),
        ("main", "refs/main"), ("origin", "refs/heads/origin"), ("SHORT", "refs/heads/SHORT"),
        ("SHORT", "refs/tags/SHORT"),
    ],
)  # fmt: skip
def test_a_name_of_two_commits_is_refused(name: str, reference: str, repository: Path) -> None:
    base = git(repository, "rev-parse", "main")
    name, reference = (word.replace("SHORT", base[:9]) for word in (name, reference))
    for one in ("refs/remotes/origin/main", "refs/remotes/origin/HEAD"):
        git(repository, "update-ref", one, base)
    opened = Repository.of(repository)
    forms = (name, f"{name}~0", f"{name}^{{commit}}")
    assert {opened.commit(each) for each in forms} == {base}
    git(repository, "update-ref", reference, "left")
    for each in forms:
        with pytest.raises(GitError, match="different commits"):
            opened.commit(each)
    assert opened.commit("HEAD") == opened.commit(base) == opened.commit("refs/heads/main") == base
    git(repository, "update-ref", reference, base)
    assert {opened.commit(each) for each in forms} == {base}, "both mean the same commit"
