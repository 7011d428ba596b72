"""Sessions that are up and carry nothing, and routes that drop traffic for an address of another switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder
from tests.audit.test_field_designs import write_fabric

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = {
    "import": (
        "route-map ALL in",
        "route-map NOTHING in",
        "FAB9664",
        "the import policy NOTHING permits none",
    ),
    "export": (
        "route-map OUT out",
        "route-map NOTHING out",
        "FAB9664",
        "the export policy NOTHING permits none",
    ),
    "discard": (
        "router bgp",
        "ip route 10.0.2.3/32 Null0\nrouter bgp",
        "FAB9660",
        "drops traffic for 10.0.2.3/32",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_switch_is_reported_there(fault: str, tmp_path: Path) -> None:
    old, new, code, words = FAULTS[fault]
    write_fabric(tmp_path, "permit ^$")
    path = tmp_path / "leaf1" / "frr.conf"
    text = path.read_text().replace(old, new)
    path.write_text(f"{text}route-map NOTHING deny 10\nexit\n")
    found = [each for each in audit_folder(tmp_path, jobs=1).findings if words in each.message]
    assert [each.code for each in found] == [code]
    assert found[0].severity is not Severity.NOTE
    assert found[0].message.startswith("leaf1")


def test_a_sound_fabric_has_no_such_finding(tmp_path: Path) -> None:
    write_fabric(tmp_path, "permit ^$")
    found = [each.message for each in audit_folder(tmp_path, jobs=1).findings]
    assert not any("permits none" in each or "drops traffic" in each for each in found)


@pytest.mark.parametrize("words", ["privilege 15 ", "role network-operator ", ""])
def test_an_account_without_a_password_is_reported_in_every_form(words: str, tmp_path: Path) -> None:
    text = f"hostname a\nusername guest {words}nopassword\nrouter bgp 65001\n   router-id 10.0.0.1\n"
    (tmp_path / "a.cfg").write_text(text)
    found = audit_folder(tmp_path, jobs=1).findings
    assert "FAB9672" in {each.code for each in found if "guest" in each.message}


NEIGHBORS = {
    "eos": ("running-config.cfg", "router bgp 65001\n   neighbor {} remote-as 65002\n"),
    "nxos": ("running-config.cfg", "feature bgp\nrouter bgp 65001\n  neighbor {}\n    remote-as 65002\n"),
    "frr": ("frr.conf", "router bgp 65001\n neighbor {} remote-as 65002\n"),
    "sonic": ("frr.conf", "router bgp 65001\n neighbor {} remote-as 65002\n"),
    "junos": ("juniper.conf", "protocols {{\n    bgp {{\n        group g {{\n            type external;\n"
              "            neighbor {} {{\n                peer-as 65002;\n            }}\n        }}\n    }}\n}}\n"),
    "cumulus": ("startup.yaml", "- header:\n    model: x\n- set:\n    vrf:\n      default:\n        router:\n"
                "          bgp:\n            neighbor:\n              {}:\n                remote-as: 65002\n"
                "                type: numbered\n"),
}  # fmt: skip


@pytest.mark.parametrize("system", NEIGHBORS)
def test_an_ipv6_neighbor_has_one_name_however_it_is_written(system: str) -> None:
    file, text = NEIGHBORS[system]
    reading = back_ends.load(system).read({file: text.format("2001:DB8:0::0")})
    names = {path.partition("]")[0] for path in reading.facts if path.startswith("bgp/neighbor[")}
    assert names == {"bgp/neighbor[2001:db8::"}
    assert reading.facts["bgp/neighbor[2001:db8::]/remote_asn"] == 65002


LEAF = """hostname lf{n}
interface Loopback0
   ip address 10.66.1.{n}/32
interface Ethernet1
   no switchport
   ip address 10.66.11.{n}/31
router bgp 6510{n}
   neighbor 10.66.0.1 remote-as 65000
   neighbor 10.66.0.1 update-source Loopback0
   neighbor 10.66.0.1 ebgp-multihop 3
{shut}   neighbor 10.66.11.0 remote-as 65000
   address-family evpn
      neighbor 10.66.0.1 activate
"""


@pytest.mark.parametrize("shut", [True, False])
def test_a_switch_whose_evpn_sessions_are_all_shut_is_reported(shut: bool, tmp_path: Path) -> None:
    line = "   neighbor 10.66.0.1 shutdown\n" if shut else ""
    for n in (1, 3):
        (tmp_path / f"lf{n}.cfg").write_text(LEAF.format(n=n, shut=line))
    found = [
        each for each in audit_folder(tmp_path, jobs=1).findings if "all that carry EVPN" in each.message
    ]
    assert {each.severity for each in found} == ({Severity.WARNING} if shut else set())
