"""Isolation of tenants is proved from the files: each planted fault of a ToR or spine is found, and named."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fabricc.proof.invariants.rules import Ratio
from tests.proof.fabrics import Fault, change_files, find_breaches
from tests.tenanted import EXPRESSED, SPINE, TOR, compiled, fabric

RATIOS = {0: Ratio(Fraction(1))}
OTHER = "rack002-tor1a"


def find_codes(nos: str, fault: Fault, *, dual: bool = False, spines: bool = True) -> list[str]:
    """Return what the rules find in the files of a fabric with a fault."""
    reported = find_breaches(
        fabric(nos, dual=dual, spines=spines), fault, RATIOS if spines else {1: Ratio(Fraction(1))}
    )
    return sorted({f"{each.code} {each.message}" for each in reported})


@pytest.mark.parametrize(
    ("nos", "dual", "spines"),
    [
        *((nos, dual, True) for nos in EXPRESSED for dual in (False, True)),
        *((nos, True, False) for nos in EXPRESSED),
    ],
)
def test_tenants_as_planned_break_no_rule(nos: str, dual: bool, spines: bool) -> None:
    assert find_codes(nos, Fault(), dual=dual, spines=spines) == []


@pytest.mark.parametrize("nos", EXPRESSED)
def test_most_tors_may_have_no_tenant(nos: str) -> None:
    spec = "  acme: {hosts: [rack001-host01]}\n"
    one = compiled(nos, tenants=spec, hosts=6).fabric
    assert one is not None
    assert find_breaches(one, Fault(), RATIOS) == []


FAULTS = {
    "a port in the routing table that switches share": (
        change_files(TOR, (r"(iface swp3\n    mtu 9050)\n    vrf acme", r"\1")),
        f"FAB6341 {TOR}: swp3 leads to a host and is in the routing table that switches share",
    ),
    "a port in a VRF that the ToR does not have": (
        change_files(TOR, (r"(iface swp3\n    mtu 9050)\n    vrf acme", r"\1\n    vrf shared")),
        f"FAB6341 {TOR}: swp3 is in the VRF shared, which has no VNI here",
    ),
    "a VRF that imports the route target of another": (
        change_files(TOR, (r"(  route-target import 65000:20001)", r"\1 65000:20002")),
        f"FAB6341 {TOR}: vrf[acme] has the route targets import 65000:20001,65000:20002 export 65000:20001: "
        "it exchanges routes with another VRF",
    ),
    "a VRF that exports the route target of another": (
        change_files(TOR, (r"route-target export 65000:20002", "route-target export 65000:20001")),
        f"FAB6341 {TOR}: vrf[globex] has the route targets import 65000:20002 export 65000:20001: "
        "it exchanges routes with another VRF",
    ),
    "a VNI of two VRFs on one ToR": (
        change_files(TOR, (r"(vrf globex\n vni) 20002", r"\1 20001")),
        f"FAB6340 {TOR}: vrf[globex] has VNI 20001, which vrf[acme] has too",
    ),
    "a VRF with another VNI on one ToR": (
        change_files(TOR, (r"(vrf acme\n vni) 20001", r"\1 20077")),
        f"FAB6340 {OTHER} states for tenant vrf[acme] another VNI than other ToRs",
    ),
    "a route target of two tenants on two ToRs": (
        change_files(OTHER, (r"65000:20003", "65000:20002")),
        f"FAB6341 {OTHER} gives tenant vrf[shared] the route target of tenant vrf[globex]",
    ),
    "a route distinguisher of two VRFs": (
        change_files(TOR, (r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001")),
        f"FAB6341 {TOR}: vrf[globex] has the route distinguisher 10.128.0.0:20001, which vrf[acme] has too",
    ),
    "a route distinguisher of another ToR": (
        change_files(TOR, (r"rd 10.128.0.0:20001\b", "rd 10.128.0.4:20001")),
        f"FAB6341 {TOR}: vrf[acme] has the route distinguisher 10.128.0.4:20001, and its VTEP is 10.128.0.0",
    ),
    "a VRF that does not announce its links": (
        change_files(TOR, (r"  advertise ipv4 unicast\n", "")),
        f"FAB6341 {TOR}: vrf[acme] does not announce its links as EVPN routes",
    ),
    "outer headers without the code point": (
        change_files(TOR, (r"    up ip link set dev vni\d+ type vxlan tos inherit\n", "")),
        f"FAB6341 {TOR}: outer headers do not get the code point, so that links between switches lose packets",
    ),
    "an MTU without room for VXLAN": (
        change_files(TOR, (r"(iface swp3\n    mtu) 9050", r"\1 9100")),
        f"FAB6341 {TOR}: swp3 takes packets of 9100 bytes, and links between switches hold 9050 inside VXLAN",
    ),
    "links of tenants in the underlay": (
        change_files(TOR, (r"(address-family ipv4 unicast\n)(  redistribute connected route-map)",
                   r"\1  aggregate-address 10.0.0.0/27 summary-only\n\2")),
        f"FAB6341 {TOR}: the underlay announces 10.0.0.0/27, which has the link 10.0.0.0/31 of a tenant",
    ),
    "a VRF that imports the routes of another": (
        change_files(
            TOR,
            (r"(vrf acme\n bgp router-id .*\n !\n address-family ipv4 unicast\n)", r"\1  import vrf globex\n"),
        ),
        f"FAB6341 {TOR}: vrf[acme] has routes from elsewhere: bgp/setting[ipv4 import vrf globex] true",
    ),
    "a default route in a VRF": (
        change_files(TOR, (r"(vrf acme\n vni 20001\n)", r"\1 ip route 0.0.0.0/0 10.64.0.0 nexthop-vrf default\n")),
        f"FAB6341 {TOR}: vrf[acme] has routes from elsewhere: static_route[0.0.0.0/0] ",
    ),
    "a VRF whose VNI no VLAN interface carries": (
        change_files(TOR, (r"(iface vlan2\n(?:    .*\n)*)    vrf acme\n", r"\1")),
        f"FAB6341 {TOR}: no VLAN interface has the VNI of vrf[acme]",
    ),
    "a VTEP at another address": (
        change_files(TOR, (r"vxlan-local-tunnelip 10.128.0.0", "vxlan-local-tunnelip 10.128.0.4")),
        f"FAB6340 {TOR}: its VTEP is 10.128.0.4, and its loopback 10.128.0.0/32: "
        "no switch routes to another address of it",
    ),
    "a spine that carries no EVPN routes": (
        change_files(SPINE, (r"  neighbor DOWNSTREAM-V4 route-map EVPN-FROM-DOWNSTREAM in\n", "")),
        f"FAB6340 {SPINE}: swp1 has no filter of EVPN routes for import",
    ),
}  # fmt: skip


OTHERS = {
    "sonic": (
        (r'"vrf_name": "Vrfacme",?\s*', "", "in the routing table that switches share"),
        (r"(  route-target import 65000:20001)", r"\1 65000:20002",
         "vrf[acme] has the route targets import 65000:20001,65000:20002 export 65000:20001"),
        (r'("Vlan2": \{\s*)"vrf_name": "Vrfacme"', r"\1", "no VLAN interface has the VNI of vrf[acme]"),
        (r'"vlan": "Vlan3"', '"vlan": "Vlan2"', "no VLAN interface has the VNI of vrf[globex]"),
        (r'("Vrfacme": \{\s*)("vni": "20001")', r'\1"fallback": "true", \2', "vrf[acme] has routes from elsewhere"),
        (r'"mtu": "9050"', '"mtu": "9100"', "takes packets of 9100 bytes"),
        (r"(vrf Vrfacme\n vni 20001\n)", r"\1 ip route 0.0.0.0/0 10.64.0.0 nexthop-vrf default\n",
         "vrf[acme] has routes from elsewhere"),
        (r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001", "the route distinguisher 10.128.0.0:20001, which vrf[acme]"),
        (r"  advertise ipv4 unicast\n", "", "vrf[acme] does not announce its links as EVPN routes"),
        (r'("vtep": \{\s*)("src_ip")', r'\1"qos-mode": "pipe", \2', "outer headers do not get the code point"),
    ),
    "cumulus": (
        (r"action: copy", "action: derive", "outer headers do not get the code point"),
        (r"action: preserve", "action: derive", "packets leave tunnels with another code point"),
        (r"(from-evpn:\n *route-target:\n *'65000:)20001", r"\g<1>20002",
         "vrf[acme] has the route targets import 65000:20002 export 65000:20001"),
    ),
    "nxos": (
        (r"(rail2\n(?:  .*\n)*?)  vrf member acme\n", r"\1", "in the routing table that switches share"),
        (r"    route-target import 65000:20001 evpn\n", "    route-target import 65000:20002 evpn\n",
         "vrf[acme] has the route targets import 65000:20002 export 65000:20001"),
        (r"  member vni 20001 associate-vrf\n", "", "vrf[acme] does not announce its links as EVPN routes"),
        (r"      redistribute direct route-map TENANT-LINKS\n", "", "does not announce its links as EVPN routes"),
        (r"rd 10.128.0.0:20002", "rd 10.128.0.0:20001", "the route distinguisher 10.128.0.0:20001, which vrf[acme]"),
        (r"(interface nve1\n)", r"\1  qos-mode pipe\n", "outer headers do not get the code point"),
        (r"(vrf context acme\n)", r"\1  ip route 0.0.0.0/0 10.64.0.0 vrf default\n",
         "vrf[acme] has routes from elsewhere"),
        (r"(route-target import 65000:20001 evpn\n)", r"\1    import vrf default map SHARED\n",
         "vrf[acme] has routes from elsewhere"),
        (r"(rail3\n(?:  .*\n)*?  mtu) 9050", r"\1 9100", "takes packets of 9100 bytes"),
    ),
    "eos": (
        (r"   vxlan qos ecn propagation\n", "", "marks do not pass into and out of tunnels"),
        (r"   vxlan qos dscp propagation encapsulation\n", "", "outer headers do not get the code point"),
        (r"(   vrf acme\n      rd .*\n      route-target import evpn 65000:)20001", r"\g<1>20002",
         "vrf[acme] has the route targets import 65000:20002 export 65000:20001"),
        (r"(rail2\n(?:.*\n){0,6}?)   vrf acme\n", r"\1", "in the routing table that switches share"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nos", "at"), [(nos, at) for nos, rows in OTHERS.items() for at in range(len(rows))]
)
def test_a_planted_fault_of_another_system_is_found(nos: str, at: int) -> None:
    pattern, into, message = OTHERS[nos][at]
    reported = find_codes(nos, change_files(TOR, (pattern, into)))
    assert any(each.startswith(f"FAB6341 {TOR}: ") and message in each for each in reported), reported


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    fault, wanted = FAULTS[name]
    reported = find_codes("frr", fault)
    assert any(each.startswith(wanted) for each in reported), reported


def test_without_spines_a_vrf_that_falls_back_to_the_main_table_is_found() -> None:
    fault = change_files("su001-tor1a", (r"    up ip -4 route replace unreachable .*table 1004\n", ""))
    reported = find_codes("frr", fault, dual=True, spines=False)
    assert any("swp2 is in the VRF globex, which is not isolated here" in each for each in reported), reported


JUNOS = {
    "a port in the table of the underlay": (
        (r"        interface et-0/0/1.0;\n", ""),
        "et-0/0/1 leads to a host and is in the routing table that switches share",
    ),
    "a route into the table of the underlay": (
        (
            r"(instance-type virtual-router;\n)",
            r"\1routing-options { static { route 0.0.0.0/0 next-table inet.0; } }\n",
        ),
        "vrf[acme] has routes from elsewhere",
    ),
    "routes of all instances in each": (
        (r"(instance-type virtual-router;\n)", r"\1routing-options { auto-export; }\n"),
        "which is not isolated here",
    ),
}


@pytest.mark.parametrize("name", JUNOS)
def test_a_fault_of_a_virtual_router_is_found(name: str) -> None:
    change, message = JUNOS[name]
    reported = find_codes("junos", change_files("su001-tor1a", change), dual=True, spines=False)
    assert any(message in each for each in reported), reported
