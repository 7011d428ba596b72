"""A limit of prefixes leaves room for what the other ToRs announce, unless a switch above aggregates it."""

from __future__ import annotations

import pytest

from fabricc.facts.statement import Tier
from fabricc.rules.announcements import LIMIT
from fabricc.rules.records import Summary
from fabricc.rules.registry import run_fabric_rules
from fabricc.rules.rule import Switches

ABOVE = {
    "nothing": ((), 1),
    "its own loopback": (("10.255.0.1/32",), 1),
    "an aggregate of the ToRs": (("10.1.0.0/16",), 0),
    "a default route": (("0.0.0.0/0",), 0),
}
"""Prefixes of the spine -> how many ToRs have too small a limit."""


def summary(tier: Tier, prefixes: tuple[str, ...], limit: tuple[int, str] | None = None) -> Summary:
    """Return the summary of a switch that announces prefixes."""
    return Summary(tier, None, "", (), prefixes, (), (), "", None, "", (), None, limit, False, ())


@pytest.mark.parametrize("case", ABOVE)
def test_a_limit_is_compared_with_the_prefixes_of_other_tors(case: str) -> None:
    prefixes, count = ABOVE[case]
    summaries = {f"lf{n}": summary(Tier.TOR, (f"10.1.{n}.0/24",)) for n in range(1, 5)}
    summaries["lf1"] = summaries["lf1"]._replace(limit=(2, "bgp/neighbor[10.66.0.0]/maximum_prefixes"))
    summaries["x01"] = summary(Tier.SPINE, prefixes)
    fabric = Switches(summaries, lambda _: summaries, lambda _: (), lambda _: None)
    found = [each.device for each in run_fabric_rules(fabric) if each.code == LIMIT]
    assert found == ["lf1"] * count
