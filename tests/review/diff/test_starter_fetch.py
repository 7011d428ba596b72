"""The CI files fetch enough history for a merge base, with real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

import fabricc

STARTER = Path(fabricc.__file__).parent / "cli/starter"


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A shallow clone of a repository with the branches main, release and proposed."""
    git(tmp_path, "init", "-q", "-b", "main", "up")
    up = tmp_path / "up"
    git(up, "config", "uploadpack.allowAnySHA1InWant", "true")
    for branch, start in (("main", ""), ("release", "main"), ("proposed", "release")):
        if start:
            git(up, "checkout", "-q", "-b", branch, start)
        for number in range(3):
            git(up, "commit", "-q", "--allow-empty", "-m", f"{branch} {number}")
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "main", f"file://{up}", "clone")
    return tmp_path / "clone"


def run(script: str, clone: Path, **more: str) -> None:
    subprocess.run(
        ["bash", "-euc", script], cwd=clone, env={**os.environ, **more}, check=True, capture_output=True
    )


def test_gitlab_compares_with_the_target_branch(clone: Path) -> None:
    head = git(clone.parent / "up", "rev-parse", "proposed")
    lines = yaml.safe_load((STARTER / "gitlab-ci.yml").read_text())["fabric-review"]["script"]
    fetch = "\n".join(line for line in lines if line.startswith(("complete=", "BASE=", "git fetch")))
    git(clone, "fetch", "-q", "--depth", "1", "origin", head)
    run(fetch, clone, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="release")
    assert git(clone, "merge-base", head, "refs/remotes/origin/release") == git(
        clone.parent / "up", "rev-parse", "release"
    )
    assert 'BASE="$BASE"' in lines[-1]


def test_github_completes_a_shallow_checkout(clone: Path) -> None:
    head = git(clone.parent / "up", "rev-parse", "proposed")
    more = {"GH_TOKEN": "x", "GITHUB_REPOSITORY": "a/b", "PULL": "1", "WORK": str(clone.parent / "work")}
    run(f"gh() {{ return 1; }}; export -f gh; bash {STARTER / 'github-fetch.sh'}", clone, HEAD=head, **more)
    assert git(clone, "merge-base", head, "refs/remotes/origin/main") == git(clone, "rev-parse", "main")
