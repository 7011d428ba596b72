"""Fabrics that Arista's AVD generates, of inputs written here, are adopted: what stays, and what is told instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.audit.adopt import run
from fabricc.base.diagnostics import Severity
from tests.audit.fabrics import device, found_of

pyavd = pytest.importorskip("pyavd", reason="pyavd generates these fabrics: pip install -e '.[dev]'")

LEAVES, SPINES = (1, 2, 3, 4), (1, 2)


def inputs(overlay):
    """A plain L3 leaf-spine underlay by eBGP: four leaves with routed host ports, uplinks on the last two cages."""
    spines = {
        "defaults": {"platform": "7060X6-64PE", "loopback_ipv4_pool": "10.255.0.0/27", "bgp_as": 65100},
        "nodes": [{"name": f"spine{s}", "id": s, "mgmt_ip": f"172.31.0.{10 + s}/24"} for s in SPINES],
    }
    leaves = {
        "defaults": {
            "platform": "7060X6-64PE", "loopback_ipv4_pool": "10.255.0.32/27", "uplink_ipv4_pool": "10.254.0.0/24",
            "vtep_loopback_ipv4_pool": "10.255.1.0/27", "uplink_switches": [f"spine{s}" for s in SPINES],
            "uplink_interfaces": ["Ethernet63/1", "Ethernet64/1"],
        },
        "node_groups": [
            {"group": f"RACK{n}", "bgp_as": 65100 + n,
             "nodes": [{"name": f"leaf{n}", "id": n, "mgmt_ip": f"172.31.0.{20 + n}/24",
                        "uplink_switch_interfaces": [f"Ethernet{n}/1"] * 2}]}
            for n in LEAVES
        ],
    }  # fmt: skip
    common = {
        "fabric_name": "THEIRS", "underlay_routing_protocol": "ebgp", "overlay_routing_protocol": overlay,
        "mgmt_gateway": "172.31.0.1", "p2p_uplinks_mtu": 9214, "spine": spines, "l3leaf": leaves,
    }  # fmt: skip
    found = {f"spine{s}": {**common, "type": "spine"} for s in SPINES}
    for n in LEAVES:
        ports = [
            {"name": f"Ethernet{p}/1", "description": f"gpu{n}{p:02d} rail0", "shutdown": False, "mtu": 9214,
             "switchport": {"enabled": False}, "ip_address": f"10.1.{n}.{2 * p}/31"}
            for p in range(1, 5)
        ]  # fmt: skip
        found[f"leaf{n}"] = {
            **common,
            "type": "l3leaf",
            "custom_structured_configuration_ethernet_interfaces": ports,
        }
    return found


@pytest.fixture(scope="module", params=["none", "ebgp"], ids=["underlay", "EVPN"])
def adoption(request):
    every = inputs(request.param)
    for each in every.values():
        pyavd.validate_inputs(each)
    facts = pyavd.get_avd_facts(every)
    texts = {
        name: pyavd.get_device_config(pyavd.get_device_structured_config(name, each, facts))
        for name, each in every.items()
    }
    found = found_of(
        {name: device(name, "eos", {"running-config.cfg": text}) for name, text in texts.items()}
    )
    return run.adopted_of(found, Path("theirs"), "theirs"), request.param


def test_all_switches_keep_names_numbers_addresses_and_ports(adoption):
    made, _ = adoption
    compiled = made.adopted.compiled
    assert compiled.sound, [found.message for found in made.findings]
    assert made.adopted.left == made.adopted.moved == ()
    for switch in compiled.switches():
        facts = made.found.devices[switch.name].reading.facts
        assert (facts["bgp/asn"], facts["bgp/router_id"]) == (switch.bgp.asn, switch.bgp.router_id)
        assert facts["management/address"] == switch.management.address
        planned = {port.name: port.ipv4 for port in switch.ports if port.ipv4}
        stated = {port: facts.get(f"interface[{port}]/ipv4") for port in planned}
        assert planned == stated
        sessions = {session.remote: session.remote_asn for session in switch.bgp.sessions}
        assert sessions == {remote: facts[f"bgp/neighbor[{remote}]/remote_asn"] for remote in sessions}


def test_the_adopted_spec_is_proved_and_overlays_hold_the_rest(adoption):
    made, overlay = adoption
    assert not [f for f in made.adopted.compiled.proof(jobs=1) if f.severity is Severity.ERROR]
    kept = "".join(text for name, text in made.files.items() if name.startswith("overlays/"))
    assert "vlan internal order ascending range 1006 1199" in kept
    assert ("vxlan source-interface Loopback1" in kept) == (overlay == "ebgp")
    assert ("neighbor EVPN-OVERLAY-PEERS peer group" in kept) == (overlay == "ebgp")


def test_what_a_build_would_take_away_or_change_of_the_underlay_is_this_alone(adoption):
    made, overlay = adoption
    if overlay == "ebgp":
        pytest.skip("its routing policy and sessions are told too")
    kinds = {
        re.sub(r"\[[^\]]*\]", "", each.path)
        for mismatches in made.adopted.differences.values()
        for each in mismatches
        if each.found is not None
    }
    assert kinds <= {
        "bgp/maximum_paths", "bgp/neighbor/description", "bgp/neighbor/maximum_prefixes", "bgp/redistribute",
        "interface/description", "interface/mtu", "qos/dscp/traffic_class", "qos/traffic_class/queue",
    }  # fmt: skip
