"""The results of a trial: predicted and observed facts, the outcome of each failure; as tables, JSON and JUnit XML."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from fabricc.base.foreign.formats import json_document, xml_document
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.base.foreign.text import Rendered
    from fabricc.operate.lab.flows import Outage

STEADY = "steady"
"""The group of checks of the undisturbed network."""


@dataclass(slots=True)
class Check:
    """Facts of one kind.

    Attributes:
        group: part of the trial, such as `steady` or a failure's name.
        name: the kind of fact.
        predicted: the planned value, in words or figures.
        facts, agreed: number of facts compared, and of those that hold in the live network.
        wrong: the others, a sentence each.
    """

    group: str
    name: str
    predicted: str
    facts: int = 0
    agreed: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, agrees: bool, what: str) -> None:
        """Count one fact; `what` describes it when it does not agree."""
        self.facts += 1
        if agrees:
            self.agreed += 1
        else:
            self.wrong.append(what)


@dataclass(frozen=True, slots=True)
class Event:
    """One failure or change, and its way back.

    Attributes:
        name: what was done.
        paths: what remains of the paths where it matters most, as predicted and reached: `1 of 2`.
        settle_s: seconds until every kernel had the predicted next hops; None when they never did.
        outage: what the flows that are to survive saw while it happened.
        return_s, return_outage: the same for the way back; None when there is none.
        notice_s: how long the plan's timers allow it to go unnoticed; 0 when the light goes out.
    """

    name: str
    paths: str
    settle_s: float | None
    outage: Outage
    return_s: float | None
    return_outage: Outage | None
    notice_s: float = 0.0


@dataclass(slots=True)
class Trial:
    """Everything that was compared on one lab."""

    cluster: str
    frr: str
    switches: int
    hosts: int
    boot_s: float | None
    memory_kib: dict[str, int]
    differences: tuple[str, ...] = ()
    overlay: tuple[str, ...] = ()
    checks: list[Check] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def check(self, group: str, name: str, predicted: str) -> Check:
        """Add a kind of fact."""
        made = Check(group, name, predicted)
        self.checks.append(made)
        return made

    def settles(self, group: str, settled_s: float | None, limit_s: float) -> None:
        """Check that the predicted next hops were reached within the limit."""
        check = self.check(group, "next hops settle", "as predicted")
        check.add(settled_s is not None, f"not within {limit_s:.0f} s")

    @property
    def facts(self) -> int:
        """Facts compared."""
        return sum(check.facts for check in self.checks)

    @property
    def agreed(self) -> int:
        """Facts on which plan and live network agree."""
        return sum(check.agreed for check in self.checks)

    @property
    def wrong(self) -> Sequence[Check]:
        """Kinds of fact with a disagreement."""
        return [check for check in self.checks if check.agreed != check.facts]


_SHOWN = 5
_EVENT = (
    "event", "paths left", "timers", "settled", "flows hit", "lost", "longest gap", "back", "flows hit", "longest gap",
)  # fmt: skip


def table_lines(trial: Trial) -> list[str]:
    """Return the trial as tables, a blank line between them."""
    parts = [
        _heading_lines(trial),
        _format_grid(("fact", "predicted", "facts", "agreed"), _check_rows(trial.checks)),
    ]
    if trial.events:
        parts.append(_format_grid(_EVENT, [_event_row(event) for event in trial.events]))
    for check in trial.wrong:
        more = len(check.wrong) - _SHOWN
        lines = [f"{check.group}: {check.name} (predicted: {check.predicted})"]
        lines += [f"  {line}" for line in check.wrong[:_SHOWN]]
        parts.append([*lines, *([f"  and {more} more"] if more > 0 else [])])
    verdict = "the live network agrees with the plan" if not trial.wrong else "plan and network DISAGREE"
    parts.append([f"{trial.agreed:,} of {trial.facts:,} facts agree: {verdict}."])
    return [line for part in parts for line in ("", *part)][1:]


def _heading_lines(trial: Trial) -> list[str]:
    memory = sum(trial.memory_kib.values()) / 1024
    each = memory / max(1, len(trial.memory_kib))
    boot = f", planned state {trial.boot_s:.1f} s after start" if trial.boot_s is not None else ""
    lines = [
        f"{trial.cluster}: {trial.switches} switches with FRR {trial.frr}, {trial.hosts} hosts{boot}; "
        f"{memory:.0f} MiB, {each:.0f} MiB a switch"
    ]
    lines += [f"  differs: {sentence}" for sentence in trial.differences]
    lines += [f"  added to every frr.conf: {line}" for line in trial.overlay]
    return lines


def _check_rows(checks: Iterable[Check]) -> list[Sequence[str]]:
    """Return a row a kind in the steady state; a row for all of a kind in an event."""
    rows: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        name = check.name if check.group == STEADY else check.name.partition(":")[0]
        predicted = check.predicted if check.group == STEADY else ""
        rows.setdefault((check.group, f"{name}\0{predicted}"), []).append(check)
    found: list[Sequence[str]] = []
    for (group, key), members in rows.items():
        name, _, predicted = key.partition("\0")
        predictions = {check.predicted for check in members}
        facts, agreed = sum(c.facts for c in members), sum(c.agreed for c in members)
        words = predicted or ("/".join(sorted(predictions)) if len(predictions) <= 3 else "as planned")
        found.append((f"{group}: {name}", words, f"{facts:,}", f"{agreed:,}"))
    return found


def _event_row(event: Event) -> Sequence[str]:
    hit, lost, gap = _outage_cells(event.outage)
    hit_back, _, gap_back = _outage_cells(event.return_outage)
    back = _format_seconds(event.return_s) if event.return_outage else "-"
    timers = _format_seconds(event.notice_s) if event.notice_s else "-"
    settled = _format_seconds(event.settle_s)
    return event.name, event.paths, timers, settled, hit, lost, gap, back, hit_back, gap_back


def _outage_cells(outage: Outage | None) -> tuple[str, str, str]:
    if outage is None or not outage.flows:
        return "-", "-", "-"
    gap = f"{outage.worst_s * 1000:.0f} ms" if outage.lost else "-"
    return f"{outage.hit} of {outage.flows}", f"{outage.lost} of {outage.sent:,}", gap


def _format_seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f} s"


def _format_grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def as_json(trial: Trial) -> Rendered:
    """Return the trial as JSON, every fact's kind with its count and every disagreement."""
    return json_document({**asdict(trial), "facts": trial.facts, "agreed": trial.agreed}, indent=1)


def as_junit(trial: Trial) -> Rendered:
    """Return the trial as a JUnit file: a test case a kind of fact."""
    counts = {"tests": str(len(trial.checks)), "failures": str(len(trial.wrong))}
    suite = Element("testsuite", {"name": f"fabricc lab {trial.cluster}", **counts})
    for check in trial.checks:
        name = f"{check.name} ({check.predicted}): {check.agreed} of {check.facts}"
        case = SubElement(suite, "testcase", {"classname": check.group, "name": name})
        if check.agreed != check.facts:
            SubElement(case, "failure", {"message": "; ".join(check.wrong[:_SHOWN])})
    return xml_document(suite)
