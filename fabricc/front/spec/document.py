"""Load the schema of the spec, collect the diagnostics about a spec, and format paths and values in them."""

from __future__ import annotations

from typing import Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import Document, KeyPath, clip
from fabricc.base.documents.schema import load_schema


class Findings:
    """Diagnostics in the making: collected, never thrown."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.diagnostics: list[Diagnostic] = []

    def error(self, code: str, message: str, *path: str | int, help: str = "") -> None:
        """Note an error about the value at `path`."""
        self._add(code, Severity.ERROR, message, path, help)

    def warning(self, code: str, message: str, *path: str | int, help: str = "") -> None:
        """Note a warning about the value at `path`."""
        self._add(code, Severity.WARNING, message, path, help)

    def _add(self, code: str, severity: Severity, message: str, path: KeyPath, help: str) -> None:
        self.diagnostics.append(Diagnostic(code, severity, message, self.document.value_position(path), help))


def format_path(path: KeyPath) -> str:
    """Return a path as people write it: `gpus.groups[0].model`."""
    words = ""
    for part in path:
        words += f"[{part}]" if isinstance(part, int) else f".{clip(part)}" if words else clip(part)
    return words


def format_value(value: Any) -> str:
    """Return a value as messages print it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case str():
            return f"'{clip(value)}'" if value else "an empty text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def join_words(words: list[str], last: str = "or") -> str:
    """Join words: `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def cluster_schema() -> dict[str, Any]:
    """Return the JSON Schema of the cluster spec; shared, so never to be changed."""
    return load_schema("cluster")


def resolve_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a subschema with its `$ref` to another part resolved (RFC 6901); keys next to the reference win."""
    if (reference := schema.get("$ref")) is None:
        return schema
    part = cluster_schema()
    for name in reference.removeprefix("#/").split("/"):
        part = part[name]
    target = resolve_schema(part)
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
