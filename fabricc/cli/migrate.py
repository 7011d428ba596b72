"""`fabricc migrate`: a change that cannot be made in one step, as specs that can."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from fabricc.cli import options
from fabricc.cli.shares import Share


@click.command("migrate")
@click.argument("first", metavar="SPEC", type=options.PATH)
@click.argument("second", metavar="[SPEC]", required=False, type=options.PATH)
@click.option("--base", metavar="REV", default="HEAD", show_default=True,
              help="Git revision that is deployed.")  # fmt: skip
@click.option("--keep", type=Share(), default=Fraction(3, 4), show_default="75%",
              help="Share of its paths that every rail, plane and switch keeps.")  # fmt: skip
@click.option("--write", type=options.PATH, metavar="DIR",
              help="Prove the spec of every step and write it into DIR, with worksheets for cables.")  # fmt: skip
@options.data_option()
@options.templates_option
def command(
    first: Path, second: Path | None, base: str, keep: Fraction, write: Path | None, format_: str
) -> int:
    """Tell the steps from what is deployed to SPEC, each rated; every step is a spec that builds.

    With one SPEC, what is deployed is its Git revision --base; with two, the first one.

    Exit status: 0 done, 1 an error, or a step that cannot be taken.
    """
    from fabricc.cli.migrating import migrated  # plans and compares; `--help` and completion do not

    return migrated(first, second, base, keep, write, format_)
