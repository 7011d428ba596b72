"""Load the schema of the spec for the rest of the front end."""

from __future__ import annotations

from typing import Any

from fabricc.base.documents.schema import load_schema


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
