"""Allowed content of `evpn`: VLANs, subnets and VRFs that fit together; errors suggest valid values."""

from __future__ import annotations

import pytest

from tests.front.spec.samples import SHORT, format_findings, load

LOSSY = SHORT.replace("  rdma:    {dscp: 26, lossless: true}\n  cnp:     {dscp: 48, strict: true}\n", "")
ONE = "{tenant-a: {vlan: 110, subnet: 10.20.0.0/16}}"


def find_messages(section: str, more: str = "", short: str = LOSSY) -> list[str]:
    """The findings, without their places."""
    return [each.partition(" ")[2] for each in format_findings(f"{short}{more}evpn: {section}\n")]


def test_segment_has_its_values_and_defaults() -> None:
    spec = load(f"{LOSSY}evpn: {{segments: {ONE}}}\n").spec
    assert spec is not None
    assert spec.evpn is not None
    (segment,), (vrf,) = spec.evpn.segments, spec.evpn.vrfs
    assert (segment.vlan, segment.vni, segment.vrf, segment.gateway4) == (
        110,
        10110,
        "tenants",
        "10.20.0.1/16",
    )
    assert (vrf.name, vrf.vlan, vrf.vni) == ("tenants", 3001, 13001)
    assert (spec.evpn.anycast_mac, spec.evpn.mtu) == ("00:00:5e:00:01:01", 9050)
    assert spec.assumptions["evpn.vni_base"] == 10000


def test_a_subnet_may_lie_in_the_pool_of_the_links_that_are_not_there() -> None:
    assert find_messages(f"{{segments: {ONE}}}") == []


WRONG = {
    "{segments: {a: {vlan: 110, subnet: 10.64.0.0/16}}}": "FAB3305 evpn.segments.a.subnet: 10.64.0.0/16 overlaps "
    "addressing.links 10.64.0.0/10 | Use an unused network; it may be in the pool of `addressing.hosts`.",
    "{segments: {a: {vlan: 110, subnet: 10.1.0.0/16}, b: {vlan: 120, subnet: 10.1.9.0/24}}}": "FAB3305 "
    "evpn.segments.b.subnet: 10.1.9.0/24 overlaps evpn.segments.a.subnet 10.1.0.0/16 | Use an unused network; it may "
    "be in the pool of `addressing.hosts`.",
    "{segments: {a: {vlan: 110, subnet: 10.1.0.0/16}, b: {vlan: 110, subnet: 10.2.0.0/16}}}": "FAB3307 "
    "evpn.segments.b: VLAN 110 is that of evpn.segments.a | Free is 111.",
    "{segments: {a: {vlan: 3001, subnet: 10.1.0.0/16}}}": "FAB3307 evpn.vrfs.tenants: VLAN 3001 is that of "
    "evpn.segments.a | Free is 3002.",
    "{segments: {a: {vlan: 110, subnet: 10.1.0.0/16, vrf: blue}}}": "FAB3306 no VRF is named blue | Write `vrf: "
    "tenants`.",
    "{segments: {a: {vlan: 110, subnet: 10.1.0.0/16, vrf: x}}, vrfs: {x: {vlan: 9}, y: {vlan: 8}}}": "FAB3306 no "
    "segment is in the VRF y | Remove it, or name it as `vrf` of a segment.",
    "{segments: {a: {vlan: 110, subnet: 10.1.0.0/16, subnet6: 'fd00:9::/64'}}}": "FAB3308 evpn.segments.a.subnet6: "
    "the fabric carries no IPv6 | Remove it, or write `addressing: {family: dual}`.",
    "{segments: {a: {vlan: 110, subnet: 10.1.2.0/16}}}": "FAB2031 evpn.segments.a.subnet: 10.1.2.0/16 is not on the "
    "boundary of a /16 | Write 10.1.0.0/16.",
}


@pytest.mark.parametrize("section", WRONG)
def test_impossible_segments_are_rejected(section: str) -> None:
    assert find_messages(section) == [WRONG[section]]


def test_two_vrfs_are_to_be_distinguished() -> None:
    vrfs = "vrfs: {blue: {vlan: 3001}, red: {vlan: 3002}}"
    found = find_messages(f"{{segments: {{a: {{vlan: 110, subnet: 10.1.0.0/16}}}}, {vrfs}}}")
    assert "FAB3306 evpn.segments.a does not name its VRF | Write `vrf: blue or red`." in found


def test_a_lossless_class_keeps_a_network_routed() -> None:
    (found,) = find_messages(f"{{segments: {ONE}}}", short=SHORT)
    assert found.startswith("FAB3300 the class rdma is lossless")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("addressing: {family: ipv6}\n", "FAB3301"),
        (
            "external: {core: {asn: 64999, links: [{at: spine01a, port: swp64, speed_gbps: 400, peer: c, "
            "peer_port: e1, local: 192.0.2.0/31}]}}\n",
            "FAB3302",
        ),
    ],
)
def test_missing_evpn_keys_are_rejected(more: str, code: str) -> None:
    assert code in [each.split()[0] for each in find_messages(f"{{segments: {ONE}}}", more)]


def test_segments_need_spines() -> None:
    short = LOSSY.replace("spines:\n  model: sn5600\n  nos: sonic-202505\n", "").replace(
        "  oversubscription: 1.0\n", ""
    )
    assert "FAB3303" in [each.split()[0] for each in find_messages(f"{{segments: {ONE}}}", short=short)]


def test_vxlan_has_to_fit_the_links() -> None:
    short = LOSSY.replace("switch: 9100", "switch: 9049")
    assert find_messages(f"{{segments: {ONE}}}", short=short) == [
        "FAB3304 hosts send packets of 9000 bytes, and with 50 of VXLAN around them switch ports hold 8999 | "
        "Write `mtu: {switch: 9050}`."
    ]
    assert find_messages(f"{{segments: {ONE}}}", short=LOSSY.replace("switch: 9100", "switch: 9050")) == []
