"""Generate the page of a system's limits: what its releases lack, with codes, reasons and sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.model import TITLES
from fabricc.base.values import attribute_names
from fabricc.cli.reference.table import render_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.departures import Departure
    from fabricc.back.nos.limits import Limit, System

_LEAD = """\
# Limits of {name} by release

fabricc writes {name} {releases}; the default is {default}. A row that stops a build is an error, one that warns is a
warning; `fabricc explain CODE` has the remedy. `since` is the first release without the limit, by family of switches
where they differ.

## Limits

"""
_FIELD = re.compile(r"\{[^{}]*\}")
_ALLOWED = re.compile(r"\{allowed\[(\w+)\]\}")


def render_limits(nos: str) -> str:
    """Return the limits of each release of a built-in system, what every release has, and the facts not compared."""
    module = import_module(f"fabricc.back.nos.{nos}.limits")
    system: System = module.SYSTEM
    limits = [row for row in system.limits if row.code]
    supported = [row for row in system.limits if not row.code]
    releases = ", ".join(system.releases)
    text = _LEAD.format(name=system.name, releases=releases, default=system.default)
    text += render_table(
        ("code", "of", "effect", "since", "reason", "source"),
        (
            (row.code, _feature(row), "stops" if row.fatal else "warns", _releases(row),
             _reason(row), row.source)
            for row in limits
        ),
    )  # fmt: skip
    if supported:
        text += "\n## Supported\n\n" + render_table(
            ("feature", "written as", "since", "source"),
            ((_fill(row, row.title()), row.words, _releases(row), row.source) for row in supported),
        )
    if isinstance(module.RELEASES, Mapping):
        text += "\n## Files of each release\n\n" + render_table(
            ("setting", *module.RELEASES), _release_rows(module.RELEASES)
        )
    departures: tuple[Departure, ...] = import_module(f"fabricc.back.nos.{nos}").DEPARTURES
    if departures:
        text += "\n## Facts that differ from the plan\n\nThe system rounds these values, or has no place for them.\n\n"
        text += render_table(
            ("facts", "value", "reason"),
            ((f"`{each.path}`", str(each.kind), each.reason) for each in departures),
        )
    return text


def _release_rows(releases: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the settings whose values differ between releases."""
    first = next(iter(releases.values()))
    for name in attribute_names(type(first)):
        values = [_format_setting(getattr(release, name)) for release in releases.values()]
        if name != "name" and len(set(values)) > 1:
            yield (f"`{name}`", *values)


def _format_setting(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{key}: {', '.join(sorted(names))}" for key, names in value.items())
        return "; ".join(parts)
    if isinstance(value, tuple):
        return "; ".join(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _releases(row: Limit) -> str:
    if row.since is None:
        return "none"
    if isinstance(row.since, str):
        return row.since
    return "; ".join(f"{family} {release or 'none'}" for family, release in row.since.items())


def _feature(row: Limit) -> str:
    """Return the subject of a row, with the commands or tables that carry it."""
    feature = _fill(row, row.title())
    if not re.search("[a-z]", feature):
        feature = TITLES[row.code].lower()
    return f"{feature} ({row.words})" if row.words else feature


def _reason(row: Limit) -> str:
    if row.reason:
        return _fill(row, row.reason)
    return "not in earlier releases" if row.since else "in no known release"


def _fill(row: Limit, text: str) -> str:
    """Return a format with the supported ranges, and "…" for values that depend on the switch."""
    known = _ALLOWED.sub(lambda found: str(row.allowed.get(found[1], "…")), text)
    return _FIELD.sub("…", known)
