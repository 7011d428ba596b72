"""What ways out change beside the switches: hosts' routes, the cabling list, what reviews and gates say."""

from __future__ import annotations

from dataclasses import replace

from fabricc.back import hosts as host_files
from fabricc.compiler.tables import cabling_rows, switch_cables
from fabricc.fabric.external import External
from fabricc.fabric.links import layout
from fabricc.operate.push.gates import _sessions
from fabricc.review.diff.figures import _oversubscription
from tests.outward import SPINE, TOR, fabric, switch

BUILT = fabric("frr")
PLAIN = replace(BUILT, external=External())
OUTSIDE = ("198.51.100.0/24", "203.0.113.0/24")


def test_hosts_get_routes_to_what_is_accepted_and_to_nothing_else_more() -> None:
    at = next(iter(BUILT.host_ids()))
    before, after = (host_files.planned(each.host(at)) for each in (PLAIN, BUILT))
    more = {path: value for path, value in after.items() if before.get(path) != value}
    assert before.keys() <= after.keys()
    assert {path.rpartition("route[")[2].rstrip("]") for path in more} == set(OUTSIDE)
    assert all("route[" in path for path in more)


def test_hosts_of_a_fabric_without_them_have_the_same_files() -> None:
    at = next(iter(PLAIN.host_ids()))
    names = {"etc/nccl.conf"}
    before, after = (host_files.render(each.host(at)) for each in (PLAIN, BUILT))
    assert names <= before.keys()
    assert {name: before[name] for name in names} == {name: after[name] for name in names}


def test_the_cabling_list_has_them_after_the_switchs_own_cables() -> None:
    rows = [tuple(map(str, row)) for row in cabling_rows(BUILT)]
    out = [row for row in rows if row[0] == "external"]
    assert out == [
        ("external", TOR, "swp32", "filer-1", "e0a", "400", "dac", "2"),
        ("external", SPINE, "swp32", "core-1", "et-0/0/1", "400", "smf", "40"),
        ("external", "spine02a", "swp32", "core-2", "et-0/0/1", "400", "smf", "40"),
    ]
    every = [row for at in BUILT.switch_ids() for row in switch_cables(BUILT.switch(at), layout(BUILT, at))]
    assert sorted(every) == sorted(rows)
    assert [row for row in rows if row[0] != "external"] == [
        tuple(map(str, row)) for row in cabling_rows(PLAIN)
    ]


def test_they_are_no_part_of_the_oversubscription() -> None:
    for at in BUILT.switch_ids():
        assert _oversubscription(BUILT.switch(at)) == _oversubscription(PLAIN.switch(at))


def test_a_gate_does_not_wait_for_a_party_that_is_yet_to_be_set_up() -> None:
    spine = switch("frr", SPINE)
    up = {session.remote: [True, 4] for session in spine.bgp.sessions if session.peer != "core-1"}
    before, now = {"sessions": up}, {"sessions": {**up, "192.0.2.1": [False, 0]}}
    assert _sessions(spine, before, now, (), ()) == []
    lost = _sessions(spine, {"sessions": {**up, "192.0.2.1": [True, 2]}}, now, (), ())
    assert lost == ["the session to core-1 (192.0.2.1) is down"]
