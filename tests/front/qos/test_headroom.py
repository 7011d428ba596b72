"""The headroom formula gives the published tables to the byte, and the table is preferred where it has a row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.catalog.model import Buffers, HeadroomRow, Pools, SpectrumFigures
from fabricc.front.qos.headroom import (
    BYTE_SHARE,
    COMPENSATED,
    CONSTANT_PEER,
    PACKET_SHARE,
    FormulaVersion,
    find_headroom,
    spectrum_headroom,
)
from fabricc.front.qos.wire import cable_bytes, pause_quanta
from tests.front.qos import published

HALF_SMALL = replace(published.SPECTRUM4, lossless_mtu_bytes=4096, small_packet_percent=50)


@pytest.mark.parametrize(
    ("table", "rows", "figures", "version"),
    [
        pytest.param(published.SN2700, 15, published.SPECTRUM1, CONSTANT_PEER, id="SN2700"),
        pytest.param(published.SN4700, 21, published.SPECTRUM3, CONSTANT_PEER, id="SN4700"),
        pytest.param(published.SN5600, 24, published.SPECTRUM4, BYTE_SHARE, id="SN5600"),
        pytest.param(published.SN5640_C512S2, 36, HALF_SMALL, BYTE_SHARE, id="SN5640-C512S2"),
        pytest.param(published.SN5600_V256, 24, HALF_SMALL, PACKET_SHARE, id="SN5600-V256"),
    ],
)
def test_every_row_of_a_shipped_table_is_reproduced(
    table: published.Table, rows: int, figures: SpectrumFigures, version: FormulaVersion
) -> None:
    computed = {
        length: {
            speed: spectrum_headroom(figures, speed, length, version=version).xoff_bytes for speed in speeds
        }
        for length, speeds in table.items()
    }
    assert computed == table
    assert sum(len(speeds) for speeds in table.values()) == rows


SPECTRUM6 = SpectrumFigures(256, 42, 0.8, 4096, 50, False, quanta_800g=1810)
SN6600 = {
    5: {10: 20480, 25: 21504, 100: 44032, 200: 48128, 400: 81920, 800: 147456},
    40: {100: 48128, 200: 58368, 400: 101376, 800: 186368},
    300: {100: 84992, 200: 130048, 400: 244736, 800: 473088},
}
"""ACS-SN6600_LD and ACS-SN6810_LD, which are equal (sonic-buildimage, master)."""


def test_the_tables_of_spectrum_6_take_1810_quanta_at_800g() -> None:
    def table(figures: SpectrumFigures) -> dict[int, dict[int, int]]:
        return {
            metres: {speed: spectrum_headroom(figures, speed, metres).xoff_bytes for speed in speeds}
            for metres, speeds in SN6600.items()
        }

    assert table(SPECTRUM6) == SN6600
    wrong = table(replace(SPECTRUM6, quanta_800g=905))
    assert {
        speed
        for metres in SN6600
        for speed in SN6600[metres]
        if wrong[metres][speed] != SN6600[metres][speed]
    } == {800}


def test_the_present_lua_adds_2_kib_where_not_all_packets_are_small_and_headroom_is_not_shared() -> None:
    def xoff(figures: SpectrumFigures, version: FormulaVersion, *, shared: bool = False) -> int:
        return spectrum_headroom(figures, 400, 40, shared_pool=shared, version=version).xoff_bytes

    for figures, shared, added in (
        (HALF_SMALL, False, 2048),
        (HALF_SMALL, True, 0),
        (published.SPECTRUM4, False, 0),
        (replace(SPECTRUM6, compensation_kb=18), False, 20 * 1024),
        (replace(SPECTRUM6, compensation_kb=18), True, 18 * 1024),
    ):
        assert xoff(figures, COMPENSATED, shared=shared) - xoff(figures, BYTE_SHARE, shared=shared) == added


def test_the_worked_example_of_spectrum_4_at_400g_and_40_m() -> None:
    steps = spectrum_headroom(published.SPECTRUM4, 400, 40)
    assert round(steps.step("cable")) == 20202
    assert round(steps.step("MAC and PHY")) == 819
    assert steps.step("peer") == 905 * 64 == 57920
    assert steps.step("tile") == 6000
    assert steps.step("worst cell factor") == steps.step("occupancy") == 3
    assert round(steps.xoff_exact) == 283496
    assert (steps.xoff_bytes, steps.xon_bytes, steps.size_bytes) == (283648, 19456, 303104)


@pytest.mark.parametrize(
    ("speed", "length", "xoff"),
    [
        (100, 40, 126976),
        (400, 5, 231424),
        (400, 40, 283648),
        (400, 100, 374784),
        (400, 300, 677888),
        (800, 5, 257024),
        (800, 40, 362496),
        (800, 100, 544768),
        (800, 300, 1150976),
    ],
)
def test_the_present_formula_on_spectrum_4(speed: int, length: int, xoff: int) -> None:
    assert spectrum_headroom(published.SPECTRUM4, speed, length).xoff_bytes == xoff


def test_the_version_matters_more_than_the_cable() -> None:
    """The shipped SN4700 table has 77,824 where today's formula gives 266,240."""
    assert spectrum_headroom(published.SPECTRUM3, 400, 40).xoff_bytes == 266240
    assert spectrum_headroom(published.SPECTRUM3, 400, 40, version=CONSTANT_PEER).xoff_bytes == 77824


def test_sizes_of_sn5600_follow_with_three_known_deviations() -> None:
    """40G at 5 m is published 1,024 short; 800G at 5 m and 300 m come from an MTU of 9100 in the size alone."""
    differing = {}
    for (speed, length), size in published.SN5600_SIZES.items():
        lanes = 8 if speed == 800 else 4
        computed = spectrum_headroom(published.SPECTRUM4, speed, length, lanes=lanes).size_bytes
        if computed != size:
            differing[speed, length] = computed - size
    assert differing == {(40, 5): 1024, (800, 5): 1024, (800, 300): 1024}


def test_a_shared_headroom_pool_leaves_xon_as_the_size() -> None:
    assert spectrum_headroom(published.SPECTRUM4, 400, 40, shared_pool=True).size_bytes == 19456


def test_a_speed_without_pause_quanta_has_no_formula() -> None:
    assert pause_quanta(1600) is None
    with pytest.raises(ValueError, match="1600 Gb/s"):
        spectrum_headroom(published.SPECTRUM4, 1600, 40)


def test_quanta_and_propagation() -> None:
    assert [pause_quanta(s) for s in (10, 100, 200, 400, 800)] == [67, 394, 453, 905, 905]
    assert round(cable_bytes(400, 40)) == 20202
    assert cable_bytes(800, 300) == 2 * cable_bytes(400, 300)


@given(
    speed=st.sampled_from([10, 25, 40, 50, 100, 200, 400, 800]),
    lengths=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
    cell=st.sampled_from([96, 144, 192, 256]),
    small=st.integers(0, 100),
    lossless_mtu=st.integers(64, 9216),
    version=st.sampled_from([CONSTANT_PEER, PACKET_SHARE, BYTE_SHARE]),
)
def test_xoff_never_falls_with_cable_and_is_whole_kibibytes(
    speed: int,
    lengths: tuple[int, int],
    cell: int,
    small: int,
    lossless_mtu: int,
    version: FormulaVersion,
) -> None:
    figures = SpectrumFigures(cell, 19, 0.8, lossless_mtu, small, True)
    near, far = (spectrum_headroom(figures, speed, length, version=version) for length in sorted(lengths))
    assert near.xoff_bytes <= far.xoff_bytes
    assert far.xoff_bytes % 1024 == 0
    assert far.size_bytes >= far.xoff_bytes + far.xon_bytes
    assert far.xoff_bytes >= 9216 + cable_bytes(speed, max(lengths))


def test_a_cable_is_rounded_up_to_a_listed_length() -> None:
    buffers = published.make_sn5600().buffers
    found = {length: find_headroom(buffers, 400, length, 9216) for length in (0, 5, 6, 40, 41, 300)}
    assert [(f.cable_m, f.xoff_bytes) for f in found.values() if f] == [
        (5, 231424),
        (5, 231424),
        (40, 283648),
        (40, 283648),
        (300, 677888),
        (300, 677888),
    ]
    assert found[6] is not None
    assert found[6].source == "table, 400G 40 m"


def test_the_formula_serves_what_the_table_lacks() -> None:
    found = find_headroom(published.make_sn5600().buffers, 400, 301, 9216)
    assert found is not None
    assert (found.cable_m, found.xoff_bytes) == (301, 679936)
    assert found.source == "Spectrum formula byte-share"
    untabled = find_headroom(published.make_sn5600(table=False).buffers, 400, 40, 9216)
    assert untabled is not None
    assert (untabled.xoff_bytes, untabled.dynamic_th) == (283648, 0)


def test_without_a_formula_a_longer_cable_or_another_speed_has_no_headroom() -> None:
    buffers = published.make_z9864f().buffers
    assert find_headroom(buffers, 400, 300, 9216) is not None
    assert find_headroom(buffers, 400, 301, 9216) is None
    assert find_headroom(buffers, 1600, 5, 9216) is None


def test_a_formula_takes_alpha_from_the_platforms_own_rows() -> None:
    pools = Pools(50_000_000, 0, 60_000_000, None, False, False)
    rows = (HeadroomRow(400, 40, 303104, 19456, 283648, -2),)
    found = find_headroom(Buffers(60_000_000, 192, rows, published.SPECTRUM4, pools, 2), 400, 100, 9216)
    assert found is not None
    assert found.dynamic_th == -2


def test_the_figures_here_are_those_of_the_reference() -> None:
    path = Path(__file__).parents[3] / ".." / "shared" / "reference" / "platform-facts.yaml"
    if not path.exists():
        pytest.skip("the reference sheet platform-facts.yaml is not beside the repository")
    tables = yaml.safe_load(path.read_text())["pg_profile_tables"]
    for name, table in {
        "mlnx_msn4600c-pg1": published.SN4700,
        "nvidia_sn5400-pg1": published.SN5600,
        "nvidia_sn5640-pg1": published.SN5640_C512S2,
        "nvidia_sn5600-pg3": published.SN5600_V256,
        "dell_z9864f-pg1": published.Z9864F,
    }.items():
        listed = {(row[0] // 1000, int(row[1].removesuffix("m"))): row[4] for row in tables[name]}
        assert listed == {(s, length): x for length, speeds in table.items() for s, x in speeds.items()}, name
    sizes = {(r[0] // 1000, int(r[1].removesuffix("m"))): r[2] for r in tables["nvidia_sn5400-pg1"]}
    assert sizes == published.SN5600_SIZES
