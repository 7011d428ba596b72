"""The catalog: built-in models, lazily read, with users' files checked and put before them."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic
from fabricc.base.foreign.files import root_below
from fabricc.catalog.checks import host_findings, switch_findings
from fabricc.catalog.document import catalog_error, read_document
from fabricc.catalog.library import (
    MAX_EXTENDS,
    SECTIONS,
    ExtendsTooDeepError,
    Library,
    Models,
    UnknownModelError,
    replace_sources,
)
from fabricc.catalog.model import Catalog
from fabricc.catalog.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabricc.base.diagnostics import Position
    from fabricc.base.documents.document import Document, KeyPath

MAX_FILES = 256


def load_catalog(
    extra: Sequence[Path] = (), named_at: Sequence[Position] = (), folder: Path | None = None
) -> tuple[Catalog, tuple[Diagnostic, ...]]:
    """Return the catalog with users' files on top; a model of theirs hides the built-in one of the same name.

    Built-in models are read when first looked up. Users' files are checked here and now: a file with a
    breach of the schema is left out whole, a model that contradicts itself is left out alone. Never raises
    for what stands in a user's file.

    Args:
        extra: users' catalog files; later ones override earlier ones.
        named_at: where each of them is named; a file that cannot be opened is reported there.
        folder: that of the spec which names them, out of which no link may lead; None where a user names them.

    Returns:
        The catalog, and one diagnostic for each problem: FAB2101 unreadable, FAB2102 not such YAML, FAB2103
        against the schema, FAB2104 unknown source, FAB2105 reference to nothing, FAB2106 contradiction.
    """
    if not extra:
        return _load_builtin(), ()
    library = Library()
    found: list[Diagnostic] = []
    origins: dict[tuple[str, str], Document] = {}
    for path, at in zip_longest(extra[:MAX_FILES], named_at[:MAX_FILES]):
        document = read_document(path, at, folder and root_below(folder, path))
        if isinstance(document, Diagnostic):
            found.append(document)
        elif problems := tuple(_file_problems(document)):
            found += problems
        else:
            for section in SECTIONS:
                for name, raw in document.value.get(section, {}).items():
                    library.add(section, name, replace_sources(raw, document.value.get("sources", {})))
                    origins[section, name] = document
    found += _drop_contradictions(library, origins)
    return _build_catalog(library), tuple(found)


@cache
def _load_builtin() -> Catalog:
    """Return the built-in models alone, each read once in a process."""
    return _build_catalog(Library())


def _build_catalog(library: Library) -> Catalog:
    return Catalog(
        switches=Models(library.names("switches"), library.switch),
        hosts=Models(library.names("hosts"), library.host),
        nics=Models(library.names("nics"), library.nic),
    )


def _file_problems(document: Document) -> Iterator[Diagnostic]:
    if not isinstance(document.value, dict):
        remedy = f"Begin with one of: {', '.join(SECTIONS)}."
        yield catalog_error("FAB2103", "a catalog file is a mapping", document.key_position(()), remedy)
        return
    from fabricc.catalog.validate import schema_breaches

    breaches = schema_breaches(document)
    yield from breaches
    if not breaches:
        for section in (name for name in SECTIONS if name in document.value):
            yield from _unknown_sources(document, document.value[section], (section,))


def _unknown_sources(document: Document, value: Any, path: KeyPath) -> Iterator[Diagnostic]:
    """FAB2104 where a source is one word, hence meant as an id, and the file's `sources` has no such id."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_sources(document, item, (*path, index))
    if not isinstance(value, dict):
        return
    known = document.value.get("sources", {})
    for key, item in value.items():
        if key == "source" and " " not in item and item not in known:
            remedy = did_you_mean(item, known) or "Add it to `sources`, or write the citation out."
            at = document.key_position((*path, key))
            yield catalog_error("FAB2104", f"unknown source {item[:60]!r}", at, remedy)
        else:
            yield from _unknown_sources(document, item, (*path, key))


def _drop_contradictions(library: Library, origins: dict[tuple[str, str], Document]) -> Iterator[Diagnostic]:
    """Assemble every model of the users' files once, and leave out those that fail, and those built on them."""
    pending = [
        key for section in ("tables", "nics", "switches", "hosts") for key in origins if key[0] == section
    ]
    while pending:
        failed = []
        for section, name in pending:
            problems = tuple(_model_problems(library, section, name, origins[section, name]))
            yield from problems
            if problems:
                library.remove(section, name)
                failed.append((section, name))
        pending = [key for key in pending if key not in failed] if failed else []


def _model_problems(library: Library, section: str, name: str, document: Document) -> Iterator[Diagnostic]:
    path: KeyPath = (section, name)
    try:
        if lacking := _missing_base(library, section, name, document):
            yield from lacking
            return
        findings = tuple(_model_findings(library, section, name))
    except UnknownModelError as unknown:
        kind = {"switches": "switch", "hosts": "host", "nics": "NIC", "tables": "table"}[unknown.section]
        referred = {"tables": ("buffers", "headroom"), "nics": ("nic",)}
        key = ("extends",) if unknown.section == section else referred.get(unknown.section, ("extends",))
        remedy = did_you_mean(unknown.name, library.names(unknown.section))
        where = document.key_position((*path, *key))
        yield catalog_error("FAB2105", f"{name}: no {kind} `{unknown.name}`", where, remedy)
    except ExtendsTooDeepError:
        where = document.key_position((*path, "extends"))
        told = f"{name} extends itself, or a base more than {MAX_EXTENDS} steps away"
        yield catalog_error("FAB2105", told, where, "Extend a built-in model.")
    except (KeyError, ValueError) as failure:
        reason = f"{failure.args[0]!s}"[:60] if failure.args else ""
        yield catalog_error(
            "FAB2106", f"{name}: incomplete or malformed at {reason!r}", document.key_position(path)
        )
    else:
        for below, message, remedy in findings:
            yield catalog_error(
                "FAB2106", f"{name}: {message}", document.key_position((*path, *below)), remedy
            )


def _missing_base(library: Library, section: str, name: str, document: Document) -> list[Diagnostic]:
    if "extends" not in document.value[section][name]:
        return []
    from fabricc.catalog.validate import completeness_breaches

    return completeness_breaches(section, name, library.raw(section, name), document)


def _model_findings(library: Library, section: str, name: str) -> Iterator[tuple[KeyPath, str, str]]:
    if section == "switches":
        yield from switch_findings(library.switch(name))
    elif section == "hosts":
        yield from host_findings(library.host(name))
    elif section == "nics":
        library.nic(name)
