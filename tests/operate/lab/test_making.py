"""The lab files for the inventories, and the checks of the machine before the start."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fabricc.operate.lab import agreement, demands, faults, kernel, observe, scenarios, state
from fabricc.operate.lab.agreement import Trial
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.operate.lab.endpoints import Endpoint
from fabricc.operate.lab.flows import draw_candidates
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab, with_overlay
from fabricc.operate.lab.state import cable_ends
from tests.operate.lab import specs
from tests.operate.lab.specs import SPECS


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    plan = build_blueprint(specs.source(specs.two_tiers(tmp_path / "spec")).fabric)
    record = state.Record(
        cluster="small", prefix="small-1", spec="cluster.yaml", origin="", units=None,
        switches=tuple(node.name for node in plan.switches), hosts=tuple(node.name for node in plan.hosts),
        cables=cable_ends(plan.cables), overlay=("no zebra nexthop kernel enable",), differences=(), frr="8.4.4",
    )  # fmt: skip
    return Lab(tmp_path, record)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_a_slice_of_every_inventory_runs_through_frr(spec: Path) -> None:
    source = specs.source(spec, units=1)
    plan = build_blueprint(source.fabric)
    ends = [end for a, ap, b, bp in cable_ends(plan.cables) for end in ((a, ap), (b, bp))]
    assert len(ends) == len(set(ends)), "no port has two cables"
    assert max(len(port) for _, port in ends) <= 15
    assert {device for device, _ in ends} <= {node.name for node in plan.nodes}
    assert all("frr.conf" in node.files for node in plan.switches)
    units = json.dumps(source.differences)
    assert ("through the FRR back end" in units) == (spec.parent.name != "lab-smallest")


def test_every_wired_port_is_addressed_by_the_files_of_its_device(tmp_path: Path) -> None:
    plan = build_blueprint(specs.source(specs.two_tiers(tmp_path)).fabric)
    for node in plan.nodes:
        wired = {
            port
            for a, ap, b, bp in cable_ends(plan.cables)
            for d, port in ((a, ap), (b, bp))
            if d == node.name
        }
        assert wired
        assert {line.split()[2] for line in node.commands if line.endswith(" up")} - {"lo", "eth0"} == wired


def test_more_units_than_there_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="3 units"):
        specs.source(specs.two_tiers(tmp_path), units=3)


def test_lab_requires_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabError) as refused:
        demands.require_root()
    assert refused.value.diagnostic.code == "FAB8001"
    assert "sudo" in refused.value.diagnostic.help


def test_a_fabric_too_large_is_refused_with_the_slice_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = specs.source(specs.two_tiers(tmp_path, hosts=12)).fabric
    whole = demands.estimate_demand(fabric).memory_kib
    monkeypatch.setattr(demands, "available_kib", lambda: whole)
    with pytest.raises(LabError) as refused:
        demands.require_room(fabric)
    assert refused.value.diagnostic.code == "FAB8003"
    units = demands.largest_slice(fabric, int(whole * 0.85))
    assert 0 < units < len(fabric.units)
    assert f"--units {units} " in refused.value.diagnostic.help
    demands.require_room(fabric, held_kib=whole)


def test_a_link_is_named_by_either_end_and_a_hosts_link_fails_at_the_switch(lab: Lab) -> None:
    lower, lower_port, upper, upper_port = next(c for c in lab.record.cables if c[0] in lab.record.hosts)
    assert faults.ends_of(lab, f"{lower}:{lower_port}") == [(upper, upper_port)]
    assert faults.ends_of(lab, f"{upper}:{upper_port}") == [(upper, upper_port)]
    assert len(faults.ends_of(lab, "spine01a")) == 4


def test_a_silent_fault_is_remembered_as_such(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []

    def batch(lines: list[str], namespace: str, *, force: bool = False) -> None:
        ran.extend((namespace, line) for line in lines)

    monkeypatch.setattr(kernel, "tc_batch", batch)
    faults.break_target(lab, "su001-tor1a:swp3", silent=True)
    assert [line.split()[4] for _, line in ran[1:]] == ["ingress", "egress"]
    assert {namespace for namespace, _ in ran} == {"small-1.su001-tor1a"}
    assert faults.read_faults(lab) == {
        "su001-tor1a:swp3": faults.Fault((("su001-tor1a", "swp3"),), silent=True)
    }
    with pytest.raises(LabError, match="broken already"):
        faults.break_target(lab, "su001-tor1a:swp3")
    ran.clear()
    assert faults.heal_target(lab) == ["su001-tor1a:swp3"]
    assert [line for _, line in ran] == ["qdisc del dev swp3 clsact"]
    assert faults.read_faults(lab) == {}


def test_too_few_neighbor_entries_are_refused_with_both_families_in_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"ipv4": 1 << 20, "ipv6": 8}
    monkeypatch.setattr(Path, "read_text", lambda path, *_: str(limits[path.parts[4]]))
    with pytest.raises(LabError) as refused:
        demands._require_neighbors(demands.Demand(switches=6, hosts=4, sessions=16, cables=16))
    assert refused.value.diagnostic.code == "FAB8004"
    assert "ipv6" in refused.value.diagnostic.message
    assert refused.value.diagnostic.help == (
        "Raise it: `sysctl -w net.ipv4.neigh.default.gc_thresh3=128 net.ipv6.neigh.default.gc_thresh3=128`."
    )


def test_lab_warns_of_too_many_bfd_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = specs.source(specs.two_tiers(tmp_path)).fabric
    assert demands.describe_strain(fabric) is None
    many = demands.Demand(switches=48, hosts=128, sessions=2048, cables=2048)
    monkeypatch.setattr(demands, "estimate_demand", lambda _: many)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert "1.6 of 2 processors at 300 ms" in str(demands.describe_strain(fabric))
    quiet = replace(fabric, routing=replace(fabric.routing, bfd_interval_ms=None))
    assert demands.describe_strain(quiet) is None


def test_lldpcli_output_is_parsed(tmp_path: Path) -> None:
    heard = {
        "name": "swp1",
        "chassis": [{"name": [{"value": "spine01a"}]}],
        "port": [{"id": [{"value": "swp4"}]}],
    }
    assert observe.parse_neighbors({"lldp": [{"interface": [heard]}]}) == {"swp1": ("spine01a", "swp4")}
    assert observe.parse_neighbors({"lldp": [{}]}) == {}


def test_silent_failures_are_noticed_within_the_planned_timers(tmp_path: Path) -> None:
    silent = scenarios.Scenario("", "", silent=True)
    network = specs.network(specs.two_tiers(tmp_path))
    assert scenarios.notice_s(network, silent) == pytest.approx(0.9)
    assert scenarios.notice_s(network, scenarios.Scenario("", "")) == 0
    routing = replace(network.fabric.routing, bfd_interval_ms=None, hold_s=9)
    without = replace(network, fabric=replace(network.fabric, routing=routing))
    assert scenarios.notice_s(without, silent) == 9


@pytest.mark.parametrize("target", ["spine09a", "spine01a:swp16", "su001-host01", ""])
def test_lab_break_rejects_unknown_targets(lab: Lab, target: str) -> None:
    with pytest.raises(LabError) as refused:
        faults.ends_of(lab, target)
    assert refused.value.diagnostic.code == "FAB8011"


def test_a_record_is_read_as_it_was_written(lab: Lab) -> None:
    state.save_record(lab.folder, lab.record)
    assert state.load_record(lab.folder) == lab.record


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 0}', '{"format": 1}'])
def test_damaged_lab_record_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / state.RECORD).write_text(text)
    with pytest.raises(LabError) as refused:
        state.load_record(tmp_path)
    assert refused.value.diagnostic.code == "FAB8006"


def test_two_commands_do_not_work_on_one_lab(tmp_path: Path) -> None:
    with state.lock_lab(tmp_path), pytest.raises(LabError, match="another command"), state.lock_lab(tmp_path):
        pass
    with state.lock_lab(tmp_path):
        pass


def test_labs_of_one_cluster_in_two_folders_have_names_of_their_own(tmp_path: Path) -> None:
    assert state.prefix_for("small", tmp_path / "a") != state.prefix_for("small", tmp_path / "b")


def test_the_overlay_stands_where_frr_prints_it_and_only_once() -> None:
    line = "no zebra nexthop kernel enable"
    text = "frr defaults datacenter\nservice integrated-vtysh-config\n!\nrouter bgp 1\nexit\n"
    once = with_overlay(text, (line,))
    assert once.splitlines()[2:4] == [line, "!"]
    assert with_overlay(once, (line,)) == once


def test_a_choice_of_pairs_keeps_every_relation_of_rails() -> None:
    many = [
        Endpoint(f"host{host}", f"rail{rail}", f"{'fd00::' if six else '10.0.0.'}{host * 8 + rail}", "t", "p")
        for host in range(32)
        for rail in range(8)
        for six in (False, True)
    ]
    drawn = draw_candidates(many, 3000)
    assert len(drawn) == 3000 == len(set(drawn))
    assert {(int(many[b].port[4:]) - int(many[a].port[4:])) % 8 for a, b in drawn} == set(range(8))
    assert all(many[a].version == many[b].version and many[a].node != many[b].node for a, b in drawn)


def test_start_time_distinguishes_reused_process_ids() -> None:
    assert kernel.start_time(1) == kernel.start_time(1) is not None
    assert kernel.start_time(1 << 22) is None


def make_trial() -> Trial:
    made = Trial("small", "8.4.4", 6, 4, 8.0, {"a": 2048})
    check = made.check("steady", "next hops", "2")
    check.add(True, "")
    check.add(False, "su001-tor1a 10.0.0.0/30: predicted 2, <observed> 1")
    made.check("steady", "MTU", "9000").add(True, "")
    return made


def test_a_disagreement_stands_in_every_form_of_the_report() -> None:
    found = make_trial()
    assert "2 of 3 facts agree: plan and network DISAGREE." in agreement.table_lines(found)
    assert "  su001-tor1a 10.0.0.0/30: predicted 2, <observed> 1" in agreement.table_lines(found)
    read = json.loads(agreement.as_json(found))
    assert (read["facts"], read["agreed"]) == (3, 2)
    suite = ElementTree.fromstring(agreement.as_junit(found))
    assert suite.get("failures") == "1"
    assert [case.find("failure") is not None for case in suite] == [True, False]


def test_agreement_is_summarized_in_one_line() -> None:
    found = make_trial()
    found.checks[0] = replace(found.checks[0], agreed=2, wrong=[])
    assert agreement.table_lines(found)[-1] == "3 of 3 facts agree: the live network agrees with the plan."
