"""Git revisions: read as objects, the work tree and index left as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.review.diff.conftest import INVENTORIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
Ran = tuple[int, str, str]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose `main` has an inventory in `site/`; the branch `topic` is checked out."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repo"
    shutil.copytree(INVENTORIES / "superpod-b200-4su", folder / "site")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "checkout", "-qb", "topic")
    monkeypatch.chdir(folder)
    return folder


def edit(repo: Path, old: str, new: str) -> None:
    spec = repo / "site" / "cluster.yaml"
    spec.write_text(spec.read_text("utf-8").replace(old, new), "utf-8")


@pytest.mark.slow
def test_the_work_tree_against_a_branch(repo: Path, fabricc: Callable[..., Ran]) -> None:
    edit(repo, "dscp: 26", "dscp: 34")
    before = (git(repo, "status", "--porcelain"), (repo / ".git" / "index").read_bytes())
    status, out, _ = fabricc("diff", "site/cluster.yaml", "--base", "main", "--detailed-exitcode")
    assert status == 2
    assert out.startswith("HIGH risk, 176 of 176 devices change, 1,024 of 1,024 GPUs")
    assert "priorities.rdma.dscp: 26 → 34  site/cluster.yaml:12" in out
    assert (git(repo, "status", "--porcelain"), (repo / ".git" / "index").read_bytes()) == before


@pytest.mark.slow
def test_diff_ignores_later_changes_of_main(repo: Path, fabricc: Callable[..., Ran]) -> None:
    git(repo, "checkout", "-q", "main")
    edit(repo, "dscp: 26", "dscp: 34")
    git(repo, "commit", "-qam", "meanwhile")
    git(repo, "checkout", "-q", "topic")
    status, out, _ = fabricc("diff", "site/cluster.yaml", "--base", "main", "--detailed-exitcode")
    assert (status, out.splitlines()[0]) == (0, "no device changes, 0 numbers change")


@pytest.mark.slow
def test_two_revisions_without_the_work_tree(repo: Path, fabricc: Callable[..., Ran]) -> None:
    edit(repo, "dscp: 26", "dscp: 34")
    git(repo, "commit", "-qam", "ours")
    edit(repo, "dscp: 34", "dscp: 35")
    _, out, _ = fabricc("diff", "site/cluster.yaml", "--base", "main", "--head", "topic")
    assert "priorities.rdma.dscp: 26 → 34" in out


@pytest.mark.slow
def test_a_lock_renamed_to_that_of_its_spec_changes_no_number(
    repo: Path, fabricc: Callable[..., Ran]
) -> None:
    lock = repo / "site" / "fabricc.lock"
    other = re.sub(
        r"(?m)^stride nic_port 4$", "stride nic_port 2", lock.read_text()
    )  # as no fresh lock would have it
    assert other != lock.read_text()
    lock.write_text(other)
    git(repo, "commit", "-qam", "other")
    git(repo, "branch", "-f", "main")
    git(repo, "mv", "site/fabricc.lock", "site/cluster.lock")
    git(repo, "commit", "-qam", "renamed")
    for head in (["--head", "topic"], []):
        status, out, err = fabricc(
            "diff", "site/cluster.yaml", "--base", "main", "--detailed-exitcode", *head
        )
        assert not err, err
        assert (status, out.splitlines()[0]) == (0, "no device changes, 0 numbers change")


@pytest.mark.parametrize("revision", ["nowhere", "--upload-pack=touch hacked", "-h", "main:site", ""])
def test_invalid_revisions_are_rejected(repo: Path, fabricc: Callable[..., Ran], revision: str) -> None:
    status, out, err = fabricc("diff", "site/cluster.yaml", f"--base={revision}")
    assert (status, "FAB9020" in err) == (1, True) if revision else (status in (0, 1), True)
    assert not (repo / "hacked").exists()
    assert "Traceback" not in out + err


@pytest.mark.slow
def test_a_spec_that_is_new_is_all_devices_new(repo: Path, fabricc: Callable[..., Ran]) -> None:
    shutil.copytree(INVENTORIES / "lab-smallest", repo / "lab")
    status, _, err = fabricc("diff", "lab/cluster.yaml", "--base", "main", "--detailed-exitcode")
    assert status == 1
    assert "FAB9049" in err
    git(repo, "add", "lab")
    status, out, _ = fabricc("diff", "lab/cluster.yaml", "--base", "main", "--detailed-exitcode")
    assert status == 2
    assert "which has no such spec" in out
    assert "4 ToRs new" in out
    _, out, _ = fabricc("diff", "lab/cluster.yaml", "--base", "main", "--format", "md")
    assert "| GPUs | - | " in out


@pytest.mark.slow
def test_a_base_that_does_not_compile_is_reported_by_its_revision(
    repo: Path, fabricc: Callable[..., Ran]
) -> None:
    git(repo, "checkout", "-q", "main")
    edit(repo, "sn5400", "sn5xxx")
    git(repo, "commit", "-qam", "broken")
    git(repo, "checkout", "-qB", "topic")
    edit(repo, "sn5xxx", "sn5400")
    git(repo, "commit", "-qam", "repaired")
    status, _, err = fabricc("diff", "site/cluster.yaml", "--base", "main")
    assert status == 1
    assert "main:site/cluster.yaml" in err
    assert "FAB9022" in err
    assert "correct the newer side against it" in err
    assert "fabricc-diff-" not in err
    git(repo, "checkout", "-qb", "broken")
    edit(repo, "sn5400", "sn5xxx")
    git(repo, "commit", "-qam", "broken again")
    status, _, err = fabricc("diff", "site/cluster.yaml", "--base", "topic", "--head", "broken")
    assert (status, "commit a spec and a lock that `build` accepts" in err) == (1, True)
    status, _, err = fabricc("diff", "site/other.yaml", "--base", "topic", "--head", "broken")
    assert (status, "broken has no site/other.yaml" in err) == (1, True)


@pytest.mark.slow
def test_a_change_is_held_to_the_policy_of_the_base(repo: Path, fabricc: Callable[..., Ran]) -> None:
    git(repo, "checkout", "-q", "main")
    (repo / "site" / "fabricc-policy.yaml").write_text("max_gpus_affected: 64\n", "utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "policy")
    git(repo, "checkout", "-qB", "topic")
    (repo / "site" / "fabricc-policy.yaml").unlink()
    edit(repo, "dscp: 26", "dscp: 34")
    status, out, _ = fabricc("diff", "site/cluster.yaml", "--base", "main")
    assert status == 1
    assert "FAB9011" in out


def test_outside_a_repository(tmp_path: Path, fabricc: Callable[..., Ran]) -> None:
    shutil.copytree(INVENTORIES / "lab-smallest", tmp_path / "lab")
    status, _, err = fabricc("diff", str(tmp_path / "lab" / "cluster.yaml"))
    assert status == 1
    assert "is in no Git repository" in err
