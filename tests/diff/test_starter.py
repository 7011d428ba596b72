"""The CI that `init` writes, run step by step against a local bare repository and a stand-in for the forge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

GH = """#!{python}
import json, os, pathlib, sys
store = pathlib.Path(os.environ["STORE"])
comments = json.loads(store.read_text()) if store.exists() else []
arguments = sys.argv[1:]
body = next((pathlib.Path(a[6:]).read_text() for a in arguments if a.startswith("body=@")), None)
if any("/labels" in a for a in arguments):
    path = next(a for a in arguments if a.startswith("repos/o/r/issues/7/labels"))
    kept = store.with_name("labels.json")
    labels = json.loads(kept.read_text()) if kept.exists() else []
    if "POST" in arguments:
        labels += [a.removeprefix("labels[]=") for a in arguments if a.startswith("labels[]=")]
    elif "DELETE" in arguments:
        labels.remove(path.rsplit("/", 1)[1].replace("%3A", ":"))
    else:
        print(*labels, sep="\\n")
    kept.write_text(json.dumps(labels))
    sys.exit()
if "POST" in arguments:
    assert "repos/o/r/issues/7/comments" in arguments
    comments.append(body)
elif "PATCH" in arguments:
    (path,) = [a for a in arguments if a.startswith("repos/")]
    comments[int(path.rsplit("/", 1)[1])] = body
else:
    print(*(i for i, text in enumerate(comments) if os.environ["marker"] in text), sep="\\n")
store.write_text(json.dumps(comments))
"""
CURL = """#!{python}
import json, os, pathlib, sys
store = pathlib.Path(os.environ["STORE"])
comments = json.loads(store.read_text()) if store.exists() else []
arguments = sys.argv[1:]
assert "PRIVATE-TOKEN: t0ken" in arguments
if "-X" not in arguments:
    print(json.dumps([{{"id": i + 1, "body": text}} for i, text in enumerate(comments)]))
elif arguments[-1].endswith("/merge_requests/7"):
    chosen = [a.split("=", 1)[1] for a in arguments if a.startswith(("add_labels=", "remove_labels="))]
    store.with_name("labels.json").write_text(json.dumps(chosen))
else:
    method, body = arguments[arguments.index("-X") + 1], pathlib.Path("comment.md").read_text()
    if method == "POST":
        comments.append(body)
    else:
        comments[int(arguments[-1].rsplit("/", 1)[1]) - 1] = body
    store.write_text(json.dumps(comments))
"""
FABRICC = '#!/bin/sh\nexec {python} -m fabricc "$@"\n'


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a bare repository with what `init` wrote; a branch with another code point is checked out."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "clone"
    assert run(["init", str(folder)]) == 0
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(tmp_path / "bare.git"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", str(tmp_path / "bare.git"))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    git(folder, "push", "-q", "-u", "origin", "main")
    git(folder, "checkout", "-qb", "topic")
    change(folder, 26, 34)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("gh", GH), ("curl", CURL), ("fabricc", FABRICC), ("pip", "#!/bin/sh\n")):
        (programs / name).write_text(text.format(python=sys.executable), "utf-8")
        (programs / name).chmod(0o755)
    return folder


def change(folder: Path, old: int, new: int) -> None:
    spec = folder / "cluster.yaml"
    text = spec.read_text("utf-8")
    assert f"dscp: {old}" in text
    spec.write_text(text.replace(f"dscp: {old}", f"dscp: {new}"), "utf-8")
    git(folder, "commit", "-qam", f"{new}")


def environment(clone: Path, **more: str) -> dict[str, str]:
    top = clone.parent
    path = f"{top / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "STORE": str(top / "store.json"), "RUNNER_TEMP": str(top), **more}


def comments(clone: Path) -> list[str]:
    found: list[str] = json.loads((clone.parent / "store.json").read_text("utf-8"))
    return found


def test_github_keeps_one_comment_and_a_summary(clone: Path) -> None:
    action = clone / ".github" / "actions" / "fabricc-diff"
    summary = clone.parent / "summary.md"
    env = environment(
        clone, SPEC="cluster.yaml", BASE="origin/main", LABELS='["a b", "$(touch hacked)"]', URL="https://example.org",
        GITHUB_STEP_SUMMARY=str(summary), GITHUB_REPOSITORY="o/r", PULL="7",
    )  # fmt: skip
    for dscp in (34, 35):
        reviewed = subprocess.run(
            ["bash", str(action / "review.sh")], cwd=clone, env=env, capture_output=True, text=True
        )
        assert reviewed.returncode == 0, reviewed.stderr
        assert "::warning file=cluster.yaml," in reviewed.stdout
        subprocess.run(["bash", str(action / "post.sh")], cwd=clone, env=env, check=True)
        (comment,) = comments(clone)
        assert f"`26` → `{dscp}`" in comment
        if dscp == 34:
            change(clone, 34, 35)
    assert summary.read_text("utf-8").startswith("### 🔴 fabricc: HIGH risk")
    assert json.loads((clone.parent / "fabricc-diff" / "review.json").read_text("utf-8"))["risk"] == "high"
    assert not (clone / "hacked").exists()


def test_github_sets_labels_by_outcome_and_leaves_those_of_people(clone: Path) -> None:
    action = clone / ".github" / "actions" / "fabricc-diff"
    env = environment(
        clone, SPEC="cluster.yaml", BASE="origin/main", LABELS="[]", URL="https://example.org",
        GITHUB_STEP_SUMMARY=str(clone.parent / "s.md"), GITHUB_REPOSITORY="o/r", PULL="7",
    )  # fmt: skip
    kept = clone.parent / "labels.json"
    kept.write_text('["mine", "risk:low", "renumbers"]', "utf-8")
    subprocess.run(["bash", str(action / "review.sh")], cwd=clone, env=env, check=True, capture_output=True)
    for _ in range(2):
        subprocess.run(["bash", str(action / "label.sh")], cwd=clone, env=env, check=True)
        assert sorted(json.loads(kept.read_text("utf-8"))) == ["mine", "needs-drain", "risk:high"]


def test_github_posts_why_nothing_could_be_compared_and_fails(clone: Path) -> None:
    spec = clone / "cluster.yaml"
    spec.write_text(spec.read_text("utf-8") + "nonsense: 1\n", "utf-8")
    action = clone / ".github" / "actions" / "fabricc-diff"
    env = environment(
        clone, SPEC="cluster.yaml", BASE="origin/main", LABELS="[]", URL="https://example.org",
        GITHUB_STEP_SUMMARY=str(clone.parent / "s.md"), GITHUB_REPOSITORY="o/r", PULL="7",
    )  # fmt: skip
    assert (
        subprocess.run(
            ["bash", str(action / "review.sh")], cwd=clone, env=env, capture_output=True
        ).returncode
        == 1
    )
    subprocess.run(["bash", str(action / "post.sh")], cwd=clone, env=env, check=True)
    (comment,) = comments(clone)
    assert "FAB1001" in comment


def test_gitlab_keeps_one_note(clone: Path) -> None:
    job = parsed(clone / "ci" / "fabricc.gitlab-ci.yml")["fabric-review"]
    env = environment(
        clone, **job["variables"], REVIEW_TOKEN="t0ken", CI_API_V4_URL="https://example.org/api/v4", CI_PROJECT_ID="1",
        CI_MERGE_REQUEST_IID="7", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
    )  # fmt: skip
    script = "set -eo pipefail\n" + "\n".join(job["script"])
    for _ in range(2):
        done = subprocess.run(["bash", "-c", script], cwd=clone, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert len(comments(clone)) == 1
    added, removed = json.loads((clone.parent / "labels.json").read_text("utf-8"))
    assert added == "needs-drain,risk:high"
    assert "risk:low" in removed.split(",")
    assert "<testsuites" in (clone / "junit.xml").read_text("utf-8")


def test_the_token_may_no_more_than_comment(clone: Path) -> None:
    workflow = parsed(clone / ".github" / "workflows" / "fabricc.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in workflow["jobs"]["build"]
    assert workflow["jobs"]["review"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    action = parsed(clone / ".github" / "actions" / "fabricc-diff" / "action.yml")
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an expression in a script can be injected into"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_are_clean(clone: Path) -> None:
    scripts = sorted(map(str, (clone / ".github" / "actions" / "fabricc-diff").glob("*.sh")))
    assert len(scripts) == 3
    subprocess.run(["shellcheck", *scripts], check=True)


def parsed(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found
