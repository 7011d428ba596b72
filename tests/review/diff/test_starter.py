"""The CI that `init` writes, its steps run as they stand against a local bare repository and a stand-in for the forge.

Every attack is a pull request: what its author may change is the proposed commit, its branch name and comments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from fabricc.cli.entry import run
from fabricc.review.diff.wording import LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOP = Path(__file__).parents[3]
NEEDED = ("git", "bash", "jq")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)), reason=f"one of {', '.join(NEEDED)} is not installed"
)
TREE = "build/zone-a"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
SECRETS = ("t0ken", "CI_JOB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN")

LABELS_STATED = "${{ github.event.action == 'labeled' && toJSON(github.event.label.name) || '[]' }}"
"""A label counts in the run that setting it starts."""

GH = """#!{python}
import json, os, pathlib, subprocess, sys
assert os.environ["GH_TOKEN"] == "t0ken"
store = pathlib.Path(os.environ["STORE"])
state = json.loads(store.read_text()) if store.exists() else {{"comments": [], "labels": []}}
arguments = sys.argv[1:]
path = next(a for a in arguments if a.startswith("repos/o/r/issues/"))
body = next((pathlib.Path(a[6:]).read_text() for a in arguments if a.startswith("body=@")), None)
def asked(items):
    expression = arguments[arguments.index("--jq") + 1]
    sys.stdout.write(subprocess.run(["jq", "-r", expression], input=json.dumps(items), text=True, check=True,
                                    capture_output=True).stdout)
if "/labels" in path:
    if "POST" in arguments:
        state["labels"] += [a.removeprefix("labels[]=") for a in arguments if a.startswith("labels[]=")]
    elif "DELETE" in arguments:
        gone = path.rsplit("/", 1)[1].replace("%3A", ":").lower()
        state["labels"] = [name for name in state["labels"] if name.lower() != gone]
    else:
        asked([{{"name": name}} for name in state["labels"]])
elif "POST" in arguments:
    assert path == "repos/o/r/issues/7/comments"
    user = {{"login": "github-actions[bot]", "type": "Bot"}}
    state["comments"].append({{"id": len(state["comments"]), "user": user, "body": body}})
elif "PATCH" in arguments:
    state["comments"][int(path.rsplit("/", 1)[1])]["body"] = body
else:
    asked(state["comments"])
store.write_text(json.dumps(state))
"""
PYTHON = """#!/bin/sh
# A Python of an environment that has fabricc; it tells what it was started with.
env >>{log}; echo "arguments $*" >>{log}
case "$1" in -I) shift ;; *) echo "not isolated" >&2; exit 9 ;; esac
PYTHONPATH={source} PYTHONSAFEPATH=1 exec {python} "$@"
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def parsed(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


class Forge:
    """A bare repository, an author's clone, and the checkout of the main branch that CI has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.author, self.trusted, self.work = folder / "author", folder / "trusted", folder / "work"
        self.log, self.store = folder / "log", folder / "store.json"

    def checkout(self) -> None:
        """What CI has at the start of a job: the main branch, and Python with fabricc in it."""
        git(self.folder, "clone", "-q", str(self.folder / "bare.git"), str(self.trusted))
        python = self.work / "python" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(PYTHON.format(log=self.log, source=TOP, python=sys.executable), "utf-8")
        python.chmod(0o755)
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "gh").write_text(GH.format(python=sys.executable), "utf-8")
        (programs / "gh").chmod(0o755)

    def propose(self, message: str = "proposal") -> str:
        """Commit all that the author's index has and push it; its name."""
        git(self.author, "commit", "-qm", message, "--allow-empty")
        git(self.author, "push", "-qf", "origin", "HEAD:refs/heads/topic", "HEAD:refs/merge-requests/7/head")
        return git(self.author, "rev-parse", "HEAD")

    def job(
        self, name: str, head: str, *only: str, label: str | None = None, spec: str = "cluster.yaml"
    ) -> dict[str, subprocess.CompletedProcess[str]]:
        """Run steps of a job of the GitHub workflow as it stands on the main branch; by their names.

        `label` is the one whose setting starts the run.
        """
        workflow = parsed(self.trusted / ".github" / "workflows" / "fabricc.yml")
        known = {
            "${{ runner.temp }}/fabricc": str(self.work), "${{ github.token }}": "t0ken",
            "refs/remotes/origin/${{ github.base_ref }}": "refs/remotes/origin/main",
            "${{ github.event.pull_request.head.sha || github.sha }}": head,
            "${{ github.event.pull_request.number }}": "7",
            LABELS_STATED: "[]" if label is None else json.dumps(label),
        }  # fmt: skip
        job, done = workflow["jobs"][name], {}
        for step in job["steps"]:
            if "run" not in step or step["name"] == "install" or (only and step["name"] not in only):
                continue
            stated = {**workflow["env"], "SPEC": spec, **job["env"], **step.get("env", {})}
            own = {key: known.get(value, value) for key, value in stated.items()}
            done[step["name"]] = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=self.trusted, env=self.environment(**own),
                capture_output=True, text=True, check=False, timeout=300,
            )  # fmt: skip
        return done

    def environment(self, **own: str) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder), "STORE": str(self.store),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"), "GITHUB_REPOSITORY": "o/r",
            "ACTIONS_RUNTIME_TOKEN": "t0ken", "CI_JOB_TOKEN": "t0ken", **own,
        }  # fmt: skip

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.store.read_text("utf-8"))
        return found


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `init` and `build` write, committed and pushed."""
    folder = tmp_path_factory.mktemp("forge")
    author = folder / "author"
    assert run(["init", str(author)]) == 0
    assert run(["build", str(author / "cluster.yaml"), "-o", str(author / "build")]) == 0
    git(folder, "init", "-q", "--bare", "-b", "main", str(folder / "bare.git"))
    git(folder, "init", "-q", "-b", "main", str(author))
    git(author, "remote", "add", "origin", "../bare.git")
    git(author, "add", "-A")
    git(author, "commit", "-qm", "start")
    git(author, "push", "-q", "origin", "main")
    git(author, "checkout", "-qb", "topic")
    return folder


@pytest.fixture
def forge(started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forge:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("author", "bare.git"):
        shutil.copytree(started / name, tmp_path / name, symlinks=True)
    found = Forge(tmp_path)
    found.checkout()
    return found


def recode(author: Path, new: int) -> None:
    """Another code point, built and staged."""
    spec = author / "cluster.yaml"
    spec.write_text(re.sub(r"rdma: \{dscp: \d+", f"rdma: {{dscp: {new}", spec.read_text("utf-8")), "utf-8")
    assert run(["build", str(spec), "-o", str(author / "build")]) == 0
    git(author, "add", "-A")


def test_an_honest_change_is_proved_reviewed_and_posted_once(forge: Forge) -> None:
    for dscp in (34, 35):
        recode(forge.author, dscp)
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
        posted = forge.job("post", head)
        assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted
        (comment,) = forge.state["comments"]
        assert f"`26` → `{dscp}`" in comment["body"]
        assert forge.state["labels"] == ["risk:high", "needs-drain"]
    assert (forge.folder / "summary.md").read_text("utf-8").startswith("### 🔴 fabricc: HIGH risk")
    assert not list(forge.folder.rglob("hacked"))


POLICY = "require_label_for_lossless: lossless-ok\n"


def with_policy(forge: Forge, text: str = POLICY) -> None:
    """The policy of the main branch, which is in the history of the author's branch as well."""
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text(text, "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    git(forge.author, "pull", "-q", "origin", "main", "--no-rebase")


def set_labels(forge: Forge, *labels: str) -> None:
    state = forge.state if forge.store.exists() else {"comments": [], "labels": []}
    forge.store.write_text(json.dumps(state | {"labels": [*labels]}), "utf-8")


STAND_IN = """#!/bin/sh
# A Python whose fabricc writes down what it is asked, and gives an empty review.
[ "$2 $3" = "-m fabricc" ] || exec {python} "$@"
echo "$*" >>{log}
case "$*" in
  *"--format json"*) echo '{{"labels": ["risk:high"]}}' ;;
  *) echo "<!-- fabricc:diff:cluster.yaml -->" ;;
esac
"""


def approvals(forge: Forge, head: str, label: str | None = None) -> set[str]:
    """The labels that a review is told to be approvals of a commit; the outcome is posted."""
    forge.log.write_text("", "utf-8")
    done = forge.job("prove", head, "fetch", "review", label=label)
    assert {name: step.returncode for name, step in done.items()} == {"fetch": 0, "review": 0}, done
    posted = forge.job("post", head, label=label)
    assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted
    return set(re.findall(r"--label=(\S+)", forge.log.read_text("utf-8")))


def test_an_approval_is_of_one_commit_and_lasts_while_its_label_does(forge: Forge) -> None:
    python = forge.work / "python" / "bin" / "python"
    python.write_text(STAND_IN.format(log=forge.log, python=sys.executable), "utf-8")
    good = forge.propose("good")
    set_labels(forge, "approved", "old")
    assert approvals(forge, good) == set(), "labels that nobody set on this commit"
    assert approvals(forge, good, "approved") == {"approved"}
    set_labels(forge, "Approved", "old", "needs-triage")
    assert approvals(forge, good, "needs-triage") == {"approved", "needs-triage"}, (
        "another label takes nothing away"
    )
    assert approvals(forge, good) == {"approved", "needs-triage"}

    bad = forge.propose("bad")
    assert approvals(forge, bad) == set()
    assert approvals(forge, bad, "needs-triage") == {"needs-triage"}, "any label renews an old approval"
    assert approvals(forge, good) == set(), "a force-push to an earlier commit"
    assert approvals(forge, good, "approved") == {"approved"}
    set_labels(forge, "needs-triage")
    assert approvals(forge, good) == set(), "the label was removed"


def test_a_policy_asks_for_the_label_that_was_set(forge: Forge) -> None:
    with_policy(forge)
    recode(forge.author, 34)
    head = forge.propose()
    for label, status in (("needs-triage", 1), ("Lossless-OK", 0)):
        assert forge.job("prove", head, "fetch", "review", label=label)["review"].returncode == status


def test_an_approval_that_somebody_writes_into_a_comment_counts_for_nothing(forge: Forge) -> None:
    import base64

    with_policy(forge)
    recode(forge.author, 34)
    head = forge.propose()
    state = base64.b64encode(json.dumps({"labels": [], "approved": ["lossless-ok"]}).encode()).decode()
    body = f"ok\n<!-- fabricc:state:{head}:{state} -->\n<!-- fabricc:diff:cluster.yaml -->"
    foreign = [{"id": 0, "user": {"login": "mallory", "type": "User"}, "body": body}]
    forge.store.write_text(json.dumps({"comments": foreign, "labels": ["lossless-ok"]}), "utf-8")
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 1


def test_a_label_that_is_set_by_ci_approves_nothing(forge: Forge) -> None:
    with_policy(forge, "require_label_for_lossless: Risk:high\n")
    recode(forge.author, 34)
    review = forge.job("prove", forge.propose(), "fetch", "review", label="risk:high")["review"]
    assert (review.returncode, "FAB9044" in review.stdout) == (1, True)


def review_of(forge: Forge, spec: str, head: str, labels: list[str] | None) -> None:
    """Post a review of a spec, as the job before has left it; None where nothing was compared."""
    out = forge.work / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "comment.md").write_text(f"review\n\n<!-- fabricc:diff:{spec} -->\n", "utf-8")
    document = {"diagnostics": []} if labels is None else {"labels": labels}
    (out / "review.json").write_text(json.dumps(document), "utf-8")
    posted = forge.job("post", head, spec=spec)
    assert {name: step.returncode for name, step in posted.items()} == {"post": 0, "label": 0}, posted


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


def test_the_default_branch_is_proved_as_well(forge: Forge) -> None:
    head = git(forge.trusted, "rev-parse", "HEAD")
    assert forge.job("prove", head, "prove")["prove"].returncode == 0


def gitlink(author: Path) -> None:
    head = git(author, "rev-parse", "HEAD")
    git(author, "rm", "-rqf", "build")
    git(author, "update-index", "--add", "--cacheinfo", f"160000,{head},build")


def ignored_and_removed(author: Path) -> None:
    git(author, "rm", "-rqf", f"{TREE}/switches/spine01a")
    (author / ".gitignore").write_text("build/.*\nbuild/zone-a/switches/spine01a/\n", "utf-8")
    git(author, "add", "-A")


def added(author: Path) -> None:
    (author / TREE / "switches" / "rogue").mkdir()
    (author / TREE / "switches" / "rogue" / "frr.conf").write_text("router bgp 1\n", "utf-8")
    git(author, "add", "-A")


def linked(author: Path) -> None:
    path = author / TREE / "switches" / "spine01a" / "frr.conf"
    path.unlink()
    path.symlink_to("/etc/passwd")
    git(author, "add", "-A")


def edited(author: Path) -> None:
    path = author / TREE / "switches" / "spine01a" / "frr.conf"
    path.write_text(path.read_text("utf-8") + "! rogue\n", "utf-8")
    git(author, "add", "-A")


def without_lock(author: Path) -> None:
    git(author, "rm", "-q", "fabricc.lock")


def own_ci(author: Path) -> None:
    """A bad tree, with a workflow and scripts that would let it through."""
    edited(author)
    for path in (author / "ci").glob("*.sh"):
        path.write_text("exit 0\n", "utf-8")
    (author / ".github" / "workflows" / "fabricc.yml").write_text("on: push\njobs: {}\n", "utf-8")
    (author / "ci" / "requirements.txt").write_text("fabricc==6.6.6\n", "utf-8")
    git(author, "add", "-A")


@pytest.mark.parametrize(
    "attack",
    [
        gitlink,
        added,
        without_lock,
        own_ci,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (ignored_and_removed, linked, edited)),
    ],
    ids=lambda a: a.__name__,
)
def test_a_committed_tree_that_no_build_wrote_fails(forge: Forge, attack: Callable[[Path], None]) -> None:
    assert (forge.author / TREE / "switches" / "spine01a" / "frr.conf").is_file()
    attack(forge.author)
    steps = forge.job("prove", forge.propose(), "fetch", "prove")
    assert steps["fetch"].returncode == 0
    assert steps["prove"].returncode == 1
    assert "::error" in steps["prove"].stdout


MODULES = ("json", "click", "fabricc", "yaml", "os", "sitecustomize", "usercustomize")


def test_nothing_is_imported_from_what_is_proposed_and_no_token_is_near(forge: Forge) -> None:
    trap = f"import pathlib\npathlib.Path({str(forge.folder / 'hacked')!r}).write_text('x')\n"
    for name in MODULES:
        for folder in (forge.author, forge.trusted):  # also where the steps run
            (folder / f"{name}.py").write_text(trap, "utf-8")
    recode(forge.author, 34)
    head = forge.propose()
    steps = forge.job("prove", head)
    assert steps["review"].returncode == 0, steps["review"]
    forge.job("post", head)
    assert not (forge.folder / "hacked").exists()
    told = forge.log.read_text("utf-8")
    assert "arguments -I -m fabricc diff" in told
    assert "arguments -I -m fabricc check" in told
    assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.slow
def test_a_branch_that_is_older_than_the_policy_is_held_to_it(forge: Forge) -> None:
    recode(forge.author, 34)
    head = forge.propose()
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 0
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text("max_impact: none\n", "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    review = forge.job("prove", head, "review")["review"]
    assert review.returncode == 1
    assert "FAB9012" in review.stdout


def test_a_change_does_not_lift_its_policy(forge: Forge) -> None:
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text("max_impact: none\n", "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    git(forge.author, "pull", "-q", "origin", "main", "--no-rebase")
    recode(forge.author, 34)
    (forge.author / "fabricc-policy.yaml").write_text("{}\n", "utf-8")
    git(forge.author, "tag", "origin/main")
    git(forge.author, "add", "-A")
    head = forge.propose()
    git(forge.author, "tag", "-f", "origin/main", "HEAD")
    git(forge.author, "push", "-qf", "origin", "refs/tags/origin/main")
    git(forge.trusted, "fetch", "-qf", "--tags", "origin")
    assert forge.job("prove", head, "fetch", "review")["review"].returncode == 1


@pytest.mark.slow
def test_a_comment_of_somebody_else_with_the_marker_is_left_alone(forge: Forge) -> None:
    marker = "<!-- fabricc:diff:cluster.yaml -->"
    others = (
        {"login": "mallory", "type": "User"},
        {"login": "mallory[bot]", "type": "Bot"},
        {"login": "github-actions[bot]", "type": "User"},
    )
    foreign = [{"id": i, "user": user, "body": f"LGTM\n{marker}"} for i, user in enumerate(others)]
    foreign.append({"id": 3, "user": BOT, "body": f"quoted: {marker}\n\nof another workflow"})
    forge.store.write_text(json.dumps({"comments": foreign, "labels": []}), "utf-8")
    recode(forge.author, 34)
    head = forge.propose()
    forge.job("prove", head, "fetch", "review")
    for _ in range(2):
        assert forge.job("post", head)["post"].returncode == 0
        assert forge.state["comments"][:4] == foreign
        assert len(forge.state["comments"]) == 5


@pytest.mark.parametrize("forged", ["no marker", "another spec", "a link", "too large"])
def test_an_artefact_that_is_no_review_is_not_posted(forge: Forge, forged: str) -> None:
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
    assert forge.job("post", "0" * 40)["post"].returncode == 1
    assert not forge.store.exists()


def test_an_artefact_gives_no_approval(forge: Forge) -> None:
    out = forge.work / "out"
    out.mkdir(parents=True)
    (out / "review.json").write_text(
        '{"labels": ["lossless", "risk:low", 7], "labels_known": ["mine"]}', "utf-8"
    )
    forge.store.write_text('{"comments": [], "labels": ["mine", "risk:high"]}', "utf-8")
    assert forge.job("post", "0" * 40)["label"].returncode == 0
    assert sorted(forge.state["labels"]) == ["mine", "risk:low"]


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


def wheel(folder: Path, name: str, version: str, text: str) -> Path:
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


def installed(forge: Forge, index: Path) -> subprocess.CompletedProcess[str]:
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
    done = installed(forge, index)
    assert done.returncode == 1
    assert "does not pin fabricc by hash" in done.stderr

    import hashlib

    path = wheel(index, "fabricc", "0.1.0", "print('the real one')")
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    for wrong in (
        "fabricc==0.1.0\n",
        "fabricc\n",
        f"fabricc>=0.1.0 --hash=sha256:{right}\n",
        "fabricc==0.1.0 --hash=md5:0\n",
    ):
        pins.write_text(wrong, "utf-8")
        assert installed(forge, index).returncode == 1
    for trap in ("pip", "venv", "ensurepip"):
        (forge.trusted / f"{trap}.py").write_text(f"open({str(forge.folder / 'hacked')!r}, 'w')\n", "utf-8")
    pins.write_text(f"fabricc==0.1.0 --hash=sha256:{right}\n", "utf-8")
    done = installed(forge, index)
    assert done.returncode == 0, done.stderr
    python = str(forge.work / "python" / "bin" / "python")
    told = subprocess.run([python, "-I", "-m", "fabricc"], capture_output=True, text=True, check=True).stdout
    assert told == "the real one\n"
    assert not (forge.folder / "hacked").exists()

    wheel(index, "fabricc", "0.1.0", "print('of the same name')")
    done = installed(forge, index)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


@pytest.mark.slow
def test_what_pin_writes_is_what_install_takes(forge: Forge) -> None:
    index = forge.folder / "index"
    index.mkdir()
    for name in ("setuptools", "wheel"):
        wheel(index, name, "1.0", "")
    kept = forge.trusted / "ci" / "wheels"
    kept.mkdir()
    own = wheel(kept, "fabricc", "0.1.0", "print('the real one')")
    env = forge.environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index), PYTHON=sys.executable)
    command = ["bash", "ci/pin.sh", f"./ci/wheels/{own.name}"]
    subprocess.run(command, cwd=forge.trusted, env=env, check=True, capture_output=True)
    lines = (forge.trusted / "ci" / "requirements.txt").read_text("utf-8").splitlines()
    assert [line.split("==")[0] for line in lines[1:]] == ["fabricc", "setuptools", "wheel"]
    assert all(re.fullmatch(r"[a-z]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines[1:])
    done = installed(forge, index)
    assert done.returncode == 0, done.stderr


def test_every_action_is_pinned_by_commit_and_no_script_takes_an_expression(forge: Forge) -> None:
    workflow = parsed(forge.trusted / ".github" / "workflows" / "fabricc.yml")
    action = parsed(TOP / "action.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]] + action["runs"]["steps"]
    used = {step["uses"] for step in steps if "uses" in step}
    assert len(used) == 4
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in used)
    assert all("${{" not in step.get("run", "") for step in steps)


def test_a_token_is_in_no_step_that_reads_what_is_proposed(forge: Forge) -> None:
    workflow = parsed(forge.trusted / ".github" / "workflows" / "fabricc.yml")
    assert "pull_request" not in workflow[True]
    assert workflow["permissions"] == {}
    prove, post = workflow["jobs"]["prove"], workflow["jobs"]["post"]
    assert prove["permissions"] == {"contents": "read", "pull-requests": "read"}
    assert post["permissions"] == {"contents": "read", "pull-requests": "write"}
    (review,) = [step for step in prove["steps"] if step.get("name") == "review"]
    assert review["env"]["LABELS"] == LABELS_STATED
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
    assert sorted(gitlab_module(forge).LABELS) == sorted(LABELS)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_are_clean(forge: Forge) -> None:
    scripts = sorted(map(str, (forge.trusted / "ci").glob("*.sh")))
    assert len(scripts) == 9
    subprocess.run(["shellcheck", *scripts], check=True)


def gitlab_module(forge: Forge) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("starter_gitlab", forge.trusted / "ci" / "gitlab.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class GitLab(ThreadingHTTPServer):
    """The API of GitLab for one project, on loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.notes: list[dict[str, Any]] = []
        self.merge_requests: list[dict[str, Any]] = []
        self.labels: list[list[str]] = []

    def say(self, author: int, body: str) -> None:
        self.notes.append({"id": len(self.notes), "author": {"id": author}, "body": body})


class Answer(BaseHTTPRequestHandler):
    server: GitLab

    def answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def do_GET(self) -> None:
        assert self.headers["PRIVATE-TOKEN"] == "t0ken"
        path = urlsplit(self.path).path
        if path == "/user":
            self.answer({"id": 99})
        elif path.endswith("/redirected"):
            self.send_response(302)
            self.send_header("Location", "/user")
            self.end_headers()
        else:
            self.answer(self.server.notes if path.endswith("/notes") else self.server.merge_requests)

    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        path = urlsplit(self.path).path
        if path.endswith("/notes"):
            self.server.say(99, fields["body"][0])
        elif "/notes/" in path:
            self.server.notes[int(path.rsplit("/", 1)[1])]["body"] = fields["body"][0]
        else:
            self.server.labels.append([fields["add_labels"][0], fields["remove_labels"][0]])
        self.answer({})

    do_PUT = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    server = GitLab()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def gitlab_job(forge: Forge, name: str, server: GitLab, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a job of the GitLab file as it stands, but for the installation."""
    pipeline = parsed(forge.trusted / "ci" / "fabricc.gitlab-ci.yml")
    template, job = pipeline[".fabricc"], pipeline[name]
    lines = [line for line in job["script"] if not line.endswith('/install.sh"')]
    begin = "set -eo pipefail\n" + "\n".join([*template["before_script"], *lines])
    variables = {
        **template["variables"], "WORK": str(forge.work), "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
        "CI_PROJECT_ID": "1", "CI_DEFAULT_BRANCH": "main", "FABRICC_IMAGE": "python@sha256:0",
        "CI_COMMIT_SHA": git(forge.trusted, "rev-parse", "HEAD"), "REVIEW_TOKEN": "t0ken",
    }  # fmt: skip
    env = forge.environment(**{**variables, **more})
    done = subprocess.run(
        ["bash", "-c", begin], cwd=forge.trusted, env=env, capture_output=True, text=True, timeout=300
    )
    after = "\n".join(template["after_script"])
    subprocess.run(["bash", "-c", after], cwd=forge.trusted, env=env, check=True)
    return done


def scheduled(forge: Forge, server: GitLab) -> None:
    for name in ("fabric-list", "fabric-review-all", "fabric-post"):
        done = gitlab_job(forge, name, server)
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.slow
def test_gitlab_keeps_one_note_and_takes_no_other_for_its_own(forge: Forge, gitlab: GitLab) -> None:
    marker = "<!-- fabricc:diff:cluster.yaml -->"
    gitlab.say(5, f"LGTM\n\n{marker}")
    for dscp in (34, 35):
        recode(forge.author, dscp)
        gitlab.merge_requests = [{"iid": 7, "sha": forge.propose(), "labels": ["x", "--policy=y"]}]
        scheduled(forge, gitlab)
        assert len(gitlab.notes) == 2
        assert gitlab.notes[0]["body"] == f"LGTM\n\n{marker}"
        assert f"`26` → `{dscp}`" in gitlab.notes[1]["body"]
    assert gitlab.labels[-1][0] == "risk:high,needs-drain"
    assert "risk:low" in gitlab.labels[-1][1].split(",")
    told = forge.log.read_text("utf-8")
    assert "t0ken" not in told


@pytest.mark.slow
def test_gitlab_proves_a_merge_request_with_the_scripts_of_the_default_branch(
    forge: Forge, gitlab: GitLab
) -> None:
    recode(forge.author, 34)
    good = forge.propose()
    own_ci(forge.author)
    bad = forge.propose()
    for head, status in ((good, 0), (bad, 1)):
        git(forge.trusted, "fetch", "-q", "origin", "refs/merge-requests/7/head")
        pipeline = forge.trusted / "ci" / "fabricc.gitlab-ci.yml"
        text = pipeline.read_text("utf-8")
        git(forge.trusted, "checkout", "-qf", head)
        pipeline.write_text(text, "utf-8")
        shutil.rmtree(forge.work / "trusted", ignore_errors=True)
        done = gitlab_job(forge, "fabric-prove", gitlab, CI_COMMIT_SHA=head)
        assert done.returncode == status, done.stderr
        assert (forge.trusted / ".fabricc-ci" / "out" / "report.html").is_file()


def test_gitlab_runs_in_no_image_without_a_digest(forge: Forge, gitlab: GitLab) -> None:
    done = gitlab_job(forge, "fabric-list", gitlab, FABRICC_IMAGE="python:3.12")
    assert (done.returncode, "names no digest" in done.stdout) == (1, True)


def test_gitlab_takes_the_token_to_no_other_place(
    forge: Forge, gitlab: GitLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from urllib.error import HTTPError

    monkeypatch.setenv("CI_API_V4_URL", f"http://127.0.0.1:{gitlab.server_port}")
    monkeypatch.setenv("REVIEW_TOKEN", "t0ken")
    with pytest.raises(HTTPError, match="302"):
        gitlab_module(forge).ask("GET", "/redirected")


def test_the_token_of_gitlab_is_of_an_environment_that_only_posting_has(forge: Forge) -> None:
    pipeline = parsed(forge.trusted / "ci" / "fabricc.gitlab-ci.yml")
    having = {name for name, job in pipeline.items() if "environment" in job}
    assert having == {"fabric-list", "fabric-post"}
    for name in having:
        text = " ".join(pipeline[name]["script"])
        assert not re.search(r"install|review\.sh|prove", text), (
            "a job with the token reads what others wrote"
        )
        assert pipeline[name]["rules"][0]["if"].startswith('$CI_PIPELINE_SOURCE == "schedule"')
