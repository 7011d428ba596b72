"""A committed tree is compared whole with a fresh build: nothing in a revision passes that a build did not write."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from tests.review.diff.conftest import INVENTORIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
TREE = "build/lab-smallest"
TOR = f"{TREE}/switches/su001-tor1a/frr.conf"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest") / "repository"
    for name in ("cluster.yaml", "fabricc.lock"):
        folder.mkdir(exist_ok=True)
        shutil.copy(INVENTORIES / "lab-smallest" / name, folder)
    assert run(["build", str(folder / "cluster.yaml"), "-o", str(folder / "build")]) == 0
    (folder / ".gitignore").write_text("build/.*\n", "utf-8")
    git(folder.parent, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    return folder


@pytest.fixture
def repository(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repository"
    shutil.copytree(honest, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return folder


Checked = tuple[int, str]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., Checked]:
    def call(tree: str = "build", revision: str = "HEAD", spec: str = "cluster.yaml") -> Checked:
        capsys.readouterr()
        status = run(["check", tree, "--committed", revision, "--spec", spec])
        streams = capsys.readouterr()
        return status, streams.out + streams.err

    return call


def commit_build(repository: Path) -> None:
    git(repository, "commit", "-qm", "hostile")


@pytest.mark.parametrize("tree", ["build", TREE])
@pytest.mark.spread
def test_an_honest_tree_passes_and_nothing_is_written(
    repository: Path, check: Callable[..., Checked], tree: str
) -> None:
    assert (repository / TOR).is_file()
    shutil.rmtree(repository / "build")
    before = sorted(path for path in repository.rglob("*") if ".git/" not in str(path))
    status, reported = check(tree)
    assert status == 0, reported
    assert "as a fresh build writes it" in reported
    assert sorted(path for path in repository.rglob("*") if ".git/" not in str(path)) == before


@pytest.mark.slow
def test_the_signature_of_a_tree_may_be_committed_next_to_it_and_no_link_of_its_name(
    repository: Path, check: Callable[..., Checked]
) -> None:
    (repository / f"{TREE}.sig").write_text("signed\n", "utf-8")
    git(repository, "add", "-A")
    commit_build(repository)
    assert check()[0] == 0
    (repository / f"{TREE}.minisig").symlink_to("/etc/passwd")
    git(repository, "add", "-A")
    commit_build(repository)
    status, output = check()
    assert (status, "FAB6033" in output) == (1, True)


@pytest.mark.slow
def test_the_trees_of_two_specs_are_checked_one_by_one(
    repository: Path, check: Callable[..., Checked]
) -> None:
    (repository / "build" / "other").mkdir()
    (repository / "build" / "other" / "file").write_text("x", "utf-8")
    git(repository, "add", "-A")
    commit_build(repository)
    assert check(TREE)[0] == 0
    status, reported = check("build")
    assert (status, "build/other/file is not of the build" in reported) == (1, True)


@pytest.mark.slow
def test_the_tree_of_another_spec_of_the_revision_is_not_of_this_check(
    repository: Path, check: Callable[..., Checked]
) -> None:
    other = repository / "clusters" / "b"
    other.mkdir(parents=True)
    text = (repository / "cluster.yaml").read_text("utf-8")
    (other / "cluster.yaml").write_text(text.replace("cluster: lab-smallest", "cluster: lab-b"), "utf-8")
    manifest = (repository / TREE / "manifest.json").read_text("utf-8")
    tree = repository / "build" / "lab-b"
    tree.mkdir()
    (tree / "manifest.json").write_text(manifest.replace("lab-smallest", "lab-b"), "utf-8")
    (tree / "file").write_text("x", "utf-8")
    git(repository, "add", "-A")
    commit_build(repository)
    assert check("build")[0] == 0
    git(repository, "rm", "-rqf", "clusters")
    commit_build(repository)
    status, reported = check("build")
    assert (status, "build/lab-b/file is not of the build" in reported) == (1, True)


def change_committed_file(repository: Path) -> None:
    path = repository / TOR
    path.write_bytes(path.read_bytes().replace(b"hostname su001", b"hostname su002"))
    git(repository, "add", "-A")


def grow_spec(repository: Path) -> None:
    path = repository / TOR
    path.write_bytes(path.read_bytes() + b"!\n")
    git(repository, "add", "-A")


def forged_manifest(repository: Path) -> None:
    """The change and its digest together, as a check against the manifest alone would pass."""
    import hashlib

    path, manifest = repository / TOR, repository / TREE / "manifest.json"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    change_committed_file(repository)
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text("utf-8").replace(before, after), "utf-8")
    git(repository, "add", "-A")


def removed_and_ignored(repository: Path) -> None:
    (repository / ".gitignore").write_text("build/.*\nbuild/**/frr.conf\n", "utf-8")
    git(repository, "rm", "-q", TOR)
    git(repository, "add", "-A")


def add_extra(repository: Path) -> None:
    (repository / TREE / "switches" / "su001-tor1a" / "extra.conf").write_text("x\n", "utf-8")
    git(repository, "add", "-A")


def extra_and_ignored(repository: Path) -> None:
    (repository / TREE / "switches" / "rogue").mkdir()
    (repository / TREE / "switches" / "rogue" / "frr.conf").write_text("x\n", "utf-8")
    git(repository, "add", "-A")
    (repository / ".gitignore").write_text("build/.*\nbuild/**/rogue\n", "utf-8")
    git(repository, "add", "-A")


def add_attributes(repository: Path) -> None:
    (repository / "build" / ".gitattributes").write_text("* eol=crlf\n", "utf-8")
    git(repository, "add", "-f", "build/.gitattributes")


def add_link(repository: Path) -> None:
    (repository / TOR).unlink()
    (repository / TOR).symlink_to("/etc/passwd")
    git(repository, "add", "-A")


def link_to_the_same(repository: Path) -> None:
    (repository / TOR).rename(repository / "aside")
    (repository / TOR).symlink_to("../../../../aside")
    git(repository, "add", "-A")


def add_executable(repository: Path) -> None:
    git(repository, "update-index", "--chmod=+x", TOR)


def add_gitlink(repository: Path) -> None:
    git(repository, "rm", "-rqf", "build")
    git(
        repository,
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{git(repository, 'rev-parse', 'HEAD')},build",
    )


def gitlink_of_a_switch(repository: Path) -> None:
    git(repository, "rm", "-rqf", f"{TREE}/switches/su001-tor1a")
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},{TREE}/switches/su001-tor1a")


def link_of_the_folder(repository: Path) -> None:
    (repository / "build").rename(repository / "aside")
    (repository / "build").symlink_to("aside")
    git(repository, "add", "-A")


def another_cluster(repository: Path) -> None:
    spec = repository / "cluster.yaml"
    spec.write_text(spec.read_text("utf-8").replace("cluster: lab-smallest", "cluster: lab-other"), "utf-8")
    git(repository, "add", "-A")


ATTACKS = [
    (change_committed_file, "FAB6030"), (grow_spec, "FAB6030"), (forged_manifest, "FAB6030"),
    (removed_and_ignored, "FAB6031"), (add_extra, "FAB6032"), (extra_and_ignored, "FAB6032"),
    (add_attributes, "FAB6032"), (add_link, "FAB6033"), (link_to_the_same, "FAB6033"),
    (add_executable, "FAB6033"), (add_gitlink, "FAB6033"),
    (gitlink_of_a_switch, "FAB6033"), (link_of_the_folder, "FAB6033"), (another_cluster, "FAB6032"),
]  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(("attack", "code"), ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS])
def test_committed_tree_with_foreign_content_is_rejected(
    repository: Path, check: Callable[..., Checked], attack: Callable[[Path], None], code: str
) -> None:
    attack(repository)
    commit_build(repository)
    status, reported = check()
    assert status == 1
    assert code in reported
    assert "Traceback" not in reported
    assert len(reported) < 20_000


def test_a_lock_that_was_not_committed_is_refused(repository: Path, check: Callable[..., Checked]) -> None:
    git(repository, "rm", "-q", "fabricc.lock")
    commit_build(repository)
    status, reported = check()
    assert (status, "FAB3900" in reported) == (1, True)
    assert "fabricc-committed-" not in reported


def test_a_spec_that_does_not_compile_is_reported_by_its_own_name(
    repository: Path, check: Callable[..., Checked]
) -> None:
    (repository / "cluster.yaml").write_text("cluster: [\n", "utf-8")
    git(repository, "add", "-A")
    commit_build(repository)
    status, reported = check()
    assert status == 1
    assert "\ncluster.yaml:" in f"\n{reported}"
    assert "fabricc-committed-" not in reported


@pytest.mark.parametrize(
    ("tree", "revision", "spec", "code"),
    [
        ("nowhere", "HEAD", "cluster.yaml", "FAB6034"),
        ("build", "nowhere", "cluster.yaml", "FAB9020"),
        ("build", "--all", "cluster.yaml", "FAB9020"),
        ("build", "HEAD", "other.yaml", "FAB9020"),
        ("../build", "HEAD", "cluster.yaml", "FAB9020"),
        (".", "HEAD", "cluster.yaml", "FAB9020"),
    ],
)
@pytest.mark.spread
def test_missing_committed_tree_is_rejected(
    repository: Path, check: Callable[..., Checked], tree: str, revision: str, spec: str, code: str
) -> None:
    status, reported = check(tree, revision, spec)
    assert (status, code in reported) == (1, True), reported


@pytest.mark.slow
def test_a_name_that_speaks_to_the_terminal_is_made_visible(
    repository: Path, check: Callable[..., Checked]
) -> None:
    (repository / TREE / "a\x1b[31m\n::error::x").write_text("x", "utf-8")
    git(repository, "add", "-A")
    commit_build(repository)
    status, reported = check()
    assert status == 1
    assert "\x1b" not in reported
    assert "\n::error::" not in reported
    assert r"\x1b[31m\n::error::x" in reported


def test_the_option_needs_a_spec(repository: Path) -> None:
    assert run(["check", "build", "--committed", "HEAD"]) == 2
