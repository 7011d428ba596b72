# ruff: noqa: E501  (an edit is one line)
"""A fault in the queues, maps, buffers or names of one switch is found at the line that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import End, LinkPeer, Place, Tier, read_statement
from fabricc.rules import (
    access,
    harmful_settings,
    headroom,
    host_ports,
    incomplete,
    management,
    protection,
    queue_faults,
    treatment,
    undefined_names,
    unmet_conditions,
    unread_lines,
)
from fabricc.rules.registry import run_switch_rules
from fabricc.rules.rule import SwitchRule
from fabricc.rules.sessions import sessions_of
from tests.audit.faults.edits import edit_tables, replace
from tests.audit.faults.fabric import build_texts, collect_texts
from tests.rules.test_small_networks import QOS, audit_texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabricc.proof.compare import Finding
    from tests.audit.faults.edits import Files

LEAF = "rack002-leaf"
RULES = [
    rule
    for module in (
        queue_faults,
        undefined_names,
        unmet_conditions,
        unread_lines,
        management,
        host_ports,
        access,
        incomplete,
        protection,
        headroom,
        treatment,
        harmful_settings,
    )
    for rule in module.RULES
    if isinstance(rule, SwitchRule)
]


def _each_map(change: Callable[[dict[str, str]], object]) -> Callable[[Files], Files]:
    def edit(tables: dict[str, Any]) -> None:
        for name, row in tables["PORT_QOS_MAP"].items():
            if name != "global":
                change(row)

    return edit_tables(edit)


def _each_row(
    table: str, suffix: str, change: Callable[[dict[str, str]], object]
) -> Callable[[Files], Files]:
    return edit_tables(
        lambda tables: [change(row) for name, row in tables[table].items() if name.endswith(suffix)]
    )


def _move_groups(tables: dict[str, Any]) -> None:
    rows = tables["BUFFER_PG"]
    tables["BUFFER_PG"] = {name.replace("|3", "|4"): row for name, row in rows.items()}


FILE = "config_db.json"
CASES: dict[str, tuple[str, str, Callable[[Files], Files]]] = {
    "no map of queues": ("FAB9667", '"Ethernet0": {', _each_map(lambda row: row.pop("tc_to_queue_map"))),
    "no map of groups": ("FAB9667", '"Ethernet0": {', _each_map(lambda row: row.pop("tc_to_pg_map"))),
    "no map of paused queues": ("FAB9667", '"Ethernet0": {', _each_map(lambda row: row.pop("pfc_to_queue_map"))),
    "no map of pausing groups": ("FAB9667", '"Ethernet0": {', _each_map(lambda row: row.pop("pfc_to_pg_map"))),
    "an undefined map": ("FAB9060", '"AZUR"', _each_map(lambda row: row.update(tc_to_queue_map="AZUR"))),
    "no table of schedulers": ("FAB9060", '"scheduler": "default"', edit_tables(lambda tables: tables.pop("SCHEDULER"))),
    "an empty map of code points": ("FAB9060", '"AZURE": {}', edit_tables(lambda tables: tables["DSCP_TO_TC_MAP"].update(AZURE={}))),
    "an empty map of queues": ("FAB9060", '"AZURE": {}', edit_tables(lambda tables: tables["TC_TO_QUEUE_MAP"].update(AZURE={}))),
    "an undefined map of code points": ("FAB9060", '"AZUR"', _each_map(lambda row: row.update(dscp_to_tc_map="AZUR"))),
    "an undefined scheduler": ("FAB9060", '"rdm"', _each_row("QUEUE", "|3", lambda row: row.update(scheduler="rdm"))),
    "an undefined profile of marking": ("FAB9060", '"400g"', _each_row("QUEUE", "|3", lambda row: row.update(wred_profile="400g"))),
    "a class without a queue": ("FAB9607", '"26": "4"', replace(r'"26": "3"', '"26": "4"', file=FILE)),
    "unmarked packets": ("FAB9607", '"0": "3"', replace(r'"0": "0",(\s+"1": "0")', r'"0": "3",\1', file=FILE)),
    "a strict default class": ("FAB9678", '"STRICT"', edit_tables(lambda tables: tables["SCHEDULER"]["default"].update(type="STRICT"))),
    "a queue without a scheduler": ("FAB9678", "", _each_row("QUEUE", "|3", lambda row: row.pop("scheduler"))),
    "an empty pool": ("FAB9668", '"size": "0"', edit_tables(lambda tables: tables["BUFFER_POOL"]["ingress_lossless_pool"].update(size="0"))),
    "a pool of the egress": ("FAB9668", '"type": "egress"', edit_tables(lambda tables: tables["BUFFER_POOL"]["ingress_lossless_pool"].update(type="egress"))),
    "a buffer of another pool": ("FAB9668", '"egress_lossless_pool"', _each_row("BUFFER_PROFILE", "m_profile", lambda row: row.update(pool="egress_lossless_pool"))),
    "a buffer of another group": ("FAB9668", '"pg_lossless_', edit_tables(_move_groups)),
    "a small egress share": ("FAB9668", '"-6"', edit_tables(lambda tables: tables["BUFFER_PROFILE"]["egress_lossless_profile"].update(dynamic_th="-6"))),
    "pauses that never end": ("FAB9668", '"xon": "9000000"', _each_row("BUFFER_PROFILE", "m_profile", lambda row: row.update(xon="9000000"))),
    "a late watchdog": ("FAB9606", '"60000"', edit_tables(lambda tables: [row.update(detection_time="60000") for row in tables["PFC_WD"].values()])),
    "ports without a row": ("FAB9060", '"Ethernet64|', edit_tables(lambda tables: [tables["INTERFACE"].pop(port) for port in ("Ethernet64", "Ethernet72")])),
    "no row of the loopback": ("FAB9060", '"Loopback0|', edit_tables(lambda tables: tables["LOOPBACK_INTERFACE"].pop("Loopback0"))),
    "no row of the egress queue": ("FAB9668", '"profile": "egress_lossy_profile"', edit_tables(lambda tables: [tables["BUFFER_QUEUE"].pop(row) for row in list(tables["BUFFER_QUEUE"]) if row.endswith("|3")])),
    "no list of profiles": ("FAB9668", '"BUFFER_PORT_EGRESS_PROFILE_LIST"', edit_tables(lambda tables: tables["BUFFER_PORT_EGRESS_PROFILE_LIST"].pop("Ethernet0"))),
    "an address in a VLAN": ("FAB9675", '"Vlan10|Ethernet64"', edit_tables(lambda tables: tables.update(VLAN={"Vlan10": {"vlanid": "10"}}, VLAN_MEMBER={"Vlan10|Ethernet64": {"tagging_mode": "untagged"}}))),
    "a community that writes": ("FAB9672", '"TYPE": "RW"', edit_tables(lambda tables: tables.update(SNMP_COMMUNITY={"s3cr3t": {"TYPE": "RW"}}))),
    "NTP is off": ("FAB9674", '"disabled"', edit_tables(lambda tables: tables["NTP"]["global"].update(admin_state="disabled"))),
}  # fmt: skip
"""Fault -> code, text of the line, and edit."""


NVUE: dict[str, tuple[str, str, Callable[[Files], Files]]] = {
    "a hash without the source port": ("FAB9678", "source-port: 'off'", replace("source-port: 'on'", "source-port: 'off'", file="startup.yaml")),
    "in graceful shutdown": ("FAB9675", "graceful-shutdown", replace(r"^( +)(autonomous-system: .*\n)", r"\1\2\1graceful-shutdown: 'on'\n", file="startup.yaml")),
    "nothing is redistributed": ("FAB9676", "enable: 'off'", replace(r"(connected:\n +enable:) 'on'", r"\1 'off'", file="startup.yaml")),
    "a lossless pool of nothing": ("FAB9668", "memory-percent: 0", replace("memory-percent: 90", "memory-percent: 0", file="startup.yaml")),
    "pools above the whole": ("FAB9668", "memory-percent: 60", replace("memory-percent: 10", "memory-percent: 60", file="startup.yaml")),
    "a pool of another priority": ("FAB9668", "'4': {}", replace(r"(memory-percent: 90\n +switch-priority:\n +)'3'", r"\1'4'", file="startup.yaml")),
    "SSH is shut before it is open": ("FAB9674", "deny: {}", replace(r"'30':(\n +action:\n +deny)", r"'5':\1", file="startup.yaml")),
    "an open list": ("FAB9671", "permit: {}", replace(r"('30':\n +action:\n +)deny", r"\1permit", file="startup.yaml")),
    "unclassified packets": ("FAB9607", "port-default-sp: 3", replace("port-default-sp: 0", "port-default-sp: 3", file="startup.yaml")),
    "a rule without an action": ("FAB9060", "'30':", replace(r"('30':\n) +action:\n +deny: \{\}\n", r"\1", file="startup.yaml")),
    "ports of another protocol": ("FAB9060", "protocol: udp", replace(r"protocol: tcp(\n +tcp:)", r"protocol: udp\1", file="startup.yaml")),
    "SSH over UDP": ("FAB9674", "protocol: udp", replace(r"protocol: tcp(\n +source-ip: 192)", r"protocol: udp\1", file="startup.yaml")),
    "an undefined list of the control plane": ("FAB9060", "FABRICC-ACCESS:", replace(r"^      FABRICC-ACCESS:\n        rule", "      GATE:\n        rule", file="startup.yaml")),
    "a list of another kind": ("FAB9605", "ip-prefix-list: FABRICC-ACCESS", replace("ip-prefix-list: FABRIC-V4", "ip-prefix-list: FABRICC-ACCESS", file="startup.yaml", count=1)),
    "a rule that matches nothing": ("FAB9060", "'20':", replace(r"(          FABRIC-V4:\n(?:.*\n)*?              '20':\n +action: permit\n) +match:\n(?:                  .*\n)+", r"\1", file="startup.yaml")),
    "a redistribution without a rule": ("FAB9664", "CONNECTED:", replace(r"(          CONNECTED:\n            rule:)\n(?:              .*\n)+", r"\1 {}\n", file="startup.yaml")),
    "a prefix that is too long": ("FAB9060", "/320", replace(r"(10\.128\.0\.4/32)(: \{\})", r"\g<1>0\2", file="startup.yaml", count=1)),
    "a number out of range": ("FAB9060", "detect-multiplier: 1", replace("detect-multiplier: 3", "detect-multiplier: 1", file="startup.yaml")),
    "a neighbor twice": ("FAB9060", "10.64.2.0:", replace(r"10\.64\.2\.2:", "10.64.2.0:", file="startup.yaml")),
    "an undefined peer group": ("FAB9605", "peer-group: NOBODY", replace("peer-group: UPSTREAM", "peer-group: NOBODY", file="startup.yaml")),
    "a small pool of lossless traffic": ("FAB9668", "memory-percent: 5", replace("memory-percent: 90", "memory-percent: 5", file="startup.yaml")),
    "pauses in one direction": ("FAB9666", "tx: disable", replace(r"^( +)tx: enable", r"\1tx: disable", file="startup.yaml", count=1)),
    "no length of a cable": ("FAB9668", "cable-length: 0", replace(r"cable-length: \d+", "cable-length: 0", file="startup.yaml")),
    "a cable of 90 km": ("FAB9668", "cable-length: 90000", replace(r"cable-length: \d+", "cable-length: 90000", file="startup.yaml")),
    "marks of all ports in reverse": (
        "FAB9678", "min-threshold: 900000",
        replace(r"^( +)ecn: disable", r"\1ecn: enable\n\1max-threshold: 100000\n\1min-threshold: 900000\n\1probability: 10", file="startup.yaml", count=1),
    ),
    "no address of management": ("FAB9674", "172.16.0.1: {}", replace(r"^(      eth0:\n        ip:\n) +address:\n.*\n", r"\1", file="startup.yaml")),
}  # fmt: skip
"""The same of NVUE's file."""


def find_faults(files: Files, folder: Path) -> list[Finding]:
    device = collect_texts(folder, {LEAF: files})[LEAF]
    statement = read_statement(device, Place(Tier.TOR), {})
    sessions = sessions_of(statement)
    return [finding for rule in RULES for finding in rule.findings(statement, sessions)]


def test_an_untouched_switch_is_silent(tmp_path: Path) -> None:
    assert find_faults(dict(build_texts("sonic")[LEAF]), tmp_path) == []
    assert find_faults(dict(build_texts("cumulus")[LEAF]), tmp_path) == []


@pytest.mark.spread
@pytest.mark.parametrize("case", CASES)
def test_a_fault_of_queues_is_found_at_its_line(case: str, tmp_path: Path) -> None:
    code, text, edit = CASES[case]
    files = edit(dict(build_texts("sonic")[LEAF]))
    lines = files[FILE].split("\n")
    places = [lines[each.line - 1] for each in find_faults(files, tmp_path) if each.code == code]
    assert any(text in line for line in places)


@pytest.mark.spread
@pytest.mark.parametrize("case", NVUE)
def test_a_fault_of_an_nvue_file_is_found_at_its_line(case: str, tmp_path: Path) -> None:
    code, text, edit = NVUE[case]
    files = edit(dict(build_texts("cumulus")[LEAF]))
    lines = files["startup.yaml"].split("\n")
    places = [lines[each.line - 1] for each in find_faults(files, tmp_path) if each.code == code]
    assert any(text in line for line in places)


JUNOS = """set system host-name lf1
set interfaces et-0/0/0 unit 0 family inet filter input MARK
set interfaces et-0/0/0 unit 0 family inet address 10.0.0.1/31
set firewall family inet filter MARK term A then accept
set class-of-service classifiers dscp D forwarding-class CNP loss-priority low code-points 110000
set class-of-service classifiers dscp D forwarding-class RDMA loss-priority low code-points 011010
set class-of-service drop-profiles dp1 interpolate fill-level 55
set class-of-service drop-profiles dp1 interpolate fill-level 90
set class-of-service drop-profiles dp1 interpolate drop-probability 0
set class-of-service drop-profiles dp1 interpolate drop-probability 100
set class-of-service forwarding-classes class CNP queue-num 3
set class-of-service forwarding-classes class RDMA queue-num 4 no-loss pfc-priority 3
set class-of-service congestion-notification-profile cnp pfc-watchdog
set class-of-service congestion-notification-profile cnp input dscp code-point 011010 pfc
set class-of-service congestion-notification-profile cnp output ieee-802.1 code-point 011 flow-control-queue 4
set class-of-service interfaces et-* congestion-notification-profile cnp
set class-of-service interfaces et-* scheduler-map sm1
set class-of-service interfaces et-* unit * classifiers dscp D
set class-of-service scheduler-maps sm1 forwarding-class CNP scheduler s-cnp
set class-of-service scheduler-maps sm1 forwarding-class RDMA scheduler s-rdma
set class-of-service schedulers s-rdma drop-profile-map loss-priority any protocol any drop-profile dp1
set class-of-service schedulers s-rdma explicit-congestion-notification
set class-of-service schedulers s-cnp transmit-rate percent 5
set class-of-service schedulers s-cnp priority strict-high
"""
_COS = "set class-of-service"
JUNOS_CASES = {
    "no cap": ("s-cnp transmit-rate percent 5", "s-cnp transmit-rate percent 100"),
    "tiny buffer": ("schedulers s-rdma ex", f"schedulers s-rdma buffer-size percent 0\n{_COS} schedulers s-rdma ex"),
    "rate limit": ("schedulers s-rdma ex", f"schedulers s-rdma transmit-rate percent 10 exact\n{_COS} schedulers s-rdma ex"),
    "constant marking": ("interpolate fill-level 90", "interpolate fill-level 1"),
    "lossy filter": ("term A then accept", "term A then forwarding-class best-effort"),
    "no effect: output code-point of priority 4": ("ieee-802.1 code-point 011", "ieee-802.1 code-point 100"),
    "no effect: class-of-service interfaces xe-*": (" et-* ", " xe-* "),
    "no ECN": ("RDMA scheduler s-rdma", "RDMA scheduler s-cnp"),
    "PFC without effect": ("code-points 011010", "code-points 011100"),
    "other code point": (f"{_COS} schedulers s-cnp pri",
        f"{_COS} rewrite-rules dscp R forwarding-class RDMA loss-priority low code-point be\n"
        f"{_COS} interfaces et-* unit 0 rewrite-rules dscp R\n{_COS} schedulers s-cnp pri"),
}  # fmt: skip
"""Group of the finding -> words of Junos, and others that are a fault."""


EOS = """! device: lf1 (DCS-7060DX5-64S, EOS-4.32.1F)
hostname lf1
ip access-list AX
   10 permit udp any any eq 4791
class-map type pbr match-any CX
   match ip access-group AX
interface Ethernet1
   no switchport
   ip address 10.0.0.1/31
   service-policy type pbr input PB
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog
   uc-tx-queue 3
      random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 20
qos map dscp 26 to traffic-class 3
ip routing
router bgp 65001
   maximum-paths 4
   neighbor 10.0.0.0 remote-as 65000
"""
EOS_CASES = {
    "moved RDMA": ("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 1"),
    "PFC off": ("ip routing", "priority-flow-control all off\nip routing"),
    "no PFC": ("   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", ""),
    "no ECN": ("   uc-tx-queue 3\n", "   uc-tx-queue 5\n"),
    "no effect: PFC of Ethernet1": ("priority 3 no-drop", "priority 3 drop"),
    "policed link": ("ip routing", "policy-map type pbr PB\n   10 class CX\n      drop\nip routing"),
    "neighbor off link": ("   ip address 10.0.0.1/31\n", "   description to sp1\n   ! ip address 10.0.0.1/31\n"),
    "no remote AS": ("   neighbor 10.0.0.0 remote-as", "   neighbor 10.0.0.0 description sp1\n   ! neighbor 10.0.0.0 remote-as"),
    "rate limit": ("   uc-tx-queue 3\n", "   uc-tx-queue 3\n      shape rate 1000\n"),
}  # fmt: skip
CASES_OF = {"juniper.conf": (JUNOS, JUNOS_CASES), "running-config.cfg": (EOS, EOS_CASES)}


@pytest.mark.parametrize(
    ("file", "group"), [(file, each) for file, (_, cases) in CASES_OF.items() for each in cases]
)
def test_a_fault_of_class_of_service_is_found_at_its_line(file: str, group: str, tmp_path: Path) -> None:
    sound, cases = CASES_OF[file]
    text = sound.replace(*cases[group])
    changed = {at for at, line in enumerate(text.split("\n"), 1) if line not in sound.split("\n")}
    changed |= {text[: text.index("qos map")].count("\n") + 1} if group == "no PFC" else set()
    device = collect_texts(tmp_path, {"lf1": {file: text}})["lf1"]
    fars = {"Ethernet1": LinkPeer(End("sp1", "Ethernet1"), Tier.SPINE, known=True)}
    statement = read_statement(device, Place(Tier.TOR), fars)
    found = [
        each
        for each in run_switch_rules(statement, sessions_of(statement))
        if each.severity is not Severity.NOTE
    ]
    assert [each for each in found if each.group == group and each.line in changed]


def test_a_filter_that_leads_rdma_into_its_own_class_is_no_fault(tmp_path: Path) -> None:
    """Whatever code point the class has: of two terms, the second one gets what the first one left; ICMP is not RDMA."""
    term = "set firewall family inet filter MARK term"
    policer = "set firewall policer P"
    text = JUNOS.replace("011010", "011000").replace(
        f"{term} A then accept",
        f"{policer} if-exceeding bandwidth-limit 1m\n{policer} then discard\n"
        f"{term} I from protocol icmp\n{term} I then policer P\n{term} I then accept\n"
        f"{term} A from protocol udp\n{term} A from destination-port 4791\n{term} A then dscp 24\n"
        f"{term} A then forwarding-class RDMA\n{term} A then accept\n{term} B then forwarding-class CNP",
    )
    device = collect_texts(tmp_path, {"lf1": {"juniper.conf": text}})["lf1"]
    statement = read_statement(device, Place(Tier.TOR), {})
    assert "qos/setting[policed by filter MARK]" not in statement.rest
    assert "lossy filter" not in {each.group for each in run_switch_rules(statement, sessions_of(statement))}


def test_a_port_of_frr_without_an_address_is_found(tmp_path: Path) -> None:
    files = dict(build_texts("frr")[LEAF])
    bare = replace(r"(description rack\d+-host01 rail0\n) ip address \S+\n", r"\1", file="frr.conf")(files)
    assert find_faults(files, tmp_path / "sound") == []
    (found,) = find_faults(bare, tmp_path / "bare")
    assert found.code == "FAB9675"
    assert "swp1: a description, but no address" in found.message


@pytest.mark.parametrize(("count", "twins"), [(3, 3), (2000, 0)])
def test_unused_names_are_compared_with_a_few_missing_ones_alone(
    tmp_path: Path, count: int, twins: int
) -> None:
    """A file that lacks many lists is a part of a configuration; the comparison of all pairs took minutes."""
    lines = [
        line
        for n in range(count)
        for line in (
            f"ip prefix-list PL-HOSTS-{n:04d}x seq 10 permit 10.{n >> 8}.{n & 255}.0/24",
            f"route-map RM{n} permit 10",
            f"   match ip address prefix-list PL-HOSTS-{n:04d}",
        )
    ]
    device = collect_texts(
        tmp_path,
        {
            "lf1": {
                "running-config.cfg": "\n".join(
                    ["! device: lf1 (DCS-7060DX5-64S, EOS-4.32.1F)", "hostname lf1", *lines, ""]
                )
            }
        },
    )["lf1"]
    statement = read_statement(device, Place(Tier.TOR), {})
    found = [
        each
        for rule in undefined_names.RULES
        if isinstance(rule, SwitchRule)
        for each in rule.findings(statement, sessions_of(statement))
    ]
    assert sum("nothing uses the prefix list" in each.message for each in found) == twins
    assert sum("which is nowhere defined" in each.message for each in found) == count


QUEUE = """\
policy-map type queuing OUT
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
system qos
  service-policy type queuing output OUT
"""
SHAPE = "    shape min 0 kbps max 1000 kbps"
PAUSE = "    pause buffer-size 20000 pause-threshold 30000 resume-threshold 1000 pfc-cos 3"
MARKS = "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn"
OF_NXOS = {
    "the policy of the system": (
        "network-qos NETWORK\ninterface", "network-qos default-nq-8q-policy\ninterface",
        "service-policy type network-qos default-nq-8q-policy"),
    "a policy on the wrong side": (
        "  service-policy type qos input MARKING\n", "interface Ethernet1/2\n  service-policy type qos output MARKING\n",
        "service-policy type qos output MARKING"),
    "a pause above the buffer": ("    pause no-drop", PAUSE, PAUSE.strip()),
    "a class that is none": ("c-out-8q-q3", "c-out-8q-3", "class type queuing c-out-8q-3"),
    "a policy without its type": (
        "type network-qos NETWORK\ninterface", "network-qos NETWORK\ninterface", "service-policy network-qos NETWORK"),
    "a neighbor in one line": (
        "interface Ethernet1/1", "router bgp 65000\n  neighbor 192.0.2.1 activate\ninterface Ethernet1/1",
        "neighbor 192.0.2.1 activate"),
    "a limit below the marks": (
        "    bandwidth remaining", f"{MARKS}\n    queue-limit bytes 100000\n    bandwidth remaining",
        "queue-limit bytes 100000"),
    "a slow queue": ("    bandwidth remaining", f"{SHAPE}\n    bandwidth remaining", SHAPE.strip()),
}  # fmt: skip


@pytest.mark.parametrize("fault", OF_NXOS)
def test_a_line_of_nxos_without_its_effect_is_found(fault: str) -> None:
    old, new, line = OF_NXOS[fault]
    text = QOS.format(number=1).replace("match cos 3", "match cos 3\n  match dscp 26") + QUEUE
    assert old in text
    assert line in {where for _, where in audit_texts({"tor1": text.replace(old, new, 1)}, "nxos")}
