"""The GitLab file that `init` writes, its jobs run as they stand against an API on loopback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fabricc.cli.starter.gitlab import NOT_COMPARED, stated_labels
from tests.review.diff.forge import (
    STAND_IN,
    Forge,
    git,
    load_module,
    needs_shell,
    own_ci,
    parse_yaml,
    recode_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_shell
MARKER = "<!-- fabricc:diff:cluster.yaml -->"
LEAD, AUTHOR = 3, 4


class GitLab(ThreadingHTTPServer):
    """The API of GitLab for one project, on loopback.

    Attributes:
        notes: those of all merge requests, in their order; each has the number of its own.
        versions, label_events: number of a merge request -> what GitLab keeps of it.
        levels: user -> access level; `bots`: user -> name of an account of a program.
        heads: number of a merge request -> a commit that it got after it was listed.
        labels: what was added and removed, in its order.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.notes: list[dict[str, Any]] = []
        self.merge_requests: list[dict[str, Any]] = []
        self.versions: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.label_events: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.labels: list[list[str]] = []
        self.levels = {LEAD: 40, AUTHOR: 40}
        self.bots: dict[int, str] = {}
        self.heads: dict[int, str] = {}

    def add_note(self, author: int, body: str, iid: int = 7) -> None:
        self.notes.append({"id": len(self.notes), "author": {"id": author}, "body": body, "iid": iid})

    def add_version(self, iid: int, commit: str, at: str) -> None:
        self.versions[iid].append(
            {"id": len(self.versions[iid]) + 1, "head_commit_sha": commit, "created_at": at}
        )

    def add_label_event(self, iid: int, action: str, name: str, at: str, user: int = LEAD) -> None:
        events = self.label_events[iid]
        events.append(
            {
                "id": len(events) + 1,
                "action": action,
                "label": {"name": name},
                "created_at": at,
                "user": {"id": user},
            }
        )


class Answer(BaseHTTPRequestHandler):
    server: GitLab

    def answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def do_GET(self) -> None:
        assert self.headers["PRIVATE-TOKEN"] == "t0ken"
        address = urlsplit(self.path)
        match = re.fullmatch(r"/projects/1/merge_requests/(\d+)/(\w+)", address.path)
        if address.path == "/user":
            self.answer({"id": 99})
        elif user := re.fullmatch(r"/users/(\d+)", address.path):
            name = self.server.bots.get(int(user[1]))
            self.answer({"username": name or f"user{user[1]}", "bot": name is not None})
        elif member := re.fullmatch(r"/projects/1/members/all/(\d+)", address.path):
            if int(member[1]) in self.server.levels:
                self.answer({"access_level": self.server.levels[int(member[1])]})
            else:
                self.send_error(404)
        elif request := re.fullmatch(r"/projects/1/merge_requests/(\d+)", address.path):
            heads = {each["iid"]: each["sha"] for each in self.server.merge_requests}
            self.answer({"sha": self.server.heads.get(int(request[1]), heads[int(request[1])])})
        elif address.path.endswith("/redirected"):
            self.send_response(302)
            self.send_header("Location", "/user")
            self.end_headers()
        elif match is None:
            branch = parse_qs(address.query)["target_branch"][0]
            found = self.server.merge_requests
            author = {"author": {"id": AUTHOR}}
            self.answer([author | each for each in found if each.get("target_branch", "main") == branch])
        else:
            iid, kind = int(match[1]), match[2]
            notes = [note for note in self.server.notes if note["iid"] == iid]
            kinds = {
                "versions": self.server.versions[iid],
                "resource_label_events": self.server.label_events[iid],
            }
            self.answer(notes if kind == "notes" else kinds[kind])

    def do_POST(self) -> None:
        fields = parse_qs(
            self.rfile.read(int(self.headers["Content-Length"])).decode(), keep_blank_values=True
        )
        words = urlsplit(self.path).path.split("/")
        if words[-1] == "notes":
            self.server.add_note(99, fields["body"][0], int(words[-2]))
        elif "notes" in words:
            self.server.notes[int(words[-1])]["body"] = fields["body"][0]
        else:
            self.server.labels.append([fields["add_labels"][0], fields["remove_labels"][0]])
        self.answer({})

    do_PUT = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Write no log."""


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
    pipeline = parse_yaml(forge.trusted / "ci" / "fabricc.gitlab-ci.yml")
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


def run_schedule(forge: Forge, server: GitLab) -> None:
    for name in ("fabric-list", "fabric-review-all", "fabric-post"):
        done = gitlab_job(forge, name, server)
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.parametrize("state", ["A", "AAAAA", "=", "A===", "QUJD=", "AAAA", ""])
def test_a_note_with_a_damaged_state_counts_as_not_compared(state: str) -> None:
    note = f"text\n<!-- fabricc:state:{'a' * 40}:{state} -->\n<!-- marker -->"
    assert stated_labels(note, "a" * 40) == [NOT_COMPARED]


@pytest.mark.slow
def test_gitlab_keeps_one_note_and_takes_no_other_for_its_own(forge: Forge, gitlab: GitLab) -> None:
    gitlab.add_note(5, f"LGTM\n\n{MARKER}")
    for dscp in (34, 35):
        recode_class(forge.author, dscp)
        gitlab.merge_requests = [{"iid": 7, "sha": forge.propose(), "labels": ["x", "--policy=y"]}]
        run_schedule(forge, gitlab)
        assert len(gitlab.notes) == 2
        assert gitlab.notes[0]["body"] == f"LGTM\n\n{MARKER}"
        assert f"`26` → `{dscp}`" in gitlab.notes[1]["body"]
        assert "`origin/main (" in gitlab.notes[1]["body"]
    assert gitlab.labels[-1][0] == "risk:high,needs-drain"
    assert "risk:low" in gitlab.labels[-1][1].split(",")
    log = forge.log.read_text("utf-8")
    assert "t0ken" not in log


@pytest.mark.slow
def test_gitlab_proves_a_merge_request_with_the_scripts_of_the_default_branch(
    forge: Forge, gitlab: GitLab
) -> None:
    recode_class(forge.author, 34)
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
        found = json.loads((forge.trusted / ".fabricc-ci" / "gl-code-quality-report.json").read_text("utf-8"))
        errors = [each for each in found if each["severity"] == "major"]
        assert bool(errors) == bool(status)
        assert {each["location"]["path"].partition("/")[0] for each in found} <= {"build", "cluster.yaml"}


def test_gitlab_gets_one_code_quality_report_of_a_job(forge: Forge, gitlab: GitLab, tmp_path: Path) -> None:
    pipeline = parse_yaml(forge.trusted / "ci" / "fabricc.gitlab-ci.yml")
    for name in ("fabric-prove", "fabric-review"):
        assert (
            pipeline[name]["artifacts"]["reports"]["codequality"] == ".fabricc-ci/gl-code-quality-report.json"
        )
        assert pipeline[name]["artifacts"]["when"] == "always"
    finding = {"severity": "major", "location": {"path": "a\nsection_start:1:x"}, "description": "\x1b[2J"}
    for name, *arrays in (
        ("1/tree-quality.json", ["a"], ["b"]),
        ("2/review-quality.json", ["a", "c"]),
        ("x.json",),
    ):
        (forge.work / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(json.dumps([finding | {"fingerprint": each} for each in array]) for array in arrays)
        (forge.work / "out" / name).write_text(text, "utf-8")
    target = tmp_path / "report.json"
    command = [
        sys.executable,
        "-I",
        forge.trusted / "ci" / "gitlab.py",
        "quality",
        target,
        forge.work / "out",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [each["fingerprint"] for each in json.loads(target.read_text("utf-8"))] == ["a", "b", "c"]
    assert len(done.stdout.splitlines()) == 3
    assert "\x1b" not in done.stdout
    done = gitlab_job(forge, "fabric-list", gitlab)
    assert (
        json.loads((forge.trusted / ".fabricc-ci" / "gl-code-quality-report.json").read_text("utf-8")) == []
    )


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
        load_module(forge.trusted / "ci" / "gitlab.py").call_api("GET", "/redirected")


def test_the_token_of_gitlab_is_of_an_environment_that_only_posting_has(forge: Forge) -> None:
    pipeline = parse_yaml(forge.trusted / "ci" / "fabricc.gitlab-ci.yml")
    having = {name for name, job in pipeline.items() if "environment" in job}
    assert having == {"fabric-list", "fabric-post"}
    for name in having:
        text = " ".join(pipeline[name]["script"])
        assert not re.search(r"install|review\.sh|prove", text), (
            "a job with the token reads what others wrote"
        )
        assert pipeline[name]["rules"][0]["if"].startswith('$CI_PIPELINE_SOURCE == "schedule"')


def scheduled_labels(forge: Forge, server: GitLab) -> list[set[str]]:
    """The labels that approve each merge request, as the schedule's reviews get them."""
    for name in ("fabric-list", "fabric-review-all"):
        done = gitlab_job(forge, name, server)
        assert done.returncode == 0, (name, done.stderr)
    return [
        set(each["labels"]) for each in json.loads((forge.trusted / ".fabricc-ci" / "open.json").read_text())
    ]


def use_stand_in(forge: Forge) -> None:
    """Replace fabricc by a program that records its arguments, and returns an empty review."""
    python = forge.work / "python" / "bin" / "python"
    python.write_text(STAND_IN.format(python=python.with_name("real"), log=forge.log), "utf-8")
    python.with_name("real").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', "utf-8")
    python.with_name("real").chmod(0o755)


@pytest.mark.slow
def test_gitlab_counts_a_label_that_was_set_on_the_commit_that_is_the_head(
    forge: Forge, gitlab: GitLab
) -> None:
    use_stand_in(forge)
    head = forge.propose()
    short, other = head[:16], "f" * 16
    present = [
        "early",
        "late",
        "again",
        "gone",
        "unknown",
        f"named@{short}",
        f"other@{other}",
        "short@1234567",
    ]
    gitlab.merge_requests = [{"iid": 7, "sha": head, "labels": present}]
    gitlab.add_version(7, "0" * 40, "2026-01-01T10:00:00Z")
    gitlab.add_version(7, head, "2026-01-01T12:00:00Z")
    for name, action, hour in (
        ("early", "add", 11), ("late", "add", 13), ("again", "add", 11), ("again", "remove", 13),
        ("again", "add", 14), ("gone", "add", 13), ("gone", "remove", 14), (f"named@{short}", "add", 11),
        (f"other@{other}", "add", 13), ("short@1234567", "add", 13),
    ):  # fmt: skip
        gitlab.add_label_event(7, action, name, f"2026-01-01T{hour}:00:00Z")
    expected = {"late", "again", "named", f"other@{other}", "short@1234567"}
    assert scheduled_labels(forge, gitlab) == [expected]
    assert set(re.findall(r"--label=(\S+)", forge.log.read_text("utf-8"))) == expected
    # A head that came after the list of versions was read has no approval but those that name it.
    gitlab.versions[7].pop()
    assert scheduled_labels(forge, gitlab) == [{"named"}]


@pytest.mark.parametrize(
    ("user", "level", "bot", "counts"),
    [
        (LEAD, 30, None, True),
        (AUTHOR, 50, None, False),
        (5, 20, None, False),
        (6, None, None, False),
        (7, 40, "project_1_bot_0a1b", False),
        pytest.param(8, 40, "service_account_ok", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.spread
def test_gitlab_counts_labels_of_people_who_may_write_and_are_not_the_author(
    forge: Forge, gitlab: GitLab, user: int, level: int | None, bot: str | None, counts: bool
) -> None:
    head = forge.propose()
    named = f"named@{head[:16]}"
    gitlab.merge_requests = [{"iid": 7, "sha": head, "labels": ["ok", named]}]
    gitlab.add_version(7, head, "2026-01-01T12:00:00Z")
    gitlab.levels = {} if level is None else {user: level}
    gitlab.bots = {} if bot is None else {user: bot}
    for name in ("ok", named):
        gitlab.add_label_event(7, "add", name, "2026-01-01T13:00:00Z", user)
    done = gitlab_job(forge, "fabric-list", gitlab, APPROVING_APPS="service_account_ok other")
    assert done.returncode == 0, done.stderr
    (listed,) = json.loads((forge.trusted / ".fabricc-ci" / "open.json").read_text())
    assert set(listed["labels"]) == ({"ok", "named", named} if counts else set())


@pytest.mark.slow
def test_gitlab_posts_no_review_of_a_commit_that_is_no_longer_the_head(forge: Forge, gitlab: GitLab) -> None:
    use_stand_in(forge)
    gitlab.merge_requests = [{"iid": 7, "sha": forge.propose(), "labels": []}]
    for name in ("fabric-list", "fabric-review-all"):
        assert gitlab_job(forge, name, gitlab).returncode == 0
    gitlab.heads[7] = "f" * 40
    done = gitlab_job(forge, "fabric-post", gitlab)
    assert (done.returncode, gitlab.notes, gitlab.labels) == (1, [], [])
    assert "has another commit" in done.stderr


@pytest.mark.slow
def test_gitlab_keeps_one_note_for_each_spec_and_joins_their_labels(forge: Forge, gitlab: GitLab) -> None:
    use_stand_in(forge)
    specs = "cluster.yaml\nb/cluster.yaml\n"
    head = forge.propose()
    gitlab.merge_requests = [{"iid": 7, "sha": head, "labels": []}]
    for name in ("fabric-list", "fabric-review-all"):
        assert gitlab_job(forge, name, gitlab, SPEC=specs).returncode == 0
    folder = forge.trusted / ".fabricc-ci" / "reviews" / "7"
    requested = forge.log.read_text("utf-8")
    assert " diff cluster.yaml " in requested
    assert " diff b/cluster.yaml " in requested
    reviews = {1: ("cluster.yaml", ["fabric:no-change"]), 2: ("b/cluster.yaml", ["risk:high", "renumbers"])}
    for number, (spec, labels) in reviews.items():
        (folder / str(number) / "comment.md").write_text(f"of {spec}\n<!-- fabricc:diff:{spec} -->\n")
        (folder / str(number) / "review.json").write_text(json.dumps({"labels": labels}))
    done = gitlab_job(forge, "fabric-post", gitlab, SPEC=specs)
    assert done.returncode == 0, done.stderr
    assert [note["body"].splitlines()[0] for note in gitlab.notes] == ["of cluster.yaml", "of b/cluster.yaml"]
    assert gitlab.labels[-1][0] == "risk:high,renumbers"
    # One of two reviews is missing: nothing states that nothing changes.
    (folder / "2" / "comment.md").unlink()
    (folder / "2" / "review.json").write_text(json.dumps({"labels": ["fabric:no-change"]}))
    assert gitlab_job(forge, "fabric-post", gitlab, SPEC=specs).returncode == 1
    assert gitlab.labels[-1][0] == "fabric:not-compared"
    assert len(gitlab.notes) == 2


@pytest.mark.slow
def test_gitlab_reviews_a_fork_and_one_broken_merge_request_stops_no_other(
    forge: Forge, gitlab: GitLab
) -> None:
    use_stand_in(forge)
    head = forge.propose()
    # The commit of a fork is in no branch of the project.
    git(forge.author, "push", "-q", "origin", ":refs/heads/topic")
    gitlab.merge_requests = [
        {"iid": 6, "sha": "a" * 40, "labels": []},
        {"iid": 7, "sha": head, "labels": []},
        {"iid": 8, "sha": None, "labels": []},
        {"iid": 9, "sha": head, "labels": [], "target_branch": "release"},
    ]
    for name in ("fabric-list", "fabric-review-all"):
        done = gitlab_job(forge, name, gitlab)
        assert done.returncode == 0, (name, done.stderr)
    reviews = forge.trusted / ".fabricc-ci" / "reviews"
    assert sorted(each.name for each in reviews.iterdir()) == ["7"]
    assert f"--head {head}" in forge.log.read_text("utf-8")
    assert gitlab_job(forge, "fabric-post", gitlab).returncode == 1
    assert [note["iid"] for note in gitlab.notes] == [7]
    assert [added for added, _ in gitlab.labels] == ["fabric:not-compared", "risk:high"]
    for forged in (b"[]", b"[" * 500_000, b'{"labels": []}{"labels": []}', b'{"labels": {}}', b"\xff"):
        (reviews / "7" / "review.json").write_bytes(forged)
        gitlab.labels.clear()
        assert gitlab_job(forge, "fabric-post", gitlab).returncode == 1
        assert [added for added, _ in gitlab.labels] == ["fabric:not-compared"] * 2, forged[:50]
    (reviews / "7" / "comment.md").write_bytes(b"\xff\n<!-- fabricc:diff:cluster.yaml -->\n")
    assert gitlab_job(forge, "fabric-post", gitlab).returncode == 1
    assert [added for added, _ in gitlab.labels] == ["fabric:not-compared"] * 4


def test_a_job_of_gitlab_works_in_a_new_folder_and_leaves_none(
    forge: Forge, gitlab: GitLab, tmp_path: Path
) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    gitlab.merge_requests = [{"iid": 7, "sha": forge.propose(), "labels": []}]
    done = gitlab_job(forge, "fabric-list", gitlab, WORK="", TMPDIR=str(places))
    assert done.returncode == 0, done.stderr
    assert json.loads((forge.trusted / ".fabricc-ci" / "open.json").read_text())[0]["iid"] == 7
    assert not list(places.iterdir())
