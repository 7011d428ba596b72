"""The fast check of a spec never accepts what the JSON Schema library would reject."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.base.documents.schema import breaches, fits_schema, schema_validator
from fabricc.front.spec.document import cluster_schema
from tests.effort import scale_examples

INVENTORIES = sorted((Path(__file__).parents[3] / "inventories").glob("*/cluster.yaml"))
SPECS = [yaml.safe_load(path.read_text()) for path in INVENTORIES]
ODD: list[Any] = [
    None, True, 0, 1, -1, 1.0, 4.5, 10**12, "", "x", "yes", "spine", "a" * 300, "line\n", [], [1], ["a", "a"],
    {}, {"a": 1}, {"model": "sn5600"},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=[path.parent.name for path in INVENTORIES])
def test_every_inventory_fits(spec: dict[str, Any]) -> None:
    assert fits_schema(spec, cluster_schema(), cluster_schema())


def find_places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, item in inner for place in find_places(item, (*above, key)))]


@settings(max_examples=scale_examples(300))
@given(st.data())
def test_a_fitting_document_has_no_errors(data: st.DataObject) -> None:
    spec = {"": copy.deepcopy(data.draw(st.sampled_from(SPECS)))}
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = ("", *data.draw(st.sampled_from(find_places(spec[""]))))
        holder: Any = spec
        for key in above:
            holder = holder[key]
        change = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "replace":
            holder[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
        elif change == "remove" and last != "":
            del holder[last]
        elif isinstance(holder[last], dict):
            holder[last][data.draw(st.sampled_from(["x", "X y", "su001-tor1a"]))] = data.draw(
                st.sampled_from(ODD)
            )
    valid = not list(schema_validator("cluster").iter_errors(spec[""]))
    assert fits_schema(spec[""], cluster_schema(), cluster_schema()) == valid


@pytest.mark.parametrize(
    ("name", "value", "keyword"),
    [
        ("policy", {"max_gpus_affected": 64.0}, "type"),
        ("cluster", {"gpus": {"model": "dgx-h100", "hosts": 4.0}}, "anyOf"),
    ],
)
def test_a_count_with_a_point_breaches_every_schema(name: str, value: dict[str, Any], keyword: str) -> None:
    assert [each.validator for each in breaches(value, name) if each.validator != "required"] == [keyword]


def test_a_breach_of_a_pattern_names_the_value() -> None:
    (breach,) = (each for each in breaches({"cluster": "No\n"}, "cluster") if each.validator == "pattern")
    assert breach.message.startswith("'No\\n' does not match '^")
