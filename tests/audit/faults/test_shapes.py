"""Faults of fabrics with IPv6, unnumbered links or EVPN are found at their lines, as those of plain fabrics are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.audit.faults.edits import add, replace
from tests.audit.faults.fabric import audit_altered, build_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

CPU = """\
ipv6 access-list CPU
   10 deny tcp any any eq bgp
   20 permit ipv6 any any
!
system control-plane
   ipv6 access-group CPU in
!
"""
CASES = [
    ("unnumbered", "eos", "rack002-leaf", "FAB9679", "   vrf RED",
     replace(r"(^   description x0\d .*\n)", r"\1   vrf RED\n", count=1)),
    ("unnumbered", "nxos", "x01", "FAB9680", "ip route 198.51.100.0/24 192.0.2.77",
     add("ip route 198.51.100.0/24 192.0.2.77\n", before="^vrf context")),
    ("ipv6", "eos", "rack002-leaf", "FAB9662", "   10 deny tcp any any eq bgp",
     add(CPU, before="^router bfd")),
    ("tenants", "nxos", "rack002-leaf", "FAB9676", "route-map CONNECTED deny 10",
     replace("^route-map CONNECTED permit 10", "route-map CONNECTED deny 10")),
    ("tenants", "eos", "x02", "FAB9675", "   neighbor DOWNSTREAM next-hop-unchanged",
     replace("^   neighbor DOWNSTREAM bfd$", r"\g<0>\n   neighbor DOWNSTREAM next-hop-unchanged")),
    ("segments", "eos", "rack002-leaf", "FAB9675", "   shutdown",
     replace("^   switchport access vlan .*", r"\g<0>\n   shutdown")),
    ("plain", "eos", "rack002-leaf", "FAB9680", "ip route 10.128.0.0/32 10.64.2.1",
     add("ip route 10.128.0.0/32 10.64.2.1\n", before="^router bgp")),
    ("plain", "eos", "rack002-leaf", "FAB9695", "route-map FROM-UPSTREAM permit 5",
     add("route-map FROM-UPSTREAM permit 5\n!\n", before="^route-map FROM-UPSTREAM permit 10")),
    ("plain", "eos", "rack002-leaf", "FAB9671", "   10 permit 0.0.0.0 255.255.255.255",
     replace("permit 192.0.2.0/24", "permit 0.0.0.0 255.255.255.255")),
    ("plain", "eos", "rack002-leaf", "FAB9679", "      neighbor 10.64.2.0 remote-as 65000",
     replace("^      neighbor UPSTREAM activate\n",
             r"\g<0>   !\n   vrf BLUE\n      rd 1:1\n      neighbor 10.64.2.0 remote-as 65000\n")),
    ("plain", "eos", "rack002-leaf", "FAB6209", "   network 172.16.0.0/16",
     replace("^   neighbor UPSTREAM peer group\n", r"\g<0>   network 172.16.0.0/16\n")),
    ("plain", "nxos", "rack002-leaf", "FAB9675", "  ip address 10.64.2.1/31",
     replace(r"(description x01 .*\n)  no switchport\n", r"\1", count=1)),
    ("unnumbered", "eos", "rack002-leaf", "FAB9610", "ntp server vrf MGMT 192.0.2.211 iburst",
     replace("192.0.2.10 iburst", "192.0.2.211 iburst")),
    ("tenants", "nxos", "rack002-leaf", "FAB9060", "  source-interface loopback0",
     replace("^feature nv overlay\n", "")),
    ("ipv6", "nxos", "rack002-leaf", "FAB9681", "  ipv6 address fd00:0:2::4/120",
     replace(r"fd00:0:2::4/128", "fd00:0:2::4/120")),
]  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(("form", "system", "name", "code", "line", "edit"), CASES)
def test_a_fault_is_found_at_its_line(
    form: str, system: str, name: str, code: str, line: str, edit: Callable[[Files], Files]
) -> None:
    files = edit(dict(build_texts(system, form)[name]))
    found = audit_altered(system, {name: files}, form=form)
    ((file, text),) = files.items()
    lines = {
        text.split("\n")[each.line - 1]
        for each in found
        if (each.code, each.file) == (code, f"{name}/{file}")
    }
    assert line in lines


def test_loopbacks_without_an_address_are_found_on_all_switches() -> None:
    edit = replace(r"(?<=^interface Loopback0\n)(.*\n)*?   ip address .*\n", "")
    texts = {name: edit(dict(files)) for name, files in build_texts("eos", "unnumbered").items()}
    found = audit_altered("eos", texts, form="unnumbered")
    assert {each.file.partition("/")[0] for each in found if each.code == "FAB9676"} >= {"rack001-leaf"}


@pytest.mark.slow
def test_subnets_of_shut_ports_need_not_be_announced() -> None:
    files = build_texts("nxos")["rack002-leaf"]
    kept = replace(r"^ip prefix-list CONNECTED-V4 seq 10 .*\n", "")(dict(files))
    shut = replace(r"^(  description rack\d+-host.*\n)((?:  .*\n)*?)  no shutdown\n", r"\1\2  shutdown\n")(
        kept
    )
    codes = [
        {each.code for each in audit_altered("nxos", {"rack002-leaf": each}) if "rack002-leaf" in each.file}
        for each in (kept, shut)
    ]
    assert ["FAB9676" in each for each in codes] == [True, False]
