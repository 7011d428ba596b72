"""Foreign configurations of SONiC become facts, and none of them ends the reading."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from fabricc.back.nos.sonic import SONIC, reader
from fabricc.back.nos.sonic.config_db import FILE
from fabricc.fabric.facts import Unplanned
from fabricc.review.diff.fact_impact import vocabulary_of
from tests.audit.corpora import ROOT, Share, devices, measure_share
from tests.back.nos.test_vocabulary import fits_type
from tests.back.reading.compiled import compiled_blocks
from tests.effort import scale_examples

TEXT = (Path(__file__).parent / "beyond" / FILE).read_text()
READING = SONIC.read({FILE: TEXT})
SOURCES = (
    "batfish-lab-validation", "batfish-parser", "metal-stack-mini-lab", "missoso-clab-sonic",
    "segmentrouting-srv6-ai-fabric", "sonic-buildimage", "sonic-buildimage-qos", "sonic-mgmt", "sonic-utilities",
)  # fmt: skip
OF_FRR = re.compile(r"unread\[|(vrf\[.*\]/)?evpn/advertises_all")
"""Facts without a row of this back end: what nothing reads, and what the vocabulary declares for FRR alone."""


def test_foreign_lines_are_understood_or_irrelevant() -> None:
    ignorable = SONIC.ignorable({FILE: TEXT}, READING)
    assert [text for file, line, text in READING.unknown if (file, line) not in ignorable] == []
    assert ignorable


def test_unknown_fields_are_not_understood_and_not_irrelevant() -> None:
    tables = json.loads(TEXT)
    tables["PORT"]["Ethernet0"]["flux"] = "7"
    tables["FROBNICATION"] = {"a": {"b": "c"}}
    files = {FILE: json.dumps(tables, indent=4)}
    reading = SONIC.read(files)
    ignorable = SONIC.ignorable(files, reading)
    left = {text for file, line, text in reading.unknown if (file, line) not in ignorable}
    assert left == {"PORT|Ethernet0 flux: 7", "table FROBNICATION"}


def test_missing_plan_lines_count_only_in_own_files() -> None:
    lacking = [each for each in READING.unknown if isinstance(each, Unplanned)]
    assert "MGMT_VRF_CONFIG|vrf_global is missing" in {each.text for each in lacking}
    assert {each[:2] for each in lacking} <= SONIC.ignorable({FILE: TEXT}, READING)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("interface[Loopback1]/ipv4", "10.254.0.1/32"),
        ("interface[Ethernet0]/secondary[10.2.0.0/31]", "10.2.0.0/31"),
        ("interface[Ethernet24]/vrf", "VrfRed"),
        ("interface[Ethernet0]/setting[pfc_asym]", "on"),
        ("interface[Ethernet0]/expected_peer", "spine1 Ethernet4"),
        ("expected_device[spine1]", "LeafRouter Other-Box"),
        ("system/setting[switch_type]", "switch"),
        ("qos/dscp[26]/traffic_class", 3),
        ("qos/map[DSCP_TO_TC_MAP SITE_UPLINK]", "0:1"),
        ("interface[Ethernet8]/qos_setting[dscp_to_tc_map]", "SITE_UPLINK"),
        ("interface[Ethernet8]/trust", "other-map"),
        ("interface[Ethernet8]/pfc", "3,4"),
        ("interface[Ethernet0]/queue[3]/scheduler", "dwrr 15 pir 1000000"),
        ("interface[Ethernet8]/queue[3]/ecn_min_bytes", 1000000),
        ("interface[Ethernet0]/queue[1]/drop_min_bytes", 1000),
        ("pool/headroom_bytes", 196608),
        ("buffer_pool[ingress_lossy_pool]/size_bytes", 7326924),
        ("buffer_profile[q_lossy_profile]/dynamic_th", 1),
        ("interface[Ethernet0]/priority_group[3]/buffer_profile", "NULL"),
        ("interface[Ethernet8]/headroom/xoff_bytes", 165568),
        ("interface[Ethernet8]/headroom/cable_m", 40),
        ("interface[Ethernet8]/queue[2]/buffer_profile", "q_lossy_profile"),
        ("interface[Ethernet0]/watchdog", "true"),
        ("interface[Ethernet8]/watchdog", "false"),
        ("watchdog/poll_ms", 200),
        ("vlan[100]/name", "hosts"),
        ("vlan[100]/enabled", "true"),
        ("interface[Vlan100]/kind", "vlan"),
        ("interface[Vlan100]/dhcp_relay", "192.0.2.67"),
        ("interface[Vlan100]/vrf", "VrfRed"),
        ("interface[Vlan100]/ipv4", "10.5.0.1/24"),
        ("interface[Ethernet8]/switchport", "access"),
        ("interface[Ethernet8]/access_vlan", 100),
        ("interface[PortChannel1]/switchport", "trunk"),
        ("interface[PortChannel1]/native_vlan", 200),
        ("interface[PortChannel1]/vlans", "100"),
        ("interface[PortChannel1]/members", "Ethernet16"),
        ("interface[PortChannel1]/mlag", "1"),
        ("interface[PortChannel1]/ipv4", "10.4.0.0/31"),
        ("interface[Ethernet16]/bundle", "PortChannel1"),
        ("interface[Ethernet16]/bundle_mode", "active"),
        ("mlag/peer", "10.3.0.1"),
        ("mlag/peer_link", "PortChannel99"),
        ("vrf[VrfRed]", "present"),
        ("vxlan/source", "10.255.0.1"),
        ("vxlan/vlan[100]/vni", 10100),
        ("vxlan/vrf[VrfRed]/vni", 4001),
        ("srv6/sid[fcbb:bbbb:7::/48]", "locator MAIN action uN decap_dscp_mode uniform"),
        ("interface[Ethernet8]/access_list_in", "DROPS"),
        ("access_list[DROPS]/0", "drop IP_PROTOCOL 17 L4_DST_PORT 4791 SRC_IP 10.9.0.0/16"),
        ("access_list[DROPS]/1", "forward DSCP 46"),
        ("access_list[DROPS]/2", "redirect ethernet8 ETHER_TYPE 0x0800"),
        ("static_route[203.0.114.0/24]", "discard"),
        ("bgp/requires_policy", "true"),
        ("bgp/neighbor[10.1.0.1]/export", "OUT"),
        ("evpn/neighbor[10.1.0.1]/export", "OUT"),
        ("evpn/advertises_all", "true"),
        ("static_route[198.51.100.0/24]", "10.1.0.1,10.2.0.1"),
        ("static_route[203.0.113.0/24]", "discard"),
        ("vrf[VrfRed]/static_route[0.0.0.0/0]", "10.9.0.2 Ethernet24"),
        ("bgp/asn", 65010),
        ("bgp/multipath_relax", "true"),
        ("bgp/cluster_id", "10.255.0.9"),
        ("bgp/maximum_paths", 16),
        ("bgp/multipath_ibgp", 8),
        ("bgp/network[10.255.0.1/32]", "OUT"),
        ("bgp/aggregate[10.1.0.0/16]", "summary-only"),
        ("bgp/redistribute_connected", "OUT"),
        ("bgp/listen[10.7.0.0/16]", "LEAVES"),
        ("bgp/neighbor[10.1.0.1]/hold_s", 3),
        ("bgp/neighbor[10.1.0.1]/import", "IN"),
        ("bgp/neighbor[10.1.0.1]/maximum_prefixes", 100),
        ("bgp/neighbor[10.255.0.7]/enabled", "false"),
        ("bgp/neighbor[10.255.0.7]/remote_kind", "internal"),
        ("bgp/neighbor[10.255.0.7]/reflector_client", "ipv4"),
        ("bgp/neighbor[10.255.0.7]/secret", "set"),
        ("vrf[VrfRed]/bgp/neighbor[10.9.0.2]/remote_asn", 65099),
        ("vrf[VrfRed]/bgp/redistribute[ospf]", "all"),
        ("route_map[OUT]/10", "permit prefix_list OURS local_preference 200"),
        ("prefix_list[OURS]/0", "10.0.0.0/8 ge 16 le 32"),
        ("community_list[DRAIN]", "65535:0"),
        ("as_path_list[SHORT]/0", "permit ^65000_"),
        ("ospf[default]/network[10.1.0.0/16]", "0.0.0.0"),
        ("interface[Ethernet0]/ospf_cost", 10),
    ],
)
def test_foreign_settings_become_facts(path: str, value: object) -> None:
    assert READING.facts[path] == value


def test_tables_that_bgpcfgd_reads_are_facts_unless_frr_conf_is_the_device_s_own() -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"bgp_asn": "65010", "docker_routing_config_mode": "unified"}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200", "name": "T1", "rrclient": "0", "nhopself": 1, "holdtime": "10"}},
        "BGP_PEER_RANGE": {"VAC": {"ip_range": ["192.168.0.0/21"], "name": "VAC", "src_address": "10.1.0.32"}},
    }  # fmt: skip
    facts = SONIC.read({FILE: json.dumps(tables)}).facts
    assert facts["bgp/neighbor[10.0.0.1]/remote_asn"] == 65200
    assert facts["bgp/neighbor[10.0.0.1]/description"] == "T1"
    assert facts["bgp/neighbor[10.0.0.1]/next_hop_self"] == "ipv4"
    assert "bgp/neighbor[10.0.0.1]/reflector_client" not in facts
    assert facts["bgp/listen[192.168.0.0/21]"] == "VAC"
    assert facts["bgp/listen[192.168.0.0/21]/setting[import]"] == "FROM_BGP_SPEAKER"
    tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = "split"
    facts = SONIC.read({FILE: json.dumps(tables)}).facts
    assert not [path for path in facts if "neighbor" in path]
    assert facts["unread[BGP_NEIGHBOR]"].startswith("docker_routing_config_mode is split")


def test_the_evpn_of_a_vrf_is_read_from_tables() -> None:
    of_vrf = {
        "route-distinguisher": "10.0.0.1:7",
        "import-rts": ["65000:7"],
        "advertise_ipv4_unicast": "true",
    }
    tables = {
        "VRF": {"Vrfa": {"vni": "7"}}, "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": "vtep"}},
        "BGP_GLOBALS_AF": {"Vrfa|l2vpn_evpn": of_vrf},
    }  # fmt: skip
    text = json.dumps(tables, indent=4)
    reading = SONIC.read({FILE: text})
    assert reading.facts["vrf[a]/distinguisher"] == "10.0.0.1:7"
    assert reading.facts["evpn/vrf[a]/vni"] == 7
    assert reading.facts["vrf[a]/evpn/setting[advertise ipv4 unicast]"] == "true"
    assert text.split("\n")[reading.lines["vrf[a]/import"][1] - 1].strip() == '"65000:7"'


def test_lines_are_exact_where_blanks_stand_before_a_colon() -> None:
    text = '{\n  "PORT" : {\n    "Ethernet0" : {\n      "mtu" : "9100"\n    }\n  }\n}\n'
    assert SONIC.read({FILE: text}).lines["interface[Ethernet0]/mtu"] == (FILE, 4)


def test_no_password_is_a_fact() -> None:
    assert "hidden" in TEXT
    assert not [path for path, value in READING.facts.items() if "hidden" in f"{path}{value}"]


def check_declared(facts: dict[str, str | int]) -> None:
    rows = {path: vocabulary_of("sonic").row(path) for path in facts}
    assert {path for path, row in rows.items() if not row.declared and not OF_FRR.match(path)} == set()
    apart = re.compile(r"(ipv[46]|transmit) .+|.*, .+|none")
    wrong = {
        (path, str(value), str(rows[path].type))
        for path, value in facts.items()
        if rows[path].declared and not fits_type(rows[path].type, value) and not apart.fullmatch(str(value))
    }
    assert wrong == set()


def test_every_fact_is_declared_and_of_its_type() -> None:
    check_declared(READING.facts)


def test_all_rows_compile() -> None:
    """Blocks compile at their first use: no two may be equal."""
    assert compiled_blocks(reader().start) > 100


corpora = pytest.mark.skipif(not ROOT.is_dir(), reason="the shared corpora are not here")


@corpora
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.spread
def test_configurations_of_others_are_understood(source: str) -> None:
    every = Share()
    for files in devices("sonic", source).values():
        every = every.plus(measure_share("sonic", files)[0])
        check_declared(SONIC.read(files).facts)
    assert every.statements > 20
    assert every.percent < 1


@corpora
def test_no_foreign_text_is_too_broken_to_read() -> None:
    """Cut at many places, and with values of other lines, or none, in the middle."""
    chosen = random.Random(7)
    for files in [*devices("sonic").values()][::4]:
        text = files.get(FILE, "")[:20000]
        words = re.findall(r'"[^"]*"', text) or ['"x"']
        for _ in range(scale_examples(20)):
            at = chosen.randrange(len(text) + 1)
            odd = chosen.choice(['"\\ud800"', "7", "null", '{"a": {}}', '["x|y]"]', chosen.choice(words)])
            garbled = text.replace(chosen.choice(words), odd, chosen.randrange(1, 9))
            for broken in (text[:at], garbled):
                reading = SONIC.read({FILE: broken, **{k: v for k, v in files.items() if k != FILE}})
                assert reading.lines.keys() <= reading.facts.keys()
