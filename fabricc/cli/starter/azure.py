"""Post the review of a pull request as one comment for each spec in Azure Repos, in an isolated Python (`-I`).

`azure.py FOLDER SPEC` posts FOLDER/comment.md, or edits the comment that this build service posted before. The comments
of others, also those with the same last line, stay as they are. A review of a commit that is no longer the head is not
posted.

Source: learn.microsoft.com, Azure DevOps REST API 7.1, Git: pull request threads and thread comments.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 150_000
"""A comment of Azure Repos holds 150,000 characters."""
VERSION = "api-version=7.1"


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection, which would take the token along."""

    def redirect_request(self, *_: object) -> None:
        return None


def call_api(method: str, path: str, body: object = None) -> Any:
    """Return the answer of the API to a request of this organization."""
    request = Request(
        os.environ["SYSTEM_COLLECTIONURI"].rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['SYSTEM_ACCESSTOKEN']}", "Content-Type": "application/json",
        },
    )  # fmt: skip
    with build_opener(_NoRedirect).open(request, timeout=60) as answer:
        return json.loads(answer.read(64 << 20))


def read_review(folder: Path, marker: str) -> str | None:
    """Return the text of a review, None without one."""
    path = folder / "comment.md"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 4 * LARGEST:
        return None
    text = path.read_text("utf-8").rstrip("\n")
    return text if len(text) <= LARGEST and text.splitlines()[-1:] == [marker] else None


def marker_of(spec: str) -> str:
    """Return the last line of the comment on a spec; no two specs have one line."""
    plain = re.fullmatch("[A-Za-z0-9_./-]+", spec) and "--" not in spec
    return f"<!-- fabricc:diff:{spec if plain else 'sha256:' + hashlib.sha256(spec.encode()).hexdigest()} -->"


def main(folder: str, spec: str) -> int:
    """Post the review; 1 if there is none."""
    marker = marker_of(spec)
    text = read_review(Path(folder), marker)
    if text is None:
        print(f"##vso[task.logissue type=error]there is no review of {spec!a} to post")
        return 1
    place = (os.environ["SYSTEM_TEAMPROJECTID"], os.environ["BUILD_REPOSITORY_ID"])
    number = int(os.environ["SYSTEM_PULLREQUEST_PULLREQUESTID"])
    project, repository = (quote(each, safe="") for each in place)
    request = f"/{project}/_apis/git/repositories/{repository}/pullRequests/{number}"
    head = call_api("GET", f"{request}?{VERSION}")["lastMergeSourceCommit"]["commitId"]
    if head != os.environ["SOURCE"]:
        print(f"##vso[task.logissue type=error]the review is not posted: the pull request has {head!a} now")
        return 1
    threads = f"{request}/threads"
    me = call_api("GET", "/_apis/connectionData?api-version=7.1-preview")["authenticatedUser"]["id"]
    for thread in call_api("GET", f"{threads}?{VERSION}")["value"]:
        first: dict[str, Any] = next(iter(thread.get("comments") or ()), {})
        own = not thread.get("isDeleted") and (first.get("author") or {}).get("id") == me
        if own and str(first.get("content") or "").rstrip().splitlines()[-1:] == [marker]:
            path = f"{threads}/{int(thread['id'])}/comments/{int(first['id'])}?{VERSION}"
            call_api("PATCH", path, {"content": text})
            return 0
    comment = {"parentCommentId": 0, "content": text, "commentType": "text"}
    call_api("POST", f"{threads}?{VERSION}", {"comments": [comment], "status": "closed"})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
