"""Fabrics that Arista's AVD generates from inputs in this file are adopted: what stays, and their overlays."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc import compile_spec
from fabricc.audit.adopt import run
from fabricc.base.diagnostics import Severity
from tests.audit.fabrics import device, found_of

pyavd = pytest.importorskip("pyavd", reason="pyavd generates these fabrics: pip install -e '.[dev]'")

pytestmark = pytest.mark.slow
LEAVES, SPINES = (1, 2, 3, 4), (1, 2)


def avd_inputs(overlay):
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
    every = avd_inputs(request.param)
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


def test_a_build_states_what_every_switch_states(adoption):
    made, _ = adoption
    assert not [f for f in made.adopted.compiled.proof(jobs=1) if f.severity is Severity.ERROR]
    assert {name: [each.path for each in some] for name, some in made.adopted.differences.items()} == {
        name: [] for name in made.found.devices
    }


def test_habits_of_the_house_are_words_of_the_spec(adoption):
    words = adoption[0].adopted.draft.words
    assert words["descriptions"] == {"fabric": "P2P_{peer}_{peer_port}", "session": "{peer}_{peer_port}"}
    assert (words["routing"]["maximum_paths"], words["routing"]["maximum_prefixes"]) == (4, 256000)
    assert words["unused_ports"] == "silent"


def test_overlays_hold_lines_of_similar_switches_once(adoption):
    made, overlay = adoption
    kept = {name: text for name, text in made.files.items() if name.startswith("overlays/")}
    alike = {
        name: text for name, text in kept.items() if "-all" in name or "-tors" in name or "-spines" in name
    }
    together = "".join(kept.values())
    assert "vlan internal order ascending range 1006 1199" in alike["overlays/eos-all/running-config.cfg"]
    assert "aggregate-address * summary-only" in alike["overlays/eos-tors-without/running-config.cfg"]
    assert ("vxlan source-interface Loopback1" in together) == (overlay == "ebgp")
    assert ("neighbor EVPN-OVERLAY-PEERS peer group" in together) == (overlay == "ebgp")
    assert overlay == "ebgp" or kept == alike
    names = {"Ethernet1/1", "10.254.0.1", "10.254.0.0", "service-profile LOSSY"}
    assert not [
        word for word in names for name, text in alike.items() if "without" not in name and word in text
    ]


def test_new_devices_of_an_adopted_fabric_match_their_neighbors(adoption, tmp_path):
    made, overlay = adoption
    if overlay == "ebgp":
        pytest.skip("the lines of EVPN are those of each leaf alone")
    for name, text in made.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(
        spec.read_text().replace("  hosts_per_rack", "    rack005: [gpu51, gpu52]\n  hosts_per_rack")
    )
    compiled = compile_spec(spec)
    assert compiled.sound, [found.message for found in compiled.diagnostics]
    assert not [f for f in compiled.proof(jobs=1) if f.severity is Severity.ERROR]
    switches = {each.name: each for each in compiled.switches()}
    (new,) = switches.keys() - made.found.devices.keys()
    leaf = compiled.files(switches[new])["running-config.cfg"]
    assert "   description P2P_spine1_Ethernet5/1\n" in leaf
    assert "   redistribute connected\n" in leaf
    assert "route-map" not in leaf
    for name in ("leaf1", "leaf4"):
        assert compiled.files(switches[name]) == made.adopted.compiled.files(
            next(each for each in made.adopted.compiled.switches() if each.name == name)
        )
