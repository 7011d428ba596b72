"""`fabricc init --example`: a repository whose branch, tree and comment agree with this version."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.base.foreign import shell
from fabricc.catalog.load import load_catalog
from fabricc.cli.example import ANSWERS, BRANCH, COMMENT, MAIN
from fabricc.cli.first_spec import fit_spec
from fabricc.cli.init import STARTER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_the_example_builds_without_findings() -> None:
    catalog, _ = load_catalog()
    text, found = fit_spec((STARTER / "cluster.yaml").read_text("utf-8"), ANSWERS, catalog)
    assert found == ()
    assert text.count(f"hosts: {ANSWERS.count}\n") == 1


def test_an_example_needs_an_empty_folder(fabricc: Fabricc, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    ran = fabricc("init", "--example", str(tmp_path))
    assert (ran.status, "FAB7011" in ran.err) == (1, True)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]
    assert fabricc("init", "--example", str(tmp_path / "a"), "--count", "8").status == 2


@pytest.mark.slow
def test_the_comment_is_that_of_a_fresh_diff(
    fabricc: Fabricc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[commit]\n\tgpgsign = true\n[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    before = settings.read_bytes()
    folder = tmp_path / "a"
    monkeypatch.chdir(tmp_path)
    ran = fabricc("init", "--example", "a")  # as most people name it
    assert ran.status == 0, ran.err
    assert settings.read_bytes() == before
    assert git(folder, "config", "--local", "--list").count("user.") == 0
    assert git(folder, "branch", "--format=%(refname:short)").split() == [BRANCH, MAIN]
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    assert git(folder, "status", "--porcelain") == ""
    monkeypatch.chdir(folder)
    fresh = fabricc("diff", "cluster.yaml", "--base", MAIN, "--head", BRANCH, "--format", "md")
    assert fresh.status == 0, fresh.err
    assert fresh.out == (folder / COMMENT).read_text("utf-8")
    assert "16 hosts (128 GPUs) join" in fresh.out
    for each in (MAIN, BRANCH):
        assert fabricc("check", "build", "--committed", each, "--spec", "cluster.yaml").status == 0


@pytest.mark.slow
def test_without_git_the_files_are_built(
    fabricc: Fabricc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = shell.find_program
    monkeypatch.setattr(shell, "find_program", lambda name: None if name == "git" else present(name))
    ran = fabricc("init", "--example", str(tmp_path / "a"))
    assert (ran.status, "no supported Git" in ran.out) == (0, True), ran.err
    assert (tmp_path / "a" / "build" / "example").is_dir()
    assert not (tmp_path / "a" / ".git").exists()
