"""`fabricc upgrade`: another release of an operating system, planned."""

from __future__ import annotations

from typing import Any

import click

from fabricc.cli import options, words
from fabricc.cli.options import Share


@click.command("upgrade")
@options.spec_argument
@click.option("--to", required=True, metavar="NOS-RELEASE", shell_complete=words.complete_releases,
              help="The new release, such as sonic-202511.")  # fmt: skip
@click.option("--from", "since", metavar="NOS-RELEASE", shell_complete=words.complete_releases,
              help="The present release. [default: any other of that system]")  # fmt: skip
@click.option("--only", multiple=True, metavar="SWITCH", shell_complete=words.complete_planned,
              help="Only this switch; repeatable.")  # fmt: skip
@click.option("--images", type=options.PATH, metavar="FILE",
              help="Table of image files: nos, release, model, file, sha256.")  # fmt: skip
@click.option("--keep", type=Share(), default="75%", show_default=True,
              help="Share of its paths that every rail, plane and switch keeps at each step.")  # fmt: skip
@click.option("--wave-size", "most", type=click.IntRange(1), help="Maximum number of switches in one wave.")
@click.option("--write", type=options.PATH, metavar="DIR",
              help="Prove the spec of the new release, and write it and the present one to DIR.")  # fmt: skip
@options.data_option()
@options.templates_option
def command(**chosen: Any) -> int:
    """Plan an upgrade of SPEC's switches: changes, suitable switches, order, images, and the way back.

    No switch is contacted and nothing is changed: `fabricc push --hook` installs the release.

    Exit status: 0 it can be done, 1 an error: a switch does not support the release, or an image differs from the
    table.
    """
    from fabricc.cli.upgrade_run import run_upgrade  # plans and compares; `--help` and completion do not

    return run_upgrade(**chosen)
