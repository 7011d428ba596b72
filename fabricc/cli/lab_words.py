"""Words that a shell completes: labs, their nodes, and what can be broken in them."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.cli.words import matching_words
from fabricc.operate.lab import failure, state

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from fabricc.operate.lab.state import Record


def complete_labs(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete labs of this machine."""
    return matching_words(sorted(file.parent.name for file in state.DEFAULT.glob(f"*/{state.RECORD}")), begun)


def complete_nodes(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete switches and hosts of the selected lab."""
    lab = _lab_record(context)
    return matching_words([*lab.switches, *lab.hosts], begun) if lab else []


def complete_targets(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete targets in the selected lab: switches, and after a colon both ends of each cable."""
    lab = _lab_record(context)
    if lab is None:
        return []
    if ":" not in begun:
        return matching_words(lab.switches, begun)
    ends = chain.from_iterable((cable[0:2], cable[2:4]) for cable in lab.cables)
    return matching_words(sorted(f"{device}:{port}" for device, port in ends), begun)


def _lab_record(context: click.Context) -> Record | None:
    named = context.params.get("state")
    try:
        return state.load_record(state.folder_of(context.params.get("name"), Path(named) if named else None))
    except (failure.LabError, OSError):
        return None
