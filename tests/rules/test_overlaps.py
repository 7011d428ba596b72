"""No two ports of a switch, and no two switches that links join, have different subnets with common addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder
from fabricc.rules.overlaps import OVERLAP

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic

EOS = """hostname {name}
interface Ethernet1
   description {peer} Ethernet1
   no switchport
   ip address {first}
interface Ethernet2
   no switchport
   ip address {second}
{more}ip routing
"""
NXOS = """version 10.4(3)
hostname {name}
interface Ethernet1/1
  no switchport
  ip address {first}
  no shutdown
interface Ethernet1/2
  no switchport
  ip address {second}
  no shutdown
"""
FRR = """frr version 10.1
hostname {name}
interface swp1
 ip address {first}
exit
interface swp2
 ip address {second}
exit
"""
JUNOS = """system {{ host-name {name}; }}
interfaces {{
    et-0/0/1 {{ unit 0 {{ family inet {{ address {first}; }} }} }}
    et-0/0/2 {{ unit 0 {{ family inet {{ address {second}; }} }} }}
}}
"""
CUMULUS = """- header:
    model: sn5600
    nvue-api-version: nvue_v1
    version: Cumulus Linux 5.14.0
- set:
    system:
      hostname: {name}
    interface:
      swp1:
        ip:
          address:
            {first}: {{}}
        type: swp
      swp2:
        ip:
          address:
            {second}: {{}}
        type: swp
"""
SONIC = """{{"DEVICE_METADATA": {{"localhost": {{"hostname": "{name}"}}}},
"PORT": {{"Ethernet0": {{"admin_status": "up", "lanes": "1"}}, "Ethernet4": {{"admin_status": "up", "lanes": "2"}}}},
"INTERFACE": {{"Ethernet0": {{}},
"Ethernet0|{first}": {{}},
"Ethernet4": {{}},
"Ethernet4|{second}": {{}}}}}}"""
FILES = {
    "eos": (EOS, "{}.cfg"), "nxos": (NXOS, "{}.cfg"), "frr": (FRR, "frr.conf"), "junos": (JUNOS, "{}.conf"),
    "cumulus": (CUMULUS, "startup.yaml"), "sonic": (SONIC, "config_db.json"),
}  # fmt: skip
SILENT = {
    "ports of two instances": ("10.66.11.1/31", "10.66.11.0/24", "   vrf T1\n"),
    "a port that is shut": ("10.66.11.1/31", "10.66.11.0/24", "   shutdown\n"),
    "a second address of a port": (
        "10.66.11.1/31",
        "10.66.12.1/31",
        "   ip address 10.66.12.3/30 secondary\n",
    ),
    "a loopback": ("10.66.11.1/31", "10.66.12.1/31", "interface Loopback0\n   ip address 10.66.11.0/32\n"),
}


def findings_of(folder: Path) -> list[Diagnostic]:
    """Return what the rule reports about a folder."""
    return [each for each in audit_folder(folder, jobs=1).diagnostics if each.code == OVERLAP]


def write(folder: Path, system: str, name: str, first: str, second: str, more: str = "") -> Path:
    """Write a switch with two ports."""
    text, file = FILES[system]
    path = folder / name / file.format(name)
    path.parent.mkdir()
    peer = "lf2" if name == "lf1" else "lf1"
    path.write_text(text.format(name=name, first=first, second=second, more=more, peer=peer))
    return path


@pytest.mark.parametrize("system", FILES)
def test_a_subnet_that_contains_another_is_reported_at_both_lines(system: str, tmp_path: Path) -> None:
    path = write(tmp_path, system, "lf1", "10.66.11.1/31", "10.66.11.9/24")
    found = findings_of(tmp_path)
    lines = path.read_text().split("\n")
    assert [each.severity for each in found] == [Severity.ERROR] * 2
    places = {lines[each.position.line - 1].strip() for each in found if each.position}
    assert len(places) == 2
    assert all("10.66.11." in text for text in places)


@pytest.mark.parametrize("system", FILES)
def test_subnets_side_by_side_are_in_order(system: str, tmp_path: Path) -> None:
    write(tmp_path, system, "lf1", "10.66.11.1/31", "10.66.11.3/31")
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("case", SILENT)
def test_addresses_that_do_not_compete_are_in_order(case: str, tmp_path: Path) -> None:
    first, second, more = SILENT[case]
    write(tmp_path, "eos", "lf1", first, second, more)
    assert findings_of(tmp_path) == []


def test_a_mask_that_covers_ports_of_another_switch_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "eos", "lf1", "10.66.11.1/31", "10.66.20.1/24")
    write(tmp_path, "eos", "lf2", "10.66.11.0/31", "10.66.20.128/31")
    found = findings_of(tmp_path)
    assert {Path(each.position.file).name for each in found if each.position} == {"lf1.cfg", "lf2.cfg"}
    assert all("10.66.20." in each.message for each in found)


def test_switches_that_no_link_joins_may_be_of_two_fabrics(tmp_path: Path) -> None:
    write(tmp_path, "nxos", "lf1", "10.66.11.1/31", "10.66.20.1/24")
    write(tmp_path, "nxos", "lf2", "10.66.11.0/31", "10.66.21.1/31")
    write(tmp_path, "nxos", "lf3", "10.66.12.1/31", "10.66.20.128/31")
    write(tmp_path, "nxos", "lf4", "10.66.12.0/31", "10.66.21.3/31")
    assert findings_of(tmp_path) == []


def test_a_mask_that_hides_the_only_link_of_a_switch_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "nxos", "lf1", "10.66.11.1/28", "10.66.20.1/31")
    write(tmp_path, "nxos", "lf2", "10.66.11.2/30", "10.66.21.1/31")
    assert len(findings_of(tmp_path)) == 2


def test_a_segment_of_several_switches_is_in_order(tmp_path: Path) -> None:
    write(tmp_path, "eos", "lf1", "10.66.11.1/31", "10.66.20.1/24")
    write(tmp_path, "eos", "lf2", "10.66.11.0/31", "10.66.20.2/24")
    assert findings_of(tmp_path) == []


def test_a_loopback_with_the_address_of_a_port_is_reported(tmp_path: Path) -> None:
    shared = "interface Loopback0\n   ip address 10.66.20.1/32\n"
    write(tmp_path, "eos", "lf1", "10.66.11.1/31", "10.66.20.1/24", shared)
    assert [each.message for each in findings_of(tmp_path)] == [
        "lf1: the loopback has 10.66.20.1, the address of Ethernet2"
    ]


def test_a_gateway_of_two_racks_is_reported_where_other_racks_have_subnets_of_their_own(
    tmp_path: Path,
) -> None:
    for number, subnet in ((1, 1), (2, 1), (3, 3)):
        more = f"interface Vlan10\n   ip address 10.77.{subnet}.1/24\n"
        first, second = f"10.66.{number}.0/31", f"10.67.{number}.0/31"
        write(tmp_path, "eos", f"lf{number}", first, second, more)
    assert {each.message for each in findings_of(tmp_path)} == {
        "lf1 Vlan10 has 10.77.1.1/24 of lf2: both announce the same hosts",
        "lf2 Vlan10 has 10.77.1.1/24 of lf1: both announce the same hosts",
    }
