"""Remove each layer that keeps Git from running commands in turn, and refuse Gits that are too old."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabricc.base.foreign import git_process as door
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import GitError
from fabricc.cli.entry import run
from tests.review.diff.conftest import INVENTORIES
from tests.trust.test_git import ABSENT, append_config, git, send_requests

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

HELPER = """\
[core]
	repositoryFormatVersion = 1
[extensions]
	partialClone = evil
[remote "evil"]
	{remote}
	promisor = true
[alias]
	{alias} = !{trap}
"""
HELPERS = {
    "a name of ours": ("url = none::x", "remote-none"),
    "no name": ("url = ::x", "remote-"),
    "a protocol of its own": ("vcs = evil\n\turl = x", "remote-evil"),
    "a protocol without a name": ('vcs = ""\n\turl = x', "remote-"),
}
"""How a repository names a transport helper, and the alias as which Git runs it."""
FILE = """\
[core]
	repositoryFormatVersion = 1
[extensions]
	partialClone = evil
[remote "evil"]
	url = {top}
	uploadpack = {trap}
	promisor = true
[protocol]
	allow = always
[protocol "file"]
	allow = always
"""


@pytest.fixture(autouse=True)
def _own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    shutil.copytree(INVENTORIES / "lab-smallest", folder / "site")
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "commit", "-qm", "more", "--allow-empty")
    blob = git(folder, "rev-parse", "HEAD:site/cluster.yaml")
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return folder


@pytest.fixture
def trap(tmp_path: Path) -> tuple[str, Path]:
    mark, command = tmp_path / "ran", tmp_path / "trap"
    command.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(mark))}\nexit 1\n", "utf-8")
    command.chmod(0o755)
    return str(command), mark


@pytest.mark.slow
@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.parametrize("layer", ["", "GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"])
def test_no_alias_runs_as_a_transport_helper(
    repository: Path, trap: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, name: str, layer: str
) -> None:
    command, mark = trap
    remote, alias = HELPERS[name]
    append_config(repository, HELPER.format(remote=remote, alias=alias, trap=command))
    protocol = alias.removeprefix("remote-")
    weak = {**os.environ, "GIT_ALLOW_PROTOCOL": protocol}
    lazily = ["git", "-C", str(repository), "cat-file", "-s", ABSENT]
    subprocess.run(lazily, check=False, capture_output=True, env=weak, timeout=60)
    assert mark.exists(), "the trap is not set"
    mark.unlink()
    if layer:
        monkeypatch.delitem(door._ENVIRONMENT, layer)
    send_requests(repository / "site")
    with pytest.raises(GitError):
        Repository.of(repository).commit(ABSENT)
    assert not mark.exists()


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL", *door._SETTINGS])
def test_nothing_is_fetched_without_a_layer(
    repository: Path, trap: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    command, mark = trap
    append_config(repository, FILE.format(top=tmp_path, trap=command))
    git(repository, "cat-file", "-s", ABSENT, check=False)
    assert mark.exists(), "the trap is not set"
    mark.unlink()
    if layer in door._ENVIRONMENT:
        monkeypatch.delitem(door._ENVIRONMENT, layer)
    else:
        monkeypatch.setattr(door, "_SETTINGS", [each for each in door._SETTINGS if each != layer])
    send_requests(repository / "site")
    assert not mark.exists()


def test_git_allows_no_usable_protocol() -> None:
    allowed = door.git_environment()["GIT_ALLOW_PROTOCOL"]
    assert ":" not in allowed
    assert "/" in allowed  # no key of a section `[alias]` has one
    assert len(allowed) >= 32
    other = subprocess.run(
        [sys.executable, "-c",
         "from fabricc.base.foreign import git_process; print(git_process.git_environment()['GIT_ALLOW_PROTOCOL'])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    assert other != allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("git version 2.38.0", True),
        ("git version 2.39.5 (Apple Git-154)", True),
        ("git version 2.43.0.windows.1", True),
        ("git version 3.0.0.rc1", True),
        ("git version 2.37.7", False),
        ("git version 2.4.12", False),
        ("git version 1.8.3.1", False),
        ("git version 2.²8", False),
        ("hub version 2.14", False),
        ("", False),
    ],
)
def test_a_git_that_is_too_old_is_a_finding(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    fits: bool,
) -> None:
    real, folder = shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = version ] && {{ printf "%s\\n" {shlex.quote(line)}; exit 0; }}\nexec {real} "$@"\n',
        "utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    status = run(["diff", str(repository / "site" / "cluster.yaml"), "--base", "HEAD~1"])
    reported = capsys.readouterr().err
    assert status == 1
    assert ("FAB0082" in reported) is not fits


@pytest.mark.parametrize("name", ["config", "HEAD"])
def test_git_ends_with_a_fabricc_that_is_killed(repository: Path, name: str) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux ends a child with its parent")
    (repository / ".git" / name).unlink()
    os.mkfifo(repository / ".git" / name)
    command = [sys.executable, "-m", "fabricc", "diff", str(repository / "site" / "cluster.yaml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        child = _find_child(process.pid)
        process.send_signal(signal.SIGKILL)
    for _ in range(300):
        if not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes():
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("git is still there")


def _find_child(pid: int) -> int:
    """The git process that blocks on the FIFO, which a process started."""
    for _ in range(600):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"rev-parse" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.1)
    raise AssertionError("git was not started")
