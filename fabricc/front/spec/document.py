"""Load the schema of the spec, fill in its defaults, collect diagnostics, and format paths and values in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import Document, KeyPath, clip
from fabricc.base.documents.schema import load_schema

if TYPE_CHECKING:
    from collections.abc import Mapping


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


# Below these, absent means "as planned" or "not that one", which is no assumption.
NO_ASSUMPTIONS = (("overrides",), ("external",), ("accept",), ("policy",), ("replaced",))
IPV4_POOLS = ("hosts", "links", "loopbacks")
IPV6_POOLS = ("hosts6", "links6", "loopbacks6")


class Assumptions:
    """The defaults taken, by path."""

    def __init__(self) -> None:
        self.by_path: dict[KeyPath, Any] = {}

    def add_default(self, value: Any, *path: str | int) -> None:
        """Note a default; a mapping is noted by its leaves."""
        if path[:1] in NO_ASSUMPTIONS and len(path) > 1:
            return
        if isinstance(value, dict) and value:
            for key, part in value.items():
                self.add_default(part, *path, key)
        else:
            self.by_path[path] = value

    def remove_default(self, *path: str | int) -> None:
        """Drop a default that does not apply after all."""
        self.by_path.pop(path, None)

    def in_schema_order(self) -> Mapping[str, Any]:
        """Dotted path -> value, in the order in which the schema lists its properties."""
        return {format_path(path): self.by_path[path] for path in sorted(self.by_path, key=_rank_path)}


def fill_defaults(value: Any, assumptions: Assumptions) -> dict[str, Any]:
    """Return a copy of a schema-valid spec (or of its valid sections) with every default in place."""
    whole: dict[str, Any] = _fill_value(value, cluster_schema(), (), assumptions)
    addressing = whole.get("addressing")
    if addressing is not None:
        for pool in (
            unused_pools(addressing, joined=joins_switches(value)).keys() - value.get("addressing", {}).keys()
        ):
            assumptions.remove_default("addressing", pool)
            if addressing["family"] == "ipv4" and pool in IPV6_POOLS:
                del addressing[pool]
    return whole


def joins_switches(raw: Mapping[str, Any]) -> bool:
    """Return whether a spec has links between switches: to spines, or between two ToRs."""
    tors = raw.get("tors")
    return "spines" in raw or (isinstance(tors, dict) and "peer_links" in tors)


def unused_pools(raw: Mapping[str, Any], *, joined: bool) -> dict[str, str]:
    """Pools that the fabric takes no address from, and why: they overlap nothing and are no assumption.

    Switches that are not `joined` by any link have no links pool.
    The IPv4 loopbacks are used in every family: router IDs come from them.
    """
    unused = dict.fromkeys(IPV6_POOLS, "family ipv4") if raw["family"] == "ipv4" else {}
    if raw["fabric_links"] == "unnumbered":
        unused |= dict.fromkeys(("links", "links6"), "unnumbered links")
    if not joined:
        unused |= dict.fromkeys(("links", "links6"), "no spines")
    if raw["family"] == "ipv6":
        unused |= dict.fromkeys(("hosts", "links"), "family ipv6")
    return unused


def _fill_value(value: Any, schema: dict[str, Any], path: KeyPath, assumptions: Assumptions) -> Any:
    schema = resolve_schema(schema)
    if "anyOf" in schema and isinstance(value, dict):
        schema = next((b for b in map(resolve_schema, schema["anyOf"]) if b["type"] == "object"), schema)
    if isinstance(value, list) and "items" in schema:
        return [_fill_value(item, schema["items"], (*path, i), assumptions) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    properties: dict[str, Any] = schema.get("properties", {})
    for key, part in properties.items():
        if key in value:
            result[key] = _fill_value(value[key], part, (*path, key), assumptions)
        elif "default" in part:
            default = part["default"]
            if default != {}:
                assumptions.add_default(default, *path, key)
            result[key] = _fill_value(default, part, (*path, key), assumptions)
    if isinstance(others := schema.get("additionalProperties"), dict):
        for key, part in value.items():
            result[key] = _fill_value(part, others, (*path, key), assumptions)
    return result


def _rank_path(path: KeyPath) -> tuple[tuple[int, str], ...]:
    """Sorts by place in the schema; names that users give sort among themselves by spelling."""
    rank: list[tuple[int, str]] = []
    schema = cluster_schema()
    for part in path:
        schema = resolve_schema(schema)
        if "anyOf" in schema:
            schema = next((b for b in map(resolve_schema, schema["anyOf"]) if b["type"] == "object"), {})
        properties = schema.get("properties", {})
        if part in properties:
            rank.append((list(properties).index(part), ""))
            schema = properties[part]
        else:
            rank.append((len(properties), f"{part:08}" if isinstance(part, int) else part))
            schema = schema.get("additionalProperties") or schema.get("items") or {}
            schema = schema if isinstance(schema, dict) else {}
    return tuple(rank)
