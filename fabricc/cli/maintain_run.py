"""Run `fabricc maintain`: plan the spec, prepare the maintenance, and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.cli import output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.recheck import list_proof_findings
from fabricc.compiler.result import exit_status
from fabricc.operate.maintain.prepare import MaintenanceRequest, prepare_maintenance
from fabricc.operate.maintain.report import as_json, render_maintenance

if TYPE_CHECKING:
    from pathlib import Path


_INSTEAD = "`fabricc explain SPEC DEVICE` shows what is left while a device of InfiniBand is out."
"""What does the job for InfiniBand."""


def run_maintenance(spec: Path, format_: str, **request: Any) -> int:
    """Prepare and report; return the exit status. Keyword arguments have the names of the command's parameters."""
    compiled = compile_ethernet(spec, _INSTEAD)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    with output.progress() as bars:
        found = prepare_maintenance(compiled, MaintenanceRequest(**request), bars or (lambda *_: None))
    proof = tuple(
        replace(each, position=None) for each in list_proof_findings(compiled)
    )  # of no file on disk
    found = replace(found, findings=(*proof, *found.findings))
    if format_ == "json":
        output.print_document(as_json(found))
    else:
        output.print_parts(render_maintenance(found))
        output.print_findings(found.findings, "text", compiled.sources)
    return exit_status(found.findings)
