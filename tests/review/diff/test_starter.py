"""The CI that `init` writes, its steps run as they stand against a local bare repository and a stand-in for the forge.

Every attack is a pull request: what its author may change is the proposed commit, its branch name and comments.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.review.diff.wording import LABELS, comment_marker
from tests.review.diff.forge import (
    BOT,
    LABELS_STATED,
    SECRETS,
    STAND_IN,
    TOP,
    TREE,
    Forge,
    edit_spec,
    git,
    load_module,
    needs_shell,
    own_ci,
    parse_yaml,
    recode_class,
    with_policy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_shell


def test_an_honest_change_is_proved_reviewed_and_posted_once(forge: Forge) -> None:
    recode_class(forge.author, 34)
    head = forge.propose()
    steps = forge.job("prove", head)
    assert {name: step.returncode for name, step in steps.items()} == {
        "fetch": 0,
        "prove": 0,
        "review": 0,
    }, steps
    assert "::warning file=cluster.yaml," in steps["review"].stdout
    assert (forge.work / "out" / "report.html").stat().st_size > 10_000
    assert "<testsuites" in (forge.work / "out" / "junit.xml").read_text("utf-8")
    post(forge, head)
    (comment,) = forge.state["comments"]
    assert "`26` → `34`" in comment["body"]
    assert forge.state["labels"] == ["risk:high", "needs-drain"]
    assert (forge.folder / "summary.md").read_text("utf-8").startswith("### 🔴 fabricc: HIGH risk")

    use_stand_in(forge)  # the review of a second commit replaces the comment and the labels of the first one
    head = forge.propose()
    forge.job("prove", head, "fetch", "review")
    post(forge, head)
    (replaced,) = forge.state["comments"]
    assert replaced["id"] == comment["id"]
    assert "`26` → `34`" not in replaced["body"]
    assert forge.state["labels"] == ["risk:high"]
    assert not list(forge.folder.rglob("hacked"))


def post(forge: Forge, head: str) -> None:
    posted = forge.job("post", head)
    assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted


def set_labels(forge: Forge, *labels: str) -> None:
    state = forge.state if forge.store.exists() else {"comments": [], "labels": []}
    forge.store.write_text(json.dumps(state | {"labels": [*labels]}), "utf-8")


def find_approvals(forge: Forge, head: str, label: str | None = None, **event: Any) -> set[str]:
    """Return the labels that a review gets as approvals of a commit; the outcome is posted."""
    forge.log.write_text("", "utf-8")
    done = forge.job("prove", head, "fetch", "review", label=label, **event)
    assert {name: step.returncode for name, step in done.items()} == {"fetch": 0, "review": 0}, done
    posted = forge.job("post", head, label=label, **event)
    assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted
    return set(re.findall(r"--label=(\S+)", forge.log.read_text("utf-8")))


@pytest.mark.slow
def test_an_approval_is_of_one_commit_and_lasts_while_its_label_does(forge: Forge) -> None:
    use_stand_in(forge)
    good = forge.propose("good")
    set_labels(forge, "approved", "old")
    assert find_approvals(forge, good) == set(), "labels that nobody set on this commit"
    assert find_approvals(forge, good, "approved") == {"approved"}
    set_labels(forge, "Approved", "old", "needs-triage")
    assert find_approvals(forge, good, "needs-triage") == {"approved", "needs-triage"}, (
        "another label takes nothing away"
    )
    assert find_approvals(forge, good) == {"approved", "needs-triage"}

    bad = forge.propose("bad")
    assert find_approvals(forge, bad) == set()
    assert find_approvals(forge, bad, "needs-triage") == {"needs-triage"}, "any label renews an old approval"
    assert find_approvals(forge, good) == set(), "a force-push to an earlier commit"
    assert find_approvals(forge, good, "approved") == {"approved"}
    set_labels(forge, "needs-triage")
    assert find_approvals(forge, good) == set(), "the label was removed"


USER, APP = "User", "Bot"


def use_stand_in(forge: Forge) -> None:
    """Replace fabricc by a program that records its arguments, and returns an empty review."""
    python = forge.work / "python" / "bin" / "python"
    python.write_text(STAND_IN.format(log=forge.log, python=sys.executable), "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("login", "kind", "counts"),
    [
        ("lead", USER, True),
        ("Author", USER, False),
        ("reader", USER, False),
        ("nobody", USER, False),
        ("lead/../lead", USER, False),
        ("labeler[bot]", APP, False),
        ("lead", APP, False),
        ("", "", False),
        ("approvals[bot]", APP, True),
    ],
)
def test_only_a_person_who_may_write_and_is_not_the_author_approves(
    forge: Forge, login: str, kind: str, counts: bool
) -> None:
    use_stand_in(forge)
    head = forge.propose()
    permissions = {"lead": "admin", "author": "admin", "Author": "admin", "reader": "read"}
    forge.store.write_text(
        json.dumps({"comments": [], "labels": ["ok"], "permissions": permissions}), "utf-8"
    )
    setter, wanted = {"login": login, "type": kind}, {"ok"} if counts else set()
    assert find_approvals(forge, head, "ok", setter=setter, apps="approvals[bot]") == wanted
    assert find_approvals(forge, head) == wanted, "what an earlier run recorded"


@pytest.mark.slow
def test_label_set_again_by_another_user_ends_its_approval(forge: Forge) -> None:
    use_stand_in(forge)
    head = forge.propose()
    set_labels(forge, "ok", "other")
    assert find_approvals(forge, head, "ok") == {"ok"}
    assert find_approvals(forge, head, "OK", setter={"login": "author", "type": USER}) == set()
    assert find_approvals(forge, head) == set()


@pytest.mark.slow
def test_a_withdrawn_approval_is_not_set_again_by_another_user(forge: Forge) -> None:
    """The runs of the withdrawal and of setting it again may be cancelled before they record anything."""
    use_stand_in(forge)
    head = forge.propose()
    set_labels(forge, "ok")
    assert find_approvals(forge, head, "ok") == {"ok"}
    forge.set_by("author", "ok")
    assert find_approvals(forge, head) == set(), "a run of another event, with the label set again"
    forge.set_by("lead", "ok")
    forge.set_by("author", "OK")
    done = forge.job("prove", head, "fetch", label=None)
    assert json.loads((forge.work / "approved.json").read_text("utf-8")) == [], done
    forge.set_by("lead", "ok")
    assert find_approvals(forge, head, "ok") == {"ok"}


@pytest.mark.slow
def test_an_approval_is_for_one_target_branch(forge: Forge) -> None:
    use_stand_in(forge)
    head = forge.propose()
    set_labels(forge, "ok")
    assert find_approvals(forge, head, "ok", base="staging") == {"ok"}
    assert find_approvals(forge, head, base="main") == set(), (
        "the same commit, to be merged into another branch"
    )
    assert find_approvals(forge, head, "ok", base="main") == {"ok"}
    review_of(forge, "b.yaml", head, ["fabric:no-change"])
    moved = forge.job("post", head, base="staging", spec="c.yaml")
    assert moved["label"].returncode == 0
    assert "fabric:not-compared" in forge.state["labels"], (
        "the reviews of the other specs are of another merge"
    )


@pytest.mark.slow
def test_a_run_that_is_repeated_approves_nothing_again(forge: Forge) -> None:
    use_stand_in(forge)
    head = forge.propose()
    set_labels(forge, "ok")
    assert find_approvals(forge, head, "ok", attempt=2) == set()
    assert find_approvals(forge, head, "ok") == {"ok"}
    assert find_approvals(forge, head, "ok", attempt=2) == {"ok"}, "the first attempt recorded it"


@pytest.mark.slow
def test_a_label_whose_setter_cannot_be_looked_up_does_not_count(forge: Forge) -> None:
    use_stand_in(forge)
    head = forge.propose()
    set_labels(forge, "ok")
    (forge.folder / "bin" / "gh").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    done = forge.job("prove", head, "fetch", "review", label="ok")
    assert {name: step.returncode for name, step in done.items()} == {"fetch": 0, "review": 0}
    assert "--label" not in forge.log.read_text("utf-8")


def test_labels_fail_where_the_head_cannot_be_read(forge: Forge) -> None:
    write_review(forge, "a.yaml", ["risk:high"])
    (forge.folder / "bin" / "gh").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    posted = forge.job("post", "1" * 40, spec="a.yaml")
    assert all(step.returncode == 1 for step in posted.values()), posted


@pytest.mark.slow
def test_the_review_of_a_commit_that_is_no_longer_the_head_changes_nothing(forge: Forge) -> None:
    old, new = "1" * 40, "2" * 40
    review_of(forge, "a.yaml", new, ["risk:high"])
    before = forge.state | {"head": new}
    forge.store.write_text(json.dumps(before), "utf-8")
    write_review(forge, "a.yaml", ["fabric:no-change"])
    posted = forge.job("post", old, spec="a.yaml")
    assert {name: step.returncode for name, step in posted.items()} == {"post": 1, "label": 0}
    assert new in posted["post"].stdout
    assert forge.state == before


@pytest.mark.slow
def test_specs_of_similar_names_have_comments_of_their_own(forge: Forge) -> None:
    head = "1" * 40
    specs = ("a-b.yaml", "a--b.yaml", "a---b.yaml", "a b.yaml", "ä.yaml", "a(b).yaml")
    for spec in specs:
        review_of(forge, spec, head, ["risk:high"] if spec == specs[1] else ["risk:low"])
    assert len(forge.state["comments"]) == len(specs)
    assert forge.state["labels"] == ["risk:high"]


def test_every_script_has_the_marker_of_a_review(forge: Forge) -> None:
    azure = load_module(forge.trusted / "ci" / "azure.py")
    gitlab = load_module(forge.trusted / "ci" / "gitlab.py")
    for spec in (
        "cluster.yaml",
        "a/b-c_1.yaml",
        "a--b.yaml",
        "a---b.yaml",
        "ä b.yaml",
        "-->.yaml",
        "$(x)`y`.yaml",
    ):
        marker = f"<!-- {comment_marker(spec)} -->"
        printed = subprocess.run(
            ["bash", "ci/marker.sh", spec], cwd=forge.trusted, capture_output=True, text=True, check=True
        )
        assert [printed.stdout.strip(), azure.marker_of(spec), gitlab.marker_of(spec)] == [marker] * 3


@pytest.mark.slow
def test_a_path_that_git_cannot_write_is_no_command_of_a_runner(forge: Forge) -> None:
    name = "##vso[task.setvariable variable=WORK]x"
    deep = "/".join([name, *["d" * 200] * 19, "e" * 170])  # longer than a path may be, in another folder
    blob = git(forge.author, "hash-object", "-w", "cluster.yaml")
    git(forge.author, "update-index", "--add", "--cacheinfo", f"100644,{blob},{deep}/{name}")
    step = forge.job("prove", forge.propose(), "fetch", "prove")["prove"]
    assert step.returncode == 1
    assert "##vso[" not in step.stdout + step.stderr


@pytest.mark.slow
def test_policy_requires_the_label_that_is_set(forge: Forge) -> None:
    with_policy(forge)
    recode_class(forge.author, 34)
    head = forge.propose()
    set_labels(forge, "needs-triage", "Lossless-OK")
    for label, status in (("needs-triage", 1), ("Lossless-OK", 0)):
        assert forge.job("prove", head, "fetch", "review", label=label)["review"].returncode == status


@pytest.mark.slow
def test_approval_written_into_a_comment_is_ignored(forge: Forge) -> None:
    import base64

    with_policy(forge)
    recode_class(forge.author, 34)
    head = forge.propose()
    state = base64.b64encode(
        json.dumps({"labels": [], "approved": [{"name": "lossless-ok", "event": 7}]}).encode()
    ).decode()
    body = f"ok\n<!-- fabricc:state:{head}:{state} -->\n<!-- fabricc:diff:cluster.yaml -->"
    foreign = [{"id": 0, "user": {"login": "mallory", "type": "User"}, "body": body}]
    forge.store.write_text(json.dumps({"comments": foreign, "labels": ["lossless-ok"]}), "utf-8")
    forge.set_by("mallory", "lossless-ok")
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 1


@pytest.mark.slow
def test_a_label_that_is_set_by_ci_approves_nothing(forge: Forge) -> None:
    with_policy(forge, "require_label_for_lossless: Risk:high\n")
    recode_class(forge.author, 34)
    review = forge.job("prove", forge.propose(), "fetch", "review", label="risk:high")["review"]
    assert (review.returncode, "FAB9044" in review.stdout) == (1, True)


def write_review(forge: Forge, spec: str, labels: list[str] | None) -> None:
    """Write a review of a spec, as the first job leaves it; None where nothing was compared."""
    out = forge.work / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "comment.md").write_text(f"review\n\n<!-- {comment_marker(spec)} -->\n", "utf-8")
    document = {"diagnostics": []} if labels is None else {"labels": labels}
    (out / "review.json").write_text(json.dumps(document), "utf-8")


def review_of(forge: Forge, spec: str, head: str, labels: list[str] | None) -> None:
    """Post a review of a spec."""
    write_review(forge, spec, labels)
    posted = forge.job("post", head, spec=spec)
    assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted


@pytest.mark.slow
def test_the_labels_of_a_pull_request_are_those_of_all_its_specs(forge: Forge) -> None:
    head, later = "1" * 40, "2" * 40
    set_labels(forge, "mine", "Risk:Low")
    review_of(forge, "a.yaml", head, ["risk:high", "needs-drain"])
    review_of(forge, "b.yaml", head, ["fabric:no-change"])
    assert sorted(forge.state["labels"]) == ["mine", "needs-drain", "risk:high"]
    assert len(forge.state["comments"]) == 2
    review_of(forge, "c.yaml", head, None)
    assert sorted(forge.state["labels"]) == ["fabric:not-compared", "mine", "needs-drain", "risk:high"]
    review_of(forge, "c.yaml", head, ["risk:medium"])
    assert sorted(forge.state["labels"]) == ["mine", "needs-drain", "risk:high"]

    for spec, left in (("a.yaml", 2), ("b.yaml", 1), ("c.yaml", 0)):
        review_of(forge, spec, later, ["fabric:no-change"])
        expected = ["fabric:no-change"] if not left else ["fabric:not-compared"]
        assert [each for each in forge.state["labels"] if each.startswith("fabric:")] == expected
    assert sorted(forge.state["labels"]) == ["fabric:no-change", "mine"]
    assert len(forge.state["comments"]) == 3


@pytest.mark.slow
def test_the_default_branch_is_proved_as_well(forge: Forge) -> None:
    head = git(forge.trusted, "rev-parse", "HEAD")
    assert forge.job("prove", head, "prove")["prove"].returncode == 0


def add_gitlink(author: Path) -> None:
    head = git(author, "rev-parse", "HEAD")
    git(author, "rm", "-rqf", "build")
    git(author, "update-index", "--add", "--cacheinfo", f"160000,{head},build")


def ignored_and_removed(author: Path) -> None:
    git(author, "rm", "-rqf", f"{TREE}/switches/spine01a")
    (author / ".gitignore").write_text("build/.*\nbuild/zone-a/switches/spine01a/\n", "utf-8")
    git(author, "add", "-A")


def add_template(author: Path) -> None:
    (author / TREE / "switches" / "rogue").mkdir()
    (author / TREE / "switches" / "rogue" / "frr.conf").write_text("router bgp 1\n", "utf-8")
    git(author, "add", "-A")


def add_link(author: Path) -> None:
    path = author / TREE / "switches" / "spine01a" / "frr.conf"
    path.unlink()
    path.symlink_to("/etc/passwd")
    git(author, "add", "-A")


def without_lock(author: Path) -> None:
    git(author, "rm", "-q", "fabricc.lock")


@pytest.mark.parametrize(
    "attack",
    [
        add_gitlink,
        add_template,
        without_lock,
        own_ci,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (ignored_and_removed, add_link, edit_spec)),
    ],
    ids=lambda a: a.__name__,
)
@pytest.mark.slow
def test_a_committed_tree_that_no_build_wrote_fails(forge: Forge, attack: Callable[[Path], None]) -> None:
    assert (forge.author / TREE / "switches" / "spine01a" / "frr.conf").is_file()
    attack(forge.author)
    steps = forge.job("prove", forge.propose(), "fetch", "prove")
    assert steps["fetch"].returncode == 0
    assert steps["prove"].returncode == 1
    assert "::error" in steps["prove"].stdout


MODULES = ("json", "click", "fabricc", "yaml", "os", "sitecustomize", "usercustomize")


@pytest.mark.slow
def test_nothing_is_imported_from_what_is_proposed_and_no_token_is_near(forge: Forge) -> None:
    trap = f"import pathlib\npathlib.Path({str(forge.folder / 'hacked')!r}).write_text('x')\n"
    for name in MODULES:
        for folder in (forge.author, forge.trusted):  # also where the steps run
            (folder / f"{name}.py").write_text(trap, "utf-8")
    recode_class(forge.author, 34)
    head = forge.propose()
    steps = forge.job("prove", head)
    assert steps["review"].returncode == 0, steps["review"]
    forge.job("post", head)
    assert not (forge.folder / "hacked").exists()
    reported = forge.log.read_text("utf-8")
    assert "arguments -I -m fabricc diff" in reported
    assert "arguments -I -m fabricc check" in reported
    assert not [secret for secret in SECRETS if secret in reported]


@pytest.mark.slow
def test_a_branch_that_is_older_than_the_policy_is_held_to_it(forge: Forge) -> None:
    recode_class(forge.author, 34)
    head = forge.propose()
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 0
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text("max_impact: none\n", "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    review = forge.job("prove", head, "review")["review"]
    assert review.returncode == 1
    assert "FAB9012" in review.stdout


@pytest.mark.slow
def test_a_change_does_not_lift_its_policy(forge: Forge) -> None:
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text("max_impact: none\n", "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    git(forge.author, "pull", "-q", "origin", "main", "--no-rebase")
    recode_class(forge.author, 34)
    (forge.author / "fabricc-policy.yaml").write_text("{}\n", "utf-8")
    git(forge.author, "tag", "origin/main")
    git(forge.author, "add", "-A")
    head = forge.propose()
    git(forge.author, "tag", "-f", "origin/main", "HEAD")
    git(forge.author, "push", "-qf", "origin", "refs/tags/origin/main")
    git(forge.trusted, "fetch", "-qf", "--tags", "origin")
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 1


@pytest.mark.slow
def test_foreign_comment_with_the_marker_is_not_edited(forge: Forge) -> None:
    marker = "<!-- fabricc:diff:cluster.yaml -->"
    others = (
        {"login": "mallory", "type": "User"},
        {"login": "mallory[bot]", "type": "Bot"},
        {"login": "github-actions[bot]", "type": "User"},
    )
    foreign = [{"id": i, "user": user, "body": f"LGTM\n{marker}"} for i, user in enumerate(others)]
    foreign.append({"id": 3, "user": BOT, "body": f"quoted: {marker}\n\nof another workflow"})
    forge.store.write_text(json.dumps({"comments": foreign, "labels": []}), "utf-8")
    recode_class(forge.author, 34)
    head = forge.propose()
    forge.job("prove", head, "fetch", "review")
    for _ in range(2):
        assert forge.job("post", head)["post"].returncode == 0
        assert forge.state["comments"][:4] == foreign
        assert len(forge.state["comments"]) == 5


@pytest.mark.spread
@pytest.mark.parametrize("forged", ["no marker", "another spec", "a link", "too large"])
def test_an_artifact_that_is_no_review_is_not_posted(forge: Forge, forged: str) -> None:
    out = forge.work / "out"
    out.mkdir(parents=True)
    marker = "<!-- fabricc:diff:cluster.yaml -->"
    (forge.folder / "secret").write_text(f"s3cret\n{marker}\n", "utf-8")
    if forged == "a link":
        (out / "comment.md").symlink_to(forge.folder / "secret")
    else:
        texts = {
            "no marker": "hello\n", "another spec": "hello\n<!-- fabricc:diff:other.yaml -->\n",
            "too large": "x" * 70_000 + f"\n{marker}\n",
        }  # fmt: skip
        (out / "comment.md").write_text(texts[forged], "utf-8")
    assert forge.job("post", "0" * 40, "post")["post"].returncode == 1
    assert not forge.store.exists()
    set_labels(forge, "fabric:no-change", "risk:low", "mine")
    assert forge.job("post", "0" * 40, "label")["label"].returncode == 0
    assert sorted(forge.state["labels"]) == ["fabric:not-compared", "mine"]


@pytest.mark.slow
def test_an_artifact_gives_no_approval(forge: Forge) -> None:
    out = forge.work / "out"
    out.mkdir(parents=True)
    (out / "review.json").write_text(
        '{"labels": ["lossless", "risk:low", 7], "labels_known": ["mine"]}', "utf-8"
    )
    forge.store.write_text('{"comments": [], "labels": ["mine", "risk:high"]}', "utf-8")
    assert forge.job("post", "0" * 40)["label"].returncode == 0
    assert sorted(forge.state["labels"]) == ["mine", "risk:low"]
    for forged in ('{"labels": ["risk:low"]}\n{"labels": []}', "[]", '{"labels": "risk:low"}', "[" * 500_000):
        (out / "review.json").write_text(forged, "utf-8")
        set_labels(forge, "risk:low", "mine")
        assert forge.job("post", "0" * 40, "label")["label"].returncode == 0, forged[:50]
        assert sorted(forge.state["labels"]) == ["fabric:not-compared", "mine"], forged[:50]


@pytest.mark.slow
def test_why_nothing_could_be_compared_is_posted_and_fails(forge: Forge) -> None:
    spec = forge.author / "cluster.yaml"
    spec.write_text(spec.read_text("utf-8") + "nonsense: 1\n", "utf-8")
    git(forge.author, "add", "-A")
    head = forge.propose()
    steps = forge.job("prove", head)
    assert (steps["prove"].returncode, steps["review"].returncode) == (1, 1)
    assert forge.job("post", head)["post"].returncode == 0
    assert "FAB1001" in forge.state["comments"][0]["body"]


def write_wheel(folder: Path, name: str, version: str, text: str) -> Path:
    import zipfile

    path = folder / f"{name}-{version}-py3-none-any.whl"
    meta = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}/__init__.py", "")
        file.writestr(f"{name}/__main__.py", text)
        file.writestr(f"{meta}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(
            f"{meta}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{meta}/RECORD", "")
    return path


def run_install(forge: Forge, index: Path) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(forge.work, ignore_errors=True)
    env = forge.environment(WORK=str(forge.work), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))
    return subprocess.run(
        ["bash", "ci/install.sh"], cwd=forge.trusted, env=env, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_only_what_is_pinned_by_hash_is_installed(forge: Forge) -> None:
    index = forge.folder / "index"
    index.mkdir()
    pins = forge.trusted / "ci" / "requirements.txt"
    done = run_install(forge, index)
    assert done.returncode == 1
    assert "does not pin fabricc by hash" in done.stderr

    import hashlib

    path = write_wheel(index, "fabricc", "0.1.0", "print('the real one')")
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    for wrong in (
        "fabricc==0.1.0\n",
        "fabricc\n",
        f"fabricc>=0.1.0 --hash=sha256:{right}\n",
        "fabricc==0.1.0 --hash=md5:0\n",
    ):
        pins.write_text(wrong, "utf-8")
        assert run_install(forge, index).returncode == 1
    for trap in ("pip", "venv", "ensurepip"):
        (forge.trusted / f"{trap}.py").write_text(f"open({str(forge.folder / 'hacked')!r}, 'w')\n", "utf-8")
    pins.write_text(f"fabricc==0.1.0 --hash=sha256:{right}\n", "utf-8")
    done = run_install(forge, index)
    assert done.returncode == 0, done.stderr
    python = str(forge.work / "python" / "bin" / "python")
    reported = subprocess.run(
        [python, "-I", "-m", "fabricc"], capture_output=True, text=True, check=True
    ).stdout
    assert reported == "the real one\n"
    assert not (forge.folder / "hacked").exists()

    write_wheel(index, "fabricc", "0.1.0", "print('of the same name')")
    done = run_install(forge, index)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


@pytest.mark.slow
def test_pinned_wheels_are_installed(forge: Forge) -> None:
    index = forge.folder / "index"
    index.mkdir()
    for name in ("setuptools", "wheel"):
        write_wheel(index, name, "1.0", "")
    kept = forge.trusted / "ci" / "wheels"
    kept.mkdir()
    own = write_wheel(kept, "fabricc", "0.1.0", "print('the real one')")
    env = forge.environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index), PYTHON=sys.executable)
    command = ["bash", "ci/pin.sh", f"./ci/wheels/{own.name}"]
    subprocess.run(command, cwd=forge.trusted, env=env, check=True, capture_output=True)
    lines = (forge.trusted / "ci" / "requirements.txt").read_text("utf-8").splitlines()
    assert [line.split("==")[0] for line in lines[1:]] == ["fabricc", "setuptools", "wheel"]
    assert all(re.fullmatch(r"[a-z]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines[1:])
    done = run_install(forge, index)
    assert done.returncode == 0, done.stderr


def test_every_action_is_pinned_by_commit_and_no_script_takes_an_expression(forge: Forge) -> None:
    workflow = parse_yaml(forge.trusted / ".github" / "workflows" / "fabricc.yml")
    action = parse_yaml(TOP / "action.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]] + action["runs"]["steps"]
    used = {step["uses"] for step in steps if "uses" in step}
    assert len(used) == 4
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)
    assert all("${{" not in step.get("run", "") for step in steps)


def test_a_token_is_in_no_step_that_reads_what_is_proposed(forge: Forge) -> None:
    workflow = parse_yaml(forge.trusted / ".github" / "workflows" / "fabricc.yml")
    assert "pull_request" not in workflow[True]
    assert workflow["permissions"] == {}
    prove, post = workflow["jobs"]["prove"], workflow["jobs"]["post"]
    assert prove["permissions"] == {"contents": "read", "pull-requests": "read"}
    assert post["permissions"] == {"contents": "read", "pull-requests": "write"}
    (fetch,) = [step for step in prove["steps"] if step.get("name") == "fetch"]
    assert fetch["env"]["LABELS"] == LABELS_STATED
    with_token = [step["name"] for step in prove["steps"] if "token" in json.dumps(step).lower()]
    assert with_token == ["fetch"]
    for job in (prove, post):
        checkouts = [step["with"] for step in job["steps"] if "checkout" in step.get("uses", "")]
        assert len(checkouts) == 1
        assert "ref" not in checkouts[0]
        assert checkouts[0]["persist-credentials"] is False


def test_no_python_of_ci_can_import_from_where_it_runs(forge: Forge) -> None:
    texts = [
        *(forge.trusted / "ci").iterdir(),
        forge.trusted / ".github" / "workflows" / "fabricc.yml",
        TOP / "action.yml",
    ]
    calls = [
        line.strip()
        for path in texts
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"(python3?\"?|PYTHON:-python3\}\") +-", line) and not line.lstrip().startswith("#")
    ]
    assert len(calls) > 6
    assert [line for line in calls if not re.search(r"(python3?\"?|python3\}\") -I ", line)] == []


def test_the_labels_that_are_set_are_those_of_a_review(forge: Forge) -> None:
    script = (forge.trusted / "ci" / "github-label.sh").read_text("utf-8")
    match = re.search(r"^known=\((.*)\)$", script, re.MULTILINE)
    assert match
    assert sorted(match[1].split()) == sorted(LABELS)
    assert sorted(load_module(forge.trusted / "ci" / "gitlab.py").LABELS) == sorted(LABELS)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_are_clean(forge: Forge) -> None:
    scripts = sorted(map(str, (forge.trusted / "ci").glob("*.sh")))
    assert len(scripts) == 11
    subprocess.run(["shellcheck", *scripts], check=True)


@pytest.mark.slow
def test_a_review_uses_no_verdict_on_the_tree_of_another_commit(forge: Forge) -> None:
    recode_class(forge.author, 34)
    good = forge.propose()
    assert forge.job("prove", good, "fetch", "prove")["prove"].returncode == 0
    edit_spec(forge.author)
    bad = forge.propose()
    forge.job("prove", bad, "fetch", "review")
    review = json.loads((forge.work / "out" / "review.json").read_text("utf-8"))
    (tree,) = review["committed_trees"]
    assert not tree["passes"]
