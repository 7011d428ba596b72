"""One device of a class speaks for the others: the review is the one that comparing every device gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff import run
from fabricc.review.diff.classes import classes
from fabricc.review.diff.inputs import inputs

if TYPE_CHECKING:
    from tests.review.diff.conftest import Bench, Edit

POD, ZONE, LAB = "superpod-b200-4su", "rack-zone-512", "lab-smallest"
TIMERS = "{family: dual}\nrouting: {keepalive_s: 5, hold_s: 15}\nmtu: {host: 8000}"
DRAIN = "overrides: {rack003-tor1a: {drain: true, cable_m: 5}}\n"


@pytest.mark.parametrize(
    ("inventory", "edits", "same", "alike"),
    [
        (LAB, [("dscp: 26", "dscp: 34")], "", True),
        (POD, [("sonic-202505", "sonic-202411")], "", True),
        (ZONE, [("length_m: 40", "length_m: 120")], "", True),
        (ZONE, [("dscp: 26", "dscp: 34")], DRAIN, True),
        (
            ZONE,
            [("{family: dual}", "{family: dual}\nrouting: {keepalive_s: 5, hold_s: 15}\nmtu: {host: 8000}")],
            "",
            True,
        ),
        (ZONE, [("{family: dual}", "{family: dual}\nrouting: {asn_base: 4210000000}")], "", False),
    ],
)
def test_classes_change_nothing_but_the_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, inventory: str, edits: list[Edit], same: str, alike: bool
) -> None:
    base = bench.spec(inventory, "base", more=same)
    head = bench.spec(inventory, "head", *edits, more=same)
    with inputs(base, head, None, None) as sides:
        assert bool(classes(sides.base, sides.head)) is alike
        quick = run.review(sides.base, sides.head, sides.context, 1)
        monkeypatch.setattr(run, "classes", lambda *_: {})
        thorough = run.review(sides.base, sides.head, sides.context, 1)
    assert quick.differs
    assert quick == thorough
