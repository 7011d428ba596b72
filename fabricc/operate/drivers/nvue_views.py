"""Read NVUE's answers about lossless classes, the switch's health, and the states of its revisions.

Counters of `nv show interface … counters qos` are read as JSON, as public programs for SN5600 switches read it: a group
for each table of NVIDIA's guide ("Show QoS Counters"), and numbers where the table prints `75.19 KB` for 76,993 frames.
Storms are read from the guide's table ("PFC Watchdog"), of whose JSON no example was found.

Forms of `nv config revision` and `nv config history`: NVIDIA's Cumulus Linux documentation ("Config Commands": the
state `applied_and_saved`), published clients of NVUE (all states; the object `transition.issue` with `severity` and
`message`; `confirm` while an apply waits) and the parser of `nv config history` in NVIDIA's public tests
(`apply-meta.rev_id`, with `ref` as `apply/…/done`).
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.answers import AnswerError, parse_json
from fabricc.operate.drivers.bundle import unpack_bundle
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS, CounterTotals
from fabricc.operate.drivers.redact import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator


HEALTH = ("nv", "show", "system", "health", "-o", "json")
_RULE = re.compile(r"\s*-+(?:\s+-+)*\s*")
_AT_ONCE = 8
_GROUPS = (
    ("pfc-stats", "rx-pause-frames", PFC_RX),
    ("pfc-stats", "tx-pause-frames", PFC_TX),
    ("ingress-buffer-stats", "rx-buffer-discards", DROPPED),
    ("egress-queue-stats", "tx-uc-buffer-discards", DROPPED),
    ("egress-queue-stats", "ecn-marked-frames", ECN_MARKED),
)
"""Group of an answer, whose members are classes, a count of each, and what it counts."""


_SHOW = (
    "nv show interface @ counters qos -o json > $d/of/@ 2> /dev/null; "
    "nv show interface @ qos pfc-watchdog > $d/of/@.storms 2> /dev/null"
)
_PORTS = "import json,re,sys;[print(one) for one in json.load(sys.stdin).keys() if re.fullmatch(r'swp[\\ds]+', one)]"
COUNTERS = (
    "d=$(mktemp -d) && export d && mkdir $d/of && nv show interface -o json > $d/all && "
    f"python3 -c {shlex.quote(_PORTS)} < $d/all > $d/ports && "
    f"xargs -r -P {_AT_ONCE} -I @ sh -c '{_SHOW}; true' < $d/ports && cd $d/of && "
    'for p in $(ls); do printf "==> %s <==\\n" "$p"; cat "$p"; echo; done; s=$?; rm -rf "$d"; exit $s'
)
"""The shell command that reads all front-panel ports, and prints the JSON and the table of each below its name."""


def read_lossless(text: str, tally: CounterTotals) -> None:
    """Counters of lossless classes from what `COUNTERS` prints; a port without an answer states none.

    Raises:
        AnswerError: an answer is no JSON, or too large.
    """
    for name, answer in unpack_bundle(text, "").items():
        port, _, is_table = name.partition(".")
        if is_table:
            for row in _table_rows(answer):
                if "traffic-class" in row and "deadlock-count" in row:
                    tally.add(STORMS, port, row["traffic-class"], row["deadlock-count"])
        elif answer.strip():
            _read_counts(port, parse_json(answer, f"the answer about counters of {port}"), tally)


def _read_counts(port: str, answer: Any, tally: CounterTotals) -> None:
    for group, count, kind in _GROUPS:
        classes = answer.get(group) if isinstance(answer, dict) else None
        for traffic_class, one in classes.items() if isinstance(classes, dict) else ():
            if isinstance(one, dict) and count in one:
                tally.add(kind, port, traffic_class, one[count])


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
        AnswerError: It is not a mapping of revisions with a state each.
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
        AnswerError: The history is not a list of applies, or names no revision that is applied.
    """
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise AnswerError("the answer to `nv config history` is not a list of applies")
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
