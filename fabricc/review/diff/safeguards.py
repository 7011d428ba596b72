"""Report services and protections that a change ends, and lines whose effect is unknown or vouched for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.review.diff.impact import row_of
from fabricc.review.diff.model import ControlFile, VouchedLine
from fabricc.review.diff.unread import ENDED, TEXT, VOUCHED, vouching_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fabricc.review.diff.model import Group, SpecChange, Statement

_KEY = re.compile(r"\[[^]]*\]")
_WEAKER = ("less", "far")


def safeguards_lost(groups: Sequence[Group]) -> dict[str, int]:
    """Return the services and protections that end or become weaker -> how many devices lose them."""
    found: dict[str, int] = {}
    for group in groups:
        for concern in list_weakened([line.statement for line in group.lines], group.nos):
            found[concern] = found.get(concern, 0) + len(group.devices)
    return found


def list_weakened(statements: Collection[Statement], nos: str) -> list[str]:
    """Return the services and protections that statements end or weaken."""
    return sorted(
        {_safeguard_name(each, nos) for each in statements if _is_weakened(each, statements)} - {""}
    )


def _is_weakened(statement: Statement, others: Iterable[Statement]) -> bool:
    """Return whether something becomes weaker, or a new line ends it."""
    if statement.subject.startswith(ENDED) or "/setting[no " in statement.subject:
        return statement.op == "+"
    return statement.direction in _WEAKER and not _is_moved(statement, others)


def _safeguard_name(statement: Statement, nos: str) -> str:
    """Return the name of a safeguard, "" for anything else."""
    if statement.subject.startswith(ENDED):
        return statement.subject.removeprefix(ENDED).removesuffix("]")
    row = row_of(statement.subject, nos)
    return row.concern if "safeguard" in row.tags else ""


def _is_moved(statement: Statement, others: Iterable[Statement]) -> bool:
    """Return whether a removed value appears again under another key, such as another queue."""
    bare = _KEY.sub("", statement.subject)
    return statement.op == "-" and any(
        each.op == "+" and each.after == statement.before and _KEY.sub("", each.subject) == bare
        for each in others
    )


def unknown_lines(groups: Sequence[Group]) -> dict[str, int]:
    """Return the changed lines whose effect is unknown, with `+` or `-` -> how many devices have them."""
    found: dict[str, int] = {}
    for group in groups:
        for line in group.lines:
            if line.statement.subject == TEXT:
                for sign, text in (("-", line.statement.before), ("+", line.statement.after)):
                    for each in (text or "").split("; ") if text else ():
                        found[f"{sign}{each}"] = found.get(f"{sign}{each}", 0) + len(group.devices)
    return found


def vouched_lines(
    groups: Sequence[Group], before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[VouchedLine, ...]:
    """Return the entries of the spec that vouch for changed lines.

    Args:
        groups: devices on which the same changes.
        before: the entries of the older side -> the reason.
        after: the entries of the newer side -> the reason.
    """
    counts: dict[str, int] = {}
    for group in groups:
        texts = [
            text
            for line in group.lines
            if line.statement.subject == VOUCHED
            for text in (line.statement.before, line.statement.after)
            if text
        ]
        for entry in {vouching_entry(each, after) for text in texts for each in text.split("; ")} - {""}:
            counts[entry] = counts.get(entry, 0) + len(group.devices)
    return tuple(
        VouchedLine(entry, after[entry], count, new=entry not in before) for entry, count in counts.items()
    )


_STEERING = (
    (re.compile(r"policy\..*|policy"), "review policy of the spec"),
    (re.compile(r"accept\[.*\]\.(code|line)"), "findings that the spec accepts"),
)
"""Keys of a spec that decide what later builds and reviews report, and what they decide."""


def steering_keys(changes: Iterable[SpecChange]) -> tuple[ControlFile, ...]:
    """Return the changed keys of a spec that decide what later builds and reviews report."""
    found = []
    for change in changes:
        role = next((role for pattern, role in _STEERING if pattern.fullmatch(change.path)), "")
        if role:
            what = "added" if change.before is None else "removed" if change.after is None else "changed"
            found.append(ControlFile(change.path, role, what))
    return tuple(found)
