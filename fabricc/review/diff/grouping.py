"""Equal changes of many devices as one group: gravest first, with the diff of the first device for all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.review.diff.causes import causes
from fabricc.review.diff.impact import operation, verdict
from fabricc.review.diff.model import Group, Line, whole
from fabricc.review.diff.texts import file_diffs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from fabricc.review.diff.model import DeviceDiff, Link, Rail, SpecChange, Statement, Verdict
    from fabricc.review.diff.sides import Side

_TIERS = ("tor", "spine", "core", "host")


def grouped(
    diffs: Sequence[DeviceDiff], base: Side, head: Side, spec_changes: Sequence[SpecChange]
) -> tuple[Group, ...]:
    """Groups by kind, platform and statements, ordered by impact, then tier, then size."""
    members: dict[tuple[object, ...], list[DeviceDiff]] = {}
    for diff in diffs:
        key = (diff.kind, diff.platform, diff.impact, diff.ports_only, frozenset(diff.counts))
        members.setdefault(key, []).append(diff)
    groups = [_group(found, base, head, spec_changes) for found in members.values()]
    return tuple(sorted(groups, key=lambda g: (-g.impact, _TIERS.index(g.kind), -len(g.devices), g.devices)))


def _group(diffs: Sequence[DeviceDiff], base: Side, head: Side, spec_changes: Sequence[SpecChange]) -> Group:
    first = diffs[0]
    counts: Counter[Statement] = Counter()
    reach: dict[Rail, Fraction] = {}
    sessions: set[Link] = set()
    for diff in diffs:
        counts.update(diff.counts)
        reach.update(diff.reach)
        sessions |= diff.sessions
    nos = "host" if first.kind == "host" else first.platform.partition(" ")[0]
    lines = [
        Line(statement, count, _verdict(statement, nos), first.examples.get(statement, ""))
        for statement, count in counts.items()
    ]
    lines.sort(key=_order)
    devices = tuple(diff.name for diff in diffs)
    subjects = {line.statement.subject for line in lines}
    return Group(
        kind=first.kind,
        platform=first.platform,
        devices=devices,
        lines=tuple(lines),
        impact=first.impact,
        gpus=whole(reach.values()),
        hosts=len({host for host, _ in reach}),
        rails=tuple(sorted({rail for _, rail in reach})),
        sessions=len(sessions),
        ports_only=first.ports_only,
        files=file_diffs(base.files(first.name), head.files(first.name)),
        causes=causes(first.kind, nos, frozenset(devices), subjects, spec_changes),
    )


def _verdict(statement: Statement, nos: str) -> Verdict:
    op = operation(statement.subject, statement.op, statement.before, statement.after)
    return verdict(statement.subject, op, nos)


def _order(line: Line) -> tuple[object, ...]:
    statement = line.statement
    return (-line.verdict.impact, not statement.subject.startswith(("device/", "link[")), statement.subject,
            statement.op, statement.before or "", statement.after or "")  # fmt: skip
