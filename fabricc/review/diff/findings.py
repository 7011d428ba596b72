"""A review as diagnostics at the lines of the spec that cause it, for SARIF, annotations and JUnit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.review.diff import wording
from fabricc.review.diff.model import Impact
from fabricc.review.diff.names import fold_names
from fabricc.review.diff.phrases import theme_phrases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.review.diff.model import Group, Review

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
            "FAB9065", Severity.WARNING, message, place, "Read them, or vouch for them in the spec."
        )
    for line, words in wording.vouched_rows(review):
        yield Diagnostic("FAB9068", Severity.WARNING, f"the spec vouches for {line!r}: {words}", place)
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
