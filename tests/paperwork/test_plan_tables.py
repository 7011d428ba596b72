"""The tables that workers write, a device at a time, against the whole fabric's own account."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.foreign.formats import csv_text
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.links import port_layout
from fabricc.paperwork import plan_tables as tables
from tests import tenanted

INVENTORIES = Path(__file__).parents[2] / "inventories"


@pytest.mark.parametrize(
    "name", ["superpod-b200-4su", "rack-zone-512", pytest.param("hpn-dual-plane-pod", marks=pytest.mark.slow)]
)
def test_the_switches_cables_are_the_cabling_plan(name: str) -> None:
    fabric = compile_spec(INVENTORIES / name / "cluster.yaml", gaps=False).fabric
    assert fabric is not None
    each = ((fabric.switch(place), port_layout(fabric, place)) for place in fabric.switch_ids())
    rows = tables.device_rows(each).texts[1]
    assert rows == csv_text(tables.cabling_rows(fabric))


def test_a_link_outside_on_a_reserved_port_is_one_row() -> None:
    fabric = tenanted.compiled_exits("frr").fabric
    assert fabric is not None
    each = ((fabric.switch(place), port_layout(fabric, place)) for place in fabric.switch_ids())
    text = tables.device_rows(each).texts[1]
    rows = [line.split(",") for line in text.splitlines()]
    outside = [(row[0], row[3]) for row in rows if row[3] in ("filer-1", "r-1", "v-1")]
    assert outside == [("external", "filer-1"), ("external", "v-1"), ("external", "r-1")]
    assert text == csv_text(tables.cabling_rows(fabric))


@given(st.lists(st.lists(st.text("ab,\"\n\r ;'", max_size=4), min_size=3, max_size=3)))
def test_rows_joined_are_rows_as_csv_has_them(rows: list[list[str]]) -> None:
    assert tables.join_rows([tuple(row) for row in rows]) == csv_text([tuple(row) for row in rows])
