"""`fabricc audit`: what is wrong with a fabric, from a folder of its configurations."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options

FORMATS = ("text", "json", "sarif", "github", "junit", "html")


@click.command("audit")
@click.argument("folder", metavar="FOLDER", type=options.FilePath(exists=True, path_type=Path))
@options.formats(FORMATS, "How it is told; all but text go to standard output, or to the file of -o.")
@click.option("--output", "-o", "target", type=options.PATH, metavar="FILE",
              help="Where to write it, but for text.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Tell every finding, not the first three of each kind.")
@options.jobs_option
def command(folder: Path, format_: str, target: Path | None, every: bool, jobs: int | None) -> int:
    """Tell what FOLDER's configurations of any fabric make of it: what is wrong for RDMA, and what was not understood.

    FOLDER has running configurations of switches as they print them, one file or folder a device. Outputs of LLDP and
    version, and files of hosts, stand beside them where there are any. Nothing is changed and nothing is asked.
    Exit status: 0 nothing is wrong, 1 something is.
    """
    if target is not None and format_ == "text":
        raise click.UsageError("-o goes with a --format other than text.")
    from fabricc.cli.auditing import audited  # readers of every system; `--help` and completion need none

    return audited(folder, format_, target, jobs, every=every)
