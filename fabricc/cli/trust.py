"""`fabricc trust`: access files that the user has read and agrees to."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options, output
from fabricc.operate.devices.access import trust_access
from fabricc.operate.devices.trust import list_trusted, remove_trust


@click.command("trust")
@click.argument("files", metavar="FILE...", nargs=-1, type=options.PATH)
@click.option("--remove", is_flag=True, help="End the trust in each FILE.")
@click.option("--list", "lists", is_flag=True, help="List the files that are trusted.")
def command(files: tuple[Path, ...], *, remove: bool, lists: bool) -> int:
    """Trust the present content of each access FILE (fabricc-access.yaml), so that verbs use it for its spec.

    Read the file first: it decides which of your secrets are sent to which addresses. Trust ends when the file, or one
    of its known hosts, authorities or signers in the same folder changes, and when its folder is renamed.
    """
    if lists == bool(files) or (lists and remove):
        raise click.UsageError("Name access files, or use --list alone.")
    if lists:
        output.out(*(str(path) for path in list_trusted()))
        return 0
    for path in files:
        if remove:
            removed = remove_trust(path)
            output.out(f"{path}: no longer trusted" if removed else f"{path}: it was not trusted")
            continue
        access = trust_access(path)
        if access.unverified:
            output.err(f"warning: {path} turns off the verification of host keys or certificates")
        output.out(f"{path}: trusted as it is now; it uses {', '.join(access.places()) or 'no secret'}")
    return 0
