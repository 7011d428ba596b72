"""Readers and planned facts where a configuration lacks what most have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.evpn_defaults import unmet_parts
from fabricc.cli.entry import run

RAIL_ONLY = """\
cluster: lab
gpus: {{model: {host}, hosts: 2, hosts_per_unit: 2, wiring: rail-only}}
tors: {{model: {model}, nos: {nos}}}
priorities: {{default: {{}}}}
cables: {{host: {{medium: smf, length_m: 3}}}}
routing: {{ttl_security: true}}
"""


@pytest.mark.parametrize("name", ["AZURE", "FAB"])
def test_a_map_of_another_name_without_a_class_is_read(name: str) -> None:
    tables = {
        "TC_TO_QUEUE_MAP": {name: {"0": "0", "1": "1", "3": "3"}},
        "TC_TO_PRIORITY_GROUP_MAP": {name: {"0": "0", "3": "3"}},
    }
    reading = back_ends.load("sonic").read({"config_db.json": json.dumps(tables, indent=1)})
    assert any("TC_TO_PRIORITY_GROUP_MAP" in text and "without 1" in text for _, _, text in reading.unknown)


@pytest.mark.parametrize(
    ("nos", "model", "host"),
    [
        ("frr", "linux-16x100", "lab-host"),
        ("eos", "7060dx5-64s", "dgx-h100"),
        ("nxos", "9332d-gx2b", "dgx-h100"),
        ("sonic", "sn5600", "dgx-h100"),
        ("cumulus", "sn5600", "dgx-h100"),
        ("junos", "qfx5240-64od", "dgx-h100"),
    ],
)
@pytest.mark.spread
def test_a_setting_of_sessions_does_not_break_a_fabric_without_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nos: str, model: str, host: str
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(RAIL_ONLY.format(nos=nos, model=model, host=host), "utf-8")
    run(["build", str(spec), "-o", str(tmp_path / "build"), "-j", "1"])
    streams = capsys.readouterr()
    assert "FAB6001" not in streams.out + streams.err


NVE = {"nve1": {"enabled": "true"}}
SEGMENT = {
    "evpn/segment[10]/vni": 5010, "vxlan/vni[5010]/replication": "ingress", "vxlan/source": "loopback0",
    "vxlan/setting[host-reachability]": "bgp",
}  # fmt: skip


@pytest.mark.parametrize("lost", SEGMENT)
def test_a_vlan_with_a_vni_needs_all_parts_of_its_tunnels(lost: str) -> None:
    facts = {path: value for path, value in SEGMENT.items() if path != lost}
    assert [*unmet_parts("nxos", SEGMENT, NVE, carries=True)] == []
    assert len([*unmet_parts("nxos", facts, NVE, carries=True)]) == (lost[0] == "v")
    assert [*unmet_parts("nxos", SEGMENT, {"nve1": {"enabled": "false"}}, carries=True)] != []


LINUX = {
    "evpn/segment[10]/vni": 5010, "evpn/vrf[RED]/vni": 5050, "evpn/source": "10.0.0.1", "structure/vni[5010]/mtu": 9000,
    "structure/bridge/ports": "swp1 vni5010", "structure/vrf[RED]/table": 1001,
}  # fmt: skip


@pytest.mark.parametrize("lost", ["evpn/source", "structure/bridge/ports", "structure/vrf[RED]/table"])
def test_tunnels_of_linux_need_a_bridge_an_address_and_a_vrf(lost: str) -> None:
    facts = {path: value for path, value in LINUX.items() if path != lost}
    assert [*unmet_parts("frr", LINUX, {}, carries=True)] == []
    assert len([*unmet_parts("frr", facts, {}, carries=True)]) == 1
    orphan = {**LINUX, "evpn/vni[5011]/distinguisher": "10.0.0.1:5011"}
    assert len([*unmet_parts("frr", orphan, {}, carries=True)]) == 1


def test_instances_of_evpn_need_a_vxlan_interface_in_any_form() -> None:
    facts, ports = {"evpn/segment[10]/route_target": "10:10"}, {"Ethernet1": {"enabled": "true"}}
    assert len([*unmet_parts("eos", facts, ports, carries=True)]) == 1
    text = "interface vxlan 1\n   vxlan source-interface Loopback1\n"
    assert [*unmet_parts("eos", facts, ports, [text], carries=True)] == []
