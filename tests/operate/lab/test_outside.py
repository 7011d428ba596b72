"""Outside parties in a lab: what answers for them, what their loss must come to, and all of it under real FRR."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import endpoints, faults, lifecycle, observe, steady
from fabricc.operate.lab.agreement import Trial
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.lab.predict import predict_network
from fabricc.operate.lab.scenarios import trial_of
from fabricc.operate.lab.steady import Network
from tests.operate.lab.test_live import LIMIT_S, folder, is_gone
from tests.outward import SPINE, TOR, spec_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]
FILER, CORE = "outside-filer", "outside-dc-core"
ACCEPTED = "accept: [{code: FAB5725, reason: a lab without queues}, {"


def write_spec(where: Path, nos: str, *, dual: bool = False) -> Path:
    where.mkdir()
    path = where / "cluster.yaml"
    path.write_text(spec_text(nos, dual=dual).replace("accept: [{", ACCEPTED))
    return path


def plan_network(where: Path, nos: str) -> Network:
    return Network.of(None, read_source(write_spec(where, nos), None, "8.4").fabric)  # type: ignore[arg-type]


@pytest.mark.parametrize("nos", ["frr", "sonic", "eos"])
def test_every_party_has_a_box_and_cables_to_ports_by_frrs_names(tmp_path: Path, nos: str) -> None:
    network = plan_network(tmp_path / "spec", nos)
    plan = build_blueprint(network.fabric)
    assert [node.name for node in plan.outside] == [CORE, FILER]
    ends = {(c.a_device, c.b_device, c.b_port) for c in plan.cables if c.kind == "external"}
    assert ends == {(SPINE, CORE, "out0"), ("spine02a", CORE, "out1"), (TOR, FILER, "out0")}
    ports = {switch.name: {port.name for port in switch.ports} for switch in network.switches}
    assert all(c.a_port in ports[c.a_device] for c in plan.cables if c.kind == "external")
    text = {node.name: node.files.get("frr.conf", "") for node in plan.outside}
    assert text[FILER] == ""
    assert "router bgp 64999" in text[CORE]
    assert text[CORE].count("password FABRICC-SECRET-dc-core") == 2


def test_hosts_reach_what_a_party_is_accepted_with_until_its_last_link_is_gone(tmp_path: Path) -> None:
    network = plan_network(tmp_path / "spec", "frr")
    core = next(each for each in endpoints.outside_endpoints(network.fabric) if each.node == CORE)
    filer = next(each for each in endpoints.outside_endpoints(network.fabric) if each.node == FILER)
    rails = network.rails()
    far = next(each for each in rails if each.tor != TOR)
    near = next(each for each in rails if each.tor == TOR)
    ends = [(each.at, each.port) for party, links in endpoints.links_of(network.fabric).items()
            for each in links if party.name == "dc-core"]  # fmt: skip
    healthy, one, none = (network.predict(frozenset(ends[:down])) for down in range(3))
    assert [each.hops(far, core) for each in (healthy, one, none)] == [3, 3, None]
    assert [healthy.hops(each, filer) for each in (near, far)] == [2, 4]
    assert healthy.widths[TOR]["203.0.113.0/24"] == 2 * one.widths[TOR]["203.0.113.0/24"] > 0
    assert predict_network(network.switches).widths[TOR].get("203.0.113.0/24") is None


def test_a_prefix_that_a_party_hears_a_little_later_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = plan_network(tmp_path / "spec", "frr")
    lab = SimpleNamespace(record=SimpleNamespace(namespace=str))
    aggregates = {prefix: 1 for switch in network.switches for prefix in switch.bgp.aggregates}
    _, *rest = aggregates
    looks = iter([dict.fromkeys(rest, 1), aggregates])
    monkeypatch.setattr(steady, "bgp_widths", lambda _: next(looks))
    monkeypatch.setattr(endpoints, "outside_endpoints", lambda _: ())
    trial = Trial("zone", "10", 0, 0, None, {})
    steady.compare_outside(replace(network, lab=lab), network.predict(), trial)
    (check,) = trial.checks
    assert (check.facts, check.wrong) == (len(aggregates), [])


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "dual"), [("sonic", False), ("frr", True)])
def test_under_frr_hosts_reach_parties_outside_and_these_hear_aggregates_alone(
    tmp_path: Path,
    folder: Path,
    nos: str,
    dual: bool,
) -> None:
    lab, source = lifecycle.boot_lab(write_spec(tmp_path / "spec", nos, dual=dual), folder)
    network = Network.of(lab, source.fabric)
    prediction = network.predict()
    assert observe.wait_until_settled(lab, prediction, LIMIT_S) is not None
    assert observe.session_differences(lab, predict_network(network.switches)), (
        "sessions with nobody would be down"
    )
    trial = trial_of(lab)
    steady.compare_outside(network, prediction, trial)
    checks = {check.name: (check.facts, check.wrong) for check in trial.checks}
    assert {name for name, (facts, wrong) in checks.items() if facts and not wrong} == checks.keys()
    assert "prefixes that outside parties receive" in checks
    if not dual:
        assert {"host to outside", "outside to host"} < checks.keys()
    broken = faults.break_target(lab, f"{SPINE}:swp32")
    assert observe.wait_until_settled(lab, network.predict(frozenset(broken)), LIMIT_S) is not None
    lifecycle.take_down_lab(folder)
    assert is_gone(lab)
