"""Compute InfiniBand rates from SDR to XDR: signaling rate, coding overhead and data rate of a lane."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.installation import load_package_yaml
from fabricc.base.values import dataclass
from fabricc.catalog.assemble import read_citation
from fabricc.catalog.library import replace_sources

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).parent / "infiniband-rates.yaml"


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of InfiniBand.

    Attributes:
        gbaud: symbols per second and lane, 10^9.
        bits_per_symbol: 1 for NRZ, 2 for PAM4.
        encodings: name of each coding -> share of the signalled bits that it leaves for data.
        product_4x_gbps: the round figure that products of four lanes are named after, Gb/s. Up to QDR it
            counts the coded bits: 40 Gb/s QDR carries 32.
        rate_4x: IBTA code of the rate of four lanes.
        source: where the figures come from, or `assumed` with the reason.
    """

    name: str
    gbaud: Fraction
    bits_per_symbol: int
    modulation: str
    encodings: Mapping[str, Fraction]
    product_4x_gbps: int
    rate_4x: int
    source: str

    @property
    def lane_signal_gbps(self) -> Fraction:
        """Return what one lane signals, coding and FEC included, Gb/s."""
        return self.gbaud * self.bits_per_symbol

    @property
    def lane_data_gbps(self) -> Fraction:
        """Return what one lane leaves for data after coding and FEC, Gb/s."""
        left = self.lane_signal_gbps
        for share in self.encodings.values():
            left *= share
        return left

    def data_gbps(self, lanes: int = 4) -> Fraction:
        """Return what a link of so many lanes leaves for data, Gb/s."""
        return lanes * self.lane_data_gbps


@cache
def load_generations() -> Mapping[str, Generation]:
    """Return every generation by name, slowest first."""
    raw = load_package_yaml(TABLE)
    table = replace_sources(raw["generations"], raw["sources"])
    return {name: _build_generation(name, entry) for name, entry in table.items()}


def _build_generation(name: str, raw: Mapping[str, Any]) -> Generation:
    encodings = {coding: Fraction(*ratio) for coding, ratio in raw["encodings"].items()}
    same = {key: raw[key] for key in ("bits_per_symbol", "modulation", "product_4x_gbps", "rate_4x")}
    gbaud = Fraction(str(raw["gbaud"]))
    return Generation(name=name, gbaud=gbaud, encodings=encodings, source=read_citation(raw), **same)


def generation_at(port_gbps: int, lanes: int = 4) -> Generation | None:
    """Return the latest generation of which so many lanes are sold as that speed, Gb/s; None when there is none."""
    found = [each for each in load_generations().values() if each.product_4x_gbps * lanes == port_gbps * 4]
    return found[-1] if found else None
