"""The audit compares a switch with the figures of its system and release, unknown releases with the least of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from fabricc.audit.rules.switch_views import Models
from fabricc.catalog.load import load_catalog

if TYPE_CHECKING:
    from fabricc.facts.statement import Device


@pytest.mark.parametrize(
    ("model", "release", "speed_gbps", "least"),
    [
        ("sn5640", "", 400, 86_016), ("7060x6-64pe-b", "202505.3", 100, 147_066),
        ("7060x6-64pe-b", "202511.1", 100, 445_770), ("7060x6-64pe-b", "", 100, 147_066),
    ],
)  # fmt: skip
def test_headroom_is_that_of_the_release_and_else_the_least(
    model: str, release: str, speed_gbps: int, least: int
) -> None:
    device = SimpleNamespace(model=model, system="sonic", release=release)
    rows = Models(load_catalog()[0]).of(cast("Device", device)).model.buffers.rows
    assert {row.xoff_bytes for row in rows if (row.speed_gbps, row.cable_m) == (speed_gbps, 5)} == {least}
