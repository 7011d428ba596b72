"""The published schema: valid itself, described everywhere, closed, and of one mind with its own examples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from fabricc.base import installation
from fabricc.base.documents.schema import schema_path
from fabricc.front.spec.document import cluster_schema, resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def each_subschema(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for key, part in schema.get("properties", {}).items():
        yield from each_subschema(resolve_schema(part), f"{path}/{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(part := schema.get(key), dict):
            yield from each_subschema(resolve_schema(part), f"{path}/*")
    for index, part in enumerate(schema.get("anyOf", ())):
        yield from each_subschema(resolve_schema(part), f"{path}|{index}")


ALL = dict(each_subschema(cluster_schema()))
PROPERTIES = {
    f"{path}/{key}": resolve_schema(part)
    for path, schema in ALL.items()
    for key, part in schema.get("properties", {}).items()
}


def test_it_is_a_2020_12_schema() -> None:
    Draft202012Validator.check_schema(cluster_schema())


@pytest.mark.parametrize("path", PROPERTIES)
def test_a_property_has_hover_text_and_a_default_or_an_example(path: str) -> None:
    schema = PROPERTIES[path]
    assert schema["description"].endswith(".")
    assert schema.keys() & {"default", "examples", "enum"}


@pytest.mark.parametrize("path", PROPERTIES)
def test_defaults_and_examples_fit_their_own_property(path: str) -> None:
    schema = PROPERTIES[path]
    check = Draft202012Validator(cluster_schema()).evolve(schema=schema)
    for value in [*schema.get("examples", ()), *([schema["default"]] if "default" in schema else ())]:
        check.validate(value)


def test_every_schema_mapping_is_closed_or_typed() -> None:
    mappings = [schema for schema in ALL.values() if schema.get("type") == "object"]
    assert all("additionalProperties" in schema for schema in mappings)
    assert all(
        "propertyNames" in schema for schema in mappings if schema["additionalProperties"] is not False
    )


def test_every_text_is_restricted() -> None:
    texts = {path: schema for path, schema in ALL.items() if schema.get("type") == "string"}
    assert [path for path, schema in texts.items() if not schema.keys() & {"pattern", "enum"}] == [
        "/accept/*/reason"
    ]
    for path, schema in texts.items():
        if "pattern" in schema:
            assert schema["pattern"].startswith("^"), path
            assert schema["pattern"].endswith("$"), path
            assert schema["patternErrorMessage"], path


def test_alternatives_are_named() -> None:
    branches = [branch for schema in ALL.values() for branch in schema.get("anyOf", ())]
    assert branches
    assert all(branch["title"] for branch in branches)


def test_it_is_found_in_a_wheel_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fabricc" / "_schemas").mkdir(parents=True)
    inside = tmp_path / "fabricc" / "_schemas" / "cluster.schema.json"
    inside.write_text(json.dumps({"title": "inside"}))
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "fabricc")
    assert schema_path("cluster") == inside
    with pytest.raises(FileNotFoundError):
        schema_path("absent")
