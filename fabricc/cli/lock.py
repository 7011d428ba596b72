"""`fabricc lock`: the lock that a spec needs, without building."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.base.diagnostics import Diagnostic, Position
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import replace
from fabricc.cli import options, output
from fabricc.cli.options import RepinningCommand, announce_repinning, repin_option
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load.affected_specs import affected_specs
from fabricc.compiler.load.lock_file import lock_change, lost_lock, second_lock, write_lock
from fabricc.compiler.load.spec_location import own_lock
from fabricc.compiler.result import exit_status
from fabricc.tree import EmitError


@click.command("lock", cls=RepinningCommand)
@options.specs_argument
@click.option("--check", is_flag=True,
              help="Write nothing; end with status 1 if fabricc.lock does not match SPEC.")  # fmt: skip
@options.changed_option
@repin_option("Change outgrown numbers, as few as possible, or only KEY; may renumber devices.")
@click.option("--own", is_flag=True,
              help="Write NAME.lock next to NAME.yaml, for one of several specs in a folder.")  # fmt: skip
@options.format_option
def command(
    specs: tuple[Path, ...],
    check: bool,
    changed: bool,
    repin: tuple[str, ...] | None,
    own: bool,
    format_: str,
) -> int:
    """Write fabricc.lock next to each SPEC: the numbers from which addresses and names follow.

    A spec with its own lock, NAME.lock next to NAME.yaml, uses that file. Growth adds lines and changes none, so
    nothing that stays is renumbered.
    """
    if check and (own or repin is not None):
        raise click.UsageError(f"--check and {'--own' if own else '--repin'} exclude each other.")
    if changed and not check:
        raise click.UsageError("--changed needs --check.")
    if changed:
        specs = tuple(affected_specs(specs, Path()))
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    lines: list[str] = []
    for spec in specs:
        place = own_lock(spec) if own else None
        compiled = compile_spec(spec, repin=repin, gaps=False, lock_path=place)
        sources.update(compiled.sources)
        if own and (second := second_lock(compiled)) is not None:
            found.append(second)
            continue
        wrong = [d for d in compiled.diagnostics if exit_status((d,))]
        if not own and (lost := lost_lock(compiled, [Path("build"), spec.parent / "build"])) is not None:
            (wrong if exit_status((lost,)) else found).append(lost)
        if not wrong and check:
            wrong = _stale_lock(compiled, spec)
            lines += [] if wrong else [f"{compiled.lock_path}: complete, nothing to write"]
        elif not wrong:
            try:
                if format_ == "text":
                    announce_repinning(compiled, output.err)
                lines.append(_write_lock(compiled))
            except EmitError as error:
                wrong = [error.diagnostic]
        found += wrong
    output.print_findings(found, format_, sources)
    if format_ == "text":
        output.out(*lines)
    return exit_status(found)


def _stale_lock(compiled: Compiled, spec: Path) -> list[Diagnostic]:
    """Return the finding of `--check` if the lock does not match the spec."""
    if compiled.lock_text == compiled.lock_before:
        return []
    verb = "build" if compiled.lock_before is None else "lock"
    remedy = f"Run `fabricc {verb} {shell_path(spec)}` and commit the lock with the spec."
    place = Position(str(spec if compiled.lock_before is None else compiled.lock_path), 1)
    return [replace(lock_change(compiled), position=place, help=remedy)]


def _write_lock(compiled: Compiled) -> str:
    outcome = "written, commit it with the spec" if write_lock(compiled) else "complete, nothing to write"
    return f"{compiled.lock_path}: {outcome}"
