"""A review as one pull-request comment, whole sections at a time within the size limit of where it is posted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import clip
from fabricc.base.foreign.formats import Markdown
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import dataclass
from fabricc.review.diff import wording
from fabricc.review.diff.compare import application_words
from fabricc.review.diff.model import Group, Impact, Review, SpecChange
from fabricc.review.diff.phrases import fold_names, theme_phrases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Forge:
    """The forge where a comment is posted.

    Attributes:
        limit: most bytes of a comment, None for none.
        folds: whether HTML works, for folded sections and a hidden marker.
    """

    limit: int | None
    folds: bool


FORGES = {
    "github": Forge(65_536, True),
    "gitlab": Forge(1_000_000, True),
    "bitbucket": Forge(32_768, False),
    "azure": Forge(150_000, True),
    "none": Forge(None, True),
}
"""Limits: atlantis' clients for GitHub, Bitbucket and Azure DevOps; GitLab, docs.gitlab.com instance limits."""
_SIGNS = {"none": "⚪", "low": "🟢", "medium": "🟡", "high": "🔴"}
_BLANK = Markdown()
_ABSENT = Markdown("-")
"""Stands for no figure on one side; in a cell, a hyphen begins no list."""
_RESERVE = 4_000
_FIGURES_FOLDED = 12
_CAUSE = 160
"""Characters of the cause in the table."""
_SPEC_SHOWN = 12
_FINDINGS_SHOWN = 10
_GROUPS_SHOWN = 40
_BESIDE_SHOWN = 20


def render(review: Review, forge: Forge, details_url: str = "") -> Markdown:
    """Return the comment; if it is too long, whole sections are left out, least grave first, and listed."""
    head, foot = _head_section(review), _foot_section(review, forge)
    sections = [_group_section(group, review, forge) for group in review.groups[:_GROUPS_SHOWN]]
    room = None if forge.limit is None else forge.limit - _byte_length(head) - _byte_length(foot) - _RESERVE
    dropped = 0
    hidden = len(review.groups) - len(sections)
    taken = [short for short, _ in sections]
    spent = sum(_byte_length(text) for text in taken)
    while room is not None and spent > room and taken:
        spent -= _byte_length(taken.pop())
        hidden += 1
    for index, (short, full) in enumerate(sections[: len(taken)]):
        extra = _byte_length(full) - _byte_length(short)
        if room is None or spent + extra <= room:
            taken[index] = full
            spent += extra
        elif extra:
            dropped += 1
    note = _omission_note(dropped, hidden, details_url)
    return _join_lines([head, *taken, *_fleet_sections(review, forge), note, foot]).collapse_blank_lines()


def render_failure(diagnostics: Sequence[Diagnostic], spec: str, forge: Forge) -> Markdown:
    """Return the comment when there is nothing to compare."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    lines = [Markdown("### 🔴 fabricc: no comparison was possible"), _BLANK]
    for each in errors[:_FINDINGS_SHOWN]:
        lines += [_finding_line(each), *([Markdown("  - {}").format(each.help)] if each.help else [])]
    if len(errors) > _FINDINGS_SHOWN:
        lines.append(Markdown("- and {} more").format(len(errors) - _FINDINGS_SHOWN))
    following = Markdown("Next: {}").format(Markdown.code(f"fabricc validate {shell_path(spec)}"))
    return _join_lines([*lines, _BLANK, following, _BLANK, _hidden_marker(spec, forge), _BLANK])


def _join_lines(parts: Iterable[Markdown]) -> Markdown:
    return Markdown("\n").join(parts)


def _hidden_marker(subject: str, forge: Forge) -> Markdown:
    return Markdown.hidden(wording.comment_marker(subject), html=forge.folds)


def _byte_length(text: Markdown) -> int:
    return len(text.encode()) + 2


def _head_section(review: Review) -> Markdown:
    code = Markdown.code
    rated = review.differs or review.harmless or review.tree_is_altered
    sign = _SIGNS[review.risk if rated else "medium"]
    lines = [Markdown("### {} fabricc: {}").format(sign, wording.verdict_line(review)), _BLANK]
    lines += [Markdown("{}: {} → {}").format(review.cluster, code(review.base), code(review.head)), _BLANK]
    for violation in review.violations:
        parts = violation.code, violation.message, violation.help
        lines.append(Markdown("- ⛔ **{}** {}. {}").format(*parts))
    if review.violations:
        lines.append(_BLANK)
    if review.differs:
        lines += [Markdown("| impact | |"), Markdown("|--|--|")]
        (name, value), *rows = wording.impact_rows(review)
        rows = [(name, value), *_cause_rows(review), *rows]
        lines += [Markdown("| {} | {} |").format(name, value) for name, value in rows]
        lines.append(_BLANK)
    for step in wording.drain_steps(review):
        first, _, rest = step.partition(" ")
        lines += [Markdown("**{}** {}").format(first, Markdown.from_words(rest)), _BLANK]
    lines += _other_lines(review)
    lines += [Markdown("- {}").format(each) for each in review.tenants]
    lines += [_BLANK] if review.tenants else []
    lines += _cause_lines(review)
    changed = [figure for figure in review.figures if figure.changed]
    if changed and (review.differs or review.model_figures):
        lines += [_BLANK, Markdown("| plan | before | after |"), Markdown("|--|--|--|")]
        lines += [
            Markdown("| {} | {} | {} |").format(f.name, f.before or _ABSENT, f.after or _ABSENT)
            for f in changed[:_FIGURES_FOLDED]
        ]
    if review.differs and (same := wording.key_figures(review)):
        lines += [_BLANK, Markdown("Plan, unchanged: {}.").format(same)]
    lines += _finding_lines(review)
    return _join_lines([*lines, _BLANK])


def _cause_rows(review: Review) -> list[tuple[str, str]]:
    """Return what causes the worst effect where traffic notices it, since the groups of devices are folded."""
    group = next((each for each in review.groups if each.impact is review.impact), None)
    if group is None or review.impact < Impact.SESSION_RESET or review.unknown_lines:
        return []
    found = [phrase.text for phrase in theme_phrases(group) if phrase.impact is review.impact]
    if not found and group.application is not None:
        found = [application_words(group.application)]
    return [("by", f"{group.devices[0]}: {clip('; '.join(found[:2]), _CAUSE)}")] if found else []


def _other_lines(review: Review) -> list[Markdown]:
    """Return everything besides devices for the reviewer: access, catalog figures, control files, committed tree."""
    access = _text_rows(wording.access_rows(review))
    files = _code_rows((*wording.control_rows(review), *wording.tree_rows(review)))
    files += [_finding_line(each) for tree in review.committed_trees for each in tree.findings]
    figures = [
        Markdown("- {} {}: {}").format(
            Markdown.code(each.model), Markdown.code(each.figure), wording.figure_words(each)
        )
        for each in review.model_figures
    ]
    titles = (
        ("Lines that fabricc does not interpret", _code_rows(wording.unknown_rows(review))),
        ("Lines that the spec accepts", _code_rows(wording.vouched_rows(review))),
        ("Who can log in", access),
        ("Services and protections that end or become weaker", _text_rows(wording.safeguard_rows(review))),
        ("Files and keys that control a push or a review", files),
        ("Catalog figures of models in use", figures),
    )
    lines: list[Markdown] = []
    for title, rows in titles:
        if rows:
            more = len(rows) - _BESIDE_SHOWN
            rest = [Markdown("- and {} more").format(more)] if more > 0 else []
            lines += [_BLANK, Markdown("**{}**").format(title), *rows[:_BESIDE_SHOWN], *rest]
    return [*lines, _BLANK] if lines else []


def _code_rows(rows: Iterable[tuple[str, str]]) -> list[Markdown]:
    """Return rows whose first part is text of a file."""
    return [
        Markdown("- {}: {}").format(Markdown.code(text), Markdown.from_words(words)) for text, words in rows
    ]


def _text_rows(rows: Iterable[str]) -> list[Markdown]:
    return [Markdown("- {}").format(Markdown.from_words(row)) for row in rows]


def _cause_lines(review: Review) -> list[Markdown]:
    if not review.spec_changes:
        return []
    shown = [_cause_line(change) for change in review.spec_changes[:_SPEC_SHOWN]]
    rest = len(review.spec_changes) - len(shown)
    more = [Markdown("- and {} more").format(rest)] if rest > 0 else []
    return [_BLANK, Markdown("**Spec**"), *shown, *more]


def _cause_line(change: SpecChange) -> Markdown:
    path, place = Markdown.code(change.path), _place_text(change.position)
    if change.before == change.after:
        return Markdown("- {} changed{}").format(path, place)
    before, after = _side_value(change.before), _side_value(change.after)
    return Markdown("- {}: {} → {}{}").format(path, before, after, place)


def _side_value(value: str | None) -> Markdown:
    return Markdown("absent") if value is None else Markdown.code(value)


def _finding_lines(review: Review) -> list[Markdown]:
    shown = [d for d in review.findings if d.severity is not Severity.NOTE][:_FINDINGS_SHOWN]
    if not shown:
        return []
    return [_BLANK, Markdown("**New findings**"), *(_finding_line(each) for each in shown)]


def _finding_line(each: Diagnostic) -> Markdown:
    stated = each.severity.value, each.code, each.message, _place_text(each.position)
    return Markdown("- {} {}: {}{}").format(*stated)


def _place_text(position: Position | None) -> Markdown:
    if position is None:
        return Markdown()
    return Markdown(" ({})").format(Markdown.code(f"{position.file}:{position.line}"))


def _group_section(group: Group, review: Review, forge: Forge) -> tuple[Markdown, Markdown]:
    """Return a group without and with the diff of its files."""
    title = wording.group_title(group, review)
    lines = [Markdown("- **{}**: {}").format(phrase.theme, phrase.text) for phrase in theme_phrases(group)]
    if group.application is not None:
        lines.append(Markdown("- **applied by**: {}").format(application_words(group.application)))
    body = [Markdown.code(fold_names(group.devices)), _BLANK, *lines, *_reason_lines(group)]
    same = "" if len(group.devices) == 1 else f", {group.devices[0]} for all"
    diffs = []
    for file in group.files:
        counts = Markdown("{} (+{} -{}{})").format(Markdown.code(file.path), file.added, file.removed, same)
        diffs += [_BLANK, counts, Markdown.code_block(file.text, "diff")]
    return _fold_section(title, body, forge), _fold_section(title, [*body, *diffs], forge)


def _reason_lines(group: Group) -> list[Markdown]:
    found: dict[str, None] = {}
    for line in group.lines:
        if line.verdict.impact >= Impact.SESSION_RESET:
            source = "" if line.verdict.source == "evident" else f" ({line.verdict.source})"
            found[f"{line.verdict.impact.label}: {line.verdict.why}{source}"] = None
    reasons = [Markdown("  _{}_  ").format(text) for text in found]
    causes = Markdown(", ").join(map(Markdown.code, group.causes[:6]))
    return [_BLANK, *reasons, *([Markdown("from {}").format(causes)] if causes else [])]


def _fold_section(title: str, body: list[Markdown], forge: Forge) -> Markdown:
    if not forge.folds:
        return _join_lines([Markdown("#### {}").format(title), _BLANK, *body, _BLANK])
    summary = Markdown("<details><summary>{}</summary>").format(Markdown.html(title))
    return _join_lines([summary, _BLANK, *body, _BLANK, Markdown("</details>"), _BLANK])


def _fleet_sections(review: Review, forge: Forge) -> list[Markdown]:
    return [
        _fold_section(title, [Markdown.code(fold_names(names, 40))], forge)
        if len(names) > 40
        else Markdown("{}: {}  ").format(title, Markdown.code(fold_names(names)))
        for title, names in wording.changed_fleets(review)
    ]


def _omission_note(diffs: int, groups: int, url: str) -> Markdown:
    if not diffs and not groups:
        return _BLANK
    parts = [f"the diffs of {plural(diffs, 'group')}"] if diffs else []
    parts += [f"{plural(groups, 'group')} of lesser risk"] if groups else []
    where = Markdown("`fabricc diff --format md --for none` shows them")
    where = Markdown.link("the whole review", url) if url else where
    message = " and ".join(parts)
    return Markdown("\n> Left out to fit the size of a comment: {}; {}.\n").format(message, where)


def _foot_section(review: Review, forge: Forge) -> Markdown:
    following = wording.next_command(review)
    labels = Markdown(", ").join(map(Markdown.code, wording.review_labels(review)))
    shown = [Markdown("Next: {}").format(Markdown.code(following))] if following else []
    hidden = _hidden_marker(review.spec or review.cluster, forge)
    return _join_lines(
        [_BLANK, *shown, _BLANK, Markdown("Labels: {}").format(labels), _BLANK, hidden, _BLANK]
    )
