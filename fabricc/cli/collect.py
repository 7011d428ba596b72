"""`fabricc collect`: what an audit reads, fetched from live switches."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options


@click.command("collect")
@click.argument("targets", nargs=-1, required=True)
@click.option("--output", "-o", "folder", type=options.PATH, metavar="FOLDER", required=True,
              help="Output folder, with one folder per switch.")  # fmt: skip
@click.option("--access", "access_file", type=options.PATH, metavar="FILE",
              help="The access file. [default: fabricc-access.yaml next to TARGETS, else here]")  # fmt: skip
@options.parallel_option
@click.option("--audit", "audits", is_flag=True, help="Then run `fabricc audit FOLDER`.")
def command(
    targets: tuple[str, ...], folder: Path, access_file: Path | None, parallel: int, audits: bool
) -> int:
    """Read running configuration, LLDP neighbors and version of switches, and change nothing.

    TARGETS are SYSTEM:ADDRESS, SYSTEM:NAME=ADDRESS, or files of `SYSTEM: {NAME: ADDRESS}`; systems as in a spec. Exit
    status: 0 all were read, 3 a switch could not be read; with --audit that of the audit if all were read.
    """
    from fabricc.cli.collect_run import run_collect  # loads the drivers, unlike `--help`

    return run_collect(targets, folder, access_file, parallel, audits=audits)
