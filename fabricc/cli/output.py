"""How verbs talk: the one place that prints, where every text of others is escaped.

`out` and `err` take lines, `show` takes lines in a style and tables, `tell` takes findings, `document` takes what is
already in the format of a program. A line feed inside a line is shown and breaks nothing.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.screen import Line
from fabricc.base.foreign.text import Terminal, line, neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.progress import Progress, TaskID
    from rich.table import Table as Drawn

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.foreign.screen import Part, Table
    from fabricc.base.foreign.text import Markdown, Rendered

FORMATS = ("text", "json", "sarif", "github", "junit")

_WIDEST_PAGE = 100
_TRAILING = re.compile(r" +$", re.MULTILINE)

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
        if "fabricc.back.nos.templating" in sys.modules:
            sys.modules["fabricc.back.nos.templating"].set_template_path(())
        return
    from fabricc.back.nos.templating import override_digests, set_template_path

    for folder in folders:
        set_template_path([folder])
        if not override_digests():
            err(
                f"warning[FAB7013]: {folder} replaces no built-in template: it has no file such as eos/bgp.j2"
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


def out(*lines: str) -> None:
    """Print lines on standard output, each escaped unless it is `Terminal` already."""
    _print(lines, sys.stdout)


def err(*lines: str) -> None:
    """Print lines on standard error, as `out` does."""
    _print(lines, sys.stderr)


def document(text: Rendered | Markdown) -> None:
    """Print a whole document on standard output, as UTF-8."""
    click.echo(text.encode(), nl=False)


def page(text: str, laid_out: Callable[[str], str]) -> None:
    """Print a page of our own: Markdown as it is; on a terminal what `laid_out` makes of it, rendered, in a pager."""
    if not sys.stdout.isatty():
        _write(text, sys.stdout)
        return
    from rich.console import Console
    from rich.markdown import Markdown as Page

    console = Console(highlight=False, no_color="NO_COLOR" in os.environ, width=min(width(), _WIDEST_PAGE))
    with console.capture() as captured:
        console.print(Page(laid_out(text), hyperlinks=False))
    click.echo_via_pager(neutral(captured.get()), color=True)


def show(parts: Iterable[Part]) -> None:
    """Print lines in their style, and tables, on standard output."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, no_color="NO_COLOR" in os.environ)
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, Line):
                text = Text(line(part.text), part.style)
                console.print(text.append(line(part.rest), "default") if part.rest else text, soft_wrap=True)
            else:
                console.print(_drawn(part), soft_wrap=not part.title)
    shown = captured.get()
    if not sys.stdout.isatty():
        shown = _TRAILING.sub("", shown)
    _write(shown, sys.stdout)


def width() -> int:
    """Columns of the terminal, 80 where there is none."""
    from rich.console import Console

    return Console().width


def _drawn(table: Table) -> Drawn:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    if table.title:
        drawn = Drawn(
            title=Text(line(table.title), "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
        )
    else:
        drawn = Drawn(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(table.head):
        numeric = table.title and all(isinstance(row[index], int | float) for row in table.rows)
        drawn.add_column(
            Text(line(name)),
            justify="right" if numeric else "left",
            overflow="fold" if table.title else "ellipsis",
        )
    for row in table.rows:
        drawn.add_row(*(Text(f"{cell:,}" if type(cell) in (int, float) else line(str(cell))) for cell in row))
    return drawn


def _print(lines: Sequence[str], stream: TextIO) -> None:
    if lines:
        _write(Terminal("\n").join([*lines, Terminal()]), stream)


def _write(text: str, stream: TextIO) -> None:
    """Print what is laid out: nothing in it is obeyed by a runner, and what the stream cannot encode is escaped."""
    encoding = stream.encoding or "utf-8"
    shown = neutral(text).encode(encoding, "backslashreplace").decode(encoding)
    click.echo(shown, file=stream, nl=False)


def tell(diagnostics: Sequence[Diagnostic], format_: str, sources: Mapping[str, str]) -> None:
    """Print findings: text on standard error, machine formats on standard output (also when there are none)."""
    if format_ == "text":
        if diagnostics:
            from fabricc.base.diagnostics.text import render_text

            terminal = sys.stderr.isatty()
            colour = terminal and "NO_COLOR" not in os.environ
            columns = width() if terminal else None
            _write(render_text(diagnostics, sources, colour=colour, width=columns), sys.stderr)
        return
    from fabricc.base.diagnostics.render import document as rendered

    document(rendered(diagnostics, format_))


def tally(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as numbers: `2 errors, 1 warning`, or `no findings`."""
    counts: dict[str, int] = {}
    for diagnostic in diagnostics:
        counts[diagnostic.severity.value] = counts.get(diagnostic.severity.value, 0) + 1
    parts = [plural(counts[name], name) for name in ("error", "warning", "note") if name in counts]
    return ", ".join(parts) or "no findings"


def columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of two aligned columns."""
    pairs = list(rows)
    wide = max((len(name) for name, _ in pairs), default=0)
    return [f"  {name:<{wide}}  {value}" for name, value in pairs]


class Bars:
    """Progress bars on a terminal, a call for each step; `say` puts a line above them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """How many of how many are done."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(line(what), total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)

    def say(self, text: str) -> None:
        """A line that stays."""
        from rich.text import Text

        self._progress.console.print(Text(neutral(line(text))), soft_wrap=True)


@contextmanager
def progress() -> Iterator[Bars | None]:
    """Progress bars on standard error when that is a terminal, else None; what is told while they stand is lost.

    Results, findings and questions come after them, or through `Bars.say`.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    words = TextColumn("{task.description}", markup=False)
    bars = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bars, console=console, transient=True) as bar:
        yield Bars(bar)
