"""`fabricc migrate`: split a change into specs that can be deployed one after another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import options
from fabricc.cli.options import Share

if TYPE_CHECKING:
    from fractions import Fraction


@click.command("migrate")
@click.argument("first", metavar="SPEC", type=options.PATH)
@click.argument("second", metavar="[SPEC]", required=False, type=options.PATH)
@click.option("--base", metavar="REV", default="HEAD", show_default=True,
              help="The deployed Git revision.")  # fmt: skip
@click.option("--keep", type=Share(), default="75%", show_default=True,
              help="Share of its paths that every rail, plane and switch keeps at each step.")  # fmt: skip
@click.option("--write", type=options.PATH, metavar="DIR",
              help="Prove the spec of every step and write it to DIR, with worksheets for cables.")  # fmt: skip
@options.data_option()
@options.templates_option
def command(
    first: Path, second: Path | None, base: str, keep: Fraction, write: Path | None, format_: str
) -> int:
    """Split the change from the deployed spec to SPEC into rated steps; every step is a spec that builds.

    With one SPEC, the deployed spec is its Git revision --base; with two, the first one.

    Exit status: 0 done, 1 an error, or a step that is not possible.
    """
    from fabricc.cli.migrate_run import run_migration  # plans and compares; `--help` and completion do not

    return run_migration(first, second, base, keep, write, format_)
