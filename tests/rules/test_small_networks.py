"""Faults in small networks of other designs: link-state underlays, VTEPs, and switches without a tier."""

from __future__ import annotations

import json
import re

import pytest

from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import Place, Tier, read_statement
from fabricc.rules import consensus
from fabricc.rules.registry import run_fabric_rules
from fabricc.rules.rule import Switches
from fabricc.rules.sessions import sessions_of
from fabricc.rules.summary import SERVICES, summarize
from tests.audit import ours
from tests.audit.faults.fabric import audit_altered, build_texts
from tests.rules.test_announcements import make_summary

OSPF = """\
hostname {name}
ip routing
interface Ethernet1
   description {far} Ethernet1
   no switchport
   ip address 10.0.0.{number}/31
   ip ospf area 0.0.0.0
   ip ospf network point-to-point
interface Loopback0
   ip address 10.255.0.{number}/32
   ip ospf area 0.0.0.0
router ospf 1
   router-id 10.255.0.{number}
   passive-interface default
   no passive-interface Ethernet1
"""
ISIS = """\
hostname {name}
ip routing
interface Ethernet1
   no switchport
   ip address 10.0.0.{number}/31
   isis enable CORE
   isis circuit-type level-2
   isis network point-to-point
interface Ethernet2
   no switchport
   ip address 10.0.1.{number}/31
   isis enable CORE
   isis circuit-type level-2
   isis network point-to-point
router isis CORE
   net 49.0001.0000.0000.000{number}.00
   is-type level-2
"""
EVPN = """\
hostname {name}
ip routing
interface Ethernet1
   no switchport
   ip address 10.0.0.{number}/31
interface Loopback0
   ip address 10.255.0.{number}/32
interface Loopback1
   ip address 10.255.1.{number}/32
interface Vxlan1
   vxlan source-interface Loopback1
   vxlan vlan 10 vni 10010
vlan 10
router bgp 6500{number}
   router-id 10.255.0.{number}
   neighbor 10.0.0.{other} remote-as 6500{other}
   neighbor 10.255.0.{other} remote-as 6500{other}
   neighbor 10.255.0.{other} update-source Loopback0
   neighbor 10.255.0.{other} ebgp-multihop 3
   neighbor 10.255.0.{other} send-community
   address-family evpn
      neighbor 10.255.0.{other} activate
   address-family ipv4
      neighbor 10.0.0.{other} activate
      no neighbor 10.255.0.{other} activate
      network 10.255.0.{number}/32
      network 10.255.1.{number}/32
"""


def network_of(text: str) -> dict[str, str]:
    """Return the texts of two switches with a link."""
    return {
        name: text.format(name=name, number=number, other=1 - number, far=("right", "left")[number])
        for number, name in enumerate(("left", "right"))
    }


def audit_texts(texts: dict[str, str], system: str = "eos") -> dict[tuple[str, str], str]:
    """Return code and line of each warning and error about these switches -> its message."""
    devices = {
        name: ours.switch_device(name, system, {"running-config.cfg": text}) for name, text in texts.items()
    }
    found = {}
    for each in find_all(ours.infer_fabric(devices)):
        if each.severity is not Severity.NOTE:
            line = texts[each.file.partition("/")[0]].split("\n")[each.line - 1].strip()
            found[each.code, line] = each.message
    return found


@pytest.mark.parametrize(
    ("text", "old", "new", "code", "line"),
    [
        (OSPF, "point-to-point\n", "point-to-point\n   ip ospf hello-interval 33\n", "FAB9600",
         "ip ospf hello-interval 33"),
        (OSPF, "point-to-point\n", "point-to-point\n   ip ospf authentication message-digest\n", "FAB9600",
         "ip ospf authentication message-digest"),
        (OSPF, "point-to-point\n", "point-to-point\n   ip ospf dead-interval 99\n", "FAB9600",
         "ip ospf dead-interval 99"),
        (OSPF, "   ip ospf area 0.0.0.0\n   ip ospf network", "   ip ospf network", "FAB9600",
         "ip ospf network point-to-point"),
        (OSPF, f"router ospf{OSPF.partition('router ospf')[2].format(number=0)}", "", "FAB9675",
         "ip ospf area 0.0.0.0"),
        (OSPF, "   no passive-interface Ethernet1\n", "", "FAB9675", "passive-interface default"),
        (OSPF, "10.0.0.0/31", "10.0.0.0/30", "FAB9602", "ip address 10.0.0.0/30"),
        (OSPF, "router-id 10.255.0.0", "router-id 10.255.0.1", "FAB9604", "router-id 10.255.0.1"),
        (OSPF, "   ip address 10.0.0.0/31\n", "", "FAB9602", "no switchport"),
        (ISIS, "0000.0000.0000.00", "0000.0000.0001.00", "FAB9604", "net 49.0001.0000.0000.0001.00"),
        (ISIS, "circuit-type level-2", "circuit-type level-1", "FAB9600", "isis circuit-type level-1"),
        (ISIS, "   no switchport\n", "   speed 40gfull\n   no switchport\n", "FAB9600", "speed 40gfull"),
        (ISIS, "   no switchport\n", "   error-correction encoding fire-code\n   no switchport\n", "FAB9600",
         "error-correction encoding fire-code"),
        (ISIS, "   isis network point-to-point\n", "", "FAB9600", "isis enable CORE"),
        (ISIS, "   isis enable CORE\n", "", "FAB9600", "ip address 10.0.0.0/31"),
        (ISIS, "isis enable CORE", "isis enable COER", "FAB9675", "isis enable COER"),
        (ISIS, "router isis CORE\n", "router isis CORE\n   set-overload-bit\n", "FAB9675", "set-overload-bit"),
        (OSPF, "router ospf 1\n", "router ospf 1\n   max-metric router-lsa\n", "FAB9675", "max-metric router-lsa"),
        (EVPN, "   neighbor 10.255.0.1 update-source Loopback0\n", "", "FAB9601",
         "neighbor 10.255.0.1 remote-as 65001"),
        (EVPN, "network 10.255.0.0/32", "network 10.255.0.999/32", "FAB9060", "network 10.255.0.999/32"),
        (EVPN, "      network 10.255.0.0/32\n", "", "FAB9676", "network 10.255.1.0/32"),
        (EVPN, "      network 10.255.1.0/32\n", "", "FAB9676", "network 10.255.0.0/32"),
        (EVPN, "router bgp", "ip route 10.255.0.1/32 192.0.2.9\nrouter bgp", "FAB9680",
         "ip route 10.255.0.1/32 192.0.2.9"),
        (EVPN, "router bgp", "ip route 10.0.0.1/32 Null0\nrouter bgp", "FAB9660", "ip route 10.0.0.1/32 Null0"),
        (EVPN, "router bgp", "ip route 128.0.0.0/1 Null0\nrouter bgp", "FAB9683", "ip route 128.0.0.0/1 Null0"),
        (EVPN, "router bgp", "neighbor 10.0.0.1 bfd\nrouter bgp", "FAB9060", "neighbor 10.0.0.1 bfd"),
        (EVPN, "router bgp", "<<<<<<< HEAD\nrouter bgp", "FAB9060", "<<<<<<< HEAD"),
        (EVPN, "hostname left", "hostname left\nip name-server vrf {{ vrf }} 192.0.2.1", "FAB9060",
         "ip name-server vrf {{ vrf }} 192.0.2.1"),
        (EVPN, "   router-id", "   bgp missing-policy direction out action deny\n   router-id", "FAB9664",
         "bgp missing-policy direction out action deny"),
        (EVPN, "   router-id", "   neighbor DYN peer group\n   bgp listen range 198.51.100.0/24 peer-group DYN"
         " remote-as 64999\n   router-id", "FAB9664",
         "bgp listen range 198.51.100.0/24 peer-group DYN remote-as 64999"),
    ],
)  # fmt: skip
def test_a_fault_of_one_switch_is_found_at_its_line(
    text: str, old: str, new: str, code: str, line: str
) -> None:
    sound = network_of(text)
    assert audit_texts(sound).keys().isdisjoint({(code, line)})
    assert old in sound["left"]
    found = audit_texts({**sound, "left": sound["left"].replace(old, new, 1)})
    assert (code, line) in found, found


def test_the_services_of_an_asic_are_those_of_its_switch() -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": "one", "asic_name": "asic0"}},
        "PORT": {"Ethernet0": {}},
    }
    device = ours.switch_device("one", "sonic", {"config_db.json": json.dumps(tables)})
    statement = read_statement(device, Place(Tier.SPINE), {})
    assert set(summarize(statement, sessions_of(statement)).services) == set(SERVICES)


def test_a_switch_that_lost_bgp_is_found() -> None:
    sound = network_of(EVPN)
    found = audit_texts({**sound, "left": sound["left"].partition("router bgp")[0]})
    assert any("left has no session with right" in message for message in found.values())


def test_a_policy_of_one_family_that_permits_nothing_is_found() -> None:
    text = (
        "hostname {name}\ninterface swp1\n ip address 10.0.0.{number}/31\n ipv6 address 2001:db8::{number}/127\n!\n"
        "route-map SOME permit 10\n!\nroute-map NONE deny 10\n!\nrouter bgp 6500{number}\n"
        " neighbor 10.0.0.{other} remote-as 6500{other}\n"
        " address-family ipv4 unicast\n  neighbor 10.0.0.{other} route-map SOME in\n exit-address-family\n"
        " address-family ipv6 unicast\n  neighbor 10.0.0.{other} activate\n"
        "  neighbor 10.0.0.{other} route-map SOME in\n exit-address-family\n"
    )
    texts = network_of(text)
    devices = {
        name: ours.switch_device(
            name, "frr", {"frr.conf": each.replace("route-map SOME in", "route-map NONE in", 1)}
        )
        for name, each in texts.items()
    }
    found = [each.message for each in find_all(ours.infer_fabric(devices)) if "permits none" in each.message]
    assert len(found) == len(texts)


def test_two_switches_of_a_tier_that_differ_in_one_class_are_found() -> None:
    """Two switches with many equal statements are meant to be equal."""
    shared = tuple((f"qos/dscp[{point}]/traffic_class", 1) for point in range(6))
    votes = {
        consensus.Vote(("eos", Tier.TOR, ""), (*shared, *own), ()): [name]
        for name, own in (("a", (("qos/dscp[26]/traffic_class", 3),)), ("b", ()))
    }
    ballot = consensus.VoteTable({("eos", Tier.TOR, ""): votes})
    found = consensus.odd_devices(ballot)
    assert [[*each.device] for each in found["b"]] == [["qos/dscp[26]/traffic_class"]]
    assert "a" not in found


def test_a_loopback_that_another_switch_announces_is_no_fault() -> None:
    texts = network_of(EVPN)
    texts["left"] = texts["left"].replace("      network 10.255.0.0/32\n", "")
    texts["right"] += "      network 10.255.0.0/32\n"
    assert not [message for message in audit_texts(texts).values() if "does not announce" in message]


def test_an_address_of_a_shared_vlan_needs_no_announcement() -> None:
    vlan = "interface Vlan4094\n   ip address 10.0.99.{number}/31\nrouter bgp"
    peer = "   neighbor 10.0.99.{other} remote-as 6500{other}\n   address-family evpn"
    lists = "ip prefix-list LOOP\n   seq 10 permit 10.255.0.0/16 eq 32\nroute-map CONN permit 10\n"
    lists += "   match ip address prefix-list LOOP\n"
    text = EVPN.replace("router bgp", lists + vlan, 1).replace("   address-family evpn", peer, 1)
    text = text.replace(
        "   address-family evpn", "   redistribute connected route-map CONN\n   address-family evpn"
    )
    text = text.partition("      network")[0]
    assert not [message for message in audit_texts(network_of(text)).values() if "out of BGP" in message]


@pytest.mark.parametrize(("preference", "drops"), [("", True), (" 250", False)])
def test_a_discard_of_a_subnet_of_another_switch_is_found_unless_it_is_a_reserve(
    preference: str, drops: bool
) -> None:
    texts = network_of(OSPF)
    texts["right"] += "interface Ethernet9\n   no switchport\n   ip address 192.168.7.1/24\n"
    route = f"ip route 192.168.7.0/24 Null0{preference}"
    texts["left"] += f"{route}\n"
    assert (("FAB9660", route) in audit_texts(texts)) is drops


QOS = """\
hostname tor{number}
feature bgp
class-map type qos match-all RDMA
  match cos 3
policy-map type qos MARKING
  class RDMA
    set qos-group 3
class-map type network-qos RDMA
  match qos-group 3
policy-map type network-qos NETWORK
  class type network-qos RDMA
    pause no-drop
  class type network-qos class-default
    mtu 9216
system qos
  service-policy type qos input MARKING
  service-policy type network-qos NETWORK
interface Ethernet1/1
  priority-flow-control mode on
  switchport mode trunk
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("  service-policy type qos input MARKING\n", "", "policy-map type qos MARKING"),
        ("qos input MARKING", "qos input NOBODY", "service-policy type qos input NOBODY"),
        ("network-qos NETWORK\ninterface", "network-qos NOBODY\ninterface", "service-policy type network-qos NOBODY"),
        ("set qos-group 3", "set qos-group 2", "set qos-group 2"),
    ],
)  # fmt: skip
def test_a_policy_that_does_not_fill_the_paused_class_is_found(old: str, new: str, line: str) -> None:
    text = QOS.format(number=1)
    assert old in text
    assert ("FAB9060", line) not in audit_texts({"tor1": text}, "nxos")
    assert ("FAB9060", line) in audit_texts({"tor1": text.replace(old, new, 1)}, "nxos")


def test_a_list_that_permits_ssh_alone_admits_its_networks() -> None:
    lists = "ip access-list SSH\n  10 permit tcp {} any eq 22\nline vty\n  access-class SSH in\n"
    for network, code in (("any", "FAB9671"), ("192.0.2.0/24", "")):
        found = audit_texts({"tor1": f"hostname tor1\nfeature bgp\n{lists.format(network)}"}, "nxos")
        assert [each for each, _ in found if each == "FAB9671"] == ([code] if code else [])
        assert not any("permits nobody" in message or "alone" in message for message in found.values())


def test_a_tier_without_the_lists_of_the_other_one_is_found() -> None:
    lists = "ip access-list SSH\n  10 permit ip 192.0.2.0/24 any\nline vty\n  access-class SSH in\n"
    texts = dict.fromkeys(("leaf1", "leaf2", "spine1", "spine2"), "")
    for name in texts:
        tier, other, number = name[:-1], "spine" if name[:-1] == "leaf" else "leaf", int(name[-1])
        text = f"hostname {name}\nfeature bgp\nfeature lldp\n"
        sessions = f"router bgp {65000 if tier == 'spine' else 65000 + number}\n"
        for far in (1, 2):
            leaf, spine = (number, far) if tier == "leaf" else (far, number)
            near, there = (0, 1) if tier == "leaf" else (1, 0)
            subnet = f"10.0.{leaf}.{spine}"
            text += (
                f"interface Ethernet1/{far}\n  description {other}{far} Ethernet1/{number}\n  no switchport\n"
            )
            text += f"  ip address {subnet}{near}/31\n"
            number_of = 65000 if tier == "leaf" else 65000 + far
            sessions += (
                f"  neighbor {subnet}{there}\n    remote-as {number_of}\n    address-family ipv4 unicast\n"
            )
        texts[name] = text + sessions + "logging server 192.0.2.20\n"
    for guarded, found in (((), False), (("spine1", "spine2"), True), (("spine1",), False)):
        changed = {name: text + lists * (name in guarded) for name, text in texts.items()}
        codes = [code for code, _ in audit_texts(changed, "nxos")]
        assert codes.count("FAB9671") == 2 * found, guarded


def test_ospf_without_its_feature_is_found() -> None:
    text = "hostname tor1\nfeature lldp\ninterface Ethernet1/1\n  no switchport\n  ip address 10.0.0.1/31\n"
    found = audit_texts({"tor1": f"{text}  ip router ospf 1 area 0.0.0.0\nrouter ospf 1\n"}, "nxos")
    assert any("feature ospf is not stated" in message for message in found.values())


def test_a_list_that_many_clauses_name_is_undefined() -> None:
    clauses = "".join(
        f"route-map M{number} permit 10\n  match ip address prefix-list NONE\n  set metric {number}\n"
        for number in range(6)
    )
    text = f"hostname tor1\nfeature bgp\n{clauses}"
    assert ("FAB9605", "match ip address prefix-list NONE") in audit_texts({"tor1": text}, "nxos")


NAMES = """\
hostname tor1
platform trident mmu queue profile LARGE
   ingress headroom bytes 612140
qos profile ROCE
   qos trust dscp
qos profile OTHER
   qos trust dscp
vrf instance RED
vrf instance BLUE
interface Ethernet1/1
   no switchport
   vrf RED
   ip address 10.0.0.0/31
   service-profile ROCE
   platform trident mmu queue interface-profile LARGE
route-map FROM-UPSTREAM permit 10
   set local-preference 0
route-map FROM-UPSTREAM permit 20
router bgp 65001
   neighbor UPSTREAM peer group
   neighbor UPSTREAM bfd
   neighbor UPSTREAM route-map FROM-UPSTREAM in
   neighbor 10.0.0.1 peer group UPSTREAM
   neighbor 10.0.0.1 remote-as 65000
management api http-commands
   no shutdown
   vrf BLUE
      no shutdown
"""


BUFFERS = """\
hostname tor1
platform trident mmu queue profile LARGE
   ingress headroom bytes 612140
   ingress priority-group 3 threshold 1
interface Ethernet1/1
   no switchport
   ip address 10.0.0.0/31
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
platform trident mmu queue profile LARGE apply
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("priority-group 3 threshold", "threshold", ""),
        ("priority-group 3", "priority-group 4", "ingress priority-group 4 threshold 1"),
        ("   ingress headroom bytes 612140\n", "", "ingress priority-group 3 threshold 1"),
    ],
)
def test_the_groups_of_a_buffer_profile_are_those_of_pfc(old: str, new: str, line: str) -> None:
    found = audit_texts({"tor1": BUFFERS.replace(old, new)}, "eos")
    assert [text for code, text in found if code == "FAB9668"] == ([line] if line else [])


LINK = """\
system {{
    host-name tor{number};
}}
interfaces {{
    et-0/0/0 {{
        unit 0 {{
            family inet {{
                address 10.0.0.{number}/31;
            }}
        }}
    }}
}}
"""
PAUSING = """\
class-of-service {
    congestion-notification-profile PFC {
        input {
            dscp {
                code-point 011010 {
                    pfc;
                }
            }
        }
    }
    classifiers {
        dscp DSCP {
            forwarding-class RDMA {
                loss-priority low code-points [ 011010 ];
            }
        }
    }
    forwarding-classes {
        class RDMA {
            pfc-priority 3;
            no-loss;
            queue-num 3;
        }
    }
    interfaces {
        et-0/0/0 {
            congestion-notification-profile PFC;
            unit 0 {
                classifiers {
                    dscp DSCP;
                }
            }
        }
    }
}
"""


def test_a_switch_that_states_no_quality_of_service_has_no_pfc() -> None:
    texts = {f"tor{number}": LINK.format(number=number) for number in range(2)}
    texts["tor1"] += PAUSING
    assert ("FAB9600", "address 10.0.0.0/31;") in audit_texts(texts, "junos")


@pytest.mark.parametrize("kind", ["qos", "mmu"])
def test_a_profile_of_a_port_is_missing_where_there_is_no_other(kind: str) -> None:
    line = {"qos": "service-profile ROCE", "mmu": "platform trident mmu queue interface-profile LARGE"}[kind]
    text = f"interface Ethernet1/1\n   ip address 10.0.0.0/31\n   {line}\n"
    assert kind == "mmu" or ("FAB9060", line) not in audit_texts({"tor1": text}, "eos")
    text += "qos map dscp 26 to traffic-class 3\n"
    assert ("FAB9060", line) in audit_texts({"tor1": text}, "eos")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("vrf RED\n   ip", "vrf RDE\n   ip", "vrf RDE"),
        ("   vrf BLUE", "   vrf BULE", "vrf BULE"),
        ("instance BLUE", "instance BULE", "vrf instance BULE"),
        ("-profile LARGE", "-profile LAREG", "platform trident mmu queue interface-profile LAREG"),
        ("qos profile ROCE", "qos profile RCOE", "qos profile RCOE"),
        ("neighbor UPSTREAM bfd", "neighbor UPSTRAEM bfd", "neighbor UPSTRAEM bfd"),
        (
            "route-map FROM-UPSTREAM permit 10",
            "route-map FORM-UPSTREAM permit 10",
            "route-map FORM-UPSTREAM permit 10",
        ),
    ],
)
def test_a_misspelled_name_is_found_where_it_is(old: str, new: str, line: str) -> None:
    assert NAMES.count(old) == 1
    assert not any(code == "FAB9060" for code, _ in audit_texts({"tor1": NAMES}, "eos"))
    assert ("FAB9060", line) in audit_texts({"tor1": NAMES.replace(old, new)}, "eos")


def test_a_policy_that_a_later_line_replaces_is_found() -> None:
    line = "neighbor UPSTREAM route-map FROM-UPSTREAM in"
    other = NAMES.replace(line, f"{line}\n   neighbor UPSTREAM route-map OTHER in")
    for text, found in (
        (NAMES, False),
        (other, True),
        (other.replace("OTHER in", "FROM-UPSTREAM out"), False),
    ):
        assert (("FAB9060", line) in audit_texts({"tor1": text}, "eos")) is found


@pytest.mark.parametrize(
    ("system", "line", "wrong"),
    [
        ("eos", "   mtu 9100", "   mtu 91000"),
        ("eos", "   ip address 10.0.0.0/31", "   ip address 10.0.0.0/310"),
        ("nxos", "  mtu 9216", "  mtu 92160"),
        ("nxos", "  ip address 10.0.0.0/31", "  ip address 10.0.0.0/33"),
    ],
)
def test_a_number_that_the_system_does_not_take_is_found(system: str, line: str, wrong: str) -> None:
    text = f"hostname tor1\ninterface Ethernet1/1\n{line[: line.index(line.strip())]}no switchport\n{{}}\n"
    assert ("FAB9060", line.strip()) not in audit_texts({"tor1": text.format(line)}, system)
    assert ("FAB9060", wrong.strip()) in audit_texts({"tor1": text.format(wrong)}, system)


JUNOS = """\
system {{
    host-name leaf{number};
    management-instance;
    services {{
        extension-service {{
            request-response {{
                grpc {{
                    routing-instance mgmt_junos;
                }}
            }}
        }}
    }}
}}
protocols {{
    lldp {{
        interface all;
    }}
}}
"""


def test_a_routing_instance_of_management_that_is_not_there_is_found() -> None:
    text = JUNOS.format(number=1).replace("    management-instance;\n", "")
    device = ours.switch_device("leaf1", "junos", {"juniper.conf": text})
    found = [each for each in find_all(ours.infer_fabric({"leaf1": device})) if each.code == "FAB9060"]
    assert [each.line for each in found] == [7]


TENANT = """\
system {
    host-name tor1;
}
interfaces {
    et-0/0/0 {
        unit 0 {
            family inet {
                address 10.0.0.0/31;
            }
        }
    }
}
routing-instances {
    acme {
        instance-type vrf;
        protocols {
            evpn {
                ip-prefix-routes {
                    advertise direct-nexthop;
                    encapsulation vxlan;
                    vni 20001;
                }
            }
        }
        interface et-0/0/0.0;
        route-distinguisher 10.128.0.0:20001;
        vrf-target target:65000:20001;
    }
}
protocols {
    bgp {
        group OVERLAY {
            type external;
            family evpn {
                signaling;
            }
            neighbor 10.128.0.1 {
                peer-as 65001;
            }
        }
    }
}
"""


@pytest.mark.parametrize(
    ("pattern", "code", "line"),
    [
        (r" +instance-type vrf;\n", "FAB9060", "route-distinguisher 10.128.0.0:20001;"),
        (
            r" +protocols \{\n +evpn \{\n(?: {16}.*\n)* +\}\n +\}\n",
            "FAB9693",
            "vrf-target target:65000:20001;",
        ),
    ],
)
def test_a_vrf_of_junos_that_evpn_does_not_carry_is_found(pattern: str, code: str, line: str) -> None:
    changed, count = re.subn(pattern, "", TENANT)
    assert count == 1
    other = (
        TENANT.replace("tor1", "tor2").replace("10.0.0.0/31", "10.0.0.2/31").replace("128.0.0:", "128.0.1:")
    )
    assert (code, line) not in audit_texts({"tor1": TENANT, "tor2": other}, "junos")
    assert (code, line) in audit_texts({"tor1": changed, "tor2": other}, "junos")


FRR = """\
hostname leaf1
interface swp60
 description to firewall
router bgp 65001
 neighbor swp1 interface remote-as external
router bgp 65555 vrf RED
 neighbor swp60 interface remote-as external
"""


@pytest.mark.parametrize(("interfaces", "count"), [("", 0), ("auto swp60\niface swp60\n    mtu 9100\n", 1)])
def test_the_daemon_of_routes_alone_does_not_show_the_instance_of_a_port(interfaces: str, count: int) -> None:
    texts = {"frr.conf": FRR} | ({"interfaces": interfaces} if interfaces else {})
    device = ours.switch_device("leaf1", "frr", texts)
    found = [each for each in find_all(ours.infer_fabric({"leaf1": device})) if each.code == "FAB9679"]
    assert len(found) == count


@pytest.mark.parametrize(("hops", "differs"), [("", True), (" 1", False), (" 2", True)])
def test_one_hop_is_that_of_a_session_over_a_link(hops: str, differs: bool) -> None:
    bfd = "   neighbor 10.0.0.{other} bfd\n   address-family evpn"
    texts = network_of(EVPN.replace("   address-family evpn", bfd, 1))
    texts["left"] = texts["left"].replace(" bfd\n", f" bfd\n   neighbor 10.0.0.1 ebgp-multihop{hops}\n", 1)
    assert any("counts several hops" in message for message in audit_texts(texts).values()) == differs


@pytest.mark.parametrize("system", ["eos", "frr"])
def test_an_import_of_own_prefixes_is_reported_once(system: str) -> None:
    name = "rack001-leaf"
    texts = {
        file: text.replace("route-map FROM-UPSTREAM in", "route-map TO-UPSTREAM in")
        for file, text in build_texts(system, "plain")[name].items()
    }
    found = [each.message for each in audit_altered(system, {name: texts}) if each.code == "FAB9664"]
    assert len(found) == 1, found


def test_what_all_spines_lack_is_their_design() -> None:
    lldp = ("lldp/interval_s",)
    summaries = {f"lf{n}": make_summary(Tier.TOR, ())._replace(system="eos", common=lldp) for n in range(9)}
    for bare, count in (("x1 x2", 0), ("x1", 1)):
        spines = {
            name: make_summary(Tier.SPINE, ())._replace(system="eos", common=() if name in bare else lldp)
            for name in ("x1", "x2")
        }
        both = summaries | spines
        fabric = Switches(both, lambda _: both, lambda _: (), lambda _: None)  # noqa: B023
        found = [each for each in run_fabric_rules(fabric) if "LLDP" in each.message]
        assert len(found) == count


def test_a_wrong_address_of_a_link_and_of_a_loopback_are_found_beside_sound_ones() -> None:
    links = {"x1": ("lf1", "lf2", "lf3"), "x2": ("lf0", "lf1", "lf2", "lf3")}
    links |= {
        name: tuple(each for each in ("x1", "x2") if name in links[each])
        for name in ("lf0", "lf1", "lf2", "lf3")
    }
    summaries = {
        name: make_summary(Tier.OTHER, ())._replace(
            router_id=f"10.0.0.{number}", loopbacks=(f"10.0.0.{number}/32",)
        )
        for number, name in enumerate(links)
    }
    summaries["x1"] = summaries["x1"]._replace(lone=(("p0", "10.1.0.0/31"),))
    summaries["lf0"] = summaries["lf0"]._replace(lone=(("p0", "10.1.9.1/31"),), loopbacks=("192.0.2.9/32",))
    fabric = Switches(summaries, links.__getitem__, lambda _: (), lambda _: None)
    found = [(each.code, each.device, each.paths[0]) for each in run_fabric_rules(fabric)]
    assert sorted(found) == [
        ("FAB9602", "lf0", "interface[p0]/ipv4"), ("FAB9602", "x1", "interface[p0]/ipv4"),
        ("FAB9604", "lf0", "loopback/ipv4"),
    ]  # fmt: skip


def test_the_templates_of_sonic_announce_the_loopback() -> None:
    devices = {}
    for number, far in ((0, 1), (1, 0)):
        port = {"lanes": "1", "speed": "400000", "admin_status": "up", "description": f"tor{far}"}
        tables = {
            "DEVICE_METADATA": {"localhost": {"hostname": f"tor{number}", "bgp_asn": f"6500{number}"}},
            "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|10.1.0.{number}/32": {}},
            "VXLAN_TUNNEL": {"vtep": {"src_ip": f"10.1.0.{number}"}},
            "PORT": {"Ethernet0": port},
            "INTERFACE": {"Ethernet0": {}, f"Ethernet0|10.0.0.{number}/31": {}},
            "BGP_NEIGHBOR": {f"10.0.0.{far}": {"asn": f"6500{far}", "local_addr": f"10.0.0.{number}"}},
        }
        texts = {"config_db.json": json.dumps(tables, indent=1)}
        devices[f"tor{number}"] = ours.switch_device(f"tor{number}", "sonic", texts)
    assert not [each for each in find_all(ours.infer_fabric(devices)) if each.code == "FAB9676"]


SOUND = {
    "policies of routes of an IGP": ("eos", "running-config.cfg", """\
hostname a
ip routing
ip prefix-list P seq 10 permit 10.0.0.0/8 le 32
route-map RM permit 10
   match ip address prefix-list P
router bgp 65001
   neighbor 10.0.0.1 remote-as 65002
   redistribute isis level-1-2 route-map RM
   redistribute ospf match external route-map RM
   redistribute ospf3 match internal
"""),
    "names of processes like those of policies": ("nxos", "running-config.cfg", """\
hostname a
feature bgp
feature isis
router isis CORE
router bgp 65001
  address-family ipv4 unicast
    redistribute isis CORE_ route-map CORE_MAP
    redistribute static route-map CORE_MAP2
"""),
    "blocks without indentation": ("frr", "frr.conf", """\
hostname a
route-map A permit 10
exit
route-map B permit 10
exit
router bgp 65001
neighbor 10.0.0.1 remote-as 65002
address-family ipv4 unicast
neighbor 10.0.0.1 route-map A in
exit-address-family
address-family ipv6 unicast
neighbor 10.0.0.1 route-map B in
exit-address-family
"""),
    "numbers that the system derives": ("nxos", "running-config.cfg", """\
hostname a
feature bgp
feature vn-segment-vlan-based
feature nv overlay
nv overlay evpn
interface loopback0
  ip address 10.1.0.1/32
interface nve1
  no shutdown
  host-reachability protocol bgp
  source-interface loopback0
  member vni 5001 associate-vrf
  member vni 5002 associate-vrf
vrf context RED
  vni 5001
  rd auto
  address-family ipv4 unicast
    route-target both auto evpn
vrf context BLUE
  vni 5002
  rd auto
  address-family ipv4 unicast
    route-target both auto evpn
"""),
    "tunnels over IPv6, and a line that a later one takes back": ("eos", "running-config.cfg", """\
hostname a
no ip routing
ip routing
vlan 10
interface Ethernet1
   no switchport
   ip address 10.0.0.0/31
interface Ethernet2
   no switchport
   ip address 10.0.0.2/31
interface Loopback0
   ipv6 address 2001:db8::1/128
vrf instance RED
ip routing vrf RED
interface Vlan10
   vrf RED
   ip address 10.42.1.1/24
interface Vxlan1
   vxlan source-interface Loopback0
   vxlan encapsulation ipv6
   vxlan vlan 10 vni 10010
router bgp 65001
   neighbor 10.0.0.1 remote-as 65002
   neighbor 10.0.0.3 remote-as 65002
   neighbor 10.0.0.1 send-community extended
   neighbor 10.0.0.3 send-community extended
   maximum-paths 2
   vlan 10
      rd evpn domain all 10.1.0.1:10
      route-target both 65000:10
      redistribute learned
   address-family evpn
      neighbor 10.0.0.1 activate
      neighbor 10.0.0.3 activate
"""),
    "an address without a length": ("junos", "juniper.conf", """\
set interfaces et-0/0/0 unit 0 family inet address 192.0.2.3
"""),
}  # fmt: skip


@pytest.mark.parametrize("design", SOUND)
def test_a_sound_switch_has_no_warning_of_its_own(design: str) -> None:
    system, file, text = SOUND[design]
    found = find_all(ours.infer_fabric({"a": ours.switch_device("a", system, {file: text})}))
    texts = [each.message for each in found if each.severity is not Severity.NOTE]
    assert not [each for each in texts if "MAP" not in each or "nothing uses" in each]


def test_a_port_that_is_passive_for_an_igp_leads_to_a_switch_without_it() -> None:
    """A border leaf announces the subnet of a link over which it has a session of BGP."""
    texts = network_of(
        OSPF.replace(
            "   no passive-interface Ethernet1\n",
            "router bgp 6500{number}\n   neighbor 10.0.0.{other} remote-as 6500{other}\n",
        )
    )
    area = "   ip ospf area 0.0.0.0\n   ip ospf network point-to-point\n"
    texts["right"] = texts["right"].replace(area, "")
    assert not [message for message in audit_texts(texts).values() if "OSPF" in message]


@pytest.mark.parametrize(("family", "found"), [("inet unicast", True), ("evpn signaling", False)])
def test_a_switch_of_junos_that_rejects_without_a_policy_is_found(family: str, found: bool) -> None:
    session = (
        "routing-options {\n    autonomous-system 65001;\n}\nprotocols {\n    bgp {\n        group U {\n"
        "            type external;\n            peer-as 65002;\n"
        f"            family {family};\n            neighbor 10.0.0.1;\n        }}\n"
        "        defaults {\n            ebgp {\n                no-policy {\n                    receive reject;\n"
        "                }\n            }\n        }\n    }\n}\n"
    )
    texts = {f"tor{number}": LINK.format(number=number) for number in range(2)}
    texts["tor0"] += session
    assert (("FAB9664", "receive reject;") in audit_texts(texts, "junos")) is found
