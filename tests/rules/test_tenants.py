"""Isolation faults of tenants are found in files alone, without a plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.evpn_defaults import lacks_vtep_source
from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder
from tests.proof.test_tenant_faults import FAULTS, Plant
from tests.tenanted import EXPRESSED, TOR, compiled_exits, fabric

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

PLANTED = [(nos, name) for name, (_, plants) in FAULTS.items() for nos in plants]


UNFILTERED = {
    "cumulus": Plant(r" +route-map: CONNECTED\n", ""),
    "eos": Plant(r"redistribute connected route-map CONNECTED", "redistribute connected"),
    "frr": Plant(r"redistribute connected route-map CONNECTED", "redistribute connected"),
    "nxos": Plant(r"redistribute direct route-map CONNECTED", "redistribute direct"),
    "sonic": Plant(r"redistribute connected route-map CONNECTED", "redistribute connected"),
}


ONE_WAY = {
    "eos": Plant(r" +route-target import evpn \S+\n", ""),
    "frr": Plant(r" +route-target import \S+\n", ""),
    "nxos": Plant(r" +route-target import \S+ evpn\n", ""),
}
"""VRFs of one switch that import no routes."""


INTO_ANOTHER = {
    "eos": Plant(r"(ip routing vrf acme\n)", r"\1ip route vrf acme 0.0.0.0/0 egress-vrf globex 10.0.0.1\n"),
    "frr": Plant(r"(vrf acme\n)", r"\1 ip route 0.0.0.0/0 10.64.0.0 nexthop-vrf globex\n"),
    "junos": Plant(
        r"(    acme \{\n)",
        r"\1routing-options {\n static {\n route 0.0.0.0/0 next-table globex.inet.0;\n }\n }\n",
    ),
    "nxos": Plant(r"(vrf context acme\n)", r"\1  ip route 0.0.0.0/0 10.64.0.0 vrf globex\n"),
}
"""Static routes of one tenant's VRF into that of another."""


INCOMPLETE = {
    ("eos", "distinguisher"): r" +rd \S+\n",
    ("eos", "VNI"): r" +vxlan vrf \S+ vni \d+\n",
    ("eos", "source"): r" +vxlan source-interface \S+\n",
    ("nxos", "distinguisher"): r"^  rd \S+\n",
    ("nxos", "source"): r"^  source-interface \S+\n",
    ("junos", "distinguisher"): r" +route-distinguisher \S+\n",
}
"""Lines without which no EVPN route of a VRF is used; no switch has them."""


SHARED = {
    ("cumulus", "a VRF has no VNI on one ToR"), ("junos", "a VRF has no VNI on one ToR"),
    ("nxos", "a VRF has no VNI on one ToR"), ("frr", "a VRF does not announce its links"),
    ("sonic", "a VRF does not announce its links"), ("sonic", "no VLAN interface has the VNI of a VRF"),
    ("frr", "no VLAN interface has the VNI of a VRF"), ("eos", "a tunnel does not carry code points"),
    ("junos", "a tunnel does not carry code points"), ("eos", "a tunnel does not carry marks"),
}  # fmt: skip
"""Faults that all ToRs have."""
OF_SPINES = {
    ("junos", "a spine makes itself the next hop of EVPN routes"),
    ("nxos", "a spine drops EVPN routes that it imports nowhere"),
}


WIDE = {
    "eos": Plant(
        r"(   vrf acme\n(?:      .*\n)*?)(      redistribute connected\n)",
        r"\1      aggregate-address 10.0.0.0/8 summary-only\n\2",
    ),
    "sonic": Plant(
        r"(bgp \d+ vrf Vrfacme\n(?:.*\n)*?  redistribute connected\n)",
        r"\1  aggregate-address 10.0.0.0/8 summary-only\n",
    ),
}
"""Aggregates of a VRF over the links of all switches."""


def audit_faults(
    folder: Path, nos: str, plant: Plant | None = None, built: Fabric | None = None
) -> dict[str, set[str]]:
    """Return device -> codes of the errors and warnings about a fabric with a fault in it, on all switches for ""."""
    built = built or fabric(nos)
    for each in map(built.switch, built.switch_ids()):
        for name, text in load(nos).render(each).items():
            wrong = plant is not None and plant.device in (each.name, "")
            path = folder / each.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(re.sub(plant.pattern, plant.into, text) if plant and wrong else text)
    found: dict[str, set[str]] = {}
    for one in audit_folder(folder, jobs=1).findings:
        if one.severity in (Severity.ERROR, Severity.WARNING):
            for name in re.findall(r"(?:rack|spine|border)\w+(?:-tor1a)?", one.message):
                found.setdefault(name, set()).add(one.code)
    return found


@pytest.mark.spread
@pytest.mark.parametrize("nos", EXPRESSED)
def test_tenants_that_are_isolated_are_in_order(nos: str, tmp_path: Path) -> None:
    """Nothing is reported about a border leaf whose only port, besides uplinks, is a way out without PFC.

    The hosts of the second rack have no tenant, so all ports to them are shut.
    """
    found = audit_faults(tmp_path, nos, built=compiled_exits(nos).fabric)
    assert found.pop("rack002-tor1a", {"FAB9675"}) == {"FAB9675"}
    assert found == {}


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "fault"), PLANTED)
def test_a_fault_is_found_without_a_plan(nos: str, fault: str, tmp_path: Path) -> None:
    plant = FAULTS[fault][1][nos]
    assert audit_faults(tmp_path, nos, plant).get(plant.device)


@pytest.mark.spread
@pytest.mark.parametrize("nos", UNFILTERED)
def test_connected_routes_without_a_filter_are_found_beside_one_switch_that_has_one(
    nos: str, tmp_path: Path
) -> None:
    assert audit_faults(tmp_path, nos, UNFILTERED[nos]) == {TOR: {"FAB9693"}, "rack002-tor1a": {"FAB9693"}}


@pytest.mark.spread
@pytest.mark.parametrize("nos", ONE_WAY)
def test_a_vrf_of_several_switches_that_imports_nothing_is_found(nos: str, tmp_path: Path) -> None:
    assert "FAB9693" in audit_faults(tmp_path, nos, ONE_WAY[nos]).get(TOR, set())


@pytest.mark.spread
@pytest.mark.parametrize("nos", INTO_ANOTHER)
def test_a_route_into_the_vrf_of_another_tenant_is_found(nos: str, tmp_path: Path) -> None:
    plant = INTO_ANOTHER[nos]
    assert "FAB9692" in audit_faults(tmp_path, nos, plant).get(plant.device, ())


def test_only_the_source_of_a_tunnel_is_one() -> None:
    other = "aaa group server tacacs+ T\n  source-interface mgmt0\ninterface nve1\n"
    held = "  source-interface hold-down-time 30\n"
    assert lacks_vtep_source("nxos", [f"{other}  no shutdown\n{held}interface mgmt0\n"])
    assert not lacks_vtep_source("nxos", [f"{other}  no shutdown\n{held}  source-interface loopback0\n"])


def test_junos_derives_distinguishers_from_an_address_of_its_own(tmp_path: Path) -> None:
    derived = r"\1    route-distinguisher-id 10.0.0.1;\n"
    found = audit_faults(tmp_path, "junos", Plant(r"(?m)(^ *)route-distinguisher \S+\n", "", ""))
    assert "FAB9693" in found[TOR]
    for path in tmp_path.rglob("*.conf"):
        path.write_text(re.sub(r"(?m)(^routing-options \{\n)", derived, path.read_text()))
    assert "FAB9693" not in {each.code for each in audit_folder(tmp_path, jobs=1).findings}


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "part"), INCOMPLETE)
def test_a_part_that_no_switch_has_is_found(nos: str, part: str, tmp_path: Path) -> None:
    found = audit_faults(tmp_path, nos, Plant(f"(?m){INCOMPLETE[nos, part]}", "", ""))
    assert "FAB9693" in found.get(TOR, set()) & found.get("rack002-tor1a", set())


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "fault"), sorted(SHARED | OF_SPINES))
def test_a_fault_that_all_switches_share_is_found(nos: str, fault: str, tmp_path: Path) -> None:
    plant = FAULTS[fault][1][nos]
    found = audit_faults(tmp_path, nos, plant._replace(device=""))
    code = "FAB9691" if (nos, fault) in OF_SPINES else "FAB9693"
    assert code in found.get(plant.device, set())
    remedies = {each.help for each in audit_folder(tmp_path, jobs=1).findings if each.code == code}
    assert not any("like the others" in each for each in remedies), "no other switch is right"


@pytest.mark.parametrize("nos", WIDE)
def test_an_aggregate_over_the_links_of_another_switch_is_found(nos: str, tmp_path: Path) -> None:
    audit_faults(tmp_path, nos, WIDE[nos]._replace(device=""))
    found = [each.message for each in audit_folder(tmp_path, jobs=1).findings if each.code == "FAB9693"]
    assert found
    assert all("in place of its links" in each for each in found)


def test_an_aggregate_of_one_switch_is_no_fault(tmp_path: Path) -> None:
    """The other switches announce their links, whose prefixes are longer, as where a border summarizes a tenant."""
    audit_faults(tmp_path, "eos", WIDE["eos"]._replace(device="rack002-tor1a"))
    assert not any(
        "in place of its links" in each.message for each in audit_folder(tmp_path, jobs=1).findings
    )


@pytest.mark.parametrize("family", ["", "evpn"])
def test_route_targets_of_nxos_are_of_evpn_only_with_the_word(family: str, tmp_path: Path) -> None:
    """Without it they join VRFs of one switch, which needs no VNI."""
    link = "interface Ethernet1/60\n  no switchport\n  vrf member services\n  ip address 192.0.2.1/24\n"
    targets = f"    route-target import 65000:77 {family}\n    route-target export 65000:78 {family}\n"
    context = f"vrf context services\n  address-family ipv4 unicast\n{targets}{link}\\1"
    audit_faults(tmp_path, "nxos", Plant(r"\A(.*)", context, "rack001-tor1a"))
    messages = [each.message for each in audit_folder(tmp_path, jobs=1).findings]
    assert any("VRF services is for EVPN" in each for each in messages) == bool(family)
