"""A switch with BGP routes packets of every family that its links have addresses of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.interface import audit_folder
from fabricc.rules.forwarding import STILL

if TYPE_CHECKING:
    from pathlib import Path

EOS = """service routing protocols model multi-agent
hostname {name}
interface Ethernet1
   description {peer} Ethernet1
   no switchport
   ip address {address}
{routing}router bgp {asn}
   router-id 10.66.1.{number}
   neighbor {far} remote-as {other}
"""
FRR = """frr version 10.1
hostname {name}
{routing}interface swp1
 description {peer} swp1
 ip address {address}
exit
router bgp {asn}
 neighbor {far} remote-as {other}
exit
"""
CASES = {
    "routes": (EOS, "lf.cfg", "ip routing\n", False),
    "switched off": (EOS, "lf.cfg", "no ip routing\n", True),
    "not stated in a whole file": (EOS, "lf.cfg", "", True),
    "not stated in an excerpt": (
        EOS.replace("service routing protocols model multi-agent\n", ""),
        "lf.cfg",
        "",
        False,
    ),
    "IPv6 that no link has": (EOS, "lf.cfg", "ip routing\nno ipv6 unicast-routing\n", False),
    "FRR without a statement": (FRR, "frr.conf", "", False),
    "FRR switched off": (FRR, "frr.conf", "no ip forwarding\n", True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_switch_that_does_not_route_is_reported(case: str, tmp_path: Path) -> None:
    text, file, routing, wrong = CASES[case]
    for number, (name, peer) in enumerate((("lf1", "lf2"), ("lf2", "lf1"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(
            text.format(name=name, peer=peer, address=f"10.66.11.{number}/31", far=f"10.66.11.{1 - number}",
                        asn=65101 + number, other=65102 - number, number=number + 1, routing=routing)
        )  # fmt: skip
    found = [each.code for each in audit_folder(tmp_path, jobs=1).diagnostics if each.code == STILL]
    assert len(found) == (2 if wrong else 0)
