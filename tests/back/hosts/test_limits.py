"""One table lists the settings that hosts cannot express, and its rows word the gaps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fabricc.back.hosts
from fabricc.back.hosts.limits import LIMITS, gaps
from fabricc.base.diagnostics import TITLES
from tests.back.hosts.variants import VARIANTS

if TYPE_CHECKING:
    from fabricc.back.limits import Limit
    from fabricc.fabric.model import Host


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row.code)
def test_every_row_has_a_reason_and_a_remedy(row: Limit[Host]) -> None:
    assert row.code in TITLES
    assert row.requested
    assert row.feature
    assert row.reason
    assert row.remedy


def test_no_other_place_words_the_gaps_of_a_host() -> None:
    root = Path(fabricc.back.hosts.__file__).parent
    found = {path.name for path in root.rglob("*.py") if re.search(r'"FAB5[0-9]+"', path.read_text())}
    assert found == {"limits.py"}


def test_of_nics_of_an_unknown_driver_nothing_else_is_reported() -> None:
    assert [gap.code for gap in gaps(VARIANTS["other-nic"])] == ["FAB5603"]


def test_gap_text_lists_the_requested_settings() -> None:
    host = VARIANTS["thor2"]
    (gap,) = gaps(host)
    assert gap.feature == f"support_rdma, performance_profile, pcie_relaxed_ordering of {host.nic.title}"
