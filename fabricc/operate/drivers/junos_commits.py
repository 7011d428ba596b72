"""Read the newest commit of Junos, and whether it waits for its confirmation.

Forms: answers to `get-commit-information` that others recorded on Junos 24.4 (vSRX), and `show system commit` of Junos
23.2 (vJunos-switch) and Junos OS Evolved 26.2. The entry of a commit that waits has `<commit-confirmed>rollback
pending`. The comment `commit confirmed, rollback in 5mins` stays after the confirmation, so it is no status where Junos
writes the element; releases before those recorded may have the comment alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fabricc.base.numbers import is_number
from fabricc.operate.drivers.answers import AnswerError

_COMMENT = re.compile(r"commit confirmed, rollback in (\d+)mins?", re.ASCII)
_RELEASE = re.compile(r"(\d+)\.(\d+)", re.ASCII)
_MARKED_SINCE = (23, 2)
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Commit:
    """The newest commit.

    Attributes:
        user: the account that made it.
        marked: whether Junos itself reports that it waits for its confirmation.
        until_s: when it goes back unless confirmed, in seconds since 1970 of the switch's clock; None where it was no
            confirmed commit, or the time is not reported.
    """

    user: str
    marked: bool
    until_s: int | None


def read_newest_commit(answer: Any) -> Commit | None:
    """Read the answer to `get-commit-information`, whose first entry is the newest commit; None without an entry.

    Raises:
        AnswerError: it has another form, so nothing is known of the commits.
    """
    tag = str(getattr(answer, "tag", ""))
    if tag.rpartition("}")[2] not in ("commit-information", "multi-routing-engine-results"):
        raise AnswerError("the answer to `show system commit` has no list of commits")
    entry = answer.find(".//commit-history")
    if entry is None:
        return None
    return Commit(
        (entry.findtext("user") or "").strip(),
        entry.find("commit-confirmed") is not None,
        _read_deadline(entry),
    )


def _read_deadline(entry: Any) -> int | None:
    comment = _COMMENT.search(entry.findtext("comment") or "")
    time = entry.find("date-time")
    seconds = time.get("seconds", "") if time is not None else ""
    if not comment or not is_number(seconds):
        return None
    return int(seconds) + int(comment[1]) * _MINUTE_S


def read_clock(answer: Any) -> int | None:
    """Read the switch's clock from `get-system-uptime-information`, in seconds since 1970."""
    time = answer.find(".//current-time/date-time") if answer is not None else None
    seconds = time.get("seconds", "") if time is not None else ""
    return int(seconds) if is_number(seconds) else None


def marks_commits(answer: Any) -> bool:
    """Return whether a release is known to mark a commit that waits, from `get-software-information`."""
    version = (answer.findtext(".//junos-version") or "") if answer is not None else ""
    release = _RELEASE.match(version.strip())
    return release is not None and (int(release[1]), int(release[2])) >= _MARKED_SINCE
