"""Verification of InfiniBand subnets: a live opensm on simulated switches, compared with the tree it runs from."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.infiniband.sm_files import read_topology
from fabricc.cli.entry import run
from fabricc.interface import build
from fabricc.proof.infiniband.sim.processes import (
    Needs,
    SimulatedSubnet,
    adapter_id,
    missing_programs,
    preload_library,
    write_inputs,
)
from tests.back.infiniband.support import CLASSES, TENANTS, make_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"
)
PARTITIONS = "etc/opensm/partitions.conf"
LIDS = "var/cache/opensm/guid2lid"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of HDR, the fastest that the simulator has."""
    folder = tmp_path_factory.mktemp("subnets")
    words = make_document("dgx-a100", 4, 2, priorities=CLASSES, infiniband=TENANTS)
    (folder / "cluster.yaml").write_text(json.dumps(words))
    built = build(folder / "cluster.yaml", folder / "build").tree
    assert built is not None
    return built


def files_of(tree: Path) -> dict[str, str]:
    subnet = tree / "subnets" / "a"
    return {str(p.relative_to(subnet)): p.read_text() for p in subnet.rglob("*") if p.is_file()}


def simulate_subnet(files: dict[str, str], folder: Path) -> SimulatedSubnet:
    """A subnet whose manager has these files; opensm runs at the last adapter."""
    write_inputs(folder, files)
    topology = read_topology(files["topology.net"])
    return SimulatedSubnet(folder, Needs.of(topology), adapter_id(list(topology.adapters())[-1].guid), 60)


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let programs that a test starts see the simulator, as `SimulatedSubnet.run_tool` does."""

    def attach(running: SimulatedSubnet) -> None:
        name = f"fabricc-{os.getpid()}-{running.folder.name}"
        environment = {
            "IBSIM_SOCKNAME": name,
            "SIM_HOST": running.host,
            "LD_PRELOAD": preload_library() or "",
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }
        for key, value in environment.items():
            monkeypatch.setenv(key, value)

    yield attach
    monkeypatch.undo()


def verify(tree: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = run(["verify", str(tree), "--format", "json", *more])
    return status, json.loads(capsys.readouterr().out)


def finding_rows(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["aspect"], each["device"], each["code"]) for each in report["findings"]]


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["table", "markdown", "junit"])
def test_a_subnet_as_planned_has_no_finding(
    tree: Path, tmp_path: Path, attached: Any, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    with simulate_subnet(files_of(tree), tmp_path / "sim") as running:
        attached(running)
        status, report = verify(tree, capsys)
        assert (status, finding_rows(report), report["not_asked"]) == (0, [], {})
        counts = {aspect: sum(devices.values()) for aspect, devices in report["compared"].items()}
        assert counts == {"cabling": 2 * 64, "tenants": 32, "interfaces": 2 * 64 + 49}
        assert run(["verify", str(tree), "--format", format_]) == 0
        assert capsys.readouterr().out


@pytest.mark.slow
def test_other_partitions_lids_and_cables_than_planned_are_found(
    tree: Path, tmp_path: Path, attached: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    files = files_of(tree)
    lines = files[PARTITIONS].splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("tenant-a"))
    moved = [line for at, line in enumerate(lines) if at != first + 1]  # one port of su001-host01 is left out
    row = next(row for row in files[LIDS].splitlines() if row.startswith("0x"))
    guid = row.split()[0]
    lids = files[LIDS].replace(row, f"{guid} 0x0100 0x0100")
    altered = {**files, PARTITIONS: "\n".join(moved) + "\n", LIDS: lids}
    with simulate_subnet(altered, tmp_path / "sim") as running:
        attached(running)
        status, report = verify(tree, capsys)
        leaf = next(n for n in read_topology(files["topology.net"]).switches() if n.name == "su001-tor1a")
        sweeps = running.count_sweeps()
        running.console(f'Unlink "{leaf.id}"[3]')
        running.wait_for_sweep(sweeps)
        pulled = verify(tree, capsys, "--only", "cabling")
    codes = finding_rows(report)
    assert status == 1
    assert [each for each in codes if each[0] == "tenants"] == [
        ("tenants", "su001-host01 mlx5_r0", "FAB9226")
    ]
    assert {each[2] for each in codes if each[0] == "interfaces"} == {"FAB9235"}
    assert len(codes) == 2
    assert (pulled[0], finding_rows(pulled[1])) == (1, [("cabling", "su001-tor1a", "FAB6330")])


def test_a_machine_without_a_port_in_the_subnet_reads_nothing(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert run(["verify", str(tree)]) == 3
    assert "FAB9207" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(["verify", str(tree)]) == 3
    assert "FAB8002" in capsys.readouterr().err


def test_a_changed_tree_is_not_compared(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tree / "subnets" / "a" / PARTITIONS
    text = file.read_text()
    try:
        file.write_text(text.replace("tenant-a", "tenant-x"))
        assert run(["verify", str(tree)]) == 1
    finally:
        file.write_text(text)
    assert "FAB6010" in capsys.readouterr().err


def test_devices_cannot_be_chosen(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(tree), "--devices", "su001-tor1a"]) == 2
    assert "subnets are read whole" in capsys.readouterr().err
