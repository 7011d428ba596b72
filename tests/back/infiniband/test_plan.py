"""Published fabrics, stable identities, reported limits, suitable engines."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.infiniband import MOST_LIDS, is_placeholder, subnet_prefix
from fabricc.fabric.infiniband_wiring import Subnet, expand_hosts
from fabricc.fabric.shape import TierName
from fabricc.front.planning.infiniband.plan import list_rooms
from fabricc.front.planning.topology.clos import spine_layer
from tests.back.infiniband.support import CATALOG, find_codes, make_document, plan_spec, plan_subnets

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.infiniband import InfinibandFabric


def assigned_numbers(ib: InfinibandFabric) -> dict[str, tuple[int, int]]:
    """Name -> (LID, GUID) of everything that has them, over all subnets."""
    table = {}
    for number in range(ib.subnets):
        subnet = Subnet(ib, number)
        table |= {each.name: (each.lid, each.guid) for each in subnet.switches()}
        table |= {each.label: (each.lid, each.guid) for each in subnet.host_ports()}
    return table


@pytest.mark.parametrize(
    ("row", "nodes", "leaves", "spines"),
    [("T14", 72, 8, 4), ("T16", 288, 32, 18), ("T17", 576, 64, 36), ("T18", 1296, 144, 72)],
)
def test_published_xdr_rows(row: str, nodes: int, leaves: int, spines: int) -> None:
    """DGX SuperPOD, B300 with 144-port XDR switches (docs.nvidia.com).

    The page prints 9,216 GPUs in the last row. Its cables are 10,368 = 1,296 nodes x 8, which is also 144 leaves of
    72 ports: the number of GPUs is the erratum, the cables are right.
    """
    counts = plan_subnets(make_document("dgx-b300", nodes, 72)).counts()
    assert [counts[key] for key in ("tors", "spines", "host_cables", "spine_cables")] == [
        leaves, spines, nodes * 8, nodes * 8,
    ]  # fmt: skip
    assert counts["gpus"] == nodes * 8


@pytest.mark.parametrize(("leaves", "ceiling", "divisor"), [(32, 16, 18), (64, 32, 36)])
def test_the_spine_count_divides_the_uplinks(leaves: int, ceiling: int, divisor: int) -> None:
    """72 uplinks do not spread evenly over 16 spines (4.5 links each) nor over 32: the published rows have 18, 36."""
    assert -(-leaves * 72 // 144) == ceiling
    assert 72 % ceiling != 0
    layer = spine_layer(leaves, 72, 144)
    assert layer is not None
    assert (layer.count, layer.links_per_spine) == (divisor, 72 // divisor)


@pytest.mark.parametrize(
    ("model", "hosts_", "per_unit", "leaves", "spines"),
    [("dgx-a100", 100, 20, 40, 20), ("dgx-h100", 64, 32, 16, 8), ("dgx-h100", 256, 32, 64, 32)],
)
def test_two_full_tiers_hold_half_the_square_of_the_radix(
    model: str, hosts_: int, per_unit: int, leaves: int, spines: int
) -> None:
    counts = plan_subnets(make_document(model, hosts_, per_unit)).counts()
    assert (counts["tors"], counts["spines"]) == (leaves, spines)


def test_three_tiers_have_both_ends_of_every_cable() -> None:
    box = {"model": "qm9700"}
    ib = plan_subnets(make_document("dgx-h100", 96, 32, spines={**box, "units_per_pod": 1}, cores=box))
    switches = {each.guid: each for each in Subnet(ib, 0).switches()}
    ends = {
        (each.guid, end.port): (end.peer_guid, end.peer_port)
        for each in switches.values()
        for end in each.ends
        if not end.to_host
    }
    assert ends
    assert all(ends[there] == here for here, there in ends.items())
    assert all(1 <= port <= switches[guid].ports for guid, port in ends)


def make_rail_groups(units: int, per_unit: int, per_pod: int) -> dict[str, Any]:
    """Spines by rail below cores: racks of GB200 NVL72 on 64-port switches, so many racks in a pod."""
    box = {"model": "qm9700"}
    gpus = {"model": "gb200-nvl72", "hosts": units * per_unit, "hosts_per_unit": per_unit}
    spines = {**box, "rails": 1, "units_per_pod": per_pod}
    return make_document(gpus=gpus, tors=box, spines=spines, cores=box)


def test_published_rail_groups_below_cores() -> None:
    """DGX SuperPOD, GB200, 16 scalable units of eight racks: 512 leaves, 384 spines and 144 cores in one subnet."""
    counts = plan_subnets(make_rail_groups(128, 18, 8)).counts()
    wanted = {"gpus": 9216, "tors": 512, "spines": 384, "cores": 144, "subnets": 1}
    wanted |= dict.fromkeys(("host_cables", "spine_cables", "core_cables"), 9216)
    assert {key: counts[key] for key in wanted} == wanted


def test_more_rail_groups_than_cores_have_ports_for_lead_to_larger_pods() -> None:
    """DGX SuperPOD, B200, 64 scalable units: 512 leaves, 512 spines and 256 cores, in pods of eight units."""
    spec = make_rail_groups(64, 32, 4) | {"gpus": {"model": "dgx-b200", "hosts": 2048, "hosts_per_unit": 32}}
    (refused,) = [each for each in plan_spec(spec).diagnostics if each.code == "FAB3012"]
    assert "the largest number of pods that fits is 8: `spines.units_per_pod: 8`" in refused.help
    spec["spines"]["units_per_pod"] = 8
    counts = plan_subnets(spec).counts()
    assert [counts[key] for key in ("tors", "spines", "cores", "core_cables")] == [512, 512, 256, 16384]


def test_spines_with_more_ports_are_switches_of_infiniband() -> None:
    box = {"model": "qm9700"}
    gpus = {"model": "dgx-h100", "hosts": 64, "hosts_per_unit": 2}
    text = make_document(gpus=gpus, tors=box, spines=box)
    (refused,) = [each for each in plan_spec(text).diagnostics if each.code == "FAB3009"]
    named = re.findall(r"([a-z0-9-]+) \(\d+ ports\)", refused.help)
    assert all("infiniband" in CATALOG.switches[each].nos for each in named), named
    assert named or "No spine of the catalog" in refused.help


@pytest.mark.parametrize("below_cores", [True, False])
def test_each_of_more_than_sixteen_planes_has_guids_and_prefixes_of_its_own(*, below_cores: bool) -> None:
    """Eight rails with four ports make 32 sets of spines, each a subnet unless cores join the rails."""
    box = {"model": "qm9700"}
    gpus = {"model": "dgx-b300", "hosts": 4, "hosts_per_unit": 2}
    above = {"cores": box, "spines": {**box, "rails": 1, "units_per_pod": 1}}
    above = above if below_cores else {"spines": {**box, "rails": 1}}
    ib = plan_subnets(make_document(gpus=gpus, tors=box, **above) | {"planes": 4})
    assert ib.subnets == (4 if below_cores else 32)
    table = assigned_numbers(ib)
    assert len({guid for _, guid in table.values()}) == len(table)
    assert all(is_placeholder(guid) for _, guid in table.values())
    prefixes = [subnet_prefix(network, number) for network in range(8) for number in range(ib.subnets)]
    assert len({*prefixes}) == len(prefixes)


def test_cores_join_the_rails_to_one_subnet() -> None:
    """Every switch and adapter has a LID of its own, and a cable between rails leads through a core."""
    ib = plan_subnets(make_rail_groups(5, 3, 2))
    table = assigned_numbers(ib)
    assert len({lid for lid, _ in table.values()}) == len({guid for _, guid in table.values()}) == len(table)
    switches = {each.guid: each for each in Subnet(ib, 0).switches()}
    above = [
        {switches[end.peer_guid].name for end in each.ends if not end.to_host}
        for each in switches.values()
        if each.tier is TierName.CORE
    ]
    assert all({f"pod{pod}-spine01{rail}" for pod in "123" for rail in "abcd"} <= names for names in above)


def test_pods_of_rail_groups_renumber_nothing() -> None:
    spec = make_rail_groups(2, 3, 2)
    spec["gpus"]["capacity"] = 18
    small = plan_spec(spec)
    assert small.fabric is not None
    before = assigned_numbers(small.fabric)
    grown = assigned_numbers(plan_subnets(make_rail_groups(6, 3, 2), small.lock))
    assert {name: grown[name] for name in before if name in grown} == before


@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(1, 16), st.sampled_from([1, 2]))
def test_every_lid_and_guid_is_its_own_within_a_subnet(units: int, per_unit: int, planes: int) -> None:
    ib = plan_subnets(make_document("dgx-h100", units * per_unit, per_unit, planes=planes))
    for plane in range(planes):
        subnet = Subnet(ib, plane)
        lids = [s.lid for s in subnet.switches()] + [p.lid for p in subnet.host_ports()]
        assert len(set(lids)) == len(lids)
        assert 1 <= min(lids) <= max(lids) <= MOST_LIDS
    guids = [guid for _, guid in assigned_numbers(ib).values()]
    assert len(set(guids)) == len(guids)
    assert all(map(is_placeholder, guids))


def test_growth_renumbers_nothing() -> None:
    gpus = {"model": "dgx-h100", "hosts_per_unit": 4, "capacity": 24}
    small = plan_spec(make_document(gpus={**gpus, "hosts": 8}))
    assert small.fabric is not None
    before = assigned_numbers(small.fabric)
    grown = assigned_numbers(plan_subnets(make_document(gpus={**gpus, "hosts": 24}), small.lock))
    assert {name: grown[name] for name in before} == before
    assert len(grown) > len(before)


def test_two_planes_are_two_subnets_with_lids_of_their_own() -> None:
    ib = plan_subnets(make_document(planes=2))
    assert ib.counts()["subnets"] == 2
    one, two = (list(Subnet(ib, plane).host_ports()) for plane in (0, 1))
    assert [port.lid for port in one] == [port.lid for port in two]
    assert {port.host for port in one} == {port.host for port in two}
    assert not {port.guid for port in one} & {port.guid for port in two}


def make_rails_apart(hosts: int, per_unit: int, model: str = "dgx-h100") -> dict[str, Any]:
    gpus = {"model": model, "hosts": hosts, "hosts_per_unit": per_unit, "wiring": "rail-only"}
    return make_document(model, gpus=gpus)


def test_rails_that_are_subnets_of_their_own_count_alone() -> None:
    """Each has its spines, ToRs and host ports without holes, and the lock keeps an earlier numbering."""
    planned = plan_spec(make_rails_apart(8, 4))
    assert planned.fabric is not None
    assert planned.lock.strides["lid_rails"] == 1
    assert {room.pin: (room.used, room.room) for room in list_rooms(planned.fabric)}["lid_rails"] == (1, 1)
    for rail in range(8):
        subnet = Subnet(planned.fabric, rail)
        lids = [s.lid for s in subnet.switches()] + [p.lid for p in subnet.host_ports()]
        assert sorted(lids) == list(range(1, 1 + 1 + 2 + 8))
    assert plan_subnets(make_rails_apart(8, 4), planned.lock).lids == planned.fabric.lids
    earlier = {pin: value for pin, value in planned.lock.strides.items() if pin != "lid_rails"}
    kept = plan_spec(make_rails_apart(8, 4), replace(planned.lock, strides=earlier))
    assert kept.fabric is not None
    assert kept.fabric.lids.rails == 8
    assert kept.lock.strides["lid_rails"] == 8
    del earlier["lid_unit"]  # as `--repin=lid_unit` does
    again = plan_spec(make_rails_apart(8, 4), replace(planned.lock, strides=earlier))
    assert again.fabric is not None
    assert again.fabric.lids == kept.fabric.lids
    last = max(Subnet(kept.fabric, 7).host_ports(), key=lambda port: port.lid)
    assert last.lid == kept.fabric.lids.top(kept.fabric.wiring.shape, 2)
    joined = plan_spec(make_document(), replace(planned.lock, hosts={}, units={}))
    assert "FAB3020" in {d.code for d in joined.diagnostics}


def test_more_hosts_than_lids_over_all_rails_fit_where_rails_are_apart() -> None:
    """7,200 hosts with eight ports have 57,600, and each subnet of a rail 7,200."""
    planned = plan_spec(make_rails_apart(7200, 72, "dgx-b300"))
    assert [d.code for d in planned.diagnostics if d.severity is Severity.ERROR] == []
    assert planned.fabric is not None
    assert planned.fabric.lids.top(planned.fabric.wiring.shape, 100) < 0x7FFF


def test_more_lids_than_a_subnet_has_are_refused_with_what_fits() -> None:
    """49,151 unicast LIDs: a full three-tier fabric of 64-port switches needs 70,656."""
    box = {"model": "qm9700"}
    result = plan_spec(make_document("dgx-h100", 8192, 32, cores=box))
    assert result.fabric is None
    (problem,) = [d for d in result.diagnostics if d.code == "FAB5807"]
    assert "49,151" in problem.message
    assert "The largest that fits is" in problem.help


def test_every_host_port_has_an_ipoib_address_in_the_subnet_of_its_rail() -> None:
    ib = plan_subnets(make_document())
    addresses: dict[int, set[str]] = {}
    for host in expand_hosts(ib):
        for port in host.ports:
            addresses.setdefault(port.rail, set()).add(str(port.address))
    assert len(addresses) == 8
    assert len(set().union(*addresses.values())) == 64
    assert ib.ipoib is not None
    assert (ib.ipoib.mode, ib.ipoib.mtu) == ("datagram", 4092)


@pytest.mark.parametrize(
    ("more", "engine", "why"),
    [
        ({}, ("ftree", "updn"), "fat tree"),
        ({"spines": {"model": "qm9700", "reserved_ports": 2}}, ("updn",), "hosts on leaves only"),
        (
            {"gpus": {"model": "dgx-h100", "racks": 1, "hosts_per_rack": 2, "wiring": "rack"}},
            ("minhop",),
            "one leaf",
        ),
    ],
)
def test_the_topology_chooses_the_engine(more: dict[str, Any], engine: tuple[str, ...], why: str) -> None:
    chosen = plan_subnets(make_document(**more)).engine
    assert chosen.names == engine
    assert why in chosen.reason


def test_real_guids_replace_placeholders_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "guids.yaml").write_text(
        "su001-tor1a: 0x506b4b0300a1b2c4\nsu001-host01/rail0: 0c42:a103:00ab:cde0\nspine01a: 50-6b-4b-03-00-a1-b2-c8\n"
    )
    spec = make_document(infiniband={"guids": "guids.yaml"})
    with_guids, without = plan_subnets(spec, folder=tmp_path), plan_subnets(make_document())
    after, before = assigned_numbers(with_guids), assigned_numbers(without)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"su001-tor1a", "su001-host01/rail0", "spine01a"}
    assert after["su001-host01/rail0"] == (before["su001-host01/rail0"][0], 0x0C42A10300ABCDE0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("su009-tor1a: 0x506b4b0300a1b2c4", "has no device"),
        ("su001-tor1a: 0x506b", "not a GUID"),
        ("su001-tor1a: 0x516b4b0300a1b2c4", "not a GUID"),
        ("su001-tor1a: 0x506b4b0300a1b2c4\nsu001-tor2a: 0x506b4b0300a1b2c4", "has the GUID of su001-tor1a"),
        ("su001-tor1a: 0x506b4b0300a1b2c4\nsu001-tor1a: 0x506b4b0300a1b2c5", "appears twice"),
        ("- a list", "not a mapping"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_file_of_guids_is_reported(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "guids.yaml").write_text(text)
    result = plan_spec(make_document(infiniband={"guids": "guids.yaml"}), folder=tmp_path)
    assert result.fabric is None
    assert what in next(d.message for d in result.diagnostics if d.code == "FAB5813")


def test_placeholders_are_reported() -> None:
    result = plan_spec(make_document())
    (reported,) = [d for d in result.diagnostics if d.code != "FAB5623"]
    assert reported.code == "FAB5814"
    assert "81 of 81" in reported.message


def test_a_lock_that_is_outgrown_is_reported() -> None:
    first = plan_spec(make_document(per_unit=4))
    squeezed = replace(first.lock, strides={**first.lock.strides, "lid_slots": 2})
    assert "FAB3020" in {d.code for d in plan_spec(make_document(), squeezed).diagnostics}


def test_the_least_repin_of_lids_is_the_one_that_is_outgrown(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(json.dumps(make_document(per_unit=2)))
    first = compile_spec(spec)
    (tmp_path / "fabricc.lock").write_text(first.lock_text)
    spec.write_text(json.dumps(make_document(per_unit=4)))
    assert "FAB3020" in {d.code for d in compile_spec(spec).diagnostics}
    front = compile_spec(spec, repin=())
    assert front.infiniband is not None
    assert front.repinned is not None
    one_spine = {"links_per_spine": (2, 4)}  # two would need the LID at which units begin
    assert front.repinned.pins == {"lid_slots": (2, 4), "tor_up_cage": (1, 2)} | one_spine
    assert front.repinned.touched.hosts == 8
    (tmp_path / "fabricc.lock").write_text(front.lock_text)
    assert compile_spec(spec).sound
    found_rooms = {room.pin: (room.used, room.room) for room in list_rooms(front.infiniband)}
    assert found_rooms["lid_slots"] == (4, 4)
    assert {"lid_unit", "links_per_spine", "tor_up_cage"} <= found_rooms.keys()


def test_racks_that_a_unit_splits_and_trays_without_racks_are_reported_as_on_ethernet() -> None:
    trays = {"model": "gb300-nvl72", "hosts_per_unit": 27}
    box = {"model": "q3400"}
    racked = {**trays, "racks": ["a01", "a02", "a03"], "hosts_per_rack": 18}
    assert "FAB3057" in find_codes(make_document(gpus=racked, tors=box, spines=box))
    assert "FAB3170" in find_codes(make_document(gpus={**trays, "hosts": 54}, tors=box, spines=box))
