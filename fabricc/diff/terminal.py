"""A review on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.diagnostics import Severity
from fabricc.diff import wording
from fabricc.diff.model import Impact
from fabricc.diff.names import fold
from fabricc.diff.phrases import phrases

if TYPE_CHECKING:
    from rich.console import Console

    from fabricc.diff.model import FileDiff, Group, Review

_COLOURS = {"none": "green", "low": "green", "medium": "yellow", "high": "red"}
_LINES = 40
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def show(review: Review, *, colour: bool = True) -> None:
    """Print it on standard output; each diff is cut after some lines, Markdown and JSON have it all."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True, no_color=not colour)
    console.print(Text(wording.verdict_line(review), style=f"bold {_COLOURS[review.risk]}"))
    console.print(Text(f"{review.cluster}: {review.base} → {review.head}", style="dim"))
    for d in review.violations:
        console.print(Text(f"policy {d.code}: {d.message}. {d.help}", style="bold red"))
    if review.differs:
        _rows(console, wording.impact_rows(review))
    for step in wording.drain_steps(review):
        console.print(Text(step))
    if review.spec_changes:
        console.print(Text("\nspec", style="bold"))
    for change in review.spec_changes:
        place = f"  {change.position.file}:{change.position.line}" if change.position else ""
        console.print(
            Text(f"  {change.path}: {change.before or 'absent'} → {change.after or 'absent'}{place}")
        )
    figures = [(f.name, f"{f.before or '-'} → {f.after or '-'}") for f in review.figures if f.changed]
    if figures:
        console.print(Text("\nplan", style="bold"))
        _rows(console, figures)
    if review.differs and (same := wording.key_figures(review)):
        console.print(Text(f"\nplan, unchanged: {same}", style="dim"))
    for group in review.groups:
        _group(console, group)
    for title, names in wording.fleets(review):
        console.print(Text(f"\n{title}: {fold(names, 20)}"))
    for d in review.findings:
        if d.severity is not Severity.NOTE:
            console.print(Text(f"\n{d.severity.value} {d.code}: {d.message}", style="yellow"))
    if following := wording.next_command(review):
        console.print(Text(f"\nNext: {following}"))


def _rows(console: Console, rows: list[tuple[str, str]]) -> None:
    from rich.text import Text

    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(Text(f"  {name:<{width}}  {value}"))


def _group(console: Console, group: Group) -> None:
    from rich.text import Text

    style = "bold red" if group.impact >= Impact.TRAFFIC_LOSS else "bold"
    console.print(Text(f"\n{wording.title(group)}", style=style))
    console.print(Text(f"  {fold(group.devices)}", style="dim"))
    for phrase in phrases(group):
        console.print(Text(f"  {phrase.theme}: {phrase.text}"))
    for file in group.files:
        _file(console, file, group)


def _file(console: Console, file: FileDiff, group: Group) -> None:
    from rich.text import Text

    of = f" of {group.devices[0]}" if len(group.devices) > 1 else ""
    console.print(Text(f"  {file.path}{of} (+{file.added} -{file.removed})", style="dim"))
    lines = file.text.splitlines()
    for line in lines[:_LINES]:
        console.print(Text(f"    {line}", style=_DIFF_COLOURS.get(line[:1], "")))
    if len(lines) > _LINES:
        console.print(Text(f"    … {len(lines) - _LINES} more lines", style="dim"))
