"""The acceptance test's rounds cross every link, with each port once at a time, and expect what the wire can carry."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.jobs.files import (
    EXPECTED_MISSES,
    OVERLOADS,
    QUEUE_PAIRS,
    acceptance_plan,
    flows_to_cover,
    goodput_gbps,
    rdma_mtu,
    senders_without_overload,
)
from fabricc.back.jobs.roster import list_hosts
from fabricc.fabric.shape import TierName
from tests.back.jobs.fabrics import SPECS, fabric, files, import_script, write_tree
from tests.front.planning.support import make_document, planned

Port = tuple[str, str]


@cache
def pairs_module() -> Any:
    with TemporaryDirectory() as folder:
        return import_script(write_tree("rails", Path(folder)), "pairs")


def plan_of(name: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(files(name)["acceptance/plan.json"])
    return plan


def expand_pairs(plan: dict[str, Any], entry: dict[str, Any]) -> list[tuple[Port, Port]]:
    module = pairs_module()
    return [
        tuple((module.host_of(plan, at), module.port_of(plan, at)["name"]) for at in pair)
        for pair in module.pairs(plan, entry)
    ]


@cache
def planned_tors(name: str) -> dict[Port, str]:
    """The ToR of every port of every host, from the fabric itself."""
    built = fabric(name)
    hosts = [built.host(at) for at in built.host_ids()]
    return {(host.name, port.name): port.peer.device for host in hosts for port in host.ports}


def gated_pairs(name: str) -> list[tuple[str, tuple[Port, Port]]]:
    plan = plan_of(name)
    return [
        (entry["kind"], pair)
        for entry in plan["rounds"]
        if entry["kind"] in pairs_module().GATED
        for pair in expand_pairs(plan, entry)
    ]


@pytest.mark.parametrize("name", SPECS)
def test_every_host_link_is_crossed_both_ways(name: str) -> None:
    pairs = [pair for _, pair in gated_pairs(name)]
    assert {sender for sender, _ in pairs} == {receiver for _, receiver in pairs} == set(planned_tors(name))


@pytest.mark.parametrize("name", SPECS)
def test_every_port_has_two_partners_each_way(name: str) -> None:
    """With one partner a fault could be at either end."""
    partners: dict[tuple[str, Port], set[Port]] = {}
    for _, (sender, receiver) in gated_pairs(name):
        partners.setdefault(("to", sender), set()).add(receiver)
        partners.setdefault(("from", receiver), set()).add(sender)
    assert min(map(len, partners.values())) >= 2


@pytest.mark.parametrize("name", SPECS)
def test_in_a_round_each_port_sends_to_one_and_receives_from_one(name: str) -> None:
    plan = plan_of(name)
    for entry in plan["rounds"]:
        pairs = expand_pairs(plan, entry)
        assert pairs
        assert all(sender[0] != receiver[0] for sender, receiver in pairs)
        assert max(Counter(sender for sender, _ in pairs).values()) == 1
        if entry["kind"] != "incast":
            assert max(Counter(receiver for _, receiver in pairs).values()) == 1


@pytest.mark.parametrize("name", SPECS)
def test_rounds_stay_where_they_are_meant_to(name: str) -> None:
    built, of = fabric(name), planned_tors(name)
    pods = {host.name: host.unit // built.shape.units_per_pod for host in map(built.host, built.host_ids())}
    planes = {built.name(s): s.plane for s in built.switch_ids() if s.tier is TierName.TOR}
    for kind, (sender, receiver) in gated_pairs(name):
        same_pod = pods[sender[0]] == pods[receiver[0]]
        assert planes[of[sender]] == planes[of[receiver]]
        assert (of[sender] == of[receiver]) == (kind == "tor")
        assert same_pod == (kind != "core")


@pytest.mark.parametrize("name", SPECS)
def test_hashed_flows_hardly_ever_overload_an_uplink(name: str) -> None:
    """A flow is a sixteenth of its port; in a hundred trials of every round an uplink may be overloaded a few times."""
    plan, of, rng = plan_of(name), planned_tors(name), random.Random(3)
    shape = fabric(name).shape
    rounds = [expand_pairs(plan, entry) for entry in plan["rounds"] if entry["kind"] == "spine"]
    ports = {port["speed_gbps"] for kind in plan["kinds"] for port in kind["ports"]}
    capacity, overloads = QUEUE_PAIRS * shape.uplink_gbps / max(ports), 0
    for pairs in rounds * 100:
        load: Counter[tuple[str, int]] = Counter()
        for sender, _ in pairs:
            load.update((of[sender], rng.randrange(shape.uplinks)) for _ in range(QUEUE_PAIRS))
        overloads += sum(flows > capacity for flows in load.values())
    assert overloads <= 100 * len(rounds) * OVERLOADS


def test_hosts_of_two_models_on_one_set_of_tors_are_tested_by_their_own_devices() -> None:
    groups = [
        {"name": "big", "model": "hgx-h100", "hosts": 4, "hosts_per_unit": 4},
        {"name": "small", "model": "mi355x-thor2", "hosts": 1, "hosts_per_unit": 1, "beside": "big"},
    ]
    built = planned(
        make_document(gpus={"model": None, "hosts": None, "hosts_per_unit": None, "groups": groups})
    )
    assert built.fabric is not None
    plan = acceptance_plan(built.fabric, list_hosts(built.fabric, built.fabric.host))
    (unit,) = plan["units"]
    module = pairs_module()
    devices = {
        module.host_of(plan, at): module.port_of(plan, at)["rdma"]
        for entry in plan["rounds"]
        for pair in module.pairs(plan, entry)
        for at in pair
        if at[2] == 0
    }
    assert devices == {name: "bnxt_re_r0" if "small" in name else "mlx5_r0" for name in unit["hosts"]}


def test_every_host_and_lane_has_its_turn() -> None:
    plan = plan_of("racks")
    entries = [{"kind": "spine", "turn": turn, "hosts": 2} for turn in range(8)]
    assert {sender for entry in entries for sender, _ in expand_pairs(plan, entry)} == set(
        planned_tors("racks")
    )


@pytest.mark.parametrize("name", SPECS)
def test_hashed_flows_reach_every_uplink(name: str) -> None:
    """Every queue pair takes an uplink at random, in both directions, as ECMP does; twenty trials."""
    uplinks = fabric(name).shape.uplinks
    of, rng = planned_tors(name), random.Random(1)
    spine = [pair for kind, pair in gated_pairs(name) if kind == "spine"]
    missed = 0
    for _ in range(20):
        seen = set()
        for sender, receiver in spine:
            for _ in range(QUEUE_PAIRS):
                link = rng.randrange(uplinks)
                seen |= {(of[sender], "up", link), (of[receiver], "down", link)}
        missed += 2 * len(set(of.values())) * uplinks - len(seen)
    assert missed <= 20 * 2 * EXPECTED_MISSES * 5


def test_rounds_between_pods_reach_every_link_of_the_cores() -> None:
    built, rng = fabric("pods"), random.Random(2)
    links = built.shape.spines * built.shape.spine_uplinks
    pods = {host.name: host.unit // built.shape.units_per_pod for host in map(built.host, built.host_ids())}
    core = [pair for kind, pair in gated_pairs("pods") if kind == "core"]
    seen = set()
    for sender, receiver in core:
        for _ in range(QUEUE_PAIRS):
            seen |= {
                (pods[sender[0]], "up", rng.randrange(links)),
                (pods[receiver[0]], "down", rng.randrange(links)),
            }
    assert len(seen) == 2 * built.shape.pods * links


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
    st.sampled_from([(8, 1, 1), (8, 8, 1), (4, 2, 2), (2, 2, 1), (1, 1, 1)]),
    st.integers(1, 3),
    st.integers(0, 40),
)
def test_pairs_of_fabrics_of_any_size_are_partial_permutations(
    sizes: list[int], rails: tuple[int, int, int], pods: int, turn: int
) -> None:
    count, per_tor, nic_ports = rails
    ports = [{"name": f"r{rail}p{port}"} for rail in range(count) for port in range(nic_ports)]
    names = [[f"u{unit}h{host}" for host in range(size)] for unit, size in enumerate(sizes)]
    plan = {
        "shape": {"rails": count, "nic_ports": nic_ports, "planes": 1, "rails_per_tor": per_tor},
        "kinds": [{"model": "m", "ports": ports}],
        "units": [
            {"name": f"u{unit}", "pod": f"p{unit * pods // len(sizes)}", "kind": 0, "hosts": hosts}
            for unit, hosts in enumerate(names)
        ],
    }
    units_of_pods = Counter(unit["pod"] for unit in plan["units"])
    entries = [
        {"kind": "tor", "host_shift": turn + 1, "lane_shift": turn % per_tor},
        {"kind": "spine", "turn": turn, "hosts": min(sizes)},
        {"kind": "load"},
    ]
    if len(units_of_pods) > 1:
        entries.append({"kind": "core", "turn": turn, "units": min(units_of_pods.values())})
    for entry in entries:
        pairs = expand_pairs(plan, entry)
        assert len({sender for sender, _ in pairs}) == len({receiver for _, receiver in pairs}) == len(pairs)
        assert all(sender[0] != receiver[0] for sender, receiver in pairs)
    inside = expand_pairs(plan, entries[0])
    assert len(inside) == sum(size for size in sizes if size > 1) * len(ports)


@given(st.integers(2, 200), st.integers(1, 2000))
def test_enough_flows_leave_few_links_out_and_one_less_would_not(links: int, others: int) -> None:
    all_links = links * others
    flows = flows_to_cover(links, all_links)
    assert all_links * (1 - 1 / links) ** flows <= EXPECTED_MISSES * (1 + 1e-9)
    assert all_links * (1 - 1 / links) ** (flows - 1) > EXPECTED_MISSES * (1 - 1e-9)


def test_few_rounds_suffice_for_a_large_fabric() -> None:
    """The largest published fabric: 1,536 ToRs of 16 uplinks, 128 spines of 28."""
    assert -(-flows_to_cover(16, 24576) // QUEUE_PAIRS) == 15
    assert senders_without_overload(16 * 28, 3584, QUEUE_PAIRS) == 90


@pytest.mark.parametrize(
    ("mtu", "expected"), [(1500, 1024), (4191, 2048), (4192, 4096), (9000, 4096), (300, 256)]
)
def test_the_path_mtu_leaves_room_for_the_headers(mtu: int, expected: int) -> None:
    assert rdma_mtu(mtu) == expected


@pytest.mark.parametrize(
    ("mtu", "ipv6", "share"),
    [
        (9000, False, 4096 / (4096 + 82)),  # 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12 bytes around 4096
        (9000, True, 4096 / (4096 + 102)),
        (1500, False, 1024 / (1024 + 82)),
    ],
)
def test_the_expected_figure_is_the_line_rate_less_the_headers(mtu: int, ipv6: bool, share: float) -> None:
    assert goodput_gbps(400, mtu, ipv6=ipv6) == pytest.approx(400 * share, rel=1e-4)


def test_the_plan_sets_the_lossless_class_and_the_speed_of_every_port() -> None:
    plan = plan_of("rails")
    assert (plan["traffic"]["tclass"], plan["traffic"]["lossless_priorities"]) == (106, [3])
    assert {port["expected_gbps"] for kind in plan["kinds"] for port in kind["ports"]} == {392.1}
    assert plan_of("lossy")["traffic"]["tclass"] == 0
