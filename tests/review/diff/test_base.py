"""A review compares what the merge would produce, or stops: histories of every shape, built with Git."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base import installation
from fabricc.base.foreign.git_process import GitError
from fabricc.cli.entry import run
from fabricc.compiler.load.revision import SpecHistory
from fabricc.compiler.load.revision_templates import extract_templates

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
Ran = tuple[int, str, str]
UNCHANGED = "no device changes"
SPEC = """\
cluster: zone
gpus:
  model: dgx-b200
  hosts_per_rack: 4
  racks:
    rack01: 4
    rack02: 4
    rack03: 4
  wiring: rack
tors: {model: sn5400, nos: sonic-202505}
spines: {model: sn5400, nos: sonic-202505}
priorities:
  rdma: {dscp: 26}
  default: {}
"""
POLICY = "forbid_renumbering: true\nmax_impact: hitless\nmax_gpus_affected: 0\n"


class Repository:
    """A clone of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = 1_700_000_000

    def git(self, *words: str, check: bool = True) -> str:
        self.time += 60  # commits of one second have no order
        stamp = f"{self.time} +0000"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
        command = ["git", "-C", str(self.folder), *identity, *words]
        done = subprocess.run(
            command, check=check, capture_output=True, text=True, env=environment, timeout=60
        )
        return done.stdout.strip()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / re.sub("policy$", "fabricc-policy.yaml", name.replace("__", "/")).replace(
                "_yaml", ".yaml"
            )
            path = path.with_name(path.name.replace("_yaml", ".yaml"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository whose main branch has a spec and its lock."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FABRICC_TEMPLATES", raising=False)
    folder = tmp_path / "repository"
    folder.mkdir()
    made = Repository(folder)
    made.git("init", "-q", "-b", "main")
    made.write(cluster_yaml=SPEC)
    monkeypatch.chdir(folder)
    assert run(["lock", "cluster.yaml"]) == 0
    made.commit("base")
    return made


def verdict_line(ran: Ran) -> str:
    return ran[1].partition("\n")[0]


@pytest.mark.slow
def test_a_tag_with_the_name_of_a_branch_is_no_base(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 24")
    repository.git("tag", "main", repository.commit("change"))
    for more in ((), ("--head", "topic")):
        status, out, err = fabricc("diff", "cluster.yaml", "--base", "main", *more)
        assert (status, out) == (1, "")
        assert "'main' means refs/heads/main and refs/tags/main" in err


@pytest.mark.slow
def test_revisions_have_the_names_that_people_know(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    """CI names the base by its whole ref and the head by its commit."""
    base = repository.git("rev-parse", "main").strip()
    repository.git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 24")
    head = repository.commit("change").strip()
    repository.git("update-ref", "refs/remotes/origin/main", base)
    status, out, err = fabricc(
        "diff", "cluster.yaml", "--base", "refs/remotes/origin/main", "--head", head, "--format", "md"
    )
    assert status == 0, err
    assert f"`origin/main ({base[:12]})` → `{head[:12]}`" in out


def criss_cross(repository: Repository) -> None:
    """Two branches that took each other's first commit; dev dropped what main had changed."""
    git = repository.git
    git("checkout", "-qb", "dev")
    repository.edit("cluster.yaml", "cluster: zone", "# dev\ncluster: zone")
    first = repository.commit("comment")
    git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 24")
    repository.write(policy=POLICY)
    second = repository.commit("policy")
    git("merge", "-qm", "take dev", first)
    git("checkout", "-q", "dev")
    git("merge", "-qm", "take main", "-s", "ours", second)
    assert set(git("merge-base", "--all", "main", "dev").split()) == {first, second}


@pytest.mark.slow
def test_branches_that_merged_each_other_are_compared_with_the_merge(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    criss_cross(repository)
    repository.git("checkout", "-q", "main")
    ran = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev")
    assert ran[0] == 1, "the policy of main counts"
    assert verdict_line(ran).startswith("HIGH risk")
    assert "priorities.rdma.dscp: 24 → 26" in ran[1]
    assert "FAB9032" in ran[1]
    assert "FAB9012" in ran[1]
    repository.git("merge", "-qm", "real", "dev")
    assert "dscp: 26" in (repository.folder / "cluster.yaml").read_text("utf-8")


@pytest.mark.slow
def test_the_work_tree_of_such_a_branch_is_compared_with_the_present_base(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    criss_cross(repository)
    ran = fabricc("diff", "cluster.yaml", "--base", "main")
    assert ran[0] == 1
    assert "priorities.rdma.dscp: 24 → 26" in ran[1]
    assert "FAB9032" in ran[1]
    for format_ in ("md", "json", "github", "sarif", "junit", "gitlab"):
        assert "FAB9032" in fabricc("diff", "cluster.yaml", "--base", "main", "--format", format_)[1]


@pytest.mark.slow
def test_a_merged_and_reverted_change_is_not_a_change_of_the_branch(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "dev")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    changed = repository.commit("change")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", changed)
    repository.git("revert", "--no-edit", "-m", "1", "HEAD")
    repository.git("checkout", "-q", "dev")
    repository.edit("cluster.yaml", "cluster: zone", "# more\ncluster: zone")
    repository.commit("comment")
    ran = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev")
    assert verdict_line(ran).startswith(UNCHANGED)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-qm", "real", "dev")
    assert "dscp: 26" in (repository.folder / "cluster.yaml").read_text("utf-8")


@pytest.mark.slow
def test_the_result_of_the_merge_counts_where_both_sides_changed_the_spec(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    """Each side moves one of two classes; only together do they share a code point."""
    more = "  # one\n  # two\n  # three\n  storage: {dscp: 10}\n  default: {}\n"
    repository.edit("cluster.yaml", "  default: {}\n", more)
    repository.commit("storage")
    repository.git("checkout", "-qb", "dev")
    repository.edit("cluster.yaml", "dscp: 10", "dscp: 34")
    repository.commit("storage moves")
    repository.git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("rdma moves")
    status, out, err = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev")
    assert status == 1, out
    assert "34" in err


@pytest.mark.slow
def test_a_conflict_is_reported_and_the_branch_is_compared(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "dev")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("34")
    repository.git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 35")
    repository.commit("35")
    ran = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev")
    assert verdict_line(ran).startswith("HIGH risk")
    assert "error FAB9033" in ran[1]
    assert "conflicts in cluster.yaml" in ran[1]
    assert ran[0] == 1, "the merged spec is unknown"


@pytest.mark.slow
def test_a_conflict_without_differences_of_the_branch_is_no_verdict(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "dev")
    repository.edit("cluster.yaml", "dscp: 26}", "dscp: 26 }")
    repository.commit("space")
    repository.git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 35")
    repository.commit("35")
    status, out, _ = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev", "--format", "json")
    found = json.loads(out)
    assert (status, found["labels"]) == (1, ["fabric:not-compared"])
    assert "unknown" in found["verdict"]
    assert UNCHANGED not in out


@pytest.mark.slow
def test_a_conflict_in_another_file_is_a_warning(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    repository.git("checkout", "-qb", "dev")
    repository.write(notes_yaml="a: 1\n")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("34")
    repository.git("checkout", "-q", "main")
    repository.write(notes_yaml="a: 2\n")
    repository.commit("notes")
    ran = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "dev")
    assert "warning FAB9033" in ran[1]


def clone_diverged(repository: Repository) -> Path:
    """A clone of one commit of each branch, after main and topic moved on."""
    repository.git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "    rack03: 4\n", "    rack03: 4\n    rack06: 4\n")
    assert run(["lock", "cluster.yaml"]) == 0
    repository.commit("rack06")
    repository.git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "    rack03: 4\n", "    rack03: 4\n    rack07: 4\n")
    assert run(["lock", "cluster.yaml"]) == 0
    repository.commit("rack07")
    repository.git("checkout", "-q", "topic")
    clone = repository.folder.parent / "clone"
    url = repository.folder.as_uri()
    repository.git("clone", "-q", "--depth", "1", "--no-single-branch", url, str(clone))
    return clone


@pytest.mark.slow
def test_a_shallow_clone_stops_and_names_the_command(
    repository: Repository, fabricc: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = clone_diverged(repository)
    monkeypatch.chdir(clone)
    for head in ([], ["--head", "origin/topic"]):
        status, out, err = fabricc("diff", "cluster.yaml", "--base", "origin/main", *head)
        assert (status, out) == (1, "")
        assert "FAB9030" in err
        assert "git fetch --unshallow" in err
    Repository(clone).git("fetch", "-q", "--unshallow", "origin")
    ran = fabricc("diff", "cluster.yaml", "--base", "origin/main")
    assert verdict_line(ran).startswith("LOW risk, 1 ToR and 4 hosts join") or "join" in verdict_line(ran), (
        ran
    )
    assert "leave" not in verdict_line(ran)


@pytest.mark.slow
def test_a_shallow_clone_with_a_worse_common_commit_stops(
    repository: Repository, fabricc: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a shallow history hides the better base, and another way leads to an older one."""
    git = repository.git
    old = git("rev-parse", "HEAD")
    git("checkout", "-qb", "side")
    repository.commit("side")
    git("checkout", "-q", "main")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 24")
    better = repository.commit("24")
    git("checkout", "-qb", "topic", old)
    repository.commit("topic")
    git("merge", "-qm", "take main", better)
    git("checkout", "-q", "main")
    for number in range(8):
        repository.commit(f"main {number}")
    git("merge", "-qm", "take side", "--no-ff", "side")
    git("checkout", "-q", "topic")
    clone = repository.folder.parent / "clone"
    git("clone", "-q", "--depth", "4", "--no-single-branch", repository.folder.as_uri(), str(clone))
    monkeypatch.chdir(clone)
    assert git("merge-base", "main", "topic") == better
    assert Repository(clone).git("merge-base", "origin/main", "topic") == old
    for head in ([], ["--head", "topic"]):
        status, out, err = fabricc("diff", "cluster.yaml", "--base", "origin/main", *head)
        assert (status, out) == (1, "")
        assert "FAB9030" in err


@pytest.mark.slow
def test_a_shallow_clone_that_has_the_base_is_enough(
    repository: Repository, fabricc: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        repository.commit(f"before {number}")
    repository.git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("34")
    clone = repository.folder.parent / "clone"
    repository.git(
        "clone", "-q", "--depth", "2", "--no-single-branch", repository.folder.as_uri(), str(clone)
    )
    monkeypatch.chdir(clone)
    assert Repository(clone).git("rev-parse", "--is-shallow-repository") == "true"
    assert verdict_line(fabricc("diff", "cluster.yaml", "--base", "origin/main")).startswith("HIGH risk")


def test_histories_without_a_common_commit_stop(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit("other")
    status, out, err = fabricc("diff", "cluster.yaml", "--base", "main")
    assert (status, out) == (1, "")
    assert "FAB9030" in err
    assert "git worktree add" in err


@pytest.mark.slow
@pytest.mark.parametrize(("base", "head"), [("main", "main"), ("main", "HEAD"), ("main", "main~1")])
def test_a_head_that_the_base_contains_stops(
    repository: Repository, fabricc: Callable[..., Ran], base: str, head: str
) -> None:
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("34")
    status, out, err = fabricc("diff", "cluster.yaml", "--base", base, "--head", head)
    assert (status, out) == (1, "")
    assert "FAB9031" in err


MOVES = {
    "into a folder": ("cluster.yaml", "clusters/a/cluster.yaml"),
    "another name": ("cluster.yaml", "zone.yaml"),
    "another suffix": ("cluster.yaml", "zone.yml"),
}


@pytest.mark.slow
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(("former", "now"), MOVES.values(), ids=MOVES)
def test_a_moved_spec_is_compared_with_the_one_that_it_was(
    repository: Repository, fabricc: Callable[..., Ran], former: str, now: str, committed: bool
) -> None:
    repository.write(policy=POLICY)
    repository.commit("policy")
    repository.git("checkout", "-qb", "topic")
    (repository.folder / now).parent.mkdir(parents=True, exist_ok=True)
    repository.git("mv", former, now)
    repository.git("rm", "-q", "fabricc.lock")
    repository.edit(now, "dscp: 26", "dscp: 34")
    repository.edit(now, "    rack01: 4\n", "    rack00: 4\n    rack01: 4\n")
    head = []
    if committed:
        repository.commit("move")
        repository.git("checkout", "-q", "main")
        head = ["--head", "topic"]
    status, out, err = fabricc("diff", now, "--base", "main", *head)
    assert status == 1, err
    assert out.startswith("HIGH risk")
    for code in ("FAB9034", "FAB9037", "FAB9010", "FAB9012"):
        assert code in out, code


@pytest.mark.slow
@pytest.mark.parametrize("manifest", ["{}", '{"made_by": "fabricc"}'])
def test_a_manifest_next_to_the_former_spec_does_not_hide_it(
    repository: Repository, fabricc: Callable[..., Ran], manifest: str
) -> None:
    repository.git("rm", "-q", "fabricc.lock")
    (repository.folder / "site").mkdir()
    repository.git("mv", "cluster.yaml", "site/cluster.yaml")
    (repository.folder / "site" / "manifest.json").write_text(manifest, "utf-8")
    repository.commit("manifest")
    repository.git("checkout", "-qb", "topic")
    (repository.folder / "new").mkdir()
    repository.git("mv", "site/cluster.yaml", "new/cluster.yaml")
    repository.edit("new/cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("move")
    ran = fabricc("diff", "new/cluster.yaml", "--base", "main")
    assert verdict_line(ran).startswith("HIGH risk")
    assert "FAB9034" in ran[1]


@pytest.mark.slow
def test_a_moved_spec_with_its_lock_changes_nothing(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.write(clusters__a__x="")
    repository.git("mv", "cluster.yaml", "fabricc.lock", "clusters/a/")
    repository.commit("move")
    status, out, _ = fabricc("diff", "clusters/a/cluster.yaml", "--base", "main")
    assert status == 0
    assert out.startswith(UNCHANGED)
    assert "FAB9034" in out


@pytest.mark.slow
def test_a_spec_that_moved_in_the_base_is_followed(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    repository.commit("34")
    repository.git("checkout", "-q", "main")
    repository.write(site__x="", site__policy="max_impact: none\n")
    repository.git("mv", "cluster.yaml", "fabricc.lock", "site/")
    repository.commit("move")
    repository.git("checkout", "-q", "topic")
    for head in ([], ["--head", "topic"]):
        status, out, err = fabricc("diff", "cluster.yaml", "--base", "main", *head)
        assert out.startswith("HIGH risk"), err
        assert status == 1, "the policy beside the moved spec counts"
        assert "FAB9012" in out


@pytest.mark.slow
def test_a_base_without_a_lock_is_reported_where_numbers_change(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("rm", "-q", "fabricc.lock")
    repository.commit("no lock")
    repository.edit("cluster.yaml", "    rack01: 4\n", "    rack00: 4\n    rack01: 4\n")
    _, out, _ = fabricc("diff", "cluster.yaml", "--base", "main")
    assert "FAB9038" in out
    repository.edit("cluster.yaml", "    rack00: 4\n    rack01: 4\n", "    rack01: 4\n")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    _, out, _ = fabricc("diff", "cluster.yaml", "--base", "main")
    assert "FAB9038" not in out, "no number changes"


@pytest.mark.slow
def test_a_spec_with_another_name_and_cluster_is_not_new(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("mv", "cluster.yaml", "zone-b.yaml")
    repository.git("rm", "-q", "fabricc.lock")
    repository.edit("zone-b.yaml", "cluster: zone", "cluster: zone-b")
    status, out, _ = fabricc("diff", "zone-b.yaml", "--base", "main")
    assert status == 1
    assert "FAB9034" in out
    assert "FAB9037" in out


@pytest.mark.slow
def test_a_gone_spec_that_cannot_be_matched_stops(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    (repository.folder / "cluster.yaml").unlink()
    repository.write(
        other__cluster_yaml="cluster: other\n\ngpus:\n  model: lab-host\n  hosts: 4\n  hosts_per_unit: 2\ntors:\n"
        "  model: linux-16x100\n  nos: frr\nspines:\n  model: linux-16x100\n  nos: frr\n"
        "priorities:\n  rdma: {dscp: 26}\n  default: {}\n"
    )
    status, out, err = fabricc("diff", "other/cluster.yaml", "--base", "main")
    assert (status, out) == (1, "")
    assert "FAB9035" in err


@pytest.mark.slow
@pytest.mark.parametrize("left", ["lock", "tree"])
def test_a_spec_that_the_base_only_has_files_of_stops(
    repository: Repository, fabricc: Callable[..., Ran], left: str
) -> None:
    text = (repository.folder / "cluster.yaml").read_text("utf-8")
    if left == "tree":
        assert run(["build", "cluster.yaml"]) == 0
        (repository.folder / "fabricc.lock").unlink()
    (repository.folder / "cluster.yaml").unlink()
    repository.commit("spec lost")
    repository.write(cluster_yaml=text)
    status, out, err = fabricc("diff", "cluster.yaml")
    assert (status, out) == (1, "")
    assert "FAB9035" in err


@pytest.mark.slow
def test_two_specs_that_change_places_are_each_compared_with_themselves(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    other = SPEC.replace("cluster: zone", "cluster: other").replace("dscp: 26", "dscp: 34")
    repository.write(a__cluster_yaml=SPEC, b__cluster_yaml=other)
    repository.git("rm", "-q", "cluster.yaml", "fabricc.lock")
    assert run(["lock", "a/cluster.yaml", "b/cluster.yaml"]) == 0
    repository.commit("two")
    folder = repository.folder
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        (folder / old).rename(folder / new)
    for place in ("a", "b"):
        status, out, err = fabricc("diff", f"{place}/cluster.yaml")
        assert status == 0, err
        assert out.startswith(UNCHANGED)
        assert "FAB9034" in out


def spec_of(cluster: str, dscp: int = 26) -> str:
    return SPEC.replace("cluster: zone", f"cluster: {cluster}").replace("dscp: 26", f"dscp: {dscp}")


@pytest.fixture
def two_clusters(repository: Repository) -> Repository:
    """A repository whose main branch has two clusters without locks."""
    repository.git("rm", "-q", "fabricc.lock")
    repository.write(other_yaml=spec_of("other", 34))
    repository.commit("two")
    return repository


@pytest.mark.slow
def test_a_renamed_cluster_is_not_compared_with_one_that_moved_from_its_path(
    two_clusters: Repository, fabricc: Callable[..., Ran]
) -> None:
    two_clusters.write(cluster_yaml=spec_of("other", 34), other_yaml=spec_of("east"))
    _, out, err = fabricc("diff", "other.yaml")
    assert "the spec other.yaml is at cluster.yaml in the base" in out, err
    two_clusters.git("checkout", "-q", ".")
    two_clusters.write(third_yaml=spec_of("third", 28))
    two_clusters.commit("three")
    two_clusters.git("rm", "-q", "third.yaml")
    two_clusters.write(cluster_yaml=spec_of("other", 34), other_yaml=spec_of("east"))
    status, out, err = fabricc("diff", "other.yaml")
    assert (status, out) == (1, "")
    assert "FAB9035" in err


@pytest.mark.slow
def test_a_cluster_that_is_renamed_and_moved_is_found_where_another_took_its_path(
    two_clusters: Repository, fabricc: Callable[..., Ran]
) -> None:
    two_clusters.git("rm", "-q", "other.yaml")
    two_clusters.write(cluster_yaml=spec_of("other", 34), new_yaml=spec_of("east"))
    _, out, err = fabricc("diff", "new.yaml")
    assert "the spec new.yaml is at cluster.yaml in the base" in out, err


@pytest.mark.slow
def test_a_cluster_whose_path_the_base_gave_to_another_is_not_compared_with_that_one(
    two_clusters: Repository, fabricc: Callable[..., Ran]
) -> None:
    two_clusters.git("checkout", "-qb", "topic")
    two_clusters.edit("cluster.yaml", "default: {}", "default: {}\n  # remark")
    two_clusters.commit("remark")
    two_clusters.git("checkout", "-q", "main")
    two_clusters.write(cluster_yaml=spec_of("other", 34), other_yaml=spec_of("zone", 28))
    two_clusters.commit("changed places")
    two_clusters.git("checkout", "-q", "topic")
    for path in ("cluster.yaml", "other.yaml"):
        status, out, err = fabricc("diff", path, "--base", "main", "--head", "topic")
        assert (status, out) == (1, "")
        assert "FAB9035" in err


@pytest.mark.slow
def test_a_new_cluster_next_to_a_renamed_one_is_new(
    two_clusters: Repository, fabricc: Callable[..., Ran]
) -> None:
    two_clusters.write(cluster_yaml=spec_of("east"), new_yaml=spec_of("new"))
    _, out, err = fabricc("diff", "new.yaml")
    assert "which has no such spec" in out, err


@pytest.mark.slow
def test_a_new_cluster_next_to_others_is_new(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    repository.write(new__cluster_yaml=SPEC.replace("cluster: zone", "cluster: new"))
    status, _, err = fabricc("diff", "new/cluster.yaml")
    assert (status, "FAB9049" in err) == (1, True)
    repository.git("add", "new")
    status, out, _ = fabricc("diff", "new/cluster.yaml")
    assert status == 0
    assert "which has no such spec" in out
    assert "FAB903" not in out


@pytest.mark.slow
@pytest.mark.parametrize("committed", [True, False])
def test_another_cluster_in_the_place_of_a_moved_one_is_not_the_same_under_another_name(
    repository: Repository, fabricc: Callable[..., Ran], committed: bool
) -> None:
    """Otherwise a copy of the spec under another name, beside the moved original, had no device changes."""
    repository.git("checkout", "-qb", "topic")
    repository.git("rm", "-q", "fabricc.lock")
    repository.write(new__cluster_yaml=SPEC, cluster_yaml=SPEC.replace("cluster: zone", "cluster: other"))
    head = []
    if committed:
        repository.commit("moved")
        head = ["--head", "topic"]
    status, out, err = fabricc("diff", "cluster.yaml", "--base", "main", *head)
    assert (status, out) == (1, "")
    assert "FAB9035" in err
    assert "which is at another path now" in err


@pytest.mark.slow
@pytest.mark.parametrize("committed", [True, False])
def test_a_deleted_spec_is_reported_as_deleted(
    repository: Repository, fabricc: Callable[..., Ran], committed: bool
) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.git("rm", "-q", "cluster.yaml")
    head = []
    if committed:
        repository.commit("gone")
        head = ["--head", "topic"]
    status, out, err = fabricc("diff", "cluster.yaml", "--base", "main", *head)
    assert (status, out) == (1, "")
    assert "FAB9036" in err
    assert "fabricc-policy.yaml" not in err


@pytest.mark.slow
def test_the_old_path_of_a_moved_spec_names_the_new_one(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.git("mv", "cluster.yaml", "zone.yaml")
    repository.commit("move")
    _, _, err = fabricc("diff", "cluster.yaml", "--base", "main", "--head", "topic")
    assert "FAB9036" in err
    assert "zone.yaml" in err


@pytest.mark.slow
def test_a_lost_lock_is_an_error_of_the_review(repository: Repository, fabricc: Callable[..., Ran]) -> None:
    repository.git("checkout", "-qb", "topic")
    repository.git("rm", "-q", "fabricc.lock")
    repository.commit("lock lost")
    for head in ([], ["--head", "topic"]):
        status, out, _ = fabricc("diff", "cluster.yaml", "--base", "main", *head)
        assert status == 1
        assert "FAB9037" in out
        assert "the lock lacks numbers of the older side" in out
    assert "git show" in fabricc("diff", "cluster.yaml", "--base", "main", "--format", "sarif")[1]
    review = json.loads(fabricc("diff", "cluster.yaml", "--base", "main", "--format", "json")[1])
    assert (review["risk"], review["labels"]) == ("high", ["risk:high"])


@pytest.fixture
def templates(repository: Repository) -> Path:
    """The folder `own` of the repository, with the committed template of FRR's configuration."""
    repository.edit("cluster.yaml", "sonic-202505", "frr")
    folder = repository.folder / "own" / "frr"
    folder.mkdir(parents=True)
    shutil.copy(installation.data_folder("templates") / "frr" / "frr.conf.j2", folder)
    repository.commit("templates")
    return folder / "frr.conf.j2"


_OWN = ("diff", "cluster.yaml", "--base", "main", "--format", "json", "--templates", "own")


@pytest.mark.slow
@pytest.mark.parametrize("committed", [True, False])
def test_each_side_is_rendered_with_the_templates_of_its_revision(
    repository: Repository, templates: Path, fabricc: Callable[..., Ran], committed: bool
) -> None:
    repository.git("checkout", "-qb", "topic")
    text = templates.read_text("utf-8")
    templates.write_text(f"{text}! added\n", "utf-8")
    assert json.loads(fabricc(*_OWN)[1])["risk"] == "none"
    templates.write_text(f"{text}ip route 10.0.0.0/12 Null0\n", "utf-8")
    words = _OWN
    if committed:
        repository.commit("discard")
        words = (*_OWN, "--head", "topic")
        templates.write_text(text, "utf-8")
    review = json.loads(fabricc(*words)[1])
    assert review["risk"] == "high"
    assert {group["kind"] for group in review["groups"]} == {"tor", "spine"}
    assert all("10.0.0.0/12" in json.dumps(group) for group in review["groups"])
    assert "FAB9055" not in json.dumps(review["findings"])


@pytest.mark.slow
def test_a_template_that_the_change_repairs_has_an_unknown_effect(
    repository: Repository, templates: Path, fabricc: Callable[..., Ran]
) -> None:
    text = templates.read_text("utf-8")
    templates.write_text(f"{text}{{{{ nothing }}}}\n", "utf-8")
    repository.commit("broken")
    templates.write_text(text, "utf-8")
    review = json.loads(fabricc(*_OWN)[1])
    assert review["risk"] == "high"
    assert "templates of your own change: their effect on the devices is unknown" in review["verdict"]
    (found,) = (each for each in review["findings"] if each["code"] == "FAB9055")
    assert "own/frr/frr.conf.j2" in found["message"]
    assert "'nothing' is undefined" in found["help"]
    repository.git("checkout", "-qfb", "topic", "HEAD~1")
    templates.write_text(f"{text}{{{{ other }}}}\n", "utf-8")
    repository.commit("broken too")
    repository.git("branch", "-f", "main", "HEAD~1")
    _, out, _ = fabricc(*_OWN, "--head", "topic")
    assert json.loads(out)["diagnostics"][0]["file"] == "own/frr/frr.conf.j2"


@pytest.mark.slow
def test_templates_of_a_revision_are_found_behind_links_and_in_other_repositories(
    repository: Repository, templates: Path, tmp_path: Path
) -> None:
    folder, text = templates.parent, templates.read_bytes()
    repository.git("clone", "-q", str(repository.folder), str(tmp_path / "other"))
    folder.rename(folder.with_name("common"))
    folder.symlink_to("common")
    (folder / "linked.j2").symlink_to("../common/frr.conf.j2")
    (folder / "README.md").symlink_to("/etc/hostname")
    (repository.folder / "way").symlink_to("own")
    repository.git("submodule", "add", "-q", str(tmp_path / "other"), "standard")
    commit = repository.commit("links")
    shutil.rmtree(folder.with_name("common"))
    history = SpecHistory.of(repository.folder / "cluster.yaml").repository
    for number, name in enumerate(("own", "way", "standard/own")):
        scratch = tmp_path / f"scratch{number}"
        (found,) = extract_templates(history, commit, (repository.folder / name,), scratch)
        assert (found, (found / "frr" / "frr.conf.j2").read_bytes()) == (scratch / "0", text)
        assert (found / "frr" / "linked.j2").exists() is (number < 2)
        assert not (found / "frr" / "README.md").exists()
    (repository.folder / "own" / "common").mkdir()
    (folder / "linked.j2").symlink_to("../../cluster.yaml")
    commit = repository.commit("out")
    for name, words in (("own", "frr/linked.j2 is a link that leads out in"), ("standard/own", "not here")):
        shutil.rmtree(repository.folder / "standard", ignore_errors=True)
        with pytest.raises(GitError, match=words):
            extract_templates(history, commit, (repository.folder / name,), tmp_path / "rest")


@pytest.mark.slow
def test_other_verbs_render_a_revision_with_its_own_templates(
    repository: Repository, templates: Path, fabricc: Callable[..., Ran]
) -> None:
    own = "--templates", "own"
    text = templates.read_text("utf-8")
    (repository.folder / ".gitignore").write_text("/build/.*\n", "utf-8")
    assert fabricc("build", "cluster.yaml", *own)[0] == 0
    repository.commit("tree")
    templates.write_text(f"{text}ip route 10.0.0.0/12 Null0\n", "utf-8")
    status, out, err = fabricc("check", "build", "--committed", "HEAD", "--spec", "cluster.yaml", *own)
    assert status == 0, out + err
    repository.commit("discard")
    status, out, err = fabricc("check", "build", "--committed", "HEAD", "--spec", "cluster.yaml", *own)
    assert (status, "FAB6003" in out + err, "/fabricc-committed-" in out + err) == (1, True, False)
    assert "build/zone/switches/" in out + err
    _, out, _ = fabricc("migrate", "cluster.yaml", "--base", "HEAD~1", "--format", "json", *own)
    assert "10.0.0.0/12" in out
    assert "FAB6003" in out


@pytest.mark.slow
def test_lost_lines_of_a_lock_are_an_error_of_the_review(
    repository: Repository, fabricc: Callable[..., Ran]
) -> None:
    lock = repository.folder / "fabricc.lock"
    kept = [line for line in lock.read_text("utf-8").splitlines() if not line.startswith("stride host ")]
    lock.write_text("\n".join(kept) + "\n", "utf-8")
    status, out, _ = fabricc("diff", "cluster.yaml", "--base", "main")
    assert status == 1
    assert "FAB9037: fabricc.lock lacks 1 line that the plan needs: stride host " in out


@pytest.mark.slow
def test_a_submodule_in_the_place_of_the_folder_stops(
    repository: Repository, fabricc: Callable[..., Ran], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    theirs = Repository(inner)
    theirs.git("init", "-q", "-b", "main")
    theirs.write(cluster_yaml=SPEC.replace("cluster: zone", "cluster: sub"))
    theirs.commit("theirs")
    repository.git("submodule", "--quiet", "add", inner.as_uri(), "sub")
    repository.commit("submodule")
    for words in (["diff", "sub/cluster.yaml"], ["diff", "sub/cluster.yaml", "--base", "main"]):
        status, out, err = fabricc(*words)
        assert status == 0, err
        assert out.startswith(UNCHANGED)
    repository.git("rm", "-q", "--cached", "sub")
    shutil.rmtree(repository.folder / "sub")
    repository.write(sub__cluster_yaml=SPEC.replace("cluster: zone", "cluster: sub"))
    status, out, err = fabricc("diff", "sub/cluster.yaml")
    assert (status, out) == (1, "")
    assert "submodule" in err


@pytest.mark.parametrize("place", ["worktree", "detached", "subfolder", "fork"])
@pytest.mark.slow
def test_unusual_checkouts_find_the_same_base(
    repository: Repository, fabricc: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    git = repository.git
    git("checkout", "-qb", "topic")
    repository.edit("cluster.yaml", "dscp: 26", "dscp: 34")
    head = repository.commit("34")
    git("checkout", "-q", "main")
    spec, words = "cluster.yaml", ["--base", "main", "--head", head]
    if place == "worktree":
        git("worktree", "add", "-q", "../tree", "topic")
        monkeypatch.chdir(repository.folder.parent / "tree")
        words = ["--base", "main"]
    elif place == "detached":
        git("checkout", "-q", "--detach", head)
        words = ["--base", "main"]
    elif place == "subfolder":
        (repository.folder / "deep" / "er").mkdir(parents=True)
        monkeypatch.chdir(repository.folder / "deep" / "er")
        spec = "../../cluster.yaml"
    else:
        fork = repository.folder.parent / "fork"
        git("clone", "-q", "-b", "topic", repository.folder.as_uri(), str(fork))
        theirs = Repository(fork)
        theirs.edit("cluster.yaml", "dscp: 34", "dscp: 35")
        head = theirs.commit("35")
        git("fetch", "-q", "--no-write-fetch-head", fork.as_uri(), "topic")
        words = ["--base", "main", "--head", head]
    ran = fabricc("diff", spec, *words)
    assert verdict_line(ran).startswith("HIGH risk"), ran[2]


def test_a_bare_repository_stops_and_names_the_command(
    repository: Repository, fabricc: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = repository.folder.parent / "bare.git"
    repository.git("clone", "-q", "--bare", repository.folder.as_uri(), str(bare))
    monkeypatch.chdir(bare)
    status, out, err = fabricc("diff", "cluster.yaml", "--base", "main")
    assert (status, out) == (1, "")
    assert "git worktree add" in err


@pytest.mark.slow
def test_migrate_follows_a_moved_spec_and_stops_without_git(
    repository: Repository, fabricc: Callable[..., Ran], tmp_path: Path
) -> None:
    repository.git("mv", "cluster.yaml", "zone.yaml")
    repository.edit("zone.yaml", "dscp: 26", "dscp: 34")
    status, out, err = fabricc("migrate", "zone.yaml")
    assert "FAB9034" in err
    assert status in (0, 1)
    assert "34" in out + err
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "cluster.yaml").write_text(SPEC, "utf-8")
    status, _, err = fabricc("migrate", str(tmp_path / "plain" / "cluster.yaml"))
    assert status == 1
    assert "FAB9020" in err
