"""The pipeline for Azure that `init` writes: its steps as they stand, and its script against an API on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.cli.init import STARTER
from tests.review.diff.forge import Forge, needs_shell, parse_yaml, recode_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_shell
ME, OTHER = "0b1d", "9f9f"
HEAD = "1" * 40


class Azure(ThreadingHTTPServer):
    """Threads of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.threads: list[dict[str, Any]] = []
        self.head = HEAD

    def add(self, author: str, content: str) -> dict[str, Any]:
        comment = {"id": 1, "content": content, "author": {"id": author}}
        self.threads.append({"id": len(self.threads) + 1, "comments": [comment]})
        return comment


class Answer(BaseHTTPRequestHandler):
    server: Azure

    def log_message(self, *_: Any) -> None:
        return

    def _serve(self) -> None:
        assert self.headers["Authorization"] == "Bearer t0ken"
        assert "api-version=7.1" in self.path
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        path = self.path.partition("?")[0]
        if path == "/_apis/connectionData":
            answer: Any = {"authenticatedUser": {"id": ME}}
        elif path.endswith("/pullRequests/7"):
            answer = {"lastMergeSourceCommit": {"commitId": self.server.head}}
        elif self.command == "GET":
            answer = {"value": self.server.threads}
        elif self.command == "POST":
            answer = self.server.add(ME, body["comments"][0]["content"])
        else:
            *_, thread, _, comment = path.split("/")
            (found,) = [each for each in self.server.threads if str(each["id"]) == thread]
            (answer,) = [each for each in found["comments"] if str(each["id"]) == comment]
            assert answer["author"]["id"] == ME, "the comment of somebody else was edited"
            answer["content"] = body["content"]
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - names of the standard library


@pytest.fixture
def azure() -> Iterator[Azure]:
    server = Azure()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def post(azure: Azure, folder: Path, spec: str) -> int:
    environment = {
        "SYSTEM_COLLECTIONURI": f"http://127.0.0.1:{azure.server_address[1]}/", "SYSTEM_ACCESSTOKEN": "t0ken",
        "SYSTEM_TEAMPROJECTID": "p", "BUILD_REPOSITORY_ID": "r", "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SOURCE": HEAD,
    }  # fmt: skip
    command = [sys.executable, "-I", str(STARTER / "azure.py"), str(folder), spec]
    return subprocess.run(command, env=environment, timeout=60, check=False).returncode


def test_each_cluster_has_one_comment_and_edits_its_own(azure: Azure, tmp_path: Path) -> None:
    foreign = azure.add(OTHER, "mine\n<!-- fabricc:diff:a.yaml -->")
    for round_ in ("first", "second"):
        for spec in ("a.yaml", "b.yaml"):
            (tmp_path / "comment.md").write_text(f"{round_} of {spec}\n\n<!-- fabricc:diff:{spec} -->\n")
            assert post(azure, tmp_path, spec) == 0
    texts = [each["comments"][0]["content"].partition("\n")[0] for each in azure.threads]
    assert texts == ["mine", "second of a.yaml", "second of b.yaml"]
    assert foreign["content"].startswith("mine")


@pytest.mark.parametrize("text", ["no marker\n", "x" * 200_000 + "\n<!-- fabricc:diff:a.yaml -->\n", None])
def test_invalid_review_is_not_posted(azure: Azure, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "comment.md").write_text(text)
    assert (post(azure, tmp_path, "a.yaml"), azure.threads) == (1, [])


def test_the_review_of_a_commit_that_is_no_longer_the_head_is_not_posted(
    azure: Azure, tmp_path: Path
) -> None:
    (tmp_path / "comment.md").write_text("old\n\n<!-- fabricc:diff:a.yaml -->\n")
    azure.head = "2" * 40
    assert (post(azure, tmp_path, "a.yaml"), azure.threads) == (1, [])


@pytest.mark.slow
def test_the_steps_prove_and_review_an_honest_change(forge: Forge) -> None:
    pipeline = parse_yaml(STARTER / "azure-pipelines.yml")
    (job,) = pipeline["jobs"]
    steps = {step["displayName"]: step for step in job["steps"] if "bash" in step}
    assert [name for name, step in steps.items() if "SYSTEM_ACCESSTOKEN" in step.get("env", {})] == ["post"]
    recode_class(forge.author, 34)
    head = forge.propose()
    subprocess.run(["git", "fetch", "-q", "origin", "topic"], cwd=forge.trusted, check=True)
    (forge.work / "trusted").mkdir(parents=True, exist_ok=True)
    (forge.work / "trusted" / "ci").symlink_to(forge.trusted / "ci")

    def run_step(name: str, source: str) -> subprocess.CompletedProcess[str]:
        own = {"WORK": str(forge.work), "SPEC": "cluster.yaml", "SOURCE": source, "TARGET": "refs/heads/main"}
        return subprocess.run(
            ["bash", "-e", "-c", steps[name]["bash"]], cwd=forge.trusted, env=forge.environment(**own),
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    for name in ("prove", "review"):
        ran = run_step(name, head)
        assert ran.returncode == 0, (name, ran)
    assert "`26` → `34`" in (forge.work / "out" / "comment.md").read_text("utf-8")
    artifact = next(step["artifact"] for step in job["steps"] if "publish" in step)
    assert "$(NAME)" in artifact
    subprocess.run(["git", "rm", "-q", "fabricc.lock"], cwd=forge.author, check=True)
    head = forge.propose()
    subprocess.run(["git", "fetch", "-q", "origin", "topic"], cwd=forge.trusted, check=True)
    ran = run_step("prove", head)
    assert (ran.returncode, "error FAB" in ran.stdout + ran.stderr) == (1, True), ran
    assert "::error" not in ran.stdout + ran.stderr, "that is a command of GitHub"
