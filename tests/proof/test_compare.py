"""Facts of a file against facts of the plan: what is missing, different or not planned, and where."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.nos import load
from fabricc.fabric.facts import Reading
from fabricc.proof import compare, device_findings
from tests.samples import tor

PATHS = st.sampled_from([f"interface[p{i}]/{name}" for i in range(3) for name in ("mtu", "ipv4", "pfc")])
FACTS = st.dictionaries(PATHS, st.integers(0, 3))


def make_reading(facts: dict[str, int]) -> Reading:
    found = Reading()
    for line, (path, value) in enumerate(facts.items(), 1):
        found.put(path, value, "frr.conf", line)
    return found


@given(FACTS, FACTS)
def test_every_difference_is_reported_once_and_nothing_else(
    planned: dict[str, int], found: dict[str, int]
) -> None:
    reported = {m.path: (m.planned, m.found) for m in compare(dict(planned), make_reading(found))}
    paths = planned.keys() | found.keys()
    expected = {p: (planned.get(p), found.get(p)) for p in paths if planned.get(p) != found.get(p)}
    assert reported == expected


def test_a_difference_names_file_and_line() -> None:
    (wrong,) = compare({"a/x": 1, "a/y": 2}, make_reading({"a/x": 1, "a/y": 3}))
    assert (wrong.file, wrong.line) == ("frr.conf", 2)
    (finding,) = device_findings("tor1", [wrong], [])
    assert finding.code == "FAB6002"
    assert finding.message == "tor1: a/y is 3 in the file and 2 in the plan"


def test_a_missing_fact_points_to_the_nearest_line() -> None:
    (wrong,) = compare({"b/p/x": 1, "a/x": 1, "a/q/y": 1}, make_reading({"b/p/x": 1, "a/x": 1}))
    assert (wrong.file, wrong.line, wrong.found) == ("frr.conf", 2, None)


def test_a_missing_block_points_to_where_it_would_stand() -> None:
    planned = {"i[1]/x": 1, "i[2]/x": 1, "i[3]/x": 1}
    (wrong,) = compare(planned, make_reading({"i[1]/x": 1, "i[3]/x": 1}))
    assert (wrong.path, wrong.line) == ("i[2]/x", 1)
    (wrong,) = compare(planned, make_reading({"i[2]/x": 1, "i[3]/x": 1}))
    assert (wrong.path, wrong.line) == ("i[1]/x", 1)


def test_unknown_lines_are_grouped_without_their_numbers() -> None:
    lines = [("frr.conf", 3, " bgp thing 7"), ("frr.conf", 9, " bgp thing 12")]
    assert len({f.group for f in device_findings("tor1", [], lines)}) == 1
    assert {f.code for f in device_findings("tor1", [], lines)} == {"FAB6004"}


def test_a_rendered_switch_compares_equal_and_each_planted_fault_is_found() -> None:
    switch = tor()
    back_end = load("frr")
    text = back_end.render(switch)
    assert compare(back_end.planned(switch), back_end.read(text)) == []
    faults = {
        "remote-as 4200001000": "remote-as 4200001001",
        "10.64.0.1/31": "10.64.0.5/31",
        "maximum-paths 64": "maximum-paths 1",
    }
    for right, wrong in faults.items():
        assert any(right in content for content in text.values()), right
        broken = {file: content.replace(right, wrong, 1) for file, content in text.items()}
        assert compare(back_end.planned(switch), back_end.read(broken)), right


def test_a_plan_for_another_switch_does_not_pass() -> None:
    switch = tor()
    other = replace(switch, bgp=replace(switch.bgp, asn=64512))
    back_end = load("frr")
    paths = {m.path for m in compare(back_end.planned(other), back_end.read(back_end.render(switch)))}
    assert "bgp/asn" in paths
