"""`fabricc adopt`: a spec, a lock and tables of a fabric that runs, from a folder of its configurations."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.base.foreign.shell import shell_path
from fabricc.cli import options, output


@click.command("adopt")
@click.argument("folder", metavar="FOLDER", type=options.FilePath(exists=True, path_type=Path))
@click.option("--output", "-o", "target", type=options.PATH, required=True, metavar="OUT",
              help="Folder for the spec; existing files are not overwritten.")  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of the cluster. Default: that of FOLDER.")
@click.option(
    "--all", "every", is_flag=True, help="List every finding instead of the first three of each kind."
)
@options.jobs_option
def command(folder: Path, target: Path, name: str | None, every: bool, jobs: int | None) -> int:
    """Write a spec that builds the fabric of FOLDER unchanged: names, addresses, ASNs and ports stay.

    FOLDER has the same content as for `fabricc audit`. Each difference of a build is reported with its reason, and
    listed in adoption.txt and adoption.json next to the spec. Exit status: 0 the spec can be built and contains every
    device, 1 otherwise. A spec that cannot be built is written as cluster.draft.yaml.
    """
    from fabricc.audit.adopt import report, run  # readers of every system; `--help` and completion need none

    with output.progress() as bar:
        adoption = run.adopt(folder, name, jobs=jobs, progress=bar)
    reports = {report.TEXT: report.as_text(adoption), report.JSON: str(report.as_json(adoption))}
    written = run.write_adoption(adoption, target, reports)
    diagnostics = run.diagnostics_of(adoption, every=every)
    output.print_findings(diagnostics, "text", run.finding_texts(diagnostics, folder))
    output.print_parts(report.report_parts(adoption))
    output.out(f"{target}: {', '.join(written)}")
    if not adoption.adopted.usable:
        return 1
    spec = shell_path(target / "cluster.yaml")
    output.out(f"Next: `fabricc build {spec}`, then `fabricc diff` before anything changes.")
    return 1 if adoption.adopted.left else 0
