"""`fabricc catalog import`: an entry of your own catalog file, made of what others publish about a switch."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.catalog.importing import Wishes, import_switch
from fabricc.cli import options, output
from fabricc.compiler.result import exit_status
from fabricc.tree.file import write_file


@click.command("import")
@click.argument("path", type=options.FilePath(exists=True, path_type=Path))
@click.option("--sku", help="Hardware SKU of a SONiC platform; its default SKU otherwise.")
@click.option("--asic", help="The ASIC, by its name in the catalog, where the folder does not tell it.")
@click.option("--name", help="Name of the entry.")
@click.option("--since", metavar="RELEASE", help="First release of SONiC that runs on it.")
@click.option("-o", "--output", "target", type=options.FilePath(path_type=Path), default="-", show_default=True,
              help="Catalog file to write; - for standard output.")  # fmt: skip
def command(
    path: Path, sku: str | None, asic: str | None, name: str | None, since: str | None, target: Path
) -> int:
    """Make a catalog entry of PATH, a SONiC platform folder or a NetBox device type, and say what it lacks."""
    made = import_switch(path, Wishes(name, asic, sku, since))
    output.tell(made.found, "text", {})
    if made.text and str(target) == "-":
        output.verbatim(*made.text.splitlines())
    elif made.text:
        write_file(target, made.text.encode())
        output.err(f"{target}: written; name it in the `catalog` of a spec")
    return exit_status(made.found)
