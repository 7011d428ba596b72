"""Real FRR accepts what is rendered, runs it, prints it back, and a ToR and a spine talk over it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from ipaddress import ip_interface
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.frr import FRR, GracefulRestart, render_frr_conf
from tests.back.nos.frr.namespaces import LIMIT_S, Box, lay_cable, wait_until, why_missing
from tests.back.nos.frr.test_round_trip import EVERY, find_differences
from tests.back.nos.frr.variants import SPINE_PORT, SPINES, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Pairs = dict[str, tuple[Box, Box]]

needs_frr = pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")


def check_syntax(text: str, folder: Path) -> str:
    path = folder / "frr.conf"
    path.write_text(text)
    result = subprocess.run(
        ["vtysh", "-C", "-f", str(path)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    return f"{result.returncode} {result.stdout}{result.stderr}".strip()


@pytest.mark.spread
@pytest.mark.skipif(
    shutil.which("vtysh") is None or os.geteuid() != 0, reason="needs vtysh (package frr) and root"
)
@pytest.mark.parametrize("name", EVERY)
def test_vtysh_accepts_the_syntax(name: str, tmp_path: Path) -> None:
    switch = EVERY[name]
    assert check_syntax(FRR.render(switch)["frr.conf"], tmp_path) == "0"
    elsewhere = render_frr_conf(
        switch, router_interfaces=False, hostname=False, extra_head=("ip forwarding",)
    )
    assert check_syntax(elsewhere, tmp_path) == "0"
    assert not check_syntax(
        FRR.render(switch)["frr.conf"].replace("router-id", "router-name"), tmp_path
    ).startswith("0")


@pytest.fixture(scope="module")
def pairs() -> Iterator[Pairs]:
    """For every variant a ToR and its spine, cabled, loaded and running."""
    with ExitStack() as stack:
        boxes: Pairs = {}
        for index, (name, leaf) in enumerate(VARIANTS.items()):
            prefix = f"fab{os.getpid()}v{index}"
            tor = stack.enter_context(Box(leaf, f"{prefix}t"))
            spine = stack.enter_context(Box(SPINES[name], f"{prefix}s"))
            uplink = next(s.port for s in leaf.bgp.sessions)
            lay_cable(tor, uplink, spine, SPINE_PORT)
            tor.cable_rest([uplink])
            spine.cable_rest([SPINE_PORT])
            boxes[name] = (tor, spine)
        for box in (box for pair in boxes.values() for box in pair):
            box.start()
            assert box.load() == "", box.conf.read_text()
        yield boxes


@needs_frr
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.spread
def test_the_running_configuration_states_the_planned_facts(name: str, pairs: Pairs) -> None:
    for box in pairs[name]:
        running = box.vtysh("show running-config")
        assert "Current configuration:" in running
        reading = FRR.read({**box.files, "frr.conf": running})
        assert find_differences(reading.facts, FRR.planned(box.switch)) == {}
        assert reading.unknown == []


@needs_frr
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.spread
def test_frr_reload_finds_nothing_to_change(name: str, pairs: Pairs) -> None:
    assert pairs[name][0].reload_differences() == ""


@needs_frr
def test_frr_reload_does_find_a_change(pairs: Pairs) -> None:
    tor, _ = pairs["numbered"]
    tor.write("frr.conf", tor.files["frr.conf"].replace("maximum-paths 64", "maximum-paths 8"))
    try:
        assert "maximum-paths 8" in tor.reload_differences()
    finally:
        tor.write("frr.conf", tor.files["frr.conf"])


def show_routes(box: Box, family: str) -> dict[str, list[dict[str, object]]]:
    return dict(box.show(f"bgp {family} unicast").get("routes", {}))


@needs_frr
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.spread
def test_the_spine_learns_the_aggregate_and_not_the_links(name: str, pairs: Pairs) -> None:
    tor, spine = pairs[name]
    wanted = {"ipv4": {"10.0.0.0/26", "10.128.0.1/32"}}
    if tor.switch.bgp.ipv6:
        wanted["ipv6"] = {"fd00::/122", "fd00:2::1/128"}
    own = {"10.128.1.1/32", "fd00:2::101/128"}
    for family, prefixes in wanted.items():
        assert wait_until(lambda f=family, p=prefixes: p <= show_routes(spine, f).keys(), 30), spine.vtysh(
            "show bgp summary"
        )
        learned = show_routes(spine, family)
        assert learned.keys() - own == prefixes
        assert wait_until(lambda f=family: bool(own & show_routes(tor, f).keys()), 10)
        preferences = {path["locPrf"] for prefix in prefixes for path in learned[prefix] if "locPrf" in path}
        assert preferences == ({0} if name == "drained" else set())


@needs_frr
@pytest.mark.parametrize("name", ["numbered", "dual-unnumbered"])
def test_bfd_comes_up(name: str, pairs: Pairs) -> None:
    tor, _ = pairs[name]
    assert wait_until(lambda: any(peer["status"] == "up" for peer in tor.show("bfd peers")), 15)
    peer = next(peer for peer in tor.show("bfd peers") if peer["status"] == "up")
    assert (peer["transmit-interval"], peer["detect-multiplier"]) == (300, 3)


@needs_frr
@pytest.mark.slow
def test_filters_hold_on_both_ends(pairs: Pairs) -> None:
    tor, spine = pairs["numbered"]
    stray = "192.0.2.0/24"
    asn = f"router bgp {tor.switch.bgp.asn}"
    neighbor = next(s.remote for s in tor.switch.bgp.sessions)

    def advertised() -> bool:
        answer = tor.show(f"bgp ipv4 unicast neighbors {neighbor} advertised-routes")
        return stray in answer.get("advertisedRoutes", {})

    assert wait_until(lambda: "10.0.0.0/26" in show_routes(spine, "ipv4"), 30)
    network = ("configure terminal", asn, "no bgp network import-check", "address-family ipv4 unicast")
    tor.vtysh(*network, f"network {stray}")
    assert wait_until(lambda: stray in show_routes(tor, "ipv4"), 5)
    assert not wait_until(advertised, 1.5)
    tor.vtysh("configure terminal", f"ip prefix-list OWN-V4 seq 100 permit {stray}")
    assert wait_until(advertised, 10)
    assert not wait_until(lambda: stray in show_routes(spine, "ipv4"), 1.5)
    assert "10.0.0.0/26" in show_routes(spine, "ipv4")


@needs_frr
def test_fabric_traffic_never_leaves_by_the_management_port(pairs: Pairs) -> None:
    tor, _ = pairs["unnumbered"]
    host = tor.switch.ports[0]
    tor.run(["ip", "link", "add", "name", "eth0", "type", "veth", "peer", "name", "office"])
    for command in (
        "link set eth0 up",
        "link set office up",
        f"addr add {tor.switch.management.address} dev eth0",
    ):
        tor.run(["ip", *command.split()])
    ups = re.findall(r"^ +up (.+)$", tor.files["interfaces"], re.MULTILINE)
    assert len(ups) == 4
    for command in (*ups, *ups):  # as often as interfaces are reloaded
        tor.run(["sh", "-ec", command])
    assert f"via {tor.switch.management.gateway}" in tor.run(["ip", "route", "get", "198.51.100.1"]).stdout
    source = str(host.ipv4).partition("/")[0].rsplit(".", 1)[0] + ".1"
    forwarded = tor.run(["ip", "route", "get", "198.51.100.1", "from", source, "iif", host.name], check=False)
    assert forwarded.returncode != 0
    assert "unreachable" in forwarded.stderr.lower()


_HEAR = (
    "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('{at}', 9)); "
    "s.settimeout({s}); print('ready', flush=True); print(s.recv(9).decode())"
)
_SAY = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', ('{at}', 9))"


@pytest.mark.slow
@needs_frr
@pytest.mark.parametrize("kept", [True, False], ids=["as emitted", "without the rules"])
def test_no_datagram_of_a_gpu_host_reaches_the_management_network(kept: bool) -> None:
    """A host on a rail sends to a machine of the management network; the kernel would forward it without the rules."""
    switch = VARIANTS["numbered"]
    own = ip_interface(switch.management.address)
    office = f"{own.network.broadcast_address - 1}"
    with Box(switch, "mgmt-tor") as tor, Box(switch, "mgmt-gpu") as gpu, Box(switch, "mgmt-office") as far:
        tor.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", far.name])
        tor.run(["ip", "link", "add", "rail", "type", "veth", "peer", "name", "rail", "netns", gpu.name])
        for box, port, address in (
            (tor, "eth0", str(own)), (tor, "rail", "192.0.2.0/31"), (gpu, "rail", "192.0.2.1/31"),
            (far, "eth0", f"{office}/{own.network.prefixlen}"),
        ):  # fmt: skip
            box.run(["ip", "addr", "add", address, "dev", port])
            box.run(["ip", "link", "set", port, "up"])
        gpu.run(["ip", "route", "add", "default", "via", "192.0.2.0"])
        far.run(["ip", "route", "add", "192.0.2.0/31", "via", str(own.ip)])
        tor.run(["sysctl", "-q", "-w", "net.ipv4.conf.eth0.forwarding=0"])  # `ip-forward off`
        for command in re.findall(r"^ +up (.+)$", tor.files["interfaces"], re.MULTILINE) if kept else ():
            tor.run(["sh", "-ec", command])
        python = [sys.executable, "-c"]
        listen = ["ip", "netns", "exec", far.name, *python, _HEAR.format(at=office, s=2 if kept else LIMIT_S)]
        with subprocess.Popen(listen, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as hearer:
            assert hearer.stdout is not None
            assert hearer.stdout.readline() == "ready\n"
            gpu.run([*python, _SAY.format(at=office)], check=False)
            heard = hearer.stdout.read().strip()
        assert heard == ("" if kept else "hello")
        tor.run([*python, _SAY.format(at=office)])  # the switch's own packets still go there


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("nft") is None or os.geteuid() != 0, reason="needs nft (package nftables) and root"
)
def test_nftables_accepts_the_login_list(tmp_path: Path) -> None:
    rules = tmp_path / "nftables.conf"
    rules.write_text(FRR.render(VARIANTS["settings"])["nftables.conf"])
    check = ["nft", "-c", "-f", str(rules)]
    assert subprocess.run(check, timeout=LIMIT_S, check=False).returncode == 0
    rules.write_text(rules.read_text().replace("saddr", "sadr"))
    assert subprocess.run(check, capture_output=True, timeout=LIMIT_S, check=False).returncode != 0


@needs_frr
@pytest.mark.slow
def test_sources_and_graceful_restart_run_as_they_are_written() -> None:
    """FRR prints the additions of SONiC's back end in the same words."""
    switch = VARIANTS["dual"]
    text = render_frr_conf(
        switch,
        route_maps_of_source={"ip": "RM_SET_SRC", "ipv6": "RM_SET_SRC6"},
        graceful_restart=GracefulRestart(240, 45),
        bfd_profile=None,
    )
    with Box(switch, f"fab{os.getpid()}src") as box:
        box.start()
        box.write("frr.conf", text)
        assert "Graceful restart configuration changed" in box.load()
        assert box.reload_differences() == ""
        running = box.vtysh("show running-config")
        order = [line for line in text.splitlines() if "graceful-restart" in line]
        assert [line for line in running.splitlines() if "graceful-restart" in line] == order
