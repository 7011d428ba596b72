"""Ways out on real FRR: a default route comes in from a router outside, aggregates alone go out to it."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.frr import FRR
from fabricc.fabric.model import Direction, Switch
from tests.back.nos.frr.namespaces import Box, lay_cable, wait_until
from tests.back.nos.frr.test_peer import check_syntax, needs_frr, show_routes
from tests.back.nos.frr.test_round_trip import find_differences
from tests.outward import SPINE, TOR, switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHER_TOR = "rack002-tor1a"
CORE = """\
frr defaults datacenter
service integrated-vtysh-config
ip route 0.0.0.0/0 blackhole
ip route 203.0.113.16/28 blackhole
ip route 203.0.113.32/29 blackhole
ip route {stolen} blackhole
interface swp1
 ip address 192.0.2.1/31
exit
router bgp 64999
 no bgp ebgp-requires-policy
 neighbor 192.0.2.0 remote-as {asn}
 neighbor 192.0.2.0 password {password}
 neighbor 192.0.2.0 bfd
 address-family ipv4 unicast
  redistribute static
 exit-address-family
exit
"""
PASSWORD = "FABRICC-SECRET-dc-core"


@pytest.mark.skipif(
    shutil.which("vtysh") is None or os.geteuid() != 0, reason="needs vtysh (package frr) and root"
)
@pytest.mark.parametrize(("name", "dual"), [(TOR, False), (SPINE, False), (SPINE, True)])
def test_vtysh_accepts_the_syntax(name: str, dual: bool, tmp_path: Path) -> None:
    assert check_syntax(FRR.render(switch("frr", name, dual=dual))["frr.conf"], tmp_path) == "0"


class Site(dict[str, Box]):
    """Boxes by the names of their switches; `core` is the router outside."""


def core_of(spine: Switch) -> Switch:
    """A router with one port."""
    port = replace(spine.ports[0], name="swp1", direction=Direction.EXTERNAL, enabled=True, unnumbered=False)
    return replace(spine, name="core-1", ports=(port,), loopback4="198.18.0.1")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A spine with a router outside, and two ToRs, one with a filer."""
    switches = {name: switch("frr", name) for name in (SPINE, TOR, OTHER_TOR)}
    spine = switches[SPINE]
    with ExitStack() as stack:
        boxes, cabled = Site(), {name: set[str]() for name in switches}
        for index, (name, each) in enumerate((*switches.items(), ("core", core_of(spine)))):
            boxes[name] = Box(each, f"fab{os.getpid()}o{index}")
        stolen = switches[OTHER_TOR].bgp.aggregates[0]
        boxes["core"].files["frr.conf"] = CORE.format(asn=spine.bgp.asn, password=PASSWORD, stolen=stolen)
        for box in boxes.values():
            stack.enter_context(box)
        for port in spine.ports:
            if port.direction is Direction.EXTERNAL:
                lay_cable(boxes[SPINE], port.name, boxes["core"], "swp1")
                cabled[SPINE].add(port.name)
            elif port.peer and port.peer.device in switches:
                lay_cable(boxes[SPINE], port.name, boxes[port.peer.device], port.peer.port)
                cabled[SPINE].add(port.name)
                cabled[port.peer.device].add(port.peer.port)
        for name in switches:
            boxes[name].cable_rest(sorted(cabled[name]))
        boxes["core"].cable_rest(["swp1"])
        for box in boxes.values():
            box.start()
            assert box.load() == "", box.conf.read_text()
        yield boxes


@pytest.mark.slow
@needs_frr
def test_the_running_configuration_states_the_planned_facts(site: Site) -> None:
    for name in (SPINE, TOR, OTHER_TOR):
        box = site[name]
        running = box.vtysh("show running-config")
        reading = FRR.read({**box.files, "frr.conf": running})
        assert find_differences(reading.facts, FRR.planned(box.switch)) == {}
        assert reading.unknown == []
        assert box.reload_differences() == ""


@pytest.mark.slow
@needs_frr
def test_accepted_external_prefixes_reach_every_tor(site: Site) -> None:
    theirs = site[OTHER_TOR].switch.bgp.aggregates[0]
    accepted = {"0.0.0.0/0", "203.0.113.16/28", theirs}
    for name in (SPINE, TOR, OTHER_TOR):
        assert wait_until(lambda box=site[name]: accepted <= show_routes(box, "ipv4").keys(), 30), site[
            name
        ].vtysh("show bgp summary", "show bgp ipv4 unicast")
        learned = show_routes(site[name], "ipv4")
        assert "203.0.113.32/29" not in learned  # longer than accepted
        ways = [path["path"] for path in learned[theirs]]
        assert not [way for way in ways if "64999" in str(way)]  # nobody outside has what is the fabric's


@needs_frr
def test_the_party_outside_gets_aggregates_alone(site: Site) -> None:
    wanted = {site[name].switch.bgp.aggregates[0] for name in (TOR, OTHER_TOR)}
    core = site["core"]
    own = {"0.0.0.0/0", "203.0.113.16/28", "203.0.113.32/29", site[OTHER_TOR].switch.bgp.aggregates[0]}
    assert wait_until(lambda: wanted <= show_routes(core, "ipv4").keys(), 30)
    assert wait_until(
        lambda: "198.51.100.0/24" in show_routes(site[SPINE], "ipv4"), 30
    )  # the filer's, by static route
    assert show_routes(core, "ipv4").keys() - own == wanted - own


@needs_frr
def test_hosts_of_one_tor_reach_the_filer_at_another(site: Site) -> None:
    assert wait_until(lambda: "198.51.100.0/24" in show_routes(site[OTHER_TOR], "ipv4"), 30)
    paths = {str(path["path"]) for path in show_routes(site[OTHER_TOR], "ipv4")["198.51.100.0/24"]}
    assert paths == {f"{site[SPINE].switch.bgp.asn} {site[TOR].switch.bgp.asn}"}


@needs_frr
def test_packets_to_unassigned_addresses_are_dropped_at_the_spine(site: Site) -> None:
    assert wait_until(lambda: "0.0.0.0/0" in show_routes(site[SPINE], "ipv4"), 30)
    gone = str(site[SPINE].show("ip route 10.63.255.254"))
    assert "10.0.0.0/10" in gone
    assert "blackhole': True" in gone
