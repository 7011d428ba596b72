"""`fabricc build`: the whole output tree from a spec."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.cli import options, output
from fabricc.cli.options import RepinningCommand, announce_repinning, repin_option
from fabricc.cli.words import complete_planned
from fabricc.compiler.driver import build_tree
from fabricc.compiler.load.spec_location import lock_of
from fabricc.compiler.result import counted_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler import BuildResult

LEDGER = "accepted.yaml"
"""Default name of the ledger; see `compiler.accepted_lines.NAME`."""


@click.command("build", cls=RepinningCommand)
@options.spec_argument
@click.option("-o", "--output", "out", type=options.PATH, default=Path("build"), show_default=True,
              help="Folder of output trees; the tree is named after the cluster.")  # fmt: skip
@click.option("--frozen", is_flag=True, help="Fail if fabricc.lock would change (for CI).")
@repin_option(
    "Change outgrown numbers of fabricc.lock, as few as possible, or only KEY; may renumber devices."
)
@click.option("--only", multiple=True, metavar="DEVICE", shell_complete=complete_planned,
              help="Write only the files of this switch or host below the output folder; repeatable.")  # fmt: skip
@click.option("--no-check", is_flag=True, help="Do not read the files back, so nothing is proved.")
@click.option("--ledger", type=options.PATH, metavar="FILE",
              help="The ledger of accepted lines. [default: accepted.yaml in the spec's folder]")  # fmt: skip
@options.templates_option
@options.jobs_option
@options.format_option
def command(
    spec: Path,
    out: Path,
    frozen: bool,
    repin: tuple[str, ...] | None,
    only: tuple[str, ...],
    no_check: bool,
    ledger: Path | None,
    jobs: int | None,
    format_: str,
) -> int:
    """Write the configuration of every switch and host of SPEC, the plan and the job files.

    The tree appears in one step, and only after every file was read back and matches the plan. Files that did not
    change are not touched.
    """
    if frozen and repin is not None:
        raise click.UsageError("--frozen and --repin exclude each other.")
    begin = time.perf_counter()
    if only:
        if repin is not None or ledger is not None:
            raise click.UsageError("--only takes neither --repin nor --ledger.")
        from fabricc.cli.build_only import build_devices  # plans; a build that finds nothing to do does not

        return build_devices(spec, only, out, frozen, not no_check, format_, begin)
    with output.progress() as bar:
        before = partial(announce_repinning, print_line=bar.print_line if bar is not None else output.err)
        result, sources = build_tree(
            spec, out, jobs=jobs, frozen=frozen, repin=repin, check=not no_check, progress=bar,
            before=before if format_ == "text" else None,
        )  # fmt: skip
    found = (*result.diagnostics, *(_never_accepted(spec, ledger) if result.tree is not None else ()))
    output.print_findings(found, format_, sources)
    if format_ == "text":
        if result.tree is None:
            output.err(f"nothing written: {output.count_findings(result.diagnostics)}")
        else:
            output.out(*build_summary(result, spec, not no_check, time.perf_counter() - begin, found))
    return result.exit_status


def _never_accepted(spec: Path, ledger: Path | None) -> Sequence[Diagnostic]:
    """Return the warnings of the ledger of accepted lines about this spec, empty without a ledger."""
    path = ledger or spec.parent / LEDGER
    if ledger is None and not path.exists():
        return ()
    from fabricc.compiler.accepted_lines import (
        never_accepted,  # plans; a build that finds nothing to do does not
    )

    return never_accepted(spec, path)


def build_summary(
    result: BuildResult, spec: Path, checked: bool, seconds: float, found: Sequence[Diagnostic]
) -> list[str]:
    """Return the lines at the end of a build."""
    counts = result.counts
    switches = ", ".join(
        plural(counts[name], noun)
        for name, noun in (("tors", "ToR"), ("spines", "spine"), ("cores", "core"))
        if counts.get(name)
    )
    cables = sum(value for name, value in counts.items() if name.endswith("_cables"))
    if result.up_to_date:
        files = f"{result.files:,}, all up to date"
    else:
        files = (
            f"{result.files:,}: {result.written:,} written, {result.removed:,} removed, the rest untouched"
        )
    read = "every file read back" if result.proved is None else _some_devices(result.proved)
    proof = f"{read}, {result.links:,} links agree at both ends" if checked else "not checked"
    wrote = f"{lock_of(spec).name} written: commit it with the spec"
    rows = [
        ("GPUs", f"{counts['gpus']:,} in {counted_hosts(counts)}"),
        ("switches", switches),
        ("cables", f"{cables:,}"),
        ("files", files),
        ("proof", proof),
        ("lock", wrote if result.lock_changed else "unchanged"),
        *_repinned_lines(result),
        ("findings", output.count_findings(found)),
        ("time", f"{seconds:.1f} s"),
    ]
    following = f"fabricc plan {shell_path(spec)}"
    next_step = f"Next: `{following}` shows the plan behind it."
    return [f"{result.cluster}: {result.tree}", *output.align_columns(rows), next_step]


def _repinned_lines(result: BuildResult) -> list[tuple[str, str]]:
    if result.repinned is None:
        return []
    done = result.repinned
    return [("repinned", f"{done.changes}: {done.touched}" if done.pins else "nothing")]


def _some_devices(devices: int) -> str:
    what = plural(devices, "device") if devices else "no device"
    return f"{what} concerned and read back, the rest as proved before"
