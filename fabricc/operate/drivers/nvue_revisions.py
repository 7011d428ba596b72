"""States of NVUE's revisions, from the JSON of `nv config revision` and `nv config history`.

Forms: NVIDIA's Cumulus Linux documentation ("Config Commands": the state `applied_and_saved`), published clients of
NVUE (all states; the object `transition.issue` with `severity` and `message`; `confirm` while an apply waits) and the
parser of `nv config history` in NVIDIA's public tests (`apply-meta.rev_id`, with `ref` as `apply/…/done`).
"""

from __future__ import annotations

from typing import Any

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.redact import excerpt

REVISIONS = ("nv", "config", "revision", "-o", "json")
HISTORY = ("nv", "config", "history", "-o", "json")
APPLIED = frozenset({"applied", "applied_and_saved", "saved"})
SAVING = frozenset({"auto_save", "auto_saving", "save", "saving"})
"""States on the way from `applied` to `applied_and_saved`."""
CONFIRM = "confirm"
PENDING = "pending"
REFUSED = frozenset(
    {"apply_error", "apply_fail", "ays_fail", "ays_no", "confirm_fail", "detached", "ignore_fail", "ignore_fail_no",
     "inactive", "invalid", "ready_error", "verify_error"}
)  # fmt: skip
SETTLED = APPLIED | REFUSED | {CONFIRM, PENDING}
"""States that NVUE does not leave by itself, except for `confirm`, which ends with its timer; others are steps."""

Revisions = dict[str, dict[str, Any]]
"""Name of a revision -> its object."""


def parse_revisions(answer: Any) -> Revisions:
    """Check the answer to `nv config revision -o json`.

    Raises:
        AnswerError: It is no mapping of revisions with a state each.
    """
    if not isinstance(answer, dict) or not answer:
        raise AnswerError("the answer to `nv config revision` lists no revision")
    for name, revision in answer.items():
        if not isinstance(revision, dict) or not isinstance(revision.get("state"), str):
            raise AnswerError(f"revision {name} has no state in the answer to `nv config revision`")
    return answer


def names_in(revisions: Revisions, state: str) -> frozenset[str]:
    """Return the revisions in a state."""
    return frozenset(name for name, revision in revisions.items() if revision["state"] == state)


def find_applied(history: Any, revisions: Revisions) -> str:
    """Return the revision of the newest apply, which comes first, that NVUE did not refuse or undo.

    Raises:
        AnswerError: The history is no list of applies, or names no revision that is applied.
    """
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise AnswerError("the answer to `nv config history` is no list of applies")
    for entry in history:
        details = entry.get("apply-meta")
        name = str((details.get("rev_id") if isinstance(details, dict) else "") or entry.get("ref") or "")
        state = revisions.get(name, {}).get("state", "")
        if state in APPLIED | SAVING:
            return name
        if state not in REFUSED:
            raise AnswerError(
                f"revision {name or '?'} of the newest apply has the state {state or 'unknown'}"
            )
    raise AnswerError("`nv config history` names no applied revision: run `nv config apply startup -y` once")


def describe_issues(revision: dict[str, Any], password: str) -> str:
    """Return the state of a revision and the issues that NVUE lists for it, without secrets."""
    transition = revision.get("transition")
    issues = transition.get("issue") if isinstance(transition, dict) else None
    messages = [
        str(issue.get("message") or issue.get("code"))
        for issue in (issues.values() if isinstance(issues, dict) else ())
        if isinstance(issue, dict) and issue.get("severity", "error") == "error"
    ]
    text = "; ".join([f"state {revision.get('state', 'unknown')}", *messages])
    return excerpt(text, password, longest=500)
