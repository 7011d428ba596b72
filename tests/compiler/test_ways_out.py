"""Effects of external links beyond the switches: routes of hosts, the cabling list, reviews and gates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from fabricc.back import hosts as host_files
from fabricc.cli.plan import _plan_tables
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.external import External
from fabricc.fabric.links import port_layout
from fabricc.operate.push.gates import _check_sessions
from fabricc.paperwork.bill import LABELS, bill_rows, label_rows
from fabricc.paperwork.materials import list_materials
from fabricc.paperwork.plan_tables import cabling_rows, switch_cables
from fabricc.review.diff.figures import _switch_ratio
from tests.outward import SPINE, TOR, compiled, outward_fabric, spec_text, switch

BUILT = outward_fabric("frr")
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
    every = [
        row for at in BUILT.switch_ids() for row in switch_cables(BUILT.switch(at), port_layout(BUILT, at))
    ]
    assert sorted(every) == sorted(rows)
    assert [row for row in rows if row[0] != "external"] == [
        tuple(map(str, row)) for row in cabling_rows(PLAIN)
    ]


def test_they_are_no_part_of_the_oversubscription() -> None:
    for at in BUILT.switch_ids():
        assert _switch_ratio(BUILT.switch(at)) == _switch_ratio(PLAIN.switch(at))


def test_a_gate_does_not_wait_for_a_party_that_is_yet_to_be_set_up() -> None:
    spine = switch("frr", SPINE)
    up = {session.remote: [True, 4] for session in spine.bgp.sessions if session.peer != "core-1"}
    before, now = {"sessions": up}, {"sessions": {**up, "192.0.2.1": [False, 0]}}
    assert _check_sessions(spine, before, now, (), (), received=False) == []
    lost = _check_sessions(spine, {"sessions": {**up, "192.0.2.1": [True, 2]}}, now, (), (), received=False)
    assert lost == ["the session to core-1 (192.0.2.1) is down"]


def test_the_bill_has_our_module_and_the_cable_of_every_link_and_nothing_of_the_far_end() -> None:
    more = list_materials(BUILT).bill - list_materials(PLAIN).bill
    counted = {(item.item, item.role, item.length_m): number for item, number in more.items()}
    assert counted == {
        ("transceiver", "spine", ""): 2,
        ("fibre", "external", 40): 2,
        ("cable", "external", 2): 1,
    }
    assert not list_materials(PLAIN).bill - list_materials(BUILT).bill
    spared = {
        row[1]: row[7] for row in bill_rows(list_materials(BUILT), Fraction(1, 2)) if row[1] == "external"
    }
    assert spared == {"external": 1}


def test_both_ends_of_such_a_link_are_labeled_and_the_far_one_has_no_module_of_ours() -> None:
    labels = {
        (row[2], row[3]): dict(zip(LABELS, row, strict=True)) for row in label_rows(list_materials(BUILT), {})
    }
    near, far = labels[SPINE, "swp32"], labels["core-1", "et-0/0/1"]
    assert near["module"]
    assert not far["module"]
    assert near["cable_title"] == far["cable_title"] != ""
    assert len(labels) == 2 * (len(list(BUILT.cables())) + 3)


def test_a_divided_cage_takes_one_module_for_all_its_links() -> None:
    link = "{at: spine01a, port: %s, speed_gbps: 100, peer: fw-%d, peer_port: e1, local: 192.0.2.%d/31}"
    links = [link % (f"swp31s{child}", child, 32 + 2 * child) for child in range(2)]
    text = spec_text("frr") + "  wall:\n    links:\n" + "".join(f"      - {each}\n" for each in links)
    with TemporaryDirectory() as folder:
        Path(folder, "cluster.yaml").write_text(text)
        found = compile_spec(Path(folder, "cluster.yaml"), gaps=False)
    more = list_materials(found.fabric).bill - list_materials(BUILT).bill
    assert {(item.item, item.role): number for item, number in more.items()} == {
        ("transceiver", "spine"): 1,
        ("fibre", "external"): 1,
    }


def test_a_plan_lists_them_among_the_ports_in_use() -> None:
    tables = {title: rows for title, _, rows in _plan_tables(BUILT, compiled("frr").spec)}
    ways = [row[:4] for row in tables["Ways out"]]
    assert ways == [
        ("dc-core", "AS 64999", SPINE, "swp32"),
        ("dc-core", "AS 64999", "spine02a", "swp32"),
        ("filer", "static", TOR, "swp32"),
    ]
    outward = [row for row in tables["Ports in use"] if row[2] == "external"]
    assert outward == [(tier, name, "external", 1, 400, 400) for tier, name in
                       (("tor", TOR), ("spine", SPINE), ("spine", "spine02a"))]  # fmt: skip
    assert "Ways out" not in {title for title, *_ in _plan_tables(PLAIN, compiled("frr").spec)}
