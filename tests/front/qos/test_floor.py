"""No headroom is below what arrives after a pause is due, whoever shipped the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.catalog.library import Library
from fabricc.catalog.model import HeadroomRow, SwitchModel
from fabricc.front.qos import QosFinding, build_worksheet, switch_qos
from fabricc.front.qos.headroom import find_headroom
from fabricc.front.qos.wire import adjacent_rows, floor_bytes, floor_steps, is_steep
from tests.samples import CLASSES

LIBRARY = Library()
BUFFERS = {name: LIBRARY.switch(name).buffers for name in LIBRARY.names("switches")}
MODELS = sorted(
    {(b.rows, b.formula): name for name, b in BUFFERS.items() if b.rows}.values()
)  # one of the equal ones
SPEEDS = st.sampled_from((10, 25, 40, 50, 100, 200, 400, 800, 1600))
METRES = st.integers(1, 3000)
MTUS = st.integers(1500, 9216)


def floor_findings(model: SwitchModel, speed: int, metres: int) -> list[QosFinding]:
    return list(switch_qos(CLASSES, model, {(speed, metres): 8}, 9216, 7709)[1])


def with_rows(model: SwitchModel, *rows: HeadroomRow, formula: bool = True) -> SwitchModel:
    buffers = replace(model.buffers, rows=rows, formula=model.buffers.formula if formula else None)
    return replace(model, buffers=buffers)


def test_the_worked_example() -> None:
    """400G over 5 m: 905 quanta, two frames, 2 x 5 m at 198,000 km/s, a pause frame."""
    assert [int(step.value) for step in floor_steps(400, 5, 9216)] == [57_920, 9216, 9216, 2525, 84]
    assert floor_bytes(400, 5, 9216) == 78_962


@given(SPEEDS, METRES, MTUS)
def test_the_floor_grows_with_cable_and_frame_and_never_undercuts_a_term(
    speed: int, metres: int, mtu: int
) -> None:
    floor = floor_bytes(speed, metres, mtu)
    assert floor_bytes(speed, metres + 1, mtu) >= floor
    assert floor_bytes(speed, metres, mtu + 1) == floor + 2
    assert all(step.value > 0 for step in floor_steps(speed, metres, mtu))
    assert floor >= 2 * mtu + 2 * metres * speed * 10**9 // 198_000_000 // 8


@given(metres=METRES, mtu=MTUS)
def test_a_speed_without_a_figure_answers_in_the_time_of_the_next_slower_one(metres: int, mtu: int) -> None:
    answer = {speed: floor_steps(speed, metres, mtu)[0].value for speed in (800, 1600)}
    assert answer[1600] == 2 * answer[800]


@pytest.mark.parametrize("name", MODELS)
@given(speed=SPEEDS, metres=METRES, mtu=MTUS)
def test_no_headroom_that_is_planned_without_an_error_is_below_the_floor(
    name: str, speed: int, metres: int, mtu: int
) -> None:
    model = LIBRARY.switch(name)
    figures = find_headroom(model.buffers, speed, metres, mtu)
    if figures is None:
        return
    assert figures.cable_m >= metres
    if figures.xoff_bytes < floor_bytes(speed, metres, mtu):
        reported = switch_qos(CLASSES, model, {(speed, metres): 8}, mtu, 7709)[1]
        assert "FAB5650" in {finding.code for finding in reported if finding.severity is Severity.ERROR}


@pytest.mark.parametrize(
    ("name", "speed", "metres"),
    [("sn4700", 400, 5), ("sn4700", 400, 40), ("sn4700", 200, 5), ("sn4700", 100, 40), ("sn3700", 200, 40)],
)
def test_a_shipped_row_below_the_floor_gives_way_to_the_formula(name: str, speed: int, metres: int) -> None:
    model = LIBRARY.switch(name)
    row = next(r for r in model.buffers.rows if (r.speed_gbps, r.cable_m) == (speed, metres))
    (finding,) = (f for f in floor_findings(model, speed, metres) if f.code.startswith("FAB565"))
    assert (finding.code, finding.severity) == ("FAB5651", Severity.WARNING)
    assert f"{row.xoff_bytes:,}" in finding.message
    assert "pg_profile_lookup.ini" in finding.message
    assert "buffer_headroom_mellanox.lua" in finding.message
    figures = find_headroom(model.buffers, speed, metres, 9216)
    assert figures is not None
    assert figures.xoff_bytes > row.xoff_bytes
    assert figures.cable_m == metres


def test_a_row_below_the_floor_without_a_formula_is_an_error_with_both_figures() -> None:
    model = with_rows(
        LIBRARY.switch("z9664f"), HeadroomRow(400, 40, 9144, 9144, 90_000, 0, table="short"), formula=False
    )
    (finding,) = (f for f in floor_findings(model, 400, 40) if f.code == "FAB5650")
    assert finding.severity is Severity.ERROR
    assert "90,000" in finding.message
    assert f"{floor_bytes(400, 40, 9216):,}" in finding.message


SHORT = {(100, 5), (100, 40)}
BELOW = {
    "nvidia-sn2201": SHORT, "nvidia-sn2700": SHORT, "nvidia-sn3700": SHORT | {(200, 5), (200, 40)},
    "nvidia-sn4700": SHORT | {(200, 5), (200, 40), (400, 5), (400, 40)},
    "nvidia-sn6600": SHORT | {(10, 5), (25, 5), (200, 5)},
    "dell-s3248t": {(100, 300)}, "celestica-silverstone-v2": {(100, 300)},
    "marvell-teralynx10": {(speed, metres) for speed in (25, 50, 100) for metres in (1, 2, 5, 40, 100, 300)},
}  # fmt: skip
"""Rows by table that are below the floor as published: the formula of the ASIC serves instead, or planning refuses."""


@pytest.mark.parametrize("name", MODELS)
def test_every_published_row_is_above_the_floor_or_known_to_be_below(name: str) -> None:
    below: dict[str, set[tuple[int, int]]] = {}
    for row in BUFFERS[name].rows:
        if row.xoff_bytes < floor_bytes(row.speed_gbps, row.cable_m, 9216):
            below.setdefault(row.table, set()).add((row.speed_gbps, row.cable_m))
    assert all(rows == BELOW.get(table) for table, rows in below.items())


def test_headroom_step_beyond_cable_growth_names_both_tables() -> None:
    model = LIBRARY.switch("z9864f")
    assert [f.code for f in floor_findings(model, 800, 40)] == []
    steps = [f for f in floor_findings(model, 10, 40) if f.code == "FAB5652"]
    assert len(steps) == 1
    assert steps[0].severity is Severity.WARNING
    assert all(word in steps[0].message for word in ("94,742", "258,572", "300 m", "dell-z9864f"))


def test_contradicting_sibling_table_is_named() -> None:
    model = LIBRARY.switch("sn4700")
    mine = HeadroomRow(400, 300, 420_864, 37_888, 373_760, 0, table="nvidia-sn4700")
    other = replace(mine, xoff_bytes=600_000, table="sibling")
    assert [f.code for f in floor_findings(with_rows(model, mine), 400, 300)] == []
    buffers = replace(with_rows(model, mine).buffers, siblings=(other,))
    (step,) = (f for f in floor_findings(replace(model, buffers=buffers), 400, 300) if f.code == "FAB5652")
    assert "sibling" in step.message
    assert "nvidia-sn4700" in step.message


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(80_000, 500_000), st.integers(1, 4))
def test_headroom_that_follows_the_cable_cell_by_cell_is_never_a_step(
    near: int, far: int, xoff: int, factor: int
) -> None:
    near, far = sorted((near, far))
    more = floor_bytes(400, far, 9216) - floor_bytes(400, near, 9216)
    rows = [HeadroomRow(400, near, 0, 0, xoff, 0), HeadroomRow(400, far, 0, 0, xoff + factor * more, 0)]
    assert not is_steep(rows[0], rows[1], 254)
    assert not is_steep(rows[1], rows[0], 254)
    if near < far:
        assert adjacent_rows(rows[0], rows) == [rows[1]]


def test_the_worksheet_shows_the_floor_next_to_the_figure() -> None:
    model, links = LIBRARY.switch("sn5600"), {(800, 40): 64}
    qos, _, _ = switch_qos(CLASSES, model, links, 9216, 7709)
    (rows,) = build_worksheet(qos, model, links, 9216, 7709).values()
    value = {row.label: row.value for row in rows}
    assert value["floor"] == floor_bytes(800, 40, 9216) < value["xoff"]
