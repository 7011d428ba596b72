"""`fabricc sign`: a built tree, so that what is pushed is what was reviewed."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.cli import options, output
from fabricc.proof import signatures
from fabricc.tree.file import write_file


@click.command("sign")
@options.tree_argument
@click.option("--key", type=options.PATH, metavar="FILE",
              help="Private key of SSH or minisign, or public one of SSH that an agent has.")  # fmt: skip
@click.option("--out", type=options.PATH, metavar="FILE",
              help="File of the signature. [default: TREE.sig, or TREE.minisig for minisign]")  # fmt: skip
@click.option("--verify", "allowed", type=options.PATH, metavar="ALLOWED",
              help="Sign nothing: verify that a key in this file signed the tree.")  # fmt: skip
@options.signature_option
def command(
    tree: Path, key: Path | None, out: Path | None, allowed: Path | None, signature: Path | None
) -> int:
    """Sign TREE (build/<cluster>), or verify its signature; it covers the manifest with every file's SHA-256.

    The tree must be unchanged since its build. Exit status: 0 done, 1 not signed, or changed after signing.
    """
    if (key is None) == (allowed is None):
        raise click.UsageError("Name either --key, to sign, or --verify.")
    if (out and allowed) or (signature and key):
        raise click.UsageError("--out needs --key, and --signature needs --verify.")
    if allowed is not None:
        output.out(f"{tree}: signed by {signatures.verify_signer(tree, allowed, signature)}")
    elif key is not None:
        kind, made = signatures.sign_tree(tree, key)
        place = out or signatures.signature_path(tree, kind)
        write_file(place, made)
        output.out(f"{place}: the signature of {tree}")
    return 0
