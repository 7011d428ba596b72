"""`fabricc validate`: everything that is wrong with a spec, at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import output

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic


@click.command("validate", short_help="Tell everything that is wrong with a spec.")
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=click.Path(path_type=Path))
@output.format_option
def command(specs: tuple[Path, ...], format_: str) -> int:
    """Check SPEC: YAML, schema, meaning, whether the hardware can do it and the chosen NOS can say it."""
    from fabricc.compiler.front import run_front
    from fabricc.compiler.result import exit_status

    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    verdicts = []
    for spec in specs:
        front = run_front(spec, infiniband=True)
        found += front.diagnostics
        sources.update(front.sources)
        verdict = "not valid" if exit_status(front.diagnostics) else "valid"
        verdicts.append(f"{spec}: {verdict}, {output.tally(front.diagnostics)}")
    output.tell(found, format_, sources)
    if format_ == "text":
        output.out(*verdicts)
    return exit_status(found)
