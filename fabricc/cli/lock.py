"""`fabricc lock`: the lock that a spec needs, without building."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import output
from fabricc.cli.repin import RepinningCommand, announce, repin_option

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.front import Front


@click.command(
    "lock", cls=RepinningCommand, short_help="Write the lock that a spec needs, or check that it is there."
)
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--check", is_flag=True, help="Write nothing; exit status 1 when fabricc.lock is not what SPEC needs."
)
@repin_option("Change the fewest numbers that the spec has outgrown, or just KEY: may renumber.")
@click.option(
    "--own", is_flag=True, help="Write NAME.lock beside NAME.yaml, for one of several specs in a folder."
)
@output.format_option
def command(
    specs: tuple[Path, ...], check: bool, repin: tuple[str, ...] | None, own: bool, format_: str
) -> int:
    """Write fabricc.lock beside each SPEC: the numbers that addresses and names follow from.

    A spec that has a lock of its own, NAME.lock beside NAME.yaml, is locked there.
    Growth adds lines and changes none, so that nothing that stays is renumbered.
    """
    if check and (own or repin is not None):
        raise click.UsageError(f"--check and {'--own' if own else '--repin'} exclude each other.")
    from fabricc.compiler.front import own_lock, run_front, second_lock
    from fabricc.compiler.result import exit_status
    from fabricc.tree import EmitError

    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    told: list[str] = []
    for spec in specs:
        place = own_lock(spec) if own else None
        front = run_front(spec, repin=repin, gaps=False, infiniband=True, lock_path=place)
        sources.update(front.sources)
        if own and (second := second_lock(front)) is not None:
            found.append(second)
            continue
        wrong = [d for d in front.diagnostics if exit_status((d,))]
        if not wrong and check:
            wrong = _stale(front, spec)
            told += [] if wrong else [f"{front.lock_path}: as it has to be"]
        elif not wrong:
            try:
                if format_ == "text":
                    announce(front, output.err)
                told.append(_written(front))
            except EmitError as error:
                wrong = [error.diagnostic]
        found += wrong
    output.tell(found, format_, sources)
    if format_ == "text":
        output.out(*told)
    return exit_status(found)


def _stale(front: Front, spec: Path) -> list[Diagnostic]:
    """What `--check` says when the lock is not what the spec needs."""
    from fabricc.base.diagnostics import Position
    from fabricc.compiler.front import lock_change

    if front.lock_text == front.lock_before:
        return []
    verb = "build" if front.lock_before is None else "lock"
    remedy = f"Run `fabricc {verb} {shlex.quote(str(spec))}` and commit the lock with the spec."
    place = Position(str(spec if front.lock_before is None else front.lock_path), 1)
    return [replace(lock_change(front), position=place, help=remedy)]


def _written(front: Front) -> str:
    from fabricc.compiler.driver import write_lock

    return (
        f"{front.lock_path}: {'written, commit it with the spec' if write_lock(front) else 'as it has to be'}"
    )
