"""Run `fabricc upgrade`: plan the spec with another release, compare, and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.cli import output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.recheck import list_proof_findings
from fabricc.compiler.result import exit_status
from fabricc.operate.upgrade import Release, UpgradeRequest, as_json, prepare_upgrade, render_upgrade

if TYPE_CHECKING:
    from pathlib import Path


_INSTEAD = "Switches of InfiniBand have no configuration: upgrade their firmware with the maker's tools."
"""What does the job for InfiniBand."""


def run_upgrade(spec: Path, to: str, since: str | None, format_: str, **request: Any) -> int:
    """Plan and report; return the exit status. Keyword arguments have the names of the command's parameters."""
    compiled = compile_ethernet(spec, _INSTEAD)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    wanted = UpgradeRequest(Release.of(to), Release.of(since) if since else None, **request)
    with output.progress() as bars:
        found = prepare_upgrade(compiled, wanted, bars or (lambda *_: None))
    proof = tuple(
        replace(each, position=None) for each in list_proof_findings(compiled)
    )  # of no file on disk
    found = replace(found, findings=(*proof, *found.findings))
    if format_ == "json":
        output.print_document(as_json(found, str(spec)))
    else:
        output.print_parts(render_upgrade(found, str(spec)))
        output.print_findings(found.findings, "text", {})
    return exit_status(found.findings)
