"""Settings of other people's switches that no daemon reads: each condition is broken once, and named."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.audit.run import audit_fabric
from fabricc.back import nos as back_ends
from fabricc.back.nos.frr import FRR
from fabricc.back.nos.lost_lines import unapplied_group
from fabricc.back.nos.sonic import SONIC
from fabricc.back.nos.unread_lines import misplaced_lines, misspelled_words

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.proof.compare import Finding

Tables = dict[str, Any]

SOUND: Tables = {
    "DEVICE_METADATA": {
        "localhost": {
            "hostname": "leaf1",
            "hwsku": "ACS-SN5600",
            "platform": "x86_64-nvidia_sn5600-r0",
            "mac": "1c:34:da:00:00:09",
            "bgp_asn": "65100",
            "docker_routing_config_mode": "unified",
            "frr_mgmt_framework_config": "true",
        }
    },
    "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
    "FEATURE": {"bgp": {"state": "enabled"}, "snmp": {"state": "enabled"}},
    "FLEX_COUNTER_TABLE": {
        "PFCWD": {"FLEX_COUNTER_STATUS": "enable"},
        "QUEUE": {"FLEX_COUNTER_STATUS": "enable"},
    },
    "MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}},
    "NTP": {"global": {"vrf": "mgmt", "src_intf": "eth0"}},
    "SYSLOG_SERVER": {"192.0.2.50": {"vrf": "default"}},
    "SNMP_COMMUNITY": {"labread": {"TYPE": "RO"}},
    "PORT": {
        "Ethernet0": {"lanes": "1,2,3,4", "speed": "400000", "alias": "etp1", "admin_status": "up"},
        "Ethernet4": {"lanes": "5,6,7,8", "speed": "400000", "alias": "etp2", "admin_status": "up"},
    },
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "200"}},
    "SWITCH_HASH": {"GLOBAL": {"ecmp_hash": ["DST_IP", "SRC_IP"]}},
    "BGP_GLOBALS": {"default": {"local_asn": "65100", "router_id": "10.0.0.1"}},
    "BGP_NEIGHBOR": {"default|Ethernet0": {"peer_type": "external"}},
}
"""Routed by the management framework, with the management VRF for NTP alone."""
OF_FRR = (
    "frr version 10.3\nfrr defaults traditional\nrouter bgp 65100\n"
    " neighbor Ethernet0 interface remote-as external\n neighbor Ethernet0 bfd\n"
)


def merge_rows(**tables: Any) -> Tables:
    """The sound switch with rows merged, and tables removed that are None."""
    found = copy.deepcopy(SOUND)
    for table, rows in tables.items():
        if rows is None:
            del found[table]
            continue
        for key, row in rows.items():
            found.setdefault(table, {}).setdefault(key, {}).update(row)
    return found


def report_findings(folder: Path, tables: Tables, frr: str = "", code: str = "FAB9060") -> list[Finding]:
    place = folder / "leaf1"
    place.mkdir()
    (place / "config_db.json").write_text(json.dumps(tables, indent=4))
    if frr:
        (place / "frr.conf").write_text(frr)
    return [each for each in audit_fabric(folder, jobs=1).findings if each.code == code]


@pytest.mark.parametrize("frr", ["", OF_FRR])
@pytest.mark.parametrize("mode", ["unified", "separated", "split"])
def test_a_switch_of_others_that_meets_all_conditions_has_no_finding(
    tmp_path: Path, mode: str, frr: str
) -> None:
    """Output of FRR is not a file that a daemon has to read, and the framework starts bfdd in every release."""
    metadata = {"localhost": {"docker_routing_config_mode": mode}}
    assert report_findings(tmp_path, merge_rows(DEVICE_METADATA=metadata), frr) == []


def test_buffers_of_the_dynamic_model_are_read(tmp_path: Path) -> None:
    tables = merge_rows(
        DEVICE_METADATA={"localhost": {"buffer_model": "dynamic"}},
        BUFFER_PG={"Ethernet0|3": {"profile": "NULL"}},
        DEFAULT_LOSSLESS_BUFFER_PARAMETER={"AZURE": {"default_dynamic_th": "0"}},
    )
    assert report_findings(tmp_path, tables) == []


@pytest.mark.parametrize(
    ("tables", "frr", "subjects", "why"),
    [
        (
            {"FEATURE": {"bgp": {"state": "disabled"}}},
            "",
            {"BGP_GLOBALS", "BGP_NEIGHBOR"},
            "FEATURE|bgp state is disabled",
        ),
        (
            {"FEATURE": {"snmp": {"state": "disabled"}}},
            "",
            {"SNMP_COMMUNITY"},
            "FEATURE|snmp state is disabled",
        ),
        (
            {"DEVICE_METADATA": {"localhost": {"frr_mgmt_framework_config": "false"}}},
            "",
            {"BGP_GLOBALS"},
            "frr_mgmt_framework_config is false",
        ),
        ({"MGMT_VRF_CONFIG": None}, "", {"NTP"}, "mgmtVrfEnabled is not stated"),
        (
            {"FLEX_COUNTER_TABLE": {"PFCWD": {"FLEX_COUNTER_STATUS": "disable"}}},
            "",
            {"PFC_WD"},
            "FLEX_COUNTER_TABLE|PFCWD FLEX_COUNTER_STATUS is disable",
        ),
        (
            {
                "VERSIONS": {"DATABASE": {"VERSION": "version_202411_01"}},
                "SWITCH_TRIMMING": {"GLOBAL": {"size": "256", "dscp_value": "48", "queue_index": "6"}},
            },
            "",
            {"SWITCH_TRIMMING"},
            "nothing in 202411",
        ),
        (
            {
                "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}},
                "BUFFER_PG": {"Ethernet0|3": {"profile": "x"}},
            },
            "",
            {"BUFFER_PG"},
            "buffer_model is dynamic",
        ),
        (
            {
                "DEVICE_METADATA": {
                    "localhost": {
                        "frr_mgmt_framework_config": "false",
                        "docker_routing_config_mode": "split-unified",
                    }
                },
                "BGP_GLOBALS": None,
            },
            OF_FRR,
            {"frr.conf for bfdd"},
            "SYSTEM_DEFAULTS|software_bfd status is not stated",
        ),
        (
            {
                "BGP_GLOBALS": None,
                "BGP_NEIGHBOR": None,
                "DEVICE_METADATA": {"localhost": {"docker_routing_config_mode": "separated"}},
            },
            OF_FRR.replace(" neighbor Ethernet0 bfd\n", ""),
            {"frr.conf for vtysh"},
            "docker_routing_config_mode is separated",
        ),
    ],
)
def test_a_broken_condition_is_named(
    tmp_path: Path, tables: Tables, frr: str, subjects: set[str], why: str
) -> None:
    found = report_findings(tmp_path, merge_rows(**tables), frr)
    assert {each.message.split(": ")[1].removesuffix(" has no effect") for each in found} == subjects
    assert all(why in each.message and each.line for each in found)


WITH_BFD = "frr version 10.3\nrouter bgp 65100\n neighbor {} remote-as 65001\n neighbor {} bfd\n"
SSH_ALONE: Tables = {
    "ACL_TABLE": {"SSH": {"type": "CTRLPLANE", "services": ["SSH"]}},
    "ACL_RULE": {"SSH|1": {"SRC_IP": "192.0.2.0/24", "PACKET_ACTION": "ACCEPT", "PRIORITY": "10"}},
}
EVERYTHING: Tables = {
    "ACL_TABLE": {"ALL": {"type": "CTRLPLANE", "services": ["ANY"]}},
    "ACL_RULE": {"ALL|1": {"PACKET_ACTION": "ACCEPT", "PRIORITY": "10"}},
}
BUT_FRONT: Tables = {
    **EVERYTHING,
    "ACL_RULE": {
        **EVERYTHING["ACL_RULE"],
        "ALL|2": {"IN_PORTS": "Ethernet+", "PACKET_ACTION": "DROP", "PRIORITY": "20"},
    },
}
BUT_FRONT6: Tables = {
    "ACL_TABLE": {"SIX": EVERYTHING["ACL_TABLE"]["ALL"], **EVERYTHING["ACL_TABLE"]},
    "ACL_RULE": {
        "SIX|1": {"SRC_IPV6": "fe80::/10", "PACKET_ACTION": "ACCEPT", "PRIORITY": "30"},
        "SIX|2": {"IN_PORTS": "Ethernet+", "PACKET_ACTION": "DROP", "PRIORITY": "20"},
        "ALL|1": {"ETHER_TYPE": "0x0800", "PACKET_ACTION": "ACCEPT", "PRIORITY": "10"},
    },
}
OF_AN_IPV6_FABRIC: Tables = {
    "ACL_TABLE": {"ALL": EVERYTHING["ACL_TABLE"]["ALL"], "SIX": EVERYTHING["ACL_TABLE"]["ALL"]},
    "ACL_RULE": {
        "ALL|1": {
            "ETHER_TYPE": "0x0800",
            "IN_PORTS": "Ethernet+",
            "PACKET_ACTION": "DROP",
            "PRIORITY": "9999",
        },
        "SIX|1": {
            "ETHER_TYPE": "0x86DD",
            "SRC_IPV6": "fd00::/64",
            "PACKET_ACTION": "ACCEPT",
            "PRIORITY": "9999",
        },
    },
}
"""As fabricc writes the lists without access networks."""
ODD: Tables = {
    "ACL_TABLE": {"A": [], "B": {"type": "CTRLPLANE", "services": "ANY"}},
    "ACL_RULE": {"B": 3, "B|1": {"SRC_IP": ["x"], "PACKET_ACTION": 7, "PRIORITY": None}},
}


@pytest.mark.parametrize(
    ("own", "far", "lists", "why"),
    [
        ("10.0.0.0/31", "10.0.0.1", {}, "caclmgrd drops it at 10.0.0.0 without a list"),
        ("fd00::/127", "fd00::1", {}, "caclmgrd drops it at fd00:: without a list"),
        ("10.0.0.1/31", "10.0.0.0", {}, ""),
        ("10.0.0.2/30", "10.0.0.1", {}, ""),
        ("10.0.0.1/31", "10.0.0.0", SSH_ALONE, "control-plane lists drop what no list accepts"),
        ("10.0.0.0/31", "10.0.0.1", EVERYTHING, ""),
        ("10.0.0.0/31", "10.0.0.1", BUT_FRONT, "a control-plane list drops it"),
        ("10.0.0.0/31", "10.0.0.1", BUT_FRONT6, ""),
        ("fd00::/127", "fd00::1", BUT_FRONT6, "a control-plane list drops it"),
        ("fd00::/127", "fd00::1", OF_AN_IPV6_FABRIC, ""),
        ("10.0.0.0/31", "10.0.0.1", ODD, "control-plane lists drop what no list accepts"),
        ("10.0.0/31", "10.0.0.1", {}, ""),
    ],
)
def test_bfd_that_the_switch_itself_drops_is_named(own: str, far: str, lists: Tables, why: str) -> None:
    """As caclmgrd's own rules did in two namespaces with FRR's bfdd."""
    tables = merge_rows(INTERFACE={"Ethernet0": {}, f"Ethernet0|{own}": {}}) | lists
    dropped = _read_dropped_bfd(tables, far)
    assert dropped == ({f"unread[BFD of {far}]": why} if why else {})


@pytest.mark.parametrize(("own", "far", "drops"), [("10.0.0.1/24", "10.0.0.9", True), ("fd00::1/64", "fd00::2", True),
                                                   ("10.0.0.2/24", "10.0.0.1", False)])  # fmt: skip
def test_bfd_at_the_gateway_of_a_vlan_is_dropped(own: str, far: str, drops: bool) -> None:
    """The address that tests/cacl of sonic-mgmt expects caclmgrd to block."""
    tables = merge_rows(VLAN={"Vlan10": {"vlanid": "10"}}, VLAN_INTERFACE={"Vlan10": {}, f"Vlan10|{own}": {}})
    assert bool(_read_dropped_bfd(tables, far)) is drops


def _read_dropped_bfd(tables: Tables, far: str) -> dict[str, object]:
    reading = SONIC.read({"config_db.json": json.dumps(tables), "frr.conf": WITH_BFD.format(far, far)})
    return {path: text for path, text in reading.facts.items() if path.startswith("unread[BFD")}


BGP_OFF = "hostname leaf1\nrouter bgp 65001\n  {}\n  router-id 192.0.2.1\n  neighbor 192.0.2.2\n    remote-as 65002\n"
NVUE_BGP = """\
- header: {{model: SN5600, nvue-api-version: nvue_v1, version: Cumulus Linux 5.14.0}}
- set:
    router: {{bgp: {{autonomous-system: 65001, enable: '{}'}}}}
    vrf: {{default: {{router: {{bgp: {{enable: 'on', neighbor: {{swp1: {{remote-as: external}}}}}}}}}}}}
"""


NVUE_SSH = """\
- header: {{model: SN5600, nvue-api-version: nvue_v1, version: Cumulus Linux 5.14.0}}
- set:
    system: {{aaa: {{user: {{netops: {{ssh: {{authorized-key: {{a: {{key: AAAA}}}}}}}}}}}}, ssh-server: {{state: {}}}}}
"""


@pytest.mark.parametrize(
    ("file", "text", "stopped", "runs", "message"),
    [
        ("running-config.cfg", f"! device: leaf1 (DCS-7060X6, EOS-4.32.2F)\n{BGP_OFF}", "shutdown", "no shutdown",
         "bgp has no effect: its process is shut down"),
        ("running-config.cfg", f"version 10.4(3)\nfeature bgp\n{BGP_OFF}", "shutdown", "no shutdown",
         "bgp has no effect: its process is shut down"),
        ("frr.conf", f"frr version 10.0\n{BGP_OFF}", "bgp shutdown message later", "no bgp shutdown",
         "bgp has no effect: its process is shut down"),
        ("startup.yaml", NVUE_BGP, "off", "on", "router/bgp has no effect: BGP is not on"),
        ("startup.yaml", NVUE_SSH, "disabled", "enabled",
         "system/aaa/user/netops/ssh has no effect: the SSH server is off"),
    ],
    ids=["eos", "nxos", "frr", "cumulus", "cumulus-ssh"],
)  # fmt: skip
def test_a_process_that_is_off_is_named(
    tmp_path: Path, file: str, text: str, stopped: str, runs: str, message: str
) -> None:
    (tmp_path / "leaf1").mkdir()
    for words, expected in ((runs, []), (stopped, [f"leaf1: {message}"])):
        (tmp_path / "leaf1" / file).write_text(text.format(words))
        found = audit_fabric(tmp_path, jobs=1).findings
        assert [each.message for each in found if each.code == "FAB9060"] == expected


@pytest.mark.parametrize(("word", "starts"), [("YES", True), ("1", True), ("0", False), ("", False)])
def test_frr_starts_a_daemon_for_any_word_but_no_and_0(word: str, starts: bool) -> None:
    """FRR's frrcommon.sh, `daemon_list`."""
    reading = FRR.read({"daemons": f"bfdd=yes\nbgpd={word}\n", "frr.conf": WITH_BFD.split(" neighbor")[0]})
    assert ("unread[frr.conf for bgpd]" not in reading.facts) is starts


def test_a_stock_port_with_a_lane_of_another_port_is_reported(tmp_path: Path) -> None:
    tables = merge_rows(PORT={"Ethernet2": {"lanes": "3,4", "speed": "200000", "alias": "etp1c"}})
    (found,) = report_findings(tmp_path, tables, code="FAB9061")
    assert found.message == "Ethernet2 of leaf1 has lane 3, which Ethernet0 has too"
    assert found.line


WORDS = {
    "of a session": ("eos", "router bgp 65001\n   nieghbor UP bfd\n", 2, "neighbor"),
    "short": ("eos", "router bgp 65001\n   neighbor UP bd\n", 2, "bfd"),
    "that opens a block": ("eos", "intrface Ethernet1\n   mtu 9214\n   speed 400g\n", 1, "interface"),
    "behind a known one": ("eos", "priority-flow-control pause watchdg default timeout 0.40\n", 1, "watchdog"),
    "of timers": ("nxos", "router bgp 65001\n  timers bp 3 9\n", 2, "bgp"),
    "of a port": ("nxos", "interface Ethernet1/1\n  servce-policy type qos input IN\n", 2, "service-policy"),
    "of a service": ("nxos", "ntp sever 192.0.2.10 use-vrf management\n", 1, "server"),
    "of a statement": ("junos", "protocols {\n bgp {\n  group UP {\n   neigbor 10.0.0.1;\n  }\n }\n}\n", 4, "neighbor"),
    "that takes no words": ("junos", "set protocols lldp inteface all\n", 1, "interface"),
    "of another system": ("junos", "set protocols bgp group UP neighbor 10.0.0.1 remote-as 65001\n", 1, "peer-as"),
    "of another family": ("junos", "set interfaces et-0/0/0 unit 0 family ipv4 address 10.0.0.1/31\n", 1, "inet"),
    "of a section": ("junos", "vlan {\n V {\n  vlan-id 3;\n }\n}\n", 1, "vlans"),
    "below a known one": ("junos", "set class-of-service shared-buffer inggress percent 66\n", 1, "ingress"),
}  # fmt: skip
SOUND_WORDS = {
    "the beginning of a word": ("nxos", "int Ethernet1/1\n  sh\n  desc to spine\n  no shut\n"),
    "a name": ("eos", "route-map DENYY permit 10\nrouter bgp 65001\n   neighbor deney peer group ruoter\n"),
    "a command without a row": ("eos", "interface Ethernet1\n   traffic-loopback source device\n"),
    "a text": ("eos", "interface Ethernet1\n   description radnom-detect nieghbor\n"),
    "of another version": ("junos", "set interfaces fxp0 unit 0 family inet6 dhcpv6-client client-type stateful\n"),
    "in small letters": ("eos", "ip route 192.0.2.0/24 null0\n"),
}  # fmt: skip


def find_words(system: str, text: str) -> list[tuple[int, str]]:
    back_end: Any = back_ends.load(system)
    files = {back_end.file: text}
    reading = back_end.read(files)
    loose = {place for path, place in reading.lines.items() if "setting[" in path}
    loose |= back_end.ignorable(files, reading)
    return [(each.line, each.meant) for _, each in misspelled_words(system, files, reading.unknown, loose)]


@pytest.mark.parametrize("kind", WORDS)
def test_a_misspelled_word_is_found_at_its_line(kind: str) -> None:
    system, text, line, meant = WORDS[kind]
    assert find_words(system, text) == [(line, meant)]


@pytest.mark.parametrize(
    ("line", "applied"),
    [
        ("apply-groups BGP;", True),
        ("set apply-groups [ HOST BGP ]", True),
        ("protocols { apply-groups BGP; }", True),
        ("inactive: apply-groups BGP;", False),
        ("/* apply-groups BGP; */", False),
        ("# apply-groups BGP;", False),
        ("apply-groups-except BGP;", False),
        ("apply-groups BGP2;", False),
    ],
)
def test_a_group_of_junos_counts_where_a_line_in_force_applies_it(line: str, applied: bool) -> None:
    found = unapplied_group("junos", "groups BGP protocols bgp group A type external", {"juniper.conf": line})
    assert found == ("" if applied else "BGP")


def test_a_statement_in_another_section_of_junos_is_found() -> None:
    text = "set protocols export LB\nset routing-options router-id 192.0.2.1\nset protocols oam ethernet\n"
    reading = back_ends.load("junos").read({"juniper.conf": text})
    assert [line for _, line, _ in misplaced_lines("junos", {"juniper.conf": text}, reading.unknown)] == [1]


@pytest.mark.parametrize("kind", SOUND_WORDS)
def test_other_words_are_no_misspelled_ones(kind: str) -> None:
    assert find_words(*SOUND_WORDS[kind]) == []
