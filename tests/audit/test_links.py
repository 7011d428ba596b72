"""Links are found from any statements of devices, and contradictions are stored with the link."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricc.audit.links import links_of
from fabricc.audit.model import Evidence
from fabricc.facts.statement import End, Neighbor
from tests.audit.fabrics import (
    PARTS,
    collect_devices,
    compile_inventory,
    device,
    drop_facts,
    planned_cables,
    read_anonymous,
)

INVENTORIES = (
    "lab-smallest", *PARTS, *(pytest.param(whole, marks=pytest.mark.slow) for whole, *_ in PARTS.values()),
)  # fmt: skip


def find_ends(devices):
    return {(link.a, link.b) for link in links_of(devices)}


@pytest.mark.parametrize("name", INVENTORIES)
@pytest.mark.spread
def test_cables_are_found_without_names_and_descriptions(name):
    compiled, names, devices = read_anonymous(name)
    found = links_of(devices)
    assert {(link.a, link.b) for link in found} == planned_cables(compiled, renamed=names)
    assert not any(link.against for link in found)


@pytest.mark.parametrize("name", INVENTORIES)
@pytest.mark.spread
def test_links_between_switches_are_found_by_descriptions_alone(name):
    compiled = compile_inventory(name)
    devices = collect_devices(compiled, hosts=False)
    devices = {key: drop_facts(each, r"interface\[.*\]/(ipv4|ipv6)") for key, each in devices.items()}
    found = links_of(devices)
    assert {(link.a, link.b) for link in found} == planned_cables(compiled, hosts=False)
    assert {link.evidence for link in found} == {(Evidence.DESCRIPTION,)}


def eos_device(name, text):
    return device(name, "eos", {"running-config.cfg": f"hostname {name}\n{text}"})


def make_pair(one="", two=""):
    one = eos_device("one", f"interface Ethernet1\n   no switchport\n   ip address 10.0.0.0/31\n{one}")
    two = eos_device("two", f"interface Ethernet5/1\n   no switchport\n   ip address 10.0.0.1/31\n{two}")
    return {"one": one, "two": two}


LINK = (End("one", "Ethernet1"), End("two", "Ethernet5/1"))


def test_evidence_of_one_link_is_joined_in_order_of_strength():
    devices = make_pair(
        "   description to-two_Et5/1\nrouter bgp 65001\n   neighbor 10.0.0.1 remote-as 65002\n",
        "router bgp 65002\n   neighbor 10.0.0.0 remote-as 65001\n",
    )
    devices["one"] = replace(
        devices["one"], neighbors=(Neighbor("Et1", "TWO.example.net", "Et5/1", "lldp", 1),)
    )
    (link,) = links_of(devices)
    assert (link.a, link.b) == LINK
    assert link.evidence == (Evidence.LLDP, Evidence.SUBNET, Evidence.SESSION, Evidence.DESCRIPTION)
    assert link.against == ()


def test_lldp_outranks_a_subnet_and_the_conflicting_claim_is_kept():
    devices = make_pair()
    devices["three"] = eos_device("three", "interface Ethernet7\n   no switchport\n")
    devices["one"] = replace(
        devices["one"], neighbors=(Neighbor("Ethernet1", "three", "Ethernet7", "lldp", 4),)
    )
    (link,) = links_of(devices)
    assert (link.a, link.b) == (End("one", "Ethernet1"), End("three", "Ethernet7"))
    assert {(claim.near, claim.far, claim.evidence) for claim in link.against} == {
        (LINK[0], LINK[1], Evidence.SUBNET), (LINK[1], LINK[0], Evidence.SUBNET)
    }  # fmt: skip


def test_a_description_of_another_port_is_kept_against_the_link():
    devices = make_pair("   description two Ethernet6/1\n", "interface Ethernet6/1\n   description spare\n")
    (link,) = links_of(devices)
    (claim,) = link.against
    assert (link.a, link.b) == LINK
    assert (claim.far, claim.evidence, claim.file) == (
        End("two", "Ethernet6/1"),
        Evidence.DESCRIPTION,
        "running-config.cfg",
    )


def test_duplicate_address_hides_no_link_found_by_session_or_description():
    devices = make_pair("   description two Ethernet5/1\n")
    devices["three"] = eos_device(
        "three", "interface Ethernet9\n   no switchport\n   ip address 10.0.0.1/31\n"
    )
    (link,) = links_of(devices)
    assert (link.a, link.b) == LINK
    assert {claim.far for claim in link.against} >= {End("three", "Ethernet9")}


def test_a_subnet_of_more_than_two_is_no_link_without_sessions():
    devices = {
        name: eos_device(name, f"interface Ethernet1\n   no switchport\n   ip address 10.0.0.{at}/24\n")
        for at, name in enumerate(("one", "two", "three"), 1)
    }
    assert links_of(devices) == ()
    text = "interface Ethernet1\n   no switchport\n   ip address 10.0.0.1/24\nrouter bgp 1\n"
    talking = eos_device("one", f"{text}   neighbor 10.0.0.2 remote-as 2\n   neighbor 10.0.0.3 remote-as 3\n")
    assert find_ends(devices | {"one": talking}) == {
        (End("one", "Ethernet1"), End("three", "Ethernet1")),
        (End("one", "Ethernet1"), End("two", "Ethernet1")),
    }
    del devices["three"]
    assert find_ends(devices) == {(End("one", "Ethernet1"), End("two", "Ethernet1"))}


def test_gateways_of_a_vlan_and_management_ports_are_no_ends_of_links():
    text = "interface Vlan10\n   ip address 10.0.0.{}/31\ninterface Management1\n   ip address 10.9.0.{}/24\n"
    assert (
        links_of({name: eos_device(name, text.format(at, at)) for at, name in enumerate(("one", "two"))})
        == ()
    )


def test_a_name_in_a_description_is_no_link_without_a_port_of_that_device():
    devices = make_pair()
    devices["one"] = eos_device("one", "interface Ethernet3\n   description spare for two Ethernet99\n")
    assert links_of(devices) == ()


def test_ports_that_name_each_others_devices_alone_are_a_link_when_there_is_one():
    def named(name, other, count):
        return eos_device(
            name,
            "".join(
                f"interface Ethernet{n}\n   description {name} -> {other}\n" for n in range(1, count + 1)
            ),
        )

    one = {"one": named("one", "two", 1), "two": named("two", "one", 1)}
    assert find_ends(one) == {(End("one", "Ethernet1"), End("two", "Ethernet1"))}
    assert find_ends({"one": named("one", "two", 2), "two": named("two", "one", 2)}) == set()


def test_a_neighbor_that_the_folder_does_not_hold_is_the_far_end_as_it_is_called():
    devices = {
        "one": replace(
            make_pair()["one"], neighbors=(Neighbor("Ethernet1", "elsewhere", "Gi0/1", "lldp", 1),)
        )
    }
    (link,) = links_of(devices)
    assert (link.a, link.b) == (End("elsewhere", "Gi0/1"), End("one", "Ethernet1"))


def test_one_unnumbered_session_between_two_as_numbers_is_a_link():
    def frr(name, own, other):
        return device(
            name,
            "frr",
            {"frr.conf": f"hostname {name}\nrouter bgp {own}\n neighbor swp3 interface remote-as {other}\n"},
        )

    found = links_of({"one": frr("one", 65001, 65002), "two": frr("two", 65002, 65001)})
    assert [(link.a, link.b, link.evidence) for link in found] == [
        (End("one", "swp3"), End("two", "swp3"), (Evidence.SESSION,))
    ]


@pytest.mark.parametrize(
    ("one", "two", "count"),
    [
        ("   description P2P_spine1_Ethernet1\n", "   description P2P_leaf9_Ethernet5/1\n", 0),
        ("   description P2P_spine1_Ethernet1\n", "", 1),
        ("   description uplink\n", "   description uplink\n", 1),
        (
            "   description P2P_spine1_Ethernet1\nrouter bgp 65001\n   neighbor 10.0.0.1 remote-as 65002\n",
            "   description P2P_leaf9_Ethernet5/1\nrouter bgp 65002\n   neighbor 10.0.0.0 remote-as 65001\n",
            1,
        ),
    ],
)
def test_two_ports_that_name_other_devices_are_no_link_by_addresses_alone(one, two, count):
    assert len(links_of(make_pair(one, two))) == count
