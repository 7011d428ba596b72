"""Print the output of verbs; only this module prints, and it escapes every foreign text.

`out` and `err` print lines, `print_parts` styled lines and tables, `print_findings` findings, and `print_document` text
in a machine format. A line feed inside a line is shown and breaks nothing. Rich draws tables, styles, pages and the
progress bars on standard error. Findings get places that programs at the top of a repository understand.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from fabricc.base.diagnostics import Diagnostic, Position
from fabricc.base.diagnostics.formats import FORMATS, render_document, render_text
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.files import repository_at
from fabricc.base.foreign.text import Part, Rendered, Terminal, break_line, neutral_text
from fabricc.base.values import replace
from fabricc.review.explain.codes import code_causes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.base.foreign.formats import Markdown
    from fabricc.cli.bars import Bars

FORMAT = "fabricc.format"
"""The key under which the context of a verb stores the requested format."""
_PLACED = ("sarif", "gitlab")
_TRAILING = re.compile(r"(?<! ) +$", re.MULTILINE)


def out(*lines: str) -> None:
    """Print lines on standard output, escaped unless `Terminal`; a terminal breaks them between words."""
    if sys.stdout.isatty():
        room = width()
        lines = tuple(part for each in lines for part in break_line(each, room))
    _print_lines(lines, sys.stdout)


def print_verbatim(*lines: str) -> None:
    """Print lines for a program or a file on standard output like `out`, but without line breaks."""
    _print_lines(lines, sys.stdout)


def err(*lines: str) -> None:
    """Print lines on standard error like `out`."""
    _print_lines(lines, sys.stderr)


def print_document(text: Rendered | Markdown) -> None:
    """Print a whole document on standard output, as UTF-8."""
    _echo_text(text.encode(), sys.stdout)


def print_page(text: str, laid_out: Callable[[str], str]) -> None:
    """Print a page of ours: Markdown as it is; on a terminal the result of `laid_out`, rendered, in a pager."""
    if not sys.stdout.isatty():
        _write_text(text, sys.stdout)
        return

    from fabricc.cli import drawing  # rich; see `width`

    click.echo_via_pager(neutral_text(drawing.render_page(laid_out(text))), color=True)


def print_parts(parts: Iterable[Part]) -> None:
    """Print styled lines and tables on standard output."""
    from fabricc.cli import drawing  # rich; see `width`

    shown = drawing.render_parts(parts)
    if not sys.stdout.isatty():
        shown = _TRAILING.sub("", shown)
    _write_text(shown, sys.stdout)


def width() -> int:
    """Return the columns of the terminal, 80 without one."""
    from fabricc.cli import drawing  # rich takes as long to import as many verbs to run: where it draws alone

    return drawing.terminal_width()


def _print_lines(lines: Sequence[str], stream: TextIO) -> None:
    if lines:
        _write_text(Terminal("\n").join([*lines, Terminal()]), stream)


def _write_text(text: str, stream: TextIO) -> None:
    """Print laid-out text: no CI runner obeys anything in it, and characters that cannot be encoded are escaped."""
    encoding = stream.encoding or "utf-8"
    shown = neutral_text(text).encode(encoding, "backslashreplace").decode(encoding)
    _echo_text(shown, stream)


def _echo_text(shown: str | bytes, stream: TextIO) -> None:
    """Print; output that standard error does not accept is lost.

    Raises:
        OSError: standard output accepts no result; BrokenPipeError if its reader is gone.
    """
    try:
        click.echo(shown, file=stream, nl=False)
    except OSError as error:
        if stream is not sys.stderr:
            error.filename = "standard output"
            raise


def print_findings(diagnostics: Sequence[Diagnostic], format_: str, sources: Mapping[str, str]) -> None:
    """Print findings: text on standard error, machine formats on standard output (also when there are none).

    A format that findings do not have, such as `table`, means text.
    """
    if format_ not in FORMATS[1:]:
        if diagnostics:
            terminal = sys.stderr.isatty()
            color = terminal and "NO_COLOR" not in os.environ
            columns = width() if terminal else None
            _write_text(render_text(diagnostics, sources, color=color, width=columns), sys.stderr)
        return
    print_document(render_findings(diagnostics, format_))


def render_findings(diagnostics: Iterable[Diagnostic], format_: str) -> Rendered:
    """Return findings in a format for programs.

    The documents of a forge are read at the top of the repository, so that their paths start there. In SARIF and a Code
    Quality report each finding has a place: a forge rejects a result without one.
    """
    if format_ in _PLACED:
        diagnostics = with_places(diagnostics)
    if format_ in (*_PLACED, "github"):
        diagnostics = in_repository(diagnostics)
    return render_document(diagnostics, format_, code_causes() if format_ == "sarif" else None)


def count_findings(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the findings as numbers: `2 errors, 1 warning`, or `no findings`."""
    counts = Counter(each.severity.value for each in diagnostics)
    parts = [plural(counts[name], name) for name in ("error", "warning", "note") if name in counts]
    return ", ".join(parts) or "no findings"


def align_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return lines of aligned columns."""
    table = list(rows)
    wide = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [
        "  " + "  ".join(f"{cell:<{size}}" for cell, size in zip(row, wide, strict=True)).rstrip()
        for row in table
    ]


@contextmanager
def progress() -> Iterator[Bars | None]:
    """Show progress bars if standard error is a terminal, else None; other output during this time is lost.

    Print results, findings and questions after them, or through `Bars.say`.
    """
    if not sys.stderr.isatty():
        yield None
        return

    from fabricc.cli.bars import show_bars  # rich; see `width`

    with show_bars() as shown:
        yield shown


_DEFAULT = "cluster.yaml"


def in_repository(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings with paths relative to the top of the repository of the working folder.

    Paths outside of the repository stay as they are; so do all where no repository tracks the working folder.
    """
    here = Path.cwd()
    top = repository_at(here)
    if top is None:
        return list(diagnostics)
    found = []
    for each in diagnostics:
        place = each.position
        path = Path(os.path.normpath(here / place.file)) if place else here
        if place and not place.file.startswith("<") and path.is_relative_to(top):
            place = replace(place, file=path.relative_to(top).as_posix())
        found.append(replace(each, position=place))
    return found


def with_places(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings, those without a place at the first line of what the command line names."""
    place = Position(_named_path(), 1)
    return [each if each.position else replace(each, position=place) for each in diagnostics]


def _named_path() -> str:
    """Return the first path among the arguments of the verb."""
    context = click.get_current_context(silent=True)
    values = [context.params.get(each.name or "") for each in context.command.params] if context else []
    paths = [path for value in values for path in (value if isinstance(value, tuple) else (value,))]
    return next((str(path) for path in paths if isinstance(path, Path)), _DEFAULT)
