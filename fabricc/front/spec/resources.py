"""The schema of the spec, as the rest of the front end asks it."""

from __future__ import annotations

from typing import Any

from fabricc.base.documents.schema import load_schema


def cluster_schema() -> dict[str, Any]:
    """The JSON Schema of the cluster spec; shared, so never to be changed."""
    return load_schema("cluster")


def resolve_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A subschema with its `$ref` to a definition or section followed; what stands beside the reference wins."""
    if (reference := schema.get("$ref")) is None:
        return schema
    _, part, name = reference.split("/")
    target = resolve_schema(cluster_schema()[part][name])
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
