"""From the spec's `congestion` and `buffers` to every switch of a planned fabric."""

from __future__ import annotations

import pytest

from fabricc.fabric.facts import switch_facts
from fabricc.front.planning.quality import list_worksheets
from fabricc.front.qos import PRESETS
from tests.front.planning.support import fabric_of, make_document, planned, spec_of


def test_pfc_only_leaves_no_mark_on_any_switch() -> None:
    fabric = fabric_of(make_document(congestion={"profile": "pfc-only"}))
    for at in fabric.kinds():
        switch = fabric.switch(at)
        assert {p.ecn for p in switch.qos.profiles} == {None}
        facts = switch_facts(switch)
        assert not [path for path in facts if "ecn" in path]
        assert [path for path in facts if path.endswith("/pfc")]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_planned(name: str) -> None:
    result = planned(make_document(congestion={"ecn": {"preset": name}}))
    assert result.fabric is not None
    assert {d.code for d in result.diagnostics} <= {"FAB4006", "FAB4009"}


def test_threshold_findings_point_to_the_thresholds() -> None:
    own = {"min_kb": 5000, "max_kb": 9000, "max_percent": 10}
    text = make_document(congestion={"ecn": own})
    result = planned(text)
    assert result.fabric is None
    assert {d.code for d in result.diagnostics} == {"FAB4010"}
    place = spec_of(text).position("congestion", "ecn")
    assert {(d.position.line, d.position.column) for d in result.diagnostics if d.position} == {
        (place.line, place.column)
    }


def test_a_declared_oversubscription_reaches_pools_and_worksheet() -> None:
    text = make_document(buffers={"headroom_oversubscription": 2.5})
    fabric = fabric_of(text)
    assert all(qos.pools and qos.pools.headroom_bytes > 0 for qos in fabric.qos.values())
    for sheet in list_worksheets(spec_of(text), fabric):
        ratio = next(row.value for row in sheet.rows if row.label == "headroom pool oversubscription")
        assert 0 < float(ratio) <= 2.5


def test_a_buffer_over_budget_still_has_its_worksheet() -> None:
    classes = {"rdma": {"dscp": 26, "lossless": True}, "bulk": {"dscp": 34, "lossless": True}}
    text = make_document(priorities=classes, cables={"spine": {"length_m": 2000}, "host": {"length_m": 300}})
    result = planned(text)
    assert result.fabric is None
    assert "FAB4003" in {d.code for d in result.diagnostics}
    assert result.draft is not None
    sheets = list_worksheets(spec_of(text), result.draft)
    assert {sheet.switches for sheet in sheets} == {"tor", "spine"}
    excess = []
    for sheet in sheets:
        steps = {row.label: row.value for row in sheet.rows}
        excess.append(steps["buffer taken"] - steps["buffer"])
    assert max(excess) > 0


def test_the_worksheet_agrees_with_every_planned_profile() -> None:
    text = make_document()
    fabric = fabric_of(text)
    sheets = list_worksheets(spec_of(text), fabric)
    planned_profiles = {
        ("tor" if key == "tor0" else key, p.name): p for key, qos in fabric.qos.items() for p in qos.profiles
    }
    assert {(s.switches, s.profile.name): s.profile for s in sheets} == planned_profiles
    for sheet in sheets:
        steps = {row.label: row.value for row in sheet.rows}
        ecn = sheet.profile.ecn
        assert ecn is not None
        assert (steps["Kmin"], steps["Kmax"], steps["Pmax"]) == (
            ecn.min_bytes,
            ecn.max_bytes,
            ecn.max_percent,
        )
        assert steps["xoff"] == sheet.profile.headroom.xoff_bytes
