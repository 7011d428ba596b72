"""Tiers, units, planes, pods and rails come of the graph, whatever devices are called."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fabricc.audit.links import links_of
from fabricc.audit.model import Link
from fabricc.audit.places import places_of
from fabricc.fabric.model import Host
from fabricc.facts.statement import End, Kind, Tier
from tests.audit import corpora
from tests.audit.fabrics import (
    PARTS,
    collect_devices,
    compile_inventory,
    device,
    make_disguise,
    planned,
    read_anonymous,
)

INVENTORIES = (
    "lab-smallest", *PARTS, *(pytest.param(whole, marks=pytest.mark.slow) for whole, *_ in PARTS.values()),
)  # fmt: skip


def find_groups(numbers):
    found = {}
    for name, number in numbers.items():
        found.setdefault(number, set()).add(name)
    return sorted(map(sorted, found.values()))


@pytest.mark.spread
@pytest.mark.parametrize("name", [*INVENTORIES, "tenant-front-end"])
@pytest.mark.parametrize("hosts", [True, False], ids=["hosts", "switches alone"])
def test_tiers_are_found_behind_other_names(name, hosts):
    compiled, names, devices = read_anonymous(name)
    devices = {key: each for key, each in devices.items() if hosts or each.kind is Kind.SWITCH}
    places = places_of(devices, links_of(devices))
    want = {names[each.name]: each.tier.value for each in compiled.switches()}
    assert {each: places[each].tier.value for each in want} == want
    assert all(places[names[host.name]].tier is Tier.HOST for host in compiled.hosts() if hosts)


@pytest.mark.parametrize("name", [each for each in INVENTORIES if "storage" not in str(each)])
@pytest.mark.spread
def test_units_and_rails_are_those_of_common_hosts(name):
    compiled, names, devices = read_anonymous(name)
    places = places_of(devices, links_of(devices))
    tors = {
        names[name]: each for name, each in planned(compiled).items() if getattr(each, "tier", "") == "tor"
    }
    assert find_groups({name: places[name].unit for name in tors}) == find_groups(
        {name: tor.unit for name, tor in tors.items()}
    )
    served = {}
    for host in compiled.hosts():
        for port in host.ports:
            served.setdefault(names[port.peer.device], set()).add(port.rail)
    want = {name: min(rails) if len(rails) == 1 else None for name, rails in served.items()}
    assert {name: places[name].rail for name in want} == want


def test_units_are_recognized_by_descriptions_where_hosts_have_no_files():
    compiled = compile_inventory("lab-smallest")
    devices = collect_devices(compiled, hosts=False)
    places = places_of(devices, links_of(devices))
    assert find_groups({name: places[name].unit for name in places if places[name].tier is Tier.TOR}) == [
        ["su001-tor1a", "su001-tor2a"], ["su002-tor1a", "su002-tor2a"]
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [True, False], ids=["hosts", "switches alone"])
def test_planes_pods_and_cores_are_found(hosts):
    compiled = compile_inventory("hpn-dual-plane-pod")
    names = make_disguise(compiled)
    devices = collect_devices(compiled, hosts=hosts, renamed=names, descriptions=False)
    places = places_of(devices, links_of(devices))
    switches = {names[name]: each for name, each in planned(compiled).items() if not isinstance(each, Host)}
    assert {name: places[name].tier.value for name in switches} == {
        n: s.tier.value for n, s in switches.items()
    }
    if hosts:
        assert {name: places[name].plane for name in switches} == {n: s.plane for n, s in switches.items()}


AVD = ("dual-dc-l3ls", "evpn_underlay_isis_overlay_ibgp", "evpn_underlay_ospf_overlay_ebgp",
       "evpn_underlay_rfc5549_overlay_ebgp")  # fmt: skip


@pytest.mark.parametrize("fabric", AVD)
@pytest.mark.skipif(not corpora.ROOT.is_dir(), reason="the configurations that others wrote are not here")
def test_tiers_of_validated_designs_are_those_of_their_names(fabric):
    """Leaves that bridge alone hang on those that route; `dc1-leaf1c` and `L2LEAF` are such."""
    found = corpora.devices("eos", "aristanetworks-avd").items()
    devices = {
        Path(path).stem: device(Path(path).stem, "eos", files)
        for path, files in found
        if f"/{fabric}/" in path
    }
    links = links_of(devices)
    want = {
        name: Tier.SPINE
        if "spine" in name.lower()
        else Tier.OTHER
        if re.search("L2LEAF|leaf.c$", name)
        else Tier.TOR
        for name in devices
    }
    assert {name: place.tier for name, place in places_of(devices, links).items()} == want
    assert not any(link.against for link in links)


def routed_port(port: int, address: str, more: str = "") -> str:
    return f"interface Ethernet{port}\n   no switchport\n{more}   ip address {address}/31\n"


def test_a_router_that_tenants_alone_lead_to_is_in_no_tier():
    red = "   vrf RED\n"
    texts = {
        "one": routed_port(1, "10.0.0.0") + routed_port(2, "10.0.1.0", red),
        "two": routed_port(1, "10.0.0.2") + routed_port(2, "10.0.1.2", red),
        "top": routed_port(1, "10.0.0.1") + routed_port(2, "10.0.0.3"),
        "gateway": routed_port(1, "10.0.1.1") + routed_port(2, "10.0.1.3"),
    }
    devices = {
        name: device(name, "eos", {"running-config.cfg": f"hostname {name}\n{text}"})
        for name, text in texts.items()
    }
    places = places_of(devices, links_of(devices))
    assert {name: place.tier for name, place in places.items()} == {
        "one": Tier.TOR, "two": Tier.TOR, "top": Tier.SPINE, "gateway": Tier.OTHER
    }  # fmt: skip


RACKS = ("rack7", "rack07", "rack007", "rack0007", "rack00007", "7", "7²", "²")
"""Names that are one where numbers count as numbers, and digits that are of no number."""
TOLD = "from tests.audit.test_places import find_racks; print(find_racks())"


def find_racks():
    """The unit of a ToR with a host of its own, for each name."""
    switches = {name: device(name, "eos", {}) for name in RACKS}
    hosts = {f"{name}-host": device(f"{name}-host", "host", {}) for name in RACKS}
    links = [Link(End(name, "Ethernet1"), End(f"{name}-host", "eth0"), ()) for name in RACKS]
    places = places_of(switches | hosts, links)
    return [(name, place.unit) for name, place in places.items() if name in switches]


@pytest.mark.slow
def test_names_that_differ_in_zeros_and_odd_digits_come_in_one_order():
    seeds = ("1", "2", "3")
    reported = {
        subprocess.check_output([sys.executable, "-c", TOLD], env=os.environ | {"PYTHONHASHSEED": seed})
        for seed in seeds
    }
    assert len(reported) == 1
    assert sorted(unit for _, unit in find_racks()) == list(range(len(RACKS)))
