"""A review on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.foreign.text import Line
from fabricc.review.diff import wording
from fabricc.review.diff.application import application_words
from fabricc.review.diff.model import Impact
from fabricc.review.diff.names import fold_names
from fabricc.review.diff.phrases import theme_phrases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.review.diff.model import FileDiff, Group, Review

_COLORS = {"none": "green", "low": "green", "medium": "yellow", "high": "red"}
_LINES = 40
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def review_lines(review: Review) -> Iterator[Line]:
    """Yield the lines; each diff is cut, while Markdown and JSON have it whole."""
    color = _COLORS[review.risk] if review.differs or review.harmless else _COLORS["medium"]
    yield Line(wording.verdict_line(review), f"bold {color}")
    yield Line(f"{review.cluster}: {review.base} → {review.head}", "dim")
    for d in review.violations:
        yield Line(f"policy {d.code}: {d.message}. {d.help}", "bold red")
    if review.differs:
        yield from _row_lines(wording.impact_rows(review))
    yield from map(Line, wording.drain_steps(review))
    yield from _other_lines(review)
    if review.tenants:
        yield from (Line(), Line("tenants", "bold"))
    yield from (Line(f"  {each}") for each in review.tenants)
    if review.spec_changes:
        yield from (Line(), Line("spec", "bold"))
    for change in review.spec_changes:
        place = f"  {change.position.file}:{change.position.line}" if change.position else ""
        yield Line(f"  {change.path}: {change.before or 'absent'} → {change.after or 'absent'}{place}")
    figures = [(f.name, f"{f.before or '-'} → {f.after or '-'}") for f in review.figures if f.changed]
    if figures:
        yield from (Line(), Line("plan", "bold"))
        yield from _row_lines(figures)
    if review.differs and (same := wording.key_figures(review)):
        yield from (Line(), Line(f"plan, unchanged: {same}", "dim"))
    for group in review.groups:
        yield from _group_lines(group)
    for title, names in wording.changed_fleets(review):
        yield from (Line(), Line(f"{title}: {fold_names(names, 20)}"))
    for d in review.findings:
        if d.severity is not Severity.NOTE:
            yield from (Line(), Line(f"{d.severity.value} {d.code}: {d.message}", "yellow"))
    if following := wording.next_command(review):
        yield from (Line(), Line(f"Next: {following}"))


def _other_lines(review: Review) -> Iterator[Line]:
    """Yield everything besides devices for the reviewer: access, catalog figures, control files, committed tree."""
    files = (*wording.control_rows(review), *wording.tree_rows(review))
    figures = review.model_figures
    titles = (
        ("lines that fabricc does not interpret", _join_rows(wording.unknown_rows(review))),
        ("lines that the spec vouches for", _join_rows(wording.vouched_rows(review))),
        ("who can log in", wording.access_rows(review)),
        ("services and protections that end or become weaker", wording.safeguard_rows(review)),
        ("files and keys that decide what a push or a review does", _join_rows(files)),
        (
            "catalog figures of models in use",
            [f"{each.model} {each.figure}: {wording.figure_words(each)}" for each in figures],
        ),
    )
    for title, rows in titles:
        if rows:
            yield from (Line(), Line(title, "bold"))
            yield from (Line(f"  {row}") for row in rows)


def _join_rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{text}: {words}" for text, words in rows]


def _row_lines(rows: list[tuple[str, str]]) -> Iterator[Line]:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        yield Line(f"  {name:<{width}}  {value}")


def _group_lines(group: Group) -> Iterator[Line]:
    yield Line()
    yield Line(wording.group_title(group), "bold red" if group.impact >= Impact.TRAFFIC_LOSS else "bold")
    yield Line(f"  {fold_names(group.devices)}", "dim")
    for phrase in theme_phrases(group):
        yield Line(f"  {phrase.theme}: {phrase.text}")
    if group.application is not None:
        yield Line(f"  applied by: {application_words(group.application)}")
    for file in group.files:
        yield from _file_lines(file, group)


def _file_lines(file: FileDiff, group: Group) -> Iterator[Line]:
    of = f" of {group.devices[0]}" if len(group.devices) > 1 else ""
    yield Line(f"  {file.path}{of} (+{file.added} -{file.removed})", "dim")
    lines = file.text.split("\n")
    for line in lines[:_LINES]:
        yield Line(f"    {line}", _DIFF_COLORS.get(line[:1], ""))
    if len(lines) > _LINES:
        yield Line(f"    … {len(lines) - _LINES} more lines", "dim")
