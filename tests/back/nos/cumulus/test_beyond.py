"""Foreign configurations of Cumulus Linux, with NVUE and without, become facts."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.foreign import beyond
from fabricc.back.nos.cumulus.words import FILE
from fabricc.back.nos.frr import recognition as frr
from fabricc.fabric.facts import Unplanned
from fabricc.review.diff.fact_impact import vocabulary_of
from tests.audit.corpora import ROOT, Share, devices, measure_share
from tests.back.nos.cumulus.variants import VARIANTS
from tests.back.nos.test_vocabulary import fits_type
from tests.back.reading.compiled import compiled_blocks
from tests.effort import scale_examples

FOLDER = Path(__file__).parent / "beyond"
TEXT = (FOLDER / FILE).read_text()
NVUE = CUMULUS.read({FILE: TEXT})
FLAT = {path.name: path.read_text() for path in sorted((FOLDER / "flat").iterdir())}
FLAT_READING = CUMULUS.read(FLAT)
OF_FRR = re.compile(r"unread\[|(vrf\[.*\]/)?(evpn/advertises_all|structure/|log/|zebra/)")
"""Facts without a row of this back end: what nothing reads, and what the vocabulary declares for FRR alone."""


def unread_lines(files: dict[str, str]) -> list[str]:
    reading = CUMULUS.read(files)
    ignorable = CUMULUS.ignorable(files, reading)
    plain = [each for each in reading.unknown if not isinstance(each, Unplanned)]
    return [text for file, line, text in plain if (file, line) not in ignorable]


def test_foreign_statements_are_understood_or_irrelevant_except_one() -> None:
    assert unread_lines({FILE: TEXT}) == ["level: 7"]
    assert sorted(unread_lines(FLAT)) == ["frobnicate 7", "no assignment"]


def test_commands_are_statements_one_by_one() -> None:
    text = (FOLDER / "commands.txt").read_text()
    assert unread_lines({FILE: text}) == ["nv set system frobnication on"]
    facts = CUMULUS.read({FILE: text}).facts
    assert facts["interface[swp53]/setting[evpn multihoming uplink]"] == "on"
    assert facts["interface[swp50]/bundle"] == "bond1"
    assert facts["interface[eth0]/dhcp"] == "true"
    assert facts["access_list[GUARD]/10"] == "deny ip protocol tcp"
    assert facts["bgp/neighbor[swp52]/remote_kind"] == "external"
    assert facts["evpn/neighbor[swp52]/next_hop"] == "unchanged"
    assert facts["vxlan/vrf[RED]/vni"] == 4001


def test_each_of_several_unknown_commands_of_one_thing_is_read() -> None:
    start = "nv set interface bond1 bond"
    facts = CUMULUS.read({FILE: f"{start} member swp9\n{start} mlag id 1\n{start} mode static\n"}).facts
    assert facts["interface[bond1]/mlag"] == "1"
    assert facts["interface[swp9]/bundle_mode"] == "on"


def test_commands_below_one_unknown_key_are_read_together() -> None:
    start = "nv set vrf default router bgp address-family ipv4-unicast"
    text = f"{start} enable on\n{start} route-import from-vrf enable on\n{start} route-import from-vrf list mgmt\n"
    facts = CUMULUS.read({FILE: text}).facts
    assert facts["bgp/setting[ipv4 route-import]"] == "from-vrf enable on, from-vrf list mgmt"


def test_a_key_of_the_object_model_is_not_taken_for_a_misspelled_one() -> None:
    facts = CUMULUS.read({FILE: TEXT + "    qos:\n      counters:\n        state: enabled\n"}).facts
    assert not [path for path in facts if path == "unread[counters]"]


def test_missing_plan_lines_count_only_in_own_files() -> None:
    lacking = [each for each in NVUE.unknown if isinstance(each, Unplanned) and "missing" in each.text]
    assert lacking
    assert {each[:2] for each in lacking} <= CUMULUS.ignorable({FILE: TEXT}, NVUE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("interface[lo]/secondary[10.254.0.1/32]", "10.254.0.1/32"),
        ("interface[bond1]/kind", "bond"),
        ("interface[bond1]/members", "swp5,swp6"),
        ("interface[bond1]/mlag", "1"),
        ("interface[bond1]/switchport", "trunk"),
        ("interface[bond1]/native_vlan", 10),
        ("interface[bond1]/vlans", "10,20-22"),
        ("interface[swp6]/bundle", "bond1"),
        ("interface[swp6]/bundle_mode", "active"),
        ("interface[swp2]/autoneg", "false"),
        ("interface[swp2]/ospf_area", "0.0.0.0"),
        ("interface[swp2]/ospf_cost", 5),
        ("interface[swp2]/ospf_network", "point-to-point"),
        ("interface[swp2]/access_list_in", "NO_ROCE"),
        ("interface[swp9]/access_vlan", 10),
        ("interface[swp9]/spanning_tree", "admin-edge on"),
        ("interface[swp9]/ethernet_segment", "7"),
        ("interface[vlan10]/vrf", "RED"),
        ("interface[vlan10]/gateway[10.10.0.1/24]", "10.10.0.1/24"),
        ("access_list[NO_ROCE]/10", "deny ip dest-port 4791 ip protocol udp ip source-ip 10.9.0.0/16"),
        ("vlan[21]/enabled", "true"),
        ("spanning_tree/mode", "rstp"),
        ("mlag/peer", "linklocal"),
        ("mlag/backup", "192.0.2.2"),
        ("mlag/mac", "44:38:39:BE:EF:AA"),
        ("vxlan/source", "10.255.0.1"),
        ("vxlan/source_mlag", "10.255.9.1"),
        ("vxlan/vlan[10]/vni", 10010),
        ("vxlan/vrf[RED]/vni", 4001),
        ("evpn/setting[route-advertise]", "svi-ip on"),
        ("qos/roce", "lossless"),
        ("route_map[MARK]/10", "permit prefix_list OURS match tag 7 set metric 20"),
        ("as_path_list[SHORT]/0", "permit ^65000$"),
        ("static_route[198.51.100.0/24]", "10.1.0.1,vlan10"),
        ("bgp/network[10.255.0.1/32]", "all"),
        ("bgp/multipath_ibgp", 8),
        ("bgp/redistribute[ospf]", "MARK"),
        ("bgp/listen[10.7.0.0/16]", "underlay"),
        ("bgp/neighbor[10.255.0.9]/remote_kind", "internal"),
        ("bgp/neighbor[10.255.0.9]/update_source", "lo"),
        ("bgp/neighbor[10.255.0.9]/multihop", 3),
        ("bgp/neighbor[10.255.0.9]/enabled", "false"),
        ("bgp/neighbor[10.255.0.9]/secret", "set"),
        ("evpn/neighbor[10.255.0.9]/export", "MARK"),
        ("bgp/neighbor[swp1]/remote_kind", "external"),
        ("bgp/neighbor[swp1]/allow_as_in", 2),
        ("bgp/neighbor[swp1]/prefix_list_in", "OURS"),
        ("bgp/neighbor[swp1]/reflector_client", "ipv4"),
        ("bgp/neighbor[swp1]/hold_s", 3),
        ("bgp/neighbor[swp1]/bfd", "true"),
        ("vrf[RED]", "present"),
        ("vrf[RED]/bgp/asn", 65101),
        ("vrf[RED]/bgp/neighbor[10.10.0.9]/remote_asn", 65999),
        ("vrf[RED]/bgp/redistribute_connected", "unfiltered"),
        ("ospf[default]/router_id", "10.255.0.1"),
        ("ospf[default]/network[10.1.0.0/24]", "0.0.0.0"),
        ("ospf[default]/network[10.2.0.0/24]", "0.0.0.0"),
    ],
)
def test_foreign_nvue_settings_become_facts(path: str, value: object) -> None:
    assert NVUE.facts[path] == value


def test_settings_of_a_peer_group_stand_at_the_group_s_line() -> None:
    _, line = NVUE.lines["bgp/neighbor[swp1]/hold_s"]
    assert TEXT.splitlines()[line - 1].strip() == "hold: 3"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("loopback/ipv4", "10.255.0.3/32"),
        ("interface[eth0]/dhcp", "true"),
        ("interface[swp1]/enabled", "true"),
        ("interface[swp1]/description", "spine1 swp3"),
        ("interface[swp1]/speed_gbps", 400),
        ("interface[swp1]/fec", "rs"),
        ("interface[swp1]/autoneg", "false"),
        ("interface[swp1]/mtu", 9216),
        ("interface[swp2]/ipv4", "10.1.0.0/31"),
        ("interface[swp2]/secondary[10.2.0.0/31]", "10.2.0.0/31"),
        ("interface[swp9]/access_vlan", 10),
        ("interface[swp9]/spanning_tree", "mstpctl-portadminedge yes, mstpctl-bpduguard yes"),
        ("interface[bond1]/members", "swp11,swp12"),
        ("interface[bond1]/mlag", "1"),
        ("interface[bond1]/vlans", "10,20-22"),
        ("interface[swp12]/bundle", "bond1"),
        ("interface[bridge]/members", "bond1,vni10"),
        ("interface[vlan10]/gateway[10.10.0.1/24]", "10.10.0.1/24"),
        ("interface[vlan10]/vlan_tag", 10),
        ("vrf[RED]", "present"),
        ("vxlan/vlan[10]/vni", 10010),
        ("vxlan/source", "10.255.0.3"),
        ("mlag/peer_link", "peerlink"),
        ("bgp/hold_s", 9),
        ("bgp/neighbor[swp1]/remote_kind", "external"),
        ("qos/dscp[26]/traffic_class", 3),
        ("qos/traffic_class[3]/queue", 3),
        ("interface[swp2]/trust", "dscp"),
        ("interface[swp2]/pfc", "3"),
        ("interface[swp2]/headroom/cable_m", 40),
        ("interface[swp2]/headroom/size_bytes", 25000),
        ("interface[swp2]/headroom/xoff_bytes", 15000),
        ("interface[swp2]/headroom/xon_bytes", 8000),
        ("interface[swp1]/watchdog", "true"),
        ("interface[swp9]/queue[0]/ecn_min_bytes", 150000),
        ("interface[swp9]/queue[0]/scheduler", "dwrr 50"),
        ("interface[swp9]/queue[6]/scheduler", "strict"),
        ("interface[swp9]/flow_control", "both"),
    ],
)
def test_foreign_settings_without_nvue_become_facts(path: str, value: object) -> None:
    assert FLAT_READING.facts[path] == value


def test_pfc_is_on_the_ports_of_its_group_alone() -> None:
    assert {path for path in FLAT_READING.facts if path.endswith("/pfc")} == {
        "interface[swp1]/pfc", "interface[swp2]/pfc",
    }  # fmt: skip


def test_no_password_is_a_fact() -> None:
    assert "hidden" in TEXT
    assert not [path for path, value in NVUE.facts.items() if "hidden" in f"{path}{value}"]


@pytest.mark.parametrize("name", list(VARIANTS)[:6])
def test_a_line_next_to_a_plan_changes_no_fact_of_the_plan(name: str) -> None:
    """The second reading of a text states no fact of the first reading again."""
    files = CUMULUS.render(VARIANTS[name])
    text = (
        files[FILE]
        + "    bridge:\n      domain:\n        br_default:\n          vlan:\n            '10': {}\n"
    )
    facts = CUMULUS.read({FILE: text}).facts
    planned = CUMULUS.planned(VARIANTS[name])
    assert {path: value for path, value in facts.items() if planned.get(path) != value} == {
        "vlan[10]/enabled": "true"
    }


def check_declared(facts: dict[str, str | int]) -> None:
    rows = {path: vocabulary_of("cumulus").row(path) for path in facts}
    assert {path for path, row in rows.items() if not row.declared and not OF_FRR.match(path)} == set()
    apart = re.compile(r"(ipv[46]|transmit) .+|.*, .+|none|icmp")
    wrong = {
        (path, str(value), str(rows[path].type))
        for path, value in facts.items()
        if rows[path].declared and not fits_type(rows[path].type, value) and not apart.fullmatch(str(value))
    }
    assert wrong == set()


def test_every_fact_is_declared_and_of_its_type() -> None:
    check_declared(NVUE.facts)
    check_declared(FLAT_READING.facts)


def test_all_rows_compile() -> None:
    """Blocks compile at their first use: no two may be equal."""
    assert compiled_blocks(beyond.reader().start) > 20


def test_groups_of_ports_that_no_list_names_have_no_effect() -> None:
    text = FLAT["qos_features.conf"].replace("pfc.port_group_list = [roce_ports]", "pfc.port_group_list = []")
    reading = CUMULUS.read({**FLAT, "qos_features.conf": text})
    assert "interface[swp1]/pfc" not in reading.facts
    assert reading.lines["unread[pfc.roce_ports]"] == ("qos_features.conf", 5)


def test_daemons_and_hashing_are_read_beside_frr_conf() -> None:
    more = {
        "daemons": "bgpd=no\nbfdd=yes\n",
        "traffic.conf": "hash_config.sport = false\necmp_hash_seed = 7\n",
    }
    facts = CUMULUS.read({**FLAT, **more}).facts
    assert facts["unread[frr.conf for bgpd]"] == "daemons does not start bgpd"
    assert (facts["system/hash_seed"], facts["qos/setting[hash_config.sport]"]) == (7, "false")
    claims = {name: CUMULUS.found.takes(f"leaf1/{name}", text) for name, text in more.items()}
    assert {name: claim.file for name, claim in claims.items() if claim} == {name: name for name in more}


@pytest.mark.parametrize(
    ("lines", "path", "value"),
    [
        ("    address 192.0.2.21/24\n    vrf mgmt\n", "management/isolated", "true"),
        ("    address 192.0.2.21/24\n    vrf other\n", "management/isolated", "false"),
        ("    address 192.0.2.21/24\n", "management/isolated", "false"),
        ("    post-up ip link set $IFACE down\n", "interface[eth0]/enabled", "false"),
        ("    address 192.0.2.21/24\n    gateway 192.0.2.1\n", "management/gateway", "192.0.2.1"),
        ("iface swp1\nauto swp2\n", "unread[auto swp2]", "no `iface` has this name"),
        ("auto swp1-2\niface swp1-2\nauto swp3\n", "unread[auto swp3]", "no `iface` has this name"),
    ],
)
def test_interfaces_show_isolation_and_commands(lines: str, path: str, value: str) -> None:
    text = f"auto mgmt\niface mgmt\n    vrf-table auto\nauto eth0\niface eth0\n{lines}"
    assert CUMULUS.read({"interfaces": text}).facts[path] == value
    shut = CUMULUS.read({"interfaces": text.replace("auto eth0", "")}).facts
    assert shut["management/enabled"] == "false"


corpora = pytest.mark.skipif(not ROOT.is_dir(), reason="the shared corpora are not here")


@corpora
def test_configurations_of_others_are_understood() -> None:
    every = Share()
    for files in devices("cumulus").values():
        every = every.plus(measure_share("cumulus", files)[0])
        check_declared(CUMULUS.read(files).facts)
    assert every.statements > 1000
    assert every.percent < 1


@pytest.mark.slow
@corpora
def test_no_foreign_text_is_too_broken_to_read() -> None:
    """Cut at many places, and with words of other lines in the middle."""
    chosen = random.Random(7)
    texts = [files[FILE] for files in devices("cumulus").values()][::3]
    for text in [TEXT, *texts]:
        words = text.split()
        for _ in range(scale_examples(20)):
            at = chosen.randrange(len(text))
            for broken in (text[:at], text.replace(chosen.choice(words), chosen.choice(words), 3)):
                reading = CUMULUS.read({FILE: broken})
                assert CUMULUS.ignorable({FILE: broken}, reading) is not None
    for name, text in FLAT.items():
        for _ in range(scale_examples(20)):
            at = chosen.randrange(len(text))
            garbled = text.replace(chosen.choice(text.split()), chosen.choice(text.split()), 2)
            for broken in (text[:at], garbled):
                reading = CUMULUS.read({**FLAT, name: broken})
                assert reading.lines.keys() <= reading.facts.keys()


def test_frr_conf_next_to_cumulus_files_belongs_to_the_same_switch() -> None:
    """A lone `frr.conf` is FRR's; with a file of Cumulus Linux it belongs to that box."""
    claims = {name: CUMULUS.found.takes(f"leaf1/{name}", text) for name, text in FLAT.items()}
    routing = frr.takes("leaf1/frr.conf", FLAT["frr.conf"])
    assert {name: claim.file for name, claim in claims.items() if claim} == {name: name for name in FLAT}
    assert routing
    assert routing.weight > claims["frr.conf"].weight >= routing.weight / 2  # type: ignore[union-attr]
    plain = "auto swp1\niface swp1\n    address 10.0.0.0/31\nauto swp2\niface swp2\n"
    others, own = frr.takes("leaf1/interfaces", plain), CUMULUS.found.takes("leaf1/interfaces", plain)
    assert others
    assert others.weight > own.weight >= others.weight / 2  # type: ignore[union-attr]


_POOLS = {
    "ingress_service_pool.0.percent": "60.0", "ingress_service_pool.1.percent": "40",
    "egress_service_pool.1.percent": "50",
    "flow_control.ingress_service_pool": "1", "flow_control.egress_service_pool": "1",
}  # fmt: skip

_FLOW = "flow_control"
_NO_SHARE, _SHARED = "no line gives the pool 7 a share", "the pool 0 is that of other traffic"
_EMPTY = "the pool 1 has 0 % of the buffer"


@pytest.mark.parametrize(
    ("other", "path", "value", "line"),
    [
        ({}, "pool/lossless_percent", 40, 2),
        ({}, "pool/lossy_percent", 60, 1),
        ({f"{_FLOW}.ingress_service_pool": "7"}, f"unread[{_FLOW}.ingress_service_pool]", _NO_SHARE, 4),
        ({f"{_FLOW}.ingress_service_pool": "0"}, f"unread[{_FLOW}.ingress_service_pool]", _SHARED, 4),
        ({"egress_service_pool.1.percent": "0"}, f"unread[{_FLOW}.egress_service_pool]", _EMPTY, 3),
    ],
)  # fmt: skip
def test_pools_of_text_files(other: dict[str, str], path: str, value: object, line: int) -> None:
    text = "".join(f"{key} = {words}\n" for key, words in {**_POOLS, **other}.items())
    reading = CUMULUS.read({**FLAT, "qos_infra.conf": text})
    assert reading.facts[path] == value
    assert reading.lines[path] == ("qos_infra.conf", line)


def test_a_code_point_in_two_lists_is_a_finding() -> None:
    more = "traffic.cos_6.priority_source.dscp = [48]\ntraffic.cos_7.priority_source.dscp = [48]\n"
    reading = CUMULUS.read({**FLAT, "qos_features.conf": more})
    assert reading.lines["unread[traffic.cos_7.priority_source.dscp]"] == ("qos_features.conf", 2)


_BRIDGE = "auto {0}\niface {0}\n    bridge-ports swp1\n    bridge-vlan-aware yes\n\n"
_TUNNEL = "auto vni9\niface vni9\n    vxlan-id 9\n    bridge-access 9\n    bridge-learning on\n"


def test_tunnels_of_text_files() -> None:
    reading = CUMULUS.read({"interfaces": _BRIDGE.format("br0") + _TUNNEL})
    assert reading.lines["unread[bridge-ports]"] == ("interfaces", 3)
    assert reading.lines["unread[iface vni9]"] == ("interfaces", 9)
    assert reading.facts["evpn/segment[vni9]/learns_from_tunnels"] == "true"


_GATEWAY = "auto vlan8\niface vlan8\n    vlan-id 8\n    vlan-raw-device br0\n\n"
_PEER = "auto peerlink\niface peerlink\n    bond-slaves swp9\n\nauto peerlink.4094\niface peerlink.4094\n"


def test_the_bridge_of_text_files_has_the_vlans_of_gateways_and_the_link_of_the_pair() -> None:
    bridge = _BRIDGE.format("br0").replace("yes\n", "no\n    bridge-vids 9\n")
    text = f"{bridge}{_GATEWAY}{_PEER}    clagd-peer-ip linklocal\n"
    lines = CUMULUS.read({"interfaces": text}).lines
    assert lines["unread[bridge-vids]"] == ("interfaces", 4)
    assert lines["unread[iface vlan8]"] == ("interfaces", 5)
    assert lines["unread[iface peerlink]"] == ("interfaces", 17)
    sound = (
        text.replace("aware no", "aware yes")
        .replace("vids 9", "vids 8-9")
        .replace("swp1\n", "swp1 peerlink\n")
    )
    assert not any(path.startswith("unread[") for path in CUMULUS.read({"interfaces": sound}).facts)


@pytest.mark.parametrize(
    ("file", "text", "word"),
    [
        ("interfaces", "auto swp1\nifcae swp1\n    mtu 9216\n", "ifcae"),
        ("qos_features.conf", "pfc.port_group_list = [A]\npfc.A.coslist = [3]\n", "coslist"),
        ("qos_infra.conf", "trafic.x = 1\ncos_egr_queu.cos_3.uc = 3\n", "cos_egr_queu"),
    ],
)
def test_misspelled_words_of_text_files(file: str, text: str, word: str) -> None:
    reading = CUMULUS.read({**FLAT, file: text})
    assert reading.lines[f"unread[{word}]"] == (file, 2)


@pytest.mark.parametrize(
    ("command", "route"),
    [
        ("post-up ip route add blackhole 10.9.0.1/32", ("10.9.0.1/32", "discard")),
        ("up /sbin/ip route replace 10.9.0.1/32 via 192.0.2.7", ("10.9.0.1/32", "192.0.2.7")),
        ("up ip -6 route add default via 2001:db8::1", ("::/0", "2001:db8::1")),
        ("up ip route add 10.9.0.1/32 via 192.0.2.7 table 1001", None),
        ("up ip link set dev swp1 up", None),
    ],
)
def test_routes_that_commands_of_interfaces_add_are_routes(
    command: str, route: tuple[str, str] | None
) -> None:
    text = f"auto swp1\niface swp1\n    address 10.1.0.1/31\n    {command}\n"
    facts = CUMULUS.read({"interfaces": text}).facts
    found = {path: value for path, value in facts.items() if path.startswith("static_route[")}
    assert found == ({f"static_route[{route[0]}]": route[1]} if route else {})


def test_a_misspelled_group_of_quality_of_service_is_named() -> None:
    text = FLAT["qos_features.conf"].replace("default_ecn_red_conf.ecn_enable", "default_ecn_conf.ecn_enable")
    assert "unread[default_ecn_conf]" in CUMULUS.read({**FLAT, "qos_features.conf": text}).facts


@pytest.mark.parametrize(("kind", "value"), [("ipv4", "0.0.0.0/0 le 32"), ("ipv6", "::/0 le 128")])
def test_any_of_a_prefix_list_is_every_prefix_of_its_family(kind: str, value: str) -> None:
    start = "nv set router policy prefix-list ALL"
    text = f"{start} type {kind}\n{start} rule 5 action permit\n{start} rule 5 match any\n"
    assert CUMULUS.read({FILE: text}).facts["prefix_list[ALL]/0"] == value
