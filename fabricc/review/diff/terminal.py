"""Show a review on a terminal, or as diagnostics at the lines of the spec, for SARIF, annotations and JUnit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.text import Line
from fabricc.review.diff import wording
from fabricc.review.diff.compare import application_words
from fabricc.review.diff.model import FileDiff, Group, Impact, Review
from fabricc.review.diff.phrases import fold_names, theme_phrases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
        values = f"{change.before or 'absent'} → {change.after or 'absent'}"
        yield Line(f"  {change.path}: {values}{_place_text(change.position)}")
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
            title = f"{d.severity.value} {d.code}: {d.message}{_place_text(d.position)}"
            yield from (Line(), Line(title, "yellow"))
            yield from [Line(f"  help: {d.help}")] * bool(d.help)
    if following := wording.next_command(review):
        yield from (Line(), Line(f"Next: {following}"))


def _place_text(position: Position | None) -> str:
    return f"  {position.file}:{position.line}" if position else ""


def _other_lines(review: Review) -> Iterator[Line]:
    """Yield everything besides devices for the reviewer: access, catalog figures, control files, committed tree."""
    files = (*wording.control_rows(review), *wording.tree_rows(review))
    figures = review.model_figures
    titles = (
        ("lines that fabricc does not interpret", _join_rows(wording.unknown_rows(review))),
        ("lines that the spec accepts", _join_rows(wording.vouched_rows(review))),
        ("who can log in", wording.access_rows(review)),
        ("services and protections that end or become weaker", wording.safeguard_rows(review)),
        ("files and keys that control a push or a review", _join_rows(files)),
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


_CODES = {
    Impact.NONE: "FAB9001",
    Impact.HITLESS: "FAB9001",
    Impact.SESSION_RESET: "FAB9002",
    Impact.TRAFFIC_LOSS: "FAB9003",
    Impact.RELOAD: "FAB9004",
}
_SHOWN_BY_GITHUB = 10


def as_diagnostics(review: Review, format_: str = "") -> list[Diagnostic]:
    """Policy violations, renumbering, one finding per group and per kind that leaves, then the plan's own.

    GitHub shows ten of each severity per step, so for `github` the gravest ten are given.
    """
    groups = (_group_finding(group, review) for group in review.groups)
    found = [*review.violations, *_renumbering_findings(review), *_other_findings(review), *groups]
    for title, names in wording.changed_fleets(review):
        gone = title.endswith("gone")
        code, severity = ("FAB9006", Severity.WARNING) if gone else ("FAB9007", Severity.NOTE)
        found.append(Diagnostic(code, severity, f"{title}: {fold_names(names)}", _first_position(review)))
    found += review.findings
    if format_ != "github":
        return found
    return [
        d for severity in Severity for d in [d for d in found if d.severity is severity][:_SHOWN_BY_GITHUB]
    ]


def _renumbering_findings(review: Review) -> list[Diagnostic]:
    if not review.renumbering.total:
        return []
    message = wording.describe_renumbering(review)
    return [
        Diagnostic(
            "FAB9005", Severity.WARNING, message, _first_position(review), "See the groups for examples."
        )
    ]


def _other_findings(review: Review) -> Iterator[Diagnostic]:
    """Report everything besides devices that a reviewer must see, at the first changed value or at the file."""
    place = _first_position(review)
    if review.unknown_lines:
        message = f"{wording.unknown_effects(review)[0]}: {fold_names(list(review.unknown_lines), 3)}"
        yield Diagnostic(
            "FAB9065", Severity.WARNING, message, place, "Read them, or accept them in the spec."
        )
    for line, words in wording.vouched_rows(review):
        yield Diagnostic("FAB9068", Severity.WARNING, f"the spec accepts {line!r}: {words}", place)
    if review.safeguards_lost:
        message = f"services and protections end: {'; '.join(wording.safeguard_rows(review))}"
        yield Diagnostic("FAB9067", Severity.WARNING, message, place)
    if review.access_changes:
        message = f"logins change: {'; '.join(wording.access_rows(review))}"
        yield Diagnostic("FAB9050", Severity.WARNING, message, place)
    keys = {change.path: change.position or place for change in review.spec_changes}
    for each, (path, words) in zip(review.control_files, wording.control_rows(review), strict=True):
        own = Position(path, 1) if each.files == 1 and each.change != "removed" else place
        own = keys.get(path, own)
        yield Diagnostic("FAB9051", Severity.WARNING, f"{path}: {words}", own)
    for tree in review.committed_trees:
        if not tree.passes:
            message = f"{tree.path}: the committed tree fails the check"
            yield Diagnostic("FAB9052", Severity.WARNING, message, place, "Build again and commit the tree.")
    for figure in review.model_figures:
        message = f"{figure.model} {figure.figure}: {wording.figure_words(figure)}"
        yield Diagnostic("FAB9053", Severity.WARNING, message, place)


def _group_finding(group: Group, review: Review) -> Diagnostic:
    severity = Severity.WARNING if group.impact >= Impact.SESSION_RESET else Severity.NOTE
    text = "; ".join(phrase.text for phrase in theme_phrases(group)[:3])
    places = {change.path: change.position for change in review.spec_changes}
    position = next((places[cause] for cause in group.causes if places.get(cause)), _first_position(review))
    message = f"{wording.group_title(group)}: {text}"
    return Diagnostic(_CODES[group.impact], severity, message, position, f"On {fold_names(group.devices)}.")


def _first_position(review: Review) -> Position | None:
    stated = next((change.position for change in review.spec_changes if change.position), None)
    return stated or (Position(review.spec, 1) if review.spec else None)
