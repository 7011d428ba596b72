"""Planning and proof use one bound for ECN before PFC: the buffer that lossless queues share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fabricc.catalog.library import Library
from fabricc.fabric.facts import Reading, switch_facts
from fabricc.fabric.model import Direction, Peer, Port, Switch
from fabricc.front.qos import switch_qos
from fabricc.front.qos.lossless_policy import most_lanes
from fabricc.front.qos.wire import floor_bytes
from fabricc.proof.invariants.lossless import lossless_breaches
from fabricc.proof.invariants.view import make_view
from tests import samples

LIBRARY = Library()
RATIOS = (None, Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4))
MODELS = sorted(name for name in LIBRARY.names("switches") if LIBRARY.switch(name).buffers.rows)


def full_spine(name: str, cable_m: int, ratio: Fraction | None) -> Switch | None:
    """Every cage of a model leading down at its highest speed; None where that does not fit the buffer."""
    model = LIBRARY.switch(name)
    speed = max(row.speed_gbps for row in model.buffers.rows)
    cages = [
        cage
        for group in model.cages
        if group.fabric
        for cage in range(group.first, group.first + group.count)
    ]
    qos, found, names = switch_qos(
        samples.CLASSES, model, {(speed, cable_m): len(cages)}, 9216, 7709, oversubscription=ratio
    )
    if {f.code for f in found} & {"FAB4003", "FAB4005", "FAB4012"}:
        return None
    profile = names[speed, cable_m]
    ports = tuple(
        Port(
            f"p{cage}", cage, 1, 1, most_lanes(model, speed), speed, Direction.DOWN, True, 9216,
            Peer(f"tor{cage}", "p1"), cable_m=cable_m, profile=profile,
        )
        for cage in cages
    )  # fmt: skip
    sample = samples.tor(model=model)
    return replace(sample, ports=ports, qos=qos, bgp=replace(sample.bgp, sessions=()))


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_marks_that_the_plan_bounds_are_below_the_pause_point_of_the_proof(
    name: str, ratio: Fraction | None
) -> None:
    switch = full_spine(name, 40, ratio)
    if switch is None:
        pytest.skip("too many ports for the buffer")
    facts = dict(switch_facts(switch))
    found = [
        b.message for b in lossless_breaches(make_view(switch, Reading(facts=facts))) if b.number in (16, 17)
    ]
    assert found == []


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_a_mark_above_the_bound_is_found(ratio: Fraction | None) -> None:
    switch = full_spine("sn5600", 40, ratio)
    assert switch is not None
    (profile,) = switch.qos.profiles
    assert profile.ecn is not None
    assert switch.qos.pools is not None
    too_high = replace(profile.ecn, max_bytes=switch.qos.pools.ingress_lossless_bytes // 65 + 1)
    qos = replace(switch.qos, profiles=(replace(profile, ecn=too_high),))
    planted = replace(switch, qos=qos)
    found = lossless_breaches(make_view(planted, Reading(facts=dict(switch_facts(planted)))))
    assert 17 in {breach.number for breach in found}


@pytest.mark.parametrize("name", ["sn5600", "z9664f", "7060x6-64pe", "qfx5240-64od"])
def test_headroom_below_the_physical_floor_is_found_in_the_files(name: str) -> None:
    switch = full_spine(name, 40, None)
    assert switch is not None
    (profile,) = switch.qos.profiles
    speed = profile.speed_gbps
    least = floor_bytes(speed, 40, 9216)
    for xoff, wanted in ((least - 1, True), (profile.headroom.xoff_bytes, False)):
        short = replace(profile, headroom=replace(profile.headroom, xoff_bytes=xoff))
        planted = replace(switch, qos=replace(switch.qos, profiles=(short,)))
        found = lossless_breaches(make_view(planted, Reading(facts=dict(switch_facts(planted)))))
        reported = [
            b.message for b in found if b.number == 15 and f"{least:,} arrive after a pause" in b.message
        ]
        assert bool(reported) is wanted
