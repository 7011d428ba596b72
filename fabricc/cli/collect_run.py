"""Run `fabricc collect`: read switches, write files, and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.cli import logins, output
from fabricc.cli.audit_run import run_audit
from fabricc.compiler.result import ENVIRONMENT
from fabricc.operate.collect import collect, parse_targets

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_collect(
    words: Sequence[str], folder: Path, access_file: Path | None, parallel: int, *, audits: bool
) -> int:
    """Read, write and report, with the arguments of the command; return the exit status."""
    devices = parse_targets(words)
    named = next((Path(word) for word in words if Path(word).is_file()), Path("targets.yaml"))
    access = logins.access(named, access_file)
    with output.progress() as bar:
        fetched = collect(devices, access, folder, parallel, bar or (lambda *_: None))
    findings = [one for each in fetched.values() for one in (*each.failures, *each.lacks)]
    output.print_findings(findings, "text", {})
    files = sum(len(each.files) for each in fetched.values())
    unasked = [name for name, each in fetched.items() if each.failures]
    requested = plural(len(fetched) - len(unasked), "switch")
    left = f", {len(unasked):,} not contacted" if unasked else ""
    output.out(
        f"{folder}: {plural(files, 'file')} of {requested}{left}; they contain running configurations, "
        "also password hashes"
    )
    status = run_audit(folder, "text", None, None, every=False) if audits and files else 0
    return ENVIRONMENT if unasked else status
