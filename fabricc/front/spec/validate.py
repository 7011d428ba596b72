"""Check a document against the JSON Schema, and report in plain words what does not fit and what would."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import Document, KeyPath, clip
from fabricc.base.documents.schema import breaches, schema_validator
from fabricc.base.numbers import group_pairs
from fabricc.catalog import library
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import TABLE_MTU_BYTES, Catalog
from fabricc.catalog.support import explain_system
from fabricc.front.spec.document import cluster_schema, format_path, format_value, join_words, resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema.exceptions import ValidationError
from fabricc.front.spec.value_help import (
    MODEL_KEYS,
    OVERLAY,
    branch_help,
    choice_help,
    first_example,
    other_family,
    partition_key_help,
    pattern_help,
    printed_name,
    sections_of,
    spreading_help,
    systems_help,
    type_help,
)

MAX_PROBLEMS = 100


TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


_ALIKE, _SIMILAR = 0.8, 0.6
"""Ratios of `difflib` from which a known key is meant for certain, and from which it is proposed."""


_MOST_SECTIONS = 3
"""Most sections that a message names."""


SIZES = {
    "minItems": "has too few items: {n} at least",
    "maxItems": "has too many items: {n} at most",
    "minProperties": "has too few entries: {n} at least",
    "maxProperties": "has too many entries: {n} at most",
    "minLength": "is too short: {n} characters at least",
    "maxLength": "is too long: {n} characters at most",
    "uniqueItems": "has an item twice",
}


def schema_problems(document: Document) -> tuple[tuple[KeyPath, Diagnostic], ...]:
    """Return every mismatch between document and schema, each with the path of the value that does not fit.

    At most 100 are reported, and one more counts the rest. Values that the reader already rejected are skipped.
    """
    found: list[tuple[KeyPath, Diagnostic]] = []
    errors = breaches(document.value, "cluster")
    for error in islice((part for whole in errors for part in _relevant_errors(whole)), 50 * MAX_PROBLEMS):
        path: KeyPath = tuple(error.absolute_path)
        if any(path[:length] in document.broken for length in range(len(path) + 1)):
            continue
        found.extend(islice(_diagnostics_of(error, path, document), MAX_PROBLEMS + 1))
        if len(found) > MAX_PROBLEMS:
            message = f"more than {MAX_PROBLEMS} problems: the rest is not listed"
            start = Position(document.file, 1, 1)
            del found[MAX_PROBLEMS:]
            found.append(((), Diagnostic("FAB1009", Severity.ERROR, message, start, "Repair these first.")))
            break
    return tuple(found)


def _relevant_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the error itself, or those of the one alternative whose type the value has."""
    if error.validator != "anyOf":
        yield error
        return
    branches = group_pairs((int(part.relative_schema_path[0]), part) for part in error.context or ())
    fitting = [
        parts
        for parts in branches.values()
        if not any(part.validator in ("type", "enum") and not part.relative_path for part in parts)
    ]
    if len(fitting) != 1:
        yield error
        return
    for part in fitting[0]:
        yield from _relevant_errors(part)


def _diagnostics_of(
    error: ValidationError, path: KeyPath, document: Document
) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """Yield the diagnostics of one schema error."""
    schema: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
    value: Any = error.instance
    expected: Any = error.validator_value
    name = format_path(path) or "the file"
    place = document.value_position(path)
    if "propertyNames" in error.absolute_schema_path:
        path = (*path, value)
        place = document.key_position(path)
        name = f"the name {format_value(value)} in {name}"

    shown = format_value(value)
    if isinstance(value, str) and (path[-1:] == ("secret",) or "secret" in schema.get("properties", ())):
        shown = "a text"  # it may be the secret itself

    wants_more = isinstance(value, dict) and "management" in path

    def problem(code: str, message: str, help: str = "") -> tuple[KeyPath, Diagnostic]:
        return path, Diagnostic(code, Severity.ERROR, message, place, help)

    match error.validator:
        case "additionalProperties":
            known = list(schema["properties"])
            for key in value:
                if key not in schema["properties"]:
                    yield _unknown_key((*path, key), known, document)
        case "required":
            # One error per missing key; the message of jsonschema is the only place that names it.
            missing = next(key for key in schema["required"] if error.message.startswith(f"{key!r} "))
            example = first_example(resolve_schema(schema)["properties"][missing])
            yield problem(
                "FAB1002",
                f"{name} needs '{missing}'",
                (missing == "nos" and systems_help(value.get("model")))
                or (f"Add `{missing}: {example}`." if example else ""),
            )
        case "type":
            wanted = (
                TYPES[expected]
                if schema.get("enum") is None
                else join_words([format_value(v) for v in schema["enum"]])
            )
            yield problem(
                "FAB1003",
                f"{name} must be {wanted}, not {shown}",
                type_help(path[-1] if path else "", expected, value, schema)
                + (f".{OVERLAY}" if wants_more else ""),
            )
        case "anyOf":
            wanted = join_words([branch["title"] for branch in expected])
            yield problem("FAB1003", f"{name} must be {wanted}, not {shown}", branch_help(value, schema))
        case "enum":
            # A value of the wrong type is reported once, by its type.
            if "type" not in schema or _has_type(value, schema["type"]):
                words = [format_value(word) for word in expected]
                yield problem(
                    "FAB1004",
                    f"{name} cannot be {format_value(value)}",
                    spreading_help(value, path) or choice_help(value, expected, words),
                )
        case "minimum" | "maximum" if not _has_type(value, schema.get("type", "number")):
            pass  # reported once, by its type
        case "minimum" | "maximum":
            least, most = schema.get("minimum"), schema.get("maximum")
            nearest = least if error.validator == "minimum" else most
            is_mtu = nearest == most and path[-2:-1] == ("mtu",) and (most or 0) > TABLE_MTU_BYTES
            tabled = f" Published buffer tables are for {TABLE_MTU_BYTES} at most." if is_mtu else ""
            yield problem(
                "FAB1005",
                f"{name} cannot be {format_value(value)}",
                (partition_key_help(value) if path and path[-1] == "pkey" else "")
                or f"It ranges from {least} to {most}; the nearest that fits is {nearest}.{tabled}",
            )
        case "pattern":
            what = schema.get("patternErrorMessage", "")
            label = name if "propertyNames" in error.absolute_schema_path else f"{name} cannot be {shown}:"
            yield problem(
                "FAB1006",
                f"{label} is not {what}" if label == name else f"{label} it must be {what}",
                other_family(value, path)
                or (explain_system(value) if path[-1:] == ("nos",) else "")
                or printed_name(value, path)
                or pattern_help(value, path, schema),
            )
        case size:
            yield problem("FAB1007", f"{name} {SIZES[str(size)].format(n=f'{expected:,}')}")


def _has_type(value: Any, kind: str) -> bool:
    return bool(schema_validator("cluster").is_type(value, kind))


_OTHER_WORDS = {
    "aaa": ("tacacs", "radius"),
    "acl": ("access",),
    "logging": ("syslog",),
    "ldap": (),
    "motd": ("banner",),
    "timezone": (),
    "tls": ("syslog_tls",),
}
"""What people call a setting of `management` -> its keys; none where only an overlay sets it."""


def _unknown_key(path: KeyPath, known_keys: list[str], document: Document) -> tuple[KeyPath, Diagnostic]:
    key = str(path[-1])
    where = f" in {format_path(path[:-1])}" if path[:-1] else ""
    spelled = clip(key).lower().replace("-", "_")
    alike = get_close_matches(spelled, known_keys, 1, _ALIKE)
    close = alike or get_close_matches(spelled, known_keys, 1, _SIMILAR)
    sections = [] if alike else _sections_with(key)
    if path[:-1] and key in cluster_schema()["properties"]:
        remedy = f"'{key}' is a top-level section: indent it like `cluster`."
        return path, Diagnostic(
            "FAB1001", Severity.ERROR, f"unknown key '{key}'{where}", document.key_position(path), remedy
        )
    remedy = f"Did you mean '{close[0]}'?" if close else f"Known keys: {', '.join(known_keys)}."
    if sections:
        places = join_words([f"`{name}`" for name in sections[:_MOST_SECTIONS]])
        remedy = f"'{key}' is a key of {places}: write it there."
    elif "management" in path and spelled in _OTHER_WORDS:
        written = join_words([f"`{name}`" for name in _OTHER_WORDS[spelled]])
        remedy = f"Write {written}." if written else OVERLAY.strip()
    elif not close and "management" in path:
        remedy += OVERLAY
    message = f"unknown key '{clip(key)}'{where}"
    return path, Diagnostic("FAB1001", Severity.ERROR, message, document.key_position(path), remedy)


def _sections_with(key: str) -> list[str]:
    """Return the top-level sections of a spec that have a key."""
    properties = cluster_schema()["properties"].items()
    return [name for name, section in properties if key in resolve_schema(section).get("properties", {})]


def load_catalog_of(document: Document) -> tuple[Catalog, tuple[Diagnostic, ...]]:
    """Return the catalog with the files that a spec names, as far as they can be read, and their problems."""
    folder, files = Path(document.file).parent, document.value.get("catalog")
    own = [folder / each for each in files if isinstance(each, str)] if isinstance(files, list) else []
    return load_catalog(own, folder=folder)


def name_problems(document: Document) -> Iterator[Diagnostic]:
    """Report models that the catalog lacks. A spec with a faulty catalog file of its own is not checked here.

    Planning reports them too, but only for a spec without other errors.
    """
    if not isinstance(document.value, dict):
        return
    own, problems = load_catalog_of(document)
    if problems:
        return
    for path, value in _walk_values(document.value, ()):
        if str(path[-1]) not in MODEL_KEYS or not isinstance(value, str) or value != value.lower():
            continue
        section = sections_of(path)[0]
        if value in (names := library.list_built_in(section)) or value in getattr(own, section):
            continue
        kind = {"hosts": "host model", "switches": "switch model", "nics": "NIC"}[section]
        near = () if library.explain_unlisted(value) else library.name_models(value, names)
        if section == "switches" and not near:
            near = _list_asic_models(value)
        help_ = f"Did you mean {' or '.join(near)}?" if near else library.explain_no_model(names)
        help_ = library.explain_unlisted(value) or help_
        message = f"the catalog has no {kind} {value!r}"
        yield Diagnostic("FAB3013", Severity.ERROR, message, document.key_position(path), help_)


def _list_asic_models(printed: str) -> tuple[str, ...]:
    """Return switches with the ASIC that a name stands for, which some system runs on; four at most."""
    if not (asic := library.name_asic(printed)):
        return ()
    switches = load_catalog()[0].switches
    return tuple(
        islice((name for name in switches if switches[name].asic_family == asic and switches[name].nos), 4)
    )


def _walk_values(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value of a document that is neither a mapping nor a list, with its path."""
    match value:
        case dict():
            for key, part in value.items():
                yield from _walk_values(part, (*path, key))
        case list():
            for index, part in enumerate(value):
                yield from _walk_values(part, (*path, index))
        case _ if path:
            yield path, value
