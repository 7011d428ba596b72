"""Tenants: router MACs that a ToR has of the others, as `verify` compares them with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.drivers.linux import router_macs
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.verify.verify_switch import compare_peers, plan_peers
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


def compare(fabric: Fabric, told: dict[str, dict[str, str]], without: str = "") -> list[tuple[str, str]]:
    switches = {fabric.name(at): (at, fabric.switch(at)) for at in fabric.switch_ids()}
    widths = Widths.of(fabric)
    assert widths is not None
    at, tor = switches[TOR]
    reached = widths.expected(at).keys() - {without}
    found, count = compare_peers(tor, plan_peers(switch for _, switch in switches.values()), reached, told)
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
    told: dict[str, Any] = {
        "20001": {"numRmacs": 1, MAC: {"routerMac": MAC, "vtepIp": FAR}},
        "20002": {"numRmacs": 0},
    }
    assert router_macs(told) == {"20001": {FAR: MAC}, "20002": {}}
    assert router_macs({}) == {}
