"""`fabricc validate`: everything that is wrong with a spec, at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import options, output
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load.affected_specs import affected_specs
from fabricc.compiler.load.spec_location import POLICY_NAME
from fabricc.compiler.prove.device_proof import find_contradictions
from fabricc.compiler.result import exit_status
from fabricc.review.diff.review_policy import load_policy

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic


@click.command("validate")
@options.specs_argument
@options.changed_option
@options.format_option
def command(specs: tuple[Path, ...], changed: bool, format_: str) -> int:
    """Check SPEC: YAML, schema, meaning, and whether the hardware and the chosen NOS support it.

    With --changed, the policies among the files are checked too.
    """
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    if changed:
        policies = [path for path in specs if path.name == POLICY_NAME]
        found += [each for path in policies for each in load_policy(path, path.parent)[1]]
        specs = tuple(affected_specs(specs, Path()))
    verdicts = []
    for spec in specs:
        compiled = compile_spec(spec)
        findings = [*compiled.diagnostics, *_overlay_errors(compiled)]
        found += findings
        sources.update(compiled.sources)
        verdict = "not valid" if exit_status(findings) else "valid"
        verdicts.append(f"{spec}: {verdict}, {output.count_findings(findings)}")
    output.print_findings(found, format_, sources)
    if format_ == "text":
        output.out(*verdicts)
    return exit_status(found)


def _overlay_errors(compiled: Compiled) -> list[Diagnostic]:
    """Return the errors of a build in the overlays of a sound spec."""
    if not compiled.sound or compiled.infiniband is not None or not compiled.spec.overlays:
        return []
    parts = (compiled, *compiled.networks.values())
    return [each for part in parts for each in find_contradictions(part.spec, part.fabric)]
