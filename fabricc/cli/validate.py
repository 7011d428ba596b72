"""`fabricc validate`: everything that is wrong with a spec, at once."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import output


@click.command("validate", short_help="Tell everything that is wrong with a spec.")
@click.argument("spec", type=click.Path(path_type=Path))
@output.format_option
def command(spec: Path, format_: str) -> int:
    """Check SPEC: YAML, schema, meaning, whether the hardware can do it and the chosen NOS can say it."""
    from fabricc.build.front import run_front
    from fabricc.build.result import exit_status

    front = run_front(spec)
    output.tell(front.diagnostics, format_, front.sources)
    status = exit_status(front.diagnostics)
    if format_ == "text":
        verdict = "valid" if status == 0 else "not valid"
        click.echo(f"{spec}: {verdict}, {output.tally(front.diagnostics)}")
    return status
