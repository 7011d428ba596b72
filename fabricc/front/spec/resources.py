"""Where the schemas are: beside the package in a wheel, at the top of a source checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

PACKAGE = Path(__file__).resolve().parent.parent.parent


def schema_path(name: str) -> Path:
    """The file of a schema by its short name, e.g. `cluster`.

    Raises:
        FileNotFoundError: this installation does not have it.
    """
    for folder in (PACKAGE / "_schemas", PACKAGE.parent / "schemas"):
        if (path := folder / f"{name}.schema.json").is_file():
            return path
    raise FileNotFoundError(f"{name}.schema.json")


@cache
def cluster_schema() -> dict[str, Any]:
    """The JSON Schema of the cluster spec; shared, so never to be changed."""
    return cast("dict[str, Any]", json.loads(schema_path("cluster").read_text("utf-8")))


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A subschema with its `$ref` into `$defs` followed; what stands beside the reference wins."""
    if (reference := schema.get("$ref")) is None:
        return schema
    target = resolved(cluster_schema()["$defs"][reference.removeprefix("#/$defs/")])
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
