"""Segments, VRFs and gateways of EVPN, and pairs of switches, that lack a part they need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder

if TYPE_CHECKING:
    from pathlib import Path

LEAF = """\
hostname leaf{number}
!
spanning-tree mode mstp
vlan 10
   name TENANT
vlan 4094
   trunk group MLAG
!
vrf instance RED
!
interface Port-Channel3
   description leaf{far}
   switchport mode trunk
   switchport trunk group MLAG
!
interface Port-Channel5
   switchport trunk allowed vlan 10
   switchport mode trunk
   mlag 5
!
interface Ethernet1
   no switchport
   ip address 10.0.0.{end}/31
!
interface Ethernet3
   channel-group 3 mode active
!
interface Loopback0
   ip address 10.255.0.{number}/32
!
interface Loopback1
   ip address 10.254.0.9/32
!
interface Vlan10
   vrf RED
   ip address virtual 10.10.10.1/24
!
interface Vlan4094
   ip address 10.99.0.{number}/30
!
interface Vxlan1
   vxlan source-interface Loopback1
   vxlan vlan 10 vni 10010
   vxlan vrf RED vni 50
!
ip virtual-router mac-address 00:1c:73:00:00:01
!
mlag configuration
   domain-id PAIR
   local-interface Vlan4094
   peer-address 10.99.0.{far}
   peer-link Port-Channel3
!
ip routing
ip routing vrf RED
!
router bgp 6500{number}
   router-id 10.255.0.{number}
   maximum-paths 4
   neighbor 10.0.0.{far_end} remote-as 6500{far}
   neighbor 10.0.0.{far_end} send-community
   neighbor 10.0.0.{far_end} bfd
   redistribute connected
   vlan 10
      rd 10.255.0.{number}:10
      route-target both 10:10
      redistribute learned
   address-family evpn
      neighbor 10.0.0.{far_end} activate
   vrf RED
      rd 10.255.0.{number}:50
      route-target import evpn 50:50
      route-target export evpn 50:50
      redistribute connected
"""
CODES = ("FAB9060", "FAB9600", "FAB9604", "FAB9605", "FAB9664", "FAB9675", "FAB9682", "FAB9691", "FAB9693")
CASES = {
    "no VNI of a VLAN": (r"\n   vxlan vlan .*", "", "rd 10.255.0.2:10"),
    "no EVPN routes of a VLAN": (r"   vlan 10\n.*\n.*\n.*\n", "", "vxlan vlan 10 vni 10010"),
    "no route distinguisher of a VLAN": (r"\n      rd 10.255.0.2:10", "", "route-target both 10:10"),
    "no route target of a VLAN": (r"\n      route-target both 10:10", "", "rd 10.255.0.2:10"),
    "no learned addresses": (r"\n      redistribute learned", "", "rd 10.255.0.2:10"),
    "no VNI of a VRF": (r"\n   vxlan vrf .*", "", "route-target export evpn 50:50"),
    "no routing in a VRF": (r"\nip routing vrf RED", "", "vrf instance RED"),
    "no VXLAN interface": (r"interface Vxlan1\n(?:   .*\n)*", "", "route-target both 10:10"),
    "no VLAN": (r"vlan 10\n.*\n", "", "vxlan vlan 10 vni 10010"),
    "a suspended VLAN": (r"name TENANT", "state suspend", "state suspend"),
    "a gateway in the default VRF": (r"\n   vrf RED", "", "ip address virtual 10.10.10.1/24"),
    "a gateway of one switch": (r"address virtual", "address", "ip address 10.10.10.1/24"),
    "a gateway in another subnet": (r"(virtual \S+)/24", r"\1/16", "ip address virtual 10.10.10.1/16"),
    "a subnet as gateway": (r"(virtual 10.10.10).1", r"\1.0", "ip address virtual 10.10.10.0/24"),
    "no MAC address of gateways": (r"\nip virtual-router .*", "", "ip address virtual 10.10.10.1/24"),
    "a MAC address of a group": (r"00:1c", "01:1c", "ip virtual-router mac-address 01:1c:73:00:00:01"),
    "no session with EVPN": (r"   address-family evpn\n.*\n", "", "route-target both 10:10"),
    "standard communities alone": (
        r"(send-community)", r"\1 standard", "neighbor 10.0.0.1 send-community standard",
    ),
    "VXLAN is shut": (r"(interface Vxlan1)", r"\1\n   shutdown", "shutdown"),
    "no domain of a pair": (r"\n   domain-id PAIR", "", "local-interface Vlan4094"),
    "no peer link": (r"\n   peer-link .*", "", "domain-id PAIR"),
    "a pair is shut": (r"(domain-id PAIR)", r"\1\n   shutdown", "shutdown"),
    "another domain": (r"PAIR", "OTHER", "domain-id OTHER"),
    "another bundle": (r"mlag 5", "mlag 6", "mlag 6"),
    "other VLANs": (r"allowed vlan 10", "allowed vlan 11", "switchport trunk allowed vlan 11"),
    "another VTEP": (r"10.254.0.9", "10.254.0.8", "vxlan source-interface Loopback1"),
    "an interface of a pair without an address": (r"(local-interface) .*", r"\1 Vlan99", "local-interface Vlan99"),
    "no VLAN of a pair": (r"vlan 4094\n.*\n", "", "ip address 10.99.0.2/30"),
    "a peer link outside of the trunk group": (
        r"\n   switchport trunk group MLAG", "", "interface Port-Channel3",
    ),
    "a peer link is an edge port": (
        r"(switchport trunk group MLAG)", r"\1\n   spanning-tree portfast", "spanning-tree portfast",
    ),
    "no spanning tree": (r"mode mstp", "mode none", "spanning-tree mode none"),
    "no pair": (r"mlag configuration\n.*\n.*\n.*\n.*\n", "", "mlag 5"),
}  # fmt: skip


def lines_found(folder: Path, pattern: str, text: str) -> set[str]:
    """Return the lines of the second switch of a pair that warnings and errors point at."""
    for number, far in ((1, 2), (2, 1)):
        leaf = LEAF.format(number=number, far=far, end=number % 2, far_end=far % 2)
        if number == 2 and pattern:
            leaf, count = re.subn(pattern, text, leaf)
            assert count
        (folder / f"leaf{number}.cfg").write_text(leaf)
    found = audit_folder(folder).findings
    files = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    return {
        files["leaf2.cfg"][each.line - 1].strip()
        for each in found
        if each.severity is not Severity.NOTE and each.code in CODES and each.file == "leaf2.cfg"
    }


def test_a_whole_pair_is_no_fault(tmp_path: Path) -> None:
    assert not lines_found(tmp_path, "", "")


@pytest.mark.parametrize("name", CASES)
def test_a_missing_part_is_found_at_its_line(name: str, tmp_path: Path) -> None:
    pattern, text, line = CASES[name]
    assert line in lines_found(tmp_path, pattern, text)


NXOS = """\
hostname tor1
feature bgp
class-map type queuing RDMA
  match qos-group 3
policy-map type queuing SHARE
  class type queuing RDMA
    bandwidth percent 50
policy-map type queuing PAUSE
  class type queuing RDMA
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
class-map type network-qos RDMA
  match qos-group 3
policy-map type network-qos LOSSLESS
  class type network-qos RDMA
    pause no-drop
policy-map type network-qos JUMBO
  class type network-qos class-default
    mtu 9216
system qos
  service-policy type queuing output SHARE
  service-policy type network-qos LOSSLESS
interface Ethernet1/1
  no switchport
  ip address 10.0.0.1/31
interface Ethernet1/2
  no switchport
  ip address 10.0.1.1/31
interface Ethernet1/3
  priority-flow-control mode on
  service-policy type queuing input PAUSE
interface mgmt0
  vrf member management
  ip address 192.0.2.5/24
line vty
  access-class LOGIN in
ip access-list LOGIN
  10 permit ip 192.0.2.0/24 any
router bgp 65001
  address-family ipv4 unicast
    maximum-paths 8
  neighbor 10.0.0.0
    remote-as 65000
    address-family ipv4 unicast
  neighbor 10.0.1.0
    remote-as 65000
    address-family ipv4 unicast
"""
LINES = {
    "an output policy for input": (r"output SHARE", "input SHARE", "service-policy type queuing input SHARE"),
    "a pausing policy for output": (r"input PAUSE", "output PAUSE", "service-policy type queuing output PAUSE"),
    "a policy without the lossless class": (
        r"network-qos LOSSLESS\ninterface", "network-qos JUMBO\ninterface", "service-policy type network-qos JUMBO",
    ),
    "a pause that ends too late": (
        r"46800 resume-threshold 34320", "34320 resume-threshold 46800",
        "pause buffer-size 101920 pause-threshold 34320 resume-threshold 46800",
    ),
    "a list for the wrong way": (r"LOGIN in", "LOGIN out", "access-class LOGIN out"),
    "too many paths": (r"maximum-paths 8", "maximum-paths 999", "maximum-paths 999"),
    "one path": (r"maximum-paths 8", "maximum-paths 1", "maximum-paths 1"),
    "a dropped neighbor": (
        r"\ninterface Eth", "\nip route 10.0.0.0/32 Null0\ninterface Eth", "ip route 10.0.0.0/32 Null0",
    ),
    "a misspelled port": (r"interface Ethernet1/1", "interface Etherent1/1", "interface Etherent1/1"),
    "a port in a VRF that is not there": (
        r"10.0.1.1/31\n", "10.0.1.1/31\n  vrf member LOST\n", "vrf member LOST",
    ),
    "a port in one of no defined VRFs": (
        r"10.0.1.1/31\n", "10.0.1.1/31\n  vrf member LOST\nvrf context OTHER\n", "vrf member LOST",
    ),
    "no member of a VNI": (
        r"\nline vty", "\nvrf context RED\n  vni 50001 l3\ninterface nve1\n  no shutdown\n"
        "  source-interface loopback0\nline vty", "vni 50001 l3",
    ),
    "a process that is not there": (
        r"\ninterface Ethernet1/2\n", "\nrouter ospf 1\n  router-id 192.0.2.5\ninterface Ethernet1/2\n"
        "  ip router ospf 77 area 0\n", "ip router ospf 77 area 0",
    ),
    "a gateway that drops": (
        r"\nline vty", "\nvrf context management\n  ip route 0.0.0.0/0 Null0\nline vty", "ip route 0.0.0.0/0 Null0",
    ),
    "SNMP for everyone": (
        r"\nline vty",
        "\nsnmp-server community s3cret use-ipv4acl ALL\nip access-list ALL\n  permit ip any any\nline vty",
        "permit ip any any",
    ),
    "a short key": (r"\nline vty", "\nssh key rsa 768\nline vty", "ssh key rsa 768"),
    "HTTP": (r"\nline vty", "\nfeature http-server\nline vty", "feature http-server"),
    "no SSH": (r"\nline vty", "\nno feature ssh\nline vty", "no feature ssh"),
    "packets that are routed nowhere": (
        r"10.0.1.1/31\n",
        "10.0.1.1/31\n  no shutdown\n  ip policy route-map P\nroute-map P permit 10\n  set interface null0\n",
        "set interface null0",
    ),
    "an action of another system": (
        r"\nline vty", "\nroute-map P allow 10\nline vty", "route-map P allow 10",
    ),
    "a map that installs nothing": (
        r"router bgp 65001\n  address-family ipv4 unicast\n",
        "route-map P deny 10\nrouter bgp 65001\n  address-family ipv4 unicast\n    table-map P filter\n",
        "route-map P deny 10",
    ),
    "RoCE dropped for hosts": (
        r"\ninterface mgmt0", "\n  ip access-group R in\nip access-list R\n  deny udp any any range 4791 4791\n"
        "  permit ip any any\ninterface mgmt0", "deny udp any any range 4791 4791",
    ),
    "a network of half of all addresses": (r"192.0.2.5/24", "192.0.2.5/1", "ip address 192.0.2.5/1"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_line_without_effect_is_found(name: str, tmp_path: Path) -> None:
    pattern, new, line = LINES[name]
    texts = NXOS, re.sub(pattern, new, NXOS, count=1)
    found = []
    for number, text in enumerate(texts):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "tor1.cfg").write_text(text)
        findings = audit_folder(tmp_path / f"{number}").findings
        lines = text.splitlines()
        found.append(
            {
                lines[each.line - 1].strip()
                for each in findings
                if each.line and each.severity is not Severity.NOTE
            }
        )
    assert line in found[1] - found[0]


_NVUE = """\
interface eth0 ip address 192.0.2.{number}/24
interface eth0 ip vrf mgmt
interface lo ip address 10.255.0.{number}/32
interface swp1 description {far} swp1
interface swp1 ip address 10.0.0.{end}/31
interface bond1 bond member swp9
interface bond1 bond mlag id 1
interface bond1 bridge domain br_default access 10
bridge domain br_default vlan 10 vni 10
interface vlan10 ip address 10.10.0.{number}/24
interface vlan10 ip vrr address 10.10.0.9/24
interface vlan10 ip vrr mac-address 00:00:5e:00:01:01
interface vlan10 ip vrf RED
vrf RED evpn vni 4001
nve vxlan source address 10.255.0.{number}
nve vxlan mlag shared-address 10.254.0.9
mlag mac-address 44:38:39:be:ef:aa
mlag backup 192.0.2.{peer} vrf mgmt
mlag peer-ip linklocal
router bgp autonomous-system 6500{number}
router bgp enable on
vrf default router bgp enable on
evpn enable on
vrf default router bgp address-family l2vpn-evpn enable on
vrf default router bgp neighbor swp1 remote-as external
vrf default router bgp neighbor swp1 address-family l2vpn-evpn enable on
"""
PAIRS = {
    "system MAC": ("be:ef:aa", "be:ef:bb", "has the system MAC 44:38:39:be:ef:bb"),
    "shared VTEP": ("10.254.0.9", "10.254.0.8", "has the shared VTEP 10.254.0.8"),
    "own keepalives": ("mlag backup 192.0.2.2", "mlag backup 192.0.2.1", "sends the keepalives of its pair to itself"),
    "no backup": ("mlag backup .*\n", "", "has no backup address"),
    "bundle": ("mlag id 1", "mlag id 7", "has the bundle 7 of the pair"),
    "VLAN of a bundle": ("access 10", "access 20", "VLANs 20 on bundle 1"),
    "no VNI": ("vlan 10 vni 10", "vlan 10", "tunnel none of VLAN 10"),
    "no VNI of the VRF": ("vrf RED evpn vni 4001\n", "vrf RED table auto\n", "tunnel none of VRF RED"),
    "no gateway": ("interface vlan10 ip vrr .*\n", "", "gateway none of VLAN 10"),
    "another MAC of a gateway": ("5e:00:01:01", "5e:00:01:02", "gateway MAC 00:00:5e:00:01:02"),
    "no VRF of a gateway": ("interface vlan10 ip vrf RED\n", "", "VLAN 10 has a VNI and is in the default VRF"),
    "no AS path": (
        "(vrf default router bgp neighbor swp1) remote-as external\n",
        r"\g<0>\1 address-family ipv4-unicast policy inbound aspath-list NIL\n"
        "router policy as-path-list NIL rule 10 action deny\nrouter policy as-path-list NIL rule 10 aspath-exp .*\n",
        "accepts no route from swp1",
    ),
    "address of a gateway twice": ("(vlan10 ip address) 10.10.0.1", r"\1 10.10.0.2", "vlan10 has 10.10.0.2"),
    "peer in no subnet": ("peer-ip linklocal", "peer-ip 10.77.0.1", "expects its MLAG peer at 10.77.0.1"),
    "LACP of a bundle": ("(interface bond1 bond) mlag.*\n", r"\g<0>\1 mode static\n", "has no LACP on bundle 1"),
    "no spanning tree": ("(bridge domain br_default) vlan", r"\1 stp state down\n\g<0>", "runs no spanning tree"),
    "other targets": (
        "vrf RED evpn.*\n",
        r"\g<0>vrf RED router bgp enable on\nvrf RED router bgp route-import from-evpn route-target 65000:9\n",
        "VRF RED imports 65000:9 alone",
    ),
    "a community that all know": (
        "evpn enable on\n", r"\g<0>service snmp-server readonly-community public access any\n",
        "answers SNMP with the community public",
    ),
    "management in the fabric": (
        "eth0 ip address .*\n.*eth0 ip vrf mgmt\n", "eth0 type eth\n", "and the management network",
    ),
    "SSH in the fabric": (
        "lo ip.*\n", r"\g<0>system ssh-server vrf default\n", "SSH answers in the VRF of the fabric",
    ),
    "a filter of VXLAN": (
        "lo ip.*\n",
        r"\g<0>interface swp1 acl DROP inbound\nacl DROP type ipv4\nacl DROP rule 10 action deny\n"
        r"acl DROP rule 10 match ip udp dest-port 4789\nacl DROP rule 20 action permit\n",
        "of the filter DROP drops VXLAN",
    ),
    "a small pool of RoCE": (
        "lo ip.*\n", r"\g<0>qos roce\nqos traffic-pool roce-lossless memory-percent 5\n", "traffic has 5 % of the",
    ),
    "a code point out of RoCE": (
        "lo ip.*\n", r"\g<0>qos roce\nqos mapping default-global dscp 26 switch-priority 0\n", "DSCP 26, RDMA's",
    ),
    "a misspelled family": (
        "lo ip.*\n", r"\g<0>vrf default router bgp address-family ipv4-unicst enable on\n", "ipv4-unicst has no effect",
    ),
    "a peer of any AS": (
        "(vrf default router bgp neighbor) swp1 remote-as external\n", r"\g<0>\1 203.0.113.9 remote-as external\n",
        "on its session with 203.0.113.9",
    ),
    "a loopback of a port": ("lo ip address .*\n", "lo ip address 10.0.0.0/32\n", "the address of swp1"),
}  # fmt: skip
"""Fault of one switch of a pair of NVUE -> an expression, its new text, and the message about the switch."""


@pytest.mark.spread
@pytest.mark.parametrize("name", PAIRS)
def test_a_fault_of_one_switch_of_a_pair_is_said_of_it(name: str, tmp_path: Path) -> None:
    pattern, new, said = PAIRS[name]
    for number in (1, 2):
        text = _NVUE.format(number=number, far=f"leaf{3 - number}", end=number - 1, peer=3 - number)
        changed = re.sub(pattern, new, text) if number == 1 else text
        (tmp_path / f"leaf{number}").mkdir()
        lines = "".join(f"nv set {line}\n" for line in changed.splitlines())
        (tmp_path / f"leaf{number}" / "startup.yaml").write_text(lines)
    found = [each.message for each in audit_folder(tmp_path, jobs=1).findings]
    assert any(each.startswith("leaf1") and said in each for each in found), found
