"""`fabricc diff`: what a change does, for how many GPUs, and how risky it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.base.diagnostics import FindingsError
from fabricc.cli import options, output
from fabricc.compiler.result import exit_status
from fabricc.review.diff import markdown, review_json, terminal
from fabricc.review.diff.requested_review import review_change
from fabricc.review.diff.terminal import as_diagnostics
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from fabricc.base.foreign.formats import Markdown
    from fabricc.base.foreign.text import Rendered
    from fabricc.review.diff.model import Review

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
        output.print_parts(terminal.review_lines(found))
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
