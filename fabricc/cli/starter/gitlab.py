"""Lists open merge requests, or posts their reviews, with REVIEW_TOKEN, in an isolated Python (`-I`).

`list FILE` writes the open merge requests. `post FILE FOLDER` keeps one note and the labels of each, out of what a job
made that reads what others wrote: so it posts nothing but a review, and sets no label but those below.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LABELS = (
    "fabric:no-change", "risk:low", "risk:medium", "risk:high", "renumbers", "needs-drain", "removes-devices",
    "policy-change", "policy-violation",
)  # fmt: skip
LARGEST = 1_000_000
PAGES = 20


class _Stay(HTTPRedirectHandler):
    """Follows no redirection, which would take the token along."""

    def redirect_request(self, *_: object) -> None:
        return None


def ask(method: str, path: str, **fields: str) -> Any:
    """The answer of the API to a request of this project."""
    request = Request(
        os.environ["CI_API_V4_URL"] + path,
        method=method,
        data=urlencode(fields).encode() if fields else None,
        headers={"PRIVATE-TOKEN": os.environ["REVIEW_TOKEN"]},
    )
    with build_opener(_Stay).open(request, timeout=60) as answer:
        return json.loads(answer.read(64 << 20))


def pages(path: str) -> Iterator[dict[str, Any]]:
    """The items of all pages."""
    for page in range(1, PAGES + 1):
        items = ask("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
        yield from items
        if len(items) < 100:
            return


def listed(project: str) -> Iterator[dict[str, Any]]:
    """The open merge requests into the default branch."""
    branch = urlencode({"state": "opened", "target_branch": os.environ["CI_DEFAULT_BRANCH"]})
    for each in pages(f"{project}/merge_requests?{branch}"):
        if re.fullmatch("[0-9a-f]{40,64}", each["sha"] or ""):
            yield {
                "iid": int(each["iid"]),
                "sha": each["sha"],
                "labels": [str(name) for name in each["labels"]],
            }


def reviewed(folder: Path, marker: str) -> str | None:
    """The text of a review, None where there is none."""
    path = folder / "comment.md"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        return None
    text = path.read_text("utf-8")
    return text if last(text) == marker else None


def last(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def wanted(folder: Path) -> list[str] | None:
    """The labels of a review, out of `LABELS`."""
    path = folder / "review.json"
    if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= LARGEST:
        return None
    stated = json.loads(path.read_text("utf-8")).get("labels", ())
    return [name for name in LABELS if name in stated]


def post(project: str, own: int, iid: int, folder: Path, marker: str) -> bool:
    """Edit this account's own note, or make one; set the labels."""
    here = f"{project}/merge_requests/{iid}"
    text = reviewed(folder, marker)
    if text is None:
        return False
    notes = (
        n for n in pages(f"{here}/notes?sort=asc") if n["author"]["id"] == own and last(n["body"]) == marker
    )
    note = next(notes, None)
    if note is None:
        ask("POST", f"{here}/notes", body=text)
    elif note["body"].strip() != text.strip():
        ask("PUT", f"{here}/notes/{note['id']}", body=text)
    if (labels := wanted(folder)) is not None:
        gone = [name for name in LABELS if name not in labels]
        ask("PUT", here, add_labels=",".join(labels), remove_labels=",".join(gone))
    return True


def main(verb: str, file: str, folder: str = "") -> int:
    """Exit status: 1 when a review could not be posted."""
    project = f"/projects/{int(os.environ['CI_PROJECT_ID'])}"
    if verb == "list":
        Path(file).write_text(json.dumps(list(listed(project))), "utf-8")
        return 0
    marker = f"<!-- fabricc:diff:{os.environ['SPEC'].replace('--', '-')} -->"
    own = ask("GET", "/user")["id"]
    status = 0
    for each in json.loads(Path(file).read_text("utf-8")):
        iid = int(each["iid"])
        try:
            done = post(project, own, iid, Path(folder) / str(iid), marker)
        except (HTTPError, ValueError, KeyError) as error:
            print(f"!{iid}: {type(error).__name__}", file=sys.stderr)
            done = False
        status = status or (0 if done else 1)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
