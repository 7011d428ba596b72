"""The emitted files read back as planned, and every planted fault is found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back.infiniband import sm_files
from fabricc.back.infiniband.sm_files import read_topology
from fabricc.fabric.infiniband_wiring import Subnet
from fabricc.proof.infiniband.sim.processes import net_file
from fabricc.proof.infiniband.subnets import prove_subnet, top_switches
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets, render_subnet

if TYPE_CHECKING:
    from collections.abc import Callable

IB = plan_subnets(make_document(hosts=12, priorities=CLASSES, infiniband=TENANTS))
FILES = render_subnet(IB)
LEAF = "0x02fab30000000000"
SPINE = "0x02fab20000000000"
HOST = "0x02fab40000000000"


def find_codes(files: dict[str, str]) -> set[str]:
    return {finding.code for finding in prove_subnet(Subnet(IB, 0), files)}


def test_the_files_are_proved() -> None:
    assert find_codes(FILES) == set()


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("cores", [False, True])
def test_every_shape_is_proved(planes: int, cores: bool) -> None:
    box = {"model": "qm9700"}
    more = {"spines": {**box, "units_per_pod": 1}, "cores": box} if cores else {}
    ib = plan_subnets(make_document(hosts=12, planes=planes, **more))
    for plane in range(planes):
        assert list(prove_subnet(Subnet(ib, plane), render_subnet(ib, plane))) == []


def replace_text(file: str, old: str, new: str, count: int = 1) -> Callable[[dict[str, str]], None]:
    def change(files: dict[str, str]) -> None:
        assert old in files[file], (file, old)
        files[file] = files[file].replace(old, new, count)

    return change


def swap_cables(files: dict[str, str]) -> None:
    """Exchange two cables of one leaf, at both of their ends, as a crew would."""
    text = files[sm_files.TOPOLOGY]
    one, two = re.findall(r"^\[(\d+)\]\t\"S-02fab20000000000\"\[(\d+)\]", text, re.MULTILINE)[:2]
    lines = text.split("\n")
    at = [n for n, line in enumerate(lines) if line.startswith((f"[{one[0]}]\t", f"[{two[0]}]\t"))][:2]
    first, second = (lines[n].partition("\t")[2] for n in at)
    lines[at[0]], lines[at[1]] = f"[{one[0]}]\t{second}", f"[{two[0]}]\t{first}"
    files[sm_files.TOPOLOGY] = "\n".join(lines)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda files: files.pop(sm_files.ROOTS), "FAB6301"),
        (replace_text(sm_files.CONF, "lmc 0", "lmc zero!\nlmc 0"), "FAB6301"),
        (replace_text(sm_files.TOPOLOGY, '"su001-tor1a" enhanced', '"su001-tor9a" enhanced'), "FAB6302"),
        (replace_text(sm_files.TOPOLOGY, "4xNDR", "4xHDR"), "FAB6303"),
        (swap_cables, "FAB6302"),
        (swap_cables, "FAB6303"),
        (replace_text(sm_files.LIDS, f"{HOST} 0x", f"{HOST} 0xc0"), "FAB6301"),
        (replace_text(sm_files.LIDS, "0x0003 0x0003", "0x0004 0x0004"), "FAB6304"),
        (replace_text(sm_files.LIDS, "0x0003 0x0003", "0xc000 0xc000"), "FAB6304"),
        (replace_text(sm_files.ROOTS, SPINE, LEAF), "FAB6305"),
        (replace_text(sm_files.COMPUTE, f"{HOST}\n", ""), "FAB6305"),
        (replace_text(sm_files.PARTITIONS, "ALL=limited", "ALL=full"), "FAB6306"),
        (replace_text(sm_files.PARTITIONS, "defmember=full", "defmember=fulll"), "FAB6301"),
        (replace_text(sm_files.PARTITIONS, "0x8011", "0x8010"), "FAB6306"),
        (replace_text(sm_files.PARTITIONS, f"{HOST}", "0x02fab40000000001"), "FAB6306"),
        (replace_text(sm_files.PARTITIONS, "Default=0x7fff", "Default=0x7ff0"), "FAB6306"),
        (replace_text(sm_files.CONF, "routing_engine ftree,updn", "routing_engine ar_ftree"), "FAB6307"),
        (replace_text(sm_files.CONF, "subnet_prefix 0xfe80", "subnet_prefix 0xfec0"), "FAB6307"),
        (replace_text(sm_files.CONF, "qos_sl2vl 0,1,2", "qos_sl2vl 0,0,2"), "FAB6309"),
        (replace_text(sm_files.CONF, "qos_vlarb_high 2:64", "qos_vlarb_high 2:0"), "FAB6309"),
        (replace_text(sm_files.POLICY, ": 1\n", ": 2\n"), "FAB6309"),
    ],
)
def test_a_planted_fault_is_found(change: Callable[[dict[str, str]], None], code: str) -> None:
    files = dict(FILES)
    change(files)
    assert code in find_codes(files)


def test_unequal_links_to_the_spines_are_found() -> None:
    ib = plan_subnets(make_document("dgx-a100", 40, 20))
    files = render_subnet(ib)
    leaf = next(
        node for node in read_topology(files[sm_files.TOPOLOGY]).switches() if node.name == "su001-tor1a"
    )
    port = max(leaf.ends)
    files[sm_files.TOPOLOGY] = re.sub(
        rf'(Switch\t40 "{leaf.id}".*?)\n\[{port}\][^\n]*',
        r"\1",
        files[sm_files.TOPOLOGY],
        count=1,
        flags=re.DOTALL,
    )
    assert "FAB6308" in {finding.code for finding in prove_subnet(Subnet(ib, 0), files)}


def test_the_top_of_the_tree_follows_from_the_cables() -> None:
    box = {"model": "qm9700"}
    ib = plan_subnets(make_document(hosts=12, spines={**box, "units_per_pod": 1}, cores=box))
    topology = read_topology(render_subnet(ib)[sm_files.TOPOLOGY])
    assert {topology.nodes[node].name[:4] for node in top_switches(topology)} == {"core"}


def test_partition_members_stand_on_lines_of_their_own() -> None:
    """opensm 3.3.23 reads long lines in pieces, and a GUID across two of them is one that it does not know."""
    assert max(map(len, FILES[sm_files.PARTITIONS].splitlines())) < 128


def test_the_simulator_gets_node_guids_one_below_port_guids_and_no_lids() -> None:
    net = read_topology(net_file(FILES[sm_files.TOPOLOGY]))
    plan = read_topology(FILES[sm_files.TOPOLOGY])
    assert {node.guid + 1 for node in net.adapters()} == {node.guid for node in plan.adapters()}
    assert {node.lid for node in net.nodes.values()} == {0}
    assert {end[2] for node in net.nodes.values() for end in node.ends.values()} == {"4xHDR"}
    assert all(len(line) < 256 for line in net_file(FILES[sm_files.TOPOLOGY]).splitlines())


def test_a_fabric_whose_host_ports_are_all_shut_is_rendered() -> None:
    """`overrides` may shut every port; partitions then state no rate."""
    shut = {f"su001-tor{rail}a": {"ports": {"1/1": {"shutdown": True}}} for rail in range(1, 9)}
    files = render_subnet(plan_subnets(make_document(hosts=1, per_unit=1, overrides=shut)))
    assert "rate=" not in files[sm_files.PARTITIONS]
