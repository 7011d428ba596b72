"""Tenants in a lab: VRFs that are network namespaces, what reaches what, and a host that moves under traffic."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import box, demands, growth, lifecycle, observe, state, vrfs
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.lab.steady import Network, compare_steady
from fabricc.operate.lab.trial import trial_of
from tests.operate.lab import specs
from tests.operate.lab.test_boxes import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPEC = """\
cluster: shared
gpus: {model: lab-host, hosts: 4, wiring: rack, hosts_per_rack: 2, socket_interface: eth0}
tors: {model: linux-16x100, nos: frr, uplinks: 2}
spines: {model: linux-16x100, nos: frr, count: 2}
addressing: {family: dual}
tenants:
  acme: {hosts: [rack001-host01, rack002-host01%s]}
  globex: {hosts: [rack001-host02%s]}
accept:
  - {code: FAB5201, reason: a lab has no queues}
  - {code: FAB5202, reason: a lab has no queues}
"""
TOR, FAR_TOR, MOVED = "rack001-tor1a", "rack002-tor1a", "rack002-host02"
LIMIT_S = 120.0
NEW_NETWORK = 0x40000000


def write(folder: Path, *, moved: bool = False) -> Path:
    member = f", {MOVED}"
    return specs.write(folder, SPEC % ((member, "") if moved else ("", member)))


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.of(None, read_source(write(tmp_path), None, "8.4").fabric)  # type: ignore[arg-type]


def test_hosts_reach_those_of_their_tenant_alone(network: Network) -> None:
    rails, prediction = network.rails(), network.predict()
    tenants = {"rack001-host01": "acme", "rack002-host01": "acme"}
    for near in rails:
        for far in rails:
            if near.node != far.node and near.version == far.version:
                together = tenants.get(near.node, "globex") == tenants.get(far.node, "globex")
                assert (prediction.hops(near, far) is not None) is together


def test_a_tenant_is_cut_off_from_a_tor_without_uplinks(network: Network) -> None:
    ports = [port.name for switch in network.switches if switch.name == TOR for port in switch.ports]
    down = frozenset((TOR, port) for port in ports if port in _uplinks(network))
    after = network.predict(down)
    assert after.widths[f"{TOR}.acme"] == {}
    assert after.widths[f"{FAR_TOR}.acme"] == {}
    assert network.predict().widths[f"{TOR}.acme"]


def _uplinks(network: Network) -> set[str]:
    tor = next(switch for switch in network.switches if switch.name == TOR)
    return {port.name for port in tor.ports if port.peer and port.peer.device.startswith("spine")}


def test_a_port_is_in_the_namespace_of_its_vrf(network: Network) -> None:
    plan = build_blueprint(network.fabric)
    tor = next(node for node in plan.switches if node.name == TOR)
    assert [vrf.name for vrf in tor.vrfs] == ["acme", "globex"]
    ports = {port for vrf in tor.vrfs for port in vrf.ports}
    assert ports
    assert ports.isdisjoint(word for line in tor.commands for word in line.split())
    for vrf in tor.vrfs:
        assert {line.split()[2] for line in vrf.port_lines} == set(vrf.ports)
        assert "type vxlan" in vrf.tunnel
        assert "tos inherit" in vrf.tunnel


def test_lines_name_vrfs_and_namespaces() -> None:
    text = "vrf acme\n vni 20001\nexit-vrf\n!\ninterface swp1\n description x\nexit\n!\ninterface swp2\nexit\n!\n"
    named = vrfs.name_vrfs(text, {"swp1": "acme"})
    assert "interface swp1 vrf acme\n description x" in named
    assert "interface swp2\nexit" in named
    running = vrfs.name_namespaces(named, ["acme", "left"])
    assert "vrf acme\n netns /run/netns/acme\n vni 20001\n" in running
    assert running.endswith("vrf left\n netns /run/netns/left\nexit-vrf\n!\n")
    assert vrfs.name_namespaces("interface swp1\n", []) == "interface swp1\n"


def test_a_box_with_vrfs_enters_network_namespaces_and_no_others() -> None:
    for machine, (audit, column) in box.ARCHITECTURES.items():
        call = box._SETNS[column]
        refused = evaluate(box.rules(machine), audit, box._DENIED["mount"][column])
        allowed = evaluate(box.rules(machine), audit, 1000)
        for kind in (0, NEW_NETWORK, 0x20000, NEW_NETWORK | 0x20000):
            assert evaluate(box.rules(machine), audit, call, kind) == refused
            wanted = allowed if kind == NEW_NETWORK else refused
            assert evaluate(box.rules(machine, vrfs=True), audit, call, kind) == wanted
        assert evaluate(box.rules(machine, vrfs=True), audit, 1000) == allowed


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := demands.missing_programs():
        pytest.skip(f"a lab needs {', '.join(missing)}")
    place = tmp_path / "lab"
    yield place
    if (place / state.RECORD).exists():
        lifecycle.take_down_lab(place)


@pytest.mark.slow
def test_a_host_moves_to_another_tenant_and_others_lose_no_datagram(tmp_path: Path, folder: Path) -> None:
    lab, source = lifecycle.boot_lab(write(tmp_path / "before"), folder)
    before = Network.of(lab, source.fabric)
    assert observe.wait_until_settled(lab, before.predict(), LIMIT_S) is not None
    trial = trial_of(lab)
    compare_steady(before, trial)
    step = growth.plan_step(before, write(tmp_path / "after", moved=True), None)
    assert step.reloaded == (FAR_TOR,)
    event = growth.grow_lab(step, trial)
    compare_steady(step.after, trial)
    assert {check.name: check.wrong for check in trial.wrong} == {}
    assert trial.facts > 500
    assert event.outage.lost == 0
    assert event.outage.sent > 0


def test_a_push_to_tenants_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(LabError) as refused:
        lifecycle.boot_lab(write(tmp_path), folder, ssh=True)
    assert refused.value.diagnostic.code == "FAB3330"
    assert not folder.exists()
