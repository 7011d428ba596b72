"""`fabricc completion`: shell completion scripts."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from fabricc.cli import output
from fabricc.cli.entry import cli


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    For bash: `fabricc completion bash > ~/.local/share/bash-completion/completions/fabricc`; for the others see
    `fabricc docs completion`.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    output.print_verbatim(*kind(cli, {}, "fabricc", "_FABRICC_COMPLETE").source().split("\n"))
