"""The same isolation faults, planted in the text of each system: each is found, and named the same."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from fractions import Fraction
from typing import NamedTuple

import pytest

from fabricc.back.nos import load
from fabricc.proof.invariants.rules import Ratio
from tests.proof.fabrics import Fault, change_files, find_breaches
from tests.proof.test_tenants import OTHER, find_codes
from tests.tenanted import EXPRESSED, SPINE, TOR, compiled_exits, fabric

RATIOS = {0: Ratio(Fraction(8, 7))}


class Plant(NamedTuple):
    """A change of text: an expression, what replaces it, and the device."""

    pattern: str
    into: str
    device: str = TOR


FAULTS: dict[str, tuple[str, dict[str, Plant]]] = {
    "a VRF imports the route target of another tenant": (
        "vrf[acme] has the route targets import",
        {
            "cumulus": Plant(r"(from-evpn:\n *route-target:\n *'65000:)20001", r"\g<1>20002"),
            "eos": Plant(r"route-target import evpn 65000:20001", "route-target import evpn 65000:20002"),
            "frr": Plant(r"route-target import 65000:20001", "route-target import 65000:20002"),
            "junos": Plant(
                r"vrf-target target:65000:20001;",
                "vrf-target {\n import target:65000:20002;\n export target:65000:20001;\n}",
            ),
            "nxos": Plant(r"route-target import 65000:20001 evpn", "route-target import 65000:20002 evpn"),
            "sonic": Plant(r"route-target import 65000:20001", "route-target import 65000:20002"),
        },
    ),
    "a VRF exports the route target of another tenant": (
        "vrf[globex] has the route targets import",
        {
            "cumulus": Plant(r"(to-evpn:\n *route-target:\n *'65000:)20002", r"\g<1>20001"),
            "eos": Plant(r"route-target export evpn 65000:20002", "route-target export evpn 65000:20001"),
            "frr": Plant(r"route-target export 65000:20002", "route-target export 65000:20001"),
            "junos": Plant(
                r"vrf-target target:65000:20002;",
                "vrf-target {\n import target:65000:20002;\n export target:65000:20001;\n}",
            ),
            "nxos": Plant(r"route-target export 65000:20002 evpn", "route-target export 65000:20001 evpn"),
            "sonic": Plant(r"route-target export 65000:20002", "route-target export 65000:20001"),
        },
    ),
    "two VRFs of a ToR have one VNI": (
        "vrf[globex] has VNI 20001, which vrf[acme] has too",
        {
            "cumulus": Plant(r"'20002': \{\}", "'20001': {}"),
            "eos": Plant(r"vxlan vrf globex vni 20002", "vxlan vrf globex vni 20001"),
            "frr": Plant(r"(vrf globex\n vni) 20002", r"\1 20001"),
            "junos": Plant(r"vni 20002;", "vni 20001;"),
            "nxos": Plant(r"vni 20002 l3", "vni 20001 l3"),
            "sonic": Plant(r"(vrf Vrfglobex\n vni) 20002", r"\1 20001"),
        },
    ),
    "a VRF has another VNI on one ToR": (
        "states for tenant vrf[acme] another VNI than other ToRs",
        {
            "cumulus": Plant(r"'20001': \{\}", "'20077': {}"),
            "eos": Plant(r"vxlan vrf acme vni 20001", "vxlan vrf acme vni 20077"),
            "frr": Plant(r"(vrf acme\n vni) 20001", r"\1 20077"),
            "junos": Plant(r"vni 20001;", "vni 20077;"),
            "nxos": Plant(r"vni 20001( l3| associate-vrf)", r"vni 20077\1"),
            "sonic": Plant(r"(vrf Vrfacme\n vni) 20001", r"\1 20077"),
        },
    ),
    "two tenants have one route target": (
        "the route target of tenant vrf[globex]",
        {
            "cumulus": Plant(r"65000:20003", "65000:20002", OTHER),
            "eos": Plant(r"65000:20003", "65000:20002", OTHER),
            "frr": Plant(r"65000:20003", "65000:20002", OTHER),
            "junos": Plant(r"65000:20003", "65000:20002", OTHER),
            "nxos": Plant(r"65000:20003", "65000:20002", OTHER),
            "sonic": Plant(r"65000:20003", "65000:20002", OTHER),
        },
    ),
    "a port to a host is in the table of the underlay": (
        "in the routing table that switches share",
        {
            "cumulus": Plant(r"( +)vrf: acme\n", ""),
            "eos": Plant(r"(rail2\n(?:.*\n){0,6}?)   vrf acme\n", r"\1"),
            "frr": Plant(r"(iface swp3\n    mtu 9050)\n    vrf acme", r"\1"),
            "junos": Plant(r"        interface et-0/0/2\.0;\n", ""),
            "nxos": Plant(r"(rail2\n(?:  .*\n)*?)  vrf member acme\n", r"\1"),
            "sonic": Plant(r'"vrf_name": "Vrfacme"\s*(\}[^}]*"Ethernet)', r"\1"),
        },
    ),
    "two VRFs have one route distinguisher": (
        "has the route distinguisher 10.128.0.0:20001, which vrf[acme] has too",
        {
            "cumulus": Plant(r"rd: 10.128.0.0:20002", "rd: 10.128.0.0:20001"),
            "eos": Plant(r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001"),
            "frr": Plant(r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001"),
            "junos": Plant(r"distinguisher 10.128.0.0:20002", "distinguisher 10.128.0.0:20001"),
            "nxos": Plant(r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001"),
            "sonic": Plant(r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001"),
        },
    ),
    "two ToRs have one route distinguisher": (
        "and its VTEP is 10.128.0.0",
        {
            "cumulus": Plant(r"rd: 10.128.0.0:20001\b", "rd: 10.128.0.4:20001"),
            "eos": Plant(r"rd 10.128.0.0:20001\b", "rd 10.128.0.4:20001"),
            "frr": Plant(r"rd 10.128.0.0:20001\b", "rd 10.128.0.4:20001"),
            "junos": Plant(r"distinguisher 10.128.0.0:20001", "distinguisher 10.128.0.4:20001"),
            "nxos": Plant(r"rd 10.128.0.0:20001\b", "rd 10.128.0.4:20001"),
            "sonic": Plant(r"rd 10.128.0.0:20001\b", "rd 10.128.0.4:20001"),
        },
    ),
    "a VRF does not announce its links": (
        "vrf[acme] does not announce its links as EVPN routes",
        {
            "cumulus": Plant(
                r"(acme:(?:.*\n){1,14}?.*route-export:\n *to-evpn:\n *enable:) 'on'", r"\1 'off'"
            ),
            "eos": Plant(r"(vrf acme\n(?:      .*\n)*?)      redistribute connected\n", r"\1"),
            "frr": Plant(r"  advertise ipv4 unicast\n", ""),
            "junos": Plant(
                r" +advertise direct-nexthop;\n(?=(?:.*\n){2} +vni 20001| +encapsulation vxlan;\n +vni 20001)",
                "",
            ),
            "nxos": Plant(r"  member vni 20001 associate-vrf\n", ""),
            "sonic": Plant(r"  advertise ipv4 unicast\n", ""),
        },
    ),
    "a tunnel does not carry code points": (
        "outer headers do not get the code point",
        {
            "cumulus": Plant(r"action: copy", "action: derive"),
            "eos": Plant(r"   vxlan qos dscp propagation encapsulation\n", ""),
            "frr": Plant(r"    up ip link set dev vni\d+ type vxlan tos inherit\n", ""),
            "junos": Plant(r"(forwarding-options \{\n)", r"\1    vxlan-disable-copy-tos-encap;\n"),
            "nxos": Plant(r"(interface nve1\n)", r"\1  qos-mode pipe\n"),
            "sonic": Plant(r'("vtep": \{\s*)("src_ip")', r'\1"qos-mode": "pipe", \2'),
        },
    ),
    "a tunnel does not carry marks": (
        "marks do not pass into and out of tunnels",
        {"eos": Plant(r"   vxlan qos ecn propagation\n", "")},
    ),
    "a VTEP has an address that nobody has a route to": (
        "FAB634",
        {
            "cumulus": Plant(r"(source:\n *address:) 10.128.0.0", r"\1 10.128.0.77"),
            "eos": Plant(r"vxlan source-interface Loopback0", "vxlan source-interface Loopback1"),
            "frr": Plant(r"vxlan-local-tunnelip 10.128.0.0", "vxlan-local-tunnelip 10.128.0.77"),
            "nxos": Plant(r"source-interface loopback0", "source-interface loopback1"),
            "sonic": Plant(r'"src_ip": "10.128.0.0"', '"src_ip": "10.128.0.77"'),
        },
    ),
    "packets of a host do not fit the underlay inside VXLAN": (
        "takes packets of 9100 bytes, and links between switches hold 9050 inside VXLAN",
        {
            "cumulus": Plant(r"mtu: 9050", "mtu: 9100"),
            "eos": Plant(r"mtu 9050", "mtu 9100"),
            "frr": Plant(r"(iface swp3\n    mtu) 9050", r"\1 9100"),
            "junos": Plant(r"mtu 9050", "mtu 9100"),
            "nxos": Plant(r"mtu 9050", "mtu 9100"),
            "sonic": Plant(r'"mtu": "9050"', '"mtu": "9100"'),
        },
    ),
    "the underlay announces a block of a tenant": (
        "the underlay announces 10.0.0.0/27, which has the link 10.0.0.0/31 of a tenant",
        {
            "cumulus": Plant(
                r"(default:\n *router:\n *bgp:\n *address-family:\n *ipv4-unicast:\n)( *)",
                r"\1\2aggregate-route:\n\2  10.0.0.0/27:\n\2    summary-only: 'on'\n\2",
            ),
            "eos": Plant(
                r"(   redistribute connected route-map)", r"   aggregate-address 10.0.0.0/27 summary-only\n\1"
            ),
            "frr": Plant(
                r"(  redistribute connected route-map)", r"  aggregate-address 10.0.0.0/27 summary-only\n\1"
            ),
            "junos": Plant(
                r"(    router-id 10.128.0.0;\n)",
                r"    aggregate {\n        route 10.0.0.0/27 discard;\n    }\n\1",
            ),
            "nxos": Plant(
                r"(    maximum-paths \d+\n)", r"\1    aggregate-address 10.0.0.0/27 summary-only\n"
            ),
            "sonic": Plant(
                r"(  redistribute connected route-map)", r"  aggregate-address 10.0.0.0/27 summary-only\n\1"
            ),
        },
    ),
    "a static route leads out of a VRF": (
        "vrf[acme] has routes from elsewhere",
        {
            "cumulus": Plant(
                r"(      acme:\n        evpn:\n(?:          .*\n)*)        router:\n",
                r"\1        router:\n          static:\n            0.0.0.0/0:\n"
                r"              address-family: ipv4-unicast\n              via:\n"
                r"                10.64.0.0:\n                  type: ipv4-address\n",
            ),
            "eos": Plant(r"(ip routing vrf acme\n)", r"\1ip route vrf acme 0.0.0.0/0 10.64.0.0\n"),
            "frr": Plant(
                r"(vrf acme\n vni 20001\n)", r"\1 ip route 0.0.0.0/0 10.64.0.0 nexthop-vrf default\n"
            ),
            "junos": Plant(
                r"(    acme \{\n)",
                r"\1        routing-options {\n static {\n route 0.0.0.0/0 next-table inet.0;\n }\n }\n",
            ),
            "nxos": Plant(r"(vrf context acme\n)", r"\1  ip route 0.0.0.0/0 10.64.0.0 vrf default\n"),
            "sonic": Plant(
                r"(vrf Vrfacme\n vni 20001\n)", r"\1 ip route 0.0.0.0/0 10.64.0.0 nexthop-vrf default\n"
            ),
        },
    ),
    "a VRF also imports the route target of another tenant": (
        "vrf[acme] has the route targets import 65000:20001,65000:20002",
        {
            "cumulus": Plant(
                r"(from-evpn:\n *route-target:\n)( *)'65000:20001': \{\}\n",
                r"\1\2'65000:20001': {}\n\2'65000:20002': {}\n",
            ),
            "eos": Plant(
                r"( *)route-target import evpn 65000:20001\n",
                r"\g<0>\1route-target import evpn 65000:20002\n",
            ),
            "frr": Plant(r"route-target import 65000:20001", r"\g<0> 65000:20002"),
            "junos": Plant(
                r"vrf-target target:65000:20001;",
                "vrf-target {\n target:65000:20001;\n import target:65000:20002;\n}",
            ),
            "nxos": Plant(
                r"( *)route-target import 65000:20001 evpn\n",
                r"\g<0>\1route-target import 65000:20002 evpn\n",
            ),
            "sonic": Plant(r"route-target import 65000:20001", r"\g<0> 65000:20002"),
        },
    ),
    "a VRF takes routes of the underlay": (
        "vrf[acme] has routes from elsewhere",
        {
            "cumulus": Plant(
                r"(      acme:\n(?:        .*\n)*?)( *)(route-export:\n)",
                r"\1\2route-import:\n\2  from-vrf:\n\2    enable: 'on'\n\2    list:\n\2      default: {}\n\2\3",
            ),
            "eos": Plant(
                r"\Z",
                "router general\n   vrf acme\n      leak routes source-vrf default subscribe-policy ALL\n",
            ),
            "frr": Plant(r"(vrf acme\n(?:.*\n)*?  redistribute connected\n)", r"\1  import vrf default\n"),
            "junos": Plant(
                r"(    acme \{\n)", r"\1        routing-options {\n instance-import FROM-DEFAULT;\n }\n"
            ),
            "nxos": Plant(
                r"    route-target import 65000:20001 evpn\n", r"    import vrf default map ALL\n\g<0>"
            ),
            "sonic": Plant(
                r"(bgp \d+ vrf Vrfacme\n(?:.*\n)*?  redistribute connected\n)", r"\1  import vrf default\n"
            ),
        },
    ),
    "a static route of the underlay leads into a VRF": (
        "a route of the table that switches share leads into vrf[acme]",
        {
            "cumulus": Plant(
                r"      default:\n        router:\n",
                r"\g<0>          static:\n            10.0.0.0/31:\n              address-family: ipv4-unicast\n"
                r"              via:\n                swp1:\n                  type: interface\n",
            ),
            "eos": Plant(r"ip routing vrf acme\n", r"\g<0>ip route 10.0.0.0/31 egress-vrf acme 10.0.0.1\n"),
            "frr": Plant(
                r"ip prefix-list CONNECTED", r"ip route 10.0.0.0/31 swp1 nexthop-vrf acme\n!\n\g<0>"
            ),
            "junos": Plant(
                r"(    router-id 10.128.0.0;\n)",
                r"    static {\n        route 10.0.0.0/31 next-table acme.inet.0;\n    }\n\1",
            ),
            "nxos": Plant(
                r"vrf context acme\n", r"ip route 10.0.0.0/31 Ethernet1/1 10.0.0.1 vrf acme\n\g<0>"
            ),
            "sonic": Plant(
                r"ip prefix-list CONNECTED", r"ip route 10.0.0.0/31 Ethernet0 nexthop-vrf Vrfacme\n!\n\g<0>"
            ),
        },
    ),
    "a VRF has no VNI on one ToR": (
        "FAB634",
        {
            "cumulus": Plant(r" *evpn:\n *enable: 'on'\n *vni:\n *'20001': \{\}\n", ""),
            "eos": Plant(r"   vxlan vrf acme vni 20001\n", ""),
            "frr": Plant(r"(vrf acme\n) vni 20001\n", r"\1"),
            "junos": Plant(r" +vni 20001;\n", ""),
            "nxos": Plant(r"  vni 20001 l3\n", ""),
            "sonic": Plant(r"(vrf Vrfacme\n) vni 20001\n", r"\1"),
        },
    ),
    "no VLAN interface has the VNI of a VRF": (
        "no VLAN interface has the VNI of vrf[globex]",
        {
            "frr": Plant(r"(iface vlan3\n(?:    .*\n)*)    vrf globex\n", r"\1"),
            "sonic": Plant(r'"vlan": "Vlan3"', '"vlan": "Vlan2"'),
        },
    ),
    "a session of a link has no EVPN routes": (
        "FAB6340 rack001-tor1a",
        {
            "cumulus": Plant(
                r"( *)(10\.64\.0\.0:\n)",
                r"\1\2\1  address-family:\n\1    l2vpn-evpn:\n\1      enable: 'off'\n",
            ),
            "frr": Plant(r"  advertise-all-vni\n", r"  no neighbor 10.64.0.0 activate\n\g<0>"),
        },
    ),
    "a spine does not filter EVPN routes of ToRs": (
        "FAB6340 spine01a",
        {
            "cumulus": Plant(r" +inbound:\n +route-map: EVPN-FROM-DOWNSTREAM\n", "", SPINE),
            "eos": Plant(r"      neighbor DOWNSTREAM route-map EVPN-FROM-DOWNSTREAM in\n", "", SPINE),
            "frr": Plant(r"  neighbor DOWNSTREAM-V4 route-map EVPN-FROM-DOWNSTREAM in\n", "", SPINE),
            "junos": Plant(r" +import EVPN-FROM-DOWNSTREAM;\n", "", SPINE),
            "nxos": Plant(r"      route-map EVPN-FROM-DOWNSTREAM in\n", "", SPINE),
            "sonic": Plant(r"  neighbor DOWNSTREAM-V4 route-map EVPN-FROM-DOWNSTREAM in\n", "", SPINE),
        },
    ),
    "a spine makes itself the next hop of EVPN routes": (
        "next hop",
        {
            "eos": Plant(r"      neighbor DOWNSTREAM next-hop-unchanged\n", "", SPINE),
            "junos": Plant(r" +no-nexthop-change;\n", "", SPINE),
            "nxos": Plant(r"  set ip next-hop unchanged\n", "", SPINE),
        },
    ),
    "a spine drops EVPN routes that it imports nowhere": (
        "route targets",
        {"nxos": Plant(r"    retain route-target all\n", "", SPINE)},
    ),
}


BORDER = "border01a"
OUTSIDE: dict[str, tuple[str, dict[str, Plant]]] = {
    "a link outside is in the VRF of another tenant": (
        "vrf[acme] has routes from elsewhere: static_route[198.51.100.0/24] 192.0.2.10",
        {
            "cumulus": Plant(r"(192\.0\.2\.9/29: \{\}\n *vrf:) acme", r"\1 globex"),
            "eos": Plant(r"vrf acme(\n   ip address 192\.0\.2\.9)", r"vrf globex\1"),
            "frr": Plant(r"(iface swp17\n    mtu 9050\n    vrf) acme", r"\1 globex"),
            "junos": Plant(
                r"        interface et-0/0/16\.0;\n((?:.*\n)*?        interface et-0/0/15\.0;\n)",
                r"\1        interface et-0/0/16.0;\n",
            ),
            "nxos": Plant(r"vrf member acme((?:\n  .*)?\n  ip address 192\.0\.2\.9)", r"vrf member globex\1"),
            "sonic": Plant(r'("Ethernet128": \{\s*"vrf_name": )"Vrfacme"', r'\1"Vrfglobex"'),
        },
    ),
    "a link outside is in the table of the underlay": (
        "leads outside and is in the routing table that switches share",
        {
            "cumulus": Plant(r"(192\.0\.2\.9/29: \{\}\n) *vrf: acme\n", r"\1"),
            "eos": Plant(r"   vrf acme\n(   ip address 192\.0\.2\.9)", r"\1"),
            "frr": Plant(r"(iface swp17\n    mtu 9050)\n    vrf acme", r"\1"),
            "junos": Plant(r"        interface et-0/0/16\.0;\n", ""),
            "nxos": Plant(r"  vrf member acme\n((?:  .*\n)?  ip address 192\.0\.2\.9)", r"\1"),
            "sonic": Plant(r'("Ethernet128": \{)\s*"vrf_name": "Vrfacme"\s*\}', r"\1}"),
        },
    ),
    "a route of a tenant leads out by the link of another": (
        "vrf[acme] has routes from elsewhere: static_route[198.51.100.0/24] 192.0.2.19",
        {
            "cumulus": Plant(r"192\.0\.2\.10:", "192.0.2.19:"),
            "eos": Plant(r"198\.51\.100\.0/24 192\.0\.2\.10", "198.51.100.0/24 192.0.2.19"),
            "frr": Plant(r"198\.51\.100\.0/24 192\.0\.2\.10", "198.51.100.0/24 192.0.2.19"),
            "junos": Plant(
                r"198\.51\.100\.0/24 next-hop 192\.0\.2\.10", "198.51.100.0/24 next-hop 192.0.2.19"
            ),
            "nxos": Plant(r"198\.51\.100\.0/24 192\.0\.2\.10", "198.51.100.0/24 192.0.2.19"),
            "sonic": Plant(r"198\.51\.100\.0/24 192\.0\.2\.10", "198.51.100.0/24 192.0.2.19"),
        },
    ),
    "packets for hosts of another tenant leave by a default route": (
        "vrf[acme] has a route outside and none that drops the fabric's own: what is for 10.0.0.0/10 leaves",
        {
            "cumulus": Plant(r" *10\.0\.0\.0/10:\n.*\n *via:\n *blackhole:\n.*blackhole\n", "", BORDER),
            "eos": Plant(r"ip route vrf acme 10\.0\.0\.0/10 Null0\n", "", BORDER),
            "frr": Plant(r" ip route 10\.0\.0\.0/10 blackhole\n", "", BORDER),
            "junos": Plant(r" +route 10\.0\.0\.0/10 discard;\n", "", BORDER),
            "nxos": Plant(r"  ip route 10\.0\.0\.0/10 Null0\n", "", BORDER),
            "sonic": Plant(r" ip route 10\.0\.0\.0/10 blackhole\n", "", BORDER),
        },
    ),
    "a route of a tenant leads to one of its hosts": (
        "vrf[acme] has routes from elsewhere: static_route[0.0.0.0/0] 10.0.0.1",
        {
            "cumulus": Plant(
                r"( *)198\.51\.100\.0/24:\n( *address-family: .*\n *via:\n *)192\.0\.2\.10:(\n.*\n)",
                r"\g<1>0.0.0.0/0:\n\g<2>10.0.0.1:\g<3>",
            ),
            "eos": Plant(r"(ip route vrf acme )198.*\n", r"\g<0>\g<1>0.0.0.0/0 10.0.0.1\n"),
            "frr": Plant(
                r" ip route 198\.51\.100\.0/24 192\.0\.2\.10\n", r"\g<0> ip route 0.0.0.0/0 10.0.0.1\n"
            ),
            "junos": Plant(
                r"( +)route 198\.51\.100\.0/24 next-hop 192\.0\.2\.10;\n",
                r"\g<0>\1route 0.0.0.0/0 next-hop 10.0.0.1;\n",
            ),
            "nxos": Plant(
                r"  ip route 198\.51\.100\.0/24 192\.0\.2\.10\n", r"\g<0>  ip route 0.0.0.0/0 10.0.0.1\n"
            ),
            "sonic": Plant(
                r" ip route 198\.51\.100\.0/24 192\.0\.2\.10\n", r"\g<0> ip route 0.0.0.0/0 10.0.0.1\n"
            ),
        },
    ),
}
"""Faults of links outside."""


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "dual"), [(nos, dual) for nos in EXPRESSED for dual in (False, True)])
def test_outside_parties_of_tenants_as_planned_break_no_rule(nos: str, dual: bool) -> None:
    """Break no rule with both families either, of which two parties use one alone."""
    built = compiled_exits(nos, dual=dual).fabric
    assert built is not None
    assert find_breaches(built, Fault(), RATIOS) == []


@pytest.mark.spread
@pytest.mark.parametrize(
    ("name", "nos"), [(name, nos) for name, (_, plants) in OUTSIDE.items() for nos in plants]
)
def test_a_fault_of_a_link_outside_is_found_on_each_system(name: str, nos: str) -> None:
    message, plants = OUTSIDE[name]
    pattern, into, device = plants[nos]
    built = compiled_exits(nos).fabric
    assert built is not None
    reported = [each.message for each in find_breaches(built, change_files(device, (pattern, into)), RATIOS)]
    assert any(message in each for each in reported), reported


@pytest.mark.spread
@pytest.mark.parametrize(
    ("name", "nos"), [(name, nos) for name, (_, plants) in FAULTS.items() for nos in plants]
)
def test_a_fault_is_found_on_each_system(name: str, nos: str) -> None:
    message, plants = FAULTS[name]
    pattern, into, device = plants[nos]
    reported = find_codes(nos, change_files(device, (pattern, into)))
    assert any(message in each for each in reported), reported


def changed_lines(before: str, after: str) -> list[tuple[str, int, int, int, int]]:
    """Return the operations that make one text of another, but for what stays."""
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return [each for each in matcher.get_opcodes() if each[0] != "equal"]


ONE_WAY = [name for name, (message, _) in FAULTS.items() if "has the route targets import" in message]


@pytest.mark.spread
@pytest.mark.parametrize(("name", "nos"), [(name, nos) for name in ONE_WAY for nos in EXPRESSED])
def test_a_foreign_route_target_is_found_at_its_line(name: str, nos: str) -> None:
    _, plants = FAULTS[name]
    pattern, into, device = plants[nos]
    built = fabric(nos)
    switch = next(each for each in map(built.switch, built.switch_ids()) if each.name == device)
    changed = {
        (f"switches/{device}/{file}", number)
        for file, text in load(nos).render(switch).items()
        for _, _, _, first, last in changed_lines(text, re.sub(pattern, into, text))
        for number in range(first + 1, last + 1)
    }
    reported = find_breaches(built, change_files(device, (pattern, into)), RATIOS)
    assert {(each.file, each.line) for each in reported if "has the route targets" in each.message} <= changed


def test_every_fault_of_isolation_is_planted_on_every_system() -> None:
    some = {name for name, (_, plants) in FAULTS.items() if plants.keys() != set(EXPRESSED)}
    assert some == {
        "no VLAN interface has the VNI of a VRF",  # where VNIs of VRFs are in VLANs
        "a session of a link has no EVPN routes",  # where a neighbor can differ from its group
        "a tunnel does not carry marks",  # the others have no setting for it
        "a VTEP has an address that nobody has a route to",  # that of Junos is its loopback
        "a spine makes itself the next hop of EVPN routes",  # FRR keeps next hops as they come
        "a spine drops EVPN routes that it imports nowhere",
    }
