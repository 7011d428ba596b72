"""Read NVUE's answers about lossless classes, the switch's health, and the states of its revisions.

Counters are read from the tables that NVIDIA's Cumulus Linux guide prints ("Show QoS Counters", "PFC Watchdog"): of
their JSON it shows no example. Forms of `nv config revision` and `nv config history`: NVIDIA's Cumulus Linux
documentation ("Config Commands": the state `applied_and_saved`), published clients of NVUE (all states; the object
`transition.issue` with `severity` and `message`; `confirm` while an apply waits) and the parser of `nv config history`
in NVIDIA's public tests (`apply-meta.rev_id`, with `ref` as `apply/…/done`).
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.bundle import unpack_bundle
from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS, CounterTotals
from fabricc.operate.drivers.redact import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator


HEALTH = ("nv", "show", "system", "health", "-o", "json")
_RULE = re.compile(r"\s*-+(?:\s+-+)*\s*")
_AT_ONCE = 8
_COLUMNS = (
    ("switch-priority", "rx-pause-frames", PFC_RX),
    ("switch-priority", "tx-pause-frames", PFC_TX),
    ("priority-group", "rx-buffer-discards", DROPPED),
    ("traffic-class", "tx-uc-buffer-discards", DROPPED),
    ("traffic-class", "deadlock-count", STORMS),
)
"""Column of the class, column of the count, and what it counts; discards are in bytes."""


_SHOW = "{ nv show interface @ counters qos; nv show interface @ qos pfc-watchdog; } > $d/of/@ 2> /dev/null"
_PORTS = "import json,re,sys;[print(one) for one in json.load(sys.stdin).keys() if re.fullmatch(r'swp[\\ds]+', one)]"
COUNTERS = (
    "d=$(mktemp -d) && export d && mkdir $d/of && nv show interface -o json > $d/all && "
    f"python3 -c {shlex.quote(_PORTS)} < $d/all > $d/ports && "
    f"xargs -r -P {_AT_ONCE} -I @ sh -c '{_SHOW}; true' < $d/ports && cd $d/of && "
    'for p in $(cat ../ports); do printf "==> %s <==\\n" "$p"; cat "$p"; echo; done; s=$?; rm -rf "$d"; exit $s'
)
"""The shell command that reads all front-panel ports, and prints each port's tables below its name."""


def read_lossless(text: str, tally: CounterTotals) -> None:
    """Counters of lossless classes from what `COUNTERS` prints."""
    for port, tables in unpack_bundle(text, "").items():
        for row in _table_rows(tables):
            for traffic_class, column, kind in _COLUMNS:
                if traffic_class in row and column in row:
                    tally.add(kind, port, row[traffic_class], row[column])
            if row.get("Counter") == "ecn-marked-packets":
                tally.add(ECN_MARKED, port, ALL, row.get("Transmit"))


def _table_rows(text: str) -> Iterator[dict[str, str]]:
    """Yield rows of NVUE's tables, whose columns begin where a dash of the line below the heading does."""
    names: list[tuple[int, str]] = []
    before = ""
    for line in text.splitlines():
        if _RULE.fullmatch(line):
            starts = [match.start() for match in re.finditer(r"-+", line)]
            names = [(start, cell) for start, cell in zip(starts, _split_cells(before, starts), strict=True)]
        elif names and line.strip() and not line.strip("= "):
            names = []
        elif names and line.strip():
            cells = _split_cells(line, [start for start, _ in names])
            yield {name: cell for (_, name), cell in zip(names, cells, strict=True)}
        before = line


def _split_cells(line: str, starts: list[int]) -> list[str]:
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]


def read_alarms(answer: Any) -> list[str]:
    """`nv show system health`: components that are not well.

    Raises:
        NotImplementedError: it has no status.
    """
    if not isinstance(answer, dict) or "status" not in answer:
        raise NotImplementedError("nv show system health has no status")
    if str(answer["status"]).upper() == "OK":
        return []
    issues = answer.get("issues") or {}
    found = [
        f"{name}: {one.get('issue', one) if isinstance(one, dict) else one}" for name, one in issues.items()
    ]
    return sorted(found) or [f"health: {answer['status']}"]


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
