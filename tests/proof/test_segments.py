"""Segments are proved from the files: each planted fault of one ToR or spine is found and named correctly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.proof.invariants.rules import Ratio
from tests.proof.fabrics import Fault, change_files, find_breaches
from tests.segmented import SPINE, TOR, segmented_fabric

if TYPE_CHECKING:
    from pathlib import Path


RATIOS = {0: Ratio(Fraction(1))}


def list_findings(
    fault: Fault, asn: str = "shared", *, dual: bool = False, links: str = "numbered"
) -> list[str]:
    found = find_breaches(segmented_fabric("frr", asn=asn, dual=dual, links=links), fault, RATIOS)
    return sorted({f"{each.code} {each.message}" for each in found})


@pytest.mark.parametrize("asn", ["shared", "unique"])
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("links", ["numbered", "unnumbered"])
def test_segments_as_planned_break_no_invariant(asn: str, dual: bool, links: str) -> None:
    assert list_findings(Fault(), asn, dual=dual, links=links) == []


FAULTS = {
    "another VNI": (
        change_files(TOR, ("(vxlan-id|vni|iface|auto) (vni)?10110", r"\1 \g<2>10111"), (" vni10110 ", " vni10111 ")),
        f"FAB6340 {TOR} states for segment[110] another VNI than other ToRs",
    ),
    "another route target": (
        change_files(TOR, ("65000:10110", "65000:10119")),
        f"FAB6340 {TOR} states for segment[110] another route target than other ToRs",
    ),
    "imports alone of another route target": (
        change_files(TOR, ("import 65000:10110", "import 65000:10119")),
        f"FAB6340 {TOR} states for segment[110] another route target than other ToRs",
    ),
    "another gateway": (
        change_files(TOR, ("10.20.0.1/22", "10.20.0.2/22")),
        f"FAB6340 {TOR} states for segment[110] another IPv4 gateway than other ToRs",
    ),
    "another subnet": (
        change_files(TOR, ("10.20.0.1/22", "10.20.0.1/23")),
        f"FAB6340 {TOR} states for segment[110] another IPv4 gateway than other ToRs",
    ),
    "another anycast MAC": (
        change_files(TOR, ("00:00:5e:00:01:01", "00:00:5e:00:01:02")),
        f"FAB6340 {TOR} states for the anycast gateways another MAC than other ToRs",
    ),
    "another VNI of the VRF": (
        change_files(TOR, (r"vrf tenants\n vni 13001", "vrf tenants\n vni 13002")),
        f"FAB6340 {TOR} states for vrf[tenants] another VNI than other ToRs",
    ),
    "two segments of one VNI": (
        change_files(TOR, ("vxlan-id 10120", "vxlan-id 10110")),
        f"FAB6340 {TOR}: segment[120] has VNI 10110, which segment[110] has too",
    ),
    "two segments of one subnet": (
        change_files("rack.*-tor1a", ("10.20.4.1/22", "10.20.0.9/21")),
        f"FAB6340 {TOR}: segment[110] has 10.20.0.0/22, which overlaps 10.20.0.0/21 of segment[120]",
    ),
    "another VTEP address": (
        change_files(TOR, ("vxlan-local-tunnelip 10.128.0.0", "vxlan-local-tunnelip 10.128.0.1")),
        f"FAB6340 {TOR}: its VTEP is 10.128.0.1, and its loopback 10.128.0.0/32: no switch routes to another "
        "address of it",
    ),
    "a VTEP that is not announced": (
        change_files(TOR, (r"(prefix-list OWN-V4 seq 5 permit) 10.128.0.0/32", r"\1 10.128.0.9/32")),
        f"FAB6209 {TOR} do not announce 10.128.0.0/32: TO-UPSTREAM does not permit it",
    ),
    "a port in no segment": (
        change_files(TOR, (r"(iface swp1\n    mtu 9050\n)    bridge-access 110\n", r"\1")),
        f"FAB6340 {TOR}: swp1 leads to a host and is in no VLAN: no segment",
    ),
    "a port in another segment": (
        change_files(TOR, (r"(iface swp1\n    mtu 9050\n)    bridge-access 110\n", r"\1    bridge-access 120\n")),
        "FAB6101 the ends of a link disagree on addresses: rack001-host01 rail0 has 10.20.0.1/22, rack001-tor1a "
        "swp1 has 10.20.4.1/22",
    ),
    "a segment in another VRF": (
        change_files(TOR, (r"(alias tenant-b\n(.*\n){5}    vrf) tenants", r"\1 others")),
        f"FAB6340 {TOR}: segment[120] is in the VRF others, which has no VNI, so it is not routed between ToRs",
    ),
    "packets that do not fit": (
        change_files(TOR, (r"(alias tenant-a\n    mtu) 9050", r"\1 9100")),
        f"FAB6340 {TOR}: segment[110] has an MTU of 9100, and links between switches hold 9050 inside VXLAN",
    ),
    "no EVPN routes over the links": (
        change_files(TOR, (r"  neighbor UPSTREAM-V4 activate\n(  neighbor \S+ route-map EVPN)", r"\1")),
        f"FAB6340 {TOR}: swp9 is up and has no EVPN routes",
    ),
    "no filter of EVPN routes": (
        change_files(SPINE, (r"  neighbor DOWNSTREAM-V4 route-map EVPN-TO-DOWNSTREAM out\n", "")),
        f"FAB6340 {SPINE}: swp1 has no filter of EVPN routes for export",
    ),
    "EVPN routes that are not let through": (
        change_files("spine.*", (r"route-map EVPN-TO-DOWNSTREAM permit 20", "route-map EVPN-TO-DOWNSTREAM deny 20")),
        "FAB6209 rack001-tor1a and 3 more like it do not get routes of each other, such as EVPN routes, over "
        "spine01a and 1 more like it: fewer equal paths than uplinks",
    ),
    "a host with another gateway": (
        change_files("rack001-host01", ('via: "10.20.0.1"', 'via: "10.20.0.2"')),
        "FAB6101 the ends of a link disagree on addresses: rack001-host01 rail0 has 10.20.0.2/22, rack001-tor1a "
        "swp1 has 10.20.0.1/22",
    ),
    "a host of another subnet": (
        change_files("rack001-host01", (r'"10.20.0.16/22"', '"10.20.4.16/22"')),
        "FAB6101 the ends of a link disagree on addresses: rack001-host01 rail0 has 10.20.0.1 beyond 10.20.4.0/22, "
        "rack001-tor1a swp1 has 10.20.0.1/22",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_with_its_code(fault: str) -> None:
    planted, message = FAULTS[fault]
    found = list_findings(planted)
    assert message in found, "\n".join(found)


ON_EOS = {
    "a spine that is the next hop": (
        change_files(SPINE, (r"      neighbor DOWNSTREAM next-hop-unchanged\n", "")),
        f"FAB6340 {SPINE}: it puts itself as the next hop of EVPN routes for 10.64.0.1, and is no VTEP",
    ),
    "a VRF without a VNI": (
        change_files(TOR, (r"   vxlan vrf tenants vni 13001\n", "")),
        f"FAB6340 {TOR}: vrf[tenants] has no VNI",
    ),
    "a VTEP at another interface": (
        change_files(TOR, (r"   vxlan source-interface Loopback0\n", "")),
        f"FAB6340 {TOR}: its VTEP is None, and its loopback 10.128.0.0/32: no switch routes to another address of it",
    ),
    "a ToR without a segment": (
        change_files(TOR, (r"(?s)interface Vlan110\n.*?!\n", ""), (r"   vxlan vlan 110 vni 10110\n", "")),
        f"FAB6340 {TOR}: segment[110] has no VNI",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", ON_EOS)
def test_a_fault_of_another_system_is_reported_with_its_code(fault: str) -> None:
    planted, message = ON_EOS[fault]
    found = sorted(
        {f"{each.code} {each.message}" for each in find_breaches(segmented_fabric("eos"), planted, RATIOS)}
    )
    assert message in found, "\n".join(found)


def test_a_tor_that_sends_up_what_came_from_above_is_a_valley() -> None:
    """With AS numbers of their own, spines do not stop such a route by themselves."""
    fault = change_files(
        "rack.*-tor1a", (r"route-map EVPN-TO-UPSTREAM deny 10\n match community FROM-ABOVE\nexit\n!\n", "")
    )
    valleys = [message for message in list_findings(fault, "unique") if message.startswith("FAB6210")]
    assert valleys
    assert "(EVPN-TO-UPSTREAM 20 permits EVPN routes)" in valleys[0]


THREE_TIERS = """
cluster: three
gpus: {model: grand-teton, racks: 8, hosts_per_rack: 2, wiring: rack}
tors: {model: sn4700, nos: frr, oversubscription: 2.0}
spines: {model: sn4700, nos: frr, count: 2, oversubscription: 2, units_per_pod: 4}
cores: {model: sn4700, nos: frr, count: 2}
priorities: {default: {}}
routing: {spine_asn: unique}
evpn: {segments: {tenant-a: {vlan: 110, subnet: 10.16.0.0/16}}}
"""


def test_routes_of_pods_meet_at_cores_and_turn_round_nowhere(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(THREE_TIERS)
    built = compile_spec(tmp_path / "cluster.yaml", gaps=False).fabric
    ratios = dict.fromkeys((0, 1), Ratio(Fraction(2)))
    assert find_breaches(built, Fault(), ratios) == []
    kept = r"route-map EVPN-TO-UPSTREAM deny 10\n match community FROM-ABOVE\nexit\n!\n"
    valleys = find_breaches(built, change_files("pod.*-spine.*", (kept, "")), ratios)
    assert {each.code for each in valleys} >= {"FAB6210"}
