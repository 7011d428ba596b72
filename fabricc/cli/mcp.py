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
    help="The only folder that is read. [default: the working directory]",
)
@click.option(
    "--access",
    "access_file",
    type=options.FilePath(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Access file for `verify`. [default: no tool `verify`]",
)
def command(root: Path, access_file: Path | None) -> None:
    """Serve plan, explain, diff and audit of files in DIR, and verify of live switches, on standard input and output.

    The client, such as an assistant or an editor, starts this program; see `fabricc docs mcp`.
    """
    try:
        from fabricc.integrations.mcp import serve_stdio  # an extra that need not be installed
    except ModuleNotFoundError as error:
        remedy = "Install it: `pip install 'fabricc[mcp]'`."
        raise FindingsError(
            "FAB0070", f"the MCP server needs the Python package {error.name}", remedy
        ) from None
    serve_stdio(root, access_file)
