"""`fabricc diff`: what a change does, for how many GPUs, and how risky it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.foreign.text import Line
from fabricc.base.values import replace
from fabricc.cli import options, output
from fabricc.compiler.result import exit_status
from fabricc.review.diff import markdown, review_json, wording
from fabricc.review.diff.compare import application_words
from fabricc.review.diff.model import FileDiff, Group, Impact, Review
from fabricc.review.diff.phrases import fold_names, theme_phrases
from fabricc.review.diff.requested_review import review_change
from fabricc.tree.file import write_file
from fabricc.tree.manifest import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.base.foreign.formats import Markdown
    from fabricc.base.foreign.text import Rendered


FORMATS = ("text", "md", "json", "sarif", "github", "junit", "gitlab")
SAVED = (*FORMATS[1:], "full")
"""Formats of `--save`; `full` is Markdown that no forge limits."""
CHANGES = 2


class SavedFormat(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A format and the file for it: `md=comment.md`."""

    name = "FORMAT=FILE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Return the format and the file."""
        format_, _, file = str(value).partition("=")
        if format_ not in SAVED or not file:
            self.fail(f"{value!r} is not FORMAT=FILE with one of {', '.join(SAVED)}", param, ctx)
        return format_, Path(file)


@click.command("diff")
@click.argument("first", metavar="SPEC|TREE", type=options.PATH)
@click.argument("second", metavar="[SPEC|TREE]", required=False, type=options.PATH)
@click.option("--base", metavar="REV",
              help="Git revision to compare with, where this branch left it. [default: HEAD]")  # fmt: skip
@click.option("--head", metavar="REV", help="Git revision instead of the present files.")
@click.option("--policy", "policy_file", type=options.PATH, metavar="FILE",
              help="Policy for the change. [default: the spec's own, and fabricc-policy.yaml]")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="NAME",
              help="A label of the pull request; repeatable.")  # fmt: skip
@options.add_format_option(FORMATS)
@click.option("--save", "saved", type=SavedFormat(), multiple=True, metavar="FORMAT=FILE",
              help="Also write the review in another format to a file; repeatable.")  # fmt: skip
@click.option("--for", "forge", type=click.Choice(["github", "gitlab", "bitbucket", "azure", "none"]),
              default="github", show_default=True, help="The forge for Markdown and labels.")  # fmt: skip
@click.option("--details-url", default="", metavar="URL",
              help="URL of the whole review, used if the Markdown is shortened.")  # fmt: skip
@click.option("--detailed-exitcode", is_flag=True,
              help="End with status 2 if devices change, 0 only if none does.")  # fmt: skip
@click.option("--check-status", type=click.IntRange(0, 255), metavar="N",
              help="Status of `fabricc check --committed` on the tree of --head, which then does not run.")  # fmt: skip
@options.templates_option
@options.jobs_option
def command(
    first: Path,
    second: Path | None,
    base: str | None,
    head: str | None,
    policy_file: Path | None,
    labels: tuple[str, ...],
    format_: str,
    saved: tuple[tuple[str, Path], ...],
    forge: str,
    details_url: str,
    detailed_exitcode: bool,
    check_status: int | None,
    jobs: int | None,
) -> int:
    """Review the changes between two specs, two built trees, or a spec and a Git revision of it.

    `fabricc diff cluster.yaml --base origin/main` is the review that CI posts. Git objects are read, the work tree is
    not touched. Exit status: 0 done, 1 an error or a policy violation; see --detailed-exitcode.
    """
    if second is not None and (base is not None or head is not None):
        raise click.UsageError("Give a second spec or tree, or --base and --head, not both.")
    if second is None and first.is_dir():
        raise click.UsageError("A tree is compared with another tree or a spec: name it.")
    inputs = {path.resolve() for path in (first, second, policy_file) if path is not None}
    if clash := next((file for _, file in saved if file.resolve() in inputs), None):
        raise click.UsageError(f"--save would overwrite {clash}, which the review reads.")
    try:
        found = review_change(
            first,
            second,
            base,
            head,
            policy=policy_file,
            labels=labels,
            any_case=forge in ("github", "none"),
            check_status=check_status,
            jobs=jobs,
        )
    except FindingsError as error:
        spec = str(second or first)
        for kind, file in saved:
            write_file(file, _render_failure(error, kind, forge, spec).encode())
        output.print_findings(error.diagnostics, "text" if format_ == "md" else format_, error.sources)
        if format_ == "md":
            output.print_document(_render_failure(error, format_, forge, spec))
        return exit_status(error.diagnostics) or 1
    for kind, file in saved:
        write_file(file, _render_review(found, kind, forge, details_url).encode())
    if format_ == "text":
        output.print_parts(review_lines(found))
    else:
        output.print_document(_render_review(found, format_, forge, details_url))
    if found.violations or exit_status(found.findings):
        return 1
    return CHANGES if detailed_exitcode and found.differs else 0


def _render_failure(error: FindingsError, format_: str, forge: str, spec: str) -> Rendered | Markdown:
    """Return the findings that prevent a review, as a document."""
    if format_ in ("md", "full"):
        return markdown.render_failure(
            error.diagnostics, spec, markdown.FORGES["none" if format_ == "full" else forge]
        )
    return output.render_findings(error.diagnostics, format_)


def _render_review(review: Review, format_: str, forge: str, details_url: str) -> Rendered | Markdown:
    """Return a review as a document."""
    if format_ == "md":
        return markdown.render(review, markdown.FORGES[forge], details_url)
    if format_ == "full":
        return markdown.render(review, markdown.FORGES["none"], "")
    if format_ == "json":
        return review_json.render(review)
    return output.render_findings(as_diagnostics(review, format_), format_)


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
        yield from _group_lines(group, review)
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


def _group_lines(group: Group, review: Review) -> Iterator[Line]:
    yield Line()
    yield Line(
        wording.group_title(group, review), "bold red" if group.impact >= Impact.TRAFFIC_LOSS else "bold"
    )
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
    found += [_at_cause(each, review) for each in review.findings]
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
    message = f"{wording.group_title(group, review)}: {text}"
    return Diagnostic(_CODES[group.impact], severity, message, position, f"On {fold_names(group.devices)}.")


def _at_cause(found: Diagnostic, review: Review) -> Diagnostic:
    """Return a finding about a file that a build writes at the changed value: no repository has to have the file."""
    place, folders = found.position, tuple(f"{review.cluster}/{folder}/" for folder in FOLDERS)
    if not review.spec or place is None or not place.file.startswith(folders):
        return found
    return replace(found, message=f"{found.message}{_place_text(place)}", position=_first_position(review))


def _first_position(review: Review) -> Position | None:
    stated = next((change.position for change in review.spec_changes if change.position), None)
    return stated or (Position(review.spec, 1) if review.spec else None)
