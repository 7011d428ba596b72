"""Give findings places that programs at the top of a repository understand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics import Position
from fabricc.base.foreign.files import repository_at
from fabricc.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics import Diagnostic

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
