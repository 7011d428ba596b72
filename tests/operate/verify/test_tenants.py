"""Tenants: router MACs that a ToR has of the others, as `verify` compares them with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from fabricc.fabric.model import plan_peers
from fabricc.operate.drivers import eos_views, junos_views, nxos_views
from fabricc.operate.drivers.linux import router_macs
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.verify.verify_switch import compare_peers
from fabricc.operate.verify.widths import Widths
from tests.operate.lab.test_tenants import FAR_TOR, TOR, write

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

NEAR, FAR = "10.128.0.0", "10.128.0.4"
MAC = "02:00:0a:80:00:04"
WHOLE = {"20001": {FAR: MAC}, "20002": {FAR: MAC}}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    return read_source(write(tmp_path_factory.mktemp("spec")), None, "8.4").fabric


def compare(fabric: Fabric, reported: dict[str, dict[str, str]], without: str = "") -> list[tuple[str, str]]:
    switches = {fabric.name(at): (at, fabric.switch(at)) for at in fabric.switch_ids()}
    widths = Widths.of(fabric)
    assert widths is not None
    at, tor = switches[TOR]
    reached = widths.count_next_hops(at).keys() - {without}
    found, count = compare_peers(
        tor, plan_peers(switch for _, switch in switches.values()), reached, reported
    )
    assert count == (0 if without else 2)
    return [(one.diagnostic.code, one.diagnostic.message) for one in found]


def test_each_tenant_of_a_tor_has_the_others_as_peers(fabric: Fabric) -> None:
    peers = plan_peers(fabric.switch(at) for at in fabric.switch_ids())
    assert peers == {vni: {NEAR: TOR, FAR: FAR_TOR} for vni in ("20001", "20002")}
    assert compare(fabric, WHOLE) == []


@pytest.mark.parametrize("lost", [{}, {FAR: ""}])
def test_a_lost_router_mac_names_switch_and_tenant(fabric: Fabric, lost: dict[str, str]) -> None:
    ((code, message),) = compare(fabric, {**WHOLE, "20002": lost})
    assert code == "FAB9224"
    assert message.startswith(f"{TOR}: tenant globex (VNI 20002) has no router MAC of {FAR_TOR} ({FAR})")
    assert len(compare(fabric, {})) == 2


def test_a_peer_that_the_plan_cuts_off_needs_no_router_mac(fabric: Fabric) -> None:
    assert compare(fabric, {}, without=f"{FAR}/32") == []


def test_a_vtep_that_no_tor_of_the_tenant_has_is_reported(fabric: Fabric) -> None:
    ((code, message),) = compare(fabric, {**WHOLE, "20001": {FAR: MAC, "192.0.2.9": MAC}})
    assert code == "FAB9225"
    assert "tenant acme (VNI 20001) routes to 192.0.2.9" in message


def test_answers_of_zebra_are_read_without_their_counts() -> None:
    reported: dict[str, Any] = {
        "20001": {"numRmacs": 1, MAC: {"routerMac": MAC, "vtepIp": FAR}},
        "20002": {"numRmacs": 0},
    }
    assert router_macs(reported) == {"20001": {FAR: MAC}, "20002": {}}
    assert router_macs({}) == {}


def test_routes_of_eos_by_vxlan_have_router_macs() -> None:
    via = {"vtepAddr": "10.128.0.4", "nexthopAddr": "", "routerMac": "0c:d0:34:bd:f7:54", "vni": 20001}
    plain = {"nexthopAddr": "10.64.0.1", "interface": "Ethernet1"}
    reported = {"vrfs": {"acme": {"routes": {"10.0.0.6/31": {"vias": [via]}}}, "default": {"routes": {}}}}
    assert eos_views.router_macs([reported, {"vrfs": {}}]) == {"20001": {FAR: "0c:d0:34:bd:f7:54"}}
    reported["vrfs"]["default"]["routes"] = {"10.9.0.0/31": {"vias": [plain]}}
    assert eos_views.router_macs([reported]) == {"20001": {FAR: "0c:d0:34:bd:f7:54"}}
    del via["routerMac"]
    with pytest.raises(NotImplementedError):
        eos_views.router_macs([reported])


OLD = """\
Peer                 VNI     Learn-Source Gateway-MAC        Peer-type
-------------------- ------- ---------- ------------------ ----------
10.128.0.4           20001   BGP-RNH    5000.004c.0007     FAB
 10.128.0.4           2001001 BGP-RNH    0000.0000.0000     FAB
"""
NEW = """\
Peer                 VNI     Learn-Source Learn-Source-Mask Gateway-MAC        Peer-type  Egress-VNI SW-BD      State
-------------------- ------- -------------- ----------------- ------------------ ---------- ---------- ---------- -----
10.128.0.4           20001   BGP        BGP_RNH,BGP_IMET 5000.004c.0007     FAB        20001      10         add
"""


@pytest.mark.parametrize("text", [OLD, NEW])
def test_peers_of_nxos_are_read_by_vni(text: str) -> None:
    assert nxos_views.router_macs(text)["20001"] == {FAR: "5000.004c.0007"}
    assert nxos_views.router_macs(text).get("2001001", {}) == {}
    with pytest.raises(NotImplementedError):
        nxos_views.router_macs("")


def test_prefixes_of_junos_name_vni_next_hop_and_router_mac() -> None:
    entry = (
        "<evpn-pfxdb-evpn-ip-adv><route-distinguisher>65000:1</route-distinguisher><adv-vni>20001</adv-vni>"
        f"<adv-router-mac>{MAC}</adv-router-mac><adv-bgp-nexthop>{FAR}</adv-bgp-nexthop>"
        "<adv-ip-route-status>{}</adv-ip-route-status></evpn-pfxdb-evpn-ip-adv>"
    )
    answer = etree.fromstring(f"<information>{entry.format('Accepted')}</information>")
    assert junos_views.router_macs(answer) == {"20001": {FAR: MAC}}
    answer = etree.fromstring(f"<information>{entry.format('Rejected')}</information>")
    assert junos_views.router_macs(answer) == {}
    assert junos_views.router_macs(True) == {}
