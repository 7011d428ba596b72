"""The Tofino formula, the worst case of IEEE 802.1Q, and tables of makers who publish no formula."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.catalog.model import AnnexFigures, Buffers, TofinoFigures
from fabricc.front.qos.headroom import (
    BYTE_SHARE,
    CONSTANT_PEER,
    find_headroom,
    spectrum_headroom,
    tofino_headroom,
)
from fabricc.front.qos.wire import annex_headroom
from tests.front.qos import published

TOFINO2 = TofinoFigures(176, 68, 0.8, 9, 365, 1024, 100, 0, "2023")
ANNEX = AnnexFigures(256, 200, 2560, -1, "annex-n")


@pytest.mark.parametrize(
    ("speed", "length", "xoff"),
    [(100, 5, 124_928), (100, 40, 136_192), (400, 40, 499_712), (400, 300, 852_992)],
)
def test_tofino_follows_its_plugin(speed: int, length: int, xoff: int) -> None:
    """The plugin's own arithmetic, in floats: Mb/s, kilo of 1024, peer doubled at 400G."""
    quanta = {100: 394, 400: 905}[speed]
    peer = quanta * 512 / 8 * (2 if speed == 400 else 1)
    cable = 2 * length * speed * 1000 * 1_000_000_000 / 198_000_000 / (8 * 1024)
    gearbox = speed * 1000 * 365 / (8 * 1024)
    expected = 1024 + (9216 + cable + 2 * gearbox + 0.8 * 1024 + peer) * 176 / 64
    result = tofino_headroom(TOFINO2, speed, length, 9216)
    assert float(result.xoff_exact) == pytest.approx(expected)
    assert result.xoff_bytes == ceil(expected / 1024) * 1024 == xoff
    assert result.size_bytes == result.xon_bytes == 68 * 1024


def test_tofino_takes_the_response_of_its_asic_table_above_400g() -> None:
    assert tofino_headroom(TOFINO2, 800, 5, 9216).step("peer") == 9 * 1024
    assert tofino_headroom(TOFINO2, 400, 5, 9216).step("peer") == 2 * 905 * 64


def test_the_worst_case_of_the_pfc_annex() -> None:
    """100G, 40 m, cells of 256: (2 * 9258 + 84 + 5051 + 4 * 2500 + 394 * 64) * 4, up to a cell."""
    result = annex_headroom(ANNEX, 100, 40, 9216)
    assert result.step("interfaces") == 10_000
    assert round(result.xoff_exact) == round((18_516 + 84 + 500_000 / 99 + 10_000 + 25_216) * 4) == 235_466
    assert (result.xoff_bytes, result.size_bytes) == (235_520, 238_080)
    with pytest.raises(ValueError, match="1600"):
        annex_headroom(ANNEX, 1600, 5, 9216)


@pytest.mark.parametrize(("formula", "exponent"), [(TOFINO2, 0), (ANNEX, -1)])
def test_a_platform_without_a_table_states_its_own_alpha(
    formula: TofinoFigures | AnnexFigures, exponent: int
) -> None:
    pools = replace(published.make_z9864f().buffers.pools)
    found = find_headroom(Buffers(165_867_080, 256, (), formula, pools, 2), 100, 40, 9216)
    assert found is not None
    assert found.dynamic_th == exponent
    assert found.source.startswith(("Tofino formula 2023", "IEEE 802.1Q worst case annex-n"))


@given(
    speed=st.sampled_from([10, 25, 100, 200, 400]),
    lengths=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
    mtu=st.integers(1280, 9216),
)
def test_neither_formula_falls_with_the_cable(speed: int, lengths: tuple[int, int], mtu: int) -> None:
    near, far = sorted(lengths)
    for at in (tofino_headroom, annex_headroom):
        figures = TOFINO2 if at is tofino_headroom else ANNEX
        assert at(figures, speed, near, mtu).xoff_bytes <= at(figures, speed, far, mtu).xoff_bytes  # type: ignore[arg-type]


def test_sizes_of_sn4700_and_sn2700_are_as_shipped() -> None:
    """SN4700: xon + xoff, at 400G with an xon of 37,888 and 9,216 more; SN2700: xon + xoff."""
    for length, xoffs in published.SN4700.items():
        for speed, xoff in xoffs.items():
            lanes = 8 if speed == 400 else 4
            result = spectrum_headroom(published.SPECTRUM3, speed, length, lanes=lanes, version=CONSTANT_PEER)
            xon, more = (37_888, 9_216) if speed == 400 else (19_456, 0)
            assert (result.xon_bytes, result.size_bytes) == (xon, xon + xoff + more)
    for length, xoffs in published.SN2700.items():
        for speed, xoff in xoffs.items():
            result = spectrum_headroom(published.SPECTRUM1, speed, length, version=CONSTANT_PEER)
            assert (result.xon_bytes, result.size_bytes) == (19_456, 19_456 + xoff)


def test_size_of_sn5640_is_xon_alone() -> None:
    half = replace(published.SPECTRUM4, lossless_mtu_bytes=4096, small_packet_percent=50)
    result = spectrum_headroom(half, 400, 40, shared_pool=True, version=BYTE_SHARE)
    assert (result.xoff_bytes, result.xon_bytes, result.size_bytes) == (104_448, 19_456, 19_456)


@pytest.mark.parametrize("name", published.CELL_TABLES)
def test_broadcom_tables_are_whole_cells(name: str) -> None:
    cell, table, beside = published.CELL_TABLES[name]
    values = [xoff for xoffs in table.values() for xoff in xoffs.values()]
    assert [value for value in (*values, *beside) if value % cell] == []


@pytest.mark.parametrize("name", [*published.CELL_TABLES, "7800R3A"])
def test_published_xoff_never_falls_with_cable(name: str) -> None:
    table = published.R7800 if name == "7800R3A" else published.CELL_TABLES[name][1]
    for speed in next(iter(table.values())):
        values = [table[length][speed] for length in sorted(table)]
        assert values == sorted(values)


def test_published_xoff_falls_with_speed_where_it_is_known_to() -> None:
    """Tomahawk 6 gives 100G less than 50G at every length, and less than 40G from 300 m on."""
    falling = {
        (name, length, slow, fast)
        for name, (_, table, _) in published.CELL_TABLES.items()
        for length, xoffs in table.items()
        for slow, fast in zip(sorted(xoffs), sorted(xoffs)[1:], strict=False)
        if xoffs[fast] < xoffs[slow]
    }
    assert falling == {("Nokia-H6", length, 50, 100) for length in (5, 30, 40, 300, 500)}


def test_single_figures_at_400g_and_40_m_spread_by_a_factor_of_19() -> None:
    figures = {**published.AT_400G_40M, "SN4700": published.SN4700[40][400]}
    assert max(figures.values()) / min(figures.values()) == pytest.approx(19.2, abs=0.05)


def test_these_tables_are_those_of_the_reference() -> None:
    path = Path(__file__).parents[3] / ".." / "shared" / "reference" / "platform-facts.yaml"
    if not path.exists():
        pytest.skip("the reference sheet platform-facts.yaml is not beside the repository")
    tables = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))["pg_profile_tables"]
    listed = [
        {(row[0] // 1000, int(row[1].removesuffix("m"))): row[4] for row in rows if str(row[1]).endswith("m")}
        for rows in tables.values()
    ]
    for name in ("Z9864F", "Z9332F"):
        table = published.CELL_TABLES[name][1]
        wanted = {(speed, length): xoff for length, xoffs in table.items() for speed, xoff in xoffs.items()}
        assert wanted in listed, name
