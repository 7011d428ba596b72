"""Run `fabricc audit`: read a folder and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.audit.run import Audit, as_json, audit_fabric, report_parts
from fabricc.cli import output
from fabricc.compiler.load.spec_location import tree_texts
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from fabricc.base.foreign.text import Rendered


def run_audit(folder: Path, format_: str, target: Path | None, jobs: int | None, *, every: bool) -> int:
    """Audit and report, with the arguments of the command; return the exit status."""
    with output.progress() as bar:
        found = audit_fabric(folder, jobs=jobs, progress=bar)
    if format_ == "text":
        diagnostics = found.every if every else found.diagnostics
        output.print_findings(diagnostics, format_, tree_texts(diagnostics, Path(found.top)))
        output.print_parts(report_parts(found))
    else:
        _write_output(_render_output(found, format_, every=every), target)
    return found.exit_status


def _render_output(found: Audit, format_: str, *, every: bool) -> Rendered:
    diagnostics = found.every if every else found.diagnostics
    if format_ == "html":
        from fabricc.cli.audit_page import render_audit  # the report's page, a third of starting up

        return render_audit(found)
    return as_json(found, diagnostics) if format_ == "json" else output.render_findings(diagnostics, format_)


def _write_output(text: Rendered, target: Path | None) -> None:
    if target is None:
        output.print_document(text)
        return
    content = text.encode()
    write_file(target, content)
    output.out(f"{target}: {len(content) / 1000:,.0f} kB")
