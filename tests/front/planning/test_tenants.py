"""Tenants of a plan: which ports they have, what their numbers follow from, and which switches may isolate them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.catalog.support import Verdict, find_capability, load_capabilities
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.model import Direction
from fabricc.fabric.tenants import Tenant, assign_numbers
from tests import tenanted
from tests.tenanted import RAIL_TENANTS, TOR, compiled, compiled_exits, exits_text, fabric, spec_text, switch

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled


def list_findings(found: Compiled, *codes: str) -> list[str]:
    """Return the findings of some codes."""
    return [f"{each.code} {each.message}" for each in found.diagnostics if each.code in codes]


def test_each_port_to_a_host_is_in_the_vrf_of_its_tenant() -> None:
    ports = {port.peer.port: port for port in switch("frr", "rack002-tor1a").ports if port.peer}
    mixed = {
        port.peer.port: port.vrf
        for port in switch("frr", "rack002-tor1a").ports
        if port.peer and port.peer.device == "rack002-host02"
    }
    assert mixed == {f"rail{rail}": "shared" if rail < 4 else "initech" for rail in range(8)}
    assert {port.vrf for port in ports.values() if "swp" in port.peer.port} == {""}  # type: ignore[union-attr]


def test_a_tor_has_the_vrfs_of_tenants_with_ports_on_it() -> None:
    tenants = switch("frr", TOR).tenants
    assert tenants is not None
    assert [each.name for each in tenants.tenants] == ["acme", "globex"]
    assert tenants.source == "10.128.0.0"
    assert switch("frr", "spine01a").tenants is None


def test_ports_to_hosts_are_narrower_by_the_bytes_of_vxlan_and_only_where_there_is_vxlan() -> None:
    assert {p.mtu for p in switch("frr", TOR).ports if p.vrf} == {9050}
    assert {p.mtu for p in switch("frr", TOR).ports if p.peer and not p.vrf} == {9100}
    plain = fabric("frr", spines=False)
    tor = plain.switch(next(iter(plain.switch_ids())))
    assert {p.mtu for p in tor.ports if p.vrf} == {9100}
    assert tor.tenants is not None
    assert tor.tenants.source is None


def test_numbers_follow_from_the_lock_and_are_never_given_again() -> None:
    pinned = {"acme": 1, "globex": 2, "gone": 3}
    assert assign_numbers(["newer", "globex"], pinned) == {**pinned, "newer": 4}
    assert (Tenant("x", 7).vni, Tenant("x", 7).route_target, Tenant("x", 7).vlan) == (20007, "65000:20007", 8)


OWN = """\
  acme: {hosts: [rack001-host01, rack002-host01], vrf: ACME_1, vni: 5010, route_target: "20001:1", distinguisher: 2001}
  globex: {hosts: [rack001-host02]}
"""
CLASHES = {
    ", vrf: ACME": "FAB3322 globex has the VRF ACME, which acme has too",
    ", vni: 20001": "FAB3322 globex has the VNI 20001, which acme has too",
    ", route_target: '65000:20001'": "FAB3322 globex has the route target 65000:20001, which acme has too",
    ", distinguisher: 20001": "FAB3322 globex has the number of route distinguishers 20001, which acme has too",
}


@pytest.mark.parametrize("nos", tenanted.EXPRESSED)
def test_numbers_that_a_spec_states_are_those_of_the_files(nos: str) -> None:
    found = compiled(nos, tenants=OWN)
    assert found.fabric is not None
    tor = next(found.fabric.switch(at) for at in found.fabric.switch_ids() if found.fabric.name(at) == TOR)
    facts = load(nos).read(load(nos).render(tor)).facts
    own = {leaf: facts[f"evpn/vrf[ACME_1]/{leaf}"] for leaf in ("vni", "route_target", "distinguisher")}
    assert own == {"vni": 5010, "route_target": "20001:1", "distinguisher": "10.128.0.0:2001"}
    assert facts["evpn/vrf[globex]/vni"] == 20002
    assert {port.vrf for port in tor.ports} == {"", "ACME_1", "globex"}


@pytest.mark.parametrize(
    ("nic", "spines", "noted"),
    [
        ("bluefield-3", True, ["FAB3323 NVIDIA BlueField-3"]),
        ("bluefield-3", False, []),
        ("connectx-7", True, []),  # NVIDIA's profiles have no such NIC
    ],
)
def test_the_gap_of_nics_counts_vxlan_only_where_a_source_states_it(
    tmp_path: Path, nic: str, spines: bool, noted: list[str]
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(spec_text("frr", spines=spines).replace("grand-teton", f"grand-teton, nic: {nic}"))
    found = list_findings(compile_spec(path, gaps=False), "FAB3323")
    assert [each.partition(":")[0] for each in found] == noted


@pytest.mark.parametrize("key", CLASHES)
def test_two_tenants_have_no_number_in_common(key: str) -> None:
    tenants = f"  acme: {{hosts: [rack001-host01]}}\n  globex: {{hosts: [rack001-host02]{key}}}\n"
    assert CLASHES[key] in list_findings(compiled("frr", tenants=tenants), "FAB3322")


def test_vrfs_without_tunnels_have_no_numbers() -> None:
    tenants = RAIL_TENANTS.replace("host01]", "host01], vni: 5010")
    assert list_findings(compiled("frr", spines=False, tenants=tenants), "FAB3322") == [
        "FAB3322 acme: VRFs have no VNI and no EVPN routes here, and vni is stated"
    ]


def test_frr_has_no_distinguisher_that_it_derives() -> None:
    found = compiled("frr", tenants=OWN.replace("2001}", "7}"))
    assert found.fabric is not None
    tor = next(found.fabric.switch(at) for at in found.fabric.switch_ids() if found.fabric.name(at) == TOR)
    assert [gap.fatal for gap in load("frr").gaps(tor) if "distinguishers" in gap.feature] == [True]


def test_sonic_has_vrfs_of_as_many_characters_as_interfaces_after_its_prefix() -> None:
    for name, fatal in (("TWELVE_CHARS", []), ("THIRTEEN_CHAR", [True]), ("VrfRed", [True])):
        found = compiled("sonic", tenants=OWN.replace("ACME_1", name)).fabric
        assert found is not None
        tor = next(found.switch(at) for at in found.switch_ids() if found.name(at) == TOR)
        assert [gap.fatal for gap in load("sonic").gaps(tor) if "VRF" in gap.feature] == fatal


def test_the_lock_has_the_numbers() -> None:
    found = compiled("frr")
    assert [line for line in found.lock_text.splitlines() if line.startswith("tenant ")] == [
        "tenant acme 1", "tenant globex 2", "tenant initech 4", "tenant shared 3",
    ]  # fmt: skip


def test_a_tenant_with_another_name_keeps_its_number(tmp_path: Path) -> None:
    before = compiled("frr")
    text = spec_text(
        "frr", tenants=tenanted.TENANTS.replace("globex:", "newco:"), more="\nmoved: {globex: newco}"
    )
    (tmp_path / "cluster.yaml").write_text(text)
    (tmp_path / "fabricc.lock").write_text(before.lock_text)
    found = compile_spec(tmp_path / "cluster.yaml", gaps=False)
    assert [each.message for each in found.diagnostics if each.code.startswith("FAB34")] == []
    assert found.lock_text == before.lock_text.replace("tenant globex 2", "").replace("\n\n", "\n").replace(
        "tenant initech 4\n", "tenant initech 4\ntenant newco 2\n"
    )


def test_the_underlay_has_loopbacks_alone() -> None:
    bgp = switch("frr", TOR).bgp
    assert bgp.aggregates == ()
    assert {rule.prefix for each in bgp.prefix_lists for rule in each.rules} == {
        "10.128.0.0/12",
        "10.128.0.0/32",
    }


WRONG = {
    "  acme: {hosts: [rack009-host01]}\n": "FAB3313 acme: no host is named rack009-host01",
    "  acme: {racks: [rack009]}\n": "FAB3313 acme: no rack or unit is named rack009",
    "  acme: {racks: [rack001]}\n  globex: {hosts: [rack001-host02]}\n": "FAB3314 rack001-host02 belongs to acme and "
    "to globex: a port can be in only one tenant",
    "  acme: {hosts: [rack001-host01], gpus: [7, 8]}\n": "FAB3316 acme: rack001-host01 has 8 GPUs, and no GPU 8",
    "  acme: {racks: [rack001], hosts: [rack001-host01], gpus: [0-3]}\n": "FAB3316 acme has single GPUs of "
    "rack001-host01 by `gpus`, and all of them by the rack rack001",
    "  acme: {racks: [rack001], hosts: [rack001-host01], gpus: {rack001-host01: [0]}}\n": "FAB3316 acme has single "
    "GPUs of rack001-host01 by `gpus`, and all of them by the rack rack001",
    "  acme: {hosts: [rack001-host01], reach: [storage]}\n": "FAB3317 acme reaches storage, which is neither a "
    "further network nor a party of `external`",
}


@pytest.mark.parametrize("rack_first", [True, False])
def test_the_remedy_for_a_host_of_two_tenants_names_the_rack_of_one(rack_first: bool) -> None:
    both = ["  acme: {racks: [rack001]}\n", "  globex: {hosts: [rack001-host02], gpus: [0-3]}\n"]
    found = compiled("frr", tenants="".join(both if rack_first else both[::-1]))
    helps = [each.help for each in found.diagnostics if each.code == "FAB3314"]
    assert helps == ["Write the other `hosts` of rack001 in acme, in place of the rack."]


@pytest.mark.parametrize("tenants", WRONG)
def test_a_tenant_that_does_not_fit_the_plan_is_a_finding(tenants: str) -> None:
    assert WRONG[tenants] in list_findings(compiled("frr", tenants=tenants), WRONG[tenants][:7])


def test_ports_of_no_tenant_are_shut_and_named() -> None:
    found = compiled("frr", tenants="  acme: {hosts: [rack001-host01], gpus: [0-3]}\n")
    assert list_findings(found, "FAB3315") == [
        "FAB3315 ports of no tenant on 4 hosts, which are shut: rack001-host01, rack001-host02, rack002-host01 and "
        "others"
    ]
    assert found.fabric is not None
    tor = next(found.fabric.switch(at) for at in found.fabric.switch_ids() if found.fabric.name(at) == TOR)
    open_ports = [p.peer.port for p in tor.ports if p.enabled and p.peer and "host" in p.peer.device]
    assert open_ports == ["rail0", "rail1", "rail2", "rail3"]


def with_exits(tmp_path: Path, *changes: tuple[str, str]) -> Compiled:
    """Compile a spec whose tenants reach outside parties, with changes of its text."""
    text = exits_text("frr", dual=True)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text)
    return compile_spec(spec, gaps=False)


def test_a_link_outside_is_in_the_vrf_of_the_tenant_that_reaches_it() -> None:
    built = compiled_exits("frr", dual=True).fabric
    assert built is not None
    switches = {
        name: built.switch(at) for at in built.switch_ids() if (name := built.name(at)) in (TOR, "border01a")
    }
    ports = {port.peer.device: port for each in switches.values() for port in each.ports if port.peer}
    assert [ports[name].vrf for name in ("filer-1", "r-1", "v-1")] == ["acme", "acme", "globex"]
    assert {ports[name].mtu for name in ("filer-1", "r-1", "v-1")} == {9050}
    tenants = switches[TOR].tenants
    assert tenants is not None
    acme, globex = (
        {route.prefix: route.via for route in tenants.routes_of(each)} for each in tenants.tenants
    )
    assert (acme["198.51.100.0/24"], globex["198.51.100.0/24"]) == (("192.0.2.10",), ("192.0.2.19",))
    assert [prefix for prefix, via in globex.items() if not via] == [
        "10.0.0.0/10", "10.64.0.0/10", "10.128.0.0/12", "fd00::/48", "fd00:0:1::/48", "fd00:0:2::/48",
    ]  # fmt: skip
    assert (switches[TOR].static_routes, switches[TOR].bgp.static_map) == ((), None)
    border = switches["border01a"].tenants
    assert border is not None
    assert [each.name for each in border.tenants] == ["acme"]


def test_hosts_have_routes_to_the_outside_parties_of_their_tenant_alone() -> None:
    built = compiled_exits("frr", dual=True).fabric
    assert built is not None
    hosts = {host.name: host for host in map(built.host, built.host_ids())}
    assert (hosts["rack001-host01"].outside4, hosts["rack001-host01"].outside6) == (
        ("198.51.100.0/24",),
        ("2001:db8:1::/48",),
    )
    assert (hosts["rack001-host02"].outside4, hosts["rack001-host02"].outside6) == (("198.51.100.0/24",), ())
    assert (hosts["rack002-host01"].outside4, hosts["rack002-host01"].outside6) == ((), ())


OUTSIDE = {
    ", reach: [vault]": ("", "FAB3302 external.vault: no tenant reaches it, so its links are in no VRF"),
    "reach: [vault]": (
        "reach: [vault, filer]",
        "FAB3302 external.filer: acme and globex reach it, and a link is in the VRF of one tenant",
    ),
    "  vault:\n": (
        "  vault:\n    asn: 64999\n",
        "FAB3302 external.vault: fabricc configures no BGP sessions in VRFs of tenants",
    ),
    "  vault:\n    accept": (
        "  vault:\n    mtu: 9100\n    accept",
        "FAB3304 external.vault: packets of 9100 bytes do not fit links between switches in VXLAN",
    ),
    "at: border01a": (
        "at: spine01a",
        "FAB3302 external.internet: spine01a is no ToR, and VRFs of tenants are on ToRs",
    ),
}


@pytest.mark.parametrize("old", OUTSIDE)
def test_an_outside_party_that_tenants_cannot_reach_is_a_finding(old: str, tmp_path: Path) -> None:
    new, wanted = OUTSIDE[old]
    assert wanted in list_findings(with_exits(tmp_path, (old, new)), "FAB3302", "FAB3304", "FAB3317")


def test_a_network_and_an_outside_party_of_one_name_are_a_finding(tmp_path: Path) -> None:
    found = with_exits(tmp_path, ("vault", "storage"), ("\ntenants:", f"{STORAGE}\ntenants:"))
    wanted = "FAB3317 globex reaches storage, which is a network and a party of `external`"
    assert wanted in list_findings(found, "FAB3317")


STORAGE = (
    "\nnetworks:\n  storage: {tors: {model: sn4700, nos: frr}, spines: {model: sn4700, nos: frr, count: 2}}"
)


def open_storage_hosts(found: Compiled) -> set[str]:
    """The hosts with an open port in the network `storage`."""
    fabric = found.networks["storage"].fabric
    switches = [fabric.switch(at) for at in fabric.switch_ids() if "tor" in fabric.name(at)]
    ports = [port for switch in switches for port in switch.ports if port.direction is Direction.HOST]
    return {port.peer.device for port in ports if port.enabled and port.peer}


TWO = "  acme: {{racks: [rack001]{}}}\n  globex: {{racks: [rack002]{}}}\n"
REACH = ", reach: [storage]"


def test_a_further_network_shuts_ports_of_tenants_that_do_not_reach_it() -> None:
    nobody = compiled("frr", tenants=TWO.format("", ""), more=STORAGE)
    assert list_findings(nobody, "FAB3317", "FAB3321") == [
        "FAB3317 storage: acme does not reach it, so ports are shut on 2 hosts: rack001-host01, rack001-host02",
        "FAB3317 storage: globex does not reach it, so ports are shut on 2 hosts: rack002-host01, rack002-host02",
    ]
    assert open_storage_hosts(nobody) == set()
    one = compiled("frr", tenants=TWO.format(REACH, ""), more=STORAGE)
    assert open_storage_hosts(one) == {"rack001-host01", "rack001-host02"}
    assert [each[:7] for each in list_findings(one, "FAB3317", "FAB3321")] == ["FAB3317"]
    alone = "  acme: {racks: [rack001, rack002], reach: [storage]}\n"
    assert list_findings(compiled("frr", tenants=alone, more=STORAGE), "FAB3317", "FAB3321") == []


def test_tenants_that_reach_one_network_meet_there() -> None:
    both = compiled("frr", tenants=TWO.format(REACH, REACH), more=STORAGE)
    assert list_findings(both, "FAB3321") == [
        "FAB3321 acme and globex meet in network storage, which does not isolate tenants"
    ]
    shared = "  acme: {hosts: [rack001-host01], gpus: [0-3], reach: [storage]}\n"
    shared += "  globex: {hosts: [rack001-host01], gpus: [4-7]}\n"
    found = list_findings(compiled("frr", tenants=shared, more=STORAGE), "FAB3317", "FAB3321")
    assert any("rack001-host01 of globex is in network storage by another tenant" in each for each in found)
    assert any(each.startswith("FAB3321 acme and globex meet") for each in found)


def test_every_row_of_the_table_of_switches_has_a_source_and_names_known_switches() -> None:
    catalog, _ = load_catalog()
    families = {model.asic_family for model in catalog.switches.values()}
    for row in load_capabilities():
        assert row.source, row
        assert set(row.models) <= set(catalog.switches), row
        assert set(row.families) <= families, row
        assert (row.reason == "") == (row.verdict is Verdict.VERIFIED), row


VERDICTS = [
    ("junos", "qfx5240-64od", Verdict.VERIFIED),
    ("junos", "qfx5220-32cd", Verdict.UNVERIFIED),
    ("eos", "7060x6-64pe", Verdict.CONTRADICTED),
    ("eos", "7808r4", Verdict.UNVERIFIED),
    ("cumulus", "sn5600", Verdict.VERIFIED),
    ("nxos", "9332d-gx2b", Verdict.UNVERIFIED),
    ("nxos", "9364e-sg2", Verdict.UNVERIFIED),
    ("sonic", "z9664f", Verdict.CONTRADICTED),
    ("sonic", "sn5600", Verdict.UNVERIFIED),
    ("frr", "sn4700", Verdict.VERIFIED),
]


@pytest.mark.parametrize(("nos", "model", "verdict"), VERDICTS)
def test_tenancy_table_lists_switches_that_terminate_vrfs(nos: str, model: str, verdict: Verdict) -> None:
    assert find_capability(nos, load_catalog()[0].switches[model]).verdict is verdict


def test_a_switch_that_no_source_confirms_needs_a_reason() -> None:
    assert [each[:7] for each in list_findings(compiled("sonic", accepted=False), "FAB3318", "FAB3319")] == [
        "FAB3319"
    ]
    accepted = compiled("sonic")
    assert {each.severity.value for each in accepted.diagnostics if each.code == "FAB3319"} == {"note"}
    assert list_findings(compiled("sonic", spines=False, tenants=RAIL_TENANTS), "FAB3318", "FAB3319") == []


def test_a_fabric_without_tenants_has_none() -> None:
    built = replace(fabric("frr"), tenancy=None)
    tor = next(built.switch(at) for at in built.switch_ids() if built.name(at) == TOR)
    assert tor.tenants is None
    assert {port.vrf for port in tor.ports} == {""}
    assert tor.bgp.aggregates != ()


@pytest.mark.spread
@pytest.mark.parametrize("nos", [nos for nos in tenanted.EXPRESSED if nos != "frr"])
def test_a_spec_with_tenants_builds_on_every_system_that_has_them(nos: str, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(tenanted.spec_text(nos))
    found = compile_spec(spec).diagnostics
    assert [one.code for one in found if one.severity is Severity.ERROR] == []
