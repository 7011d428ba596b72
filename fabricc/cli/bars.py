"""Progress bars on standard error, drawn by rich."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from fabricc.base.foreign.text import neutral_text, safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator


class Bars:
    """Progress bars on a terminal, one call per step; `print_line` prints a line above them."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report how many of how many are done."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(safe_line(what), total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)

    def print_line(self, text: str) -> None:
        """Print a line that stays."""
        self._progress.console.print(Text(neutral_text(safe_line(text))), soft_wrap=True)


@contextmanager
def show_bars() -> Iterator[Bars]:
    """Show progress bars on standard error, removed at the end."""
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    try:
        yield Bars(bar)
    finally:
        with suppress(OSError):  # the terminal may be gone by then
            bar.stop()
