"""`fabricc adopt`: a spec, a lock and tables of a fabric that runs, from a folder of its configurations."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options, output


@click.command("adopt")
@click.argument("folder", metavar="FOLDER", type=options.FilePath(exists=True, path_type=Path))
@click.option("--output", "-o", "target", type=options.PATH, required=True, metavar="OUT",
              help="Folder that the spec is written into; nothing there is written over.")  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of the cluster. Default: that of FOLDER.")
@click.option("--all", "every", is_flag=True, help="Tell every finding, not the first three of each kind.")
@options.jobs_option
def command(folder: Path, target: Path, name: str | None, every: bool, jobs: int | None) -> int:
    """Write the spec that builds the fabric of FOLDER's configurations as it is: names, addresses, ASNs and ports stay.

    FOLDER is what `fabricc audit` takes. What a build would do otherwise is told with its reason, and listed in
    adoption.txt and adoption.json beside the spec. Exit status: 0 it can be built, 1 it cannot.
    """
    from fabricc.audit.adopt import report, run  # readers of every system; `--help` and completion need none

    with output.progress() as bar:
        adoption = run.adopt(folder, name, jobs=jobs, progress=bar)
    reports = {report.TEXT: report.as_text(adoption), report.JSON: str(report.as_json(adoption))}
    written = run.write(adoption, target, reports)
    diagnostics = run.diagnostics_of(adoption, every=every)
    output.tell(diagnostics, "text", run.texts(diagnostics, folder))
    output.show(report.parts(adoption))
    output.out(f"{target}: {', '.join(written)}")
    if not adoption.adopted.compiled.sound:
        return 1
    output.out(
        f"Next: `fabricc build {target / 'cluster.yaml'}`, then `fabricc diff` before anything changes."
    )
    return 0
