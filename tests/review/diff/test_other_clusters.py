"""A review of one spec names the other clusters that the change touches: it never states that nothing changes there."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.tree.manifest import Manifest
from tests.review.diff.test_base import SPEC, Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
Ran = tuple[int, str, str]
MANIFEST = '{"made_by": "fabricc"}\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository with two clusters, the second one with a tree, and a branch `topic`."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Repository(tmp_path / "repository")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write(a__cluster_yaml=SPEC, a__b__cluster_yaml=SPEC.replace("cluster: zone", "cluster: other"))
    monkeypatch.chdir(made.folder)
    assert run(["lock", "a/cluster.yaml", "a/b/cluster.yaml"]) == 0
    tree = made.folder / "build" / "other"
    (tree / "switches").mkdir(parents=True)
    (tree / "manifest.json").write_text(MANIFEST, "utf-8")
    (tree / "switches" / "x.conf").write_text("x\n", "utf-8")
    made.commit("base")
    made.git("checkout", "-qb", "topic")
    return made


def change_spec(repository: Repository) -> str:
    repository.edit("a/b/cluster.yaml", "dscp: 26", "dscp: 34")
    return "a/b/cluster.yaml"


def change_lock(repository: Repository) -> str:
    lock = repository.folder / "a" / "b" / "fabricc.lock"
    lock.write_text(lock.read_text("utf-8") + "# edited\n", "utf-8")
    return "a/b/fabricc.lock"


def remove_spec(repository: Repository) -> str:
    repository.git("rm", "-q", "a/b/cluster.yaml")
    return "a/b/cluster.yaml"


def move_spec(repository: Repository) -> str:
    repository.git("mv", "a/b/cluster.yaml", "a/c.yaml")
    return "a/b/cluster.yaml and 1 more"


def add_spec(repository: Repository) -> str:
    repository.write(new_yaml=SPEC.replace("cluster: zone", "cluster: other"))
    return "new.yaml"


def change_tree(repository: Repository) -> str:
    (repository.folder / "build" / "other" / "switches" / "x.conf").write_text("y\n", "utf-8")
    return "build/other"


@pytest.mark.parametrize(
    "change",
    [change_spec, change_lock, remove_spec, move_spec, add_spec, change_tree],
    ids=lambda c: c.__name__,
)
@pytest.mark.slow
def test_diff_names_other_changed_clusters(
    repository: Repository, fabricc: Callable[..., Ran], change: Callable[[Repository], str]
) -> None:
    where = change(repository)
    words = ("diff", "a/cluster.yaml", "--base", "main", "--format", "json")
    here = json.loads(fabricc(*words)[1])
    repository.commit("change")
    status, out, err = fabricc(*words, "--head", "topic")
    found = json.loads(out)
    assert status == 0, err
    (finding,) = [each for each in found["findings"] if each["code"] == "FAB9039"]
    assert finding["message"].startswith(f"cluster 'other' changes too, and is not compared here: {where}")
    assert "another cluster changes and is not compared here" in found["verdict"]
    assert (found["differs"], found["labels"]) == (False, [])
    codes = [each["code"] for each in here["findings"]]
    assert ("FAB9039" in codes) == (change is not change_tree), (
        "trees of others are not read in the work tree"
    )


@pytest.mark.slow
def test_another_commit_of_a_submodule_is_named(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    commits = [repository.git("rev-parse", "HEAD"), repository.commit("another")]
    for commit in commits:
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/zones")
        repository.git("commit", "-qm", "submodule")
    words = ("diff", "a/cluster.yaml", "--base", "HEAD~1", "--head", "HEAD", "--format", "json")
    found = json.loads(fabricc(*words)[1])
    assert [(each["path"], each["role"]) for each in found["control_files"]] == [
        ("vendor/zones", "submodule")
    ]
    assert found["labels"] == ["fabric:control-files"]


@pytest.mark.slow
def test_other_files_are_no_clusters(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    repository.write(k8s_yaml="cluster: other\nkind: Pod\n", notes_yaml="- x\n")
    (repository.folder / "web").mkdir()
    (repository.folder / "web" / "manifest.json").write_text("{}", "utf-8")
    repository.edit("a/cluster.yaml", "cluster: zone", "# remark\ncluster: zone")
    repository.commit("change")
    words = ("diff", "a/cluster.yaml", "--base", "main", "--head", "topic", "--format", "json")
    found = json.loads(fabricc(*words)[1])
    assert [each["code"] for each in found["findings"]] == []
    assert found["labels"] == ["fabric:no-change"]


TREE_FILES = [f"hosts/h{number}/usr/local/sbin/fabricc-roce" for number in range(30)]


def manifest_of(cluster: str, *paths: str) -> str:
    return b"".join(
        Manifest(cluster, "1", "cluster.yaml", {}, dict.fromkeys(paths, "0" * 64)).parts()
    ).decode()


@pytest.mark.slow
def test_programs_of_other_trees_are_counted_and_hide_no_control_file(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    tree, forged = "build/other", ".github/actions"
    texts = {
        f"{tree}/manifest.json": manifest_of("other", *TREE_FILES, "jobs/access.yaml", "jobs/x"),
        **dict.fromkeys((f"{tree}/{path}" for path in TREE_FILES), "#!/bin/sh\n"),
        f"{tree}/jobs/access.yaml": "username: eve\n",
        f"{tree}/jobs/not-listed.sh": "echo\n",
        "build/.other.lock": "4711\n",
        f"{forged}/manifest.json": manifest_of("actions", "jobs/run.sh"),
        f"{forged}/jobs/run.sh": "echo\n",
        "pile/elsewhere/manifest.json": manifest_of("other", "jobs/run.sh"),
        "pile/elsewhere/jobs/run.sh": "echo\n",
        "zone-access.yaml": "username: eve\n",
        "site.yml": "---\n- name: all\n  hosts: all\n  tasks: []\n",
        "racks.yml": "- name: a\n  port: 1\n",
    }
    for path, text in texts.items():
        (repository.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (repository.folder / path).write_text(text, "utf-8")
    repository.commit("change")
    words = ("diff", "a/cluster.yaml", "--base", "main", "--head", "topic", "--format")
    found = json.loads(fabricc(*words, "json")[1])
    assert [(each["path"], each["role"], each["files"]) for each in found["control_files"]] == [
        (".github/actions/jobs/run.sh", "CI", 1),
        (".github/actions/manifest.json", "CI", 1),
        ("build/other/jobs/access.yaml", "access file", 1),
        ("build/other/jobs/not-listed.sh", "program", 1),
        ("pile/elsewhere/jobs/run.sh", "program", 1),
        ("site.yml", "playbooks and their settings", 1),
        ("zone-access.yaml", "access file", 1),
        ("build/other/hosts", "program", 30),
    ]
    assert "fabric:control-files" in found["labels"]


@pytest.mark.slow
@pytest.mark.parametrize("spec_too", [False, True])
def test_a_configuration_of_another_tree_is_a_control_file_unless_its_spec_changes(
    repository: Repository, fabricc: Callable[..., Ran], *, spec_too: bool
) -> None:
    tree = repository.folder / "build" / "other"
    (tree / "manifest.json").write_text(manifest_of("other", "switches/x.conf"), "utf-8")
    change_tree(repository)
    if spec_too:
        change_spec(repository)
    repository.commit("change")
    words = ("diff", "a/cluster.yaml", "--base", "main", "--head", "topic", "--format", "json")
    found = json.loads(fabricc(*words)[1])
    entry = ("build/other/switches", "committed tree of another cluster", 1)
    listed = [(each["path"], each["role"], each["files"]) for each in found["control_files"]]
    assert listed == ([] if spec_too else [entry])
    assert found["labels"] == ([] if spec_too else ["fabric:control-files"])
