"""A subnet left in the default VRF that holds the link of a tenant is reported, and one of another space is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.interface import audit_folder
from fabricc.rules.overlaps import LEFTOVER

if TYPE_CHECKING:
    from pathlib import Path

JUNOS = """system {{ host-name leaf1; }}
interfaces {{
    et-0/0/1 {{ unit 0 {{ family inet {{ address 10.200.8.15/31; }} }} }}
    et-0/0/2 {{ unit 0 {{ family inet {{ address 10.0.2.1/31; }} }} }}
    irb {{ unit 10 {{ family inet {{ address {irb}; }} }} }}
}}
policy-options {{
    policy-statement OUT {{ term direct {{ from protocol {announced}; then accept; }} term rest {{ then reject; }} }}
}}
routing-instances {{
    acme {{
        instance-type vrf;
        protocols {{ evpn {{ ip-prefix-routes {{ advertise direct-nexthop; encapsulation vxlan; vni 20001; }} }} }}
        interface et-0/0/1.0;
        route-distinguisher 10.0.1.10:2001;
        vrf-target target:20001:1;
    }}
}}
routing-options {{ router-id 10.0.1.10; autonomous-system 65010; }}
protocols {{ bgp {{ group up {{ neighbor 10.0.2.0 {{ export OUT; peer-as 65000; }} }} }} }}
"""
EOS = """hostname leaf1
interface Ethernet1
   no switchport
   vrf acme
   ip address 10.200.8.15/31
interface Ethernet2
   no switchport
   ip address {irb}
vrf instance acme
ip routing
ip routing vrf acme
interface Loopback0
   ip address 10.0.1.10/32
interface Vxlan1
   vxlan source-interface Loopback0
   vxlan vrf acme vni 20001
router bgp 65010
   {announced}
   neighbor 10.0.2.0 remote-as 65000
   vrf acme
      rd 10.0.1.10:20001
      route-target import evpn 65000:20001
      route-target export evpn 65000:20001
      redistribute connected
"""
TEXTS = {
    "junos": (JUNOS, "direct", "static"),
    "eos": (EOS, "redistribute connected", "maximum-paths 64"),
}


@pytest.mark.parametrize("system", TEXTS)
@pytest.mark.parametrize(
    ("irb", "announces", "found"),
    [("10.200.8.1/24", True, True), ("10.200.9.1/24", True, False), ("10.200.8.1/24", False, False)],
)
def test_a_subnet_of_the_default_vrf_that_holds_a_tenants_link_is_reported(
    tmp_path: Path, system: str, irb: str, announces: bool, found: bool
) -> None:
    text, yes, no = TEXTS[system]
    (tmp_path / f"leaf1.{'conf' if system == 'junos' else 'cfg'}").write_text(
        text.format(irb=irb, announced=yes if announces else no)
    )
    findings = [each for each in audit_folder(tmp_path).diagnostics if each.code == LEFTOVER]
    assert bool(findings) is found
    if found:
        assert "10.200.8.15/31" in findings[0].message
        position = findings[0].position
        assert position is not None
        (file,) = tmp_path.iterdir()
        assert irb in file.read_text().splitlines()[position.line - 1]


PFC = """class-of-service {
    classifiers { dscp D { forwarding-class NO-LOSS { loss-priority low code-points 011010; } } }
    congestion-notification-profile P {
        pfc-watchdog;
        input { dscp { code-point 011010 { pfc; } } }
        output { ieee-802.1 { code-point 011 { flow-control-queue 4; } } }
    }
    forwarding-classes { class NO-LOSS queue-num 4 no-loss pfc-priority 3; }
    interfaces { et-* { congestion-notification-profile P; unit * { classifiers { dscp D; } } } }
}
"""


@pytest.mark.parametrize(
    ("unit", "warned"),
    [
        ("mtu 9216; unit 0 { family inet { mtu 9170; address 10.0.2.1/31; } family inet6; }", False),
        ("mtu 1600; unit 0 { family inet { mtu 1500; address 10.0.2.1/31; } family inet6; }", True),
        ("unit 0 { family inet; }", False),
    ],
)
def test_a_port_of_two_families_has_the_smaller_mtu_and_one_without_addresses_carries_nothing(
    tmp_path: Path, unit: str, warned: bool
) -> None:
    used = "et-0/0/2 { mtu 9216; unit 0 { family inet { mtu 9000; address 10.0.2.3/31; } } }"
    text = f"system {{ host-name leaf1; }}\ninterfaces {{ et-0/0/1 {{ {unit} }} {used} }}\n{PFC}"
    (tmp_path / "leaf1.conf").write_text(text)
    codes = [each.code for each in audit_folder(tmp_path).diagnostics]
    assert ("FAB9669" in codes) is warned
