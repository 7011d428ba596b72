"""`fabricc import`: write identity tables from the records of another system about an existing fabric."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options, output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.result import exit_status
from fabricc.fabric.shape import TierName
from fabricc.front.spec.netbox import read_export
from fabricc.paperwork.netbox import tables_of
from fabricc.tree.file import make_folder, write_file

_INSTEAD = "Name the real GUIDs in the file of `infiniband.guids`."
"""What does the job for InfiniBand."""


@click.group(cls=options.Group)
def command() -> None:
    """Import tables of identities from another system."""


@command.command()
@click.argument("path", type=options.FilePath(exists=True, path_type=Path))
@click.option("--spec", type=options.FilePath(path_type=Path), default="cluster.yaml", show_default=True,
              help="The spec of these switches.")  # fmt: skip
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE=TIER",
    help="Tier (tor, spine, core) of a role whose name does not show it; repeatable.",
)
@click.option("-o", "--output", "folder", type=options.FilePath(path_type=Path),
              help="Folder for devices.csv and links.csv. [default: folder of the spec]")  # fmt: skip
def netbox(path: Path, spec: Path, roles: tuple[str, ...], folder: Path | None) -> int:
    """Write tables of identities from PATH: devices, addresses and cables of a NetBox as JSON or CSV."""
    stated = dict(_parse_role(each) for each in roles)
    export = read_export(path)
    output.print_findings(export.findings, "text", {})
    if not export.devices:
        return exit_status(export.findings)
    targets = {key: (folder or spec.parent) / f"{key}.csv" for key in ("devices", "links")}
    if own := sorted(
        {each.resolve() for each in targets.values()} & {each.resolve() for each in export.files}
    ):
        raise click.UsageError(f"{own[0]} is of the export itself: name another folder with -o")
    compiled = compile_ethernet(spec, _INSTEAD, gaps=False)
    if compiled.planned is None:
        output.print_findings(compiled.diagnostics, "text", compiled.sources)
        return exit_status(compiled.diagnostics)
    tables = tables_of(export, compiled.planned, stated)
    output.print_findings(tables.findings, "text", {})
    if exit_status(tables.findings):
        return 1
    make_folder(folder or spec.parent)
    for key, target in targets.items():
        if text := getattr(tables, key):
            write_file(target, text.encode())
            output.err(f"{target}: written; name it in the spec with `identities: {{{key}: {target.name}}}`")
    return 0


def _parse_role(text: str) -> tuple[str, TierName]:
    role, _, tier = text.rpartition("=")
    if not role or tier not in list(TierName):
        raise click.BadParameter(f"{text!r} is not ROLE=TIER with tor, spine or core", param_hint="--role")
    return role, TierName(tier)
