"""How verbs talk: findings, small tables and progress, each on its own stream."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.diagnostics.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.diagnostics import Diagnostic

_LARGEST_SOURCE = 8 << 20
FORMATS = ("text", "json", "sarif", "github", "junit")

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How findings are told; all but text go to standard output, for machines.",
)
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(1, 256), help="Worker processes. [default: one per CPU]"
)


def _use_templates(_context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> None:
    """Search these folders before the built-in templates, or none; FAB7013 for one that replaces nothing."""
    if not folders:
        if "fabricc.nos.templating" in sys.modules:
            sys.modules["fabricc.nos.templating"].set_template_path(())
        return
    from fabricc.nos.templating import override_digests, set_template_path

    for folder in folders:
        set_template_path([folder])
        if not override_digests():
            click.echo(
                f"warning[FAB7013]: {folder} replaces no built-in template: it has no file such as eos/bgp.j2",
                err=True,
            )
    set_template_path(folders)


templates_option = click.option(
    "--templates",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    envvar="FABRICC_TEMPLATES",
    metavar="DIR",
    expose_value=False,
    callback=_use_templates,
    help="Folder of your own templates, searched before the built-in ones; repeatable. [env: FABRICC_TEMPLATES]",
)


def tell(diagnostics: Sequence[Diagnostic], format_: str, sources: Mapping[str, str]) -> None:
    """Print findings: text on standard error, machine formats on standard output (also when there are none)."""
    if format_ == "text" and not diagnostics:
        return
    from fabricc.diagnostics.render import render

    if format_ == "text":
        sources = _with_files(diagnostics, sources)
    text = render(diagnostics, format_, sources, colour=sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    click.echo(text, err=format_ == "text", nl=not text.endswith("\n"))


def _with_files(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> dict[str, str]:
    """The sources, and the text of further files that findings point into."""
    known = dict(sources)
    for name in {d.position.file for d in diagnostics if d.position} - known.keys():
        with suppress(OSError), Path(name).open(encoding="utf-8", errors="replace") as file:
            known[name] = file.read(_LARGEST_SOURCE)
    return known


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as numbers: `2 errors, 1 warning`, or `no findings`."""
    counts: dict[str, int] = {}
    for diagnostic in diagnostics:
        counts[diagnostic.severity.value] = counts.get(diagnostic.severity.value, 0) + 1
    parts = [plural(counts[name], name) for name in ("error", "warning", "note") if name in counts]
    return ", ".join(parts) or "no findings"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two aligned columns."""
    pairs = list(rows)
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in pairs)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar on standard error when that is a terminal, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {}

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        yield advance
