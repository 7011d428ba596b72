"""`fabricc collect`: what an audit reads, fetched from live switches."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options


@click.command("collect")
@click.argument("targets", nargs=-1, required=True)
@click.option("--output", "-o", "folder", type=options.PATH, metavar="FOLDER", required=True,
              help="Where to put a folder for each switch.")  # fmt: skip
@click.option("--access", "access_file", type=options.PATH, metavar="FILE",
              help="How to log in. [default: fabricc-access.yaml beside the file of targets, else here]")  # fmt: skip
@options.parallel_option
@click.option("--audit", "audits", is_flag=True, help="Then tell what `fabricc audit FOLDER` does.")
def command(
    targets: tuple[str, ...], folder: Path, access_file: Path | None, parallel: int, audits: bool
) -> int:
    """Ask switches for their running configuration, LLDP neighbours and version, changing nothing.

    TARGETS are SYSTEM:ADDRESS, SYSTEM:NAME=ADDRESS, or files of `SYSTEM: {NAME: ADDRESS}`; systems as in a spec.
    Exit status: 0 all were asked, 3 a switch could not be; with --audit that of the audit where all were.
    """
    from fabricc.cli.collecting import collected  # what asks switches; `--help` and completion do not

    return collected(targets, folder, access_file, parallel, audits=audits)
