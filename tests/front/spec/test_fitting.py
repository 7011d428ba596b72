"""The quick yes to a spec: never where the JSON Schema library would say no."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.front.spec.fitting import fits
from fabricc.front.spec.resources import cluster_schema
from fabricc.front.spec.validate import _validator

INVENTORIES = sorted((Path(__file__).parents[3] / "inventories").glob("*/cluster.yaml"))
SPECS = [yaml.safe_load(path.read_text()) for path in INVENTORIES]
ODD: list[Any] = [
    None, True, 0, 1, -1, 1.0, 4.5, 10**12, "", "x", "yes", "spine", "a" * 300, "line\n", [], [1], ["a", "a"],
    {}, {"a": 1}, {"model": "sn5600"},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=[path.parent.name for path in INVENTORIES])
def test_every_inventory_fits(spec: dict[str, Any]) -> None:
    assert fits(spec, cluster_schema(), cluster_schema())


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, item in inner for place in places(item, (*above, key)))]


@settings(max_examples=300)
@given(st.data())
def test_a_fitting_document_has_no_errors(data: st.DataObject) -> None:
    spec = {"": copy.deepcopy(data.draw(st.sampled_from(SPECS)))}
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = ("", *data.draw(st.sampled_from(places(spec[""]))))
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
    valid = not list(_validator().iter_errors(spec[""]))
    assert fits(spec[""], cluster_schema(), cluster_schema()) == valid
