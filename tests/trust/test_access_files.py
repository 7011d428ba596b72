"""An access file that came with a clone sends nobody's secret anywhere: only the user's own is taken by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.cli import logins
from fabricc.operate.devices.access import NAME
from fabricc.operate.devices.failure import DeviceError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.conftest import Clone

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
TEXT = "username: ann\npassword: {file: ../home/secret}\ndevices: {spine01a: {address: 192.0.2.66}}\n"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec in a repository."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    top = tmp_path / "clone" / "lab"
    top.mkdir(parents=True)
    (top / "cluster.yaml").write_text("cluster: lab\n")
    git(top.parent, "init", "-q", "-b", "main")
    git(top.parent, "add", "-A")
    git(top.parent, "commit", "-qm", "base")
    return top / "cluster.yaml"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, timeout=60)


def refused(spec: Path) -> str:
    with pytest.raises(DeviceError) as error:
        logins.access(spec, None)
    (found,) = error.value.diagnostics
    assert found.code == "FAB9163"
    assert "--access" in found.help
    return found.message


def test_a_file_of_the_users_own_is_taken_and_a_committed_one_is_not(spec: Path) -> None:
    (spec.parent / NAME).write_text(TEXT)
    assert logins.access(spec, None).default.username == "ann"
    git(spec.parent, "add", "-f", NAME)
    assert "tracked" in refused(spec)
    git(spec.parent, "commit", "-qm", "access")
    assert "tracked" in refused(spec)
    git(spec.parent, "rm", "-q", "--cached", NAME)
    assert "tracked" in refused(spec), "HEAD still has it"
    git(spec.parent, "commit", "-qm", "without")
    assert logins.access(spec, None).default.username == "ann"


def test_a_committed_file_that_is_named_is_taken(spec: Path) -> None:
    (spec.parent / NAME).write_text(TEXT)
    git(spec.parent, "add", NAME)
    assert logins.access(spec, spec.parent / NAME).default.username == "ann"


def test_no_link_of_the_clone_leads_around_it(spec: Path) -> None:
    kept = spec.parent.parent / "kept"
    kept.mkdir()
    (kept / "access").write_text(TEXT)
    (spec.parent / NAME).symlink_to("../kept/access")
    (kept / "cluster.yaml").write_text("cluster: lab\n")
    (kept / NAME).write_text(TEXT)
    git(kept, "add", ".")
    assert "tracked" in refused(spec), "what the link leads to"
    (kept / "spec").symlink_to(".", target_is_directory=True)
    assert "tracked" in refused(kept / "spec" / "cluster.yaml"), "a folder that is a link"
    git(kept, "rm", "-rq", "--cached", ".")
    assert logins.access(spec, None).default.username == "ann"
    git(spec.parent, "add", NAME)
    assert "tracked" in refused(spec), "the link itself"


def test_what_git_cannot_say_is_not_taken(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (spec.parent / NAME).write_text(TEXT)
    monkeypatch.setenv("PATH", "")
    assert "git" in refused(spec)


def test_a_broken_repository_hides_nothing(clone: Clone) -> None:
    (clone.top / NAME).write_text(TEXT)
    status, told = clone.reading("push", "build/lab", "--plan")
    assert (status, "FAB9163" in told) == (1, True), told
    status, told = clone.reading("verify", "build/lab")
    assert (status, "FAB9163" in told) == (1, True), told


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
def test_a_file_of_somebody_else_is_not_taken(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    (tmp_path / NAME).write_text(TEXT)
    assert logins.access(spec, None).default.username == "ann"
    os.chown(tmp_path / NAME, 12345, -1)
    assert "belongs to" in refused(spec)


def test_a_file_that_others_may_write_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(TEXT)
    (tmp_path / NAME).chmod(0o666)
    assert "others may write" in refused(tmp_path / "cluster.yaml")
