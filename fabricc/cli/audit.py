"""`fabricc audit`: what is wrong with a fabric, from a folder of its configurations."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options

FORMATS = ("text", "json", "sarif", "github", "junit", "gitlab", "html")


@click.command("audit")
@click.argument("folder", metavar="FOLDER", type=options.FilePath(exists=True, path_type=Path))
@options.add_format_option(
    FORMATS, "Output format; all but text go to standard output, or to the file of -o."
)
@click.option("--output", "-o", "target", type=options.PATH, metavar="FILE",
              help="Output file for formats other than text.")  # fmt: skip
@click.option(
    "--all", "every", is_flag=True, help="List every finding instead of the first three of each kind."
)
@options.jobs_option
def command(folder: Path, format_: str, target: Path | None, every: bool, jobs: int | None) -> int:
    """Audit the configurations in FOLDER of any fabric: RDMA problems, and lines that were not understood.

    FOLDER contains the running configurations of switches, one file or folder per device, and optionally outputs of
    LLDP and version commands and files of hosts. Nothing is changed and no device is contacted. Exit status: 0 no
    problem, 1 problems found.
    """
    if target is not None and format_ == "text":
        raise click.UsageError("-o needs a --format other than text.")
    from fabricc.cli.audit_run import run_audit  # readers of every system; `--help` and completion need none

    return run_audit(folder, format_, target, jobs, every=every)
