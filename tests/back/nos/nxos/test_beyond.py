"""The reader on configurations that fabricc does not write: they become facts, or are known as irrelevant."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from fabricc.back.nos.nxos import FILE, NXOS
from tests.audit import corpora
from tests.back.reading.compiled import compiled_blocks
from tests.effort import scale_examples

TEXTS = Path(__file__).parent / "beyond"
STRUCTURE = "structure/"
UNKNOWN_PERCENT = {
    "azurelocal-docs": 3.0,  # whose pages have `<Loopback-IP>` in place of addresses
    "batfish-lab-validation": 0.1,
    "batfish-networks": 2.0,  # route maps of neighbors that are outside of their address family
    "batfish-parser": 1.0,
    "microsoft-sdn": 0.5,  # `network 10.10.0.1.73/32`
}
CUTS = scale_examples(20)
DESIGNS = ("leaf", "storage", "all")
"""Of VXLAN and vPC; of RDMA on a switch with four queues; with its defaults, by `show running-config all`."""


def facts_of(text: str) -> dict[str, str | int]:
    reading = NXOS.read({FILE: text})
    assert [each for each in reading.unknown if each[:2] not in NXOS.ignorable({FILE: text}, reading)] == []
    return reading.facts


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_of_others_are_stated(name: str) -> None:
    """Only what the default class takes of code points, and what fabricc's own texts consist of, is left out."""
    facts = facts_of((TEXTS / f"{name}.cfg").read_text("utf-8"))
    stated = {
        path: value
        for path, value in facts.items()
        if not path.startswith(STRUCTURE) and (not path.startswith("qos/dscp[") or value != 0)
    }
    assert stated == yaml.safe_load((TEXTS / f"{name}.yaml").read_text("utf-8"))


@pytest.mark.parametrize("name", DESIGNS)
def test_every_fact_of_them_has_its_line(name: str) -> None:
    reading = NXOS.read({FILE: (TEXTS / f"{name}.cfg").read_text("utf-8")})
    assert reading.facts.keys() == reading.lines.keys()


def test_system_lines_and_their_children_are_irrelevant() -> None:
    text = (
        "snmp-server host 192.0.2.1 traps version 2c X\nbanner motd @\nfrobnicate\n@\nline vty\n  exec-timeout 5\n"
        "class-map type control-plane match-any copp-x\n  match access-group name y\n"
        "interface Ethernet1/1\n  no cdp enable\n  frobnicate\nfrobnicate\n"
    )
    reading = NXOS.read({FILE: text})
    ignorable = NXOS.ignorable({FILE: text}, reading)
    assert {line for _, line in ignorable} == {1, 7, 8, 10}
    assert [line for _, line, _ in reading.unknown] == [1, 7, 8, 10, 11, 12]


def test_port_defaults_depend_on_kind_and_release() -> None:
    ports = "interface Ethernet1/1\n  no switchport\n  mtu 9000\ninterface Ethernet1/2\n  switchport\n"
    ports += "interface Vlan7\n  mtu 9000\ninterface port-channel1\n  mtu 9000\n"
    ports += "interface loopback7\n  ip address 10.0.0.1/32\n"

    def up(text: str) -> list[str]:
        facts = facts_of(text + ports)
        return [path[10:-9] for path, value in facts.items() if path.endswith("/enabled") and value == "true"]

    assert up("version 10.3(4a)\n") == ["Ethernet1/2", "port-channel1", "loopback7"]
    assert up("version 6.0(2)U6(1)\n") == ["Ethernet1/1", "Ethernet1/2", "port-channel1", "loopback7"]
    assert up("system default switchport shutdown\n") == ["port-channel1", "loopback7"]


def test_priorities_of_a_lossless_class_follow_from_what_gets_into_it() -> None:
    text = (TEXTS / "storage.cfg").read_text("utf-8")
    assert facts_of(text)["interface[Ethernet1/1]/pfc"] == "3"
    moved = text.replace("match cos 3", "match cos 4")
    assert facts_of(moved)["interface[Ethernet1/1]/pfc"] == "4"
    output = text.replace("pause no-drop", "pause no-drop pfc-cos 5")
    assert facts_of(output)["interface[Ethernet1/1]/pfc"] == "5"
    lossy = facts_of(text.replace("    pause no-drop\n", ""))
    assert "interface[Ethernet1/1]/pfc" not in lossy
    assert lossy["interface[Ethernet1/1]/qos_setting[priority-flow-control]"] == "on"


def test_an_interface_has_one_name_however_it_is_written() -> None:
    for output in ("vlan 30", "Vlan30", "vlan30"):
        assert facts_of(f"interface {output}\n  no shutdown\n")["interface[Vlan30]/enabled"] == "true"
    for output in ("ethernet1/3-4", "Ethernet 1/3-4", "Eth1/3-4"):
        assert facts_of(f"interface {output}\n  no shutdown\n")["interface[Ethernet1/4]/enabled"] == "true"


def test_all_blocks_compile() -> None:
    assert compiled_blocks(NXOS.reader.start) > 100


def test_marking_without_figures_is_marking() -> None:
    text = (TEXTS / "storage.cfg").read_text("utf-8")
    wred = "random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 100 weight 7 ecn"
    assert wred in text
    assert facts_of(text)["interface[Ethernet1/1]/queue[0]/ecn"] == "random-detect ecn"
    platform = facts_of(text.replace(wred, "random-detect threshold burst-optimized ecn"))
    assert platform["interface[Ethernet1/1]/queue[3]/ecn"] == "threshold burst-optimized ecn"
    drops = facts_of(text.replace(wred, "random-detect threshold burst-optimized"))
    assert "interface[Ethernet1/1]/queue[3]/ecn" not in drops
    assert drops["qos/setting[OUT STORE random-detect]"] == "threshold burst-optimized"


def test_a_class_that_no_class_map_defines_is_not_known() -> None:
    text = (TEXTS / "storage.cfg").read_text("utf-8")
    broken = text.replace(
        "  class type queuing STORE\n    bandwidth", "  class type queuing STORED\n    bandwidth"
    )
    assert [line for *_, line in NXOS.read({FILE: broken}).unknown] == ["class type queuing STORED"]


def test_a_vlan_whose_vni_is_a_routing_instance_s_is_no_segment() -> None:
    text = (TEXTS / "leaf.cfg").read_text("utf-8")
    assert facts_of(text)["vxlan/vlan[900]/vni"] == 50900
    elsewhere = facts_of(text.replace("  vni 50900\n", "  vni 50901\n"))  # the VTEP still states its segment
    assert elsewhere["vxlan/vlan[900]/vni"] == 50900
    assert "evpn/segment[900]/vni" not in elsewhere
    unknown = facts_of(text.replace("  vn-segment 20010\n", ""))
    assert unknown["evpn/vni[20010]/route_target"] == "65010:20010"


def test_template_lines_may_share_a_prefix() -> None:
    facts = facts_of(
        "router bgp 65001\n  template peer FAR\n    bfd singlehop\n    bfd multihop interval 300 min_rx 300\n"
        "    capability suppress 4-byte-as\n    capability extended-nexthop\n"
        "  neighbor 10.0.0.1\n    inherit peer FAR\n"
    )
    assert facts["bgp/neighbor[10.0.0.1]/bfd"] == "true"
    assert facts["bgp/neighbor[10.0.0.1]/extended_next_hop"] == "true"
    assert facts["bgp/neighbor[10.0.0.1]/setting[capability suppress]"] == "4-byte-as"


def test_truncated_access_rule_permits_nothing() -> None:
    facts = facts_of(
        "ip access-list IN\n  10 permit ip\n  20 permit ip 10.0.0.0/8 any\n"
        "  30 permit ip host 192.0.2.9 any\nline vty\n  access-class IN in\n"
    )
    assert facts["management/access"] == "10.0.0.0/8,192.0.2.9/32"


def test_a_password_is_never_a_fact_of_a_routing_instance() -> None:
    facts = facts_of((TEXTS / "leaf.cfg").read_text("utf-8"))
    assert facts["vrf[RED]/bgp/neighbor[10.20.10.9]/secret"] == "set"
    assert not [path for path, value in facts.items() if path.startswith("vrf[") and value == "0a0b0c"]


def test_a_route_out_of_another_instance_ends_the_isolation_of_the_management_network() -> None:
    text = (TEXTS / "leaf.cfg").read_text("utf-8")
    leaks = "  address-family ipv4 unicast\n    import vrf default map EDGE\n"
    for leaking in (
        text.replace("vrf context management\n", f"vrf context management\n{leaks}"),
        f"{text}ip route 10.9.0.0/16 192.0.2.1 vrf management\n",
    ):
        assert leaking != text
        assert facts_of(leaking)["management/isolated"] == "false"
    elsewhere = text.replace("vrf context RED\n", f"vrf context RED\n{leaks}")
    assert elsewhere != text
    assert facts_of(elsewhere)["management/isolated"] == facts_of(text)["management/isolated"]


needs_corpora = pytest.mark.skipif(
    not (corpora.ROOT / "nxos").is_dir(), reason="the corpora are not beside this checkout"
)


@needs_corpora
@pytest.mark.parametrize("source", UNKNOWN_PERCENT)
def test_configurations_that_others_wrote_are_understood(source: str) -> None:
    found = corpora.Share()
    for files in corpora.devices("nxos", source).values():
        found = found.plus(corpora.measure_share("nxos", files)[0])
    assert found.devices > 0
    print(f"{source}: {found.percent:.1f} % unknown")
    assert found.percent <= UNKNOWN_PERCENT[source]


@needs_corpora
def test_cut_and_garbled_files_are_read_without_an_exception() -> None:
    chance = random.Random(7)
    for files in corpora.devices("nxos").values():
        text = files[FILE]
        for cut in range(CUTS):
            NXOS.read({FILE: text[: len(text) * cut // CUTS]})
        words = text.split(" ")
        for _ in range(3):
            chance.shuffle(words)
            garbled = " ".join(words)
            NXOS.ignorable({FILE: garbled}, NXOS.read({FILE: garbled}))


ROUTES = {
    "ip route 192.0.2.0/24 null0 name hole tag 7": "discard",
    "ip route 192.0.2.0 255.255.255.0 Null 0": "discard",
    "ip route 192.0.2.0/24 loopback0": "discard",
    "ip route 192.0.2.0 255.255.255.0 10.0.0.1": "10.0.0.1",
    "ip route 192.0.2.0 255.255.255.0 10.0.0.1\nip route 192.0.2.0 255.255.255.0 10.0.0.2": "10.0.0.1,10.0.0.2",
}


@pytest.mark.parametrize("text", ROUTES)
def test_static_routes_are_read_as_the_cli_takes_them(text: str) -> None:
    assert facts_of(f"{text}\n")["static_route[192.0.2.0/24]"] == ROUTES[text]


def test_rules_without_numbers_follow_those_with_numbers() -> None:
    text = "ip access-list A\n  deny udp any any eq 4791\n  10 permit tcp any any\n"
    facts = facts_of(text)
    assert [facts[f"access_list[A]/{at}"] for at in range(2)] == [
        "permit tcp any any",
        "deny udp any any eq 4791",
    ]


PAUSING = """\
class-map type qos match-all RDMA
  match cos 3
class-map type queuing RDMA
  match qos-group 3
policy-map type qos MARK
  class RDMA
    set qos-group 3
policy-map type queuing OUT
  class type queuing RDMA
    bandwidth percent 50
  class type queuing class-default
    bandwidth percent 50
policy-map type queuing IN
  class type queuing RDMA
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
class-map type network-qos RDMA
  match qos-group 3
policy-map type network-qos NET
  class type network-qos RDMA
    pause no-drop
system qos
  service-policy type qos input MARK
  service-policy type queuing output OUT
  service-policy type network-qos NET
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type queuing input IN
"""
MARKING = (
    "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes"
    " drop-probability {} weight 0 ecn\n"
)
SHARE = "    bandwidth percent 50\n  class type queuing class-default"
IN_VAIN = {
    "nothing": ("", "", 0),
    "no share": (SHARE, SHARE.replace("50", "0", 1), 10),
    "too many shares": (SHARE, SHARE.replace("50", "80", 1), 10),
    "a short queue": (SHARE, f"    queue-limit bytes 2000\n{SHARE}", 10),
    "a slow queue": (SHARE, f"    shape min 0 mbps max 1 mbps\n{SHARE}", 10),
    "no marks": (SHARE, MARKING.format(0) + SHARE, 10),
    "impossible marks": (SHARE, MARKING.format(101) + SHARE, 10),
    "unused headroom": ("  service-policy type queuing input IN\n", "", 13),
    "no headroom": ("    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320\n", "", 13),
    "headroom of another class": (
        "queuing RDMA\n  match qos-group 3",
        "queuing RDMA\n  match qos-group 4",
        15,
    ),
}
"""What is changed of a policy for queuing -> the line that has no effect then, 0 for none."""


@pytest.mark.parametrize("case", IN_VAIN)
def test_policies_that_do_not_protect_a_paused_class_are_stated(case: str) -> None:
    old, new, line = IN_VAIN[case]
    reading = NXOS.read({FILE: PAUSING.replace(old, new) if old else PAUSING})
    assert [reading.lines[path][1] for path in reading.facts if path.startswith("unread[")] == [line] * bool(
        line
    )
