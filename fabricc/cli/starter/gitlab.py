"""List open merge requests and post their reviews with REVIEW_TOKEN, in an isolated Python (`-I`).

`list FILE` writes the open merge requests, each with the labels that approve its head. `post FILE FOLDER` keeps one
note for each spec and the labels of each merge request. The reviews come from a job that reads what others wrote: so
this posts nothing but a review, and sets no label but those below. `approved LABELS COMMIT` and `quality FILE FOLDER`
need no token; the latter joins the Code Quality reports of a folder, since GitLab takes one file from a job.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from datetime import datetime
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LABELS = (
    "fabric:no-change", "fabric:not-compared", "fabric:access", "fabric:control-files", "risk:low", "risk:medium",
    "risk:high", "renumbers", "needs-drain", "removes-devices", "policy-change", "policy-violation",
)  # fmt: skip
NO_CHANGE, NOT_COMPARED = LABELS[:2]
RISKS = ("risk:low", "risk:medium", "risk:high")
BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
STATE = re.compile(f"<!-- fabricc:state:([0-9a-f]{{40,64}}):({BASE64}) -->")
NAMED = re.compile("(.+)@([0-9a-f]{16,64})")
DEVELOPER = 30
"""The access level from which a member may write."""
LARGEST = 1_000_000
PAGES = 20


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection, which would take the token along."""

    def redirect_request(self, *_: object) -> None:
        return None


def call_api(method: str, path: str, **fields: str) -> Any:
    """Return the answer of the API to a request of this project."""
    request = Request(
        os.environ["CI_API_V4_URL"] + path,
        method=method,
        data=urlencode(fields).encode() if fields else None,
        headers={"PRIVATE-TOKEN": os.environ["REVIEW_TOKEN"]},
    )
    with build_opener(_NoRedirect).open(request, timeout=60) as answer:
        return json.loads(answer.read(64 << 20))


def list_items(path: str) -> Iterator[dict[str, Any]]:
    """Yield the items of all pages."""
    for page in range(1, PAGES + 1):
        items = call_api("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
        yield from items
        if len(items) < 100:
            return


def open_requests(project: str) -> Iterator[dict[str, Any]]:
    """Yield the open merge requests into the default branch."""
    branch = urlencode({"state": "opened", "target_branch": os.environ["CI_DEFAULT_BRANCH"]})
    for each in list_items(f"{project}/merge_requests?{branch}"):
        if re.fullmatch("[0-9a-f]{40,64}", each["sha"] or ""):
            yield {
                "iid": int(each["iid"]),
                "sha": each["sha"],
                "labels": approved_labels(project, each),
            }


def approved_labels(project: str, request: dict[str, Any]) -> list[str]:
    """Return the labels that were set after the commit became the head, and those that name it.

    Labels of the author, of bots and of people without the role Developer do not count.
    """
    path, commit = f"{project}/merge_requests/{int(request['iid'])}", request["sha"]
    labels = [str(name) for name in request["labels"]]
    if not labels:
        return []
    try:
        author = int(request["author"]["id"])
        events = sorted(list_items(f"{path}/resource_label_events"), key=lambda each: int(each["id"]))
        last_events = {str(each["label"]["name"]): each for each in events if each.get("label")}
        added = {
            name: datetime.fromisoformat(event["created_at"])
            for name, event in last_events.items()
            if name in labels
            and event["action"] == "add"
            and may_approve(project, int(event["user"]["id"]), author)
        }
        version = max(list_items(f"{path}/versions"), key=lambda each: int(each["id"]))
        since = datetime.fromisoformat(version["created_at"])
        current = version["head_commit_sha"] == commit
        set_since = [name for name, at in added.items() if current and at > since]
        return [*labels_naming([*added], commit), *set_since]
    except (HTTPError, ValueError, KeyError, TypeError) as error:
        print(f"{path}: no approval counts, {type(error).__name__}", file=sys.stderr)
        return []


def may_approve(project: str, user: int, author: int) -> bool:
    """Return whether labels of a user are approvals: of a person who may write, or of a bot of APPROVING_APPS."""
    account = call_api("GET", f"/users/{user}")
    if account.get("bot") or re.fullmatch(
        r"(project|group)_\d+_bot.*|service_account_.*", account["username"]
    ):
        return account["username"] in os.environ.get("APPROVING_APPS", "").split()
    if user == author:
        return False
    try:
        member = call_api("GET", f"{project}/members/all/{user}")
    except HTTPError as error:
        if error.code == 404:
            return False
        raise
    return int(member["access_level"]) >= DEVELOPER


def labels_naming(labels: list[str], commit: str) -> list[str]:
    """Return the labels `NAME@COMMIT` that have at least 16 digits of the commit, without the commit."""
    matches = map(NAMED.fullmatch, labels)
    return [match[1] for match in matches if match and commit.startswith(match[2])]


def read_review(folder: Path, marker: str) -> str | None:
    """Return the text of a review, None without one."""
    path = folder / "comment.md"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        return None
    text = path.read_bytes().decode("utf-8", "replace")
    return text if line_from_end(text) == marker else None


def line_from_end(text: str, place: int = 1) -> str:
    """Return the last line that is not empty, or the one that is `place`-th from the end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-place] if len(lines) >= place else ""


def review_labels(folder: Path) -> list[str] | None:
    """Return the labels of a review, out of `LABELS`; None if nothing was compared."""
    path = folder / "review.json"
    if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= LARGEST:
        return None
    return labels_in(path.read_bytes())


def labels_in(text: bytes) -> list[str] | None:
    """Return the labels, out of `LABELS`, that the JSON of a review has; None if it has none in this form."""
    try:
        stated = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = stated.get("labels") if isinstance(stated, dict) else None
    return [name for name in LABELS if name in found] if isinstance(found, list) else None


def stated_labels(note: str, commit: str) -> list[str]:
    """Return the labels that a note of an earlier run or of another pipeline gives."""
    match = STATE.fullmatch(line_from_end(note, 2))
    labels = labels_in(base64.b64decode(match[2])) if match else None
    return labels if match and match[1] == commit and labels is not None else [*(labels or ()), NOT_COMPARED]


def merge_labels(reviews: list[list[str]]) -> list[str]:
    """Return the labels of a merge request from its reviews: the gravest risk, no change only if all agree."""
    found = {name for labels in reviews for name in labels}
    risks = [name for name in RISKS if name in found]
    found -= set(risks[:-1])
    if not all(NO_CHANGE in labels and NOT_COMPARED not in labels for labels in reviews):
        found.discard(NO_CHANGE)
    return [name for name in LABELS if name in found]


def with_state(text: str, commit: str, labels: list[str] | None) -> str:
    """Return the note of a review: its state, which later runs read, is the line before the marker."""
    lines = text.rstrip().splitlines()
    state = base64.b64encode(json.dumps({"labels": labels}).encode()).decode()
    return "\n".join([*lines[:-1], f"<!-- fabricc:state:{commit}:{state} -->", lines[-1]])


def post_reviews(project: str, own: int, iid: int, commit: str, folders: dict[str, Path]) -> bool:
    """Edit this account's own notes, one for each marker, or create them; set the labels of all together.

    Returns:
        Whether every review was posted; a review of a commit that is no longer the head is not.
    """
    here = f"{project}/merge_requests/{iid}"
    if call_api("GET", here)["sha"] != commit:
        print(f"!{iid}: has another commit than {commit} now, so no review is posted", file=sys.stderr)
        return False
    notes = {
        line_from_end(note["body"]): note
        for note in reversed([*list_items(f"{here}/notes?sort=asc")])
        if note["author"]["id"] == own
        and re.fullmatch("<!-- fabricc:diff:.* -->", line_from_end(note["body"]))
    }
    reviews = [stated_labels(note["body"], commit) for marker, note in notes.items() if marker not in folders]
    complete = True
    for marker, folder in folders.items():
        text = read_review(folder, marker)
        labels = review_labels(folder) if text is not None else None
        reviews.append([NOT_COMPARED] if labels is None else labels)
        if text is None:
            complete = False
            continue
        text = with_state(text, commit, labels)
        if (note := notes.get(marker)) is None:
            call_api("POST", f"{here}/notes", body=text)
        elif note["body"].strip() != text.strip():
            call_api("PUT", f"{here}/notes/{note['id']}", body=text)
    labels = merge_labels(reviews)
    call_api(
        "PUT", here, add_labels=",".join(labels), remove_labels=",".join(n for n in LABELS if n not in labels)
    )
    return complete


def marker_of(spec: str) -> str:
    """Return the last line of the note on a spec; no two specs have one line."""
    plain = re.fullmatch("[A-Za-z0-9_./-]+", spec) and "--" not in spec
    return f"<!-- fabricc:diff:{spec if plain else 'sha256:' + hashlib.sha256(spec.encode()).hexdigest()} -->"


def folders_of(review: Path) -> dict[str, Path]:
    """The marker of each spec -> the folder of its review: of several specs, one a line in SPEC, numbered from 1."""
    specs = [line for line in os.environ["SPEC"].split("\n") if line]
    several = len(os.environ["SPEC"].split("\n")) > 1
    return {
        marker_of(spec): review / str(number) if several else review for number, spec in enumerate(specs, 1)
    }


def join_reports(folder: Path) -> list[dict[str, Any]]:
    """Return the findings of all Code Quality reports below a folder, each of them once."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.rglob("*quality.json")):
        text = file.read_text("utf-8").strip()
        while text:  # one array for each tree
            each, end = json.JSONDecoder().raw_decode(text)
            found |= {finding["fingerprint"]: finding for finding in each}
            text = text[end:].strip()
    return list(found.values())


def main(verb: str, file: str, folder: str = "") -> int:
    """Run a verb; exit status 1 if a review could not be posted."""
    if verb == "approved":
        print(json.dumps(labels_naming(file.split(","), folder)))
        return 0
    if verb == "quality":
        found = join_reports(Path(folder))
        Path(file).write_text(json.dumps(found, indent=1), "utf-8")
        for each in found:
            print(f"{each['severity']} {each['location']['path']!a}: {each['description']!a}")
        return 0
    project = f"/projects/{int(os.environ['CI_PROJECT_ID'])}"
    if verb == "list":
        Path(file).write_text(json.dumps(list(open_requests(project))), "utf-8")
        return 0
    own = call_api("GET", "/user")["id"]
    status = 0
    for each in json.loads(Path(file).read_text("utf-8")):
        iid = int(each["iid"])
        try:
            done = post_reviews(project, own, iid, str(each["sha"]), folders_of(Path(folder) / str(iid)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"!{iid}: {type(error).__name__}", file=sys.stderr)
            done = False
        status = status or (0 if done else 1)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
