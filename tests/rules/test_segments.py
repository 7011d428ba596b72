"""VTEPs, loopbacks and MLAG peers that do not work, and segments that switches configure differently."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder

if TYPE_CHECKING:
    from pathlib import Path

SWITCH = """\
hostname {name}
!
vlan 10,4094
!
interface Ethernet1
   description to {far}
   no switchport
   ip address 10.0.{link}.{end}/31
!
interface Loopback0
   ip address 10.255.0.{number}/32
!
interface Loopback1
   ip address 10.254.0.{vtep}/32
!
interface Vlan10
   ip address 10.10.10.{number}/24
   ip virtual-router address 10.10.10.254
!
interface Vlan4094
   ip address 10.99.0.{number}/29
!
interface Vxlan1
   vxlan source-interface Loopback1
   vxlan vlan 10 vni 10010
!
ip virtual-router mac-address 00:1c:73:00:00:01
!
mlag configuration
   domain-id PAIR
   peer-link Port-Channel1
   local-interface Vlan4094
   peer-address 10.99.0.{peer}
!
ip routing
!
router bgp 6500{number}
   router-id 10.255.0.{number}
   neighbor 10.0.{link}.{far_end} remote-as 65000
   vlan 10
      rd auto
      route-target both 10010:10010
"""
SPINE = """\
hostname spine
!
{ports}ip routing
!
router bgp 65000
   router-id 10.255.0.9
{neighbors}"""
LEAVES = ("leaf1", "leaf2", "leaf3")


SEGMENTS = ("FAB9690", "FAB9691")


def list_findings(
    folder: Path, edits: dict[str, tuple[str, str]], codes: tuple[str, ...] = SEGMENTS
) -> set[tuple[str, str]]:
    """Return the code and the quoted line of the warnings and errors with these codes."""
    ports = neighbors = ""
    for number, name in enumerate(LEAVES, 1):
        text = SWITCH.format(
            name=name, far="spine", link=number, end=0, far_end=1, number=number, peer=1 if number == 2 else 2,
            vtep=1 if number == 2 else number,
        )  # fmt: skip
        if name in edits:
            text, count = re.subn(*edits[name], text)
            assert count
        (folder / name).mkdir()
        (folder / name / "running-config.cfg").write_text(text)
        ports += f"interface Ethernet{number}\n   description to {name}\n   no switchport\n"
        ports += f"   ip address 10.0.{number}.1/31\n!\n"
        neighbors += f"   neighbor 10.0.{number}.0 remote-as 6500{number}\n"
    (folder / "spine").mkdir()
    (folder / "spine" / "running-config.cfg").write_text(SPINE.format(ports=ports, neighbors=neighbors))
    found = audit_folder(folder, jobs=1).diagnostics
    return {
        (each.code, (folder / each.position.file).read_text().split("\n")[each.position.line - 1].strip())
        for each in found
        if each.code in codes and each.severity is not Severity.NOTE and each.position
    }


def test_an_untouched_fabric_is_silent(tmp_path: Path) -> None:
    assert list_findings(tmp_path, {}) == set()


@pytest.mark.parametrize(
    ("pattern", "new", "code", "line"),
    [
        (
            "source-interface Loopback1",
            "source-interface Loopback7",
            "FAB9690",
            "vxlan source-interface Loopback7",
        ),
        (r"(address 10\.254\.0\.1/32\n)", r"\1   shutdown\n", "FAB9690", "shutdown"),
        (r"(address 10\.255\.0\.1/32\n)", r"\1   shutdown\n", "FAB9690", "shutdown"),
        (r"peer-address 10\.99\.0\.2", "peer-address 192.0.2.7", "FAB9690", "peer-address 192.0.2.7"),
        ("vni 10010", "vni 7777", "FAB9691", "vxlan vlan 10 vni 7777"),
        ("both 10010:10010", "both 1:7777", "FAB9691", "route-target both 1:7777"),
        (
            r"router address 10\.10\.10\.254",
            "router address 10.10.10.77",
            "FAB9691",
            "ip virtual-router address 10.10.10.77",
        ),
        (r"(   vxlan vlan 10 vni 10010\n)", r"\1   vxlan udp-port 4790\n", "FAB9691", "vxlan udp-port 4790"),
    ],
)
def test_a_fault_is_reported_at_its_line(
    tmp_path: Path, pattern: str, new: str, code: str, line: str
) -> None:
    found = list_findings(tmp_path, {"leaf1": (pattern, new)})
    assert found == {(code, line)}


def test_route_targets_of_which_one_side_takes_the_other_are_no_fault(tmp_path: Path) -> None:
    both = "      route-target import 10010:10010\n      route-target import 5:5\n      route-target export 10010:10010"
    assert list_findings(tmp_path, {"leaf1": (r"      route-target both 10010:10010", both)}) == set()


def test_two_vlans_with_one_vni_are_reported_at_both(tmp_path: Path) -> None:
    second = r"\1   vxlan vlan 11 vni 10010\n"
    found = list_findings(tmp_path, {"leaf1": (r"(   vxlan vlan 10 vni 10010\n)", second)})
    assert found == {("FAB9691", "vxlan vlan 10 vni 10010"), ("FAB9691", "vxlan vlan 11 vni 10010")}


def test_one_route_distinguisher_on_two_switches_is_reported(tmp_path: Path) -> None:
    edit = ("(?s)mlag configuration.*?!\n(.*)rd auto", r"\1rd 65000:10")
    found = list_findings(tmp_path, {"leaf1": edit, "leaf2": edit})
    assert found == {("FAB9691", "rd 65000:10")}


def test_route_distinguishers_without_routes_of_vpns_may_repeat(tmp_path: Path) -> None:
    """VRFs that end at each switch often have one number everywhere."""
    for number in (1, 2):
        text = f"""hostname leaf{number}
vrf instance RED
router bgp 6500{number}
   router-id 10.0.0.{number}
   vrf RED
      rd 65000:1
"""
        (tmp_path / f"leaf{number}.cfg").write_text(text)
    assert "FAB9691" not in {each.code for each in audit_folder(tmp_path, jobs=1).findings}


LINES = {
    "hold time 0": (
        r"(   neighbor \S+ )(remote-as 65000\n)", r"\1\2\1timers 0 0\n", "FAB9694", "neighbor 10.0.1.1 timers 0 0"
    ),
    "short hold time": (
        r"(   neighbor \S+ )(remote-as 65000\n)", r"\1\2\1timers 30 60\n", "FAB9694", "neighbor 10.0.1.1 timers 30 60"
    ),
    "peer group": (
        r"(   neighbor \S+ )(remote-as 65000\n)", r"\1\2\1peer group NONE\n", "FAB9605",
        "neighbor 10.0.1.1 peer group NONE",
    ),
    "VLAN": (
        "^", "interface Ethernet9\n   switchport access vlan 77\n!\n", "FAB9605", "switchport access vlan 77"
    ),
    "NTP": ("^", "ntp server vrf NONE 192.0.2.1\n", "FAB9674", "ntp server vrf NONE 192.0.2.1"),
    "LLDP": ("^", "no lldp run\n", "FAB9674", "no lldp run"),
    "family": (
        r"(   neighbor \S+ )(remote-as 65000\n)", r"\1\2   address-family ipv4\n      no neighbor 10.0.1.1 activate\n",
        "FAB9675", "no neighbor 10.0.1.1 activate",
    ),
    "MTU": (r"(   no switchport\n)", r"\1   mtu 1400\n", "FAB9600", "mtu 1400"),
    "OSPF": (r"(   ip address 10\.0\.1\.0/31\n)", r"\1   ip ospf area 0.0.0.7\n", "FAB9600", ""),
    "list": (
        "router bgp 65001\n",
        "ip prefix-list OWN\n   seq 10 permit 10.99.9.9/32\n!\n"
        "route-map CON permit 10\n   match ip address prefix-list OWN\n!\n"
        "router bgp 65001\n   redistribute connected route-map CON\n",
        "FAB9676", "seq 10 permit 10.99.9.9/32",
    ),
}  # fmt: skip
"""Fault -> the expression that it replaces, the new text, the code, and the line that is reported; "" for none."""


@pytest.mark.spread
@pytest.mark.parametrize("fault", LINES)
def test_a_fault_of_one_line_is_reported_there(tmp_path: Path, fault: str) -> None:
    pattern, new, code, line = LINES[fault]
    found = list_findings(tmp_path, {"leaf1": (pattern, new)}, (code,))
    if (
        fault == "list"
    ):  # one switch announces now, so the others are seen to announce no source of their tunnels
        found = {each for each in found if "router-id" not in each[1]}
    assert found == ({(code, line)} if line else set())
