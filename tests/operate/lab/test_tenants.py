"""Tenants in a lab: VRFs that are network namespaces, what reaches what, and a host that moves under traffic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.drivers import frr_agent
from fabricc.operate.lab import box, demands, growth, lifecycle, making, observe, state
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.operate.lab.endpoints import outside_endpoints
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.lab.node import MANAGEMENT_NODE
from fabricc.operate.lab.scenarios import trial_of
from fabricc.operate.lab.steady import Network, compare_steady
from tests.operate.lab import specs
from tests.operate.lab.test_boxes import evaluate_filter
from tests.operate.push.network import build_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.operate.lab.running import Lab

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
EXITS = """\
external:
  filer:
    accept: [198.51.100.0/24, "2001:db8:1::/48"]
    links:
      - {at: rack001-tor1a, port: swp15, speed_gbps: 100, local: 192.0.2.9/29, remote: 192.0.2.10,
         local6: "2001:db8::/127", peer: filer-1, peer_port: e0a}
  internet:
    accept: [0.0.0.0/0, 203.0.113.0/24]
    links:
      - {at: border01a, port: swp15, speed_gbps: 100, local: 192.0.2.16/31, local6: "2001:db8::2/127", peer: r-1,
         peer_port: e0a}
      - {at: rack002-tor1a, port: swp15, speed_gbps: 100, local: 192.0.2.18/31, local6: "2001:db8::4/127", peer: r-2,
         peer_port: e0a}
  vault:
    accept: [198.51.100.0/24, "2001:db8:1::/48"]
    links:
      - {at: rack001-tor1a, port: swp16, speed_gbps: 100, local: 192.0.2.20/31, local6: "2001:db8::6/127", peer: v-1,
         peer_port: e0a}
"""
TOR, FAR_TOR, MOVED = "rack001-tor1a", "rack002-tor1a", "rack002-host02"
LIMIT_S = 120.0
NEW_NETWORK = 0x40000000


def write(folder: Path, *, moved: bool = False) -> Path:
    member = f", {MOVED}"
    return specs.write(folder, SPEC % ((member, "") if moved else ("", member)))


def move_host(text: str) -> str:
    """Return a spec in which a host has moved to the other tenant."""
    return text.replace(f", {MOVED}]}}", "]}").replace("rack002-host01]", f"rack002-host01, {MOVED}]")


def add_exits(text: str) -> str:
    """Return a spec whose tenants reach outside parties, two of which have the same addresses."""
    text = text.replace("uplinks: 2}", "uplinks: 2, border: 1, reserved_ports: 4}")
    text = text.replace("rack002-host01]", "rack002-host01], reach: [filer, internet]")
    return text.replace(f"{MOVED}]", f"{MOVED}], reach: [vault]").replace("accept:\n", f"{EXITS}accept:\n")


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
    down = frozenset((TOR, port) for port in ports if port in _find_uplinks(network))
    after = network.predict(down)
    assert after.widths[f"{TOR}.acme"] == {}
    assert after.widths[f"{FAR_TOR}.acme"] == {}
    assert network.predict().widths[f"{TOR}.acme"]


def _find_uplinks(network: Network) -> set[str]:
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
    named = frr_agent.name_vrfs(text, {"swp1": "acme"})
    assert "interface swp1 vrf acme\n description x" in named
    assert "interface swp2\nexit" in named
    running = frr_agent.name_namespaces(named, ["acme", "left"])
    assert "vrf acme\n netns /run/netns/acme\n vni 20001\n" in running
    assert running.endswith("vrf left\n netns /run/netns/left\nexit-vrf\n!\n")
    assert frr_agent.name_namespaces(running, ["acme", "left"]) == running
    assert frr_agent.drop_namespaces(running) == text
    assert frr_agent.name_namespaces("interface swp1\n", []) == "interface swp1\n"


def test_a_box_with_vrfs_enters_network_namespaces_and_no_others() -> None:
    for machine, (audit, column) in box.ARCHITECTURES.items():
        call = box._SETNS[column]
        refused = evaluate_filter(box.rules(machine), audit, box._DENIED["mount"][column])
        allowed = evaluate_filter(box.rules(machine), audit, 1000)
        for kind in (0, NEW_NETWORK, 0x20000, NEW_NETWORK | 0x20000):
            assert evaluate_filter(box.rules(machine), audit, call, kind) == refused
            wanted = allowed if kind == NEW_NETWORK else refused
            assert evaluate_filter(box.rules(machine, vrfs=True), audit, call, kind) == wanted
        assert evaluate_filter(box.rules(machine, vrfs=True), audit, 1000) == allowed


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


def test_hosts_reach_the_outside_parties_of_their_tenant_alone(tmp_path: Path) -> None:
    spec = write(tmp_path)
    spec.write_text(add_exits(spec.read_text()))
    network = Network.of(None, read_source(spec, None, "8.4").fabric)  # type: ignore[arg-type]
    prediction, far = network.predict(), outside_endpoints(network.fabric)
    reached = {"rack001-host01": "acme", "rack002-host01": "acme"}
    parties = {"acme": {"outside-filer", "outside-internet"}, "globex": {"outside-vault"}}
    for near in network.rails():
        seen = {each.node for each in far if prediction.hops(near, each) is not None}
        wanted = parties[reached.get(near.node, "globex")]
        assert seen == wanted
    assert prediction.widths[f"{TOR}.acme"]["0.0.0.0/0"] == 2
    assert "0.0.0.0/0" not in prediction.widths[f"{TOR}.globex"]


@pytest.mark.slow
def test_datagrams_reach_the_outside_parties_of_a_tenant_alone(tmp_path: Path, folder: Path) -> None:
    spec = write(tmp_path)
    spec.write_text(add_exits(spec.read_text()))
    lab, source = lifecycle.boot_lab(spec, folder)
    network = Network.of(lab, source.fabric)
    assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None
    trial = trial_of(lab)
    compare_steady(network, trial)
    assert {check.name: check.wrong for check in trial.wrong} == {}
    assert {"host to outside", "outside to host"} <= {check.name for check in trial.checks}
    # A packet to a host of the other tenant leaves neither by the way out nor by the underlay.
    switch = lab.record.namespace("border01a.acme")
    route = subprocess.run(
        ["ip", "-n", switch, "route", "get", "10.0.0.2"], capture_output=True, text=True, check=False
    )
    assert "via" not in route.stdout


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


def test_the_vni_of_a_new_vrf_waits_for_its_bgp_process() -> None:
    vrfs = "vrf acme\n vni 20001\nexit-vrf\nvrf new\n vni 20002\nexit-vrf\n"
    wanted = f"{vrfs}router bgp 1 vrf acme\nexit\nrouter bgp 1 vrf new\nexit\n"
    assert frr_agent.hold_new_vnis("router bgp 1 vrf acme\nexit\n", wanted) == wanted.replace(
        " vni 20002\n", ""
    )
    assert frr_agent.hold_new_vnis(wanted, wanted) == wanted


def test_a_port_that_opens_is_opened_before_its_other_lines() -> None:
    shut = "interface swp1\n description x\n ip address 10.0.0.0/31\n shutdown\nexit\n!\n"
    other = "interface swp2 vrf acme\n shutdown\nexit\n!\n"
    wanted = shut.replace(" shutdown\n", "").replace("swp1", "swp1 vrf acme")
    assert frr_agent.opened_ports(shut + other, wanted + other) == ["interface swp1"]
    assert frr_agent.opened_ports(shut + other, other) == ["interface swp1"]
    assert frr_agent.opened_ports(wanted, shut) == []


def run_fabricc(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb in the management namespace, with the login of the lab."""
    inside = ["ip", "netns", "exec", lab.record.namespace(MANAGEMENT_NODE), sys.executable, "-m", "fabricc"]
    access = ["--access", str(lab.folder / making.FOLDER / making.ACCESS)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        [*inside, *words, *access], capture_output=True, text=True, env=environment, timeout=600, check=False
    )


@pytest.mark.slow
def test_a_push_moves_a_host_and_verify_finds_a_lost_router_mac(tmp_path: Path, folder: Path) -> None:
    spec = write(tmp_path)
    spec.write_text(text := spec.read_text().replace("nos: frr", "nos: frr-8.4"))
    tree = str(build_spec(spec, tmp_path / "out").tree)
    lab, source = lifecycle.boot_lab(spec, folder, ssh=True)
    network = Network.of(lab, source.fabric)
    assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None
    journal = ["--journal", str(tmp_path / "journal")]
    for moved in (False, True):
        spec.write_text(move_host(text) if moved else text)
        build_spec(spec, tmp_path / "out")
        ran = run_fabricc(lab, "push", tree, *([] if moved else ["--adopt"]), *journal)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert ("1 confirmed, 3 unchanged" if moved else "4 unchanged") in ran.stdout
        ran = run_fabricc(lab, "verify", tree, "--format", "json")
        assert ran.returncode == 0, ran.stdout
    assert lab.query_daemon(FAR_TOR, "zebra", "show evpn vni json").keys() == {"20001"}
    # globex joins the ToR again: the driver sets its VNI after its BGP process, so FRR 8.4 keeps the router MAC.
    spec.write_text(text)
    build_spec(spec, tmp_path / "out")
    ran = run_fabricc(lab, "push", tree, *journal)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = run_fabricc(lab, "verify", tree, "--format", "json")
    assert ran.returncode == 0, ran.stdout
    # FRR 8.4 then forgets the router MAC of the peer and keeps its routes (FRRouting issue 12391).
    again = ["configure terminal", "vrf acme", "no vni 20001", "vni 20001"]
    assert lab.run(TOR, ["vtysh", *(word for one in again for word in ("-c", one))]).returncode == 0
    limit = time.monotonic() + LIMIT_S
    while True:
        ran = run_fabricc(lab, "verify", tree, "--only", "tenants", "--format", "json")
        found = [one["message"] for one in json.loads(ran.stdout)["findings"]]
        if found or time.monotonic() > limit:
            break
        time.sleep(1)
    assert found
    assert all(
        one.startswith(f"{TOR}: tenant acme (VNI 20001) has no router MAC of {FAR_TOR}") for one in found
    )


@pytest.mark.slow
def test_a_host_of_no_tenant_has_shut_ports_until_a_push_moves_it(tmp_path: Path, folder: Path) -> None:
    spec = write(tmp_path)
    text = spec.read_text().replace("nos: frr", "nos: frr-8.4")
    spare = "accept:\n  - {code: FAB3315, reason: a host that waits for a tenant}\n"
    without = text.replace(f", {MOVED}]}}", "]}").replace("accept:\n", spare)
    spec.write_text(without)
    tree = str(build_spec(spec, tmp_path / "out").tree)
    lab, source = lifecycle.boot_lab(spec, folder, ssh=True)
    assert observe.wait_until_settled(lab, Network.of(lab, source.fabric).predict(), LIMIT_S) is not None
    for state_of_host in (without, text):
        spec.write_text(state_of_host)
        build_spec(spec, tmp_path / "out")
        ran = run_fabricc(lab, "push", tree, "--adopt", "--journal", str(tmp_path / "journal"))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        ran = run_fabricc(lab, "verify", tree, "--only", "interfaces", "--format", "json")
        assert ran.returncode == 0, ran.stdout
