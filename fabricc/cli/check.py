"""`fabricc check`: a built tree against its manifest, its plan and itself."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.back.infiniband.cabling import compare_files
from fabricc.base.diagnostics.formats import findings_object
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line, Table
from fabricc.base.values import replace
from fabricc.cli import options, output
from fabricc.compiler.committed_tree import check_committed
from fabricc.compiler.load.spec_location import input_texts
from fabricc.compiler.recheck import check_tree
from fabricc.rules.answers import ACCOUNT, account_rows, accounts_by_topic


@click.command("check")
@options.tree_argument
@options.spec_option
@options.lock_option
@click.option("--sim", is_flag=True,
              help="InfiniBand: also run opensm from these files on simulated switches (ibsim).")  # fmt: skip
@click.option("--found", multiple=True, metavar="FILE", type=options.PATH,
              help="InfiniBand: also compare the cabling with this output of ibnetdiscover; repeatable.")  # fmt: skip
@click.option(
    "--committed",
    metavar="REV",
    help="Instead, compare the tree of this Git revision (TREE, or the folder of trees) with a fresh build "
    "of its --spec.",
)
@options.templates_option
@options.jobs_option
@options.format_option
def command(
    tree: Path,
    spec: Path | None,
    lock: Path | None,
    sim: bool,
    found: tuple[Path, ...],
    committed: str | None,
    jobs: int | None,
    format_: str,
) -> int:
    """Read back every file of TREE (build/<cluster>) and compare it with a fresh plan of its spec."""
    if committed is not None:
        if spec is None or lock or sim or found:
            raise click.UsageError("--committed needs --spec, and excludes --lock, --sim and --found.")
        return _check_committed(tree, committed, spec, jobs, format_)
    with output.progress() as bar:
        result, sources = check_tree(tree, spec, lock=lock, jobs=jobs, progress=bar, simulate=sim)
    if found:
        compared = compare_files(tree, found)
        result = replace(result, diagnostics=(*result.diagnostics, *compared))
        sources = {**input_texts(compared), **sources}
    if format_ == "json":
        rules = accounts_by_topic(result.accounts)
        output.print_document(json_document({**findings_object(result.diagnostics), "rules": rules}))
    else:
        output.print_findings(result.diagnostics, format_, sources)
    if format_ == "text":
        if result.accounts:
            output.print_parts([Table("", ACCOUNT, list(account_rows(result.accounts))), Line()])
        devices = sum(result.counts.get(name, 0) for name in ("tors", "spines", "cores", "hosts"))
        verdict = "proved" if result.exit_status == 0 else "not proved"
        output.out(
            f"{tree}: {verdict}; {plural(result.files, 'file')}, {plural(devices, 'device')}, "
            f"{plural(result.links, 'link')} compared at both ends, {output.count_findings(result.diagnostics)}"
        )
    return result.exit_status


def _check_committed(folder: Path, revision: str, spec: Path, jobs: int | None, format_: str) -> int:
    with output.progress() as bar:
        result, sources = check_committed(folder, revision, spec, jobs=jobs, progress=bar)
    output.print_findings(result.diagnostics, format_, sources)
    if format_ == "text":
        verdict = "as a fresh build writes it" if result.exit_status == 0 else "not shown to be a fresh build"
        output.out(
            f"{folder} at {revision}: {verdict}; {plural(result.files, 'file')}, "
            f"{output.count_findings(result.diagnostics)}"
        )
    return result.exit_status
