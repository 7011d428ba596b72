"""Segments on real FRR: its syntax, its routes, and on a kernel with bridges and VRFs packets between hosts."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from ipaddress import ip_interface
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.frr import FRR
from fabricc.fabric.model import Direction
from tests.back.nos.frr.namespaces import LIMIT_S, Box, lay_cable, wait_until
from tests.back.nos.frr.test_peer import check_syntax, needs_frr
from tests.back.nos.frr.test_round_trip import find_differences
from tests.segmented import SPINE, TOR, segmented_fabric, segmented_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.fabric.model import Host, HostPort

OTHER_TOR, OTHER_SPINE = "rack002-tor1a", "spine02a"


@pytest.mark.skipif(
    shutil.which("vtysh") is None or os.geteuid() != 0, reason="needs vtysh (package frr) and root"
)
@pytest.mark.parametrize(("name", "dual"), [(TOR, False), (TOR, True), (SPINE, True)])
def test_vtysh_accepts_the_syntax(name: str, dual: bool, tmp_path: Path) -> None:
    assert check_syntax(FRR.render(segmented_switch("frr", name, dual=dual))["frr.conf"], tmp_path) == "0"


class Site(dict[str, Box]):
    """Boxes by the names of their switches, and hosts: name -> namespace and port."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts: dict[str, tuple[str, HostPort]] = {}


def cable_boxes(boxes: Site) -> dict[str, set[str]]:
    """Cable the switches; the ports of each that have a cable."""
    cabled = {name: set[str]() for name in boxes}
    for name, box in boxes.items():
        for port in box.switch.ports:
            if port.direction is Direction.UP and port.peer and port.peer.device in boxes:
                lay_cable(box, port.name, boxes[port.peer.device], port.peer.port)
                cabled[name].add(port.name)
                cabled[port.peer.device].add(port.peer.port)
    return cabled


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Two ToRs below a spine, without what the kernel needs for segments: routes between VTEPs alone."""
    with ExitStack() as stack:
        boxes = Site()
        for index, name in enumerate((TOR, OTHER_TOR, SPINE)):
            boxes[name] = stack.enter_context(
                Box(segmented_switch("frr", name, dual=True), f"fab{os.getpid()}v{index}")
            )
        cabled = cable_boxes(boxes)
        for name, box in boxes.items():
            box.cable_rest(sorted(cabled[name]))
            box.start()
            assert box.load() == "", box.conf.read_text()
        yield boxes


@pytest.mark.slow
@needs_frr
def test_the_running_configuration_states_the_planned_facts(site: Site) -> None:
    for box in site.values():
        reading = FRR.read({**box.files, "frr.conf": box.vtysh("show running-config")})
        assert find_differences(reading.facts, FRR.planned(box.switch)) == {}
        assert reading.unknown == []
        assert box.reload_differences() == ""


@needs_frr
@pytest.mark.slow
def test_sessions_carry_evpn_and_every_tor_has_a_route_to_every_vtep(site: Site) -> None:
    for name, other in ((TOR, OTHER_TOR), (OTHER_TOR, TOR)):
        source = f"{site[other].switch.loopback4}/32"
        assert wait_until(lambda box=site[name], to=source: to in box.show("ip route bgp"), 30)
        peers = site[name].show("bgp l2vpn evpn summary")["peers"]
        assert {each["state"] for each in peers.values()} >= {"Established"}


def segments_missing() -> str | None:
    """Why packets of segments cannot be carried here; None when they can."""
    if shutil.which("ifreload") is None:
        return "ifupdown2 is not installed"
    tries = (
        ["link", "add", "name", "probe0", "type", "bridge", "vlan_filtering", "1"],
        ["link", "add", "link", "probe0", "name", "probe1", "type", "vlan", "id", "2"],
        ["link", "add", "name", "probe2", "type", "vrf", "table", "1001"],
        ["link", "add", "name", "probe3", "type", "vxlan", "id", "2", "dstport", "4789"],
    )
    script = " && ".join(" ".join(["ip", *each]) for each in tries)
    probe = subprocess.run(
        ["unshare", "--net", "sh", "-c", script], capture_output=True, check=False, timeout=LIMIT_S
    )
    return None if probe.returncode == 0 else "the kernel has no VLAN-aware bridges, VRFs or VXLAN"


@pytest.fixture(scope="module")
def whole() -> Iterator[Site]:
    """All ToRs and spines with a host at the first port of each ToR."""
    if why := segments_missing():
        pytest.skip(why)
    built = segmented_fabric("frr", dual=True)
    with ExitStack() as stack:
        boxes = Site()
        for index, at in enumerate(built.switch_ids()):
            name = f"fab{os.getpid()}w{index}"
            boxes[built.name(at)] = stack.enter_context(Box(built.switch(at), name))
        cabled = cable_boxes(boxes)
        for index, each in enumerate(built.host_ids()):
            host = built.host(each)
            space = f"fab{os.getpid()}h{index}"
            stack.callback(run, ["ip", "netns", "del", space])
            port = attach_host(host, space, boxes)
            boxes.hosts[host.name] = (space, port)
            cabled[port.peer.device].add(port.peer.port)
        for name, box in boxes.items():
            box.cable_rest(sorted(cabled[name]))
            if box.switch.vtep:
                bring_up(box)
            box.start()
            assert box.load() == "", box.conf.read_text()
        yield boxes


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=6 * LIMIT_S)
    return done.stdout


def bring_up(box: Box) -> None:
    """Bring the switch's own `interfaces` up by ifupdown2, without the management port, which has no cable here."""
    loopback, _, rest = box.files["interfaces"].partition("# The management network")
    _, first, ports = rest.partition("auto swp1\n")
    box.write("interfaces", loopback + first + ports)
    run(["ip", "netns", "exec", box.name, "ifup", "-a", "-i", str(box.folders[0] / "interfaces")])


def attach_host(host: Host, space: str, boxes: Site) -> HostPort:
    """A host's first port in a namespace of its own, with its addresses and routes."""
    port, tor = host.ports[0], boxes[host.ports[0].peer.device].name
    inside = ["ip", "-n", space]
    run(["ip", "netns", "add", space])
    run(
        [
            "ip",
            "link",
            "add",
            "name",
            port.peer.port,
            "netns",
            tor,
            "type",
            "veth",
            "peer",
            "name",
            port.name,
            "netns",
            space,
        ]
    )
    run([*inside, "link", "set", port.name, "mtu", str(port.mtu), "up"])
    for own, gateway, prefixes in (
        (port.ipv4, port.gateway4, host.fabric_prefixes4), (port.ipv6, port.gateway6, host.fabric_prefixes6),
    ):  # fmt: skip
        assert own
        assert gateway
        run([*inside, "addr", "add", own, "dev", port.name, *(["nodad"] if ":" in own else [])])
        for prefix in prefixes:
            if prefix != str(ip_interface(own).network):
                run([*inside, "route", "add", prefix, "via", gateway])
    return port


SERVER = """
import socket
listening = socket.create_server(("", 7), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    listening.accept()[0].sendall(b"x" * 500000)
"""
CLIENT = """
import socket, sys
fetching = socket.create_connection((sys.argv[1], 7), 3)
fetching.settimeout(3)
while fetching.recv(65536):
    pass
"""


def fetches_file(site: Site, client: str, server: str, family: str) -> bool:
    """Return whether a host fetches half a megabyte from another over TCP."""
    address = str(getattr(site.hosts[server][1], family)).partition("/")[0]
    within = ["ip", "netns", "exec"]
    serving = subprocess.Popen([*within, site.hosts[server][0], "python3", "-c", SERVER])
    try:
        asking = [*within, site.hosts[client][0], "python3", "-c", CLIENT, address]
        return wait_until(
            lambda: subprocess.run(asking, capture_output=True, check=False, timeout=LIMIT_S).returncode == 0,
            90,
        )
    finally:
        serving.kill()
        serving.wait(LIMIT_S)


@needs_frr
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("server", ["rack002-host01", "rack003-host01"])
def test_hosts_reach_each_other_in_a_segment_and_across_two(whole: Site, server: str, family: str) -> None:
    assert fetches_file(whole, "rack001-host01", server, family)


@needs_frr
def test_a_spine_is_lost_and_hosts_still_reach_each_other(whole: Site) -> None:
    for port in whole[OTHER_SPINE].switch.ports:
        if port.enabled:
            run(["ip", "-n", whole[OTHER_SPINE].name, "link", "set", port.name, "down"])
    assert fetches_file(whole, "rack001-host01", "rack004-host01", "ipv4")
    assert fetches_file(whole, "rack002-host01", "rack001-host01", "ipv4")


@needs_frr
def test_a_tor_that_is_lost_takes_its_hosts_along_and_no_others(whole: Site) -> None:
    gone = whole["rack002-tor1a"]
    for port in gone.switch.ports:
        if port.direction is Direction.UP:
            run(["ip", "-n", gone.name, "link", "set", port.name, "down"])
    vteps = {str(gone.switch.loopback4)}
    assert wait_until(lambda: not vteps & set(str(whole[TOR].show("evpn vni 10110")).split("'")), 30)
    assert fetches_file(whole, "rack001-host01", "rack003-host01", "ipv4")
