"""Look up the maximum length of a cable by medium and lane speed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.documents.reader import load_package_yaml
from fabricc.catalog.assemble import read_citation
from fabricc.catalog.library import replace_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

TABLE = Path(__file__).parent / "cable-reach.yaml"


class Reach(NamedTuple):
    """The longest cable of a medium, m, for lanes of up to `lane_gbps`; `source` as in the rest of the catalog."""

    lane_gbps: int
    metres: int
    source: str


@cache
def load_reaches() -> Mapping[str, tuple[Reach, ...]]:
    """Return the rows of every medium, slowest lanes first."""
    raw = load_package_yaml(TABLE)
    table = replace_sources(raw["media"], raw["sources"])
    return {
        medium: tuple(Reach(row["lane_gbps"], row["metres"], read_citation(row)) for row in rows)
        for medium, rows in table.items()
    }


def find_reach(medium: str, lane_gbps: Fraction | int) -> Reach:
    """Return the row of a medium that counts for lanes of a speed, Gb/s."""
    rows = load_reaches()[medium]
    return next((row for row in rows if lane_gbps <= row.lane_gbps), rows[-1])


def longest_reach(medium: str) -> int:
    """Return how far a medium reaches at the speed that suits it best, m."""
    return max(row.metres for row in load_reaches()[medium])
