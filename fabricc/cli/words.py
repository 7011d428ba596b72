"""Words that a shell completes: devices of a spec or a tree, models, codes and releases.

Completion runs at every key press of a user who may be half done: what cannot be read completes to nothing.
"""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from fabricc.back import nos
from fabricc.base.diagnostics import TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

_MOST = 1000
"""The largest number of offered words; a shell completes again after more letters."""


def complete_subjects(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete devices of the first named spec."""
    return (
        []
        if context.params.get("words")
        else matching_words(_spec_devices(context.params.get("first")), begun)
    )


def complete_maintained(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete devices of `cluster.yaml`, as the spec comes after them; else the spec itself."""
    known = (
        matching_words(_spec_devices(context.params.get("spec") or "cluster.yaml"), begun) if begun else []
    )
    return known or [CompletionItem(begun, type="file")]


def complete_planned(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete devices of the named spec."""
    spec = context.params.get("spec") or next(iter(context.args), "")  # see `complete_switches`
    return matching_words(_spec_devices(spec), begun)


def _spec_devices(spec: object) -> Iterable[str]:
    """Return switches and hosts of a spec, each once; none if it does not plan."""
    from fabricc.compiler.compiled import compile_spec  # the other words need no plan

    path = Path(str(spec or ""))
    compiled = compile_spec(path, gaps=False) if path.is_file() else None
    if compiled is None:
        return ()
    fabric = compiled.planned if compiled.infiniband is None else compiled.infiniband.wiring
    if fabric is None:
        return ()
    every = (fabric, *fabric.networks)
    switches = (each.name(at) for each in every for at in each.switch_ids())
    hosts = (name for each in every for unit in each.units.values() for name in unit.hosts.values())
    return dict.fromkeys(chain(switches, hosts))


def complete_switches(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete switches of the named built tree, after the last comma of a list."""
    tree = context.params.get("tree") or next(
        iter(context.args), ""
    )  # not parsed yet behind an option without value
    folder = Path(str(tree)) / "switches"
    before, comma, last = begun.rpartition(",")
    try:
        names = sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
    return [CompletionItem(f"{before}{comma}{item.value}") for item in matching_words(names, last)]


def matching_words(words: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the words that continue the given beginning."""
    return [
        CompletionItem(word) for word in islice((each for each in words if each.startswith(begun)), _MOST)
    ]


def complete_models(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete switches, hosts and NICs of the catalog."""
    from fabricc.catalog.library import Library  # a build that finds nothing to do needs no catalog

    library = Library()
    names = chain.from_iterable(library.names(section) for section in ("switches", "hosts", "nics"))
    return matching_words(names, begun)


def complete_explained(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the first argument of `explain`: a code, or a file."""
    codes = [CompletionItem(code, help=title) for code, title in TITLES.items()]
    known = [item for item in codes if begun and item.value.startswith(begun.upper())]
    return known or [CompletionItem(begun, type="file")]


def complete_releases(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete systems with their known releases."""
    every = (f"{name}-{release}" for name in nos.list_names() for release in nos.load(name).releases)
    return matching_words(every, begun)
