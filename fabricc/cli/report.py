"""`fabricc report`: the plan as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.base.foreign.files import Folder
from fabricc.cli import options, output
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.recheck import list_proof_findings
from fabricc.compiler.result import exit_status
from fabricc.review.diff.unread import list_unread_text
from fabricc.review.report.page import is_report, render_report
from fabricc.tree import EmitError
from fabricc.tree.file import write_file

_BEGINNING = 4096


@click.command("report")
@options.spec_argument
@options.network_option
@click.option("--output", "-o", "target", type=options.PATH, metavar="FILE", default="report.html",
              show_default=True, help="Output file; - for standard output.")  # fmt: skip
def command(spec: Path, network: str | None, target: Path) -> int:
    """Write SPEC as one HTML page, to read, print and sign; one page per network if there are several.

    The page loads nothing and needs no script. The lock is read and not written, as with `plan`.
    """
    if not target.name:
        raise click.BadParameter(f"'{target}' names no file", param_hint="--output")
    compiled = compile_spec(spec)
    found = (*list_proof_findings(compiled), *list_unread_text(compiled)) if compiled.sound else ()
    every = (*compiled.diagnostics, *found)
    output.print_findings(every, "text", compiled.sources)
    if not compiled.sound:
        return exit_status(every)
    if str(target) == "-":
        part = compiled.of_network(network)
        output.print_document(render_report(part, found if part is compiled else None))
        return exit_status(every)
    parts = [compiled.of_network(network)] if network else [compiled, *compiled.networks.values()]
    for part in parts:
        name = f"-{part.fabric.network}" if len(parts) > 1 and part.spec.network else ""
        file, text = (
            target.with_stem(f"{target.stem}{name}"),
            render_report(part, found if part is compiled else None),
        )
        changed = _write_page(file, text)
        output.out(f"{file}: {len(text.encode()) / 1000:,.0f} kB" + ("" if changed else ", as it was"))
    return exit_status(every)


def _write_page(target: Path, text: str) -> bool:
    """Write the page unless the file exists and is not a report; return whether the file changed.

    Raises:
        EmitError: FAB9301, or the file cannot be written.
    """
    if target.is_file() and not target.is_symlink():
        try:
            with Folder(target.parent, root=Path("/")) as folder, folder.open(target.name) as file:
                beginning = file.read(_BEGINNING)
        except OSError as error:
            raise EmitError.from_os(error, "read") from None
        if beginning and not is_report(beginning):
            remedy = "Choose another file with `-o`, or remove that one."
            raise EmitError("FAB9301", f"{target} is not a report, so it is not replaced", remedy)
    return write_file(target, text.encode())
