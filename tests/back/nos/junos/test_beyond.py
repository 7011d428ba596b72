"""Statements that fabricc does not build but reads: a leaf with each of them, and the expected facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.junos import FILE, JUNOS
from fabricc.review.diff.fact_impact import vocabulary_of
from tests.back.nos.junos.test_read import as_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.reading.trie import State
    from fabricc.fabric.facts import Value

LEAF = (Path(__file__).parent / "beyond" / "leaf.conf").read_text(encoding="utf-8")
UPLINK, TENANT, BRIDGED, PAIRED = (
    "interface[et-0/0/1]/",
    "interface[et-0/0/5.100]/",
    "interface[ae1]/",
    "interface[ae2]/",
)
REFLECTED, OUTSIDE = "bgp/neighbor[10.255.0.2]/", "bgp/neighbor[10.9.0.0]/"

STATED: Mapping[str, Mapping[str, Value]] = {
    "interfaces": {
        UPLINK + "autoneg": "false", UPLINK + "flow_control": "both", UPLINK + "physical_mtu": 9216,
        UPLINK + "mtu": 9202, UPLINK + "ipv4": "10.8.0.1/24", UPLINK + "secondary[10.9.0.1/31]": "10.9.0.1/31",
        UPLINK + "access_list_in": "STORAGE-IN", UPLINK + "setting[no-redirects]": "true",
        TENANT + "vlan_tag": 100, TENANT + "mtu": 9174, TENANT + "ipv4": "10.9.1.0/31", TENANT + "vrf": "TENANT",
        TENANT + "access_list_out": "STORAGE-IN", TENANT + "description": "tenant uplink",
        "interface[et-0/0/6]/enabled": "false", "interface[et-0/0/7]/dhcp": "true",
        "interface[et-0/0/8]/address_from": "lo0", "interface[et-0/0/20]/speed_gbps": 100,
        "platform/sub_ports[et-0/0/21]": 4, "loopback/ipv4": "10.255.0.9/32",
        "interface[lo0]/secondary[127.0.0.1/32]": "127.0.0.1/32", "interface[lo0.9]/ipv4": "10.255.9.9/32",
        "interface[irb.10]/mtu": 9000, "interface[irb.10]/gateway[10.10.10.1]": "10.10.10.1",
        "interface[irb.20]/gateway[10.10.20.1]": "10.10.20.1",
        "interface[irb.20]/dhcp_relay": "192.0.2.67,192.0.2.68",
    },
    "bundles": {
        "interface[et-0/0/2]/bundle": "ae1", "interface[et-0/0/2]/bundle_mode": "active",
        "interface[et-0/0/3]/bundle_mode": "on", BRIDGED + "ethernet_segment": "00:11:22:33:44:55:66:77:88:99",
        BRIDGED + "setting[lacp periodic]": "fast", PAIRED + "mlag": "7", "mlag/domain": "3", "mlag/local": "10.7.0.1",
        "mlag/peer": "10.7.0.2", "mlag/peer_link": "ae9", "mlag/backup": "192.0.2.2",
    },
    "bridging": {
        "vlan[10]/name": "STORAGE", "vlan[10]/gateway": "irb.10", "interface[et-0/0/4]/switchport": "access",
        "interface[et-0/0/4]/access_vlan": 10, BRIDGED + "switchport": "trunk", BRIDGED + "vlans": "10,20,40-42",
        BRIDGED + "native_vlan": 10, PAIRED + "vlans": "1-4094", "spanning_tree/mode": "rstp",
        "interface[et-0/0/4]/spanning_tree": "edge", "spanning_tree/setting[bridge-priority]": "4k",
    },
    "instances and overlays": {
        "vrf[TENANT]": "present", "vrf[TENANT]/kind": "vrf", "vrf[TENANT]/description": "tenant nine",
        "vrf[TENANT]/distinguisher": "10.255.0.9:9", "vrf[TENANT]/import": "target:65000:9",
        "vrf[TENANT]/export": "target:65000:9", "vrf[TENANT]/static_route[0.0.0.0/0]": "10.9.1.1",
        "vrf[TENANT]/bgp/neighbor[10.9.1.1]/remote_asn": 65200, "vxlan/vrf[TENANT]/vni": 50009,
        "vrf[MACS]/kind": "mac-vrf", "vrf[MACS]/import": "target:65000:1", "vrf[MACS]/export": "target:65000:2",
        "vrf[MACS]/vxlan/source": "lo0", "vrf[MACS]/vlan[50]/name": "LAB", "vrf[MACS]/vxlan/vlan[50]/vni": 10050,
        "vxlan/source": "lo0", "vxlan/vlan[10]/vni": 10010, "vxlan/vni[10010]/replication": "ingress",
        "evpn/vni[10010]/route_target": "target:65000:10010", "vrf[default-switch]/distinguisher": "10.255.0.9:1",
        "evpn/setting[extended-vni-list]": "all",
    },
    "routing": {
        "static_route[10.99.0.0/16]": "10.9.0.0", "static_route[10.98.0.0/16]": "reject",
        "static_route[10.97.0.0/16]": "table TENANT.inet.0",
        "routing/setting[static 10.99.0.0/16 next-hop 10.9.0.0 preference]": "7",

        "routing/setting[graceful-restart]": "true", UPLINK + "ospf_area": "0.0.0.0", UPLINK + "ospf_cost": 5,
        UPLINK + "ospf_network": "p2p", UPLINK + "ospf_setting[hello-interval]": "3", "ospf[default]/passive": "lo0",
        "ospf[default]/area[0.0.0.1]": "stub", "ospf[default]/redistribute[all]": "STATICS",
        "ospf[default]/setting[reference-bandwidth]": "400g", "interface[irb.20]/ospf_area": "0.0.0.9",
        "vrf[TENANT]/ospf[default]/network[all]": "0.0.0.9", "vrf[TENANT]/ospf[default]/passive": "all",
        "isis[default]/net": "49.0001.0102.5500.0009.00", "isis[default]/level": "2", UPLINK + "isis": "default",
        UPLINK + "isis_metric": 20, UPLINK + "isis_setting[point-to-point]": "true",
        "isis[default]/redistribute[all]": "STATICS",
    },
    "BGP": {
        REFLECTED + "remote_kind": "internal", REFLECTED + "update_source": "10.255.0.9", REFLECTED + "hold_s": 30,
        REFLECTED + "keepalive_s": 10, REFLECTED + "families": "evpn", REFLECTED + "allow_as_in": 2,
        REFLECTED + "reflector_client": "evpn", REFLECTED + "setting[passive]": "true", REFLECTED + "secret": "set",
        "bgp/cluster_id": "10.255.0.9", OUTSIDE + "local_asn": 65009, OUTSIDE + "multihop": 3,
        OUTSIDE + "next_hop_unchanged": "all", OUTSIDE + "remove_private": "true", OUTSIDE + "enabled": "false",
        OUTSIDE + "import": "FROM-LOCAL && STATICS", "bgp/listen[10.9.4.0/24]": "OUT",
        "bgp/redistribute[connected]": "FROM-LOCAL", "bgp/redistribute[static]": "STATICS",
        "bgp/setting[path-selection]": "external-router-id",
    },
    "policy": {
        "prefix_list[RACKS]/0": "10.10.0.0/16", "as_path_list[PRIVATE]/0": "64512-65534",
        "community_list[TENANT]": "target:65000:9",
        "route_map[FROM-LOCAL]/10": "permit add_community target:65000:9 match protocol direct "
        "match route-filter 10.255.0.0/16 prefix-length-range /32-/32 set metric 10",
        "route_map[FROM-LOCAL]/20": "permit prefix_list RACKS match as-path PRIVATE continue",
        "route_map[FROM-LOCAL]/30": "deny", "structure/policy[FROM-LOCAL]/term[own]": "true",
        "access_list[STORAGE-IN]/0": "accept protocol udp destination-port 4791 dscp 26 then count roce",
        "access_list[STORAGE-IN]/1": "discard", "qos/setting[policer SLOW if-exceeding bandwidth-limit]": "1g",
    },
    "quality of service": {
        "qos/dscp[26]/traffic_class": 3, "qos/traffic_class[3]/queue": 3, "qos/traffic_class[3]/priority_group": 3,
        "qos/setting[dscp 0 loss-priority]": "high", UPLINK + "trust": "dscp", UPLINK + "pfc": "3",
        UPLINK + "headroom/cable_m": 30, UPLINK + "headroom/mru_bytes": 9216, UPLINK + "watchdog": "false",
        UPLINK + "queue[3]/scheduler": "dwrr 60", UPLINK + "queue[0]/scheduler": "dwrr 40",
        UPLINK + "qos_setting[rewrite-rules dscp]": "MARK",
        UPLINK + "qos_setting[output-traffic-control-profile]": "ALL",
        "qos/setting[shared-buffer ingress percent]": "80",
        "qos/setting[scheduler S-RDMA buffer-size percent]": "60", "qos/setting[unused class SPARE]": "true",
        "qos/setting[drop-profile STEPS fill-level 0]": 10, "qos/setting[drop-profile STEPS drop-probability 1]": 100,
    },
}  # fmt: skip


@pytest.mark.parametrize("form", ["braces", "set"])
@pytest.mark.parametrize("topic", STATED)
def test_every_fact_is_stated_in_both_forms(topic: str, form: str) -> None:
    text = LEAF if form == "braces" else "\n".join(as_commands(LEAF))
    facts = JUNOS.read({FILE: text}).facts
    assert {path: facts.get(path) for path in STATED[topic]} == STATED[topic]


@pytest.mark.parametrize("form", ["braces", "set"])
def test_unknown_lines_of_the_sample_do_not_affect_forwarding(form: str) -> None:
    text = LEAF if form == "braces" else "\n".join(as_commands(LEAF))
    reading = JUNOS.read({FILE: text})
    unknown = {(file, line) for file, line, _ in reading.unknown}
    assert unknown == JUNOS.ignorable({FILE: text}, reading)
    assert len(unknown) == 4


def test_a_fact_has_the_line_that_states_it() -> None:
    reading, lines = JUNOS.read({FILE: LEAF}), LEAF.split("\n")
    output = {path: lines[line - 1].strip() for path, (_, line) in reading.lines.items()}
    assert output[TENANT + "vlan_tag"] == "vlan-id 100;"
    assert output["interface[et-0/0/2]/bundle_mode"] == "active;"
    assert output["vrf[TENANT]/bgp/neighbor[10.9.1.1]/remote_asn"] == "peer-as 65200;"
    assert output[UPLINK + "isis_metric"] == "level 2 metric 20;"
    assert output["access_list[STORAGE-IN]/0"] == "accept;"


def test_a_word_for_all_interfaces_is_none_of_them() -> None:
    assert not any(path.startswith("interface[all]") for path in JUNOS.read({FILE: LEAF}).facts)


def test_classes_that_are_there_without_being_defined_have_their_queues() -> None:
    cos = "set class-of-service"
    text = (
        f"{cos} classifiers dscp D forwarding-class no-loss loss-priority low code-points 011010\n"
        f"{cos} scheduler-maps M forwarding-class best-effort scheduler S\n{cos} schedulers S transmit-rate percent 5\n"
        f"{cos} interfaces et-0/0/1 unit 0 classifiers dscp D\n{cos} interfaces et-0/0/1 scheduler-map M\n"
    )
    reading = JUNOS.read({FILE: text})
    assert reading.unknown == []
    assert reading.facts["qos/dscp[26]/traffic_class"] == 4
    assert reading.facts["qos/traffic_class[4]/priority_group"] == 4
    assert reading.facts["interface[et-0/0/1]/queue[0]/scheduler"] == "dwrr 5"


def test_no_secret_becomes_a_value() -> None:
    reading = JUNOS.read({FILE: LEAF})
    assert not any("$9$" in f"{path} {value}" for path, value in reading.facts.items())


def test_every_fact_has_its_row() -> None:
    rows = vocabulary_of("junos")
    for path in JUNOS.read({FILE: LEAF}).facts:
        assert rows.row(path), path


def test_reader_rows_are_distinct() -> None:
    met: set[int] = set()
    waiting: list[State] = [JUNOS.reader.start]
    while waiting:
        state = waiting.pop()
        if id(state) not in met:
            met.add(id(state))
            waiting += [*state.words.values(), *(behind for _, behind in state.captures.values())]
            waiting += [state.rest] if state.rest else []
            waiting += [state.inner.state] if state.inner else []
    assert len(met) > 1000
