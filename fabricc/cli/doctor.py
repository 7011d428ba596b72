"""`fabricc doctor`: everything that a deployment depends on, with a remedy for each line."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Table
from fabricc.cli import logins, options, output
from fabricc.compiler.compiled import compile_spec
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import NAME
from fabricc.operate.doctor import Check, State, check_machine, check_repository, check_spec, check_switches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@click.command("doctor")
@click.argument("spec", type=options.PATH, required=False)
@options.access_option
@options.parallel_option
@options.data_option("A table for people, or one JSON object.")
def command(spec: Path | None, access_file: Path | None, parallel: int, format_: str) -> int:
    """Check this machine, and with SPEC its repository and switches; nothing changes.

    Versions, packages, programs and the clock; with SPEC also the spec, its lock, Git and the access file, and with an
    access file the login, release and clock of every switch. Every line has a remedy. Exit status: 0 no errors, 1 an
    error.
    """
    if spec is None and access_file is not None:
        raise click.UsageError("--access needs SPEC, which has the switches.")
    found = [*check_machine()]
    if spec is not None:
        found += _check_spec(spec, access_file, parallel)
    counts = Counter(each.state for each in found)
    if format_ == "json":
        output.print_document(json_document({"checks": [each._asdict() for each in found]}))
    else:
        output.print_parts([_table(found)])
        output.out("", ", ".join(_count(counts[state], state) for state in State if counts[state]))
    return 1 if counts[State.ERROR] else 0


def _count(count: int, state: State) -> str:
    """Return a number of checks in a state, such as `2 warnings`."""
    return plural(count, str(state)) if state in (State.WARNING, State.ERROR) else f"{count} {state}"


def _check_spec(spec: Path, access_file: Path | None, parallel: int) -> Iterator[Check]:
    compiled = compile_spec(spec)
    yield from check_spec(compiled)
    yield from check_repository(spec)
    if compiled.infiniband is not None:
        words = "switches of InfiniBand have no configuration and no logins"
        yield Check("switches", State.SKIPPED, words, "`fabricc verify TREE` reads the subnets.")
        return
    if access_file is None and not (spec.parent / NAME).exists():
        remedy = "Write one (`fabricc docs push`), and run `fabricc trust` for it."
        yield Check(NAME, State.SKIPPED, "missing: no switch was contacted", remedy)
        return
    try:
        access = logins.access(spec, access_file)
    except DeviceError as error:
        yield Check(
            NAME, State.ERROR, error.diagnostic.message, error.diagnostic.help or "See `fabricc docs push`."
        )
        return
    if compiled.planned is None:
        return
    for fabric in (compiled.planned, *compiled.planned.networks):
        with output.progress() as bar:
            yield from [*check_switches(fabric, access, parallel, partial(bar or _no_progress, "switches"))]


def _no_progress(*_: object) -> None:
    return


def _table(found: Sequence[Check]) -> Table:
    return Table("", ("subject", "state", "found", "remedy"), [[*each] for each in found])
