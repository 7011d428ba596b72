"""Classes find their queues by NX-OS's rules, and pause thresholds are written where the platform's own do not hold."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.nos.nxos import FILE, NXOS
from fabricc.back.nos.nxos.qos import qos_groups, strict_queues
from fabricc.back.nos.nxos.words import format_ranges
from fabricc.back.reading.rows import parse_numbers as listed
from fabricc.catalog.load import load_catalog
from fabricc.compiler.plan.naming import Naming
from fabricc.fabric.qos import TrafficClass
from fabricc.proof.invariants import Survey
from fabricc.proof.invariants.view import make_view
from tests.back.nos.nxos.variants import variant, with_cable_length

CATALOG, _ = load_catalog()


def traffic_class(priority: int, *, strict: bool = False, lossless: bool = False) -> TrafficClass:
    return TrafficClass(f"c{priority}", priority, (priority,), priority, lossless, strict, 10, False, False)


@pytest.mark.parametrize(
    ("classes", "groups"),
    [
        ([traffic_class(0), traffic_class(3, lossless=True)], {0: 0, 3: 3}),
        ([traffic_class(0), traffic_class(3), traffic_class(6, strict=True)], {0: 0, 3: 3, 6: 6}),
        (
            [traffic_class(7), traffic_class(5, strict=True), traffic_class(2, strict=True)],
            {5: 7, 2: 6, 7: 5},
        ),
        ([traffic_class(0, lossless=True), traffic_class(1)], {0: 7, 1: 1}),
        ([traffic_class(0, lossless=True), traffic_class(5, strict=True)], {0: 4, 5: 5}),
        ([traffic_class(0, strict=True), traffic_class(3, strict=True)], {0: 6, 3: 7}),
        ([traffic_class(0, strict=True)], {0: 7}),
    ],
)
def test_a_class_keeps_its_number_where_strict_queues_stay_on_top(
    classes: list[TrafficClass], groups: dict[int, int]
) -> None:
    assert qos_groups(classes) == groups


@given(st.sets(st.integers(0, 7), min_size=1), st.data())
def test_every_class_gets_its_own_queue(priorities: set[int], data: st.DataObject) -> None:
    flags = st.booleans()
    classes = [traffic_class(p, strict=data.draw(flags), lossless=data.draw(flags)) for p in priorities]
    groups = qos_groups(classes)
    assert sorted(groups) == sorted(priorities)
    assert len(set(groups.values())) == len(groups)
    assert all(0 <= group <= 7 for group in groups.values())
    strict = strict_queues(classes, groups)
    assert {groups[c.priority] for c in classes if c.strict} <= strict
    assert not {groups[c.priority] for c in classes if not c.strict} & strict
    assert sorted(strict) == list(range(8 - len(strict), 8))


def pausing_ports(text: str) -> dict[str, str]:
    """Interface -> the input queuing policy that it names."""
    blocks = re.findall(r"^interface (\S+)\n((?:  .*\n)+)", text, re.MULTILINE)
    found = {name: re.search(r"service-policy type queuing input (\S+)", body) for name, body in blocks}
    return {name: policy[1] for name, policy in found.items() if policy}


@pytest.mark.parametrize("family", ["cloudscale", "silicon-one"])
@pytest.mark.parametrize("cable_m", [3, 100])
def test_up_to_a_hundred_metres_the_platform_s_own_buffers_are_left_alone(family: str, cable_m: int) -> None:
    switch = with_cable_length(variant(f"{family}/numbered"), cable_m)
    text = NXOS.render(switch)[FILE]
    assert "pause buffer-size" not in text
    assert "queuing input" not in text
    facts = NXOS.read({FILE: text}).facts
    paused = [path for path in facts if path.endswith("/pfc")]
    assert len(paused) == 5
    assert all(facts[path.removesuffix("pfc") + "headroom/default_to_m"] == 100 for path in paused)
    assert not [path for path in facts if path.endswith("/xoff_bytes")]
    assert {gap.code for gap in NXOS.gaps(switch)} == {"FAB5685", "FAB5843", "FAB9045"}


@pytest.mark.parametrize(
    ("cable_m", "policy"), [(101, "PM-IN-400G-200M"), (200, "PM-IN-400G-200M"), (201, "PM-IN-400G-300M")]
)
def test_beyond_that_the_catalog_s_figures_of_the_next_length_are_written(cable_m: int, policy: str) -> None:
    switch = with_cable_length(variant("cloudscale/numbered"), cable_m)
    text = NXOS.render(switch)[FILE]
    assert pausing_ports(text) == dict.fromkeys(("Ethernet1/3/1", "Ethernet1/4/1"), policy)
    facts = NXOS.read({FILE: text}).facts
    assert facts["interface[Ethernet1/3/1]/headroom/pause_bytes"] == 900_000
    assert "interface[Ethernet1/3/1]/headroom/default_to_m" not in facts
    assert facts["interface[Ethernet1/1/1]/headroom/default_to_m"] == 100
    assert text.count("pause buffer-size") == 1


def test_without_figures_a_long_cable_is_refused() -> None:
    reported = [gap for gap in NXOS.gaps(with_cable_length(variant("cloudscale/numbered"), 301)) if gap.fatal]
    assert [(gap.code, gap.feature) for gap in reported] == [
        ("FAB5686", "a lossless class over 301 m at 400 Gb/s")
    ]
    assert not any(gap.fatal for gap in NXOS.gaps(with_cable_length(variant("cloudscale/lossy"), 301)))


@pytest.mark.parametrize(("model", "longest_m"), [("cloudscale", 300), ("9364e-sg2", 100)])
def test_the_longest_cable_has_figures(model: str, longest_m: int) -> None:
    """A remedy for a cable that is too long names no length that NX-OS has no pause thresholds for."""
    own = variant("cloudscale/numbered").model if model == "cloudscale" else CATALOG.switches[model]
    assert (Naming().longest_cable_m("nxos", own), Naming().longest_cable_m("frr", own)) == (longest_m, None)


def test_a_moved_class_keeps_its_pause_priority() -> None:
    switch = variant("cloudscale/numbered")
    classes = tuple(
        replace(c, priority=0, strict=False) if c.lossless else replace(c, priority=5, strict=True)
        if c.strict else replace(c, priority=1)
        for c in switch.qos.classes
    )  # fmt: skip
    switch = replace(switch, qos=replace(switch.qos, classes=classes))
    text = NXOS.render(switch)[FILE]
    assert "  class type network-qos c-8q-nq4\n    mtu 9216\n    pause pfc-cos 0\n" in text
    facts = NXOS.read({FILE: text}).facts
    assert facts == NXOS.planned(switch)
    assert facts["interface[Ethernet1/1/1]/pfc"] == "0"
    assert facts["qos/dscp[26]/traffic_class"] == 4


@given(st.sets(st.integers(0, 63), min_size=1))
def test_range_lists_round_trip(numbers: set[int]) -> None:
    assert listed(format_ranges(numbers)) == tuple(sorted(numbers))


def test_the_proof_holds_the_platform_s_own_buffers_to_their_length() -> None:
    def find_own_buffers(cable_m: int) -> list[tuple[str, str]]:
        switch = with_cable_length(variant("cloudscale/numbered"), cable_m)
        bare = replace(switch.model, nos={"nxos": {**switch.model.nos["nxos"], "pause": []}})
        reading = NXOS.read(NXOS.render(replace(switch, model=bare)))
        found = Survey().add_switch(make_view(switch, reading), "tor")
        return [(finding.code, finding.message) for finding in found if "own buffers" in finding.message]

    assert find_own_buffers(100) == []
    ((code, message),) = find_own_buffers(101)
    assert code == "FAB6215"
    assert "Ethernet1/3/1 and 1 more ports" in message
    assert "up to 100 m, and this one has 101 m" in message
