"""Rates follow from signalling and coding; products are named after round figures."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fabricc.catalog.rates import generation_at, load_generations


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("SDR", 8), ("DDR", 16), ("QDR", 32), ("FDR10", 40), ("FDR", Fraction(600, 11)), ("EDR", 100),
        ("HDR", 200), ("NDR", 400), ("XDR", 800),
    ],
)  # fmt: skip
def test_four_lanes_leave_exactly_this_for_data(name: str, data: Fraction) -> None:
    assert load_generations()[name].data_gbps() == data


def test_hdr_is_not_64b_66b() -> None:
    """53.125 Gb/s a lane is the rate with FEC: 64b/66b alone would leave 206 Gb/s of four lanes, which nobody sells."""
    hdr = load_generations()["HDR"]
    assert hdr.lane_signal_gbps == Fraction("53.125")
    assert round(float(4 * hdr.lane_signal_gbps * Fraction(64, 66)), 2) == 206.06
    assert list(hdr.encodings) == ["256b/257b", "RS(544,514)"]


def test_hdr_doubles_the_bits_of_a_symbol_and_ndr_doubles_the_symbols() -> None:
    edr, hdr, ndr = (load_generations()[name] for name in ("EDR", "HDR", "NDR"))
    assert (edr.bits_per_symbol, hdr.bits_per_symbol, ndr.bits_per_symbol) == (1, 2, 2)
    assert hdr.gbaud / edr.gbaud < Fraction("1.04")
    assert ndr.gbaud == 2 * hdr.gbaud


def test_products_are_named_after_the_data_rate_from_fdr10_on_and_after_the_coded_one_before() -> None:
    for generation in load_generations().values():
        coded = generation.name in ("SDR", "DDR", "QDR")
        carried = 4 * generation.lane_signal_gbps if coded else generation.data_gbps()
        assert abs(generation.product_4x_gbps - carried) < 2, generation.name


def test_a_port_speed_means_the_latest_generation_of_it() -> None:
    named = {gbps: generation_at(gbps) for gbps in (100, 200, 400, 800, 123)}
    assert [each and each.name for each in named.values()] == ["EDR", "HDR", "NDR", "XDR", None]


def test_every_generation_has_sources_of_its_figures() -> None:
    assert all(
        each.source.startswith("assumed: ") or " " in each.source for each in load_generations().values()
    )
