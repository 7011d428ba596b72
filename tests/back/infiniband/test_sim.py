"""The real opensm on simulated switches takes the emitted files as they are meant, and faults are found by it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.infiniband import sm_files
from fabricc.back.infiniband.sm_files import TOPOLOGY, read_topology
from fabricc.proof.infiniband.sim.judge import read_tables, walk_routes
from fabricc.proof.infiniband.sim.processes import adapter_id, missing_programs, write_inputs
from fabricc.proof.infiniband.sim.run import simulate_subnet
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets, render_subnet

if TYPE_CHECKING:
    from collections.abc import Callable

needs_opensm = pytest.mark.skipif(
    bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"
)


@pytest.mark.slow
@needs_opensm
def test_512_adapters_and_two_tenants() -> None:
    """LIDs, engine, routes, credit loops, isolation, service levels and a pulled link, as in docs/infiniband.md."""
    ib = plan_subnets(make_document("dgx-h100", 64, 32, priorities=CLASSES, infiniband=TENANTS))
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
    assert (report.adapters, report.switches, report.engine, report.ibdm) == (512, 24, "ftree", True)
    assert report.routes == 16 * 512
    assert report.loads == (15, 15)
    assert report.reroute_s is not None


@needs_opensm
@pytest.mark.slow
def test_rail_groups_below_cores_are_one_fat_tree() -> None:
    box = {"model": "qm9700"}
    gpus: dict[str, Any] = {"model": "gb200-nvl72", "hosts": 54, "hosts_per_unit": 18}
    spines = {**box, "rails": 1, "units_per_pod": 2}
    ib = plan_subnets(make_document(gpus=gpus, tors=box, spines=spines, cores=box))
    report = simulate_subnet(ib, render_subnet(ib))
    assert (report.findings, report.adapters, report.engine, report.ibdm) == ([], 216, "ftree", True)


@needs_opensm
@pytest.mark.slow
def test_leaves_of_slower_hosts_have_fewer_uplinks_and_ftree_balances_them() -> None:
    """248 adapters of other leaves over four uplinks or eight; no credit loop, and a pulled link is routed around."""
    groups = [
        {"name": name, "model": model, "hosts": 16, "hosts_per_unit": 8}
        for name, model in (("old", "dgx-a100"), ("new", "dgx-h100"))
    ]
    ib = plan_subnets(make_document(gpus={"groups": groups}))
    assert (ib.wiring.tor_links, ib.wiring.shape.spines) == ((1, 2), 4)
    assert ib.counts()["spine_cables"] == 16 * 4 + 16 * 8
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
    assert (report.adapters, report.engine, report.ibdm) == (256, "ftree", True)
    assert report.loads == (248 // 8, 248 // 4)
    assert report.reroute_s is not None


@needs_opensm
@pytest.mark.parametrize(
    ("more", "engine"),
    [
        ({"spines": {"model": "qm9700", "units_per_pod": 1}, "cores": {"model": "qm9700"}}, "ftree"),
        ({"spines": {"model": "qm9700", "reserved_ports": 2}}, "updn"),
        ({"gpus": {"model": "dgx-h100", "racks": 1, "hosts_per_rack": 2, "wiring": "rack"}}, "minhop"),
    ],
    ids=["three tiers", "other devices on spines", "one leaf"],
)
@pytest.mark.slow
def test_the_engine_chosen_is_the_one_that_opensm_uses(more: dict[str, Any], engine: str) -> None:
    ib = plan_subnets(make_document(hosts=12, **more))
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
    assert report.engine == engine


@needs_opensm
def test_two_leaves_with_links_between_them_balance_the_paths_over_these() -> None:
    """NVIDIA DGX BasePOD, RA-11127: eight hosts on two QM9700 with half of the rails each, joined by 16 links."""
    words = make_document("dgx-h100", 8, 8, tors={"model": "qm9700", "peer_links": 16})
    words["gpus"]["rails_per_tor"] = 4
    del words["spines"]
    ib = plan_subnets(words)
    assert ib.counts()["peer_cables"] == 16
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
    assert (report.adapters, report.switches, report.engine) == (64, 2, "minhop")
    assert report.routes == 2 * 64
    assert report.loads == (2, 2)


def leaf_as_root(files: dict[str, str]) -> None:
    files[sm_files.ROOTS] += "0x02fab30000000000\n"


def other_lids(files: dict[str, str]) -> None:
    files[sm_files.LIDS] = re.sub(
        r"^(0x02fab40000000000) 0x\S+ 0x\S+$", r"\1 0x0f00 0x0f00", files[sm_files.LIDS], flags=re.MULTILINE
    )


def everyone_full(files: dict[str, str]) -> None:
    files[sm_files.PARTITIONS] = files[sm_files.PARTITIONS].replace("ALL=limited", "ALL=full")


def broken_partition(files: dict[str, str]) -> None:
    files[sm_files.PARTITIONS] = files[sm_files.PARTITIONS].replace("0x02fab", "0xgg", 1)


def unknown_setting(files: dict[str, str]) -> None:
    files[sm_files.CONF] += "routing_engin ftree\n"


def other_level(files: dict[str, str]) -> None:
    files[sm_files.POLICY] = files[sm_files.POLICY].replace("0x0010 : 1", "0x0010 : 2")


@pytest.mark.spread
@needs_opensm
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (leaf_as_root, "FAB6322"),
        (other_lids, "FAB6323"),
        (everyone_full, "FAB6326"),
        (broken_partition, "FAB6321"),
        (unknown_setting, "FAB6321"),
        (other_level, "FAB6328"),
    ],
)
def test_opensm_finds_a_planted_fault(change: Callable[[dict[str, str]], None], code: str) -> None:
    ib = plan_subnets(make_document(priorities=CLASSES, infiniband=TENANTS))
    files = render_subnet(ib)
    before = dict(files)
    change(files)
    assert files != before
    assert code in {finding.code for finding in simulate_subnet(ib, files).findings}


@needs_opensm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "hosts", "per_unit", "cores"),
    [
        ("dgx-a100", 100, 20, False),
        ("dgx-h100", 256, 32, False),
        ("dgx-b300", 288, 72, False),
        ("dgx-h100", 256, 32, True),
    ],
    ids=["800 HDR", "2048 NDR", "2304 XDR", "2048 NDR in three tiers"],
)
def test_larger_fabrics(model: str, hosts: int, per_unit: int, cores: bool) -> None:
    spec = make_document(model, hosts, per_unit)
    if cores:
        spec = {**spec, "cores": spec["spines"]}
    ib = plan_subnets(spec)
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
    assert report.adapters == hosts * 8


def straight_routes(ib_files: dict[str, str]) -> tuple[Any, list[str]]:
    """A topology and forwarding tables that are right: each leaf to the spine's first link, each spine down."""
    topology = read_topology(ib_files[sm_files.TOPOLOGY])
    lines = []
    for switch in topology.switches():
        lines.append(f"Unicast lids [0x0-0x0] of switch guid 0x{switch.id[2:]} ({switch.name}):")
        for adapter in topology.adapters():
            leaf, port, _ = adapter.ends[1]
            out = port
            if switch.id != leaf:
                out = min(
                    p
                    for p, (peer, _, _) in switch.ends.items()
                    if peer[0] == "S" and peer in (leaf, top_node(topology))
                )
            lines.append(f"0x{adapter.lid:04x} {out:03d} : (to {adapter.name})")
    return topology, lines


def top_node(topology: Any) -> str:
    return next(node.id for node in topology.switches() if node.name.startswith("spine"))


def test_a_walk_finds_dead_ends_turns_and_cut_links() -> None:
    topology, lines = straight_routes(render_subnet(plan_subnets(make_document(hosts=8))))
    most = max(node.lid for node in topology.nodes.values())
    good = walk_routes(topology, read_tables(lines, most))
    assert (good.lost_count, good.turns, good.routes) == (0, [], 16 * 64)
    dead = [line.replace(" 001 :", " 255 :") for line in lines]
    assert walk_routes(topology, read_tables(dead, most)).lost_count > 0
    leaf = next(topology.switches())
    port = min(p for p, (peer, _, _) in leaf.ends.items() if peer[0] == "S")
    cut = frozenset({(leaf.id, port)})
    assert walk_routes(topology, read_tables(lines, most), cut).lost_count == 60
    adapter = next(topology.adapters())
    spine = topology.nodes[top_node(topology)]
    begin = next(n for n, line in enumerate(lines) if spine.id[2:] in line)
    at = next(n for n in range(begin, len(lines)) if lines[n].startswith(f"0x{adapter.lid:04x}"))
    for wrong in (p for p, (peer, _, _) in spine.ends.items() if peer != adapter.ends[1][0]):
        lines[at] = f"0x{adapter.lid:04x} {wrong:03d} : (to the wrong leaf)"
        assert walk_routes(topology, read_tables(lines, most)).turns != [], wrong


@needs_opensm
def test_a_killed_process_leaves_no_simulator_behind(tmp_path: Path) -> None:
    """ibsim would read the end of its input for ever, at a whole CPU."""
    ib = plan_subnets(make_document("dgx-h100", 2, 2))
    files = render_subnet(ib)
    write_inputs(tmp_path, files)
    *_, last = read_topology(files[TOPOLOGY]).adapters()
    (tmp_path / "begun.py").write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        "from fabricc.back.infiniband.sm_files import read_topology\n"
        "from fabricc.proof.infiniband.sim.processes import Needs\n"
        "from fabricc.proof.infiniband.sim.processes import SimulatedSubnet\n"
        "folder, topology, last = Path(sys.argv[1]), read_topology(Path(sys.argv[2]).read_text()), sys.argv[3]\n"
        "with SimulatedSubnet(folder, Needs.of(topology), last, 60) as subnet:\n"
        "    print(subnet._ibsim.pid, subnet._opensm.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    (tmp_path / "topology").write_text(files[TOPOLOGY])
    command = [sys.executable, str(tmp_path / "begun.py"), str(tmp_path), str(tmp_path / "topology")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*command, adapter_id(last.guid)], stdout=subprocess.PIPE, text=True, env=environment
    ) as begun:
        assert begun.stdout is not None
        started = [Path("/proc") / pid for pid in begun.stdout.readline().split()]
        begun.kill()
    assert len(started) == 2
    for _ in range(100):
        if not any(map(_is_alive, started)):
            return
        time.sleep(0.05)
    raise AssertionError([each.name for each in started if _is_alive(each)])


def _is_alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
