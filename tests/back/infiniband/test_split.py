"""Split cages: HDR100 makes a QM8700 a switch of 80 ports, numbered by halves of cages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back.infiniband import sm_files
from fabricc.back.infiniband.cabling import cabling_rows
from fabricc.back.infiniband.sm_files import read_topology
from fabricc.catalog.load import load_catalog
from fabricc.fabric.infiniband_wiring import Subnet
from fabricc.proof.infiniband.sim.processes import missing_programs
from fabricc.proof.infiniband.sim.run import simulate_subnet
from fabricc.proof.infiniband.subnets import prove_subnet
from tests.back.infiniband import support
from tests.back.infiniband.support import make_document, render_subnet

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.infiniband import InfinibandFabric

HDR100 = """\
sources:
  own: "our own servers"
hosts:
  hdr100:
    title: Server with eight HDR100 adapters
    vendor: generic
    gpus: {value: 8, source: own}
    rails: {value: 8, source: own}
    nic: {value: connectx-6, source: own}
    ports_per_nic: {value: 1, source: own}
    port_gbps: {value: 100, source: own}
    management_interface: {value: eno1, source: own}
"""


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InfinibandFabric:
    (tmp_path / "own.yaml").write_text(HDR100)
    catalog, problems = load_catalog([tmp_path / "own.yaml"])
    assert problems == ()
    monkeypatch.setattr(support, "CATALOG", catalog)
    gpus = {"model": "hdr100", "hosts": 32, "hosts_per_unit": 16}
    return support.plan_subnets(make_document("dgx-a100", gpus=gpus))


def test_host_ports_are_halves_of_cages_and_uplinks_whole_ones(fabric: InfinibandFabric) -> None:
    rows = list(cabling_rows(fabric))
    hosts = [row for row in rows if row[0] == "host" and row[4] == "su001-tor1a"]
    assert [row[5:8] for row in hosts[:3]] == [("1/1", 1, "2xHDR"), ("1/2", 2, "2xHDR"), ("2/1", 3, "2xHDR")]
    up = [row for row in rows if row[0] == "spine" and row[1] == "su001-tor1a"]
    assert [row[2:4] for row in up[:2]] == [("9", 17), ("10", 19)]
    assert {row[7] for row in up} == {"4xHDR"}
    assert [row[6] for row in up[:2]] == [1, 2]


def test_files_agree_on_the_numbers(fabric: InfinibandFabric) -> None:
    files = render_subnet(fabric)
    assert list(prove_subnet(Subnet(fabric, 0), files)) == []
    net = read_topology(files[sm_files.TOPOLOGY])
    assert {node.ports for node in net.switches()} == {80, 40}


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}")
def test_opensm_routes_it(fabric: InfinibandFabric) -> None:
    report = simulate_subnet(fabric, render_subnet(fabric))
    assert (report.findings, report.adapters) == ([], 256)


def test_a_switch_that_is_not_split_counts_cages() -> None:
    ports = [
        row[5:7] for row in cabling_rows(support.plan_subnets(make_document("dgx-a100"))) if row[0] == "host"
    ]
    assert ports[0] == ("1", 1)
