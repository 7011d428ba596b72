"""A preview of a push without drains lists no switch as drained."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from fabricc.cli.push_run import encode_preview
from fabricc.operate.change.order import Wave
from fabricc.operate.change.resources import Effect
from fabricc.operate.push.options import Options
from fabricc.operate.push.start import Preview
from fabricc.review.diff.model import Impact


@pytest.mark.parametrize("drain", [True, False])
def test_json_lists_drains_only_where_the_push_drains(drain: bool) -> None:
    wave = Wave(("tor1",), True, Fraction(1), "", Fraction(1), drained=("tor1",))
    seen = Preview("0" * 64, {"tor1": Effect("eos 4.32", Impact.TRAFFIC_LOSS)}, [wave], 1.0, "a guess")
    found = json.loads(str(encode_preview(seen, Options(drain=drain), [])))
    assert found["order"][0]["drained"] == (["tor1"] if drain else [])
    assert found["switches"]["tor1"]["drained"] is drain
