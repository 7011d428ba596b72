"""`fabricc mcp`: a server of the Model Context Protocol that changes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.base.diagnostics import FindingsError
from fabricc.cli import options


@click.command("mcp")
@click.option(
    "--root",
    type=options.FilePath(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Folder that may be read; nothing outside it is. [default: the one that it is started in]",
)
@click.option(
    "--access",
    "access_file",
    type=options.FilePath(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="How `verify` logs in to switches. [default: there is no `verify`]",
)
def command(root: Path, access_file: Path | None) -> None:
    """Answer on standard input and output: plan, explain, diff and audit of what is in DIR, verify of live switches.

    Started by the program that asks, such as an assistant or an editor; see `fabricc docs mcp`.
    """
    try:
        from fabricc.integrations.mcp import serve_stdio  # an extra that need not be installed
    except ModuleNotFoundError as error:
        remedy = "Install it: `pip install 'fabricc[mcp]'`."
        raise FindingsError(
            "FAB0070", f"the MCP server needs the Python package {error.name}", remedy
        ) from None
    serve_stdio(root, access_file)
