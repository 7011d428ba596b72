"""Words that a shell completes: models, codes and releases."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from fabricc.back import nos
from fabricc.base.diagnostics.codes import TITLES
from fabricc.catalog.library import Library
from fabricc.cli.words import matching_words

if TYPE_CHECKING:
    import click


def complete_models(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete switches, hosts and NICs of the catalog."""
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
