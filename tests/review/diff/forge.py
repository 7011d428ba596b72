"""A bare repository, an author and a stand-in for the forge, for tests of the CI that `init` writes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricc.cli.entry import run

TOP = Path(__file__).parents[3]
NEEDED = ("git", "bash", "jq")
needs_shell = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)), reason=f"one of {', '.join(NEEDED)} is not installed"
)
TREE = "build/zone-a"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
SECRETS = ("t0ken", "CI_JOB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN")

LABELS_STATED = "${{ github.event.action == 'labeled' && toJSON(github.event.label.name) || '[]' }}"
"""A label counts in the run that setting it starts."""
LEAD = {"login": "lead", "type": "User"}
"""A person with write access who is not the author."""

GH = """#!{python} -IS
import json, os, pathlib, subprocess, sys
assert os.environ["GH_TOKEN"] == "t0ken"
store = pathlib.Path(os.environ["STORE"])
state = json.loads(store.read_text()) if store.exists() else {{"comments": [], "labels": []}}
arguments = sys.argv[1:]
path = next(a for a in arguments if a.startswith("repos/o/r/"))
body = next((pathlib.Path(a[6:]).read_text() for a in arguments if a.startswith("body=@")), None)
def answer(items):
    expression = arguments[arguments.index("--jq") + 1]
    sys.stdout.write(subprocess.run(["jq", "-r", expression], input=json.dumps(items), text=True, check=True,
                                    capture_output=True).stdout)
if path == "repos/o/r/pulls/7":
    answer({{"head": {{"sha": state.get("head", os.environ["HEAD"])}}}})
elif path.startswith("repos/o/r/collaborators/"):
    permission = state.get("permissions", {{"lead": "write"}}).get(path.split("/")[4])
    if permission is None:
        sys.exit("gh: Not Found (HTTP 404)")
    answer({{"permission": permission}})
elif "/timeline" in path:
    answer([{{"event": "commented", "actor": None}}, *state.get("events", [])])
elif "/labels" in path:
    if "POST" in arguments:
        state["labels"] += [a.removeprefix("labels[]=") for a in arguments if a.startswith("labels[]=")]
    elif "DELETE" in arguments:
        gone = path.rsplit("/", 1)[1].replace("%3A", ":").lower()
        state["labels"] = [name for name in state["labels"] if name.lower() != gone]
    else:
        answer([{{"name": name}} for name in state["labels"]])
elif "POST" in arguments:
    assert path == "repos/o/r/issues/7/comments"
    user = {{"login": "github-actions[bot]", "type": "Bot"}}
    state["comments"].append({{"id": len(state["comments"]), "user": user, "body": body}})
elif "PATCH" in arguments:
    state["comments"][int(path.rsplit("/", 1)[1])]["body"] = body
else:
    answer(state["comments"])
store.write_text(json.dumps(state))
"""
PYTHON = """#!/bin/sh
# A Python of an environment that has fabricc; it records its environment and arguments.
env >>{log}; echo "arguments $*" >>{log}
case "$1" in -I) shift ;; *) echo "not isolated" >&2; exit 9 ;; esac
PYTHONPATH={source} PYTHONSAFEPATH=1 exec {python} "$@"
"""


STAND_IN = """#!/bin/sh
# A Python whose fabricc records its arguments, and writes an empty review.
[ "$2 $3" = "-m fabricc" ] || exec {python} "$@"
echo "$*" >>{log}
for each in "$@"; do
  case "$each" in
    --save=json=*) echo '{{"labels": ["risk:high"]}}' >"${{each#--save=*=}}" ;;
    --save=*) echo "<!-- fabricc:diff:cluster.yaml -->" >"${{each#--save=*=}}" ;;
  esac
done
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def parse_yaml(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


class Forge:
    """A bare repository, an author's clone, and the checkout of the main branch that CI has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.author, self.trusted, self.work = folder / "author", folder / "trusted", folder / "work"
        self.log, self.store = folder / "log", folder / "store.json"

    def checkout(self) -> None:
        """Prepare the start of a CI job: the main branch, and Python with fabricc."""
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
        self,
        name: str,
        head: str,
        *only: str,
        label: str | None = None,
        spec: str = "cluster.yaml",
        setter: dict[str, str] = LEAD,
        attempt: int = 1,
        apps: str = "",
        base: str = "main",
    ) -> dict[str, subprocess.CompletedProcess[str]]:
        """Run steps of a job of the GitHub workflow as it stands on the main branch; by their names.

        `label` is the one whose setting by `setter` starts the run.
        """
        workflow = parse_yaml(self.trusted / ".github" / "workflows" / "fabricc.yml")
        known = {
            "${{ runner.temp }}/fabricc": str(self.work), "${{ github.token }}": "t0ken",
            "refs/remotes/origin/${{ github.base_ref }}": "refs/remotes/origin/main",
            "${{ github.event.pull_request.head.sha || github.sha }}": head,
            "${{ github.event.pull_request.number }}": "7", "${{ matrix.spec }}": spec,
            LABELS_STATED: "[]" if label is None else json.dumps(label),
            "${{ toJSON(github.event.sender) }}": json.dumps(setter, indent=2),
            "${{ github.event.pull_request.user.login }}": "author",
        }  # fmt: skip
        if label is not None:
            self.set_by(setter["login"], label)
        job, done = workflow["jobs"][name], {}
        for step in job["steps"]:
            if "run" not in step or step["name"] == "install" or (only and step["name"] not in only):
                continue
            stated = {**job["env"], **step.get("env", {})}
            own = {key: known.get(value, value) for key, value in stated.items()}
            own |= {"GITHUB_RUN_ATTEMPT": str(attempt), "APPROVING_APPS": apps, "GITHUB_BASE_REF": base}
            done[step["name"]] = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=self.trusted, env=self.environment(**own),
                capture_output=True, text=True, check=False, timeout=300,
            )  # fmt: skip
        return done

    def set_by(self, login: str, label: str) -> None:
        """Write the event of setting a label, unless this person was the last one to set it."""
        state = self.state if self.store.exists() else {"comments": [], "labels": []}
        events = state.setdefault("events", [])
        before = [each for each in events if each["label"]["name"].lower() == label.lower()]
        if not before or before[-1]["actor"]["login"] != login:
            actor = {"login": login}
            events.append(
                {"event": "labeled", "id": len(events) + 7, "label": {"name": label}, "actor": actor}
            )
            self.store.write_text(json.dumps(state), "utf-8")

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


def recode_class(author: Path, new: int) -> None:
    """Another code point, built and staged."""
    spec = author / "cluster.yaml"
    spec.write_text(re.sub(r"rdma: \{dscp: \d+", f"rdma: {{dscp: {new}", spec.read_text("utf-8")), "utf-8")
    assert run(["build", str(spec), "-o", str(author / "build")]) == 0
    git(author, "add", "-A")


POLICY = "require_label_for_lossless: lossless-ok\n"


def with_policy(forge: Forge, text: str = POLICY) -> None:
    """The policy of the main branch, which is in the history of the author's branch as well."""
    git(forge.trusted, "checkout", "-q", "main")
    (forge.trusted / "fabricc-policy.yaml").write_text(text, "utf-8")
    git(forge.trusted, "commit", "-qam", "policy")
    git(forge.trusted, "push", "-q", "origin", "main")
    git(forge.author, "pull", "-q", "origin", "main", "--no-rebase")


def load_module(path: Path) -> Any:
    """Return a script of CI as a module."""
    spec = importlib.util.spec_from_file_location(f"starter_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edit_spec(author: Path) -> None:
    path = author / TREE / "switches" / "spine01a" / "frr.conf"
    path.write_text(path.read_text("utf-8") + "! rogue\n", "utf-8")
    git(author, "add", "-A")


def own_ci(author: Path) -> None:
    """A bad tree, with a workflow and scripts that would let it through."""
    edit_spec(author)
    for path in (author / "ci").glob("*.sh"):
        path.write_text("exit 0\n", "utf-8")
    (author / ".github" / "workflows" / "fabricc.yml").write_text("on: push\njobs: {}\n", "utf-8")
    (author / "ci" / "requirements.txt").write_text("fabricc==6.6.6\n", "utf-8")
    git(author, "add", "-A")
