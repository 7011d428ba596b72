"""Congestion controls and published presets: each marks as its source specifies, and never after PFC acts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.fabric.qos import Ecn
from fabricc.front.qos import PRESETS, PROFILES, FixedMarking, build_worksheet, switch_qos
from fabricc.front.qos.classes import traffic_classes
from fabricc.front.qos.ecn import DCTCP, UEC, ceiling_bytes, ecn_thresholds, leaves_room
from fabricc.front.spec.document import cluster_schema
from fabricc.front.spec.model import Priority
from fabricc.front.spec.priorities import PFC_ONLY
from tests.front.qos.published import make_sn5600
from tests.samples import CLASSES

FAR = 10**9
RTT = 7709
UNMARKED = tuple(replace(c, ecn=False) for c in CLASSES)
KB = 1000

# Name -> speed -> (Kmin, Kmax), before they are rounded to cells; then Pmax.
PUBLISHED = {
    "hpcc": ({25: (100 * KB, 400 * KB), 50: (200 * KB, 800 * KB), 100: (400 * KB, 1600 * KB)}, 20),
    "simai-400g": ({400: (800 * KB, 3200 * KB)}, 20),
    "simai-200g": ({200: (300 * KB, 1200 * KB)}, 80),
    "sonic-default": ({100: (1048576, 2097152), 800: (1048576, 2097152)}, 5),
    "sonic-th": ({100: (250000, 2097152)}, 5),
    "sonic-sn4600c": ({100: (2000000, 10000000)}, 5),
    "sonic-7060x6": ({400: (131072, 262144)}, 5),
    "sonic-sn5640-tor": ({400: (166912, 282624)}, 5),
    "sonic-sn5640-leaf": ({400: (166912, 239616)}, 5),
    "cumulus-lossless": ({400: (150000, 1500000)}, 100),
    "cumulus-lossy-multi-tc": ({400: (163000, 234000)}, 5),
    "cisco": ({400: (150000, 3000000)}, 7),
    "arista": ({400: (500000, 1500000)}, 20),
    "dell-enterprise": ({400: (2048000, 12480000)}, 15),
    "azure-lab": ({100: (1000000, 2000000)}, 5),
    "dcqcn-paper-40g": ({40: (5000, 200000)}, 1),
}


def test_the_spec_knows_exactly_the_profiles_and_presets_there_are() -> None:
    properties = cluster_schema()["properties"]["congestion"]["properties"]
    assert set(properties["profile"]["enum"]) == {*PROFILES, PFC_ONLY}
    assert properties["ecn"]["properties"]["preset"]["enum"] == list(PRESETS)
    assert PUBLISHED.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_as_published(name: str) -> None:
    by_speed, percent = PUBLISHED[name]
    for speed, thresholds in by_speed.items():
        assert PRESETS[name].at(speed) == thresholds
        marked = ecn_thresholds(speed, RTT, FAR, mtu=9216, cell_bytes=1, marking=PRESETS[name])
        assert marked == Ecn(*thresholds, percent)


def test_a_preset_is_rounded_down_to_the_cell() -> None:
    marked = ecn_thresholds(400, RTT, FAR, mtu=9216, cell_bytes=192, marking=PRESETS["sonic-default"])
    assert marked == Ecn(1_048_512, 2_097_024, 5)


def test_uec_marks_between_a_fifth_and_four_fifths_of_the_bdp() -> None:
    assert ecn_thresholds(400, 8000, FAR, mtu=9216, cell_bytes=1, marking=UEC) == Ecn(80_000, 320_000, 100)


def test_dctcp_marks_by_a_step() -> None:
    assert ecn_thresholds(400, 8000, FAR, mtu=9216, cell_bytes=192, marking=DCTCP) == Ecn(57_024, 57_216, 100)


@given(
    name=st.sampled_from([*PRESETS, *PROFILES]),
    speed=st.sampled_from([25, 100, 400, 800]),
    rtt=st.integers(500, 100_000),
    pause=st.integers(0, 10**7),
    cell=st.sampled_from([96, 192, 254, 4096]),
)
def test_no_marking_reaches_the_pause_point(name: str, speed: int, rtt: int, pause: int, cell: int) -> None:
    marking = PRESETS.get(name) or PROFILES[name]
    marked = ecn_thresholds(speed, rtt, pause, mtu=9216, cell_bytes=cell, marking=marking)
    assert (marked is not None) == leaves_room(pause, 9216, cell)
    if marked is not None:
        assert 0 < marked.min_bytes < marked.max_bytes <= ceiling_bytes(pause, 9216, cell) < pause
        assert marked.min_bytes % cell == marked.max_bytes % cell == 0


def test_a_preset_above_pfc_is_lowered_with_a_warning() -> None:
    qos, (finding,), _ = switch_qos(
        CLASSES, make_sn5600(), {(400, 40): 128}, 9216, RTT, marking=PRESETS["sonic-default"]
    )
    assert (finding.code, finding.severity) == ("FAB4009", Severity.WARNING)
    assert "PFC acts first above 852,480 bytes" in finding.message
    assert qos.profiles[0].ecn == Ecn(426_240, 852_480, 5)
    assert finding.help == "426,240 to 852,480 bytes are used instead"


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize(
    "why", ["the maker publishes these thresholds", "the buffer pools of the switch are assumed"]
)
def test_published_thresholds_and_assumed_buffers_keep_the_marks_with_a_warning(
    stated: bool, why: str
) -> None:
    marking = replace(PRESETS["cumulus-lossless"], stated=stated)
    model = replace(make_sn5600(), vendor="nvidia")
    if "assumed" in why:
        model = replace(model, vendor="other", sources={"buffers.pools": "assumed: of a sibling"})
    qos, (finding, *more), _ = switch_qos(CLASSES, model, {(400, 40): 128}, 9216, RTT, marking=marking)
    assert [each.code for each in more] in ([], ["FAB4006"])
    assert (finding.code, finding.severity) == ("FAB4010" if stated else "FAB4009", Severity.WARNING)
    assert why in finding.message
    assert qos.profiles[0].ecn == Ecn(149_952, 1_499_904, 100, above_pause=True)


def test_dells_own_thresholds_are_kept_on_its_switches() -> None:
    marking = replace(PRESETS["dell-enterprise"], stated=True)
    model = load_catalog()[0].switches["z9664f"]
    _, (finding, *_), _ = switch_qos(
        CLASSES, model, {(400, 5): 32, (400, 40): 32}, 9216, RTT, marking=marking
    )
    assert (finding.code, finding.severity) == ("FAB4010", Severity.WARNING)
    assert "the maker publishes these thresholds (AMD, RoCE network configuration" in finding.message


def test_numbers_of_the_spec_above_pfc_are_refused_with_the_bound() -> None:
    links = {(400, 40): 128}
    own = FixedMarking("spec", 500 * KB, 900 * KB, 10, "congestion.ecn", stated=True)
    _, (finding,), _ = switch_qos(CLASSES, make_sn5600(), links, 9216, RTT, marking=own)
    assert (finding.code, finding.severity) == ("FAB4010", Severity.ERROR)
    assert finding.help == "the largest max_kb that fits is 852; or accept FAB4010 with a reason"
    both = replace(own, min_bytes=860 * KB)
    _, (finding,), _ = switch_qos(CLASSES, make_sn5600(), links, 9216, RTT, marking=both)
    assert finding.help.startswith("the largest max_kb that fits is 852, with a `min_kb` below it; or accept")
    fitting = replace(own, max_bytes=852 * KB)
    qos, findings, _ = switch_qos(CLASSES, make_sn5600(), links, 9216, RTT, marking=fitting)
    assert findings == ()
    assert qos.profiles[0].ecn == Ecn(499_968, 851_904, 10)


def test_pfc_only_has_profiles_without_thresholds_and_a_worksheet_without_marks() -> None:
    links = {(400, 300): 120}
    qos, findings, names = switch_qos(UNMARKED, make_sn5600(), links, 9216, RTT)
    assert [p.ecn for p in qos.profiles] == [None]
    assert set(names.values()) == {"400g-300m"}
    assert [f.code for f in findings] == []
    labels = {row.label for row in build_worksheet(qos, make_sn5600(), links, 9216, RTT)["400g-300m"]}
    assert "pause point" in labels
    assert not labels & {"Kmin", "Kmax", "Pmax"}


def test_pfc_only_needs_no_room_for_marks() -> None:
    tight = {(400, 300): 100}
    two = (*UNMARKED[:2], replace(UNMARKED[1], name="storage", priority=4, dscps=(34,)), UNMARKED[2])
    marked = tuple(replace(c, ecn=c.lossless) for c in two)
    assert [f.code for f in switch_qos(marked, make_sn5600(), tight, 9216, RTT)[1]] == ["FAB4005"]
    assert switch_qos(two, make_sn5600(), tight, 9216, RTT)[1] == ()


def test_lossless_classes_are_unmarked_without_ecn() -> None:
    rdma = Priority("rdma", (26,), True, False, None, None, None)
    assert [c.ecn for c in traffic_classes((rdma,), marked=False) if c.lossless] == [False]
    assert [c.ecn for c in traffic_classes((rdma,)) if c.lossless] == [True]


def test_a_profiles_own_share_of_the_bdp_is_no_warning() -> None:
    for marking in (UEC, DCTCP):
        assert switch_qos(CLASSES, make_sn5600(), {(400, 40): 16}, 9216, 20_000, marking=marking)[1] == ()
    assert DCTCP.min_bdp < Fraction(1, 5) == UEC.min_bdp
