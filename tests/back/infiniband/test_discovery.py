"""Cabling found by ibnetdiscover: each missing, unplanned, misplaced or slow link is named, and nothing else is."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.infiniband import sm_files
from fabricc.back.infiniband.cabling import compare_files, compare_topologies
from fabricc.back.infiniband.sm_files import ReadTopology, read_topology
from fabricc.proof.infiniband.sim.processes import (
    Needs,
    SimulatedSubnet,
    adapter_id,
    missing_programs,
    write_inputs,
)
from tests.back.infiniband.support import make_document, plan_subnets, render_subnet

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.back.infiniband.sm_files import Node

FILES = render_subnet(plan_subnets(make_document()))
TEXT = FILES[sm_files.TOPOLOGY]
PLANNED = read_topology(TEXT)
UPLINKS = [
    (node.id, port, *end[:2])
    for node in PLANNED.switches()
    if node.name.startswith("su")
    for port, end in node.ends.items()
    if end[0].startswith("S-")
]
Plug = tuple[str, int]


def read_example() -> ReadTopology:
    return copy.deepcopy(PLANNED)


def node_named(topology: ReadTopology, name: str) -> Node:
    return next(node for node in topology.nodes.values() if node.name == name)


def unplug(topology: ReadTopology, node: str, port: int) -> None:
    peer, peer_port, _ = topology.nodes[node].ends.pop(port)
    del topology.nodes[peer].ends[peer_port]


def plug(topology: ReadTopology, one: Plug, other: Plug, word: str = "4xNDR") -> None:
    topology.nodes[one[0]].ends[one[1]] = (*other, word)
    topology.nodes[other[0]].ends[other[1]] = (*one, word)


def find_differences(topology: ReadTopology, expected: ReadTopology = PLANNED) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in compare_topologies(expected, topology)]


def test_a_fabric_cabled_as_planned_has_no_difference() -> None:
    assert find_differences(read_example()) == []


def test_two_swapped_cables_are_one_difference() -> None:
    there = read_example()
    (low, port, high, at), (low2, port2, high2, at2) = UPLINKS[0], UPLINKS[40]
    for end in ((low, port), (low2, port2)):
        unplug(there, *end)
    plug(there, (low, port), (high2, at2))
    plug(there, (low2, port2), (high, at))
    names = [there.nodes[node].name for node in (low, high2, low2, high)]
    ((code, message),) = find_differences(there)
    assert code == "FAB6332"
    assert message.startswith(
        f"swapped: {names[0]} port {port} is cabled to {names[1]} port {at2} "
        f"and {names[2]} port {port2} to {names[3]} port {at}; planned is"
    )


@given(st.permutations(range(6)))
def test_every_misplaced_cable_is_named(order: list[int]) -> None:
    there, some = read_example(), UPLINKS[:60:10]
    for low, port, _, _ in some:
        unplug(there, low, port)
    for (low, port, _, _), to in zip(some, order, strict=True):
        plug(there, (low, port), some[to][2:])
    messages = find_differences(there)
    assert {code for code, _ in messages} <= {"FAB6332"}
    for index, ((low, port, _, _), to) in enumerate(zip(some, order, strict=True)):
        ends = f"{there.nodes[low].name} port {port} ", f"{there.nodes[some[to][2]].name} port {some[to][3]}"
        if index != to:
            assert any(all(end.strip() in message for end in ends) for _, message in messages)
    assert len(messages) <= sum(index != to for index, to in enumerate(order))


def test_a_cable_that_is_not_there_is_named_by_both_ends() -> None:
    there = read_example()
    low, port, high, at = UPLINKS[3]
    unplug(there, low, port)
    names = there.nodes[low].name, there.nodes[high].name
    assert find_differences(there) == [
        ("FAB6330", f"no link from {names[0]} port {port} to {names[1]} port {at}")
    ]


def test_an_adapter_that_does_not_answer_is_one_difference() -> None:
    there = read_example()
    gone = node_named(there, "su001-host02 mlx5_r3")
    unplug(there, gone.id, 1)
    del there.nodes[gone.id]  # type: ignore[attr-defined]
    assert find_differences(there) == [("FAB6330", "su001-host02 mlx5_r3 was not found")]


def test_a_device_that_is_not_planned_is_named_with_its_place() -> None:
    there = read_example()
    leaf = node_named(there, "su001-tor1a")
    other = replace(
        node_named(there, "su001-host02 mlx5_r3"),
        id="H-0c42a10300abcde0",
        name="storage1 mlx5_0",
        ends={},
        port_guids={},
    )
    there.nodes[other.id] = other  # type: ignore[index]
    plug(there, (other.id, 1), (leaf.id, 60))
    ((code, message),) = find_differences(there)
    assert code == "FAB6331"
    assert (
        message == "storage1 mlx5_0 (0x0c42a10300abcde0) is not planned; it is cabled to su001-tor1a port 60"
    )


def test_a_cable_between_free_ports_is_not_planned() -> None:
    there = read_example()
    plug(there, (node_named(there, "su001-tor1a").id, 60), (node_named(there, "su001-tor2a").id, 61))
    assert find_differences(there) == [
        ("FAB6331", "su001-tor1a port 60 to su001-tor2a port 61 is not planned")
    ]


def test_a_slow_link_is_named_and_no_fault_of_the_cabling() -> None:
    there = read_example()
    low, port, high, at = UPLINKS[0]
    plug(there, (low, port), (high, at), "4xHDR")
    ((code, message),) = find_differences(there)
    assert code == "FAB6333"
    assert message.endswith("runs at 4xHDR; planned is 4xNDR")


def test_devices_are_known_by_name_while_the_plan_has_placeholders() -> None:
    real = TEXT.replace("02fab3", "0c42a1").replace("02fab4", "0c42a2").replace("02fab2", "0c42a3")
    assert find_differences(read_topology(real)) == []
    managed = real.replace('"su001-tor1a"', '"MF0;su001-tor1a:MQM9700/U1"')
    assert find_differences(read_topology(managed)) == []


def test_another_guid_than_the_planned_one_is_reported() -> None:
    known = read_topology(TEXT.replace("02fab30000000000", "0c42a10300000000"))
    there = read_topology(TEXT.replace("02fab30000000000", "0c42a10300000011"))
    assert find_differences(there, known) == [
        ("FAB6334", "su001-tor1a has GUID 0x0c42a10300000011; the plan has 0x0c42a10300000000")
    ]


def test_reduction_nodes_inside_switches_are_nobodys_cables() -> None:
    there = read_example()
    leaf = node_named(there, "su001-tor1a")
    inner = replace(
        node_named(there, "su001-host02 mlx5_r3"),
        id="H-0c42a10300abcde8",
        name="Mellanox Technologies Aggregation Node",
        ends={},
        port_guids={},
    )
    there.nodes[inner.id] = inner  # type: ignore[index]
    plug(there, (inner.id, 1), (leaf.id, 65))
    assert find_differences(there) == []


def tree_path(folder: Path) -> Path:
    target = folder / "tree/subnets/a" / sm_files.TOPOLOGY
    target.parent.mkdir(parents=True)
    target.write_text(TEXT)
    return folder / "tree"


@pytest.mark.parametrize(
    ("text", "code"),
    [(TEXT, "FAB6336"), ("cluster: x\n", "FAB6335"), ("", "FAB6335"), (None, "FAB6335")],
)
def test_files_are_judged(tmp_path: Path, text: str | None, code: str) -> None:
    file = tmp_path / "found.net"
    if text is not None:
        file.write_text(text)
    (only,) = compare_files(tree_path(tmp_path), [file])
    assert only.code == code


def test_discovery_for_a_tree_without_subnets_is_reported(tmp_path: Path) -> None:
    (only,) = compare_files(tmp_path, [tmp_path / "found.net"])
    assert (only.code, "verify" in only.help) == ("FAB6335", True)


@pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}")
def test_output_of_the_real_ibnetdiscover_is_compared(tmp_path: Path) -> None:
    """Cables are moved on ibsim's console; its links all run as HDR, which is reported and is no error."""
    folder = tmp_path / "sim"
    folder.mkdir()
    write_inputs(folder, FILES)
    first = adapter_id(next(PLANNED.adapters()).guid)
    with SimulatedSubnet(folder, Needs.of(PLANNED), first, 60) as subnet:
        subnet.wait_for_sweep(0)
        whole = find_differences(
            read_topology(subnet.run_tool("ibnetdiscover", "--node-name-map", f"{folder}/{sm_files.NAMES}"))
        )
        assert {code for code, _ in whole} == {"FAB6333"}
        one, other, lost = UPLINKS[0], UPLINKS[40], UPLINKS[-1]
        for low, port, _, _ in (one, other, lost):
            subnet.console(f'Unlink "{low}"[{port}]')
        subnet.console(f'Link "{one[0]}"[{one[1]}] "{other[2]}"[{other[3]}]')
        subnet.console(f'Link "{other[0]}"[{other[1]}] "{one[2]}"[{one[3]}]')
        text = subnet.run_tool("ibnetdiscover", "--node-name-map", f"{folder}/{sm_files.NAMES}")
    codes = [code for code, _ in find_differences(read_topology(text)) if code != "FAB6333"]
    assert sorted(codes) == ["FAB6330", "FAB6332"]
