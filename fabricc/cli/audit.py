"""`fabricc audit`: what is wrong with a fabric, from a folder of its configurations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import options, output
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from fabricc.audit import Audit
    from fabricc.base.foreign.text import Rendered

FORMATS = ("text", "json", "sarif", "github", "junit", "html")


@click.command("audit")
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, path_type=Path))
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True,
              help="How it is told; all but text go to standard output, or to the file of -o.")  # fmt: skip
@click.option(
    "--output", "-o", "target", type=options.PATH, metavar="FILE", help="Where to write it, but for text."
)
@click.option("--all", "every", is_flag=True, help="Tell every finding, not the first three of each kind.")
@options.jobs_option
def command(folder: Path, format_: str, target: Path | None, every: bool, jobs: int | None) -> int:
    """Tell what FOLDER's configurations of any fabric make of it: what is wrong for RDMA, and what was not understood.

    FOLDER has running configurations of switches as they print them, one file or folder a device, and beside them
    outputs of LLDP and version and files of hosts where there are any. Nothing is changed and nothing is asked.
    Exit status: 0 nothing is wrong, 1 something is.
    """
    from fabricc.audit import audit  # readers of every system; `--help` and completion need none
    from fabricc.audit.report import as_json, parts

    if target is not None and format_ == "text":
        raise click.UsageError("-o goes with a --format other than text.")
    with output.progress() as bar:
        found = audit(folder, jobs=jobs, progress=bar)
    diagnostics = found.every if every else found.diagnostics
    if format_ == "text":
        output.tell(diagnostics, format_, _texts(found))
        output.show(parts(found))
    elif format_ == "json":
        _write(as_json(found, diagnostics), target)
    elif format_ == "html":
        from fabricc.cli.audit_page import html

        _write(html(found), target)
    else:
        from fabricc.base.diagnostics.render import document

        _write(document(diagnostics, format_), target)
    return found.exit_status


def _texts(found: Audit) -> dict[str, str]:
    from fabricc.compiler.quoting import tree_texts

    return tree_texts(found.diagnostics, Path(found.top))


def _write(text: Rendered, target: Path | None) -> None:
    if target is None:
        output.document(text)
        return
    write_file(target, text.encode())
    output.out(f"{target}: {len(text.encode()) / 1000:,.0f} kB")
