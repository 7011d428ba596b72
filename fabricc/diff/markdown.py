"""A review as one pull-request comment, whole sections at a time within the size limit of where it is posted."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from fabricc.diagnostics import Severity
from fabricc.diff import wording
from fabricc.diff.model import Impact
from fabricc.diff.names import fold
from fabricc.diff.phrases import phrases
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.diagnostics import Diagnostic, Position
    from fabricc.diff.model import Group, Review, SpecChange


@dataclass(frozen=True, slots=True)
class Forge:
    """Where a comment is posted.

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
_SPARE = re.compile(r"\n{3,}")
_RESERVE = 1_500
_FIGURES_FOLDED = 12
_SPEC_SHOWN = 12
_FINDINGS_SHOWN = 10
_GROUPS_SHOWN = 40


def render(review: Review, forge: Forge, details_url: str = "") -> str:
    """The comment; what does not fit is left out by whole sections, least grave first, and said to be."""
    head, foot = _head(review), _foot(review, forge)
    sections = [_section(group, forge) for group in review.groups[:_GROUPS_SHOWN]]
    room = None if forge.limit is None else forge.limit - _bytes(head) - _bytes(foot) - _RESERVE
    dropped = 0
    hidden = len(review.groups) - len(sections)
    taken = [short for short, _ in sections]
    spent = sum(_bytes(text) for text in taken)
    while room is not None and spent > room and taken:
        spent -= _bytes(taken.pop())
        hidden += 1
    for index, (short, full) in enumerate(sections[: len(taken)]):
        extra = _bytes(full) - _bytes(short)
        if room is None or spent + extra <= room:
            taken[index] = full
            spent += extra
        elif extra:
            dropped += 1
    note = _left_out(dropped, hidden, details_url)
    return _SPARE.sub("\n\n", "\n".join([head, *taken, *_fleets(review, forge), note, foot]))


def failure(diagnostics: Sequence[Diagnostic], spec: str, forge: Forge) -> str:
    """The comment when there is nothing to compare."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    lines = ["### 🔴 fabricc: nothing could be compared", ""]
    for each in errors[:_FINDINGS_SHOWN]:
        lines += [_finding(each), *([f"  - {_text(each.help)}"] if each.help else [])]
    if len(errors) > _FINDINGS_SHOWN:
        lines.append(f"- and {len(errors) - _FINDINGS_SHOWN} more")
    return "\n".join([*lines, "", f"Next: `fabricc validate {_code(spec)}`", "", _hidden(spec, forge), ""])


def _hidden(subject: str, forge: Forge) -> str:
    marker = wording.marker(subject)
    return f"<!-- {marker} -->" if forge.folds else f"[//]: # ({marker})"


def _bytes(text: str) -> int:
    return len(text.encode()) + 2


def _head(review: Review) -> str:
    lines = [f"### {_SIGNS[review.risk]} fabricc: {wording.verdict_line(review)}", ""]
    lines += [f"{_text(review.cluster)}: `{_code(review.base)}` → `{_code(review.head)}`", ""]
    for violation in review.violations:
        lines.append(f"- ⛔ **{violation.code}** {_text(violation.message)}. {_text(violation.help)}")
    if review.violations:
        lines.append("")
    if review.differs:
        lines += ["| impact | |", "|--|--|"]
        lines += [f"| {name} | {_text(value)} |" for name, value in wording.impact_rows(review)]
        lines.append("")
    for step in wording.drain_steps(review):
        lines.append(f"**{_bold(step)}")
    lines += _causes(review)
    changed = [figure for figure in review.figures if figure.changed]
    if changed and review.differs:
        lines += ["", "| plan | before | after |", "|--|--|--|"]
        lines += [f"| {f.name} | {f.before or '-'} | {f.after or '-'} |" for f in changed[:_FIGURES_FOLDED]]
    if review.differs and (same := wording.key_figures(review)):
        lines += ["", f"Plan, unchanged: {_text(same)}."]
    lines += _findings(review)
    return "\n".join([*lines, ""])


def _bold(step: str) -> str:
    first, _, rest = step.partition(" ")
    return f"{first}** {_text(rest, code=True)}\n"


def _causes(review: Review) -> list[str]:
    if not review.spec_changes:
        return []
    shown = [_cause(change) for change in review.spec_changes[:_SPEC_SHOWN]]
    rest = len(review.spec_changes) - len(shown)
    more = [f"- and {rest} more"] if rest > 0 else []
    return ["", "**Spec**", *shown, *more]


def _cause(change: SpecChange) -> str:
    place = _place(change.position)
    if change.before == change.after:
        return f"- `{_code(change.path)}` changed{place}"
    before = "absent" if change.before is None else f"`{_code(change.before)}`"
    after = "absent" if change.after is None else f"`{_code(change.after)}`"
    return f"- `{_code(change.path)}`: {before} → {after}{place}"


def _findings(review: Review) -> list[str]:
    shown = [d for d in review.findings if d.severity is not Severity.NOTE][:_FINDINGS_SHOWN]
    if not shown:
        return []
    return ["", "**New findings**", *(_finding(each) for each in shown)]


def _finding(each: Diagnostic) -> str:
    return f"- {each.severity.value} {each.code}: {_text(each.message)}{_place(each.position)}"


def _place(position: Position | None) -> str:
    return f" (`{_code(position.file)}:{position.line}`)" if position else ""


def _section(group: Group, forge: Forge) -> tuple[str, str]:
    """A group without and with the diff of its files."""
    title = _text(wording.title(group))
    lines = [f"- **{_text(p.theme)}**: {_text(p.text)}" for p in phrases(group)]
    why = _why(group)
    body = [f"`{fold(group.devices)}`", "", *lines, *why]
    same = "" if len(group.devices) == 1 else f", {group.devices[0]} for all"
    diffs = []
    for file in group.files:
        fence = "````" if "```" in file.text else "```"
        diffs += [
            "",
            f"`{file.path}` (+{file.added} -{file.removed}{same})",
            f"{fence}diff",
            file.text,
            fence,
        ]
    return _folded(title, body, forge), _folded(title, [*body, *diffs], forge)


def _why(group: Group) -> list[str]:
    found: dict[str, None] = {}
    for line in group.lines:
        if line.verdict.impact >= Impact.SESSION_RESET:
            source = "" if line.verdict.source == "evident" else f" ({line.verdict.source})"
            found[f"{line.verdict.impact.label}: {line.verdict.why}{source}"] = None
    causes = ", ".join(f"`{_code(cause)}`" for cause in group.causes[:6])
    return ["", *(f"  _{_text(text)}_  " for text in found), *([f"from {causes}"] if causes else [])]


def _folded(title: str, body: list[str], forge: Forge) -> str:
    if not forge.folds:
        return "\n".join([f"#### {title}", "", *body, ""])
    return "\n".join([f"<details><summary>{title}</summary>", "", *body, "", "</details>", ""])


def _fleets(review: Review, forge: Forge) -> list[str]:
    return [
        _folded(title, [f"`{fold(names, 40)}`"], forge) if len(names) > 40 else f"{title}: `{fold(names)}`  "
        for title, names in wording.fleets(review)
    ]


def _left_out(diffs: int, groups: int, url: str) -> str:
    if not diffs and not groups:
        return ""
    parts = [f"the diffs of {diffs} groups"] if diffs else []
    parts += [f"{groups} groups of lesser risk"] if groups else []
    where = f"[the whole review]({url})" if url else "`fabricc diff --format md --for none` shows them"
    return f"\n> Left out to fit the size of a comment: {' and '.join(parts)}; {where}.\n"


def _foot(review: Review, forge: Forge) -> str:
    following = wording.next_command(review)
    hidden = _hidden(review.spec or review.cluster, forge)
    lines = [f"Next: `{following}`"] if following else []
    return "\n".join(
        [
            "",
            *lines,
            "",
            f"Labels: {', '.join(f'`{label}`' for label in wording.labels(review))}",
            "",
            hidden,
            "",
        ]
    )


def _text(text: str, code: bool = False) -> str:
    """Text without effect as Markdown or HTML; `code` leaves spans in backticks alone."""
    escaped = escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
    return escaped if code else escaped.replace("*", "\\*").replace("_", "\\_").replace("`", "\\`")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ").replace("|", "\\|")
