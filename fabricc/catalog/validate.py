"""Users' catalog files against the published schema: every breach as a diagnostic with its place."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from fabricc.base.documents.schema import breaches
from fabricc.catalog.document import catalog_error
from fabricc.catalog.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import Document, KeyPath

MAX_BREACHES = 50


def schema_breaches(document: Document) -> list[Diagnostic]:
    """FAB2103 for everything in which the file differs from `schemas/catalog.schema.json`, 50 at most."""
    return _schema_diagnostics(document.value, document)


def completeness_breaches(section: str, name: str, raw: Any, document: Document) -> list[Diagnostic]:
    """FAB2103 for what a model still lacks after the merge with what it extends."""
    return _schema_diagnostics({section: {name: raw}}, document)


def _schema_diagnostics(root: Any, document: Document) -> list[Diagnostic]:
    found: dict[Diagnostic, None] = {}  # a missing key is a violation of its own, reported with the others
    for breach in islice(breaches(root, "catalog"), MAX_BREACHES):
        path: KeyPath = tuple(breach.absolute_path)
        for key, message, remedy in _explain_breach(breach):
            where = (*path, key) if key is not None else path
            found[
                catalog_error(
                    "FAB2103", f"{_dotted_path(path)}{message}", document.key_position(where), remedy
                )
            ] = None
    return sorted(list(found)[:MAX_BREACHES], key=lambda one: (one.position, one.message))


def _explain_breach(breach: Any) -> Iterator[tuple[str | None, str, str]]:
    """Key concerned (None: the value itself), message and remedy of one breach."""
    described = breach.schema.get("description", "") if isinstance(breach.schema, dict) else ""
    if breach.validator == "additionalProperties" and isinstance(breach.instance, dict):
        known = breach.schema.get("properties", {})
        for key in breach.instance:
            if key not in known:
                yield key, f"unknown key {_shorten_value(key)}", did_you_mean(key, known)
    elif breach.validator == "required":
        missing = [key for key in breach.validator_value if key not in breach.instance]
        yield (
            None,
            f"the key `{missing[0] if len(missing) == 1 else '`, `'.join(missing)}` is missing",
            described,
        )
    elif breach.validator == "oneOf" and described.startswith("exactly one of"):
        remedy = "Name where the figure comes from in `source`, or write `assumed: true`."
        yield None, described, remedy
    else:
        yield None, f"{_shorten_value(breach.instance)} does not fit ({breach.validator})", described


def _dotted_path(path: KeyPath) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _shorten_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
